// The page at / and at /r/{id}: compose, check, look.

import { call } from "./api.js";
import { Sources, counter, only, privacy, running, takeFiles, trouble } from "./compose.js";
import { $, button, say } from "./dom.js";
import { ENGLISH, HEBREW } from "./example.js";
import { whole } from "./text.js";
import { showReport } from "./view.js";

const sources = new Sources($("sources"));
const count = counter($("answer"), $("answer-count"));
let view = null;

function asked() {
  const answer = whole($("answer").value);
  const given = sources.values();
  const names = given.map((source) => source.id);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  $("answer-error").textContent = answer.trim() ? "" : "Paste an answer first.";
  $("sources-error").textContent = !given.length
    ? "Add at least one source."
    : twice
      ? `Two sources are called ${twice}.`
      : "";
  if (!answer.trim()) $("answer").focus();
  else if (!given.length || twice) $("sources").querySelector("textarea").focus();
  if (!answer.trim() || !given.length || twice) return null;
  const target = $("target").value;
  return {
    response: answer,
    sources: given,
    question: whole($("question").value),
    history: turns($("history").value),
    ...($("profile").value ? { profile: $("profile").value } : {}),
    ...(target ? { target: Number(target) } : {}),
    ...($("fix").checked ? { fix: true } : {}),
    ...($("kb").checked ? { kb: true } : {}),
  };
}

function turns(text) {
  const found = [];
  for (const line of whole(text).split("\n")) {
    const match = /^\s*(user|assistant|system)\s*:\s*(.*)$/i.exec(line);
    if (match) found.push({ role: match[1].toLowerCase(), content: match[2] });
    else if (line.trim() && found.length) found[found.length - 1].content += `\n${line}`;
    else if (line.trim()) found.push({ role: "user", content: line });
  }
  return found;
}

async function run() {
  const body = asked();
  if (!body) return;
  const store = $("store").checked;
  const answer = await running(
    "Holding each claim against the sources…",
    (signal) => call("POST", "/v1/check", { body, signal, store }),
    run,
  );
  if (!answer) return;
  const id = answer.headers.get("X-Groundwire-Report") || "";
  show({ report: answer.data, answer: body.response, sources: body.sources, question: body.question, id, body });
  if (id) history.pushState({ id }, "", `/r/${id}`);
}

function show(made) {
  view?.close();
  only("result");
  const again = button("New check", () => edit(made));
  const gone = made.stored && !made.share ? button("Delete", () => forget(made)) : null;
  view = showReport($("result"), made, [again, gone]);
  document.title = `${$("verdict").textContent} · groundwire`;
  scrollTo(0, 0);
  $("verdict").focus({ preventScroll: true });
}

function edit(made) {
  if (made.stored && !$("answer").value) fill(made);
  home();
  history.pushState({}, "", "/");
}

function home() {
  view?.close();
  view = null;
  document.title = "Check · groundwire";
  only("compose");
  $("answer").focus();
}

async function forget(made) {
  if (!confirm("Delete this report for everybody who has its link?")) return;
  try {
    await call("DELETE", `/v1/reports/${encodeURIComponent(made.id)}`);
    home();
    history.replaceState({}, "", "/");
    say("The report is deleted");
  } catch (problem) {
    say(problem.detail || problem.title);
  }
}

async function open(id) {
  const share = location.hash.slice(1);
  const found = await running(
    "Opening the report…",
    (signal) => call("GET", `/v1/reports/${encodeURIComponent(id)}`, { signal, share }),
    () => open(id),
  );
  if (!found) return;
  if (found.data.kind === "audit") return location.replace(`/audit#${encodeURIComponent(id)}${share && `.${share}`}`);
  show({ ...found.data, stored: true, share });
}

function fill(example) {
  $("answer").value = example.answer;
  $("question").value = example.question || "";
  sources.set(example.sources);
  $("answer-error").textContent = $("sources-error").textContent = "";
  count();
}

const named = () => /^\/r\/([^/]+)$/.exec(location.pathname)?.[1];

function route() {
  const id = named();
  if (id) open(decodeURIComponent(id));
  else home();
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  run();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !$("compose").hidden) {
    event.preventDefault();
    run();
  }
});
$("example").onclick = () => {
  fill(ENGLISH);
  run();
};
$("example-he").onclick = () => {
  fill(HEBREW);
  run();
};
addEventListener("popstate", route);
takeFiles(sources, $("sources-error"), $("answer"));
privacy();
if (named()) {
  try {
    route();
  } catch (problem) {
    trouble(problem);
  }
}

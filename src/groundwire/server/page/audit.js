// The audit of a reasoning trace: each step on a line down the page, then whether the answer follows.

import { call } from "./api.js";
import { Sources, copyLink, counter, only, privacy, running, takeFiles } from "./compose.js";
import { $, button, copy, h, plural } from "./dom.js";
import { evidence } from "./evidence.js";
import { TRACE } from "./example.js";
import { picture } from "./picture.js";
import { whole } from "./text.js";
import { status, stepName, tone } from "./words.js";

const sources = new Sources($("sources"));
const count = counter($("trace"), $("trace-count"));
const OUTCOMES = {
  derived: ["ENTAILED", "The answer follows from the steps"],
  post_hoc: ["CONTRADICTED", "The answer does not follow from the steps"],
  unchecked: ["UNCHECKED", "The answer could not be derived anew"],
  no_answer: ["UNCHECKED", "No answer was given"],
};

async function run() {
  const trace = whole($("trace").value);
  $("trace-error").textContent = trace.trim() ? "" : "Paste the steps first.";
  if (!trace.trim()) return $("trace").focus();
  const given = sources.values();
  const body = {
    trace,
    question: whole($("question").value),
    answer: whole($("final").value),
    ...(given.length ? { sources: given } : {}),
  };
  const store = $("store").checked;
  const answer = await running(
    "Going through the steps…",
    (signal) => call("POST", "/v1/traces/audit", { body, signal, store }),
    run,
  );
  if (!answer) return;
  const id = answer.headers.get("X-Groundwire-Report") || "";
  show({ audit: answer.data, sources: given, id });
  if (id) history.pushState({}, "", `/audit#${id}`);
}

function show({ audit, sources: given, id, question, share }) {
  only("result");
  const steps = audit.steps.map((step) => ({ id: step.id, text: step.text, origin: "" }));
  const byId = new Map([...steps, ...ownSources(), ...(given || [])].map((source) => [source.id, source]));
  const bad = audit.steps.filter(isBad).length;
  const mood = audit.flagged === null ? "warn" : audit.flagged ? "bad" : "good";
  const asked = audit.question || question;
  $("result").replaceChildren(
    h(
      "header",
      { class: `verdict ${mood}` },
      h(
        "div",
        { class: "verdict-head" },
        h(
          "div",
          {},
          asked ? h("p", { class: "asked", dir: "auto" }, asked) : null,
          h("h1", { id: "verdict", tabindex: "-1" }, headline(audit, bad)),
          h("p", { class: "soft small" }, `${plural(audit.steps.length, "step")} · ${audit.backend} backend`),
        ),
        h(
          "div",
          { class: "row actions" },
          id ? button("Copy link", () => copyLink(id, share)) : null,
          button("Copy JSON", () => copy(JSON.stringify(audit, null, 2), "JSON copied")),
          button("New audit", () => {
            history.pushState({}, "", "/audit");
            only("compose");
            $("trace").focus();
          }),
        ),
      ),
      audit.error ? h("p", { class: "notice warn" }, `Not everything could be checked: ${audit.error}`) : null,
    ),
    h("ol", { class: "steps" }, ...audit.steps.map((step, index) => drawStep(step, index, audit.steps, byId))),
    drawOutcome(audit.post_hoc),
  );
  scrollTo(0, 0);
  $("verdict").focus({ preventScroll: true });
}

/** A trace that is JSON may bring its own sources. */
function ownSources() {
  try {
    const own = JSON.parse($("trace").value).sources || {};
    return Object.entries(own).map(([id, text]) => ({ id, text: String(text), origin: "" }));
  } catch {
    return [];
  }
}

const isBad = (step) => step.flagged || step.contradicts.length || step.circular.length;

function headline(audit, bad) {
  if (audit.flagged === null) return "Could not check everything";
  if (bad) return `${bad} of ${plural(audit.steps.length, "step")} ${bad === 1 ? "does" : "do"} not hold`;
  if (audit.flagged) return "The answer does not follow from the steps";
  return audit.steps.every((step) => tone(step.status) === "ENTAILED") ? "Every step holds" : "No step is flagged";
}

function drawStep(step, index, steps, byId) {
  const anchor = (id) => steps.findIndex((other) => other.id === id);
  const tag = (id, kind = "") =>
    anchor(id) >= 0
      ? h("a", { class: `tag ${kind}`, href: `#step-${anchor(id) + 1}` }, id)
      : h("span", { class: `tag ${byId.has(id) ? kind : "bad"}` }, id);
  const rests = [...new Set([...step.cites, ...step.premises])];
  return h(
    "li",
    { class: `step ${tone(step.status)}`, id: `step-${index + 1}` },
    h("span", { class: "step-dot", title: stepName(step) }, status(step.status).mark),
    h(
      "div",
      { class: "card step-card" },
      h("div", { class: "row" }, h("span", { class: "pill" }, stepName(step)), h("span", { class: "mono soft" }, step.id)),
      h("p", { class: "t", dir: "auto" }, step.text),
      h("p", { class: "soft why", dir: "auto" }, step.reason),
      rests.length ? h("p", { class: "row small soft" }, "rests on", ...rests.map((id) => tag(id))) : null,
      step.contradicts.length
        ? h("p", { class: "row small soft" }, "cannot be true with", ...step.contradicts.map((id) => tag(id, "bad")))
        : null,
      step.circular.length
        ? h("p", { class: "row small soft" }, "goes in a circle with", ...step.circular.map((id) => tag(id, "bad")))
        : null,
      typeof step.p1 === "number" || step.evidence.length
        ? h(
            "details",
            {},
            h("summary", {}, "Evidence and bits"),
            lazily(() => [picture(step), evidence(step, byId)]),
          )
        : null,
    ),
  );
}

/** Filled when it is opened, so that the picture of a long trace is drawn only if it is looked at. */
function lazily(make) {
  const inner = h("div", { class: "inner" });
  new IntersectionObserver((seen, observer) => {
    if (seen.some((entry) => entry.isIntersecting)) {
      inner.replaceChildren(...make().filter(Boolean));
      observer.disconnect();
    }
  }).observe(inner);
  inner.append(h("span", { class: "hidden" }, "…"));
  return inner;
}

function drawOutcome(found) {
  const [kind, words] = Object.hasOwn(OUTCOMES, found.outcome) ? OUTCOMES[found.outcome] : OUTCOMES.unchecked;
  if (found.outcome === "no_answer")
    return h("p", { class: "soft" }, "The trace gives no answer, so there is nothing to derive anew.");
  const pair = (name, value) => (value ? [h("dt", {}, name), h("dd", { dir: "auto" }, value)] : []);
  return h(
    "section",
    { class: `card outcome ${kind}` },
    h("h2", {}, words),
    h("p", { class: "soft why", dir: "auto" }, found.reason),
    h(
      "dl",
      {},
      ...pair("Answer", found.answer),
      ...pair("Derived anew", found.derived_answer),
      ...pair("By", found.executor),
      ...pair("Agreement", typeof found.agreement === "number" ? found.agreement.toFixed(2) : ""),
    ),
  );
}

async function open(id, share) {
  const found = await running(
    "Opening the audit…",
    (signal) => call("GET", `/v1/reports/${encodeURIComponent(id)}`, { signal, share }),
    () => open(id, share),
  );
  if (!found) return;
  if (!found.data.audit) return location.replace(`/r/${encodeURIComponent(id)}${share ? `#${share}` : ""}`);
  show({ ...found.data, share });
}

function route() {
  const [id, share] = decodeURIComponent(location.hash.slice(1)).split("."); // neither contains a full stop
  if (/^step-\d+$/.test(id)) return;
  if (id) open(id, share);
  else only("compose");
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
  $("trace").value = TRACE.trace;
  $("question").value = TRACE.question;
  sources.set(TRACE.sources);
  count();
  run();
};
addEventListener("popstate", route);
takeFiles(sources, $("sources-error"), $("trace"));
privacy();
if (location.hash) route();

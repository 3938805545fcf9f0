// What the two forms share: the list of sources, files dropped or chosen, waiting, trouble, and what is kept.

import { Problem, call, settings } from "./api.js";
import { $, copy, h, plural, say } from "./dom.js";
import { whole, words } from "./text.js";

const PLAIN = /\.(txt|text|md|markdown|rst|log|yaml|yml|xml)$/i;

export class Sources {
  constructor(list) {
    this.list = list;
    this.add({});
  }

  /** A source more; the one empty box that stands there at first is used up. */
  add({ id = "", text = "", origin = "" }) {
    const boxes = [...this.list.children];
    if (text && boxes.length === 1 && !boxes[0].querySelector("textarea").value.trim()) boxes[0].remove();
    const taken = new Set(this.ids());
    let name = id;
    for (let number = 0; !name || taken.has(name); number += 1) name = `S${number}`;
    const area = h("textarea", {
      dir: "auto",
      rows: "4",
      placeholder: "Text of a source",
      "aria-label": `Text of source ${name}`,
    });
    area.value = text;
    const field = h("input", {
      class: "id",
      value: name,
      maxlength: "100",
      spellcheck: "false",
      "aria-label": "Name under which the answer cites it",
      title: "The answer cites it by this name",
    });
    const remove = h(
      "button",
      { type: "button", class: "bare", "aria-label": `Remove source ${name}`, onclick: () => this.remove(item) },
      "✕",
    );
    const item = h(
      "li",
      { class: "source" },
      h("div", { class: "source-head" }, field, h("span", { class: "name soft small" }, h("bdi", {}, origin)), remove),
      area,
    );
    item.origin = origin;
    this.list.append(item);
    return area;
  }

  remove(item) {
    item.remove();
    if (!this.list.children.length) this.add({});
    this.list.querySelector("textarea").focus();
  }

  ids() {
    return [...this.list.querySelectorAll(".id")].map((field) => field.value.trim());
  }

  /** What is filled in, as the server takes it. */
  values() {
    return [...this.list.children]
      .map((item, index) => ({
        id: whole(item.querySelector(".id").value.trim()) || `S${index}`,
        text: whole(item.querySelector("textarea").value),
        origin: whole(item.origin || ""),
      }))
      .filter((source) => source.text.trim());
  }

  set(sources) {
    this.list.replaceChildren();
    for (const source of sources) this.add(source);
    if (!sources.length) this.add({});
  }

  get dirty() {
    return this.values().length > 0;
  }
}

/** Files by the button and by dropping them anywhere; what is not plain text the server converts.
 * One that is dropped on `text`, the answer or the trace, becomes that. */
export function takeFiles(sources, error, text) {
  const read = async (file) => (PLAIN.test(file.name) ? [await plain(file)] : converted(file));
  const into = async (file) => {
    try {
      text.value = (await read(file)).map((source) => source.text).join("\n\n");
      text.dispatchEvent(new Event("input"));
    } catch (problem) {
      say(problem.detail || problem.title || problem.message);
    }
  };
  const take = async (files) => {
    error.textContent = "";
    const { max_source_bytes: most = Infinity } = await settings();
    for (const file of files) {
      try {
        if (file.size > most)
          throw new Problem(
            413,
            `${file.name} is too large`,
            `The limit is ${plural(Math.floor(most / 1e6), "megabyte")}.`,
          );
        for (const source of await read(file)) sources.add(source);
      } catch (problem) {
        error.textContent =
          `${error.textContent} ${file.name}: ${problem.detail || problem.title || problem.message}`.trim();
      }
    }
  };
  $("browse").onclick = () => $("files").click();
  $("files").onchange = async (event) => {
    await take([...event.target.files]);
    event.target.value = "";
  };
  $("add").onclick = () => sources.add({}).focus();
  let depth = 0;
  const carries = (event) => event.dataTransfer?.types.includes("Files");
  const over = (event, by) => {
    if (carries(event)) {
      event.preventDefault();
      depth += by;
      document.body.classList.toggle("dropping", depth > 0);
    }
  };
  document.addEventListener("dragenter", (event) => over(event, 1));
  document.addEventListener("dragleave", (event) => over(event, -1));
  document.addEventListener("dragover", (event) => {
    if (carries(event)) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth = 0;
    document.body.classList.remove("dropping");
    if (event.target.closest?.(".pane")?.contains(text)) into(event.dataTransfer.files[0]);
    else take([...event.dataTransfer.files]);
  });
}

async function plain(file) {
  const bytes = await file.arrayBuffer();
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes), origin: file.name };
  } catch {
    return (await converted(file))[0]; // the server knows other encodings, and says what is wrong
  }
}

async function converted(file) {
  const form = new FormData();
  form.append("files", file);
  const { data } = await call("POST", "/v1/sources", { body: form });
  const failed = data.errors[0];
  if (failed) throw new Problem(422, failed.detail, failed.detail);
  return data.sources;
}

/** One of compose, wait, trouble and result is seen at a time. */
export function only(name) {
  for (const id of ["compose", "wait", "trouble", "result"]) $(id).hidden = id !== name;
  if (name !== "result") document.body.classList.remove("sheet");
}

/** Run `job(signal)` with the waiting page, Cancel and Escape; trouble is shown with a way back. */
export async function running(waiting, job, again) {
  const stop = new AbortController();
  const started = performance.now();
  $("wait-words").textContent = waiting;
  $("wait-more").textContent = "";
  only("wait");
  const clock = setInterval(() => {
    $("wait-more").textContent = `${Math.round((performance.now() - started) / 1000)} s`;
  }, 1000);
  const escape = (event) => {
    if (event.key === "Escape") stop.abort();
  };
  document.addEventListener("keydown", escape);
  $("cancel").onclick = () => stop.abort();
  try {
    return await job(stop.signal);
  } catch (problem) {
    if (problem.name === "AbortError") {
      only("compose");
      say("Cancelled");
    } else trouble(problem, again);
    return null;
  } finally {
    clearInterval(clock);
    document.removeEventListener("keydown", escape);
  }
}

let countdown = 0;
export function trouble(problem, again) {
  clearInterval(countdown);
  if (!(problem instanceof Problem)) console.error(problem);
  $("trouble-title").textContent = problem instanceof Problem ? problem.title : "The page stumbled";
  $("trouble-detail").textContent = problem.detail || "";
  const button = $("again");
  button.hidden = !again || [404, 413, 422].includes(problem.status);
  button.onclick = again;
  button.disabled = false;
  button.textContent = "Try again";
  let left = problem.retryAfter || 0;
  const tick = () => {
    button.disabled = left > 0;
    button.textContent = left > 0 ? `Try again in ${left} s` : "Try again";
    if (left-- <= 0) clearInterval(countdown);
  };
  if (left > 0) {
    tick();
    countdown = setInterval(tick, 1000);
  }
  $("back").onclick = () => {
    clearInterval(countdown);
    only("compose");
  };
  only("trouble");
}

/** A link that lets other keys read a report; one who reads it by such a link passes that one on. */
export async function copyLink(id, share) {
  const report = encodeURIComponent(id);
  try {
    const path = share ? `/r/${report}#${share}` : (await call("POST", `/v1/reports/${report}/share`)).data.path;
    copy(location.origin + path, "Link copied");
  } catch (problem) {
    say(problem.detail || problem.title);
  }
}

export async function privacy() {
  const { keep_reports: kept, keep_days: days } = await settings();
  $("store-row").hidden = !kept;
  const words = () => {
    $("privacy").textContent = !kept
      ? "Nothing is stored: the texts are checked and forgotten."
      : $("store").checked
        ? `The report is stored on this server with its texts, for you and those you share it with, and deleted after ${plural(days, "day")}. Untick to store nothing.`
        : "Nothing of this check is stored.";
  };
  $("store").onchange = words;
  words();
}

export const counter = (area, place) => {
  const count = () => {
    place.textContent = area.value.trim() ? plural(words(area.value), "word") : "";
  };
  area.addEventListener("input", count);
  return count;
};

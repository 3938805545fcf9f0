// A report: the verdict in a line, the answer with its claims marked, and the claim in hand beside its evidence.

import { drawBlocks } from "./answer.js";
import { call } from "./api.js";
import { claimPane } from "./claim.js";
import { copyLink } from "./compose.js";
import { button, copy, download, figure, h, percent, plural, say, share, shown, when } from "./dom.js";
import { cutter, units } from "./text.js";
import { STATUS, status, tone, typeName } from "./words.js";

const MANY = 150;
const LONG = 40; // blocks of an answer; beyond it, those out of view are not laid out
const SMALL = "(max-width: 60rem)";

/** `made` is {report, answer, sources, question, id, created, expires}; `actions` are more buttons. */
export function showReport(root, made, actions = []) {
  const view = new View(root, made, actions);
  view.draw();
  return view;
}

class View {
  constructor(root, made, actions) {
    Object.assign(this, { root, made, actions, at: -1, only: "" });
    this.claims = made.report.claims || [];
    this.sources = new Map((made.sources || []).map((source) => [source.id, source]));
    this.spans = this.claims.map(() => []);
    this.rows = [];
  }

  draw() {
    this.inspector = h("aside", { class: "inspector card", "aria-label": "The claim in hand" });
    this.live = h("p", { class: "hidden", "aria-live": "polite" });
    this.answer = this.drawAnswer();
    this.strip = h(
      "div",
      { class: `strip${this.claims.length > MANY ? " many" : ""}`, "aria-hidden": "true" },
      ...this.claims.map((claim) => h("i", { class: tone(claim.status) })),
    );
    this.root.replaceChildren(
      this.drawVerdict(),
      this.live,
      h("div", { class: "reader" }, h("div", {}, this.answer, this.drawClaims(), ...this.drawRest()), this.inspector),
    );
    this.keys = (event) => this.key(event);
    document.addEventListener("keydown", this.keys);
    const first = this.claims.findIndex((claim) => claim.flagged);
    if (this.claims.length) this.select(Math.max(0, first), { open: false, scroll: false });
    else
      this.inspector.replaceChildren(h("p", { class: "soft" }, "No claim of the answer was checked against a source."));
  }

  close() {
    document.removeEventListener("keydown", this.keys);
    document.body.classList.remove("sheet");
    this.root.replaceChildren();
  }

  // the verdict

  drawVerdict() {
    const { report, question, created } = this.made;
    const unchecked = this.claims.filter((claim) => tone(claim.status) === "UNCHECKED").length;
    const mood = report.flagged === null ? "warn" : report.flagged ? "bad" : unchecked ? "warn" : "good";
    const facts = [
      typeof report.grounding_ratio === "number" ? `${percent(report.grounding_ratio, 1)} grounded` : null,
      report.risk === null || report.risk === undefined ? null : `risk ${figure(report.risk)}`,
      `${report.backend} backend`,
      `${report.profile} profile`,
      created ? when(created) : null,
    ]
      .filter(Boolean)
      .join(" · ");
    return h(
      "header",
      { class: `verdict ${mood}` },
      h(
        "div",
        { class: "verdict-head" },
        h(
          "div",
          {},
          question ? h("p", { class: "asked", dir: "auto" }, question) : null,
          h("h1", { id: "verdict", tabindex: "-1" }, headline(report, this.claims)),
          h("p", { class: "soft small num" }, facts),
        ),
        this.drawActions(),
      ),
      report.error ? h("p", { class: "notice warn" }, `Not everything could be checked: ${report.error}`) : null,
      this.claims.length ? this.strip : null,
      this.claims.length ? this.drawChips() : null,
    );
  }

  drawActions() {
    const { id, share } = this.made;
    return h(
      "div",
      { class: "row actions" },
      id ? button("Copy link", () => copyLink(id, share)) : null,
      button("Copy JSON", () => copy(JSON.stringify(this.made.report, null, 2), "JSON copied")),
      button("Download", () => this.download()),
      ...this.actions,
    );
  }

  async download() {
    const { id, body, share } = this.made;
    try {
      const { data } = id
        ? await call("GET", `/v1/reports/${encodeURIComponent(id)}`, { accept: "text/html", share })
        : await call("POST", "/v1/check", { body, accept: "text/html", store: false });
      download(data, "groundwire-report.html", "text/html");
    } catch (problem) {
      say(problem.detail || problem.title);
    }
  }

  drawChips() {
    const chip = (name, words, number, mark) =>
      h(
        "button",
        {
          type: "button",
          class: `chip ${name}`,
          "aria-pressed": String(this.only === name),
          "data-only": name,
          onclick: () => this.filter(name),
          title: name ? status(name).means : null,
        },
        mark ? h("span", { class: "mark", "aria-hidden": "true" }, mark) : null,
        words,
        h("b", {}, String(number)),
      );
    const counts = (name) => this.claims.filter((claim) => tone(claim.status) === name).length;
    const names = Object.keys(STATUS).filter(counts);
    this.chips = h(
      "div",
      { class: "chips", role: "group", "aria-label": "Show claims that are" },
      chip("", "All", this.claims.length),
      ...names.map((name) => chip(name, STATUS[name].name, counts(name), STATUS[name].mark)),
    );
    return this.chips;
  }

  filter(name) {
    this.only = this.only === name ? "" : name;
    for (const chip of this.chips.children) chip.setAttribute("aria-pressed", String(chip.dataset.only === this.only));
    this.claims.forEach((claim, index) => {
      const off = !this.visible(index);
      for (const span of this.spans[index]) span.classList.toggle("off", off);
      this.rows[index].parentElement.hidden = off;
      this.strip.children[index].classList.toggle("off", off);
    });
    if (this.at >= 0 && !this.visible(this.at)) {
      const next = this.claims.findIndex((_, index) => this.visible(index));
      if (next >= 0) this.select(next, { open: false, scroll: false });
    }
  }

  visible(index) {
    return !this.only || tone(this.claims[index].status) === this.only;
  }

  // the answer

  drawAnswer() {
    const { answer, report } = this.made;
    const cut = cutter(answer, this.claims, report.spans || []);
    const draw = (start, end) =>
      cut(start, end).map((piece) =>
        piece.claim < 0 ? document.createTextNode(shown(piece.text)) : this.drawPiece(piece),
      );
    const drawn = drawBlocks(answer, draw);
    const box = h(
      "article",
      { class: `answer card${drawn.length > LONG ? " long" : ""}`, "aria-label": "The answer, its claims marked" },
      ...drawn,
    );
    box.addEventListener("click", (event) => {
      const span = event.target.closest("[data-claim]");
      if (span && !String(getSelection()))
        this.select(Number(span.dataset.claim), { open: true, scroll: false, focus: true });
    });
    return box;
  }

  drawPiece({ text, claim: index, hot }) {
    const claim = this.claims[index];
    const first = !this.spans[index].length;
    const span = h(
      "span",
      {
        class: `c ${tone(claim.status)}${claim.flagged ? " flag" : ""}${hot ? " hot" : ""}`,
        "data-claim": index,
        role: first ? "button" : null,
        tabindex: first ? "-1" : null,
        "aria-description": first ? `${status(claim.status).name}. ${claim.reason}` : null,
      },
      text,
    );
    this.spans[index].push(span);
    return span;
  }

  // the list of claims and what stands below it

  drawClaims() {
    this.rows = this.claims.map((claim, index) =>
      h(
        "button",
        {
          type: "button",
          class: `claim-row ${tone(claim.status)}`,
          tabindex: "-1",
          onclick: () => this.select(index, { open: true, scroll: true }),
        },
        h("span", { class: "mark", "aria-label": status(claim.status).name }, status(claim.status).mark),
        h("span", { class: "t", dir: "auto" }, claim.text, claim.flagged ? h("small", {}, claim.reason) : null),
        h("span", { class: "g", title: "how likely it is supported" }, share(claim.p1)),
      ),
    );
    if (!this.claims.length) return null;
    return h(
      "section",
      { class: "section" },
      h("h2", {}, "Claims"),
      h("ol", { class: "claims" }, ...this.rows.map((row) => h("li", {}, row))),
    );
  }

  drawRest() {
    const { report } = this.made;
    const skipped = report.skipped || [],
      flags = report.flags || [];
    return [
      flags.length ? section("Found by the knowledge detectors", ...flags.map(flagCard)) : null,
      report.repair ? section("Repaired", repaired(report.repair)) : null,
      skipped.length
        ? section(
            "Not checked, since it claims nothing",
            h(
              "ul",
              { class: "plain-list soft" },
              ...skipped.map((part) => h("li", { dir: "auto" }, part.text, ` (${part.kind})`)),
            ),
          )
        : null,
    ];
  }

  // the claim in hand

  select(index, { open = true, scroll = true, focus = false } = {}) {
    if (this.at >= 0) {
      for (const span of this.spans[this.at]) span.classList.remove("on");
      this.spans[this.at][0]?.setAttribute("tabindex", "-1");
      this.rows[this.at].removeAttribute("aria-current");
      this.rows[this.at].tabIndex = -1;
    }
    this.at = index;
    for (const span of this.spans[index]) span.classList.add("on");
    const first = this.spans[index][0];
    first?.setAttribute("tabindex", "0");
    this.rows[index].setAttribute("aria-current", "true");
    this.rows[index].tabIndex = 0;
    this.inspector.replaceChildren(
      ...claimPane(this.claims[index], {
        place: `${index + 1} of ${this.claims.length}`,
        sources: this.sources,
        step: (by) => this.step(by),
        shut: () => this.sheet(false),
        mark: this.made.id && !this.made.share ? (claim, right) => this.mark(claim, right) : null,
      }),
    );
    this.inspector.scrollTop = 0;
    if (open) this.sheet(true);
    if (open && !focus)
      this.live.textContent = shown(
        `${status(this.claims[index].status).name}: ${this.claims[index].text} ${this.claims[index].reason}`,
      );
    const small = matchMedia(SMALL).matches;
    if (scroll || (open && small)) first?.scrollIntoView({ block: small ? "start" : "nearest", behavior: "smooth" });
    if (focus) first?.focus({ preventScroll: true });
  }

  sheet(open) {
    this.inspector.classList.toggle("open", open);
    document.body.classList.toggle("sheet", open && matchMedia(SMALL).matches);
  }

  async mark(claim, right) {
    try {
      const { data } = await call("POST", `/v1/reports/${encodeURIComponent(this.made.id)}/feedback`, {
        body: { claim: claim.key, right },
      });
      for (const same of this.claims.filter((one) => one.key === claim.key)) same.feedback = data;
      this.select(this.at, { open: true, scroll: false });
      say(right ? "Noted as right" : "Noted as wrong");
    } catch (problem) {
      say(problem.detail || problem.title);
    }
  }

  // the keyboard

  step(by) {
    let next = this.at + by;
    while (next >= 0 && next < this.claims.length && !this.visible(next)) next += by;
    if (next < 0 || next >= this.claims.length) return;
    this.select(next, { open: true, scroll: true, focus: document.activeElement?.matches?.("[data-claim]") });
    if (document.activeElement?.matches?.(".claim-row")) this.rows[next].focus();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select, dialog"))
      return;
    const inside = event.target.closest?.(".answer, .claims");
    const arrow = inside ? { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 }[event.key] : 0;
    const by = { j: 1, k: -1 }[event.key] || arrow;
    if (by) {
      this.step(by);
      event.preventDefault();
    } else if (event.key === "Escape") {
      this.sheet(false);
      if (this.only) this.filter(this.only);
    } else if ((event.key === "Enter" || event.key === " ") && event.target.matches?.("[data-claim]")) {
      this.select(Number(event.target.dataset.claim), { open: true, scroll: false });
      event.preventDefault();
    }
  }
}

/** As `reports/plaintext.py` words it. */
function headline(report, claims) {
  const total = claims.length;
  const count = (test) => claims.filter(test).length;
  const flagged = count((claim) => claim.flagged);
  const unchecked = count((claim) => tone(claim.status) === "UNCHECKED");
  if (!total) return report.error && report.error !== "NOTHING_TO_CHECK" ? "Nothing could be checked" : "The answer makes no claims";
  if (flagged)
    return total === 1
      ? "The claim is not supported"
      : `${flagged} of ${total} claims ${flagged === 1 ? "is" : "are"} not supported`;
  if (report.flagged === null) return "Could not be checked";
  const found = (report.flags || []).length;
  if (found) return `${plural(found, "finding")} of the detectors`;
  if (unchecked) return `Nothing flagged, but ${plural(unchecked, "claim")} could not be checked`;
  if (count((claim) => claim.status !== "ENTAILED")) return "Nothing flagged";
  return total === 1 ? "The claim is supported" : `All ${total} claims are supported`;
}

const section = (title, ...children) => h("section", { class: "section" }, h("h2", {}, title), ...children);

const flagCard = (flag) =>
  h(
    "div",
    { class: "card flag-card" },
    h(
      "p",
      {},
      h("b", {}, typeName(flag.type)),
      h("span", { class: "soft small num" }, ` · confidence ${figure(flag.confidence)}`),
    ),
    h("p", { dir: "auto" }, `“${flag.content}”`),
    flag.evidence ? h("p", { class: "soft small", dir: "auto" }, flag.evidence) : null,
    flag.suggestion ? h("p", { class: "small", dir: "auto" }, flag.suggestion) : null,
  );

/** The repaired answer; what is new in it says what stood there before. */
function repaired({ text, edits = [] }) {
  const unit = units(text);
  const parts = [];
  let at = 0;
  for (const edit of [...edits].sort((a, b) => a.new_start - b.new_start)) {
    const [start, end] = [unit(edit.new_start), unit(edit.new_end)];
    if (start < at) continue;
    parts.push(text.slice(at, start));
    if (edit.before) parts.push(h("del", {}, edit.before), " ");
    parts.push(h("ins", {}, text.slice(start, end)));
    at = end;
  }
  const copied = button("Copy", () => copy(text, "Repaired answer copied"), {
    "aria-label": "Copy the repaired answer",
  });
  return h("div", { class: "card repaired" }, h("p", { dir: "auto" }, ...parts, text.slice(at)), copied);
}

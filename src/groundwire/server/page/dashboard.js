// The dashboard: how much of what was checked lately is not backed, when, of which kind, by which source.

import { call } from "./api.js";
import { overTime, shares } from "./charts.js";
import { $, button, h, percent, plural, say, when } from "./dom.js";
import { status, typeName } from "./words.js";

const HOUR = 3_600_000;
const PAGE = 25;
let days = 7,
  asked = 0;

async function load() {
  const mine = ++asked;
  $("board").setAttribute("aria-busy", "true");
  if (!$("board").children.length)
    $("board").replaceChildren(
      h("div", { class: "state" }, h("div", { class: "pulse" }), h("p", { class: "soft" }, "Counting…")),
    );
  try {
    const [stats, list] = await Promise.all([
      call("GET", `/v1/stats?days=${days}`),
      call("GET", `/v1/reports?limit=${PAGE}`),
    ]);
    if (mine === asked) draw(stats.data, list.data);
  } catch (problem) {
    if (mine === asked) $("board").replaceChildren(failed(problem));
  }
  $("board").removeAttribute("aria-busy");
}

const failed = (problem) =>
  h(
    "div",
    { class: "state", role: "alert" },
    h("h2", {}, problem.title || "The page stumbled"),
    h("p", { class: "soft" }, problem.detail || problem.message),
    button("Try again", load, { class: "main" }),
  );

function draw(stats, list) {
  if (!stats.totals.reports && !list.reports.length) {
    $("board").replaceChildren(
      h(
        "div",
        { class: "card empty" },
        h("h2", {}, "Nothing was checked yet"),
        h(
          "p",
          { class: "soft" },
          "Every check made here or over the API shows up, as long as the server keeps reports.",
        ),
        h("a", { href: "/" }, "Check an answer"),
      ),
    );
    return;
  }
  const totals = stats.totals;
  $("board").replaceChildren(
    h(
      "div",
      { class: "kpis" },
      kpi(
        percent(totals.flagged_claims, totals.claims),
        "Claims not backed",
        `${totals.flagged_claims.toLocaleString("en")} of ${totals.claims.toLocaleString("en")}`,
      ),
      kpi(
        percent(totals.flagged_reports, totals.reports),
        "Answers flagged",
        `${totals.flagged_reports.toLocaleString("en")} of ${totals.reports.toLocaleString("en")}`,
      ),
      kpi(totals.reports.toLocaleString("en"), "Checks", days === 1 ? "in 24 hours" : `in ${days} days`),
      kpi(
        totals.unchecked.toLocaleString("en"),
        "Claims without a verdict",
        totals.failed_reports ? `${plural(totals.failed_reports, "check")} failed` : "no check failed",
      ),
    ),
    h(
      "section",
      { class: "card chart" },
      h(
        "div",
        { class: "chart-head" },
        h("h2", {}, "Claims not backed, over time"),
        h(
          "span",
          { class: "legend" },
          h("span", {}, h("i", {}), "share"),
          h("span", {}, h("i", { class: "v" }), "claims"),
        ),
      ),
      overTime(filled(stats), named),
    ),
    h(
      "div",
      { class: "split" },
      h(
        "section",
        { class: "card chart" },
        h("div", { class: "chart-head" }, h("h2", {}, "By type")),
        stats.types.length
          ? shares(stats.types, typeName, (row) => row.flagged.toLocaleString("en"))
          : h("p", { class: "soft small" }, "Nothing was flagged."),
      ),
      h(
        "section",
        { class: "card chart" },
        h(
          "div",
          { class: "chart-head" },
          h("h2", {}, "By source"),
          h("span", { class: "soft small" }, "claims judged by it, and how many were flagged"),
        ),
        stats.sources.length
          ? shares(
              stats.sources,
              (name) => name,
              (row) => `${row.flagged.toLocaleString("en")} of ${row.claims.toLocaleString("en")}`,
            )
          : h("p", { class: "soft small" }, "No claim was judged by a source."),
      ),
    ),
    recent(list),
  );
}

const kpi = (figure, words, more) =>
  h("div", { class: "card kpi" }, h("span", {}, words), h("b", {}, figure), h("span", {}, more));

const named = (date, short = false) =>
  days <= 2
    ? date.toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false, timeZone: "UTC" }) +
      (short ? "" : " UTC")
    : date.toLocaleDateString("en", { day: "numeric", month: "short", timeZone: "UTC" });

/** Every step of the stretch, so that a quiet day is a gap and not a straight line. */
function filled(stats) {
  const step = stats.step_hours * HOUR;
  const by = new Map(stats.moments.map((moment) => [Date.parse(moment.start), moment]));
  const found = [];
  const floor = (time) => Math.floor(time / step) * step;
  for (
    let at = floor(Math.min(Date.parse(stats.since), ...by.keys()));
    at <= floor(Math.max(Date.now(), ...by.keys()));
    at += step
  ) {
    found.push({ reports: 0, claims: 0, flagged_claims: 0, ...by.get(at), start: new Date(at) });
  }
  return found;
}

const KINDS = [
  ["", "All"],
  ["true", "Flagged"],
  ["false", "Backed"],
  ["unknown", "Could not check"],
];

function recent(list) {
  const body = h("tbody", {}, ...list.reports.map(row));
  const more = button("Show more", () => fetchRows(next));
  let next = list.next,
    only = "";
  more.hidden = !next;
  const fetchRows = async (before) => {
    more.disabled = true;
    try {
      const wanted = new URLSearchParams({
        limit: PAGE,
        ...(only ? { flagged: only } : {}),
        ...(before ? { before } : {}),
      });
      const { data } = await call("GET", `/v1/reports?${wanted}`);
      if (!before) body.replaceChildren();
      body.append(...data.reports.map(row));
      if (!body.children.length) body.append(h("tr", {}, h("td", { colspan: "5", class: "soft" }, "None of them.")));
      next = data.next;
      more.hidden = !next;
    } catch (problem) {
      say(problem.detail || problem.title);
    } finally {
      more.disabled = false;
    }
  };
  const chips = KINDS.map(([value, words]) =>
    h(
      "button",
      {
        type: "button",
        class: "chip",
        "aria-pressed": String(value === only),
        onclick: (event) => {
          only = value;
          for (const chip of chips) chip.setAttribute("aria-pressed", String(chip === event.currentTarget));
          fetchRows("");
        },
      },
      words,
    ),
  );
  return h(
    "section",
    { class: "card chart reports" },
    h(
      "div",
      { class: "chart-head" },
      h("h2", {}, "Recent checks"),
      h("div", { class: "chips", role: "group", "aria-label": "Show checks that are" }, ...chips),
    ),
    h(
      "div",
      { class: "table-wrap" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", {}, "What"),
            h("th", {}, "Verdict"),
            h("th", { class: "num wide-only" }, "Flagged"),
            h("th", { class: "num wide-only" }, "Grounded"),
            h("th", { class: "wide-only" }, "When"),
          ),
        ),
        body,
      ),
    ),
    h("p", { class: "row center" }, more),
  );
}

function row(report) {
  const verdict = report.flagged === null ? "UNCHECKED" : report.flagged ? "CONTRADICTED" : "ENTAILED";
  const words = report.flagged === null ? "Could not check" : report.flagged ? "Flagged" : "Backed";
  const path =
    report.kind === "audit" ? `/audit#${encodeURIComponent(report.id)}` : `/r/${encodeURIComponent(report.id)}`;
  return h(
    "tr",
    {},
    h(
      "td",
      {},
      h("a", { href: path, dir: "auto" }, report.title || "(empty)"),
      report.kind === "check" ? null : h("span", { class: "soft small" }, ` ${report.kind}`),
    ),
    h(
      "td",
      {},
      h(
        "span",
        { class: `pill ${verdict}` },
        h("span", { class: "mark", "aria-hidden": "true" }, status(verdict).mark),
        words,
      ),
    ),
    h("td", { class: "num wide-only" }, `${report.flagged_claims} of ${report.claims}`),
    h("td", { class: "num wide-only" }, report.grounding_ratio === null ? "–" : percent(report.grounding_ratio, 1)),
    h("td", { class: "when wide-only" }, when(report.created)),
  );
}

for (const chip of document.querySelectorAll("[data-days]")) {
  chip.addEventListener("click", () => {
    days = Number(chip.dataset.days);
    for (const one of document.querySelectorAll("[data-days]")) one.setAttribute("aria-pressed", String(one === chip));
    load();
  });
}
load();

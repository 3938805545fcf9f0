// Charts, drawn as SVG by hand: a rate over time above its volume, and shares as bars.

import { h, percent, plural, svg } from "./dom.js";

const TALL = 220,
  TOP = 14,
  BOTTOM = 26,
  LEFT = 44,
  RIGHT = 8;

/** `moments` are all of a stretch, empty ones too: {start: Date, claims, flagged_claims, reports}. */
export function overTime(moments, named) {
  const tip = h("p", { class: "tip", "aria-live": "polite" });
  const box = h("div", {});
  const idle = "Point at the chart, or walk along it with the arrow keys.";
  tip.textContent = idle;
  const draw = () =>
    box.replaceChildren(
      timeline(moments, named, Math.max(280, box.clientWidth), (words) => {
        tip.textContent = words || idle;
      }),
    );
  new ResizeObserver(draw).observe(box);
  return h("div", {}, box, tip, table(moments, named));
}

function timeline(moments, named, wide, tell) {
  const rate = (moment) => (moment.claims ? moment.flagged_claims / moment.claims : null);
  const top = ceiling(Math.max(0.05, ...moments.map((moment) => rate(moment) ?? 0)));
  const most = Math.max(1, ...moments.map((moment) => moment.claims));
  const step = (wide - LEFT - RIGHT) / moments.length;
  const x = (index) => LEFT + step * (index + 0.5);
  const y = (value) => TOP + (TALL - TOP - BOTTOM) * (1 - value / top);
  const floor = y(0);
  const parts = [];
  for (const part of [0, 0.5, 1]) {
    parts.push(svg("line", { class: "grid", x1: LEFT, x2: wide - RIGHT, y1: y(top * part), y2: y(top * part) }));
    parts.push(
      svg(
        "text",
        { x: LEFT - 8, y: y(top * part) + 4, "text-anchor": "end" },
        `${Math.round(1000 * top * part) / 10} %`,
      ),
    );
  }
  const bar = Math.min(step * 0.6, 28);
  moments.forEach((moment, index) => {
    const tall = (0.55 * (floor - TOP) * moment.claims) / most;
    if (moment.claims)
      parts.push(
        svg("rect", {
          class: "volume",
          x: x(index) - bar / 2,
          y: floor - tall,
          width: bar,
          height: tall,
          rx: Math.min(3, bar / 3),
        }),
      );
  });
  parts.push(...curve(moments, rate, x, y, floor));
  const every = Math.max(1, Math.ceil(moments.length / Math.floor((wide - LEFT) / 64)));
  moments.forEach((moment, index) => {
    if ((moments.length - 1 - index) % every === 0)
      parts.push(svg("text", { x: x(index), y: TALL - 6, "text-anchor": "middle" }, named(moment.start, true)));
    parts.push(
      svg("rect", {
        class: "hover",
        x: x(index) - step / 2,
        y: TOP,
        width: step,
        height: floor - TOP,
        "data-at": index,
      }),
    );
  });
  return walkable(
    svg(
      "svg",
      {
        viewBox: `0 0 ${wide} ${TALL}`,
        height: TALL,
        role: "img",
        tabindex: "0",
        "aria-label": "Share of claims flagged over time; the table below has the figures",
      },
      ...parts,
    ),
    moments,
    (moment) => tell(moment ? words(moment, named) : ""),
  );
}

function curve(moments, rate, x, y, floor) {
  const parts = [];
  let run = [];
  const finish = () => {
    if (run.length > 1) {
      const path = run.map(([a, b]) => `${a} ${b}`).join("L");
      parts.push(
        svg("path", { class: "under", d: `M${run[0][0]} ${floor}L${path}L${run[run.length - 1][0]} ${floor}Z` }),
        svg("path", { class: "rate", d: `M${path}` }),
      );
    }
    if (run.length)
      parts.push(
        ...(run.length === 1 || moments.length <= 31 ? run : []).map(([cx, cy]) =>
          svg("circle", { class: "dot", cx, cy, r: 3.5 }),
        ),
      );
    run = [];
  };
  moments.forEach((moment, index) => (rate(moment) === null ? finish() : run.push([x(index), y(rate(moment))])));
  finish();
  return parts;
}

function walkable(drawing, moments, tell) {
  let at = moments.length;
  drawing.addEventListener("pointermove", (event) => {
    const found = event.target.dataset?.at;
    if (found !== undefined) tell(moments[found]);
  });
  drawing.addEventListener("pointerleave", () => tell(null));
  drawing.addEventListener("blur", () => tell(null));
  drawing.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    at = Math.max(0, Math.min(moments.length - 1, at + by));
    tell(moments[at]);
    event.preventDefault();
  });
  return drawing;
}

const words = (moment, named) =>
  `${named(moment.start)}: ${moment.claims ? `${percent(moment.flagged_claims, moment.claims)} of ${plural(moment.claims, "claim")} flagged, ${plural(moment.reports, "check")}` : "nothing was checked"}`;

const ceiling = (value) => [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1].find((step) => value <= step) || 1;

const table = (moments, named) =>
  h(
    "table",
    { class: "hidden" },
    h("caption", {}, "Claims flagged over time"),
    h("tr", {}, h("th", {}, "From"), h("th", {}, "Checks"), h("th", {}, "Claims"), h("th", {}, "Flagged")),
    ...moments
      .filter((moment) => moment.reports)
      .map((moment) =>
        h(
          "tr",
          {},
          h("td", {}, named(moment.start)),
          h("td", {}, String(moment.reports)),
          h("td", {}, String(moment.claims)),
          h("td", {}, String(moment.flagged_claims)),
        ),
      ),
  );

/** Rows of {name, claims, flagged}: a bar for how many there are, its dark part for how many were flagged. */
export function shares(rows, named, value) {
  const most = Math.max(1, ...rows.map((row) => row.claims));
  return h(
    "div",
    { class: "shares" },
    ...rows.map((row) =>
      h(
        "div",
        { class: "share-row" },
        h("span", { class: "n", title: named(row.name) }, h("bdi", {}, named(row.name))),
        h("span", { class: "soft num" }, value(row)),
        svg(
          "svg",
          { viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
          svg("rect", { class: "track", width: 100, height: 4, rx: 1 }),
          svg("rect", { class: "all", width: (100 * row.claims) / most, height: 4, rx: 1 }),
          svg("rect", { class: "part", width: (100 * row.flagged) / most, height: 4, rx: 1 }),
        ),
      ),
    ),
  );
}

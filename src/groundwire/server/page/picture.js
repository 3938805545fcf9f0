// A claim's evidence as a small picture: the way from p0 to p1, and the bits needed beside the bits brought.

import { figure, signed, svg } from "./dom.js";

const LEFT = 8,
  WIDTH = 360,
  SPAN = WIDTH - 2 * LEFT;

export function picture(claim) {
  if (typeof claim.p0 !== "number" || typeof claim.p1 !== "number") return null;
  const needs = claim.required_bits ?? 0,
    brings = claim.observed_bits ?? 0,
    gap = claim.budget_gap ?? 0;
  const words =
    `Probability ${figure(claim.p0)} without the evidence, ${figure(claim.p1)} with it, ${figure(claim.confidence)} wanted. ` +
    `The claim needs ${figure(needs)} bits, the evidence brings ${signed(brings)}; ${gap > 0 ? `${figure(gap)} are missing` : "none are missing"}.`;
  return svg(
    "svg",
    { class: "picture", viewBox: `0 0 ${WIDTH} 148`, role: "img", "aria-label": words },
    ...chances(claim),
    ...bits(needs, brings, gap),
  );
}

function chances(claim) {
  const x = (p) => LEFT + SPAN * Math.max(0, Math.min(1, p));
  const [a, b, t] = [x(claim.p0), x(claim.p1), x(claim.confidence ?? 0.95)];
  const near = Math.abs(a - b) < 86;
  const low = claim.p1 < claim.p0;
  return [
    svg("line", { class: "track", x1: LEFT, x2: LEFT + SPAN, y1: 34, y2: 34 }),
    svg("line", { class: "way", x1: a, x2: b, y1: 34, y2: 34 }),
    svg("line", { class: "target", x1: t, x2: t, y1: 25, y2: 43 }),
    svg("circle", { class: "p0", cx: a, cy: 34, r: 5 }),
    svg("circle", { class: "p1", cx: b, cy: 34, r: 6 }),
    svg("text", { x: clamp(a, 40), y: 60, "text-anchor": anchor(a) }, `without ${figure(claim.p0)}`),
    svg("text", { class: "tone", x: clamp(b, 34), y: 16, "text-anchor": anchor(b) }, `with ${figure(claim.p1)}`),
    Math.abs(t - b) > (near && !low ? 70 : 96) || b < t - 60
      ? svg("text", { x: LEFT + SPAN, y: 60, "text-anchor": "end" }, `wanted ${figure(claim.confidence)}`)
      : svg(
          "text",
          { x: LEFT + SPAN, y: 60, "text-anchor": "end" },
          Math.abs(a - LEFT - SPAN) > 150 ? `wanted ${figure(claim.confidence)}` : "",
        ),
  ];
}

const anchor = (x) => (x < 60 ? "start" : x > WIDTH - 60 ? "end" : "middle");
const clamp = (x) => (x < 60 ? LEFT : x > WIDTH - 60 ? WIDTH - LEFT : x);

function bits(needs, brings, gap) {
  const least = Math.min(0, brings),
    most = Math.max(needs, brings, 0.5);
  const room = 214,
    from = 74;
  const x = (value) => from + (room * (value - least)) / (most - least);
  const zero = x(0);
  const bar = (name, value, y, style) => {
    const [start, end] = value < 0 ? [x(value), zero] : [zero, x(value)];
    return svg("rect", { class: style, x: start, y, width: Math.max(end - start, value ? 2 : 0), height: 14, rx: 3 });
  };
  return [
    svg("text", { x: LEFT, y: 91 }, "needs"),
    bar("needs", needs, 80, "need"),
    svg("text", { class: "strong", x: WIDTH - LEFT, y: 91, "text-anchor": "end" }, `${figure(needs)} bits`),
    svg("text", { x: LEFT, y: 113 }, "brings"),
    bar("brings", brings, 102, "brought"),
    svg("text", { class: "strong", x: WIDTH - LEFT, y: 113, "text-anchor": "end" }, signed(brings)),
    svg("line", { class: "axis", x1: zero, x2: zero, y1: 76, y2: 120 }),
    svg("text", { x: LEFT, y: 137 }, "missing"),
    gap > 0
      ? svg("path", { class: "gap", d: `M${x(brings)} 126v7H${x(needs)}v-7` })
      : svg("text", { x: zero, y: 137 }, "none"),
    svg("text", { class: "tone", x: WIDTH - LEFT, y: 137, "text-anchor": "end" }, gap > 0 ? figure(gap) : ""),
  ];
}

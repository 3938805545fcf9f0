// Offsets. The server counts code points, JavaScript UTF-16 units: an emoji is one of the former and two of the latter.

const ASTRAL = /[\ud800-\udbff][\udc00-\udfff]/;

/** A function from code point offsets of a text to offsets that slice() takes. */
export function units(text) {
  if (!ASTRAL.test(text)) return (offset) => Math.max(0, Math.min(offset, text.length));
  const at = new Uint32Array(text.length + 1);
  let points = 0;
  for (let unit = 0; unit < text.length; points += 1) {
    at[points] = unit;
    unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
  }
  at[points] = text.length;
  return (offset) => at[Math.max(0, Math.min(offset, points))];
}

const WORST = ["CONTRADICTED", "NOT_IN_CONTEXT", "UNCHECKED", "UNVERIFIABLE", "ENTAILED"];

/**
 * A text cut where a claim, an unsupported span or a line begins or ends.
 * Gives lines of pieces {text, claim, hot}: claim is an index or -1. Where claims overlap, the worse one is shown.
 */
export function lines(text, claims, spans = []) {
  const unit = units(text);
  const ranges = claims.map((claim) => [unit(claim.start), unit(claim.end)]);
  const hot = spans.map((span) => [unit(span.start), unit(span.end)]);
  const cuts = new Set([0, text.length]);
  for (const [start, end] of [...ranges, ...hot]) cuts.add(start).add(end);
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) cuts.add(at).add(at + 1);
  const edges = [...cuts].sort((a, b) => a - b);
  const order = ranges.map((_, index) => index).sort((a, b) => ranges[a][0] - ranges[b][0]);
  const found = [[]];
  let next = 0,
    open = [],
    nextHot = 0;
  hot.sort((a, b) => a[0] - b[0]);
  for (let i = 0; i + 1 < edges.length; i += 1) {
    const [start, end] = [edges[i], edges[i + 1]];
    while (next < order.length && ranges[order[next]][0] <= start) open.push(order[next++]);
    open = open.filter((index) => ranges[index][1] > start);
    while (nextHot < hot.length && hot[nextHot][1] <= start) nextHot += 1;
    const piece = text.slice(start, end);
    if (piece === "\n") {
      found.push([]);
      continue;
    }
    const claim = open.reduce((best, index) => (best < 0 || worse(claims[index], claims[best]) ? index : best), -1);
    found[found.length - 1].push({ text: piece, claim, hot: nextHot < hot.length && hot[nextHot][0] <= start });
  }
  return found;
}

const worse = (a, b) => WORST.indexOf(a.status) < WORST.indexOf(b.status);

/** Parts of a source around its passages: {text, marked, best} with null where something long is left out.
 * The first passage given is the best one. */
export function passages(text, refs, around) {
  const unit = units(text);
  const marks = merged(refs.map((ref) => [unit(ref.start), unit(ref.end)]));
  const best = refs.length ? unit(refs[0].start) : -1;
  const windows = merged(
    marks.map(([start, end]) => [Math.max(0, start - around), Math.min(text.length, end + around)]),
  );
  const parts = [];
  for (const [from, to] of windows) {
    if (from > 0) parts.push(null);
    let at = from;
    for (const [start, end] of marks.filter((mark) => mark[0] >= from && mark[1] <= to)) {
      if (start > at) parts.push({ text: text.slice(at, start), marked: false });
      parts.push({ text: text.slice(start, end), marked: true, best: best >= start && best < end });
      at = end;
    }
    if (to > at) parts.push({ text: text.slice(at, to), marked: false });
  }
  if (windows.length && windows[windows.length - 1][1] < text.length) parts.push(null);
  return parts;
}

function merged(ranges) {
  const found = [];
  for (const [start, end] of ranges.filter(([a, b]) => b > a).sort((a, b) => a[0] - b[0])) {
    const last = found[found.length - 1];
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else found.push([start, end]);
  }
  return found;
}

/** What JSON can carry to the server: half a character becomes a replacement mark. */
export const whole = (text) =>
  text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");

export const words = (text) => (text.match(/\S+/g) || []).length;

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
 * A function that cuts a range of the text where a claim or an unsupported span begins or ends. Its pieces are
 * {text, claim, hot}: claim is an index or -1. Where claims overlap, the worse one is shown.
 */
export function cutter(text, claims, spans = []) {
  const unit = units(text);
  const range = ({ start, end }) => [unit(start), unit(end)];
  const ranges = claims.map(range);
  const hot = spans.map(range);
  const edges = [...new Set([...ranges, ...hot].flat())].sort((a, b) => a - b);
  const covers = ([from, to], start) => from <= start && start < to;
  const worst = (start) =>
    ranges.reduce(
      (best, claim, index) =>
        covers(claim, start) && (best < 0 || worse(claims[index], claims[best])) ? index : best,
      -1,
    );
  return (start, end) => {
    const cuts = [start, ...edges.slice(after(edges, start), after(edges, end - 1)), end];
    return cuts.slice(1).map((stop, index) => ({
      text: text.slice(cuts[index], stop),
      claim: worst(cuts[index]),
      hot: hot.some((span) => covers(span, cuts[index])),
    }));
  };
}

/** How many of the sorted numbers are not above the value. */
function after(sorted, value) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
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

/** A text that can be sent as JSON: half a character becomes a replacement mark. */
export const whole = (text) =>
  text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");

export const words = (text) => (text.match(/\S+/g) || []).length;

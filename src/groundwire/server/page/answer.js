// An answer as its Markdown means it: headings, lists, tables, quotations and code. Python draws the same blocks for
// HTML reports (reports/html.py); a browser test compares the two.

import { h, shown } from "./dom.js";

const FENCE = /^(`{3,}|~{3,})[ \t]*([^`\s]*)[^`]*$/;
const PROSE_FENCES = ["markdown", "md", "text", "txt", "plain", "plaintext"];
const HEADING = /^#{1,6}(?=[ \t]|$)[ \t]*/;
const RULE = /^(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|={3,}[ \t]*)$/;
const UNDERLINE = /^(?:=+|-{2,})[ \t]*$/;
const BULLET =
  /^(?:\[\^?[^\]\s]{1,80}\]:|[-*+•▪●◦‣∙·–—]|\d{1,3}[.)]|\(?[a-zA-Z]\)|\([0-9ivx]{1,4}\))(?=[ \t]|$)[ \t]*/;
const TASK = /^\[[ xX✓]\](?=[ \t]|$)[ \t]*/;
const DELIMITER = /^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$/;
const STYLES = [
  ["code", /(`+)([^`\n]+)\1/g],
  ["b", /(\*\*|__)(?=\S)([^\n]+?)(?<=\S)\1/g],
  ["i", /(?<![\p{L}\p{N}_*])([*_])(?![\s*_])([^*_\n]+?)(?<!\s)\1(?![\p{L}\p{N}_*])/gu],
];
const WRAPPED = 50; // characters of a line that a text width broke
const MAX_DEPTH = 3;

/** The elements of an answer. `draw(start, end)` gives the nodes of a range, with its claims marked. */
export function drawBlocks(text, draw) {
  const inline = ([start, end]) => styled(text, start, end, draw);
  const elements = [];
  for (const { tag, spans, marker, depth } of blocks(text)) {
    const last = elements[elements.length - 1];
    if (tag === "li") {
      const item = h("li", { class: `depth${depth}`, "data-marker": marker, dir: "auto" }, ...prose(text, spans, inline));
      if (last?.className === "items") last.append(item);
      else elements.push(h("ul", { class: "items" }, item));
    } else if (tag === "th" || tag === "td") {
      const row = h("tr", {}, ...spans.map((cell) => h(tag, { dir: "auto" }, ...inline(cell))));
      if (last?.tagName === "TABLE") last.append(row);
      else elements.push(h("table", {}, row));
    } else if (tag === "pre") elements.push(h("pre", {}, shown(text.slice(...spans[0]))));
    else elements.push(h(tag, { dir: "auto" }, ...prose(text, spans, inline)));
  }
  return elements;
}

/** Lines of prose: joined where a text width broke them, else with a line break. */
function prose(text, spans, inline) {
  return spans.flatMap(([start, end], index) => {
    if (index === spans.length - 1) return inline([start, end]);
    return [...inline([start, end]), [...text.slice(start, end)].length >= WRAPPED ? " " : h("br", {})];
  });
}

/** One line with its emphasis and code; the marks themselves are left out. */
function styled(text, start, end, draw) {
  const line = text.slice(start, end);
  const found = STYLES.flatMap(([tag, pattern]) =>
    [...line.matchAll(pattern)].map((match) => [match.index, match.index + match[0].length, match[1].length, tag]),
  ).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const parts = [];
  let at = 0;
  for (const [from, to, width, tag] of found) {
    if (from < at) continue;
    parts.push(...range(start + at, start + from, draw));
    parts.push(h(tag, {}, ...range(start + from + width, start + to - width, draw)));
    at = to;
  }
  return [...parts, ...range(start + at, end, draw)];
}

const range = (start, end, draw) => (start < end ? draw(start, end) : []);

/** The lines of a text as {body, start, end}: without quote marks, indentation and trailing space. */
function read(text) {
  const lines = [];
  let from = 0;
  for (const raw of text.split(/\r\n|[\n\r\v\f\x85\u2028\u2029]/)) {
    const skip = /^(?:[ \t]*>)*[ \t]*/.exec(raw)[0].length;
    const body = raw.slice(skip).trimEnd();
    const start = from + skip;
    lines.push({ body, start, end: start + body.length, quoted: raw.slice(0, skip).includes(">"), indent: skip });
    from += raw.length + (text.startsWith("\r\n", from + raw.length) ? 2 : 1);
  }
  return lines;
}

/** Blocks of a text: {tag, spans, marker, depth}; spans are the lines of prose, or the cells of a row. */
function blocks(text) {
  const lines = read(text);
  const found = [];
  let open = null;
  let wrapper = "";
  const add = (tag, spans, more = {}) => {
    open = null;
    found.push({ tag, spans, marker: "", depth: 0, ...more });
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at];
    const fence = FENCE.exec(line.body);
    if (!line.body) open = null;
    else if (fence) {
      open = null;
      const last = closing(lines, at, fence[1]);
      if (line.body === wrapper) wrapper = "";
      else if (PROSE_FENCES.includes(fence[2].toLowerCase())) wrapper = last < lines.length ? fence[1] : "";
      else if (fence[2] || last < lines.length) {
        const start = (lines[at + 1] || line).start - (lines[at + 1]?.indent ?? 0);
        add("pre", [[start, lines[Math.min(last, lines.length) - 1].end]]);
        at = last;
      }
    } else if (isTable(lines, at)) {
      add("th", cells(line));
      for (at += 2; at < lines.length && lines[at].body.includes("|"); at += 1) add("td", cells(lines[at]));
      at -= 1;
    } else if (HEADING.test(line.body)) {
      const start = line.start + HEADING.exec(line.body)[0].length;
      const end = line.end - (/[ \t]+#+$/.exec(line.body)?.[0].length ?? 0);
      if (start < end) add("h3", [[start, end]]);
      open = null;
    } else if (open ? RULE.test(line.body) || UNDERLINE.test(line.body) : RULE.test(line.body)) {
      if (open?.tag === "p" && open.spans.length === 1 && UNDERLINE.test(line.body)) open.tag = "h3";
      open = null;
    } else open = plain(line, open, found);
  }
  return found.filter((block) => block.spans.length);
}

/** The line of the closing fence, or the number of lines. */
function closing(lines, at, mark) {
  const closes = ({ body }) => body.startsWith(mark) && [...body].every((char) => char === mark[0]);
  const last = lines.findIndex((line, index) => index > at && closes(line));
  return last < 0 ? lines.length : last;
}

function isTable(lines, at) {
  const under = lines[at + 1]?.body ?? "";
  return lines[at].body.includes("|") && under.includes("-") && /[|:]/.test(under) && DELIMITER.test(under);
}

/** The trimmed cells of a table's line. */
function cells({ body, start }) {
  const edges = [];
  for (let i = 0; i < body.length; i += 1) if (body[i] === "|" && body[i - 1] !== "\\") edges.push(i);
  if (!body.startsWith("|")) edges.unshift(-1);
  if (edges[edges.length - 1] !== body.length - 1) edges.push(body.length);
  return edges.slice(1).map((right, index) => {
    const cell = body.slice(edges[index] + 1, right);
    const from = start + edges[index] + 1 + cell.length - cell.trimStart().length;
    return [from, Math.max(from, start + edges[index] + 1 + cell.trimEnd().length)];
  });
}

/** A line of prose begins an item or a paragraph, or continues the open one, which is returned. */
function plain(line, open, found) {
  const bullet = BULLET.exec(line.body)?.[0] ?? "";
  const marker = bullet.trim();
  let start = line.start + bullet.length;
  if (marker && !marker.startsWith("[")) start += TASK.exec(line.body.slice(bullet.length))?.[0].length ?? 0;
  if (!marker && open && open.quoted === line.quoted) {
    open.spans.push([start, line.end]);
    return open;
  }
  const block = {
    tag: marker ? "li" : line.quoted ? "blockquote" : "p",
    spans: start < line.end ? [[start, line.end]] : [],
    marker: /[\p{L}\p{N}]/u.test(marker) ? marker : "•",
    depth: Math.min(line.indent >> 1, MAX_DEPTH),
    quoted: line.quoted,
  };
  found.push(block);
  return block;
}

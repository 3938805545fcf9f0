// The only ways this page makes elements. Strings become text nodes: nothing from a user is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";
// Controls and marks that turn text around would let a text draw itself over others. One unit for one: offsets stay.
const UNSHOWN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

export const $ = (id) => document.getElementById(id);

export const shown = (text) => String(text ?? "").replace(UNSHOWN, "\ufffd");

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(shown(child)));
  }
  return element;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** A button; `act` is what a click does. */
export const button = (words, act, more = {}) =>
  h("button", { type: "button", class: "plain", onclick: act, ...more }, words);

let hush = 0;
export function say(words) {
  const toast = $("said");
  toast.textContent = shown(words);
  toast.classList.add("on");
  clearTimeout(hush);
  hush = setTimeout(() => toast.classList.remove("on"), 2600);
}

export async function copy(text, words) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { class: "hidden", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) return say("The browser did not let us copy");
  }
  say(words);
}

export function download(text, name, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  URL.revokeObjectURL(url);
}

export const figure = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));
export const signed = (value, digits = 2) =>
  value === null || value === undefined ? "–" : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;
export const percent = (part, whole) =>
  whole ? `${((100 * part) / whole).toFixed(part && part / whole < 0.1 ? 1 : 0)} %` : "–";
/** A probability as a reader takes it: 0.98 is 98 %. */
export const share = (value) => (typeof value === "number" ? `${Math.round(100 * value)} %` : "–");
export const plural = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
export const when = (iso) => new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });

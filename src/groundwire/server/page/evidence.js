// Evidence: the passages a claim was judged by, marked where they stand in their source.

import { h, shown } from "./dom.js";
import { passages } from "./text.js";

const AROUND = 400;
const NEVER_WHOLE = 200_000;

/** A block a source. `sources` are {id, text, origin} by id. */
export function evidence(claim, sources) {
  const refs = new Map();
  for (const ref of claim.evidence || []) refs.set(ref.source, [...(refs.get(ref.source) || []), ref]);
  const blocks = [...refs].map(([id, some]) => block(id, some, sources.get(id)));
  const missing = (claim.citations || []).filter((id) => !sources.has(id) && !refs.has(id));
  if (missing.length)
    blocks.push(h("p", { class: "soft small" }, `It cites ${missing.join(", ")}, which none of the sources is.`));
  if (!blocks.length) blocks.push(h("p", { class: "soft small" }, "The sources do not mention this."));
  return h("div", { class: "evidence" }, ...blocks);
}

function block(id, refs, source) {
  const head = h(
    "h3",
    {},
    h("bdi", {}, source?.origin || id),
    source?.origin ? h("span", { class: "mono" }, id) : null,
  );
  if (!source) return h("div", {}, head, h("p", { class: "soft small" }, "This source was not kept with the report."));
  const box = h("div", { class: "passage", tabindex: "0", dir: "auto", role: "region", "aria-label": `Source ${id}` });
  const draw = (around) => {
    const parts = passages(source.text, refs, around);
    box.replaceChildren(
      ...parts.map((part) =>
        part === null
          ? "… "
          : part.marked
            ? h("mark", { class: part.best ? "best" : null }, part.text)
            : document.createTextNode(shown(part.text)),
      ),
    );
    return parts.includes(null);
  };
  const cut = draw(AROUND);
  requestAnimationFrame(() => reveal(box));
  const more =
    cut && source.text.length <= NEVER_WHOLE
      ? h(
          "button",
          {
            type: "button",
            class: "bare small",
            onclick: () => {
              draw(Infinity);
              more.remove();
              reveal(box);
            },
          },
          "Show the whole source",
        )
      : null;
  return h("div", {}, head, box, more);
}

/** The best passage in view, by scrolling the box alone: the page stays where it is. */
function reveal(box) {
  const mark = box.querySelector("mark.best") || box.querySelector("mark");
  if (mark) box.scrollTop = Math.max(0, mark.offsetTop - 48);
}

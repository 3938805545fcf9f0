// One claim: its verdict, its reason, its bits as a picture, its evidence in place, and what a reader thinks of it.

import { button, h } from "./dom.js";
import { evidence } from "./evidence.js";
import { picture } from "./picture.js";
import { label, status, tone } from "./words.js";

const NO_VERDICT = ["UNCHECKED", "UNVERIFIABLE"];

/** `step` and `shut` are what the buttons do; `mark`, where there is one, takes the claim and right or wrong. */
export function claimPane(claim, { place, sources, step, shut, mark }) {
  const bare = (words, act, name, title) => button(words, act, { class: "bare", "aria-label": name, title });
  return [
    h(
      "div",
      { class: `inspector-head ${tone(claim.status)}` },
      pill(claim),
      h(
        "span",
        { class: "row" },
        h("span", { class: "soft small num" }, place),
        bare("↑", () => step(-1), "Claim before", "Claim before (k)"),
        bare("↓", () => step(1), "Next claim", "Next claim (j)"),
        button("✕", shut, { class: "bare shut", "aria-label": "Close" }),
      ),
    ),
    h("p", { class: "said", dir: "auto" }, claim.text),
    h("p", { class: "why", dir: "auto" }, claim.reason),
    h("div", { class: tone(claim.status) }, picture(claim)),
    h("div", { class: tone(claim.status) }, evidence(claim, sources)),
    opinion(claim, mark),
  ];
}

const pill = (claim) =>
  h(
    "span",
    { class: "pill" },
    h("span", { class: "mark", "aria-hidden": "true" }, status(claim.status).mark),
    label(claim),
  );

function opinion(claim, mark) {
  const key = h("span", { class: "push soft mono", title: `${claim.method}; the claim's key` }, claim.key || "");
  const said = claim.feedback;
  if (said) return h("div", { class: "opinion" }, `Marked as ${said.right ? "right" : "wrong"}. Thank you.`, key);
  if (!mark || NO_VERDICT.includes(claim.status)) return h("div", { class: "opinion soft" }, claim.method, key);
  return h(
    "div",
    { class: "opinion" },
    h("span", { class: "soft" }, "Is this verdict right?"),
    button("Right", () => mark(claim, true)),
    button("Wrong", () => mark(claim, false)),
    key,
  );
}

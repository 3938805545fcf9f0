// One claim: its verdict, its reason, its evidence in place, its bits as a picture, and what a reader thinks of it.

import { button, h, share, signed } from "./dom.js";
import { evidence } from "./evidence.js";
import { picture } from "./picture.js";
import { status, tone } from "./words.js";

const NO_VERDICT = ["UNCHECKED", "UNVERIFIABLE"];

/** `step` and `shut` are what the buttons do; `mark`, where there is one, takes the claim and right or wrong. */
export function claimPane(claim, { place, sources, step, shut, mark }) {
  const bare = (words, act, name, title) => button(words, act, { class: "bare", "aria-label": name, title });
  return [
    h(
      "div",
      { class: `inspector-head ${tone(claim.status)}` },
      h("span", { class: "row" }, pill(claim), support(claim)),
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
    says(claim) ? h("p", { class: "why", dir: "auto" }, says(claim)) : null,
    h("div", { class: tone(claim.status) }, evidence(claim, sources)),
    shares(claim),
    drawBits(claim),
    opinion(claim, mark),
  ].filter(Boolean);
}

const pill = (claim) =>
  h(
    "span",
    { class: "pill" },
    h("span", { class: "mark", "aria-hidden": "true" }, status(claim.status).mark),
    status(claim.status).name,
  );

const support = (claim) =>
  typeof claim.p1 === "number"
    ? h("span", { class: "soft small" }, "support ", h("span", { class: "likely" }, share(claim.p1)))
    : null;

/** The reason, without the words that repeat that the claim is supported. */
const says = (claim) =>
  claim.status === "ENTAILED" ? String(claim.reason).replace(/^supported[^;]*(; )?/, "") : claim.reason;

/** What each source adds to a claim that is drawn from several. */
function shares(claim) {
  if (!claim.shares) return null;
  const row = ({ source, bits, p_without, needed }) =>
    h(
      "li",
      {},
      h("bdi", {}, source),
      ` ${signed(bits)} bits, support ${share(p_without)} without it${needed ? "; needed" : ""}`,
    );
  return h(
    "div",
    { class: "shares small" },
    h("h3", {}, "Lost without each source"),
    h("ul", {}, ...claim.shares.map(row)),
  );
}

/** Closed, where p0 was not measured: the embedded verifier gives nearly every claim the same. */
function drawBits(claim) {
  const drawn = picture(claim);
  if (!drawn) return null;
  const measured = /\/(?:logprob|sampling|direct)/.test(claim.method);
  return h(
    "details",
    { class: `bits ${tone(claim.status)}`, open: measured },
    h("summary", { class: "soft small" }, "Bits of evidence"),
    drawn,
  );
}

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

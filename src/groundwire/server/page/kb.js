// The knowledge base: find an entity, see its attributes and facts, how sure they are and where they come from.

import { call } from "./api.js";
import { $, button, figure, h, plural, when } from "./dom.js";

const PAUSE = 180;
const TONES = {
  verified: "ENTAILED",
  asserted: "UNVERIFIABLE",
  unverified: "UNCHECKED",
  pending: "UNCHECKED",
  superseded: "NOT_IN_CONTEXT",
  retracted: "CONTRADICTED",
};
let waiting = 0,
  asked = 0,
  amount = null;

async function start() {
  try {
    const { data } = await call("GET", "/v1/kb");
    amount = data;
    const by = Object.entries(data.by_status)
      .map(([name, number]) => `${number.toLocaleString("en")} ${name}`)
      .join(", ");
    $("amount").textContent =
      `${plural(data.entities, "entity", "entities")} and ${plural(data.facts, "fact")}${by ? ` (${by})` : ""}.`;
    if (!data.entities) empty();
    else if (!$("q").value) overview(data);
  } catch (problem) {
    failed(problem);
  }
}

const failed = (problem) =>
  $("found").replaceChildren(
    h(
      "p",
      { class: "notice bad", role: "alert" },
      problem.title || problem.message,
      problem.detail ? `. ${problem.detail}` : "",
    ),
  );

const empty = () =>
  $("found").replaceChildren(
    h(
      "div",
      { class: "card empty" },
      h("h2", {}, "Nothing is known yet"),
      h("p", { class: "soft" }, "Fill it from CSV, JSON lines or triples:"),
      h("code", {}, "groundwire kb import FILE"),
    ),
  );

function overview(data) {
  const list = (title, counts) =>
    h(
      "section",
      { class: "section" },
      h("h2", {}, title),
      h(
        "div",
        { class: "chips" },
        ...Object.entries(counts).map(([name, number]) =>
          h("span", { class: "chip" }, name || "no type", h("b", {}, number.toLocaleString("en"))),
        ),
      ),
    );
  $("found").replaceChildren(list("Kinds of entity", data.types), list("What is said of them", data.predicates));
}

async function search() {
  const mine = ++asked;
  const name = $("q").value.trim();
  if (!name) {
    $("entity").hidden = true;
    return amount?.entities ? overview(amount) : start();
  }
  try {
    const { data } = await call("GET", `/v1/kb/entities?limit=30&q=${encodeURIComponent(name)}`);
    if (mine !== asked) return;
    $("found").replaceChildren(
      data.entities.length
        ? h("ol", { class: "hits" }, ...data.entities.map((entity) => h("li", {}, hit(entity))))
        : h("p", { class: "soft" }, `Nothing is known under “${name}”.`),
    );
  } catch (problem) {
    if (mine === asked) failed(problem);
  }
}

const hit = (entity) =>
  h(
    "button",
    { type: "button", class: "hit", "data-id": entity.id, onclick: () => open(entity.id) },
    h("b", { dir: "auto" }, entity.name),
    h(
      "span",
      {},
      [
        entity.type,
        entity.match === "exact"
          ? ""
          : entity.match === "alias"
            ? "by another name"
            : `${Math.round(100 * entity.score)} % alike`,
      ]
        .filter(Boolean)
        .join(" · "),
    ),
  );

async function open(id) {
  for (const one of document.querySelectorAll(".hit")) one.setAttribute("aria-current", String(one.dataset.id === id));
  try {
    const { data } = await call("GET", `/v1/kb/entities/${id.split("/").map(encodeURIComponent).join("/")}`);
    draw(data.entity, data.facts);
    history.replaceState({}, "", `/kb#${encodeURIComponent(id)}`);
  } catch (problem) {
    $("entity").replaceChildren(h("p", { role: "alert" }, problem.title));
    $("entity").hidden = false;
  }
}

function draw(entity, facts) {
  const attributes = entity.attributes || [];
  $("entity").replaceChildren(
    h(
      "header",
      {},
      h("h2", { dir: "auto" }, entity.name),
      h(
        "p",
        { class: "soft" },
        [entity.type, (entity.aliases || []).length ? `also ${entity.aliases.join(", ")}` : ""]
          .filter(Boolean)
          .join(" · "),
      ),
      h("p", { class: "mono soft" }, entity.id),
    ),
    attributes.length
      ? h(
          "section",
          {},
          h("h3", {}, "Attributes"),
          h(
            "dl",
            { class: "attributes" },
            ...attributes.flatMap((one) => [
              h("dt", {}, one.name),
              h("dd", { dir: "auto" }, value(one.value), span(one)),
            ]),
          ),
        )
      : "",
    h(
      "section",
      {},
      h("h3", {}, facts.length ? plural(facts.length, "fact") : "No facts about it"),
      h("ul", { class: "facts" }, ...facts.map((fact) => drawFact(fact, entity))),
    ),
  );
  $("entity").hidden = false;
  $("entity").focus({ preventScroll: true });
  if (matchMedia("(max-width: 60rem)").matches) $("entity").scrollIntoView({ block: "start" });
}

const value = (found) => (found.entity ? button(found.text, () => open(found.entity), { class: "bare" }) : found.text);
const span = (one) =>
  one.valid_from || one.valid_to
    ? h("span", { class: "soft small" }, ` ${one.valid_from || "…"} – ${one.valid_to || "…"}`)
    : null;

function drawFact(fact, entity) {
  const told = fact.record;
  return h(
    "li",
    { class: "fact" },
    h("p", { class: "t", dir: "auto" }, fact.text || sentence(fact, entity)),
    h(
      "p",
      { class: "small soft" },
      h("span", { class: `pill ${Object.hasOwn(TONES, fact.status) ? TONES[fact.status] : "UNCHECKED"}` }, fact.status),
      h("span", { class: "num" }, `confidence ${figure(fact.confidence)}`),
      told
        ? h("span", { class: "num" }, `p0 ${figure(told.p0)} → p1 ${figure(told.p1)}, ${figure(told.bits)} bits`)
        : null,
      span(fact),
    ),
    h(
      "p",
      { class: "small soft" },
      h(
        "span",
        {},
        fact.source
          ? ["from ", h("bdi", {}, fact.source), typeof fact.start === "number" ? ` ${fact.start}–${fact.end}` : ""]
          : "no source was named",
      ),
      fact.recorded ? h("span", {}, when(fact.recorded)) : null,
      h("span", { class: "mono", title: fact.id }, fact.id.length > 12 ? `${fact.id.slice(0, 8)}…` : fact.id),
    ),
  );
}

const sentence = (fact, entity) => {
  const [subject, ...others] = fact.roles;
  const shown = (role) => (role?.value.entity === entity.id ? entity.name : (role?.value.text ?? ""));
  return [shown(subject), fact.predicate.replaceAll("_", " "), others.map(shown).join(", ")].join(" ");
};

$("search").addEventListener("submit", (event) => {
  event.preventDefault();
  search();
});
$("q").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(search, PAUSE);
});
document.addEventListener("keydown", (event) => {
  const hits = [...document.querySelectorAll(".hit")];
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by || !hits.length || !event.target.closest("#q, .hits")) return;
  event.preventDefault();
  const next = hits.indexOf(document.activeElement) + by;
  (next < 0 ? $("q") : hits[Math.min(next, hits.length - 1)]).focus();
});
start();
if (location.hash) open(decodeURIComponent(location.hash.slice(1)));

// Sorts and filters the table of responses. Everything is in the page already.
"use strict";
const table = document.querySelector(".responses");
const bodies = [...table.tBodies];
const chips = [...document.querySelectorAll("[data-only]")];
const search = document.querySelector('input[type="search"]');
const group = document.querySelector("select");
let only = "";

const has = (body, name) => !name || body.dataset.has.split(" ").includes(name);

function filter() {
  const words = search.value.toLowerCase();
  let shown = 0;
  for (const body of bodies) {
    const fits = has(body, only) && (!group?.value || body.dataset.group === group.value);
    body.hidden = !fits || (words && !body.textContent.toLowerCase().includes(words));
    shown += body.hidden ? 0 : 1;
  }
  for (const chip of chips) chip.setAttribute("aria-pressed", String(chip.dataset.only === only));
  document.getElementById("shown").textContent = `${shown} of ${bodies.length} shown`;
}

function sort(button) {
  const head = button.closest("th");
  const key = button.dataset.key;
  const numeric = ["flags", "grounded", "risk"].includes(key);
  // Numbers begin with the largest, names with A.
  const now = head.getAttribute("aria-sort");
  const down = now ? now === "ascending" : numeric;
  for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const order = (a, b) =>
    numeric ? a.dataset[key] - b.dataset[key] : a.dataset[key].localeCompare(b.dataset[key], "en", { numeric: true });
  bodies.sort((a, b) => (down ? -1 : 1) * order(a, b) || a.dataset.number - b.dataset.number);
  table.append(...bodies);
}

for (const chip of chips) {
  chip.querySelector("b").textContent = bodies.filter((body) => has(body, chip.dataset.only)).length;
  chip.addEventListener("click", () => {
    only = chip.dataset.only;
    filter();
  });
}
for (const button of table.querySelectorAll("[data-key]")) button.addEventListener("click", () => sort(button));
search.addEventListener("input", filter);
group?.addEventListener("change", filter);
filter();

// Runs before the page is drawn, so that a chosen theme never flashes. The choice is all that is kept.
"use strict";
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try {
    chosen = localStorage.getItem("groundwire.theme");
  } catch {
    /* storage may be forbidden */
  }
  const now = () => chosen || (dark.matches ? "dark" : "light");
  const apply = () => {
    root.dataset.theme = now();
    const button = document.getElementById("theme");
    if (button) button.setAttribute("aria-pressed", String(now() === "dark"));
  };
  apply();
  dark.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", () => {
    apply();
    document.getElementById("theme").addEventListener("click", () => {
      chosen = now() === "dark" ? "light" : "dark";
      try {
        localStorage.setItem("groundwire.theme", chosen);
      } catch {
        /* then it lasts as long as the page */
      }
      apply();
    });
    for (const link of document.querySelectorAll("nav [data-page]")) {
      if (link.getAttribute("href") === location.pathname) link.setAttribute("aria-current", "page");
    }
  });
})();

// Speaking to the server: JSON out, JSON in, problems as one kind of error. A key lives in this tab only.

import { $ } from "./dom.js";

const KEY = "groundwire.key";
let kept = "";

export class Problem extends Error {
  constructor(status, title, detail, retryAfter = 0) {
    super(title);
    Object.assign(this, { status, title, detail, retryAfter });
  }
}

function key() {
  try {
    return sessionStorage.getItem(KEY) || kept;
  } catch {
    return kept;
  }
}

function remember(value) {
  kept = value;
  try {
    sessionStorage.setItem(KEY, value);
  } catch {
    /* then it lasts as long as the page */
  }
}

/** `{data, headers}` of an answer; a Problem where there is none. `body` may be an object or a FormData;
 * without `store` the server keeps nothing of it; `share` is the token of a report that another key made. */
export async function call(method, path, { body, signal, accept = "application/json", store = true, share } = {}) {
  for (let first = true; ; first = false) {
    const used = key();
    const response = await sent(method, path, { body, signal, accept, store, share });
    if (response.ok) {
      const data =
        response.status === 204 ? null : accept === "application/json" ? await response.json() : await response.text();
      return { data, headers: response.headers };
    }
    const problem = await read(response);
    // A key that lacks a scope may be changed for another; without any, 403 has other reasons.
    if (response.status !== 401 && !(response.status === 403 && used)) throw problem;
    if (key() !== used) continue; // another call asked meanwhile
    if (!(await askKey(used || !first ? problem.detail || problem.title : ""))) throw problem;
  }
}

async function sent(method, path, { body, signal, accept, store, share }) {
  const headers = { Accept: accept };
  if (!store) headers["X-Groundwire-Store"] = "false";
  if (share) headers["X-Groundwire-Share"] = share;
  if (key()) headers.Authorization = `Bearer ${key()}`;
  const form = body instanceof FormData;
  if (body !== undefined && !form) headers["Content-Type"] = "application/json";
  try {
    return await fetch(path, {
      method,
      headers,
      signal,
      body: body === undefined || form ? body : JSON.stringify(body),
      credentials: "omit",
      cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(
      0,
      "The server cannot be reached",
      "Look whether groundwire serve is still running, and try again.",
    );
  }
}

const TITLES = {
  401: "This server asks for a key",
  403: "This key may not do that",
  404: "There is nothing here",
  408: "The server did not get everything in time",
  413: "That is too much at once",
  422: "The server could not use this",
  429: "The server has its hands full",
  500: "The server stumbled",
  502: "The server cannot be reached",
  503: "The server is not ready",
  504: "It took too long",
};

async function read(response) {
  let told = {};
  try {
    told = await response.json();
  } catch {
    /* not a problem document: its status must do */
  }
  const title = TITLES[response.status] || told.title || `The server answered ${response.status}`;
  const detail = typeof told.detail === "string" ? told.detail : told.title || "";
  return new Problem(response.status, title, detail, Number(response.headers.get("Retry-After")) || 0);
}

let asking = null;
function askKey(why) {
  // Several calls may need the key at once: one question serves them all.
  asking =
    asking ||
    new Promise((resolve) => {
      const dialog = $("key");
      $("key-why").textContent = why || "Paste an API key. It stays in this tab and is forgotten when you close it.";
      $("key-value").value = "";
      $("key-cancel").onclick = () => dialog.close("");
      dialog.onclose = () => {
        asking = null;
        const value = $("key-value").value.replace(/[^!-~]/g, ""); // characters that a header cannot contain
        if (dialog.returnValue === "ok" && value) remember(value);
        resolve(dialog.returnValue === "ok" && value !== "");
      };
      dialog.returnValue = "";
      dialog.showModal();
    });
  return asking;
}

let told;
/** What the page should know of the server: how long reports are kept, how much it takes. */
export function settings() {
  told =
    told ||
    fetch("/page/settings.json", { credentials: "omit" })
      .then((r) => r.json())
      .catch(() => ({}));
  return told;
}

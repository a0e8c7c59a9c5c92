// Who else writes an answer, and the sign of this window that somebody writes in it.

import { all, keyOfOpen } from "./dom.js";
import { at } from "./loginpath.js";

const SIGN_EVERY = 8000; // a sign counts for 20 s
const AWAY_AFTER = 120_000; // milliseconds without a key: nobody writes here any more

let written = ""; // the exchange that is written to
let last = 0;

export function startWriting() {
  document.addEventListener("input", ({ target }) => {
    if (!(target instanceof Element) || !target.closest("#main article")) return;
    last = Date.now();
    if (written === keyOfOpen()) return;
    leave();
    written = keyOfOpen();
    sign(true);
  });
  setInterval(() => {
    if (written !== keyOfOpen() || Date.now() - last > AWAY_AFTER) leave();
    else if (!document.hidden) sign(true);
  }, SIGN_EVERY);
  window.addEventListener("pagehide", leave);
}

/** Somebody has opened another message, sent this one, or closed the page. */
export function leave() {
  sign(false);
  written = "";
}

/** @param {boolean} on */
function sign(on) {
  if (!written) return;
  const body = JSON.stringify({ who: whoAmI(), on });
  const headers = { "Content-Type": "application/json" };
  // Without it the page would take what it says last along when it goes.
  fetch(at(`/api/exchanges/${written}/writer`), { method: "POST", headers, body, keepalive: true }).catch(() => {});
}

/** That this very window writes is no news in it. @param {ParentNode} place */
export function hideOwn(place) {
  for (const one of all("[data-writer]", place)) if (one.dataset.writer === whoAmI()) one.remove();
}

// This window, for as long as it is open: who writes is told apart from who looks on.
function whoAmI() {
  const name = "humanmcp:who";
  const known = sessionStorage.getItem(name) ?? `${Date.now()}-${Math.random()}`; // randomUUID is for encrypted pages only
  sessionStorage.setItem(name, known);
  return known;
}

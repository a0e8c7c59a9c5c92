// Times that go on.

import { all, first } from "./dom.js";
import { tell } from "./words.js";

const SPOKEN = [30, 10]; // seconds left that are said aloud, and only those
const SOON = 15;
const ARRIVES_WITHIN = 10; // seconds: a smaller difference may be the way of the page

let ahead = 0; // of a device whose clock is wrong

/** @param {Document} page as it has just come: either clock may have been set since the last one */
export function compareClocks({ body }) {
  if (!body?.dataset.now) return;
  const difference = Date.now() / 1000 - Number(body.dataset.now);
  ahead = Math.abs(difference) > ARRIVES_WITHIN ? difference : 0;
}

compareClocks(document);

/** @param {number} seconds */
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const [hours, ...rest] = [whole / 3600, (whole / 60) % 60, whole % 60].map(Math.floor);
  const parts = hours ? [hours, ...rest] : rest;
  return parts.map((one, at) => (at ? String(one).padStart(2, "0") : one)).join(":");
}

// Also called when new times were put on the page.
export let tick = () => {};

export function startClock() {
  /** @type {number | null} */
  let before = null;
  tick = () => {
    if ("cut" in document.body.dataset) return;
    const now = Date.now() / 1000 - ahead;
    for (const one of all("[data-since]")) one.textContent = clock(now - Number(one.dataset.since));
    for (const one of all("[data-until]")) count(one, now);
    for (const bar of all("progress[data-from]", document, HTMLProgressElement)) {
      bar.value = Math.min(bar.max, now - Number(bar.dataset.from));
    }
    before = speak(now, before);
  };
  tick();
  setInterval(tick, 1000);
}

/** @param {HTMLElement} element @param {number} now */
function count(element, now) {
  const left = Number(element.dataset.until) - now;
  const around = element.closest("p");
  around?.classList.toggle("soon", left <= SOON && left > 0);
  around?.classList.toggle("over", left <= 0);
  // Rounded up: "0:00 left" means that it is over.
  element.textContent = (left <= 0 && element.dataset.over) || clock(Math.ceil(left));
}

/** @param {number} now @param {number | null} before */
function speak(now, before) {
  const limit = first("#status .limit [data-until]");
  if (!limit) return null;
  const left = Number(limit.dataset.until) - now;
  for (const mark of SPOKEN) {
    if (before !== null && before > mark && left <= mark && left > 0) tell("left", { seconds: mark });
  }
  return left;
}

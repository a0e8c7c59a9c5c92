// What a person chose in this browser; never sent.

import { all, first, isWide, maybe } from "./dom.js";

const PREFIX = "humanmcp:choice:";
const DEFAULTS = { notify: false, sound: false, keys: true, options: true, undo: false };

/** @param {Choice} name */
export function chosen(name) {
  const kept = localStorage.getItem(PREFIX + name);
  return kept === null ? DEFAULTS[name] : kept === "on";
}

/** @param {Choice} name @param {boolean} on */
export function choose(name, on) {
  localStorage.setItem(PREFIX + name, on ? "on" : "off");
  const box = first(`[data-choice="${name}"]`, document, HTMLInputElement);
  if (box) box.checked = on;
}

// A browser that has no room is no reason to stop.
/** @param {string} name @param {object} record */
export function keep(name, record) {
  try {
    localStorage.setItem(name, JSON.stringify(record));
  } catch {
    localStorage.removeItem(name); // better nothing than something old
  }
}

/** @param {(name: Choice, on: boolean) => void} changed */
export function startChoices(changed) {
  const panel = maybe("choices");
  if (!panel) return;
  panel.hidden = false;
  for (const box of all("[data-choice]", panel, HTMLInputElement)) {
    const name = /** @type {Choice} */ (box.dataset.choice);
    box.checked = chosen(name);
    box.addEventListener("change", () => {
      choose(name, box.checked);
      changed(name, box.checked);
    });
  }
}

/** Cards stay as they were left. */
export function rememberCards() {
  for (const card of all("details[data-remember]", document, HTMLDetailsElement)) {
    const name = `humanmcp:card:${card.dataset.remember}`;
    const kept = localStorage.getItem(name);
    card.open = kept ? kept === "open" : card.open && isWide();
    card.firstElementChild?.addEventListener("click", () => localStorage.setItem(name, card.open ? "closed" : "open"));
  }
}

// Keys. Letters are told by their place (`event.code`): with a Japanese input method on, `event.key` says
// "Process". While something is composed nothing here acts. And presses: what moves away under a pointer.

import { chosen } from "./choices.js";
import { all, atRest, first, maybe } from "./dom.js";
import { at } from "./loginpath.js";
import { tell } from "./words.js";

export const STILL_SENDING = 500; // keys and clicks for what was just sent must not act on the next page

const MOVED = 24; // pixels from which on a pointer has left what it pressed

/** @param {KeyboardEvent} event */
export function isComposing(event) {
  return event.isComposing || event.keyCode === 229;
}

/** @param {Page} page */
export function startKeys(page) {
  document.addEventListener("keydown", (event) => {
    if (isComposing(event) || event.defaultPrevented) return;
    if (event.ctrlKey || event.metaKey) return withControl(event, page);
    const chooses = isOption(event.target) && !event.code.startsWith("Arrow");
    if (event.altKey || (inField(event.target) && !chooses) || first("dialog[open]")) return;
    if (event.key === "?") maybe("show-keys")?.click();
    else if (chosen("keys") && page.age > STILL_SENDING) single(event, page.composer);
  });
  maybe("show-keys")?.addEventListener("click", () => maybe("keys", HTMLDialogElement)?.showModal());
}

/** What a press began on is pressed, although the page may move it away before the release; who leaves it presses nothing. */
export function startPresses() {
  /** @type {Element | null} */
  let pressed = null;
  let [x, y] = [0, 0];
  document.addEventListener("pointerdown", ({ target, button, pointerId, clientX, clientY }) => {
    pressed = button === 0 && target instanceof Element ? target.closest("button, summary, a") : null;
    pressed?.setPointerCapture(pointerId);
    [x, y] = [clientX, clientY];
  });
  window.addEventListener("click", (event) => {
    const { target, detail, clientX, clientY } = event;
    if (!detail || !pressed || target !== pressed || Math.hypot(clientX - x, clientY - y) < MOVED) return;
    if (pressed.contains(document.elementFromPoint(clientX, clientY))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);
}

/** @param {KeyboardEvent} event @param {Page} page */
function withControl(event, page) {
  const { composer } = page;
  if (!composer?.box.checkVisibility()) return; // what is not seen is not sent
  if (event.key === "Enter") {
    event.preventDefault();
    // A key that is held, or pressed twice, sends one answer and not the next one's template too.
    if (event.repeat) return;
    if (first(".sent") && page.age < STILL_SENDING && !composer.draft.typed) tell("again");
    else composer.sender.send({ now: event.shiftKey });
  } else if (event.code === "KeyS") {
    event.preventDefault();
    composer.drafts.save();
  } else {
    const from = stepOf(event);
    const { target } = event;
    if (!from || (inField(target) && !(target instanceof Node && composer.box.contains(target)))) return;
    event.preventDefault();
    composer.draft.step(from);
  }
}

/** @param {KeyboardEvent} event */
function stepOf(event) {
  if (event.code === "KeyZ") return event.shiftKey ? "future" : "past";
  return event.code === "KeyY" ? "future" : null;
}

/** @param {HTMLElement} place @param {(from: "past" | "future") => void} act */
export function onUndo(place, act) {
  place.addEventListener("keydown", (event) => {
    const from = event.ctrlKey || event.metaKey ? stepOf(event) : null;
    if (!from || isComposing(event)) return;
    event.preventDefault();
    act(from);
  });
}

/** @param {KeyboardEvent} event @param {Composer | null} composer */
function single(event, composer) {
  /** @type {Record<string, () => unknown>} */
  const acts = {
    KeyJ: () => move(1),
    ArrowDown: () => move(1),
    KeyK: () => move(-1),
    ArrowUp: () => move(-1),
    Slash: search,
    KeyE: () => composer?.toolbar.nextKind(),
    KeyF: () => composer?.views.next(),
  };
  const button = first(`[data-hotkey="${event.code.replace("Numpad", "Digit")}"]`);
  if (button && event.repeat) return; // one press is one answer
  if (button?.matches(".verdict > *") && button.getBoundingClientRect().bottom > innerHeight) {
    button.scrollIntoView({ block: "end" }); // what is above it was not seen yet
    return;
  }
  const onlyLeads = button?.closest("#options") && !chosen("options"); // Enter then sends it
  const act = button ? () => onlyLeads || button.click() : acts[event.code];
  if (act) {
    event.preventDefault();
    button?.focus(); // a menu that is closed gives the focus back to what opened it
    act();
  } else if (event.key === "Enter" && composer && atRest("#options, .row.opened a")) {
    event.preventDefault();
    composer.views.focus();
  }
}

// The options of several questions: a key chooses the next one, too.
/** @param {EventTarget | null} target */
function isOption(target) {
  return target instanceof HTMLInputElement && target.closest(".option") !== null;
}

/** @param {EventTarget | null} target */
function inField(target) {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.shadowRoot !== null
    || target.matches("input:not([type=checkbox]), textarea, select, [role=tab], [type=radio]");
}

/** @param {number} step */
function move(step) {
  const links = all("#rows .row > a, #lines tbody a");
  if (!links.length) return;
  const at = links.findIndex((link) => link === document.activeElement);
  const current = at >= 0 ? at : links.findIndex((link) => link.getAttribute("aria-current"));
  const next = links[Math.min(links.length - 1, Math.max(0, current + step))];
  next.focus();
}

function search() {
  const field = [maybe("search"), maybe("narrow")].find((one) => one?.checkVisibility());
  if (field) field.focus();
  else location.assign(at("/history#search"));
}

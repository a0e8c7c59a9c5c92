// What is typed between Send and the next box is caught in a field of its own, where an input method goes on.

import { isWide, make } from "./dom.js";
import { say } from "./words.js";

const field = make("textarea", { class: "hidden", "aria-label": say("ahead") });
let composing = false;
/** @type {Element | null} where the cursor was */
let before = null;

document.addEventListener("compositionstart", () => { composing = true; });
document.addEventListener("compositionend", () => { composing = false; });

export function catchTyping() {
  if (!isWide() || document.querySelector("dialog[open]")) return;
  before = document.activeElement;
  field.value = "";
  document.body.append(field);
  field.focus({ preventScroll: true });
}

export async function composed() {
  if (composing) await new Promise((done) => document.addEventListener("compositionend", done, { once: true }));
}

/** Nothing went out. Returns whether something was typed meanwhile. */
export function giveTypingBack() {
  if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
  return goOnTyping();
}

/** Go on in the field that has the focus now. Returns whether something was typed. */
export function goOnTyping() {
  const typed = field.value;
  field.value = "";
  field.remove();
  composing = false;
  before = null;
  const active = document.activeElement;
  const writable = active?.matches("textarea, input:not([type=radio], [type=checkbox])") || active?.shadowRoot;
  if (typed && writable) document.execCommand("insertText", false, typed);
  return typed !== "";
}

// A recording from elsewhere is sent to the desk, which opens it as a session to read.

import { button, first, make } from "./dom.js";
import { at } from "./loginpath.js";
import { call } from "./talk.js";
import { say, tell, tellFailed } from "./words.js";

/** @param {number} most bytes; 0 for who may open none @param {Blob} content @param {string} [name] */
export function openRecording(most, content, name = "") {
  if (!most) tell("open.not");
  else if (content.size > most) tell("open.long", { mebibytes: most >> 20 });
  else call(`/api/recordings?${new URLSearchParams({ name })}`, content).then(({ address }) => location.assign(at(address)), tellFailed);
}

/** Offer a person to open what they pasted. @param {number} most @param {string} text @param {HTMLElement} field */
export function offerPasted(most, text, field) {
  first(".pasted")?.remove();
  const open = button(say("open.it"), "small", () => openRecording(most, new Blob([text])));
  field.after(make("p", { class: "pasted aside", role: "status" }, say("open.pasted"), " ", open));
}

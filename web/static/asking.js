// Small questions: send anyway, and which fault an answer shall have.

import { all, byId, led, maybe } from "./dom.js";

// What was chosen; Esc means "".
/** @param {HTMLDialogElement} dialog */
function ask(dialog) {
  return new Promise((decide) => {
    dialog.returnValue = "";
    dialog.addEventListener("close", () => decide(dialog.returnValue), { once: true });
    dialog.showModal();
  });
}

export async function askAnyway() {
  return await ask(byId("anyway-dialog", HTMLDialogElement)) === "yes";
}

// Which way to break the answer; "" for none. The arrows go through the list, as in a menu.
export async function askFault() {
  const dialog = maybe("break-dialog", HTMLDialogElement);
  if (!dialog) return "";
  const buttons = all(".faults button", dialog);
  dialog.onkeydown = (event) => { led(event, buttons, { ArrowDown: 1, ArrowUp: -1 }); };
  return ask(dialog);
}

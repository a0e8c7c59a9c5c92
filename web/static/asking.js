// Small questions: send anyway, take it back, and which fault an answer shall have.

import { all, byId, led, maybe } from "./dom.js";
import { say } from "./words.js";

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

// Which fault to add to the answer; "" for none. The arrows go through the list, as in a menu.
export async function askFault() {
  const dialog = maybe("fault-dialog", HTMLDialogElement);
  if (!dialog) return "";
  const buttons = all(".faults button", dialog);
  dialog.onkeydown = (event) => { led(event, buttons, { ArrowDown: 1, ArrowUp: -1 }); };
  return ask(dialog);
}

const UNDO_SECONDS = 3;

/** @returns {Promise<boolean>} whether it is to be sent */
export function undoWindow() {
  const [undo, line] = [byId("undo"), byId("saved-at")];
  let left = UNDO_SECONDS + 1;
  return new Promise((decide) => {
    /** @param {boolean} sent */
    const end = (sent) => {
      clearInterval(ticking);
      undo.hidden = true;
      line.textContent = "";
      decide(sent);
    };
    const tick = () => {
      left -= 1;
      if (left) line.textContent = say("sending", { seconds: left });
      else end(true);
    };
    const ticking = setInterval(tick, 1000);
    tick();
    undo.hidden = false;
    undo.onclick = window.onpagehide = () => end(false);
    undo.focus();
  });
}

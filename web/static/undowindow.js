// A few seconds in which Send can be taken back: nothing can be recalled once it is on the wire.

import { byId } from "./dom.js";
import { say } from "./words.js";

const UNDO_SECONDS = 3;

/** @returns {Promise<boolean>} whether it is to be sent */
export function undoWindow() {
  const [undo, line] = [byId("undo"), byId("saved-at")];
  let left = UNDO_SECONDS;
  return new Promise((decide) => {
    const show = () => { line.textContent = say("sending", { seconds: left }); };
    /** @param {boolean} sent */
    const end = (sent) => {
      clearInterval(ticking);
      undo.hidden = true;
      undo.onclick = null;
      window.removeEventListener("pagehide", leave);
      line.textContent = "";
      decide(sent);
    };
    const leave = () => end(false);
    const ticking = setInterval(() => {
      left -= 1;
      if (left <= 0) end(true);
      else show();
    }, 1000);
    undo.hidden = false;
    undo.onclick = () => end(false);
    window.addEventListener("pagehide", leave);
    undo.focus();
    show();
  });
}

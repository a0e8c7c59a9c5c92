// A few seconds in which Send can be taken back: nothing can be recalled once it is on the wire.

import { byId } from "./dom.js";
import { say } from "./words.js";

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

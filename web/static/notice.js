// Tell somebody who looks elsewhere: a sound, a notification.

import { chosen } from "./choices.js";
import { leading } from "./live.js";
import { all, first, isWide, keyOfOpen } from "./dom.js";
import { at } from "./loginpath.js";
import { tell } from "./words.js";

/** @param {string} key of the exchange @param {string} what it is, in words */
export function arrived(key, what) {
  if (!isWide() || !first(".empty")) tell("new", { what }, key); // there it opens by itself
  takeBackSeen();
  if (!leading) return; // the other tabs of this browser heard it too
  if (chosen("sound")) import("./sound.js").then(({ sound }) => sound());
  if (chosen("notify") && document.hidden && "Notification" in window && Notification.permission === "granted") {
    const notice = new Notification("humanmcp", { body: what, tag: key });
    notice.onclick = () => {
      window.focus();
      location.assign(at(`/m/${key}`));
      notice.close();
    };
  }
}

// What is open in view is no news.
export function takeBackSeen() {
  if (!first("article.message")?.checkVisibility()) return;
  for (const line of all(`#said [data-key="${CSS.escape(keyOfOpen())}"]`)) line.remove();
}

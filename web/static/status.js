// The banner and the times of the exchange that is open, taken anew without touching the box.

import { tick } from "./clock.js";
import { all, button, keyOfOpen, make, maybe } from "./dom.js";
import { at } from "./loginpath.js";
import { part } from "./talk.js";
import { hideOwn } from "./writing.js";
import { copy, say, tell } from "./words.js";

/** @param {Page} page */
export async function takeStatus(page) {
  const key = keyOfOpen();
  const answer = key ? await part(`/m/${key}/status`) : null;
  const [old, fresh] = [maybe("status"), answer?.getElementById("status")];
  if (!old || !fresh || keyOfOpen() !== key) return; // another one was opened in its place meanwhile
  hideOwn(fresh);
  if (fresh.querySelector("[data-go]")) { // the teacher opened another step
    location.assign(at("/"));
    return;
  }
  const heard = fresh.querySelectorAll(".question.told").length;
  if (heard > old.querySelectorAll(".question.told").length) tell("told");
  if (old.querySelector("details[open]")) fresh.querySelector("details")?.setAttribute("open", "");
  old.replaceWith(fresh);
  tick();
  const { composer } = page;
  if (fresh.dataset.state !== "pending" && composer && !composer.locked && !composer.sender.sending) {
    // What nobody wrote in is shown as what became of it.
    if (fresh.dataset.state === "answered" && !composer.draft.touched) page.reopen(`/m/${key}`);
    composer.lock(fresh.dataset.state === "answered" ? composer.sender.tooLate() : null);
  }
}


// The box with the answer stays as it is.
/** @param {Page} page */
export function listenToStatus(page) {
  document.addEventListener("click", async (event) => {
    const one = event.target instanceof Element && event.target.closest("#status [name=act]");
    if (!(one instanceof HTMLButtonElement)) return;
    event.preventDefault();
    one.disabled = true;
    const key = keyOfOpen();
    if (!(await part(`/m/${key}`, new URLSearchParams({ act: one.value })))) return;
    tell(one.id === "hold" ? "held" : "ordered");
    page.refreshStatus();
  });
}

export function listenToCopies() {
  for (const text of all(".copyable")) {
    text.after(make("div", {}, button(say("copy"), "small", () => copy(text.textContent ?? ""))));
  }
}

// How the exchange that is open stands: its banner and its times, taken anew without touching the box.

import { tick } from "./clock.js";
import { all, button, first, make, maybe } from "./dom.js";
import { call, part } from "./talk.js";
import { say, tell } from "./words.js";

/** @param {Page} page @param {string} key */
export async function refreshStatus(page, key) {
  const answer = await part(`/m/${key}/status`).catch(() => null);
  const [old, fresh] = [maybe("status"), answer?.getElementById("status")];
  if (!old || !fresh || keyOfOpen() !== key) return; // another one was opened in its place meanwhile
  hideOwn(page, fresh);
  const heard = fresh.querySelectorAll(".question.told").length;
  if (heard > old.querySelectorAll(".question.told").length) tell(say("told"));
  if (old.querySelector("details[open]")) fresh.querySelector("details")?.setAttribute("open", "");
  old.replaceWith(fresh);
  tick();
  const { composer } = page;
  if (fresh.dataset.state !== "pending" && composer && !composer.locked && !composer.sender.sending) {
    // What nobody wrote in is shown as what became of it, with its answer and its picture.
    if (fresh.dataset.state === "answered" && !composer.draft.touched) page.reopen(`/m/${key}`);
    composer.lock(fresh.dataset.state === "answered" ? composer.sender.tooLate() : null);
  }
  listenToStatus(page);
}

/** That this very window writes is no news in it. @param {Page} page @param {ParentNode} place */
export function hideOwn(page, place) {
  const own = first(place, "[data-writer]");
  if (own && own.dataset.writer === page.composer?.drafts.who) own.remove();
}

/** @param {Page} page */
export function listenToStatus(page) {
  maybe("hold")?.addEventListener("click", async (event) => {
    event.preventDefault();
    const key = keyOfOpen();
    if (page.composer) page.composer.drafts.hold = true;
    await call(`/api/exchanges/${key}/hold`, { hold: true });
    tell(say("held"));
    refreshStatus(page, key);
  });
  // What is asked of the server's process: the box with the answer stays as it is.
  for (const one of all(document, "[data-order]", HTMLButtonElement)) {
    one.addEventListener("click", async (event) => {
      event.preventDefault();
      const { order, text } = one.dataset;
      one.disabled = true;
      await call(`/api/sessions/${keyOfOpen().split("/")[0]}/say`, { text, order });
      tell(say("ordered"));
    });
  }
}

function keyOfOpen() {
  return first(document, "article.message")?.dataset.key ?? "";
}

export function listenToCopies() {
  for (const text of all(document, ".copyable")) {
    if (!navigator.clipboard) continue; // a page that came over a plain network has none
    const copy = async () => {
      await navigator.clipboard.writeText(text.textContent ?? "");
      tell(say("copied"));
    };
    text.after(make("div", {}, button(say("copy"), "small", copy)));
  }
}

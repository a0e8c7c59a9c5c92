// The page: what it adds to the pages that the desk renders. Everything here is extra; without it
// the same pages work with forms and a reload.

import { startChoices } from "./choices.js";
import { startClock, tick } from "./clock.js";
import { openComposer } from "./composer.js";
import { startKeys } from "./keys.js";
import { refreshList } from "./list.js";
import { startLive } from "./live.js";
import { choiceChanged } from "./notice.js";
import { at, path } from "./place.js";
import { call, part } from "./talk.js";
import { make, say, tell } from "./words.js";

let composer = openComposer(sent);

function sent(outcome, from) {
  const key = `${from.facts.session}/${from.facts.number}`;
  if (outcome.became === "on its way") tell(say("onway"));
  const session = document.getElementById("list")?.dataset.session ?? "";
  const query = new URLSearchParams({ sent: key, ...(session && { session }) });
  location.assign(at(`/?${query}`));
}

// -- what happens elsewhere -------------------------------------------------------------------

async function changed(changes) {
  refreshList(changes);
  const key = document.querySelector("article.message")?.dataset.key;
  if (!key) {
    if (document.body.classList.contains("inbox")) openFirst();
    return;
  }
  const touches = changes.some((one) => one.what === "everything"
    || (one.session === key.split("/")[0] && (one.number === 0 || `${one.session}/${one.number}` === key)));
  if (touches) refreshStatus(key);
}

async function refreshStatus(key) {
  const page = await part(`/m/${key}/status`).catch(() => null);
  const [old, young] = [document.getElementById("status"), page?.getElementById("status")];
  if (!old || !young) return;
  const own = young.querySelector("[data-writer]");
  if (own && composer && own.dataset.writer === composer.who) own.remove();
  const open = old.querySelector("details[open]") !== null;
  const fresh = document.importNode(young, true);
  const heard = fresh.querySelectorAll(".question.told").length;
  if (heard > old.querySelectorAll(".question.told").length) tell(say("told"));
  if (open) fresh.querySelector("details")?.setAttribute("open", "");
  old.replaceWith(fresh);
  tick();
  if (fresh.dataset.state !== "pending" && composer && !composer.locked && !composer.sending) {
    composer.lock(fresh.dataset.state === "answered" ? composer.tooLate() : null);
  }
  listenToHold();
  listenToOrders();
}

// Nothing was open and something came: show it, as the first visit would have.
let opening = false;
let openAgain = false; // something more came while the page was on its way
async function openFirst() {
  if (!document.querySelector(".empty")) return;
  openAgain = opening;
  if (opening) return;
  opening = true;
  const page = await part(location.href).catch(() => null);
  opening = false;
  const main = page?.getElementById("main");
  if (!main?.querySelector("article")) {
    tellAnew(main?.querySelector(".empty"));
    if (openAgain) openFirst();
    return;
  }
  const focus = !isBusy();
  document.body.className = page.body.className;
  document.getElementById("main").replaceWith(document.importNode(main, true));
  await refreshList(); // so that its row is there to be focused
  started({ focus });
}

// Still nothing to open, but who is connected may have changed, or all of it has ended.
function tellAnew(young) {
  const old = document.querySelector(".empty");
  const said = (section) => Array.from(section.querySelectorAll("p"), (one) => one.textContent).join();
  if (!young || !old || old.contains(document.activeElement) || said(old) === said(young)) return;
  old.replaceWith(document.importNode(young, true));
  listenToCopies();
}

// -- this page --------------------------------------------------------------------------------

function listenToHold() {
  document.getElementById("hold")?.addEventListener("click", async (event) => {
    event.preventDefault();
    const key = document.querySelector("article.message").dataset.key;
    if (composer) composer.hold = true;
    await call(`/api/exchanges/${key}/hold`, { hold: true });
    tell(say("held"));
    refreshStatus(key);
  });
}

// What is asked of the server's process: the box with the answer stays as it is.
function listenToOrders() {
  for (const button of document.querySelectorAll("[data-order]")) {
    button.addEventListener("click", async (event) => {
      event.preventDefault();
      const key = document.querySelector("article.message").dataset.key;
      const { order, text } = button.dataset;
      button.disabled = true;
      await call(`/api/sessions/${key.split("/")[0]}/say`, { text, order });
      tell(say("ordered"));
    });
  }
}

function listenToCopies() {
  for (const text of document.querySelectorAll(".copyable")) {
    const copy = async () => {
      await navigator.clipboard?.writeText(text.textContent);
      tell(say("copied"));
    };
    text.after(make("div", {}, make("button", { type: "button", class: "small", on: { click: copy } }, say("copy"))));
  }
}

// The cursor goes into the one field that matters, on the first visit and after each Send: ten
// requests in a row are ten times "type, Ctrl+Enter", without a key in between. That nobody answers
// what they have not seen: the box says to a screen reader what is asked, a second Ctrl+Enter in the
// same breath does nothing (keys.js), and nothing is ever sent without that key. The list keeps its
// place meanwhile: the row of what is open is the current one, and J and K go on from there.
// On a phone the list is what is shown after Send, and a field with the focus would cover half of it
// with the keyboard: there the focus is on the row of the next request.
function placeFocus() {
  if (!composer || composer.locked) return;
  const wide = matchMedia("(min-width: 56.01rem)").matches;
  if (wide) composer.begin();
  else if (document.querySelector(".sent")) document.querySelector("#rows .opened > a")?.focus();
}

// A person is at something: whatever arrives takes the focus from nobody.
function isBusy() {
  const focused = document.activeElement;
  return Boolean(focused) && focused !== document.body && !focused.matches("main");
}

function started({ focus = true } = {}) {
  composer ??= openComposer(sent);
  listenToHold();
  listenToOrders();
  listenToCopies();
  const own = document.querySelector("#status [data-writer]");
  if (own && own.dataset.writer === composer?.who) own.remove();
  if (focus) placeFocus();
  nameOpen();
}

// The address names what is open, so that a reload shows it again whatever became of it.
function nameOpen() {
  const key = document.querySelector("article.message")?.dataset.key;
  const wide = matchMedia("(min-width: 56.01rem)").matches;
  if (!key || path !== "/" || !wide) return;
  const session = new URLSearchParams(location.search).get("session");
  history.replaceState(null, "", at(`/m/${key}${session ? `?session=${encodeURIComponent(session)}` : ""}`));
}

started();
startChoices(choiceChanged);
startKeys(() => composer);
startClock();
if (document.getElementById("live")) startLive(changed);

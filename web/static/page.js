// @ts-check
// What is open on this page, and how something else is opened in its place.

import { openComposer } from "./composer.js";
import { byId, first, maybe } from "./dom.js";
import { refreshList } from "./list.js";
import { at, path } from "./place.js";
import { hideOwn, listenToCopies, listenToStatus } from "./status.js";
import { part } from "./talk.js";
import { say, tell } from "./words.js";

/** @import { Composer } from "./composer.js" */
/** @import { OutcomeShape } from "../types/desk.js" */

const WIDE = "(min-width: 56.01rem)"; // list and message beside each other

export class Page {
  constructor() {
    /** @type {Composer | null} */
    this.composer = null;
    this.opening = false;
    this.again = false; // something more came while the page was on its way
  }

  started({ focus = true } = {}) {
    this.composer ??= openComposer((outcome, from) => this.sent(outcome, from));
    listenToStatus(this);
    listenToCopies();
    const status = maybe("status");
    if (status) hideOwn(this, status);
    if (focus) this.placeFocus();
    nameOpen();
  }

  /**
   * @param {OutcomeShape} outcome
   * @param {Composer} from
   */
  sent(outcome, from) {
    const key = `${from.facts.session}/${from.facts.number}`;
    if (outcome.became === "on its way") tell(say("onway"));
    const session = maybe("list")?.dataset.session ?? "";
    const query = new URLSearchParams({ sent: key, ...(session && { session }) });
    location.assign(at(`/?${query}`));
  }

  // Nothing was open and something came: show it, as the first visit would have.
  async openFirst() {
    if (!document.querySelector(".empty")) return;
    this.again = this.opening;
    if (this.opening) return;
    this.opening = true;
    const page = await part(location.href).catch(() => null);
    this.opening = false;
    const main = page?.getElementById("main");
    if (!page || !main?.querySelector("article")) {
      tellAnew(main?.querySelector(".empty"));
      if (this.again) this.openFirst();
      return;
    }
    const focus = !isBusy();
    document.body.className = page.body.className;
    byId("main").replaceWith(document.importNode(main, true));
    await refreshList(); // so that its row is there to be focused
    this.started({ focus });
  }

  // The cursor goes into the one field that matters, on the first visit and after each Send: ten
  // requests in a row are ten times "type, Ctrl+Enter", without a key in between. That nobody answers
  // what they have not seen: the box says to a screen reader what is asked, a second Ctrl+Enter in the
  // same breath does nothing (keys.js), and nothing is ever sent without that key. The list keeps its
  // place meanwhile: the row of what is open is the current one, and J and K go on from there.
  // On a phone the list is what is shown after Send, and a field with the focus would cover half of it
  // with the keyboard: there the focus is on the row of the next request.
  placeFocus() {
    if (!this.composer || this.composer.locked) return;
    if (matchMedia(WIDE).matches) this.composer.begin();
    else if (document.querySelector(".sent")) first(document, "#rows .opened > a")?.focus();
  }
}

/** Still nothing to open, but who is connected may have changed, or all of it has ended. @param {Element | null} [young] */
function tellAnew(young) {
  const old = document.querySelector(".empty");
  const said = (/** @type {Element} */ section) => Array.from(section.querySelectorAll("p"), (one) => one.textContent).join();
  if (!young || !old || old.contains(document.activeElement) || said(old) === said(young)) return;
  old.replaceWith(document.importNode(young, true));
  listenToCopies();
}

// A person is at something: whatever arrives takes the focus from nobody.
function isBusy() {
  const focused = document.activeElement;
  return focused !== null && focused !== document.body && !focused.matches("main");
}

// The address names what is open, so that a reload shows it again whatever became of it.
function nameOpen() {
  const key = first(document, "article.message")?.dataset.key;
  if (!key || path !== "/" || !matchMedia(WIDE).matches) return;
  const session = new URLSearchParams(location.search).get("session");
  history.replaceState(null, "", at(`/m/${key}${session ? `?session=${encodeURIComponent(session)}` : ""}`));
}

// What is open on this page: how it stands, and how something else is opened in its place.

import { rememberCards } from "./choices.js";
import { tick } from "./clock.js";
import { openComposer } from "./composer.js";
import { all, atRest, button, first, isWide, keyOfOpen, make, maybe, opening } from "./dom.js";
import { closeForms, hasTyped, isSending, startForms } from "./forms.js";
import { refreshList } from "./list.js";
import { version } from "./live.js";
import { at, here } from "./loginpath.js";
import { takeBackSeen } from "./notice.js";
import { composed, goOnTyping } from "./sender.js";
import { oneAtATime, part } from "./talk.js";
import { copy, say, tell } from "./words.js";
import { hideOwn, leave } from "./writing.js";

const current = () => location.pathname + location.search;

export class Page {
  constructor() {
    /** @type {Composer | null} */
    this.composer = null;
    this.address = "";
    this.isAsking = false; // what became of the open request
    const { state, next } = maybe("status")?.dataset ?? {};
    this.passed = next; // it waited already when a person opened this
    this.looksBack = state !== "pending" && opening?.type !== "reload";
    listenToStatus(this);
    // A place within the page was not open then.
    window.addEventListener("popstate", () => {
      if (this.address !== current()) location.reload();
    });
  }

  // Whether somebody wrote something else than what was there.
  get isWritten() {
    const { text, facts } = this.composer?.draft ?? {};
    return text !== facts?.template;
  }

  // Whether what is open needs somebody.
  get waits() {
    return "waits" in (maybe("status")?.dataset ?? {});
  }

  // Milliseconds since what is open can be written in.
  get age() {
    return performance.now() - Number(document.body.dataset.opened ?? Infinity);
  }

  started({ focus = true } = {}) {
    this.composer ??= openComposer((outcome, from) => this.sent(outcome, from));
    startForms();
    offerCopies(document);
    rememberCards();
    hideOwn(document);
    takeBackSeen();
    if (focus) this.placeFocus();
    for (const { dataset } of all("[data-module]")) void import(`${dataset.module}`);
    document.body.dataset.opened = String(performance.now());
    nameOpen();
    this.address = current();
    const isOld = Number(document.body.dataset.version) < version; // something was heard while this was on its way
    if (isOld || first("#status [data-go='']")) this.refreshStatus();
  }

  refreshStatus = oneAtATime(() => {
    this.isAsking = true;
    return takeStatus(this).finally(() => { this.isAsking = false; });
  });

  /** @param {OutcomeShape} outcome @param {Composer} from */
  async sent(outcome, from) {
    const key = `${from.facts.session}/${from.facts.number}`;
    if (outcome.became === "on its way") tell("onway");
    if (outcome.became === "stored") tell("stored");
    await this.go(`/?${new URLSearchParams({ sent: key })}`);
  }

  /** Show where something that was sent leads to. @param {string} leads */
  async go(leads) {
    const address = leads.startsWith("/?sent=") ? `${leads}&${new URLSearchParams(chosen())}` : leads;
    const next = first(".desk") && await part(address);
    if (!next || !this.open(next, ".desk")) {
      const [same] = location.href.split("#");
      const target = new URL(at(address), same).href;
      if (target.split("#")[0] !== same) location.assign(target);
      else { // it is this page, changed
        history.replaceState(null, "", target);
        location.reload();
      }
      return;
    }
    history.pushState(null, "", at(address));
    this.address = current();
    document.title = next.title;
    window.scrollTo(0, 0);
    await refreshList();
    await composed();
    this.started();
    goOnTyping();
    this.openFirst(); // where nothing waited: something may have come while the page was on its way
  }

  /** Show a part of another page in the place of ours, where both have it. @param {Document} page @param {string} [name] */
  open(page, name = "#main") {
    const [old, young] = [first(name), first(name, page)];
    if (!old || !young) return false;
    leave();
    this.composer?.close();
    this.composer = null;
    this.passed = "";
    this.looksBack = false;
    document.body.className = page.body.className;
    document.body.dataset.version = page.body.dataset.version;
    delete document.body.dataset.opened;
    const [typed, search] = [old, young].map((one) => first("#narrow", one, HTMLInputElement));
    if (typed && search) search.value = typed.value; // perhaps newer
    old.replaceWith(young);
    tick();
    return true;
  }

  /** @param {string} path */
  async reopen(path) {
    const { composer, passed } = this;
    const page = await part(path);
    if (!page || composer !== this.composer || composer?.draft.typed || hasTyped() || !this.open(page)) return;
    this.passed = passed;
    this.started({ focus: false });
  }

  // Nothing was open and something came.
  openFirst = oneAtATime(async () => {
    if (!first(".empty") || !("opened" in document.body.dataset)) return; // what opens it does this, too
    const page = await part(location.href);
    if (!page?.querySelector("#main article")) return tellAnew(page?.querySelector("#main .empty"));
    const focus = atRest();
    this.open(page);
    await refreshList(); // so that its row is there to be focused
    this.started({ focus });
  });

  /** What is open needs nobody: open what does, and return whether that is so. @param {string} told what became of it */
  async goOn(told) {
    const key = keyOfOpen();
    const next = maybe("status")?.dataset.next;
    if (!next || next === this.passed || this.looksBack || this.isBusy) return false;
    const path = `/m/${next}${ofList()}`;
    const page = await part(path);
    if (!page || keyOfOpen() !== key || this.isBusy) return false;
    const focus = atRest() || first("#main")?.contains(document.activeElement);
    if (!this.open(page)) return false;
    history.pushState(null, "", at(path));
    this.address = current();
    if (told) tell(told);
    await refreshList();
    this.started({ focus });
    if (!this.waits) this.refreshStatus(); // by now it needs nobody, either
    return true;
  }

  // A person wrote what nobody has yet, or may as it comes, or has just sent it.
  get isBusy() {
    const { composer } = this;
    if (!("opened" in document.body.dataset) || maybe("unsent")?.hidden === false) return true;
    return isSending() || hasTyped() || Boolean(composer?.draft.touched || composer?.sender.sending);
  }

  // The cursor goes into the one field that matters. On a phone Send leads to the list.
  placeFocus() {
    if (!this.composer || this.composer.draft.locked) return;
    const card = maybe("approval"); // a key decides; what was meant for another request is no decision
    if (card) {
      card.focus();
      scrollTo(0, 0);
    } else if (isWide()) {
      this.composer.begin();
      scrollTo(0, 0); // first is read what it is about; Send stays in view
      if (!maybe("filled")) document.activeElement?.scrollIntoView({ block: "nearest" });
    } else if (first(".sent")) first("#rows .opened > a")?.focus();
  }
}

/** Still nothing to open, but who is connected may have changed. @param {Element | null} [young] */
function tellAnew(young) {
  const old = first(".empty");
  if (!young || !old || old.contains(document.activeElement)) return;
  const [said, now] = [old, young].map((one) => all("p", one).map((line) => line.textContent).join());
  if (said === now) return;
  old.replaceWith(young);
  offerCopies(document);
}

function chosen() {
  const { session, searched } = maybe("list")?.dataset ?? {};
  return { ...(session && { session }), ...(searched && { q: searched }) };
}

function ofList() {
  const query = String(new URLSearchParams(chosen()));
  return query && `?${query}`;
}

// The address names what is open, so that a reload shows it again whatever became of it.
function nameOpen() {
  const key = keyOfOpen();
  if (key && here() === "/" && isWide()) {
    history.replaceState(null, "", at(`/m/${key}${ofList()}`));
  }
  for (const back of all("header [name=back]", document, HTMLInputElement)) back.value = here();
}

// -- The banner and the times of what is open, taken anew without touching the box

/** @param {Page} page */
async function takeStatus(page) {
  const key = keyOfOpen();
  const answer = key ? await part(`/m/${key}/status${ofList()}`) : null;
  const [old, fresh] = [maybe("status"), answer?.getElementById("status")];
  if (!old || !fresh || keyOfOpen() !== key) return; // another one was opened in its place meanwhile
  hideOwn(fresh);
  const leads = first("[data-go]", fresh); // to another step that the teacher opened, or to the end of the lesson
  if (leads && !page.looksBack && (leads.dataset.go || !page.isBusy)) return location.assign(at("/"));
  if (!old.querySelector(".question.open") && fresh.querySelector(".question.open")) page.refreshStatus(); // its response may be there already
  const [before, heard] = [old, fresh].map((one) => all(".question.told", one).length);
  if (heard > before) tell("told");
  if (old.querySelector("details[open]")) fresh.querySelector("details")?.setAttribute("open", "");
  const [typed, drawn] = [old, fresh].map((one) => first("[data-draft]", one));
  const focused = document.activeElement;
  if (typed && drawn) drawn.replaceWith(typed);
  if (!old.isEqualNode(fresh)) old.replaceWith(fresh); // the same keeps the focus
  if (focused instanceof HTMLElement && typed?.contains(focused)) focused.focus();
  tick();
  const { composer } = page;
  const { state } = fresh.dataset;
  if (isSending()) return;
  if (state === "pending") startForms();
  else closeForms(say("form.late"));
  const hands = composer?.sender.sending && maybe("undo")?.hidden !== false; // not before
  const lockable = state !== "pending" && composer && !composer.draft.locked && !hands;
  if (lockable) composer.lock(state === "answered" ? composer.sender.tooLate() : null);
  const left = "waits" in old.dataset && !("waits" in fresh.dataset);
  if (await page.goOn(left ? first(".banner", fresh)?.textContent ?? "" : "")) return;
  // What nobody wrote in is shown as what became of it.
  const settled = composer ? lockable && state === "answered" : old.dataset.state === "pending" && state !== "pending";
  if (settled && !page.isBusy) page.reopen(`/m/${key}`);
}

// The box with the answer stays as it is.
/** @param {Page} page */
function listenToStatus(page) {
  document.addEventListener("click", async (event) => {
    const one = event.target instanceof Element && event.target.closest("#status [name=act]:not([data-draft] *)");
    if (!(one instanceof HTMLButtonElement)) return;
    event.preventDefault();
    one.disabled = true;
    if (!(await part(`/m/${keyOfOpen()}`, new URLSearchParams({ act: one.value })))) return;
    tell(one.id === "pause" ? "held" : "ordered");
    page.refreshStatus();
  });
}

// Several forms of one text are a row of buttons; any other text has its button below.
/** @param {ParentNode} place */
export function offerCopies(place) {
  for (const forms of all("details.copies", place)) {
    const texts = all(".copyable", forms);
    const names = all("h3", forms).map((one) => one.textContent ?? "");
    const label = first("summary", forms)?.textContent;
    forms.replaceWith(make("div", { class: "copies row", role: "group", "aria-label": label }, make("span", {}, label),
      ...texts.map((text, at) => button(names[at], "small", () => copy(text.textContent ?? "")))));
  }
  for (const text of all(".copyable", place)) {
    text.after(make("div", {}, button(say("copy"), "small", () => copy(text.textContent ?? ""))));
  }
  for (const text of all(".json:has(details details):not(.fold + *)", place)) {
    const [, ...parts] = all("details", text, HTMLDetailsElement);
    const fold = button(say("fold"), "small fold", () => {
      const open = !parts.some((one) => one.open);
      for (const one of parts) one.open = open;
      fold.textContent = say(open ? "fold" : "unfold");
    });
    text.before(fold);
  }
}

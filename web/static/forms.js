// Forms: what is typed is kept and comes back, and it stays on the page until the desk has taken it.

import { DraftStore } from "./draftstore.js";
import { all, atRest, button, catchUp, first, isBox, isChanged, isTyped, make, maybe } from "./dom.js";
import { call, oneAtATime, part, Pause, postForm, SLOW } from "./talk.js";
import { copy, say, tell } from "./words.js";

const LOOK_AFTER = 300;

/** @type {Map<HTMLFormElement, FormStore>} those of the page, each with its draft */
let stores = new Map();
/** @type {HTMLFormElement | null} what is on its way */
let sending = null;

/** The forms that are on the page now. */
export async function startForms() {
  const before = stores;
  stores = new Map();
  const forms = all("form[data-draft]", document, HTMLFormElement);
  for (const [form, store] of before) if (!forms.includes(form)) store.stop();
  for (const form of forms) {
    const known = before.get(form);
    if (known) stores.set(form, known);
    else if (!begun.has(form)) catchUp(await open(form));
  }
  for (const field of fresh("input[data-ref]", HTMLInputElement)) import("./offering.js").then(({ startOffering }) => startOffering(field)).then(() => catchUp(field.form ?? document));
  for (const area of fresh("[data-schema]", HTMLTextAreaElement)) import("./jsonfield.js").then(({ startEditor }) => startEditor(area));
}

const begun = new WeakSet(); // what a listener is on

/** @template {HTMLElement} T @param {string} selector @param {new () => T} kind @returns {T[]} those that no listener is on yet */
function fresh(selector, kind) {
  const found = all(selector, document, kind).filter((one) => !begun.has(one));
  for (const one of found) begun.add(one);
  return found;
}

/** @param {HTMLFormElement} form */
async function open(form) {
  begun.add(form);
  let store = new FormStore(form);
  const { kept } = store;
  if (kept && "redraw" in form.dataset && !("typed" in form.dataset) && !store.controls.some(isTyped)) {
    form.hidden = true; // what is typed into it now would be lost
    const page = await part(form.action, new URLSearchParams({ ...kept.fields, act: "look" }));
    form.hidden = false;
    const young = page && first("main", page);
    if (young) {
      first("main")?.replaceWith(young);
      if (atRest()) first("[autofocus]", young)?.focus();
      form = first("form[data-draft]", young, HTMLFormElement) ?? form;
      store = new FormStore(form);
    } else store.restore(kept.fields);
    const restored = maybe("restored");
    if (restored) restored.hidden = false;
    first("#restored button")?.addEventListener("click", async () => {
      store.stop(); // a save that is under way would keep it here once more
      await store.drop();
      location.reload();
    });
  } else if (kept) {
    store.restore(kept.fields);
  }
  if (store.newer) store.pause.soon(); // not before: what is typed is in the form now
  stores.set(form, store);
  form.addEventListener("input", () => store.typedIn());
  if (!form.dataset.preview) return form;
  const pause = new Pause(LOOK_AFTER, oneAtATime(() => look(form)));
  form.addEventListener("input", () => pause.soon());
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(form.querySelector("button"));
  });
  return form;
}

/** Whether somebody typed into a form of what is open. */
export function hasTyped(kind = "form") {
  return [...stores.values()].some(({ form, typed }) => typed && form.matches(kind));
}

export function isSending() {
  return Boolean(sending?.isConnected);
}

/** Something else ended what is open: nothing decides it now, and the words that were typed stay, to be copied. @param {string} why */
export function closeForms(why) {
  for (const [form, store] of stores) if (form.closest("article")) store.close(why);
  const typed = [...stores].filter(([, store]) => store.typed);
  for (const one of all("article.message :is(details:has(.decide), .decide, #held form, #send-answers):not(:has([value='take back']))")) {
    if (!typed.some(([form]) => one.contains(form))) one.remove();
  }
  for (const one of all(".one-question", document, HTMLFieldSetElement)) one.disabled = !typed.some(([form]) => form.contains(one));
}

// -- The draft of one form

class FormStore extends DraftStore {
  /** @param {HTMLFormElement} form */
  constructor(form) {
    const given = JSON.parse(form.dataset.kept || "null");
    super(form.dataset.draft ?? "", JSON.stringify(given?.fields), given?.at);
    this.form = form;
    /** @type {{fields: Record<string, string>} | null} what was typed before */
    this.kept = this.newer ?? given;
    this.isWrittenIn = false; // on this page: what came back may be sent from elsewhere
    this.line = make("span", { class: "saved-at", role: "status" });
    /** @type {typeof this.recordNow | null} of a form that was closed: what is disabled is in none */
    this.last = null;
  }

  // Fields that a person can see; a hidden one belongs to the page.
  get controls() {
    const found = /** @type {Control[]} */ ([...this.form.elements].filter((one) => one.matches("input, textarea, select")));
    return found.filter((one) => one.type !== "hidden");
  }

  get typed() {
    return "typed" in this.form.dataset || this.controls.some(isChanged);
  }

  get record() {
    return this.last ?? this.recordNow;
  }

  get recordNow() {
    const fields = Object.fromEntries(/** @type {any} */ (new FormData(this.form)));
    return { text: JSON.stringify(fields), fields, words: this.words };
  }

  // What a person typed, to read and to copy.
  get words() {
    return this.controls.filter(isChanged).map(wordsOf).join("\n\n");
  }

  send() {
    const { fields, words } = this.record;
    return this.post({ fields, words });
  }

  /** @param {object} draft */
  post(draft) {
    return call(`/api/drafts?${new URLSearchParams({ key: this.key })}`, draft);
  }

  /** @param {string} code */
  show(code) {
    if (code && !this.line.isConnected) this.form.append(this.line);
    this.line.textContent = code && say(code);
  }

  typedIn() {
    this.isWrittenIn = this.typed;
    if (this.typed) this.changed();
    else this.drop();
  }

  // Nothing is left of it.
  async drop() {
    localStorage.removeItem(this.name);
    this.show("");
    await this.settle();
    await this.post({ fields: {} }).catch(() => {});
  }

  /** @param {Record<string, string>} fields */
  restore(fields) {
    for (const control of this.controls) {
      const value = fields[control.name];
      if (isBox(control)) control.checked = isTyped(control) ? control.checked : value === control.value;
      else if (value !== undefined) control.value = [value, ...isTyped(control) ? [control.value] : []].filter(Boolean).join(" "); // no word is lost
      for (let one = isChanged(control) ? control.closest("details") : null; one; one = one.parentElement?.closest("details") ?? null) one.open = true;
    }
    if (this.typed) this.show("restored");
  }

  /** @param {string} why */
  close(why) {
    if (!this.typed || this.last) return;
    this.last = this.recordNow;
    if (this.isWrittenIn) this.save();
    for (const one of this.controls) {
      if (isBox(one) || one instanceof HTMLSelectElement) one.disabled = true;
      else one.readOnly = true;
    }
    for (const one of all("button", this.form)) one.remove();
    this.form.prepend(make("p", { class: "lock", role: "alert" }, why));
    this.form.append(button(say("copy draft"), "", () => copy(this.record.words)));
  }
}

/** @param {Control} control */
function wordsOf(control) {
  if (!isBox(control)) return control.value;
  const [label] = control.labels ?? [];
  return label ? (first("span", label) ?? label).innerText.trim() : "";
}

// -- Sending a form: the page stays until the desk has answered

/** @param {(address: string) => Promise<void>} go shows where a form leads @param {() => void} missed looks at what is open again @param {() => boolean} isNew whether nobody can have read what is open @param {() => boolean} isWritten whether the box has a change */
export function listenToForms(go, missed, isNew, isWritten) {
  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    if (!(form instanceof HTMLFormElement) || event.defaultPrevented || form.method !== "post") return;
    if (!form.matches("[data-draft], main article form:not(.quieting)")) return;
    event.preventDefault();
    const allows = submitter?.matches("#allow, [value='let go']");
    if (allows && isNew()) tell("again"); // meant for what was here before
    else if ((allows || submitter?.matches("[value=like]")) && (hasTyped(".change") || isWritten())) tell("changed");
    else send(form, submitter, go, missed);
  });
}

/** @param {HTMLFormElement} form @param {HTMLElement | null} submitter @param {(address: string) => Promise<void>} go @param {() => void} missed */
async function send(form, submitter, go, missed) {
  if (isSending()) return; // one press is one answer
  sending = form;
  const store = stores.get(form);
  for (const one of all(".not-sent")) one.remove();
  const slow = setTimeout(() => tell("form.silent"), SLOW);
  const body = new URLSearchParams(/** @type {any} */ (new FormData(form, submitter)));
  await store?.settle();
  const { reached, status, page, location: address, taken } = await postForm(form.action, body, store?.key ?? "");
  clearTimeout(slow);
  if (!address) sending = null; // else until another page is there
  if (!status) {
    const place = form.checkVisibility() ? form : submitter?.parentElement;
    place?.append(make("p", { class: "lock not-sent", role: "alert" }, say(reached ? "form.unsure" : "form.away")));
    if (store?.typed) store.save();
    if (reached) missed();
  } else if (address) {
    if (taken) store?.forget();
    await go(address);
  } else {
    showAgain(form, page, status);
  }
}

/** The desk did not take it, and says why. @param {HTMLFormElement} form @param {Document | null} page @param {number} status */
function showAgain(form, page, status) {
  const [old, young] = [first("#main"), page && first("#main", page)];
  if (!old || !young) {
    const why = page ? first("p", page)?.textContent?.trim() : "";
    return tell("failed", { why: why || String(status) });
  }
  const same = first(`form[data-draft="${CSS.escape(form.dataset.draft ?? "")}"]`, young);
  if (same) same.dataset.typed = "yes";
  old.replaceWith(young);
  startForms();
  (first("[autofocus], [role=alert]", young) ?? young).scrollIntoView({ block: "nearest" });
  first("[autofocus]", young)?.focus();
}

/** @param {HTMLFormElement} form */
async function look(form) {
  const id = form.dataset.preview ?? "";
  const written = new URLSearchParams(/** @type {any} */ (new FormData(form)));
  written.set("act", "look");
  const young = (await part(form.action, written))?.getElementById(id);
  if (young) maybe(id)?.replaceWith(young);
}

// Sending what is written, once: the check before it, a moment to take it back, and what became of it.
// What is typed until the next box is there is caught in a field, where an input method goes on.

import { chosen } from "./choices.js";
import { all, byId, first, isWide, make } from "./dom.js";
import { call, Refused, SLOW } from "./talk.js";
import { askAnyway, undoWindow } from "./toolbar.js";
import { say, tell, tellFailed } from "./words.js";

export class Sender {
  /** @param {Composer} composer */
  constructor(composer) {
    this.composer = composer;
    this.sending = false;
    this.silence = 0;
    byId("send").addEventListener("click", () => this.send());
  }

  // Without the moment to take it back, or although the check finds errors; an option leaves the box a draft.
  /** @param {{now?: boolean, anyway?: boolean, option?: string | null}} [options] */
  async send({ now = false, anyway = false, option = null } = {}) {
    const { draft, drafts, views } = this.composer;
    if (this.sending || draft.locked || (option === null && !anyway && this.isEmpty())) return;
    const slowly = (chosen("undo") || (option !== null && !isWide())) && !now; // a thumb misses
    if (!slowly) catchTyping();
    this.setSending(true);
    if (option === null && !anyway && !(await this.maySend())) return;
    drafts.pause.stop();
    if (slowly && !(await undoWindow())) {
      this.setSending(false);
      drafts.save();
      views.focus();
      return;
    }
    if (slowly) catchTyping();
    await this.hand({ anyway, option });
  }

  /** @param {{anyway: boolean, option: string | null}} what */
  async hand({ anyway, option }) {
    const { draft, drafts, path } = this.composer;
    try {
      if (option !== null && draft.touched) await drafts.save();
      const body = option === null ? { text: draft.text, form: "message", anyway, action: draft.facts.action, shown: draft.facts.digest, page: drafts.page } : { text: option, form: "text" };
      const outcome = await call(`${path}/reply`, body);
      clearTimeout(this.silence);
      drafts.forget();
      this.composer.onSent(outcome, this.composer);
    } catch (error) {
      this.setSending(false);
      const typing = giveTypingBack();
      if (draft.touched) drafts.pause.soon();
      this.notSent(error);
      if (error instanceof Refused && error.record?.problems && !typing) this.composer.diagnostics.focus();
    }
  }

  isEmpty() {
    const { diagnostics, views } = this.composer;
    if (!diagnostics.nothingYet) return false;
    diagnostics.refusedEmpty = true;
    diagnostics.show();
    views.focus();
    return true;
  }

  async maySend() {
    const { draft, diagnostics, checker } = this.composer;
    const verdict = await checker.settled();
    if (verdict === null || verdict.sendable) return true;
    this.setSending(false);
    draft.touched = true;
    checker.countTry();
    diagnostics.show();
    const typing = giveTypingBack();
    if (draft.fault && verdict.forcible) this.sendAnyway();
    else if (!typing) diagnostics.focus();
    return false;
  }

  async sendAnyway() {
    if (await askAnyway()) await this.send({ now: true, anyway: true });
  }

  // Wrong first and right after, or twice: the line goes out, the request stays open.
  sendAndKeepOpen() {
    const { draft, facts } = this.composer;
    call(`/api/sessions/${facts.session}/say`, { text: draft.text, anyway: true }).then(() => tell("kept open"), tellFailed);
  }

  /** @param {unknown} error */
  notSent(error) {
    const { draft, checker } = this.composer;
    const { record = null, status = 0 } = error instanceof Refused ? error : {};
    if (record && status === 409) {
      const unsure = record.became === "not confirmed";
      this.composer.lock(unsure ? say("unconfirmed") : this.tooLate(record.state === "cancelled" ? "" : record.by));
    } else if (record?.problems) {
      draft.touched = true;
      checker.refused(record.problems);
    } else {
      tellFailed(error);
    }
  }

  tooLate(by = "") {
    const code = by ? "taken" : "late";
    return say(this.composer.draft.touched ? code : `${code} untouched`, { by });
  }

  /** @param {boolean} on */
  setSending(on) {
    const { box, draft, views } = this.composer;
    this.sending = on;
    clearTimeout(this.silence);
    if (on) this.silence = setTimeout(() => tell("silent"), SLOW);
    const off = on || draft.locked;
    for (const one of all("#send, #options button, .kinds input, .saved button, #tidy")) /** @type {HTMLButtonElement} */ (one).disabled = off;
    for (const field of all("textarea, input", box)) /** @type {HTMLInputElement} */ (field).readOnly = off;
    views.json.setReadOnly(off);
  }
}

// -- What is typed between Send and the next box

const field = make("textarea", { class: "hidden", "aria-label": say("ahead") });
let composing = false;
/** @type {Element | null} where the cursor was */
let before = null;

document.addEventListener("compositionstart", () => { composing = true; });
document.addEventListener("compositionend", () => { composing = false; });

function catchTyping() {
  if (!isWide() || first("dialog[open]")) return;
  before = document.activeElement;
  field.value = "";
  document.body.append(field);
  field.focus({ preventScroll: true });
}

export async function composed() {
  if (composing) await new Promise((done) => document.addEventListener("compositionend", done, { once: true }));
}

/** Nothing went out. Returns whether something was typed meanwhile. */
function giveTypingBack() {
  if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
  return goOnTyping();
}

/** Go on in the field that has the focus now. Returns whether something was typed. */
export function goOnTyping() {
  const typed = field.value;
  field.value = "";
  field.remove();
  composing = false;
  before = null;
  const active = document.activeElement;
  const writable = active?.matches("textarea, input:not([type=radio], [type=checkbox])") || active?.shadowRoot;
  if (typed && writable) document.execCommand("insertText", false, typed);
  return typed !== "";
}

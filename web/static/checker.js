// Ask the desk what is wrong with the document. The server asks again, and decides.

import { call, Pause } from "./talk.js";

const CHECK_AFTER = 180;
const AGAIN_AFTER = 3000; // where there was no answer

export class Checker {
  /** @param {Composer} composer */
  constructor(composer) {
    this.composer = composer;
    this.draft = composer.draft;
    /** @type {VerdictShape | null} */
    this.verdict = null;
    /** @type {string | null} the text that the verdict is about */
    this.checked = null;
    this.asked = 0;
    this.isAway = false; // the last check had no answer
    this.pause = new Pause(CHECK_AFTER, () => this.check());
  }

  // In the form, fields that are no JSON yet are checked by themselves, and the rest without them.
  get fields() {
    return this.composer.views.current === "form" ? this.draft.fields : null;
  }

  get base() {
    return this.fields?.base ?? this.draft.text;
  }

  stop() {
    this.pause.stop();
    this.asked += 1;
  }

  async check() {
    this.pause.stop();
    const asked = ++this.asked;
    const { text } = this.draft;
    try {
      const verdict = await this.ask("check", { fields: this.fields?.byPointer });
      if (asked !== this.asked || text !== this.draft.text) return;
      this.verdict = verdict;
      this.checked = text;
      this.isAway = false;
    } catch {
      if (asked !== this.asked) return;
      this.isAway = true;
      this.pause.soon(AGAIN_AFTER);
    }
    this.composer.diagnostics.show();
  }

  /** @param {string} what @param {object} [more] */
  ask(what, more) {
    const { path, facts } = this.composer;
    return call(`${path}/${what}`, { text: this.base, form: "message", action: facts.action, ...more });
  }

  /** Send was pressed on what cannot be sent: a room counts it, as over HTTP. */
  countTry() {
    this.ask("check", { sent: true, fields: this.fields?.byPointer }).catch(() => {});
  }

  // Whether the verdict is about what is written now.
  get isCurrent() {
    return this.checked === this.draft.text;
  }

  // The verdict on what is written now, null when the desk cannot be asked.
  async settled() {
    this.pause.stop();
    if (!this.isCurrent) await this.check();
    return this.isCurrent ? this.verdict : null;
  }

  /** The server gave the answer back. @param {Problem[]} problems */
  refused(problems) {
    const none = { line: null, bytes: null, kind: null };
    this.verdict = { ...none, ...this.verdict, text: this.draft.text, sendable: false, forcible: true, problems };
    this.checked = this.draft.text;
    this.composer.diagnostics.show();
  }

  /** Apply every fix that is sure. Returns null when somebody went on writing meanwhile. */
  async autofix() {
    const { text } = this.draft;
    const fixed = await this.ask("autofix");
    return text === this.draft.text ? String(fixed.text) : null;
  }
}

// Ask the desk what is wrong with the document. The stub asks the same function again: here it
// helps, there it decides.

import { call } from "./talk.js";

const CHECK_AFTER = 180;

export class Checker {
  /**
   * @param {string} path of the exchange at the desk
   * @param {MessageDocument} draft
   * @param {() => boolean} asForm whether the form is open: it knows which field is no JSON yet
   * @param {() => void} onVerdict
   */
  constructor(path, draft, asForm, onVerdict) {
    this.path = path;
    this.draft = draft;
    this.action = draft.facts.action;
    this.asForm = asForm;
    this.onVerdict = onVerdict;
    /** @type {VerdictShape | null} */
    this.verdict = null;
    /** @type {string | null} the text that the verdict is about */
    this.checked = null;
    this.asked = 0;
    this.waiting = 0;
  }

  // In the form, fields that are no JSON yet are checked by themselves, and the rest without them.
  get fields() {
    return this.asForm() ? this.draft.fields : null;
  }

  get base() {
    return this.fields?.base ?? this.draft.text;
  }

  // Nobody waits for a verdict any more.
  stop() {
    clearTimeout(this.waiting);
    this.asked += 1;
  }

  soon() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.check(), CHECK_AFTER);
  }

  async check() {
    clearTimeout(this.waiting);
    const asked = ++this.asked;
    const { text } = this.draft;
    try {
      const fields = this.fields?.byPointer ?? {};
      const verdict = await call(`${this.path}/check`, { text: this.base, form: "message", action: this.action, fields });
      if (asked !== this.asked || text !== this.draft.text) return;
      this.verdict = verdict;
      this.checked = text;
    } catch {
      return; // the stub checks again; the chip in the bar says that the desk is away
    }
    this.onVerdict();
  }

  // The verdict on what is written now, null when the desk cannot be asked.
  async settled() {
    clearTimeout(this.waiting);
    if (this.checked !== this.draft.text) await this.check();
    return this.checked === this.draft.text ? this.verdict : null;
  }

  /** The stub gave the answer back. @param {DiagnosticShape[]} problems */
  refused(problems) {
    const none = { line: null, bytes: null, kind: null };
    this.verdict = { ...none, ...this.verdict, text: this.draft.text, sendable: false, forcible: true, problems };
    this.checked = this.draft.text;
    this.onVerdict();
  }

  /** Apply every fix that is sure. Returns null when somebody went on writing meanwhile. */
  async autofix() {
    const { text } = this.draft;
    const fixed = await call(`${this.path}/autofix`, { text: this.base, form: "message", action: this.action });
    return text === this.draft.text ? String(fixed.text) : null;
  }
}

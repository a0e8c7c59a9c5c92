// @ts-check
// Ask the desk what is wrong with the document. The stub asks the same function again: here it
// helps, there it decides.

import { call } from "./talk.js";

/** @import { MessageDocument } from "./document.js" */
/** @import { ProblemShape, VerdictShape } from "../types/desk.js" */

const CHECK_AFTER = 180;

export class Checker {
  /**
   * @param {string} path of the exchange at the desk
   * @param {MessageDocument} draft
   * @param {() => void} onVerdict
   */
  constructor(path, draft, onVerdict) {
    this.path = path;
    this.draft = draft;
    this.onVerdict = onVerdict;
    /** @type {VerdictShape | null} */
    this.verdict = null;
    this.asked = 0;
    this.waiting = 0;
  }

  soon() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.check(), CHECK_AFTER);
  }

  async check() {
    clearTimeout(this.waiting);
    const asked = ++this.asked;
    const text = this.draft.text;
    try {
      const verdict = await call(`${this.path}/check`, { text, form: "message" });
      if (asked !== this.asked || text !== this.draft.text) return;
      this.verdict = verdict;
    } catch {
      return; // the stub checks again; the chip in the bar says that the desk is away
    }
    this.onVerdict();
  }

  // The verdict on what is written now, null when the desk cannot be asked.
  async settled() {
    clearTimeout(this.waiting);
    if (this.verdict?.text !== this.draft.text) await this.check();
    return this.verdict?.text === this.draft.text ? this.verdict : null;
  }

  /**
   * The stub gave the answer back.
   *
   * @param {ProblemShape[]} problems
   */
  refused(problems) {
    const none = { line: null, bytes: null, kind: null };
    this.verdict = { ...none, ...this.verdict, text: this.draft.text, sendable: false, forcible: true, problems };
    this.onVerdict();
  }

  /** Apply every fix that is sure. Returns null when somebody went on writing meanwhile. */
  async autofix() {
    const text = this.draft.text;
    const fixed = await call(`${this.path}/autofix`, { text, form: "message" });
    return text === this.draft.text ? String(fixed.text) : null;
  }
}

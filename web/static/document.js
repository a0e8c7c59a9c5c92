// The one document of a box: the whole message that answers. Text, form and JSON are views of it; each
// changes only the place it shows. Knows nothing of the page or the desk.

import { emptyError, flagged, isOneText, kindOf, TEXT_PATH } from "./answers.js";
import { EditHistory } from "./edithistory.js";
import { compact, put, stringAt } from "./jsontext.js";

export class MessageDocument {
  /** @param {Island} facts @param {string} text @param {UnreadFields | null} fields @param {BrokenDraft | null} broken */
  constructor(facts, text, fields, broken) {
    this.facts = facts;
    this.text = text;
    this.fields = fields; // what the form makes of a text that is no JSON
    this.broken = broken; // on purpose
    this.touched = facts.touched || text !== facts.document;
    this.typed = false; // in this page: a draft may be older
    this.locked = false;
    /** @type {ViewName | null} the view that it was last written in, here */
    this.view = null;
    /** @type {Kind} */
    this.kind = kindOf(fields?.base ?? text) ?? "result";
    /** @type {Record<string, string>} what was written for the other kind of answer */
    this.aside = {};
    this.history = new EditHistory();
    /** @type {Snapshot | null} the draft that something else took the place of */
    this.replaced = null;
    /** @type {Array<(from: Origin) => void>} */
    this.listeners = [];
  }

  /** @param {string} text @param {Origin} from @param {UnreadFields | null} [fields] */
  write(text, from, fields = null) {
    if (this.locked || text === this.text) return;
    this.history.keep(this.snapshot, from);
    // Another answer altogether, or the one from before it was broken.
    const broken = from === "kind" || text === this.broken?.before ? null : this.broken;
    this.set({ text, fields, touched: true, broken }, from);
  }

  // Break it, or put back what was there before.
  /** @param {string} text @param {BrokenDraft | null} broken */
  spoil(text, broken) {
    if (this.locked) return;
    this.history.keep(this.snapshot, "break");
    this.set({ text, fields: null, touched: true, broken }, "break");
  }

  // Put another text in the place of all that was written, which is put aside.
  /** @param {string} text @param {boolean} [touched] whether it is more than what a person starts from */
  replace(text, touched = true) {
    if (this.locked || text === this.text) return;
    this.replaced = this.touched ? this.snapshot : null;
    this.history.keep(this.snapshot, "replaced");
    this.set({ text, fields: null, touched, broken: null }, "replaced");
  }

  // Back to the draft that was replaced; what took its place can be had again with redo.
  putBack() {
    if (!this.replaced || this.locked) return;
    this.history.keep(this.snapshot, "undo");
    this.restore(this.replaced);
  }

  undo() {
    this.restore(this.history.step("past", this.snapshot));
  }

  redo() {
    this.restore(this.history.step("future", this.snapshot));
  }

  /** @param {Snapshot | null} found */
  restore(found) {
    if (!found || this.locked) return;
    if (found.text === this.replaced?.text) this.replaced = null;
    this.set(found, "undo");
  }

  get snapshot() {
    return { text: this.text, fields: this.fields, touched: this.touched, broken: this.broken };
  }

  /** @param {Snapshot} next @param {Origin} from */
  set(next, from) {
    Object.assign(this, next, { typed: true });
    this.kind = kindOf(next.fields?.base ?? next.text) ?? this.kind;
    for (const act of this.listeners) act(from);
  }

  get sentence() {
    return stringAt(this.text, TEXT_PATH);
  }

  // Whether what should be a person's own words is still empty, or ours.
  get unwritten() {
    if (!this.facts.textual || this.kind === "error" || this.facts.mirror || !isOneText(this.text)) return false;
    const text = this.sentence ?? "";
    return text.trim() === "" || this.facts.placeholders.includes(text);
  }

  // Whether it is what a person starts from, but for the words: Text shows all of it.
  get isPlain() {
    if (this.kind === "error") return true;
    if (!isOneText(this.text)) return false;
    const words = JSON.stringify(this.sentence);
    const started = flagged(this.facts, put(this.facts.template, TEXT_PATH, words), this.kind === "tool error");
    return compact(started) === compact(this.text);
  }

  /** @param {Kind} kind */
  turnInto(kind) {
    if (kind === this.kind || this.locked) return;
    const [was, will] = [this.kind, kind].map((one) => (one === "error" ? "error" : "result"));
    if (was !== will) {
      this.aside[was] = this.text;
      this.write(this.aside[will] ?? (will === "error" ? emptyError(this.facts) : this.facts.template), "kind");
    }
    if (kind !== "error") this.write(flagged(this.facts, this.text, kind === "tool error"), "kind");
    this.kind = kind;
  }
}

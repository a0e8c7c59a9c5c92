// The whole message that answers. Text, form and JSON are views of it; each changes only the place it shows.

import { EditHistory } from "./edithistory.js";
import { compact, drop, find, itemsAt, layOut, parse, put, stringAt, textAt } from "./jsontext.js";

export class MessageDocument {
  /** @param {InitialState} facts @param {string} text @param {UnreadFields | null} fields @param {AddedFault | null} fault */
  constructor(facts, text, fields, fault) {
    this.facts = facts;
    this.text = text;
    this.fields = fields; // what the form makes of a text that is no JSON
    this.fault = fault; // added on purpose
    this.touched = facts.touched || text !== facts.document;
    this.typed = false; // in this page: a draft may be older
    this.locked = false;
    /** @type {ViewName | null} the view that it was last written in, here */
    this.view = null;
    /** @type {AnswerKind} */
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
    if (text === this.text) return;
    // Another answer altogether, or the text from before the fault.
    const fault = from === "kind" || text === this.fault?.before ? null : this.fault;
    this.change({ text, fields, touched: true, fault }, from);
  }

  /** @param {string} text @param {AddedFault | null} fault */
  setFault(text, fault) {
    this.change({ text, fields: null, touched: true, fault }, "fault");
  }

  /** @param {string} text @param {boolean} [touched] whether it is more than what a person starts from */
  replace(text, touched = true) {
    if (this.locked || text === this.text) return;
    this.replaced = this.touched ? this.snapshot : null;
    this.change({ text, fields: null, touched, fault: null }, "replaced");
  }

  /** @param {Snapshot} next @param {Origin} from */
  change(next, from) {
    if (this.locked) return;
    this.history.keep(this.snapshot, from);
    this.set(next, from);
  }

  // Back to the draft that was replaced.
  putBack() {
    if (!this.replaced || this.locked) return;
    this.history.keep(this.snapshot, "undo");
    this.restore(this.replaced);
  }

  /** @param {"past" | "future"} from Undo, or redo */
  step(from) {
    this.restore(this.history.step(from, this.snapshot));
  }

  /** @param {Snapshot | null} found */
  restore(found) {
    if (!found || this.locked) return;
    if (found.text === this.replaced?.text) this.replaced = null;
    this.set(found, "undo");
  }

  get snapshot() {
    return { text: this.text, fields: this.fields, touched: this.touched, fault: this.fault };
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

  /** @param {AnswerKind} kind */
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

export const TEXT_PATH = ["result", "content", 0, "text"];
const FLAG_PATH = ["result", "isError"];

/** @param {string} text */
function kindOf(text) {
  const root = parse(text);
  if (find(root, ["error"])) return "error";
  if (!find(root, ["result"])) return null;
  return find(root, FLAG_PATH)?.type === "true" ? "tool error" : "result";
}

/** Whether the answer is one text for the model. @param {string} text */
export function isOneText(text) {
  return itemsAt(text, ["result", "content"])?.length === 1 && stringAt(text, TEXT_PATH) !== null;
}

// Say of a result whether the tool failed; a result that never spoke of it goes on saying nothing.
/** @param {InitialState} facts @param {string} text @param {boolean} failed */
export function flagged(facts, text, failed) {
  if ((textAt(text, FLAG_PATH) === "true") === failed) return text;
  const had = failed || textAt(facts.template, FLAG_PATH) !== null;
  return had ? put(text, FLAG_PATH, String(failed)) : drop(text, FLAG_PATH);
}

/** @param {InitialState} facts @param {string} form @param {string} body */
export function messageOf(facts, form, body) {
  return layOut(`{"jsonrpc":"2.0","id":${facts.id},"${form}":${body}}`);
}

/** @param {InitialState} facts */
function emptyError(facts) {
  return messageOf(facts, "error", '{"code":-32602,"message":""}');
}

// The whole message that answers, what stood in it before, and what the form cannot read yet as JSON.
// Text, form and JSON are views of it; each changes only the place it shows.

import { compact, drop, find, itemsAt, layOut, parse, pointerOf, put, stringAt, textAt } from "./jsontext.js";

export class MessageDocument {
  /** @param {InitialState} facts @param {string} text @param {UnreadFields | null} fields @param {AddedFault | null} fault */
  constructor(facts, text, fields, fault) {
    this.facts = facts;
    this.text = text;
    this.fields = fields; // what the form makes of a text that is no JSON
    this.fault = fault; // added on purpose
    this.touched = facts.touched || text !== facts.document;
    this.unbegun = false; // of a kind that was just chosen
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
    Object.assign(this, next, { typed: true, unbegun: from === "kind" });
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
      const next = this.aside[will] ?? (will === "error" ? messageOf(this.facts, "error", '{"code":-32602,"message":""}') : this.facts.template);
      const [from, to] = will === "error" ? [TEXT_PATH, MESSAGE_PATH] : [MESSAGE_PATH, TEXT_PATH];
      const words = this.unwritten ? "" : stringAt(this.text, from);
      const own = stringAt(next, to);
      const isFree = own === "" || (own !== null && this.facts.placeholders.includes(own));
      this.write(words && isFree ? put(next, to, JSON.stringify(words)) : next, "kind"); // the words come along
    }
    if (kind !== "error") this.write(flagged(this.facts, this.text, kind === "tool error"), "kind");
    this.kind = kind;
  }
}

export const TEXT_PATH = ["result", "content", 0, "text"];
const MESSAGE_PATH = ["error", "message"];
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

// Say of a result whether the tool failed; one that never spoke of it goes on saying nothing.
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

// -- What stood in the box before: every change can be undone

const TOGETHER = 1000; // milliseconds between two keys of one step
const MOST = 200;
const LONGEST = 4_000_000; // characters of all steps together

export class EditHistory {
  constructor() {
    /** @type {Snapshot[]} */
    this.past = [];
    /** @type {Snapshot[]} */
    this.future = [];
    this.last = { from: "", at: 0 };
  }

  // What is typed in one go is one step.
  /** @param {Snapshot} before @param {string} from */
  keep(before, from) {
    const at = Date.now();
    const together = ["text", "form", "json"].includes(from) && from === this.last.from && at - this.last.at < TOGETHER;
    this.last = { from, at };
    this.future = [];
    if (!together) this.past.push(before);
    let length = this.past.reduce((sum, one) => sum + one.text.length, 0);
    while (this.past.length > MOST || (length > LONGEST && this.past.length > 1)) length -= this.past.shift()?.text.length ?? 0;
  }

  /** @param {"past" | "future"} from where what is shown next comes from @param {Snapshot} now */
  step(from, now) {
    const found = this[from].pop();
    if (!found) return null;
    this[from === "past" ? "future" : "past"].push(now);
    this.last.from = "";
    return found;
  }
}

// -- Fields whose text is no JSON yet, and the document without them

export class UnreadFields {
  /** @param {string} base the document, with something valid in the place of each @param {Unread[]} [unread] */
  constructor(base, unread = []) {
    this.base = base;
    this.unread = unread;
  }

  get text() {
    const root = parse(this.base);
    const places = this.unread.flatMap(({ path, raw }) => {
      const node = find(root, path);
      return node ? [{ node, raw }] : [];
    }).sort((one, other) => other.node.start - one.node.start);
    return places.reduce((text, { node, raw }) => text.slice(0, node.start) + raw + text.slice(node.end), this.base);
  }

  /** By the place of each in the document: what the check is asked. */
  get byPointer() {
    return Object.fromEntries(this.unread.map(({ path, raw }) => [pointerOf(path), raw]));
  }

  /** @param {string} pointer */
  at(pointer) {
    return this.unread.find(({ path }) => pointerOf(path) === pointer);
  }

  /** @param {Path} path */
  rawAt(path) {
    return this.at(pointerOf(path))?.raw ?? null;
  }

  /** @param {Path} path @param {string | null} raw null takes the member out */
  write(path, raw) {
    const others = this.without(path);
    if (raw === null) return new UnreadFields(drop(this.base, path), others);
    if (parse(raw)) return new UnreadFields(put(this.base, path, raw), others);
    const base = find(parse(this.base), path) ? this.base : put(this.base, path, "null");
    return new UnreadFields(base, [...others, { path, raw }]);
  }

  /** Take an item out of a list: those behind it move up. @param {Path} path */
  removeItem(path) {
    const [list, at] = [path.slice(0, -1), Number(path.at(-1))];
    const moved = this.without(path).map((one) => {
      const step = Number(one.path[list.length]);
      if (!isBelow(one.path, list) || step < at) return one;
      return { ...one, path: [...list, step - 1, ...one.path.slice(path.length)] };
    });
    return new UnreadFields(drop(this.base, path), moved);
  }

  /** @param {string} base */
  withBase(base) {
    return new UnreadFields(base, this.unread);
  }

  /** @param {Path} path */
  without(path) {
    return this.unread.filter((one) => !isBelow(one.path, path));
  }
}

/** @param {Path} path @param {Path} above */
function isBelow(path, above) {
  return above.every((step, at) => step === path[at]);
}

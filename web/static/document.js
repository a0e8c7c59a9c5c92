// @ts-check
// The one document of a box: the text of the whole message that answers. Text, form and JSON are
// views of it, and each changes only the place it shows. Knows nothing of the page or the desk.

import { drop, layOut, put, stringAt, textAt } from "./jsontext.js";
import { find, parse } from "./jsontree.js";

/**
 * @import { Island, Kind } from "../types/desk.js"
 * @typedef {"text" | "form" | "json" | "fix" | "break" | "other"} Origin who changed the text
 */

export const TEXT_PATH = ["result", "content", 0, "text"];
const FLAG_PATH = ["result", "isError"];

export class MessageDocument {
  /**
   * @param {Island} facts
   * @param {string} text
   */
  constructor(facts, text) {
    this.facts = facts;
    this.text = text;
    this.touched = facts.touched || text !== facts.document;
    this.typed = false; // in this page: a draft may be older
    this.locked = false;
    /** @type {Kind} */
    this.kind = kindOf(text) ?? "result";
    /** @type {{result?: string, error?: string}} what was written for the other kind of answer */
    this.aside = {};
    /** @type {Array<(from: Origin) => void>} */
    this.listeners = [];
  }

  /**
   * @param {string} text
   * @param {Origin} [from]
   */
  write(text, from = "other") {
    if (this.locked || text === this.text) return;
    this.text = text;
    this.touched = this.typed = true;
    this.kind = kindOf(text) ?? this.kind;
    for (const act of this.listeners) act(from);
  }

  /** @param {string} sentence */
  writeSentence(sentence) {
    this.write(put(this.text, TEXT_PATH, JSON.stringify(sentence)), "text");
  }

  get sentence() {
    return stringAt(this.text, TEXT_PATH);
  }

  get broken() {
    return parse(this.text) === null;
  }

  // Whether the answer is one text for the model, which is what the text view can show.
  get onlyText() {
    const content = find(parse(this.text), ["result", "content"]);
    return content?.type === "array" && content.items.length === 1 && this.sentence !== null;
  }

  // Whether what should be a person's own words is still empty, or ours.
  get unwritten() {
    if (!this.facts.textual || this.kind === "error" || !this.onlyText || this.facts.mirror) return false;
    const text = this.sentence ?? "";
    return text.trim() === "" || this.facts.placeholders.includes(text);
  }

  /** @param {Kind} kind */
  become(kind) {
    if (kind === this.kind || this.locked) return;
    if ((kind === "error") !== (this.kind === "error")) {
      this.aside[this.kind === "error" ? "error" : "result"] = this.text;
      const other = this.aside[kind === "error" ? "error" : "result"];
      this.write(other ?? (kind === "error" ? this.errorText() : this.facts.template));
    }
    if (kind !== "error") this.flag(kind === "tool error");
    this.kind = kind;
  }

  /** @param {boolean} failed */
  flag(failed) {
    const flagged = textAt(this.text, FLAG_PATH) === "true";
    if (failed === flagged) return;
    const had = failed || textAt(this.facts.template, FLAG_PATH) !== null;
    this.write(had ? put(this.text, FLAG_PATH, String(failed)) : drop(this.text, FLAG_PATH));
  }

  errorText() {
    return layOut(`{"jsonrpc":"2.0","id":${this.facts.id},"error":{"code":-32602,"message":""}}`);
  }

  // What is saved or made a rule of: the text alone where the answer is one text.
  get body() {
    if (this.kind === "error") return { form: "error", text: textAt(this.text, ["error"]) ?? "{}" };
    const structured = textAt(this.text, ["result", "structuredContent"]) !== null;
    if (this.facts.textual && this.onlyText && !structured) {
      return { form: this.kind === "tool error" ? "tool error" : "text", text: this.sentence ?? "" };
    }
    return { form: "result", text: textAt(this.text, ["result"]) ?? "{}" };
  }

  /**
   * @param {string} form
   * @param {string} text
   */
  withBody(form, text) {
    return layOut(`{"jsonrpc":"2.0","id":${this.facts.id},"${form}":${text}}`);
  }
}

/**
 * @param {string} text
 * @returns {Kind | null}
 */
function kindOf(text) {
  const root = parse(text);
  if (find(root, ["error"])) return "error";
  if (!find(root, ["result"])) return null;
  return find(root, FLAG_PATH)?.type === "true" ? "tool error" : "result";
}

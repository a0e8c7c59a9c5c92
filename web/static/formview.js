// @ts-check
// The view of the document as a form: each field changes its own place and nothing else.

import { all, byId } from "./dom.js";
import { FormFields, outline } from "./formfields.js";
import { append, compact, drop, put, steps, textAt } from "./jsontext.js";
import { find, parse } from "./jsontree.js";
import { say } from "./words.js";

/** @import { MessageDocument } from "./document.js" */
/** @import { Path } from "./jsontree.js" */
/** @import { FormShape } from "../types/desk.js" */

const READ_BY_MODEL = ["result", "content", 0, "text"];

export class FormView {
  /**
   * @param {HTMLElement} place
   * @param {MessageDocument} draft
   */
  constructor(place, draft) {
    this.place = place;
    this.draft = draft;
    this.shape = "";
    /** @type {string | null} */
    this.mirrored = null;
    this.become(draft.facts.form);
  }

  get usable() {
    return this.draft.kind !== "error" && this.form !== null;
  }

  /**
   * Show another part of the document, by another schema.
   *
   * @param {FormShape | null} form
   */
  become(form) {
    this.form = form;
    /** @type {Path} */
    this.path = form ? steps(form.pointer) : [];
    this.shape = "";
  }

  // The cursor goes to what is to be written: a field that must be filled in and is not, else the
  // long text of the only item of a list, else the first field of all.
  focus() {
    const fields = all(this.place, "input, textarea, select, button", HTMLInputElement);
    const needed = fields.find((one) => one.getAttribute("aria-required") === "true" && one.value === "");
    const items = this.place.querySelectorAll(".form-item");
    const long = items.length === 1 ? all(items[0], "textarea:not(.json)", HTMLTextAreaElement)[0] : null;
    (needed ?? (long?.value === "" ? long : fields[0]))?.focus();
  }

  // The fields are made anew only when there are others than before.
  fill() {
    const instead = byId("form-instead");
    const root = parse(this.draft.text);
    instead.hidden = Boolean(this.form && root);
    this.place.hidden = !instead.hidden;
    if (!this.form || !root) {
      instead.textContent = say(this.form ? "tojson" : "noform");
      return;
    }
    const fields = new FormFields(this, this.draft.text, root).build(this.form.schema, this.path, 0);
    const shape = outline(fields);
    const focused = this.place.contains(document.activeElement);
    if (focused && shape === this.shape) return; // what is being typed in is already right
    this.shape = shape;
    fields.classList.add("form-top");
    this.place.replaceChildren(fields);
  }

  /**
   * @param {Path} path
   * @param {string | null} json null takes the member out
   */
  write(path, json) {
    const text = this.draft.text;
    this.change(json === null ? drop(text, path) : put(text, path, json));
  }

  /** @param {Path} path @param {string} json */
  addItem(path, json) {
    this.change(append(this.draft.text, path, json));
    this.again();
  }

  /** @param {Path} path */
  removeItem(path) {
    this.write(path, null);
    this.again();
  }

  /** @param {string} text */
  change(text) {
    this.draft.write(this.reflect(text), "form");
  }

  /**
   * Structured content is also given to the model as text: the same value, written as JSON.
   *
   * @param {string} text
   */
  reflect(text) {
    if (!this.draft.facts.mirror) return text;
    const shown = textAt(text, READ_BY_MODEL);
    const written = textAt(text, this.path);
    if (written === null || !this.isOurs(shown)) return text;
    this.mirrored = JSON.stringify(compact(written));
    const content = find(parse(text), ["result", "content"]);
    if (content?.type === "array" && content.items.length === 0) {
      return put(text, ["result", "content"], `[\n  { "type": "text", "text": ${this.mirrored} }\n]`);
    }
    return put(text, READ_BY_MODEL, this.mirrored);
  }

  /**
   * Whether the text for the model is what we wrote, and no words of a person's own.
   *
   * @param {string | null} shown
   */
  isOurs(shown) {
    const same = JSON.stringify(compact(textAt(this.draft.text, this.path) ?? ""));
    const placeholders = this.draft.facts.placeholders.map((one) => JSON.stringify(one));
    return shown === null || [this.mirrored, '""', same, ...placeholders].includes(shown);
  }

  again() {
    this.shape = "";
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    this.fill();
  }
}

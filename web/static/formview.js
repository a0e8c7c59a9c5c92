// The document as a form: each field changes its own place alone, and holds what is no JSON yet as it was typed.

import { FieldMarks } from "./diagnostics.js";
import { UnreadFields } from "./document.js";
import { all, byId, first, Shown } from "./dom.js";
import { FormFields } from "./formfields.js";
import { append, compact, drop, itemsAt, parse, pointerOf, put, steps, textAt } from "./jsontext.js";
import { say } from "./words.js";

const READ_BY_MODEL = ["result", "content", 0, "text"];

export class FormView {
  /** @param {HTMLElement} place @param {MessageDocument} draft */
  constructor(place, draft) {
    this.place = place;
    this.draft = draft;
    /** @type {string | null} the text for the model as we wrote it */
    this.mirrored = null;
    this.marks = new FieldMarks(place);
    this.become(draft.facts.form);
  }

  get usable() {
    return this.draft.kind !== "error" && this.form !== null;
  }

  get reading() {
    return this.draft.fields ?? new UnreadFields(this.draft.text);
  }

  /** Show another part of the document, with other fields. @param {FormShape | null} form */
  become(form) {
    this.form = form;
    /** @type {Path} */
    this.path = form ? steps(form.pointer) : [];
  }

  // To a field that must be filled in and is not, else the long text of the only item, else the first.
  focus() {
    const { controls } = this.marks;
    const items = this.place.querySelectorAll(".form-item");
    const long = items.length === 1 ? first("textarea:not(.json)", items[0], HTMLTextAreaElement) : null;
    const needed = controls.find((one) => one.getAttribute("aria-required") === "true" && one.value === "");
    (needed ?? (long?.value === "" ? long : controls[0] ?? first("button", this.place)))?.focus();
  }

  // The fields are made anew, and the one that had the focus has it again.
  fill() {
    const instead = byId("form-instead");
    const { base } = this.reading;
    const root = parse(base);
    instead.hidden = Boolean(this.form && root);
    this.place.hidden = !instead.hidden;
    if (!this.form || !root) {
      instead.textContent = say(this.form ? "tojson" : "noform");
      return;
    }
    const active = document.activeElement;
    const focused = active instanceof HTMLElement && this.place.contains(active) ? active.dataset.pointer : undefined;
    const fields = new FormFields(this, root).build(this.form.field, this.path);
    fields.classList.add("form-top");
    this.place.replaceChildren(fields);
    this.marks.shown = new Shown(); // they were made anew, without their marks
    if (focused !== undefined) this.marks.at(focused)?.focus();
  }

  /** @param {Path} path @param {string | null} raw JSON, or what is none yet; null takes the member out */
  write(path, raw) {
    this.change(this.reading.write(path, raw));
  }

  /** Write what needs other fields. @param {Path} path @param {string | null} raw */
  turn(path, raw) {
    this.remake(this.reading.write(path, raw));
  }

  /** @param {UnreadFields} reading */
  remake(reading) {
    this.change(reading);
    this.fill();
  }

  /** @param {string} pointer @param {(raw: string) => string} fixed */
  fixField(pointer, fixed) {
    const unread = this.reading.at(pointer);
    if (!unread) return;
    this.turn(unread.path, fixed(unread.raw));
    this.marks.at(pointer)?.focus();
  }

  /** @param {Path} path @param {string} json */
  addItem(path, json) {
    this.remake(this.reading.withBase(append(this.reading.base, path, json)));
    const item = all(`[data-list="${CSS.escape(pointerOf(path))}"]`, this.place).at(-1);
    if (item) first("input, textarea, select, button", item)?.focus();
  }

  // The bytes of a file: an item of a list, or one more of it, or the blob of a resource.
  /** @param {Path} path @param {File} file */
  putFile(path, file) {
    const reader = new FileReader();
    const blob = path.at(-1) === "blob";
    reader.onload = () => {
      const data = String(reader.result).split(",")[1];
      const item = { type: file.type.split("/")[0], data, mimeType: file.type };
      const { base } = this.reading;
      const write = itemsAt(base, path) ? append : put;
      let changed = write(base, path, JSON.stringify(blob ? data : item, null, 2));
      if (blob) {
        const [text, mime] = ["text", "mimeType"].map((name) => [...path.slice(0, -1), name]);
        changed = put(drop(changed, text), mime, JSON.stringify(file.type || "application/octet-stream"));
      }
      this.remake(this.reading.withBase(changed));
    };
    reader.readAsDataURL(file);
  }

  /** @param {Path} path */
  removeItem(path) {
    this.remake(this.reading.removeItem(path));
    const list = CSS.escape(pointerOf(path.slice(0, -1)));
    const left = all(`[data-list="${list}"] [data-remove]`, this.place);
    (left[Math.min(Number(path.at(-1)), left.length - 1)] ?? first(`[data-add="${list}"]`, this.place))?.focus();
  }

  /** @param {UnreadFields} reading */
  change(reading) {
    const next = reading.withBase(this.reflect(reading.base));
    this.draft.write(next.text, "form", next.unread.length ? next : null);
  }

  /** Structured content is also given to the model as text: the same value, as JSON. @param {string} text */
  reflect(text) {
    if (!this.draft.facts.mirror) return text;
    const written = textAt(text, this.path);
    if (written === null || !this.isOurs(textAt(text, READ_BY_MODEL))) return text;
    this.mirrored = JSON.stringify(compact(written));
    if (itemsAt(text, ["result", "content"])?.length === 0) {
      return put(text, ["result", "content"], `[\n  { "type": "text", "text": ${this.mirrored} }\n]`);
    }
    return put(text, READ_BY_MODEL, this.mirrored);
  }

  /** Whether the text for the model is what we wrote, and no words of a person's own. @param {string | null} shown */
  isOurs(shown) {
    const same = JSON.stringify(compact(textAt(this.reading.base, this.path) ?? ""));
    const placeholders = this.draft.facts.placeholders.map((one) => JSON.stringify(one));
    return shown === null || [this.mirrored, '""', same, ...placeholders].includes(shown);
  }
}

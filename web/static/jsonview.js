// The whole message as JSON: CodeMirror where it was built and a keyboard is at hand, else a text area.
// Both have the same few methods.

import { byId } from "./dom.js";
import { PlainEditor } from "./editor.js";
import { unitsAt } from "./jsontree.js";
import { call } from "./talk.js";
import { say } from "./words.js";

export class JsonView {
  /** @param {MessageDocument} draft */
  constructor(draft) {
    this.draft = draft;
    this.usable = true;
    this.area = byId("document", HTMLTextAreaElement);
    this.readOnly = false;
    /** @type {Mark[]} */
    this.shown = [];
    /** @type {EditorActs} */
    const acts = {
      onChange: (text) => draft.write(text, "json"),
      onMove: (place) => { byId("position").textContent = say("position", place); },
      schema: () => call(`/api/exchanges/${draft.facts.session}/${draft.facts.number}/schema`),
    };
    /** @type {AnyEditor} */
    this.editor = new PlainEditor(this.area, acts);
    const built = document.body.dataset.editor;
    if (!built || !matchMedia("(pointer: fine)").matches) return;
    // Only when it is seen: it weighs more than the rest of the page.
    new IntersectionObserver(([{ isIntersecting }], seen) => {
      if (!isIntersecting) return;
      seen.disconnect();
      import(built).then(({ CodeEditor }) => this.become(CodeEditor, acts)).catch(() => {});
    }).observe(this.area);
  }

  /** @param {any} CodeEditor @param {EditorActs} acts */
  become(CodeEditor, acts) {
    const place = byId("editor");
    const focused = this.editor.hasFocus();
    this.editor = new CodeEditor(place, { text: this.area.value, label: this.area.getAttribute("aria-label"), ...acts });
    this.area.hidden = true;
    place.classList.add("coded");
    this.setReadOnly(this.readOnly);
    this.editor.mark(this.shown);
    if (focused) this.editor.select({ from: this.area.selectionStart, to: this.area.selectionEnd });
  }

  fill() {
    this.editor.set(this.draft.text);
  }

  focus() {
    this.editor.focus();
  }

  /** @param {boolean} on */
  setReadOnly(on) {
    this.readOnly = on;
    this.editor.setReadOnly(on);
  }

  /** @param {Problem[]} problems @param {string} text in which their places count */
  mark(problems, text) {
    this.shown = problems.filter((one) => one.line).map((one) => ({
      ...spanOf(one, text),
      severity: one.blocks ? "error" : one.level === "warning" ? "warning" : "info",
      message: one.text,
    }));
    this.editor.mark(this.shown);
  }

  /** @param {Problem} problem */
  select(problem) {
    this.editor.select(spanOf(problem, this.draft.text));
  }

  // From the editor to the line below it: a Tab from there goes on, not back into it.
  leave() {
    byId("position").parentElement?.focus();
  }
}

/** @param {Problem} problem @param {string} text @returns {Span} */
function spanOf({ start, end }, text) {
  return { from: unitsAt(text, start), to: unitsAt(text, end) };
}

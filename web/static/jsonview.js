// The whole message as JSON, in one of two editors.

import { byId } from "./dom.js";
import { loadEditor, PlainEditor } from "./editor.js";
import { unitsAt } from "./jsontext.js";
import { call } from "./talk.js";
import { say } from "./words.js";

export class JsonView {
  /** @param {MessageDocument} draft */
  constructor(draft) {
    this.draft = draft;
    this.usable = true;
    const area = byId("document", HTMLTextAreaElement);
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
    this.editor = new PlainEditor(area, acts);
    loadEditor(area, acts, (editor) => {
      this.editor = editor;
      this.setReadOnly(this.readOnly);
      editor.mark(this.shown);
    });
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

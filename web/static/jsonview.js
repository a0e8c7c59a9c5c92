// @ts-check
// The view of the whole message as JSON, in the editor or a plain text area.

import { byId } from "./dom.js";
import { openEditor } from "./editor.js";
import { say } from "./words.js";

export class JsonView {
  /** @param {MessageDocument} draft */
  constructor(draft) {
    this.draft = draft;
    this.usable = true;
    this.area = byId("document", HTMLTextAreaElement);
    this.editor = openEditor(byId("editor"), this.area, (text) => draft.write(text, "json"), (place) => {
      byId("position").textContent = say("position", place);
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
    this.editor.setReadOnly(on);
  }

  /** @param {DiagnosticShape[]} problems @param {string} text in which their places count */
  mark(problems, text) {
    this.editor.mark(problems, text);
  }

  /** @param {DiagnosticShape} problem */
  select(problem) {
    this.editor.select(problem, this.draft.text);
  }

  // From the editor to the line below it: a Tab from there goes on, not back into it.
  leave() {
    byId("position").parentElement?.focus();
  }
}

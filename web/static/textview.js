// The view of an answer that is one text, and of an error: its code and its message.

import { isOneText, TEXT_PATH } from "./document.js";
import { byId, fillField } from "./dom.js";
import { FieldMarks } from "./fieldmarks.js";
import { parse, put, stringAt, textAt } from "./jsontext.js";
import { say } from "./words.js";

export class TextView {
  /** @param {MessageDocument} draft @param {() => void} onTyped */
  constructor(draft, onTyped) {
    this.draft = draft;
    this.marks = new FieldMarks(byId("error-fields"));
    this.sentence = byId("sentence", HTMLTextAreaElement);
    this.code = byId("error-code", HTMLInputElement);
    this.message = byId("error-message", HTMLInputElement);
    this.sentence.addEventListener("input", () => {
      onTyped();
      draft.write(put(draft.text, TEXT_PATH, JSON.stringify(this.sentence.value)), "text");
    });
    for (const field of [this.code, this.message]) field.addEventListener("input", () => this.writeError());
  }

  get usable() {
    return this.draft.kind === "error" || this.draft.facts.textual;
  }

  focus() {
    (this.draft.kind === "error" ? this.message : this.sentence).focus();
  }

  fill() {
    const { text, kind } = this.draft;
    const invalid = parse(text) === null;
    const error = kind === "error";
    const plain = error ? textAt(text, ["error"]) !== null : isOneText(text);
    const instead = byId("text-instead");
    instead.hidden = !invalid && plain;
    instead.textContent = invalid ? say("tojson") : say("notext");
    this.sentence.hidden = error || !plain || invalid;
    byId("error-fields").hidden = !error || invalid;
    if (error) {
      fillField(this.code, textAt(text, ["error", "code"]) ?? "");
      fillField(this.message, stringAt(text, ["error", "message"]) ?? "");
    } else if (plain) {
      const sentence = this.draft.sentence ?? "";
      fillField(this.sentence, this.draft.facts.placeholders.includes(sentence) ? "" : sentence);
    }
  }

  writeError() {
    const typed = this.code.value.trim();
    const code = /^-?\d+$/.test(typed) ? typed : JSON.stringify(typed);
    const text = put(this.draft.text, ["error", "code"], code);
    this.draft.write(put(text, ["error", "message"], JSON.stringify(this.message.value)), "text");
  }
}

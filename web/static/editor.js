// JSON in a text area, and CodeMirror in its place where it was built and a keyboard is at hand.

import { byId, fillField, first, make } from "./dom.js";
import { unitsAt } from "./jsontext.js";
import { composed } from "./sender.js";
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
      message: one.message,
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

// -- The box for JSON

// The editor takes the place of an area that is seen. Whoever writes there goes on at the same place.
/** @param {HTMLTextAreaElement} area @param {EditorActs} acts @param {(editor: AnyEditor, place: HTMLElement) => void} [taken] */
export function loadEditor(area, acts, taken) {
  const built = document.body.dataset.editor;
  if (!built || !matchMedia("(pointer: fine)").matches) return;
  new IntersectionObserver(async ([{ isIntersecting }], seen) => {
    if (!isIntersecting) return;
    seen.disconnect();
    const made = await import(built).catch(() => null);
    await composed();
    if (!made || !area.isConnected) return;
    const { value: text, selectionStart: from, selectionEnd: to } = area;
    const focused = document.activeElement === area;
    const place = make("div", { class: "editor" });
    area.before(place);
    const label = area.ariaLabel ?? area.labels[0]?.innerText.trim();
    const phrases = Object.fromEntries(["find", "find.before", "find.after", "find.close"].map((code) => [code, say(code)]));
    const editor = new made.CodeEditor(place, { text, label, phrases, ...acts });
    area.hidden = true;
    if (focused) editor.select({ from, to });
    taken?.(editor, place);
  }).observe(area);
}

// What is wrong is marked in a copy of the text that lies under the area, as both are laid out alike.
class PlainEditor {
  /** @param {HTMLTextAreaElement} area @param {EditorActs} acts */
  constructor(area, { onChange, onMove }) {
    this.area = area;
    this.under = byId("under");
    area.addEventListener("input", () => {
      this.under.replaceChildren();
      onChange(area.value);
    });
    area.addEventListener("selectionchange", () => onMove(this.position()));
    area.addEventListener("scroll", () => { this.under.scrollTop = area.scrollTop; });
  }

  position() {
    const before = this.area.value.slice(0, this.area.selectionStart);
    return { line: before.split("\n").length, column: [...before.slice(before.lastIndexOf("\n") + 1)].length + 1 };
  }

  /** @param {string} text */
  set(text) {
    fillField(this.area, text);
  }

  focus() {
    this.area.focus();
  }

  /** @param {boolean} on */
  setReadOnly(on) {
    this.area.readOnly = on;
  }

  /** @param {Mark[]} marks */
  mark(marks) {
    this.area.setAttribute("aria-invalid", String(marks.some((one) => one.severity === "error")));
    const text = this.area.value;
    let at = 0;
    const parts = marks.toSorted((one, other) => one.from - other.from).flatMap(({ from, to, severity }) => {
      if (from < at) return [];
      const [line] = text.slice(from, Math.max(to, from + 1)).split("\n", 1); // as in the editor: of many lines the first
      const before = text.slice(at, from);
      at = from + line.length;
      return [before, make("mark", { class: severity, "data-from": from }, line)];
    });
    this.under.replaceChildren(...parts, `${text.slice(at)}\u200b`);
    this.under.scrollTop = this.area.scrollTop;
  }

  /** @param {Span} range */
  select({ from, to }) {
    this.area.focus();
    this.area.setSelectionRange(from, to);
    const place = first(`[data-from="${from}"]`, this.under);
    if (place) this.area.scrollTop = place.offsetTop - this.area.clientHeight / 2;
  }
}

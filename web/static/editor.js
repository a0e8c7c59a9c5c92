// @ts-check
// The box for JSON: CodeMirror where it was built and a keyboard is at hand, else a plain text area.
// Both are used through the same few methods.

import { unitsAt } from "./jsontree.js";

/**
 * @param {HTMLElement} place
 * @param {HTMLTextAreaElement} area
 * @param {(text: string) => void} onChange
 * @param {(place: LineAndColumn) => void} onMove
 */
export function openEditor(place, area, onChange, onMove) {
  const plain = new PlainEditor(area, onChange, onMove);
  const editor = new Editor(plain);
  const fine = matchMedia("(pointer: fine)").matches;
  const built = document.body.dataset.editor;
  if (fine && built) {
    import(built).then(({ CodeEditor }) => {
      const label = area.getAttribute("aria-label");
      editor.become(new CodeEditor(place, { text: area.value, label, onChange, onMove }));
      area.hidden = true;
      place.classList.add("coded");
    }).catch(() => {}); // the text area does the same work
  }
  return editor;
}

class Editor {
  /** @param {AnyEditor} inner */
  constructor(inner) {
    this.inner = inner;
    /** @type {Mark[]} */
    this.marks = [];
    this.readOnly = false;
  }

  /** @param {AnyEditor} other */
  become(other) {
    const focused = this.inner.hasFocus();
    this.inner = other;
    other.setReadOnly(this.readOnly);
    other.mark(this.marks);
    if (focused) other.focus();
  }

  /** @param {string} text */
  set(text) {
    this.inner.set(text);
  }

  focus() {
    this.inner.focus();
  }

  /** @param {boolean} on */
  setReadOnly(on) {
    this.readOnly = on;
    this.inner.setReadOnly(on);
  }

  /** @param {DiagnosticShape[]} problems @param {string} text */
  mark(problems, text) {
    this.marks = problems.filter((one) => one.line).map((one) => ({
      from: unitsAt(text, one.start),
      to: unitsAt(text, one.end),
      severity: one.blocks ? "error" : one.level === "warning" ? "warning" : "info",
      message: one.text,
    }));
    this.inner.mark(this.marks);
  }

  /** @param {DiagnosticShape} problem @param {string} text */
  select(problem, text) {
    this.inner.select({ from: unitsAt(text, problem.start), to: unitsAt(text, problem.end) });
  }
}

class PlainEditor {
  /** @param {HTMLTextAreaElement} area @param {(text: string) => void} onChange @param {(place: LineAndColumn) => void} onMove */
  constructor(area, onChange, onMove) {
    this.area = area;
    area.addEventListener("input", () => onChange(area.value));
    area.addEventListener("selectionchange", () => onMove(this.position()));
    area.addEventListener("keyup", () => onMove(this.position()));
  }

  position() {
    const before = this.area.value.slice(0, this.area.selectionStart);
    return { line: before.split("\n").length, column: [...before.slice(before.lastIndexOf("\n") + 1)].length + 1 };
  }

  hasFocus() {
    return document.activeElement === this.area;
  }

  /** @param {string} text */
  set(text) {
    if (this.area.value !== text) this.area.value = text;
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
  }

  /** @param {Span} range */
  select({ from, to }) {
    this.area.focus();
    this.area.setSelectionRange(from, to);
  }
}

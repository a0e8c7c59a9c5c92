// The plain text area for JSON, used through the same methods as the editor that may take its place.

export class PlainEditor {
  /** @param {HTMLTextAreaElement} area @param {EditorActs} acts */
  constructor(area, { onChange, onMove }) {
    this.area = area;
    area.addEventListener("input", () => onChange(area.value));
    area.addEventListener("selectionchange", () => onMove(this.position()));
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

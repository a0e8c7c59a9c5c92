// A problem, wherever it is shown: its sentence, its code and its fix; and those at the fields of a form.

import { all, button, make, Shown } from "./dom.js";
import { unitsAt } from "./jsontext.js";
import { at } from "./loginpath.js";
import { say, visible } from "./words.js";

export class FieldMarks {
  /** @param {HTMLElement} place that holds the fields */
  constructor(place) {
    this.place = place;
    this.shown = new Shown();
  }

  get controls() {
    return /** @type {Control[]} */ (all("[data-pointer]", this.place));
  }

  /** @param {string} pointer */
  at(pointer) {
    return this.controls.find((one) => one.dataset.pointer === pointer);
  }

  /** The field at a place of the document, or the innermost that holds the place. @param {string} pointer */
  around(pointer) {
    const found = this.controls.filter(({ dataset }) => `${pointer}/`.startsWith(`${dataset.pointer}/`));
    return found.sort((one, other) => (other.dataset.pointer ?? "").length - (one.dataset.pointer ?? "").length)[0];
  }

  /** @param {Problem[]} problems @param {ProblemAct} fix @returns {Problem[]} those that are about no field */
  show(problems, fix) {
    const placed = problems.map((problem) => ({ problem, control: this.around(problem.pointer) }));
    if (this.shown.changes(problems)) {
      for (const old of all(".at-field", this.place)) old.remove();
      for (const one of this.controls) for (const name of ["aria-invalid", "aria-describedby"]) one.removeAttribute(name);
      for (const { problem, control } of placed) if (control) mark(control, problem, fix);
    }
    return placed.filter(({ control }) => !control).map(({ problem }) => problem);
  }

  /** Go to the first field that is wrong. Returns whether there is one. */
  focus() {
    const wrong = this.controls.find((one) => one.getAttribute("aria-invalid") === "true");
    wrong?.focus();
    return Boolean(wrong);
  }
}

/** @param {Control} control @param {Problem} problem @param {ProblemAct} fix */
function mark(control, problem, fix) {
  const id = `${control.id}-${problem.code}`;
  const line = make("p", { class: `problem at-field ${problem.level}`, id }, ...problemParts(problem, fix));
  if (problem.blocks) control.setAttribute("aria-invalid", "true");
  control.setAttribute("aria-describedby", `${control.getAttribute("aria-describedby") ?? ""} ${id}`.trim());
  control.parentElement?.append(line);
}

/** The name of a kind of problem and its code; an older one has no name. @param {Problem} problem */
const title = (problem) => problem.name ? `${problem.name} (${problem.code})` : problem.code;

/** @param {Problem} problem @param {ProblemAct} fix */
export function problemParts(problem, fix) {
  const why = { class: "why", href: problem.page, target: "_blank", rel: "noreferrer noopener" };
  return [
    make("span", { class: "what" }, visible(problem.text)),
    ...problem.fix ? [button(problem.fix.label, "fix", () => fix(problem))] : [],
    ...problem.page ? [make("a", why, say("why"))] : [],
    make("a", { ...why, class: "code", href: at(`/mistake/${problem.code}`) }, title(problem)),
  ];
}

// Apply the fix of one problem; its edits stand in order.
/** @param {string} text @param {Problem} problem */
export function fixed(text, problem) {
  let [result, at] = ["", 0];
  for (const { start, end, new: fresh } of problem.fix?.edits ?? []) {
    result += text.slice(at, unitsAt(text, start)) + fresh;
    at = unitsAt(text, end);
  }
  return result + text.slice(at);
}

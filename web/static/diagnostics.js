// What the check says: at the fields of a form and under the box, with the line that would go out.

import { TEXT_PATH } from "./document.js";
import { all, button, byId, first, make, quoted, Shown } from "./dom.js";
import { stringAt, unitsAt } from "./jsontext.js";
import { at } from "./loginpath.js";
import { say, tellFailed, visible } from "./words.js";

const LONGEST_LINE = 100_000;
const LONGEST_READ = 2000;
const UNWRITTEN = "M61"; // our placeholder still stands there
const STRUCTURE_MISSING = "M58"; // the form of a tool with an outputSchema writes it

export class Diagnostics {
  /** @param {Composer} composer */
  constructor(composer) {
    this.composer = composer;
    this.first = new Shown();
    this.seen = new IntersectionObserver(([{ isIntersecting }]) => { byId("first-problem").hidden = isIntersecting; }, { rootMargin: "0px 0px -80px" }); // Send covers them
    composer.closing.signal.addEventListener("abort", () => this.seen.disconnect());
    this.refusedEmpty = false; // Send was pressed with nothing written
    this.listed = new Shown();
  }

  // A fault is there on purpose; else what is still to be written is not wrong.
  get nothingYet() {
    return !this.composer.draft.fault && this.composer.draft.unwritten;
  }

  show() {
    const { draft, checker, views } = this.composer;
    const { verdict } = checker;
    const anyway = byId("anyway");
    anyway.hidden = true;
    if (!checker.isCurrent) this.unchecked();
    if (!verdict || !checker.isCurrent) return;
    const own = verdict.problems.filter((one) => one.level !== "repaired" && !(this.nothingYet && one.code === UNWRITTEN)
      && !(draft.unbegun && one.level === "hint"));
    const quiet = draft.touched ? this.nothingYet && !own.some((one) => one.blocks) : this.nothingYet || !verdict.sendable;
    const problems = quiet ? [] : own;
    this.list(views.marks?.show(problems, this.fix) ?? problems);
    views.json.mark(problems.filter((one) => !one.field), draft.text);
    const blocking = problems.filter((one) => one.blocks).length;
    this.showFirst(problems.find((one) => one.blocks));
    const found = byId("found");
    found.className = `found ${blocking ? "bad" : problems.length || quiet ? "" : "good"}`;
    found.textContent = this.sentence(quiet, blocking, problems.length);
    anyway.hidden = draft.locked || !blocking || !verdict.forcible;
    this.showWire();
  }

  // Nothing is said of a text that nobody has checked; the problems before it stay in place.
  unchecked() {
    const { checker, draft } = this.composer;
    const found = byId("found");
    found.className = "found";
    found.textContent = checker.isAway && (draft.touched || checker.verdict) ? say("unchecked") : "";
    this.showWire();
    byId("wire").classList.add("unsaid");
  }

  /** @param {Problem[]} problems those that are shown at no field */
  list(problems) {
    const { views } = this.composer;
    if (!this.listed.changes([views.current, problems])) return;
    const list = byId("problems");
    const focused = list.contains(document.activeElement);
    const rows = problems.map((one) => {
      const label = views.current === "json" ? say("place", one) : say("in json");
      const place = one.line ? button(label, "place", () => views.showPlace(one)) : null;
      return make("li", { class: `problem ${one.level}` }, place, ...this.parts(one));
    });
    const fixable = problems.filter((one) => one.fix?.applicability === "safe");
    if (fixable.length > 1) {
      const count = fixable.reduce((sum, one) => sum + one.count, 0);
      const label = say(count === 2 ? "fixboth" : "fixall", { count });
      rows.unshift(make("li", { class: "problem-all" }, button(label, "fix small", () => this.fixAll())));
    }
    list.replaceChildren(...rows);
    if (focused) first("button", list)?.focus();
  }

  /** @param {Problem} problem */
  parts(problem) {
    const { views } = this.composer;
    const parts = problemParts(problem, this.fix);
    const fillIn = problem.code === STRUCTURE_MISSING && views.form.usable && views.current !== "form";
    return fillIn ? [...parts, button(say("fill in"), "fix", () => views.show("form", { focus: true }))] : parts;
  }

  // Why Send is blocked stands beside it, while what is wrong is out of sight.
  /** @param {Problem} [problem] */
  showFirst(problem) {
    const field = problem && this.composer.views.marks?.around(problem.pointer)?.parentElement;
    this.seen.disconnect();
    this.seen.observe((field && first(".at-field", field)) ?? byId("problems"));
    if (!this.first.changes([this.composer.views.current, problem ?? null])) return;
    const [sentence, ...parts] = problem ? this.parts(problem) : [];
    const whole = sentence && make("a", { class: "what", href: "#found" }, sentence.textContent);
    byId("first-problem").replaceChildren(...whole ? [whole] : [], ...parts.filter((one) => one.matches(".fix")));
  }

  /** @param {boolean} quiet @param {number} blocking @param {number} all */
  sentence(quiet, blocking, all) {
    const { draft } = this.composer;
    if (quiet) return this.refusedEmpty ? say("blocked") : "";
    if (blocking) return say("problems", { count: blocking });
    if (all) return say("hints", { count: all });
    return draft.touched || !draft.facts.textual ? say("ok") : "";
  }

  showWire() {
    const { draft, checker, views } = this.composer;
    const line = checker.verdict?.line;
    byId("wire").classList.toggle("unsaid", !line || this.nothingYet);
    if (line) {
      byId("wire-summary").textContent = say("wire", { bytes: checker.verdict?.bytes });
      byId("wire-line").textContent = visible(line.slice(0, LONGEST_LINE));
    }
    const reads = draft.kind === "error" ? null : draft.sentence ?? stringAt(draft.text, TEXT_PATH.slice(1)); // of a bare result, too
    byId("reads").hidden = !draft.facts.textual || views.current === "text" || draft.kind === "error";
    byId("reads").classList.toggle("unsaid", reads === null || this.nothingYet || checker.verdict?.problems.some((one) => one.blocks) || draft.facts.placeholders.includes(reads));
    byId("reads-text").textContent = visible((reads ?? "").slice(0, LONGEST_READ));
  }

  // Why nothing was sent: the focus goes to what can be done about it.
  focus() {
    const { views } = this.composer;
    if (views.marks?.focus()) return;
    first("#problems :is(button, a)")?.focus();
  }

  /** @param {Problem} shown */
  fix = async (shown) => {
    const { checker, views } = this.composer;
    // The places of one that was shown for an older text are in that.
    const problem = checker.isCurrent ? shown
      : (await checker.settled())?.problems.find((one) => one.code === shown.code && one.pointer === shown.pointer);
    if (!problem) return;
    if (problem.field) {
      views.form.fixField(problem.field, (raw) => fixed(raw, problem));
    } else {
      this.applyFix(fixed(checker.base, problem));
      views.focus();
    }
  };

  /** What the check was asked of is changed; fields that it could not read stay. @param {string} text */
  applyFix(text) {
    const { draft, checker } = this.composer;
    const fields = checker.fields?.withBase(text) ?? null;
    draft.write(fields?.text ?? text, "fix", fields);
  }

  async fixAll() {
    const { checker, views } = this.composer;
    const text = await checker.autofix().catch(tellFailed);
    if (typeof text === "string") this.applyFix(text);
    views.focus();
  }
}

// -- A problem, wherever it is shown, and the problems at the fields of a form

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
      // Below the field that is typed in nothing moves: its first problem lies over it, others keep their place.
      for (const old of all(".at-field, .at-kept", this.place)) old.replaceWith(...isIn(old.parentElement) && !old.matches(".over") ? [make("p", { class: "problem at-kept unsaid" }, ...old.childNodes)] : []);
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
  const place = control.parentElement;
  const kept = place && first(".at-kept", place);
  kept?.remove();
  place?.append(line);
  line.classList.toggle("over", !kept && isIn(place));
  place?.addEventListener("focusout", () => line.classList.remove("over"), { once: true });
}

/** @param {Element | null} place */
const isIn = (place) => Boolean(place?.contains(document.activeElement));

/** @param {Problem} problem @param {ProblemAct} fix */
function problemParts(problem, fix) {
  const href = at(`/mistake/${problem.code}`);
  return [
    make("span", { class: "what" }, ...quoted(visible(problem.message))),
    ...problem.fix ? [button(problem.fix.label, "fix", () => fix(problem))] : [],
    make("a", { class: "why", href, target: "_blank", rel: "noreferrer noopener" }, say("why")),
    make("span", { class: "code" }, problem.name ? `${problem.name} (${problem.code})` : problem.code), // an older one has no name
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

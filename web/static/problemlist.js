// The problems under the composer: the same codes and sentences as everywhere, each with its fix.

import { unitsAt } from "./jsontree.js";
import { button, byId, make, Shown } from "./dom.js";
import { at } from "./place.js";
import { say, visible } from "./words.js";

export class ProblemList {
  /** @param {Diagnostics} diagnostics */
  constructor(diagnostics) {
    this.list = byId("problems");
    this.diagnostics = diagnostics;
    this.shown = new Shown();
  }

  /** @param {Problem[]} problems */
  show(problems) {
    if (!this.shown.changes(problems)) return;
    const focused = this.list.contains(document.activeElement);
    const fixable = problems.filter((one) => one.fix?.applicability === "safe");
    this.list.replaceChildren(
      ...(fixable.length > 1 ? [this.all(fixable)] : []),
      ...problems.map((one) => this.one(one)),
    );
    if (focused) this.list.querySelector("button")?.focus();
  }

  /** @param {Problem[]} problems */
  all(problems) {
    const label = say("fixall", { count: problems.reduce((sum, one) => sum + one.count, 0) });
    return make("li", { class: "problem-all" }, button(label, "fix small", () => this.diagnostics.fixAll()));
  }

  /** @param {Problem} problem */
  one(problem) {
    const place = problem.line ? button(say("place", problem), "place", () => this.diagnostics.composer.views.showPlace(problem)) : null;
    return make("li", { class: `problem ${problem.level}` }, place, ...problemParts(problem, this.diagnostics.fix));
  }
}

/** What is said of a problem, wherever it is shown. @param {Problem} problem @param {ProblemAct} fix */
export function problemParts(problem, fix) {
  const why = { class: "why", href: problem.page, target: "_blank", rel: "noreferrer noopener" };
  return [
    make("span", { class: "what" }, visible(problem.text)),
    ...problem.fix ? [button(problem.fix.label, "fix", () => fix(problem))] : [],
    ...problem.page ? [make("a", why, say("why"))] : [],
    make("a", { ...why, class: "code", href: at(`/mistake/${problem.code}`) }, problem.code),
  ];
}

// Apply the fix of one problem; its edits stand in order. All at once is done by the check, which
// alone knows what may be done without a look.
/** @param {string} text @param {Problem} problem */
export function fixed(text, problem) {
  let [mended, at] = ["", 0];
  for (const { start, end, new: fresh } of problem.fix?.edits ?? []) {
    mended += text.slice(at, unitsAt(text, start)) + fresh;
    at = unitsAt(text, end);
  }
  return mended + text.slice(at);
}

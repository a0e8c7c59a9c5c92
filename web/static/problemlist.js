// A problem, wherever it is shown: the same codes and sentences as everywhere, and its fix.

import { unitsAt } from "./jsontree.js";
import { button, make } from "./dom.js";
import { at } from "./place.js";
import { say, visible } from "./words.js";

/** What is said of it. @param {Problem} problem @param {ProblemAct} fix */
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

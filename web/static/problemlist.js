// The problems under the composer: the same codes and sentences as everywhere, each with its fix.

import { unitsAt } from "./jsontext.js";
import { make, say, visible } from "./words.js";

export class ProblemList {
  constructor({ fix, fixAll, show }) {
    this.list = document.getElementById("problems");
    this.act = { fix, fixAll, show };
    this.shown = "";
  }

  show(problems, text) {
    // What did not change stays as it is: a screen reader speaks of it once, and the focus stays.
    const now = JSON.stringify(problems);
    if (now === this.shown) return;
    this.shown = now;
    const focused = this.list.contains(document.activeElement);
    const fixable = problems.filter((one) => one.fix?.applicability === "safe");
    this.list.replaceChildren(
      ...(fixable.length > 1 ? [this.all(fixable)] : []),
      ...problems.map((one) => this.one(one, text)),
    );
    if (focused) this.list.querySelector("button")?.focus();
  }

  all(problems) {
    const label = say("fixall", { count: problems.reduce((sum, one) => sum + one.count, 0) });
    return make("li", { class: "problem-all" },
      make("button", { type: "button", class: "fix small", on: { click: () => this.act.fixAll() } }, label));
  }

  one(problem) {
    const parts = [];
    if (problem.line) {
      parts.push(make("button", { type: "button", class: "place", on: { click: () => this.act.show(problem) } },
        say("place", problem)));
    }
    parts.push(make("span", { class: "what" }, visible(problem.text)));
    if (problem.fix) {
      parts.push(make("button", { type: "button", class: "fix", on: { click: () => this.act.fix(problem) } },
        problem.fix.label));
    }
    if (problem.page) {
      parts.push(make("a", { class: "why", href: problem.page, target: "_blank", rel: "noreferrer noopener" }, say("why")));
    }
    parts.push(make("code", { class: "code" }, problem.code));
    return make("li", { class: `problem ${problem.level}` }, ...parts);
  }

  // Apply the fix of one problem: its edits stand in the order of the text. All at once is done by
  // the check, which alone knows what may be done without a look at it.
  fixed(text, problem) {
    const edits = problem.fix.edits.map(([start, end, fresh]) => [unitsAt(text, start), unitsAt(text, end), fresh]);
    edits.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
    let [fixed, at] = ["", 0];
    for (const [start, end, fresh] of edits) {
      fixed += text.slice(at, start) + fresh;
      at = end;
    }
    return fixed + text.slice(at);
  }
}

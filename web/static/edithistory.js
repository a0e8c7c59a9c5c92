// What stood in the box before: every change can be undone.

const TOGETHER = 1000; // milliseconds between two keys of one step
const MOST = 200;
const LONGEST = 4_000_000; // characters of all steps together

export class EditHistory {
  constructor() {
    /** @type {Snapshot[]} */
    this.past = [];
    /** @type {Snapshot[]} */
    this.future = [];
    this.last = { from: "", at: 0 };
  }

  // What is typed in one go is one step.
  /** @param {Snapshot} before @param {string} from */
  keep(before, from) {
    const at = Date.now();
    const together = ["text", "form", "json"].includes(from) && from === this.last.from && at - this.last.at < TOGETHER;
    this.last = { from, at };
    this.future = [];
    if (!together) this.past.push(before);
    let length = this.past.reduce((sum, one) => sum + one.text.length, 0);
    while (this.past.length > MOST || (length > LONGEST && this.past.length > 1)) length -= this.past.shift()?.text.length ?? 0;
  }

  /** @param {"past" | "future"} from where what is shown next comes from @param {Snapshot} now */
  step(from, now) {
    const found = this[from].pop();
    if (!found) return null;
    this[from === "past" ? "future" : "past"].push(now);
    this.last.from = "";
    return found;
  }
}

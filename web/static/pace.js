// When something is done that is asked for again and again.

/** Done after a pause in which it was not asked for once more. */
export class Pause {
  /** @param {number} length in milliseconds @param {() => void} act */
  constructor(length, act) {
    this.soon = () => {
      this.stop();
      this.waiting = setTimeout(act, length);
    };
    this.waiting = 0;
  }

  stop() {
    clearTimeout(this.waiting);
  }
}

/** One at a time: what is asked for meanwhile is done once more at the end. @param {() => Promise<void>} act */
export function oneAtATime(act) {
  /** @type {Promise<void> | null} */
  let running = null;
  let again = false;
  return function run() {
    again = running !== null;
    running ??= act().finally(() => {
      running = null;
      if (again) run();
    });
    return running;
  };
}

// @ts-check
// Where a draft is kept: at the desk, and in this browser for the time in which the desk is away.

import { keep } from "./choices.js";
import { byId } from "./dom.js";
import { call } from "./talk.js";
import { say } from "./words.js";

/** @import { MessageDocument } from "./document.js" */
/** @import { Island } from "../types/desk.js" */

const SAVE_AFTER = 500;

export class DraftStore {
  /**
   * @param {Island} facts
   * @param {string} path of the exchange at the desk
   */
  constructor(facts, path) {
    this.name = `humanmcp:draft:${facts.session}/${facts.number}`;
    this.known = Date.parse(facts.at || "") || 0;
    this.path = path;
    this.hold = facts.hold;
    this.who = whoAmI();
    this.waiting = 0;
  }

  // What this browser has and the desk has not, null where there is nothing of the kind.
  newer() {
    const kept = localStorage.getItem(this.name);
    if (!kept) return null;
    const { text, at } = JSON.parse(kept);
    return at > this.known ? String(text) : null;
  }

  /** @param {MessageDocument} draft */
  keepHere(draft) {
    keep(this.name, { text: draft.text, at: Date.now() });
  }

  /** @param {MessageDocument} draft */
  changed(draft) {
    this.keepHere(draft);
    this.stop();
    this.waiting = setTimeout(() => this.save(draft), SAVE_AFTER);
    byId("saved-at").textContent = "";
  }

  stop() {
    clearTimeout(this.waiting);
  }

  /** @param {MessageDocument} draft */
  async save(draft) {
    this.stop();
    const { text, touched } = draft;
    try {
      const { at } = await call(`${this.path}/draft`, { text, form: "message", touched, hold: this.hold, who: this.who });
      if (text !== draft.text) return;
      keep(this.name, { text, at: Date.parse(at) });
      byId("saved-at").textContent = say("saved");
    } catch {
      byId("saved-at").textContent = say("unsaved");
    }
  }

  forget() {
    localStorage.removeItem(this.name);
  }
}

// This window, for as long as it is open: who writes is told apart from who looks on.
function whoAmI() {
  const name = "humanmcp:who";
  const known = sessionStorage.getItem(name) ?? crypto.randomUUID();
  sessionStorage.setItem(name, known);
  return known;
}

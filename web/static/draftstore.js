// Where a draft is kept: at the desk, and in this browser for the time in which the desk is away.

import { keep } from "./choices.js";
import { MessageDocument, UnreadFields } from "./document.js";
import { byId } from "./dom.js";
import { call, oneAtATime, Pause } from "./talk.js";
import { say } from "./words.js";
import { whoAmI } from "./writing.js";

const SAVE_AFTER = 500;

export class DraftStore {
  /** @param {InitialState} facts @param {string} path of the exchange at the desk */
  constructor(facts, path) {
    this.name = `humanmcp:draft:${facts.draft}${facts.action === "pass" ? "" : " answer"}`;
    this.known = Date.parse(facts.at || "") || 0;
    this.path = path;
    this.who = whoAmI();
    this.closed = false;
    this.draft = this.open(facts);
    this.pause = new Pause(SAVE_AFTER, () => this.save());
  }

  // What the desk has, or what this browser has and the desk has not; and how the form reads it.
  /** @param {InitialState} facts */
  open(facts) {
    const kept = JSON.parse(localStorage.getItem(this.name) ?? "null");
    const text = kept && kept.at > this.known ? String(kept.text) : facts.document;
    const { fields, fault } = kept?.text === text ? kept : {};
    const draft = new MessageDocument(facts, text, fields ? new UnreadFields(fields.base, fields.unread) : null, fault ?? null);
    if (kept?.text === text) draft.view = kept.view ?? null;
    return draft;
  }

  keepHere(at = Date.now()) {
    const { text, fields, fault, view } = this.draft;
    keep(this.name, { text, fields, fault, view, at });
  }

  changed() {
    this.keepHere();
    this.pause.soon();
    byId("saved-at").textContent = "";
  }

  // Of two at once the older one might be the last to arrive.
  save = oneAtATime(async () => {
    if (this.closed) return;
    this.pause.stop();
    const { text, touched, replaced, facts } = this.draft;
    const aside = replaced?.text ?? "";
    try {
      const { at } = await call(`${this.path}/draft`, { text, form: "message", touched, who: this.who, aside, action: facts.action });
      if (text !== this.draft.text || this.closed) return;
      this.keepHere(Date.parse(at));
      byId("saved-at").textContent = say("saved");
    } catch {
      if (!this.closed) byId("saved-at").textContent = say("unsaved");
    }
  });

  forget() {
    this.pause.stop();
    this.closed = true;
    localStorage.removeItem(this.name);
  }
}

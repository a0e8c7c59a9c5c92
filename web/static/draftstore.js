// Where all that a person types is kept: in this browser at each key, soon after at the desk.

import { keep } from "./choices.js";
import { MessageDocument, UnreadFields } from "./document.js";
import { byId } from "./dom.js";
import { call, oneAtATime, Pause, Refused } from "./talk.js";
import { say } from "./words.js";

const SAVE_AFTER = 500;
const AGAIN_AFTER = 3000; // while the desk is away
const PREFIX = "humanmcp:draft:";

export class DraftStore {
  /** @param {string} key of the draft: `Desk.draft_name` and the form @param {string} given by the desk @param {string} [at] when it saved that */
  constructor(key, given, at = "") {
    this.key = key;
    this.name = PREFIX + key;
    this.given = given;
    this.known = Date.parse(at) || 0;
    this.since = at; // of the desk's draft it goes on from
    this.sent = ""; // last, to the desk
    this.closed = false;
    /** @type {Promise<{at: string}> | null} */
    this.underWay = null;
    this.pause = new Pause(SAVE_AFTER, () => this.save());
  }

  // What this browser has and the desk has not. A slow desk saves what it was sent after more was typed.
  get newer() {
    const { here, given } = this;
    return here && (here.at > this.known || (here.sent === given && here.text !== given)) ? here : null;
  }

  get here() {
    return JSON.parse(localStorage.getItem(this.name) ?? "null");
  }

  /** @returns {{text: string}} what is kept here @abstract */
  get record() {
    return { text: "" };
  }

  /** Save it at the desk. @returns {Promise<{at: string}>} @abstract */
  async send() {
    return { at: "" };
  }

  /** Say where it is kept: a code of words. @param {string} _code @abstract */
  show(_code) {}

  keepHere(at = Date.now()) {
    keep(this.name, { ...this.record, at, sent: this.sent, since: this.since });
  }

  changed() {
    this.keepHere();
    this.pause.soon();
    this.show("");
  }

  // Of two at once the older one might be the last to arrive.
  save = oneAtATime(async () => {
    if (this.closed) return;
    this.pause.stop();
    const text = this.sent = this.record.text;
    try {
      this.underWay = this.send();
      this.since = (await this.underWay).at;
      if (this.closed || text !== this.record.text) return;
      this.keepHere(Date.parse(this.since));
      this.show("saved");
    } catch (error) {
      if (this.closed) return;
      this.show("unsaved");
      if (!(error instanceof Refused)) this.pause.soon(AGAIN_AFTER);
    }
  });

  // What is sent to the desk after this arrives last.
  async settle() {
    this.pause.stop();
    await this.underWay?.catch(() => {});
  }

  stop() {
    this.pause.stop();
    this.closed = true;
  }

  forget() {
    this.stop();
    localStorage.removeItem(this.name);
  }
}

/** The draft of an answer. */
export class AnswerStore extends DraftStore {
  /** @param {InitialState} facts @param {string} path of the exchange at the desk */
  constructor(facts, path) {
    super(facts.action === "pass" ? facts.draft : `${facts.draft} answer`, facts.document, facts.at);
    this.path = path;
    this.page = String(Math.random()); // who writes
    this.draft = this.open(facts);
  }

  // What the desk has, or what this browser has and the desk has not; and how the form reads it.
  /** @param {InitialState} facts */
  open(facts) {
    const { here: kept, newer } = this;
    const text = newer ? String(kept.text) : facts.document;
    const { fields, fault, view } = kept?.text === text ? kept : {};
    const draft = new MessageDocument(facts, text, fields ? new UnreadFields(fields.base, fields.unread) : null, fault ?? null);
    draft.view = view ?? null;
    if (newer) this.pause.soon();
    if (newer && kept.sent !== facts.document) this.since = kept.since;
    return draft;
  }

  get record() {
    const { text, fields, fault, view } = this.draft;
    return { text, fields, fault, view };
  }

  send() {
    const { draft: { text, touched, replaced, facts }, page, since } = this;
    const aside = replaced?.text ?? "";
    return call(`${this.path}/draft`, { text, form: "message", touched, aside, action: facts.action, page, since });
  }

  /** @param {string} code */
  show(code) {
    byId("saved-at").textContent = code && say(code);
  }
}

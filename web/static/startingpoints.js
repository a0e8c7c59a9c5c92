// Other texts to go on from: the template, the last answer, a saved one, one with a fault.

import { flagged, isOneText, messageOf, TEXT_PATH } from "./document.js";
import { askFault } from "./asking.js";
import { all, byId, maybe } from "./dom.js";
import { put } from "./jsontext.js";
import { call } from "./talk.js";
import { tell, tellFailed, visible } from "./words.js";

export class StartingPoints {
  /** @param {Composer} composer */
  constructor(composer) {
    this.composer = composer;
    const { facts, box } = composer;
    all("[data-saved]", box).forEach((one, at) => one.addEventListener("click", () => this.insert(facts.saved[at])));
    all("[data-start]", box).forEach((one, at) => one.addEventListener("click", () => this.startWith(facts.starts[at])));
    this.offerTemplates();
  }

  offerTemplates() {
    const { facts } = this.composer;
    const select = byId("starts", HTMLSelectElement);
    select.addEventListener("change", () => {
      const text = facts.templates[select.value];
      select.value = "";
      if (text) this.composer.toolbar.fromMenu(() => this.goOnFrom(text));
    });
  }

  /** @param {string} text */
  goOnFrom(text) {
    this.composer.draft.replace(text);
    this.composer.views.showAgain();
  }

  toTemplate() {
    const { draft, views, facts } = this.composer;
    draft.replace(facts.template, false);
    views.show(views.best, { focus: true });
  }

  async reuse() {
    const { document: text } = await call(`${this.composer.path}/last`).catch(() => ({}));
    if (!text) {
      tell("nolast");
      return;
    }
    this.goOnFrom(text);
    tell("reused");
  }

  /** @param {SavedShape} saved */
  insert(saved) {
    const { draft, facts } = this.composer;
    if (draft.locked) return;
    if (saved.form === "text" || saved.form === "tool error") {
      const base = isOneText(draft.text) ? draft.text : facts.template;
      this.goOnFrom(flagged(facts, put(base, TEXT_PATH, JSON.stringify(saved.text)), saved.form === "tool error"));
    } else {
      this.goOnFrom(messageOf(facts, saved.form, saved.text));
    }
    tell("inserted", { name: visible(saved.name) });
  }

  /** @param {StartShape} start */
  startWith(start) {
    const { draft, views } = this.composer;
    if (draft.locked) return;
    views.form.become(start.form);
    draft.replace(start.document);
    views.show("form", { focus: true });
  }

  async addFault() {
    const { draft, views, path, sender } = this.composer;
    if (draft.locked || sender.sending || !maybe("add-fault")) return;
    const name = await askFault();
    if (!name) return;
    // One fault at a time: into what was there, not into another fault.
    const before = draft.fault?.before ?? draft.text;
    sender.setSending(true); // Ctrl+Enter must not send the answer before the fault is in it
    try {
      const { document: text } = await call(`${path}/fault`, { fault: name, text: before, form: "message" });
      draft.setFault(text, { name, before });
    } catch (error) {
      tellFailed(error);
      return;
    } finally {
      sender.setSending(false);
    }
    views.show("json", { focus: true });
  }

  putBack() {
    this.composer.draft.putBack();
    this.composer.views.showAgain();
  }

  removeFault() {
    const { draft, views, path } = this.composer;
    if (draft.fault) draft.setFault(draft.fault.before, null);
    call(`${path}/fault`, { fault: null, text: "" }).catch(tellFailed); // what the server was asked for HTTP
    views.show(views.best, { focus: true });
  }

  // The desk keeps it, from the draft.
  async keepAnswer() {
    const { draft, drafts } = this.composer;
    draft.touched = true;
    await drafts.save();
    location.assign(byId("keep-answer", HTMLAnchorElement).href);
  }
}

// The box a person writes in. What happens elsewhere may only lock it and say why.

import { Checker } from "./checker.js";
import { Diagnostics } from "./diagnostics.js";
import { byId, first, isTyped, maybe } from "./dom.js";
import { AnswerStore } from "./draftstore.js";
import { isComposing } from "./keys.js";
import { Sender } from "./sender.js";
import { StartingPoints, Toolbar } from "./toolbar.js";
import { Views } from "./views.js";

/** @param {OnSent} onSent @returns {Composer | null} null where nothing can be answered */
export function openComposer(onSent) {
  const [block, box] = [maybe("initial-state"), maybe("composer")];
  if (!block || !box) return null;
  const composer = new Composer(JSON.parse(block.textContent ?? ""), box, onSent);
  document.body.classList.add("scripted");
  box.hidden = false;
  // The plain form is shown while the scripts are long on their way.
  const [plain, form] = [first("#act textarea", document, HTMLTextAreaElement), first("#act select", document, HTMLSelectElement)];
  if (plain && isTyped(plain)) composer.starting.insert({ name: plain.value.slice(0, 40), form: /** @type {TextForm} */ (form?.value ?? "message"), text: plain.value });
  return composer;
}

export class Composer {
  /** @param {InitialState} facts @param {HTMLElement} box @param {OnSent} onSent */
  constructor(facts, box, onSent) {
    this.facts = facts;
    this.box = box;
    this.onSent = onSent;
    this.closing = new AbortController();
    this.path = `/api/exchanges/${facts.session}/${facts.number}`;
    this.drafts = new AnswerStore(facts, this.path);
    this.draft = this.drafts.draft;
    this.checker = new Checker(this);
    this.diagnostics = new Diagnostics(this);
    this.sender = new Sender(this);
    this.views = new Views(this);
    this.starting = new StartingPoints(this);
    this.toolbar = new Toolbar(this);
    this.draft.listeners.push((from) => this.changed(from));
    box.addEventListener("ask draft", this.tellDraft);
    this.listen();
    this.views.show(this.views.best);
    this.showState();
    this.checker.check();
    if (facts.state !== "pending") this.lock(null);
  }

  /** @param {Origin} from */
  changed(from) {
    this.drafts.changed();
    this.views.refresh(from);
    this.showState();
    this.diagnostics.show();
    this.checker.pause.soon();
    this.tellDraft();
  }

  tellDraft = () => this.box.dispatchEvent(new CustomEvent("draft", { detail: this.draft.text }));

  begin() {
    if (maybe("options") && !this.draft.touched) byId("options").focus({ preventScroll: true });
    else if (this.box.checkVisibility()) this.views.focus();
  }

  showState() {
    const { replaced, fault, facts } = this.draft;
    byId("replaced").hidden = replaced === null || this.draft.locked;
    const added = facts.faults.find((one) => one.name === fault?.name);
    byId("added-fault").hidden = !added;
    byId("fault-name").textContent = added?.title ?? "";
    byId("fault-host").textContent = added?.host ?? "";
  }

  /** @param {string | null} why null when the page says it elsewhere */
  lock(why) {
    this.draft.locked = true;
    this.checker.stop(); // what is over cannot be sent, whatever is wrong with it
    this.box.classList.add("locked");
    this.sender.setSending(this.sender.sending);
    for (const name of ["anyway", "remove-fault", "replaced"]) byId(name).hidden = true;
    byId("copy").hidden = false;
    const line = byId("lock");
    line.hidden = !why;
    line.textContent = why ?? "";
    if (this.draft.touched) this.drafts.save();
  }

  close() {
    this.draft.locked = true;
    this.checker.stop();
    this.drafts.stop();
    this.closing.abort();
  }

  listen() {
    this.box.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.defaultPrevented || isComposing(event) || !(event.target instanceof HTMLElement)) return;
      if (event.target.closest("[popover]")) return; // it closes the menu
      if (event.target.shadowRoot) this.views.json.leave();
      else event.target.blur();
    });
    const around = this.box.closest("details");
    around?.addEventListener("toggle", () => { if (around.open) this.views.focus(); });
    for (const name of /** @type {const} */ (["drop", "paste"])) {
      this.box.addEventListener(name, (event) => this.views.takeFile(event), true);
    }
    // Focus alone scrolls no field free of the bar with Send.
    this.box.addEventListener("focusin", ({ target }) => {
      if (!(target instanceof HTMLElement)) return;
      if (target.matches("textarea, select, input:not([type=radio])")) target.scrollIntoView({ block: "nearest" });
    });
    window.addEventListener("pagehide", () => {
      const { record, sent } = this.drafts; // a saved one would hide a newer one
      if (record.text !== sent && this.draft.typed && !this.sender.sending) this.drafts.keepHere();
    }, { signal: this.closing.signal });
  }
}

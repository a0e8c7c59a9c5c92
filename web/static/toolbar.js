// Around the box: the kinds of an answer, the options of a question, other texts to go on from, small questions.

import { flagged, isOneText, messageOf, TEXT_PATH } from "./document.js";
import { all, byId, led, maybe, nextOf } from "./dom.js";
import { layOut, put } from "./jsontext.js";
import { call } from "./talk.js";
import { copy, say, tell, tellFailed, visible } from "./words.js";

export class Toolbar {
  /** @param {Composer} composer */
  constructor(composer) {
    this.composer = composer;
    this.radios = all("[name=kind]", composer.box, HTMLInputElement);
    for (const radio of this.radios) {
      // With the keys a person goes on through the kinds, with a pointer into the field.
      radio.addEventListener("change", () => {
        this.become(/** @type {AnswerKind} */ (radio.value), { focus: !radio.matches(":focus-visible") });
      });
    }
    all("#options button").forEach((one, at) => one.addEventListener("click", (event) => {
      event.preventDefault();
      composer.sender.send({ option: composer.facts.options[at] });
    }));
    this.listen();
  }

  listen() {
    const { draft, starting, sender, views } = this.composer;
    const acts = {
      seek: () => views.json.editor.seek?.(),
      reuse: () => starting.reuse(),
      template: () => starting.toTemplate(),
      tidy: () => draft.write(layOut(draft.text), "fix"),
      "keep-answer": () => starting.keepAnswer(),
      "add-fault": () => starting.addFault(),
      "remove-fault": () => starting.removeFault(),
      "put-back": () => starting.putBack(),
      "keep-open": () => sender.sendAndKeepOpen(),
      anyway: () => sender.sendAnyway(),
      copy: () => copy(this.written),
    };
    for (const [name, act] of Object.entries(acts)) {
      maybe(name)?.addEventListener("click", (event) => {
        event.preventDefault();
        this.fromMenu(act);
      });
    }
  }

  fillKind() {
    for (const radio of this.radios) radio.checked = radio.value === this.composer.draft.kind;
  }

  /** @param {AnswerKind} kind @param {{focus?: boolean}} [options] */
  become(kind, { focus = false } = {}) {
    const { draft, views } = this.composer;
    if (kind === draft.kind || draft.locked) return;
    draft.turnInto(kind);
    views.showAgain({ focus });
  }

  nextKind() {
    /** @type {AnswerKind[]} */
    const kinds = this.composer.facts.textual ? ["result", "tool error", "error"] : ["result", "error"];
    this.become(nextOf(kinds, this.composer.draft.kind));
  }

  /** @param {() => unknown} act */
  fromMenu(act) {
    byId("more").hidePopover();
    act();
  }

  // What a person wrote: words, or the whole message.
  get written() {
    const { draft, views } = this.composer;
    return views.current === "text" && draft.kind !== "error" ? views.text.sentence.value : draft.text;
  }
}

// -- Other texts to go on from: the template, the last answer, a saved one, one with a fault

export class StartingPoints {
  /** @param {Composer} composer */
  constructor(composer) {
    this.composer = composer;
    const { facts, box } = composer;
    all("[data-saved]", box).forEach((one, at) => one.addEventListener("click", () => this.insert(facts.saved[at])));
    all("[data-start]", box).forEach((one, at) => one.addEventListener("click", () => this.startWith(facts.starts[at], at)));
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
    if (text) this.goOnFrom(text);
    tell(text ? "reused" : "nolast");
  }

  /** @param {Pick<Saved, "name" | "form" | "text">} saved */
  insert(saved) {
    const { draft, facts } = this.composer;
    if (draft.locked) return;
    if (saved.form === "text" || saved.form === "tool error") {
      const base = isOneText(draft.text) ? draft.text : facts.template;
      this.goOnFrom(flagged(facts, put(base, TEXT_PATH, JSON.stringify(saved.text)), saved.form === "tool error"));
    } else {
      this.goOnFrom(saved.form === "message" ? saved.text : messageOf(facts, saved.form, saved.text));
    }
    tell("inserted", { name: visible(saved.name) });
  }

  /** @param {StartShape} start @param {number} at */
  startWith(start, at) {
    const { draft, views } = this.composer;
    if (draft.locked) return;
    views.form.become(start.pointer, `form-${at}`);
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
    const made = await call(`${path}/fault`, { fault: name, text: before, form: "message" }).catch(tellFailed);
    sender.setSending(false);
    if (!made) return;
    draft.setFault(made.document, { name, before });
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

// -- Small questions: send anyway, take it back, and which fault an answer shall have

// What was chosen; Esc means "".
/** @param {HTMLDialogElement} dialog */
function ask(dialog) {
  return new Promise((decide) => {
    dialog.returnValue = "";
    dialog.addEventListener("close", () => decide(dialog.returnValue), { once: true });
    dialog.showModal();
  });
}

export async function askAnyway() {
  return await ask(byId("anyway-dialog", HTMLDialogElement)) === "yes";
}

// Which fault to add to the answer; "" for none. The arrows go through the list, as in a menu.
async function askFault() {
  const dialog = maybe("fault-dialog", HTMLDialogElement);
  if (!dialog) return "";
  const buttons = all(".faults button", dialog);
  dialog.onkeydown = (event) => { led(event, buttons, { ArrowDown: 1, ArrowUp: -1 }); };
  return ask(dialog);
}

const UNDO_SECONDS = 3;

/** @returns {Promise<boolean>} whether it is to be sent */
export function undoWindow() {
  const [undo, line, fold] = [byId("undo"), byId("saved-at"), byId("undo").closest("details")];
  if (fold) fold.open = true;
  let left = UNDO_SECONDS + 1;
  return new Promise((decide) => {
    /** @param {boolean} sent */
    const end = (sent) => {
      clearInterval(ticking);
      undo.hidden = true;
      line.textContent = "";
      decide(sent);
    };
    const tick = () => {
      if (left -= 1) line.textContent = say("sending", { seconds: left });
      else end(true);
    };
    const ticking = setInterval(tick, 1000);
    tick();
    undo.hidden = false;
    undo.onclick = window.onpagehide = () => end(false);
    undo.focus();
  });
}

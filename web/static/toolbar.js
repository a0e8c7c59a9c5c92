// What stands around the box: the kinds of an answer, the options of a question, the menu.

import { all, byId, maybe, nextOf } from "./dom.js";
import { layOut } from "./jsontext.js";
import { copy } from "./words.js";

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
    this.options.forEach((one, at) => one.addEventListener("click", (event) => {
      event.preventDefault();
      composer.sender.send({ option: composer.facts.options[at] });
    }));
    this.listen();
  }

  listen() {
    const { draft, starting, sender } = this.composer;
    const acts = {
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

  // The options of a question to a person: one press, one answer.
  get options() {
    return all("#options button", document, HTMLButtonElement);
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

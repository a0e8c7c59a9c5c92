// What stands around the box: the kinds of an answer, the options of a question, the menu.

import { all, byId, first, maybe, nextOf } from "./dom.js";
import { layOut } from "./jsontext.js";
import { copy } from "./words.js";

export class Toolbar {
  /** @param {Composer} composer */
  constructor(composer) {
    this.composer = composer;
    this.radios = all("[name=kind]", composer.box, HTMLInputElement);
    for (const radio of this.radios) {
      radio.addEventListener("change", () => this.become(/** @type {Kind} */ (radio.value)));
    }
    this.options.forEach((one, at) => one.addEventListener("click", (event) => {
      event.preventDefault();
      this.choose(at + 1);
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
      break: () => starting.breakIt(),
      mend: () => starting.mend(),
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
    byId("more").addEventListener("toggle", () => this.placeMenu());
  }

  fillKind() {
    for (const radio of this.radios) radio.checked = radio.value === this.composer.draft.kind;
  }

  /** @param {Kind} kind */
  become(kind) {
    const { draft, views } = this.composer;
    if (kind === draft.kind || draft.locked) return;
    draft.turnInto(kind);
    views.showAgain({ focus: false });
  }

  nextKind() {
    /** @type {Kind[]} */
    const kinds = this.composer.facts.textual ? ["result", "tool error", "error"] : ["result", "error"];
    this.become(nextOf(kinds, this.composer.draft.kind));
  }

  // The options of a question to a person: one press, one answer.
  get options() {
    return all("#options button", document, HTMLButtonElement);
  }

  /** @param {number} number */
  choose(number) {
    const option = this.composer.facts.options[number - 1];
    if (option !== undefined) this.composer.sender.send({ option });
  }

  // The menu opens upwards, unless there is more room below.
  placeMenu() {
    const more = byId("more");
    const [at, bar] = [first("summary", more)?.getBoundingClientRect(), first(".bar")];
    const panel = first(".panel", more);
    if (!at || !bar || !panel) return;
    const [above, below] = [at.top - bar.offsetHeight - 12, innerHeight - at.bottom - 12];
    more.classList.toggle("down", above < panel.scrollHeight && below > above);
    panel.style.maxHeight = `${Math.max(above, below)}px`;
  }

  /** @param {() => unknown} act */
  fromMenu(act) {
    byId("more", HTMLDetailsElement).open = false;
    act();
  }

  // What a person wrote: words, or the whole message.
  get written() {
    const { draft, views } = this.composer;
    return views.current === "text" && draft.kind !== "error" ? views.text.sentence.value : draft.text;
  }
}

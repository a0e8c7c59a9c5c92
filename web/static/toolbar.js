// What stands around the box: the kinds of an answer, the options of a question, the menu.

import { all, byId, first, maybe } from "./dom.js";
import { layOut } from "./jsontext.js";
import { say, tell } from "./words.js";

export class Toolbar {
  /** @param {Composer} composer */
  constructor(composer) {
    this.composer = composer;
    const { box, facts } = composer;
    this.radios = all(box, "[name=kind]", HTMLInputElement);
    for (const radio of this.radios) {
      radio.addEventListener("change", () => this.become(/** @type {Kind} */ (radio.value)));
    }
    for (const label of all(box, "[data-tools-only]")) label.hidden = !facts.textual;
    this.options.forEach((one, at) => one.addEventListener("click", (event) => {
      event.preventDefault();
      this.choose(at + 1);
    }));
    this.listen();
  }

  listen() {
    const { draft, starting, sender, views } = this.composer;
    const menu = {
      reuse: () => starting.reuse(),
      template: () => starting.toTemplate(),
      tidy: () => draft.write(layOut(draft.text), "fix"),
      "keep-answer": () => starting.keepAnswer(),
      break: () => starting.breakIt(),
    };
    for (const [name, act] of Object.entries(menu)) {
      maybe(name)?.addEventListener("click", (event) => {
        event.preventDefault();
        this.fromMenu(act);
      });
    }
    maybe("keep-open")?.addEventListener("click", () => sender.sendAndKeepOpen());
    byId("copy").addEventListener("click", () => this.copy());
    byId("put-back").addEventListener("click", () => {
      draft.putBack();
      views.showAgain();
    });
    byId("mend").addEventListener("click", () => starting.mend());
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
    this.become(kinds[(kinds.indexOf(this.composer.draft.kind) + 1) % kinds.length]);
  }

  // The options of a question to a person: one press, one answer.
  get options() {
    return all(document, "#options button", HTMLButtonElement);
  }

  /** @param {number} number */
  choose(number) {
    const option = this.composer.facts.options[number - 1];
    if (option !== undefined) this.composer.sender.send({ option });
  }

  // The menu opens upwards, unless there is more room below; never under the bar at the top.
  placeMenu() {
    const more = byId("more");
    const [at, bar] = [first(more, "summary")?.getBoundingClientRect(), first(document, ".bar")];
    const panel = first(more, ".panel");
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

  async copy() {
    const { draft, views } = this.composer;
    const plain = views.current === "text" && draft.kind !== "error";
    const field = plain ? views.text.sentence : views.json.area;
    const text = plain ? field.value : draft.text;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      field.hidden = false;
      field.select();
      document.execCommand("copy");
    }
    tell(say("copied"));
  }
}

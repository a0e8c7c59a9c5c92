// The three views of the document and their tabs. Text is one text, or the code and message of an error.

import { isOneText, TEXT_PATH } from "./document.js";
import { all, byId, fillField, led, nextOf } from "./dom.js";
import { FormView } from "./formview.js";
import { parse, put, textAt } from "./jsontext.js";
import { JsonView } from "./editor.js";
import { say } from "./words.js";

/** @type {ViewName[]} */
const NAMES = ["text", "form", "json"];

export class Views {
  /** @param {Composer} composer */
  constructor(composer) {
    const { draft, box } = composer;
    this.composer = composer;
    this.text = new TextView(draft, () => { composer.diagnostics.refusedEmpty = false; });
    this.form = new FormView(byId("form-fields"), draft);
    this.json = new JsonView(draft);
    /** @type {ViewName} */
    this.current = "json";
    this.tabs = all("[role=tab]", box, HTMLButtonElement);
    this.remembered = `humanmcp:view:${draft.facts.method} ${draft.facts.tool}`;
    for (const tab of this.tabs) {
      tab.addEventListener("click", () => this.choose(viewOf(tab)));
      tab.addEventListener("keydown", (event) => this.moveTab(event));
    }
  }

  /** @param {Origin} from */
  refresh(from) {
    if (from !== "json") this.json.fill();
    if (from !== "text") this.text.fill();
    if (from !== "form" && this.current === "form") this.form.fill();
    this.offer();
  }

  // A draft opens where it was written. One from elsewhere opens as JSON, unless Text shows all of it.
  get best() {
    const { draft, facts: { textual, mirror } } = this.composer;
    const usable = NAMES.filter((name) => this[name].usable);
    if (draft.touched) {
      const written = usable.find((name) => name === draft.view);
      if (written) return written;
      if (textual && !draft.isPlain) return "json";
    }
    const loud = !document.body.classList.contains("quiet");
    const wanted = usable.find((name) => loud && name === localStorage.getItem(this.remembered));
    if (textual && mirror) return wanted ?? "form";
    if (wanted && !(wanted === "json" && textual)) return wanted;
    return usable.find((name) => loud && name === this.composer.box.dataset.view) ?? usable[0];
  }

  /** @param {ViewName} name @param {{focus?: boolean}} [options] */
  show(name, { focus = false } = {}) {
    this.current = this.composer.draft.view = name;
    for (const tab of this.tabs) {
      const selected = viewOf(tab) === name;
      tab.setAttribute("aria-selected", String(selected));
      tab.tabIndex = selected ? 0 : -1;
      byId(`view-${viewOf(tab)}`).hidden = !selected;
    }
    this[name].fill();
    this.text.fill();
    this.offer();
    this.composer.diagnostics.show();
    if (this.composer.draft.fields) this.composer.checker.check(); // the form reads it otherwise
    if (focus) this.focus();
  }

  // The view that is open, where it can show another text.
  showAgain({ focus = true } = {}) {
    const name = this[this.current].usable ? this.current : this.text.usable ? "text" : "json";
    this.show(name, { focus });
  }

  // A picture or a sound that is dropped or pasted is one more item of the answer.
  /** @param {DragEvent | ClipboardEvent} event */
  takeFile(event) {
    const { draft } = this.composer;
    const file = ("dataTransfer" in event ? event.dataTransfer : event.clipboardData)?.files[0];
    if (!file?.type.match("^(image|audio)/") || !draft.facts.textual || draft.facts.mirror || draft.locked || !this.form.usable) return;
    event.preventDefault();
    const path = ["result", "content"];
    this.form.putFile(draft.unwritten ? [...path, 0] : path, file);
    this.show("form");
  }

  offer() {
    for (const tab of this.tabs) {
      tab.disabled = !this[viewOf(tab)].usable;
      tab.title = tab.disabled ? say(viewOf(tab) === "form" ? "noform" : "noone") : "";
    }
    this.composer.toolbar.fillKind();
  }

  /** @param {ViewName} name */
  choose(name) {
    localStorage.setItem(this.remembered, name);
    this.show(name, { focus: true });
  }

  next() {
    const names = NAMES.filter((name) => this[name].usable);
    this.choose(nextOf(names, this.current));
  }

  get marks() {
    return this.current === "json" ? null : this[this.current].marks;
  }

  focus() {
    const around = this.composer.box.closest("details");
    if (around) around.open = true;
    this[this.current].focus();
  }

  /** @param {Problem} problem */
  showPlace(problem) {
    this.show("json");
    this.json.select(problem);
  }

  /** @param {KeyboardEvent} event */
  moveTab(event) {
    const next = led(event, this.tabs.filter((one) => !one.disabled), { ArrowRight: 1, ArrowLeft: -1 });
    if (next) this.show(viewOf(next));
  }
}

/** @param {HTMLElement} tab */
function viewOf(tab) {
  return /** @type {ViewName} */ (tab.dataset.view);
}

// -- The view of an answer that is one text, and of an error

class TextView {
  /** @param {MessageDocument} draft @param {() => void} onTyped */
  constructor(draft, onTyped) {
    this.draft = draft;
    this.error = new FormView(byId("error-fields"), draft, "text");
    this.error.become("/error", "form-error");
    this.sentence = byId("sentence", HTMLTextAreaElement);
    this.sentence.addEventListener("input", () => {
      onTyped();
      draft.write(put(draft.text, TEXT_PATH, JSON.stringify(this.sentence.value)), "text");
    });
  }

  get usable() {
    return this.draft.kind === "error" || this.draft.facts.textual;
  }

  focus() {
    (this.draft.kind === "error" ? this.marks.at("/error/message") : this.sentence)?.focus();
  }

  get marks() {
    return this.error.marks;
  }

  fill() {
    const { text, kind } = this.draft;
    const invalid = parse(text) === null;
    const error = kind === "error";
    const plain = error ? textAt(text, ["error"]) !== null : isOneText(text);
    const instead = byId("text-instead");
    instead.hidden = !invalid && plain;
    instead.textContent = invalid ? say("tojson") : say("notext");
    this.sentence.hidden = error || !plain || invalid;
    byId("error-fields").hidden = !error || invalid;
    if (error) {
      this.error.draw();
    } else if (plain) {
      const sentence = this.draft.sentence ?? "";
      fillField(this.sentence, this.draft.facts.placeholders.includes(sentence) ? "" : sentence);
    }
  }
}

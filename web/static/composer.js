// The box a person writes in. It is an island: nothing that happens elsewhere writes into it; what
// happens elsewhere may only lock it and say why.
//
// There is one document, the text of the whole message. Text, form and JSON are three views of it,
// and each changes only the place it shows. So switching views loses nothing.

import { chosen, keep } from "./choices.js";
import { openEditor } from "./editor.js";
import { FormView } from "./formview.js";
import { drop, find, layOut, parse, put, stringAt, textAt } from "./jsontext.js";
import { isComposing } from "./keys.js";
import { askAnyway, askFault, askName, askRule } from "./asking.js";
import { Breaking } from "./breaking.js";
import { ProblemList } from "./problemlist.js";
import { call, Refused } from "./talk.js";
import { say, tell, visible } from "./words.js";

const SAVE_AFTER = 500;
const CHECK_AFTER = 180;
const UNDO_SECONDS = 3;
const TEXT_PATH = ["result", "content", 0, "text"];

const byId = (name) => document.getElementById(name);

export function openComposer(onSent) {
  const block = byId("island");
  const box = byId("composer");
  if (!block || !box) return null;
  const composer = new Composer(JSON.parse(block.textContent), box, onSent);
  document.body.classList.add("scripted");
  box.hidden = false;
  return composer;
}

class Composer {
  constructor(facts, box, onSent) {
    this.facts = facts;
    this.box = box;
    this.onSent = onSent;
    this.path = `/api/exchanges/${facts.session}/${facts.number}`;
    this.kept = new LocalDraft(facts);
    this.breaking = new Breaking(facts);
    this.who = whoAmI();
    this.text = this.kept.newer() ?? facts.document;
    this.touched = facts.touched || this.text !== facts.document;
    this.hold = facts.hold;
    this.kind = kindOf(this.text) ?? "result";
    this.aside = {}; // what was written for the other kind of answer
    this.verdict = null;
    this.asked = 0;
    this.sending = false;
    this.locked = false;
    this.typed = false; // in this page: a draft may be older
    this.problems = new ProblemList({
      fix: (problem) => this.fix(problem),
      fixAll: () => this.fixAll(),
      show: (problem) => this.showPlace(problem),
    });
    this.form = new FormView(byId("form-fields"), facts, (text) => this.wrote(text, "form"));
    this.editor = openEditor(byId("editor"), byId("document"), (text) => this.wrote(text, "json"), (place) => {
      byId("position").textContent = say("position", place);
    });
    this.listen();
    this.show(this.bestView());
    this.check();
    if (facts.state !== "pending") this.lock(null);
  }

  // -- what is written ------------------------------------------------------------------------

  wrote(text, from) {
    if (this.locked || text === this.text) return;
    this.text = text;
    this.touched = this.typed = true;
    this.kept.write(text);
    if (from === "") this.breaking.end(); // another answer altogether
    if (from !== "json") this.editor.set(text);
    if (from !== "text") this.fillText();
    if (from !== "form" && this.view === "form") this.form.fill(text);
    this.fillKind();
    this.later("checking", CHECK_AFTER, () => this.check());
    this.later("saving", SAVE_AFTER, () => this.save());
    byId("saved-at").textContent = "";
  }

  set(text, from = "") {
    this.wrote(text, from);
    if (this.view === "form") this.form.fill(text);
  }

  later(name, after, act) {
    clearTimeout(this[name]);
    this[name] = setTimeout(act, after);
  }

  get isText() {
    return this.facts.textual;
  }

  // -- views ----------------------------------------------------------------------------------

  bestView() {
    const wanted = localStorage.getItem(`humanmcp:view:${this.facts.method}`);
    const usable = ["text", "form", "json"].filter((view) => this.usable(view));
    if (this.isText && this.facts.mirror) return usable.includes(wanted) ? wanted : "form";
    if (usable.includes(wanted) && !(wanted === "json" && this.isText)) return wanted;
    return usable[0];
  }

  usable(view) {
    if (view === "json") return true;
    if (this.kind === "error") return view === "text";
    return view === "text" ? this.isText : this.facts.form !== null;
  }

  show(view, { focus = false } = {}) {
    this.view = view;
    for (const tab of this.box.querySelectorAll("[role=tab]")) {
      const selected = tab.dataset.view === view;
      tab.setAttribute("aria-selected", String(selected));
      tab.tabIndex = selected ? 0 : -1;
      tab.disabled = !this.usable(tab.dataset.view);
      byId(`view-${tab.dataset.view}`).hidden = !selected;
    }
    if (view === "json") this.editor.set(this.text);
    if (view === "form") this.form.fill(this.text);
    this.fillText();
    this.fillKind();
    this.showProblems();
    if (focus) this.focus();
  }

  chooseView(view) {
    localStorage.setItem(`humanmcp:view:${this.facts.method}`, view);
    this.show(view, { focus: true });
  }

  nextView() {
    const views = ["text", "form", "json"].filter((view) => this.usable(view));
    this.chooseView(views[(views.indexOf(this.view) + 1) % views.length]);
  }

  // Where one of a few answers is chosen, a key is enough: nothing stands in a field yet.
  begin() {
    if (this.options.length && !this.touched) byId("options").focus();
    else this.focus();
  }

  focus() {
    const around = this.box.closest("details");
    if (around) around.open = true;
    if (this.view === "json") this.editor.focus();
    else if (this.view === "form") this.form.focus();
    else if (this.kind === "error") byId("error-message").focus();
    else byId("sentence").focus();
  }

  fillText() {
    const error = this.kind === "error";
    const broken = parse(this.text) === null;
    const plain = error ? textAt(this.text, ["error"]) !== null : this.onlyText();
    const instead = byId("text-instead");
    instead.hidden = !broken && plain;
    instead.textContent = broken ? say("tojson") : say("notext");
    byId("sentence").hidden = error || !plain || broken;
    byId("error-fields").hidden = !error || broken;
    if (error) {
      fillField(byId("error-code"), textAt(this.text, ["error", "code"]) ?? "");
      fillField(byId("error-message"), stringAt(this.text, ["error", "message"]) ?? "");
    } else if (plain) {
      const text = stringAt(this.text, TEXT_PATH) ?? "";
      fillField(byId("sentence"), this.facts.placeholders.includes(text) ? "" : text);
    }
  }

  // Whether the answer is one text for the model, which is what the text view can show.
  onlyText() {
    const content = find(parse(this.text), ["result", "content"]);
    return content?.type === "array" && content.items.length === 1 && stringAt(this.text, TEXT_PATH) !== null;
  }

  // -- kinds ----------------------------------------------------------------------------------

  fillKind() {
    const found = kindOf(this.text);
    if (found) this.kind = found;
    for (const radio of this.box.querySelectorAll("[name=kind]")) radio.checked = radio.value === this.kind;
    const textual = byId("tab-text");
    textual.disabled = !this.usable("text");
  }

  become(kind) {
    if (kind === this.kind || this.locked) return;
    if ((kind === "error") !== (this.kind === "error")) {
      this.aside[this.kind === "error" ? "error" : "result"] = this.text;
      const other = this.aside[kind === "error" ? "error" : "result"];
      this.set(other ?? (kind === "error" ? this.errorText() : this.facts.template));
    }
    if (kind !== "error") {
      const flagged = textAt(this.text, ["result", "isError"]);
      if (kind === "tool error") this.set(put(this.text, ["result", "isError"], "true"));
      else if (flagged === "true") {
        const had = textAt(this.facts.template, ["result", "isError"]) !== null;
        this.set(had ? put(this.text, ["result", "isError"], "false") : drop(this.text, ["result", "isError"]));
      }
    }
    this.kind = kind;
    this.show(this.usable(this.view) ? this.view : this.usable("text") ? "text" : "json");
  }

  nextKind() {
    const kinds = this.isText ? ["result", "tool error", "error"] : ["result", "error"];
    this.become(kinds[(kinds.indexOf(this.kind) + 1) % kinds.length]);
  }

  errorText() {
    return `{\n  "jsonrpc": "2.0",\n  "id": ${this.facts.id},\n  "error": {\n    "code": -32602,\n    "message": ""\n  }\n}`;
  }

  // -- the check ------------------------------------------------------------------------------

  async check() {
    const asked = ++this.asked;
    const text = this.text;
    try {
      const verdict = await call(`${this.path}/check`, { text, form: "message" });
      if (asked !== this.asked || text !== this.text) return;
      this.verdict = verdict;
    } catch {
      return; // the stub checks again; the chip in the bar says that the desk is away
    }
    this.showProblems();
    this.showWire();
  }

  get nothingYet() {
    if (this.breaking.fault || !this.isText || this.kind === "error" || !this.onlyText() || this.facts.mirror) return false;
    const text = stringAt(this.text, TEXT_PATH) ?? "";
    return text.trim() === "" || this.facts.placeholders.includes(text);
  }

  showProblems() {
    const verdict = this.verdict;
    const found = byId("found");
    byId("anyway").hidden = true;
    if (!verdict) return;
    // An untouched answer is not wrong, it is not written yet.
    const quiet = this.nothingYet || (!this.touched && !verdict.sendable);
    // That it is written over several lines is how it is shown here, not what the person did.
    const problems = quiet ? [] : verdict.problems.filter((one) => one.level !== "repaired");
    this.problems.show(problems, this.text);
    this.editor.mark(problems, this.text);
    const blocking = problems.filter((one) => one.blocks).length;
    found.className = `found ${blocking ? "bad" : problems.length || quiet ? "" : "good"}`;
    if (quiet) found.textContent = this.refusedEmpty ? say("blocked") : "";
    else if (blocking) found.textContent = say("problems", { count: blocking });
    else if (problems.length) found.textContent = say("hints", { count: problems.length });
    else found.textContent = this.touched || !this.isText ? say("ok") : "";
    byId("anyway").hidden = this.locked || !blocking || !verdict.forcible;
  }

  showWire() {
    const line = this.verdict?.line;
    byId("wire").hidden = !line || this.nothingYet;
    if (line) {
      byId("wire-summary").textContent = say("wire", { bytes: this.verdict.bytes });
      byId("wire-line").textContent = visible(line.slice(0, 100_000));
    }
    const reads = this.kind === "error" ? null : stringAt(this.text, TEXT_PATH);
    byId("reads").hidden = !this.isText || this.view === "text" || reads === null || this.nothingYet || this.facts.placeholders.includes(reads);
    byId("reads-text").textContent = visible((reads ?? "").slice(0, 2000));
  }

  showPlace(problem) {
    this.show("json");
    this.editor.select(problem, this.text);
  }

  fix(problem) {
    this.set(this.problems.fixed(this.text, problem), "fix");
    this.focus();
  }

  async fixAll() {
    const text = this.text;
    try {
      const fixed = await call(`${this.path}/autofix`, { text, form: "message" });
      if (text !== this.text) return; // somebody went on writing
      this.set(fixed.text, "fix");
    } catch (error) {
      tell(say("failed", { why: error.message }), 10);
    }
    this.focus();
  }

  // -- keeping --------------------------------------------------------------------------------

  async save() {
    const text = this.text;
    try {
      const { at } = await call(`${this.path}/draft`, {
        text, form: "message", touched: this.touched, hold: this.hold, who: this.who,
      });
      if (text === this.text) {
        this.kept.saved(text, at);
        byId("saved-at").textContent = say("saved");
      }
    } catch {
      byId("saved-at").textContent = say("unsaved");
    }
  }

  saveNow() {
    clearTimeout(this.saving);
    return this.save();
  }

  // -- sending --------------------------------------------------------------------------------

  // Wrong first and right after, or the same answer twice: the line goes out, the request stays open.
  async sendAndKeepOpen() {
    const session = this.path.split("/")[3];
    try {
      await call(`/api/sessions/${session}/say`, { text: this.text, anyway: true });
      tell(say("kept open"));
    } catch (error) {
      tell(say("failed", { why: error.message }), 10);
    }
  }

  // `chosen` is an option of the question, sent instead of what is in the box; that stays a draft.
  async send({ now = false, anyway = false, chosen: option = null } = {}) {
    if (this.sending || this.locked) return;
    if (option === null && !anyway && !(await this.maySend())) return;
    if (this.sending) return;
    this.sending = true;
    this.setSending(true);
    clearTimeout(this.saving);
    if (chosen("undo") && !now && !(await this.undoWindow())) {
      this.sending = false;
      this.setSending(false);
      this.save();
      return;
    }
    try {
      if (option !== null && this.touched) await this.save();
      const body = option === null ? { text: this.text, form: "message", anyway } : { text: option, form: "text" };
      const outcome = await call(`${this.path}/reply`, body);
      this.kept.forget();
      this.breaking.end();
      this.onSent(outcome, this);
    } catch (error) {
      this.sending = false;
      this.setSending(false);
      this.notSent(error);
    }
  }

  async maySend() {
    if (this.nothingYet) {
      this.refusedEmpty = true;
      this.showProblems();
      this.focus();
      return false;
    }
    const text = this.text;
    clearTimeout(this.checking);
    if (!this.verdict || this.verdict.text !== text) await this.check();
    const blocked = this.verdict?.text === text && !this.verdict.sendable;
    if (blocked) {
      this.touched = true;
      this.showProblems();
      // Whoever broke it on purpose is asked once, and need not look for the other button.
      if (this.breaking.fault && this.verdict.forcible) this.sendAnyway();
      else byId("problems").querySelector("button, a")?.focus();
    }
    return !blocked;
  }

  // A draft is spoken of only where somebody has typed one.
  tooLate(by = "") {
    const code = by ? "taken" : "late";
    return say(this.touched ? code : `${code} untouched`, { by });
  }

  notSent(error) {
    if (!(error instanceof Refused) || !error.record) {
      tell(say("failed", { why: error.message }), 10);
    } else if (error.status === 409) {
      const { by, state } = error.record;
      this.lock(this.tooLate(state === "cancelled" ? "" : by));
    } else if (error.record.problems) {
      this.verdict = { ...this.verdict, text: this.text, sendable: false, forcible: true, problems: error.record.problems };
      this.touched = true;
      this.showProblems();
    } else {
      tell(say("failed", { why: error.message }), 10);
    }
  }

  setSending(on) {
    for (const button of [byId("send"), ...this.options]) button.disabled = on || this.locked;
    for (const field of this.box.querySelectorAll("textarea, input")) field.readOnly = on;
    this.editor.setReadOnly(on || this.locked);
  }

  // A few seconds in which Send can be taken back: nothing can be recalled once it is on the wire.
  undoWindow() {
    const [undo, button] = [byId("undo"), byId("send")];
    let left = UNDO_SECONDS;
    return new Promise((decide) => {
      const show = () => { byId("saved-at").textContent = say("sending", { seconds: left }); };
      const end = (sent) => {
        clearInterval(ticking);
        undo.hidden = true;
        undo.onclick = null;
        window.removeEventListener("pagehide", leave);
        byId("saved-at").textContent = "";
        button.focus();
        decide(sent);
      };
      const leave = () => end(false);
      const ticking = setInterval(() => {
        left -= 1;
        if (left <= 0) end(true);
        else show();
      }, 1000);
      undo.hidden = false;
      undo.onclick = () => end(false);
      window.addEventListener("pagehide", leave);
      undo.focus();
      show();
    });
  }

  async sendAnyway() {
    if (await askAnyway()) await this.send({ now: true, anyway: true });
  }

  // -- breaking it on purpose -----------------------------------------------------------------

  async breakIt() {
    if (this.locked || this.sending) return;
    const fault = await askFault();
    if (!fault) return;
    // One fault at a time: into what was there, not into another fault.
    const before = this.breaking.before ?? this.text;
    try {
      const { document: text } = await call(`${this.path}/break`, { fault, text: before, form: "message" });
      this.breaking.begin(fault, before);
      this.set(text, "break");
    } catch (error) {
      tell(say("failed", { why: error.message }), 10);
      return;
    }
    this.show("json", { focus: true });
  }

  mend() {
    this.set(this.breaking.before);
    this.show(this.bestView(), { focus: true });
  }

  // -- what happens elsewhere -----------------------------------------------------------------

  lock(why) {
    this.locked = true;
    this.box.classList.add("locked");
    for (const field of this.box.querySelectorAll("textarea, input")) field.readOnly = true;
    this.editor.setReadOnly(true);
    for (const button of [byId("send"), ...this.options]) button.disabled = true;
    byId("anyway").hidden = true;
    byId("mend").hidden = true;
    byId("copy").hidden = false;
    const line = byId("lock");
    line.hidden = !why;
    line.textContent = why ?? "";
    if (this.touched) this.save();
  }

  // -- help with writing ----------------------------------------------------------------------

  toTemplate() {
    this.set(this.facts.template);
    this.touched = false;
    this.show(this.bestView(), { focus: true });
  }

  async reuse() {
    const { document: text } = await call(`${this.path}/last`).catch(() => ({}));
    if (!text) {
      tell(say("nolast"));
      return;
    }
    this.set(text);
    this.show(this.usable(this.view) ? this.view : "json", { focus: true });
    tell(say("reused"));
  }

  // The options of a question to a person: one press, one answer.
  get options() {
    return [...document.querySelectorAll("#options button")];
  }

  choose(number) {
    const option = this.facts.options[number - 1];
    if (option !== undefined) this.send({ chosen: option });
  }

  // What a digit means: an option of the question, else a saved answer.
  digit(key) {
    if (this.facts.options.length) this.choose(key);
    else this.insertSaved(key);
  }

  insertSaved(key) {
    const saved = this.facts.saved[key - 1];
    if (!saved || this.locked) return;
    if (saved.form === "text" || saved.form === "tool error") {
      this.become(saved.form === "text" ? "result" : "tool error");
      const base = this.onlyText() ? this.text : this.facts.template;
      this.set(put(base, TEXT_PATH, JSON.stringify(saved.text)));
    } else {
      this.set(withBody(this.facts, saved.form, saved.text));
    }
    this.show(this.usable(this.view) ? this.view : "json", { focus: true });
    tell(say("inserted", { name: visible(saved.name) }));
  }

  // What is saved or made a rule of: the text alone where the answer is one text.
  body() {
    if (this.kind === "error") return { form: "error", text: textAt(this.text, ["error"]) ?? "{}" };
    if (this.isText && this.onlyText() && textAt(this.text, ["result", "structuredContent"]) === null) {
      return { form: this.kind === "tool error" ? "tool error" : "text", text: stringAt(this.text, TEXT_PATH) };
    }
    return { form: "result", text: textAt(this.text, ["result"]) ?? "{}" };
  }

  async keepAnswer() {
    const { form, text } = this.body();
    const name = await askName(text.slice(0, 40));
    if (!name) return;
    const saved = await call("/api/answers", { name, method: this.facts.method, tool: this.facts.tool, form, text });
    this.facts.saved = [...this.facts.saved, saved];
    tell(say("kept", { key: Math.min(this.facts.saved.length, 9) }));
  }

  makeRule() {
    return askRule(this.facts, this.body());
  }

  async copy() {
    const text = this.view === "text" && this.kind !== "error" ? byId("sentence").value : this.text;
    await copyText(text, this.view === "text" ? byId("sentence") : byId("document"));
    tell(say("copied"));
  }

  // -- the page's own events ------------------------------------------------------------------

  listen() {
    const on = (name, event, act) => byId(name).addEventListener(event, act);
    on("sentence", "input", () => this.writeText());
    on("error-code", "input", () => this.writeError());
    on("error-message", "input", () => this.writeError());
    on("send", "click", () => this.send());
    on("anyway", "click", () => this.sendAnyway());
    byId("keep-open")?.addEventListener("click", () => this.sendAndKeepOpen());
    on("copy", "click", () => this.copy());
    on("reuse", "click", () => this.fromMenu(() => this.reuse()));
    on("template", "click", () => this.fromMenu(() => this.toTemplate()));
    on("tidy", "click", () => this.fromMenu(() => this.set(layOut(this.text))));
    on("keep-answer", "click", () => this.fromMenu(() => this.keepAnswer()));
    on("make-rule", "click", () => this.fromMenu(() => this.makeRule()));
    byId("break")?.addEventListener("click", () => this.fromMenu(() => this.breakIt()));
    on("mend", "click", () => this.mend());
    on("more", "toggle", () => this.placeMenu());
    this.offerStarts();
    for (const button of this.box.querySelectorAll("[data-saved]")) {
      const at = this.facts.saved.findIndex((one) => String(one.number) === button.dataset.saved);
      button.addEventListener("click", () => this.insertSaved(at + 1));
    }
    for (const button of this.box.querySelectorAll("[data-start]")) {
      button.addEventListener("click", () => this.startWith(this.facts.starts[Number(button.dataset.start)]));
    }
    this.options.forEach((button, at) => button.addEventListener("click", (event) => {
      event.preventDefault();
      this.choose(at + 1);
    }));
    for (const tab of this.box.querySelectorAll("[role=tab]")) {
      tab.addEventListener("click", () => this.chooseView(tab.dataset.view));
      tab.addEventListener("keydown", (event) => this.moveTab(event));
    }
    for (const radio of this.box.querySelectorAll("[name=kind]")) {
      radio.addEventListener("change", () => this.become(radio.value));
    }
    for (const label of this.box.querySelectorAll("[data-tools-only]")) label.hidden = !this.isText;
    this.box.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || isComposing(event)) return;
      // From the JSON editor to the line below it: a Tab from there goes on, not back into it.
      if (event.target.shadowRoot) byId("position").parentElement.focus();
      else event.target.blur();
    });
    // A field that is on the screen but under the bar with Send is not scrolled free by the focus
    // alone; this minds the scroll padding, in which both bars are.
    this.box.addEventListener("focusin", ({ target }) => {
      if (target.matches("textarea, select, input:not([type=radio])")) target.scrollIntoView({ block: "nearest" });
    });
    window.addEventListener("pagehide", () => {
      if (this.touched && !this.sending) this.kept.write(this.text);
    });
  }

  // Begin anew in the model's place: with something to say, or with the call of a tool.
  startWith(start) {
    if (this.locked) return;
    this.facts.form = start.form;
    this.form.become(start.form);
    this.set(start.document);
    this.show("form", { focus: true });
  }

  // Other messages to start from: smaller and larger results, and the errors that servers send.
  offerStarts() {
    const select = byId("starts");
    for (const name of Object.keys(this.facts.templates)) {
      select.append(new Option(name.replaceAll("_", " "), name));
    }
    select.addEventListener("change", () => {
      const text = this.facts.templates[select.value];
      select.value = "";
      if (text) this.fromMenu(() => {
        this.set(text);
        this.show(this.usable(this.view) ? this.view : "json", { focus: true });
      });
    });
  }

  // The menu opens upwards, as a bar at the foot of the page wants it: never under the bar at the
  // top. Where the bar has scrolled up with its box, there is more room below.
  placeMenu() {
    const more = byId("more");
    const [at, top] = [more.querySelector("summary").getBoundingClientRect(), document.querySelector(".bar").offsetHeight];
    const [above, below] = [at.top - top - 12, innerHeight - at.bottom - 12];
    const panel = more.querySelector(".panel");
    more.classList.toggle("down", above < panel.scrollHeight && below > above);
    panel.style.maxHeight = `${Math.max(above, below)}px`;
  }

  fromMenu(act) {
    byId("more").open = false;
    act();
  }

  writeText() {
    this.refusedEmpty = false;
    this.wrote(put(this.text, TEXT_PATH, JSON.stringify(byId("sentence").value)), "text");
  }

  writeError() {
    const code = byId("error-code").value.trim();
    const number = /^-?\d+$/.test(code) ? code : JSON.stringify(code);
    let text = put(this.text, ["error", "code"], number);
    text = put(text, ["error", "message"], JSON.stringify(byId("error-message").value));
    this.wrote(text, "text");
  }

  moveTab(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const tabs = [...this.box.querySelectorAll("[role=tab]:not(:disabled)")];
    const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
    this.show(next.dataset.view);
    next.focus();
  }
}

// A draft also stays in this browser, for the time in which the desk is away.
class LocalDraft {
  constructor(facts) {
    this.name = `humanmcp:draft:${facts.session}/${facts.number}`;
    this.facts = facts;
  }

  newer() {
    const kept = localStorage.getItem(this.name);
    if (!kept) return null;
    const { text, at } = JSON.parse(kept);
    const known = Date.parse(this.facts.at || 0) || 0;
    return at > known ? text : null;
  }

  write(text) {
    keep(this.name, { text, at: Date.now() });
  }

  saved(text, at) {
    keep(this.name, { text, at: Date.parse(at) });
  }

  forget() {
    localStorage.removeItem(this.name);
  }
}

function kindOf(text) {
  const root = parse(text);
  if (find(root, ["error"])) return "error";
  if (!find(root, ["result"])) return null;
  return find(root, ["result", "isError"])?.type === "true" ? "tool error" : "result";
}

function withBody(facts, form, text) {
  return layOut(`{"jsonrpc":"2.0","id":${facts.id},"${form}":${text}}`);
}

// The field keeps its caret unless its text really is another.
function fillField(field, text) {
  if (field.value !== text && field !== document.activeElement) field.value = text;
  else if (field.value !== text && field.readOnly) field.value = text;
  else if (field.value !== text && document.activeElement === field && !field.dataset.typing) field.value = text;
}

function whoAmI() {
  const name = "humanmcp:who";
  const known = sessionStorage.getItem(name) ?? crypto.randomUUID();
  sessionStorage.setItem(name, known);
  return known;
}

async function copyText(text, field) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    field.hidden = false;
    field.select();
    document.execCommand("copy");
  }
}


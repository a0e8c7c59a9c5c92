// The JSON editor: CodeMirror 6 behind the few methods that web/static/editor.js asks of an editor.
//
// It lives in a shadow root: there CodeMirror adopts its style sheets, which the page's content
// security policy allows; in the page itself it would add style elements, which it forbids.

import { copyLineDown, copyLineUp, deleteLine, indentWithTab, moveLineDown, moveLineUp, standardKeymap } from "@codemirror/commands";
import { bracketMatching, indentOnInput, indentService } from "@codemirror/language";
import { Annotation, Compartment, EditorState, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, gutter, GutterMarker, highlightActiveLine, hoverTooltip, keymap, lineNumbers, MatchDecorator, ViewPlugin } from "@codemirror/view";
import { finding, seek } from "./find.js";

const fromOutside = Annotation.define();

// -- problems: a wavy line under the place, a sign beside the line ---------------------------------
// @codemirror/lint draws both with images in data: addresses, which the page's policy forbids.

const setMarks = StateEffect.define();

class Sign extends GutterMarker {
  constructor(severity, message) {
    super();
    this.severity = severity;
    this.message = message;
  }

  eq(other) {
    return other.severity === this.severity && other.message === this.message;
  }

  toDOM() {
    const sign = document.createElement("span");
    sign.className = `sign ${this.severity}`;
    sign.title = this.message;
    sign.textContent = this.severity === "info" ? "i" : "!";
    return sign;
  }
}

const marks = StateField.define({
  create: () => ({ under: Decoration.none, beside: RangeSet.empty }),
  update(value, transaction) {
    let { under, beside } = value;
    under = under.map(transaction.changes);
    beside = beside.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(setMarks)) ({ under, beside } = placed(effect.value, transaction.state.doc));
    }
    return { under, beside };
  },
  provide: (field) => EditorView.decorations.from(field, (value) => value.under),
});

function placed(list, doc) {
  const within = list.map((one) => {
    const from = Math.min(one.from, doc.length);
    // Of an object over many lines the first one is enough: all of it underlined hides what is in it.
    return { ...one, from, to: Math.min(Math.max(one.to, from), doc.lineAt(from).to) };
  });
  const under = within.filter((one) => one.to > one.from)
    .map((one) => Decoration.mark({ class: `wavy ${one.severity}`, message: one.message }).range(one.from, one.to));
  const lines = new Map();
  for (const one of within) {
    const line = doc.lineAt(one.from).from;
    if (!lines.has(line) || one.severity === "error") lines.set(line, new Sign(one.severity, one.message));
  }
  const beside = [...lines].map(([line, sign]) => sign.range(line));
  return { under: Decoration.set(under, true), beside: RangeSet.of(beside, true) };
}

// What is wrong with the place under the pointer, in words.
const sentences = hoverTooltip((view, at) => {
  const found = [];
  view.state.field(marks).under.between(at, at, (from, to, { spec }) => { found.push({ from, to, text: spec.message }); });
  if (!found.length) return null;
  const dom = document.createElement("div");
  dom.className = "sentences";
  dom.append(...found.map(({ text }) => Object.assign(document.createElement("p"), { textContent: text })));
  return { pos: found[0].from, end: found[0].to, above: true, create: () => ({ dom }) };
});

const signs = gutter({ class: "signs", markers: (view) => view.state.field(marks).beside });

// -- JSON: its words, and how far a line is indented -----------------------------------------------
// No value of JSON but an object or a list goes on in the next line, so that a line can be read by itself,
// also in a text that is no JSON yet. A parser weighs ten times as much.

const words = new MatchDecorator({
  regexp: /("(?:[^"\\]|\\.)*"?)(\s*:)?|([-+.\w]+)|[{}[\],:]+/g,
  decoration: ([, string, colon, value]) => Decoration.mark({ class: string ? (colon ? "name" : "string") : value ? "value" : "mark" }),
});

const colours = ViewPlugin.fromClass(class {
  constructor(view) {
    this.words = words.createDeco(view);
  }

  update(change) {
    this.words = words.updateDeco(change, this.words);
  }
}, { decorations: (plugin) => plugin.words });

const indents = [
  indentService.of((context, at) => {
    const { doc } = context.state;
    let { number } = doc.lineAt(at);
    let before = context.simulatedBreak === null ? "" : context.lineAt(at, -1).text;
    while (!before.trim() && number > 1) before = doc.line(number -= 1).text;
    const deeper = Number(/[{[]\s*$/.test(before)) - Number(/^\s*[}\]]/.test(context.textAfterPos(at)));
    return Math.max(0, context.countColumn(before.match(/^\s*/)[0]) + deeper * context.unit);
  }),
  EditorState.languageData.of(() => [{ indentOnInput: /^\s*[}\]]$/ }]),
];

// Every colour is one of the page's own, so both themes are right without a word here.
const look = EditorView.theme({
  ".name": { color: "var(--hue)" },
  ".value": { color: "var(--good)" },
  ".mark": { color: "var(--soft)" },
  "&": { fontSize: "0.9375rem", maxHeight: "60vh", color: "var(--ink)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", overflow: "auto" },
  ".cm-content": { padding: "0.75rem 0", minHeight: "9rem", caretColor: "var(--ink)" },
  ".cm-gutters": { background: "transparent", color: "var(--soft)", border: "none" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--ink) 4%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    background: "color-mix(in srgb, var(--hue) 25%, transparent)",
  },
  ".cm-matchingBracket": { outline: "1px solid var(--strong-line)", backgroundColor: "transparent" },
  ".wavy": { textDecoration: "underline wavy var(--strong-line)", textDecorationSkipInk: "none", textUnderlineOffset: "0.25em" },
  ".wavy.error": { textDecorationColor: "var(--bad)" },
  ".wavy.warning": { textDecorationColor: "var(--warn)" },
  ".cm-tooltip.sentences": {
    maxWidth: "34rem", padding: "0.5rem 0.75rem", font: "0.9375rem/1.45 var(--text)", color: "var(--ink)",
    background: "var(--surface)", border: "1px solid var(--strong-line)", borderRadius: "var(--round)",
  },
  ".sentences p": { margin: 0 },
  ".cm-tooltip.cm-tooltip-autocomplete": {
    color: "var(--ink)", background: "var(--surface)", border: "1px solid var(--strong-line)", borderRadius: "var(--round)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "12rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "0.125rem 0.75rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { color: "var(--surface)", background: "var(--hue)" },
  ".cm-completionDetail": { color: "inherit", fontStyle: "normal" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-tooltip.cm-completionInfo": {
    maxWidth: "24rem", padding: "0.5rem 0.75rem", font: "0.9375rem/1.45 var(--text)", color: "var(--ink)",
    background: "var(--surface)", border: "1px solid var(--strong-line)", borderRadius: "var(--round)",
  },
  ".signs": { width: "1.25rem" },
  ".sign": { display: "inline-block", width: "1.25rem", textAlign: "center", fontWeight: "700" },
  ".sign.error": { color: "var(--bad)" },
  ".sign.warning": { color: "var(--warn)" },
});

const lineKeys = [
  { key: "Alt-ArrowUp", run: moveLineUp, shift: copyLineUp },
  { key: "Alt-ArrowDown", run: moveLineDown, shift: copyLineDown },
  { key: "Shift-Mod-k", run: deleteLine },
];

// Over a selection Chromium types in the style of what it replaces, with a style attribute, which the
// page's policy forbids; so the text is put there without it.
const overSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    if (event.inputType !== "insertText" || !event.data || view.state.readOnly || view.state.selection.main.empty) return;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
  },
});

export class CodeEditor {
  constructor(place, { text, label, phrases, onChange, onMove, schema }) {
    this.writable = new Compartment();
    const offers = new Compartment();
    const root = place.attachShadow({ mode: "open" });
    const inside = document.createElement("div");
    root.append(inside);
    const told = EditorView.updateListener.of((update) => {
      if (update.docChanged) this.marked = "";
      if (update.docChanged && !update.transactions.some((one) => one.annotation(fromOutside))) {
        onChange(update.state.doc.toString());
      }
      if (update.selectionSet || update.docChanged) onMove(this.position(update.state));
    });
    const extensions = [
      marks, sentences, lineNumbers(), signs, drawSelection(), highlightActiveLine(), indents, indentOnInput(),
      bracketMatching(), colours, look, told, overSelection,
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
      // Keys that belong to the page: Ctrl+Enter sends, and Ctrl+Z undoes in every view what was
      // written in any of them. Esc, then Tab leaves the editor.
      finding,
      keymap.of([
        { key: "Mod-Enter", run: () => false },
        ...standardKeymap, ...lineKeys, indentWithTab,
      ]),
      this.writable.of([]),
      EditorState.phrases.of({ Completions: label, ...phrases }),
      offers.of([]),
    ];
    this.view = new EditorView({ doc: text, extensions, parent: inside, root });
    // What offers names and values is loaded when one begins to write here.
    this.view.contentDOM.addEventListener("focus", async () => {
      const { offering } = await import("./offering.js");
      this.view.dispatch({ effects: offers.reconfigure(offering(schema)) });
    }, { once: true });
  }

  position(state) {
    const head = state.selection.main.head;
    const line = state.doc.lineAt(head);
    return { line: line.number, column: [...line.text.slice(0, head - line.from)].length + 1 };
  }

  // Only the part that differs is replaced, so the caret stays.
  set(text) {
    const now = this.view.state.doc.toString();
    if (now === text) return;
    let from = 0;
    const most = Math.min(now.length, text.length);
    while (from < most && now[from] === text[from]) from += 1;
    let end = 0;
    while (end < most - from && now[now.length - 1 - end] === text[text.length - 1 - end]) end += 1;
    this.view.dispatch({
      changes: { from, to: now.length - end, insert: text.slice(from, text.length - end) },
      annotations: fromOutside.of(true),
    });
  }

  focus() {
    this.view.focus();
  }

  seek() {
    seek(this.view);
  }

  setReadOnly(on) {
    this.view.dispatch({ effects: this.writable.reconfigure(on ? EditorState.readOnly.of(true) : []) });
  }

  // The same marks again would take the place away that the pointer is on.
  mark(list) {
    const now = JSON.stringify(list);
    if (now === this.marked) return;
    this.marked = now;
    this.view.dispatch({ effects: setMarks.of(list) });
  }

  select({ from, to }) {
    this.view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
    this.view.focus();
  }
}

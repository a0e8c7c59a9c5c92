// The JSON editor: CodeMirror 6 behind the few methods that web/static/editor.js asks of an editor.
//
// It lives in a shadow root: there CodeMirror adopts its style sheets, which the page's content
// security policy allows; in the page itself it would add style elements, which it forbids.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { Annotation, Compartment, EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const fromOutside = Annotation.define();

// Every colour is one of the page's own, so both themes are right without a word here.
const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--hue)" },
  { tag: tags.string, color: "var(--ink)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--good)" },
  { tag: [tags.brace, tags.squareBracket, tags.separator], color: "var(--soft)" },
]);

const look = EditorView.theme({
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
  ".cm-tooltip": { background: "var(--surface)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "8px", padding: "0.25rem" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
});

export class CodeEditor {
  constructor(place, { text, label, onChange, onMove }) {
    this.writable = new Compartment();
    const root = place.shadowRoot ?? place.attachShadow({ mode: "open" });
    root.replaceChildren();
    const inside = document.createElement("div");
    root.append(inside);
    const told = EditorView.updateListener.of((update) => {
      if (update.docChanged && !update.transactions.some((one) => one.annotation(fromOutside))) {
        onChange(update.state.doc.toString());
      }
      if (update.selectionSet || update.docChanged) onMove(this.position(update.state));
    });
    const extensions = [
      lineNumbers(), lintGutter(), history(), drawSelection(), highlightActiveLine(), indentOnInput(),
      bracketMatching(), json(), syntaxHighlighting(colours), look, told,
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
      // Keys that belong to the page: Ctrl+Enter sends. Esc, then Tab leaves the editor.
      keymap.of([
        { key: "Mod-Enter", run: () => false },
        ...defaultKeymap.filter((one) => one.key !== "Mod-Enter"), ...historyKeymap, indentWithTab,
      ]),
      this.writable.of([]),
    ];
    this.view = new EditorView({ doc: text, extensions, parent: inside, root });
  }

  position(state) {
    const head = state.selection.main.head;
    const line = state.doc.lineAt(head);
    return { line: line.number, column: [...line.text.slice(0, head - line.from)].length + 1 };
  }

  hasFocus() {
    return this.view.hasFocus;
  }

  // Only the part that differs is replaced, so the caret and the undo history stay.
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

  setReadOnly(on) {
    this.view.dispatch({ effects: this.writable.reconfigure(on ? EditorState.readOnly.of(true) : []) });
  }

  mark(marks) {
    const length = this.view.state.doc.length;
    const within = marks
      .map((one) => ({ ...one, from: Math.min(one.from, length), to: Math.min(Math.max(one.to, one.from), length) }))
      .sort((one, other) => one.from - other.from);
    this.view.dispatch(setDiagnostics(this.view.state, within));
  }

  select({ from, to }) {
    this.view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
    this.view.focus();
  }
}

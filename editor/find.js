// Find a text in the editor: Ctrl+F, then Enter and Shift+Enter lead from place to place. It is here from
// the start: what is typed right after Ctrl+F must not go into the answer.

import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, keymap, ViewPlugin } from "@codemirror/view";

const MOST = 9999;
const setWanted = StateEffect.define();

const search = StateField.define({
  create: () => null,
  update(value, transaction) {
    const [effect] = transaction.effects.filter((one) => one.is(setWanted));
    const wanted = effect ? effect.value : value?.wanted ?? null;
    if (wanted === null) return null;
    return wanted === value?.wanted && !transaction.docChanged ? value : { wanted, places: placesOf(wanted, transaction.state.doc) };
  },
  provide: (field) => EditorView.decorations.compute([field, "selection"], (state) => {
    const places = state.field(field)?.places ?? [];
    return Decoration.set(places.map((one) => Decoration.mark({ class: isHere(one, state) ? "sought here" : "sought" }).range(one.from, one.to)));
  }),
});

const isHere = ({ from, to }, { selection: { main } }) => from === main.from && to === main.to;

function placesOf(wanted, doc) {
  const places = [];
  if (!wanted) return places;
  const pattern = new RegExp(wanted.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu");
  for (const { index, 0: found } of doc.toString().matchAll(pattern)) {
    places.push({ from: index, to: index + found.length });
    if (places.length === MOST) break;
  }
  return places;
}

export function seek(view) {
  const { state } = view;
  const chosen = state.sliceDoc(state.selection.main.from, state.selection.main.to);
  const wanted = chosen && !chosen.includes("\n") ? chosen : state.field(search)?.wanted ?? "";
  view.dispatch({ effects: setWanted.of(wanted) });
  const field = view.dom.querySelector(".finder input");
  field.value = wanted;
  field.select();
  return true;
}

// `by` 0: the place where one is, or the next one.
function step(view, by) {
  const { places } = view.state.field(search) ?? { places: [] };
  const { from, to } = view.state.selection.main;
  const next = by < 0 ? places.findLast((one) => one.to <= from) ?? places.at(-1)
    : places.find((one) => one.from >= (by ? to : from)) ?? places[0];
  const selection = next ? { anchor: next.from, head: next.to } : { anchor: from }; // what is not found is not selected
  view.dispatch({ selection, effects: EditorView.scrollIntoView(selection.anchor, { y: "center" }) });
  return true;
}

function end(view) {
  if (!view.state.field(search)) return false;
  view.dispatch({ effects: setWanted.of(null) });
  view.focus();
  return true;
}

const panel = ViewPlugin.define((view) => {
  const dom = document.createElement("div");
  const make = (tag, label, more) => {
    const one = dom.appendChild(Object.assign(document.createElement(tag), more));
    one.ariaLabel = one.title = view.state.phrase(label);
    return one;
  };
  dom.className = "finder";
  dom.role = "search";
  dom.hidden = true;
  const field = make("input", "find");
  const count = dom.appendChild(document.createElement("span"));
  count.role = "status";
  for (const [sign, label, act] of [["‹", "find.before", () => step(view, -1)], ["›", "find.after", () => step(view, 1)], ["×", "find.close", () => end(view)]]) {
    make("button", label, { type: "button", textContent: sign, onclick: act });
  }
  field.oninput = () => {
    view.dispatch({ effects: setWanted.of(field.value) });
    step(view, 0);
  };
  dom.onkeydown = (event) => {
    if (event.isComposing) return;
    const isEnter = event.key === "Enter" && event.target === field && !event.ctrlKey && !event.metaKey;
    if (isEnter) step(view, event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") end(view);
    else if (/^[zy]$/i.test(event.key)) return event.stopPropagation(); // it is the field's own
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  view.dom.prepend(dom);
  return {
    update({ state }) {
      const found = state.field(search);
      dom.hidden = !found;
      if (!found) return;
      const { places, wanted } = found;
      count.textContent = wanted ? `${places.findIndex((one) => isHere(one, state)) + 1} / ${places.length}${places.length === MOST ? "+" : ""}` : "";
    },
  };
});

const look = EditorView.theme({
  ".finder:not([hidden])": { display: "flex", borderBottom: "1px solid var(--line)", gap: "0.375rem", alignItems: "center", padding: "0.375rem", font: "0.875rem var(--text)" },
  ".finder input": { flex: "1", minWidth: 0 },
  ".finder :is(input, button)": {
    font: "inherit", color: "inherit", background: "var(--surface)", border: "1px solid var(--strong-line)",
    borderRadius: "8px", minHeight: "1.75rem", padding: "0 0.625rem",
  },
  ".finder :focus-visible": { outline: "2px solid var(--hue)" },
  ".finder span": { color: "var(--soft)", fontVariantNumeric: "tabular-nums", whiteSpace: "nowrap" },
  ".sought": { outline: "1px solid var(--warn)", background: "var(--warn-paper)" },
  ".sought.here": { outlineWidth: "2px", background: "color-mix(in srgb, var(--warn) 30%, transparent)" },
});

export const finding = [
  search, panel, look,
  keymap.of([
    { key: "Mod-f", run: seek },
    { key: "F3", run: (view) => step(view, 1), shift: (view) => step(view, -1) },
    { key: "Escape", run: end },
  ]),
];

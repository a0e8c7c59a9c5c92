// A field of a form that holds JSON: the editor, with a schema that the desk gives.

import { EditHistory } from "./document.js";
import { loadEditor } from "./editor.js";
import { onUndo } from "./keys.js";
import { call } from "./talk.js";

/** @param {HTMLTextAreaElement} area that holds JSON */
export function startEditor(area) {
  const history = new EditHistory();
  const now = () => ({ text: area.value, fields: null, touched: true, fault: null });
  const schema = () => call(area.dataset.schema ?? "");
  /** @param {string} text */
  const write = (text) => {
    area.value = text; // it goes on holding what is sent
    area.dispatchEvent(new Event("input", { bubbles: true }));
  };
  /** @param {string} text */
  const onChange = (text) => {
    history.keep(now(), "json");
    write(text);
  };
  loadEditor(area, { schema, onMove() {}, onChange }, (editor, place) => onUndo(place, (from) => {
    const found = history.step(from, now());
    if (!found) return;
    write(found.text);
    editor.set(found.text);
  }));
}

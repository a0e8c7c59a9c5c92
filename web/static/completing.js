// Values for an argument while a person types, as the server offers them, in the browser's own list.

import { all } from "./dom.js";
import { oneAtATime, Pause } from "./pace.js";
import { call } from "./talk.js";

const ASK_AFTER = 250;

export function startCompletions() {
  for (const field of all("input[data-ref]", document, HTMLInputElement)) {
    field.addEventListener("input", new Pause(ASK_AFTER, oneAtATime(() => offer(field))).soon);
  }
}

/** @param {HTMLInputElement} field */
async function offer(field) {
  const { form, list, value, dataset: { argument = "", ref = "", path = "" } } = field;
  if (!form || !list || field !== document.activeElement || [...list.options].some((one) => one.value === value)) return;
  const others = all("[data-argument]", form, HTMLInputElement).map((one) => [one.dataset.argument, one.value]);
  const body = { ref: JSON.parse(ref), argument, value, arguments: Object.fromEntries(others) };
  try {
    const { values } = await call(path, body);
    if (field.value !== value) return; // an answer to what stands there no more
    list.replaceChildren(...values.map((/** @type {string} */ one) => new Option(one)));
    if (values.length) field.showPicker();
  } catch {
    // no values, or a browser that shows the list at the next key
  }
}

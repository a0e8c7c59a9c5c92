// Values for an argument while a person types, as the server offers them, in the browser's own list.

import { all } from "./dom.js";
import { call, oneAtATime, Pause } from "./talk.js";

const ASK_AFTER = 250;

/** @param {HTMLInputElement} field */
export function startOffering(field) {
  const pause = new Pause(ASK_AFTER, oneAtATime(() => offer(field)));
  field.addEventListener("input", () => pause.soon());
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

// The elements of this page, by what they are, and small things to make more of them with.

/** Whether list and message stand beside each other. */
export function isWide() {
  return matchMedia("(min-width: 56.01rem)").matches;
}

// A template that lacks it is a fault of ours.
/** @type {ById} */
export const byId = (name, kind) => {
  const found = maybe(name, kind);
  if (!found) throw new Error(`#${name} is missing on this page`);
  return found;
};

/** @type {Maybe} */
export const maybe = (name, kind) => first(`[id="${name}"]`, document, kind);

/** @type {All} */
export function all(selector, place = document, kind) {
  const found = /** @type {any[]} */ ([...place.querySelectorAll(selector)]);
  return found.filter((one) => one instanceof (kind ?? HTMLElement));
}

/** @type {First} */
export function first(selector, place, kind) {
  return all(selector, place, kind)[0] ?? null;
}

/** Put in the parts of a newer page that differ. @param {ParentNode} place @param {ParentNode} newer @param {string[]} names */
export function replace(place, newer, names) {
  for (const name of names) {
    const [past, now] = [first(name, place), first(name, newer)];
    if (past && now && !past.isEqualNode(now)) past.replaceWith(now);
  }
}

/** Whether the focus is nowhere, so that it is taken from nobody. @param {string} also where it counts as nowhere */
export function atRest(also = "main") {
  const focused = document.activeElement;
  return !focused || focused === document.body || focused.matches(`main, ${also}`);
}

export function keyOfOpen() {
  return first("article.message")?.dataset.key ?? "";
}

/** @template T @param {T[]} list @param {unknown} now @param {number} step */
export function nextOf(list, now, step = 1) {
  return list[(list.findIndex((one) => one === now) + step + list.length) % list.length];
}

/** Move the focus in a list, as a key says. @template {HTMLElement} T @param {KeyboardEvent} event @param {T[]} list @param {Record<string, number>} keys */
export function led(event, list, keys) {
  const step = keys[event.key];
  if (!step) return null;
  event.preventDefault();
  const next = nextOf(list, document.activeElement, step);
  next.focus();
  return next;
}

/**
 * Text is always text: it goes in as a text node. `on` of the attributes holds what to do at which event.
 * @template {keyof HTMLElementTagNameMap} Tag @param {Tag} tag @param {Record<string, any>} [attributes]
 * @param {...(Node | string | null | undefined)} children @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, { on = {}, ...attributes } = {}, ...children) {
  const element = document.createElement(tag);
  for (const [event, act] of Object.entries(on)) element.addEventListener(event, /** @type {() => void} */ (act));
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** @param {string} text with code in backticks */
export function quoted(text) {
  return text.split(/`([^`]+)`/).map((piece, at) => at % 2 ? make("code", {}, piece) : piece);
}

/** @param {string} label @param {string} kind its class @param {() => void} act */
export function button(label, kind, act) {
  return make("button", { type: "button", class: kind, on: { click: act } }, label);
}

/** What did not change stays, and a screen reader speaks of it once. */
export class Shown {
  now = "";

  /** @param {unknown} record */
  changes(record) {
    const before = this.now;
    this.now = JSON.stringify(record);
    return this.now !== before;
  }
}

// The caret stays unless the text really is another.
/** @param {Control} field @param {string} text */
export function fillField(field, text) {
  if (field.value !== text) field.value = text;
}

// -- What somebody typed before the script for it came

/** @param {Control} control @returns {control is HTMLInputElement} */
export function isBox(control) {
  return control instanceof HTMLInputElement && ["checkbox", "radio"].includes(control.type);
}

/** @param {Control} control */
export function isChanged(control) {
  if (isBox(control)) return control.checked !== control.defaultChecked;
  if (!(control instanceof HTMLSelectElement)) return control.value !== control.defaultValue;
  const initial = [...control.options].findIndex((one) => one.defaultSelected);
  return control.selectedIndex !== Math.max(initial, 0);
}

/** @param {ParentNode} [place] @returns {Control[]} */
const controls = (place) => /** @type {any} */ (all("input, textarea, select", place));
export const [opening] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
/** @type {WeakSet<EventTarget>} what a browser brings back after a reload was not typed here */
const typedIn = new WeakSet(opening?.type === "navigate" ? controls().filter(isChanged) : []);
document.addEventListener("input", ({ target }) => target && typedIn.add(target), true);

/** Whether somebody typed in it on this page. @param {Control} control */
export const isTyped = (control) => typedIn.has(control);

/** Listeners that have just come hear what was typed before. @param {ParentNode} [place] */
export function catchUp(place = document) {
  for (const field of controls(place).filter(isTyped)) {
    for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, { bubbles: true }));
  }
}

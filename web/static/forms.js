// Forms: what is typed comes back after a reload, Back or another page, is shown, and is completed.

import { keep } from "./choices.js";
import { all, atRest, first, maybe } from "./dom.js";
import { call, oneAtATime, part, Pause } from "./talk.js";

const ASK_AFTER = 250;

export async function startForms() {
  for (const form of all("form[data-draft]", document, HTMLFormElement)) await open(form);
  // The forms that are there from here on.
  for (const form of all("form[data-preview]", document, HTMLFormElement)) {
    form.addEventListener("input", new Pause(300, oneAtATime(() => look(form))).soon);
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(form.querySelector("button"));
    });
  }
  for (const field of all("input[data-ref]", document, HTMLInputElement)) {
    field.addEventListener("input", new Pause(ASK_AFTER, oneAtATime(() => offer(field))).soon);
  }
}

/** @param {HTMLFormElement} form */
async function open(form) {
  const name = `humanmcp:form:${form.dataset.draft}`;
  const kept = JSON.parse(localStorage.getItem(name) ?? "null");
  if (!("typed" in form.dataset) && kept && !(kept.sent && arrivedAnew())) {
    form.hidden = true; // until it is whole: what is typed into it now would be lost
    const page = await part(form.action, new URLSearchParams([...kept.fields, ["act", "look"]]));
    form.hidden = false;
    const [old, young] = [first("main"), page && first("main", page)];
    if (!old || !young) return;
    old.replaceWith(young);
    if (atRest()) first("[autofocus]", young)?.focus();
    const restored = maybe("restored");
    if (restored) restored.hidden = false;
    first("#restored button")?.addEventListener("click", () => {
      localStorage.removeItem(name);
      location.reload();
    });
  }
  const now = first("form[data-draft]", document, HTMLFormElement) ?? form;
  if ("typed" in form.dataset) keepFields(name, now);
  now.addEventListener("input", () => keepFields(name, now));
  now.addEventListener("submit", ({ submitter }) => {
    const act = submitter instanceof HTMLButtonElement ? submitter.value : "";
    if (["put", "anyway", "keep"].includes(act)) keepFields(name, now, true);
  });
}

/** @param {string} name @param {HTMLFormElement} form @param {boolean} [sent] whether it leaves with what is kept */
function keepFields(name, form, sent = false) {
  keep(name, { fields: [.../** @type {any} */ (new FormData(form))], sent });
}

// Whether this page was opened by a link, rather than with Back or a reload.
function arrivedAnew() {
  const [opened] = performance.getEntriesByType("navigation");
  return opened instanceof PerformanceNavigationTiming && opened.type === "navigate";
}

/** @param {HTMLFormElement} form */
async function look(form) {
  const id = form.dataset.preview ?? "";
  const written = new URLSearchParams(/** @type {any} */ (new FormData(form)));
  written.set("act", "look");
  const young = (await part(form.action, written))?.getElementById(id);
  if (young) document.getElementById(id)?.replaceWith(young);
}

// Values for an argument while a person types, as the server offers them, in the browser's own list.
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

// A long form is a draft, too: what is typed in it comes back after a reload, Back, or another page.

import { keep } from "./choices.js";
import { all, first, maybe } from "./dom.js";
import { part } from "./talk.js";

export async function startFormDrafts() {
  for (const form of all("form[data-draft]", document, HTMLFormElement)) await open(form);
}

/** @param {HTMLFormElement} form */
async function open(form) {
  const name = `humanmcp:form:${form.dataset.draft}`;
  const kept = JSON.parse(localStorage.getItem(name) ?? "null");
  if (!("typed" in form.dataset) && kept && !(kept.sent && arrivedAnew())) {
    const page = await part(form.action, new URLSearchParams([...kept.fields, ["act", "look"]]));
    const [old, young] = [first("main"), page && first("main", page)];
    if (!old || !young) return;
    old.replaceWith(young);
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

// A form that stands for something shows it while a person writes, and Ctrl+Enter sends it.

import { all } from "./dom.js";
import { part } from "./talk.js";

export function startPreviews() {
  for (const form of all(document, "form[data-preview]", HTMLFormElement)) {
    let soon = 0;
    form.addEventListener("input", () => {
      clearTimeout(soon);
      soon = setTimeout(() => look(form), 300);
    });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(form.querySelector("button"));
    });
  }
}

/** @param {HTMLFormElement} form */
async function look(form) {
  const id = form.dataset.preview ?? "";
  const written = new URLSearchParams(/** @type {any} */ (new FormData(form)));
  written.set("act", "look");
  const page = await part(form.action, written).catch(() => null);
  const [old, young] = [document.getElementById(id), page?.getElementById(id)];
  if (old && young) old.replaceWith(young);
}

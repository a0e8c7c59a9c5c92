// A form that stands for something shows it while a person writes, and Ctrl+Enter sends it.

import { all } from "./dom.js";
import { Pause } from "./pace.js";
import { part } from "./talk.js";

export function startPreviews() {
  for (const form of all("form[data-preview]", document, HTMLFormElement)) {
    form.addEventListener("input", new Pause(300, () => look(form)).soon);
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
  const young = (await part(form.action, written))?.getElementById(id);
  if (young) document.getElementById(id)?.replaceWith(young);
}

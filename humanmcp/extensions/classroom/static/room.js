// The teacher's page: it follows what happens, and takes a lesson's file that is chosen or dropped on it.

import "../present.js";
import { rememberCards } from "../choices.js";
import { first } from "../dom.js";

rememberCards();
const form = first("#lesson-file", document, HTMLFormElement);

/** @param {File | undefined} file */
async function add(file) {
  if (!form || !file) return;
  const text = await file.text();
  for (const [name, value] of [["name", file.name], ["text", text]]) {
    const field = first(`[name=${name}]`, form, HTMLInputElement);
    if (field) field.value = value;
  }
  form.submit();
}

history.replaceState(history.state, "", location.href); // Back shows the question again, and sends no form

if (form) {
  form.hidden = false;
  const chooser = first("[type=file]", form, HTMLInputElement);
  chooser?.addEventListener("change", () => add(chooser.files?.[0]));
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    add(event.dataTransfer?.files[0]);
  });
}

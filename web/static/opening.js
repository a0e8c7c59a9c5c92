// A recording that is dropped on the page, pasted beside the fields or chosen opens as a session to read.

import { all, button, first, make } from "./dom.js";
import { layOut, parse, textAt } from "./jsontext.js";
import { at } from "./loginpath.js";
import { say, tell, tellFailed } from "./words.js";

const most = Number(document.body.dataset.opens ?? 0); // bytes; 0 for who may open none

/** @param {Blob} content @param {string} [name] */
async function openRecording(content, name = "") {
  if (!most) tell("open.not");
  else if (content.size > most) tell("open.long", { mebibytes: most >> 20 });
  else {
    tell("open.reads");
    try {
      const path = at(`/api/recordings?${new URLSearchParams({ name })}`);
      const answer = await fetch(path, { method: "POST", body: content, headers: { "Content-Type": "application/octet-stream" } });
      const record = await answer.json();
      if (!answer.ok) throw new Error(record.detail);
      location.assign(at(record.address));
    } catch (error) {
      tellFailed(error);
    }
  }
}

/** Offer a person to open what they pasted, if it is more than words. @param {string} text @param {HTMLElement} field */
function offerPasted(text, field) {
  first(".pasted")?.remove();
  if (!most || !/"jsonrpc"|"mcpServers"|^\s*curl\s/.test(text)) return;
  const open = button(say("open.it"), "small", () => openRecording(new Blob([text])));
  field.after(make("p", { class: "pasted aside", role: "status" }, say("open.pasted"), " ", open));
}

/** @param {DataTransfer | null} given */
const hasFile = (given) => Boolean(given?.types.includes("Files"));

/** @param {EventTarget | null} target */
const isField = (target) => target instanceof Element && Boolean(target.closest("input, textarea, select, [contenteditable], .cm-editor"));

// A browser would leave the page for a file that nobody takes.
document.addEventListener("dragover", (event) => {
  if (!hasFile(event.dataTransfer) || event.target instanceof HTMLInputElement) return;
  event.preventDefault();
  document.body.classList.toggle("dropping", most > 0);
});
document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) document.body.classList.remove("dropping");
});
document.addEventListener("drop", (event) => {
  document.body.classList.remove("dropping");
  const file = event.dataTransfer?.files[0];
  if (!file || event.defaultPrevented || event.target instanceof HTMLInputElement) return;
  event.preventDefault();
  openRecording(file, file.name);
});

/** A whole response that is pasted into an empty box is the message, not its text. @param {ClipboardEvent} event @param {string} text @param {Composer} composer */
function takeText(event, text, { draft, views }) {
  const { sentence } = views.text;
  const isWhole = parse(text) && textAt(text, ["jsonrpc"]) && (textAt(text, ["result"]) ?? textAt(text, ["error"]));
  if (!isWhole || sentence.selectionEnd - sentence.selectionStart < sentence.value.trim().length) {
    offerPasted(text, sentence);
  } else if (!draft.locked) {
    event.preventDefault();
    draft.replace(layOut(text.trim()));
    views.show("json", { focus: true });
    tell("open.message");
  }
}

/** @param {Page} page */
export function start(page) {
  document.addEventListener("paste", (event) => {
    const [target] = event.composedPath();
    const [file, text] = [event.clipboardData?.files[0], event.clipboardData?.getData("text/plain") ?? ""];
    if (event.defaultPrevented) return;
    if (page.composer && target === page.composer.views.text.sentence) takeText(event, text, page.composer);
    if (isField(target) || (!file && !text.trim())) return;
    event.preventDefault();
    openRecording(file ?? new Blob([text]), file?.name);
  });
  for (const one of all(".open-recording[hidden]")) one.hidden = false;
  document.body.dataset.takes = "yes";
}

document.addEventListener("change", (event) => {
  const { target } = event;
  if (target instanceof HTMLInputElement && target.matches("[data-recording]") && target.files?.[0]) openRecording(target.files[0], target.files[0].name);
});

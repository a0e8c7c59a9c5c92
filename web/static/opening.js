// What is dropped or pasted: a recording opens, a whole response is the answer.

import { first } from "./dom.js";
import { layOut, parse, textAt } from "./jsontext.js";
import { tell } from "./words.js";

const most = Number(document.body.dataset.opens ?? 0);
const opener = () => import("./recording.js");

/** @param {Blob} content @param {string} [name] */
const open = (content, name) => opener().then(({ openRecording }) => openRecording(most, content, name));

// A browser would leave the page for a file that nobody takes.
document.addEventListener("dragover", (event) => {
  if (!event.dataTransfer?.types.includes("Files") || event.target instanceof HTMLInputElement) return;
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
  const box = event.target;
  if (box instanceof HTMLTextAreaElement && "drop" in box.dataset) file.text().then((text) => { box.value = text; });
  else open(file, file.name);
});

/** @param {ClipboardEvent} event @param {string} text @param {Composer} composer */
function takeText(event, text, { draft, views }) {
  const { sentence } = views.text;
  const isWhole = parse(text) && textAt(text, ["jsonrpc"]) && (textAt(text, ["result"]) ?? textAt(text, ["error"]));
  if (!isWhole || sentence.selectionEnd - sentence.selectionStart < sentence.value.trim().length) {
    if (most && /"jsonrpc"|"mcpServers"|^\s*curl\s/.test(text)) opener().then(({ offerPasted }) => offerPasted(most, text, sentence));
  } else if (!draft.locked) {
    event.preventDefault();
    draft.replace(layOut(text.trim()));
    views.show("json", { focus: true });
    tell("open.message");
  }
}

/** @param {Page} page */
export function startOpening(page) {
  document.addEventListener("paste", (event) => {
    const [target] = event.composedPath();
    const [file, text] = [event.clipboardData?.files[0], event.clipboardData?.getData("text/plain") ?? ""];
    if (event.defaultPrevented) return;
    if (page.composer && target === page.composer.views.text.sentence) takeText(event, text, page.composer);
    const isField = target instanceof Element && target.closest("input, textarea, select, [contenteditable], .cm-editor");
    if (isField || (!file && !text.trim())) return;
    event.preventDefault();
    open(file ?? new Blob([text]), file?.name);
  });
  const chooser = first("[data-recording]", document, HTMLInputElement);
  chooser?.addEventListener("change", () => {
    const [file] = chooser.files ?? [];
    if (file) open(file, file.name);
  });
  document.body.dataset.takes = "yes";
}

// The page: what it adds to the pages that the desk renders. Everything here is extra; without it
// the same pages work with forms and a reload.

import { startChoices } from "./choices.js";
import { startClock } from "./clock.js";
import { startCompletions } from "./completing.js";
import { all, keyOfOpen, maybe } from "./dom.js";
import { loadEditor } from "./editor.js";
import { startKeys } from "./keys.js";
import { listChanged } from "./list.js";
import { startLive } from "./live.js";
import { choiceChanged } from "./notice.js";
import { Page } from "./page.js";
import { startPreviews } from "./preview.js";
import { refreshStatus } from "./status.js";
import { call, follow } from "./talk.js";

const page = new Page();

/** @param {ChangeShape[]} changes what happens elsewhere */
function changed(changes) {
  listChanged(changes);
  follow();
  const key = keyOfOpen();
  if (!key) {
    if (document.body.classList.contains("inbox")) page.openFirst();
    return;
  }
  const session = key.split("/")[0];
  const touches = changes.some((one) => one.what === "everything"
    || (one.session === session && one.what !== "lines" && (one.number === 0 || `${one.session}/${one.number}` === key)));
  if (touches) refreshStatus(page, key);
}

page.started();
startChoices(choiceChanged);
startKeys(page);
startClock();
startPreviews();
startCompletions();
for (const area of all("[data-schema]", document, HTMLTextAreaElement)) {
  const schema = () => call(area.dataset.schema ?? "");
  loadEditor(area, { schema, onMove() {}, onChange(text) { area.value = text; } }); // it goes on holding what is sent
}
if (maybe("live")) startLive(changed);

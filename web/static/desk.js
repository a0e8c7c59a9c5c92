// What the page adds to what the desk renders.

import { startChoices } from "./choices.js";
import { startClock } from "./clock.js";
import { catchUp, first, keyOfOpen, maybe } from "./dom.js";
import { listenToForms, startForms } from "./forms.js";
import { startKeys, startPresses, STILL_SENDING } from "./keys.js";
import { listChanged } from "./list.js";
import { startLive } from "./live.js";
import { keep, loginPath } from "./loginpath.js";
import { startOpening } from "./opening.js";
import { Page } from "./page.js";
import { follow } from "./talk.js";
import { startWriting } from "./writing.js";

const page = new Page();
const past = maybe("lines") && import("./history.js");
startOpening(page);

/** @param {ChangeShape[]} changes what happens elsewhere */
function changed(changes) {
  const listed = listChanged(changes);
  follow().then(startForms);
  past?.then(({ refresh }) => refresh());
  const key = keyOfOpen();
  if (!key) {
    if (document.body.classList.contains("inbox")) page.openFirst();
    return listed;
  }
  const needless = page.isAsking || !page.waits; // what comes is opened in its place
  const asks = first("#status .question.open"); // the response to it is only a line
  const touches = changes.some(({ what, session, number }) => what === "everything"
    || (needless && session && what !== "lines")
    || ((key === `${session}/${number}` || (number === 0 && key.startsWith(`${session}/`))) && (asks || what !== "lines")));
  if (touches) page.refreshStatus();
  return listed;
}

if (first("#around[data-own], body[data-device]")) keep(loginPath);
if ("device" in document.body.dataset) import("./installing.js");
if ("watched" in document.body.dataset) import("./looking.js");
if (maybe("unsent")) import("./unsent.js");
page.started();
startChoices((name, on) => import("./sound.js").then(({ choiceChanged }) => choiceChanged(name, on)));
startKeys(page);
startPresses();
startClock();
listenToForms((address) => page.go(address), () => page.refreshStatus(), () => page.age < STILL_SENDING, () => page.isWritten);
startWriting();
Promise.resolve(past).then(() => catchUp());
if (maybe("live")) startLive(changed);

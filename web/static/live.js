// One live stream for all tabs of a browser, which opens six connections to a server. The tab that holds
// the lock has it and tells the others; when it closes, the next one goes on.

import { maybe } from "./dom.js";
import { at, loginPath } from "./loginpath.js";
import { call, missedPart, SLOW } from "./talk.js";
import { say } from "./words.js";

const POLL_EVERY = 3000;
const TRY_AGAIN_AFTER = 15_000;
const HUNG_AFTER = 4500; // the desk pings every 2 or 3 s
const SILENT_FOR = 45_000;
const NAME = `humanmcp-live${loginPath}`; // one browser may have several login sessions: a teacher has
const GREETED_WITHIN = 10_000; // the desk greets at once

export let version = Number(document.body.dataset.version);
/** @type {OnChanges} */
let act = async () => {};
/** @type {EventSource | null} */
let source = null;
let polling = 0;
let asked = 0; // when the desk was asked for what it has not answered yet
let next = 0;
let lastWord = 0;
let line = "opening"; // then "open", or "lost"
let known = 0; // when the desk was last heard
let behind = 0; // since when the list lacks what was heard
export let leading = false; // of all tabs of this browser

const channel = new BroadcastChannel(NAME);

/** @param {OnChanges} onChange */
export function startLive(onChange) {
  act = onChange;
  channel.onmessage = ({ data }) => {
    if (data.how) show(data.how);
    if (data.changes || data.version > version) heard(data);
  };
  show("live");
  if (navigator.locks) navigator.locks.request(NAME, lead);
  else lead();
}

function lead() {
  leading = true;
  listen();
  setInterval(() => {
    if (hangs()) startPolling();
    if (Date.now() - lastWord > SILENT_FOR) listen();
  }, 1000);
  return new Promise(() => {}); // hold the lock for the life of the page
}

function listen() {
  source?.close();
  clearTimeout(next);
  lastWord = Date.now();
  line = "opening";
  source = new EventSource(at(`/api/events?after=${version}`));
  for (const name of ["hello", "ping"]) source.addEventListener(name, runs);
  source.addEventListener("change", (event) => {
    runs();
    spread(JSON.parse(event.data));
  });
  source.addEventListener("bye", () => again(1000));
  source.onerror = () => {
    line = "lost";
    if (source?.readyState === EventSource.CLOSED) again(TRY_AGAIN_AFTER);
    else startPolling();
  };
}

function runs() {
  lastWord = Date.now();
  line = "open";
  clearInterval(polling);
  polling = 0;
  how("live");
}

const hangs = () => line !== "lost" && Date.now() - lastWord > (line === "open" ? HUNG_AFTER : GREETED_WITHIN);

/** @param {number} after milliseconds */
function again(after) {
  source?.close();
  startPolling();
  clearTimeout(next);
  next = setTimeout(listen, after);
}

function startPolling() {
  if (polling) return;
  how("waiting");
  polling = setInterval(poll, POLL_EVERY);
}

// A desk that is gone without closing answers nothing, not even that it is away.
async function poll() {
  const waited = asked && Date.now() - asked;
  if (waited > SLOW) how("off");
  if (waited && waited < TRY_AGAIN_AFTER) return;
  const own = asked = Date.now();
  try {
    const record = await call(`/api/state?since=${version}`);
    if (!polling) return; // the stream came meanwhile, and tells more
    how("polling");
    if (record.changes.length) spread(record);
    if (line === "lost" || hangs()) listen(); // sooner than the browser would: the desk has just answered
  } catch {
    if (polling) how("off");
  } finally {
    if (asked === own) asked = 0;
  }
}

/** @param {LiveRecord} record what this tab heard for all of them */
function spread(record) {
  const told = { ...record, since: version };
  channel.postMessage(told);
  heard(told);
}

// A tab that was not there yet, or led until just now, may have missed something.
/** @param {LiveRecord & {since?: number}} record */
function heard({ version: now, since = now, changes }) {
  if (now === version) return;
  const missed = since > version;
  version = now;
  update(missed ? undefined : changes);
}

/** @param {ChangeShape[]} changes */
function update(changes = [{ what: "everything" }]) {
  behind ||= Date.now();
  act(changes).finally(() => { behind = 0; });
}

/** @param {string} state */
function how(state) {
  channel.postMessage({ how: state, version });
  show(state);
}

// What waits is known while the desk is heard and gives the list; else the page says so, and its clocks stand still.
/** @param {string} state */
function show(state) {
  let isKnown = state === "live" || state === "polling";
  if (isKnown && missedPart()) {
    update();
    behind = 1;
  }
  if (isKnown && behind && Date.now() - behind > SLOW) [state, isKnown] = ["waiting", false];
  if (isKnown) known = Date.now();
  const [chip, cut] = [maybe("live"), maybe("cut")];
  if (!chip || !cut || chip.dataset.how === state) return;
  const since = new Date(known).toLocaleTimeString(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  chip.dataset.how = state;
  chip.textContent = isKnown ? say(state) : "";
  cut.textContent = isKnown ? "" : `${say(state, { since })} ${say(maybe("main")?.closest(".present, .overview") ? "cut.shown" : "cut")}`;
  document.body.toggleAttribute("data-cut", !isKnown);
  document.title = `${isKnown ? "" : "○ "}${document.title.replace(/^○ /, "")}`;
}

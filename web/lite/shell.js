// The page that a person opens. It holds the worker with Python and shows the pages that it makes in a
// frame. One tab of a browser has the worker; the others show the pages that it makes, and take over.

const BASE = new URL(".", location.href);
const NAME = `humanmcp-lite ${BASE.pathname}`;
const FAILURES = { QuotaExceededError: "full", TypeError: "unloaded" };
const SENTENCES = ["lacks", "full", "unloaded"];
const [bar, frame, question, update, unsaved] = ["bar", "page", "forget", "update", "unsaved"].map((id) => document.getElementById(id));
const language = navigator.language.startsWith("ja") ? "ja" : "en";
const STALLED_AFTER = 20_000;
let stalled = 0;
let channel, whole; // `whole`: a version of the page is here

document.documentElement.lang = language;
for (const one of document.querySelectorAll("[data-ja]")) one.textContent = one.dataset[language];

function heard({ data }) {
  if (data.loaded) {
    bar.value = data.loaded;
    watchLoading();
  }
  if (data.failed && !whole) fail(data.failed);
  if (data.path && frame.hidden) show(data.path).catch(fail);
  if ("unsaved" in data) unsaved.hidden = !data.unsaved;
  if (data.forgotten) location.replace(BASE);
  if (data.update) leave();
}

function remember() {
  const { pathname, search } = frame.contentWindow.location;
  sessionStorage.setItem(NAME, pathname.slice(BASE.pathname.length) + search);
}

/** Close the page in the frame: Chromium activates no other version while a stream is open. */
function leave() {
  if (frame.hidden) return;
  remember();
  removeEventListener("pagehide", remember);
  frame.remove();
  document.getElementById("loading").hidden = false;
}

/** Return what the address names; one that cannot be decoded names nothing. */
function wanted() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

/** Say that nothing comes, when nothing has come for a while; what is here already is not loaded again. */
function watchLoading() {
  clearTimeout(stalled);
  document.getElementById("stalled").hidden = true;
  stalled = setTimeout(() => { document.getElementById("stalled").hidden = false; }, STALLED_AFTER);
}

/**
 * Begin the lesson that the link names: one of ours, or a file beside this page.
 * @param {string} path where the pages begin
 * @returns {Promise<string>} the page to show, "" without a lesson
 */
async function lessonOf(path) {
  const lesson = new URLSearchParams(location.search).get("lesson");
  if (!lesson) return "";
  const form = { act: "lesson", lesson, text: "" };
  if (lesson.endsWith(".toml")) {
    const found = await fetch(encodeURIComponent(lesson)).catch(() => null);
    if (found?.ok) form.text = await found.text();
  }
  const answer = await fetch(`${path.slice(1)}/own`, { method: "POST", body: new URLSearchParams(form) });
  return answer.url.slice(BASE.href.length);
}

/** @param {string} path where the pages begin */
async function show(path) {
  clearTimeout(stalled);
  const begun = await lessonOf(path);
  if (!frame.hidden) return;
  const asked = begun || wanted() || (sessionStorage.getItem(NAME) ?? "");
  history.replaceState(null, "", BASE);
  frame.onload = () => { document.title = frame.contentDocument.title; };
  addEventListener("pagehide", remember);
  const named = /^(check|history)$/.test(asked) ? asked : ""; // addresses that people write
  frame.contentWindow.location.replace(new URL(`/${asked}`.startsWith(path) ? asked : `${path.slice(1)}/${named}`, BASE));
  frame.hidden = false;
  document.getElementById("loading").hidden = true;
  frame.focus();
}

async function lead() {
  const worker = new Worker("worker.mjs", { type: "module" });
  worker.onerror = fail;
  worker.onmessage = ({ data }) => {
    if (data.error) fail(data.error);
  };
  worker.postMessage({ base: BASE.href, name: NAME, languages: navigator.languages.join(",") });
  await new Promise(() => {}); // hold the lock for the life of this tab
}

/** @param {unknown} error a text of one, too: "QuotaExceededError: …" */
function fail(error) {
  console.error(error);
  const shown = FAILURES[String(error).split(":")[0]] ?? "lacks";
  clearTimeout(stalled);
  for (const one of document.querySelectorAll("#bar, #bringing")) one.hidden = true;
  for (const one of SENTENCES) document.getElementById(one).hidden = one !== shown;
}

async function forget() {
  question.showModal();
  await new Promise((done) => question.addEventListener("close", done));
  if (question.returnValue !== "yes") return location.replace(BASE);
  await navigator.locks.request(NAME, { steal: true }, async () => {
    await new Promise((done) => {
      const deleting = indexedDB.deleteDatabase(`/kept${BASE.pathname}`.replace(/\/$/, ""));
      deleting.onsuccess = deleting.onerror = done;
      channel.postMessage({ end: true }); // of another tab, which has it open
    });
    for (const key of Object.keys(localStorage)) if (key.startsWith("humanmcp:")) localStorage.removeItem(key);
  });
  channel.postMessage({ forgotten: true });
  location.replace(BASE);
}

/** Look for a version now and each hour, and offer it; once a person takes it, every tab loads it. */
function followUpdates(registration) {
  const look = () => registration.update().catch(() => {}); // no network, or half a version: later
  const offer = () => { update.hidden = !(registration.active && registration.waiting); };
  const watch = () => registration.installing?.addEventListener("statechange", offer);
  registration.onupdatefound = watch;
  watch();
  offer();
  look();
  setInterval(look, 3_600_000);
  update.querySelector("button").onclick = () => {
    registration.waiting.postMessage("begin");
    channel.postMessage({ update: true });
    leave();
  };
}

/** Wait until this browser has a version of the page. */
async function install() {
  const { serviceWorker } = navigator;
  let isControlled = Boolean(serviceWorker.controller);
  serviceWorker.oncontrollerchange = () => {
    if (isControlled) location.reload();
    isControlled = true;
  };
  const registration = await serviceWorker.register("sw.js", { updateViaCache: "none" });
  const refused = new Promise((_, refuse) => {
    const { installing } = registration;
    installing?.addEventListener("statechange", () => { if (installing.state === "redundant") refuse(new TypeError("not installed")); });
  });
  await Promise.race([serviceWorker.ready, refused]);
  whole = true;
  followUpdates(registration);
}

async function begin() {
  if (!navigator.serviceWorker || !navigator.locks || !globalThis.WebAssembly) throw new Error("missing");
  channel = new BroadcastChannel(NAME);
  channel.onmessage = heard;
  if (location.search === "?forget") return forget();
  await install();
  channel.postMessage({ hello: true });
  await navigator.locks.request(NAME, lead);
}

watchLoading();
document.querySelector("#stalled button").onclick = () => location.reload();
begin().catch((error) => { if (!bar.hidden) fail(error); });

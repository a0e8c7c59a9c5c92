// The page that a person opens. It holds the worker with Python and shows the pages that it makes in a
// frame. One tab of a browser has the worker; the others show the pages that it makes, and take over.

const BASE = new URL(".", location.href);
const NAME = `humanmcp-lite ${BASE.pathname}`;
const channel = new BroadcastChannel(NAME);
const [bar, frame, trouble, question] = ["bar", "page", "trouble", "forget"].map((id) => document.getElementById(id));

for (const one of document.querySelectorAll("[data-ja]")) one.textContent = one.dataset[navigator.language.startsWith("ja") ? "ja" : "en"];

channel.onmessage = ({ data }) => {
  if (data.loaded) bar.value = data.loaded;
  if (data.path && frame.hidden) show(data.path);
  if (data.forgotten) location.replace(BASE);
};

/** @param {string} path where the pages begin */
function show(path) {
  const asked = decodeURIComponent(location.hash.slice(1)) || (sessionStorage.getItem(NAME) ?? "");
  history.replaceState(null, "", BASE);
  frame.onload = () => { document.title = frame.contentDocument.title; };
  addEventListener("pagehide", () => {
    const { pathname, search } = frame.contentWindow.location;
    sessionStorage.setItem(NAME, pathname.slice(BASE.pathname.length) + search);
  });
  frame.contentWindow.location.replace(new URL(`/${asked}`.startsWith(path) ? asked : `${path.slice(1)}/`, BASE));
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

/** @param {unknown} error */
function fail(error) {
  console.error(error);
  bar.hidden = true;
  trouble.hidden = false;
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

async function begin() {
  if (location.search === "?forget") return forget();
  await navigator.serviceWorker.register("sw.js", { updateViaCache: "none" });
  await navigator.serviceWorker.ready;
  channel.postMessage({ hello: true });
  await navigator.locks.request(NAME, lead);
}

begin().catch(fail);

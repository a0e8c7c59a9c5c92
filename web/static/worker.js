// The service worker of an installed page. It keeps the files of this edition and one page that says
// that the desk is away; messages and answers it does not keep. The desk writes EDITION before this.

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));
const SHELL = `humanmcp-${EDITION}`;

worker.addEventListener("install", (event) => {
  event.waitUntil(caches.open(SHELL).then((cache) => cache.add("/offline")));
});

worker.addEventListener("activate", (event) => {
  const older = async () => {
    for (const name of await caches.keys()) if (name.startsWith("humanmcp-") && name !== SHELL) await caches.delete(name);
  };
  event.waitUntil(older());
});

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const address = new URL(request.url);
  if (request.method !== "GET" || address.origin !== location.origin) return;
  if (address.pathname.startsWith(`/static/~${EDITION}/`)) event.respondWith(kept(request));
  else if (request.mode === "navigate") event.respondWith(fetch(request).catch(offline));
});

async function offline() {
  return (await caches.match("/offline")) ?? Response.error();
}

/** @param {Request} request */
async function kept(request) {
  const found = await caches.match(request);
  if (found) return found;
  const answer = await fetch(request);
  if (answer.ok) (await caches.open(SHELL)).put(request, answer.clone());
  return answer;
}

// The service worker: it keeps this version's files, and hands the requests of the page to the tab with
// Python. The build writes VERSION, FILES and what unpacks them before this; a new version replaces the old one whole.

const BASE = new URL(registration.scope).pathname;
const NAME = `humanmcp-lite ${BASE}`;
const CACHE = `${NAME} ${VERSION}`;
const TYPES = { css: "text/css", html: "text/html; charset=utf-8", js: "text/javascript", mjs: "text/javascript", wasm: "application/wasm" };
const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";
const { XzReadableStream } = self["xz-decompress"];
const channel = new BroadcastChannel(NAME);
const open = new Map();

addEventListener("install", (event) => event.waitUntil(keep()));
addEventListener("activate", (event) => event.waitUntil(begin()));

addEventListener("message", skipWaiting); // a person takes this version

async function keep() {
  try {
    await load();
  } catch (error) {
    if (error.name === "QuotaExceededError") await caches.delete(CACHE);
    channel.postMessage({ failed: String(error) });
    throw error;
  }
}

// What an earlier attempt loaded is here already. A file of another version fails its hash.
async function load() {
  const cache = await caches.open(CACHE);
  const total = FILES.reduce((sum, [, size]) => sum + size, 0);
  let loaded = 0;
  for (const [name, size, integrity] of FILES) {
    const kept = name.replace(/\.packed$/, "");
    if (!(await cache.match(kept))) {
      const answer = await fetch(name, { cache: "no-cache", integrity });
      const content = kept === name ? answer.body : new XzReadableStream(answer.body);
      const headers = { "content-type": TYPES[kept.split(".").pop()] ?? "application/octet-stream" };
      if (kept.endsWith("worker.mjs")) headers["content-security-policy"] = POLICY;
      await cache.put(kept, new Response(content, { headers }));
    }
    channel.postMessage({ loaded: (loaded += size) / total });
  }
}

async function begin() {
  for (const name of await caches.keys()) if (name.startsWith(`${NAME} `) && name !== CACHE) await caches.delete(name);
  await clients.claim();
}

addEventListener("fetch", (event) => {
  const { request } = event;
  const address = new URL(request.url);
  if (!address.href.startsWith(registration.scope)) return;
  const name = address.pathname.slice(BASE.length);
  if (/^check(\/|\/index\.html)?$/.test(name)) return event.respondWith(Response.redirect(`${BASE}#check`));
  if (!/^(~|static\/)/.test(name)) event.respondWith(kept(name || "index.html", request));
  else if (request.mode === "navigate" && request.destination === "document") {
    event.respondWith(Response.redirect(`${BASE}#${encodeURIComponent(name + address.search)}`));
  } else event.respondWith(answer(name, address, request));
});

async function kept(name, request) {
  return (await (await caches.open(CACHE)).match(name)) ?? fetch(request);
}

async function answer(name, address, request) {
  const file = name.replace(/^(~[^/]*\/)?static\/(~[^/]*\/)?/, "static/");
  const found = file.startsWith("static/") && await (await caches.open(CACHE)).match(file);
  if (found) return found;
  const id = crypto.getRandomValues(new Uint32Array(1))[0];
  const body = request.method === "POST" ? await request.arrayBuffer() : new ArrayBuffer(0);
  const asked = { id, method: request.method, path: `/${name}${address.search}`, headers: [...request.headers], body };
  return new Promise((done) => {
    open.set(id, { asked, done, stream: null });
    channel.postMessage({ asked });
  });
}

channel.onmessage = ({ data }) => {
  if (data.began) for (const one of open.values()) goOn(one);
  const one = open.get(data.id);
  if (!one) return;
  if (!one.stream) begun(one, data);
  if (data.content.length) one.stream.enqueue(data.content);
  if (data.more) return;
  one.stream.close();
  open.delete(data.id);
};

// Another tab has taken over: it answers what is not answered, and a page asks again for a stream that ends.
function goOn({ asked, stream }) {
  if (!stream) return channel.postMessage({ asked });
  stream.close();
  open.delete(asked.id);
}

function begun(one, { id, status, headers }) {
  const start = (stream) => { one.stream = stream; };
  const cancel = () => { open.delete(id); channel.postMessage({ left: id }); };
  const body = new ReadableStream({ start, cancel });
  const to = new Map(headers).get("location");
  if (to && status > 300 && status < 400) one.done(Response.redirect(to, status));
  else one.done(new Response([204, 304].includes(status) ? null : body, { status, headers }));
}

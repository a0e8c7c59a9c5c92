// The preview of a tool's page: a host in this window, which shows what the two say. The page is a stranger's, whoever
// typed it: it has an origin of its own, only messages come from it, and they are text here, whatever they ask for.

import { button, make } from "../dom.js";
import { visible } from "../words.js";

const MOST = 200; // messages; a page may send for ever
const LONGEST = 100_000; // characters of a message
const SHOWN = 2000;
const [LOWEST, HIGHEST] = [40, 1200]; // pixels of the frame
const TYPING = 700; // milliseconds without a key until the page is shown anew
const VERSION = "2026-01-26";
const TEARDOWN = "teardown"; // the id of the request

/** @typedef {Record<string, any>} Message */
/** @typedef {{ request: boolean, needs?: Record<string, string> }} Known a kind of message: whether it has an id, and its params */

/** @type {Record<string, Known>} what a page may send, and the types of what it must say */
const FROM_PAGE = {
  "ui/initialize": { request: true, needs: { protocolVersion: "string", "appInfo.name": "string", "appInfo.version": "string", appCapabilities: "object" } },
  "ui/notifications/initialized": { request: false },
  "ui/notifications/size-changed": { request: false, needs: { height: "number" } },
  "ui/open-link": { request: true, needs: { url: "string" } },
  "ui/message": { request: true, needs: { role: "string", content: "object" } },
  "ui/request-display-mode": { request: true, needs: { mode: "string" } },
  "ui/update-model-context": { request: true },
  "tools/call": { request: true, needs: { name: "string" } },
  "resources/read": { request: true, needs: { uri: "string" } },
  "notifications/message": { request: false, needs: { level: "string" } },
  ping: { request: true },
};

class AppPreview extends HTMLElement {
  /** @type {Message} what the desk knows: the words, the address of the page, its tool, its last call */
  known = {};
  /** @type {HTMLIFrameElement | null} */
  frame = null;
  closing = new AbortController();
  composer = document.getElementById("composer");
  written = "";
  page = "";
  fault = "right";
  /** @type {Message[]} the arguments and the result that the page is told */
  given = [];
  timer = 0;
  count = 0;
  isReady = false;
  isBegun = false; // the page has sent ui/initialize,
  isOpen = false; // and then that it is initialized
  isLeaving = false;

  connectedCallback() {
    this.known = JSON.parse(this.querySelector("script")?.textContent ?? "{}");
    const { signal } = this.closing;
    for (const name of ["arguments", "result"]) {
      const area = this.piece(name);
      area.value = JSON.stringify(this.known[name], null, 2);
      area.addEventListener("input", () => this.soon(), { signal });
    }
    this.piece("show").addEventListener("click", () => this.show(), { signal });
    this.piece("show").disabled = false;
    this.piece("fault").addEventListener("change", () => { if (this.frame) this.show(); }, { signal });
    this.piece("remove").addEventListener("click", () => this.tearDown(), { signal });
    for (const kind of /** @type {const} */ (["message", "messageerror"])) addEventListener(kind, (event) => this.receive(event), { signal });
    // What is typed shows at once, but only where somebody asked for the page already.
    this.composer?.addEventListener("draft", (event) => {
      this.written = /** @type {CustomEvent<string>} */ (event).detail;
      if (this.pageWritten() !== this.page) this.soon();
    }, { signal });
  }

  disconnectedCallback() {
    this.stop();
    this.closing.abort();
  }

  /** @param {string} name @returns {any} */
  piece(name) {
    return this.querySelector(`[data-part="${name}"]`);
  }

  /** @param {string} code @param {Record<string, string | number>} [values] */
  say(code, values = {}) {
    const text = this.known.words[code] ?? code;
    return text.replace(/\{(\w+)\}/g, (/** @type {string} */ all, /** @type {string} */ name) => String(values[name] ?? all));
  }

  // -- The page

  // The page in the answer that was sent, or in the draft; null where there is none.
  pageWritten() {
    const answer = read(this.known.sent ?? this.written ?? "");
    const contents = answer?.result?.contents ?? answer?.contents;
    if (!Array.isArray(contents)) return null;
    const found = contents.find((one) => one?.uri === this.known.uri) ?? contents[0];
    if (typeof found?.text === "string") return found.text;
    try {
      const bytes = Uint8Array.from(atob(found.blob), (one) => one.charCodeAt(0));
      return new TextDecoder().decode(bytes);
    } catch {
      return null;
    }
  }

  soon() {
    clearTimeout(this.timer);
    if (this.frame) this.timer = setTimeout(() => this.show(), TYPING);
  }

  show() {
    this.composer?.dispatchEvent(new CustomEvent("ask draft"));
    const page = this.pageWritten();
    const given = ["arguments", "result"].map((name) => {
      const value = read(this.piece(name).value);
      this.piece(name).setAttribute("aria-invalid", String(!isObject(value)));
      return value;
    });
    if (page === null || !given.every(isObject)) return this.end(page === null ? "no page" : "no object");
    this.stop();
    [this.page, this.given] = [page, given];
    this.piece("messages").replaceChildren();
    this.piece("told").hidden = true;
    Object.assign(this, { count: 0, isReady: false, isBegun: false, isOpen: false, isLeaving: false });
    const frame = document.createElement("iframe");
    frame.title = this.say("frame");
    frame.setAttribute("sandbox", "allow-scripts");
    frame.referrerPolicy = "no-referrer"; // the address of this page is a secret
    frame.src = this.dataset.frame ?? "";
    frame.height = "150";
    this.piece("stage").replaceChildren(frame);
    this.piece("remove").disabled = false;
    this.frame = frame;
    this.fault = this.piece("fault").value;
  }

  stop() {
    clearTimeout(this.timer);
    this.frame?.remove();
    this.frame = null;
    const remove = this.piece("remove");
    if (remove) remove.disabled = true;
  }

  /** Show no page, and say why: it does what none may do, or is gone. @param {string} code */
  end(code) {
    this.stop();
    const told = this.piece("told");
    told.textContent = this.say(code, { most: MOST, longest: LONGEST });
    told.hidden = false;
  }

  // -- What the page says

  /** @param {MessageEvent} event */
  receive({ type, source, data }) {
    if (!this.frame || source === window) return;
    const isOurs = source === this.frame.contentWindow; // who says it is known by this alone; a frame in the page may flood as well
    if (isOurs || this.isReady) this.count += 1; // before, it is what a page that was ended had said
    if (this.count > MOST) return this.end("many");
    if (!isOurs) return;
    if (data === "ready") {
      if (this.isReady) return this.end("went");
      this.isReady = true;
      this.frame.contentWindow?.postMessage(this.page, "*");
      return;
    }
    const text = type === "message" ? written(data) : null; // an error: what cannot be cloned here
    if (!text) return this.end(text === null ? "unreadable" : "long");
    const row = this.list("page", data, text, this.problemOf(data));
    if (isMessage(data)) this.answer(data, row);
  }

  /** What is wrong with a message of the page, as a sentence; null for nothing. @param {Message} data */
  problemOf(data) {
    if (!isMessage(data)) return this.say("problem shape");
    const { method, id } = data;
    if (method === undefined) {
      return this.isLeaving && id === TEARDOWN ? null : this.say("problem response");
    }
    const known = typeof method === "string" && Object.hasOwn(FROM_PAGE, method) ? FROM_PAGE[method] : null;
    if (!known) return this.say("problem unknown");
    if (known.request !== isId(id)) return this.say(known.request ? "problem no id" : "problem id");
    for (const [path, type] of Object.entries(known.needs ?? {})) {
      const value = path.split(".").reduce((/** @type {any} */ at, step) => at?.[step], data.params);
      if (typeof value !== type || value === null) return this.say("problem params", { name: path, type });
    }
    if (method === "ui/initialize") return this.isBegun ? this.say("problem twice") : null;
    if (method === "ui/notifications/initialized") return this.isBegun ? null : this.say("problem order");
    return this.isOpen || method === "ping" || method === "notifications/message" ? null : this.say("problem early");
  }

  /** Answer as a host does, and as wrongly as was chosen. @param {Message} data @param {HTMLElement} row */
  answer({ method, id, params }, row) {
    if (!isId(id) && FROM_PAGE[method]?.request) return; // nobody waits for a response
    switch (method) {
      case "ui/initialize":
        this.isBegun = true;
        if (this.fault === "early") this.sendResult();
        if (this.fault !== "no handshake") this.send({ id, result: this.handshake() });
        return;
      case "ui/notifications/initialized":
        if (!this.isOpen) this.begin();
        return;
      case "ui/notifications/size-changed":
        if (this.fault !== "no size" && this.frame) this.frame.height = String(Math.min(Math.max(Number(params?.height) || 0, LOWEST), HIGHEST));
        return;
      case "ui/request-display-mode":
        return this.send({ id, result: { mode: "inline" } });
      case "ping":
      case "ui/message":
      case "ui/update-model-context":
        return this.send({ id, result: {} });
      case "ui/open-link":
        return this.offerLink(id, params?.url, row);
      case "tools/call":
        return this.askPerson(id, row);
      case undefined:
        if (this.isLeaving && id === TEARDOWN) this.end("removed");
        return;
    }
    if (isId(id)) this.refuse(id, "Method not found", -32601);
  }

  handshake() {
    const { theme } = document.documentElement.dataset;
    const dark = theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
    return {
      protocolVersion: VERSION,
      hostInfo: { name: "humanmcp", version: "preview" },
      hostCapabilities: { openLinks: {}, serverTools: {}, logging: {} },
      hostContext: {
        toolInfo: { tool: this.known.tool },
        theme: dark ? "dark" : "light",
        displayMode: "inline",
        availableDisplayModes: ["inline"],
        containerDimensions: { width: this.frame?.clientWidth ?? 0, maxHeight: HIGHEST },
        locale: document.documentElement.lang,
        platform: "web",
      },
    };
  }

  begin() {
    this.isOpen = true;
    const { fault } = this;
    if (fault !== "no input") this.send({ method: "ui/notifications/tool-input", params: { arguments: this.given[0] } });
    if (fault === "cancelled") return this.send({ method: "ui/notifications/tool-cancelled", params: { reason: "cancelled" } });
    if (fault !== "no result" && fault !== "early") this.sendResult();
    if (fault === "twice") this.sendResult();
  }

  sendResult() {
    this.send({ method: "ui/notifications/tool-result", params: this.given[1] });
  }

  tearDown() {
    if (this.isLeaving) return this.end("no farewell");
    this.isLeaving = true;
    this.send({ id: TEARDOWN, method: "ui/resource-teardown", params: {} });
  }

  // -- What the host says

  /** @param {unknown} id @param {string} message @param {number} code */
  refuse(id, message, code = -32000) {
    this.send({ id, error: { code, message } });
  }

  /** @param {Message} message */
  send(message) {
    const whole = { jsonrpc: "2.0", ...message };
    this.frame?.contentWindow?.postMessage(whole, "*");
    this.list("host", whole, JSON.stringify(whole));
  }

  /** A tool is answered by the person alone. @param {unknown} id @param {HTMLElement} row */
  askPerson(id, row) {
    const area = make("textarea", { class: "json", rows: 3, "aria-label": this.say("answer") });
    area.value = JSON.stringify({ content: [{ type: "text", text: "" }] }, null, 2);
    const act = make("p", { class: "row" });
    const done = (/** @type {() => void} */ tell) => { area.remove(); act.remove(); tell(); };
    act.append(
      button(this.say("send"), "small", () => {
        const result = read(area.value);
        area.ariaInvalid = String(!isObject(result));
        if (isObject(result)) done(() => this.send({ id, result }));
      }),
      button(this.say("reject"), "small", () => done(() => this.refuse(id, "A person rejected this call"))),
    );
    row.append(area, act);
  }

  /** The whole address, and it opens by a click alone. @param {unknown} id @param {unknown} url @param {HTMLElement} row */
  offerLink(id, url, row) {
    const address = typeof url === "string" && URL.canParse(url) ? new URL(url) : null;
    const isSafe = address && /^https?:$/.test(address.protocol) && !address.username && !address.password;
    if (!isSafe) return this.refuse(id, "Only http and https addresses can be opened");
    const act = make("p", { class: "row" });
    const opens = { click: () => { act.remove(); this.send({ id, result: {} }); } };
    const link = make("a", { href: address.href, target: "_blank", rel: "noopener noreferrer", class: "address", on: opens }, address.href);
    act.append(link, button(this.say("reject"), "small", () => { act.remove(); this.refuse(id, "A person rejected this link"); }));
    row.append(act);
  }

  // -- The list

  /** @param {"page" | "host"} from @param {any} message @param {string} text @param {string | null} [problem] */
  list(from, message, text, problem = null) {
    const method = typeof message?.method === "string" ? message.method : "";
    const name = method || this.say(message?.error ? "error" : "response");
    const about = Object.hasOwn(this.known.words, `about ${method}`) ? this.known.words[`about ${method}`] : "";
    const row = make(
      "li",
      { class: problem ? "refused" : "answered" },
      make("p", {}, make("b", {}, this.say(from)), " ", make("code", {}, visible(cut(name, 100)))),
      about ? make("p", { class: "aside" }, about) : null,
      problem ? make("p", { class: "problem warning" }, problem) : null,
      make("pre", { class: "wire", tabindex: 0 }, visible(cut(text, SHOWN))),
    );
    this.piece("messages").append(row);
    return row;
  }
}

/** @param {unknown} value @returns {value is Record<string, any>} */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param {unknown} value @returns {value is Message} */
function isMessage(value) {
  return isObject(value) && value.jsonrpc === "2.0";
}

/** @param {unknown} value */
function isId(value) {
  return typeof value === "string" || typeof value === "number";
}

/** @param {string} text @returns {any} */
function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A value that came as a clone, as JSON: "" for one that is too long, null for what is none. @param {unknown} value */
function written(value) {
  let left = LONGEST; // a small clone may be larger than the memory as JSON: one array in it many times, or one with gaps
  try {
    const text = JSON.stringify(value, (key, one) => {
      left -= key.length + (typeof one === "string" ? one.length : 1);
      const isPlain = typeof one !== "object" || one === null || Array.isArray(one) || Object.getPrototypeOf(one) === Object.prototype;
      if (left < 0 || !isPlain) throw new TypeError();
      return one;
    }) ?? "undefined";
    return text.length > LONGEST ? "" : text;
  } catch {
    return left < 0 ? "" : null; // a buffer or a map, a circle, a BigInt, or deeper than the stack
  }
}

/** @param {string} text @param {number} most */
function cut(text, most) {
  return text.length > most ? `${text.slice(0, most)} …` : text;
}

customElements.define("app-preview", AppPreview);

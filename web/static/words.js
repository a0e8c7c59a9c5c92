// The sentences of this page's language, and how what came over the wire is shown.

import { make, maybe } from "./dom.js";

const block = maybe("words");
/** @type {Map<string, string>} */
const sentences = new Map(Object.entries(block ? JSON.parse(block.textContent ?? "{}") : {}));

/** @param {string} code @param {Record<string, any>} [fillings] */
export function say(code, fillings = {}) {
  const singular = fillings.count === 1 ? sentences.get(`${code} one`) : undefined;
  const sentence = singular ?? sentences.get(code) ?? code;
  return sentence.replace(/\{(\w+)\}/g, (whole, name) => fillings[name] ?? whole);
}

// What came over the wire must not act on the screen: the same characters as protocol/json/jsonrpc.py.
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}\u{e0100}-\u{e01ef}]|[\ud800-\udfff]/gu;

/** @param {string} text */
export function visible(text) {
  return text.replace(INVISIBLE, (found) =>
    `⟦U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟧`);
}

const said = maybe("said");

/** @param {string} code @param {Record<string, any>} [fillings] @param {string} [key] of the request that it is about */
export function tell(code, fillings, key) {
  const line = make("p", { "data-key": key }, say(code, fillings));
  said?.append(line);
  setTimeout(() => line.remove(), code === "failed" ? 10_000 : 5000);
}

/** Copy a text. A page that came over a plain network has no clipboard of its own. @param {string} text */
export async function copy(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
  } else {
    document.addEventListener("copy", (event) => {
      event.clipboardData?.setData("text/plain", text);
      event.preventDefault();
    }, { once: true });
    document.execCommand("copy");
  }
  tell("copied");
}

/** @param {unknown} error */
export function tellFailed(error) {
  // A browser words in its own language that nobody answers.
  const why = error instanceof TypeError ? say("nodesk") : error instanceof Error ? error.message : String(error);
  tell("failed", { why });
}

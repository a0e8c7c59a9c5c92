// The sentences of this page's language, and how what came over the wire is shown.

import { make, maybe, quoted } from "./dom.js";

const block = maybe("words");
/** @type {Map<string, string>} */
const sentences = new Map(Object.entries(block ? JSON.parse(block.textContent ?? "{}") : {}));

/** @param {string} code @param {Record<string, any>} [fillings] */
export function say(code, fillings = {}) {
  const singular = fillings.count === 1 ? sentences.get(`${code} one`) : undefined;
  const sentence = singular ?? sentences.get(code) ?? code;
  return sentence.replace(/\{(\w+)\}/g, (whole, name) => fillings[name] ?? whole);
}

// What came over the wire must not act on the screen: the same characters as protocol/json/visible.py. An emoji is whole.
const EMOJI = String.raw`\p{Extended_Pictographic}\p{Emoji_Modifier}?\ufe0f?`;
const UNDRAWN = new RegExp(String.raw`(${EMOJI}(?:\u200d${EMOJI})*|[#*0-9]\ufe0f\u20e3|[\n\t])|[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]`, "gu");

/** @param {string} text */
export function visible(text) {
  return text.replace(UNDRAWN, (found, /** @type {string | undefined} */ drawn) =>
    drawn ?? `⟦U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟧`);
}

const said = maybe("said");

/** @param {string} code @param {Record<string, any>} [fillings] @param {string} [key] of the request that it is about */
export function tell(code, fillings, key) {
  const line = make("p", { "data-key": key }, ...quoted(say(code, fillings)));
  line.addEventListener("click", () => line.remove());
  said?.append(line);
  if (said?.children[2]) said.children[0].remove(); // more would cover what they are about
  setTimeout(() => line.remove(), code === "failed" ? 10_000 : 5000);
}

/** Copy a text. A page over plain HTTP has no clipboard. @param {string} text */
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

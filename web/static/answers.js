// Answers as JSON text: which kind one is, what is in it, and how a message is made around a body.

import { drop, itemsAt, layOut, put, stringAt, textAt } from "./jsontext.js";
import { find, parse } from "./jsontree.js";

export const TEXT_PATH = ["result", "content", 0, "text"];
const FLAG_PATH = ["result", "isError"];

/** @param {string} text */
export function kindOf(text) {
  const root = parse(text);
  if (find(root, ["error"])) return "error";
  if (!find(root, ["result"])) return null;
  return find(root, FLAG_PATH)?.type === "true" ? "tool error" : "result";
}

/** Whether the answer is one text for the model, which is what the text view can show. @param {string} text */
export function isOneText(text) {
  return itemsAt(text, ["result", "content"])?.length === 1 && stringAt(text, TEXT_PATH) !== null;
}

// Say of a result whether the tool failed; a result that never spoke of it goes on saying nothing.
/** @param {Island} facts @param {string} text @param {boolean} failed */
export function flagged(facts, text, failed) {
  if ((textAt(text, FLAG_PATH) === "true") === failed) return text;
  const had = failed || textAt(facts.template, FLAG_PATH) !== null;
  return had ? put(text, FLAG_PATH, String(failed)) : drop(text, FLAG_PATH);
}

/** @param {Island} facts @param {string} form @param {string} body */
export function messageOf(facts, form, body) {
  return layOut(`{"jsonrpc":"2.0","id":${facts.id},"${form}":${body}}`);
}

/** @param {Island} facts */
export function emptyError(facts) {
  return messageOf(facts, "error", '{"code":-32602,"message":""}');
}

// Change one place of a JSON text and leave every other character as it was typed.

import { find, parse } from "./jsontree.js";

/** @param {string} text @param {Path} path */
export function textAt(text, path) {
  const node = find(parse(text), path);
  return node && text.slice(node.start, node.end);
}

// The string at a path, or null when there is none.
/** @param {string} text @param {Path} path */
export function stringAt(text, path) {
  const node = find(parse(text), path);
  return node?.type === "string" ? JSON.parse(text.slice(node.start, node.end)) : null;
}

/** The JSON Pointer of a path. @param {Path} path */
export function pointerOf(path) {
  return path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** @param {string} pointer a JSON Pointer */
export function steps(pointer) {
  return pointer.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

// Put a value (JSON text) at a path; what is missing on the way is made.
/** @param {string} text @param {Path} path @param {string} json */
export function put(text, path, json) {
  const root = parse(text);
  if (!root) return text;
  let depth = path.length;
  while (depth > 0 && !find(root, path.slice(0, depth))) depth -= 1;
  const node = /** @type {JsonNode} */ (find(root, path.slice(0, depth)));
  if (depth === path.length) {
    return text.slice(0, node.start) + indented(json, indentAt(text, node.start)) + text.slice(node.end);
  }
  const rest = path.slice(depth);
  let made = json;
  for (const step of rest.slice(1).reverse()) {
    made = typeof step === "number" ? `[\n  ${indented(made, "  ")}\n]` : `{\n  ${JSON.stringify(step)}: ${indented(made, "  ")}\n}`;
  }
  return add(text, node, rest[0], made);
}

/** @param {string} text @param {JsonNode} node @param {string | number} step @param {string} json */
function add(text, node, step, json) {
  const parts = node.type === "object" ? node.members.map((one) => one.value) : itemsOf(node);
  if (!parts) return text;
  const outer = indentAt(text, node.start);
  const inner = `${outer}  `;
  const name = node.type === "object" ? `${JSON.stringify(step)}: ` : "";
  const line = `\n${inner}${name}${indented(json, inner)}`;
  if (!parts.length) return `${text.slice(0, node.start + 1)}${line}\n${outer}${text.slice(node.end - 1)}`;
  const last = parts[parts.length - 1].end;
  return `${text.slice(0, last)},${line}${text.slice(last)}`;
}

/** @param {JsonNode} node */
function itemsOf(node) {
  return node.type === "array" ? node.items : null;
}

/** @param {string} text @param {Path} path @param {string} json */
export function append(text, path, json) {
  const node = find(parse(text), path);
  return put(text, [...path, node?.type === "array" ? node.items.length : 0], json);
}

/** Take the member or item at a path out, with one comma. @param {string} text @param {Path} path */
export function drop(text, path) {
  const parent = find(parse(text), path.slice(0, -1));
  const last = path[path.length - 1];
  if (!parent) return text;
  const places = parent.type === "object"
    ? parent.members.map((one) => ({ is: one.key === last, start: one.keyStart, end: one.value.end }))
    : (itemsOf(parent) ?? []).map((one, at) => ({ is: at === last, start: one.start, end: one.end }));
  const at = places.findLastIndex((place) => place.is);
  if (at < 0) return text;
  if (places.length === 1) return text.slice(0, parent.start + 1) + text.slice(parent.end - 1);
  if (at + 1 < places.length) return text.slice(0, places[at].start) + text.slice(places[at + 1].start);
  return text.slice(0, places[at - 1].end) + text.slice(places[at].end);
}

/** Without the white space outside strings: how it goes on the wire. @param {string} text */
export function compact(text) {
  return text.replace(/("(?:[^"\\]|\\.)*")|[ \t\r\n]+/g, (_, string) => string ?? "");
}

/** @param {string} text */
export function layOut(text) {
  const node = parse(text);
  return node ? laid(text, node, "") : text;
}

/** @param {string} text @param {JsonNode} node @param {string} indent @returns {string} */
function laid(text, node, indent) {
  const inner = `${indent}  `;
  const parts = node.type === "object"
    ? node.members.map((one) => `${text.slice(one.keyStart, one.keyEnd)}: ${laid(text, one.value, inner)}`)
    : itemsOf(node)?.map((one) => laid(text, one, inner));
  if (!parts) return text.slice(node.start, node.end);
  const [open, close] = node.type === "object" ? "{}" : "[]";
  return parts.length ? `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}` : open + close;
}

/** @param {string} text @param {number} at */
function indentAt(text, at) {
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

/** @param {string} json @param {string} indent */
function indented(json, indent) {
  return json.replaceAll("\n", `\n${indent}`);
}

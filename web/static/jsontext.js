// JSON as it was typed: where each value stands, and how one place changes while every other character stays.

/** @param {string} text @param {Path} path */
export function textAt(text, path) {
  const node = find(parse(text), path);
  return node && text.slice(node.start, node.end);
}

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
  const { parts } = node;
  if (!parts) return text;
  const outer = indentAt(text, node.start);
  const inner = `${outer}  `;
  const name = node.type === "object" ? `${JSON.stringify(step)}: ` : "";
  const line = `\n${inner}${name}${indented(json, inner)}`;
  if (!parts.length) return `${text.slice(0, node.start + 1)}${line}\n${outer}${text.slice(node.end - 1)}`;
  const last = parts[parts.length - 1].value.end;
  return `${text.slice(0, last)},${line}${text.slice(last)}`;
}

/** @param {string} text @param {Path} path */
export function itemsAt(text, path) {
  const node = find(parse(text), path);
  return node?.type === "array" ? node.parts : null;
}

// Put a value behind those of a list. One value in the place of a list becomes the first of it.
/** @param {string} text @param {Path} path @param {string} json */
export function append(text, path, json) {
  const [one, items] = [textAt(text, path), itemsAt(text, path)];
  return one && !items ? put(text, path, layOut(`[${one},${json}]`)) : put(text, [...path, items?.length ?? 0], json);
}

/** Take the member or item at a path out, with one comma. @param {string} text @param {Path} path */
export function drop(text, path) {
  const parent = find(parse(text), path.slice(0, -1));
  const parts = parent?.parts ?? [];
  const at = parts.findLastIndex((one) => String(one.key) === String(path.at(-1)));
  if (!parent || at < 0) return text;
  if (parts.length === 1) return text.slice(0, parent.start + 1) + text.slice(parent.end - 1);
  if (at + 1 < parts.length) return text.slice(0, parts[at].start) + text.slice(parts[at + 1].start);
  return text.slice(0, parts[at - 1].value.end) + text.slice(parts[at].value.end);
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
  if (!node.parts) return text.slice(node.start, node.end);
  const parts = node.parts.map(({ start, value }) => text.slice(start, value.start).replace(/\s*:\s*$/, ": ") + laid(text, value, inner));
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

const TOKEN = /[ \t\r\n]*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null))/y;
const DEEPEST = 200;

// The place of each value in a text, null when it is no JSON.
/** @param {string} text @returns {JsonNode | null} */
export function parse(text) {
  let at = 0;

  function next() {
    TOKEN.lastIndex = at;
    const [all, mark, string, number, word] = TOKEN.exec(text) ?? fail();
    at = TOKEN.lastIndex;
    const type = mark ?? (string ? "string" : number ? "number" : word);
    return { type, start: at - all.trimStart().length, end: at };
  }

  /** @returns {never} */
  function fail() {
    throw new SyntaxError(String(at));
  }

  /** @param {{type: string, start: number, end: number}} token @param {number} depth @returns {any} */
  function value(token, depth) {
    const { type, start } = token;
    if (depth > DEEPEST || "}],:".includes(type)) fail();
    if (type !== "{" && type !== "[") return token;
    const [kind, close] = type === "{" ? ["object", "}"] : ["array", "]"];
    /** @type {JsonPart[]} */
    const parts = [];
    let one = next();
    while (one.type !== close || parts.length) {
      const key = kind === "object" ? name(one) : parts.length;
      parts.push({ key, start: one.start, value: value(kind === "object" ? next() : one, depth + 1) });
      one = next();
      if (one.type === close) break;
      if (one.type !== ",") fail();
      one = next();
    }
    return { type: kind, start, end: at, parts };
  }

  /** @param {{type: string, start: number, end: number}} token @returns {string} */
  function name({ type, start, end }) {
    if (type !== "string" || next().type !== ":") fail();
    return JSON.parse(text.slice(start, end));
  }

  try {
    const root = value(next(), 0);
    return /^[ \t\r\n]*$/.test(text.slice(at)) ? root : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

// Follow a path of names and indexes. Of two members with one name the last counts, as everywhere.
/** @param {JsonNode | null} node @param {Path} path */
export function find(node, path) {
  let here = node;
  for (const step of path) here = here?.parts?.findLast((one) => String(one.key) === String(step))?.value ?? null;
  return here;
}

// The desk counts characters, JavaScript counts UTF-16 units: 😀 is one there and two here.
/** @param {string} text @param {number} characters */
export function unitsAt(text, characters) {
  if (!/[\ud800-\udfff]/.test(text)) return characters;
  let units = 0;
  for (const character of text) {
    if (characters-- <= 0) break;
    units += character.length;
  }
  return units;
}

// Change one place of a JSON text and leave every other character as it was typed: 1.0, big numbers,
// the order of names, white space. JSON.parse and JSON.stringify would lose all of that.

const SPACE = /[ \t\r\n]*/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const DEEPEST = 200;

// Returns the tree of a text with the place of each value, or null when it is no JSON.
export function parse(text) {
  const reader = { text, at: 0 };
  try {
    skip(reader);
    const node = value(reader, 0);
    skip(reader);
    return reader.at === text.length ? node : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function skip(reader) {
  SPACE.lastIndex = reader.at;
  SPACE.exec(reader.text);
  reader.at = SPACE.lastIndex;
}

function take(reader, pattern) {
  pattern.lastIndex = reader.at;
  if (!pattern.test(reader.text)) throw new SyntaxError(String(reader.at));
  const start = reader.at;
  reader.at = pattern.lastIndex;
  return start;
}

function value(reader, depth) {
  if (depth > DEEPEST) throw new SyntaxError("depth");
  const first = reader.text[reader.at];
  if (first === "{") return object(reader, depth);
  if (first === "[") return list(reader, depth);
  if (first === '"') return { type: "string", start: take(reader, STRING), end: reader.at };
  for (const word of ["true", "false", "null"]) {
    if (reader.text.startsWith(word, reader.at)) {
      reader.at += word.length;
      return { type: word, start: reader.at - word.length, end: reader.at };
    }
  }
  return { type: "number", start: take(reader, NUMBER), end: reader.at };
}

function object(reader, depth) {
  const node = { type: "object", start: reader.at, end: 0, members: [] };
  each(reader, "}", () => {
    const keyStart = take(reader, STRING);
    const keyEnd = reader.at;
    const key = JSON.parse(reader.text.slice(keyStart, keyEnd));
    skip(reader);
    expect(reader, ":");
    skip(reader);
    node.members.push({ key, keyStart, keyEnd, value: value(reader, depth + 1) });
  });
  node.end = reader.at;
  return node;
}

function list(reader, depth) {
  const node = { type: "array", start: reader.at, end: 0, items: [] };
  each(reader, "]", () => node.items.push(value(reader, depth + 1)));
  node.end = reader.at;
  return node;
}

function each(reader, close, one) {
  reader.at += 1;
  skip(reader);
  if (reader.text[reader.at] === close) {
    reader.at += 1;
    return;
  }
  for (;;) {
    one();
    skip(reader);
    if (reader.text[reader.at] === close) {
      reader.at += 1;
      return;
    }
    expect(reader, ",");
    skip(reader);
  }
}

function expect(reader, character) {
  if (reader.text[reader.at] !== character) throw new SyntaxError(String(reader.at));
  reader.at += 1;
}

// Follow a path of names and indexes. Of two members with one name the last counts, as everywhere.
export function find(node, path) {
  let here = node;
  for (const step of path) {
    if (!here) return null;
    if (here.type === "object") here = here.members.findLast((one) => one.key === step)?.value;
    else if (here.type === "array") here = here.items[step];
    else return null;
  }
  return here ?? null;
}

export function textAt(text, path) {
  const node = find(parse(text), path);
  return node && text.slice(node.start, node.end);
}

// The string at a path, or null when there is none.
export function stringAt(text, path) {
  const node = find(parse(text), path);
  return node?.type === "string" ? JSON.parse(text.slice(node.start, node.end)) : null;
}

export function steps(pointer) {
  return pointer.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

// Put a value (JSON text) at a path; what is missing on the way is made.
export function put(text, path, json) {
  const root = parse(text);
  if (!root) return text;
  let depth = path.length;
  while (depth > 0 && !find(root, path.slice(0, depth))) depth -= 1;
  const node = find(root, path.slice(0, depth));
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

function add(text, node, step, json) {
  const parts = node.type === "object" ? node.members.map((one) => one.value) : node.items;
  if (!parts) return text;
  const outer = indentAt(text, node.start);
  const inner = `${outer}  `;
  const name = node.type === "object" ? `${JSON.stringify(step)}: ` : "";
  const line = `\n${inner}${name}${indented(json, inner)}`;
  if (!parts.length) return `${text.slice(0, node.start + 1)}${line}\n${outer}${text.slice(node.end - 1)}`;
  const last = parts[parts.length - 1].end;
  return `${text.slice(0, last)},${line}${text.slice(last)}`;
}

export function append(text, path, json) {
  const node = find(parse(text), path);
  return node?.type === "array" ? add(text, node, 0, json) : put(text, path, `[\n  ${indented(json, "  ")}\n]`);
}

// Take the member or item at a path out, with one comma.
export function drop(text, path) {
  const parent = find(parse(text), path.slice(0, -1));
  const last = path[path.length - 1];
  if (!parent) return text;
  const places = parent.type === "object"
    ? parent.members.map((one) => ({ is: one.key === last, start: one.keyStart, end: one.value.end }))
    : (parent.items ?? []).map((one, at) => ({ is: at === last, start: one.start, end: one.end }));
  const at = places.findLastIndex((place) => place.is);
  if (at < 0) return text;
  if (places.length === 1) return text.slice(0, parent.start + 1) + text.slice(parent.end - 1);
  if (at + 1 < places.length) return text.slice(0, places[at].start) + text.slice(places[at + 1].start);
  return text.slice(0, places[at - 1].end) + text.slice(places[at].end);
}

// Without the white space outside strings: how it goes on the wire.
export function compact(text) {
  return text.replace(/("(?:[^"\\]|\\.)*")|[ \t\r\n]+/g, (_, string) => string ?? "");
}

export function layOut(text) {
  const node = parse(text);
  return node ? laid(text, node, "") : text;
}

function laid(text, node, indent) {
  const inner = `${indent}  `;
  const parts = node.type === "object"
    ? node.members.map((one) => `${text.slice(one.keyStart, one.keyEnd)}: ${laid(text, one.value, inner)}`)
    : node.items?.map((one) => laid(text, one, inner));
  if (!parts) return text.slice(node.start, node.end);
  const [open, close] = node.type === "object" ? "{}" : "[]";
  return parts.length ? `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}` : open + close;
}

function indentAt(text, at) {
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  return /^[ \t]*/.exec(line)[0];
}

function indented(json, indent) {
  return json.replaceAll("\n", `\n${indent}`);
}

// The desk counts characters, JavaScript counts UTF-16 units: 😀 is one there and two here.
export function unitsAt(text, characters) {
  if (!/[\ud800-\udfff]/.test(text)) return characters;
  let units = 0;
  for (const character of text) {
    if (characters-- <= 0) break;
    units += character.length;
  }
  return units;
}

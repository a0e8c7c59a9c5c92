// @ts-check
// Where each value of a JSON text stands. JSON.parse would lose how it was typed: 1.0, big numbers,
// the order of names, white space.

const SPACE = /[ \t\r\n]*/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORDS = /** @type {const} */ (["true", "false", "null"]);
const DEEPEST = 200;

// Return the tree of a text with the place of each value, or null when it is no JSON.
/** @param {string} text */
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

/** @param {Reader} reader */
function skip(reader) {
  SPACE.lastIndex = reader.at;
  SPACE.exec(reader.text);
  reader.at = SPACE.lastIndex;
}

/** @param {Reader} reader @param {RegExp} pattern */
function take(reader, pattern) {
  pattern.lastIndex = reader.at;
  if (!pattern.test(reader.text)) throw new SyntaxError(String(reader.at));
  const start = reader.at;
  reader.at = pattern.lastIndex;
  return start;
}

/** @param {Reader} reader @param {number} depth @returns {JsonNode} */
function value(reader, depth) {
  if (depth > DEEPEST) throw new SyntaxError("depth");
  const first = reader.text[reader.at];
  if (first === "{") return object(reader, depth);
  if (first === "[") return list(reader, depth);
  if (first === '"') return { type: "string", start: take(reader, STRING), end: reader.at };
  for (const word of WORDS) {
    if (reader.text.startsWith(word, reader.at)) {
      reader.at += word.length;
      return { type: word, start: reader.at - word.length, end: reader.at };
    }
  }
  return { type: "number", start: take(reader, NUMBER), end: reader.at };
}

/** @param {Reader} reader @param {number} depth */
function object(reader, depth) {
  /** @type {ObjectNode} */
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

/** @param {Reader} reader @param {number} depth */
function list(reader, depth) {
  /** @type {ArrayNode} */
  const node = { type: "array", start: reader.at, end: 0, items: [] };
  each(reader, "]", () => node.items.push(value(reader, depth + 1)));
  node.end = reader.at;
  return node;
}

/** @param {Reader} reader @param {string} close @param {() => void} one */
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

/** @param {Reader} reader @param {string} character */
function expect(reader, character) {
  if (reader.text[reader.at] !== character) throw new SyntaxError(String(reader.at));
  reader.at += 1;
}

// Follow a path of names and indexes. Of two members with one name the last counts, as everywhere.
/** @param {JsonNode | null} node @param {Path} path */
export function find(node, path) {
  /** @type {JsonNode | null | undefined} */
  let here = node;
  for (const step of path) {
    if (!here) return null;
    if (here.type === "object") here = here.members.findLast((one) => one.key === step)?.value;
    else if (here.type === "array") here = here.items[Number(step)];
    else return null;
  }
  return here ?? null;
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

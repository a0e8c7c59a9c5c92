// Where each value of a JSON text stands. JSON.parse would lose how it was typed.

const TOKEN = /[ \t\r\n]*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null))/y;
const DEEPEST = 200;

// Return the tree of a text with the place of each value, or null when it is no JSON.
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
    const [inObject, close] = type === "{" ? [true, "}"] : [false, "]"];
    const parts = [];
    let one = next();
    while (one.type !== close || parts.length) {
      parts.push(inObject ? member(one, depth) : value(one, depth + 1));
      one = next();
      if (one.type === close) break;
      if (one.type !== ",") fail();
      one = next();
    }
    return inObject ? { type: "object", start, end: at, members: parts } : { type: "array", start, end: at, items: parts };
  }

  /** @param {{type: string, start: number, end: number}} token @param {number} depth */
  function member({ type, start, end }, depth) {
    if (type !== "string" || next().type !== ":") fail();
    const key = JSON.parse(text.slice(start, end));
    return { key, keyStart: start, keyEnd: end, value: value(next(), depth + 1) };
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

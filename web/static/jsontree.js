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

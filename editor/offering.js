// What can be written where the cursor is: names of members and the few allowed values, from a JSON
// Schema that the desk gives. It offers only; what is wrong says the check alone.

import { autocompletion } from "@codemirror/autocomplete";

const TOKEN = /\s*(?:([{}[\],:])|("(?:[^"\\\n]|\\.)*"?)|([^\s{}[\],:"]+))/y;
const DEEPEST = 30;

// Where the end of a text is, in what may be no JSON yet: the objects and lists around it, and the
// word that is being typed.
export function placeOf(text) {
  const around = [];
  let word = null;
  for (TOKEN.lastIndex = 0; ;) {
    const start = TOKEN.lastIndex;
    const found = TOKEN.exec(text);
    if (!found) return { around, word };
    const [all, mark, string, other] = found;
    const top = around.at(-1);
    const raw = string ?? other;
    if (mark === "{") around.push({ known: {}, name: null, isValue: false });
    else if (mark === "[") around.push({ at: 0 });
    else if (mark === "}" || mark === "]") around.pop();
    else if (mark === ":" && top) top.isValue = true;
    else if (mark === "," && top) Object.assign(top, "at" in top ? { at: top.at + 1 } : { name: null, isValue: false });
    else if (raw && TOKEN.lastIndex === text.length && !/^".*"$/s.test(raw)) word = { raw, from: start + all.length - raw.length };
    else if (raw && top && !("at" in top)) note(top, raw);
  }
}

// The names that the object goes on with, behind the place.
function namesBehind(text) {
  const names = new Set();
  let [depth, last] = [0, ""];
  for (TOKEN.lastIndex = 0; ;) {
    const [, mark = "", string = ""] = TOKEN.exec(text) ?? [, "}"];
    if (mark === "{" || mark === "[") depth += 1;
    else if ((mark === "}" || mark === "]") && (depth -= 1) < 0) return names;
    else if (mark === ":" && depth === 0) names.add(last);
    last = string.slice(1, -1);
  }
}

function note(top, raw) {
  let value = raw;
  try { value = JSON.parse(raw); } catch { /* words without quotes: they stay as they are */ }
  if (top.isValue) top.known[top.name] = value;
  else { top.name = String(value); top.known[top.name] ??= undefined; }
}

// The schemas that hold at a place, with all they refer to; arms that other members rule out are left out.
function parts(schema, root, known, depth = 0) {
  if (!schema || typeof schema !== "object" || depth > DEEPEST) return [];
  const found = [schema];
  if (schema.$ref) {
    const steps = String(schema.$ref).split("/").slice(1);
    found.push(...parts(steps.reduce((here, step) => here?.[step], root), root, known, depth + 1));
  }
  for (const arm of [...schema.allOf ?? [], ...schema.anyOf ?? [], ...schema.oneOf ?? []]) {
    const inner = parts(arm, root, known, depth + 1);
    const fits = ({ properties = {} }) => Object.entries(known).every(([name, value]) =>
      value === undefined || !("const" in (properties[name] ?? {})) || properties[name].const === value);
    if (inner.every(fits)) found.push(...inner);
  }
  return found;
}

// What a schema offers at the end of a text: `names` of members, else `values`.
export function offeredAt(text, root, behind = "") {
  const { around, word } = placeOf(text);
  let schemas = [root];
  for (const frame of around.slice(0, -1)) schemas = inside(schemas, root, frame);
  const top = around.at(-1);
  if (!top) return { names: [], values: [], word };
  if (!("at" in top) && !top.isValue) {
    const here = schemas.flatMap((one) => parts(one, root, top.known));
    const names = new Map();
    const there = namesBehind(behind);
    for (const { properties = {}, required = [] } of here) {
      for (const [name, schema] of Object.entries(properties)) {
        if (!(name in top.known) && !there.has(name)) names.set(name, { name, needed: required.includes(name) || names.get(name)?.needed, about: schema?.description });
      }
    }
    return { names: [...names.values()], values: [], word };
  }
  const here = inside(schemas, root, top).flatMap((one) => parts(one, root, {}));
  const values = here.flatMap((one) => [...one.enum ?? [], ..."const" in one ? [one.const] : [], ...one.type === "boolean" ? [true, false] : []]);
  return { names: [], values: [...new Set(values.map((one) => JSON.stringify(one)))], word };
}

function inside(schemas, root, { known = {}, name, at }) {
  const others = { ...known, [name]: undefined }; // what is being written rules nothing out
  return schemas.flatMap((one) => parts(one, root, others)).flatMap((one) => (
    at === undefined ? [(one.properties && Object.hasOwn(one.properties, name) ? one.properties[name] : one.additionalProperties)] : [one.items]
  )).filter(Boolean);
}

// The extension of the editor. `schema` gives the schema once, or null; it is asked for when one types.
export function offering(schema) {
  let asked = null;
  const source = async (context) => {
    const { pos, state, explicit } = context;
    const text = state.sliceDoc(0, pos);
    if (!explicit && !placeOf(text).word) return null;
    const root = (await (asked ??= schema().catch(() => null)))?.schema;
    if (!root || context.aborted) return null;
    const { names, values, word } = offeredAt(text, root, state.sliceDoc(pos));
    const quoted = word?.raw.startsWith('"') ? 1 : 0;
    const from = (word?.from ?? pos) + quoted;
    const put = (written) => (view, _completion, start, end) => {
      const rest = view.state.sliceDoc(end, end + 1) === '"' ? 1 : 0;
      const next = view.state.sliceDoc(end + rest, end + rest + 20);
      const insert = /^\s*:/.test(next) ? written.replace(/: $/, "") : written;
      view.dispatch({
        changes: { from: start - quoted, to: end + rest, insert },
        selection: { anchor: start - quoted + insert.length }, userEvent: "input.complete",
      });
    };
    const options = [
      ...names.map(({ name, needed, about }) => ({ label: name, detail: needed ? "*" : undefined, info: about, boost: needed ? 1 : 0, apply: put(`${JSON.stringify(name)}: `) })),
      ...values.map((value) => ({ label: String(JSON.parse(value)), apply: put(value) })),
    ];
    return options.length ? { from, options, validFor: /^[\w/.$-]*$/ } : null;
  };
  // Nothing is chosen by itself: Enter goes to the next line until an arrow key has chosen.
  return autocompletion({ override: [source], selectOnOpen: false, interactionDelay: 0, icons: false });
}

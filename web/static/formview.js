// A form made from a JSON Schema, for the parts of it that people fill in. Each field changes its own
// place of the document and nothing else; what no field can show stays a piece of JSON.
// The names come from the wire: they are only ever text and steps of a path.

import { append, compact, drop, find, parse, put, steps, textAt } from "./jsontext.js";
import { make, say, visible } from "./words.js";

const DEEPEST = 6;
const MOST_FIELDS = 200;

export class FormView {
  constructor(place, facts, onChange) {
    this.place = place;
    this.onChange = onChange;
    this.form = facts.form;
    this.mirror = facts.mirror;
    this.placeholders = facts.placeholders;
    this.path = this.form ? steps(this.form.pointer) : [];
    this.text = "";
    this.shape = "";
    this.mirrored = null;
  }

  // Show another part of the document, by another schema.
  become(form) {
    this.form = form;
    this.path = form ? steps(form.pointer) : [];
    this.shape = "";
  }

  // The cursor goes to what is to be written: a field that must be filled in and is not, else the
  // long text of the only item of a list, else the first field of all.
  focus() {
    const fields = [...this.place.querySelectorAll("input, textarea, select, button")];
    const needed = fields.find((one) => one.getAttribute("aria-required") === "true" && one.value === "");
    const items = this.place.querySelectorAll(".form-item");
    const long = items.length === 1 ? items[0].querySelector("textarea:not(.json)") : null;
    (needed ?? (long?.value === "" ? long : fields[0]))?.focus();
  }

  // Show a document. The fields are made anew only when there are others than before.
  fill(text) {
    const instead = document.getElementById("form-instead");
    const root = parse(text);
    instead.hidden = Boolean(this.form && root);
    this.place.hidden = !instead.hidden;
    if (!instead.hidden) {
      instead.textContent = say(this.form ? "tojson" : "noform");
      return;
    }
    this.text = text;
    this.count = 0;
    this.ids = 0;
    const fields = this.build(this.form.schema, this.path, root, 0);
    const shape = outline(fields);
    const focused = this.place.contains(document.activeElement);
    if (focused && shape === this.shape) return; // what is being typed in is already right
    this.shape = shape;
    fields.classList.add("form-top");
    this.place.replaceChildren(fields);
  }

  write(path, json) {
    const text = json === null ? drop(this.text, path) : put(this.text, path, json);
    this.text = this.reflect(text);
    this.onChange(this.text);
  }

  // Structured content is also given to the model as text: the same value, written as JSON.
  reflect(text) {
    if (!this.mirror) return text;
    const at = ["result", "content", 0, "text"];
    const shown = textAt(text, at);
    const written = textAt(text, this.path);
    const own = shown === null || shown === this.mirrored || shown === '""'
      || this.placeholders.some((one) => shown === JSON.stringify(one)) || shown === JSON.stringify(compact(textAt(this.text, this.path) ?? ""));
    if (!own || written === null) return text;
    this.mirrored = JSON.stringify(compact(written));
    const content = find(parse(text), ["result", "content"]);
    if (content?.type === "array" && content.items.length === 0) {
      return put(text, ["result", "content"], `[\n  { "type": "text", "text": ${this.mirrored} }\n]`);
    }
    return put(text, at, this.mirrored);
  }

  again() {
    this.shape = "";
    document.activeElement?.blur();
    this.fill(this.text);
  }

  // -- fields ---------------------------------------------------------------------------------

  build(schema, path, root, depth) {
    this.count += 1;
    const kind = kindOf(schema);
    if (depth > DEEPEST || this.count > MOST_FIELDS || !kind) return this.json(path, root);
    const there = find(root, path);
    const fits = !there || { object: "object", array: "array" }[kind] === undefined || there.type === kind;
    if (!fits) return this.json(path, root);
    if (kind === "object") return this.group(schema, path, root, depth);
    if (kind === "array") return this.items(schema, path, root, depth);
    return this.field(schema, kind, path, root);
  }

  group(schema, path, root, depth) {
    const group = make("div", { class: "form-group" });
    const needed = new Set(Array.isArray(schema.required) ? schema.required : []);
    for (const [name, part] of Object.entries(schema.properties ?? {})) {
      if (part && typeof part === "object" && "const" in part) continue; // there is nothing to choose
      group.append(this.row(name, part, [...path, name], root, depth, needed.has(name)));
    }
    return group;
  }

  row(name, schema, path, root, depth, needed) {
    const kind = kindOf(schema);
    const inner = this.build(schema, path, root, depth + 1);
    const label = [visible(name), needed ? make("span", { class: "needed", title: say("needed") }, "*") : null];
    const help = typeof schema?.description === "string" ? make("span", { class: "help" }, visible(schema.description.slice(0, 300))) : null;
    if (kind === "object" || kind === "array") {
      const set = make("fieldset", { class: "form-group" }, make("legend", {}, ...label), help, ...inner.childNodes);
      return set;
    }
    const input = inner.matches?.("input, select, textarea") ? inner : inner.querySelector("input, select, textarea");
    input.id = `field-${(this.ids += 1)}`;
    if (needed) input.setAttribute("aria-required", "true");
    return make("div", { class: "form-row" }, make("label", { for: input.id }, ...label), inner, help);
  }

  items(schema, path, root, depth) {
    const list = make("div", { class: "form-group" });
    const there = find(root, path);
    const item = schema.items && !Array.isArray(schema.items) ? schema.items : {};
    (there?.items ?? []).forEach((_, at) => {
      const inner = this.build(item, [...path, at], root, depth + 1);
      inner.classList?.remove("form-group");
      list.append(make("fieldset", { class: "form-group form-item" }, make("legend", {}, String(at + 1)), inner,
        make("div", {}, make("button", { type: "button", class: "small", on: { click: () => this.act(() => this.write([...path, at], null)) } }, say("remove")))));
    });
    list.append(make("div", {}, make("button", { type: "button", class: "small", on: {
      click: () => this.act(() => {
        this.text = append(this.text, path, skeleton(item));
        this.text = this.reflect(this.text);
        this.onChange(this.text);
      }),
    } }, `+ ${say("add")}`)));
    return list;
  }

  act(change) {
    change();
    this.again();
  }

  field(schema, kind, path, root) {
    const raw = textOf(this.text, find(root, path));
    if (Array.isArray(schema.enum)) return this.choice(schema.enum.map((one) => JSON.stringify(one)), raw, path);
    if (kind === "boolean") return this.choice(["true", "false"], raw, path);
    if (kind === "string") return this.string(schema, raw, path);
    const input = make("input", { inputmode: kind === "integer" ? "numeric" : "decimal", autocomplete: "off" });
    input.value = raw ?? "";
    // A number stays as it is typed; what is no number is written as text, and the check says so.
    input.addEventListener("input", () => {
      const typed = input.value.trim();
      const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(typed);
      this.write(path, typed === "" ? null : number ? typed : JSON.stringify(typed));
    });
    return input;
  }

  string(schema, raw, path) {
    const value = raw === null ? "" : readString(raw);
    if (value === null) return this.json(path, parse(this.text));
    const long = schema.format === "long" || value.includes("\n") || value.length > 80;
    const input = make(long ? "textarea" : "input", { autocomplete: "off", rows: long ? 3 : null });
    input.value = value;
    input.addEventListener("input", () => this.write(path, JSON.stringify(input.value)));
    return input;
  }

  choice(values, raw, path) {
    const select = make("select", {}, make("option", { value: "" }, say("leave")));
    for (const one of values) {
      const words = { true: say("yes"), false: say("no") }[one] ?? visible(String(JSON.parse(one)));
      select.append(make("option", { value: one, selected: one === raw }, words));
    }
    if (raw !== null && !values.includes(raw)) select.append(make("option", { value: raw, selected: true }, visible(raw)));
    select.addEventListener("change", () => this.write(path, select.value || null));
    return select;
  }

  json(path, root) {
    const raw = textOf(this.text, find(root, path));
    const area = make("textarea", { class: "json", rows: Math.min(8, (raw ?? "").split("\n").length + 1), spellcheck: "false" });
    area.value = dedent(raw ?? "");
    area.addEventListener("input", () => {
      const valid = area.value.trim() === "" || parse(area.value) !== null;
      area.setAttribute("aria-invalid", String(!valid));
      if (valid) this.write(path, area.value.trim() === "" ? null : area.value);
    });
    return area;
  }
}

function kindOf(schema) {
  if (!schema || typeof schema !== "object") return null;
  if (schema.anyOf || schema.oneOf || schema.allOf || schema.$ref) return null;
  const kind = Array.isArray(schema.type) ? schema.type.find((one) => one !== "null") : schema.type;
  if (kind === "object") return schema.properties ? "object" : null;
  if (kind === undefined && Array.isArray(schema.enum)) return "string";
  return ["array", "string", "number", "integer", "boolean"].includes(kind) ? kind : null;
}

function textOf(text, node) {
  return node ? text.slice(node.start, node.end) : null;
}

// A part of a laid out document stands as far left as a document of its own. A line break is never
// inside a string of JSON, so no string changes.
function dedent(raw) {
  const [first, ...rest] = raw.split("\n");
  const margins = rest.filter((line) => line.trim()).map((line) => line.length - line.trimStart().length);
  const margin = margins.length ? Math.min(...margins) : 0;
  return [first, ...rest.map((line) => line.slice(margin))].join("\n");
}

function readString(raw) {
  return raw.startsWith('"') ? JSON.parse(raw) : null;
}

// What a new item of a list starts from: its fixed values, and what it must have, empty.
function skeleton(schema) {
  switch (kindOf(schema)) {
    case "object": {
      const needed = new Set(schema.required ?? []);
      const parts = Object.entries(schema.properties)
        .filter(([name, part]) => needed.has(name) || (part && "const" in part))
        .map(([name, part]) => `  ${JSON.stringify(name)}: ${skeleton(part).replaceAll("\n", "\n  ")}`);
      return parts.length ? `{\n${parts.join(",\n")}\n}` : "{}";
    }
    case "array": return "[]";
    case "string": return Array.isArray(schema.enum) ? JSON.stringify(schema.enum[0]) : '""';
    case "number": case "integer": return "0";
    case "boolean": return "false";
    default:
      if (schema && "const" in schema) return JSON.stringify(schema.const);
      return '{\n  "type": "object"\n}';
  }
}

// Which fields there are, without what is in them.
function outline(element) {
  return [...element.querySelectorAll("label, legend, input, select, textarea")]
    .map((one) => `${one.tagName}${one.matches("label, legend") ? one.textContent : ""}`).join("|");
}

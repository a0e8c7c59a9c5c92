// @ts-check
// The fields of a form, made from a JSON Schema, for the parts of it that people fill in; what no
// field can show stays a piece of JSON. The names come from the wire: they are only ever text and
// steps of a path.

import { button, make } from "./dom.js";
import { kindOf, skeleton } from "./formschema.js";
import { find, parse } from "./jsontree.js";
import { say, visible } from "./words.js";

/** @import { FormView } from "./formview.js" */
/** @import { JsonNode, Path } from "./jsontree.js" */

const DEEPEST = 6;
const MOST_FIELDS = 200;
const LONGEST_HELP = 300;

export class FormFields {
  /**
   * @param {FormView} view
   * @param {string} text
   * @param {JsonNode} root of that text
   */
  constructor(view, text, root) {
    this.view = view;
    this.text = text;
    this.root = root;
    this.count = 0;
    this.ids = 0;
  }

  /**
   * @param {any} schema
   * @param {Path} path
   * @param {number} depth
   * @returns {HTMLElement}
   */
  build(schema, path, depth) {
    this.count += 1;
    const kind = kindOf(schema);
    if (depth > DEEPEST || this.count > MOST_FIELDS || !kind) return this.json(path);
    const there = find(this.root, path);
    if ((kind === "object" || kind === "array") && there && there.type !== kind) return this.json(path);
    if (kind === "object") return this.group(schema, path, depth);
    if (kind === "array") return this.items(schema, path, depth);
    return this.field(schema, kind, path);
  }

  /** @param {any} schema @param {Path} path @param {number} depth */
  group(schema, path, depth) {
    const group = make("div", { class: "form-group" });
    const needed = new Set(Array.isArray(schema.required) ? schema.required : []);
    for (const [name, part] of Object.entries(schema.properties ?? {})) {
      if (part && typeof part === "object" && "const" in part) continue; // there is nothing to choose
      group.append(this.row(name, part, [...path, name], depth, needed.has(name)));
    }
    return group;
  }

  /** @param {string} name @param {any} schema @param {Path} path @param {number} depth @param {boolean} needed */
  row(name, schema, path, depth, needed) {
    const inner = this.build(schema, path, depth + 1);
    const label = [visible(name), needed ? make("span", { class: "needed", title: say("needed") }, "*") : null];
    const help = typeof schema?.description === "string"
      ? make("span", { class: "help" }, visible(schema.description.slice(0, LONGEST_HELP))) : null;
    if (["object", "array"].includes(kindOf(schema) ?? "")) {
      return make("fieldset", { class: "form-group" }, make("legend", {}, ...label), help, ...inner.childNodes);
    }
    inner.id = `field-${(this.ids += 1)}`;
    if (needed) inner.setAttribute("aria-required", "true");
    return make("div", { class: "form-row" }, make("label", { for: inner.id }, ...label), inner, help);
  }

  /** @param {any} schema @param {Path} path @param {number} depth */
  items(schema, path, depth) {
    const list = make("div", { class: "form-group" });
    const there = find(this.root, path);
    const item = schema.items && !Array.isArray(schema.items) ? schema.items : {};
    (there?.type === "array" ? there.items : []).forEach((_, at) => {
      const inner = this.build(item, [...path, at], depth + 1);
      inner.classList.remove("form-group");
      list.append(make("fieldset", { class: "form-group form-item" }, make("legend", {}, String(at + 1)), inner,
        make("div", {}, button(say("remove"), "small", () => this.view.removeItem([...path, at])))));
    });
    list.append(make("div", {}, button(`+ ${say("add")}`, "small", () => this.view.addItem(path, skeleton(item)))));
    return list;
  }

  /** @param {any} schema @param {string} kind @param {Path} path */
  field(schema, kind, path) {
    const raw = this.rawAt(path);
    if (Array.isArray(schema.enum)) return this.choice(schema.enum.map((/** @type {unknown} */ one) => JSON.stringify(one)), raw, path);
    if (kind === "boolean") return this.choice(["true", "false"], raw, path);
    if (kind === "string") return this.string(schema, raw, path);
    const input = make("input", { inputmode: kind === "integer" ? "numeric" : "decimal", autocomplete: "off" });
    input.value = raw ?? "";
    // A number stays as it is typed; what is no number is written as text, and the check says so.
    input.addEventListener("input", () => {
      const typed = input.value.trim();
      const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(typed);
      this.view.write(path, typed === "" ? null : number ? typed : JSON.stringify(typed));
    });
    return input;
  }

  /** @param {any} schema @param {string | null} raw @param {Path} path */
  string(schema, raw, path) {
    if (raw !== null && !raw.startsWith('"')) return this.json(path);
    const value = raw === null ? "" : String(JSON.parse(raw));
    const long = schema.format === "long" || value.includes("\n") || value.length > 80;
    const input = long ? make("textarea", { autocomplete: "off", rows: 3 }) : make("input", { autocomplete: "off" });
    input.value = value;
    input.addEventListener("input", () => this.view.write(path, JSON.stringify(input.value)));
    return input;
  }

  /** @param {string[]} values @param {string | null} raw @param {Path} path */
  choice(values, raw, path) {
    const select = make("select", {}, make("option", { value: "" }, say("leave")));
    /** @type {Record<string, string>} */
    const words = { true: say("yes"), false: say("no") };
    for (const one of values) {
      const label = words[one] ?? visible(String(JSON.parse(one)));
      select.append(make("option", { value: one, selected: one === raw }, label));
    }
    if (raw !== null && !values.includes(raw)) select.append(make("option", { value: raw, selected: true }, visible(raw)));
    select.addEventListener("change", () => this.view.write(path, select.value || null));
    return select;
  }

  /** @param {Path} path */
  json(path) {
    const raw = this.rawAt(path) ?? "";
    const area = make("textarea", { class: "json", rows: Math.min(8, raw.split("\n").length + 1), spellcheck: "false" });
    area.value = dedent(raw);
    area.addEventListener("input", () => {
      const valid = area.value.trim() === "" || parse(area.value) !== null;
      area.setAttribute("aria-invalid", String(!valid));
      if (valid) this.view.write(path, area.value.trim() === "" ? null : area.value);
    });
    return area;
  }

  /** @param {Path} path */
  rawAt(path) {
    const node = find(this.root, path);
    return node && this.text.slice(node.start, node.end);
  }
}

/**
 * A part of a laid out document stands as far left as a document of its own. A line break is never
 * inside a string of JSON, so no string changes.
 *
 * @param {string} raw
 */
function dedent(raw) {
  const [head, ...rest] = raw.split("\n");
  const margins = rest.filter((line) => line.trim()).map((line) => line.length - line.trimStart().length);
  const margin = margins.length ? Math.min(...margins) : 0;
  return [head, ...rest.map((line) => line.slice(margin))].join("\n");
}

/**
 * Which fields there are, without what is in them.
 *
 * @param {HTMLElement} element
 */
export function outline(element) {
  return [...element.querySelectorAll("label, legend, input, select, textarea")]
    .map((one) => `${one.tagName}${one.matches("label, legend") ? one.textContent : ""}`).join("|");
}

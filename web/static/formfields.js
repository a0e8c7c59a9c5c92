// The fields of a form, as the desk describes them; what no field can show stays a piece of JSON.

import { button, make } from "./dom.js";
import { find, parse, pointerOf } from "./jsontext.js";
import { say, visible } from "./words.js";

const MOST_FIELDS = 200;
const PREVIEWED = /^(audio\/|image\/(png|jpe?g|gif|webp)$)/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const LONG = 80; // characters from which on a text gets several lines

export class FormFields {
  /** @param {FormView} view @param {JsonNode} root of what the view reads */
  constructor(view, root) {
    this.view = view;
    this.root = root;
    this.count = 0;
  }

  /** @param {FieldShape} field @param {Path} path @returns {HTMLElement} */
  build(field, path) {
    this.count += 1;
    const there = find(this.root, path);
    if (this.count > MOST_FIELDS || !fits(field, there)) return this.json(path);
    switch (field.kind) {
      case "group": return make("div", { class: "form-group" }, ...this.rows(field, path));
      case "list": return this.list(field, path);
      case "choice": return this.choice(field, path);
      case "number": return this.number(path);
      case "switch": return this.switch(field, path);
      case "media": return this.media(path);
      case "arms": return this.arm(field, path);
      case "text": case "long": return this.string(field, path);
      default: return this.json(path);
    }
  }

  /** @param {FieldShape} field @param {Path} path @returns {(HTMLElement | null)[]} */
  rows(field, path) {
    return field.fields.flatMap((one) => {
      const at = [...path, one.name];
      return [this.row(one, at), one.kind === "switch" ? make("div", { class: "within" }, ...this.rows(one, at)) : null];
    });
  }

  /** @param {FieldShape} field @param {Path} path */
  row(field, path) {
    const inner = this.build(field, path);
    const label = [visible(field.label), field.needed ? make("span", { class: "needed", title: say("needed") }, "*") : null];
    const help = field.help ? make("span", { class: "help" }, visible(field.help)) : null;
    if (inner.matches("div")) return make("fieldset", { class: "form-group" }, make("legend", {}, ...label), help, ...inner.childNodes);
    if (field.needed) inner.setAttribute("aria-required", "true");
    return make("div", { class: "form-row" }, make("label", { for: inner.id }, ...label), inner, help);
  }

  /** @param {FieldShape} field @param {Path} path */
  list(field, path) {
    const pointer = pointerOf(path);
    const there = find(this.root, path);
    const places = there?.type === "array" ? there.parts?.map((_, at) => [...path, at]) : there && [path];
    const items = places?.map((place, at) => {
      const inner = field.item ? this.build(field.item, place) : this.json(place);
      inner.classList.remove("form-group");
      const remove = button(say("remove"), "small", () => this.view.removeItem(place));
      remove.dataset.remove = "";
      return make("fieldset", { class: "form-group form-item", "data-list": pointer },
        make("legend", {}, String(at + 1)), inner, place === path ? null : make("div", {}, remove));
    }) ?? [];
    const arms = field.item?.arms.length ? field.item.arms : [{ type: "", blank: field.blank }];
    const adds = arms.map(({ type, blank }) => {
      const add = button(`+ ${say(type ? `add.${type}` : "add")}`, "small", () => this.view.addItem(path, blank));
      add.dataset.add = pointer;
      return add;
    });
    return make("div", { class: "form-group" }, ...items, make("div", { class: "row" }, ...adds));
  }

  // One of several forms, by its member `type`.
  /** @param {FieldShape} field @param {Path} path */
  arm(field, path) {
    const type = this.rawAt([...path, "type"]);
    const arm = field.arms.find((one) => JSON.stringify(one.type) === type);
    if (!arm) return this.json(path);
    const group = this.build(arm.field, path);
    const [data, mime] = ["data", "mimeType"].map((name) => JSON.parse(this.rawAt([...path, name]) ?? '""'));
    if (PREVIEWED.test(mime) && BASE64.test(data)) group.prepend(preview(data, mime));
    if (typeof path.at(-1) === "string" && field.arms.length > 1) group.prepend(this.turn(field, arm, path));
    return group;
  }

  // What is no item of a list is turned into another kind.
  /** @param {FieldShape} field @param {ArmShape} now @param {Path} path */
  turn(field, now, path) {
    this.count += 1;
    const kinds = field.arms.map((one) => make("option", { value: one.blank, selected: one === now }, say(`add.${one.type}`)));
    const select = this.named(make("select", { on: { change: () => this.view.turn(path, select.value) } }, ...kinds), path);
    return make("div", { class: "form-row" }, make("label", { for: select.id }, "type"), select);
  }

  /** @param {Path} path */
  media(path) {
    const blob = path.at(-1) === "blob";
    const take = () => { if (input.files) this.view.putFile(blob ? path : path.slice(0, -1), input.files[0]); };
    const input = make("input", { type: "file", accept: blob ? null : "image/*,audio/*", on: { change: take } });
    return this.named(input, path);
  }

  // A number stays as it is typed. What is none is a text to the check.
  /** @param {Path} path */
  number(path) {
    const raw = this.rawAt(path);
    const written = raw?.startsWith('"') ? String(JSON.parse(raw)) : raw;
    const ours = this.view.draft.facts.placeholders.includes(written ?? "");
    const input = make("input", { inputmode: "decimal", autocomplete: "off", placeholder: ours ? written : null });
    const shown = ours ? "" : written;
    /** @param {string} typed */
    const read = (typed) => (parse(typed)?.type === "number" ? typed : JSON.stringify(typed));
    return this.control(input, path, shown, (typed) => (typed.trim() ? read(typed.trim()) : null));
  }

  // Our own placeholder is shown as one.
  /** @param {FieldShape} field @param {Path} path */
  string(field, path) {
    const raw = this.rawAt(path);
    const value = raw === null ? "" : String(JSON.parse(raw));
    const ours = this.view.draft.facts.placeholders.includes(value);
    const long = field.kind === "long" || value.includes("\n") || value.length > LONG;
    const attributes = { autocomplete: "off", placeholder: ours ? value : null };
    const input = long ? make("textarea", { rows: 3, ...attributes }) : make("input", attributes);
    return this.control(input, path, ours ? "" : value, JSON.stringify);
  }

  /** @param {FieldShape} field @param {Path} path */
  choice(field, path) {
    const raw = this.rawAt(path);
    const select = make("select", {}, make("option", { value: "" }, say("leave")));
    /** @type {Record<string, string>} */
    const words = { true: say("yes"), false: say("no") };
    for (const [value, title] of field.choices) {
      const label = title || (words[value] ?? String(JSON.parse(value)));
      select.append(make("option", { value }, visible(label)));
    }
    const known = raw === null || field.choices.some(([value]) => value === raw);
    if (!known) select.append(make("option", { value: raw }, visible(raw)));
    return this.control(select, path, raw, (chosen) => chosen || null);
  }

  // On: there, as an empty object, or true. Off: not there, nor what is in it.
  /** @param {FieldShape} field @param {Path} path */
  switch(field, path) {
    const turn = () => this.view.turn(path, box.checked ? field.blank : null);
    const box = make("input", { type: "checkbox", checked: this.rawAt(path) !== null, on: { change: turn } });
    return this.named(box, path);
  }

  /** @param {Path} path */
  json(path) {
    const raw = this.view.reading.rawAt(path) ?? dedent(this.rawAt(path) ?? "");
    const rows = Math.min(8, raw.split("\n").length + 1);
    const area = make("textarea", { class: "json", rows, spellcheck: "false" });
    return this.control(area, path, raw, (typed) => (typed.trim() ? typed : null));
  }

  /** @param {Control} control @param {Path} path @param {string | null} shown @param {(typed: string) => string | null} read as JSON */
  control(control, path, shown, read) {
    control.value = shown ?? "";
    control.addEventListener("input", () => this.view.write(path, read(control.value)));
    return this.named(control, path);
  }

  /** @template {Control} C @param {C} control @param {Path} path */
  named(control, path) {
    control.id = `field-${this.count}`;
    control.dataset.pointer = pointerOf(path);
    return control;
  }

  /** @param {Path} path */
  rawAt(path) {
    const { reading } = this.view;
    const node = find(this.root, path);
    return reading.rawAt(path) ?? (node && reading.base.slice(node.start, node.end));
  }
}

// What the bytes show. Only raster pictures: others could hold scripts.
/** @param {string} data @param {string} mime */
function preview(data, mime) {
  const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
  const src = URL.createObjectURL(new Blob([bytes], { type: mime }));
  const shown = mime.startsWith("audio/") ? make("audio", { src, controls: true }) : make("img", { src, alt: mime });
  return make("div", { class: "preview" }, shown);
}

/** @param {FieldShape} field @param {JsonNode | null} there */
function fits(field, there) {
  /** @type {Record<string, string>} */
  const wanted = { group: "object", list: field.item?.arms.length && there?.type === "object" ? "object" : "array", text: "string", long: "string" };
  if (field.kind === "number" && there?.type === "string") return true;
  return there === null || (wanted[field.kind] ?? there.type) === there.type;
}

// A part stands as far left as a document of its own. A line break is never inside a string of JSON.
/** @param {string} raw */
function dedent(raw) {
  const [head, ...rest] = raw.split("\n");
  const margins = rest.filter((line) => line.trim()).map((line) => line.length - line.trimStart().length);
  const margin = margins.length ? Math.min(...margins) : 0;
  return [head, ...rest.map((line) => line.slice(margin))].join("\n");
}

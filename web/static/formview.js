// The document as a form: the fields as the desk renders them, filled in. Each changes its own place alone, and holds
// what is no JSON yet as it was typed; what no field can show is a piece of JSON.

import { FieldMarks } from "./diagnostics.js";
import { TEXT_PATH, UnreadFields } from "./document.js";
import { all, byId, first, make, Shown } from "./dom.js";
import { append, compact, drop, find, itemsAt, parse, pointerOf, put, steps, textAt } from "./jsontext.js";
import { say, visible } from "./words.js";

const MOST_FIELDS = 200;
const PREVIEWED = /^(audio\/|image\/(png|jpe?g|gif|webp)$)/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const LONG = 80; // characters from which on a text gets several lines

/** @type {Record<string, (typed: string) => string | null>} what is typed, as JSON; null takes the member out */
const READ = {
  text: JSON.stringify,
  long: JSON.stringify,
  choice: (chosen) => chosen || null,
  json: (typed) => (typed.trim() ? typed : null),
  // A number stays as it is typed. What is none is a text to the check.
  number: (typed) => typed.trim() && (parse(typed)?.type === "number" ? typed.trim() : JSON.stringify(typed.trim())) || null,
};

export class FormView {
  /** @param {HTMLElement} place @param {MessageDocument} draft @param {ViewName} view that it is in */
  constructor(place, draft, view = "form") {
    this.place = place;
    this.draft = draft;
    this.view = view;
    /** @type {string | null} the text for the model as we wrote it */
    this.mirrored = null;
    this.marks = new FieldMarks(place);
    /** @type {JsonNode | null} what the fields show */
    this.root = null;
    this.count = 0;
    this.become(draft.facts.form, "form");
  }

  get usable() {
    return this.draft.kind !== "error" && this.form !== null;
  }

  get reading() {
    return this.draft.fields ?? new UnreadFields(this.draft.text);
  }

  /** Show another part of the document, with other fields. @param {string | null} pointer @param {string} id of their template */
  become(pointer, id) {
    this.form = pointer === null ? null : byId(id, HTMLTemplateElement);
    /** @type {Path} */
    this.path = steps(pointer ?? "");
  }

  // To a field that must be filled in and is not, else the long text of the only item, else the first.
  focus() {
    const { controls } = this.marks;
    const items = all(".form-item", this.place);
    const long = items.length === 1 ? first("textarea:not(.json)", items[0], HTMLTextAreaElement) : null;
    const needed = controls.find((one) => one.getAttribute("aria-required") === "true" && one.value === "");
    (needed ?? (long?.value === "" ? long : controls[0] ?? first("button", this.place)))?.focus();
  }

  fill() {
    const [instead, isDrawn] = [byId("form-instead"), this.draw()];
    instead.hidden = isDrawn;
    this.place.hidden = !isDrawn;
    if (!isDrawn) instead.textContent = say(this.form ? "tojson" : "noform");
  }

  // The fields are made anew, and the one that had the focus has it again. False where nothing can be drawn.
  draw() {
    this.root = parse(this.reading.base);
    if (!this.form || !this.root) return false;
    const active = document.activeElement;
    const focused = active instanceof HTMLElement && this.place.contains(active) ? active.dataset.pointer : undefined;
    const fields = copyOf(this.form);
    this.place.replaceChildren(fields);
    this.count = 0;
    this.show(fields, this.path);
    this.marks.shown = new Shown(); // they were made anew, without their marks
    if (focused !== undefined) this.marks.at(focused)?.focus();
    return true;
  }

  /** Fill in a field. @param {HTMLElement} field @param {Path} path */
  show(field, path) {
    const { kind = "", json = "" } = field.dataset;
    const there = find(this.root, path);
    if (this.count >= MOST_FIELDS || (there && json && !json.includes(there.type))) this.showJson(field, path);
    else if (kind === "list") this.showList(field, path);
    else if (kind === "arms") this.showArm(field, path);
    else if (kind === "group") this.showRows(field, path);
    else if (kind in READ) this.showValue(/** @type {Control} */ (field), kind, path);
    else this.showBox(/** @type {HTMLInputElement} */ (field), path);
  }

  /** @param {HTMLElement} place @param {Path} path */
  showRows(place, path) {
    for (const row of all(":scope > [data-name], :scope > details > [data-name]", place)) {
      const [field, at] = [first("[data-kind]", row), [...path, row.dataset.name ?? ""]];
      if (field) this.show(field, at);
      const fold = row.parentElement;
      if (fold instanceof HTMLDetailsElement && this.rawAt(at) !== null) fold.open = true;
    }
  }

  /** @param {HTMLElement} list @param {Path} path */
  showList(list, path) {
    const [there, pointer] = [find(this.root, path), pointerOf(path)];
    const places = there?.type === "array" ? there.parts?.map((_, at) => [...path, at]) : there && [path];
    places?.forEach((place, at) => {
      const item = copyOf(/** @type {HTMLTemplateElement} */ (list.firstElementChild));
      const [legend, field, last] = /** @type {HTMLElement[]} */ ([...item.children]);
      item.dataset.list = pointer;
      legend.append(String(at + 1));
      if (place === path) last.remove();
      last.firstElementChild?.addEventListener("click", () => this.removeItem(place));
      list.lastElementChild?.before(item);
      this.show(field, place);
    });
    for (const add of all(":scope > .row > button", list, HTMLButtonElement)) {
      add.dataset.add = pointer;
      add.addEventListener("click", () => this.addItem(path, add.value));
    }
  }

  // One of several forms, by its member `type`. What is no item of a list is turned into another kind.
  /** @param {HTMLElement} place @param {Path} path */
  showArm(place, path) {
    const type = this.rawAt([...path, "type"]);
    const arms = all(":scope > template", place, HTMLTemplateElement);
    const arm = arms.find((one) => JSON.stringify(one.dataset.type) === type);
    if (!arm) return this.showJson(place, path);
    const kinds = first("select", place, HTMLSelectElement);
    if (kinds && typeof path.at(-1) === "string") {
      kinds.selectedIndex = arms.indexOf(arm);
      kinds.addEventListener("change", () => this.turn(path, kinds.value));
      this.name(kinds, path);
    } else {
      kinds?.parentElement?.remove();
    }
    const [data, mime] = ["data", "mimeType"].map((name) => JSON.parse(this.rawAt([...path, name]) ?? '""'));
    const fields = copyOf(arm);
    place.append(...PREVIEWED.test(mime) && BASE64.test(data) ? [preview(data, mime)] : [], fields);
    this.show(fields, path);
  }

  // The bytes of a file; or on: there, as an empty object, or true; and off: not there, nor what is in it.
  /** @param {HTMLInputElement} box @param {Path} path */
  showBox(box, path) {
    box.checked = this.rawAt(path) !== null;
    box.addEventListener("change", () => {
      if (box.files) this.putFile(path.at(-1) === "blob" ? path : path.slice(0, -1), box.files[0]);
      else this.turn(path, box.checked ? box.value : null);
    });
    this.name(box, path);
  }

  /** @param {HTMLElement} field @param {Path} path */
  showJson(field, path) {
    const area = make("textarea", { class: "json", spellcheck: "false" });
    field.replaceWith(area);
    area.ariaLabel = first(":scope > legend", /** @type {Element} */ (area.parentElement))?.textContent ?? null;
    this.showValue(area, "json", path);
  }

  /** @param {Control} field @param {string} kind @param {Path} path */
  showValue(field, kind, path) {
    let control = field;
    let shown = this.rawAt(path) ?? "";
    if (kind === "json") {
      shown = this.reading.rawAt(path) ?? dedent(shown);
      /** @type {HTMLTextAreaElement} */ (control).rows = Math.min(8, shown.split("\n").length + 1);
    } else if (control instanceof HTMLSelectElement) {
      if (![...control.options].some(({ value }) => value === shown)) control.append(new Option(visible(shown), shown));
    } else {
      if (shown.startsWith('"')) shown = String(JSON.parse(shown));
      if (this.draft.facts.placeholders.includes(shown)) [control.placeholder, shown] = [shown, ""]; // ours is shown as one
      if (kind === "text" && (shown.includes("\n") || shown.length > LONG)) {
        control = make("textarea", { rows: 3, autocomplete: "off", "aria-required": control.ariaRequired });
        field.replaceWith(control);
      }
    }
    control.value = shown;
    control.addEventListener("input", () => this.write(path, READ[kind](control.value)));
    this.name(control, path);
  }

  /** @param {Control} control @param {Path} path */
  name(control, path) {
    control.id = `${this.place.id}-${this.count += 1}`;
    control.dataset.pointer = pointerOf(path);
    const label = control.parentElement && first(":scope > label", control.parentElement, HTMLLabelElement);
    if (label) label.htmlFor = control.id;
  }

  /** @param {Path} path */
  rawAt(path) {
    const node = find(this.root, path);
    return this.reading.rawAt(path) ?? (node && this.reading.base.slice(node.start, node.end));
  }

  // -- What is typed

  /** @param {Path} path @param {string | null} raw JSON, or what is none yet; null takes the member out */
  write(path, raw) {
    this.change(this.reading.write(path, raw));
  }

  /** Write what needs other fields. @param {Path} path @param {string | null} raw */
  turn(path, raw) {
    this.remake(this.reading.write(path, raw));
  }

  /** @param {UnreadFields} reading */
  remake(reading) {
    this.change(reading);
    this.fill();
  }

  /** @param {string} pointer @param {(raw: string) => string} fixed */
  fixField(pointer, fixed) {
    const unread = this.reading.at(pointer);
    if (!unread) return;
    this.turn(unread.path, fixed(unread.raw));
    this.marks.at(pointer)?.focus();
  }

  /** @param {Path} path @param {string} json */
  addItem(path, json) {
    this.remake(this.reading.withBase(append(this.reading.base, path, json)));
    const item = all(`[data-list="${CSS.escape(pointerOf(path))}"]`, this.place).at(-1);
    if (item) first("input, textarea, select, button", item)?.focus();
  }

  // The bytes of a file: an item of a list, or one more of it, or the blob of a resource.
  /** @param {Path} path @param {File} file */
  putFile(path, file) {
    const reader = new FileReader();
    const blob = path.at(-1) === "blob";
    reader.onload = () => {
      const data = String(reader.result).split(",")[1];
      const item = { type: file.type.split("/")[0], data, mimeType: file.type };
      const { base } = this.reading;
      const write = itemsAt(base, path) ? append : put;
      let changed = write(base, path, JSON.stringify(blob ? data : item, null, 2));
      if (blob) {
        const [text, mime] = ["text", "mimeType"].map((name) => [...path.slice(0, -1), name]);
        changed = put(drop(changed, text), mime, JSON.stringify(file.type || "application/octet-stream"));
      }
      this.remake(this.reading.withBase(changed));
    };
    reader.readAsDataURL(file);
  }

  /** @param {Path} path */
  removeItem(path) {
    this.remake(this.reading.removeItem(path));
    const list = CSS.escape(pointerOf(path.slice(0, -1)));
    const left = all(`[data-list="${list}"] [data-remove]`, this.place);
    (left[Math.min(Number(path.at(-1)), left.length - 1)] ?? first(`[data-add="${list}"]`, this.place))?.focus();
  }

  /** @param {UnreadFields} reading */
  change(reading) {
    const next = reading.withBase(this.reflect(reading.base));
    this.draft.write(next.text, this.view, next.unread.length ? next : null);
  }

  /** Structured content is also given to the model as text: the same value, as JSON. @param {string} text */
  reflect(text) {
    if (!this.draft.facts.mirror) return text;
    const written = textAt(text, this.path);
    if (written === null || !this.isOurs(textAt(text, TEXT_PATH))) return text;
    this.mirrored = JSON.stringify(compact(written));
    if (itemsAt(text, ["result", "content"])?.length === 0) {
      return put(text, ["result", "content"], `[\n  { "type": "text", "text": ${this.mirrored} }\n]`);
    }
    return put(text, TEXT_PATH, this.mirrored);
  }

  /** Whether the text for the model is what we wrote, and no words of a person's own. @param {string | null} shown */
  isOurs(shown) {
    const same = JSON.stringify(compact(textAt(this.reading.base, this.path) ?? ""));
    const placeholders = this.draft.facts.placeholders.map((one) => JSON.stringify(one));
    return shown === null || [this.mirrored, '""', same, ...placeholders].includes(shown);
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

// A part stands as far left as a document of its own. A line break is never inside a string of JSON.
/** @param {string} raw */
function dedent(raw) {
  const [head, ...rest] = raw.split("\n");
  const margins = rest.filter((line) => line.trim()).map((line) => line.length - line.trimStart().length);
  const margin = margins.length ? Math.min(...margins) : 0;
  return [head, ...rest.map((line) => line.slice(margin))].join("\n");
}

/** @param {HTMLTemplateElement} template */
function copyOf(template) {
  return /** @type {HTMLElement} */ (document.importNode(template.content, true).firstElementChild);
}

// Fields whose text is no JSON yet, and the document without them.

import { drop, find, parse, pointerOf, put } from "./jsontext.js";

export class UnreadFields {
  /** @param {string} base the document, with something valid in the place of each @param {Unread[]} [unread] */
  constructor(base, unread = []) {
    this.base = base;
    this.unread = unread;
  }

  get text() {
    const root = parse(this.base);
    const places = this.unread.flatMap(({ path, raw }) => {
      const node = find(root, path);
      return node ? [{ node, raw }] : [];
    }).sort((one, other) => other.node.start - one.node.start);
    return places.reduce((text, { node, raw }) => text.slice(0, node.start) + raw + text.slice(node.end), this.base);
  }

  /** By the place of each in the document: what the check is asked. */
  get byPointer() {
    return Object.fromEntries(this.unread.map(({ path, raw }) => [pointerOf(path), raw]));
  }

  /** @param {string} pointer */
  at(pointer) {
    return this.unread.find(({ path }) => pointerOf(path) === pointer);
  }

  /** @param {Path} path */
  rawAt(path) {
    return this.at(pointerOf(path))?.raw ?? null;
  }

  /** @param {Path} path @param {string | null} raw null takes the member out */
  write(path, raw) {
    const others = this.without(path);
    if (raw === null) return new UnreadFields(drop(this.base, path), others);
    if (parse(raw)) return new UnreadFields(put(this.base, path, raw), others);
    const base = find(parse(this.base), path) ? this.base : put(this.base, path, "null");
    return new UnreadFields(base, [...others, { path, raw }]);
  }

  /** Take an item out of a list: those behind it move up. @param {Path} path */
  removeItem(path) {
    const [list, at] = [path.slice(0, -1), Number(path.at(-1))];
    const moved = this.without(path).map((one) => {
      const step = Number(one.path[list.length]);
      if (!isBelow(one.path, list) || step < at) return one;
      return { ...one, path: [...list, step - 1, ...one.path.slice(path.length)] };
    });
    return new UnreadFields(drop(this.base, path), moved);
  }

  /** @param {string} base */
  withBase(base) {
    return new UnreadFields(base, this.unread);
  }

  /** @param {Path} path */
  without(path) {
    return this.unread.filter((one) => !isBelow(one.path, path));
  }
}

/** @param {Path} path @param {Path} above */
function isBelow(path, above) {
  return above.every((step, at) => step === path[at]);
}

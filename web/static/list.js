// Keep the list up to date without moving anything under the pointer.

import { arrived } from "./notice.js";
import { tick } from "./clock.js";
import { all, first, keyOfOpen, maybe } from "./dom.js";
import { oneAtATime, part } from "./talk.js";
import { hideOwn } from "./writing.js";

/** @type {Set<string>} what arrived and was not told of yet */
const fresh = new Set();

/** @param {ChangeShape[]} changes */
export function listChanged(changes) {
  for (const one of changes) {
    if (one.what === "arrived") fresh.add(`${one.session}/${one.number}`);
  }
  refreshList();
}

// Of many sessions those stay that have what is typed; Enter opens the first.
document.addEventListener("input", ({ target }) => {
  if (target instanceof HTMLInputElement && target.id === "find") narrow(target);
});

// The list comes without its menu of all sessions: that is fetched when it opens.
document.addEventListener("beforetoggle", async (event) => {
  const menu = event.target;
  if (!(menu instanceof HTMLElement) || menu.id !== "finding" || event.newState !== "open") return;
  const session = maybe("list")?.dataset.session ?? "";
  const page = await part(`/list?${new URLSearchParams({ session, sessions: "yes" })}`);
  const [old, now] = [first("#all-sessions", menu), page?.getElementById("all-sessions")];
  if (!old || !now) return;
  old.replaceWith(now);
  const find = first("#find", menu, HTMLInputElement);
  if (find) narrow(find);
}, true);

/** @param {HTMLInputElement} find */
function narrow(find) {
  const wanted = find.value.trim().toLowerCase();
  for (const one of all("#all-sessions > li")) one.hidden = !one.textContent?.toLowerCase().includes(wanted);
}

export const refreshList = oneAtATime(async () => {
  const list = maybe("list");
  const session = list?.dataset.session ?? "";
  const asked = [...fresh]; // what arrives from here on may be missing in the answer: the next one tells of it
  const page = await part(`/list?${new URLSearchParams({ session, at: keyOfOpen() })}`);
  const newer = page?.getElementById("list");
  if (!page || !newer) return;
  for (const name of ["icon", "count", "around", "marks", "away"]) {
    const [old, now] = [maybe(name), page.getElementById(name)];
    if (!old || !now) continue; // below: the pen changed hands
    if (old.dataset.looksOn !== now.dataset.looksOn) {
      location.replace(location.pathname + location.search);
      return;
    }
    if (!old.querySelector(":focus")) old.replaceWith(now);
  }
  document.title = page.title;
  hideOwn(newer);
  announce(newer, asked);
  if (list) settle(list, newer);
  tick();
});

/** @param {HTMLElement} newer @param {string[]} keys */
function announce(newer, keys) {
  for (const key of keys) {
    fresh.delete(key);
    const row = newer.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (row) arrived(key, all(".name, .gist, .place", row).map((one) => one.textContent).join(" · "));
  }
}

/** @param {HTMLElement} list @param {HTMLElement} newer */
function settle(list, newer) {
  const still = list.matches(":hover, :focus-within");
  if (still) list.addEventListener("pointerleave", refreshList, { once: true });
  const rows = new Map(all("#rows > *", list).map((row) => [row.dataset.key, row]));
  for (const row of all("#rows > *", newer)) {
    const known = rows.get(row.dataset.key);
    if (known) update(known, row);
    else first("#rows", list)?.append(row);
    rows.delete(row.dataset.key);
  }
  for (const row of rows.values()) {
    // Under the pointer it stays where it is until the pointer has gone.
    if (still && row.dataset.key) row.classList.add("gone");
    else row.remove();
  }
  for (const name of still ? ["#others"] : ["#others", "#running", "#parked", "#lately"]) {
    const [past, now] = [first(name, list), first(name, newer)];
    if (past && now) past.replaceWith(now);
  }
}

/** @param {HTMLElement} known @param {HTMLElement} row */
function update(known, row) {
  const [link, young] = [first("a", known), first("a", row)];
  if (!link || !young) return;
  known.className = row.className;
  link.replaceChildren(...young.childNodes); // the link itself stays: it may have the focus
  link.ariaCurrent = young.ariaCurrent;
}

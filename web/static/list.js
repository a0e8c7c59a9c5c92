// Keep the list up to date without moving anything under the pointer.

import { arrived } from "./notice.js";
import { tick } from "./clock.js";
import { all, first, keyOfOpen, maybe, replace } from "./dom.js";
import { oneAtATime, part } from "./talk.js";
import { hideOwn } from "./writing.js";

/** @type {Set<string>} what arrived and was not told of yet */
const fresh = new Set();

/** @param {ChangeShape[]} changes */
export function listChanged(changes) {
  for (const one of changes) if (one.what === "arrived") fresh.add(`${one.session}/${one.number}`);
  return refreshList();
}

// Of many sessions those stay that have what is typed. In the list the desk searches.
document.addEventListener("input", ({ target }) => {
  if (target === maybe("find")) narrow();
  if (target === maybe("narrow")) refreshList();
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
  narrow();
}, true);

function narrow() {
  const wanted = maybe("find", HTMLInputElement)?.value.trim().toLowerCase() ?? "";
  for (const one of all("#all-sessions > li")) one.hidden = !one.textContent?.toLowerCase().includes(wanted);
}

let seen = document.body.dataset.version ?? ""; // the version of a page without a list

export const refreshList = oneAtATime(async () => {
  const list = maybe("list");
  const { session = "", searched = "", version = seen } = list?.dataset ?? {};
  const q = maybe("narrow", HTMLInputElement)?.value ?? "";
  const asked = [...fresh]; // what arrives from here on may be missing in the answer: the next one tells of it
  const page = await part(`/list?${new URLSearchParams({ session, q, since: q === searched ? version : "0" })}`);
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
  seen = newer.dataset.version ?? "";
  hideOwn(newer);
  announce([newer, list], asked);
  if (list?.isConnected) settle(list, newer);
  tick();
});

/** @param {(HTMLElement | null)[]} lists @param {string[]} keys */
function announce(lists, keys) {
  for (const key of keys) {
    fresh.delete(key);
    const row = lists.map((one) => one?.querySelector(`[data-key="${CSS.escape(key)}"]`)).find(Boolean);
    if (row) arrived(key, all(".name, .gist, .place", row).map((one) => one.textContent).join(" · "));
  }
}

/** @param {HTMLElement} list @param {HTMLElement} newer the whole list, or what is new in it */
function settle(list, newer) {
  const { gone, version, searched } = newer.dataset;
  const rows = new Map(all(".row", list).map((row) => [row.dataset.key ?? "", row]));
  const left = new Set(gone === undefined ? rows.keys() : gone.split(" "));
  for (const group of all(".group", newer)) {
    const place = groupLike(list, group);
    for (const row of all(".row", group)) {
      const { key = "" } = row.dataset;
      const known = rows.get(key);
      left.delete(key);
      if (known && known.closest(".group") === place) update(known, row);
      else {
        known?.remove();
        first("ul", place)?.append(row);
      }
    }
  }
  for (const key of left) rows.get(key)?.classList.add("gone");
  Object.assign(list.dataset, { version, searched });
  const open = keyOfOpen();
  for (const link of all(".row > a", list)) {
    const isOpen = link.parentElement?.dataset.key === open;
    link.parentElement?.classList.toggle("opened", isOpen);
    link.ariaCurrent = isOpen ? "true" : null;
  }
  const [narrowing, now] = [list, newer].map((one) => first("#narrowing", one));
  if (narrowing && now) narrowing.hidden = now.hidden && !searched;
  const finish = () => {
    for (const row of all(".gone", list)) row.remove();
    for (const group of all(".group", list)) if (!first(".row", group)) group.remove();
    replace(list, newer, ["#running", "#lately"]);
  };
  replace(list, newer, ["#others", ".none"]);
  // Under the pointer all stays until it has gone. A finger leaves nothing there, and :hover stays where it was.
  const still = list.matches(matchMedia("(hover: hover)").matches ? ":hover, :focus-within" : ":focus-within") && document.activeElement?.id !== "narrow";
  list.onpointerleave = still ? finish : null;
  if (!still) finish();
}

/** @param {HTMLElement} list @param {HTMLElement} group */
function groupLike(list, group) {
  const section = first(`#${group.parentElement?.id}`, list);
  const known = all(".group", section ?? list).find((one) => one.dataset.group === group.dataset.group);
  if (known) {
    replace(known, group, [".who"]);
    return known;
  }
  const young = /** @type {HTMLElement} */ (group.cloneNode(true));
  first("ul", young)?.replaceChildren();
  if (section) section.insertBefore(young, first(".none", section));
  return young;
}

/** @param {HTMLElement} known @param {HTMLElement} row */
function update(known, row) {
  const [link, young] = [known, row].map((one) => first("a", one, HTMLAnchorElement));
  if (!link || !young) return;
  known.className = row.className;
  link.href = young.href;
  link.replaceChildren(...young.childNodes); // the link itself stays: it may have the focus
}

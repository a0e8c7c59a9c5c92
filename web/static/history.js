// The history: it filters while somebody types, follows what happens, and shows a message beside the list.

import { all, byId, first, isWide, replace } from "./dom.js";
import { at, here, loginPath } from "./loginpath.js";
import { offerCopies } from "./page.js";
import { oneAtATime, part, Pause } from "./talk.js";
import { say } from "./words.js";

const MOST_ROWS = 2000; // from there on older rows are a page of their own
const beside = byId("beside");
const past = first(".past") ?? document.body;
const search = byId("search", HTMLInputElement);
let address = here() + location.search;
let fresh = 0;
let place = 0; // where a phone's list was scrolled to

/** @param {string} to */
async function load(to) {
  address = to;
  const page = await part(to);
  if (!page || address !== to) return;
  replace(document, page, ["#acts", "#chips", "#lines"]);
  fresh = 0;
  if (beside.hidden) history.replaceState(null, "", at(to));
  markOpen();
  watchEnd();
}

const filter = new Pause(200, () => load(`/history?${new URLSearchParams({ q: search.value })}`));
search.addEventListener("input", () => filter.soon());
search.form?.addEventListener("submit", (event) => {
  if (first("[type=date]", past, HTMLInputElement)?.value) return;
  event.preventDefault();
  filter.soon(0);
});

// -- What happens: rows come in above, and what somebody looks at stays where it is

export const refresh = oneAtATime(async () => {
  const lines = byId("lines");
  if (!("follows" in lines.dataset)) return;
  const asked = address;
  const page = await part(asked);
  const young = page?.getElementById("lines");
  if (!page || !young || address !== asked) return;
  replace(document, page, ["#acts"]); // another session may have begun
  const [rows, newer] = [lines, young].map((one) => first("tbody", one));
  if (!rows || !newer) {
    lines.replaceWith(young);
    return;
  }
  const looked = past.scrollTop > 0 || scrollY > 0 || !beside.hidden || lines.matches(":focus-within");
  const anchor = all("tr", rows).find((one) => one.getBoundingClientRect().bottom > past.getBoundingClientRect().top);
  const before = anchor?.getBoundingClientRect().top ?? 0;
  const count = merge(rows, newer, !first("#further a", young));
  first("table", lines)?.setAttribute("class", first("table", young)?.className ?? ""); // a column may have its first value
  if (!looked) return;
  const moved = anchor?.isConnected ? anchor.getBoundingClientRect().top - before : 0;
  if (isWide()) past.scrollTop += moved;
  else scrollBy(0, moved);
  fresh += count;
  const button = byId("newer");
  button.hidden = !fresh;
  button.textContent = say("newlines", { count: fresh });
});

/** What matches no more goes, unless somebody is at it. @param {HTMLElement} rows @param {HTMLElement} newer @param {boolean} whole whether no older rows follow */
function merge(rows, newer, whole) {
  const known = new Map(all("tr", rows).map((one) => [one.dataset.row, one]));
  let [next, count] = [/** @type {Element | null} */ (rows.firstElementChild), 0];
  for (const row of all("tr", newer)) {
    const old = known.get(row.dataset.row);
    if (!old) {
      rows.insertBefore(row, next);
      count += Number(!row.matches(".day"));
    } else {
      known.delete(row.dataset.row);
      update(old, row);
      next = old.nextElementSibling;
    }
  }
  const newest = [...known.values()].filter((old) => whole || !next || next.compareDocumentPosition(old) === Node.DOCUMENT_POSITION_PRECEDING);
  for (const old of newest) if (!old.matches("[data-opened], :focus-within")) old.remove();
  return count;
}

/** @param {HTMLElement} old @param {HTMLElement} row */
function update(old, row) {
  if (old.textContent === row.textContent && old.className === row.className) return;
  const [focused, box] = [old.contains(document.activeElement), first(".pick input", old, HTMLInputElement)];
  old.className = row.className;
  old.replaceChildren(...row.children);
  const [link, young] = [first("th a", old), first(".pick input", old, HTMLInputElement)];
  if (young && box) young.checked = box.checked;
  if (focused) link?.focus({ preventScroll: true });
}

// -- Older rows come when the end of the list is seen

function watchEnd() {
  const more = first("#further [data-more]", document, HTMLAnchorElement);
  if (!more || all("#lines tbody tr").length >= MOST_ROWS) return;
  new IntersectionObserver(async ([{ isIntersecting }], seen) => {
    if (!isIntersecting || !more.isConnected) return;
    seen.disconnect();
    const page = await part(pathOf(more));
    const [rows, end] = [page?.querySelectorAll("#lines tbody tr"), page?.getElementById("further")];
    if (!rows || !end || !more.isConnected) return;
    const known = new Set(all("#lines tbody tr").map((one) => one.dataset.row));
    first("#lines tbody")?.append(...[...rows].filter((one) => !(one instanceof HTMLElement && known.has(one.dataset.row))));
    byId("further").replaceWith(end);
    watchEnd();
  }, { rootMargin: "400px" }).observe(more);
}

// -- The message beside the list

/** @param {HTMLAnchorElement} link */
async function open(link) {
  const path = pathOf(link);
  const page = await part(path);
  if (!page?.getElementById("main")) return;
  if (beside.hidden) {
    place = scrollY;
    history.pushState({ row: rowOf(link) }, "", at(path));
  } else history.replaceState({ row: rowOf(link) }, "", at(path));
  fill(page);
  beside.hidden = false;
  beside.scrollTop = 0;
  if (!isWide()) scrollTo(0, 0);
  markOpen();
}

/** @param {Document} page */
function fill(page) {
  beside.replaceChildren(...page.getElementById("main")?.children ?? []);
  first(".back a", beside)?.addEventListener("click", (event) => {
    event.preventDefault();
    history.back();
  });
  offerCopies(beside);
}

// A note is kept without leaving the list.
beside.addEventListener("submit", async (event) => {
  const { target: form, submitter } = event;
  if (!(form instanceof HTMLFormElement) || !form.matches(".note")) return;
  event.preventDefault();
  event.stopPropagation();
  const values = new URLSearchParams(/** @type {any} */ (new FormData(form, submitter)));
  const page = await part(location.pathname.slice(loginPath.length), values);
  if (page) fill(page);
  refresh();
});

/** @param {HTMLAnchorElement} link */
function pathOf(link) {
  return link.pathname.slice(loginPath.length) + link.search;
}

/** @param {Element} link */
function rowOf(link) {
  return link.closest("tr")?.dataset.row ?? "";
}

function markOpen() {
  const row = beside.hidden ? "" : history.state?.row;
  for (const one of all("#lines tr[data-row]")) one.toggleAttribute("data-opened", one.dataset.row === row);
}

window.addEventListener("popstate", (event) => {
  if (beside.hidden) return;
  event.stopImmediatePropagation(); // else the page would be loaded anew
  const row = first("#lines [data-opened] a");
  beside.hidden = true;
  markOpen();
  history.replaceState(null, "", at(address));
  if (!isWide()) scrollTo(0, place);
  row?.focus({ preventScroll: true });
}, true);

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest(".past a, .past #newer, #lines tbody tr") : null;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  if (link.id === "newer") {
    past.scrollTo(0, 0);
    scrollTo(0, 0);
    fresh = 0;
    byId("newer").hidden = true;
    return;
  }
  const row = link.closest("#lines tbody tr");
  if (row) {
    const message = first("th a", row, HTMLAnchorElement);
    if (!message || event.target instanceof HTMLInputElement || getSelection()?.toString()) return;
    event.preventDefault();
    message.focus({ preventScroll: true });
    open(message);
  } else if (link instanceof HTMLAnchorElement && link.pathname.endsWith("/history") && !link.closest("#further")) {
    event.preventDefault();
    search.value = new URL(link.href).searchParams.get("q") ?? "";
    load(pathOf(link));
  }
});

// While a message is open, the keys that lead along the list open the next one.
const soon = new Pause(80, () => {
  const link = document.activeElement;
  if (!beside.hidden && link instanceof HTMLAnchorElement && link.matches("#lines tbody a") && rowOf(link) !== history.state?.row) open(link);
});
document.addEventListener("focusin", () => soon.soon());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !beside.hidden && !document.querySelector("dialog[open], :popover-open")) history.back();
});

watchEnd();

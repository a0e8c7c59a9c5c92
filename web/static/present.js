// @ts-check
// The page for a projector: it shows, and cannot answer. It follows what happens unless a step was
// chosen; the arrow keys go from step to step.

import { startChoices } from "./choices.js";
import { startClock, tick } from "./clock.js";
import { byId, first } from "./dom.js";
import { startLive } from "./live.js";
import { part } from "./talk.js";

async function follow() {
  if (byId("main").dataset.follow !== "yes") return;
  const page = await part(location.href).catch(() => null);
  const main = page?.getElementById("main");
  if (!main) return;
  byId("main").replaceWith(document.importNode(main, true));
  tick();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const way = { ArrowRight: "next", PageDown: "next", ArrowLeft: "prev", PageUp: "prev" }[event.key];
  const link = way && first(document, `.pager [rel=${way}]`, HTMLAnchorElement);
  if (link) location.assign(link.href);
});

startChoices(() => {});
startClock();
startLive(follow);

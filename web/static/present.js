// The page for a projector: it shows, and cannot answer. The arrow keys go from step to step.

import { startChoices } from "./choices.js";
import { startClock, tick } from "./clock.js";
import { first } from "./dom.js";
import { startLive } from "./live.js";
import { follow } from "./talk.js";

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const way = { ArrowRight: "next", PageDown: "next", ArrowLeft: "prev", PageUp: "prev" }[event.key];
  const link = way && first(`.pager [rel=${way}]`, document, HTMLAnchorElement);
  if (link) location.assign(link.href);
});

startChoices(() => {});
startClock();
startLive(() => follow().then(tick));

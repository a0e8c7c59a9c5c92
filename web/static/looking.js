// While somebody looks at a page, the desk is told so.

import { call } from "./talk.js";

const EVERY = 20_000;

function look() {
  if (!document.hidden) call("/api/looking", {});
}

document.addEventListener("visibilitychange", look);
setInterval(look, EVERY);
look();

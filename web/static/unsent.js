// What was typed for a request that was decided while this browser was offline: only it has the words.

import { all, button, make, maybe } from "./dom.js";
import { copy, say, visible } from "./words.js";

const section = maybe("unsent");
const place = `humanmcp:draft:${section?.dataset.place}`;
const shown = new Set(all("article pre").map((one) => one.textContent));
for (const name of section ? Object.keys(localStorage) : []) {
  if (name !== place && !name.startsWith(`${place} `)) continue;
  const { words, text } = JSON.parse(localStorage.getItem(name) ?? "{}");
  const typed = visible(words ?? text ?? "");
  if (!typed || shown.has(typed)) continue;
  section?.append(make("pre", { tabindex: "0" }, typed), make("div", {}, button(say("copy"), "small", () => copy(words ?? text))));
  section?.removeAttribute("hidden");
}

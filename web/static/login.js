// Swap the one-time key in the address's fragment for a cookie. A fragment is never sent by itself.

import { byId, quoted } from "./dom.js";
import { findBack, here, keep } from "./loginpath.js";

const given = new URLSearchParams(location.hash.slice(1));
const key = given.get("k");
const session = given.get("s"); // whose messages to show first: the seat that somebody was given

if (key) {
  history.replaceState(null, "", here());
  const [opening, failed] = [byId("opening"), byId("failed")];
  opening.hidden = false;
  failed.hidden = true;
  const answer = await fetch("/api/login", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ key }),
  }).catch(() => null);
  if (answer?.ok) {
    const { path } = await answer.json();
    keep(path);
    location.replace(`${path}/${session ? `?${new URLSearchParams({ session })}` : ""}`);
  } else {
    const record = await answer?.json().catch(() => null);
    if (record?.detail) failed.replaceChildren(...quoted(record.detail));
    opening.hidden = true;
    failed.hidden = false;
  }
} else if (here() !== location.pathname) {
  findBack(); // whoever is asked to log in here has left this login session
}

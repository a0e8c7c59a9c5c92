// On a phone, the page is installed as an app: a service worker shows it while the desk is away.

import { at } from "./loginpath.js";

const { serviceWorker } = navigator; // not over plain HTTP, except on this computer
const address = at("/worker.js");
const trusted = /** @type {any} */ (globalThis).trustedTypes?.createPolicy("worker", {
  createScriptURL: () => address,
});
serviceWorker?.register(trusted?.createScriptURL("") ?? address).catch(() => {}); // the page works without

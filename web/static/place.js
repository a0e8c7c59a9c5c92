// The place of a visit: what every address of this browser's desk begins with (`/~…`).

const NAME = "humanmcp:place"; // storage knows ports: no other server reads it

export const place = location.pathname.match(/^\/~[\w-]+/)?.[0] ?? "";

/** @param {string} path */
export function at(path) {
  return path.startsWith("/") ? place + path : path;
}

// The path of this page as the desk knows it. It changes when something else is opened in the page.
export function here() {
  return location.pathname.slice(place.length) || "/";
}

/** @param {string} given */
export function keep(given) {
  stored(() => localStorage.setItem(NAME, given));
}

export function forget() {
  stored(() => localStorage.removeItem(NAME));
}

// Lead who typed an address without a place to theirs; forget a place that lets nobody in.
export function findBack(path = location.pathname + location.search + location.hash) {
  stored(() => {
    const kept = localStorage.getItem(NAME) ?? "";
    if (place && kept === place) forget();
    else if (!place && kept.startsWith("/~")) location.replace(kept + path);
  });
}

/** @param {() => void} act */
function stored(act) {
  try {
    act();
  } catch {
    // without storage, an address that names no place asks to log in
  }
}

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
  try {
    localStorage.setItem(NAME, given);
  } catch {
    // without storage, an address that names no place asks to log in
  }
}

export function forget() {
  try {
    localStorage.removeItem(NAME);
  } catch {
    // as above
  }
}

// Lead who typed an address without a place to theirs; forget a place that lets nobody in.
export function findBack(path = location.pathname + location.search + location.hash) {
  try {
    const kept = localStorage.getItem(NAME) ?? "";
    if (place && kept === place) localStorage.removeItem(NAME);
    else if (!place && kept.startsWith("/~")) location.replace(kept + path);
  } catch {
    // as above
  }
}

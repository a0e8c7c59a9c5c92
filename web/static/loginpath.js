// The login path: what every address of this browser's desk begins with (`/~…`).

const NAME = "humanmcp:login-path"; // storage knows ports: no other server reads it

export const loginPath = location.pathname.match(/^(?:\/[^~/]+)*\/~[\w-]+/)?.[0] ?? "";

/** @param {string} path */
export function at(path) {
  return path.startsWith("/") ? loginPath + path : path;
}

// The path of this page as the desk knows it. It changes when something else is opened in the page.
export function here() {
  return location.pathname.slice(loginPath.length) || "/";
}

/** @param {string} given */
export function keep(given) {
  stored(() => localStorage.setItem(NAME, given));
}

export function forget() {
  stored(() => localStorage.removeItem(NAME));
}

// Lead who typed an address without a login path to theirs; forget a login path that has ended.
export function findBack(path = location.pathname + location.search + location.hash) {
  stored(() => {
    const kept = localStorage.getItem(NAME) ?? "";
    if (loginPath && kept === loginPath) forget();
    else if (!loginPath && kept.startsWith("/~")) location.replace(kept + path);
  });
}

/** @param {() => void} act */
function stored(act) {
  try {
    act();
  } catch {
    // without storage, an address without a login path asks to log in
  }
}

// Swap the one-time key in the address's fragment for a cookie. A fragment is never sent by itself.

const given = new URLSearchParams(location.hash.slice(1));
const key = given.get("k");
const session = given.get("s"); // whose messages to show first: the seat that somebody was given

if (key) {
  history.replaceState(null, "", location.pathname);
  const opening = document.getElementById("opening");
  const failed = document.getElementById("failed");
  opening.hidden = false;
  failed.hidden = true;
  const answer = await fetch("/api/login", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ key }),
  }).catch(() => ({ ok: false }));
  if (answer.ok) {
    location.replace(session ? `/?session=${encodeURIComponent(session)}` : "/");
  } else {
    opening.hidden = true;
    failed.hidden = false;
  }
}

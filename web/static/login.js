// Swap the one-time key in the address's fragment for a cookie. A fragment is never sent by itself.

const key = new URLSearchParams(location.hash.slice(1)).get("k");

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
    location.replace("/");
  } else {
    opening.hidden = true;
    failed.hidden = false;
  }
}

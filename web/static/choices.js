// What a person chose for this browser: kept here, never sent.

const PREFIX = "humanmcp:choice:";
const DEFAULTS = { notify: false, sound: false, keys: true, undo: false };

export function chosen(name) {
  const kept = localStorage.getItem(PREFIX + name);
  return kept === null ? DEFAULTS[name] : kept === "on";
}

export function choose(name, on) {
  localStorage.setItem(PREFIX + name, on ? "on" : "off");
  const box = document.querySelector(`[data-choice="${name}"]`);
  if (box) box.checked = on;
}

// Keep something in this browser. A browser that has no room for it is no reason to stop.
export function keep(name, record) {
  try {
    localStorage.setItem(name, JSON.stringify(record));
  } catch {
    localStorage.removeItem(name); // better nothing than something old
  }
}

export function startChoices(changed) {
  const panel = document.getElementById("choices");
  if (!panel) return;
  panel.hidden = false;
  for (const box of panel.querySelectorAll("[data-choice]")) {
    box.checked = chosen(box.dataset.choice);
    box.addEventListener("change", () => {
      choose(box.dataset.choice, box.checked);
      changed(box.dataset.choice, box.checked);
    });
  }
  // A menu closes when the attention goes elsewhere.
  document.addEventListener("pointerdown", (event) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
  for (const card of document.querySelectorAll("details[data-remember]")) remember(card);
}

function remember(card) {
  const name = `humanmcp:card:${card.dataset.remember}`;
  if (localStorage.getItem(name) === "closed") card.open = false;
  card.addEventListener("toggle", () => localStorage.setItem(name, card.open ? "open" : "closed"));
}

// Tell somebody who looks elsewhere: a sound, a notification.

import { choose, chosen } from "./choices.js";
import { leading } from "./live.js";
import { all, first, isWide, keyOfOpen } from "./dom.js";
import { at } from "./loginpath.js";
import { tell } from "./words.js";

const QUIET_FOR = 2000;
let lastSound = 0;
/** @type {AudioContext | null} */
let context = null;

/** @param {string} key of the exchange @param {string} what it is, in words */
export function arrived(key, what) {
  if (!isWide() || !document.querySelector(".empty")) tell("new", { what }, key); // there it opens by itself
  takeBackSeen();
  if (!leading) return; // the other tabs of this browser heard it too
  if (chosen("sound")) sound();
  if (chosen("notify") && document.hidden && "Notification" in window && Notification.permission === "granted") {
    const notice = new Notification("humanmcp", { body: what, tag: key });
    notice.onclick = () => {
      window.focus();
      location.assign(at(`/m/${key}`));
      notice.close();
    };
  }
}

// What is open in view is no news.
export function takeBackSeen() {
  if (!first("article.message")?.checkVisibility()) return;
  for (const line of all(`#said [data-key="${CSS.escape(keyOfOpen())}"]`)) line.remove();
}

// Two short tones, made here: nothing is loaded for them.
function sound() {
  if (Date.now() - lastSound < QUIET_FOR) return;
  lastSound = Date.now();
  const speaker = context ??= new AudioContext();
  [660, 880].forEach((pitch, at) => {
    const tone = new OscillatorNode(speaker, { frequency: pitch });
    const loudness = new GainNode(speaker, { gain: 0.12 });
    const start = speaker.currentTime + at * 0.14;
    loudness.gain.setTargetAtTime(0, start + 0.02, 0.02);
    tone.connect(loudness).connect(speaker.destination);
    tone.start(start);
    tone.stop(start + 0.13);
  });
}

/** Permission is asked for when a person turns it on, never before. @param {Choice} name @param {boolean} on */
export async function choiceChanged(name, on) {
  if (name === "sound") {
    tell(on ? "sound.on" : "sound.off");
    if (on) sound();
  }
  if (name === "notify" && on) {
    const given = "Notification" in window ? await Notification.requestPermission() : "denied";
    if (given !== "granted") {
      choose("notify", false);
      tell("denied");
    }
  }
}

// The sound of a new message, and what turns sound and notifications on. Loaded when somebody wants one.

import { choose } from "./choices.js";
import { tell } from "./words.js";

const QUIET_FOR = 2000;
let lastSound = 0;
/** @type {AudioContext | null} */
let context = null;

// Two short tones, made here: nothing is loaded for them.
export function sound() {
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

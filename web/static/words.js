// The sentences of this page's language, and small things to build the page with.

const block = document.getElementById("words");
const sentences = new Map(Object.entries(block ? JSON.parse(block.textContent) : {}));

export function say(code, fillings = {}) {
  const sentence = sentences.get(code) ?? code;
  return sentence.replace(/\{(\w+)\}/g, (whole, name) => fillings[name] ?? whole);
}

// Text is always text: it goes in as a text node.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// What came over the wire must not act on the screen: the same characters as protocol/visible.py.
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}\u{e0100}-\u{e01ef}]|[\ud800-\udfff]/gu;

export function visible(text) {
  return text.replace(INVISIBLE, (found) =>
    `⟦U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟧`);
}

const said = document.getElementById("said");

// Say something once, quietly, to eyes and to screen readers.
export function tell(sentence, seconds = 5) {
  const line = make("p", {}, sentence);
  said?.append(line);
  setTimeout(() => line.remove(), seconds * 1000);
}

// @ts-check
// Small questions: send anyway, the name of a saved answer, a rule for the answer book.

import { call, Refused } from "./talk.js";
import { all, byId, make, maybe } from "./dom.js";
import { say, tell, visible } from "./words.js";

const TOO_LONG = 60;

// What was chosen. A dialog that cannot be dismissed by chance decides nothing by chance: Esc means "".
/** @param {HTMLDialogElement} dialog */
function ask(dialog) {
  return new Promise((decide) => {
    dialog.returnValue = "";
    dialog.addEventListener("close", () => decide(dialog.returnValue), { once: true });
    dialog.showModal();
  });
}

export async function askAnyway() {
  return await ask(byId("anyway-dialog", HTMLDialogElement)) === "yes";
}

// Which way to break the answer; "" for none. The arrows go through the list, as in a menu.
export async function askFault() {
  const dialog = maybe("break-dialog", HTMLDialogElement);
  if (!dialog) return "";
  const buttons = all(dialog, ".faults button");
  dialog.onkeydown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = buttons.findIndex((one) => one === document.activeElement);
    buttons[(at + step + buttons.length) % buttons.length].focus();
  };
  return ask(dialog);
}

/** @param {string} title @param {Array<Node | string>} parts */
function build(title, ...parts) {
  const dialog = make("dialog", { "aria-label": title },
    make("h2", {}, title), make("form", { method: "dialog" }, ...parts,
      make("div", { class: "row" },
        make("button", { value: "no" }, say("cancel")),
        make("button", { value: "yes", class: "primary" }, say("keep")))));
  dialog.addEventListener("close", () => setTimeout(() => dialog.remove()));
  document.body.append(dialog);
  return dialog;
}

/** @param {string} label @param {Record<string, any>} attributes @returns {[HTMLInputElement, HTMLElement]} */
function field(label, attributes) {
  const input = make("input", { autocomplete: "off", ...attributes });
  return [input, make("label", { class: "field" }, make("span", {}, label), input)];
}

/** @param {string} proposal */
export async function askName(proposal) {
  const [input, label] = field(say("name"), { required: true, maxlength: 80 });
  input.value = proposal;
  const dialog = build(say("answer"), label);
  // Enter in the field means Save, not the first button of the form.
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      dialog.close("yes");
    }
  });
  const yes = await ask(dialog) === "yes";
  return yes ? input.value.trim() : "";
}

/** @param {Island} facts @param {{form: string, text: string}} body */
export async function askRule(facts, body) {
  const boxes = Object.entries(facts.arguments ?? {})
    .filter(([, value]) => value === null || typeof value !== "object")
    .map(([name, value]) => {
      const box = make("input", { type: "checkbox", checked: true });
      const shown = visible(JSON.stringify(value)).slice(0, TOO_LONG);
      return { name, value, box, label: make("label", { class: "row" }, box, say("rule.where", { name: visible(name), value: shown })) };
    });
  const [after, afterLabel] = field(say("rule.after"), { inputmode: "decimal", value: "0" });
  const [times, timesLabel] = field(say("rule.times"), { inputmode: "numeric" });
  const sentence = make("p", { class: "reads", "aria-live": "polite" });
  const dialog = build(say("rule.title"), make("p", {}, say("rule.intro", { file: facts.book })),
    ...boxes.map((one) => one.label), afterLabel, timesLabel, sentence);
  const rule = (/** @type {boolean} */ save) => ({
    method: facts.method,
    tool: facts.tool,
    ...body,
    where: Object.fromEntries(boxes.filter((one) => one.box.checked).map((one) => [one.name, one.value])),
    after: Number(after.value) || 0,
    times: Number.parseInt(times.value, 10) || 0,
    save,
  });
  const preview = async () => {
    const said = await call("/api/rules", rule(false)).catch((error) => error.record ?? {});
    sentence.textContent = [said.sentence, said.why].filter(Boolean).map(visible).join(" ");
  };
  dialog.addEventListener("input", preview);
  preview();
  if (await ask(dialog) !== "yes") return;
  try {
    await call("/api/rules", rule(true));
    tell(say("rule.saved"));
  } catch (error) {
    const why = error instanceof Refused ? error.record?.why ?? error.message : String(error);
    tell(say("failed", { why: visible(why) }), 10);
  }
}

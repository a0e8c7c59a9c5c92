// What is known of an answer that was broken on purpose: the fault, and what was there before, so that
// one click puts it back. It stays in this browser as long as the draft does.

import { keep } from "./choices.js";
import { byId } from "./dom.js";

export class Breaking {
  /** @param {Island} facts */
  constructor(facts) {
    this.name = `humanmcp:before:${facts.session}/${facts.number}`;
    this.faults = new Map(facts.faults.map((one) => [one.name, one]));
    const kept = JSON.parse(localStorage.getItem(this.name) ?? "{}");
    /** @type {FaultShape | null} */
    this.fault = this.faults.get(kept.fault) ?? null;
    /** @type {string | null} */
    this.before = this.fault ? kept.before : null;
    this.show();
  }

  /** @param {string} fault @param {string} before */
  begin(fault, before) {
    this.fault = this.faults.get(fault) ?? null;
    this.before = before;
    keep(this.name, { fault, before });
    this.show();
  }

  end() {
    if (!this.fault) return;
    this.fault = this.before = null;
    localStorage.removeItem(this.name);
    this.show();
  }

  show() {
    byId("broken").hidden = !this.fault;
    byId("broken-what").textContent = this.fault?.title ?? "";
    byId("broken-host").textContent = this.fault?.host ?? "";
  }
}

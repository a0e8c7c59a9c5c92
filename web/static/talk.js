// Speak with the desk: JSON calls, parts of pages, no more often than needed.

import { compareClocks } from "./clock.js";
import { all, first } from "./dom.js";
import { at, loginPath } from "./loginpath.js";

/** Milliseconds until a person is told that the desk is silent. */
export const SLOW = 5000;

/** An error response of the desk. */
export class Refused extends Error {
  /** @param {number} status @param {any} record */
  constructor(status, record) {
    super(record?.detail ?? String(status));
    this.status = status;
    this.record = record;
  }
}

/** @param {string} path @param {object} [body] what to POST, or a file; without it the call is a GET */
export async function call(path, body) {
  const isFile = body instanceof Blob;
  const headers = { "Content-Type": isFile ? "application/octet-stream" : "application/json" };
  const answer = await fetch(at(path), body && { method: "POST", headers, body: isFile ? body : JSON.stringify(body) });
  if (answer.status === 401) location.assign(at("/login"));
  const record = await answer.json().catch(() => null);
  if (!answer.ok) throw new Refused(answer.status, record);
  return record;
}

let unanswered = false; // a part of a page that the desk did not give: it, or the way to it, was away

/** Whether something on the page may be old, since the desk did not answer; said once. */
export function missedPart() {
  const missed = unanswered;
  unanswered = false;
  return missed;
}

// The browser parses it: no markup is ever made from a string here, and no script in it runs.
/** @param {string} path @param {URLSearchParams} [form] what to POST @returns {Promise<Document | null>} null where the desk does not give it */
export function part(path, form) {
  return new Promise((done) => {
    const request = new XMLHttpRequest();
    request.open(form ? "POST" : "GET", at(path));
    request.responseType = "document";
    request.timeout = 10_000;
    request.onload = () => {
      if (request.status === 401) location.assign(at("/login"));
      unanswered ||= request.status > 499;
      if (request.response) compareClocks(request.response);
      done(request.status === 200 ? request.response : null);
    };
    request.onerror = request.ontimeout = () => {
      unanswered = true;
      done(null);
    };
    request.send(form);
  });
}

/**
 * Send a form. `status` is 0 where the desk did not answer, `reached` whether the form had left by then, `taken` whether its
 * draft is needed no more. @param {string} address @param {URLSearchParams} form @param {string} key of its draft
 * @returns {Promise<{reached: boolean, status: number, page: Document | null, location: string, taken: boolean}>}
 */
export function postForm(address, form, key) {
  return new Promise((done) => {
    const request = new XMLHttpRequest();
    let reached = false;
    request.open("POST", address);
    request.setRequestHeader("Draft", encodeURIComponent(key));
    request.responseType = "document";
    request.upload.onload = () => { reached = true; };
    request.onloadend = () => {
      const { status, response } = request;
      if (status === 401) location.assign(at("/login"));
      const [leads, taken] = ["Location", "Draft"].map((name) => status ? request.getResponseHeader(name) : null);
      done({ reached, status, page: response, location: (leads ?? "").slice(loginPath.length), taken: taken === "taken" });
    };
    request.send(form);
  });
}

// Parts that follow are fetched again, unless the focus is in one.
export const follow = oneAtATime(async () => {
  const page = first("[data-follow=yes]") && await part(location.href);
  for (const old of all("[data-follow=yes]")) {
    const young = page?.getElementById(old.id);
    if (young && !old.querySelector(":focus")) old.replaceWith(young);
  }
});

/** Done after a pause in which it was not asked for once more. */
export class Pause {
  /** @param {number} length in milliseconds @param {() => void} act */
  constructor(length, act) {
    this.act = act;
    this.length = length;
    this.waiting = 0;
  }

  soon = (length = this.length) => {
    this.stop();
    this.waiting = setTimeout(this.act, length);
  };

  stop() {
    clearTimeout(this.waiting);
  }
}

/** One at a time: who asks meanwhile waits until it was done once more. @param {() => Promise<void>} act */
export function oneAtATime(act) {
  /** @type {Promise<void> | null} */
  let running = null;
  /** @type {Promise<void> | null} */
  let next = null;
  return /** @returns {Promise<void>} */ function run() {
    if (!running) return running = act().finally(() => { running = null; });
    return next ??= running.catch(() => {}).then(() => {
      next = null;
      return run();
    });
  };
}

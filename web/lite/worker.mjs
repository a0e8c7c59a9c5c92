// Python, with the whole program. The service worker asks through a channel, and reads the answer there.

import { loadPyodide } from "./pyodide/pyodide.mjs";

const KEPT = "/kept";
const TURN_EVERY = 500; // what nothing tells of

onmessage = ({ data }) => begin(data).catch((error) => postMessage({ error: String(error) }));

async function begin({ base, name, languages }) {
  const python = await loadPyodide({ indexURL: new URL("pyodide/", base).href, stdLibURL: new URL("python_stdlib.zip", base).href });
  for (const part of ["libraries", "program"]) {
    const found = await fetch(new URL(`${part}.zip`, base));
    python.unpackArchive(await found.arrayBuffer(), "zip", { extractDir: "/program" });
  }
  const { FS } = python;
  const place = KEPT + new URL(base).pathname;
  FS.mkdirTree(place);
  FS.mount(FS.filesystems.IDBFS, {}, place);
  const sync = (into) => new Promise((done, fail) => {
    onerror = fail; // a storage that the browser has closed is no error of the call
    FS.syncfs(into, (error) => (error ? fail(error) : done()));
  });
  await sync(true);
  const { LiteDesk } = python.runPython('import sys; sys.path.insert(0, "/program"); import humanmcp.extensions.classroom.lite.lite_desk as found; found');
  const desk = LiteDesk(python.runPython(`from pathlib import Path; Path(${JSON.stringify(`${place}home`)})`), base, languages);
  const channel = new BroadcastChannel(name);
  let saving = Promise.resolve();
  let ended = false;
  let unsaved = false;

  const unstored = (error) => {
    console.error(error);
    FS.filesystems.IDBFS.dbs = {}; // it is opened again
    tell(true);
  };
  const tell = (now) => now === unsaved || channel.postMessage({ unsaved: (unsaved = now) });
  const save = () => (saving = saving.then(() => ended || sync(false)).then(() => tell(false), unstored));

  channel.onmessage = async ({ data }) => {
    if (data.hello) channel.postMessage({ path: desk.path, unsaved });
    if (data.end) { ended = true; close(); }
    if (data.left) desk.leave(data.left);
    if (!data.asked) return;
    const { id, method, path, headers, body } = data.asked;
    const changed = [];
    const post = (_id, status, headers, content, more) => {
      const piece = { id, status, headers: headers.toJs(), content: content.toJs(), more };
      if (method === "POST") changed.push(piece);
      else channel.postMessage(piece);
    };
    try {
      await desk.answer(id, method, path, python.toPy(headers), python.toPy(new Uint8Array(body)).tobytes(), post);
    } catch (error) {
      console.error(error);
      channel.postMessage({ id, status: 500, headers: [], content: new Uint8Array(), more: false });
    }
    if (method === "POST") await save(); // whoever is told that it was sent finds it after a reload
    for (const piece of changed) channel.postMessage(piece);
  };
  setInterval(() => { desk.turn(); save(); }, TURN_EVERY);
  save();
  channel.postMessage({ path: desk.path, began: true });
}

// Compiles the program and the standard library with the very Python that runs them in the browser, without
// docstrings. Run by tools/lite.py in the folder with both.

import { loadPyodide } from "pyodide";

const python = await loadPyodide();
python.FS.mkdir("/made");
python.FS.mount(python.FS.filesystems.NODEFS, { root: process.argv[2] }, "/made");
python.runPython(`
import compileall, pathlib
assert compileall.compile_dir("/made", legacy=True, quiet=1, stripdir="/made", optimize=2)
for source in pathlib.Path("/made").rglob("*.py"):
    source.unlink()
`);

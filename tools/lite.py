"""Build the page that needs no server: `python -m tools.lite FOLDER`.

Any server of static files shows the folder. What is packed comes from npm and PyPI, each version
with its hash (`tools/pyodide/package-lock.json`, `tools/pyodide/wheels.txt`). Where it cannot be
built, that is said loudly, and the command succeeds. `--prepare` makes what seldom changes.
"""

import base64
import hashlib
import io
import json
import lzma
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from editor.build import CannotBuildError, Npm, need_npm
from humanmcp.desk.context import EDITOR
from humanmcp.extensions import GROUP
from humanmcp.locales import compiling
from tools.install import install_packages

ROOT: Final = Path(__file__).parent.parent
SOURCES: Final = ROOT / "web" / "lite"
LOCKED: Final = Path(__file__).parent / "pyodide" / "wheels.txt"
PLATFORMS: Final = ("pyemscripten_2026_0_wasm32", "manylinux_2_17_x86_64")
PACKED: Final = ".packed"
"""Compressed, under a name of which no server thinks more."""
SHELL: Final = ("index.html", "shell.css", "shell.js", "worker.mjs")
PYODIDE: Final = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json")
NPM: Final = Path(__file__).parent / "pyodide"
NODE: Final = NPM / "node_modules"
UNPACKER: Final = Path("xz-decompress", "dist", "package", "xz-decompress.min.js")
UNUSED: Final = (
    *("_pydatetime", "_pyio", "_pyrepl", "bdb", "cProfile", "cmd", "code.", "compileall"),
    *("configparser", "ctypes", "doctest", "fileinput", "ftplib", "imaplib", "mailbox"),
    *("modulefinder", "multiprocessing", "optparse", "pdb", "pickletools", "poplib", "profile"),
    *("pstats", "pyclbr", "pydoc", "runpy", "smtplib", "sqlite3", "symtable", "tabnanny"),
    *("timeit", "trace.", "turtle", "unittest", "wave", "wsgiref", "xmlrpc"),
    *("asyncio/windows", "asyncio/proactor", "logging/config", "logging/handlers"),
    *("pyodide/console", "xml/dom", "xml/etree"),
    *("encodings/cp0", "encodings/cp1", "encodings/cp7", "encodings/cp8"),
    *("encodings/iso8859_", "encodings/koi8", "encodings/mac_"),
)
"""What nothing here imports of the standard library."""
LEFT_OUT: Final = (
    *("*.pyi", "py.typed", "*.md", "mypy.py", "__pycache__", "en", "ja", "compiled"),
    *("host", "tap", "agents", "plugin.py", "doctor.py", "trial.py", "folder_check.py"),
    *("v1", "idna", "_trio.py", "testclient.py", "ext.py", "experimental", "data", "*-gnu.so"),
)
"""What is not read there: types, the other forms of sentences, packages that need a computer."""
LEADS_TO_CHECK: Final = '<!doctype html><meta http-equiv="refresh" content="0; url=../#check">\n'
"""The page `check/`: an address that people can share."""
SAMPLES: Final = ("weather.toml", "mistakes.toml", "lessons")


def build(target: Path) -> None:
    """Make the folder; another one is replaced whole.

    Raises:
        CannotBuildError: Node.js is not here, or a registry cannot be reached.
    """
    npm = need_npm()
    with tempfile.TemporaryDirectory(dir=_made_folder()) as folder:
        made, program = Path(folder, "made"), Path(folder, "program")
        prepare(npm)
        shutil.copytree(libraries(), made)
        _copy_program(program / "humanmcp")
        npm.run_node(NPM, "compile.mjs", str(program))
        pack(made / "program.zip", _zipped(program))
        for path in (ROOT / "web" / "static").rglob("*"):
            if path.is_file() and not path.name.startswith("."):  # hosts do not publish such files
                pack(made / path.relative_to(ROOT / "web"), path.read_bytes())
        for name in SHELL:
            shutil.copy(SOURCES / name, made)
        (made / "check").mkdir()
        (made / "check" / "index.html").write_text(LEADS_TO_CHECK, encoding="utf-8")
        write_service_worker(made)
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(made, target)  # it may be on another disk


def _made_folder() -> Path:
    folder = ROOT / "build" / "lite"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def libraries() -> Path:
    """Return where Python and the libraries are, once `prepare` has made them."""
    inputs = (LOCKED, NPM / "package-lock.json", NPM / "compile.mjs", Path(__file__))
    digest = hashlib.sha256(b"".join(one.read_bytes() for one in inputs)).hexdigest()[:16]
    return _made_folder() / digest


def prepare(npm: Npm) -> None:
    """Fetch and compile Python and the libraries, if they are not there or have changed.

    Raises:
        CannotBuildError: a registry cannot be reached.
    """
    ready = libraries()
    if ready.exists():
        return
    install_packages(npm, NPM)
    with tempfile.TemporaryDirectory(dir=_made_folder()) as folder:
        parts, made = Path(folder, "parts"), Path(folder, "made")
        _unpack_wheels(parts / "libraries", Path(folder, "wheels"))
        with zipfile.ZipFile(NODE / "pyodide" / "python_stdlib.zip") as opened:
            wanted = [name for name in opened.namelist() if not name.startswith(UNUSED)]
            opened.extractall(parts / "python_stdlib", wanted)
        npm.run_node(NPM, "compile.mjs", str(parts))
        for part in parts.iterdir():
            pack(made / f"{part.name}.zip", _zipped(part))
        for name in PYODIDE:
            pack(made / "pyodide" / name, (NODE / "pyodide" / name).read_bytes())
        made.rename(ready)


def _unpack_wheels(folder: Path, wheels: Path) -> None:
    words = ["--require-hashes", "--no-deps", "--only-binary=:all:", "--python-version", "3.14"]
    for platform in PLATFORMS:
        words += ["--platform", platform]
    command = [sys.executable, "-m", "pip", "download", "--quiet", *words]
    ended = subprocess.run(
        [*command, "--dest", str(wheels), "--requirement", str(LOCKED)],
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise CannotBuildError(ended.stderr.strip())
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as opened:
            opened.extractall(folder, [one for one in opened.namelist() if _is_wanted(one)])


def _copy_program(program: Path) -> None:
    """Lay out the program as it is to be imported."""
    shutil.copytree(ROOT / "humanmcp", program, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for locales in (one for one in compiling.folders() if one.parent.name not in LEFT_OUT):
        copy = program / locales.relative_to(ROOT / "humanmcp") / "compiled"
        for language in compiling.languages(locales):
            sections = compiling.sections(language, locales)
            compiling.write(copy / language, sections, stamped=False)
    _name_extensions(program.parent / "humanmcp.dist-info")
    shutil.copytree(ROOT / "web" / "templates", program / "web" / "templates")
    if (ROOT / "web" / "static" / EDITOR).exists():
        editor = program / "web" / "static" / EDITOR
        editor.parent.mkdir(parents=True)
        editor.touch()  # the page asks whether it is there; the service worker has it
    for name in SAMPLES:
        source, copy = ROOT / "samples" / name, program / "samples" / name
        copy.parent.mkdir(exist_ok=True)
        shutil.copytree(source, copy) if source.is_dir() else shutil.copy(source, copy)


def _name_extensions(info: Path) -> None:
    """Write what an installation has of the entry points of our extensions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = [
        f"{name} = {value}"
        for name, value in project["entry-points"][GROUP].items()
        if name not in LEFT_OUT
    ]
    info.mkdir()
    (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *rows, ""]), encoding="utf-8")


def _is_wanted(name: str) -> bool:
    is_read = ".dist-info/" not in name or "entry_points" in name
    return is_read and not any(fnmatch(part, one) for part in Path(name).parts for one in LEFT_OUT)


def _zipped(folder: Path) -> bytes:
    """Return a folder as a ZIP that is not compressed: as a whole it becomes smaller."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as opened:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                name = zipfile.ZipInfo(path.relative_to(folder).as_posix())
                opened.writestr(name, path.read_bytes())
    return made.getvalue()


def pack(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    packed = lzma.compress(content, check=lzma.CHECK_CRC32, preset=7)  # looks back 16 MiB
    file.with_name(f"{file.name}{PACKED}").write_bytes(packed)


def write_service_worker(made: Path) -> None:
    """Tell the service worker its files with their hashes, and a version of them all."""
    files = []
    for path in sorted(made.rglob("*")):
        if path.is_file() and path.name != "sw.js":
            content = path.read_bytes()
            digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
            files.append([path.relative_to(made).as_posix(), len(content), f"sha256-{digest}"])
    source = (NODE / UNPACKER).read_bytes() + (SOURCES / "sw.js").read_bytes()
    listed = json.dumps(files)
    version = hashlib.sha256(source + listed.encode()).hexdigest()[:16]
    head = f"const VERSION = {json.dumps(version)};\nconst FILES = {listed};\n"
    (made / "sw.js").write_bytes(head.encode() + source)


def main(words: list[str]) -> int:
    """Build it, or say loudly why not."""
    try:
        if words == ["--prepare"]:
            prepare(need_npm())
        else:
            build(Path(words[0] if words else "build/try").resolve())
    except (CannotBuildError, OSError) as error:
        sys.stderr.write(f"SKIPPED: the page without a server is not built: {error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

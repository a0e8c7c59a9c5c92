"""Install what the tests drive from npm: `python -m tests.install clients`, or `browser`.

Node.js itself comes from PyPI with the other tools of the tests. What cannot be installed is said
loudly, and the command succeeds: the tests that need it are skipped, each with the reason.
"""

import os
import platform
import shutil
import sys
from pathlib import Path
from typing import Final

from editor.build import CannotBuildError, Npm, need_npm
from tests.browser import chromium

CLIENTS: Final = Path(__file__).parent / "clients" / "node"
INSTALLED: Final = Path("node_modules", ".installed")
"""A copy of the lock file that the packages were installed from."""


def is_installed(folder: Path) -> bool:
    """Return True if the packages of a folder are the ones that its lock file names."""
    stamp = folder / INSTALLED
    return stamp.exists() and stamp.read_bytes() == (folder / "package-lock.json").read_bytes()


def install_clients(npm: Npm) -> None:
    """Install the SDK clients and the conformance suite."""
    _install(npm, CLIENTS)


def install_browser(npm: Npm) -> None:
    """Install Chromium with its libraries and fonts.

    Raises:
        CannotBuildError: it is built for another system, or npm failed.
    """
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise CannotBuildError("the package is for Linux on x86_64; install a Chromium")
    if not is_installed(chromium.NPM):
        shutil.rmtree(chromium.UNPACKED, ignore_errors=True)
    _install(npm, chromium.NPM)
    if not (chromium.UNPACKED / "chromium").exists():
        chromium.UNPACKED.mkdir(exist_ok=True)
        npm.run_node(chromium.NPM, "unpack.mjs", TMPDIR=str(chromium.UNPACKED))


def _install(npm: Npm, folder: Path) -> None:
    if is_installed(folder):
        return
    sys.stderr.write(f"installing the npm packages of {os.path.relpath(folder)}\n")
    npm.run(folder, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    shutil.copy(folder / "package-lock.json", folder / INSTALLED)


def main(name: str) -> int:
    """Install one of them, or say loudly why not."""
    try:
        {"clients": install_clients, "browser": install_browser}[name](need_npm())
    except (CannotBuildError, OSError) as error:
        if name == "clients" or chromium.find() is None:
            sys.stderr.write(f"The tests of the {name} will be SKIPPED: {error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

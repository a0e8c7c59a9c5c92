"""Install what the tests drive: `python -m tools.install clients`, or `browser`.

The clients are npm packages, and the Python SDK 1.x in an environment of its own. Node.js itself
comes from PyPI with the other tools of the tests. What cannot be installed is said loudly, and the
command succeeds: the tests that need it are skipped, each with the reason.
"""

import os
import platform
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

from editor.build import CannotBuildError, Npm, need_npm
from tests.browser import chromium

_USED: Final = Path(__file__).parents[1] / "tests" / "clients"
CLIENTS: Final = _USED / "node"
SDK_1: Final = _USED / "python1"
SDK_1_LOCKED: Final = Path(__file__).parent / "locked" / "sdk1.txt"
INSTALLED: Final = Path("node_modules", ".installed")
"""A copy of the lock file that the packages were installed from."""


def is_installed(folder: Path) -> bool:
    """Return True if the packages of a folder are the ones that its lock file names."""
    stamp = folder / INSTALLED
    return stamp.exists() and stamp.read_bytes() == (folder / "package-lock.json").read_bytes()


def install_clients() -> None:
    """Install the SDK clients and the conformance suite, and the Python SDK 1.x."""
    try:
        install_sdk_1()
    except (subprocess.CalledProcessError, OSError) as error:
        why = getattr(error, "stderr", None) or error
        sys.stderr.write(f"The tests of the Python SDK 1.x will be SKIPPED: {why}\n")
    install_packages(need_npm(), CLIENTS)


def sdk_1() -> Path | None:
    """Return the Python that has the SDK 1.x that is locked; None if it is not installed."""
    stamp, folder = SDK_1 / ".venv" / ".installed", "Scripts" if os.name == "nt" else "bin"
    fits = stamp.exists() and stamp.read_bytes() == SDK_1_LOCKED.read_bytes()
    return SDK_1 / ".venv" / folder / "python" if fits else None


def install_sdk_1() -> None:
    """Install the Python SDK 1.x: the test extra has the 2.x.

    Raises:
        subprocess.CalledProcessError: pip failed.
        OSError: there is no room for it.
    """
    if sdk_1() is not None:
        return
    sys.stderr.write("installing the Python SDK 1.x\n")
    place = SDK_1 / ".venv"
    venv.create(place, clear=True, with_pip=True)
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    words = ("-m", "pip", "install", "--quiet", "--require-hashes", "--requirement")
    subprocess.run((python, *words, SDK_1_LOCKED), capture_output=True, text=True, check=True)
    shutil.copy(SDK_1_LOCKED, place / ".installed")


def install_browser() -> None:
    """Install Chromium with its libraries and fonts.

    Raises:
        CannotBuildError: it is built for another system, or npm failed.
    """
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise CannotBuildError("the package is for Linux on x86_64; install a Chromium")
    npm = need_npm()
    if not is_installed(chromium.NPM):
        shutil.rmtree(chromium.UNPACKED, ignore_errors=True)
    install_packages(npm, chromium.NPM)
    if not (chromium.UNPACKED / "chromium").exists():
        chromium.UNPACKED.mkdir(exist_ok=True)
        npm.run_node(chromium.NPM, "unpack.mjs", TMPDIR=str(chromium.UNPACKED))


def install_packages(npm: Npm, folder: Path) -> None:
    if is_installed(folder):
        return
    sys.stderr.write(f"installing the npm packages of {os.path.relpath(folder)}\n")
    npm.run(folder, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    shutil.copy(folder / "package-lock.json", folder / INSTALLED)


def main(name: str) -> int:
    """Install one of them, or say loudly why not."""
    try:
        {"clients": install_clients, "browser": install_browser}[name]()
    except (CannotBuildError, OSError) as error:
        if name == "clients" or chromium.find() is None:
            sys.stderr.write(f"The tests of the {name} will be SKIPPED: {error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

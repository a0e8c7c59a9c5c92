"""Install a host's npm package into a folder that can be thrown away, or say why that fails.

Of the install scripts only the host's own is run, and may fail: those of its dependencies build
what one prompt does not need.
"""

import json
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.hosts.table import RealHost

INSTALLED_WITHIN: Final = 600.0
SCRIPT_WITHIN: Final = 60.0
NEWER_NODE: Final = "24"
_ARCHITECTURES: Final = {"x86_64": "x64", "aarch64": "arm64"}


class CannotRunError(Exception):
    """A host cannot be run here; the text says why."""


@dataclass(frozen=True, slots=True)
class Installed:
    """A host that is there: its program, its version, and the folders that come first on PATH.

    `note` says why its install script failed, "" where it did not: often that is no harm.
    """

    program: Path
    version: str
    path: tuple[Path, ...]
    note: str = ""


def install(host: RealHost, folder: Path) -> Installed:
    """Install the latest version of a host, unless it is there.

    Raises:
        CannotRunError: npm cannot install it, or it needs a Node.js that cannot be had.
    """
    own = folder / host.name
    manifest = own / "node_modules" / host.package / "package.json"
    is_new = not manifest.exists()
    if is_new:
        _npm(own, f"{host.package}@latest")
    facts = json.loads(manifest.read_text("utf-8"))
    note = _own_script(manifest.parent, facts) if is_new else ""
    bin_folder = own / "node_modules" / ".bin"
    wanted = str(facts.get("engines", {}).get("node", ""))
    newer = () if _is_new_enough(wanted) else (_newer_node(own),)
    return Installed(bin_folder / host.program, facts["version"], (*newer, bin_folder), note)


def _own_script(package: Path, facts: Mapping[str, Any]) -> str:
    """Run a package's own install script. Returns why it failed, "" when it did not."""
    script = facts.get("scripts", {}).get("postinstall", "")
    if not script:
        return ""
    try:
        done = subprocess.run(
            ["sh", "-c", script],
            cwd=package,
            capture_output=True,
            text=True,
            timeout=SCRIPT_WITHIN,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"`{script}` took longer than {SCRIPT_WITHIN:g} s"
    return f"`{script}`: {done.stderr.strip()[-300:]}" if done.returncode else ""


def _npm(folder: Path, *packages: str) -> None:
    if shutil.which("npm") is None:
        raise CannotRunError("npm is not here (https://nodejs.org/)")
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "package.json").exists():
        (folder / "package.json").write_text("{}", "utf-8")
    words = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    try:
        done = subprocess.run(
            [*words, *packages],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=INSTALLED_WITHIN,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CannotRunError(f"npm did not install it in {INSTALLED_WITHIN:g} s") from error
    if done.returncode:
        raise CannotRunError(f"npm cannot install it: {done.stderr.strip()[-300:]}")


def _is_new_enough(wanted: str) -> bool:
    """Return True if the Node.js of this machine is what a package asks for, such as `>=22.0.0`."""
    least = re.search(r"\d+", wanted)
    if least is None:
        return True
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    return int(node.strip().removeprefix("v").partition(".")[0]) >= int(least[0])


def _newer_node(folder: Path) -> Path:
    """Install a newer Node.js beside a host, as npm has it, and return its folder."""
    system = platform.system().lower()
    name = f"node-{system}-{_ARCHITECTURES.get(platform.machine(), platform.machine())}"
    place = folder / "node_modules" / name / "bin"
    if not place.exists():
        _npm(folder, f"{name}@{NEWER_NODE}")
    return place

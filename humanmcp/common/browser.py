"""Open an address in the person's browser, also from a program without their desktop's variables.

Hosts start servers with few variables, and so without DISPLAY: then those of the nearest program
above that has them are used. Over ssh there is no browser to open here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from humanmcp.common.shell import command_line
from humanmcp.locales import say

if TYPE_CHECKING:
    from collections.abc import Mapping

SECTION: Final = "browser"
OPENS_WITHIN: Final = 3.0
"""Seconds after which an opener that still runs is the browser itself."""

_browsers: Final[list[subprocess.Popen[bytes]]] = []
_SCREEN: Final = ("BROWSER", "WAYLAND_DISPLAY", "DISPLAY")
_DESKTOP: Final = (*_SCREEN, "XAUTHORITY", "SSH_CONNECTION")
_DESKTOP_PREFIXES: Final = ("XDG_", "DBUS_")


def open_address(address: str, environment: Mapping[str, str]) -> bool:
    """Open an address with these variables. Return False if no browser took it."""
    if not has_screen(environment):
        return False
    # In a separate process: a browser may print to the stdout of a server.
    process = subprocess.Popen(  # noqa: S603 - our own interpreter, and an address of our own
        [sys.executable, "-m", __name__, address],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=dict(environment),
    )
    try:
        return process.wait(OPENS_WITHIN) == 0
    except subprocess.TimeoutExpired:
        _browsers.append(process)
        return True


def has_screen(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Return True if a program with these variables can show a window to the person."""
    if platform in ("win32", "darwin"):
        return "SSH_CONNECTION" not in environment
    return any(environment.get(name) for name in _SCREEN)


def desktop() -> dict[str, str]:
    """Return the variables of this process; with those of the desktop, if they were stripped."""
    environment = dict(os.environ)
    process = os.getppid()
    while process > 1 and not has_screen(environment) and "SSH_CONNECTION" not in environment:
        above, process = _look_up(process)
        environment |= {
            name: value
            for name, value in above.items()
            if name in _DESKTOP or name.startswith(_DESKTOP_PREFIXES)
        }
    return environment


def _look_up(process: int) -> tuple[dict[str, str], int]:
    """Return the variables of a process, and its parent; 0 where the system does not say."""
    folder = Path("/proc", str(process))
    try:
        pairs = os.fsdecode((folder / "environ").read_bytes()).split("\0")
        state = (folder / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # of another user, or a system without /proc
        return {}, 0
    variables = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    return variables, int(state.rpartition(")")[2].split()[1])


def outcome(address: str, environment: Mapping[str, str], *, is_open: bool) -> str:
    """Tell whether a page of this computer was opened, and how a browser elsewhere reaches it."""
    if is_open:
        return say(SECTION, "opened")
    if "SSH_CONNECTION" not in environment:
        return say(SECTION, "none")
    return say(SECTION, "ssh", forward=command_line(*forwarding(address, environment)))


def forwarding(address: str, environment: Mapping[str, str]) -> list[str]:
    """Return the command that brings a port of this computer to the person's own."""
    port = urlsplit(address).port
    host = urlsplit(address).hostname or ""
    # https://man.openbsd.org/ssh#SSH_CONNECTION: "four space-separated values: client IP address,
    # client port number, server IP address, and server port number"
    _, _, here, ssh_port = environment["SSH_CONNECTION"].split()
    user = environment.get("USER") or environment.get("LOGNAME") or ""
    words = ["ssh", "-L", f"{port}:{f'[{host}]' if ':' in host else host}:{port}"]
    words += ["-p", ssh_port] if ssh_port != "22" else []
    return [*words, f"{user}@{here}" if user else here]


def _open(address: str) -> bool:
    import webbrowser  # noqa: PLC0415 - a server that starts needs no browser

    # The library does not wait for the status of xdg-open.
    opener = None if sys.platform in ("win32", "darwin") else shutil.which("xdg-open")
    if opener and not os.environ.get("BROWSER"):
        return subprocess.run([opener, address], check=False).returncode == 0  # noqa: S603 - found on PATH, as the desktop names it
    return webbrowser.open(address)


if __name__ == "__main__":
    sys.exit(not _open(sys.argv[1]))

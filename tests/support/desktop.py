"""A desktop that opens pages: a stand-in for `xdg-open` that writes down what it opened."""

import os
from pathlib import Path
from typing import Final

SCREEN: Final = {"DISPLAY": ":7", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus"}
_LOST: Final = (
    "BROWSER",
    "WAYLAND_DISPLAY",
    "DISPLAY",
    "SSH_CONNECTION",
    "DBUS_SESSION_BUS_ADDRESS",
)


class Desktop:
    """A folder with the opener, and the variables of a program that was started there."""

    def __init__(self, folder: Path, *, status: int = 0) -> None:
        """Make the opener, which ends with this status."""
        self.opened = folder / "opened"
        opener = folder / "bin" / "xdg-open"
        opener.parent.mkdir(parents=True)
        opener.write_text(
            f"#!/bin/sh\necho \"$DISPLAY $DBUS_SESSION_BUS_ADDRESS $1\" >> '{self.opened}'\n"
            f"exit {status}\n"
        )
        opener.chmod(0o755)
        self.without_screen = {
            **{name: value for name, value in os.environ.items() if name not in _LOST},
            "PATH": f"{opener.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
        }
        self.environment = self.without_screen | SCREEN

    def lines(self) -> list[str]:
        """Return what was opened so far: display, bus and address."""
        return self.opened.read_text().splitlines() if self.opened.exists() else []

"""The browser of the tests: the one that `make browser` installed, else a Chromium of the machine.

What `make browser` installs comes from the npm registry with its libraries and fonts, so a page
looks the same on every machine, and nobody needs rights to install it.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

NPM: Final = Path(__file__).parent / "npm"
UNPACKED: Final = NPM / "node_modules" / ".chromium"
NAMES: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


class LaunchOptions(TypedDict):
    """What Playwright is told to start."""

    executable_path: Path
    env: dict[str, str | float | bool]
    args: list[str]


def find() -> LaunchOptions | None:
    """Return how to start the installed browser, else one on PATH; None where there is neither."""
    args = ["--no-sandbox", "--disable-gpu"]
    program = UNPACKED / "chromium"
    if program.exists():
        libraries, fonts = str(UNPACKED / "al2023" / "lib"), str(NPM / "fonts.conf")
        env = {**os.environ, "LD_LIBRARY_PATH": libraries, "FONTCONFIG_FILE": fonts}
        return {"executable_path": program, "env": {**env}, "args": args}
    on_path = next(filter(None, map(shutil.which, NAMES)), None)
    if on_path is None:
        return None
    return {"executable_path": Path(on_path), "env": {**os.environ}, "args": args}


def launch_options() -> LaunchOptions:
    """Return how to start the browser; tests that need it are skipped where there is none."""
    found = find()
    assert found is not None, "there is no Chromium: run `make browser`"
    return found


def launch(playwright: Playwright, *arguments: str, **environment: str) -> Browser:
    """Start the browser of the tests, without a screen."""
    options = launch_options()
    options["args"] += arguments
    options["env"].update(environment)
    return playwright.chromium.launch(**options)

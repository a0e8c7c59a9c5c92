"""Firefox as the distribution has it. Playwright drives it over WebDriver BiDi, unpatched."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

NAMES: Final = ("firefox-esr", "firefox")


def find() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


def launch(playwright: Playwright, **preferences: str | bool | float) -> Browser:
    """Start it without a screen; `preferences` are those of about:config, with `__` for a dot."""
    named = {name.replace("__", "."): value for name, value in preferences.items()}
    program = find()
    assert program is not None, "there is no Firefox: run `make programs`"
    return playwright.firefox.launch(
        channel="moz-firefox", executable_path=program, firefox_user_prefs=named
    )

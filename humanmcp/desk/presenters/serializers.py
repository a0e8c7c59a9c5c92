"""How the page speaks: which language, what its scripts say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.locales import LANGUAGES, say, sentences_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.desk.presenters.page_types import FaultShape
    from humanmcp.protocol.validation.faults import Fault

ROOM: Final = "desk"
SCRIPT: Final = "js."
"""Sentences whose code begins with this are handed to the scripts of the page, unfilled."""


def language_of(query: str, cookie: str, accepted: str, wanted: str = "") -> str:
    """Choose: what the address says, what was chosen before, the setting, what the browser says."""
    for candidate in (query, cookie, wanted):
        if candidate[:2].lower() in LANGUAGES:
            return candidate[:2].lower()
    for part in accepted[:1000].split(","):
        short = part.strip()[:2].lower()
        if short in LANGUAGES:
            return short
    return "en"


def for_scripts(language: str) -> Mapping[str, str]:
    """Return the sentences that the page's scripts need, by code without its beginning."""
    found = {**sentences_of(ROOM, "en"), **sentences_of(ROOM, language)}
    return {code[len(SCRIPT) :]: text for code, text in found.items() if code.startswith(SCRIPT)}


def fault(found: Fault, language: str) -> FaultShape:
    """Write a way to break an answer: its name, its title, and what a good host does with it."""
    title, host = (say("fault", code, language) for code in (found.value, f"{found.value}.host"))
    return {"name": found.value, "title": title, "host": host}

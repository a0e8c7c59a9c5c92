"""How the page speaks: which language, how a problem is worded, what its scripts say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.locales import LANGUAGES, UnknownSentenceError, problem, say, sentences_of
from humanmcp.protocol.diagnostics.model import Applicability, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.desk.presenters.page_types import DiagnosticShape, FaultShape
    from humanmcp.protocol.diagnostics.model import Diagnostic, Fix
    from humanmcp.protocol.validation.faults import Fault

ROOM: Final = "desk"
SCRIPT: Final = "js."
"""Sentences whose code begins with this are handed to the scripts of the page, unfilled."""


_DOUBTFUL: Final = frozenset({Applicability.GUESS, Applicability.PLACEHOLDER})


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


def describe(found: Diagnostic, language: str) -> DiagnosticShape:
    """Write a problem as the page and the scripts read it."""
    fix = found.fix
    return {
        "code": found.code,
        "level": found.level.value,
        "blocks": found.level is Severity.ERROR,
        "text": problem(found, language),
        "pointer": found.pointer,
        "start": found.start,
        "end": found.end,
        "line": found.line,
        "column": found.column,
        "page": found.page,
        "field": "",
        "count": found.times,
        "fix": None
        if fix is None
        else {
            "label": fix_label(fix, language),
            "applicability": fix.applicability.value,
            "edits": [(edit.start, edit.end, edit.new) for edit in fix.edits],
        },
    }


def fault(found: Fault, language: str) -> FaultShape:
    """Write a way to break an answer: its name, its title, and what a good host does with it."""
    title, host = (say("fault", code, language) for code in (found.value, f"{found.value}.host"))
    return {"name": found.value, "title": title, "host": host}


def fix_label(fix: Fix, language: str) -> str:
    """Return what stands on the button of a fix; a guess is called one."""
    try:
        label = say("fix", fix.label, language)
    except UnknownSentenceError:
        label = say(ROOM, "fix", language)
    if fix.applicability in _DOUBTFUL:
        return say("fix", fix.applicability.value, language, label=label)
    return label

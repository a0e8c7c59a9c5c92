"""What a person at a terminal wants to know of an answer: what it says, what is wrong with it."""

from __future__ import annotations

import contextlib
import json
import re
from typing import TYPE_CHECKING, Any, Final

from humanmcp import locales
from humanmcp.common.terminal import SEVERITY_COLOURS, Painted
from humanmcp.host.client.requests import LISTS, List
from humanmcp.host.offering import text_of
from humanmcp.locales import UnknownSentenceError, fillings_of, say
from humanmcp.protocol.json.escaping import one_line
from humanmcp.protocol.json.tree import objects_at
from humanmcp.protocol.validation.completing import values_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.diagnostics.model import Diagnostic


def gist(method: str, result: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return it as text; "" where nothing but the whole result says it."""
    match method, result:
        case "tools/call", {"content": _}:
            return ("isError: " if result.get("isError") is True else "") + text_of(result)
        case "prompts/get", {"messages": list(said)}:
            return "\n".join(map(_said, objects_at(said)))
        case "resources/read", {"contents": list(read)}:
            return text_of({"content": [{"type": "resource", "resource": one} for one in read]})
        case "completion/complete", {"completion": _}:
            return "\n".join(values_of(result))
        case _, dict():
            return _names(method, result)
        case _:
            return ""


def _names(method: str, result: Mapping[str, Any]) -> str:
    """Return the names in a list; "" for what is none."""
    for each in LISTS.values():
        listed = result.get(each.member)
        if method == each.method and isinstance(listed, list):
            return ", ".join(str(one.get(each.key)) for one in objects_at(listed)) or "-"
    return ""


def line_of(entry: Mapping[str, Any], each: List) -> tuple[str, str]:
    """Return the name of an entry of a list, and what is said of it: arguments, description."""
    known = objects_at(entry, "arguments") if each.member == "prompts" else []
    takes = [
        f"{one.get('name')}=…" if one.get("required") is True else f"[{one.get('name')}=…]"
        for one in known
    ]
    about = str(entry.get("description") or entry.get("title") or "")
    return str(entry.get(each.key)), "  ".join(one for one in (" ".join(takes), about) if one)


def _said(message: Mapping[str, Any]) -> str:
    """Return one message of a prompt: who says what."""
    return f"{message.get('role')}: {text_of({'content': [message.get('content')]})}"


def as_json(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False)


LONGEST: Final = 400
"""Characters in a row that may be base64 and are still shown whole."""
SHOWN: Final = 32

_RUN: Final = re.compile(rf"[A-Za-z0-9+/_-]{{{LONGEST},}}={{0,2}}")


def shortened(text: str, language: str) -> str:
    """Return a text with every long run of base64 cut, and its length said."""

    def cut(found: re.Match[str]) -> str:
        return say("client", "shortened", language, start=found[0][:SHOWN], count=len(found[0]))

    return _RUN.sub(cut, text)


def diagnostic_line(
    diagnostic: Diagnostic, language: str, *, seen: bool = False
) -> tuple[str | Painted, ...]:
    """Return the parts of the line. `seen` is for one who did not write what is wrong."""
    place = diagnostic.pointer
    if not place and diagnostic.line:
        place = say("check", "place", language, line=diagnostic.line, column=diagnostic.column)
    said = one_line(sentence(diagnostic, language, seen=seen))
    return (
        "  ",
        Painted(
            say("check", diagnostic.severity.value, language), SEVERITY_COLOURS[diagnostic.severity]
        ),
        f" {diagnostic.code}{f' {place}' if place else ''}: {said}",
        Painted(f"  {diagnostic.page}" if diagnostic.page else "", "dim"),
    )


_OF_THE_WRITER: Final = frozenset({"M10", "R15"})
"""Problems that say who wrote the wrong word: a client's own request is no word of the server."""


def diagnostic_line_for_asker(diagnostic: Diagnostic, language: str) -> tuple[str | Painted, ...]:
    """Return what is wrong with a client's own request, about what the server declared."""
    return diagnostic_line(diagnostic, language, seen=diagnostic.code not in _OF_THE_WRITER)


def sentence(diagnostic: Diagnostic, language: str, *, seen: bool = False) -> str:
    """Return a problem's sentence; its code where there is none.

    Most sentences hold for everybody. Those that say "you" to the one who writes a server's answer
    have another wording for the client that sees it.
    """
    if seen:
        with contextlib.suppress(UnknownSentenceError):
            return say(
                "problem", f"{diagnostic.code}.seen", language, **fillings_of(diagnostic, language)
            )
    return locales.describe_or_code(diagnostic, language)

"""What a person wants to know of a result: a tool's words, the names of a list, a prompt's text."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from humanmcp.host.client.requests import LISTS, List
from humanmcp.host.offering import text_of
from humanmcp.locales import say
from humanmcp.protocol.validation.completing import values_of

if TYPE_CHECKING:
    from collections.abc import Mapping


def gist(method: str, result: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return it as text; "" where nothing but the whole result says it."""
    match method, result:
        case "tools/call", {"content": _}:
            return ("isError: " if result.get("isError") is True else "") + text_of(result)
        case "prompts/get", {"messages": list(said)}:
            return "\n".join(_said(one) for one in _objects(said))
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
            return ", ".join(str(one.get(each.key)) for one in _objects(listed)) or "-"
    return ""


def line_of(entry: Mapping[str, Any], each: List) -> tuple[str, str]:
    """Return the name of an entry of a list, and what is said of it: arguments, description."""
    listed = entry.get("arguments") if each.member == "prompts" else None
    known = _objects(listed) if isinstance(listed, list) else []
    takes = [
        f"{one.get('name')}=…" if one.get("required") is True else f"[{one.get('name')}=…]"
        for one in known
    ]
    about = str(entry.get("description") or entry.get("title") or "")
    return str(entry.get(each.key)), "  ".join(one for one in (" ".join(takes), about) if one)


def _said(message: Mapping[str, Any]) -> str:
    """Return one message of a prompt: who says what."""
    return f"{message.get('role')}: {text_of({'content': [message.get('content')]})}"


def _objects(found: list[Any]) -> list[dict[str, Any]]:
    return [one for one in found if isinstance(one, dict)]


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

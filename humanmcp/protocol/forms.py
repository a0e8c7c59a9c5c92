"""What a text must look like beyond being text: base64, an address, a moment in time.

Each form is a function from the value to a `Trouble`, or None when all is well. Knows no place.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from humanmcp.protocol.messages import Json


class Trouble(NamedTuple):
    """What is wrong with a text: the code, and the value that mends it where there is one."""

    code: str
    mended: Json = None


# Texts: `re` compiles each when it is first used, which the start of a server need not pay for.
_BASE64: Final = r"[A-Za-z0-9+/]*+={0,2}"
_URI: Final = r"[A-Za-z][A-Za-z0-9+.\-]*:[^\s<>\"{}|\\^`]+"
_MIME: Final = r"[A-Za-z0-9!#$&^_.+\-]+/[A-Za-z0-9!#$&^_.+\-]+(?:\s*;.*)?"
_MOMENT: Final = r"\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:?\d\d)?)?"
_DATA_URL: Final = r"data:[^,]*,"
_TOOL_NAME: Final = r"[A-Za-z0-9_.\-]{1,128}"


def _base64(text: str) -> Trouble | None:
    """RFC 4648, section 4: the standard alphabet, padded to a multiple of four."""
    if len(text) % 4 == 0 and re.fullmatch(_BASE64, text):
        return None
    joined = "".join(text.split())  # MIME breaks base64 into lines of 76 characters
    if joined != text and len(joined) % 4 == 0 and re.fullmatch(_BASE64, joined):
        return Trouble("M29", joined)
    prefix = re.match(_DATA_URL, text)
    if prefix:
        return Trouble("M30", text[prefix.end() :])
    return Trouble("M29")


def _uri(text: str) -> Trouble | None:
    """RFC 3986: a scheme, a colon, and something after it."""
    return None if re.fullmatch(_URI, text) else Trouble("M31")


def _icon(text: str) -> Trouble | None:
    """MCP, icons: `src` is an https: or data: URI."""
    return None if text.startswith(("https:", "data:", "http:")) else Trouble("M65")


def _mime(text: str) -> Trouble | None:
    """RFC 6838: a type, a slash, a subtype, perhaps parameters."""
    return None if re.fullmatch(_MIME, text) else Trouble("M32")


def _moment(text: str) -> Trouble | None:
    """ISO 8601, as `2026-11-20T10:30:00Z`."""
    return None if re.fullmatch(_MOMENT, text) else Trouble("M33")


def _tool_name(text: str) -> Trouble | None:
    """MCP, tools: 1 to 128 of A-Z a-z 0-9 _ - . (said in 2025-11-25, wanted by models before)."""
    return None if re.fullmatch(_TOOL_NAME, text) else Trouble("M39")


FORMS: Final[Mapping[str, Callable[[str], Trouble | None]]] = {
    "base64": _base64,
    "uri": _uri,
    "icon": _icon,
    "mime": _mime,
    "moment": _moment,
    "tool name": _tool_name,
}
"""The forms of plain text, by the name that the table of shapes uses."""

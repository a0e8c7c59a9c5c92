"""The message that stands for a line which is too long: to keep, or to decode while others wait.

Knows how such a line began and how it ended, and nothing of what was in between. JSON-RPC orders no
members: an id may stand before or after the parameters.
"""

from __future__ import annotations

import json
import re
from typing import Final

from humanmcp.protocol.json.jsonrpc import BRACKETS, STRING, is_large, skip_space

META: Final = "humanmcp/too-long"
"""The member of `_meta` in which a person reads what became of the rest."""

BEGINNING: Final = 20_000
"""Characters that are decoded of a larger one."""
_ENDS: Final = 1024

_DECODER: Final = json.JSONDecoder()
_PARTS: Final = re.compile(rf'{STRING}|{BRACKETS}|(?P<comma>,)|(?P<torn>")', re.DOTALL)
_LAST_MEMBERS: Final = re.compile(
    rf'((?:,\s*"(?:jsonrpc|id|method)"\s*:\s*(?:{STRING}|-?\d+)\s*)+)\}}\s*$', re.DOTALL
)
_MEMBER: Final = re.compile(rf'"(jsonrpc|id|method)"\s*:\s*({STRING}|-?\d+)', re.DOTALL)


def outline(text: str) -> str:
    """Return a message that is decoded quickly: this one, or the beginning of a large one.

    The beginning is closed, so that it is JSON, and has the id and the method from the end.
    """
    if not is_large(text):
        return text
    until, closing = 0, []
    for part in _PARTS.finditer(text, 0, BEGINNING):
        match part.lastgroup:
            case "opens":
                closing.append("}" if part.group() == "{" else "]")
            case "closes" if closing:
                closing.pop()
            case "torn":
                break
        if part.lastgroup:
            until = part.start() if part.lastgroup == "comma" else part.end()
    beginning = text[:until] + "".join(reversed(closing))
    last = _LAST_MEMBERS.search(text[-_ENDS:])
    if last is None or not beginning.endswith("}"):
        return beginning
    members = last.group(1) if beginning != "{}" else last.group(1).lstrip(",")
    return f"{beginning[:-1]}{members}}}"


def stand_in(first: bytes, last: bytes, size: int) -> bytes | None:
    """Return a request with the method and the id of a line that was not kept.

    `first` and `last` are how it began and ended, `size` is in bytes. None where it names no method
    or no id there: it could not be answered.
    """
    text = first.decode("utf-8", "ignore")
    found = _at_the_end(last.decode("utf-8", "ignore")) | _at_the_beginning(text)
    if not {"id", "method"} <= found.keys() or not found["method"].startswith('"'):
        return None
    what = json.dumps(f"{size} bytes: only the method and the id of this line were kept")
    line = (
        f'{{"jsonrpc":"2.0","id":{found["id"]},"method":{found["method"]},'
        f'"params":{{"_meta":{{"{META}":{what}}}}}}}'
    )
    return line.encode()


def _at_the_beginning(text: str) -> dict[str, str]:
    """Read the members of an object as far as they are whole."""
    found: dict[str, str] = {}
    at = skip_space(text, 0)
    if text[at : at + 1] != "{":
        return found
    at = skip_space(text, at + 1)
    try:
        while text[at : at + 1] == '"':
            name, end = _DECODER.raw_decode(text, at)
            at = skip_space(text, skip_space(text, end) + 1)  # over the colon
            value, end = _DECODER.raw_decode(text, at)
            following = skip_space(text, end)
            if following >= len(text):
                break  # a number may go on
            if isinstance(value, (str, int)) and name in ("id", "method"):
                found[name] = text[at:end]
            at = skip_space(text, following + 1)  # over the comma
    except (ValueError, RecursionError):
        pass  # here it was cut
    return found


def _at_the_end(text: str) -> dict[str, str]:
    """Read the last members, where the object of the whole line ends with them."""
    members = _LAST_MEMBERS.search(text)
    return dict(_MEMBER.findall(members.group(1))) if members else {}

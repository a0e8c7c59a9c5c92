"""What is read of a line that is not decoded: it is too large, too long to be kept, or no JSON."""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.json.jsonrpc import STRING, TOKEN, outside_strings, skip_space

if TYPE_CHECKING:
    from collections.abc import Collection

_DECODER: Final = json.JSONDecoder()


LARGEST: Final = 8 * 1024 * 1024
"""The maximum length of a message that is decoded completely, in characters."""


MOST_VALUES: Final = 100_000
"""The maximum number of values in such a message: decoding blocks all other threads."""


def is_large(text: str) -> bool:
    """Return True for a message whose decoding would block other sessions."""
    return len(text) > LARGEST or has_many_values(text)


def has_many_values(text: str, most: int = MOST_VALUES) -> bool:
    """Return True for JSON with more values than are decoded at once."""
    if len(text) <= most or _values(text) <= most:
        return False
    counts = map(_values, outside_strings(text))
    return any(count > most for count in accumulate(counts))


def _values(text: str) -> int:
    return sum(map(text.count, ",[{"))


META: Final = "humanmcp/too-long"
"""The member of `_meta` that tells a person that the message was cut."""


BEGINNING: Final = 20_000
"""The number of characters of a large message that are decoded."""


_ENDS: Final = 1024


_LAST_MEMBERS: Final = re.compile(
    rf'((?:,\s*"(?:jsonrpc|id|method)"\s*:\s*(?:{STRING}|-?\d+)\s*)+)\}}\s*$', re.DOTALL
)


_LAST_NAME: Final = re.compile(
    rf'(,\s*"name"\s*:\s*{STRING})\s*\}}'
    rf'(?:\s*,\s*"(?:jsonrpc|id|method)"\s*:\s*(?:{STRING}|-?\d+))*\s*\}}\s*$',
    re.DOTALL,
)
"""The name of a tool that stands behind its arguments."""


_MEMBER: Final = re.compile(rf'"(jsonrpc|id|method)"\s*:\s*({STRING}|-?\d+)', re.DOTALL)


def outline(text: str) -> str:
    """Return a message that can be decoded quickly: itself, or the beginning of a large one.

    The beginning is closed so that it is valid JSON, and has the id, the method and the name of the
    tool from the end.
    """
    if not is_large(text):
        return text
    until, closing = 0, []
    for part in TOKEN.finditer(text, 0, BEGINNING):
        match part.lastgroup:
            case "opens":
                closing.append("}" if part[0] == "{" else "]")
            case "closes":
                del closing[-1:]
            case "torn":
                break
        if part.lastgroup in ("opens", "closes") or part[0] == ",":
            until = part.start() if part[0] == "," else part.end()
    name = _LAST_NAME.search(text[-_ENDS:]) if closing[:2] == ["}", "}"] else None
    if name is not None:
        closing[1] = f"{name[1]}}}"
    beginning = text[:until] + "".join(reversed(closing))
    last = _LAST_MEMBERS.search(text[-_ENDS:])
    if last is None or not beginning.endswith("}"):
        return beginning
    members = last.group(1) if beginning != "{}" else last.group(1).lstrip(",")
    return f"{beginning[:-1]}{members}}}"


def stand_in(first: bytes, last: bytes, size: int) -> bytes | None:
    """Return a request with the method and id of a line that was too long to keep.

    `first` and `last` are its beginning and end, `size` is in bytes. None if they contain no method
    or no id, because then nobody could answer it.
    """
    found = at_the_ends(first, last)
    if not {"id", "method"} <= found.keys() or not found["method"].startswith('"'):
        return None
    what = json.dumps(f"{size} bytes: only the method and the id of this line were kept")
    line = (
        f'{{"jsonrpc":"2.0","id":{found["id"]},"method":{found["method"]},'
        f'"params":{{"_meta":{{"{META}":{what}}}}}}}'
    )
    return line.encode()


def envelope(line: bytes) -> bytes:
    """Return a message with the id and the method of a long line, or a result with its id.

    It tells which request a line is, or answers, without decoding it.
    """
    found = at_the_ends(line[:BEGINNING], line[-_ENDS:])
    method = found.get("method", "")
    if not method.startswith('"') or method == '""':  # as in `jsonrpc.kind_of_message`
        found.pop("method", None)
    rest = "" if "method" in found else ',"result":{}'
    parts = "".join(f',"{name}":{text}' for name, text in found.items())
    return f'{{"jsonrpc":"2.0"{parts}{rest}}}'.encode()


def at_the_ends(first: bytes, last: bytes) -> dict[str, str]:
    """Return the id and the method, as written, that the beginning and the end of a line show."""
    members = _LAST_MEMBERS.search(last.decode("utf-8", "ignore"))
    at_the_end = _MEMBER.findall(members[1]) if members else ()
    return dict(at_the_end) | _at_the_beginning(first.decode("utf-8", "ignore"))


def _at_the_beginning(text: str) -> dict[str, str]:
    """Return the complete members at the beginning of an object."""
    found: dict[str, str] = {}
    at = skip_space(text, 0)
    if text[at : at + 1] != "{":
        return found
    at = skip_space(text, at + 1)
    try:
        while text[at : at + 1] == '"':
            name, end = _DECODER.raw_decode(text, at)
            at = skip_space(text, skip_space(text, end) + 1)  # after the colon
            value, end = _DECODER.raw_decode(text, at)
            following = skip_space(text, end)
            if following >= len(text):
                break  # a number may continue
            if isinstance(value, (str, int)) and name in ("id", "method"):
                found[name] = text[at:end]
            at = skip_space(text, following + 1)  # after the comma
    except (ValueError, RecursionError):
        pass  # the end of the beginning
    return found


def ids_in(text: str) -> set[str]:
    """Return the tokens of all ids in a text, which need not be valid JSON."""
    return {found[1] for found in _AN_ID.finditer(text)}


def answered_in(text: str, waiting: Collection[str]) -> set[str]:
    """Return which of the waiting ids a line that cannot be read seems to answer, as tokens."""
    text = text.replace("\0", "")  # as UTF-16 has them
    if named := ids_in(text):
        return named.intersection(waiting)
    seems = any(f'"{name}"' in text for name in ("result", "error"))
    return set(waiting) if seems and len(waiting) == 1 else set()


_AN_ID: Final = re.compile(r"""(?:["']id\\?["']|[{,] *id)[ \t]*:[ \t]*("(?:[^"\\]|\\.)*"|-?\d+)""")

"""Replace obvious secrets in what leaves the machine: values with a telling name or shape.

Works on the text of a line and replaces values only, so that the rest stays as it was on the wire.
A value with a secret name is replaced in all of the recording, because results often repeat it. No
program knows every secret: look at a recording before you share it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from humanmcp.protocol.validation.secret_shapes import is_secret, is_telling, shapes, to_try

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humanmcp.protocol.conversation.transcript import Frame

REDACTED: Final = "[redacted]"
MARK: Final = re.compile(r"\[redacted(?::([A-Z0-9_]+))?\]")
"""What replaces a value; in a program it names the value: `[redacted:TOKEN]`."""

_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_STRING: Final = r'(?:[^"\\]|\\.)*'
_SCHEME: Final = re.compile(r"(?i:bearer|basic|token|digest)\s+(?P<rest>\S+)")
_STRUCTURE: Final = frozenset(
    {"jsonrpc", "id", "method", "type", "role", "progressToken", "requestId", "protocolVersion"}
    | {"resultType", "mimeType", "cursor", "nextCursor", "$schema", "level", "action"}
)
"""Members whose values belong to the protocol; they are never replaced."""
_MEMBER_OR_STRING: Final = re.compile(
    rf'(?:"(?P<key>{_STRING})"(?P<colon>\s*:\s*))(?P<value>{_QUOTED})?|(?P<item>{_QUOTED})'
)


@dataclass(frozen=True, slots=True)
class Redacted:
    """Frames without their secrets. `names` has one name for each value that was replaced."""

    frames: tuple[Frame, ...]
    names: tuple[str, ...]


class Redaction:
    """The secrets of one recording: found in all of it first, then replaced in all of it."""

    def __init__(self, *, named: bool = False) -> None:
        """Begin with none found. With `named`, each mark names its value."""
        self._named = named
        self._names: dict[str, str] = {}
        """From each value that was found to its name; names are never given twice."""
        self._used: set[str] = set()
        self._spread: re.Pattern[str] | None = None
        self._spellings: dict[str, str] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each value that was replaced: `PASSWORD`, `TOKEN_2`."""
        return tuple(sorted(self._used))

    def find(self, text: str) -> bool:
        """Collect the secrets of a text. Return True if there are any.

        Without any, `replace` need not look for shapes again, which takes the most time.
        """
        secrets = [
            found for shape in to_try(text) for found in shape.finditer(text) if is_secret(found)
        ]
        for found in secrets:
            self._remember(found)
        if secrets:
            self._spread = None
        return bool(secrets)

    def _remember(self, found: re.Match[str]) -> None:
        name = found.groupdict().get("name") or "KEY"
        for value in _values(found["value"]):
            if value and value not in self._names and not MARK.fullmatch(value):
                self._names[value] = self._free(name)

    def _free(self, name: str) -> str:
        """Turn the name of a member into a free name of an environment variable."""
        plain = re.sub(r"[^A-Z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper())
        plain = plain.strip("_") or "SECRET"
        taken, count, free = set(self._names.values()), 1, plain
        while free in taken:
            count += 1
            free = f"{plain}_{count}"
        return free

    def replace(self, text: str, *, found: bool) -> str:
        """Return the text without its secrets; `found` is what `find` returned for it.

        Every shape is tried, because one replacement may reveal another secret.
        """
        for shape in shapes() if found else ():
            text = shape.sub(self._without, text)
        return self._without_repeats(text)

    def _without(self, found: re.Match[str]) -> str:
        if not is_secret(found):
            return found[0]
        parts = found.groupdict()
        mark = self._mark(_values(found["value"])[0])
        if parts.get("number") or found["value"].startswith('"'):
            mark = f'"{mark}"'
        return f"{parts.get('before') or ''}{mark}{parts.get('after') or ''}"

    def _mark(self, value: str) -> str:
        name = self._names.get(value, "SECRET")
        self._used.add(name)
        return f"[redacted:{name}]" if self._named else REDACTED

    # -- the same value elsewhere ----------------------------------------------------------------

    def _without_repeats(self, text: str) -> str:
        pattern = self._pattern()
        if pattern is None:
            return text
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return pattern.sub(self._repeat, text)
        return _MEMBER_OR_STRING.sub(self._in_json, text)

    def _in_json(self, found: re.Match[str]) -> str:
        literal = found["value"] or found["item"]
        if literal is None or found["key"] in _STRUCTURE:
            return found[0]
        before = found[0][: len(found[0]) - len(literal)]
        said: str = json.loads(literal, strict=False)
        left = said if (pattern := self._pattern()) is None else pattern.sub(self._repeat, said)
        return found[0] if left == said else before + json.dumps(left, ensure_ascii=False)

    def _pattern(self) -> re.Pattern[str] | None:
        """Return a pattern of every spelling of every value, the longest first."""
        if self._spread is None:
            self._spellings = {
                spelling: value
                for value in self._names
                if is_telling(value)
                for spelling in _spelt(value)
            }
            if not self._spellings:
                return None
            each = "|".join(map(re.escape, sorted(self._spellings, key=len, reverse=True)))
            self._spread = re.compile(rf"(?<![A-Za-z0-9])(?:{each})(?![A-Za-z0-9])")
        return self._spread

    def _repeat(self, found: re.Match[str]) -> str:
        return self._mark(self._spellings[found[0]])


def _values(text: str) -> list[str]:
    """Return the texts in a value: each item of a list, then a token without its scheme."""
    try:
        read = json.loads(f"[{text}]", strict=False) if text.startswith('"') else [text]
    except ValueError:
        read = [text]
    found = [re.sub(r'^\\"|\\"$', "", part).strip("'") for part in read]
    return found + [match["rest"] for each in found if (match := _SCHEME.fullmatch(each))]


def _spelt(value: str) -> tuple[str, ...]:
    """Return the spellings of a value: plain, inside a JSON string, and in an address."""
    escaped, plain = json.dumps(value), json.dumps(value, ensure_ascii=False)
    return (value, escaped[1:-1], plain[1:-1], quote(value, errors="replace"))


def redact_recording(frames: Iterable[Frame], *, named: bool = False) -> Redacted:
    """Replace every obvious secret of a recording, also where its value is repeated.

    With `named`, each mark names its value, so that a program can ask for it.
    """
    frames = tuple(frames)
    redaction = Redaction(named=named)
    found = [(redaction.find(frame.text), redaction.find(frame.note)) for frame in frames]
    redacted = tuple(
        _redact_frame(frame, redaction, in_text=in_text, in_note=in_note)
        for frame, (in_text, in_note) in zip(frames, found, strict=True)
    )
    return Redacted(redacted, redaction.names)


def _redact_frame(frame: Frame, redaction: Redaction, *, in_text: bool, in_note: bool) -> Frame:
    text = redaction.replace(frame.text, found=in_text)
    note = redaction.replace(frame.note, found=in_note)
    if (text, note) == (frame.text, frame.note):
        return frame
    return frame._replace(raw=text.encode("utf-8", "replace"), note=note)

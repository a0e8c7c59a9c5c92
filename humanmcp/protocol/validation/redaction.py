"""Replace obvious secrets in what leaves the machine: values with a telling name or shape.

Everything that humanmcp writes for others passes here: recordings, exports, books, notices, lines
for a host's log. It works on the text of a line and replaces values only, so that the rest stays as
it was on the wire. A value with a secret name is replaced in all of the recording, because results
often repeat it. No program knows every secret: look at a recording before you share it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.json.jsonrpc import TOKEN
from humanmcp.protocol.json.removed import (
    MARK,
    decoded_once,
    encoded_again,
    literal_again,
    mark_of,
    names_in,
)
from humanmcp.protocol.validation.secret_shapes import (
    is_secret,
    is_secret_name,
    is_secret_value,
    is_telling,
    may_have_secrets,
    to_try,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    from humanmcp.protocol.conversation.transcript import Frame

    Replace: TypeAlias = Callable[[str, str], str]
    """Returns what is written instead of a value, which has a name."""

_JSON: Final = json.JSONDecoder(strict=False)
_DEEPEST: Final = 8
"""How many texts in each other are searched: JSON in a string, an address in a query."""
_ROUNDS: Final = 4
"""How often a text is searched: one replacement may reveal another secret."""
_SCHEME: Final = re.compile(r"(?i:(?P<scheme>bearer|basic|token|digest))\s+(?P<rest>\S+)")
_HEADER: Final = re.compile(
    r"(?i)(?:proxy-)?authorization|(?:set-)?cookie2?|(?:[\w-]*-)(?:key|token|secret|auth|id)"
)
"""The name of a header in a list of headers. In other lists, `token` may be a word."""
_WORD: Final = re.compile(r"[A-Za-z$_./-]*")
"""The name of a member, a method or a type: such a secret is not replaced where these are."""
_STRUCTURE: Final = frozenset(
    {"jsonrpc", "method", "type", "role", "protocolVersion", "resultType", "mimeType", "$schema"}
    | {"level", "action"}
)
"""Members whose values are words of the protocol."""

# -- OAuth: ordinary names that are secrets beside certain others ----------------------------------

_OF_OAUTH: Final = frozenset(
    {"code", "state", "nonce", "devicecode", "usercode", "assertion", "subjecttoken", "actortoken"}
    | {"samlresponse", "samlrequest", "relaystate", "ticket"}
)
_OAUTH: Final = frozenset(
    {"granttype", "redirecturi", "codeverifier", "codechallenge", "responsetype", "devicecode"}
    | {"accesstoken", "samlresponse", "samlrequest"}
)
"""The names that say what the other names mean: those of RFC 6749, 7636, 8628 and of SAML."""
_CALLBACK: Final = re.compile(r"(?i)callback|oauth|authori[sz]e|/cb\b|redirect")
_PAIR: Final = r"[\w.%~\[\]-]{1,80}+=[^\s\"'<>&#\\;,)}]*+"
_PAIRS: Final = re.compile(rf"(?<![\w.%~\[\]&=-]){_PAIR}(?:&{_PAIR})*+")
"""A query or a form: `code=1&state=2`."""
_COOKIES: Final = re.compile(
    r"(?i)(?<![\w-])(?:set-)?cookie2?:[ \t]*(?P<pairs>(?:[^\r\n\"'\\]|(?<==)\"[^\r\n\"\\]*\")++)"
)
_COOKIE: Final = re.compile(
    r"(?P<before>(?:^|;)[ \t]*(?!(?i:path|domain|expires|max-age|samesite)=)"
    r"(?P<name>[^=;\s]{1,99}+)=)(?P<value>[^;\s]++)"
)
_ENCODED: Final = re.compile(r"(?<![^\s\"'<>&=])[^\s\"'<>&=%]*+%[^\s\"'<>&]++")
"""A part of an address, from where a value may begin, with percent escapes."""
_EMBEDDED: Final = re.compile(r"\{\s*\"|\[\s*[\[{\"]")
"""The beginning of an object or an array in a text."""
_MOST_TRIED: Final = 20
"""How many beginnings of JSON that is not JSON are tried in one text."""


def is_of_oauth(names: Iterable[str], address: str | None = None) -> bool:
    """Return True if these names of one object, query or form belong to OAuth.

    `address` is what stands before a query or a form, None for an object.
    """
    plain = {_plain(name) for name in names}
    if not plain.isdisjoint(_OAUTH):
        return True
    return address is not None and (
        plain >= {"code", "state"} or _CALLBACK.search(address) is not None
    )


def _plain(name: str) -> str:
    return re.sub(r"[_-]", "", name).lower()


# -- one text --------------------------------------------------------------------------------------


def rewritten(text: str, replace: Replace) -> str:
    """Return a text with each secret in it replaced. JSON stays JSON."""
    for _ in range(_ROUNDS):
        before, text = text, _rewritten(text, replace, 0)
        if text == before:
            break
    return text


def _rewritten(text: str, replace: Replace, depth: int) -> str:
    if depth > _DEEPEST or not (may_have_secrets(text) or re.search("code|state|%", text)):
        return text
    is_json = _is_json(text)
    text = text if is_json is False else _Json(text, replace, depth).rewritten()
    if is_json:
        return text
    text = _spliced(
        text,
        {
            start: (end, _rewritten(text[start:end], replace, depth + 1))
            for start, end in _embedded(text)
        },
    )
    if "=" in text:
        text = _PAIRS.sub(lambda run: _query(run, replace), text)
    text = _COOKIES.sub(lambda header: _inside(header, "pairs", _cookies(header, replace)), text)
    for shape in to_try(text):
        text = shape.sub(lambda found: _without(found, replace), text)
    return _decoding(text, lambda plain: _rewritten(plain, replace, depth + 1))


def _decoding(text: str, rewrite: Callable[[str], str]) -> str:
    """Rewrite what is percent-encoded in a text. All but the new marks stays as it was encoded."""

    def again(run: re.Match[str]) -> str:
        plain = decoded_once(run[0])
        left = rewrite(plain)
        return run[0] if left == plain else encoded_again(run[0], plain, left)

    return _ENCODED.sub(again, text)


def _inside(found: re.Match[str], group: str, instead: str) -> str:
    """Return a match with one of its groups replaced."""
    start, end = (at - found.start() for at in found.span(group))
    return f"{found[0][:start]}{instead}{found[0][end:]}"


def _without(found: re.Match[str], replace: Replace) -> str:
    if not found["value"] or not is_secret(found):
        return found[0]
    parts = found.groupdict()
    value = found["value"]
    mark = replace(_values(value)[0], parts.get("name") or "KEY")
    if parts.get("number") or value.startswith('"'):
        mark = f'"{mark}"'
    return _inside(found, "value", mark)


def _cookies(header: re.Match[str], replace: Replace) -> str:
    return _COOKIE.sub(
        lambda one: _without(one, lambda value, _name: replace(value, "COOKIE")), header["pairs"]
    )


def _query(run: re.Match[str], replace: Replace) -> str:
    """Rewrite the parameters of a query or form, also those of OAuth."""
    pairs = [pair.partition("=") for pair in run[0].split("&")]
    before = run.string[max(0, run.start() - 300) : run.start()]
    address = re.split(r"[\s\"'<>]", before)[-1]
    oauth = is_of_oauth((name for name, _, _ in pairs), address)

    def one(name: str, value: str) -> str:
        is_own = is_secret_name(name) or (oauth and _plain(name) in _OF_OAUTH)
        return replace(value, name) if value and is_own and is_secret_value(name, value) else value

    return "&".join(f"{name}{equals}{one(name, value)}" for name, equals, value in pairs)


# -- JSON ------------------------------------------------------------------------------------------


def _is_json(text: str) -> bool | None:
    """Return True for an object or an array, None for one that is too deep to tell."""
    if not re.match(r"\s*[\[{]", text):
        return False
    try:
        _JSON.decode(text)
    except RecursionError:
        return None
    except ValueError:
        return False
    return True


def _embedded(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of the objects and arrays in a text: in prose, or in an event stream."""
    at, failed = 0, 0
    while failed < _MOST_TRIED and (found := _EMBEDDED.search(text, at)) is not None:
        try:
            _, at = _JSON.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            failed += 1
            at = found.end()
        else:
            yield found.start(), at


@dataclass(slots=True)
class _Open:
    """An object or array that is not read to its end; `owner` is the name of the member it is."""

    is_object: bool
    owner: str
    name: str = ""
    parts: list[tuple[str, re.Match[str] | None]] = field(default_factory=list)
    """Each member or item: its name, and the token of a string, number or word."""


class _Json:
    """A JSON text, rewritten token by token: what is not replaced stays as it was written."""

    def __init__(self, text: str, replace: Replace, depth: int) -> None:
        self._text = text
        self._replace = replace
        self._depth = depth
        self._instead: dict[int, tuple[int, str]] = {}
        """From the place of a token to its end and what is written there."""

    def rewritten(self) -> str:
        opened = [_Open(is_object=False, owner="")]
        for token in TOKEN.finditer(self._text):
            top = opened[-1]
            match token.lastgroup:
                case "opens":
                    opened.append(_Open(token[0] == "{", top.name or top.owner))
                    top.parts.append((top.name, None))
                    top.name = ""
                case "closes" if len(opened) > 1:
                    self._close(opened.pop())
                case "string" if top.is_object and _COLON.match(self._text, token.end()):
                    top.name = _decoded(token[0]) or " "
                    if _WORD.fullmatch(top.name) is None:
                        top.parts.append(("", token))
                case "string" | "word":
                    top.parts.append((top.name, token))
                    top.name = ""
                case _:
                    pass
        return _spliced(self._text, self._instead)

    def _close(self, container: _Open) -> None:
        for name, token in self._named(container):
            if token is None:
                continue
            value = _decoded(token[0])
            if name and value and self._is_value(name, token, value):
                instead = self._replace(value, name)
            elif token.lastgroup == "string":
                instead = _rewritten(value, self._replace, self._depth + 1)
            else:
                continue
            if instead != value:
                self._instead[token.start()] = token.end(), _literal(token[0], value, instead)

    @staticmethod
    def _is_value(name: str, token: re.Match[str], value: str) -> bool:
        is_word = token.lastgroup == "word"
        is_plain = is_word and (name == "pass" or value in ("true", "false", "null"))
        return not is_plain and is_secret_value(name, value)

    @staticmethod
    def _named(container: _Open) -> Iterator[tuple[str, re.Match[str] | None]]:
        """Yield each token with the name that makes it a secret, "" for none."""
        if container.is_object:
            texts = {name: _decoded(token[0]) for name, token in container.parts if token}
            pair = texts.get("name") or texts.get("key") or texts.get("header") or ""
            oauth = is_of_oauth(name for name, _ in container.parts)
            in_cookies = re.fullmatch(r"(?i)cookies?", container.owner) is not None
            for name, token in container.parts:
                is_own = in_cookies or is_secret_name(name) or (oauth and _plain(name) in _OF_OAUTH)
                is_pair = name.lower() in ("value", "values") and is_secret_name(pair)
                yield (name if is_own else pair if is_pair else ""), token
            return
        of_secret = is_secret_name(container.owner)
        before = ""
        for _, token in container.parts:
            value = _decoded(token[0]) if token and token.lastgroup == "string" else ""
            is_flag = before.startswith("-") and is_secret_name(before.lstrip("-"))
            is_flag = is_flag and not value.startswith("-")
            is_header = _HEADER.fullmatch(before) is not None and is_secret_name(before)
            is_header = is_header and _WORD.fullmatch(value) is None
            named = before.lstrip("-") if is_flag or is_header else ""
            yield (container.owner if of_secret else named), token
            before = value


def _decoded(literal: str) -> str:
    if not literal.startswith('"'):
        return literal
    text: str = _JSON.decode(literal)
    return text


def _literal(token: str, value: str, left: str) -> str:
    """Write what is left of a string; of a number or word it is a mark."""
    return literal_again(token, value, left) if token.startswith('"') else f'"{left}"'


def _spliced(text: str, instead: dict[int, tuple[int, str]]) -> str:
    parts, at = [], 0
    for start in sorted(instead):
        end, part = instead[start]
        parts += [text[at:start], part]
        at = end
    return "".join([*parts, text[at:]])


# -- a recording -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Redacted:
    """Frames without their secrets. `names` has one name for each value that was replaced."""

    frames: tuple[Frame, ...]
    names: tuple[str, ...]


class Redaction:
    """The secrets of one recording: found in all of it first, then replaced in all of it."""

    def __init__(self) -> None:
        """Begin with none found."""
        self._names: dict[str, str] = {}
        """From each value that was found to its name; names are never given twice."""
        self._taken: set[str] = set()
        """These names, and those of the marks that were there before."""
        self._counts: Counter[str] = Counter()
        self._used: set[str] = set()
        self._spread: re.Pattern[str] | None = None
        self._spellings: dict[str, str] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each value that was replaced: `PASSWORD`, `TOKEN_2`."""
        return tuple(sorted(self._used))

    def reserve(self, text: str) -> None:
        """Give no secret the name of a mark that a text has already."""
        for _ in range(_DEEPEST if "%" in text and "redacted" in text else 1):
            self._taken.update(names_in(text))
            text = decoded_once(text)

    def find(self, text: str) -> bool:
        """Collect the secrets of a text. Return True if there are any."""
        return rewritten(text, self._remember) != text

    def _remember(self, value: str, name: str) -> str:
        for one in (value, *_parts_of(value)):
            if one not in self._names:
                self._names[one] = self._free(name)
                self._spread = None
        return mark_of(self._names[value])

    def _free(self, name: str) -> str:
        """Turn the name of a member into a free name of an environment variable."""
        plain = re.sub(r"[^A-Z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper())
        free = plain = plain.strip("_")[:_LONGEST_NAME] or "SECRET"
        while free in self._taken:
            self._counts[plain] += 1
            free = f"{plain}_{self._counts[plain] + 1}"
        self._taken.add(free)
        return free

    def replace(self, text: str, *, found: bool) -> str:
        """Return the text without its secrets; `found` is what `find` returned for it."""
        if found:
            text = rewritten(text, self._mark)
        return self._without_repeats(text)

    def redact(self, text: str) -> str:
        """Return a text without its secrets, and those of the texts before."""
        self.reserve(text)
        return self.replace(text, found=self.find(text))

    def redact_frames(self, frames: Iterable[Frame]) -> tuple[Frame, ...]:
        """Return frames without their secrets, and those of the frames before."""
        frames = tuple(frames)
        for frame in frames:
            self.reserve(f"{frame.text}\n{frame.note}")
        found = [(self.find(frame.text), self.find(frame.note)) for frame in frames]
        return tuple(map(self._redact_frame, frames, found))

    def _redact_frame(self, frame: Frame, found: tuple[bool, bool]) -> Frame:
        text = self.replace(frame.text, found=found[0])
        note = self.replace(frame.note, found=found[1])
        if (text, note) == (frame.text, frame.note):
            return frame
        return frame._replace(raw=text.encode("utf-8", "replace"), note=note)

    def _mark(self, value: str, name: str) -> str:
        self._remember(value, name)
        self._used.add(self._names[value])
        return mark_of(self._names[value])

    # -- the same value elsewhere ----------------------------------------------------------------

    def _without_repeats(self, text: str, depth: int = 0) -> str:
        """Return a text with each value replaced, also in JSON in it, and where it is encoded."""
        pattern = self._pattern()
        if pattern is None or depth > _DEEPEST:
            return text
        if pattern.search(text) is None and re.search(r"[\\%]", text) is None:
            return text
        if not _is_json(text):
            spans = {
                start: (end, self._without_repeats(text[start:end], depth + 1))
                for start, end in _embedded(text)
            }
            text = pattern.sub(self._repeat, _spliced(text, spans))
            return _decoding(text, lambda plain: self._without_repeats(plain, depth + 1))
        instead: dict[int, tuple[int, str]] = {}
        key = ""
        for token in TOKEN.finditer(text):
            value = _decoded(token[0]) if token.lastgroup == "string" else token[0]
            left = value
            if token.lastgroup == "string":
                is_key = _COLON.match(text, token.end()) is not None
                kept = _WORD.fullmatch(value) if is_key or key in _STRUCTURE else None
                left = value if kept else self._without_repeats(value, depth + 1)
                key = value if is_key else ""
            elif len(value) >= _LONG_NUMBER and pattern.fullmatch(value):
                left = pattern.sub(self._repeat, value)
            if left != value:
                instead[token.start()] = token.end(), _literal(token[0], value, left)
        return _spliced(text, instead)

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
            each = _any_of(sorted(self._spellings))
            self._spread = re.compile(rf"{MARK}|(?:{each})(?![A-Za-z0-9])")
        return self._spread

    def _repeat(self, found: re.Match[str]) -> str:
        if found[0] not in self._spellings:
            return found[0]  # a mark
        name = self._names[self._spellings[found[0]]]
        self._used.add(name)
        return mark_of(name)


_BEHIND: Final = r"(?<![A-Za-z0-9](?<!\\[A-Za-z])(?<!\\x..)(?<!\\u....)[\s\S])"
"""Behind the first character of a value: it begins a word, or stands behind an escape."""
_COLON: Final = re.compile(r"\s*:")
_LONGEST_NAME: Final = 40
_DEEPEST_PATTERN: Final = 50
"""How many groups in each other the search for values has."""
_LONG_NUMBER: Final = 6
"""The digits of a number that is replaced because a secret is the same."""


def _values(text: str) -> list[str]:
    """Return the texts in a value that is written in another text: each item of a list."""
    try:
        read = _JSON.decode(f"[{text}]") if text.startswith('"') else [text]
    except ValueError:
        read = [text]
    return [re.sub(r'^\\"|\\"$', "", str(part)).strip("'") for part in read]


def _parts_of(value: str) -> Iterator[str]:
    """Yield what is secret alone: a token without its scheme, a password, a decoded value."""
    if (plain := decoded_once(value)) != value:
        yield plain
    if (found := _SCHEME.fullmatch(value)) is None:
        return
    yield found["rest"]
    if found["scheme"].lower() == "basic":
        yield from _password(found["rest"])


def _password(encoded: str) -> Iterator[str]:
    from binascii import Error, a2b_base64  # noqa: PLC0415 - seldom needed

    try:
        _user, _, password = a2b_base64(encoded).decode().partition(":")
    except (Error, ValueError):
        return
    if password:
        yield password


def _spelt(value: str) -> Iterator[str]:
    """Yield the spellings of a value: plain, in a query, and in JSON in JSON."""
    yield from (value, value.replace(" ", "+"), value.replace("+", " "))
    for ascii_only in (True, False):
        inner = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield from (inner, json.dumps(inner)[1:-1])


def _any_of(texts: list[str], depth: int = 0) -> str:
    """Return a pattern of sorted texts, the longest first. What begins alike is tried once."""
    if depth > _DEEPEST_PATTERN or len(texts) == 1 <= depth:
        return "|".join(map(re.escape, reversed(texts)))
    behind = "" if depth else _BEHIND
    each = [
        f"{re.escape(first)}{behind}(?:{_any_of([one[1:] for one in group], depth + 1)})"
        for first, group in groupby(texts, lambda one: one[:1])
    ]
    return "|".join(reversed(each))


def redact_recording(frames: Iterable[Frame]) -> Redacted:
    """Replace every obvious secret of a recording, also where its value is repeated."""
    redaction = Redaction()
    redacted = redaction.redact_frames(frames)
    return Redacted(redacted, redaction.names)


def without_secrets(text: str) -> str:
    """Return one text without its secrets: a notice, a line for a log."""
    return Redaction().redact(text)

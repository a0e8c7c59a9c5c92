"""Turn the bytes of a line into a message, and a person's text into a line.

It knows JSON and JSON-RPC 2.0, but not MCP: methods have no meaning here. A line that is not a
message is a value (`Malformed`), never an exception, and keeps its bytes.
"""

from __future__ import annotations

import enum
import json
import math
import re
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# A decoded JSON value. `Any`, because a narrower type for JSON would not help.
Json: TypeAlias = Any
JsonObject: TypeAlias = dict[str, Any]

DEEPEST_INCOMING: Final = 128
"""The maximum depth of brackets in a received line; common parsers stop at about 200."""

# possessive (`*+`): no backtracking in a string of ten million characters
_BEGUN: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+'
STRING: Final = rf'{_BEGUN}"'
TORN: Final = rf"{_BEGUN}\\?+\Z"
"""A string without an end: it is the rest of the text. So each quote is tried once."""
_STRING_OR_MARKS: Final = re.compile(rf'{STRING}|{TORN}|[^ \t\r\n"]++', re.DOTALL)
_NO_BRACKET: Final = bytes(code for code in range(128) if code not in b"[]{}")
BRACKETS: Final = r"(?P<opens>[\[{])|(?P<closes>[\]}])"
_REST: Final = rf'(?P<mark>[,:])|(?P<word>[^\s\[\]{{}},:"]+)|(?P<torn>{TORN})'
TOKEN: Final = re.compile(rf"(?P<string>{STRING})|{BRACKETS}|{_REST}", re.DOTALL)
"""One piece of a JSON text. `torn` is a string without an end."""
MOST_IN_BATCH: Final = 100
"""The maximum number of messages in a batch: they are processed at once, while others wait."""

_UTF8_BOM: Final = b"\xef\xbb\xbf"


class Kind(enum.StrEnum):
    """The four kinds of message; their members tell which.

    JSON-RPC 2.0, sections 4 and 5: a request has `method` and `id`, a notification has only
    `method`, a response has `result` or `error`.
    """

    REQUEST = "request"
    NOTIFICATION = "notification"
    RESULT = "result"
    ERROR = "error"

    @property
    def is_answer(self) -> bool:
        """True for a response."""
        return self is Kind.RESULT or self is Kind.ERROR


class RequestId(NamedTuple):
    """A request's id: the token exactly as the peer wrote it, and its value for comparison.

    `7` and `"7"` are different ids; `1.0` and `1` are the same. 2**53 + 1 keeps its value.
    """

    token: str
    value: str | int | float

    @property
    def key(self) -> tuple[str, str | int | float]:
        """The JSON type and the value; equal ids have equal keys."""
        return ("text" if isinstance(self.value, str) else "number", self.value)

    def answers(self, asked: RequestId) -> bool:
        """Return True if a client takes a response with this id for that of a request.

        `"7"` for `7` is wrong (R04); the SDKs of TypeScript and Python convert it. They never
        convert `7` to `"7"`.
        """
        if self.key == asked.key:
            return True
        number = asked.value
        return isinstance(number, int) and isinstance(self.value, str) and self.value == str(number)

    @classmethod
    def of(cls, value: str | int) -> RequestId:
        """Return one of our own ids."""
        return cls(as_json(value), value)


class Message(NamedTuple):
    """One decoded JSON-RPC message.

    `raw` is the text of the line without its line end; `body` is its decoded object. `id` is None
    for a notification, and for an error without an id.
    """

    kind: Kind
    raw: str
    body: JsonObject
    id: RequestId | None = None

    @property
    def method(self) -> str:
        """The method of a request or notification; "" for a response."""
        method = self.body.get("method")
        return method if isinstance(method, str) else ""

    @property
    def params(self) -> JsonObject:
        """The named parameters; {} if there are none or they are not an object."""
        params = self.body.get("params")
        return params if isinstance(params, dict) else {}

    @property
    def meta(self) -> JsonObject:
        """`params._meta`; {} if there is none or it is not an object."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}


class Flaw(enum.StrEnum):
    """Why a line is not a message; the value is the code of the sentence."""

    NOT_JSON = "N01"
    NOT_UTF8 = "N02"
    TOO_DEEP = "N03"
    LONG_NUMBER = "N04"
    NO_OBJECT = "N05"
    NO_MESSAGE = "N06"
    ID_MALFORMED = "N07"
    ID_MISSING = "N08"
    IN_BATCH = "N09"
    LONG_BATCH = "N17"


class Malformed(NamedTuple):
    """A line that is not a message: its bytes and the reason.

    `detail` fills the sentence. `id` is set if the line is JSON and has a valid id.
    """

    raw: bytes
    why: Flaw
    detail: tuple[tuple[str, str], ...] = ()
    id: RequestId | None = None

    @property
    def text(self) -> str:
        """The line as readable text, with U+FFFD for bytes that are not UTF-8."""
        return self.raw.decode("utf-8", "replace")


class Batch(NamedTuple):
    """A JSON array of messages. Only version 2025-03-26 has them."""

    raw: str
    items: tuple[Message | Malformed, ...]


DecodedLine: TypeAlias = Message | Batch | Malformed


def read(line: bytes) -> DecodedLine:
    """Decode one line from the peer, without its line feed.

    A byte-order mark and one final carriage return are removed: editors and Windows add them.
    """
    line = line.removeprefix(_UTF8_BOM).removesuffix(b"\r")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        return Malformed(line, Flaw.NOT_UTF8, (("byte", str(error.start + 1)),))
    if deeper_than(text, DEEPEST_INCOMING):
        return Malformed(line, Flaw.TOO_DEEP, (("limit", str(DEEPEST_INCOMING)),))
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        return Malformed(line, Flaw.NOT_JSON, (("column", str(error.colno)),))
    except ValueError:  # an integer of more than 4300 digits
        return Malformed(line, Flaw.LONG_NUMBER)
    if isinstance(value, list):
        return _read_batch(text, value)
    return _read_envelope(text, value)


def error_line(token: str, code: int, message: str, data: Json = None) -> str:
    """Write an error response to the request with this id, which stays as written."""
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return f'{{"jsonrpc":"2.0","id":{token},"error":{as_line(error)}}}'


NO_RESPONSE: Final = "humanmcp: no response"
"""The `data` of an error that stands in for the response of a server that cannot be reached."""


def is_stand_in(message: Message) -> bool:
    """Return True for an error that a program between client and server made, not the server."""
    error = message.body.get("error")
    return isinstance(error, dict) and error.get("data") == NO_RESPONSE


def notice_line(method: str, params: str) -> str:
    """Write a notification; its parameters stay as written."""
    return f'{{"jsonrpc":"2.0","method":"{method}","params":{params}}}'


as_line: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Write a value as JSON on one line, without white space between its tokens."""
as_json: Final = json.JSONEncoder(ensure_ascii=False).encode
"""Write a value as JSON on one line, spaced as a person would type it."""


def read_text(line: str) -> DecodedLine:
    """Decode one line of text, as a person typed it or a program wrote it."""
    return read(encoded(line))


def made(body: JsonObject) -> Message:
    """Return the message of an object that this program makes."""
    message = read_text(as_line(body))
    assert isinstance(message, Message)  # noqa: S101 - it has a method, or is a response
    return message


def encoded(text: str) -> bytes:
    """Return the bytes of a line. Half a surrogate pair is invalid UTF-8, which `read` reports."""
    return text.encode("utf-8", "surrogatepass")


def object_in(text: str | bytes) -> JsonObject:
    """Return the object in a text, without further checks; {} if it is not an object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class AmbiguousError(ValueError):
    """A JSON text that programs read differently; its argument is the code of the reason."""


def _each_once(pairs: list[tuple[str, Json]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise AmbiguousError("twice")
    return found


def _finite(number: str) -> float:
    if not math.isfinite(float(number)):
        raise AmbiguousError("number")
    return float(number)


_ONE_MEANING: Final = json.JSONDecoder(
    object_pairs_hook=_each_once, parse_constant=_finite, parse_float=_finite
)


def decode_once(text: str) -> Json:
    """Decode JSON without a name that an object has twice, and without NaN and infinity.

    Raises:
        AmbiguousError: there is one.
        ValueError: it is not JSON.
        RecursionError: it nests too deeply; check `deeper_than` before.
    """
    return _ONE_MEANING.decode(text)


def items_in(line: bytes) -> tuple[Message | Malformed, ...]:
    """Decode one line, and each message of a batch separately."""
    found = read(line)
    return found.items if isinstance(found, Batch) else (found,)


def _read_batch(text: str, values: list[Json]) -> Batch | Malformed:
    if not values:  # JSON-RPC 2.0, section 6: an empty array is an invalid request
        return Malformed(text.encode(), Flaw.NO_MESSAGE)
    if len(values) > MOST_IN_BATCH:
        return Malformed(text.encode(), Flaw.LONG_BATCH, (("limit", str(MOST_IN_BATCH)),))
    spans = item_spans(text, skip_space(text, 0))
    parts = zip(spans, values, strict=True)
    return Batch(text, tuple(_read_envelope(text[slice(*span)], value) for span, value in parts))


def _read_envelope(text: str, value: Json) -> Message | Malformed:
    if not isinstance(value, dict):
        return Malformed(encoded(text), Flaw.NO_OBJECT, (("got", json_type(value)),))
    request_id: RequestId | None = None
    if "id" in value:
        request_id = _id_of(text, value["id"])
    kind = kind_of_message(value)
    if kind is None:
        return Malformed(encoded(text), Flaw.NO_MESSAGE, id=request_id)
    answerless = kind is Kind.NOTIFICATION or (kind is Kind.ERROR and value.get("id") is None)
    if request_id is None and not answerless:
        got = json_type(value["id"]) if "id" in value else ""
        why = Flaw.ID_MALFORMED if got else Flaw.ID_MISSING
        return Malformed(encoded(text), why, (("got", got),) if got else ())
    return Message(kind, text, value, request_id)


def kind_of_message(body: Mapping[str, Json]) -> Kind | None:
    """Return the kind of a message by its members; None if they do not tell.

    A program that has one structure for all messages writes `"method": ""` or null into a response.
    """
    method = body.get("method")
    answer = kind_of_answer(body)
    if isinstance(method, str) and (method or answer is None):
        return Kind.REQUEST if "id" in body else Kind.NOTIFICATION
    return answer


def kind_of_answer(body: Mapping[str, Json]) -> Kind | None:
    """Return the kind of a response, whatever else it has; None if it is none.

    A null beside the other one of `result` and `error` says nothing.
    """
    if body.get("error") is not None or ("error" in body and "result" not in body):
        return Kind.ERROR
    return Kind.RESULT if "result" in body else None


def carries_answer(body: Mapping[str, Json]) -> bool:
    """Return True if a message has a result or an error that is not null."""
    return body.get("result") is not None or body.get("error") is not None


def _id_of(text: str, value: Json) -> RequestId | None:
    """Read an id with its token; None if MCP does not allow it.

    MCP: "Requests MUST include a string or integer ID. Unlike base JSON-RPC, the ID MUST NOT be
    `null`." `true` is not an integer, although it is one in Python; `1.0` is one. The token is only
    searched if an id has several spellings: `1.0`, `-0`, escapes.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    if isinstance(value, float) and not value.is_integer():  # infinity is not an integer
        return None
    written = as_json(value)
    if "\\" in text or not (value and isinstance(value, (str, int))):
        written = member(text, "id") or written
    return RequestId(written, value)


# -- the text of parts ------------------------------------------------------------------------


def member(text: str, *path: str) -> str | None:
    """Return the text of the member at this path, exactly as written, or None.

    `text` must be valid JSON. If a name occurs twice, the last one counts, as in all parsers.
    """
    for name in path:
        spans = [(start, end) for key, start, end in members(text) if key == name]
        if not spans:
            return None
        text = text[slice(*spans[-1])]
    return text


def members(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the members of the object in `text` as (name, start, end of the value)."""
    at = skip_space(text, 0)
    if text[at : at + 1] == "{":
        for name, _at, _until, start, end in member_spans(text, at):
            yield name, start, end


def parts_of(text: str) -> dict[str, str]:
    """Return the members of the object in `text` as written, by name."""
    return {name: text[start:end] for name, start, end in members(text)}


def member_spans(text: str, at: int) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield each member of the object at `at`: its name, its start and end, those of its value.

    `text` must be valid JSON. A name with an escape that JSON does not know is yielded as written.
    """
    found = _NAME.match(text, at + 1)
    while found is not None:
        end = value_end(text, found.end())
        yield _name_in(found[1]), found.start(1), found.end(1), found.end(), end
        found = _NAME.match(text, end)


def _name_in(written: str) -> str:
    if "\\" in written:
        with suppress(ValueError):
            return str(json.loads(written))
    return written[1:-1]


def item_spans(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each item of the list at `at`. `text` must be valid JSON."""
    at = skip_space(text, at + 1)
    while text[at : at + 1] not in ("]", ""):
        end = value_end(text, at)
        yield at, end
        at = _COMMA.match(text, end).end()  # type: ignore[union-attr]  # it also matches the empty string


_SPACE: Final = re.compile(r"[ \t\r\n]*")
_NAME: Final = re.compile(rf"[ \t\r\n]*+,?[ \t\r\n]*+({STRING})[ \t\r\n]*+:[ \t\r\n]*+", re.DOTALL)
_COMMA: Final = re.compile(r"[ \t\r\n]*+,?[ \t\r\n]*+")
_NO_SPACE: Final = str.maketrans("", "", " \t\r\n")
_ONE_STRING: Final = re.compile(STRING, re.DOTALL)
_DECODER: Final = json.JSONDecoder()
_SCALARS: Final = rf'[^"\[\]{{}}]++|{STRING}'
_FLAT: Final = rf"[\[{{](?:{_SCALARS})*+[\]}}]"
_TWO_LEVELS: Final = rf"[\[{{](?:{_SCALARS}|{_FLAT})*+[\]}}]"
_SHALLOW: Final = re.compile(rf"[\[{{](?:{_SCALARS}|{_TWO_LEVELS})*+[\]}}]", re.DOTALL)
"""A value of at most three levels of brackets."""
_SCALAR: Final = re.compile(r"[^\s,\]}]+")


def skip_space(text: str, at: int) -> int:
    """Return the first offset from `at` on that is not JSON white space."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def value_end(text: str, at: int) -> int:
    """Return the offset after the value that starts at `at`. `text` must be valid JSON."""
    first = text[at : at + 1]
    if first == '"':
        found = _ONE_STRING.match(text, at)
        return found.end() if found else len(text)
    if first in ("{", "["):
        shallow = _SHALLOW.match(text, at)  # decodes nothing: a million members need no memory
        if shallow is not None:
            return shallow.end()
        try:  # the parser of the standard library is ten times as fast as counting brackets
            return _DECODER.raw_decode(text, at)[1]
        except (ValueError, RecursionError):  # such as an integer of more than 4300 digits
            end = closed_at(text, at)
        return end if end >= 0 else len(text)
    found = _SCALAR.match(text, at)
    return found.end() if found else len(text)


def closed_at(text: str, at: int) -> int:
    """Return the offset where the brackets that open at `at` are all closed, -1 if they are not."""
    return closed_in(TOKEN.finditer(text, at))


def closed_in(tokens: Iterator[re.Match[str]]) -> int:
    """Return the end of the token that closes the first bracket, -1 if none does.

    The groups `opens` and `closes` tell the brackets.
    """
    depth = 0
    for found in tokens:
        depth += (found.lastgroup == "opens") - (found.lastgroup == "closes")
        if depth == 0:
            return found.end()
    return -1


def compact(text: str) -> str:
    r"""Remove the white space outside strings: the person's own text, on one line.

    MCP, transports: "Messages are delimited by newlines, and MUST NOT contain embedded newlines."
    `1.0`, big integers, key order and escapes stay as typed, which re-serialising would not do.
    Valid JSON has no raw line break in a string, so the result is always one line.
    """
    if '\\"' in text or text.count('"') % 2:
        *pieces, last = _STRING_OR_MARKS.findall(text) or [""]
        if last[:1] == '"' and not _ONE_STRING.fullmatch(last):
            last = last.translate(_NO_SPACE)
        return "".join((*pieces, last))
    parts = text.split('"')
    parts[::2] = '"'.join(parts[::2]).translate(_NO_SPACE).split('"')
    return '"'.join(parts)


_PIECE: Final = 256 * 1024
"""So many characters take a millisecond: within one call of C, no other thread continues."""


def outside_strings(text: str) -> Iterator[str]:
    """Yield the parts of a JSON text outside its strings, piece by piece."""
    at, inside = 0, False
    while at < len(text):
        end = at + _PIECE
        while text[end - 1 : end] == "\\":  # it escapes what follows
            end += 1
        piece = text[at:end].replace("\\\\", "").replace('\\"', "")
        parts = piece.split('"')
        yield "".join(parts[inside::2])
        inside ^= len(parts) % 2 == 0
        at = end


def _not_in_strings(text: str) -> str:
    """Return the parts of a text outside its strings, and what follows a quote without an end."""
    if '\\"' not in text and text.count('"') % 2 == 0:
        return "".join(outside_strings(text))
    ended = f'{text} "'  # ends a string that has no end: so each quote is tried once
    outside = _ONE_STRING.sub("", ended)
    if outside.endswith('"'):
        return outside[:-2]
    (torn,) = deque(_ONE_STRING.finditer(ended), maxlen=1)
    return outside + text[torn.start() :]


def deeper_than(text: str, limit: int) -> bool:
    """Return True if brackets nest deeper than `limit`, without parsing (parsers may overflow)."""
    if text.count("[") + text.count("{") <= limit:
        return False
    outside = _not_in_strings(text)
    brackets = whole = outside.encode("ascii", "ignore").translate(None, _NO_BRACKET)
    for _levels in range(limit // 2):  # each round removes one or two levels
        if not brackets:
            return False
        before, brackets = len(brackets), brackets.replace(b"[]", b"").replace(b"{}", b"")
        if len(brackets) > before * 3 // 4:
            break  # each round removes too little: it would need a hundred
    # brackets are left: too deep, not matching, or many
    return bool(brackets) and _nests(whole, limit)


def _nests(brackets: bytes, limit: int) -> bool:
    """Return True if brackets nest deeper than `limit`, whether they match or not."""
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in b"[{" else -1
        if depth > limit:
            return True
    return False


def json_type(value: Json) -> str:
    """Name the JSON type of a decoded value: object, list, text, number, boolean or null."""
    return _TYPES.get(type(value), "object")


_TYPES: Final = {
    type(None): "null",
    bool: "boolean",
    str: "text",
    list: "list",
    **dict.fromkeys((int, float), "number"),
}


def with_token(text: str, token: str, path: tuple[str, ...] = ("id",)) -> str:
    """Return a message with another token at this path, by default another id.

    All else stays as written. If a name occurs twice, both get the token.
    """
    name, *rest = path
    for key, start, end in reversed(list(members(text))):
        if key == name:
            value = with_token(text[start:end], token, tuple(rest)) if rest else token
            text = text[:start] + value + text[end:]
    return text


def size_of(text: str) -> int:
    """Return the size of a text as UTF-8 in bytes, -1 if it contains half a surrogate pair."""
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return -1


_BREAKS: Final = r"\r\n?|\n"


def wire_line(text: str) -> str | None:
    """Return any text as one line of valid UTF-8, with spaces for line breaks; None if blank."""
    line = re.sub(_BREAKS, " ", text).strip()
    if not line:
        return None
    return line.encode("utf-8", "replace").decode()

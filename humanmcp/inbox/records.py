"""Between the values of the contract and the JSON records of the folder.

Another program may have written what is read here, so every member is looked at: a member that is
missing has its default, one of the wrong type makes the record unreadable (`UnreadableError`).
Members that are not known here belong to a newer humanmcp and are passed over.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from humanmcp.inbox.contract import (
    Answer,
    Draft,
    HeldFacts,
    HttpFacts,
    Item,
    Key,
    Parked,
    Reply,
    SessionFacts,
    Waiting,
    Writer,
)
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics.model import Applicability, Diagnostic, Fix, Severity, TextEdit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import UnionType


# -- in the home ------------------------------------------------------------------------------
SESSIONS: Final = "sessions"
"""Holds a folder for each session."""
TEMPORARY: Final = "tmp"
"""Where files are written before they get their name. Outside of `sessions`, which is watched."""
LEARNED: Final = "learned.json"
"""How long clients were seen to wait before they gave up."""
CALL_LIMITS: Final = "limits.json"
"""How long clients wait for a call, as a person has set it."""
LISTED: Final = "listed.json"
"""Which message had which short name in a terminal last."""
GRACE: Final = "grace.json"
"""How long the handshake messages of clients may wait for a person, as a person has set it."""
FORMAT_FILE: Final = "format.json"
LETTERS: Final = "letters"
"""Which session has which letter."""
LETTER_TAKEN: Final = "{:04d}.json"
"""The file of a letter, by its number from 1: Windows takes no `con.json`."""
FORGOTTEN: Final = "forgotten"
"""An empty file for each session of an agent that was forgotten: its name never comes again."""
WRITERS: Final = "writers"
"""Who writes an answer now: a file for each window."""
WRITER: Final = "{}.json"
HANDSHAKE_BY_HAND: Final = "handshake.by-hand"
"""It is there while people want to open every session themselves."""

# -- in a session's folder --------------------------------------------------------------------
SESSION: Final = "session.json"
KNOWN: Final = "known.json"
LETTER: Final = "letter.json"
LOCK: Final = "session.lock"
BELL: Final = "bell"
"""A FIFO: a desk that sends something rings there."""
TRANSCRIPT: Final = "transcript.jsonl"
FORWARDED: Final = "{}.forwarded.jsonl"
"""What grows beside a recording that is played with its server behind it: the transcript."""
IN_TEXT: Final = "in.txt"
OUT_TEXT: Final = "out.txt"
PROBLEMS_TEXT: Final = "problems.txt"
STATUS_TEXT: Final = "status.txt"
SENT: Final = "sent"
"""The texts of `out.txt` that were sent."""
OUTBOX: Final = "outbox"
TURN: Final = "turn.lock"
DRAFT_TURN: Final = "drafts.lock"
"""Held for a moment by the process that changes what several share."""
ENTERED: Final = "entered"
"""A lock for each prompt of an agent, held by its process while it waits."""
NUMBER: Final = "number.json"
"""The last number that was given to a prompt of an agent."""
PROMPT_BELL: Final = "bell-{:04d}"
HOLDS: Final = "holds.json"
PENDING: Final = ExchangeState.PENDING.value
STATES: Final = tuple(state.value for state in ExchangeState)
"""The folders of exchanges: where an exchange lies is its state."""

# -- in an exchange's folder ------------------------------------------------------------------
REQUEST: Final = "request.json"
WAIT: Final = "wait.json"
DRAFT: Final = "draft.json"
OLD_DRAFT: Final = "draft.old.json"
PROBLEMS: Final = "problems.json"
REPLY: Final = "reply.json"
ANSWER: Final = "answer.json"
KEPT: Final = "kept-{:d}.json"
TORN: Final = "torn-{}.json"

# -- in the outbox ----------------------------------------------------------------------------
OUTGOING: Final = "{:04d}.json"
RESULT: Final = "{:04d}.result.json"

FORMAT: Final = 2
"""The version of all that is stored in a home, in its `format.json` and in each `session.json`.

A home of a newer one is refused, a session of a newer one (a copy) is passed over.
"""

# Neither a dot nor a slash: no name leads out of the folder. Windows keeps some names for devices.
_SESSION_NAME: Final = re.compile(
    r"(?!(?:con|prn|aux|nul|com\d|lpt\d)\Z)[0-9A-Za-z][0-9A-Za-z_-]{0,63}", re.IGNORECASE
)
_NUMBER: Final = re.compile(r"[0-9]{1,12}", re.ASCII)


def session_name(stamp: str, suffix: str) -> str:
    """Name a session by the second it began in (20261120T184907Z) and four random digits."""
    return f"{stamp}-{suffix}"


def is_session_name(name: str) -> bool:
    """Return True if a session may have this name."""
    return _SESSION_NAME.fullmatch(name) is not None


def exchange_name(number: int) -> str:
    """Name the folder of an exchange: 3 is `0003`."""
    return f"{number:04d}"


def exchange_number(name: str) -> int | None:
    """Return the number of an exchange's folder; None when the name is no such number."""
    return number_in(name, "{:04d}")


def number_in(name: str, pattern: str) -> int | None:
    """Return the 2 of `kept-2.json` for `KEPT`; None for a name that is not of this pattern."""
    found = _NUMBER.search(name)
    return int(found[0]) if found and name == pattern.format(int(found[0])) else None


def numbers_in(names: Iterable[str], pattern: str) -> list[int]:
    """Return the numbers in the names of a pattern, smallest first."""
    found = (number_in(name, pattern) for name in names)
    return sorted(number for number in found if number is not None)


Record = Mapping[str, Any]  # `Any`: JSON has no narrower type that a reader would gain from
_Choice = TypeVar("_Choice", bound=enum.Enum)
_Value = TypeVar("_Value")


class UnreadableError(ValueError):
    """A file is not a record: it was torn by a crash, or another program wrote it."""


def encode(value: Record | tuple[object, ...]) -> bytes:
    """Write a record, or a value that has one, as UTF-8 with a line feed at its end.

    A lone surrogate, which UTF-8 cannot hold, becomes its JSON escape.
    """
    record = record_of(value) if isinstance(value, tuple) else value
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), default=_plain)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, enum.Enum):
        return value.value
    raise TypeError(value)


def decode(content: bytes | str) -> Record:
    """Read a record.

    Raises:
        UnreadableError: the bytes are no JSON object.
    """
    try:
        record = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from error
    if not isinstance(record, dict):
        raise UnreadableError(type(record).__name__)
    return record


_NESTED: Final = (HttpFacts, Parked)
"""Records that are members of others."""

_KINDS: Final[Mapping[str, tuple[type | UnionType, Any]]] = {
    "str": (str, ""),
    "int": (int, 0),
    "bool": (bool, False),
    "float | None": (int | float, None),
    "Mapping[str, Any]": (dict, MappingProxyType({})),
    "Mapping[str, str]": (dict, MappingProxyType({})),
    "Mapping[str, Any] | None": (dict, None),
}
"""For each annotation of a field: the type of its JSON value, and what a missing one stands for.

A field of any other kind is an enum, written as its value, and has a default.
"""


def record_of(value: Any, *left_out: str) -> dict[str, Any]:  # noqa: ANN401 - any `NamedTuple`
    """Return the record of a value: its fields under their own names, and so in each of these."""
    fields = value._asdict().items()
    return {
        name: record_of(each) if isinstance(each, _NESTED) else each
        for name, each in fields
        if name not in left_out
    }


def read(kind: type[_Value], record: Record, names: Iterable[str] = (), **given: object) -> _Value:
    """Read the record of a value: all fields of its class, or those of these names.

    `given` are fields that the record does not hold.

    Raises:
        UnreadableError: a member has the wrong type.
    """
    fields: Any = kind  # a `NamedTuple`, which has no type of its own
    wanted = set(names or fields._fields) - set(given)
    return fields(**{name: _member(fields, name, record) for name in wanted}, **given)  # type: ignore[no-any-return] # `fields` is `kind`


def _member(fields: Any, name: str, record: Record) -> Any:  # noqa: ANN401 - a `NamedTuple`; JSON
    annotation = fields.__annotations__[name]  # `typing.NamedTuple` keeps it as a `ForwardRef`
    wanted = _KINDS.get(getattr(annotation, "__forward_arg__", annotation))
    default = fields._field_defaults.get(name)
    if isinstance(default, _NESTED):
        return read(type(default), _typed(record, name, dict)) if name in record else default
    if wanted is None:
        return _choice(record, name, fields._field_defaults[name])
    default = fields._field_defaults.get(name, wanted[1])
    if record.get(name, default) is default:
        return default
    return _typed(record, name, wanted[0])


def _typed(record: Record, name: str, kind: type | UnionType) -> Any:  # noqa: ANN401 - JSON
    value = record.get(name)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise UnreadableError(name)
    return value


def _choice(record: Record, name: str, default: _Choice) -> _Choice:
    try:
        return type(default)(record.get(name, default.value))
    except ValueError as error:
        raise UnreadableError(name) from error


def _has_text(record: Record, name: str) -> Record:
    if not isinstance(record.get(name), str):
        raise UnreadableError(name)
    return record


def read_number(record: Record) -> int:
    """Read the last number that was given to a prompt.

    Raises:
        UnreadableError: there is none.
    """
    return int(_typed(record, "number", int))


# -- sessions ---------------------------------------------------------------------------------


def facts_record(facts: SessionFacts) -> Record:
    """Return the record of `session.json`. GONE is found out by readers, never written."""
    return {"format": FORMAT, **record_of(facts, "name", "letter")}


def read_facts(name: str, record: Record) -> SessionFacts:
    """Read `session.json`. The name is the folder's, whatever the record says."""
    if read_format(record) > FORMAT:
        raise UnreadableError("format")
    return read(SessionFacts, record, name=name, letter="")


def read_format(record: Record) -> int:
    """Read the version of what is stored, in `format.json` or `session.json`; 1 without any."""
    found: int = _typed(record, "format", int) if "format" in record else 1
    return found


def read_letter(record: Record) -> str:
    """Read `letter.json`."""
    letter: str = _has_text(record, "letter")["letter"]
    if not (letter.isascii() and letter.isalpha() and letter.islower()):
        raise UnreadableError("letter")
    return letter


# -- exchanges --------------------------------------------------------------------------------

_REQUEST: Final = (
    *("line", "method", "id", "protocol_version", "arrived", "purpose", "host", "context"),
)
_HELD: Final = ("way", "asked")
"""The fields of an item that `request.json` holds, and those of `HeldFacts`.

`line` is the request as it came, as text.
"""


def request_record(item: Item) -> Record:
    """Return the record of `request.json`."""
    record = {name: getattr(item, name) for name in _REQUEST}
    record |= {name: getattr(item.held, name) for name in _HELD}
    found = {"headers": item.headers, "unread": item.held.unread}
    return record | {name: _list_of(each) for name, each in found.items() if each}


def read_request(key: Key, state: ExchangeState, record: Record) -> Item:
    """Read `request.json`: an item that nothing has been added to yet."""
    held = read(HeldFacts, record, _HELD, unread=_diagnostics_in(record, "unread"))
    headers = _diagnostics_in(record, "headers")
    known = _has_text(record, "line")
    return read(Item, known, _REQUEST, key=key, state=state, held=held, headers=headers)


class Reads(Protocol):
    """Reads a record of an exchange by its name in the folder; None when there is none."""

    def __call__(self, name: str, reader: Callable[[Record], _Value]) -> _Value | None:
        """Return what `reader` makes of the record `name`."""


def read_item(key: Key, state: ExchangeState, find: Reads, kept: Iterable[str]) -> Item | None:
    """Read an exchange from its records; `kept` names those of the texts beside the draft."""
    item = find(REQUEST, lambda record: read_request(key, state, record))
    if item is None:
        return None
    answer, reason = find(ANSWER, read_close) or (None, "")
    reply = find(REPLY, read_reply)
    draft = find(DRAFT, read_draft) or find(OLD_DRAFT, read_draft)
    if draft is None and reply is not None:  # it is being given back just now
        draft = reply.as_draft
    # They are those of a reply that was given back. Whoever sees them may send the next one: so
    # nobody sees them while the last one is still in its place.
    problems = find(PROBLEMS, read_diagnostics) if reply is None else None
    others = (find(name, read_draft) for name in kept)
    return item._replace(
        waiting=find(WAIT, partial(read, Waiting)) or Waiting(),
        draft=draft,
        diagnostics=problems or (),
        answer=answer,
        reason=reason,
        reply=reply,
        kept=tuple(draft for draft in others if draft is not None),
    )


def read_draft(record: Record) -> Draft:
    """Read `draft.json`, or a kept text."""
    return read(Draft, _has_text(record, "text"))


def read_reply(record: Record) -> Reply:
    """Read `reply.json`, or an outgoing message."""
    return read(Reply, _has_text(record, "text"))


def writer_record(key: Key, writer: Writer) -> Record:
    """Return the record of a window's file in `writers/`."""
    return record_of(key) | record_of(writer)


def read_writer(record: Record) -> tuple[Key, Writer]:
    """Read a window's file in `writers/`."""
    return read(Key, _has_text(record, "session")), read(Writer, record)


def close_record(state: ExchangeState, answer: Answer | None, reason: str) -> Record:
    """Return the record of `answer.json`: how the exchange ended."""
    return {"state": state, "reason": reason, **({} if answer is None else record_of(answer))}


def read_close(record: Record) -> tuple[Answer | None, str]:
    """Read `answer.json`: the answer, and the reason in the client's words."""
    answer = read(Answer, record) if isinstance(record.get("line"), str) else None
    return answer, _typed(record, "reason", str) if "reason" in record else ""


def read_ending(record: Record) -> ExchangeState:
    """Read from `answer.json` in which state the exchange ended."""
    return _choice(record, "state", ExchangeState.ABANDONED)


# -- what a tap is to hold --------------------------------------------------------------------


def holds_record(patterns: Sequence[str]) -> Record:
    """Return the record of `holds.json`."""
    return {"patterns": list(patterns)}


def read_holds(record: Record) -> tuple[str, ...]:
    """Read `holds.json`."""
    patterns = tuple(_list(record, "patterns"))
    if not all(isinstance(pattern, str) for pattern in patterns):
        raise UnreadableError("patterns")
    return patterns


def _list(record: Record, name: str) -> Sequence[Any]:
    return _typed(record, name, list) if name in record else ()


# -- diagnostics ------------------------------------------------------------------------------


def diagnostics_record(diagnostics: Sequence[Diagnostic]) -> Record:
    """Return the record of `problems.json`, and of what became of an outgoing message."""
    return {"problems": _list_of(diagnostics)}


def _list_of(diagnostics: Sequence[Diagnostic]) -> list[Record]:
    return [_diagnostic_record(diagnostic) for diagnostic in diagnostics]


def _diagnostic_record(diagnostic: Diagnostic) -> Record:
    kept = record_of(diagnostic, "fix", "times", "severity")
    record = {"code": diagnostic.code, "level": diagnostic.severity, **kept}
    if diagnostic.fix is not None:
        edits = [record_of(edit) for edit in diagnostic.fix.edits]
        record["fix"] = record_of(diagnostic.fix, "edits") | {"edits": edits}
    return record if diagnostic.times == 1 else record | {"count": diagnostic.times}


def read_diagnostics(record: Record) -> tuple[Diagnostic, ...]:
    """Read `problems.json`, or what became of an outgoing message."""
    return _diagnostics_in(record, "problems")


def _diagnostics_in(record: Record, name: str) -> tuple[Diagnostic, ...]:
    return tuple(_read_diagnostic(_object(value)) for value in _list(record, name))


def _read_diagnostic(record: Record) -> Diagnostic:
    fix = _object(record["fix"]) if record.get("fix") is not None else None
    return read(
        Diagnostic,
        record,
        severity=_choice(record, "level", Severity.ERROR),
        detail=tuple(_read_pair(value) for value in _list(record, "detail")),
        fix=None if fix is None else _read_fix(fix),
        times=_typed(record, "count", int) or 1 if "count" in record else 1,
    )


def _read_pair(value: object) -> tuple[str, str]:
    match value:
        case [str(name), str(filling)]:
            return name, filling
        case _:
            raise UnreadableError("detail")


def _read_fix(record: Record) -> Fix:
    edits = tuple(read(TextEdit, _object(value)) for value in _list(record, "edits"))
    return Fix(
        edits,
        _typed(record, "label", str) if record.get("label") else "fix",
        _choice(record, "applicability", Applicability.GUESS),
    )


def _object(value: object) -> Record:
    if not isinstance(value, dict):
        raise UnreadableError(type(value).__name__)
    return value

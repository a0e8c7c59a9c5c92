"""Between the values of the contract and the JSON records of the folder.

Another program may have written what is read here, so every member is looked at: a member that is
missing has its default, one of the wrong type makes the record unreadable (`UnreadableError`).
Members that are not known here belong to a newer humanmcp and are passed over.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from humanmcp.inbox import layout
from humanmcp.inbox.contract import (
    Answer,
    Draft,
    Item,
    Key,
    Reply,
    SessionFacts,
    Waiting,
)
from humanmcp.protocol.diagnostics.model import Applicability, Diagnostic, Fix, Severity, TextEdit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import UnionType

    from humanmcp.protocol.conversation.exchange import ExchangeState

Record = Mapping[str, Any]  # `Any`: JSON has no narrower type that a reader would gain from
_Choice = TypeVar("_Choice", bound=enum.Enum)
_Value = TypeVar("_Value")


class UnreadableError(ValueError):
    """A file holds no record of ours: torn by a crash, or written by something else."""


def encode(record: Record) -> bytes:
    """Write a record as UTF-8 with a line feed at its end; people read these files, too.

    A lone surrogate, which UTF-8 cannot hold, becomes its JSON escape.
    """
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


_KINDS: Final[Mapping[str, tuple[type | UnionType, Any]]] = {
    "str": (str, ""),
    "int": (int, 0),
    "bool": (bool, False),
    "float | None": (int | float, None),
    "Mapping[str, Any]": (dict, MappingProxyType({})),
    "Mapping[str, Any] | None": (dict, None),
}
"""For each annotation of a field: the type of its JSON value, and what a missing one stands for.

A field of any other kind is an enum, written as its value, and has a default.
"""


def record_of(value: Any, *left_out: str) -> dict[str, Any]:  # noqa: ANN401 - any `NamedTuple`
    """Return the record of a value: its fields under their own names."""
    return {name: each for name, each in value._asdict().items() if name not in left_out}


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


# -- sessions ---------------------------------------------------------------------------------


def facts_record(facts: SessionFacts) -> Record:
    """Return the record of `session.json`. GONE is found out by readers, never written."""
    return {"format": layout.FORMAT, **record_of(facts, "name", "letter")}


def read_facts(name: str, record: Record) -> SessionFacts:
    """Read `session.json`. The name is the folder's, whatever the record says."""
    if "format" in record and _typed(record, "format", int) > layout.FORMAT:
        raise UnreadableError("format")
    return read(SessionFacts, record, name=name, letter="")


def read_letter(record: Record) -> str:
    """Read `letter.json`."""
    letter: str = _has_text(record, "letter")["letter"]
    if not (letter.isascii() and letter.isalpha() and letter.islower()):
        raise UnreadableError("letter")
    return letter


# -- exchanges --------------------------------------------------------------------------------

_REQUEST: Final = ("line", "method", "id", "revision", "arrived", "purpose", "way", "asked")
"""The fields of an item that `request.json` holds. `line` is the request as it came, as text."""


def request_record(item: Item) -> Record:
    """Return the record of `request.json`."""
    record = {name: getattr(item, name) for name in _REQUEST}
    return record | ({"headers": _list_of(item.headers)} if item.headers else {})


def read_request(key: Key, state: ExchangeState, record: Record) -> Item:
    """Read `request.json`: an item that nothing has been added to yet."""
    headers = _diagnostics_in(record, "headers")
    return read(Item, _has_text(record, "line"), _REQUEST, key=key, state=state, headers=headers)


class Reads(Protocol):
    """Reads a record of an exchange by its name in the folder; None when there is none."""

    def __call__(self, name: str, reader: Callable[[Record], _Value]) -> _Value | None:
        """Return what `reader` makes of the record `name`."""


def read_item(key: Key, state: ExchangeState, read: Reads, kept: Iterable[str]) -> Item | None:
    """Read an exchange from its records; `kept` names those of the texts beside the draft."""
    item = read(layout.REQUEST, lambda record: read_request(key, state, record))
    if item is None:
        return None
    answer, reason = read(layout.ANSWER, read_close) or (None, "")
    reply = read(layout.REPLY, read_reply)
    draft = read(layout.DRAFT, read_draft)
    if draft is None and reply is not None:  # it is being given back just now
        draft = reply.as_draft
    others = (read(name, read_draft) for name in kept)
    return item._replace(
        waiting=read(layout.WAIT, _read_waiting) or Waiting(),
        draft=draft,
        diagnostics=read(layout.PROBLEMS, read_diagnostics) or (),
        answer=answer,
        reason=reason,
        reply=reply,
        kept=tuple(draft for draft in others if draft is not None),
    )


def _read_waiting(record: Record) -> Waiting:
    return read(Waiting, record)


def read_draft(record: Record) -> Draft:
    """Read `draft.json`, or a kept text."""
    return read(Draft, _has_text(record, "text"))


def read_reply(record: Record) -> Reply:
    """Read `reply.json`, or a saying."""
    return read(Reply, _has_text(record, "text"))


def close_record(state: ExchangeState, answer: Answer | None, reason: str) -> Record:
    """Return the record of `answer.json`: how the exchange ended."""
    return {"state": state, "reason": reason, **({} if answer is None else record_of(answer))}


def read_close(record: Record) -> tuple[Answer | None, str]:
    """Read `answer.json`: the answer, and the reason in the client's words."""
    answer = read(Answer, record) if isinstance(record.get("line"), str) else None
    return answer, _typed(record, "reason", str) if "reason" in record else ""


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
    """Return the record of `problems.json`, and of what became of a saying."""
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
    """Read `problems.json`, or what became of a saying."""
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

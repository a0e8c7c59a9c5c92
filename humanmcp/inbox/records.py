"""Between the values of the contract and the JSON records of the folder.

Another program may have written what is read here, so every member is looked at: a member that is
missing has its default, one of the wrong type makes the record unreadable (`UnreadableError`).
Members that are not known here belong to a newer humanmcp and are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from humanmcp.inbox.contract import (
    Action,
    Answer,
    Draft,
    Item,
    Key,
    Life,
    Order,
    Purpose,
    Reply,
    Seat,
    SessionFacts,
    Waiting,
)
from humanmcp.inbox.layout import FORMAT
from humanmcp.protocol.conversation.exchange import ExchangeState, Known
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import Applicability, Diagnostic, Fix, Severity, TextEdit
from humanmcp.protocol.diagnostics.verdict import TextForm

if TYPE_CHECKING:
    import enum
    from collections.abc import Sequence
    from types import UnionType

Record = Mapping[str, Any]  # `Any`: JSON has no narrower type that a reader would gain from
_Choice = TypeVar("_Choice", bound="enum.Enum")


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
    raise TypeError(value)


def decode(content: bytes) -> Record:
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


def _member(record: Record, name: str, kind: type | UnionType, default: Any) -> Any:  # noqa: ANN401 - JSON
    value = record.get(name, default)
    wanted = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if not wanted and value is not default:
        raise UnreadableError(name)
    return value


def _text(record: Record, name: str) -> str:
    text: str = _member(record, name, str, "")
    return text


def _count(record: Record, name: str) -> int:
    count: int = _member(record, name, int, 0)
    return count


def _flag(record: Record, name: str) -> bool:
    flag: bool = _member(record, name, bool, False)  # noqa: FBT003 - the default of a flag
    return flag


def _seconds(record: Record, name: str) -> float | None:
    seconds: float | None = _member(record, name, int | float, None)
    return seconds


def _part(record: Record, name: str) -> Record | None:
    part: Record | None = _member(record, name, dict, None)
    return part


def _list(record: Record, name: str) -> Sequence[Any]:
    values: Sequence[Any] = _member(record, name, list, ())
    return values


def _choice(record: Record, name: str, default: _Choice) -> _Choice:
    value = record.get(name, default.value)
    try:
        return type(default)(value)
    except ValueError as error:
        raise UnreadableError(name) from error


# -- sessions ---------------------------------------------------------------------------------


def facts_record(facts: SessionFacts) -> Record:
    """Return the record of `session.json`. GONE is found out by readers, never written."""
    return {
        "format": FORMAT,
        "started": facts.started,
        "seat": facts.seat.value,
        "life": facts.life.value,
        "pid": facts.pid,
        "client": facts.client,
        "client_version": facts.client_version,
        "revision": facts.revision,
        "files": facts.files,
        "title": facts.title,
        "probe": facts.probe,
        "stuck": facts.stuck,
        "unreadable": facts.unreadable,
        "unreadable_at": facts.unreadable_at,
    }


def read_facts(name: str, record: Record) -> SessionFacts:
    """Read `session.json`. The name is the folder's, whatever the record says."""
    if _count(record, "format") > FORMAT:
        raise UnreadableError("format")
    return SessionFacts(
        name=name,
        started=_text(record, "started"),
        seat=_choice(record, "seat", Seat.SERVER),
        life=_choice(record, "life", Life.OPEN),
        pid=_count(record, "pid"),
        client=_text(record, "client"),
        client_version=_text(record, "client_version"),
        revision=_text(record, "revision"),
        files=_text(record, "files"),
        title=_text(record, "title"),
        probe=_flag(record, "probe"),
        stuck=_flag(record, "stuck"),
        unreadable=_count(record, "unreadable"),
        unreadable_at=_count(record, "unreadable_at"),
    )


def read_letter(record: Record) -> str:
    """Read `letter.json`."""
    letter = _text(record, "letter")
    if not (letter.isascii() and letter.isalpha() and letter.islower()):
        raise UnreadableError("letter")
    return letter


def known_record(known: Known) -> Record:
    """Return the record of `known.json`."""
    return {
        "client_name": known.client_name,
        "client_version": known.client_version,
        "client_capabilities": known.client_capabilities,
        "offered": known.offered,
        "tools": known.tools,
        "initialized": known.initialized,
        "prepared": known.prepared,
        "server": known.server,
    }


def read_known(record: Record) -> Known:
    """Read `known.json`."""
    return Known(
        client_name=_text(record, "client_name"),
        client_version=_text(record, "client_version"),
        client_capabilities=_part(record, "client_capabilities") or {},
        offered=_part(record, "offered"),
        tools=_part(record, "tools"),
        initialized=_flag(record, "initialized"),
        prepared=_part(record, "prepared") or {},
        server=_part(record, "server") or {},
    )


# -- exchanges --------------------------------------------------------------------------------


def request_record(item: Item) -> Record:
    """Return the record of `request.json`. `line` is the request as it came, as text."""
    return {
        "line": item.line,
        "method": item.method,
        "id": item.id,
        "revision": item.revision,
        "arrived": item.arrived,
        "purpose": item.purpose.value,
        "way": item.way.value,
        "asked": item.asked,
    }


def read_request(key: Key, state: ExchangeState, record: Record) -> Item:
    """Read `request.json`: an item that nothing has been added to yet."""
    if not isinstance(record.get("line"), str):
        raise UnreadableError("line")
    return Item(
        key=key,
        line=_text(record, "line"),
        method=_text(record, "method"),
        id=_text(record, "id"),
        revision=_text(record, "revision"),
        arrived=_text(record, "arrived"),
        state=state,
        purpose=_choice(record, "purpose", Purpose.ANSWER),
        way=_choice(record, "way", Direction.IN),
        asked=_text(record, "asked"),
    )


def waiting_record(waiting: Waiting) -> Record:
    """Return the record of `wait.json`."""
    return {
        "limit": waiting.limit,
        "source": waiting.source,
        "book_at": waiting.book_at,
        "held": waiting.held,
        "means": waiting.means,
        "why_not": waiting.why_not,
    }


def read_waiting(record: Record) -> Waiting:
    """Read `wait.json`."""
    return Waiting(
        limit=_seconds(record, "limit"),
        source=_text(record, "source"),
        book_at=_seconds(record, "book_at"),
        held=_flag(record, "held"),
        means=_text(record, "means"),
        why_not=_text(record, "why_not"),
    )


def draft_record(draft: Draft) -> Record:
    """Return the record of `draft.json`, and of a kept text."""
    return {
        "text": draft.text,
        "form": draft.form.value,
        "touched": draft.touched,
        "hold": draft.hold,
        "by": draft.by,
        "at": draft.at,
    }


def read_draft(record: Record) -> Draft:
    """Read `draft.json`, or a kept text."""
    if not isinstance(record.get("text"), str):
        raise UnreadableError("text")
    return Draft(
        text=_text(record, "text"),
        form=_choice(record, "form", TextForm.MESSAGE),
        touched=_flag(record, "touched"),
        hold=_flag(record, "hold"),
        by=_text(record, "by"),
        at=_text(record, "at"),
    )


def reply_record(reply: Reply) -> Record:
    """Return the record of `reply.json`, and of a saying."""
    return {
        "text": reply.text,
        "form": reply.form.value,
        "anyway": reply.anyway,
        "by": reply.by,
        "at": reply.at,
        "action": reply.action.value,
        "order": reply.order.value,
    }


def read_reply(record: Record) -> Reply:
    """Read `reply.json`, or a saying."""
    if not isinstance(record.get("text"), str):
        raise UnreadableError("text")
    return Reply(
        text=_text(record, "text"),
        form=_choice(record, "form", TextForm.MESSAGE),
        anyway=_flag(record, "anyway"),
        by=_text(record, "by"),
        at=_text(record, "at"),
        action=_choice(record, "action", Action.PASS),
        order=_choice(record, "order", Order.SAY),
    )


def draft_of(reply: Reply) -> Draft:
    """Turn a reply that was not sent into what it was before: a draft."""
    return Draft(reply.text, reply.form, touched=True, by=reply.by, at=reply.at)


def close_record(state: ExchangeState, answer: Answer | None, reason: str) -> Record:
    """Return the record of `answer.json`: how the exchange ended."""
    record: dict[str, Any] = {"state": state.value, "reason": reason}
    if answer is not None:
        record |= {
            "line": answer.line,
            "by": answer.by,
            "at": answer.at,
            "deliberate": answer.deliberate,
        }
    return record


def read_close(record: Record) -> tuple[Answer | None, str]:
    """Read `answer.json`: the answer, and the reason in the client's words."""
    answer = None
    if isinstance(record.get("line"), str):
        answer = Answer(
            line=_text(record, "line"),
            by=_text(record, "by"),
            at=_text(record, "at"),
            deliberate=_flag(record, "deliberate"),
        )
    return answer, _text(record, "reason")


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


# -- problems ---------------------------------------------------------------------------------


def problems_record(problems: Sequence[Diagnostic]) -> Record:
    """Return the record of `problems.json`, and of what became of a saying."""
    return {"problems": [_problem_record(problem) for problem in problems]}


def _problem_record(problem: Diagnostic) -> Record:
    record: dict[str, Any] = {
        "code": problem.code,
        "level": problem.level.value,
        "detail": [list(pair) for pair in problem.detail],
        "pointer": problem.pointer,
        "start": problem.start,
        "end": problem.end,
        "line": problem.line,
        "column": problem.column,
        "page": problem.page,
    }
    if problem.fix is not None:
        edits = [{"start": e.start, "end": e.end, "new": e.new} for e in problem.fix.edits]
        grade = problem.fix.applicability.value
        record["fix"] = {"label": problem.fix.label, "edits": edits, "applicability": grade}
    if problem.times > 1:
        record["count"] = problem.times
    return record


def read_problems(record: Record) -> tuple[Diagnostic, ...]:
    """Read `problems.json`, or what became of a saying."""
    return tuple(_read_problem(_object(value)) for value in _list(record, "problems"))


def _read_problem(record: Record) -> Diagnostic:
    fix = _part(record, "fix")
    return Diagnostic(
        code=_text(record, "code"),
        level=_choice(record, "level", Severity.ERROR),
        detail=tuple(_read_pair(value) for value in _list(record, "detail")),
        pointer=_text(record, "pointer"),
        start=_count(record, "start"),
        end=_count(record, "end"),
        line=_count(record, "line"),
        column=_count(record, "column"),
        fix=None if fix is None else _read_fix(fix),
        page=_text(record, "page"),
        times=_count(record, "count") or 1,
    )


def _read_pair(value: object) -> tuple[str, str]:
    match value:
        case [str(name), str(filling)]:
            return name, filling
        case _:
            raise UnreadableError("detail")


def _read_fix(record: Record) -> Fix:
    edits = (_object(value) for value in _list(record, "edits"))
    return Fix(
        tuple(TextEdit(_count(e, "start"), _count(e, "end"), _text(e, "new")) for e in edits),
        _text(record, "label") or "fix",
        _choice(record, "applicability", Applicability.GUESS),
    )


def _object(value: object) -> Record:
    if not isinstance(value, dict):
        raise UnreadableError(type(value).__name__)
    return value

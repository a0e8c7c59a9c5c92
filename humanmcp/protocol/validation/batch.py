"""The answer to a whole array of messages (2025-03-26): an array with an answer for each request.

Each answer is judged against its own request, and placed in the text that was typed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.protocol.conversation.exchange import Exchange
from humanmcp.protocol.diagnostics.kinds.rpc import AnswersMissing, AnswerToNothing
from humanmcp.protocol.diagnostics.model import line_and_column, unreadable
from humanmcp.protocol.diagnostics.verdict import Verdict
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Kind, Malformed, Message
from humanmcp.protocol.repair.reading import read
from humanmcp.protocol.validation import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.conversation.exchange import Established
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.repair.reading import Reading


def requests_in(batch: Batch, revision: str) -> tuple[Exchange, ...]:
    """Return the requests of an array, as exchanges that can be answered."""
    return tuple(
        Exchange(0, item, revision)
        for item in batch.items
        if isinstance(item, Message) and item.kind is Kind.REQUEST
    )


def is_answers(text: str) -> bool:
    """Return True if a text is an array of answers, well formed or not: nothing in it asks."""
    found = _array(read(text))
    messages = [item for item in found.items if isinstance(item, Message)] if found else []
    return bool(messages) and all(one.kind.is_answer for one in messages)


def judge_answers(asked: tuple[Exchange, ...], text: str, established: Established) -> Verdict:
    """Judge an array of answers, and make the line to send. It must answer every request once."""
    reading = read(text)
    found = _array(reading)
    if found is None:
        return Verdict(text, None, None, reading.diagnostics)
    waiting = {one.id.key: one for one in reversed(asked)}
    diagnostics = list(reading.diagnostics)
    lines = []
    inner: tuple[Diagnostic, ...]
    for index, (item, at) in enumerate(_placed(found, reading.json)):
        if isinstance(item, Malformed):
            lines.append(jsonrpc.compact(item.text))
            inner = (unreadable(item),)
        else:
            exchange = waiting.pop(item.id.key, None) if item.id else None
            line, inner = _judge_one(exchange, item, established)
            lines.append(line)
        diagnostics += (_moved(one, index, at, reading, text) for one in inner)
    if waiting:
        ids = ", ".join(one.id.token for one in asked if one in waiting.values())
        diagnostics.append(AnswersMissing(ids=ids).unplaced())
    line = f"[{','.join(lines)}]"
    blocked = any(diagnostic.blocks for diagnostic in diagnostics)
    return Verdict(text, None if blocked else line, line, check.in_order(tuple(diagnostics)))


def _judge_one(
    exchange: Exchange | None, item: Message, established: Established
) -> tuple[str, tuple[Diagnostic, ...]]:
    if exchange is None:
        return jsonrpc.compact(item.raw), (AnswerToNothing(("id",)).unplaced(),)
    verdict = check.check(exchange, item.raw, established=established)
    return verdict.line or verdict.forced or jsonrpc.compact(item.raw), verdict.diagnostics


def _array(reading: Reading) -> Batch | None:
    if not reading.readable:
        return None
    found = jsonrpc.read_text(reading.json)
    return found if isinstance(found, Batch) else None


def _placed(batch: Batch, text: str) -> Iterator[tuple[Message | Malformed, int]]:
    """Yield the items of an array with the places where they begin."""
    at = 0
    for item in batch.items:
        raw = item.raw if isinstance(item, Message) else item.text
        at = text.index(raw, at)
        yield item, at
        at += len(raw)


def _moved(diagnostic: Diagnostic, index: int, at: int, reading: Reading, text: str) -> Diagnostic:
    """Place a problem of one answer in the whole text; its mend, which counts otherwise, goes."""
    start, end = reading.as_written(at + diagnostic.start), reading.as_written(at + diagnostic.end)
    line, column = line_and_column(text, start)
    return diagnostic._replace(
        pointer=f"/{index}{diagnostic.pointer}",
        start=start,
        end=end,
        line=line,
        column=column,
        fix=None,
    )

"""The exchanges of a session over time, and how long they took: HTML with SVG, without scripts.

Each exchange is a bar from its request to its response. `person` is the part in which a person had
it (an answer by hand, a message that a tap held); the rest is on its way, in a program.
"""

from __future__ import annotations

import html
import json
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.answering.summary import LineKind, row_title, summary_of_frame
from humanmcp.common.timestamps import duration, seconds_of
from humanmcp.export.recording import FOREIGN_ANSWERS, FOREIGN_ASKS
from humanmcp.locales import say
from humanmcp.protocol.conversation.transcript import (
    CHANGED,
    DELIBERATE,
    DROPPED,
    HELD,
    INSTEAD,
    LET_GO,
)
from humanmcp.protocol.json.tree import follow, text_at
from humanmcp.protocol.json.visible import one_line, visible
from humanmcp.protocol.tables.methods import CANCELLED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from humanmcp.export.recording import RecordedConversation, RecordedEntry
    from humanmcp.protocol.conversation.transcript import Frame

MOST: Final = 1000
"""The maximum number of exchanges that are drawn: the last ones."""
ZOOMS: Final = (1, 4, 16, 64)
ROW: Final = 24
"""The height of a bar's row in pixels, as in the style sheets."""
SECTION: Final = "transcript"
_PEOPLE: Final = frozenset({"desk", "terminal", "files", "teacher", "api"})
_RETRY: Final = "retry"
_SIGNS: Final = {"mistake": "!", "retry": "↻", "cancelled": "\N{MULTIPLICATION SIGN}"}
_SQUARE: Final = (
    '<svg width="10" height="10" aria-hidden="true"><rect width="10" height="10"/></svg>'
)
_LABEL: Final = 40
_QUARTERS: Final = 4
_WIDE: Final = 97
"""The percentage of the width that bars use: a sign may be behind the last one."""
_THINNEST: Final = 0.3
"""Percent of a bar: what came just now has no length yet."""


class Bar(NamedTuple):
    """An exchange over time, in seconds since 1970.

    `end` is that of its session if there is no response. `marks` are moments with a mistake, a
    retry or a cancellation.
    """

    seq: int
    method: str
    name: str
    start: float
    end: float
    answered: bool
    person: tuple[tuple[float, float], ...] = ()
    marks: tuple[tuple[float, str], ...] = ()
    gist: str = ""
    """Its arguments in short."""

    @property
    def label(self) -> str:
        return one_line(" ".join(filter(None, (self.method, self.name))), _LABEL)

    def joined(self, again: Bar) -> Bar:
        """Return the bar of an exchange whose client repeated its request."""
        person = ((self.start, again.person[-1][1]),) if again.person else ()
        return again._replace(
            seq=self.seq, start=self.start, person=person, marks=self.marks + again.marks
        )


def bars(conversation: RecordedConversation) -> list[Bar]:
    """Return the exchanges whose times are known, in the order in which they were asked."""
    frames = [entry.frame for entry in conversation.entries]
    held, last = _held(frames), max((seconds_of(one.at) for one in frames), default=0.0)
    cancelled = {
        entry.observed.request.number: seconds_of(entry.frame.at)
        for entry in conversation.seen
        if entry.method == CANCELLED and entry.observed and entry.observed.request
    }
    found: list[Bar] = []
    asked_again: dict[int, int] = {}
    """Where the bar of an exchange is whose client was asked to repeat its request."""
    for asked, answer, known in _exchanges(conversation):
        if not asked.frame.at:
            continue
        bar = _bar(asked, answer, held, cancelled.get(known), last)
        number = asked.frame.number
        at = asked_again.pop(number, None)
        if at is None:
            at = len(found)
            found.append(bar)
        else:
            found[at] = found[at].joined(bar)
        if number and answer is not None and answer.frame.note == _RETRY:
            asked_again[number] = at
    return found


def _exchanges(
    conversation: RecordedConversation,
) -> Iterator[tuple[RecordedEntry, RecordedEntry | None, int]]:
    """Yield each request, its response if it has one, and the number under which it is known.

    What is no message of MCP belongs together by the number of its exchange.
    """
    for call in conversation.calls:
        yield call.request, call.answer, call.asked.number
    foreign = [one for one in conversation.entries if one.kind in FOREIGN_ASKS | FOREIGN_ANSWERS]
    answers = {one.frame.number: one for one in foreign if one.kind in FOREIGN_ANSWERS}
    for one in foreign:
        if one.kind in FOREIGN_ASKS:
            yield one, answers.get(one.frame.number), 0


def _held(frames: Iterable[Frame]) -> dict[int, tuple[float, float]]:
    """Return from when until when a tap held each message, by its number."""
    began: dict[int, float] = {}
    found: dict[int, tuple[float, float]] = {}
    for frame in frames:
        if frame.note == HELD:
            began[frame.number] = seconds_of(frame.at)
        elif frame.note in (LET_GO, CHANGED, DROPPED, INSTEAD) and frame.number in began:
            found[frame.number] = (began[frame.number], seconds_of(frame.at))
    return found


def _bar(
    request: RecordedEntry,
    response: RecordedEntry | None,
    held: dict[int, tuple[float, float]],
    cancelled: float | None,
    last: float,
) -> Bar:
    asked, answer = request.frame, response.frame if response else None
    start = seconds_of(asked.at)
    end = seconds_of(answer.at) if answer else cancelled or last
    numbers = dict.fromkeys(one.number for one in (asked, answer) if one)
    spans = [held[one] for one in numbers if one in held]
    if answer is not None and answer.note == HELD and answer.number in held:
        end = held[answer.number][1]
    is_by_person = answer is not None and (answer.decision or answer.by in _PEOPLE)
    if not spans and answer is not None and (is_by_person or request.kind is LineKind.PROMPT):
        sent = _sent_at(answer)
        spans = [(start, sent if start <= sent <= end else end)]
    marks = [(cancelled, "cancelled")] if cancelled is not None else []
    for entry in filter(None, (request, response)):
        failed = entry.kind is LineKind.ERROR or entry.frame.note.startswith(DELIBERATE)
        if failed or any(one.blocks for one in entry.hints):
            marks.append((seconds_of(entry.frame.at), "mistake"))
    message = response.message if response else None
    if message is not None and follow(message.body, "result", "isError") is True:
        marks.append((end, "mistake"))
    if answer is not None and answer.note == _RETRY:
        marks.append((end, "retry"))
    said = summary_of_frame(asked)
    name, gist = (request.name, request.gist) if said is None else (row_title(said), said.gist)
    return Bar(
        seq=asked.seq,
        method=request.method,
        name=name,
        start=start,
        end=max(start, end),
        answered=answer is not None,
        person=tuple(spans),
        marks=tuple(marks),
        gist=one_line(gist, _LABEL) if gist != name else "",
    )


def _sent_at(answer: Frame) -> float:
    """Return when the person sent an answer; 0 if its record does not say."""
    try:
        return seconds_of(text_at(json.loads(answer.decision or "null"), "sent_at"))
    except (ValueError, RecursionError):
        return 0.0


class Latency(NamedTuple):
    """How long the answered exchanges of a method or tool took, in seconds."""

    label: str
    calls: int
    median: float
    p99: float


def latencies(found: Iterable[Bar]) -> list[Latency]:
    """Return the latency of all answered exchanges, then by method and tool, the slowest first."""
    took: dict[str, list[float]] = {"": []}
    for bar in found:
        if bar.answered:
            for label in ("", bar.label):
                took.setdefault(label, []).append(bar.end - bar.start)
    rows = [_latency(label, sorted(times)) for label, times in took.items() if times]
    return [*rows[:1], *sorted(rows[1:], key=lambda one: -one.median)]


def _latency(label: str, times: list[float]) -> Latency:
    return Latency(label, len(times), median(times), times[-(-99 * len(times) // 100) - 1])


def draw(found: list[Bar], address: str) -> Iterator[str]:
    """Yield the lines of both plots. `address` leads to a line, with `{seq}` for its number."""
    drawn = found[-MOST:]
    if not drawn:
        return
    start = min(one.start for one in drawn)
    whole = max(0.001, *(one.end - start for one in drawn))
    yield '<div class="timeline">'
    yield f'<p class="zoom">{_safe(say(SECTION, "zoom"))} '
    for at, zoom in enumerate(ZOOMS):
        checked = "" if at else " checked"
        yield f'<label><input type="radio" name="zoom" value="{zoom}"{checked}> '
        yield f"{zoom}\N{MULTIPLICATION SIGN}</label>"
    yield "</p>"
    yield '<ul class="legend">'
    for kind in ("person", "way", "way open", *_SIGNS):
        sign = _SIGNS.get(kind) or _SQUARE
        yield f'<li><span class="{kind}">{sign}</span> {_safe(say(SECTION, f"bar {kind}"))}</li>'
    yield "</ul>"
    if len(found) > len(drawn):
        yield f"<p>{_safe(say(SECTION, 'bars', shown=len(drawn), count=len(found)))}</p>"
    yield '<div class="bars-over-time"><ul>'
    for bar in drawn:
        words = f"{_safe(bar.name or bar.method)} <small>{_safe(bar.gist)}</small>"
        yield f'<li><a href="{_href(bar, address)}">{words}</a></li>'
    height = ROW * (len(drawn) + 1)
    yield f'</ul><div class="scrolled" tabindex="0"><svg height="{height}" role="group"'
    yield f' aria-label="{_safe(say(SECTION, "timeline"))}">'
    yield from _axis(whole)
    for at, bar in enumerate(drawn, 1):
        yield from _drawn(bar, at * ROW, start, whole, address)
    yield "</svg></div></div></div>"


def _axis(whole: float) -> Iterator[str]:
    """Yield a line with its time for each quarter of the width, at each zoom."""
    finest = _QUARTERS * ZOOMS[-1]
    for tick in range(finest):
        zoom = next(one for one in ZOOMS if tick % (ZOOMS[-1] // one) == 0)
        x = f"{tick / finest * _WIDE:.4f}%"
        yield f'<g class="tick zoom-{zoom}"><line x1="{x}" x2="{x}" y2="100%"/>'
        yield f'<text x="{x}" y="15" dx="3">{duration(whole * tick / finest)}</text></g>'


def _drawn(bar: Bar, y: int, start: float, whole: float, address: str) -> Iterator[str]:
    def x(moment: float) -> str:
        return f"{(moment - start) / whole * _WIDE:.4f}%"

    def rect(kind: str, begin: float, end: float) -> str:
        width = f"{max(_THINNEST, (end - begin) / whole * _WIDE):.4f}%"
        return f'<rect class="{kind}" x="{x(begin)}" y="{y + 7}" width="{width}" height="10"/>'

    label = " ".join(filter(None, (bar.label, bar.gist)))
    parts = [say(SECTION, "bar took", label=label, seconds=duration(bar.end - bar.start))]
    parts += [say(SECTION, f"bar {kind}") for _, kind in bar.marks]
    yield f'<a href="{_href(bar, address)}"><title>{_safe(", ".join(parts))}</title>'
    yield rect("way" if bar.answered else "way open", bar.start, bar.end)
    yield from (rect("person", *span) for span in bar.person)
    for at, kind in bar.marks:
        yield f'<text class="{kind}" x="{x(at)}" y="{y + 17}" dx="3">{_SIGNS[kind]}</text>'
    yield "</a>"


def draw_latencies(found: list[Latency]) -> Iterator[str]:
    """Yield a table with a bar to the median and the 99th percentile of each."""
    if not found:
        return
    longest = max(0.001, *(one.p99 for one in found))
    heads = "".join(
        f"<th>{_safe(say(SECTION, code))}</th>" for code in ("message", "count", "median", "p99")
    )
    yield f'<table class="latency"><thead><tr>{heads}<td></td></tr></thead><tbody>'
    for one in found:
        label = one.label or say(SECTION, "all")
        middle, most = (f"{value / longest * 100:.2f}%" for value in (one.median, one.p99))
        yield f"<tr><td>{_safe(label)}</td><td>{one.calls}</td>"
        yield f"<td>{duration(one.median)}</td><td>{duration(one.p99)}</td>"
        yield '<td><svg width="100%" height="10" aria-hidden="true">'
        yield f'<rect class="p99" width="{most}" height="10"/>'
        yield f'<rect class="median" width="{middle}" height="10"/></svg></td></tr>'
    yield "</tbody></table>"


def _href(bar: Bar, address: str) -> str:
    return html.escape(address.format(seq=bar.seq))


def _safe(text: str) -> str:
    return html.escape(visible(text))

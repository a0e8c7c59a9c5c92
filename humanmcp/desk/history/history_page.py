"""The pages of the history: all lines, one line, and a conversation on the projector."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote, urlencode

from fastapi import Request
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.answering.open_exchange import read_line, why_unreadable
from humanmcp.answering.schema import diagnostic_shapes
from humanmcp.answering.summary import answered_by
from humanmcp.common import apart
from humanmcp.desk import nodes
from humanmcp.desk.board import SessionView
from humanmcp.desk.context import THEMES, desk_of, page, page_router
from humanmcp.desk.desk import Desk, place_in
from humanmcp.desk.history import rows, search
from humanmcp.desk.history.folding import TextMark, folded_json
from humanmcp.desk.history.problems import ProblemsInTime
from humanmcp.desk.history.rows import Pair, copies, difference
from humanmcp.desk.inbox.approval_view import approval_card
from humanmcp.desk.rendering import media_in, told
from humanmcp.desk.routing import FormValues
from humanmcp.export import timeline
from humanmcp.export.command import FORMATS, exported
from humanmcp.export.recording import Recording, build_conversation, with_notes
from humanmcp.inbox.contract import Key, Life, SessionFacts, UnknownItemError
from humanmcp.locales.explain import Card, explain
from humanmcp.protocol.conversation.approvals import Approval, approval_of
from humanmcp.protocol.conversation.prompts import approval_of_prompt, prompt_in
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity, applied, together
from humanmcp.protocol.http.client import headers_of
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.json.tree import pretty
from humanmcp.protocol.json.visible import visible
from humanmcp.protocol.tables.versions import features
from humanmcp.protocol.validation.whole_conversation import Judged

router: Final = page_router()

STAGED: Final = 400
"""The number of lines of a conversation that the projector page can go back."""

LONGEST: Final = 400_000
"""The maximum length of a line that is compared, or can be copied in other forms."""

SORTED: Final = 20_000
"""The maximum number of lines that are read to sort them by another column than their time."""

MARKED: Final = "marked"
"""The kind by which lines with a note are found."""
PROBLEM: Final = "problem"
"""The kind by which lines with a problem are found."""
CHECKED_WITHIN: Final = 0.2
"""The number of seconds that a page waits for lines that were not checked yet."""
LONGEST_NOTE: Final = 500
"""The maximum length of a note, in characters."""

MOST_CHIPS: Final = 6
"""The maximum number of words of each kind that the search offers."""

AROUND: Final = 6
"""The number of earlier lines above the shown one."""

AFTER: Final = 60
"""The number of lines after one in which its HTTP details are searched."""


MOST_SHOWN: Final = 12
"""The maximum number of sessions in the projector's menu, running ones first."""


@router.get("/history")
def past(
    request: Request, q: str = "", name: str = "", seq: int = 0, sort: str = ""
) -> HTMLResponse:
    """Show the history in pairs, newest first, or a search.

    `sort` is a column, with `-` before it from the largest value down. The field `day` of the form
    leads to the end of a day.
    """
    board, day = desk_of(request).board, request.query_params.get("day", "")
    if day:
        q = _toggled(
            " ".join(one for one in search.terms(q) if not one.startswith("day:")), f"day:{day}"
        )
    start = (name, seq) if name and seq > 0 else None
    query = search.parse(q)
    searched = search.searched(board, query)
    column = sort.removeprefix("-") if sort.removeprefix("-") in rows.ORDERS else ""
    oldest = sort == "at" and len(searched) == 1
    most = SORTED if column and not oldest else search.PAGE
    drafts, problems = desk_of(request).drafts, _problems_in_time(desk_of(request))
    if query.kind == MARKED:
        match = search.chosen(board, query, lambda view: drafts.notes(view.facts.name))
    elif query.kind == PROBLEM:
        match = search.chosen(board, query, problems.of)
    else:
        match = search.look(board, query, start=start, most=most, oldest=oldest)
    found = rows.pairs(reversed(match.steps))
    if column and not oldest:
        found = sorted(found, key=rows.ORDERS[column], reverse=sort.startswith("-"))[: search.PAGE]
    elif not column:
        found.reverse()
    shown = search.paired_up(board, found)
    sessions = {one.step.session for one in shown}
    wrong = {session: problems.of(board.session(session)) for session in sessions}
    further = match.further and {"name": match.further[0], "seq": match.further[1]}
    return page(
        request,
        "history/history.html",
        found=match,
        rows=shown,
        notes={
            f"{session}/{seq}": note
            for session in sessions
            for seq, note in drafts.notes(session).items()
        },
        empty=[column for column, cell in OPTIONAL.items() if not any(map(cell, shown))],
        wrong=lambda pair: _wrong(pair, wrong[pair.step.session]),
        unchecked=not problems.is_whole,
        q=q,
        sort=sort,
        columns=[(one, _sorted(q, sort, one)) for one in rows.ORDERS],
        window=len(match.steps) if most == SORTED and match.further else 0,
        further=further and urlencode({"q": q, "sort": sort, **further}),
        follows=start is None and not query.day and not column,
        chips=_chips(shown, q),
        exported=searched[0].facts.name if len(searched) == 1 else "",
    )


OPTIONAL: Final[Mapping[str, Callable[[Pair], object]]] = MappingProxyType(
    {
        "at": lambda one: one.step.at,
        "by": lambda one: (one.answer or one.step).by,
        "took": lambda one: one.took is not None,
    }
)
"""The columns that a recording may not have: without any value they are not shown."""


def _problems_in_time(desk: Desk) -> ProblemsInTime:
    return ProblemsInTime(desk.problems, desk.inbox, CHECKED_WITHIN)


def _wrong(pair: Pair, wrong: Mapping[int, Sequence[Judged]]) -> tuple[list[Diagnostic], str]:
    """Return the problems of all lines of a row, the most severe first, and the page to open.

    Where it shows none of the lines that are wrong, that is the page of the first of these.
    """
    lines = [seq for seq in pair.lines if seq in wrong]
    found = (each for seq in lines for one in wrong[seq] for each in one.diagnostics)
    is_hidden = lines and lines[0] not in pair.lines[: 2 if pair.answer else 1]
    return (
        sorted(found, key=lambda one: tuple(Severity).index(one.severity)),
        f"{pair.step.session}/{lines[0]}" if is_hidden else pair.place,
    )


def _sorted(q: str, sort: str, column: str) -> str:
    """Return the address of the history sorted by a column; again the other way round."""
    first = f"-{column}" if column in ("size", "took") else column
    again = column if first != column else f"-{column}"
    return f"/history?{urlencode({'q': q, 'sort': again if sort == first else first})}"


def _chips(found: Iterable[Pair], q: str) -> list[tuple[str, str, bool]]:
    """Return words that narrow down the shown lines: those in use, then what is wrong.

    The address of each adds it to the search, or removes one that is in use.
    """
    chosen = [one for one in search.terms(q) if one.partition(":")[0] in search.KEYS]
    seen: dict[str, dict[str, None]] = {"method": {}, "tool": {}, "session": {}}
    for one in found:
        step = one.step
        seen["method"] |= {step.word: None} if step.word else {}
        name = step.summary.name
        seen["tool"] |= {name: None} if name and step.word == "tools/call" else {}
        seen["session"] |= {step.badge.letter: None}
    offered = [
        f"{key}:{value}"
        for key, values in seen.items()
        for value in list(values)[:MOST_CHIPS]
        if " " not in value and (key != "session" or len(values) > 1)
    ]
    terms = dict.fromkeys(
        [*chosen, f"kind:{PROBLEM}", "kind:error", *offered, "state:cancelled", f"kind:{MARKED}"]
    )
    return [(one, f"/history?{urlencode({'q': _toggled(q, one)})}", one in chosen) for one in terms]


def _toggled(q: str, term: str) -> str:
    """Add a word to a search, or remove it."""
    words = search.terms(q)
    return " ".join([one for one in words if one != term] if term in words else [*words, term])


@router.get("/compare")
def compare(request: Request) -> HTMLResponse:
    """Show the differences of two recorded lines: the older one is on the left."""
    lines = [_line(request, one) for one in request.query_params.getlist("line")[:2]]
    if len(lines) == 1:
        lines *= 2
    lines.sort(key=lambda one: one[0].at)
    found = difference(*(pretty(frame.text[:LONGEST]) for _, frame in lines)) if lines else ()
    return page(
        request, "history/compare.html", lines=[step for step, _ in lines], found=list(found)
    )


def _line(request: Request, place: str) -> tuple[rows.Step, Frame]:
    """Return a recorded line by its session and number."""
    desk = desk_of(request)
    name, seq = place_in(place)
    frame = desk.line_at(Key(name, seq))
    return search.row_of(desk.board, desk.board.session(name), frame), frame


@router.get("/line/{name}/{seq}")
def line(request: Request, name: str, seq: int) -> HTMLResponse:
    """Show one recorded line, verbatim; of a request and its response both."""
    step, frame = _line(request, f"{name}/{seq}")
    desk = desk_of(request)
    view = desk.board.session(name)
    facts = view.facts
    is_read = not step.inwards or step.kind not in ("malformed", "batch")
    batches = features(facts.protocol_version).batches
    why = () if is_read else why_unreadable(frame, batches=batches)
    card = _card(step, facts)
    frames = search.exchange(desk.board, name, frame)
    before = search.previous(desk.board, name, frames[0])
    earlier = () if before is None else search.exchange(desk.board, name, before)
    problems = _problems_in_time(desk).of(view)
    halves = [
        _half(desk, view, one, earlier[at].seq if at < len(earlier) else 0, problems)
        for at, one in enumerate(frames)
    ]
    return page(
        request,
        "history/line.html",
        step=search.linked(desk.board, step),
        facts=facts,
        card=card if step.kind in ("request", "notification") else None,
        halves=halves,
        around_it=search.neighbours(desk.board, name, frames),
        note=desk.drafts.notes(name).get(seq),
        why=diagnostic_shapes(() if seq in problems else why),
        can_refuse=bool(why) and facts.is_open and facts.role.traits.serves,
    )


@router.post("/line/{name}/{seq}")
def note_line(request: Request, name: str, seq: int, values: FormValues) -> Response:
    """Mark a line, with a note or without one, or remove that."""
    desk = desk_of(request)
    frame = desk.line_at(Key(name, seq))
    text = values.get("note", "")[:LONGEST_NOTE] if values.get("act") == "note" else None
    desk.drafts.note(name, seq, frame.number, text)
    return RedirectResponse(f"/line/{name}/{seq}", 303)


def _half(
    desk: Desk,
    view: SessionView,
    frame: Frame,
    before: int,
    problems: Mapping[int, Sequence[Judged]],
) -> dict[str, Any]:
    """Return a line of an exchange, as its page shows it; `before` is one to compare it with.

    `can_repeat`: a person sent it, and may send it again.
    """
    facts, step = view.facts, search.row_of(desk.board, view, frame)
    after = desk.inbox.last_frames_before(facts.name, frame.seq + AFTER, AFTER) if frame.seq else ()
    steps = [search.row_of(desk.board, view, one) for one in after if one.seq >= frame.seq]
    heads = [one.part for one in steps if one.part.get("carries") == step.carries]
    url = _url(heads[0]) if heads and step.carries else ""
    text, cut = frame.text, frame.text[:LONGEST]
    wrong = problems.get(frame.seq, ()) if frame.seq else ()
    is_short = len(frame.raw) < LONGEST
    curl = rows.curl(text, facts, url) if is_short and step.word and step.inwards else ""
    return {
        "step": search.linked(desk.board, step),
        "laid_out": visible(cut)
        if step.kind in ("malformed", "err")
        else folded_json(cut, _marks(cut, wrong)),
        "wrong": diagnostic_shapes(
            each._replace(line=0) for one in wrong for each in one.diagnostics
        ),
        "right": [found for one in wrong if (found := _righted(one))],
        "raw": cut,
        "copies": copies(text, curl) if is_short else [],
        "media": media_in(text) if frame.seq else (),
        "http": next((one.http for one in rows.folded(steps) if one.seq == frame.seq), ()),
        "before": f"{facts.name}/{before}" if before else "",
        "can_repeat": step.word
        and frame.seq
        and step.inwards is facts.role.traits.calls
        and facts.is_open
        and facts.role.traits.speaks_first,
    }


def _marks(text: str, wrong: Iterable[Judged]) -> Iterator[TextMark]:
    """Yield where the problems of a line are; one of the whole message has no place in it."""
    for one in wrong:
        shift = max(0, text.find(one.text))
        for each in one.diagnostics:
            if each.line and each.end - each.start < len(one.text.strip()):
                yield TextMark(shift + each.start, shift + each.end, each.severity.value)


def _righted(judged: Judged) -> list[tuple[str, str]]:
    """Return the difference between a message and the same one with its fixes; [] without any."""
    edits = together(judged.diagnostics)
    if not edits or len(judged.text) > LONGEST:
        return []
    return list(difference(pretty(judged.text), pretty(applied(judged.text, edits))))


def _url(part: Mapping[str, Any]) -> str:
    """Return the address that the head of a request names."""
    host = dict(headers_of(dict(part))).get("host", "")
    url = str(part.get("url", ""))
    return f"http://{host}{url}" if host and url.startswith("/") else url


def _card(step: rows.Step, facts: SessionFacts) -> Card:
    return explain(
        step.word,
        facts.protocol_version,
        asks=step.kind == "request",
        role=facts.role.value,
        inwards=step.inwards,
    )


DRAWN: Final = 2000
"""The number of lines of a session whose exchanges its time line draws: the last ones."""


@router.get("/timeline/{name}")
def show_timeline(request: Request, name: str) -> HTMLResponse:
    """Show the exchanges of a session over time, and how long they took."""
    desk = desk_of(request)
    view = desk.board.session(name)
    frames = tuple(desk.inbox.last_frames_before(name, 0, DRAWN))
    found, problems = Recording(name, frames, view.facts), _problems_in_time(desk).of(view)
    bars = timeline.bars(build_conversation(found, problems=problems))
    lines = timeline.draw(bars, f"/line/{name}/{{seq}}")
    return page(
        request,
        "history/timeline.html",
        view=view,
        cut=len(frames) if frames and frames[0].seq > 1 else 0,
        drawn=Markup("\n".join(lines)),  # noqa: S704 - it is escaped
        latencies=Markup("\n".join(timeline.draw_latencies(timeline.latencies(bars)))),  # noqa: S704 - likewise
    )


@router.get("/export/{name}")
def export(request: Request, name: str, form: str = "", secrets: str = "") -> Response:
    """Show the export forms of a session, or return the session in one of them.

    Secrets are removed, unless `secrets` is set.
    """
    desk = desk_of(request)
    view = desk.board.session(name)
    if form not in FORMATS:
        return page(request, "history/export.html", view=view, formats=FORMATS)
    frames = tuple(apart.while_wanted(desk.inbox.frames(name)))
    recording = with_notes(Recording(name, frames, view.facts), desk.drafts.notes(name))
    size = sum(len(one.raw) for one in frames)
    text = apart.call(size, exported, form, recording, secrets == "keep")
    attached = {"Content-Disposition": f'attachment; filename="{name}.{FORMATS[form].ending}"'}
    kind = "text/html" if form == "html" else "text/plain; charset=utf-8"
    return Response(text.encode("utf-8", "replace"), media_type=kind, headers=attached)


@router.get("/present")
def present(
    request: Request, name: str = "", seq: int = 0, look: str = "", bare: str = ""
) -> HTMLResponse:
    """Show one step of a conversation, large, for a projector. Nothing can be answered here.

    `look` is a theme for this page only, else it is light unless the owner chose dark; `bare` omits
    the bar.
    """
    desk = desk_of(request)
    sessions = desk.board.sessions()
    living = [one for one in sessions if one.facts.life is Life.OPEN]
    chosen = name or next((one.facts.name for one in (*living, *sessions)), "")
    shown = [*living, *(one for one in sessions if one not in living)][:MOST_SHOWN]
    values: dict[str, Any] = {"chosen": chosen, "step": None, "follow": not seq, "shown": shown}
    kept = {"look": look, "bare": bare}
    chosen_look = "".join(f"&{key}={quote(one)}" for key, one in kept.items() if one)
    values |= {"kept": chosen_look, **kept}
    chosen_theme = request.cookies.get("theme")
    values["theme"] = look if look in THEMES else "dark" if chosen_theme == "dark" else "light"
    if chosen:
        values |= stage(desk, chosen, seq)
    return page(request, "history/present.html", **values)


def _parts(text: str) -> tuple[str, str, str]:
    """Split a message into its important part, and the envelope before and after it."""
    for name, start, end in jsonrpc.members(text) if text.startswith("{") else ():
        if name in {"params", "result", "error"}:
            return text[:start], text[start:end], text[end:]
    return "", text, ""


def _approval_in(frames: Iterable[Frame], tools: Mapping[str, Any] | None) -> Approval | None:
    """Return what lines of one exchange ask a person to allow, as its card says."""
    for frame in frames:
        if (prompt := prompt_in(frame)) is not None:
            return approval_of_prompt(prompt, frame.text)
        message = read_line(frame.text) if frame.direction is Direction.IN else None
        if isinstance(message, Message):
            found = approval_of(frame.text, message, tools)
            return None if found is None or found.is_alone else found
    return None


def stage(desk: Desk, name: str, seq: int) -> dict[str, Any]:
    """Return the values for one step of a conversation: the newest one by default.

    Progress is in the diagram, but is not a step.
    """
    mark = desk.board.session(name)
    lines = search.said(desk.board, name, STAGED)
    frames = [one for one in lines if not search.is_folded(one)]
    at = next((at for at, one in enumerate(frames) if one.seq == seq), len(frames) - 1)
    if at < 0:
        return {}
    last = frames[at + 1].seq if at + 1 < len(frames) else math.inf
    drawn = (search.row_of(desk.board, mark, one) for one in lines if one.seq < last)
    steps = rows.folded(rows.paired(drawn))
    step = next(step for step in steps if step.seq == frames[at].seq)
    text, read = frames[at].text, None
    if step.method == "tools/call":
        read = nodes.tool_result(jsonrpc.member(text, "result") or "null")
    wrong = _problems_in_time(desk).of(mark).get(step.seq, ()) if read else ()
    if read is None and step.kind in ("result", "error"):
        read = nodes.answer_card(step.method, text)
    step = search.linked(desk.board, step)
    item = desk.board.item(Key(name, step.number))
    waits = {row.key.number: row for row in desk.board.waiting(name)}.get(step.number)
    of_it = (one for one in lines if one.number and one.number == step.number)
    asked = _approval_in(of_it, desk.inbox.negotiated(name).known_tools)
    return {
        "step": step,
        "approval": approval_card(asked, whole=False) if asked else None,
        "place": at + 1,
        "total": len(frames),
        "before": frames[at - 1].seq if at else 0,
        "after": frames[at + 1].seq if at + 1 < len(frames) else 0,
        "card": _card(step, mark.facts) if step.word else None,
        "media": media_in(text),
        "parts": _parts(pretty(text)),
        "read": read,
        "refused": any(each.blocks for one in wrong for each in one.diagnostics),
        "steps": rows.draw(
            [search.linked(desk.board, step) for step in steps[-AROUND - 1 :]],
            step.seq,
            on_stage=True,
            held=desk.board.held(name),
        ),
        "told": told(item, step.now, answered_by(item)) if item and step.now else "",
        "pending": step.kind in rows.ASKS and waits is not None,
        "arrived": waits.arrived if waits is not None else 0.0,
    }


@router.get("/media/{name}/{where}/{number}/{at}")
def medium(request: Request, name: str, where: str, number: int, at: int) -> Response:
    """Return image, audio or file number `at` of a line, a request or an answer."""
    found = media_in(_text_of(request, name, where, number))
    if not 0 <= at < len(found):
        raise UnknownItemError(name, line=number)
    kept = {"Cache-Control": "private, max-age=3600"}
    return Response(found[at].decoded(), media_type=found[at].mime, headers=kept)


def _text_of(request: Request, name: str, where: str, number: int) -> str:
    desk = desk_of(request)
    if where == "line":
        return desk.line_at(Key(name, number)).text
    item = desk.open_exchange(Key(name, number)).item
    if where == "asked":
        return item.line
    return item.answer.line if item.answer else ""

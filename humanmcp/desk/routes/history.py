"""The pages of what was: the history, one line of it, and a conversation on the projector."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

import math
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from starlette.responses import HTMLResponse, Response

from humanmcp.desk.http.context import Desk, desk_of
from humanmcp.desk.http.layout import note_version, page
from humanmcp.desk.http.request_context import spoken
from humanmcp.desk.presenters import rows, sequence
from humanmcp.desk.state import history
from humanmcp.export import html
from humanmcp.export.reading import ExportOptions, Recording
from humanmcp.export.redact import redact_recording
from humanmcp.inbox.contract import (
    Life,
    SessionFacts,
    UnknownItemError,
)
from humanmcp.locales.explain import Card, explain
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.layout import pretty

router: Final = APIRouter(default_response_class=HTMLResponse, dependencies=[Depends(note_version)])

STAGED: Final = 400
"""Lines of a conversation that the projector's page can go back to."""

AROUND: Final = 6
"""Earlier lines that stand above the one that is shown."""


MOST_SHOWN: Final = 12
"""Sessions between which a projector may choose, those that live first."""


@router.get("/history")
def past(request: Request, q: str = "", name: str = "", seq: int = 0) -> HTMLResponse:
    """Show the past, the newest lines first, and search it."""
    start = (name, seq) if name and seq > 0 else None
    found = history.look(desk_of(request).board, history.parse(q), start=start)
    further = None
    if found.further is not None:
        further = urlencode({"q": q, "name": found.further[0], "seq": found.further[1]})
    return page(request, "history.html", found=found, q=q, further=further, first=start is None)


@router.get("/line/{name}/{seq}")
def line(request: Request, name: str, seq: int) -> HTMLResponse:
    """Show one recorded line, verbatim."""
    desk = desk_of(request)
    frames = desk.inbox.before(name, seq + 1, 1)
    if not frames or frames[0].seq != seq:
        raise UnknownItemError(name, line=seq)
    mark = desk.board.session(name)
    step = rows.step(name, mark.badge, frames[0], mark.facts.seat)
    card = _card(step, mark.facts, spoken(request))
    return page(
        request,
        "line.html",
        step=step,
        facts=mark.facts,
        card=card if step.kind in ("request", "notification") else None,
        raw=frames[0].text,
        laid_out=pretty(frames[0].text),
    )


def _card(step: rows.Step, facts: SessionFacts, language: str) -> Card:
    return explain(
        step.word,
        facts.revision,
        language,
        asks=step.kind == "request",
        seat=facts.seat.value,
        inwards=step.inwards,
    )


@router.get("/export/{name}")
def export(request: Request, name: str) -> Response:
    """Write a session as one web page, for whoever was not there; secrets are taken out."""
    desk = desk_of(request)
    facts = desk.board.session(name).facts
    redacted = redact_recording(desk.inbox.frames(name))
    recording = Recording(name, redacted.frames, facts)
    text = html.write(recording, ExportOptions(spoken(request), secrets=redacted.names))
    attached = {"Content-Disposition": f'attachment; filename="{name}.html"'}
    return Response(text.encode("utf-8", "replace"), media_type="text/html", headers=attached)


@router.get("/present")
def present(request: Request, name: str = "", seq: int = 0) -> HTMLResponse:
    """Show one step of a conversation, large, for a projector. Nothing can be answered here."""
    desk = desk_of(request)
    sessions = desk.board.sessions()
    living = [one for one in sessions if one.facts.life is Life.OPEN]
    chosen = name or next((one.facts.name for one in (*living, *sessions)), "")
    shown = [*living, *(one for one in sessions if one not in living)][:MOST_SHOWN]
    values: dict[str, Any] = {"chosen": chosen, "step": None, "follow": not seq, "shown": shown}
    if chosen:
        values |= _stage(desk, chosen, seq, spoken(request))
    return page(request, "present.html", **values)


def _stage(desk: Desk, name: str, seq: int, language: str) -> dict[str, Any]:
    """Gather one step and what stands around it: the newest one unless another is named.

    Progress is in the picture, and no step of its own.
    """
    mark = desk.board.session(name)
    said = (Direction.IN, Direction.OUT)
    lines = [one for one in desk.inbox.before(name, 0, STAGED) if one.way in said]
    frames = [one for one in lines if not history.is_progress(one)]
    at = next((at for at, one in enumerate(frames) if one.seq == seq), len(frames) - 1)
    if at < 0:
        return {}
    last = frames[at + 1].seq if at + 1 < len(frames) else math.inf
    drawn = (rows.step(name, mark.badge, one, mark.facts.seat) for one in lines if one.seq < last)
    steps = rows.folded(rows.paired(drawn))
    step = next(one for one in steps if one.seq == frames[at].seq)
    asks = step.kind == "request"
    waits = {row.key.number: row for row in desk.board.waiting(name)}.get(step.number)
    return {
        "step": step,
        "place": at + 1,
        "total": len(frames),
        "before": frames[at - 1].seq if at else 0,
        "after": frames[at + 1].seq if at + 1 < len(frames) else 0,
        "card": _card(step, mark.facts, language) if step.word else None,
        "laid_out": pretty(frames[at].text),
        "steps": sequence.draw(steps[-AROUND - 1 :], step.seq, by_seq=True),
        "pending": asks and waits is not None,
        "arrived": waits.arrived if waits is not None else 0.0,
    }

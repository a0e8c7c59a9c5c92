"""The page of the running taps: what they hold, to be released, and what they are to hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fastapi import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.answering import approvals, service
from humanmcp.answering.open_exchange import OpenExchange, read_line
from humanmcp.answering.summary import row
from humanmcp.desk import rights
from humanmcp.desk.board import SessionView
from humanmcp.desk.context import desk_of, page, page_router, signed
from humanmcp.desk.desk import BY, Desk
from humanmcp.desk.routing import FormValues
from humanmcp.extensions.tap.whole_card import whole_card
from humanmcp.inbox.contract import Life, Purpose
from humanmcp.protocol.conversation.allow_patterns import pattern_of
from humanmcp.protocol.conversation.approvals import digest_of
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.validation.held import PatternError, parse_patterns

RIGHTS: Final = {
    **rights.read(rights.ANSWERING, "/taps"),
    **rights.acts("/taps/{name}", rights.each(rights.DESKS, "release", "hold"), default="hold"),
}

router: Final = page_router()

LONGEST: Final = 2000
"""The maximum length of the patterns, in characters."""
WAYS: Final = ("in", "out")
"""From the client, from the server."""
OFTEN: Final = dict.fromkeys(("tools/call", "tools/list", "initialize"))
LOOKED_AT: Final = 300
"""The number of lines in which methods to hold are searched."""
MOST_METHODS: Final = 12


@router.get("/taps")
def taps(request: Request, wrong: str = "", release: str = "") -> HTMLResponse:
    """Show every running tap; of the tap to `release`, all that it holds now."""
    desk = desk_of(request)
    running = [
        _view(desk, session, is_whole=session.facts.name == release)
        for session in desk.board.sessions()
        if _runs(session)
    ]
    return page(request, "tap/taps.html", taps=running, wrong=wrong[:200])


def _runs(session: SessionView) -> bool:
    return session.facts.role.traits.holds and session.facts.life is Life.OPEN


def _view(desk: Desk, session: SessionView, *, is_whole: bool) -> dict[str, Any]:
    """Return a running tap. `is_whole`: held messages are shown completely, if they can be.

    `methods` have a check box for each direction: used ones, and those that are often held.
    `others` are the patterns without a check box.
    """
    name = session.facts.name
    patterns = [one for one in desk.inbox.holds(name) if pattern_of(one) is None]
    said = [
        read_line(one.text) for one in desk.inbox.last_frames_before(name, 0, LOOKED_AT) if one.raw
    ]
    seen = {one.method: None for one in said if isinstance(one, Message) and one.method}
    named = {one.partition(":")[2]: None for one in patterns if one.startswith(("in:", "out:"))}
    methods = [one for one in {**OFTEN, **seen, **named} if "/" in one or one in OFTEN]
    methods = methods[:MOST_METHODS]
    boxes = {f"{way}:{method}" for way in WAYS for method in methods} | {*WAYS, "next"}
    return {
        "session": session,
        "patterns": patterns,
        "held": [_held(one, is_whole=is_whole) for one in _held_at(desk, name)],
        "is_whole": is_whole,
        "methods": methods,
        "others": [one for one in patterns if one not in boxes],
    }


def _held_at(desk: Desk, name: str) -> Iterator[OpenExchange]:
    items = (item for item in desk.inbox.items(name) if item.purpose is Purpose.HELD)
    return (OpenExchange(desk.inbox, item, desk.board.session(name).facts) for item in items)


def _held(opened: OpenExchange, *, is_whole: bool) -> dict[str, Any]:
    """Return a held message; its `card` is all of it, if wanted and if it can be shown."""
    card, asked = whole_card(opened) if is_whole else None, opened.approval
    return {
        "row": row(opened.item, opened.facts),
        "digest": digest_of(opened.item.line),
        "headline": approvals.headline(opened, asked, card) if card and asked else "",
        "card": card,
    }


@router.post("/taps/{name}")
def act_on_tap(request: Request, name: str, values: FormValues) -> Response:
    """Change what a tap holds, or release the messages that the form has shown completely."""
    desk = desk_of(request)
    if values.get("act") == "release":
        _release_shown(request, name, values)
    else:
        boxes = [name.removeprefix("hold ") for name in values if name.startswith("hold ")]
        patterns = [*boxes, *values.get("patterns", "")[:LONGEST].split()]
        try:
            parse_patterns(patterns)
        except PatternError:
            return RedirectResponse("/taps?wrong=1", 303)
        allowed = (one for one in desk.inbox.holds(name) if pattern_of(one) is not None)
        desk.inbox.hold(name, (*patterns, *allowed))
    return RedirectResponse("/taps", 303)


def _release_shown(request: Request, name: str, values: Mapping[str, str]) -> None:
    """Release each held message whose digest the form has; any other stays held."""
    desk = desk_of(request)
    for opened in _held_at(desk, name):
        shown = values.get(f"shown {opened.key.number}", "")
        if shown and whole_card(opened) is not None:
            reply = approvals.release(opened, seen=False, shown=shown)._replace(by=BY)
            service.send(opened, signed(request, opened.key, reply), within=0)
    desk.board.refresh(name, 0)

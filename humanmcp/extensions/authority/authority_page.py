"""The pages of an authority: what a person answers to a step, and what the session does next."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from fastapi import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.answering.service import Outcome
from humanmcp.desk import rights
from humanmcp.desk.context import desk_of, page, page_router, signed
from humanmcp.desk.inbox.waiting_list import ListFilter, listed
from humanmcp.desk.routing import FormValues
from humanmcp.extensions.authority.mistakes import of_step
from humanmcp.extensions.authority.orders import ORDER
from humanmcp.extensions.authority.steps import Step
from humanmcp.inbox.contract import Key, Reply, Role, UnknownItemError
from humanmcp.protocol.diagnostics.model import TextForm

_ORDERS: Final = ("refuse", "expire", "more scope", "forget", "mistake *", "hand *", "rule *")

RIGHTS: Final = {
    **rights.read(rights.DESKS, "/authority", "/authority/{name}"),
    **rights.acts("/authority/{name}", rights.each(rights.DESKS, *_ORDERS)),
    **rights.acts(
        "/authority/{name}/{number}",
        rights.each(rights.ANSWERING, "send", "anyway", "ready *"),
        most=rights.TEXT,
    ),
}

router: Final = page_router()
_GONE: Final = (Outcome.SENT, Outcome.QUEUED, Outcome.STORED)


@router.get("/authority", response_model=None)
def newest(request: Request) -> HTMLResponse | RedirectResponse:
    """Lead to the newest authority that runs; without one, say how one is started."""
    sessions = [one.facts for one in desk_of(request).board.sessions()]
    found = [one.name for one in sessions if one.role is Role.ENDPOINT and one.is_open]
    if found:
        return RedirectResponse(f"/authority/{found[0]}", 303)
    return _page(request)


@router.get("/authority/{name}")
def show(request: Request, name: str) -> HTMLResponse:
    """Show what the next steps can be told."""
    return _page(request, name)


@router.post("/authority/{name}")
def order(request: Request, name: str, values: FormValues) -> Response:
    """Order something for the next steps."""
    if why := desk_of(request).order(name, ORDER, values):
        return _page(request, name, why)
    done = urlencode({"done": values.get("act", "")})
    return RedirectResponse(f"/authority/{name}?{done}", 303)


@router.post("/authority/{name}/{number}")
def answer(request: Request, name: str, number: int, values: FormValues) -> Response:
    """Send what was written, or a ready answer."""
    desk, key, act = desk_of(request), Key(name, number), values.get("act", "send")
    opened = desk.open_exchange(key)
    if opened.step is None:
        raise UnknownItemError(f"{name}/{number}")
    text, is_ready = values.get("text", ""), act.startswith("ready ")
    if is_ready:
        found = opened.step.ready(opened.item).get(act.removeprefix("ready "))
        if found is None:
            raise UnknownItemError(act)
        text = found
    anyway = act == "anyway" or is_ready
    reply = Reply(text, TextForm.STEP, anyway, shown=values.get("shown", ""))
    sent = desk.send(key, signed(request, key, reply))
    query = urlencode({"sent": f"{name}/{number}"})
    return RedirectResponse(
        f"/?{query}" if sent.outcome in _GONE else f"/m/{name}/{number}#answer", 303
    )


def _page(request: Request, name: str = "", why: str = "") -> HTMLResponse:
    desk = desk_of(request)
    session = desk.board.session(name) if name else None
    if session is not None and session.facts.role is not Role.ENDPOINT:
        raise UnknownItemError(name)
    shown = (one for one in Step if one not in (Step.AUTHORIZE, Step.ELSEWHERE))
    return page(
        request,
        "authority/session.html",
        here=session,
        in_inbox=True,
        rows={step.value: [row.id for row in of_step(step)] for step in shown},
        why=why,
        done=request.query_params.get("done", ""),
        **listed(desk.board, ListFilter(name)),
    )

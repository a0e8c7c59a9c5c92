"""The page of settings: folders, limits of clients, the view, old sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any, Final

from fastapi import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.answering import mistakes
from humanmcp.desk.board import SessionView
from humanmcp.desk.context import VIEWS, desk_of, page, page_router, remember, view_of
from humanmcp.desk.desk import Desk
from humanmcp.desk.examples import halves
from humanmcp.desk.routing import FormValues
from humanmcp.desk.settings.snippets import snippets, snippets_at
from humanmcp.inbox import records
from humanmcp.inbox.client_seconds import LONGEST, ClientSeconds
from humanmcp.inbox.contract import InboxError, UnknownItemError
from humanmcp.locales import spoken_language
from humanmcp.protocol.conversation import timeouts
from humanmcp.protocol.json.visible import visible_code
from humanmcp.setup.hosts import HostEntry

router: Final = page_router()


RANGES: Final = {"call": (1.0, LONGEST), "grace": (0.0, timeouts.LONGEST_GRACE)}
"""The minimum and maximum number of seconds of each setting."""


@router.get("/settings")
def settings(request: Request, q: str = "") -> HTMLResponse:
    """Show the settings; `q` filters the old sessions."""
    return _page(request, q, {})


def _page(request: Request, q: str, typed: Mapping[str, str]) -> HTMLResponse:
    """Show the settings with invalid input for clients."""
    desk = desk_of(request)
    sessions = desk.board.sessions()
    old = [
        (one, _size(desk.home / "sessions" / one.facts.name))
        for one in sessions
        if not one.facts.is_open and q.casefold() in _words(one)
    ]
    return page(
        request,
        "settings/settings.html",
        status=422 if typed else 200,
        clients=_clients(desk, sessions, typed),
        ranges=RANGES,
        views=VIEWS,
        view=view_of(request),
        old=old,
        total=sum(size for _, size in old),
        q=q,
        home=desk.home,
        book=desk.book,
        server_settings=desk.server_settings,
    )


def _words(view: SessionView) -> str:
    facts = view.facts
    return f"{facts.title} {facts.client} {facts.name} {view.badge.letter}".casefold()


def _size(folder: Path) -> int:
    """Return the size of a session's folder in bytes, without files that disappear meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def _clients(
    desk: Desk, sessions: Iterable[SessionView], typed: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the clients that were connected or have a setting, with their limits.

    `call` and `grace` are seconds, None for no limit; `typed` is the person's setting or input for
    both, `wrong` the invalid input. `field` is the name in those of its fields: a form would change
    a line end.
    """
    kept = _kept(desk)
    names = {one.facts.client for one in sessions}.union(*(one.all() for one in kept.values()))
    found = []
    for name in sorted(names - {""}):
        known, field = timeouts.find_client(name), visible_code(name)
        own = {
            what: typed.get(f"{what} {field}", _written(one.of(name))) for what, one in kept.items()
        }
        found.append(
            {
                "name": name,
                "field": field,
                "known": known is not None,
                "call": known and known.call,
                "grace": timeouts.grace(name),
                "setting": known.setting if known else "",
                "typed": own,
                "wrong": [what for what, text in own.items() if _is_wrong(what, text)],
            }
        )
    return found


def _written(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:g}"


def _kept(desk: Desk) -> dict[str, ClientSeconds]:
    files = {"call": records.CALL_LIMITS, "grace": records.GRACE}
    return {what: ClientSeconds(desk.home, file) for what, file in files.items()}


def _is_wrong(what: str, text: str) -> bool:
    least, most = RANGES[what]
    try:
        return bool(text.strip()) and not least <= float(text) <= most
    except ValueError:
        return True


@router.post("/settings/clients")
def limit(request: Request, values: FormValues) -> Response:
    """Set the limits of clients; if one field is invalid, set none."""
    desk = desk_of(request)
    clients, kept = _clients(desk, desk.board.sessions(), values), _kept(desk)
    if any(one["wrong"] for one in clients):
        return _page(request, "", values)
    for client, what in product(clients, kept):
        text = values.get(f"{what} {client['field']}")
        if text is not None and text.strip():
            kept[what].put(client["name"], float(text))
        elif text is not None:
            kept[what].forget(client["name"])
    return RedirectResponse("/settings#clients", 303)


@router.post("/settings")
def remove(request: Request, values: FormValues) -> Response:
    """Delete the selected sessions."""
    desk = desk_of(request)
    for name in [one.removeprefix("drop ") for one in values if one.startswith("drop ")]:
        try:
            desk.inbox.forget_session(desk.board.session(name).facts.name)
        except InboxError:  # it still runs, or no longer exists
            continue
        desk.board.refresh(name)
    return RedirectResponse("/settings#old", 303)


@router.get("/connect")
def connect(request: Request) -> HTMLResponse:
    """Show the configuration for each host."""
    by_hand = desk_of(request).inbox.handshake_is_by_hand()
    return page(request, "settings/connect.html", hosts=shown_snippets(request), by_hand=by_hand)


@router.post("/handshake")
def answer_handshake_by_hand(request: Request, values: FormValues) -> Response:
    """Let people answer every handshake, or the answer book again."""
    desk_of(request).inbox.answer_handshake_by_hand(on=values.get("act") == "hand")
    return RedirectResponse("/connect#handshake", 303)


@router.post("/try")
def try_now(request: Request, values: FormValues) -> Response:
    """Start what sends a first request, with or without help; it arrives within seconds."""
    helps = values.get("help") != "no"
    for one in desk_of(request).listeners:
        one.try_now(spoken_language(), helps=helps)
    response = RedirectResponse("/", 303)
    remember(response, "help", "yes" if helps else "no")
    return response


def shown_snippets(request: Request) -> list[tuple[HostEntry, str]]:
    """Return the configuration for each host, in the reader's language."""
    desk = desk_of(request)
    if desk.url:
        return snippets_at(desk.url)
    return snippets(desk.server_settings)


@router.get("/mistake/{code}")
def mistake(request: Request, code: str) -> HTMLResponse:
    """Explain a kind of problem."""
    return mistake_page(request, code)


def mistake_page(
    request: Request,
    code: str,
    template: str = "settings/mistake.html",
    **values: Any,  # noqa: ANN401 - templates take anything
) -> HTMLResponse:
    """Return the page about a kind of problem; `template` may show more `values` on it."""
    found = mistakes.find_mistake(code)
    if found is None:
        raise UnknownItemError(code)
    return page(request, template, mistake=found, halves=halves(found), **values)

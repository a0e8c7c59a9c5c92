"""What a page knows of the moment it shows."""

from __future__ import annotations

import asyncio
import html
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.requests import Request

from humanmcp.desk import page
from humanmcp.inbox.contract import Item, Key, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.exchange import Known
from tests.waiting import until

if TYPE_CHECKING:
    import pytest

    from tests.desk.desking import Desking


def test_a_change_that_comes_while_a_page_is_made_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The page carries the number of the last change from before it gathered what it shows."""
    desk = SimpleNamespace(
        board=SimpleNamespace(version=7, count=lambda: 1, sessions=list), inbox=None
    )
    monkeypatch.setattr(page, "desk_of", lambda _request: desk)
    monkeypatch.setattr("humanmcp.desk.page.spoken", lambda _request: "en")
    scope = {"type": "http", "path": "/", "headers": [], "query_string": b""}
    request = Request(scope)
    asyncio.run(page.note_version(request))
    desk.board.version = 8  # a message arrives
    shown = page.page(request, "missing.html").body
    assert b'data-version="7"' in bytes(shown)


def test_a_name_is_kept_in_the_browser_and_shown_as_text(desking: Desking) -> None:
    """B3: forty characters of it; control and direction characters are made visible."""
    form = {"Content-Type": "application/x-www-form-urlencoded", **desking.bearer}
    typed = quote("山\x1b\u202e<b>" + "x" * 60)
    kept = desking.ask("POST", "/preferences", body=f"name={typed}".encode(), headers=form)
    cookie = kept.headers["set-cookie"].split(";")[0]
    assert cookie.isascii()
    page = desking.ask("GET", "/", headers={**desking.bearer, "Cookie": cookie}).text
    (shown,) = re.findall(r'name="name" value="([^"]*)"', page)
    assert html.unescape(shown).startswith("山")
    assert html.unescape(shown).endswith("<b>" + "x" * 34)
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_page_says_that_the_client_reads_nothing(desking: Desking) -> None:
    """Failure 27: whoever answers learns that the answer will wait, in the page and by a script."""
    at = "2026-11-20T18:49:07.123Z"
    line = '{"jsonrpc":"2.0","id":7,"method":"ping"}'
    inbox = FolderInbox(desking.home)
    name = inbox.begin(SessionFacts("", at))
    inbox.deliver(Item(Key(name, 1), line, "ping", "7", "2025-11-25", at))
    shown = []
    for stuck in (False, True):
        inbox.describe(SessionFacts(name, at, stuck=stuck), Known())
        until(lambda: session_of(desking, name).get("stuck") is stuck, "the desk knows")  # noqa: B023 - asked at once
        shown.append("has read nothing for half a minute" in desking.page(f"/m/{name}/1/status"))
    inbox.end(name)
    assert shown == [False, True]


def session_of(desk: Desking, name: str) -> dict[str, Any]:
    """Return what the desk says of a session; nothing before it knows of it."""
    listed = desk.get("/api/sessions")["sessions"]
    return next((dict(one) for one in listed if one["name"] == name), {})


def test_a_method_goes_on_in_the_next_line_after_a_slash(desking: Desking) -> None:
    """Not in the middle of a word; and what came is text all the same."""
    at = "2026-11-20T18:49:07.123Z"
    line = '{"jsonrpc":"2.0","id":7,"method":"sampling/<b>"}'
    inbox = FolderInbox(desking.home)
    name = inbox.begin(SessionFacts("", at))
    inbox.deliver(Item(Key(name, 1), line, "sampling/<b>", "7", "2025-11-25", at))
    until(lambda: session_of(desking, name).get("waiting") == 1, "the desk knows")
    shown = desking.page(f"/list?session={name}")
    inbox.end(name)
    assert "sampling/<wbr>&lt;b&gt;" in shown

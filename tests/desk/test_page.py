"""What a page knows of the moment it shows."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING

from starlette.requests import Request

from humanmcp.desk import page

if TYPE_CHECKING:
    import pytest


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

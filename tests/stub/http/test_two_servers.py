"""Two servers behind one address, on one database: either may die, and the other goes on."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

import pytest

from humanmcp.inbox.contract import Key, Life, Reply
from humanmcp.inbox.opening import open_inbox
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.verdict import TextForm
from tests.serving_http import Got, ServingHttp, call, initialize
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.postgres_server import PostgresServer

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("postgres")]

AUTO: Final = ("--auto", "--inbox")
SOONER: Final = "&options=-c%20humanmcp.lease%3D2s"
"""A lease counts for two seconds: less may lapse on a slow machine whose process lives."""


class RoundRobin:
    """Asks one after the other, as a proxy without any idea of sessions, and again after 503."""

    def __init__(self, *servers: ServingHttp) -> None:
        """Stand before these."""
        self._next = itertools.cycle(servers)

    def ask(self, body: str, headers: Mapping[str, str] | None = None) -> Got:
        """Ask whichever is next, until one answers."""

        def got() -> Got | None:
            try:
                found = next(self._next).ask(body=body, headers=headers)
            except ConnectionError:
                return None
            return None if found.status == 503 else found

        return until(got, "one of them answers")


def test_a_session_lives_on_when_either_of_two_servers_is_killed(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    """Nothing is lost and nothing is said twice, and desks see it all the time."""
    url = postgres.url + SOONER
    desk = open_inbox(tmp_path / "desk", url)
    with (
        ServingHttp(tmp_path / "one", *AUTO, url) as one,
        ServingHttp(tmp_path / "two", *AUTO, url) as two,
    ):
        proxy = RoundRobin(one, two)
        begun = proxy.ask(initialize("2025-11-25"))
        session = {
            "Mcp-Session-Id": begun.headers["mcp-session-id"],
            "MCP-Protocol-Version": "2025-11-25",
        }
        assert proxy.ask('{"jsonrpc":"2.0","id":7,"method":"ping"}', session).json["id"] == 7
        held = desk.of_client(session["Mcp-Session-Id"])
        assert held is not None
        waiting = one.open(session, call(2))
        until(lambda: desk.items(held.name), "a person is asked")
        one.kill()
        waiting.close()
        until(lambda: desk.facts(held.name).life is Life.GONE, "its lease lapses")
        number = desk.items(held.name)[0].key.number
        desk.send(Key(held.name, number), Reply("sunny", TextForm.TEXT))
        assert proxy.ask('{"jsonrpc":"2.0","id":8,"method":"ping"}', session).json["id"] == 8
        assert desk.facts(held.name).life is Life.OPEN
        until(lambda: not desk.items(held.name), "the reply is out")
        said = [frame.text for frame in desk.frames(held.name) if frame.way is Direction.OUT]
        assert len([line for line in said if "sunny" in line]) == 1

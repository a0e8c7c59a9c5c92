"""Two servers behind one address, on one database: a client need not know which one it meets."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import anyio
import pytest
from mcp import Client
from mcp_types import TextContent

from humanmcp.inbox import open_inbox
from humanmcp.inbox.contract import Inbox, Key, Life, Reply, SessionFacts
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import TextForm
from tests.support.ports import own_port
from tests.support.postgres_server import PostgresServer
from tests.support.serve_http import Open, ServingHttp, answer_in, call, modern
from tests.support.waiting import PATIENCE, until

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("postgres")]

SOONER: Final = "&options=-c%20humanmcp.lease%3D2s"
"""A lease counts for two seconds: less may lapse on a slow machine whose process lives."""


@pytest.fixture
def where(tmp_path: Path, postgres: PostgresServer) -> str:
    """Make a database of its own: in it, one session is open, and no other test's."""
    return postgres.another(tmp_path.name) + SOONER


@pytest.fixture
def desk(tmp_path: Path, where: str) -> Inbox:
    """Answer in the database."""
    return open_inbox(tmp_path / "desk", where)


@pytest.fixture
def servers(tmp_path: Path, where: str) -> Iterator[tuple[ServingHttp, ServingHttp]]:
    """Start two servers on one database, at ports of their own: they go on with no other test."""
    flags = ("--auto", "--url", "http://proxy.example", "--inbox", where)
    ports = (own_port(), own_port())
    with (
        ServingHttp(tmp_path / "one", *flags, address=ports[0]) as one,
        ServingHttp(tmp_path / "two", *flags, address=ports[1]) as two,
    ):
        yield one, two


@pytest.fixture
def behind() -> dict[str, str]:
    """Name the address that a client knows, as a proxy does."""
    return {"Host": "proxy.example"}


def running(desk: Inbox) -> SessionFacts:
    """Return the one session that is open, once it is."""
    (found,) = until(lambda: [one for one in desk.sessions() if one.is_open], "a session")
    return found


def answer(desk: Inbox, text: str) -> None:
    """Answer what waits, once it does: what was answered last may still stand there."""
    session = running(desk).name
    number = until(
        lambda: [one for one in desk.items(session) if one.reply is None], "a person is asked"
    )[0].key.number
    desk.send(Key(session, number), Reply(text, TextForm.TEXT))


async def asked(client: Client, desk: Inbox, text: str) -> str:
    """Let a client ask, and answer it. Returns what it understood."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, answer, desk, text)
        result = await client.call_tool("ask_human", {"question": "?"})
    return " ".join(one.text for one in result.content if isinstance(one, TextContent))


def test_what_a_visitor_of_2026_waits_for_is_taken_over_from_a_server_that_was_killed(
    servers: tuple[ServingHttp, ServingHttp], desk: Inbox, behind: dict[str, str]
) -> None:
    """The same requests find those that wait, in all sessions that the visitor had."""

    def asking(server: ServingHttp, question: str, number: int = 2) -> Open:
        arguments = {"question": question}
        one = modern("tools/call", number, name="ask_human", arguments=arguments)
        return server.open({**one.headers, **behind}, one.body)

    def waiting() -> dict[Key, str]:
        items = (one for each in desk.sessions() for one in desk.items(each.name))
        return {one.key: json.loads(one.line)["params"]["arguments"]["question"] for one in items}

    one, two = servers
    for question in ("first?", "second?"):  # under one id: so each has a session of its own
        asking(one, question)
    before = until(lambda: len(found := waiting()) == 2 and found, "both wait")
    one.process.kill()  # before its clients are gone: that would be a cancellation
    one.process.wait(PATIENCE)
    again = {question: asking(two, question, 7) for question in ("second?", "first?")}
    until(lambda: {each.pid for each in desk.sessions()} == {two.process.pid}, "both taken over")
    assert waiting() == before
    for key, question in before.items():
        desk.send(key, Reply(f"to {question}", TextForm.TEXT))
    for question, response in again.items():
        answered = json.loads(response.response.read())
        assert (answered["id"], answer_in(answered)) == (7, f"to {question}")
    out = [frame for each in desk.sessions() for frame in desk.frames(each.name)]
    assert len([frame for frame in out if frame.direction is Direction.OUT]) == 2


def test_what_waits_is_answered_once_when_the_server_that_ran_it_stood_still(
    servers: tuple[ServingHttp, ServingHttp], desk: Inbox
) -> None:
    """One that stood still for longer than its lease says nothing more, and refuses requests."""
    one, two = servers
    session = one.initialize()
    waiting = one.open(session, call(2))
    held = running(desk)
    number = until(lambda: desk.items(held.name), "a person is asked")[0].key.number
    one.process.send_signal(signal.SIGSTOP)
    assert two.ask(body='{"jsonrpc":"2.0","id":8,"method":"ping"}', headers=session).json["id"] == 8
    assert desk.facts(held.name).life is Life.OPEN
    one.process.send_signal(signal.SIGCONT)
    desk.send(Key(held.name, number), Reply("sunny", TextForm.TEXT))
    lines = [*waiting.lines()]
    assert (waiting.response.status, [one for one in lines if b"sunny" in one]) == (200, [])
    refused = one.ask(body='{"jsonrpc":"2.0","id":9,"method":"ping"}', headers=session)
    assert (refused.status, "Mcp-Session-Id" in refused.text) == (421, True)
    missed = two.open({**session, "Last-Event-ID": f"{number}-0"}, verb="GET")
    assert any(b"sunny" in data for _, data in missed.events())
    until(lambda: not desk.items(held.name), "the reply is out")
    said = [frame.text for frame in desk.frames(held.name) if frame.direction is Direction.OUT]
    assert len([line for line in said if "sunny" in line]) == 1

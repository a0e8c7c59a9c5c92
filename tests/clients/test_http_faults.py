"""Faults of HTTP on purpose, each played against the official client.

One process serves them all.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import anyio
import pytest
from mcp import Client, MCPError

from humanmcp.cli import main
from humanmcp.protocol.tables.faults import OF_HTTP
from tests.support.serve_http import ServingHttp, call
from tests.support.waiting import PATIENCE, until

RULE: Final = """
[[tools]]
name = "{tool}"
inputSchema = {{ type = "object" }}
[[rules]]
tool = "{tool}"
times = 1
text = "sunny"
fault = "{fault}"
[[rules]]
tool = "{tool}"
text = "rainy"
"""
"""The first call of each session has the fault, the second has none."""

TYPE: Final = "Unexpected content type"
RESPONSE: Final = "Server returned an error response"

LEGACY: Final = {
    "wrong-status 418": RESPONSE,
    "wrong-type": TYPE,
    "no-type": TYPE,
    "other-session": "sunny",
    "unauthorized": RESPONSE,
    "lost-session": "Session terminated",
    "redirect": "rainy",  # it goes there, and the server has answered once
    "cut-stream 7": "sunny",  # it comes again and gets it
    "no-final-event": "sunny",
    "event-twice": "sunny",
    "event-without-id": "sunny",
    "slow-drip": "sunny",
}
"""What the official Python client makes of each: an answer, or the beginning of its error."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServingHttp]:
    """Serve every fault, each by the tool of its name."""
    folder = tmp_path_factory.mktemp("faults")
    book = folder / "book.toml"
    named = [*LEGACY, "exit", "crash", "silence"]
    rules = (RULE.format(tool=one.partition(" ")[0], fault=one) for one in named)
    book.write_text("".join(rules), encoding="utf-8")
    home = folder / "inbox"
    with ServingHttp(home, "--auto", "--book", str(book)) as one:
        yield one


async def called(url: str, tool: str, found: dict[str, tuple[str, str]]) -> None:
    """Call a tool twice in a session of its own, and note what the client makes of it."""
    async with Client(url, mode="legacy", read_timeout_seconds=PATIENCE) as client:
        texts = []
        for _ in range(2):
            try:
                result = await client.call_tool(tool, {})
            except MCPError as error:
                texts.append(str(error))
            else:
                texts.append(getattr(result.content[0], "text", ""))
    found[tool] = (texts[0], texts[1])


def test_the_official_client_does_with_each_fault_what_it_can(server: ServingHttp) -> None:
    """As `docs/reference/faults.md` says; and the next call of the session is answered."""
    assert {one.partition(" ")[0] for one in LEGACY} == {one.value for one in OF_HTTP}
    found: dict[str, tuple[str, str]] = {}

    async def play() -> None:
        async with anyio.create_task_group() as group:
            for one in LEGACY:
                group.start_soon(called, server.url, one.partition(" ")[0], found)

    anyio.run(play)
    for one, expected in LEGACY.items():
        first, second = found[one.partition(" ")[0]]
        assert first.startswith(expected), (one, first)
        assert second == "rainy", one


@pytest.mark.parametrize("fault", ["exit", "crash"])
def test_a_server_that_ends_by_a_rule_ends_for_one_client(server: ServingHttp, fault: str) -> None:
    """Its session is over; the other clients of the process notice nothing."""
    gone, other = server.initialize(), server.initialize()
    waiting = server.open(gone, call(name=fault))
    if fault == "crash":
        with pytest.raises(ConnectionError):  # http.client.RemoteDisconnected: not a byte came
            _ = waiting.response
    else:
        assert waiting.response.status == 404
    ping = '{"jsonrpc":"2.0","id":9,"method":"ping"}'
    until(lambda: server.ask(body=ping, headers=gone).status == 404, "the session is over")
    assert server.ask(body=ping, headers=other).status == 200
    until(lambda: not [*server.home.glob("sessions/*/pending/*")], "what waited in it is closed")


def test_a_rule_that_is_silent_leaves_its_request_waiting(server: ServingHttp) -> None:
    """A person may answer it all the same."""
    waiting = server.open(server.initialize(), call(name="silence"))
    server.folder()
    server.answer(2, "late")
    assert waiting.response.read().count(b"late") == 1


def test_a_person_breaks_what_carries_an_answer_from_a_terminal(tmp_path: Path) -> None:
    """`say --http` takes a number, too; `answer --fault` the fault's name."""
    with ServingHttp(tmp_path / "inbox", "--handshake", "book", quick=1) as server:
        headers = server.initialize()
        waiting = server.open({**headers, "Accept": "application/json"}, call())
        server.folder()
        assert main(["say", "--http", "wrong-status 418", "--home", str(server.home)]) == 0
        server.answer(2, "sunny")
        assert (waiting.response.status, b"sunny" in waiting.response.read()) == (418, True)
        again = server.open(headers, call(3))
        server.answer(3, "sunny", "--fault", "event-twice")
        events = [name for name, data in again.events() if data]
        assert events == ["3-1", "3-1"]

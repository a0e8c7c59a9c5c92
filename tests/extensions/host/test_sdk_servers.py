"""Our client against servers of the official SDKs, Python and npm, in both eras."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.common.child import ChildCommand, ChildTransport
from humanmcp.extensions.host.client.callbacks import Nobody
from humanmcp.extensions.host.client.client import Client, Transport
from humanmcp.extensions.host.client.handshake import HandshakeError, SessionStart
from humanmcp.http.server_address import ServerAddress
from humanmcp.http.transport import HttpTransport
from humanmcp.protocol.conversation.outcomes import ResponseArrived
from tests.extensions.host.client.test_client import Named
from tests.extensions.host.seats import Notes, sample
from tests.support.ports import own_port
from tests.support.serve_http import answers_whole
from tests.support.waiting import PATIENCE, until

HERE: Final = Path(__file__).parent
NODE: Final = HERE.parents[1] / "clients" / "node"
PYTHON_2: Final = ChildCommand((sys.executable, str(HERE / "sdk_greeter.py")))
NODE_1: Final = ChildCommand(("node", str(NODE / "server1.mjs")))
NODE_2: Final = ChildCommand(("node", str(NODE / "server2.mjs")))

HANDSHAKE: Final = SessionStart.HANDSHAKE
MODERN: Final = SessionStart.MODERN
PROBE: Final = SessionStart.PROBE


def case(command: ChildCommand, session_start: SessionStart, version: str, name: str) -> Any:  # noqa: ANN401 - pytest does not name the type of a parameter set
    """Mark what needs Node.js, and name the case."""
    marks = [pytest.mark.node] if command.words[0] == "node" else []
    return pytest.param(
        command, session_start, version, marks=marks, id=f"{name}-{session_start.value}"
    )


CASES: Final = [
    case(PYTHON_2, HANDSHAKE, "2025-11-25", "python2"),
    case(PYTHON_2, MODERN, "2026-07-28", "python2"),
    case(PYTHON_2, PROBE, "2026-07-28", "python2"),
    case(NODE_2, HANDSHAKE, "2025-11-25", "npm2"),
    case(NODE_2, MODERN, "2026-07-28", "npm2"),
    case(NODE_2, PROBE, "2026-07-28", "npm2"),
    case(NODE_1, HANDSHAKE, "2025-11-25", "npm1"),
    case(NODE_1, PROBE, "2025-11-25", "npm1"),
]


@pytest.mark.parametrize(("command", "session_start", "version"), CASES)
def test_tools_are_listed_called_and_a_question_is_answered(
    command: ChildCommand, session_start: SessionStart, version: str
) -> None:
    """Both eras, by choice and by probing; the check finds nothing wrong with an SDK."""
    transport = ChildTransport(command)
    check_greeter(transport, session_start, version)
    assert str(transport.end_reason()).endswith("(exit status 0)")


@pytest.fixture(scope="module")
def greeter_over_http() -> Iterator[str]:
    """Serve the same server of the official Python SDK over Streamable HTTP.

    In a process of its own: in ours, any server that was told to end ends all streams of the SDK.
    """
    port = own_port()
    server = subprocess.Popen([sys.executable, str(HERE / "sdk_greeter.py"), str(port)])
    until(lambda: answers_whole(port), "the server answers", within=3 * PATIENCE)
    yield f"http://127.0.0.1:{port}/mcp"
    server.kill()
    server.wait()


@pytest.mark.parametrize(
    ("session_start", "version"),
    [(HANDSHAKE, "2025-11-25"), (MODERN, "2026-07-28"), (PROBE, "2026-07-28")],
)
def test_the_same_over_streamable_http(
    greeter_over_http: str, session_start: SessionStart, version: str
) -> None:
    """Sessions, streams, questions and headers as the official Python SDK has them."""
    check_greeter(HttpTransport(ServerAddress(greeter_over_http)), session_start, version)


def check_greeter(transport: Transport, session_start: SessionStart, version: str) -> None:
    """Have a whole session with a greeter."""
    notes = Notes()
    person = Named()
    client = Client(transport, person, observers=[notes])
    try:
        client.open(session_start)
        assert (client.stated or client.session.state.negotiated_version) == version
        listed = client.call("tools/list").result
        assert listed is not None
        names = {tool["name"] for tool in listed["tools"]}
        assert names == {"greet", "get-japan-forecast"}
        call = {"name": "get-japan-forecast", "arguments": {"location": "東京"}}
        answer = client.call("tools/call", call).result
        assert answer is not None
        assert answer["content"][0]["text"] == "sunny"
        greeted = client.call("tools/call", {"name": "greet", "arguments": {}}).result
        assert greeted is not None
        assert greeted["content"][0]["text"] == "hello Ada"
        assert person.refused == 1
    finally:
        client.close()
    diagnostics = [
        diagnostic.code
        for event in notes.events
        if isinstance(event, ResponseArrived)
        for diagnostic in event.diagnostics
    ]
    assert diagnostics == []


@pytest.mark.node
def test_a_server_of_the_first_npm_sdk_has_no_modern_era() -> None:
    """By choice means by choice: no silent fall-back."""
    client = Client(ChildTransport(NODE_1), Nobody())
    try:
        with pytest.raises(HandshakeError):
            client.open(MODERN)
    finally:
        client.close()


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
@pytest.mark.parametrize("name", ["calculate", "dice", "demo_app", "weather"])
def test_every_sample_speaks_every_version_of_the_handshake(name: str, version: str) -> None:
    """The samples are correct servers; the check says nothing of them."""
    notes = Notes()
    client = Client(ChildTransport(sample(name)), Nobody(), observers=[notes])
    try:
        client.open(HANDSHAKE, version)
        assert client.session.state.negotiated_version == version
        assert client.call("tools/list").result
        assert client.call("ping").result == {}
    finally:
        client.close()
    found = [event for event in notes.events if isinstance(event, ResponseArrived)]
    assert [one.diagnostics for one in found] == [()] * 3
    assert [json.loads(line)["id"] for line in notes.arrived] == [101, 102, 103]

"""What a rule does before its answer, through a real server."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.serve_process import Serving
from tests.support.verdicts import R2025, R2026, stating

BOOK = """
[server.capabilities]
tools = { listChanged = true }
resources = { subscribe = true }

[wait]
"*" = 0

[[tools]]
name = "ask"
inputSchema = { type = "object" }

[[rules]]
tool = "ask"
text = "{who.content.name}{who.error.message}"
ask = { who = { method = "elicitation/create", params = { message = "Who?", requestedSchema = \
{ type = "object", properties = { name = { type = "string" } } } } } }

[[rules]]
tool = "wrong"
text = "sunny"
fault = "wrong-id"

[[rules]]
tool = "impossible"
text = "sunny"
fault = "wrong-version"

[[rules]]
tool = "watch"
text = "changed"
notify = [{ updated = "test://a" }]

[[rules]]
tool = "next"
text = "one"
[[rules.then]]
text = "two"
[[rules.then.add.tools]]
name = "more"
inputSchema = { type = "object" }
"""


class Seat:
    """A client with a server that has this book."""

    def __init__(self, server: Serving, version: str) -> None:
        """Open the session, where there is one to be opened."""
        self.server = server
        self.version = version
        if version == R2025:
            client = {"name": "c", "version": "1"}
            handshake = {"protocolVersion": R2025, "capabilities": {"elicitation": {}}}
            self.send(0, "initialize", **handshake, clientInfo=client)
            self.hear()
            server.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def send(self, number: int, method: str, **params: Any) -> None:  # noqa: ANN401 - any JSON value
        """Send a request."""
        if self.version == R2026:
            params["_meta"] = stating({"elicitation": {}})
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.server.say(json.dumps(request))

    def call(self, number: int, tool: str) -> None:
        """Call a tool."""
        self.send(number, "tools/call", name=tool, arguments={})

    def hear(self) -> Any:  # noqa: ANN401 - any JSON value
        """Return the next message."""
        return json.loads(self.server.hear())

    def text(self) -> str:
        """Return the text of the next answer."""
        return str(self.hear()["result"]["content"][0]["text"])


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Callable[[str], Seat]]:
    """Start a server, for a client of a version."""
    (tmp_path / "book.toml").write_text(BOOK, encoding="utf-8")
    with Serving(tmp_path / "home", "--book", str(tmp_path / "book.toml")) as server:
        yield lambda version: Seat(server, version)


def test_a_rule_waits_for_what_the_client_says(seat: Callable[[str], Seat]) -> None:
    """Its answer, or its error, is a value like the arguments."""
    client = seat(R2025)
    for number, reply in (
        (1, {"result": {"action": "accept", "content": {"name": "Ann"}}}),
        (2, {"error": {"code": -1, "message": "no"}}),
    ):
        client.call(number, "ask")
        question = client.hear()
        assert question["method"] == "elicitation/create"
        client.server.say(json.dumps({"jsonrpc": "2.0", "id": question["id"], **reply}))
        expected = "Ann{who.error.message}" if number == 1 else "{who.content.name}no"
        assert client.text() == expected


def test_a_person_may_answer_while_the_client_is_asked(seat: Callable[[str], Seat]) -> None:
    """Then the question is taken back, and what the client says to it is for nobody."""
    client = seat(R2025)
    client.call(1, "ask")
    question = client.hear()
    client.server.type(
        '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"me"}]}}'
    )
    heard = {one.get("method", "answer"): one for one in (client.hear(), client.hear())}
    assert heard["answer"]["result"]["content"][0]["text"] == "me"
    assert heard["notifications/cancelled"]["params"]["requestId"] == question["id"]
    late = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
    client.server.say(json.dumps(late))
    client.call(2, "next")
    assert client.text() == "one"


def test_a_rule_can_break_its_answer(seat: Callable[[str], Seat]) -> None:
    """A fault goes out as it is, and is in the transcript as deliberate."""
    client = seat(R2025)
    client.call(1, "wrong")
    answer = client.hear()
    assert answer["id"] == 1_000_001
    assert answer["result"]["content"][0]["text"] == "sunny"
    transcript = (client.server.session / "transcript.jsonl").read_text("utf-8")
    assert '"note":"deliberate"' in transcript.replace('": "', '":"')


def test_a_fault_that_cannot_be_made_leaves_the_request_to_a_person(
    seat: Callable[[str], Seat],
) -> None:
    """Nothing else goes out in its place."""
    client = seat(R2025)
    client.call(1, "impossible")
    client.call(2, "next")
    assert client.text() == "one"
    client.server.type('{"jsonrpc":"2.0","id":1,"result":{"content":[]}}')
    assert client.hear()["id"] == 1


def test_a_change_of_a_resource_is_told_to_who_subscribed(seat: Callable[[str], Seat]) -> None:
    """Up to 2025-11-25 by `resources/subscribe`."""
    client = seat(R2025)
    client.call(1, "watch")
    assert client.hear()["id"] == 1
    client.send(2, "resources/subscribe", uri="test://a")
    assert client.hear()["result"] == {}
    client.call(3, "watch")
    assert client.hear()["params"] == {"uri": "test://a"}
    assert client.hear()["id"] == 3
    client.send(4, "resources/unsubscribe", uri="test://a")
    assert client.hear()["id"] == 4
    client.call(5, "watch")
    assert client.hear()["id"] == 5


def test_a_change_of_a_resource_is_told_to_each_subscription(seat: Callable[[str], Seat]) -> None:
    """Since 2026-07-28 by `subscriptions/listen`, which names the resources."""
    client = seat(R2026)
    client.send(1, "server/discover")
    client.hear()
    client.send(2, "subscriptions/listen", notifications={"resourceSubscriptions": ["test://a"]})
    client.send(3, "subscriptions/listen", notifications={"resourceSubscriptions": ["test://b"]})
    assert client.hear()["method"] == "notifications/subscriptions/acknowledged"
    assert client.hear()["method"] == "notifications/subscriptions/acknowledged"
    client.call(4, "watch")
    told = client.hear()
    assert told["params"]["uri"] == "test://a"
    assert list(told["params"]["_meta"].values()) == [2]
    assert client.hear()["id"] == 4


def test_a_rule_changes_what_is_offered_on_its_second_call(seat: Callable[[str], Seat]) -> None:
    """The client is told before it gets the answer; saving the book takes it back."""
    client = seat(R2025)
    client.call(1, "next")
    assert client.text() == "one"
    client.call(2, "next")
    assert client.hear()["method"] == "notifications/tools/list_changed"
    assert client.text() == "two"
    client.send(3, "tools/list")
    assert [one["name"] for one in client.hear()["result"]["tools"]] == ["ask", "more"]
    book = client.server.home.parent / "book.toml"
    book.write_text(BOOK + "\n", encoding="utf-8")
    assert client.hear()["method"] == "notifications/tools/list_changed"
    client.send(4, "tools/list")
    assert [one["name"] for one in client.hear()["result"]["tools"]] == ["ask"]
    client.call(5, "next")
    assert client.text() == "one"


def test_a_client_that_did_not_ask_what_is_offered_is_told_of_changes_too(
    seat: Callable[[str], Seat],
) -> None:
    """2026-07-28: a client need not call `server/discover`."""
    client = seat(R2026)
    client.send(1, "subscriptions/listen", notifications={"toolsListChanged": True})
    assert client.hear()["params"]["notifications"] == {"toolsListChanged": True}
    client.call(2, "next")
    assert client.text() == "one"
    client.call(3, "next")
    assert client.hear()["method"] == "notifications/tools/list_changed"
    assert client.text() == "two"

"""`samples/conformance.toml`: what the official suite does not look at.

`tests/clients/test_http.py` runs the suite itself against this book.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Self

import pytest

from humanmcp.common.book_file import read_book
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.validation import check
from tests.samples.test_servers import SAMPLES
from tests.support.serve_process import Serving
from tests.support.verdicts import R2025, R2026, STATED, asked

BOOK: Final = SAMPLES / "conformance.toml"
EVERYTHING: Final = {"sampling": {}, "elicitation": {}, "roots": {"listChanged": True}}


class Suite:
    """The suite's client, in one of the two eras. Every answer must pass the check as well."""

    def __init__(self, server: Serving, version: str) -> None:
        """Open the session, where there is one to be opened."""
        self.server = server
        self.version = version
        self.notices: list[Any] = []
        self.sent: dict[str, Any] = {}
        self._id = 0
        if version == R2025:
            client = {"name": "conformance-test-client", "version": "1.0.0"}
            self.result(
                "initialize",
                protocolVersion=R2025,
                capabilities={"sampling": {}, "elicitation": {}},
                clientInfo=client,
            )
            server.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def __enter__(self) -> Self:
        """Use it as a context."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the server."""
        self.server.__exit__(None, None, None)

    def send(self, method: str, /, declared: Any = None, **params: Any) -> int:  # noqa: ANN401 - any JSON value
        """Send a request; those of 2026-07-28 say of themselves what they must."""
        self._id += 1
        if self.version == R2026:
            meta = {
                STATED + "protocolVersion": R2026,
                STATED + "clientInfo": {"name": "conformance-test-client", "version": "1.0.0"},
                STATED + "clientCapabilities": EVERYTHING if declared is None else declared,
            }
            params["_meta"] = {**meta, **params.get("_meta", {})}
        self.sent = params
        request = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        self.server.say(json.dumps(request))
        return self._id

    def ask(self, method: str, /, declared: Any = None, **params: Any) -> Any:  # noqa: ANN401 - any JSON value
        """Send a request and return the answer to it; keep what the server says meanwhile."""
        wanted = self.send(method, declared, **params)
        while True:
            message = json.loads(self.server.hear())
            if message.get("id") == wanted and "method" not in message:
                return message
            self.notices.append(message)

    def result(self, method: str, /, declared: Any = None, **params: Any) -> Any:  # noqa: ANN401 - any JSON value
        """Return a result, which passes the check of its version without a word."""
        answer = self.ask(method, declared, **params)
        assert "result" in answer, answer
        exchange = asked(method, self.sent, token=str(answer["id"]), version=self.version)
        verdict = check.check(exchange, json.dumps(answer), negotiated=NegotiatedState())
        assert [each.code for each in verdict.errors] == []
        return answer["result"]

    def call(self, tool: str, /, **arguments: Any) -> Any:  # noqa: ANN401 - any JSON value
        """Call a tool."""
        return self.result("tools/call", name=tool, arguments=arguments)

    def hear(self, method: str) -> Any:  # noqa: ANN401 - any JSON value
        """Return the next notification of this method."""
        while True:
            found = next((one for one in self.notices if one["method"] == method), None)
            if found is not None:
                self.notices.remove(found)
                return found
            self.notices.append(json.loads(self.server.hear()))


@pytest.fixture
def suite(tmp_path: Path) -> Iterator[Callable[[str], Suite]]:
    """Start a server with the book, for the suite in one era."""
    begun: list[Suite] = []

    def start(version: str) -> Suite:
        begun.append(Suite(Serving(tmp_path / "home", "--book", str(BOOK)), version))
        return begun[-1]

    yield start
    for one in begun:
        one.__exit__()


def test_each_tool_prompt_and_resource_stands_in_the_book_once() -> None:
    """Clients take a list for a set of names."""
    book = read_book(BOOK)
    for entries, key in (
        (book.tools, "name"),
        (book.prompts, "name"),
        (book.resources, "uri"),
        (book.resource_templates, "uriTemplate"),
    ):
        named = [one[key] for one in entries]
        assert sorted(named) == sorted(set(named))


def test_a_level_that_was_set_keeps_lower_messages_back(suite: Callable[[str], Suite]) -> None:
    """MCP: servers send log messages at and above the level that was set."""
    seat = suite(R2025)
    seat.result("logging/setLevel", level="error")
    seat.call("test_tool_with_logging")
    assert seat.notices == []


@pytest.mark.parametrize("version", [R2025, R2026])
def test_progress_goes_out_under_the_token_of_its_request(
    suite: Callable[[str], Suite], version: str
) -> None:
    """Each step with its number; without a token nothing is said."""
    seat = suite(version)
    seat.call("test_tool_with_progress")
    assert seat.notices == []
    meta = {"progressToken": "progress-test-1"}
    seat.result("tools/call", name="test_tool_with_progress", arguments={}, _meta=meta)
    assert [one["params"] for one in seat.notices] == [
        {"progressToken": "progress-test-1", "progress": step, "total": 100}
        for step in (0, 50, 100)
    ]


@pytest.mark.parametrize("list_", ["tools", "prompts"])
def test_a_change_of_what_is_offered_is_told_to_who_asked(
    suite: Callable[[str], Suite], list_: str
) -> None:
    """server-stateless: acknowledged first, then the change, each with the subscription's id."""
    seat = suite(R2026)
    seat.result("server/discover")
    listening = seat.send("subscriptions/listen", notifications={f"{list_}ListChanged": True})
    other = "promptsListChanged" if list_ == "tools" else "toolsListChanged"
    elsewhere = seat.send("subscriptions/listen", notifications={other: True})
    first, second = json.loads(seat.server.hear()), json.loads(seat.server.hear())
    assert first["method"] == second["method"] == "notifications/subscriptions/acknowledged"
    before = len(seat.result(f"{list_}/list")[list_])
    for count in (before + 1, before, before + 1):
        seat.call(f"test_trigger_{list_.removesuffix('s')}_change")
        changed = seat.hear(f"notifications/{list_}/list_changed")
        assert changed["params"]["_meta"][STATED + "subscriptionId"] == listening != elsewhere
        assert len(seat.result(f"{list_}/list")[list_]) == count
    assert seat.notices == []


def accept(**content: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Answer a form."""
    return {"action": "accept", "content": content}


def test_a_state_that_was_changed_or_lent_to_another_tool_is_refused(
    suite: Callable[[str], Suite],
) -> None:
    """-32602."""
    seat = suite(R2026)
    name = "test_input_required_result_tampered_state"
    state = seat.call(name)["requestState"]
    given = {"confirm": accept(ok=True)}
    other = "test_input_required_result_request_state"
    for tool, brought in ((name, f"{state}-TAMPERED"), (name, "x"), (other, state)):
        answer = seat.ask(
            "tools/call", name=tool, arguments={}, inputResponses=given, requestState=brought
        )
        assert answer["error"]["code"] == -32602, (tool, brought)


def test_what_a_client_said_in_each_round_is_in_the_answer(suite: Callable[[str], Suite]) -> None:
    """Each round has a state of its own."""
    seat = suite(R2026)
    name = "test_input_required_result_multi_round"
    first = seat.call(name)
    state, given = first["requestState"], {"step1": accept(name="Alice")}
    second = seat.result(
        "tools/call", name=name, arguments={}, inputResponses=given, requestState=state
    )
    assert second["resultType"] == "input_required"
    assert second["requestState"] != state
    (question,) = second["inputRequests"].values()
    assert question["params"]["message"] == "Step 2: What is your favorite color, Alice?"
    state, given = second["requestState"], {"step2": accept(color="blue")}
    last = seat.result(
        "tools/call", name=name, arguments={}, inputResponses=given, requestState=state
    )
    assert last["content"][0]["text"] == "Alice likes blue."


@pytest.mark.parametrize(
    ("responses", "complete"),
    [
        ({"wrong_key": accept(data="wrong")}, False),
        ({"user_name": 12345}, False),
        (None, False),
        ({"user_name": accept(name="Alice"), "unknown_extra_key": accept(foo="bar")}, True),
    ],
)
def test_a_question_is_asked_again_until_its_answer_fits(
    suite: Callable[[str], Suite],
    responses: Any,  # noqa: ANN401 - any JSON value
    complete: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """More than was asked for is no reason to ask again."""
    name = "test_input_required_result_elicitation"
    found = suite(R2026).ask("tools/call", name=name, arguments={}, inputResponses=responses)
    result = found["result"]
    assert result["resultType"] == ("complete" if complete else "input_required")

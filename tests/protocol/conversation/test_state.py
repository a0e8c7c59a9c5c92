"""Which answer belongs to which request, heard from between."""

import json
from typing import Any

import pytest

from humanmcp.protocol.conversation.state import MOST_OPEN, ConversationState, ObservedMessage
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.jsonrpc import Message, read

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


def message(**body: Any) -> Message:  # noqa: ANN401 - any JSON value
    """Make a message."""
    found = read(json.dumps({"jsonrpc": "2.0", **body}).encode())
    assert isinstance(found, Message)
    return found


class Ear(ConversationState):
    """A conversation that is told in short what passes."""

    def asks(
        self,
        id: Any,  # noqa: A002, ANN401 - the protocol's own word; any JSON value
        method: str,
        direction: Direction = Direction.IN,
        **params: Any,  # noqa: ANN401 - any JSON value
    ) -> ObservedMessage:
        """Hear a request."""
        return self.observe(direction, message(id=id, method=method, params=params))

    def answers(
        self,
        id: Any,  # noqa: A002, ANN401 - the protocol's own word; any JSON value
        direction: Direction = Direction.OUT,
        **result: Any,  # noqa: ANN401 - as above
    ) -> ObservedMessage:
        """Hear a result."""
        return self.observe(direction, message(id=id, result=result))


def test_an_id_that_comes_again_is_a_new_request() -> None:
    """The answer belongs to the one that is open."""
    ear = Ear()
    ear.asks(5, "tools/list")
    ear.answers(5)
    second = ear.asks(5, "prompts/list").request
    assert ear.answers(5).request == second


def test_an_answer_to_two_open_requests_of_one_id_is_ambiguous() -> None:
    """It is taken for the older one, and said to be uncertain."""
    ear = Ear()
    first = ear.asks(5, "tools/list").request
    ear.asks(5, "prompts/list")
    observed = ear.answers(5)
    assert (observed.request, observed.ambiguous) == (first, True)
    assert not ear.answers(5).ambiguous


@pytest.mark.parametrize("answer", [{"id": 9, "result": {}}, {"error": {"code": 1, "message": ""}}])
def test_an_answer_to_nothing_belongs_to_nothing(answer: dict[str, Any]) -> None:
    """An unknown id, or none."""
    assert Ear().observe(Direction.OUT, message(**answer)).request is None


def test_without_a_state_method_name_and_keys_must_tell_for_certain() -> None:
    """One candidate is linked; of two that are alike neither is."""
    ear = Ear()
    for number in (1, 2, 3):
        ear.asks(number, "tools/call", name="dice" if number < 3 else "coin", _meta=MODERN)
        ear.answers(number, resultType="input_required", inputRequests={"a": {}})
    coin = ear.asks(4, "tools/call", name="coin", inputResponses={"a": {}}, _meta=MODERN).request
    dice = ear.asks(5, "tools/call", name="dice", inputResponses={"a": {}}, _meta=MODERN).request
    other = ear.asks(6, "tools/call", name="coin", inputResponses={"b": {}}, _meta=MODERN).request
    assert coin is not None
    assert dice is not None
    assert other is not None
    assert (coin.continues, dice.continues, other.continues) == (3, 0, 0)


@pytest.mark.parametrize("state", ["", 5, None])
def test_a_state_that_is_none_leaves_the_telling_to_name_and_keys(state: object) -> None:
    """An empty one says nothing; and each question is continued once."""
    ear = Ear()
    first = ear.asks(1, "tools/call", name="dice", _meta=MODERN).request
    ear.answers(1, resultType="input_required", requestState=state, inputRequests={"a": {}})
    again, more = (
        ear.asks(
            number, "tools/call", name="dice", requestState=state, inputResponses={"a": {}},
            _meta=MODERN,
        ).request
        for number in (2, 3)
    )  # fmt: skip
    assert first is not None
    assert again is not None
    assert more is not None
    assert (again.continues, more.continues) == (first.number, 0)


def test_what_the_two_say_of_themselves_is_known() -> None:
    """Client, version, capabilities, tools: what a check needs."""
    ear = Ear()
    ear.asks(
        0, "initialize", protocolVersion="2025-06-18", clientInfo={"name": "c", "version": "1"}
    )
    ear.answers(0, protocolVersion="2025-06-18", capabilities={"tools": {}})
    ear.observe(Direction.IN, message(method="notifications/initialized"))
    ear.asks(1, "tools/list")
    ear.answers(1, tools=[{"name": "dice"}])
    known = ear.negotiated
    assert (known.client_name, known.initialized, ear.version) == ("c", True, "2025-06-18")
    assert known.server_capabilities == {"tools": {}}
    assert set(known.tools or {}) == {"dice"}


def test_an_answer_to_what_is_not_open_teaches_nothing() -> None:
    """A seat may give one twice, or too late."""
    ear = Ear()
    ear.asks(1, "initialize", protocolVersion="2025-06-18")
    text = '{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"tools":{}}}}'
    ear.answer(Direction.IN, 7, text)
    ear.answer(Direction.OUT, 1, text)
    assert (ear.negotiated.server_capabilities, len(ear.open)) == (None, 1)
    ear.answer(Direction.IN, 1, text)
    assert (ear.negotiated.server_capabilities, len(ear.open)) == ({"tools": {}}, 0)


@pytest.mark.parametrize("by_state", [True, False])
def test_a_question_that_is_never_answered_is_forgotten_in_the_end(*, by_state: bool) -> None:
    """The oldest first, whether its state tells or its keys."""
    ear = Ear()
    for number in range(1, MOST_OPEN + 2):
        ear.asks(number, "tools/call", name=f"t{number}", _meta=MODERN)
        told: dict[str, Any] = (
            {"requestState": f"s{number}"} if by_state else {"inputRequests": {"a": {}}}
        )
        ear.answers(number, resultType="input_required", **told)
    found = []
    for number in (1, 2, MOST_OPEN + 1):
        given: dict[str, Any] = (
            {"requestState": f"s{number}"} if by_state else {"inputResponses": {"a": {}}}
        )
        again = ear.asks(0, "tools/call", name=f"t{number}", _meta=MODERN, **given).request
        assert again is not None
        found.append(again.continues)
    assert found == [0, 2, MOST_OPEN + 1]


def test_what_is_never_answered_is_forgotten_in_the_end() -> None:
    """Memory stays bounded."""
    ear = Ear()
    for number in range(MOST_OPEN + 10):
        ear.asks(number, "ping")
    assert len(ear.open) == MOST_OPEN
    assert ear.answers(0).request is None
    assert ear.answers(MOST_OPEN).request is not None


def test_a_copy_knows_the_same_and_goes_its_own_way() -> None:
    """What is open, what was said of its progress, and what was asked back."""

    def progress(value: int) -> Message:
        return message(
            method="notifications/progress", params={"progressToken": "t", "progress": value}
        )

    ear = Ear()
    ear.asks(1, "tools/call", name="dice", _meta={"progressToken": "t"})
    ear.observe(Direction.OUT, progress(5))
    ear.asks(2, "tools/call", name="ask", _meta=MODERN)
    ear.answers(2, resultType="input_required", requestState="s")
    copy = ear.copy()
    assert copy.asked_with("s")
    (fell,) = copy.observe(Direction.OUT, progress(4)).found
    assert dict(fell.detail) == {"before": "5", "now": "4"}
    assert copy.observe(Direction.OUT, message(id=1, result={})).name == "dice"
    assert copy.open == ()
    assert [one.name for one in ear.open] == ["dice"]
    assert ear.observe(Direction.OUT, progress(6)).found == ()

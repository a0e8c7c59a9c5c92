"""What a conversation knows: its requests, whose turn it is, what the two said of themselves."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.protocol.conversation.exchange import (
    NEXT,
    REMEMBERED,
    REMEMBERED_SIZE,
    Exchange,
    ExchangeState,
    ImpossibleStepError,
    Late,
    NoIdError,
    RequestArrived,
    Sent,
    Stage,
    Transition,
)
from humanmcp.protocol.conversation.state import (
    MOST_OPEN,
    ConversationState,
    ObservedMessage,
    StrayCause,
    after_result,
    may_teach,
)
from humanmcp.protocol.conversation.transcript import (
    CHANGED,
    DROPPED,
    HELD,
    INSTEAD,
    LET_GO,
    Direction,
    Frame,
    seen_by_client,
)
from humanmcp.protocol.json.jsonrpc import Message, read
from humanmcp.protocol.session import McpSession
from humanmcp.protocol.validation.addressing import unaddressed
from tests.support.verdicts import asked

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


@pytest.mark.parametrize(
    ("asked", "answered", "taken"),
    [
        (1, "1", True),
        (-1, "-1", True),
        (2**60, str(2**60), True),
        (1, " 1", False),
        (1, "01", False),
        (1, "1.0", False),
        (1, "one", False),
        ("1", 1, False),
        ("1", "1", True),
    ],
)
def test_a_text_answers_the_number_that_it_shows(
    asked: object, answered: object, *, taken: bool
) -> None:
    """The SDKs of TypeScript and Python convert a text to a number, and no number to a text."""
    for side, other in ((Direction.IN, Direction.OUT), (Direction.OUT, Direction.IN)):
        ear = Ear()
        ear.asks(asked, "ping", side)
        assert (ear.answers(answered, other).request is not None) is taken
        assert (ear.open == ()) is taken


def test_an_id_of_the_same_type_is_preferred() -> None:
    """A client may have both open."""
    ear = Ear()
    number, text = ear.asks(1, "tools/list").request, ear.asks("1", "prompts/list").request
    assert ear.answers("1").request == text
    assert ear.answers("1").request == number


NOTICE: Final = {"method": "notifications/initialized"}


@pytest.mark.parametrize(
    ("before", "answer", "cause"),
    [
        ([], {"id": 9, "result": {}}, StrayCause.NEVER_ASKED),
        ([{"id": 9, "method": "ping"}, {"id": 9, "result": {}}], {"id": 9}, StrayCause.REPEATED),
        (
            [
                {"id": 9, "method": "ping"},
                {"method": "notifications/cancelled", "params": {"requestId": 9}},
            ],
            {"id": 9, "result": {}},
            StrayCause.LATE,
        ),
        ([NOTICE], {}, StrayCause.ANSWERED_NOTIFICATION),
        ([NOTICE, {"id": 9, "method": "ping"}], {"id": None}, StrayCause.ANSWERED_NOTIFICATION),
        ([NOTICE, {"error": {"code": 1, "message": ""}}], {}, StrayCause.WITHOUT_ID),
        ([NOTICE], {"error": {"code": -32700, "message": ""}}, StrayCause.WITHOUT_ID),
        ([{"id": 9, "method": "ping"}], {}, StrayCause.WITHOUT_ID),
        ([{"id": "9", "method": "ping"}], {"id": 9}, StrayCause.OTHER_TYPE),
        ([{"id": "9", "method": "ping"}], {"id": 8}, StrayCause.NEVER_ASKED),
        ([NOTICE], {"id": 0}, StrayCause.ANSWERED_NOTIFICATION),
        ([NOTICE, {"id": 9, "method": "ping"}], {"id": 0}, StrayCause.NEVER_ASKED),
        ([{"id": 9, "method": "ping"}], {"id": "server-error"}, StrayCause.HTTP_ERROR),
    ],
)
def test_an_answer_that_answers_no_open_request_has_a_cause(
    before: list[dict[str, Any]], answer: dict[str, Any], cause: StrayCause
) -> None:
    """What came before tells it: nobody has to guess from the id alone."""
    ear = Ear()
    for body in before:
        ear.observe(Direction.IN if "method" in body else Direction.OUT, message(**body))
    last = message(**{"error": {"code": -32601, "message": ""}, **answer})
    observed = ear.observe(Direction.OUT, last)
    assert (observed.request, observed.stray) == (None, cause)


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


@pytest.mark.parametrize("method", ["initialize", "tools/list", "prompts/list", "ping", "x"])
@pytest.mark.parametrize("result", [{"": []}, {"tools": {}}, {"x": [1]}, {}])
def test_a_result_with_members_that_mean_nothing_teaches_nothing(
    method: str, result: dict[str, Any]
) -> None:
    """Also one whose name is empty."""
    before = ConversationState().negotiated
    assert after_result(before, message(id=1, method=method), result) == before


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


def call(session: McpSession, number: int, **meta: object) -> Exchange:
    """Let a call of a tool arrive."""
    params = {"name": "dice", "_meta": meta}
    body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    (event,) = session.receive(json.dumps(body).encode())
    assert isinstance(event, RequestArrived)
    return event.exchange


def arrive(session: McpSession, token: int, padding: str = "") -> Exchange:
    """Let a ping arrive."""
    body = {"jsonrpc": "2.0", "id": token, "method": "ping", "params": {"padding": padding}}
    (event,) = session.receive(json.dumps(body).encode())
    assert isinstance(event, RequestArrived)
    return event.exchange


def answered(session: McpSession, token: int, padding: str = "") -> Exchange:
    """Let a ping arrive and answer it."""
    exchange = arrive(session, token, padding)
    assert isinstance(session.reply(exchange.number, "{}"), Sent)
    return exchange


def test_a_long_session_remembers_the_last_requests_only() -> None:
    """The transcript has them all: the memory of a session does not grow with its length."""
    session = McpSession()
    first = answered(session, 1)
    waits = arrive(session, 2)
    for token in range(3, REMEMBERED + 3):
        last = answered(session, token)
    assert len(session.exchanges.remembered) == REMEMBERED + 1
    assert session.exchanges.remembered[0] == waits, "what waits is never forgotten"
    assert session.pending == (waits,)
    assert session.reply(first.number, "{}") == Late(None)
    assert session.reply(last.number, "{}") == Late(session.exchanges[last.number])
    assert last.number == session.exchanges.last == REMEMBERED + 2
    with pytest.raises(KeyError):
        session.exchanges[first.number]


def test_long_lines_are_forgotten_sooner() -> None:
    """A few answered requests of megabytes must not stay in the memory."""
    session = McpSession()
    for token in range(1, 8):
        answered(session, token, "x" * (REMEMBERED_SIZE // 3))
    assert len(session.exchanges.remembered) == 2
    huge = answered(session, 9, "x" * (REMEMBERED_SIZE + 1))
    assert [one.number for one in session.exchanges.remembered] == [huge.number]


def test_a_forgotten_request_is_one_that_nobody_waits_for() -> None:
    """An answer to it is refused as any other that belongs to nothing."""
    session = McpSession()
    for token in range(1, REMEMBERED + 2):
        answered(session, token)
    remembered = session.exchanges.remembered
    late = '{"jsonrpc":"2.0","id":%d,"result":{}}'
    (over,) = unaddressed(late % (REMEMBERED + 1), remembered)
    (gone,) = unaddressed(late % 1, remembered)
    assert over.code != gone.code
    assert gone.blocks


def test_a_progress_notification_belongs_to_the_request_that_gave_its_token() -> None:
    """Not to the last one, and to none where no request that waits gave it."""
    session = McpSession()
    first, _other = call(session, 1, progressToken="a"), call(session, 2)
    progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s}}'
    assert session.related_to(progress % '"a"') == first.number
    assert session.related_to(progress % '"b"') == 0


def test_a_notification_of_a_task_belongs_to_the_subscription_that_names_it() -> None:
    """Not to the request that came last: over HTTP that is another stream."""
    session = McpSession()
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    listens = {
        "jsonrpc": "2.0",
        "id": "s",
        "method": "subscriptions/listen",
        "params": {"notifications": {"taskIds": ["a"]}, "_meta": meta},
    }
    session.receive(json.dumps(listens).encode())
    call(session, 2)
    told = '{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"%s"}}'
    assert session.related_to(told % "a") == 1
    assert session.related_to(told % "b") == 0


def exchange(line: str = '{"id":3,"method":"tools/call","params":{"name":"t"}}') -> Exchange:
    """Make a pending exchange."""
    message = read(line.encode())
    assert isinstance(message, Message)
    return Exchange(1, message, "2025-11-25")


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("transition", Transition)
def test_a_step_that_is_not_in_the_table_is_loud(stage: Stage, transition: Transition) -> None:
    """No exchange ends twice, and none is parked that waits for its repeat."""
    before = exchange()._replace(stage=stage)
    if (stage, transition) in NEXT:
        assert before.after(transition).stage is NEXT[stage, transition]
    else:
        with pytest.raises(ImpossibleStepError, match=f"is {stage.value}: {transition.value}"):
            before.after(transition)


def test_whatever_is_over_takes_no_step() -> None:
    """People see four states; three of them are final, and a parked call is one for its client."""
    assert {stage for stage, _ in NEXT} == {
        stage for stage in Stage if exchange()._replace(stage=stage).state is ExchangeState.PENDING
    }


def test_an_exchange_knows_its_id_method_and_tool() -> None:
    """As the reply and the desks need them."""
    one = exchange()
    assert (one.id.token, one.method, one.tool) == ("3", "tools/call", "t")
    assert exchange('{"id":3,"method":"x","params":{"name":7}}').tool == ""


def test_a_message_without_id_makes_no_exchange() -> None:
    """The error says what to do."""
    with pytest.raises(NoIdError, match="make exchanges of requests only"):
        _ = exchange('{"method":"x"}').id


def test_the_manual_draws_the_state_table_as_it_is() -> None:
    """docs/explanation/design.md holds the diagram that the table makes."""
    page = Path(__file__).parents[3] / "docs" / "explanation" / "design.md"
    arrows = [
        f"    {stage.name.lower()} --> {after.name.lower()}: {transition.value}\n"
        for (stage, transition), after in NEXT.items()
    ]
    diagram = "stateDiagram-v2\n    [*] --> pending\n" + "".join(arrows) + "```"
    assert diagram in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("method", "line", "teaches"),
    [
        ("tools/list", '{"result":{}}', True),
        ("tools/call", '{"result":{}}', False),
        ("tools/call", '{"result":{"resultType":"input_required"}}', True),
        ("tools/call", r'{"result":{"resultType":"input\u005frequired"}}', True),
    ],
)
def test_a_long_answer_is_decoded_only_where_it_may_teach(
    method: str, line: str, *, teaches: bool
) -> None:
    """It is told by the text; an escape may hide the word."""
    assert may_teach(asked(method).request, line) is teaches


def frame(seq: int, direction: Direction, number: int = 0, note: str = "") -> Frame:
    """Make a frame."""
    return Frame(seq, "", direction, b"{}", number, note=note)


SESSION = (
    frame(1, Direction.IN),
    frame(2, Direction.IN, 1, HELD),
    frame(3, Direction.IN, 1, CHANGED),
    frame(4, Direction.IN, 2, HELD),
    frame(5, Direction.OUT, 2, INSTEAD),
    frame(6, Direction.OUT, 3, HELD),
    frame(7, Direction.OUT),
    frame(8, Direction.NOTE, 3, LET_GO),
    frame(9, Direction.OUT, 4, HELD),
    frame(10, Direction.NOTE, 4, DROPPED),
    frame(11, Direction.IN, 5, HELD),
    frame(12, Direction.NOTE, 5, LET_GO),
    frame(13, Direction.OUT, 6, HELD),
    frame(14, Direction.OUT, 6, CHANGED),
    frame(15, Direction.ERR),
    frame(16, Direction.NOTE, 99, LET_GO),
)


def test_the_client_sees_what_it_wrote_and_what_reached_it() -> None:
    """A held answer when it was let go, a changed one instead of the original."""
    assert [one.seq for one in seen_by_client(SESSION)] == [1, 2, 4, 5, 7, 6, 11, 14]

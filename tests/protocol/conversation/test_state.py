"""What a conversation knows: its requests, whose turn it is, what the two said of themselves."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState, NoIdError
from humanmcp.protocol.conversation.exchanges import (
    REMEMBERED,
    REMEMBERED_SIZE,
    Exchanges,
    related_to,
)
from humanmcp.protocol.conversation.outcomes import Late, RequestArrived, Sent
from humanmcp.protocol.conversation.stages import (
    NEXT,
    ExchangeState,
    ImpossibleStepError,
    Stage,
    Transition,
)
from humanmcp.protocol.conversation.state import (
    MOST_OPEN,
    ConversationState,
    ObservedMessage,
    StrayCause,
    after_request,
    after_result,
    declared_by,
    may_teach,
    question_in,
    version_of,
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
from humanmcp.protocol.json.jsonrpc import Kind, Message, read
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
PINGED: Final = [{"id": 9, "method": "ping"}, {"id": 9, "result": {}}]


@pytest.mark.parametrize(
    ("before", "answer", "cause"),
    [
        ([], {"id": 9, "result": {}}, StrayCause.NEVER_ASKED),
        (PINGED, {"id": 9}, StrayCause.REPEATED),
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
        (PINGED, {"id": "9"}, StrayCause.OTHER_TYPE),
        (
            [{"id": "9", "method": "ping"}, {"id": "9", "result": {}}],
            {"id": 9},
            StrayCause.OTHER_TYPE,
        ),
        ([*PINGED, {"id": 8, "method": "ping"}], {"id": "9"}, StrayCause.OTHER_TYPE),
        (PINGED, {"id": "09"}, StrayCause.NEVER_ASKED),
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


META: Final = {
    **MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "n", "version": 2},
    "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
}


def request_of(method: str, **params: Any) -> Message:  # noqa: ANN401 - any JSON value
    """Make a request."""
    return message(id=1, method=method, params=params)


@pytest.mark.parametrize(
    ("request_", "negotiated", "version"),
    [
        (request_of("ping"), "", "2025-11-25"),
        (request_of("ping"), "2024-11-05", "2024-11-05"),
        (request_of("ping", _meta=MODERN), "2024-11-05", "2026-07-28"),
        (
            request_of("ping", _meta={"io.modelcontextprotocol/protocolVersion": "2025-11-25"}),
            "2024-11-05",
            "2026-07-28",
        ),
        (request_of("initialize", protocolVersion="2025-03-26"), "2024-11-05", "2025-03-26"),
        (request_of("initialize", protocolVersion="2026-07-28"), "2024-11-05", "2025-11-25"),
        (request_of("initialize"), "2024-11-05", "2025-11-25"),
        (request_of("server/discover"), "2024-11-05", "2026-07-28"),
    ],
)
def test_a_response_is_of_the_version_of_its_request(
    request_: Message, negotiated: str, version: str
) -> None:
    """Stated, or asked for, or negotiated, or the latest with a handshake."""
    assert version_of(request_, negotiated) == version


BEFORE: Final = NegotiatedState("o", "0", {"x": {}})


@pytest.mark.parametrize(
    ("request_", "version", "client"),
    [
        (request_of("ping", _meta=META), "2026-07-28", ("n", "2", {"roots": {}})),
        (request_of("ping", _meta=META), "2025-11-25", ("o", "0", {"x": {}})),
        (request_of("ping", _meta=MODERN), "2026-07-28", ("o", "0", {"x": {}})),
        (
            request_of("initialize", clientInfo={}, capabilities={}),
            "2025-11-25",
            ("", "", {}),
        ),
        (
            request_of("initialize", clientInfo={"name": 7}, capabilities=[]),
            "2025-11-25",
            ("7", "", {"x": {}}),
        ),
        (request_of("initialize", clientInfo="n"), "2025-11-25", ("o", "0", {"x": {}})),
        (
            request_of("tools/list", clientInfo={"name": "n"}, capabilities={}),
            "2025-11-25",
            ("o", "0", {"x": {}}),
        ),
    ],
)
def test_a_client_says_who_it_is_where_its_version_says_so(
    request_: Message, version: str, client: tuple[str, str, object]
) -> None:
    """What it does not say stays as it was."""
    after = after_request(BEFORE, request_, version)
    found = (after.client_name, after.client_version, after.client_capabilities)
    assert found == client


@pytest.mark.parametrize(
    ("version", "meta", "negotiated", "declared"),
    [
        ("2026-07-28", META, BEFORE, {"roots": {}}),
        ("2026-07-28", MODERN, BEFORE, {}),
        ("2025-11-25", META, BEFORE, {"x": {}}),
        ("2025-11-25", META, None, {}),
    ],
)
def test_what_a_client_declared_stands_in_the_request_or_in_the_handshake(
    version: str, meta: dict[str, Any], negotiated: NegotiatedState | None, declared: object
) -> None:
    """As the version has it."""
    exchange_ = Exchange(1, request_of("ping", _meta=meta), version)
    assert declared_by(exchange_, negotiated) == declared


@pytest.mark.parametrize(
    ("method", "params", "result", "change"),
    [
        ("initialize", {}, {"capabilities": {"a": 1}}, {"server_capabilities": {"a": 1}}),
        ("server/discover", {}, {"capabilities": {}}, {"server_capabilities": {}}),
        ("tools/call", {}, {"capabilities": {}}, {}),
        (
            "prompts/list",
            {},
            {"prompts": [{"name": "p"}, {"name": 7}, 7]},
            {"prompts": {"p": {"name": "p"}}, "partly_listed": {"prompts/list": False}},
        ),
        (
            "tools/list",
            {},
            {"tools": [{"name": "b"}], "nextCursor": "2"},
            {
                "tools": {"b": {"name": "b"}},
                "partly_listed": {"tools/list": True},
                "newly_prepared": False,
            },
        ),
        (
            "tools/list",
            {"cursor": None},
            {"tools": [], "nextCursor": None},
            {
                "tools": {"a": {}},
                "partly_listed": {"tools/list": False},
                "newly_prepared": False,
            },
        ),
        ("resources/list", {}, {"resources": [{"name": "r"}]}, {}),
    ],
)
def test_a_result_teaches_what_its_method_lists(
    method: str, params: dict[str, Any], result: dict[str, Any], change: dict[str, Any]
) -> None:
    """A further page is added; only a list of tools settles that they were listed anew."""
    before = NegotiatedState(tools={"a": {}}, newly_prepared=True)
    assert after_result(before, request_of(method, **params), result) == before._replace(**change)


@pytest.mark.parametrize(
    ("result", "state"),
    [
        ({"resultType": "input_required", "requestState": "s"}, "s"),
        ({"resultType": "complete", "requestState": "s"}, ""),
        ({"requestState": "s"}, ""),
        ({"resultType": "input_required", "requestState": 7}, ""),
    ],
)
def test_a_question_has_its_state(result: dict[str, Any], state: str) -> None:
    """No other result has one."""
    assert question_in(result) == state


def test_what_a_client_wishes_counts_once_the_server_has_accepted_it() -> None:
    """Its log level, and the resources that it follows."""
    ear = Ear()
    ear.asks(1, "logging/setLevel", level="error")
    assert ear.log_level == ""
    ear.answers(1)
    ear.asks(2, "logging/setLevel", level=7)
    ear.answers(2)
    assert ear.log_level == "error"
    for number, (method, uri) in enumerate(
        [
            ("resources/subscribe", "a"),
            ("resources/subscribe", "b"),
            ("resources/subscribe", 7),
            ("resources/read", "c"),
            ("resources/unsubscribe", "a"),
            ("resources/unsubscribe", "x"),
        ],
        3,
    ):
        ear.asks(number, method, uri=uri)
        ear.answers(number)
    assert ear.watched == {"b"}
    ear.asks(9, "resources/subscribe", uri="d")
    ear.observe(Direction.OUT, message(id=9, error={"code": 1, "message": ""}))
    assert ear.watched == {"b"}


@pytest.mark.parametrize(
    ("asked_for", "chosen", "version"),
    [
        ("2025-03-26", "2024-11-05", "2024-11-05"),
        ("2025-03-26", "2026-07-28", "2025-03-26"),
        ("2025-03-26", None, "2025-03-26"),
        ("x", 7, "2025-11-25"),
    ],
)
def test_a_handshake_settles_a_version_that_it_can_settle(
    asked_for: str, chosen: object, version: str
) -> None:
    """Another one leaves the requested one."""
    ear = Ear()
    ear.asks(1, "initialize", protocolVersion=asked_for)
    assert ear.version == ""
    ear.answers(1, protocolVersion=chosen)
    assert (ear.version, ear.negotiated_version) == (version, version)
    ear.asks(2, "server/discover", _meta=MODERN)
    assert ear.version == version
    ear.asks(3, "ping", Direction.OUT, _meta=MODERN)
    assert ear.version == version
    ear.asks(4, "tools/list", _meta=MODERN)
    assert ear.version == "2026-07-28"


@pytest.mark.parametrize(
    ("method", "partly"),
    [
        ("notifications/tools/list_changed", {"tools/list": True}),
        ("notifications/prompts/list_changed", {"prompts/list": True}),
        ("notifications/resources/list_changed", {}),
    ],
)
def test_a_list_that_changed_is_known_in_part(method: str, partly: dict[str, bool]) -> None:
    """Until it is fetched again."""
    ear = Ear()
    ear.observe(Direction.OUT, message(method=method))
    assert (ear.negotiated.partly_listed, ear.negotiated.initialized) == (partly, False)


@pytest.mark.parametrize(
    ("body", "about"),
    [
        ({"id": 1, "result": {}}, ("tools/call", "t", True)),
        ({"id": 9, "result": {}}, ("", "", False)),
        (
            {"id": 2, "method": "resources/read", "params": {"uri": "u"}},
            ("resources/read", "u", True),
        ),
        (
            {"method": "notifications/x", "params": {"name": "n", "uri": "u"}},
            ("notifications/x", "n", False),
        ),
        ({"method": "notifications/x", "params": {"name": 7}}, ("notifications/x", "", False)),
    ],
)
def test_a_message_is_about_the_method_and_the_name_of_its_request(
    body: dict[str, Any], about: tuple[str, str, bool]
) -> None:
    """Or its own."""
    ear = Ear()
    ear.asks(1, "tools/call", name="t", uri="u")
    observed = ear.observe(Direction.OUT, message(**body))
    assert (observed.method, observed.name, observed.request is not None) == about


def test_a_message_with_a_method_beside_its_result_is_a_response_to_whoever_waits() -> None:
    """Otherwise it is the request that it also is."""
    for member, kind in (("result", Kind.RESULT), ("error", Kind.ERROR)):
        ear = Ear()
        body = message(id=1, method="tools/call", **{member: {}})
        assert ear.observe(Direction.OUT, body).message.kind is Kind.REQUEST
        ear.asks(1, "ping")
        nothing = message(id=1, method="tools/call", **{member: None})
        assert ear.copy().observe(Direction.OUT, nothing).message.kind is Kind.REQUEST
        observed = ear.observe(Direction.OUT, body)
        assert (observed.message.kind, observed.request and observed.request.method) == (
            kind,
            "ping",
        )


@pytest.mark.parametrize(
    ("waiting", "answer", "likely"),
    [
        ([1], 9, 1),
        ([1], "1", None),
        ([1, 2], 9, None),
        ([], 9, None),
        ([1], None, None),
        ([1, "subscription"], 9, 1),
        (["over", 1], "over", None),
    ],
)
def test_a_response_with_an_unused_id_was_meant_for_the_only_request(
    waiting: list[Any], answer: object, likely: int | None
) -> None:
    """A subscription waits for none; a used id is late."""
    ear = Ear()
    for number in waiting:
        method = "subscriptions/listen" if number == "subscription" else "ping"
        ear.asks(number, method, _meta=MODERN)
        if number == "over":
            ear.answers("over")
    observed = ear.observe(Direction.OUT, message(id=answer, error={"code": 1, "message": ""}))
    assert (observed.likely and observed.likely.id.value) == likely


@pytest.mark.parametrize(
    ("wanted", "is_cancelled"),
    [(1, True), (1.0, True), ("1", False), (True, False), (None, False), ([1], False)],
)
def test_a_cancellation_names_a_request_of_its_own_side_by_its_id(
    wanted: object, *, is_cancelled: bool
) -> None:
    """Of the same type; the last one with it. `initialize` cannot be cancelled."""
    ear = Ear()
    first, second = ear.asks(1, "ping").request, ear.asks(1, "ping").request
    ear.asks(1, "initialize")
    ear.asks(1, "roots/list", Direction.OUT)
    gone = message(method="notifications/cancelled", params={"requestId": wanted})
    observed = ear.observe(Direction.IN, gone)
    assert observed.request == (second if is_cancelled else None)
    assert (first in ear.open, len(ear.open)) == (True, 3 if is_cancelled else 4)


def test_of_ids_that_are_over_the_last_256_are_known() -> None:
    """A response to one of them is late, or repeated."""
    ear = Ear()
    for number in range(257):
        ear.asks(number, "ping")
        ear.answers(number)
    causes = [ear.answers(number).stray for number in (0, 1, 256)]
    assert causes == [StrayCause.NEVER_ASKED, StrayCause.REPEATED, StrayCause.REPEATED]


def test_of_too_many_open_requests_the_oldest_is_dropped() -> None:
    """By an observer, which need not see each response."""
    ear = Ear(most_open=2)
    for number in (1, 2, 3):
        ear.asks(number, "ping")
    assert [one.id.value for one in ear.open] == [2, 3]
    assert ear.answers(1).stray is StrayCause.LATE


@pytest.mark.parametrize(
    ("meta", "token"),
    [
        ({"progressToken": 0}, "0"),
        ({"progressToken": ""}, '""'),
        ({"progressToken": True}, None),
        ({"progressToken": 1.5}, None),
        ({"progressToken": None}, None),
        ({}, None),
    ],
)
def test_a_progress_token_is_a_text_or_a_whole_number(
    meta: dict[str, Any], token: str | None
) -> None:
    """As it was written."""
    found = asked("tools/call", {"name": 7, "uri": "u", "_meta": meta})
    assert (found.progress_token, found.name, found.tool) == (token, "u", "")


LISTEN: Final = asked("subscriptions/listen", {"notifications": {"taskIds": ["a"]}}, token='"s"')
FIRST: Final = asked("tools/call", {"_meta": {"progressToken": "t"}}, token="1")
SECOND: Final = asked("tools/call", {"_meta": {"progressToken": 7}}, token="2")
PENDING: Final = tuple(
    one._replace(number=number) for number, one in enumerate((FIRST, SECOND, LISTEN), 1)
)


@pytest.mark.parametrize(
    ("method", "params", "number"),
    [
        ("notifications/progress", {"progressToken": "t"}, 1),
        ("notifications/progress", {"progressToken": 7}, 2),
        ("notifications/progress", {"progressToken": "7"}, 0),
        ("notifications/progress", {}, 2),
        ("notifications/message", {}, 2),
        ("notifications/x", {"_meta": {"io.modelcontextprotocol/subscriptionId": "s"}}, 3),
        ("notifications/x", {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}, 1),
        ("notifications/x", {"_meta": {"io.modelcontextprotocol/subscriptionId": "t"}}, 0),
        ("notifications/tools/list_changed", {}, 0),
        ("notifications/cancelled", {}, 0),
        ("notifications/tasks", {"taskId": "a"}, 3),
        ("notifications/tasks", {"taskId": "b"}, 0),
        ("roots/list", {}, 2),
    ],
)
def test_one_of_our_messages_belongs_to_the_request_that_it_names(
    method: str, params: dict[str, Any], number: int
) -> None:
    """Or to the last one, unless it belongs to none."""
    ours = message(method=method, params=params)
    assert related_to(ours, PENDING) == number
    assert related_to(ours, ()) == 0
    assert related_to(message(id=1, result={}), PENDING) == 0
    if not params:
        assert related_to(ours, PENDING[2:]) == 0


def test_a_session_keeps_its_exchanges_by_number_and_by_id() -> None:
    """What waits, what waits for a retry, and what has the same id."""
    exchanges = Exchanges()
    pending = [asked("ping", token="7")._replace(number=number) for number in (3, 1, 2)]
    other = asked("ping", token='"7"')._replace(number=4)
    for one in (*pending, other):
        assert exchanges.put(one) == one
    assert exchanges.last == 4
    assert [one.number for one in exchanges.waiting] == [3, 1, 2, 4]
    assert [one.number for one in exchanges.remembered] == [1, 2, 3, 4]
    assert [one.number for one in exchanges.same_id_pending(pending[0])] == [1, 2]
    assert exchanges.same_id_pending(other) == ()
    new = asked("ping", token="7")._replace(number=9)
    assert [one.number for one in exchanges.same_id_pending(new)] == [1, 2, 3]
    for number in (3, 1):
        exchanges.put(exchanges[number]._replace(stage=Stage.AWAITING_RETRY))
    assert [one.number for one in exchanges.awaiting_retry] == [1, 3]
    exchanges.put(exchanges[1]._replace(stage=Stage.PENDING))
    exchanges.put(exchanges[3]._replace(stage=Stage.ANSWERED))
    assert exchanges.awaiting_retry == ()
    assert [one.number for one in exchanges.waiting] == [1, 2, 4]
    assert [one.number for one in exchanges.same_id_pending(pending[0])] == [1, 2]
    assert exchanges[3].stage is Stage.ANSWERED
    assert exchanges.get(5) is None

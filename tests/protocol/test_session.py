"""One conversation, and two of them back to back."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.conversation.exchange import CUT, Exchange
from humanmcp.protocol.conversation.outcomes import (
    AwaitingRetry,
    Late,
    LineReady,
    NoticeArrived,
    Refused,
    RequestArrived,
    RequestCancelled,
    RequestRepeated,
    RequestSuperseded,
    ResponseArrived,
    Sent,
    UnreadableArrived,
)
from humanmcp.protocol.conversation.stages import ExchangeState, Stage
from humanmcp.protocol.conversation.state import ConversationState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import Flaw, Kind, Message, RequestId, read
from humanmcp.protocol.session import McpSession, Party, cancellation

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
SUNNY = '{"content":[{"type":"text","text":"sunny"}]}'


def line(method: str, id: object = None, **params: Any) -> bytes:  # noqa: A002, ANN401 - the protocol's own word; any JSON value
    """Write a request (or a notification, without id) of the client."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if id is not None:
        message["id"] = id
    return json.dumps(message, ensure_ascii=False).encode()


def arrived(session: McpSession, method: str, id: object = 1, **params: Any) -> Exchange:  # noqa: A002, ANN401 - the protocol's own word; any JSON value
    """Let a request arrive and return its exchange."""
    *_overtaken, event = session.receive(line(method, id, **params))
    assert isinstance(event, RequestArrived)
    return event.exchange


def opened(version: str = "2025-11-25") -> McpSession:
    """Make a session whose handshake has settled this version."""
    session = McpSession()
    first = arrived(
        session,
        "initialize",
        0,
        protocolVersion=version,
        capabilities={"roots": {}},
        clientInfo={"name": "client", "version": "7"},
    )
    outcome = session.reply(
        first.number,
        json.dumps(
            {
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"},
            }
        ),
        TextForm.RESULT,
    )
    assert isinstance(outcome, Sent), outcome
    session.receive(line("notifications/initialized"))
    return session


def call(session: McpSession, id: object, **more: Any) -> Exchange:  # noqa: A002, ANN401 - the protocol's own word; any JSON value
    """Let a tool call arrive."""
    return arrived(session, "tools/call", id, name="t", arguments={}, **more)


def test_before_the_handshake_the_asked_version_counts_where_it_is_known() -> None:
    """An unknown one is answered in the latest handshake version."""
    for asked, version in (("2024-11-05", "2024-11-05"), ("2099-01-01", "2025-11-25")):
        assert arrived(McpSession(), "initialize", 1, protocolVersion=asked).version == version
    assert arrived(McpSession(), "tools/list", 1).version == "2025-11-25"


def test_a_modern_request_carries_its_version_itself() -> None:
    """2026-07-28: each request states it, also beside a handshake."""
    session = opened("2025-06-18")
    assert call(session, 1, _meta=MODERN).version == "2026-07-28"
    assert call(session, 2).version == "2025-06-18"


def test_a_probe_does_not_pin_the_era() -> None:
    """A client that gives up on the probe sends `initialize` on the same pipe."""
    session = McpSession()
    probe = arrived(session, "server/discover", 1, _meta=MODERN)
    assert probe.version == "2026-07-28"
    later = arrived(session, "initialize", 2, protocolVersion="2025-11-25")
    assert later.version == "2025-11-25"
    assert session.version == "2025-11-25"


def test_asking_again_which_versions_there_are_takes_none_back() -> None:
    """Redesign 1.2: after a second `server/discover` the version stays, and so does what may go.

    Who hears it from between the two says the same.
    """
    session, between = McpSession(), ConversationState()
    for number, method in enumerate(("server/discover", "tools/list", "server/discover"), 1):
        arrived(session, method, number, _meta=MODERN)
        heard = read(line(method, number, _meta=MODERN))
        assert isinstance(heard, Message)
        between.observe(Direction.IN, heard)
    assert session.version == between.version == "2026-07-28"
    said = '{"jsonrpc":"2.0","method":"notifications/progress","params":%s}'
    told = session.judge(said % '{"progressToken":1,"progress":1}')
    assert "R24" not in [diagnostic.code for diagnostic in told.diagnostics]


def test_a_refused_reply_leaves_the_exchange_pending() -> None:
    """Corrected text then works."""
    session = opened()
    asked = call(session, 3)
    refused = session.reply(asked.number, '{"content":"sunny"}', TextForm.RESULT)
    assert isinstance(refused, Refused)
    assert session.pending == (asked,)
    sent = session.reply(asked.number, SUNNY, TextForm.RESULT)
    assert isinstance(sent, Sent)
    assert json.loads(sent.line or "")["id"] == 3


def test_an_exchange_is_answered_once() -> None:
    """Whoever comes second is late."""
    session = opened()
    asked = call(session, 3)
    assert isinstance(session.reply(asked.number, SUNNY, TextForm.RESULT), Sent)
    late = session.reply(asked.number, SUNNY, TextForm.RESULT)
    assert isinstance(late, Late)
    assert late.exchange is not None
    assert late.exchange.state is ExchangeState.ANSWERED
    assert isinstance(session.reply(99, SUNNY, TextForm.RESULT), Late)


def test_a_broken_reply_can_be_sent_deliberately() -> None:
    """Send anyway: testing a client with a broken answer is a use."""
    session = opened()
    asked = call(session, 3)
    sent = session.reply(asked.number, '{"content":"sunny"}', TextForm.RESULT, anyway=True)
    assert isinstance(sent, Sent)
    assert sent.deliberate
    assert json.loads(sent.line or "")["result"] == {"content": "sunny"}


def test_after_a_cancel_nothing_is_written() -> None:
    """The late answer is late, and the reason is known."""
    session = opened()
    asked = call(session, 4)
    notice, cancelled = session.receive(line("notifications/cancelled", requestId=4, reason="gone"))
    assert isinstance(notice, NoticeArrived)
    assert isinstance(cancelled, RequestCancelled)
    assert (cancelled.exchange.number, cancelled.reason) == (asked.number, "gone")
    assert isinstance(session.reply(asked.number, SUNNY, TextForm.RESULT, anyway=True), Late)
    assert session.progress(asked.number, 1, "x") is None


@pytest.mark.parametrize("request_id", [99, "4", None, True, {}, 0])
def test_a_cancel_for_nothing_pending_changes_nothing(request_id: object) -> None:
    """Unknown and finished ids are ignored; initialize cannot be cancelled."""
    session = opened()
    call(session, 4)
    events = session.receive(line("notifications/cancelled", requestId=request_id))
    assert [type(event) for event in events] == [NoticeArrived]
    assert len(session.pending) == 1


def test_initialize_cannot_be_cancelled() -> None:
    """A TypeScript client sends a cancel for it all the same."""
    session = McpSession()
    arrived(session, "initialize", 0, protocolVersion="2025-11-25")
    session.receive(line("notifications/cancelled", requestId=0))
    assert len(session.pending) == 1


def test_an_id_that_is_still_open_is_flagged_and_kept_apart() -> None:
    """Both stay separate items; the warning stands beside the second."""
    session = opened()
    first, second = call(session, 5), call(session, 5)
    assert "N10" not in {one.code for one in first.remarks}
    assert "N10" in {one.code for one in second.remarks}
    session.receive(line("notifications/cancelled", requestId=5))
    assert session.pending == (first,)


def test_of_two_requests_with_one_id_the_first_answer_wins() -> None:
    """The other one ends, and says why."""
    session = opened()
    first, second = call(session, 8), call(session, 8)
    outcome = session.reply(second.number, "sunny", TextForm.TEXT)
    assert isinstance(outcome, Sent)
    assert [one.number for one in outcome.superseded] == [first.number]
    assert session.pending == ()
    late = session.reply(first.number, "rainy", TextForm.TEXT)
    assert late == Late(session.exchanges[first.number])
    assert session.exchanges[first.number].state is ExchangeState.ABANDONED


def test_a_batch_does_not_wait_for_a_request_whose_id_was_taken() -> None:
    """The array goes out without it."""
    session = opened("2025-03-26")
    session.receive(batch(line("tools/call", 1, name="t"), line("ping", 2)))
    alone = call(session, 1)
    inside, ping = session.pending[0], session.pending[1]
    assert isinstance(session.reply(ping.number, "{}", TextForm.RESULT), Sent)
    outcome = session.reply(alone.number, "sunny", TextForm.TEXT)
    assert isinstance(outcome, Sent)
    assert [one.number for one in outcome.superseded] == [inside.number]
    freed = outcome.completed_batches
    assert [(json.loads(one.line)[0]["id"], one.number) for one in freed] == [(2, inside.batch)]


def test_a_request_with_a_twin_is_not_held() -> None:
    """The hold is an answer, too: an id has only one (2026-07-28)."""
    session = McpSession()
    asked = call(session, 1, _meta=MODERN)
    call(session, 1, _meta=MODERN)
    assert session.ask_to_retry(asked.number, "token") is None


@pytest.mark.parametrize("bad", [b"hello", b"\xff", b"{}", b"42", b"[]", b'[{"method":"n"}]'])
def test_an_unreadable_line_is_an_event_and_nothing_is_written(bad: bytes) -> None:
    """Shown as unreadable, the server stays up; a batch is one outside of 2025-03-26."""
    session = opened()
    (event,) = session.receive(bad)
    assert isinstance(event, UnreadableArrived)
    assert session.unreadable == 1
    assert session.pending == ()


def test_a_deliberate_parse_error_may_be_sent_for_an_unreadable_line() -> None:
    """Id null, because nobody knows which request it was."""
    text = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'
    session = opened()
    assert session.submit(text).line is None
    session.receive(b"hello")
    assert session.submit(text).line == text


def test_each_unreadable_line_may_be_reported_once() -> None:
    """One line, one report; a second one would answer nothing. Send anyway still can."""
    text = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'
    session = opened()
    session.receive(b"hello")
    session.receive(b"[")
    assert [session.submit(text).line for _ in range(3)] == [text, text, None]
    (diagnostic,) = session.judge(text).diagnostics
    assert diagnostic.code == "R34"
    assert session.submit(text, anyway=True).forced == text
    session.receive(b"again")
    assert session.submit(text).line == text
    session.receive(b'{"jsonrpc":"2.0","id":7,"method":5}')
    named = text.replace("null", "7").replace("-32700", "-32600")
    assert session.submit(named).line == named
    assert session.submit(text).line is None


@pytest.mark.parametrize("token", ["77", '"a"', "0"])
def test_an_invalid_request_may_be_told_so_once_and_only_by_a_person(token: str) -> None:
    """JSON with a readable id, but no request: -32600 with that id."""
    error = (
        f'{{"jsonrpc":"2.0","id":{token},"error":{{"code":-32600,"message":"Invalid Request"}}}}'
    )
    session = opened()
    assert session.submit(error).line is None
    (event,) = session.receive(f'{{"jsonrpc":"2.0","id":{token},"method":5}}'.encode())
    assert isinstance(event, UnreadableArrived)
    assert session.submit(error.replace(token, "99", 1)).line is None
    assert session.submit(error.replace("-32600", '"-32600"')).line is None
    assert session.submit(error).line == error
    assert session.submit(error).line is None


# -- batches ------------------------------------------------------------------------------------


def batch(*lines: bytes) -> bytes:
    """Put messages into one array."""
    return b"[" + b",".join(lines) + b"]"


def test_the_answers_of_a_batch_go_out_as_one_array() -> None:
    """2025-03-26: MUST receive; answers as one array, in the order in which they were given."""
    session = opened("2025-03-26")
    events = session.receive(
        batch(line("ping", 1), line("notifications/initialized"), line("ping", 2))
    )
    first, second = (event.exchange for event in events if isinstance(event, RequestArrived))
    held_back = session.reply(second.number, "{}", TextForm.RESULT)
    assert isinstance(held_back, Sent)
    assert held_back.line is None
    assert json.loads(held_back.own) == {"jsonrpc": "2.0", "id": 2, "result": {}}
    complete = session.reply(first.number, "{}", TextForm.RESULT)
    assert isinstance(complete, Sent)
    assert [one["id"] for one in json.loads(complete.line or "")] == [2, 1]


def test_a_cancelled_request_is_left_out_of_the_array() -> None:
    """What is answered goes out once nothing is waited for any more."""
    session = opened("2025-03-26")
    events = session.receive(batch(line("ping", 1), line("ping", 2)))
    first = next(event.exchange for event in events if isinstance(event, RequestArrived))
    session.reply(first.number, "{}", TextForm.RESULT)
    *_, ready = session.receive(line("notifications/cancelled", requestId=2))
    assert isinstance(ready, LineReady)
    assert [one["id"] for one in json.loads(ready.line)] == [1]


def test_a_batch_without_requests_is_never_answered() -> None:
    """JSON-RPC 2.0, section 6: no empty array."""
    session = opened("2025-03-26")
    events = session.receive(batch(line("notifications/initialized"), b"42"))
    assert [type(event) for event in events] == [NoticeArrived, UnreadableArrived]


def test_a_batch_of_more_than_a_hundred_messages_is_not_read() -> None:
    """All of an array is taken in at once, and others wait for so long."""
    session = opened("2025-03-26")
    assert len(session.receive(batch(*[line("ping", at) for at in range(100)]))) == 100
    (event,) = session.receive(batch(*[line("ping", at) for at in range(101)]))
    assert isinstance(event, UnreadableArrived)
    assert event.malformed.why is Flaw.LONG_BATCH


def test_two_batches_do_not_mix() -> None:
    """Each array has its own answers."""
    session = opened("2025-03-26")
    one = session.receive(batch(line("ping", 1)))
    two = session.receive(batch(line("ping", 2)))
    for events, id_ in ((two, 2), (one, 1)):
        (event,) = events
        assert isinstance(event, RequestArrived)
        sent = session.reply(event.exchange.number, "{}", TextForm.RESULT)
        assert isinstance(sent, Sent)
        assert [answer["id"] for answer in json.loads(sent.line or "")] == [id_]


# -- what is learned ----------------------------------------------------------------------------


def test_a_session_learns_who_the_client_is_and_what_was_offered() -> None:
    """The check needs it: capabilities, tools, initialized."""
    session = opened()
    known = session.negotiated
    assert (known.client_name, known.client_version) == ("client", "7")
    assert known.client_capabilities == {"roots": {}}
    assert known.server_capabilities == {"tools": {}}
    assert known.initialized


def test_the_tools_of_all_pages_are_known() -> None:
    """A request with a cursor adds, one without starts anew."""
    session = opened()

    def answer(cursor: dict[str, str], name: str) -> None:
        asked = arrived(session, "tools/list", f"l{name}", **cursor)
        tools = {"tools": [{"name": name, "inputSchema": {"type": "object"}}]}
        assert isinstance(session.reply(asked.number, json.dumps(tools), TextForm.RESULT), Sent)

    answer({}, "a")
    answer({"cursor": "2"}, "b")
    assert set(session.negotiated.tools or {}) == {"a", "b"}
    answer({}, "c")
    assert set(session.negotiated.tools or {}) == {"c"}


def test_a_modern_client_is_known_from_its_envelope() -> None:
    """2026-07-28: name and capabilities stand in each request."""
    session = McpSession()
    call(session, 1, _meta={**MODERN, "io.modelcontextprotocol/clientCapabilities": {"roots": {}}})
    assert session.negotiated.client_name == "c"
    assert session.negotiated.client_capabilities == {"roots": {}}


# -- keeping a client waiting -------------------------------------------------------------------


@pytest.mark.parametrize("token", ['"t"', "0", "9007199254740993", '"\\u0061"'])
def test_progress_echoes_the_token_as_it_came(token: str) -> None:
    """Text or number, 0 included, byte for byte."""
    session = opened()
    params = f'{{"name":"t","_meta":{{"progressToken": {token} }}}}'
    raw = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'
    (event,) = session.receive(raw.encode())
    assert isinstance(event, RequestArrived)
    said = session.progress(event.exchange.number, 2, "Waiting") or ""
    assert f'"progressToken":{token},"progress":2,"message":"Waiting"' in said
    assert isinstance(session.reply(event.exchange.number, SUNNY, TextForm.RESULT), Sent)
    assert session.progress(event.exchange.number, 3, "Waiting") is None


def test_the_oldest_version_has_no_message_in_progress() -> None:
    """`message` came with 2025-03-26."""
    session = opened("2024-11-05")
    asked = call(session, 1, _meta={"progressToken": 1})
    assert "message" not in (session.progress(asked.number, 1, "Waiting") or "message")


def test_without_a_usable_token_there_is_no_progress() -> None:
    """MUST only reference tokens that were given."""
    session = opened()
    for meta in ({}, {"progressToken": None}, {"progressToken": 1.5}, {"progressToken": True}):
        asked = call(session, f"{meta}", _meta=meta)
        assert session.progress(asked.number, 1, "Waiting") is None


def test_a_held_request_comes_back_as_the_same_exchange() -> None:
    """input_required with requestState only; the repeat has a new id."""
    session = McpSession()
    asked = call(session, 1, _meta=MODERN)
    held = json.loads(session.ask_to_retry(asked.number, "secret") or "")
    assert held == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"resultType": "input_required", "requestState": "secret"},
    }
    assert session.ask_to_retry(asked.number, "again") is None
    assert isinstance(session.reply(asked.number, SUNNY, TextForm.RESULT), AwaitingRetry)
    (event,) = session.receive(
        line("tools/call", 2, name="t", arguments={}, requestState="secret", _meta=MODERN)
    )
    assert isinstance(event, RequestRepeated)
    assert event.exchange.number == asked.number
    assert (event.exchange.id.token, event.exchange.attempts) == ("2", 1)
    sent = session.reply(asked.number, "sunny", TextForm.TEXT)
    assert isinstance(sent, Sent)
    assert json.loads(sent.line or "")["id"] == 2


def test_only_modern_calls_can_be_held() -> None:
    """In a 2025 session every client fails on input_required."""
    assert opened().ask_to_retry(1, "x") is None
    session = opened()
    assert session.ask_to_retry(call(session, 1).number, "x") is None
    modern = McpSession()
    assert modern.ask_to_retry(arrived(modern, "tools/list", 1, _meta=MODERN).number, "x") is None


def test_a_client_that_does_not_repeat_is_given_up() -> None:
    """The exchange is abandoned; only a parked one can be."""
    session = McpSession()
    asked = call(session, 1, _meta=MODERN)
    assert session.went_quiet(asked.number) is None
    session.ask_to_retry(asked.number, "secret")
    quiet = session.went_quiet(asked.number)
    assert quiet is not None
    assert quiet.state is ExchangeState.ABANDONED


def test_an_answer_to_a_question_back_names_the_exchange_it_continues() -> None:
    """The bridge ties old and new id together by requestState."""
    session = McpSession()
    meta = {**MODERN, "io.modelcontextprotocol/clientCapabilities": {"roots": {}}}
    asked = call(session, 1, _meta=meta)
    question = {
        "resultType": "input_required",
        "inputRequests": {"r": {"method": "roots/list"}},
        "requestState": "q1",
    }
    assert isinstance(session.reply(asked.number, json.dumps(question), TextForm.RESULT), Sent)
    again = call(session, 2, requestState="q1", inputResponses={"r": {"roots": []}}, _meta=meta)
    assert again.continues == asked.number
    assert again.number != asked.number


def test_a_subscription_is_acknowledged_with_what_is_offered() -> None:
    """The honoured subset, with the request's id in its JSON type."""
    session = McpSession()
    discover = arrived(session, "server/discover", 0, _meta=MODERN)
    result = {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {"listChanged": True}},
        "ttlMs": 0,
        "cacheScope": "private",
    }
    assert isinstance(session.reply(discover.number, json.dumps(result), TextForm.RESULT), Sent)
    wanted = {"toolsListChanged": True, "promptsListChanged": True}
    asked = arrived(session, "subscriptions/listen", "s-1", notifications=wanted, _meta=MODERN)
    said = json.loads(session.acknowledge(asked.number) or "")
    assert said["method"] == "notifications/subscriptions/acknowledged"
    assert said["params"]["notifications"] == {"toolsListChanged": True}
    assert said["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "s-1"}
    assert session.acknowledge(discover.number) is None


def test_a_subscription_to_tasks_is_acknowledged_with_their_ids() -> None:
    """MCP: "the server includes the list of task IDs it has agreed to send" for; if declared."""
    session = McpSession()
    capabilities: Any = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    declared = {**MODERN, "io.modelcontextprotocol/clientCapabilities": capabilities}
    for number, (meta, honoured) in enumerate(((declared, {"taskIds": ["a"]}), (MODERN, {}))):
        wanted = {"taskIds": ["a"]}
        asked = arrived(session, "subscriptions/listen", number, notifications=wanted, _meta=meta)
        said = json.loads(session.acknowledge(asked.number) or "")
        assert said["params"]["notifications"] == honoured
        assert not asked.remarks


def test_each_subscription_hears_that_a_list_it_asked_for_changed() -> None:
    """2026-07-28: on the subscription, by its id; of what is offered and asked for alone."""
    session = McpSession()
    meta = {"_meta": MODERN}
    arrived(
        session, "subscriptions/listen", "s-1", notifications={"toolsListChanged": True}, **meta
    )
    assert session.list_changed("tools") == ()  # it was never offered
    session.negotiated = session.negotiated._replace(
        server_capabilities={"tools": {"listChanged": True}, "prompts": {}}
    )
    (line,) = session.list_changed("tools")
    assert session.judge(line).sendable
    assert json.loads(line)["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "s-1"}
    assert session.list_changed("prompts") == ()


def test_a_client_with_a_handshake_hears_it_once_it_is_ready() -> None:
    """The rule: "before `initialized` a server should send nothing but pings and logs"."""
    session = opened()
    session.negotiated = session.negotiated._replace(
        server_capabilities={"tools": {}}, initialized=False
    )
    assert session.list_changed("tools") == ()
    session.negotiated = session.negotiated._replace(initialized=True)
    (line,) = session.list_changed("tools")
    assert json.loads(line) == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    assert session.judge(line).sendable
    assert session.list_changed("resources") == ()


def test_a_resource_that_changed_is_told_to_who_subscribed_to_it() -> None:
    """With a handshake: to a client that asked for it and was answered, until it is enough."""
    session = opened()
    session.negotiated = session.negotiated._replace(
        server_capabilities={"resources": {"subscribe": True}}
    )

    def follow(method: str, number: int) -> None:
        asked = arrived(session, method, number, uri="file:///a")
        assert isinstance(session.reply(asked.number, "{}", TextForm.RESULT), Sent)

    assert session.resource_updated("file:///a") == ()
    follow("resources/subscribe", 1)
    (told,) = session.resource_updated("file:///a")
    assert json.loads(told) == {
        "jsonrpc": "2.0",
        "method": "notifications/resources/updated",
        "params": {"uri": "file:///a"},
    }
    assert session.resource_updated("file:///b") == ()
    follow("resources/unsubscribe", 2)
    assert session.resource_updated("file:///a") == ()


def test_a_subscription_hears_of_the_resources_that_it_named() -> None:
    """2026-07-28: each by its own id, and none of another resource."""
    session = McpSession()
    for number, resources in enumerate((["file:///a"], ["file:///b"], "file:///a"), 1):
        wanted = {"resourceSubscriptions": resources}
        arrived(session, "subscriptions/listen", number, notifications=wanted, _meta=MODERN)
    arrived(session, "subscriptions/listen", 4, _meta=MODERN)
    call(session, 5, _meta=MODERN)
    (told,) = session.resource_updated("file:///a")
    assert json.loads(told)["params"] == {
        "_meta": {"io.modelcontextprotocol/subscriptionId": 1},
        "uri": "file:///a",
    }


def test_what_the_server_offers_counts_for_a_client_that_did_not_ask() -> None:
    """2026-07-28: `server/discover` may be left out; what is not wanted is not honoured."""
    session = McpSession()
    session.book_capabilities = {"resources": {}, "tools": {}}
    wanted = {"resourceSubscriptions": ["a"], "toolsListChanged": False, "other": True}
    asked = arrived(session, "subscriptions/listen", 1, notifications=wanted, _meta=MODERN)
    said = json.loads(session.acknowledge(asked.number) or "")
    assert said["params"]["notifications"] == {"resourceSubscriptions": ["a"]}
    silent = arrived(session, "subscriptions/listen", 2, _meta=MODERN)
    said = json.loads(session.acknowledge(silent.number) or "")
    assert said["params"]["notifications"] == {}
    assert session.acknowledge(9) is None


def test_a_client_that_went_on_without_an_answer_gets_none() -> None:
    """2026-07-28: who falls back to `initialize` drops an answer to `server/discover`."""
    session = McpSession()
    probe = arrived(session, "server/discover", 1, _meta=MODERN)
    other = call(session, 2, _meta=MODERN)
    superseded, event = session.receive(line("initialize", 3, protocolVersion="2025-11-25"))
    assert isinstance(superseded, RequestSuperseded)
    assert superseded.exchange.number == probe.number
    assert isinstance(event, RequestArrived)
    assert session.pending == (other, event.exchange)


@pytest.mark.parametrize("number", [0, 7])
def test_what_was_never_asked_can_be_neither_held_nor_ended(number: int) -> None:
    """Whatever calls it: a transcript that goes on, a page that was open too long."""
    session = opened()
    session.held(number, "secret")
    assert session.cancelled(number) == ()
    assert session.went_quiet(number) is None
    assert not session.reports_progress(number)
    assert session.reply_with_line(number, "{}") == Late(None)


def test_a_request_whose_stream_was_cut_may_come_again_under_another_id() -> None:
    """2026-07-28 has no way to resume it: the same parameters are the same request."""
    session = McpSession()
    asked = call(session, 1, _meta=MODERN)
    session.held(asked.number, CUT)
    assert session.exchanges[asked.number].attempts == 0
    (other,) = session.receive(line("tools/call", 2, name="u", arguments={}, _meta=MODERN))
    assert isinstance(other, RequestArrived)
    again = {"name": "t", "arguments": {}, "_meta": {**MODERN, "more": 1}}
    (event,) = session.receive(line("tools/call", 3, **again))
    assert isinstance(event, RequestRepeated)
    assert (event.exchange.number, event.exchange.id.token) == (asked.number, "3")
    assert event.exchange.awaiting_retry == ""


def test_another_method_with_the_state_of_a_held_request_is_no_repeat() -> None:
    """Nor is the same method with another state."""
    session = McpSession()
    asked = call(session, 1, _meta=MODERN)
    session.held(asked.number, "secret")
    assert session.exchanges[asked.number].attempts == 1
    assert session.repeated_by(asked.request) is None
    for method, state in (("prompts/get", "secret"), ("tools/call", "other")):
        message = read(line(method, 2, name="t", requestState=state, _meta=MODERN))
        assert isinstance(message, Message)
        assert session.repeated_by(message) is None


def test_a_request_is_cancelled_however_the_client_said_so() -> None:
    """Over HTTP it closes the stream. What is over is not cancelled again."""
    session = opened()
    asked = call(session, 1)
    (event,) = session.cancelled(asked.number)
    assert isinstance(event, RequestCancelled)
    assert (event.exchange.state, event.reason) == (ExchangeState.CANCELLED, "")
    assert session.cancelled(asked.number) == ()
    assert session.pending == ()


@pytest.mark.parametrize("deliberate", [True, False])
def test_a_line_is_sent_as_it_is(deliberate: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Right or wrong: a server sent it so, once or now."""
    session = opened()
    sent = session.reply_with_line(call(session, 1).number, "not even json", deliberate=deliberate)
    assert isinstance(sent, Sent)
    assert (sent.line, sent.deliberate) == ("not even json", deliberate)
    assert session.pending == ()


def test_a_line_of_our_own_belongs_to_the_request_that_it_names() -> None:
    """Over HTTP it goes out where the answer will."""
    session = opened()
    asked = call(session, 1, _meta={"progressToken": "p"})
    other = call(session, 2)
    report = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p"}}'
    assert session.related_to(report) == asked.number
    question = '{"jsonrpc":"2.0","id":1,"method":"roots/list"}'
    assert session.related_to(question) == other.number
    assert session.related_to("printed") == 0
    assert opened().related_to(question) == 0


def test_who_reports_progress_by_hand_goes_on_from_there() -> None:
    """MCP, progress: "The `progress` value MUST increase with each notification"."""
    session = opened()
    asked = call(session, 1, _meta={"progressToken": "p"})
    assert not session.reports_progress(asked.number)
    params = {"progressToken": "p", "progress": 4.5}
    notice = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    assert session.submit(json.dumps(notice)).sendable
    assert session.reports_progress(asked.number)
    said = json.loads(session.progress(asked.number, 2, "m") or "")
    assert said["params"]["progress"] == 5
    assert json.loads(session.progress(asked.number, 9, "m") or "")["params"]["progress"] == 9


def test_what_is_refused_is_said_only_anyway() -> None:
    """And only what was said can be waited for."""
    session = opened()
    wrong = '{"jsonrpc":"2.0","id":1,"method":"no/such"}'
    assert not session.submit(wrong).sendable
    assert not session.awaited
    session.submit(wrong, anyway=True)
    assert [one.method for one in session.awaited] == ["no/such"]


def test_a_client_gives_up_on_its_own_request_once() -> None:
    """And never with a line on `initialize`: MCP forbids it."""
    session = McpSession(Party.CLIENT, first_id=5)
    asked = session.ask("tools/list")
    assert asked.body == {"jsonrpc": "2.0", "id": 5, "method": "tools/list"}
    said = session.give_up(asked, "too slow")
    assert json.loads(said or "") == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 5, "reason": "too slow"},
    }
    assert session.give_up(asked) is None
    hello = session.ask("initialize", {}, "i")
    assert session.give_up(hello) is None
    assert not session.awaited


def test_a_saying_towards_a_server_is_remarked_and_never_blocked() -> None:
    """A client may try what it likes; a server has to cope."""
    session = McpSession(Party.CLIENT)
    verdict = session.judge('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}')
    assert verdict.line == verdict.forced
    assert verdict.diagnostics
    assert session.judge("{").line is None


def test_the_end_abandons_what_waits() -> None:
    """Nothing is written for it."""
    session = opened()
    asked = call(session, 1)
    (ended,) = session.end()
    assert (ended.number, ended.state) == (asked.number, ExchangeState.ABANDONED)
    assert isinstance(session.reply(asked.number, SUNNY, TextForm.RESULT), Late)


# -- the other seat ------------------------------------------------------------------------------


def test_swapped_answers_find_their_own_requests() -> None:
    """Two requests in flight are never mixed up."""
    client = McpSession(Party.CLIENT)
    client.ask("tools/list")
    client.ask("prompts/list", id="p")
    (second,) = client.receive(b'{"jsonrpc":"2.0","id":"p","result":{"prompts":[]}}')
    (first,) = client.receive(b'{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}')
    assert isinstance(first, ResponseArrived)
    assert isinstance(second, ResponseArrived)
    assert first.request is not None
    assert second.request is not None
    assert (first.request.method, second.request.method) == ("tools/list", "prompts/list")


def test_an_answer_to_nothing_and_an_error_without_id_are_shown_and_harmless() -> None:
    """Codex and Copilot send an error without id to a server."""
    session = opened()
    for raw in (
        b'{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid request"}}',
        b'{"jsonrpc":"2.0","id":42,"result":{}}',
    ):
        (event,) = session.receive(raw)
        assert isinstance(event, ResponseArrived)
        assert event.request is None


def test_the_server_seat_may_ask_what_the_client_offers() -> None:
    """roots/list goes out, its answer comes back to it; the other seat sees a request."""
    session = opened()
    verdict = session.submit('{"jsonrpc":"2.0","id":"h-1","method":"roots/list"}')
    assert verdict.line is not None
    assert [one.method for one in session.awaited] == ["roots/list"]
    client = McpSession(Party.CLIENT)
    (asked,) = client.receive(verdict.line.encode())
    assert isinstance(asked, RequestArrived)
    (event,) = session.receive(b'{"jsonrpc":"2.0","id":"h-1","result":{"roots":[]}}')
    assert isinstance(event, ResponseArrived)
    assert event.request is not None
    assert event.message.kind is Kind.RESULT


# -- any order -----------------------------------------------------------------------------------

steps = st.lists(
    st.tuples(
        st.sampled_from(["arrive", "answer", "broken", "anyway", "cancel", "noise"]),
        st.integers(0, 4),
    ),
    max_size=40,
)


@given(steps)
def test_in_any_order_each_request_is_answered_at_most_once(
    plan: list[tuple[str, int]],
) -> None:
    """Arrivals, answers, cancels in any order: one answer each, none after a cancel."""
    session = opened()
    written: list[int] = []
    cancelled: set[int] = set()
    for count, (what, which) in enumerate(plan):
        pending = session.pending
        chosen = pending[which % len(pending)] if pending else None
        match what:
            case "arrive":
                call(session, f"r{count}")
            case "noise":
                session.receive(b"noise")
            case "cancel" if chosen is not None:
                session.receive(line("notifications/cancelled", requestId=chosen.id.value))
                cancelled.add(chosen.number)
            case "answer" | "broken" | "anyway":
                number = chosen.number if chosen is not None else which
                text = SUNNY if what == "answer" else "{broken"
                outcome = session.reply(number, text, TextForm.RESULT, anyway=what == "anyway")
                if isinstance(outcome, Sent):
                    written.append(number)
            case _:
                pass
    assert len(written) == len(set(written))
    assert not cancelled & set(written)
    left = {one.number for one in session.pending}
    assert not left & (cancelled | set(written))


def test_an_error_may_answer_a_message_that_is_none_by_its_id() -> None:
    """Once; nothing sends one by itself."""
    session = McpSession()
    session.receive(b'{"jsonrpc":"2.0","id":3}')
    assert session.may_report(RequestId("3", 3))
    assert not session.may_report(RequestId("4", 4))
    assert not session.may_report(None)
    session.remember('{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"no"}}')
    assert not session.may_report(RequestId("3", 3))


def test_what_keeps_a_client_waiting_is_written_in_one_way() -> None:
    """Whole lines: the id and the token as the client wrote them."""
    session = McpSession()
    raw = (
        '{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"t","_meta":'
        '{"progressToken":"\\u0061","io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}'
    )
    (event,) = session.receive(raw.encode())
    assert isinstance(event, RequestArrived)
    number = event.exchange.number
    params = '{"progressToken":"\\u0061","progress":1,"message":"é\\""}'
    method = '{"jsonrpc":"2.0","method":"notifications/progress","params":'
    assert session.progress(number, 1, 'é"') == f"{method}{params}}}"
    assert session.progress(99, 1, "") is None
    result = '{"resultType":"input_required","requestState":"s"}'
    assert session.ask_to_retry(number, "s") == f'{{"jsonrpc":"2.0","id":1.0,"result":{result}}}'
    assert session.progress(number, 2, "") is None
    assert session.ask_to_retry(99, "s") is None


@pytest.mark.parametrize(
    ("asked", "reason", "params"),
    [
        (RequestId("7", 7), "", '{"requestId":7}'),
        (RequestId('"a"', "a"), "é", '{"requestId":"a","reason":"é"}'),
    ],
)
def test_a_cancellation_names_the_request_and_perhaps_a_reason(
    asked: RequestId, reason: str, params: str
) -> None:
    """Whole."""
    line_ = f'{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}'
    assert cancellation(asked, reason) == line_


def test_our_own_requests_are_numbered_and_written() -> None:
    """From the first number on; an id that is given leaves the count as it is."""
    session = McpSession(Party.CLIENT, first_id=3)
    asked = (session.ask("a"), session.ask("a", {}, "x"), session.ask("é", {"b": 1}))
    assert [one.raw for one in asked] == [
        '{"jsonrpc":"2.0","id":3,"method":"a"}',
        '{"jsonrpc":"2.0","id":"x","method":"a","params":{}}',
        '{"jsonrpc":"2.0","id":4,"method":"é","params":{"b":1}}',
    ]
    assert [one.method for one in session.awaited] == ["a", "a", "é"]
    assert McpSession(Party.CLIENT).new_id() == 1


def test_a_session_says_what_its_last_message_was_and_which_version_it_has() -> None:
    """Agreed by both, or the latest."""
    session = McpSession()
    assert (session.version, session.agreed, session.notice) == ("2025-11-25", "", "")
    session.receive(line("notifications/x"))
    assert session.notice == "notifications/x"
    call(session, 1)
    assert session.notice == ""
    call(session, 2, _meta=MODERN)
    assert (session.version, session.agreed) == ("2026-07-28", "2026-07-28")


@pytest.mark.parametrize(
    ("params", "reason"),
    [({"reason": "late"}, "late"), ({}, ""), ({"reason": 7}, ""), ({"reason": None}, "")],
)
def test_a_cancellation_has_its_reason_where_it_is_a_text(
    params: dict[str, Any], reason: str
) -> None:
    """The notification itself comes before it."""
    session = opened()
    asked = call(session, 1)
    notice, event = session.receive(line("notifications/cancelled", requestId=1, **params))
    assert isinstance(notice, NoticeArrived)
    assert isinstance(event, RequestCancelled)
    assert (event.exchange.number, event.reason) == (asked.number, reason)


def test_unreadable_lines_are_counted_down_to_none() -> None:
    """Each gets one error; an error for no reason counts nothing."""
    session = opened()
    error = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}'
    session.remember(error)
    assert session.unreadable == 0
    for _ in range(2):
        session.receive(b"{")
    session.remember('{"jsonrpc":"2.0","method":"notifications/x"}')
    session.remember("{")
    assert session.unreadable == 2
    session.remember(error)
    assert session.unreadable == 1


def test_a_reply_may_park_its_request() -> None:
    """A person goes on with it; its client has its answer."""
    session = opened()
    asked = call(session, 1)
    sent = session.reply(asked.number, SUNNY, TextForm.RESULT, parks=True)
    assert isinstance(sent, Sent)
    assert (sent.exchange.stage, sent.deliberate, sent.superseded, sent.completed_batches) == (
        Stage.PARKED, False, (), (),
    )  # fmt: skip
    assert sent.line == sent.own == f'{{"jsonrpc":"2.0","id":1,"result":{SUNNY}}}'
    done = session.reply(call(session, 2).number, SUNNY, TextForm.RESULT)
    assert isinstance(done, Sent)
    assert done.exchange.stage is Stage.ANSWERED


@pytest.mark.parametrize(
    ("wanted", "tools", "resource"),
    [
        ({"toolsListChanged": True}, 1, 0),
        ({"toolsListChanged": 1}, 0, 0),
        ({"resourceSubscriptions": ["u"]}, 0, 1),
        ({"resourceSubscriptions": "u"}, 0, 0),
        ({"uListChanged": True}, 0, 1),
        (None, 0, 0),
    ],
)
def test_a_subscription_hears_what_it_wants(wanted: object, tools: int, resource: int) -> None:
    """In whole lines, by its own id."""
    session = McpSession()
    session.book_capabilities = {"tools": {}}
    arrived(session, "subscriptions/listen", "s", notifications=wanted, _meta=MODERN)
    meta = '"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}'
    head = '{"jsonrpc":"2.0","method":"notifications/'
    listed = f'{head}tools/list_changed","params":{{{meta}}}}}'
    updated = f'{head}resources/updated","params":{{{meta},"uri":"u"}}}}'
    assert session.list_changed("tools") == (listed,) * tools
    assert session.resource_updated("u") == (updated,) * resource

"""How a client that cannot wait asks for its answer later."""

from __future__ import annotations

import json
from typing import Any

import pytest

from humanmcp.protocol.answer_book.book_format import parse
from humanmcp.protocol.conversation import parking, questions
from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
from humanmcp.protocol.conversation.parking import ParkedCall
from humanmcp.protocol.conversation.tickets import ParkedAs, Ticket, asked_ticket
from humanmcp.protocol.conversation.timeouts import TimeoutPlan
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.validation import check
from tests.support.verdicts import asked, stating

TASKS: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
CREATED = "2026-11-20T18:49:07.123Z"
LATER = "2026-11-20T20:49:07.123Z"
TOKEN = str(Ticket("20261120T184907Z-0001", 3, "s3cret"))
OLD, NEW = "2025-11-25", "2026-07-28"
ANSWERS = {
    OLD: '{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"n":1e5}}}',
    NEW: '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[],"n":1e5}}',
}
ERROR = '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}'


def of(version: str, method: str, **params: Any) -> Exchange:  # noqa: ANN401 - JSON
    """Make a request of a client that declares tasks."""
    if version == NEW:
        params["_meta"] = stating(TASKS)
    return asked(method, params, version=version)


def call_of(parked_as: ParkedAs = ParkedAs.TASK, **known: Any) -> ParkedCall:  # noqa: ANN401 - fields
    """Make a parked call."""
    return ParkedCall(TOKEN, parked_as, CREATED, LATER, **known)


def passes(exchange: Exchange, text: str, form: TextForm = TextForm.RESULT) -> bool:
    """Return True if the check has nothing at all to say."""
    return check.check(exchange, text, form, NegotiatedState()).diagnostics == ()


PLAN = TimeoutPlan(None, "unknown", "", "no-token")


@pytest.mark.parametrize(
    ("exchange", "has_tool", "wanted"),
    [
        (of(NEW, "tools/call", name="deploy"), True, ParkedAs.TASK),
        (asked("tools/call", {"_meta": stating()}, version=NEW), True, ParkedAs.TICKET),
        (asked("tools/call", {"_meta": stating()}, version=NEW), False, None),
        (of(OLD, "tools/call", name="deploy", task={"ttl": 60000}), True, ParkedAs.TASK),
        (of(OLD, "tools/call", name="deploy"), True, ParkedAs.TICKET),
        (of("2025-06-18", "tools/call", name="deploy", task={}), True, ParkedAs.TICKET),
        (of(NEW, "prompts/get", name="greet"), True, None),
        (of(OLD, "tools/call", name="ask_human_result", arguments={"ticket": TOKEN}), True, None),
    ],
)
def test_each_client_gets_the_first_that_it_can_do(
    exchange: Exchange, wanted: ParkedAs | None, *, has_tool: bool
) -> None:
    """A task where tasks are declared or asked for, else a ticket where the tool is offered."""
    assert parking.way_to_park(exchange, has_tool=has_tool) is wanted


@pytest.mark.parametrize(
    ("plan", "wanted"),
    [
        (PLAN, 30.0),
        (PLAN._replace(limit=60.0, source="measured"), 55.0),
        (PLAN._replace(limit=5.0, source="measured"), 4.0),
        (PLAN._replace(limit=60.0, retry_at=55.0, keepalive="retry"), None),
        (PLAN._replace(keepalive="progress"), None),
        (PLAN._replace(source="no-limit"), None),
    ],
)
def test_a_ticket_goes_out_as_late_as_the_client_allows(
    plan: TimeoutPlan, wanted: float | None
) -> None:
    """It costs the model a call, so never while something else keeps the client waiting."""
    exchange = of(OLD, "tools/call", name="deploy")
    assert parking.park_after(exchange, ParkedAs.TICKET, plan, 30.0) == wanted


def test_a_client_of_2025_that_asks_for_a_task_gets_it_at_once() -> None:
    """It waits for nothing else; the client of 2026-07-28 may still get the plain answer."""
    wants = of(OLD, "tools/call", name="deploy", task={})
    assert parking.park_after(wants, ParkedAs.TASK, PLAN, 30.0) == 0
    assert parking.park_after(of(NEW, "tools/call"), ParkedAs.TASK, PLAN, 30.0) == 30


@pytest.mark.parametrize(
    ("version", "parked_as"), [(OLD, ParkedAs.TASK), (NEW, ParkedAs.TASK), (OLD, ParkedAs.TICKET)]
)
def test_what_parks_a_call_passes_the_check(version: str, parked_as: ParkedAs) -> None:
    """Without a warning; the client finds the token in it."""
    exchange = of(version, "tools/call", name="deploy", **({"task": {}} if version == OLD else {}))
    text = parking.parked_response(exchange, call_of(parked_as), NegotiatedState())
    assert passes(exchange, text)
    assert TOKEN in text


def test_a_ticket_for_a_tool_with_an_output_schema_is_an_error_that_the_model_reads() -> None:
    """A client rejects a plain result without `structuredContent`."""
    tool = {"name": "deploy", "outputSchema": {"type": "object"}}
    negotiated = NegotiatedState(tools={"deploy": tool})
    exchange = of(OLD, "tools/call", name="deploy")
    text = parking.parked_response(exchange, call_of(ParkedAs.TICKET), negotiated)
    assert json.loads(text)["isError"] is True
    assert check.check(exchange, text, TextForm.RESULT, negotiated).diagnostics == ()


def test_a_ticket_for_a_tool_that_asks_is_one_of_its_outcomes() -> None:
    """Nothing went wrong: the agent reads that a person is at it, and the ticket as data."""
    tool = {"name": "ask", "outputSchema": questions.OUTCOME}
    negotiated = NegotiatedState(tools={"ask": tool})
    exchange = of(OLD, "tools/call", name="ask")
    text = parking.parked_response(exchange, call_of(ParkedAs.TICKET), negotiated)
    result = json.loads(text)
    assert result["structuredContent"] == {"status": "waiting", "answers": {}, "ticket": TOKEN}
    assert "isError" not in result
    assert check.check(exchange, text, TextForm.RESULT, negotiated).diagnostics == ()


STATES = [
    (OLD, {}, "working"),
    (OLD, {"line": ANSWERS[OLD]}, "completed"),
    (OLD, {"line": ERROR}, "failed"),
    (OLD, {"line": '{"id":1,"result":{"content":[],"isError":true}}'}, "failed"),
    (OLD, {"cancelled": True}, "cancelled"),
    (NEW, {}, "working"),
    (NEW, {"line": ANSWERS[NEW]}, "completed"),
    (NEW, {"line": ERROR}, "failed"),
    (NEW, {"line": '{"id":1,"result":{"content":[],"isError":true}}'}, "completed"),
    (NEW, {"cancelled": True}, "cancelled"),
]


@pytest.mark.parametrize(("version", "known", "status"), STATES)
def test_a_task_says_what_became_of_it(version: str, known: dict[str, Any], status: str) -> None:
    """As each version wants it, and the check finds nothing in it."""
    exchange = of(version, "tasks/get", taskId=TOKEN)
    reply = parking.reply_to(exchange, call_of(**known))
    assert reply is not None
    form, text = reply
    assert json.loads(text)["status"] == status
    assert passes(exchange, text, form)


def test_the_answer_in_a_task_is_the_persons_text() -> None:
    """Numbers as they were typed."""
    reply = parking.reply_to(of(NEW, "tasks/get", taskId=TOKEN), call_of(line=ANSWERS[NEW]))
    assert reply is not None
    assert '"result":{"resultType":"complete","content":[],"n":1e5}' in reply[1]


def test_a_status_message_reaches_the_model() -> None:
    """In the task, and in what `ask_human_result` says meanwhile."""
    call = call_of(status="Anna looks at it")
    reply = parking.reply_to(of(OLD, "tasks/get", taskId=TOKEN), call)
    assert reply is not None
    assert json.loads(reply[1])["statusMessage"] == "Anna looks at it"
    asks = of(OLD, "tools/call", name="ask_human_result", arguments={"ticket": TOKEN})
    assert "Anna looks at it" in parking.still_waiting(asks, call)
    assert passes(asks, parking.still_waiting(asks, call))


@pytest.mark.parametrize(
    "result", ["{}", '{"content":[]}', '{"_meta":{},"a":1e5}', '{"_meta":{"b":1} , "a":1e5}']
)
def test_the_result_of_a_task_says_which_task_it_is_of(result: str) -> None:
    """Its `_meta` gets a member more, and nothing else of the text changes."""
    line = f'{{"jsonrpc":"2.0","id":1,"result":{result}}}'
    reply = parking.reply_to(of(OLD, "tasks/result", taskId=TOKEN), call_of(line=line))
    assert reply is not None
    found, before = json.loads(reply[1]), json.loads(result)
    related = {"io.modelcontextprotocol/related-task": {"taskId": TOKEN}}
    assert found == {**before, "_meta": {**before.get("_meta", {}), **related}}
    assert ("1e5" in reply[1]) is ("1e5" in result)


def test_a_result_is_waited_for() -> None:
    """`tasks/result` blocks until there is one; a person's error is the error."""
    exchange = of(OLD, "tasks/result", taskId=TOKEN)
    assert parking.reply_to(exchange, call_of()) is None
    assert parking.reply_to(exchange, call_of(line=ERROR)) == (
        TextForm.ERROR,
        '{"code":1,"message":"no"}',
    )


def test_a_task_that_is_over_cannot_be_cancelled() -> None:
    """2025-11-25: -32602. In 2026-07-28 every cancel is acknowledged."""
    refused = parking.reply_to(of(OLD, "tasks/cancel", taskId=TOKEN), call_of(line=ERROR))
    assert refused is not None
    assert json.loads(refused[1])["code"] == -32602
    for version in (OLD, NEW):
        exchange = of(version, "tasks/cancel", taskId=TOKEN)
        reply = parking.reply_to(exchange, call_of())
        assert reply is not None
        assert passes(exchange, reply[1], reply[0])


def test_an_update_is_acknowledged() -> None:
    """Nothing is asked of the client of a parked call, so nothing is outstanding."""
    exchange = of(NEW, "tasks/update", taskId=TOKEN, inputResponses={})
    reply = parking.reply_to(exchange, call_of())
    assert reply is not None
    assert passes(exchange, reply[1], reply[0])


def test_an_update_answers_only_the_questions_that_the_task_asks() -> None:
    """Some of them are enough, each as it was written; other keys are ignored."""
    given = {"city": {"content": 1e5}, "other": {}}
    exchange = of(NEW, "tasks/update", taskId=TOKEN, inputResponses=given)
    answered = parking.answered_in(exchange, '{"city":{},"day":{}}')
    assert answered == {"city": '{"content": 100000.0}'}


def test_a_notification_of_a_task_names_its_subscription() -> None:
    """And holds what `tasks/get` would answer."""
    line = parking.changed_task(NEW, call_of(line=ANSWERS[NEW]), '"s"')
    assert check.check_outgoing(line, NEW, NegotiatedState()).diagnostics == ()
    params = json.loads(line)["params"]
    assert params["_meta"] == {"io.modelcontextprotocol/subscriptionId": "s"}
    assert params["result"]["n"] == 1e5


def test_a_ticket_is_read_as_it_was_written() -> None:
    """What is none of ours names nothing."""
    assert str(Ticket.read(TOKEN)) == TOKEN
    for other in (
        "",
        "a",
        "a.b",
        "a.0.c",
        "a.-1.c",
        "a.1.b.c",
        "a.9999999999999.c",
        None,
        7,
        "a.1³.c",
    ):
        assert Ticket.read(other) is None


@pytest.mark.parametrize(
    ("exchange", "is_there"),
    [
        (of(NEW, "tasks/get", taskId=TOKEN), True),
        (of(OLD, "tasks/result", taskId=TOKEN), True),
        (of(OLD, "tasks/list", taskId=TOKEN), True),
        (of(OLD, "tasks/nonsense", taskId=TOKEN), False),
        (of(OLD, "tools/call", name="ask_human_result", arguments={"ticket": TOKEN}), True),
        (of(OLD, "tools/call", name="ask_human_result", arguments={"ticket": "x"}), False),
        (of(OLD, "tools/call", name="other", arguments={"ticket": TOKEN}), False),
        (of(OLD, "prompts/get", name="ask_human_result", arguments={"ticket": TOKEN}), False),
        (of(NEW, "tools/call", name="deploy", requestState=TOKEN), True),
        (of(NEW, "tools/call", name="deploy", requestState=7), False),
        (of(NEW, "tools/list", requestState=TOKEN), False),
        (of(NEW, "tools/call", name="deploy"), False),
    ],
)
def test_a_request_names_its_parked_call(exchange: Exchange, *, is_there: bool) -> None:
    """By the id of its task, by the ticket that the model got, or by the state of its retry."""
    found = asked_ticket(exchange)
    assert found == (Ticket.read(TOKEN) if is_there else None)


def test_a_task_says_how_long_it_is_kept() -> None:
    """Seven days from its beginning."""
    state = json.loads(parking.task_state(NEW, call_of()))
    assert state["ttlMs"] == 7 * 24 * 3600 * 1000


def test_a_book_that_parks_calls_declares_tasks_and_offers_the_tool() -> None:
    """In the way of each protocol version; a book that does not says nothing of either."""
    book = parse({"server": {"park": 30}, "tools": [{"name": "deploy"}]})
    assert book.park == 30
    assert "tasks" in book.declared_capabilities(OLD)
    assert book.declared_capabilities(NEW)["extensions"] == TASKS["extensions"]
    assert "tasks" not in book.declared_capabilities("2025-06-18")
    assert [one["name"] for one in book.listed_tools(NEW)] == ["deploy", "ask_human_result"]
    assert book.listed_tools(OLD)[0]["execution"] == {"taskSupport": "optional"}
    plain = parse({})
    assert "tasks" not in plain.declared_capabilities(OLD)
    assert plain.listed_tools(OLD) == plain.tools


def test_each_question_of_a_task_has_a_key_of_its_own() -> None:
    """A used key gets a number; each question stays as it was written."""
    asks = {"resultType": "input_required", "inputRequests": {"a": {"n": 1.0}, "b": 7}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": asks})
    found = parking.asked_in(line, ('{"a":1}', '{"a-2":0}'))
    assert found == {"a-3": '{"n": 1.0}', "b": "7"}
    assert parking.as_object(found) == '{"a-3":{"n": 1.0},"b":7}'
    assert parking.asked_in(line, ()) == {"a": '{"n": 1.0}', "b": "7"}
    assert parking.asked_in(ANSWERS[NEW], ()) == {}
    assert parking.as_object({}) == ""


def test_a_client_of_2025_is_told_and_can_list_what_became_of_its_tasks() -> None:
    """With the whole state of each."""
    line = parking.status_notice(OLD, call_of(status="soon"))
    assert check.check_outgoing(line, OLD, NegotiatedState()).diagnostics == ()
    said = json.loads(line)
    assert said["method"] == "notifications/tasks/status"
    assert said["params"] == json.loads(parking.task_state(OLD, call_of(status="soon")))
    listed = parking.task_list(OLD, [call_of(), call_of(cancelled=True)])
    assert passes(of(OLD, "tasks/list"), listed)
    assert [one["status"] for one in json.loads(listed)["tasks"]] == ["working", "cancelled"]


@pytest.mark.parametrize(("known", "is_asked"), [({}, True), ({"cancelled": True}, False)])
def test_a_task_that_asks_holds_its_questions_while_it_goes_on(
    known: dict[str, Any], *, is_asked: bool
) -> None:
    """As they were written."""
    asks = '{"a":{"method":"roots/list","n":1.0}}'
    state = parking.task_state(NEW, call_of(asks=asks, **known))
    assert (f',"inputRequests":{asks}}}' in state) is is_asked
    assert ("inputRequests" in json.loads(state)) is is_asked


def task_of(version: str, status: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Write a task as a version has it, with its members in this order."""
    ms = "Ms" if version == NEW else ""
    return {
        "taskId": TOKEN,
        "status": status,
        **more,
        "createdAt": CREATED,
        "lastUpdatedAt": LATER,
        f"ttl{ms}": 604_800_000,
        f"pollInterval{ms}": 5000,
    }


WORKING = {"statusMessage": "A person is working on it."}
WAITS = (
    "A person is still working on this. Nothing has been decided. Call the tool ask_human_result "
    f'with {{"ticket": "{TOKEN}"}} to get the answer.'
)
DATA = {"status": "waiting", "answers": {}, "ticket": TOKEN}


@pytest.mark.parametrize(
    ("version", "parked_as", "schema", "result"),
    [
        (OLD, ParkedAs.TASK, None, {"task": task_of(OLD, "working", **WORKING)}),
        (NEW, ParkedAs.TASK, None, {"resultType": "task", **task_of(NEW, "working", **WORKING)}),
        (OLD, ParkedAs.TICKET, None, {}),
        (OLD, ParkedAs.TICKET, {"type": "object"}, {"isError": True}),
        (OLD, ParkedAs.TICKET, questions.OUTCOME, {"structuredContent": DATA}),
        ("2025-03-26", ParkedAs.TICKET, questions.OUTCOME, {}),
        (NEW, ParkedAs.TICKET, None, {"resultType": "complete"}),
        (NEW, ParkedAs.RETRY, {}, {"resultType": "complete", "isError": True}),
    ],
)
def test_what_parks_a_call_is_written_in_the_way_of_its_version(
    version: str, parked_as: ParkedAs, schema: object, result: dict[str, Any]
) -> None:
    """All of it: a client reads each member."""
    tool = {"name": "deploy"} if schema is None else {"name": "deploy", "outputSchema": schema}
    known = NegotiatedState(tools={"deploy": tool})
    exchange = of(version, "tools/call", name="deploy")
    text = parking.parked_response(exchange, call_of(parked_as), known)
    content = {"content": [{"type": "text", "text": WAITS}]}
    assert json.loads(text) == (result if parked_as is ParkedAs.TASK else {**content, **result})


GONE = "There is no call with this ticket. Ask your question again."


@pytest.mark.parametrize(
    ("exchange", "known", "form", "reply"),
    [
        (of(OLD, "tasks/get"), {}, TextForm.RESULT, task_of(OLD, "working", **WORKING)),
        (
            of(OLD, "tasks/get"),
            {"status": "soon", "asks": '{"a":{}}'},
            TextForm.RESULT,
            task_of(OLD, "input_required", statusMessage="soon"),
        ),
        (
            of(OLD, "tasks/get"),
            {"line": ANSWERS[OLD], "asks": '{"a":{}}', "status": "soon"},
            TextForm.RESULT,
            task_of(OLD, "completed"),
        ),
        (
            of(NEW, "tasks/get"),
            {"line": ERROR, "asks": '{"a":{}}'},
            TextForm.RESULT,
            {
                "resultType": "complete",
                **task_of(NEW, "failed"),
                "error": {"code": 1, "message": "no"},
            },
        ),
        (
            of(NEW, "tasks/get"),
            {"cancelled": True},
            TextForm.RESULT,
            {"resultType": "complete", **task_of(NEW, "cancelled")},
        ),
        (of(NEW, "tasks/update"), {}, TextForm.RESULT, {"resultType": "complete"}),
        (of(NEW, "tasks/cancel"), {}, TextForm.RESULT, {"resultType": "complete"}),
        (of(NEW, "tasks/cancel"), {"line": ERROR}, TextForm.RESULT, {"resultType": "complete"}),
        (of(OLD, "tasks/cancel"), {}, TextForm.RESULT, task_of(OLD, "cancelled")),
        (
            of(OLD, "tasks/cancel"),
            {"line": ERROR},
            TextForm.ERROR,
            {"code": -32602, "message": "Cannot cancel task: already failed"},
        ),
        (
            of(OLD, "tasks/cancel"),
            {"cancelled": True},
            TextForm.ERROR,
            {"code": -32602, "message": "Cannot cancel task: already cancelled"},
        ),
        (
            of(OLD, "tasks/result"),
            {"cancelled": True},
            TextForm.ERROR,
            {"code": -32602, "message": "The task was cancelled"},
        ),
        (
            of(OLD, "tools/call"),
            {"cancelled": True},
            TextForm.RESULT,
            {"content": [{"type": "text", "text": GONE}], "isError": True},
        ),
        (
            of(OLD, "tools/call"),
            {"line": ANSWERS[OLD]},
            TextForm.RESULT,
            {"content": [], "structuredContent": {"n": 1e5}},
        ),
        (of(OLD, "tools/call"), {"line": ERROR}, TextForm.ERROR, {"code": 1, "message": "no"}),
    ],
)
def test_a_request_about_a_parked_call_has_its_whole_answer(
    exchange: Exchange, known: dict[str, Any], form: TextForm, reply: dict[str, Any]
) -> None:
    """Member by member, and in the form in which it is sent."""
    found = parking.reply_to(exchange, call_of(**known))
    assert found is not None
    assert (found[0], json.loads(found[1])) == (form, reply)


def test_a_token_of_no_call_is_refused() -> None:
    """A ticket in words that a model reads, a task by the error of the specification."""
    words = {"content": [{"type": "text", "text": GONE}], "isError": True}
    form, text = parking.refuse_unknown(of(OLD, "tools/call"))
    assert (form, json.loads(text)) == (TextForm.RESULT, words)
    form, text = parking.refuse_unknown(of(NEW, "tools/call"))
    assert (form, json.loads(text)) == (TextForm.RESULT, {"resultType": "complete", **words})
    form, text = parking.refuse_unknown(of(OLD, "tasks/get"))
    assert (form, json.loads(text)) == (
        TextForm.ERROR,
        {"code": -32602, "message": "Task not found"},
    )


@pytest.mark.parametrize(("status", "told"), [("", ""), ("Soon.", " They say: Soon.")])
def test_a_model_that_asks_too_early_is_told_to_ask_again(status: str, told: str) -> None:
    """With the same ticket, and with what the person says meanwhile."""
    exchange = of(OLD, "tools/call")
    (content,) = json.loads(parking.still_waiting(exchange, call_of(status=status)))["content"]
    again = "Call this tool again with the same ticket."
    assert content["text"] == f"A person is still working on this.{told} {again}"


@pytest.mark.parametrize(
    ("line", "cancelled", "is_over"), [("", False, False), ("", True, True), ("{}", False, True)]
)
def test_a_parked_call_is_over_with_an_answer_or_a_cancellation(
    *, line: str, cancelled: bool, is_over: bool
) -> None:
    """Then nothing of it changes any more."""
    assert call_of(line=line, cancelled=cancelled).is_over is is_over


def test_tools_may_be_called_as_tasks_unless_they_are_for_approvals() -> None:
    """A tool that says so itself keeps its own word; 2026-07-28 has no such member."""
    own = {"name": "own", "execution": {"taskSupport": "required"}}
    approve = {"name": "approve", "_meta": {"humanmcp/kind": "approval"}}
    tools: list[dict[str, Any]] = [{"name": "ask_human_result"}, {"name": "a"}, own, approve]
    result_tool = dict(parking.RESULT_TOOL)
    optional = {"execution": {"taskSupport": "optional"}, "name": "a"}
    assert parking.with_result_tool(tools, OLD) == (optional, own, approve, result_tool)
    for version in ("2025-06-18", NEW):
        assert parking.with_result_tool(tools, version) == (
            {"name": "a"},
            own,
            approve,
            result_tool,
        )


@pytest.mark.parametrize(
    ("text", "asks", "answers"),
    [
        ('{"city":1.0,"x":2}', '{"city":{}}', {"city": "1.0"}),
        ('{"x":2}', '{"city":{}}', {}),
        ("7", '{"city":{}}', {}),
        (None, '{"city":{}}', {}),
        ('{"city":1.0}', "", {}),
    ],
)
def test_of_an_update_only_what_is_asked_for_counts(
    text: str | None, asks: str, answers: dict[str, str]
) -> None:
    """Whatever is in its place."""
    params = {} if text is None else {"inputResponses": 0}
    exchange = asked("tasks/update", params, version=NEW)
    raw = exchange.request.raw.replace("0}", f"{text}}}") if text else exchange.request.raw
    request = exchange.request._replace(raw=raw)
    assert parking.answered_in(exchange._replace(request=request), asks) == answers

"""What a person may say first: judged like an answer, and messages to begin from."""

import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.json.jsonrpc import Kind
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.validation import check, whole_conversation
from tests.support.verdicts import R2024, R2025, R2026, asked, codes, hold, with_first_fix

ABLE: Final = NegotiatedState(
    client_capabilities={
        "roots": {},
        "sampling": {"tools": {}},
        "elicitation": {"form": {}, "url": {}},
    },
    server_capabilities={"tools": {}, "resources": {}, "prompts": {}, "logging": {}},
    initialized=True,
)
STREAM: Final = {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}
ASK: Final = {"messages": [], "maxTokens": 1}
FORM: Final = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}


def outgoing(method: str, params: Any = None, **more: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a notification, or a request when it gets an id."""
    body = {"jsonrpc": "2.0", **more, "method": method}
    return json.dumps(body if params is None else {**body, "params": params})


def judged(
    text: str, version: str = R2025, negotiated: NegotiatedState = ABLE, *,
    unreadable: bool = False, initialized: bool = True,
) -> list[str]:  # fmt: skip
    """List the codes that a saying gets."""
    verdict = check.check_outgoing(
        text, version, negotiated, unreadable=unreadable, initialized=initialized
    )
    hold(verdict)
    return codes(verdict.diagnostics)


@pytest.mark.parametrize(
    "text",
    [
        outgoing("notifications/tools/list_changed"),
        outgoing("notifications/resources/updated", {"uri": "file:///a"}),
        outgoing("notifications/message", {"level": "info", "data": "x"}),
        outgoing("notifications/progress", {"progressToken": 0, "progress": 1, "message": "x"}),
        outgoing("notifications/cancelled", {"requestId": "h-1"}),
        outgoing("ping", id="h-1"),
        outgoing("roots/list", id=0),
        outgoing("sampling/createMessage", ASK, id="h-1"),
        outgoing("elicitation/create", FORM, id="h-1"),
    ],
)
def test_what_a_server_may_say_is_said(text: str) -> None:
    """Notifications and requests to the client, on one line."""
    assert judged(text) == []
    verdict = check.check_outgoing(text, R2025, ABLE)
    assert verdict.line == json.dumps(json.loads(text), separators=(",", ":"))
    assert verdict.kind is (Kind.REQUEST if '"id"' in text else Kind.NOTIFICATION)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello", ["J20"]),
        ("[]", ["R12"]),
        ("5", ["R14"]),
        ('{"jsonrpc":"2.0"}', ["R30"]),
        ('{"jsonrpc":"2.0","id":1,"result":{}}', ["R51"]),
        ('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}', ["R51"]),
        ('{"jsonrpc":"2.0","method":5}', ["R31"]),
        ('{"method":"notifications/tools/list_changed"}', ["R01"]),
        (outgoing("notifications/tools/list_changed", id=1), ["R37"]),
        (outgoing("notifications/tools/list_changed", []), ["R38"]),
        ('{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":null}', ["R38"]),
        (outgoing("notifications/tool/list_changed"), ["R33"]),
        (outgoing("notifications/initialized"), ["R33"]),
        (outgoing("tools/list", id=1), ["R33"]),
        (outgoing("x"), ["R33"]),
        (outgoing("roots/list"), ["R02"]),
        (outgoing("ping", id=None), ["R36"]),
        (outgoing("ping", id=1.5), ["R36"]),
        (outgoing("ping", id=1, result={}), ["R35"]),
        (outgoing("ping", id=1, note="x"), ["R17"]),
        (outgoing("notifications/progress", {"progress": 1}), ["M09"]),
        (outgoing("notifications/message", {"level": "loud", "data": 1}), ["M21"]),
        ('{"jsonrpc":"2.0","methd":"ping"}', ["R15"]),
    ],
)
def test_anything_else_gets_one_clear_problem(text: str, expected: list[str]) -> None:
    """Wrong direction, wrong envelope, wrong parameters."""
    assert judged(text) == expected
    verdict = check.check_outgoing(text, R2025, ABLE)
    assert verdict.line is None
    assert verdict.forced


@pytest.mark.parametrize("version", [R2024, R2025, R2026])
def test_a_cancellation_without_params_is_refused(version: str) -> None:
    """Nothing said which request it cancels."""
    text = '{"jsonrpc":"2.0","method":"notifications/cancelled"}'
    (diagnostic,) = check.check_outgoing(text, version, NegotiatedState()).diagnostics
    assert (diagnostic.code, dict(diagnostic.detail)["key"]) == ("M09", "params")


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ('{"method":"ping","id":1}', '{"method":"ping","id":1, "jsonrpc": "2.0"}'),
        (outgoing("roots/list"), '{"jsonrpc": "2.0", "method": "roots/list", "id": "h-1"}'),
        (outgoing("pong", id=1), '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'),
    ],
)
def test_a_saying_is_fixed_like_a_draft(text: str, becomes: str) -> None:
    """A fix where there is one meaning."""
    verdict = check.check_outgoing(text, R2025, ABLE)
    assert with_first_fix(verdict) == becomes
    assert judged(becomes) == []


def test_an_empty_elicitation_capability_means_forms_only() -> None:
    """Trap table: `elicitation: {}`."""
    negotiated = NegotiatedState(client_capabilities={"elicitation": {}}, initialized=True)
    url = {"mode": "url", "message": "?", "url": "https://a.example/", "elicitationId": "e"}
    assert judged(outgoing("elicitation/create", url, id=1), negotiated=negotiated) == ["R32"]
    assert judged(outgoing("elicitation/create", FORM, id=1), negotiated=negotiated) == []


@pytest.mark.parametrize(
    "state",
    [
        {"status": "completed", "result": {"content": []}},
        {"status": "failed", "error": {"code": -32603, "message": "gone"}},
        {"status": "input_required", "inputRequests": {"a": {"method": "roots/list"}}},
    ],
)
def test_a_notification_of_a_task_holds_what_tasks_get_would(state: dict[str, Any]) -> None:
    """MCP: "identical to what `tasks/get` would have returned at that moment"."""
    moment = "2026-07-28T10:30:00Z"
    task = {"taskId": "a", "createdAt": moment, "lastUpdatedAt": moment, "ttlMs": None, **state}
    assert judged(outgoing("notifications/tasks", task), R2026) == []


def test_a_notification_that_was_not_offered_is_a_warning() -> None:
    """Trap table: only with the declared capability."""
    negotiated = NegotiatedState(server_capabilities={}, initialized=True)
    assert judged(outgoing("notifications/tools/list_changed"), negotiated=negotiated) == ["R40"]
    assert (
        judged(
            outgoing("notifications/progress", {"progressToken": 1, "progress": 1}),
            negotiated=negotiated,
        )
        == []
    )


def test_before_initialized_only_pings_and_logs_go_out() -> None:
    """The server SHOULD NOT send anything else."""
    assert judged(outgoing("ping", id=1), initialized=False) == []
    log = outgoing("notifications/message", {"level": "info", "data": 1})
    assert judged(log, initialized=False) == []
    assert judged(outgoing("roots/list", id=1), initialized=False) == ["R24"]
    assert judged(outgoing("notifications/tools/list_changed"), initialized=False) == ["R24"]


def test_2026_has_no_requests_to_the_client_and_change_notices_on_streams_only() -> None:
    """Questions go into input_required, changes to those who listen."""
    assert judged(outgoing("roots/list", id=1), R2026) == ["R39"]
    assert judged(outgoing("ping", id=1), R2026) == ["R39"]
    assert judged(outgoing("notifications/tools/list_changed"), R2026) == ["R41"]
    assert judged(outgoing("notifications/tools/list_changed", STREAM), R2026) == []
    assert (
        judged(outgoing("notifications/tools/list_changed", STREAM), R2026, initialized=False) == []
    )


def test_an_error_without_an_id_follows_an_unreadable_line_only() -> None:
    """-32700 with id null, or without, after a line that was no message."""
    text = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'
    assert judged(text) == ["R34"]
    assert judged(text, unreadable=True) == []
    assert judged(text.replace('"id":null,', ""), unreadable=True) == []
    assert judged(text.replace("-32700", "-32602"), unreadable=True) == ["R34"]


@pytest.mark.parametrize("version", versions.ALL)
@pytest.mark.parametrize("method", [*methods.REQUESTS, *methods.NOTIFICATIONS])
def test_the_table_of_directions_decides(method: str, version: str) -> None:
    """Every method of every version, as a request or a notification to the client."""
    is_notice = method.startswith("notifications/")
    more = {} if is_notice else {"id": "h-1"}
    has = version in methods.named(method, is_request=not is_notice).to_client
    found = judged(outgoing(method, {}, **more), version)
    refused = {"R33", "R39"} & set(found)
    assert bool(refused) != has


@given(st.text(max_size=50), st.sampled_from([R2024, R2026]))
def test_no_text_whatever_raises(text: str, version: str) -> None:
    """Never raises, whatever the text."""
    judged(text, version)


@pytest.mark.parametrize(
    ("params", "fixed"), [(None, True), ([], True), ("x", False), ([1], False)]
)
def test_parameters_that_are_no_object_are_taken_out_where_they_say_nothing(
    params: object, *, fixed: bool
) -> None:
    """Whatever they say is the person's own: nothing of it is taken out by itself."""
    text = json.dumps({"jsonrpc": "2.0", "method": "notifications/x", "params": params})
    verdict = check.check_outgoing(text, R2025, ABLE)
    fixes = [one.fix for one in verdict.diagnostics if one.pointer == "/params"]
    assert [fix is not None for fix in fixes] == [fixed]


@pytest.mark.parametrize(
    ("typed", "raw"),
    [
        (r"\xff\x00", b"\xff\x00"),
        (r"\x4a", b"J"),
        (r"a\nb\\n", b"a\nb\\n"),
        ("\u6771\U0001f600", "\u6771\U0001f600".encode()),
    ],
)
def test_bytes_are_typed_as_escapes(typed: str, raw: bytes) -> None:
    """Two hexadecimal digits are one byte; everything else is UTF-8."""
    assert whole_conversation.typed_bytes(typed) == raw


def test_progress_names_the_token_that_its_request_gave() -> None:
    """Its id where it gave none: that is wrong, and the check says so."""
    with_token = asked("tools/call", {"name": "dice", "_meta": {"progressToken": "p"}})
    for exchange, token in ((with_token, "p"), (asked("tools/call", {"name": "dice"}), None)):
        said = json.loads(whole_conversation.progress(exchange, 1, 2))
        wanted = token or exchange.id.value
        assert said["params"] == {"progressToken": wanted, "progress": 1, "total": 2}


def test_messages_to_begin_from_are_those_that_the_version_has() -> None:
    """Progress for each that waits and gave a token, with the tool that it is about."""
    with_token = asked("tools/call", {"name": "dice", "_meta": {"progressToken": "p"}})
    listed = asked("tools/list", {"_meta": {"progressToken": 7}})
    waiting = (with_token, listed, asked("tools/call", {"name": "silent"}))
    found = list(whole_conversation.openers("2025-11-25", waiting, "h-1"))
    assert [(one.method, one.about) for one in found] == [
        ("notifications/tools/list_changed", "tools"),
        ("notifications/prompts/list_changed", "prompts"),
        ("notifications/resources/list_changed", "resources"),
        ("notifications/message", "info"),
        ("notifications/progress", "dice"),
        ("notifications/progress", "tools/list"),
        ("ping", ""),
        ("roots/list", ""),
        ("elicitation/create", ""),
        ("sampling/createMessage", ""),
    ]
    texts = {one.method: json.loads(one.text) for one in found}
    assert texts["roots/list"] == {"jsonrpc": "2.0", "id": "h-1", "method": "roots/list"}
    assert texts["notifications/tools/list_changed"].keys() == {"jsonrpc", "method"}
    assert texts["notifications/progress"]["params"] == {
        "progressToken": 7,
        "progress": 1,
        "total": 4,
    }
    assert texts["notifications/message"]["params"] == {
        "level": "info",
        "logger": "humanmcp",
        "data": "a person is at it",
    }
    assert texts["elicitation/create"]["params"]["requestedSchema"]["required"] == ["name"]
    assert texts["sampling/createMessage"]["params"]["maxTokens"] == 100


def test_a_server_of_2026_asks_nothing_by_itself() -> None:
    """2026-07-28 has questions in results instead of requests of the server."""
    methods = {one.method for one in whole_conversation.openers("2026-07-28", (), "h-1")}
    assert methods.isdisjoint({"ping", "roots/list", "elicitation/create"})
    assert "notifications/tools/list_changed" in methods


@pytest.mark.parametrize("own", ["true", "false", "[1]", "{}", "1", "1.5", '"1"', "null"])
def test_an_error_has_the_id_of_a_line_that_was_no_message(own: str) -> None:
    """As it stood in that line: 1 is not "1", and what is no id is none."""
    keys: dict[str, tuple[str, str | int | float]] = {
        "1": ("number", 1),
        "1.5": ("number", 1.5),
        '"1"': ("text", "1"),
    }
    key = keys.get(own)
    text = f'{{"jsonrpc":"2.0","id":{own},"error":{{"code":-32600,"message":"x"}}}}'
    for allowed in ([], *([one] for one in keys.values()), [*keys.values()]):
        verdict = check.check_outgoing(text, R2025, ABLE, invalid=frozenset(allowed))
        if key in allowed:
            assert verdict.diagnostics == ()
            continue
        (problem,) = verdict.diagnostics
        if own == "null":
            wanted: tuple[object, ...] = ("R34", "/error", ())
        else:
            wanted = ("R51", "/id", (("typed", {"[1]": "[…]"}.get(own, own)),))
        assert (problem.code, problem.pointer, problem.detail) == wanted


@pytest.mark.parametrize(
    ("version", "has_ping", "has_form"),
    [(R2024, True, False), ("2025-03-26", True, False), ("2025-06-18", True, True),
     (R2025, True, True), (R2026, False, False)],
)  # fmt: skip
def test_each_version_has_its_messages_to_begin_from(
    version: str, *, has_ping: bool, has_form: bool
) -> None:
    """In the order of the table."""
    listed = asked("tools/list", {"_meta": {"progressToken": 7}}, version=version)
    found = [one.method for one in whole_conversation.openers(version, (listed,), "h-1")]
    assert found == [
        *(f"notifications/{one}/list_changed" for one in ("tools", "prompts", "resources")),
        *("notifications/message", "notifications/progress"),
        *(("ping", "roots/list") if has_ping else ()),
        *(("elicitation/create",) if has_form else ()),
        *(("sampling/createMessage",) if has_ping else ()),
    ]

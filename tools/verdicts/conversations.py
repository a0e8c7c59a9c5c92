"""What the core knows of whole conversations, and of methods, for `recording`."""
# ruff: noqa: E501 - the rows of a table stand as they are

import json
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, Final

from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
from humanmcp.protocol.conversation.exchanges import related_to
from humanmcp.protocol.conversation.stages import ExchangeState, Stage
from humanmcp.protocol.conversation.state import ConversationState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import Diagnostic, TextForm, Verdict
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Malformed, Message
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.tables.schemas import SchemaRow, rows_of, schema_of
from humanmcp.protocol.validation import (
    addressing,
    held,
    input_requests,
    starting_draft,
    whole_conversation,
)
from humanmcp.protocol.validation.input_requests import InputRequest
from tests.support.verdicts import R2024, R2025, R2025_03, R2025_06, R2026, asked, stating

VERSIONS: Final = (R2024, R2025_03, R2025_06, R2025, R2026)
IN, OUT = Direction.IN, Direction.OUT
_CAPABILITIES: Final[tuple[dict[str, Any], ...]] = (
    {}, {"roots": {}}, {"sampling": {}}, {"sampling": {"tools": {}}}, {"elicitation": {}},
    {"elicitation": {"form": {}}}, {"elicitation": {"url": {}}}, {"elicitation": True},
)  # fmt: skip


def _told(found: Iterable[Diagnostic]) -> str:
    return " / ".join(
        f"{one.code} {one.severity.value} {one.pointer} {one.start}-{one.end} {one.line}:{one.column} {one.detail} {one.fix}"
        for one in found
    )


def _judged(found: Verdict) -> str:
    return f"{_told(found.diagnostics)} = {found.line!r} {found.forced!r} {found.kind}"


def _line(**members: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def _heard(version: str) -> tuple[tuple[Direction, bytes], ...]:
    meta = {"_meta": stating({"roots": {}, "elicitation": {}})} if version == R2026 else {}
    state = {"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}}
    return (
        (IN, _line(id=1, method="initialize", params={"protocolVersion": version, "capabilities": {"roots": {}}, "clientInfo": {"name": "c", "version": "1"}, **meta})),
        (IN, _line(id=2, method="tools/list", params=meta)),
        (OUT, _line(id=1, result={"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}})),
        (IN, _line(method="notifications/initialized")),
        (OUT, _line(id=2, result={"tools": [{"name": "t", "inputSchema": {}}], "nextCursor": "2"})),
        (IN, _line(id=3, method="tools/list", params={"cursor": "2", **meta})),
        (OUT, _line(id=3, result={"tools": [{"name": "u"}, 7]})),
        (IN, _line(id="4", method="tools/call", params={"name": "t", "_meta": {"progressToken": 1, **meta.get("_meta", {})}})),
        (IN, _line(id=4, method="tools/call", params={"name": "u", **meta})),
        (OUT, _line(method="notifications/progress", params={"progressToken": 1, "progress": 2})),
        (OUT, _line(method="notifications/progress", params={"progressToken": 1, "progress": 2})),
        (OUT, _line(method="notifications/progress", params={"progressToken": 9, "progress": 1})),
        (OUT, _line(id=4, result={**state, "requestState": "s"})),
        (IN, _line(id=5, method="tools/call", params={"name": "u", "requestState": "s", "inputResponses": {"q": {}}, **meta})),
        (OUT, _line(id="4", result=state)),
        (IN, _line(id=6, method="tools/call", params={"name": "t", "inputResponses": {"q": {}}, **meta})),
        (IN, _line(id=6, method="ping")),
        (OUT, _line(id=6, result={})),
        (OUT, _line(id=99, result={})),
        (IN, _line(method="notifications/cancelled", params={"requestId": 6, "reason": "x"})),
        (IN, _line(method="notifications/cancelled", params={"requestId": True})),
        (IN, _line(id=7, method="logging/setLevel", params={"level": "error"})),
        (OUT, _line(id=7, result={})),
        (IN, _line(id=8, method="resources/subscribe", params={"uri": "file:///a"})),
        (OUT, _line(id=8, result={})),
        (IN, _line(id=9, method="resources/unsubscribe", params={"uri": "file:///b"})),
        (OUT, _line(id=9, result={})),
        (OUT, _line(id=1, method="roots/list")),
        (IN, _line(id=1, result={"roots": [{"uri": "x"}]})),
        (OUT, _line(id=2, method="tools/call")),
        (OUT, _line(method="notifications/x")),
        (IN, _line(id=10, method="server/discover", params=meta)),
        (OUT, _line(id=10, error={"code": -32601, "message": "no"})),
        (OUT, _line(id=None, error={"code": -32700, "message": "no"})),
        (IN, b"{"), (OUT, b"printed"), (OUT, b"\xef\xbb\xbf" + _line(method="x")),
        (IN, b"[" + _line(id=11, method="ping") + b"]"),
    )  # fmt: skip


def conversations() -> Iterator[str]:
    """Yield what is known after each line of a conversation, and what is said of the line."""
    for version in VERSIONS:
        state = ConversationState()
        yield version
        for direction, raw in _heard(version):
            found = jsonrpc.read(raw)
            spoken = state.version
            yield f"  {direction.value} {raw[:90]!r} {_told(whole_conversation.line_hints(raw, found, spoken))}"
            if isinstance(found, Malformed):
                yield f"    {_told(whole_conversation.hints(found, state.negotiated, spoken))}"
            if isinstance(found, Message):
                before = state.negotiated
                heard = state.observe(direction, found)
                number = heard.request.number if heard.request else 0
                yield f"    {number} {heard.method} {heard.name} {heard.ambiguous} {[one.kind for one in heard.found]}"
                yield f"    {state.version} {state.log_level} {sorted(state.watched)} {[(one.number, one.continues) for one in state.open]}"
                if state.negotiated != before:
                    yield f"    {state.negotiated}"
                for strict in (False, True):
                    yield f"    {_told(whole_conversation.hints(heard, before, state.version, strict=strict))}"
        other = state.copy()
        yield f"  {other.version} {other.negotiated == state.negotiated} {other.open == state.open}"


def questions() -> Iterator[str]:
    """Yield what a person can ask back while a request waits, and how it is written."""
    rows = (
        SchemaRow("a", needed=True),
        SchemaRow("b[]", "number"),
        SchemaRow("c.d", "choice", choices=("x", "y")),
    )
    for version, input_request in product((R2024, R2025_06, R2025, R2026), InputRequest):
        yield f"{version} {input_request.value}"
        for method in ("tools/call", "initialize", "tools/list", "x/y"):
            for has in _CAPABILITIES:
                exchange = asked(method, {"name": "t", "_meta": stating(has)}, version=version)
                for ready in (False, True):
                    negotiated = NegotiatedState(client_capabilities=has, initialized=ready)
                    found = input_requests.obstacle(input_request, exchange, negotiated)
                    yield f"  {method} {has} {ready} {found and (found.why.name, found.capability)}"
        params = input_requests.params(input_request, "Why?", rows)
        exchange = asked("tools/call", {"name": "t"}, version=version)
        question_line = input_requests.request(exchange, input_request, params, "m")
        yield f"  {question_line!r} {input_requests.answer(exchange, input_request, params, 'm')!r}"
        reply = _line(id="ask-1-m", result={})
        lines = (
            (OUT, question_line.encode()),
            (IN, reply),
            (IN, _line(id="ask-1-n", result={})),
            (OUT, b"ask-1-"),
        )
        for number in (1, 2):
            yield f"  {[(one.input_request.value, one.token, one.answer is not None) for one in input_requests.asked_at(number, lines)]}"
        yield f"  {input_requests.asked_at(1, lines[:1])!r}"[:200]
    for some in (
        (),
        rows,
        rows[:1],
        (SchemaRow("a", "object"), SchemaRow("a.b", "boolean", needed=True, description="B")),
    ):
        whole = schema_of(
            some,
            {
                "type": "object",
                "title": "T",
                "properties": {"a": {"type": "string", "maxLength": 3, "enum": ["q"]}},
            },
        )
        yield f"{json.dumps(whole)} {rows_of(whole)}"


def held_messages() -> Iterator[str]:
    """Yield what becomes of a message that is held, by what a person makes of it."""
    call = _line(id=1, method="tools/call", params={"name": "t"}).decode()
    answer = _line(id=1, result={"content": []}).decode()
    notice = _line(method="notifications/initialized").decode()
    array = f"[{call},{_line(id='2', method='ping').decode()}]"
    answers = f"[{answer},{_line(id='2', result={}).decode()}]"
    typed = (
        call, answer, notice, array, answers, answer.replace("1", "7"), call.replace('"id": 1', '"id": 7'), '{"content": []}', "{", "words", "",
        "[]", "[7]", f"[{answer}]", f"[{answer},{answer}]", f" {call} ", answer.replace("content", "contents"), '{"id":1,"method":7}',
    )  # fmt: skip
    for line, direction, request in (
        (call, IN, ""), (answer, OUT, call), (answer, OUT, ""), (notice, IN, ""), (array, IN, ""), ("printed", OUT, ""), (answers, OUT, ""),
    ):  # fmt: skip
        one = held.HeldMessage(line, direction, R2025_03, request)
        yield f"{line} {request} {one.question is not None} {len(one.questions)} {one.answered is not None}"
        for text, form in product(typed, (TextForm.MESSAGE, TextForm.RESULT)):
            said = held.answers(one, text, form)
            yield f"  {form.value} {text!r} {said} {_judged(held.judge(one, text, form))}"
        yield f"  {_judged(held.judge(one, answer, answer=True))}"
    exchanges = tuple(asked("ping", token=token, version=R2025_03) for token in ("1", '"2"'))
    for text in typed:
        yield f"{held.is_answers(text)} {_judged(held.judge_answers(exchanges, text, NegotiatedState()))}"


def addresses() -> Iterator[str]:
    """Yield which of several requests a text answers, and what is said where it answers none."""
    waiting = tuple(
        asked("tools/call", token=token, version=version)
        for token, version in (("1", R2025), ('"1"', R2025), ("2", R2025_03))
    )
    over = tuple(
        one._replace(number=number, stage=Stage(state.value))
        for number, (one, state) in enumerate(
            zip(
                waiting,
                (ExchangeState.ANSWERED, ExchangeState.CANCELLED, ExchangeState.ABANDONED),
                strict=True,
            ),
            1,
        )
    )
    typed = (
        '{"id":1,"result":{}}', '{"id":"1","result":{}}', '{"id":"2","result":{}}', '{"id":2.0,"error":{}}', '{"id":9,"result":{}}', '{"result":{}}', '{"id":true,"result":{}}', '{"id":null,"error":{"code":-32700}}',
        '{"error":{"code":-32600}}', '{"method":"x"}', '{"id":1,"method":"x"}', "words", "[]", '[{"id":1,"result":{}}]', "{", "", '{"id":1,"result":{},}', "{id:'2',result:{}}", '{"content":[]}', '{"code":1,"message":"x"}',
    )  # fmt: skip
    for text in typed:
        id_ = addressing.id_of(text)
        yield f"{text!r} {addressing.kind_typed(text)} {addressing.is_report(text)} {id_ and id_.token}"
        for pending in ((), waiting[:1], waiting[2:], waiting):
            found = addressing.addressed(text, pending)
            yield f"  {found and found.id.token} {_told([addressing.unmatched(text, pending)])}"
        for notice in ("", "notifications/initialized"):
            yield f"  {_told(addressing.unaddressed(text, over, notice))}"


def protocol() -> Iterator[str]:
    """Yield what the tables of methods and versions say."""
    for version in (*VERSIONS, "2099-01-01", ""):
        yield f"{version} {versions.features(version)}"
        for name in (
            *methods.REQUESTS,
            *methods.NOTIFICATIONS,
            "x/y",
            "tools/z",
            "notifications/z",
            "z",
        ):
            record = methods.of(name)
            yield f"  {name} {record.is_in(version)} {record.result_in(version)} {methods.page(name, version).rpartition('specification/')[2]} {[methods.has_request(name, version), *2 * [version in methods.named(name, is_request=True).to_client]]}"
    for name, record in {**methods.REQUESTS, **methods.NOTIFICATIONS}.items():
        yield f"{name} {record.direction} {record.versions}"
    for method, kind in product(("tools/call", "prompts/get"), ("task", "other", None)):
        answering = methods.extension_answering(method, kind)
        yield f"{method} {kind} {answering and answering.id}"
    for meta in ({}, stating(), {versions.META_VERSION: "x"}, {versions.META_VERSION: 7}):
        for version in (R2025, R2026):
            message = asked("tools/list", {"_meta": meta}, version=version).request
            yield f"{meta} {version} {methods.lacking_in(message, version)} {versions.stated_in(message)} {versions.unserved_in(message)}"
    for names, version in product((None, (), ("completions",)), VERSIONS):
        offered = None if names is None else dict.fromkeys(names, True)
        yield f"{offered} {version} {starting_draft.has_completions(offered, version)}"
    results: tuple[object, ...] = (
        *({}, {"completion": {"values": ["a", 7, "b"]}}, {"completion": []}),
        *({"completion": {"values": "x"}}, 7),
    )
    for result in results:
        yield f"{result} {starting_draft.values_of(result)}"


def declarations() -> Iterator[str]:
    """Yield what a question needs that a client did not declare."""
    details: tuple[dict[str, Any] | None, ...] = (
        *({}, {"tools": []}, {"toolChoice": {}}, {"mode": "url"}),
        *({"mode": "form"}, {"mode": 7}, None),
    )
    for has, method in product(
        _CAPABILITIES,
        ("roots/list", "sampling/createMessage", "elicitation/create", "ping", "tools/call", "x"),
    ):
        for params in details:
            yield f"{has} {method} {params} {methods.undeclared(method, params, has)}"


def relations() -> Iterator[str]:
    """Yield which of the requests that wait a message of the server's belongs to."""

    def waits(number: int, method: str, token: object) -> Exchange:
        found = asked(
            method,
            {"_meta": {"progressToken": token}} if token is not None else {},
            token=str(number),
        )
        return found._replace(number=number)

    waiting = (
        waits(1, "tools/call", "p"),
        waits(2, "tools/call", 7),
        waits(3, "subscriptions/listen", None),
    )
    said: tuple[tuple[str, dict[str, Any]], ...] = (
        *(("notifications/progress", {"progressToken": token}) for token in ("p", 7, "7", None, 9)),
        *(("notifications/x", {"_meta": {versions.META_SUBSCRIPTION: own}}) for own in (3, "3", 1)),
        *((name, {}) for name in (*methods.NOTIFICATIONS, *methods.REQUESTS, "x/y")),
    )  # fmt: skip
    for (method, params), pending in product(said, (waiting, waiting[:1], waiting[2:], ())):
        message = jsonrpc.read(_line(method=method, params=params))
        assert isinstance(message, Message)
        yield f"{method} {params} {len(pending)} {related_to(message, pending)}"

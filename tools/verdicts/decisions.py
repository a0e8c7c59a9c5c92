"""What the core decides of a great many cases, for `recording`."""
# ruff: noqa: E501 - the rows of a table stand as they are

import json
from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from humanmcp.protocol.answer_book import book_format, decide
from humanmcp.protocol.answer_book.decide import HandshakePolicy, Mode
from humanmcp.protocol.answer_book.decision import BY_PERSON
from humanmcp.protocol.conversation import timeouts
from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
from humanmcp.protocol.http.http_headers import Headers
from humanmcp.protocol.http.inbound import HttpRequest, Posted, judge_request, on_one_line
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.schemas import choices, rows_of
from humanmcp.protocol.validation import addressing, secret_shapes
from humanmcp.protocol.validation.json_schema import validator
from tests.support.verdicts import R2025, R2026, asked, stating

CLIENTS: Final = ("", "unknown", "claude-code", "codex-mcp-client", "gemini-cli", "opencode")


def _asked(method: str, version: str, **params: Any) -> Exchange:  # noqa: ANN401 - any JSON value
    meta = stating({"elicitation": {}, "roots": {}}) if version == R2026 else {}
    whole = {**params, "_meta": {**meta, **params.get("_meta", {})}}
    return asked(method, whole, version=version)


def timeouts_of_clients() -> Iterator[str]:
    """Yield how long each client waits, for what, and by which means it is kept waiting."""
    for client, method, version, token in product(
        CLIENTS, ("initialize", "tools/list", "tools/call", "prompts/get"), (R2025, R2026), (0, 1)
    ):
        exchange = _asked(method, version, _meta={"progressToken": 1} if token else {})
        yield f"{client} {method} {version} {token}"
        for own, learned in ((0, 0), (9, 0), (0, 7), (60, 20), (0, 5000)):
            for keepalives in (timeouts.ALL_KEEPALIVES, frozenset[str]()):
                plan = timeouts.timeout_plan(exchange, client, own, learned, keepalives)
                yield f"  {own} {learned} {len(keepalives)}: {tuple(plan)}"
        many = exchange._replace(attempts=10)
        yield f"  after ten: {tuple(timeouts.timeout_plan(many, client, 60))}"
    call, plan = _asked("tools/call", R2025), timeouts.TimeoutPlan(None, "", "", "")
    for waited in (0, 1, 60):
        for reason in ("", "timed out", "request timeout", "AbortError", "Esc", "-32001"):
            yield f"{waited} {reason} {timeouts.gave_up_after(call, reason, waited, plan)}"
        yield f"outlasted {[timeouts.outlasted(call, waited, one) for one in (0, 1, 58, 59, 60)]}"
    helped = plan._replace(keepalive="progress")
    yield f"{timeouts.gave_up_after(call, 'timed out', 9, helped)}"
    yield f"{timeouts.gave_up_after(call._replace(attempts=1), 'timed out', 9, plan)}"
    for one in timeouts.CLIENTS:
        limits = [
            one.limit(name, as_configured=it) for name in methods.REQUESTS for it in (False, True)
        ]
        yield f"{one.names} {one.grace} {limits}"


RULES: Final[dict[str, Any]] = {
    "server": {"name": "s", "instructions": "Ask.", "protocol_versions": [R2025, R2026]},
    "tools": [{"name": "t", "inputSchema": {"type": "object"}}],
    "prompts": [{"name": "p"}],
    "resources": [{"uri": "file:///a", "name": "a"}],
    "wait": {"*": 1.5, "tools/list": 0, "resources/list": False},
    "rules": [
        {"tool": "t", "where": {"a": 1, "b": {"c": [1]}}, "text": "{params.arguments.a}"},
        {"tool": "t", "where": {"a": True}, "error": {"code": 1, "message": "x"}, "after": 2},
        {"tool": "t", "contains": {"a": "yes"}, "text": "x", "times": 1, "fault": "wrong-id"},
        {"resource": "file:///{name}", "text": "of {params.uri}"},
        {"prompt": "p", "client_has": ["roots"], "result": {"messages": []}, "notify": [{"log": "l"}]},
        {"tool": "q", "text": "{answers.q.action}", "ask": [{"q": {
            "method": "elicitation/create",
            "params": {"message": "{params.name}", "requestedSchema": {"type": "object"}}}}]},
        {"tool": "h", "do": "hold"},
        {"tool": "f", "do": "forward"},
        {"method": "tools/call", "where": {"list": [1, 2.0]}, "text": "any", "on": True},
    ],
}  # fmt: skip


def decisions() -> Iterator[str]:
    """Yield what an answer book does about a request, in each mode."""
    for version in (R2025, R2026):
        for name, record in methods.REQUESTS.items():
            if version in record.to_server:
                yield f"{name} {version}"
                for book, mode, offered in product(
                    (RULES, {"server": {"protocol_versions": [R2025]}}), Mode, (None, {"tools": {}})
                ):
                    negotiated = NegotiatedState(
                        server_capabilities=offered, client_name="opencode"
                    )
                    yield f"  {_decided(_asked(name, version), book, negotiated, mode)}"
    for mode, handshake, client in product(Mode, HandshakePolicy, CLIENTS):
        exchange = _asked("tools/list", R2025)
        negotiated = NegotiatedState(client_name=client)
        for method in ("initialize", "prompts/list"):
            yield f"{mode} {handshake} {client} {_decided(exchange, RULES, negotiated, mode, handshake)}"
            exchange = _asked(method, R2025, protocolVersion="2025-06-18")


def rules() -> Iterator[str]:
    """Yield which rule of an answer book is followed."""
    calls: tuple[dict[str, Any], ...] = (
        {"a": 1, "b": {"c": [1]}}, {"a": 1.0, "b": {"c": [1]}}, {"a": True}, {"a": 1}, {"a": "oh yes"},
        {"a": "no"}, {"b": {"c": [2]}}, {"list": [1, 2]}, {"list": [1]}, {},
    )  # fmt: skip
    for version in (R2025, R2026):
        for tool in ("t", "q", "h", "f", "other"):
            for arguments in calls:
                exchange = _asked("tools/call", version, name=tool, arguments=arguments)
                yield f"{version} {tool} {arguments}"
                yield f"  {_decided(exchange, RULES, NegotiatedState(), Mode.NORMAL)}"
        for uri in ("file:///a", "file:///a/b", "other:"):
            exchange = _asked("resources/read", version, uri=uri)
            yield f"{uri} {_decided(exchange, RULES, NegotiatedState(), Mode.NORMAL)}"
        for names in ((), ("roots",)):
            has: dict[str, Any] = {name: {} for name in names}
            exchange = _asked("prompts/get", version, name="p")
            negotiated = NegotiatedState(client_capabilities=has)
            yield f"{has} {_decided(exchange, RULES, negotiated, Mode.AUTO)}"


def _decided(
    exchange: Exchange,
    book: dict[str, Any],
    negotiated: NegotiatedState,
    mode: Mode,
    handshake: HandshakePolicy = HandshakePolicy.BY_CLIENT,
) -> str:
    decision = decide.decide(
        exchange, book_format.parse(book), negotiated, mode=mode, handshake=handshake
    )
    usual = BY_PERSON
    return ", ".join(
        f"{name}={said!r}"
        for name, said in decision._asdict().items()
        if said != getattr(usual, name)
    )


SCHEMAS: Final[tuple[Any, ...]] = (
    True, False, {}, {"type": "object"}, {"type": "strin"}, {"type": ["string", "null"]},
    {"type": "object", "properties": {"a": {"type": "string", "minLength": 2, "maxLength": 3}}},
    {"type": "object", "required": ["a", "b"], "additionalProperties": False},
    {"type": "object", "properties": {"a": {"type": "object", "required": ["x"]}}},
    {"type": "array", "items": {"type": "integer", "minimum": 1, "exclusiveMaximum": 3}},
    {"type": "array", "minItems": 2, "maxItems": 2, "uniqueItems": True},
    {"enum": ["a", 1, None], "enumNames": ["A", "One", "Nothing"]},
    {"enum": ["a", "b"], "enumNames": ["A"]}, {"const": "a"}, {"const": None},
    {"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]},
    {"anyOf": [{"const": "a"}, {"type": "string"}]}, {"anyOf": [{"type": "integer"}]},
    {"oneOf": [{"type": "string"}, {"minLength": 1}]}, {"not": {"type": "string"}},
    {"allOf": [{"type": "string"}, {"pattern": "^a+$"}]}, {"pattern": "(", "type": "string"},
    {"pattern": "(a+)+$"}, {"pattern": "a{1,9999}"}, {"format": "email", "type": "string"},
    {"format": "date"}, {"multipleOf": 0.1}, {"multipleOf": 0}, {"minimum": "x"},
    {"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}, {"$ref": "#/$defs/b"},
    {"$ref": "https://example.com/schema"}, {"$ref": "#"}, {"$ref": 7},
    {"$id": "https://h/a", "$ref": "a#/$defs/x", "$defs": {"x": {"type": "null"}}},
    {"$anchor": "x", "$ref": "#x"}, {"$dynamicRef": "#y", "$dynamicAnchor": "y"},
    {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {}}, "items": [{}]},
    {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True},
    {"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": "#"},
    {"$schema": "https://example.com/mine"}, {"$schema": 7},
    {"if": {"type": "string"}, "then": {"minLength": 3}, "else": {"minimum": 5}},
    {"dependentRequired": {"a": ["b"]}}, {"propertyNames": {"maxLength": 1}},
    {"patternProperties": {"^x": {"type": "string"}}, "unevaluatedProperties": False},
    {"prefixItems": [{"type": "string"}], "items": False}, {"contains": {"const": 1}, "minContains": 2},
    {"minProperties": 1, "maxProperties": 1},
)  # fmt: skip
VALUES: Final[tuple[Any, ...]] = (
    "", "a", "aaa", "aaaa", "a@b.c", "2026-01-01", 0, 1, 2.5, 3, 10**30, True, None, [], [1], [1, 1],
    [1, 2, 3], ["a", 1], {}, {"a": "x"}, {"a": {}}, {"a": 1, "b": 2}, {"long": 1, "x1": 2},
    {"a": {"x": None}, "b": [{}]},
)  # fmt: skip


def schemas() -> Iterator[str]:
    """Yield what is wrong with a schema, what it allows, and which values do not fit it."""
    for schema in SCHEMAS:
        yield json.dumps(schema)
        if isinstance(schema, dict):
            yield f"  {validator.trouble_in(schema)}"
            yield f"  {[tuple(one) for one in choices(schema)]}"
            yield f"  {rows_of(schema)}"
        for value in VALUES:
            found = validator.compare(value, schema)
            if found.differences or found.unchecked:
                told = [(one.path, one.detail) for one in found.differences]
                yield f"  {json.dumps(value)}: {told} {found.unchecked}"


def headers() -> Iterator[str]:
    """Yield what becomes of a request over HTTP with one header less, more, or other."""
    schema = {"type": "object", "properties": {
        "city": {"type": "string", "x-mcp-header": "City"},
        "days": {"type": "integer", "x-mcp-header": "Days"},
        "sure": {"type": "boolean", "x-mcp-header": "Sure"}}}  # fmt: skip
    arguments = {"city": "é", "days": 42, "sure": True}
    right = {
        "content-type": "application/json", "accept": "application/json, text/event-stream",
        "mcp-protocol-version": R2026, "mcp-method": "tools/call", "mcp-name": "t",
        "mcp-param-city": "=?base64?w6k=?=", "mcp-param-days": "42", "mcp-param-sure": "true",
        "mcp-session-id": "s",
    }  # fmt: skip
    others = ("", "x", " tools/call ", "TOOLS/CALL", R2025, "text/plain", "*/*", "42.0", "1",
              "application/json; charset=latin-1", "text/*;q=0.5, application/*", "=?base64?%%?=")  # fmt: skip
    for version, verb in (
        ("2026-07-28", "POST"),
        (R2025, "POST"),
        (R2025, "GET"),
        (R2025, "DELETE"),
    ):
        meta = {"_meta": stating()} if version == R2026 else {}
        params = {"name": "t", "arguments": arguments, **meta}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        body = json.dumps(call).encode()
        base = {**right, "mcp-protocol-version": version}
        yield f"{verb} {version} {_judged(verb, base, body, schema)}"
        for name in base:
            less = {key: value for key, value in base.items() if key != name}
            yield f"  no {name}: {_judged(verb, less, body, schema)}"
            for other in others:
                yield f"  {name} = {other!r}: {_judged(verb, {**base, name: other}, body, schema)}"
        for raw in (b"", b"{", b"[]", b"7", b"[" + body + b"]", b'{"jsonrpc":"2.0","method":"x"}',
                    b'{"jsonrpc":"2.0","id":1,"result":{}}', b'{"a":\n1}', b"\xff\n",
                    b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
                    b'{"jsonrpc":"2.0","id":1,\n"method":"initialize"}'):  # fmt: skip
            yield f"  {raw[:60]!r}: {_judged(verb, base, raw, schema)}"


def repeated() -> Iterator[str]:
    """Yield what becomes of a request with a header that is there twice, and of its body."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": stating()}}
    right = [
        ("MCP-Protocol-Version", R2026),
        ("Mcp-Method", "tools/list"),
        ("X", "X  X"),
        ("Content-Type", "application/json"),
        ("Accept", "*/*"),
    ]
    for name in (
        "MCP-Protocol-Version",
        "Mcp-Method",
        "Mcp-Name",
        "Mcp-Session-Id",
        "X",
        "Authorization",
    ):
        found = Headers.of([*right, (name, "\tX x \t"), (name, "y")])
        yield f"{name} {found.pairs} {found.repeated()!r} {found.charset!r}"
        yield f"  {_inbound('POST', found, json.dumps(call).encode(), None)}"
    for body in (b'{"a":"\n\r"}', b"\xff\r\n\r\xff", b" a\nb ", b"a\rb", b'{\n"a" :\r 1}\n', b""):
        yield f"{body!r} {on_one_line(body)!r}"


def _judged(verb: str, sent: dict[str, str], body: bytes, schema: Any) -> str:  # noqa: ANN401 - any JSON value
    return _inbound(verb, Headers.of(sent.items()), body, schema)


def _inbound(verb: str, sent: Headers, body: bytes, schema: Any) -> str:  # noqa: ANN401 - any JSON value
    found = judge_request(HttpRequest(verb, sent, body), lambda _call: schema)
    if not isinstance(found, Posted):
        return repr(found)
    transport_facts = found.transport_facts
    said = (
        None
        if transport_facts is None
        else (
            transport_facts.version,
            transport_facts.error,
            [one.code for one in transport_facts.found],
        )
    )
    return f"{type(found.message).__name__} {found.session!r} {found.opens} {said}"


def texts() -> Iterator[str]:
    """Yield where a text divides into documents, and what in it looks like a secret."""
    for text in (
        "", " ", "{}", "X{}", "{} {}", '{"a":"}"}[1]', "{};{}", "{}} {}", "{} // x\n{}", "{} /* x */ []", "{} x",
        '{"a', "[{]", "\ufeff{}", '{"a":"\\"}"} ,{}', "[[]", "x {}", "{}\n\n# done\n[]", '{"a":1}{"b":',
    ):  # fmt: skip
        yield f"{text!r}: {tuple(addressing.divide(text))}"
    for text in (
        "api_key=abcdefghijklmnop", "password: hunter2hunter2", "PWD=/home/me", "pwd=/home/me", "pwd=abcdefgh",
        "OLDPWD=C:\\x", "token=[redacted]", 'token="[redacted: 8]"', "Authorization: Bearer abcdefghijklmnop",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "sk-abcdefghijklmnopqrstuvwxyz0123", "AKIAABCDEFGHIJKLMNOP",
        "secret=changeme", "secret=short", "password=your-password-here", "https://me:secretword@h.example/",
        "data:image/png;base64,tokenABCDEFGHIJKLMNOP", "password='quoted secret'", "x", "PASSWORD=hunter2hunter2",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijklmnopqrstuv",
        "-----BEGIN PRIVATE KEY-----\nabcdefgh\n-----END PRIVATE KEY-----",
    ):  # fmt: skip
        yield f"{text!r}: {secret_shapes.typed_secrets(text)}"

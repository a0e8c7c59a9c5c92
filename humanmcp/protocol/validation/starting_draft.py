"""The draft that a person starts from: a whole response to one request in its version."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.conversation.exchange import NOTHING_ESTABLISHED
from humanmcp.protocol.conversation.state import by_name
from humanmcp.protocol.diagnostics.problem import PLACEHOLDER
from humanmcp.protocol.json.tree import array_at, follow, mapped, object_at, objects_at, text_at
from humanmcp.protocol.tables import examples, methods, schemas, versions
from humanmcp.protocol.tables.methods import APP_SCHEME
from humanmcp.protocol.tables.objects import SHAPES
from humanmcp.protocol.tables.versions import features
from humanmcp.protocol.validation.json_schema import validator
from humanmcp.protocol.validation.results import sampled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject

_DEEPEST: Final = 20
"""The maximum depth of objects that are filled in."""


def start(
    exchange: Exchange, negotiated: NegotiatedState = NOTHING_ESTABLISHED, language: str = "en"
) -> str:
    """Return the draft for a request; an empty result if the right draft cannot be made.

    See `_start`. Without a draft, the request must still wait for a person.
    """
    try:
        return _start(exchange, negotiated, language)
    except Exception:  # noqa: BLE001 - whatever it is, the request is delivered
        return message(exchange, "result", {})


def _start(exchange: Exchange, negotiated: NegotiatedState, language: str) -> str:
    """Return the draft for a request: a whole response, pretty-printed.

    A list starts from the answer book's, if there is one; a tool list from the last sent one,
    unless the book has changed since.

    The draft can be sent as it is, except where only the person knows the answer: there it has a
    placeholder that the check refuses. A method that the version does not have gets -32601, an
    unsupported version -32022, and a 2026-07-28 request with incomplete `_meta` -32602 or -32021,
    as from a real server.
    """
    first = next(_results(exchange, language), None)
    if versions.unserved_in(exchange.request) is not None:
        wrong = examples.errors("", exchange.version)["unsupported_protocol_version"]
        return message(exchange, "error", _fitted_error(exchange, wrong))
    if first is None or not methods.of(exchange.method).is_in(exchange.version):
        return message(exchange, "error", examples.errors("", exchange.version)["method_not_found"])
    refusal = methods.refusal(exchange.request, exchange.version)
    if refusal is not None:
        return message(exchange, "error", refusal)
    result = {**first[1], **negotiated.prepared.get(exchange.method, {})}
    if versions.META_SERVER in result.get("_meta", {}):
        result["_meta"] = {**result["_meta"], **examples.named(negotiated.server)}
    listed = negotiated.tools if not negotiated.newly_prepared else None
    if exchange.method == "tools/list" and listed:
        result["tools"] = list(listed.values())
    return message(exchange, "result", result)


def variants(exchange: Exchange) -> Mapping[str, str]:
    """Return all examples for a request, results and errors, by name."""
    texts = {name: message(exchange, "result", result) for name, result in _results(exchange, "en")}
    for name, result in calls(exchange).items():
        texts[f"call {name}"] = message(exchange, "result", result)
    for name, error in examples.errors(exchange.method, exchange.version).items():
        texts[name] = message(exchange, "error", _fitted_error(exchange, error))
    return texts


def calls(exchange: Exchange) -> Mapping[str, JsonObject]:
    """Return, for a turn of a model, the result that calls each offered tool, by name."""
    return {
        name: call(
            exchange,
            name,
            _with_placeholders(empty_arguments(tool), follow(tool, "inputSchema")),
        )
        for name, tool in tools_in(exchange).items()
    }


def tools_in(exchange: Exchange) -> Mapping[str, JsonObject]:
    """Return the tools that a turn of a model may call, by name."""
    is_turn = exchange.method == "sampling/createMessage"
    return by_name(exchange.request.params.get("tools")) if is_turn else {}


def call(exchange: Exchange, name: str, arguments: Json) -> JsonObject:
    """Return a tool call by the model. The number of the turn makes the id of the call unique."""
    number = f"call-{exchange.id.value}"
    content = {"type": "tool_use", "id": number, "name": name, "input": arguments}
    return sampled(content, stop="toolUse")


def message(exchange: Exchange, member: str, body: Json) -> str:
    """Write a response with a body: indented by two spaces, without escapes."""
    text = json.dumps(body, ensure_ascii=False, indent=2).replace("\n", "\n  ")
    return f'{{\n  "jsonrpc": "2.0",\n  "id": {exchange.id.token},\n  "{member}": {text}\n}}'


def _results(exchange: Exchange, language: str) -> Iterator[tuple[str, JsonObject]]:
    words = examples.PLACEHOLDERS.get(language, examples.PLACEHOLDERS["en"])
    results = examples.each_result(exchange.method, exchange.version)
    if text_at(exchange.request.params, "uri").startswith(APP_SCHEME):
        results = iter(sorted(results, key=lambda each: each[0] != examples.PAGE))
    for name, result in results:
        yield name, _fitted(exchange, result, words)


def _fitted(exchange: Exchange, example: JsonObject, words: str) -> JsonObject:
    """Put values of this request, and placeholders in the reader's language, into an example."""
    record, params = methods.of(exchange.method), exchange.request.params
    ours = examples.PLACEHOLDERS["en"]  # the reader's language replaces them
    result: JsonObject = mapped(example, lambda leaf: words if leaf == ours else leaf)
    if "protocolVersion" in result:
        result["protocolVersion"] = version_to_answer(params.get("protocolVersion"))
    if record.stays_open:
        meta = {**result.get("_meta", {}), versions.META_SUBSCRIPTION: exchange.id.value}
        return {**result, "_meta": meta}
    if result.get("action") == "accept":
        return _filled(result, params)
    name = params.get(record.named_by)
    for named in (result, *objects_at(result, "contents")[:1]):
        if isinstance(name, str) and record.named_by in named:
            named[record.named_by] = name
    return result


def version_to_answer(wanted: Json) -> str:
    """Return the version for the response to `initialize`: the wanted one if we support it."""
    if isinstance(wanted, str) and wanted in versions.HANDSHAKE:
        return wanted
    return versions.LATEST_HANDSHAKE


def _filled(result: JsonObject, params: JsonObject) -> JsonObject:
    """Return the form of an elicitation filled with its defaults, or with empty values."""
    schema = follow(params, "requestedSchema")
    fields, needed = follow(schema, "properties"), array_at(schema, "required")
    if not isinstance(fields, dict):
        return {"action": "accept"}
    content = _with_placeholders(_filled_in(fields, needed), schema)
    written = {name: one for name, one in content.items() if name in needed or one != PLACEHOLDER}
    return {**result, "content": written}


def _with_placeholders(value: Json, schema: Json) -> Json:
    """Replace each number without a choice with a placeholder, which the check refuses."""
    if isinstance(value, dict):
        fields = follow(schema, "properties")
        return {
            name: _with_placeholders(part, follow(fields, name)) for name, part in value.items()
        }
    return PLACEHOLDER if _is_open_number(schema) else value


def _is_open_number(field: Json) -> bool:
    """Return True for a number without a default and without choices."""
    return (
        isinstance(field, dict)
        and field.get("type") in ("number", "integer")
        and field.get("default") is None
        and not schemas.choices(field)
    )


def empty_arguments(tool: Json) -> JsonObject:
    """Return the required arguments of a tool, with defaults or empty values."""
    return _empty_object(object_at(tool, "inputSchema"), 0)


def _empty_object(schema: JsonObject, depth: int) -> JsonObject:
    """Return the required members of an object, and those with only one possible value."""
    fields, names = object_at(schema, "properties"), array_at(schema, "required")
    if depth > _DEEPEST:
        return {}
    wanted = {
        name: field
        for name, field in fields.items()
        if name in names or "const" in object_at(field)
    }
    return _filled_in(wanted, names, depth)


def _filled_in(fields: Mapping[str, Json], needed: list[Json], depth: int = 0) -> JsonObject:
    """Return the fields with values: the default, a first choice, or an empty valid value.

    A field that needs more is omitted if it is optional; else it stays invalid, and the check
    reports it.
    """
    values = {name: first_value(field, depth + 1) for name, field in fields.items()}
    return {
        name: value
        for name, value in values.items()
        if name in needed or validator.mismatch(value, fields[name]) is None
    }


def first_value(field: Json, depth: int = 0) -> Json:  # noqa: PLR0911 - one line a kind
    """Return the first value of a field: its default, a first choice, or an empty valid value."""
    if not isinstance(field, dict):
        return ""
    if field.get("default") is not None:
        return field["default"]
    choices = schemas.choices(field)
    if choices:
        return choices[0].value
    kind = field.get("type")
    if kind in ("number", "integer"):
        return _nearest_to_zero(field)
    if kind == "array":
        least, offered = field.get("minItems"), schemas.choices(object_at(field, "items"))
        taken = offered[: least if type(least) is int and least > 0 else 0]
        return [one.value for one in taken]
    if kind == "object":
        return _empty_object(field, depth)
    return False if kind == "boolean" else ""


def _nearest_to_zero(field: JsonObject) -> Json:
    for limit, beyond in (("minimum", 0), ("exclusiveMinimum", 1)):
        least = field.get(limit)
        if isinstance(least, (int, float)) and least + beyond > 0:
            return least + beyond
    for limit, beyond in (("maximum", 0), ("exclusiveMaximum", -1)):
        most = field.get(limit)
        if isinstance(most, (int, float)) and most + beyond < 0:
            return most + beyond
    return 0


def _fitted_error(exchange: Exchange, error: JsonObject) -> JsonObject:
    """Return an example error with the names in this request."""
    params, data = exchange.request.params, error.get("data")
    if isinstance(data, dict) and "uri" in data:
        return {**error, "data": {"uri": params.get("uri", "")}}
    if isinstance(data, dict) and exchange.method == "initialize" and "requested" in data:
        wanted = params.get("protocolVersion", "")
        return {**error, "data": {"supported": list(versions.HANDSHAKE), "requested": wanted}}
    unserved = versions.unserved_in(exchange.request)
    if isinstance(data, dict) and "requested" in data and unserved is not None:
        return {**error, "data": {"supported": list(versions.ALL), "requested": unserved}}
    for words in ("Unknown tool: ", "Unknown prompt: "):
        if error["message"].startswith(words) and exchange.tool:
            return {**error, "message": words + exchange.tool}
    return error


def has_completions(capabilities: Mapping[str, Any] | None, version: str) -> bool:
    """Return True if a server supports completion; 2024-11-05 has no capability for it."""
    return not features(version).completions or "completions" in (capabilities or ())


def asked(
    ref: Mapping[str, Any], name: str, value: str, given: Mapping[str, str], version: str
) -> dict[str, Any]:
    """Return the parameters of a completion request.

    `given` are the other arguments, which are sent if the version has a place for them.
    """
    params: dict[str, Any] = {"ref": dict(ref), "argument": {"name": name, "value": value}}
    context = SHAPES["CompleteParams"].members["context"]
    others = {one: text for one, text in given.items() if text and one != name}
    if others and context.exists(version):
        params["context"] = {"arguments": others}
    return params


def values_of(result: object) -> list[str]:
    """Return the values in a completion result; [] for another result."""
    return [one for one in array_at(result, "completion", "values") if isinstance(one, str)]

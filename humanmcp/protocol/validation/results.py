"""Check a result: which object it must be, and the problems of its shape and rules.

The method, the version and (since 2026-07-28) `resultType` decide the object.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.conversation.approvals import (
    outcome_of_words,
    questions_of,
    with_members,
    words_in,
)
from humanmcp.protocol.conversation.questions import result_with
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.diagnostics.problem import (
    HOLE,
    RawDiagnostic,
    delete,
    insert,
    quoted,
    replace_with,
    shown,
    unwrap,
    wrap,
)
from humanmcp.protocol.json.jsonrpc import as_json, compact, json_type, member
from humanmcp.protocol.json.spelling import alike
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.tables.examples import example_of, named
from humanmcp.protocol.tables.objects import CONTENT, SHAPES
from humanmcp.protocol.tables.types import ListOf
from humanmcp.protocol.tables.versions import features
from humanmcp.protocol.validation import rules
from humanmcp.protocol.validation.rules.registry import JudgedAnswer
from humanmcp.protocol.validation.shape_checker import judge

if TYPE_CHECKING:
    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.diagnostics.problem import FixAction, Path
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject

_CONTENT: Final = ListOf(CONTENT)
_RESULT: Final = ("result",)
"""The place of a result in its message."""


def judge_result(
    exchange: Exchange, value: Json, negotiated: NegotiatedState
) -> list[RawDiagnostic]:
    misplaced = _misplaced(exchange, value, negotiated)
    if misplaced is not None:
        return [misplaced]
    found = rules.judge(JudgedAnswer(exchange, value, negotiated))
    method = methods.of(exchange.method)
    kind = method.result
    if not method.is_in(exchange.version):
        said = shown(exchange.method)
        found.append(kinds.result_of_unknown_method(_RESULT, method=said, version=exchange.version))
    if kind:
        kind, typed = _arm(exchange, value)
        found += typed
        if kind:
            found += judge(value, kind, exchange.version, _RESULT)
    return one_each(found)


def one_each(found: list[RawDiagnostic]) -> list[RawDiagnostic]:
    """Keep one problem for each place: the first error, else the first problem."""
    kept: dict[tuple[Path, Path], RawDiagnostic] = {}
    for each in found:
        key = (each.path, each.fix.path if each.fix else each.path)
        first = kept.setdefault(key, each)
        # about a member that the shape does not know (M11), a rule knows more
        if blocks(each) and not blocks(first) and each.kind is not kinds.misspelt_member:
            kept[key] = each
    return list(kept.values())


def blocks(diagnostic: RawDiagnostic) -> bool:
    """Return True if a problem blocks sending."""
    return diagnostic.severity is Severity.ERROR


# -- a value that is not a result ---------------------------------------------------------------


def _misplaced(
    exchange: Exchange, value: Json, negotiated: NegotiatedState
) -> RawDiagnostic | None:
    """Report a value that is not a result at all: one problem instead of a dozen."""
    if not isinstance(value, dict):
        return _no_object(exchange, value, negotiated)
    if "jsonrpc" in value and ("result" in value or "error" in value or "method" in value):
        inner = unwrap(_RESULT, ("result",)) if "result" in value else None
        return kinds.message_as_result(_RESULT, inner)
    kind = methods.of(exchange.method).result
    if set(value) == {"result"} and kind != "TaskStateResult":
        return kinds.result_inside_result(_RESULT, unwrap(_RESULT, ("result",)))
    is_error = {"code", "message"} <= set(value) or set(value) == {"error"}
    if is_error and kind not in ("", "TaskPayload"):
        return kinds.error_as_result(_RESULT)
    if kind == "CallToolResult" and "content" not in value and set(value) <= {"text", "type"}:
        text = value.get("text")
        if isinstance(text, str):
            fix = replace_with(_RESULT, tool_text(exchange.version, text, negotiated), "wrap")
            return kinds.bare_text_result(_RESULT, fix)
    return None


def _no_object(exchange: Exchange, value: Json, negotiated: NegotiatedState) -> RawDiagnostic:
    fix: FixAction | None = None
    record = methods.of(exchange.method)
    kind = record.result
    if kind == "EmptyResult":
        fix = replace_with(_RESULT, {})
    elif record.plain_text and isinstance(value, (str, int, float)):
        text = value if isinstance(value, str) else as_json(value)
        fix = replace_with(_RESULT, plain_result(exchange, text, negotiated), "wrap")
    elif isinstance(value, list) and kind and (member := _list_in(kind)):
        around = as_json(example_of(kind, exchange.version) | {member: HOLE})
        fix = wrap(_RESULT, *around.split(as_json(HOLE)))
    return kinds.result_not_object(_RESULT, fix, got=json_type(value))


def _list_in(kind: str) -> str:
    """Return the required list member of an object; "" for none."""
    members = SHAPES[kind].members.items()
    lists = (name for name, one in members if one.required and isinstance(one.kinds[0][1], ListOf))
    return next(lists, "")


def tool_text(
    version: str, text: str, negotiated: NegotiatedState, *, is_error: bool = False
) -> JsonObject:
    """Return the result of a tool call with this text."""
    result: JsonObject = {"content": [{"type": "text", "text": text}]}
    if is_error:
        result["isError"] = True
    if features(version).result_types:
        result = {"resultType": "complete", **result, "_meta": named(negotiated.server)}
    return result


MODEL: Final = "a person"
"""The value of `CreateMessageResult.model` if a person is the model."""


def plain_result(
    exchange: Exchange, text: str, negotiated: NegotiatedState, *, is_error: bool = False
) -> JsonObject:
    """Return the result for plain text; for a tool that asks a person, in the tool's structure."""
    if exchange.method != "sampling/createMessage":
        outcome = None if is_error else outcome_of_words(exchange, text, negotiated)
        if outcome is not None:
            return outcome_result(exchange.version, outcome, negotiated)
        return tool_text(exchange.version, text, negotiated, is_error=is_error)
    return sampled({"type": "text", "text": text})


def sampled(content: Json, model: str = MODEL, stop: str = "endTurn") -> JsonObject:
    """Return the result of `sampling/createMessage`."""
    return {"role": "assistant", "content": content, "model": model, "stopReason": stop}


def outcome_result(version: str, outcome: JsonObject, negotiated: NegotiatedState) -> JsonObject:
    """Return the result of a tool that asks: as text, and as data if the version has it."""
    return {**tool_text(version, "", negotiated), **result_with(version, outcome)}


def with_outcome(line: str, exchange: Exchange, negotiated: NegotiatedState) -> str:
    """Return a response to a tool that asks, with the outcome of its text as data.

    A text alone also becomes the text of the outcome; other content stays as the person wrote it.
    """
    text = member(line, "result") if questions_of(exchange, negotiated) else None
    if text is None:
        return line
    result = json.loads(text)
    outcome = outcome_of_words(exchange, words_in(result), negotiated)
    if outcome is None:
        return line
    data = result_with(exchange.version, outcome)
    (item, *_) = result["content"]
    if not set(result) <= _OURS or result["content"][1:] or set(item) != {"type", "text"}:
        del data["content"]
    changed = {name: as_json(value) for name, value in data.items()}
    return compact(with_members(line, {"result": with_members(text, changed)}))


_OURS: Final = frozenset({"content", "resultType", "_meta"})
"""The members of a result that only contains text."""


# -- the object of a result --------------------------------------------------------------------


def _arm(exchange: Exchange, value: JsonObject) -> tuple[str, list[RawDiagnostic]]:
    """Return the object that a result must be, and problems; "" if it cannot be checked further."""
    method = methods.of(exchange.method)
    kind = method.result_in(exchange.version)
    if features(exchange.version).result_types:
        typed = "resultType" in SHAPES[kind].members
        return _typed_arm(exchange, value, kind) if typed else (kind, [])
    wished = "task" in exchange.request.params
    if kind == "TaskPayload" and "content" in value:
        return "TaskPayload", judge(
            value["content"], _CONTENT, exchange.version, (*_RESULT, "content")
        )
    if method.as_task and "task" in value and "content" not in value:
        if not wished:
            return "", [kinds.unrequested_task((*_RESULT, "task"), at_name=True)]
        return "CreateTaskResult", []
    return kind, []


def _typed_arm(  # noqa: PLR0911 - one return an arm
    exchange: Exchange, value: JsonObject, kind: str
) -> tuple[str, list[RawDiagnostic]]:
    result_type: Json = value.get("resultType", "complete")
    at = (*_RESULT, "resultType")
    asking = methods.of(exchange.method).asks_back
    asks = "inputRequests" in value and kind != "TaskStateResult"
    if result_type == "complete":
        if asks and asking:
            fix = (replace_with if "resultType" in value else insert)(at, "input_required")
            return "", [kinds.questions_marked_complete(at, fix)]
        return kind, []
    if result_type == "input_required":
        if not asking:
            can = sorted(one.name for one in methods.REQUESTS.values() if one.asks_back)
            return "", [kinds.input_required_not_allowed(at, allowed=", ".join(can))]
        if exchange.parked and (exchange.parked != "task" or not asks):
            return "", [kinds.question_while_parked(at)]
        return "InputRequiredResult", _asked_and_answered(value)
    extension = methods.extension_answering(exchange.method, result_type)
    if extension is not None:
        allowed = methods.declares(exchange.request, extension)
        return (extension.result, []) if allowed else ("", [kinds.undeclared_tasks(at)])
    if not isinstance(result_type, str):
        return kind, []
    return "", _odd_type(exchange, value, kind)


def _odd_type(exchange: Exchange, value: JsonObject, kind: str) -> list[RawDiagnostic]:
    """Report an unknown `resultType`: it "MUST be considered invalid"."""
    result_type, at = value["resultType"], (*_RESULT, "resultType")
    asking = methods.of(exchange.method).asks_back
    names = ("complete", "input_required") if asking else ("complete",)
    allowed = ", ".join(map(as_json, names))
    meant = alike(result_type, names) or (
        "complete" if result_type.lower().startswith("complet") else None
    )
    fix = replace_with(at, meant) if meant else None
    found = kinds.unknown_result_type(at, fix, value=quoted(result_type), allowed=allowed)
    rest = judge({**value, "resultType": "complete"}, kind, exchange.version, _RESULT)
    return [found, *rest]


def _asked_and_answered(value: JsonObject) -> list[RawDiagnostic]:
    """Report a result with a question and an answer: the answer would be lost."""
    names = ("content", "contents", "messages", "structuredContent", "isError")
    extra = [name for name in names if name in value]
    if extra:
        at = (*_RESULT, extra[0])
        return [kinds.result_beside_questions(at, delete(at), at_name=True, key=extra[0])]
    there, at = "inputRequests" in value, (*_RESULT, "inputRequests")
    if value.get("inputRequests") == {} or (not there and "requestState" not in value):
        params = {"mode": "form", **example_of("FormInput", versions.LATEST_STATELESS)}
        asked = {"answer": {"method": "elicitation/create", "params": params}}
        fix = (replace_with if there else insert)(at, asked)
        return [kinds.nothing_asked(at if there else _RESULT, fix)]
    return []

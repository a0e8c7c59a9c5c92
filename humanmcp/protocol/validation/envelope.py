"""Check the JSON-RPC envelope of an answer: the members around its result or error.

It checks the top-level members of a message and the content of `error`. It knows the id that the
answer must have, but nothing about results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.problem import (
    FixAction,
    FixKind,
    RawDiagnostic,
    delete,
    insert,
    quoted,
    rename_to,
    replace_with,
    replace_with_integer,
    shown,
    unwrap,
    wrap,
)
from humanmcp.protocol.json.jsonrpc import Kind, as_json, json_type, kind_of_answer
from humanmcp.protocol.json.spelling import alike, half_width
from humanmcp.protocol.tables.versions import features
from humanmcp.protocol.validation.rules.registry import RuleSet
from humanmcp.protocol.validation.shape_checker import judge

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from humanmcp.protocol.diagnostics.problem import Path, ProblemKind
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject, RequestId

MEMBERS: Final = ("jsonrpc", "id", "result", "error")
"""The top-level members of an answer."""


class AnswerEnvelope(NamedTuple):
    """The top-level members of an answer, its expected id, and its id as typed."""

    value: JsonObject
    expected: RequestId
    typed: str

    @property
    def strange(self) -> list[str]:
        return [name for name in self.value if name not in (*MEMBERS, "method")]


rule: Final[RuleSet[AnswerEnvelope]] = RuleSet()
"""The rules of JSON-RPC for the top-level members of an answer."""


def is_bare(value: Json) -> bool:
    """Return True for only `{"result": …}` or `{"error": …}`: humanmcp adds the rest."""
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in ("result", "error")


def judge_envelope(
    value: Json, expected: RequestId, typed: str, version: str
) -> list[RawDiagnostic]:
    """Return the problems of the envelope of an answer, without those of its result.

    `typed` is the id as it was typed, "" if there is none.
    """
    if isinstance(value, list):
        return [_batch(value, version)]
    if not isinstance(value, dict):
        return [kinds.message_not_object(got=json_type(value))]
    found: list[RawDiagnostic] = []
    if not is_bare(value):
        if not _looks_like_an_answer(value):
            return [_no_answer(value, expected)]
        found += rule.judge("", AnswerEnvelope(value, expected, typed))
    is_error = kind_of_answer(value) is Kind.ERROR
    return found + (judge_error(value["error"], version, ("error",)) if is_error else [])


def _looks_like_an_answer(value: JsonObject) -> bool:
    return "method" in value or any(half_width(name) in MEMBERS for name in value)


def _batch(value: list[Json], version: str) -> RawDiagnostic:
    """Report an array. Only 2025-03-26 has batches; there, too, a person answers each request."""
    kind = kinds.batch_of_one if features(version).batches else kinds.batch_not_allowed
    return kind((), unwrap((), (0,)) if len(value) == 1 else None)


def _no_answer(value: JsonObject, expected: RequestId) -> RawDiagnostic:
    """Report a result that was typed without its envelope."""
    fix = wrap((), _head(value, expected), "}")
    return kinds.no_result_or_error((), fix, typed=_names(value))


def _head(names: Collection[str], expected: RequestId) -> str:
    """Return the envelope before members that are those of a result, or of an error."""
    member = "error" if "code" in names and "message" in names else "result"
    return f'{{"jsonrpc": "2.0", "id": {expected.token}, "{member}": '


def _names(value: JsonObject) -> str:
    return shown(", ".join(f'"{name}"' for name in list(value)[:3])) or "{}"


@rule()
def version_of_json_rpc(answer: AnswerEnvelope) -> Iterable[RawDiagnostic]:
    """Check the member `jsonrpc`.

    "A String specifying the version of the JSON-RPC protocol. MUST be exactly "2.0"".

    https://www.jsonrpc.org/specification#response_object
    """
    typed = None if "jsonrpc" in answer.value else alike("jsonrpc", answer.strange)
    return version_member(answer.value) if typed is None else [misspelt((), typed, "jsonrpc")]


def version_member(value: JsonObject) -> list[RawDiagnostic]:
    """Return the problems of `jsonrpc` in any message."""
    if value.get("jsonrpc") == "2.0":
        return []
    there = "jsonrpc" in value
    fix = (replace_with if there else insert)(("jsonrpc",), "2.0")
    return [kinds.wrong_jsonrpc_version(("jsonrpc",) if there else (), fix)]


REQUEST_MEMBERS: Final = ("jsonrpc", "id", "method", "params")


def strange_members(value: JsonObject) -> list[RawDiagnostic]:
    """Report what else a request or notification has: servers with the TypeScript SDK drop it.

    https://www.jsonrpc.org/specification#request_object
    """
    return [
        kinds.method_beside_result((name,), delete((name,)), at_name=True)
        if name in ("result", "error")
        else kinds.unknown_envelope_member((name,), delete((name,)), at_name=True, key=shown(name))
        for name in value
        if name not in REQUEST_MEMBERS
    ]


def misspelt(path: Path, typed: str, meant: str) -> RawDiagnostic:
    """Report a misspelled member of the envelope."""
    at = (*path, typed)
    fix = rename_to(at, meant)
    return kinds.misspelt_envelope_member(at, fix, at_name=True, key=meant, typed=shown(typed))


@rule()
def id_of_the_request(answer: AnswerEnvelope) -> Iterable[RawDiagnostic]:
    """Check `id`: "It MUST be the same as the value of the id member in the Request Object".

    https://www.jsonrpc.org/specification#response_object
    """
    value, expected, typed = answer
    wanted = expected.token
    if "id" not in value:
        nearly = next((name for name in value if half_width(name) == "id"), None)
        if nearly:
            return (misspelt((), nearly, "id"),)
        fix = FixAction(FixKind.INSERT, ("id",), wanted, label="insert")
        return (kinds.missing_id((), fix, id=wanted),)
    got = value["id"]
    kind: ProblemKind = kinds.wrong_id
    if isinstance(got, bool) or not isinstance(got, (str, int, float)):
        kind = kinds.invalid_id
    elif _same_id(got, expected, typed):
        return ()
    elif str(got) == str(expected.value):
        kind = kinds.wrong_id_type
    elif isinstance(got, float):
        kind = kinds.invalid_id
    fix = FixAction(FixKind.REPLACE, ("id",), wanted, label="replace")
    return (kind(("id",), fix, typed=shown(typed or quoted(got)), id=shown(wanted)),)


def _same_id(got: str | float, expected: RequestId, typed: str) -> bool:
    """Return True if an id is the expected one: same type and value, and not spelled as `3.0`."""
    if isinstance(got, str) or isinstance(expected.value, str):
        return got == expected.value
    return got == expected.value and (isinstance(got, int) or typed == expected.token)


@rule()
def no_method(answer: AnswerEnvelope) -> Iterable[RawDiagnostic]:
    """Check that there is no method.

    "The Response is expressed as a single JSON Object, with the following members": jsonrpc,
    result, error, id.

    https://www.jsonrpc.org/specification#response_object
    """
    if "method" not in answer.value:
        return ()
    is_error = kind_of_answer(answer.value) is Kind.ERROR
    form = "error" if is_error else "request" if isinstance(answer.value["method"], str) else ""
    return (kinds.method_in_answer(("method",), delete(("method",)), at_name=True, form=form),)


@rule()
def result_or_error(answer: AnswerEnvelope) -> Iterable[RawDiagnostic]:
    """Check that one of them "MUST be included, but both members MUST NOT be included".

    https://www.jsonrpc.org/specification#response_object
    """
    value = answer.value
    if "result" in value and "error" in value:
        none = next((name for name in ("error", "result") if value[name] is None), None)
        fix = delete((none,)) if none else None
        return (kinds.result_and_error(("error",), fix, at_name=True, null=none or ""),)
    if "result" in value or "error" in value:
        return ()
    typed = _misspelt_body(answer)
    if typed is not None:
        return (misspelt((), typed, alike(typed, ("result", "error")) or "result"),)
    if "method" in value:
        return ()  # a request: reported by its method
    return (_no_body(value, answer.strange, answer.expected),)


@rule()
def nothing_else(answer: AnswerEnvelope) -> Iterable[RawDiagnostic]:
    """Report other members: the TypeScript clients drop a message that has one."""
    value = answer.value
    bodied = "result" in value or "error" in value
    typed = None if bodied else _misspelt_body(answer)
    if not bodied and typed is None:
        return ()  # already reported
    return [
        kinds.unknown_envelope_member((name,), delete((name,)), at_name=True, key=shown(name))
        for name in answer.strange
        if name != typed
        and half_width(name) not in ("jsonrpc", "id")
        and alike("jsonrpc", [name]) is None
    ]


def _misspelt_body(answer: AnswerEnvelope) -> str | None:
    return next((name for name in answer.strange if alike(name, ("result", "error"))), None)


def _no_body(value: JsonObject, strange: list[str], expected: RequestId) -> RawDiagnostic:
    """Report a message without result and error: maybe the result's members are at the top."""
    fix = insert(("result",), {})
    if strange:
        body = as_json({name: value[name] for name in strange})
        whole = f"{_head(strange, expected)}{body}}}"
        fix = FixAction(FixKind.REPLACE, (), whole, label="wrap")
    return kinds.no_result_or_error((), fix, typed=_names(value))


# -- what an error must be -----------------------------------------------------------------------


def judge_error(error: Json, version: str, path: Path) -> list[RawDiagnostic]:
    """Return the problems of the value of `"error"`."""
    if not isinstance(error, dict):
        fix = None
        if isinstance(error, str):
            fix = replace_with(path, {"code": -32603, "message": error}, "wrap")
        return [kinds.error_not_object(path, fix, got=json_type(error))]
    found = _judge_code(error, version, path)
    if not isinstance(error.get("message"), str):
        at = (*path, "message")
        if "message" not in error:
            missing = kinds.missing_error_message(path, insert(at, "…"))
            found.append(_renamed(error, "message", path) or missing)
        else:
            got = error["message"]
            fix = wrap(at, '"', '"') if isinstance(got, (int, float)) else replace_with(at, "…")
            found.append(kinds.missing_error_message(at, fix))
    elif not error["message"].strip():
        found.append(kinds.empty_error_message((*path, "message")))
    taken = {each.path[-1] for each in found if each.kind is kinds.misspelt_envelope_member}
    extra = [name for name in error if name not in ("code", "message", "data", *taken)]
    for name in extra:
        at = (*path, name)
        found.append(kinds.unknown_error_member(at, delete(at), at_name=True, key=shown(name)))
    return found


def _renamed(error: JsonObject, name: str, path: Path) -> RawDiagnostic | None:
    typed = alike(name, [each for each in error if each not in ("code", "message", "data")])
    return None if typed is None else misspelt(path, typed, name)


def _judge_code(error: JsonObject, version: str, path: Path) -> list[RawDiagnostic]:
    at = (*path, "code")
    if "code" not in error:
        return [_renamed(error, "code", path) or kinds.missing_error_code(path, insert(at, -32603))]
    code = error["code"]
    if isinstance(code, bool) or not isinstance(code, int):
        fix = replace_with_integer(at, code)
        form = "fraction" if isinstance(code, float) else "text" if fix else "word"
        if isinstance(code, str) and fix is None:
            fix = replace_with(at, -32603)
        return [kinds.error_code_not_integer(at, fix, form=form)]
    return _judge_number(code, error, version, path)


STANDARD: Final = (-32700, -32600, -32601, -32602, -32603)
"""JSON-RPC 2.0, section 5.1: the codes with a fixed meaning."""

RETIRED_2026: Final = {-32002: -32602, -32042: None}
"""The codes that 2026-07-28 removed, and the codes that replace them."""


def _judge_number(code: int, error: JsonObject, version: str, path: Path) -> list[RawDiagnostic]:
    """Check a code by the ranges that JSON-RPC and MCP reserve."""
    shape = dict(features(version).error_data).get(code)
    if shape is not None:
        at = (*path, "data")
        if "data" not in error:
            return [kinds.missing_member(path, key="data", example="{…}", where="error")]
        return judge(error["data"], shape, version, at)
    at = (*path, "code")
    reserved = kinds.reserved_error_code(at, code=str(code), version=version)
    if code in (*STANDARD, *features(version).more_errors) or not -32768 <= code <= -32000:
        return []
    if not features(version).error_codes:
        own = -32099 <= code <= -32000  # JSON-RPC reserves these for implementations
        return [] if own else [reserved]
    instead = RETIRED_2026.get(code)
    return [reserved._replace(fix=replace_with(at, instead) if instead else None)]

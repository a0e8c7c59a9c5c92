"""The check of what a person types: the draft, the problems, and the line to send.

`check` judges an answer and makes the line. `check_outgoing` does the same for an outgoing message.
`remarks` and `review` judge the peer's messages. The same functions run at the desk and in the
server, whose result decides. `starting_draft.start` makes the draft.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.conversation.exchange import NOTHING_ESTABLISHED
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.locate import Placer, Source
from humanmcp.protocol.diagnostics.model import Fix, TextEdit, TextForm, Verdict, grouped
from humanmcp.protocol.diagnostics.problem import FixAction, FixKind, RawDiagnostic, unwrap
from humanmcp.protocol.json.jsonrpc import (
    Kind,
    as_json,
    as_line,
    compact,
    kind_of_answer,
    member,
    size_of,
    wire_line,
    with_token,
)
from humanmcp.protocol.json.spelling import half_width
from humanmcp.protocol.repair.reading import (
    LONG,
    LONGEST,
    REWRITTEN,
    Reading,
    diagnostic,
    read_json,
)
from humanmcp.protocol.tables import methods
from humanmcp.protocol.validation import rules
from humanmcp.protocol.validation.crash_guard import judging
from humanmcp.protocol.validation.envelope import is_bare, judge_envelope, judge_error
from humanmcp.protocol.validation.incoming import remarks, review, same_id
from humanmcp.protocol.validation.outgoing import check_outgoing
from humanmcp.protocol.validation.results import (
    judge_result,
    one_each,
    plain_result,
    tool_text,
    with_outcome,
)
from humanmcp.protocol.validation.rules.tools import unwritten
from humanmcp.protocol.validation.secret_shapes import warn_of_secrets
from humanmcp.protocol.validation.starting_draft import message, start
from humanmcp.protocol.validation.starting_draft import variants as templates

if TYPE_CHECKING:
    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject

__all__ = [
    "TOO_LATE",
    "check",
    "check_outgoing",
    "remarks",
    "review",
    "same_id",
    "start",
    "templates",
]

_ROOTS: Final = {TextForm.MESSAGE: (), TextForm.RESULT: ("result",), TextForm.ERROR: ("error",)}
_ENVELOPE: Final = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
_ERROR: Final = frozenset({"code", "message", "data"})
PLAIN: Final = frozenset({"J20", "R20"})
"""The problems of a text that is not an object: plain words, a number, `true`, a string."""
TOO_LATE: Final = {
    ExchangeState.CANCELLED: kinds.answer_after_cancel,
    ExchangeState.ANSWERED: kinds.already_answered,
    ExchangeState.ABANDONED: kinds.client_stopped_waiting,
}
"""The problems of an answer whose request is over, by its state."""


@judging(text_at=1)
def check(
    exchange: Exchange,
    text: str,
    form: TextForm = TextForm.MESSAGE,
    negotiated: NegotiatedState = NOTHING_ESTABLISHED,
) -> Verdict:
    """Check a person's answer to a request, and make the line to send.

    Never raises, whatever the text. A decision is no answer to a request: it is read as a message.
    """
    form = TextForm.MESSAGE if form in (TextForm.DECISION, TextForm.STEP) else form
    if form in (TextForm.TEXT, TextForm.TOOL_ERROR):
        return _check_plain(exchange, text, form, negotiated)
    reading = read_json(text)
    if not reading.readable:
        return _verdict_on_no_json(exchange, reading, form, negotiated)
    if form is TextForm.MESSAGE:
        form = _meant(reading.value)
    judged = TextForm.RESULT if _is_bare_result(exchange, reading.value, form) else form
    found = _findings(exchange, reading, judged, negotiated)
    diagnostics = reading.diagnostics
    late = TOO_LATE.get(exchange.state)
    if found or late:
        page = methods.page(exchange.method, exchange.version)
        found = [late(), *found] if late else found
        more = reading.placed(found, page, _ROOTS[judged])
        if any(each.code in REWRITTEN for each in diagnostics):
            more = [each._replace(fix=None) for each in more]
        if judged is not form and not isinstance(reading.value, list):
            words = reading.value if isinstance(reading.value, str) else reading.json.strip()
            result = tool_text(exchange.version, words, negotiated)
            more = [_wrapped(exchange, text, form, each, result) for each in more]
        diagnostics = grouped(in_order((*diagnostics, *more)))
    secrets = _secrets(exchange, text)
    if secrets:
        diagnostics = in_order((*diagnostics, *secrets))
    blocked = any(each.blocks for each in diagnostics)
    line = _line(exchange, reading, form)
    if not blocked:
        line = with_outcome(line, exchange, negotiated)
    return Verdict(
        text,
        None if blocked else line,
        _forced(exchange, reading, form) if blocked else line,
        diagnostics,
        _kind(reading.value, form),
    )


def _secrets(exchange: Exchange, text: str) -> tuple[Diagnostic, ...]:
    """Warn of typed secrets. In a list, the name of a secret is an argument of a tool or prompt."""
    return warn_of_secrets(text, by_name=methods.of(exchange.method).listing is None)


def _meant(value: Json) -> TextForm:
    """Return the form of a text that is neither called a result nor an error.

    An object without any member of the envelope is the result: humanmcp adds the envelope.
    """
    if not isinstance(value, dict) or not _ENVELOPE.isdisjoint(map(half_width, value)):
        return TextForm.MESSAGE
    return TextForm.ERROR if {"code", "message"} <= set(value) <= _ERROR else TextForm.RESULT


def _is_bare_result(exchange: Exchange, value: Json, form: TextForm) -> bool:
    """Return True if a text that should be a message is plain text, or the list of a result.

    It is checked as the intended result; **Send anyway** sends it as typed.
    """
    if form is not TextForm.MESSAGE or isinstance(value, dict) or value is None:
        return False
    if isinstance(value, list):
        return bool(value) and all(
            isinstance(item, dict) and not {half_width(name) for name in item} & _ENVELOPE
            for item in value
        )
    return methods.of(exchange.method).plain_text and _inner_json(value) is None


def _inner_json(value: Json) -> str | None:
    """Return the JSON inside a JSON string, None if the string is only text."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return None
    inner = read_json(value)
    return inner.json if inner.readable and isinstance(inner.value, (dict, list)) else None


def in_order(diagnostics: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """Sort problems by place; at one place, the more severe first."""
    return tuple(sorted(diagnostics, key=lambda each: (each.start, each.severity.value != "error")))


def _findings(
    exchange: Exchange, reading: Reading, form: TextForm, negotiated: NegotiatedState
) -> list[RawDiagnostic]:
    value = reading.value
    inner = _inner_json(value)
    if inner is not None:
        fix = FixAction(FixKind.REPLACE, _ROOTS[form], inner, label="unquote")
        return [kinds.quoted_answer(_ROOTS[form], fix)]
    if form is TextForm.RESULT:
        return judge_result(exchange, value, negotiated) + unwritten(
            value, ("result",), reading.json
        )
    if form is TextForm.ERROR:
        if isinstance(value, dict) and "error" in value and "code" not in value:
            return [kinds.error_inside_error(("error",), unwrap(("error",), ("error",)))]
        found = judge_error(value, exchange.version, ("error",))
        found = found or rules.judge_error(exchange, value, negotiated)
        return one_each([*found, *unwritten(value, ("error",), reading.json)])
    typed = ""
    if isinstance(value, dict) and isinstance(value.get("id"), float):
        typed = member(reading.json, "id") or ""
    found = judge_envelope(value, exchange.id, typed, exchange.version)
    if isinstance(value, dict) and "result" in value and "error" not in value:
        found += judge_result(exchange, value["result"], negotiated)
    elif isinstance(value, dict) and not found:
        found = rules.judge_error(exchange, value["error"], negotiated)
    return one_each([*found, *unwritten(value, (), reading.json)])


def _kind(value: Json, form: TextForm) -> Kind | None:
    """Return the kind of a text: result or error."""
    if form is not TextForm.MESSAGE:
        return Kind.ERROR if form is TextForm.ERROR else Kind.RESULT
    return kind_of_answer(value) if isinstance(value, dict) else None


# -- the one line --------------------------------------------------------------------------------


def _line(exchange: Exchange, reading: Reading, form: TextForm) -> str:
    """Return the line to send: the person's text, with the envelope and the client's id."""
    body = compact(reading.json)
    token = exchange.id.token
    if form is not TextForm.MESSAGE:
        return f'{{"jsonrpc":"2.0","id":{token},"{form.value}":{body}}}'
    if is_bare(reading.value):
        return f'{{"jsonrpc":"2.0","id":{token},{body[1:]}'
    if not isinstance(reading.value, dict) or "id" not in reading.value:
        return body
    usual = body.startswith(f'{{"jsonrpc":"2.0","id":{token},')
    if usual or body.endswith(f',"id":{token}}}'):  # no need to search for it
        return body
    return with_token(body, token)  # as the client spelled it


def _forced(exchange: Exchange, reading: Reading, form: TextForm) -> str | None:
    """Return the line that **Send anyway** sends: the text as typed, on one line."""
    malformed = reading.edits and any(each.blocks for each in reading.diagnostics)
    if malformed or not reading.readable:
        forced = wire_line(reading.text)
        if forced is None or form is TextForm.MESSAGE:
            return forced
        return f'{{"jsonrpc":"2.0","id":{exchange.id.token},"{form.value}":{forced}}}'
    if form is TextForm.MESSAGE and not is_bare(reading.value):
        return compact(reading.json)
    return _line(exchange, reading, form)


def _verdict_on_no_json(
    exchange: Exchange, reading: Reading, form: TextForm, negotiated: NegotiatedState
) -> Verdict:
    forced = _forced(exchange, reading, form)
    kind = None if form is TextForm.MESSAGE else _kind(None, form)
    result = tool_text(exchange.version, reading.text.strip(), negotiated)
    diagnostics = tuple(
        _wrapped(exchange, reading.text, form, each, result) for each in reading.diagnostics
    )
    return Verdict(reading.text, None, forced, diagnostics, kind)


def _wrapped(
    exchange: Exchange, text: str, form: TextForm, diagnostic: Diagnostic, result: JsonObject
) -> Diagnostic:
    """Offer a fix that makes a result of plain text or a number, if that is a valid answer."""
    if diagnostic.code not in PLAIN or exchange.method != "tools/call" or form is TextForm.ERROR:
        return diagnostic
    new = message(exchange, "result", result) if form is TextForm.MESSAGE else as_json(result)
    return diagnostic._replace(fix=Fix((TextEdit(0, len(text), new),), "wrap"))


# -- plain text for a tool call ------------------------------------------------------------------


def _check_plain(
    exchange: Exchange, text: str, form: TextForm, negotiated: NegotiatedState
) -> Verdict:
    """Check plain text: the text of a tool result, or of a model's turn."""
    result = plain_result(exchange, text, negotiated, is_error=form is TextForm.TOOL_ERROR)
    line = f'{{"jsonrpc":"2.0","id":{exchange.id.token},"result":{as_line(result)}}}'
    diagnostics = _plain_diagnostics(exchange, text, result, negotiated)
    size = size_of(line)
    if size < 0:
        diagnostics.append(diagnostic(kinds.lone_surrogate(value="\\ud…"), text, 0, len(text)))
    elif size > LONGEST:
        diagnostics.append(diagnostic(kinds.answer_too_large(size=f"{size / 1048576:.1f}"), text))
    elif size > LONG:
        diagnostics.append(diagnostic(kinds.large_answer(size=f"{size / 1_000_000:.1f}"), text))
    diagnostics += _secrets(exchange, text)
    blocked = any(each.blocks for each in diagnostics)
    forced = line.encode("utf-8", "replace").decode() if text.strip() else None
    return Verdict(
        text, None if blocked else line, forced, in_order(tuple(diagnostics)), Kind.RESULT
    )


def _plain_diagnostics(
    exchange: Exchange, text: str, result: Json, negotiated: NegotiatedState
) -> list[Diagnostic]:
    late = TOO_LATE.get(exchange.state)
    found: list[RawDiagnostic] = [late()] if late else []
    if not text.strip():
        return [diagnostic(kinds.empty_answer(), text, 0, len(text))]
    if not methods.of(exchange.method).plain_text:
        found.append(kinds.text_not_allowed(method=exchange.method))
    else:
        found += judge_result(exchange, result, negotiated)
    if not found:
        return []
    page = methods.page(exchange.method, exchange.version)
    unfixed = (each._replace(fix=None) for each in found)  # a fix is of JSON, and this is none
    return Placer(Source("", text, (), None, page)).diagnostics(unfixed)

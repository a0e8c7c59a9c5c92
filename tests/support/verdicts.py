"""Requests to be answered in tests, and what a test wants to know of a verdict."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from humanmcp import locales
from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity, TextForm, Verdict
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.validation import check as draft_check
from tests.support.speaking import said_in

R2024, R2025_03, R2025_06, R2025, R2026 = (
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
)
STATED = "io.modelcontextprotocol/"


def asked(
    method: str,
    params: Mapping[str, Any] | None = None,
    *,
    token: str = "3",
    version: str = R2025,
) -> Exchange:
    """Make the exchange of a request with an id token, as a session would."""
    text = f'{{"jsonrpc":"2.0","id":{token},"method":{json.dumps(method)}'
    if params is not None:
        text += f',"params":{json.dumps(params, ensure_ascii=False)}'
    message = jsonrpc.read(f"{text}}}".encode())
    assert isinstance(message, Message), message
    return Exchange(1, message, version)


def stating(capabilities: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Make the `_meta` of a 2026-07-28 request."""
    return {
        STATED + "protocolVersion": R2026,
        STATED + "clientInfo": {"name": "c", "version": "1"},
        STATED + "clientCapabilities": dict(capabilities or {}),
    }


def codes(diagnostics: Iterable[Diagnostic]) -> list[str]:
    """List the codes of problems that are more than a note on what was done."""
    return [each.code for each in diagnostics if each.severity is not Severity.REPAIRED]


def serious(diagnostics: Iterable[Diagnostic]) -> list[str]:
    """List the codes of errors and warnings."""
    return [
        each.code for each in diagnostics if each.severity in (Severity.ERROR, Severity.WARNING)
    ]


def check(
    exchange: Exchange,
    text: str,
    form: TextForm = TextForm.MESSAGE,
    negotiated: NegotiatedState | None = None,
) -> Verdict:
    """Check a text, and hold the verdict to what every verdict must keep."""
    verdict = draft_check.check(exchange, text, form, negotiated or NegotiatedState())
    hold(verdict)
    return verdict


def hold(verdict: Verdict) -> None:
    """Assert what is true of every verdict, whatever was typed."""
    assert (verdict.line is None) == bool(verdict.errors)
    for line in (verdict.line, verdict.forced):
        if line is not None:
            assert "\n" not in line
            assert "\r" not in line
            assert line.encode()
    if verdict.line is not None:
        json.loads(verdict.line)
        assert verdict.forced == verdict.line
    starts = [each.start for each in verdict.diagnostics]
    assert starts == sorted(starts)
    for diagnostic in verdict.diagnostics:
        hold_diagnostic(diagnostic, verdict.text)


def hold_diagnostic(diagnostic: Diagnostic, text: str) -> None:
    """Assert what is true of every problem: a place in the text, and sentences that are filled."""
    assert 0 <= diagnostic.start <= diagnostic.end <= len(text)
    assert not text or (diagnostic.line >= 1 and diagnostic.column >= 1)
    for language in locales.LANGUAGES:
        sentence = said_in(language, locales.describe, diagnostic)
        assert sentence
        assert "{{" not in sentence
        assert locales.say("problem", f"{diagnostic.code}.why", language)
        if diagnostic.fix:
            assert locales.say("fix", diagnostic.fix.label, language)
    if diagnostic.fix:
        for edit in diagnostic.fix.edits:
            assert 0 <= edit.start <= edit.end <= len(text)


def with_first_fix(verdict: Verdict) -> str:
    """Apply the first fix that is offered."""
    return next(each.fix.apply(verdict.text) for each in verdict.diagnostics if each.fix)

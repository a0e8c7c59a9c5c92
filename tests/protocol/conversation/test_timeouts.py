"""How long a client waits, and what keeps it waiting."""

import json
from typing import Any, Final

import pytest

from humanmcp.protocol.conversation.exchange import Exchange
from humanmcp.protocol.conversation.timeouts import gave_up_after, outlasted, timeout_plan
from humanmcp.protocol.json.jsonrpc import Message, read

MODERN: Final = "2026-07-28"
TOKEN: Final[dict[str, Any]] = {"progressToken": 0}
CODEX, CLAUDE, INSPECTOR, UNKNOWN = "codex-mcp-client", "claude-code", "mcp-inspector", "unheard-of"
NO_HELP: Final = "progress-changes-nothing"


def call(version: str = "2025-11-25", method: str = "tools/call", **meta: Any) -> Exchange:  # noqa: ANN401 - any JSON value
    """Make a pending request with this `_meta`."""
    line = json.dumps({"id": 1, "method": method, "params": {"_meta": meta}})
    message = read(line.encode())
    assert isinstance(message, Message)
    return Exchange(1, message, version)


@pytest.mark.parametrize(
    ("exchange", "client", "given", "said"),
    [
        # progress lifts the limit of clients that begin it anew with each notification
        (
            call(**TOKEN),
            "opencode",
            {},
            {"limit": None, "source": "measured", "keepalive": "progress"},
        ),
        (call(**TOKEN), "github-copilot-developer", {}, {"limit": None, "keepalive": "progress"}),
        (call(**TOKEN), "opencode", {"learned": 20}, {"limit": None}),  # no limit to learn
        # it is sent where it does not help too, and the limit stays; codex with 600 s took an
        # answer at 325 s, and Claude Code showed no limit, ever
        (call(**TOKEN), CODEX, {}, {"limit": 300, "keepalive": "", "why_not": NO_HELP}),
        (
            call(**TOKEN),
            CODEX,
            {"own_limit": 600},
            {"limit": 600, "source": "set", "keepalive": ""},
        ),
        (call(**TOKEN), CLAUDE, {"own_limit": 600}, {"source": "set", "why_not": NO_HELP}),
        (call(**TOKEN), "gemini-cli-mcp-client-x", {"own_limit": 600}, {"why_not": NO_HELP}),
        (call(**TOKEN), UNKNOWN, {}, {"keepalive": "progress-maybe"}),  # sent, and not promised
        # a token is text or a whole number; without one the reason is named
        (
            call(progressToken="x"),
            CODEX,
            {},
            {"keepalive": "", "why_not": NO_HELP, "progress": True},
        ),
        (call(progressToken=True), CODEX, {}, {"keepalive": "", "why_not": "no-token"}),
        (call(progressToken=None), CODEX, {}, {"keepalive": "", "why_not": "no-token"}),
        (call(progressToken=1.5), CODEX, {}, {"keepalive": "", "why_not": "no-token"}),
        (call(progressToken={}), CODEX, {}, {"keepalive": "", "why_not": "no-token"}),
        (call(), "mcporter", {}, {"limit": 60, "why_not": "no-token", "progress": False}),
        (call(MODERN), "mcporter", {}, {"why_not": "no-keepalive"}),
        # only who could hear progress is told that it is switched off
        (call(**TOKEN), "x", {"keepalives": frozenset()}, {"why_not": "silenced"}),
        (call(), "x", {"keepalives": frozenset()}, {"why_not": "no-token"}),
        # a list belongs to the handshake, and the limit of a call is not the handshake's
        (call(method="initialize"), CLAUDE, {}, {"limit": 30}),
        (call(method="tools/list"), CLAUDE, {}, {"limit": 30}),
        (call(method="tools/list"), "qwen-cli-mcp-client-x", {"own_limit": 900}, {"limit": 30}),
        (call(method="prompts/list"), CODEX, {}, {"limit": 30}),
        (call(method="prompts/list"), CODEX, {"own_limit": 600}, {"limit": 120}),
        (call(method="initialize"), CODEX, {}, {"source": "no-limit"}),
        (call(method="initialize"), "inspector-client", {}, {"limit": 15}),
        (call(method="tools/list"), "inspector-client", {}, {"limit": 60}),
        (call(method="tools/list"), UNKNOWN, {"own_limit": 20}, {"limit": 20}),
        (call(method="tools/list"), UNKNOWN, {"learned": 20}, {"limit": None}),
        # where a limit is known from is said; a user's own setting wins
        (call(), "claude-ai", {}, {"source": "reported"}),
        (call(), CLAUDE, {}, {"source": "no-limit"}),
        (call(), UNKNOWN, {}, {"limit": None, "source": "unknown", "keepalive": ""}),
        (call(), CODEX, {"own_limit": 20}, {"limit": 20, "source": "set"}),
        (call(), CODEX, {"own_limit": 9, "learned": 5}, {"source": "set"}),
        # what was learned counts where nothing is known, or where it is shorter
        (call(), UNKNOWN, {"learned": 20}, {"limit": 20, "source": "learned"}),
        (call(), CLAUDE, {"learned": 20}, {"source": "learned"}),
        (call(), CODEX, {"learned": 0}, {"limit": 300, "source": "measured"}),
        (call(), CODEX, {"learned": 299}, {"limit": 299, "source": "learned"}),
        (call(), CODEX, {"learned": 300}, {"limit": 300, "source": "measured"}),
        (call(), CODEX, {"learned": 301}, {"limit": 300, "source": "measured"}),
        # a known client of 2026 is held 5 s or a fifth before its limit, and nobody else is;
        # the limit of Claude Code covers all rounds
        (call(MODERN), INSPECTOR, {}, {"keepalive": "retry", "limit": 60, "retry_at": 55}),
        (call(MODERN), "x", {"own_limit": 4}, {"retry_at": pytest.approx(3.2)}),
        (call(MODERN), CLAUDE, {"own_limit": 600}, {"retry_at": None}),
        (call(), INSPECTOR, {}, {"retry_at": None}),
        (call(MODERN, "tools/list"), INSPECTOR, {}, {"retry_at": None}),
        (call(MODERN), UNKNOWN, {}, {"retry_at": None}),
        # both SDKs stop after ten repeats
        (call(MODERN)._replace(attempts=9), INSPECTOR, {}, {"keepalive": "retry"}),
        (call(MODERN)._replace(attempts=10), INSPECTOR, {}, {"keepalive": ""}),
        (call(MODERN)._replace(attempts=10), UNKNOWN, {"own_limit": 60}, {"keepalive": ""}),
        # what was learned never begins a hold: a client without a limit would give up
        (call(MODERN), INSPECTOR, {"learned": 20}, {"retry_at": pytest.approx(16)}),
        (call(MODERN), "ai-sdk", {"learned": 20}, {"retry_at": None}),
        (call(MODERN), UNKNOWN, {"learned": 20}, {"retry_at": None}),
    ],
)
def test_a_client_waits_as_long_as_is_known_of_it(
    exchange: Exchange, client: str, given: dict[str, Any], said: dict[str, Any]
) -> None:
    """Its limit and where that is known from, what keeps it waiting, or why nothing does."""
    plan = timeout_plan(exchange, client, **given)
    assert {name: getattr(plan, name) for name in said} == said


@pytest.mark.parametrize(
    ("method", "waited", "learned", "longer"),
    [
        ("tools/call", 30, 20, True),
        ("tools/call", 20.5, 20, False),
        ("tools/call", 30, 0, False),
        ("tools/list", 30, 20, False),
    ],
)
def test_a_later_answer_that_was_taken_lifts_what_was_learned(
    *, method: str, waited: float, learned: float, longer: bool
) -> None:
    """Who has not cancelled by then waits longer than it was seen to."""
    assert outlasted(call(method=method), waited, learned) is longer


@pytest.mark.parametrize(
    ("exchange", "client", "reason", "waited", "learned"),
    [
        (call(), "x", "McpError: MCP error -32001: Request timed out", 60.02, 60.02),
        (call(), "x", "timeout", 60.02, 60.02),
        (call(), "x", "deadline exceeded", 60.02, 60.02),
        (call(), "x", "the user pressed Esc", 20, 0),
        (call(), "x", "", 20, 0),
        (call(method="tools/list"), "x", "timed out", 20, 0),
        (call(MODERN)._replace(attempts=1), INSPECTOR, "timed out", 20, 0),
        (call(**TOKEN), "opencode", "timed out", 20, 0),
        (call(), "x", "timed out", 0.2, 0),
    ],
)
def test_a_cancel_for_the_time_teaches_the_limit_and_any_other_end_nothing(
    exchange: Exchange, client: str, reason: str, waited: float, learned: float
) -> None:
    """A person who cancels has no limit; a call that was kept waiting does not show its own."""
    plan = timeout_plan(exchange, client)
    assert gave_up_after(exchange, reason, waited, plan) == learned

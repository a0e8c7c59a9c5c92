"""How long a client waits, and what keeps it waiting."""

import json
from typing import Any

import pytest

from humanmcp.protocol.conversation.exchange import Exchange
from humanmcp.protocol.json.jsonrpc import Message, read
from humanmcp.protocol.rules.timeouts import TimeoutPlan, gave_up_after, outlasted, timeout_plan


def call(version: str = "2025-11-25", method: str = "tools/call", **meta: Any) -> Exchange:  # noqa: ANN401 - any JSON value
    """Make a pending request with this `_meta`."""
    line = json.dumps({"id": 1, "method": method, "params": {"_meta": meta}})
    message = read(line.encode())
    assert isinstance(message, Message)
    return Exchange(1, message, version)


def test_progress_lifts_the_limit_of_clients_that_reset_it() -> None:
    """OpenCode and Copilot re-arm their limit on each notification."""
    for name in ("opencode", "github-copilot-developer"):
        assert timeout_plan(call(progressToken=0), name) == TimeoutPlan(
            None, "measured", "progress", ""
        )


def test_progress_is_sent_where_it_does_not_help_too() -> None:
    """Harmless elsewhere, and the limit stands."""
    assert timeout_plan(call(progressToken="x"), "codex-mcp-client") == TimeoutPlan(
        300, "measured", "", "progress-changes-nothing"
    )


@pytest.mark.parametrize("name", ["claude-code", "codex-mcp-client", "gemini-cli-mcp-client-x"])
def test_the_limit_that_config_wrote_is_shown_and_progress_is_no_promise(name: str) -> None:
    """Codex with 600 s took an answer at 325 s; Claude Code showed no limit, ever."""
    shown = timeout_plan(call(progressToken=0), name, own_limit=600)
    assert shown == TimeoutPlan(600, "set", "", "progress-changes-nothing")


def test_of_an_unknown_client_nobody_knows_whether_progress_helps() -> None:
    """It is sent, and not promised."""
    assert timeout_plan(call(progressToken=0), "unheard-of").means == "progress-maybe"


def test_each_method_has_its_own_limit() -> None:
    """A list belongs to the handshake, and the limit of a call is not the handshake's."""
    for method in ("initialize", "tools/list", "prompts/list"):
        assert timeout_plan(call(method=method), "claude-code").limit == 30
        assert timeout_plan(call(method=method), "qwen-cli-mcp-client-x", own_limit=900).limit == 30
    for method in ("tools/list", "prompts/list"):
        assert timeout_plan(call(method=method), "codex-mcp-client").limit == 30
        assert timeout_plan(call(method=method), "codex-mcp-client", own_limit=600).limit == 120
    assert timeout_plan(call(method="initialize"), "codex-mcp-client").source == "no-limit"
    assert timeout_plan(call(method="initialize"), "inspector-client").limit == 15
    assert timeout_plan(call(method="tools/list"), "inspector-client").limit == 60
    assert timeout_plan(call(method="tools/list"), "unheard-of", own_limit=20).limit == 20


@pytest.mark.parametrize(
    ("learned", "limit", "source"),
    [(0, 300, "measured"), (299, 299, "learned"), (300, 300, "measured"), (301, 300, "measured")],
)
def test_what_was_learned_counts_where_it_is_shorter_than_what_is_known_already(
    learned: float, limit: float, source: str
) -> None:
    """And where nothing is known; a user's own setting wins."""
    found = timeout_plan(call(), "codex-mcp-client", learned=learned)
    assert (found.limit, found.source) == (limit, source)
    unknown = timeout_plan(call(), "unheard-of", learned=learned)
    assert (unknown.limit, unknown.source) == (
        (learned, "learned") if learned else (None, "unknown")
    )
    assert timeout_plan(call(), "codex-mcp-client", own_limit=9, learned=5).source == "set"


def test_who_counts_repeats_as_one_call_is_not_asked_to_repeat() -> None:
    """The limit of Claude Code covers all rounds."""
    assert timeout_plan(call("2026-07-28"), "claude-code", own_limit=600).hold_at is None


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


@pytest.mark.parametrize("token", [True, None, 1.5, {}])
def test_what_is_no_token_is_no_means(token: object) -> None:
    """A progress token is text or a whole number."""
    assert timeout_plan(call(progressToken=token), "codex-mcp-client").means == ""


def test_only_who_could_hear_progress_is_told_that_it_is_switched_off() -> None:
    """`show` in the first demo spoke of progress, which its host had never asked for."""
    assert timeout_plan(call(progressToken=0), "x", means=frozenset()).why_not == "silenced"
    assert timeout_plan(call(), "x", means=frozenset()).why_not == "no-token"


def test_without_a_token_the_reason_is_named() -> None:
    """The person sees why nothing can be done."""
    assert timeout_plan(call(), "mcporter") == TimeoutPlan(
        60, "measured", "", "no-token", progress=False
    )
    assert timeout_plan(call("2026-07-28"), "mcporter").why_not == "no-means"


def test_a_known_2026_client_is_held_shortly_before_its_limit() -> None:
    """The hold, with a margin of 5 s or a fifth."""
    held = timeout_plan(call("2026-07-28"), "mcp-inspector")
    assert (held.means, held.limit, held.hold_at) == ("hold", 60, 55)
    assert timeout_plan(call("2026-07-28"), "x", own_limit=4).hold_at == pytest.approx(3.2)


def test_a_client_is_not_asked_to_repeat_more_often_than_it_does() -> None:
    """Both SDKs stop after ten repeats."""
    assert timeout_plan(call("2026-07-28")._replace(attempts=9), "mcp-inspector").means == "hold"
    assert timeout_plan(call("2026-07-28")._replace(attempts=10), "mcp-inspector").means == ""
    assert (
        timeout_plan(call("2026-07-28")._replace(attempts=10), "unheard-of", own_limit=60).means
        == ""
    )


@pytest.mark.parametrize(
    ("exchange", "name"),
    [
        (call("2025-11-25"), "mcp-inspector"),
        (call("2026-07-28", "tools/list"), "mcp-inspector"),
        (call("2026-07-28"), "claude-code"),
        (call("2026-07-28"), "unheard-of"),
    ],
)
def test_nobody_else_is_held(exchange: Exchange, name: str) -> None:
    """Only in 2026-07-28, for the three methods, and for clients whose limit is known."""
    assert timeout_plan(exchange, name).hold_at is None


def test_the_users_own_setting_wins() -> None:
    """`--client-limit`."""
    assert timeout_plan(call(), "codex-mcp-client", own_limit=20).limit == 20
    assert timeout_plan(call(), "codex-mcp-client", own_limit=20).source == "set"


def test_where_a_limit_is_known_from_is_said() -> None:
    """Measured, reported, none, unknown."""
    assert timeout_plan(call(), "claude-ai").source == "reported"
    assert timeout_plan(call(), "claude-code").source == "no-limit"
    assert timeout_plan(call(), "unheard-of") == TimeoutPlan(
        None, "unknown", "", "no-token", progress=False
    )
    assert timeout_plan(call(method="initialize"), "claude-code").limit == 30


def test_what_was_learned_counts_where_nothing_is_known() -> None:
    """When this client cancelled before; of calls alone, and after the setting."""
    assert timeout_plan(call(), "unheard-of", learned=20) == TimeoutPlan(
        20, "learned", "", "no-token", progress=False
    )
    assert timeout_plan(call(), "claude-code", learned=20).source == "learned"
    assert timeout_plan(call(method="tools/list"), "unheard-of", learned=20).limit is None
    assert timeout_plan(call(), "unheard-of", own_limit=50, learned=20).source == "set"


def test_what_was_learned_counts_where_it_is_shorter_than_what_is_known() -> None:
    """A user's own setting of their host is shorter than its measured default, or is not known."""
    assert timeout_plan(call(), "codex-mcp-client", learned=120).limit == 120
    assert timeout_plan(call(), "codex-mcp-client", learned=900) == timeout_plan(
        call(), "codex-mcp-client"
    )


def test_what_was_learned_never_begins_a_hold() -> None:
    """A client that may have no limit is not made to give up after ten repeats."""
    modern = call("2026-07-28")
    assert timeout_plan(modern, "mcp-inspector", learned=20).hold_at == pytest.approx(16)
    assert timeout_plan(modern, "ai-sdk", learned=20).hold_at is None
    assert timeout_plan(modern, "unheard-of", learned=20).hold_at is None


def test_progress_that_helps_leaves_no_limit_to_learn() -> None:
    """It re-arms the limit, whatever that is."""
    assert timeout_plan(call(progressToken=0), "opencode", learned=20).limit is None


@pytest.mark.parametrize(
    "reason", ["McpError: MCP error -32001: Request timed out", "timeout", "deadline exceeded"]
)
def test_a_cancel_for_the_time_teaches_the_limit(reason: str) -> None:
    """The reasons that clients give."""
    assert gave_up_after(call(), reason, 60.02, timeout_plan(call(), "x")) == 60.02


@pytest.mark.parametrize(
    ("exchange", "name", "reason", "waited"),
    [
        (call(), "x", "the user pressed Esc", 20),
        (call(), "x", "", 20),
        (call(method="tools/list"), "x", "timed out", 20),
        (call("2026-07-28")._replace(attempts=1), "mcp-inspector", "timed out", 20),
        (call(progressToken=0), "opencode", "timed out", 20),
        (call(), "x", "timed out", 0.2),
    ],
)
def test_any_other_end_teaches_nothing(
    exchange: Exchange, name: str, reason: str, waited: float
) -> None:
    """A person who cancels has no limit; a call that was kept waiting does not show its own."""
    assert gave_up_after(exchange, reason, waited, timeout_plan(exchange, name)) == 0

"""How long a client waits, and what keeps it waiting."""

import json
from typing import Any, Final

import pytest

from humanmcp.protocol.conversation.exchange import Exchange
from humanmcp.protocol.conversation.timeouts import (
    KnownClient,
    TimeoutPlan,
    find_client,
    gave_up_after,
    grace,
    is_shared,
    last_moment,
    outlasted,
    shortly_before,
    timeout_plan,
)
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


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("claude-code", "Claude Code"),
        ("Codex-MCP-Client", "Codex"),
        ("codex", "Codex"),
        ("gemini-cli-mcp-client-weather", "Gemini CLI"),
        ("copilot", "Copilot CLI"),
        ("Visual Studio Code - Insiders", "VS Code"),
        ("mcp-test-client", "gemini mcp list, qwen mcp list"),
        ("my-codex", None),
        ("mcp", None),
        ("", None),
    ],
)
def test_a_client_is_known_by_the_beginning_of_its_name(name: str, label: str | None) -> None:
    """In any case."""
    found = find_client(name)
    assert (found and found.label) == label


@pytest.mark.parametrize(
    ("name", "shared"),
    [("", True), ("MCP", True), ("rmcp", True), ("mcp-client", True), ("test-client", True),
     ("example-client", True), ("mcp-test-client", True), ("mcp-clients", False)],
)  # fmt: skip
def test_a_name_that_many_programs_have_tells_nothing(name: str, *, shared: bool) -> None:
    """What was measured of one is not true of another."""
    assert is_shared(name) is shared


@pytest.mark.parametrize(
    ("client", "seconds"),
    [
        (KnownClient(("x",), "X"), 60.0),
        (KnownClient(("x",), "X", handshake=180), 60.0),
        (KnownClient(("x",), "X", handshake=181), 60.0),
        (KnownClient(("x",), "X", handshake=30), 10.0),
        (KnownClient(("x",), "X", handshake=30, is_host=True), 0.0),
    ],
)
def test_a_handshake_may_wait_for_a_third_of_what_the_client_waits(
    client: KnownClient, seconds: float
) -> None:
    """A minute at most; a host's model needs its tools at once."""
    assert client.grace == pytest.approx(seconds)


LISTING: Final = KnownClient(
    ("x",), "X", handshake=30, handshake_set=31, listing=20, listing_set=21, call=60
)


@pytest.mark.parametrize(
    ("client", "method", "limits"),
    [
        (LISTING, "initialize", (30, 31)),
        (LISTING, "tools/list", (20, 21)),
        (LISTING, "tools/call", (60, 60)),
        (LISTING, "ping", (60, 60)),
        (LISTING._replace(listing_set=None, handshake_set=None), "initialize", (30, 30)),
        (LISTING._replace(listing_set=None, handshake_set=None), "tools/list", (20, 20)),
        (LISTING._replace(listing=None), "tools/list", (30, 31)),
        (LISTING._replace(handshake=None, handshake_set=None), "initialize", (None, None)),
    ],
)
def test_each_method_has_its_limit_by_default_and_as_configured(
    client: KnownClient, method: str, limits: tuple[float | None, float | None]
) -> None:
    """A list has its own where the client has one for it."""
    found = (client.limit(method), client.limit(method, as_configured=True))
    assert found == limits


@pytest.mark.parametrize(
    ("name", "method", "seconds"),
    [
        ("unheard-of", "initialize", None),
        ("codex", "initialize", None),
        ("codex", "tools/list", 24.0),
        ("claude-code", "initialize", 18.0),
        ("claude-code", "tools/list", 7.5),
        ("inspector", "initialize", 9.0),
        ("inspector", "prompts/list", 48.0),
        ("humanmcp-play", "tools/list", None),
    ],
)
def test_a_handshake_is_answered_at_the_last_moment_of_a_client(
    name: str, method: str, seconds: float | None
) -> None:
    """Of one without a limit there is none."""
    assert last_moment(name, method) == (None if seconds is None else pytest.approx(seconds))
    assert grace("unheard-of") == 2.0


@pytest.mark.parametrize(("limit", "seconds"), [(100, 95), (25, 20), (24, 19.2), (10, 8), (0, 0)])
def test_what_must_come_in_time_goes_out_five_seconds_or_a_fifth_before(
    limit: float, seconds: float
) -> None:
    """Whichever is less."""
    assert shortly_before(limit) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("waited", "learned", "longer"),
    [(21, 20, False), (21.1, 20, True), (2, 0, False), (2, 0.5, True), (1, 0.5, False)],
)
def test_a_limit_is_outlasted_by_more_than_a_second(
    waited: float, learned: float, *, longer: bool
) -> None:
    """For so long the cancellation may be on its way."""
    assert outlasted(call(), waited, learned) is longer


@pytest.mark.parametrize(
    ("reason", "waited", "learned"),
    [
        ("Timed out", 1, 1),
        ("timeout", 0.99, 0),
        ("time-out", 5, 5),
        ("time out", 5, 5),
        ("DEADLINE", 5, 5),
        ("timed-out", 5, 5),
        ("times out", 5, 5),
        ("tim out", 5, 0),
        ("time", 5, 0),
    ],
)
def test_a_limit_is_learned_from_the_word_and_from_a_second_on(
    reason: str, waited: float, learned: float
) -> None:
    """A user who cancels has another reason."""
    plan = timeout_plan(call(), "x")
    assert gave_up_after(call(), reason, waited, plan) == learned
    kept = plan._replace(keepalive="progress")
    assert gave_up_after(call(), reason, waited, kept) == 0
    maybe = plan._replace(keepalive="progress-maybe")
    assert gave_up_after(call(), reason, waited, maybe) == learned
    assert gave_up_after(call()._replace(attempts=1), reason, waited, plan) == 0


@pytest.mark.parametrize(
    ("exchange", "client", "given", "plan"),
    [
        (call(**TOKEN), "opencode", {}, TimeoutPlan(None, "measured", "progress", "")),
        (
            call(MODERN, **TOKEN),
            INSPECTOR,
            {},
            TimeoutPlan(60, "measured", "retry", "", retry_at=55, progress=True),
        ),
        (
            call(MODERN),
            INSPECTOR,
            {},
            TimeoutPlan(60, "measured", "retry", "", retry_at=55, progress=False),
        ),
        (
            call(MODERN, **TOKEN),
            INSPECTOR,
            {"keepalives": frozenset({"retry"})},
            TimeoutPlan(60, "measured", "retry", "", retry_at=55, progress=False),
        ),
        (
            call(MODERN, **TOKEN),
            INSPECTOR,
            {"keepalives": frozenset({"progress"})},
            TimeoutPlan(60, "measured", "", "progress-changes-nothing", progress=True),
        ),
        (
            call(**TOKEN),
            "opencode",
            {"keepalives": frozenset({"retry"})},
            TimeoutPlan(60, "measured", "", "silenced", progress=False),
        ),
        (call(**TOKEN), UNKNOWN, {}, TimeoutPlan(None, "unknown", "progress-maybe", "")),
        (call(), UNKNOWN, {}, TimeoutPlan(None, "unknown", "", "no-token", progress=False)),
        (
            call(MODERN),
            UNKNOWN,
            {"own_limit": 10},
            TimeoutPlan(10, "set", "retry", "", retry_at=8, progress=False),
        ),
        (
            call(MODERN),
            UNKNOWN,
            {"own_limit": 1, "learned": 0.5},
            TimeoutPlan(1, "set", "retry", "", retry_at=0.8, progress=False),
        ),
    ],
)
def test_a_plan_is_whole(
    exchange: Exchange, client: str, given: dict[str, Any], plan: TimeoutPlan
) -> None:
    """Limit, origin, keepalive, reason, and when to ask."""
    assert timeout_plan(exchange, client, **given) == plan

"""How long a client waits, and what keeps it waiting."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from humanmcp.protocol.exchange import Exchange
from humanmcp.protocol.messages import Message, read
from humanmcp.protocol.patience import Patience, patience


def call(revision: str = "2025-11-25", method: str = "tools/call", **meta: Any) -> Exchange:  # noqa: ANN401 - any JSON value
    """Make a pending request with this `_meta`."""
    line = json.dumps({"id": 1, "method": method, "params": {"_meta": meta}})
    message = read(line.encode())
    assert isinstance(message, Message)
    return Exchange(1, message, revision)


def test_progress_lifts_the_limit_of_clients_that_reset_it() -> None:
    """hosts.md 2: opencode and Copilot re-arm their limit on each notification."""
    for name in ("opencode", "github-copilot-developer"):
        assert patience(call(progressToken=0), name) == Patience(None, "measured", "progress", "")


def test_progress_is_sent_where_it_does_not_help_too() -> None:
    """hosts.md 5.2: harmless elsewhere, and the limit stands."""
    assert patience(call(progressToken="x"), "codex-mcp-client") == Patience(
        300, "measured", "progress", ""
    )


@pytest.mark.parametrize("token", [True, None, 1.5, {}])
def test_what_is_no_token_is_no_means(token: object) -> None:
    """A progress token is text or a whole number."""
    assert patience(call(progressToken=token), "codex-mcp-client").means == ""


def test_without_a_token_the_reason_is_named() -> None:
    """ux.md 4.6: the person sees why nothing can be done."""
    assert patience(call(), "mcporter") == Patience(60, "measured", "", "no-token")
    assert patience(call("2026-07-28"), "mcporter").why_not == "no-means"


def test_a_known_2026_client_is_held_shortly_before_its_limit() -> None:
    """design.md 7: the hold, with a margin of 5 s or a fifth."""
    held = patience(call("2026-07-28"), "mcp-inspector")
    assert (held.means, held.limit, held.hold_at) == ("hold", 60, 55)
    assert patience(call("2026-07-28"), "x", own_limit=4).hold_at == pytest.approx(3.2)


def test_a_client_is_not_asked_to_repeat_more_often_than_it_does() -> None:
    """hosts.md 5.3: both SDKs stop after ten repeats."""
    assert patience(replace(call("2026-07-28"), legs=9), "mcp-inspector").means == "hold"
    assert patience(replace(call("2026-07-28"), legs=10), "mcp-inspector").means == ""
    assert patience(replace(call("2026-07-28"), legs=10), "unheard-of", own_limit=60).means == ""


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
    assert patience(exchange, name).hold_at is None


def test_the_users_own_setting_wins() -> None:
    """`--client-limit`."""
    assert patience(call(), "codex-mcp-client", own_limit=20).limit == 20
    assert patience(call(), "codex-mcp-client", own_limit=20).source == "set"


def test_where_a_limit_is_known_from_is_said() -> None:
    """Measured, reported, none, unknown."""
    assert patience(call(), "claude-ai").source == "reported"
    assert patience(call(), "claude-code").source == "no-limit"
    assert patience(call(), "unheard-of") == Patience(None, "unknown", "", "no-token")
    assert patience(call(method="initialize"), "claude-code").limit == 30

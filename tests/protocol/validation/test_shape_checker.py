"""A value against the table of shapes: where the limits are."""

from __future__ import annotations

import pytest

from humanmcp.protocol.diagnostics.kinds import mcp
from humanmcp.protocol.spec.versions import R2025_11
from humanmcp.protocol.validation.shape_checker import ENOUGH, judge


@pytest.mark.parametrize(("count", "kinds"), [(100, []), (101, [mcp.TooMany])])
def test_a_hundred_completions_are_allowed(count: int, kinds: list[type]) -> None:
    """MCP, completion: "Maximum 100 items per response"."""
    found = judge({"values": ["a"] * count}, "Completion", R2025_11)
    assert [type(one) for one in found] == kinds


def test_a_walk_stops_when_enough_is_found() -> None:
    """A list of a million wrong items costs no more than a hundred."""
    assert len(judge({"values": [1] * 10_000}, "Completion", R2025_11)) == ENOUGH + 1

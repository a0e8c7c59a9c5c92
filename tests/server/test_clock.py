"""The two clocks of the server."""

import time

import pytest

from humanmcp.server.journal import Clock


def test_a_stamp_is_utc_with_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """ISO 8601, every part with all its digits, and cut rather than rounded into the future."""
    monkeypatch.setattr(time, "time_ns", lambda: 1_795_200_547_003_999_999)
    assert Clock().stamp() == "2026-11-20T18:49:07.003Z"


def test_waiting_is_counted_by_a_clock_that_only_rises() -> None:
    """The wall clock may be set back; a limit must not be."""
    clock = Clock()
    before = time.monotonic()
    assert before <= clock.now() <= time.monotonic()

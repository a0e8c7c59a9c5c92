"""Moments as text."""

from datetime import UTC, timedelta, timezone

import pytest

from humanmcp.common.timestamps import clock, duration, from_log_time, log_time, seconds_of, stamp
from humanmcp.inbox.inbox_session import Stamps

TOKYO = timezone(timedelta(hours=9))


def test_a_stamp_is_utc_with_milliseconds() -> None:
    """As in every transcript."""
    assert stamp(0.0015) == "1970-01-01T00:00:00.001Z"


def test_stamps_that_follow_each_other_are_the_same_ones() -> None:
    """Within a second, into the next one, and after a step of the clock."""
    stamps = Stamps()
    for milliseconds in (1_763_664_547_001, 1_763_664_547_999, 1_763_664_548_000, 5, 0):
        moment = milliseconds / 1000 + 0.0002
        assert stamps.at(milliseconds) == stamp(moment)


@pytest.mark.parametrize("zone", [None, UTC, TOKYO])
def test_a_time_of_a_log_is_read_back(zone: timezone | None) -> None:
    """In any zone, that of this machine as well."""
    at = "2026-11-20T18:49:07.123Z"
    assert from_log_time(log_time(at, zone), zone) == at
    assert from_log_time(at, zone) == at  # as other programs write it, with its zone


def test_logs_are_in_local_time() -> None:
    """Nine hours on."""
    assert log_time("2026-11-20T18:49:07.123Z", TOKYO) == "2026-11-21 03:49:07.123"


def test_what_is_no_stamp_stays_as_it_is() -> None:
    """A transcript of another program may say anything."""
    assert log_time("yesterday") == "yesterday"


def test_a_duration_is_written_with_its_units() -> None:
    """One form in each list: no `0:10` beside `3.98 s`, and nothing is rounded to 60."""
    spans = (0.004, 3.98, 9.999, 10, 59.96, 90, 3599.6, 3720)
    assert [duration(span) for span in spans] == [
        *("0.00 s", "3.98 s", "10.0 s", "10.0 s"),
        *("1 min 0 s", "1 min 30 s", "1 h 0 min", "1 h 2 min"),
    ]


def test_times_are_written_as_clocks() -> None:
    """0:42, 12:05, 1:02:09; a moment that is none counts as the beginning of time."""
    assert [clock(span) for span in (-1, 42.9, 725, 3729)] == [
        *("0:00", "0:42", "12:05", "1:02:09")
    ]
    assert seconds_of("nonsense") == 0
    assert seconds_of("1970-01-01T00:01:00") == 60

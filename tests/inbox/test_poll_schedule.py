"""An idle server looks seldom, and at the right moment all the same."""

import math
from collections.abc import Callable, Iterator

from humanmcp.inbox.attendant import FALLBACK_POLL, SLOW, PollSchedule

HOUR = 3600.0


class _Hanging:
    """A bell that somebody may ring."""

    def listen(self, rung: Callable[[], object]) -> None:
        """Keep what is to be called."""
        self.rung = rung


HANGS = _Hanging()


def schedule(*, bell: bool) -> PollSchedule:
    """Make a schedule."""
    return PollSchedule(HANGS if bell else None)


def wakes(schedule: PollSchedule, start: float, seconds: float) -> Iterator[float]:
    """Play a loop in which something waits and nothing happens; yield when it wakes."""
    now = start
    while now < start + seconds:
        if schedule.desks_are_due(now):
            schedule.desks_were_seen(now, now + 0.0001, waiting=True)
        schedule.rest_is_due(now)
        schedule.duties = math.inf
        now += max(schedule.next() - now, 1e-6)
        yield now


def count(schedule: PollSchedule, start: float, seconds: float) -> int:
    """Return how often it wakes."""
    return sum(1 for _ in wakes(schedule, start, seconds))


def test_a_waiting_server_wakes_once_a_second_and_not_a_hundred_times() -> None:
    """The looks at the desks and the rest fall on the same moments."""
    agenda = schedule(bell=True)
    agenda.arrived(1000.0)
    assert count(agenda, 1000.0, 60) <= 60 / SLOW + 2


def test_the_longer_nothing_happens_the_rarer_it_wakes() -> None:
    """Of hundreds in one process most have nothing to do; what happens makes a session quick."""
    agenda = schedule(bell=True)
    agenda.arrived(0.0)
    assert count(agenda, 0.0, 30) >= 30 / SLOW
    assert count(agenda, HOUR, HOUR) <= HOUR / (2 * SLOW) + 2
    agenda.arrived(2 * HOUR)
    assert count(agenda, 2 * HOUR, 30) >= 30 / SLOW


def test_a_ring_is_answered_at_once() -> None:
    """However long the next look at the desks is away."""
    agenda = schedule(bell=True)
    agenda.desks_are_due(0.0)
    agenda.desks_were_seen(0.0, 0.001, waiting=True)
    assert not agenda.desks_are_due(0.1)
    agenda.rung = True
    assert agenda.is_due(0.1)
    assert agenda.desks_are_due(0.1)
    assert not agenda.rung


def test_rings_take_no_more_than_a_tenth_of_the_time() -> None:
    """With thousands waiting a look takes long: the rings meanwhile are answered by the next."""
    agenda = schedule(bell=True)
    agenda.desks_are_due(0.0)
    agenda.desks_were_seen(0.0, 0.05, waiting=True)
    agenda.rung = True
    assert not agenda.desks_are_due(0.4)
    assert agenda.desks_are_due(0.5)


def test_after_a_look_that_stalled_a_ring_waits_two_seconds() -> None:
    """A reply is not taken ten times as late because the disk was busy once."""
    agenda = schedule(bell=True)
    agenda.desks_are_due(0.0)
    agenda.desks_were_seen(0.0, 3.0, waiting=True)
    agenda.rung = True
    assert not agenda.desks_are_due(4.9)
    assert agenda.desks_are_due(5.1)


def test_without_a_bell_it_looks_a_hundred_times_a_second_while_something_waits() -> None:
    """Windows, and drives without FIFOs: as before."""
    agenda = schedule(bell=False)
    agenda.desks_are_due(0.0)
    agenda.desks_were_seen(0.0, 0.0001, waiting=False)
    agenda.arrived(0.1)
    assert agenda.desks_are_due(0.1 + FALLBACK_POLL)
    agenda.desks_were_seen(0.2, 0.2001, waiting=True)
    assert agenda.desks_are_due(0.2 + FALLBACK_POLL)


def test_without_a_ring_a_reply_is_found_by_the_slow_look() -> None:
    """A script, an older desk, a desk in another machine."""
    agenda = schedule(bell=True)
    agenda.desks_are_due(0.0)
    agenda.desks_were_seen(0.0, 0.0001, waiting=True)
    assert agenda.desks_are_due(SLOW)

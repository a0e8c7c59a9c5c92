"""An idle server looks seldom, and at the right moment all the same."""

import itertools
import math
from collections.abc import Callable, Iterator

from humanmcp.inbox.attendant import FALLBACK_POLL, QUICK, SLOW, YOUNG, PollSchedule

HOUR = 3600.0


class _Hanging:
    """A bell that somebody may ring."""

    def listen(self, rung: Callable[[], object]) -> None:
        """Keep what is to be called."""
        self.rung = rung


HANGS = _Hanging()


def schedule(*, bell: bool, files: bool) -> PollSchedule:
    """Make a schedule; `files` says that a person asked for the text files."""
    made = PollSchedule(HANGS if bell else None)
    made.files = files
    return made


def wakes(schedule: PollSchedule, start: float, seconds: float) -> Iterator[float]:
    """Play a loop in which something waits and nothing happens; yield when it wakes."""
    now = start
    while now < start + seconds:
        if schedule.desks_are_due(now):
            schedule.desks_were_seen(now, now + 0.0001, waiting=True)
        schedule.text_is_due(now, waiting=True)
        schedule.rest_is_due(now)
        schedule.duties = math.inf
        now += max(schedule.next() - now, 1e-6)
        yield now


def count(schedule: PollSchedule, start: float, seconds: float) -> int:
    """Return how often it wakes."""
    return sum(1 for _ in wakes(schedule, start, seconds))


def test_a_waiting_server_wakes_once_a_second_and_not_a_hundred_times() -> None:
    """The looks at the desks, the text and the rest fall on the same moments."""
    agenda = schedule(bell=True, files=False)
    agenda.arrived(1000.0)
    assert count(agenda, 1000.0, 60) <= 60 / SLOW + 2


def test_the_longer_nothing_happens_the_rarer_it_wakes() -> None:
    """Of hundreds in one process most have nothing to do; what happens makes a session quick."""
    agenda = schedule(bell=True, files=False)
    agenda.arrived(0.0)
    assert count(agenda, 0.0, 30) >= 30 / SLOW
    assert count(agenda, HOUR, HOUR) <= HOUR / (2 * SLOW) + 2
    agenda.arrived(2 * HOUR)
    assert count(agenda, 2 * HOUR, 30) >= 30 / SLOW


def test_with_text_files_it_looks_quickly_while_a_message_is_young_and_rarely_later() -> None:
    """An answer that is saved within two minutes is found within 25 ms."""
    agenda = schedule(bell=True, files=True)
    agenda.arrived(0.0)
    young = list(itertools.pairwise(wakes(agenda, 0.0, YOUNG)))
    assert max(later - earlier for earlier, later in young) <= QUICK + 1e-6
    assert count(agenda, YOUNG + SLOW, HOUR) <= HOUR / (2 * SLOW) + 2


def test_where_the_system_tells_of_saved_texts_it_looks_rarely_and_at_once_when_told() -> None:
    """A young message is no reason to look; what is saved within seconds after another is seen."""
    agenda = schedule(bell=True, files=True)
    agenda.text_saved = True
    assert agenda.text_is_due(0.0, waiting=True)
    agenda.arrived(SLOW)
    assert count(agenda, SLOW, YOUNG) <= YOUNG / SLOW + 2
    agenda.rung = True
    assert agenda.is_due(SLOW + YOUNG)
    later = 2 * HOUR
    assert agenda.text_is_due(later, waiting=True)
    agenda.text_saved = True
    assert agenda.next() <= later + FALLBACK_POLL
    assert agenda.text_is_due(later + FALLBACK_POLL, waiting=True)
    assert not agenda.text_is_due(later + FALLBACK_POLL, waiting=True)
    assert agenda.text_is_due(later + FALLBACK_POLL + QUICK, waiting=True)


def test_where_a_text_changes_and_the_system_did_not_tell_it_looks_quickly_again() -> None:
    """A drive whose other side is another machine."""
    agenda = schedule(bell=True, files=True)
    agenda.text_saved = True
    assert agenda.text_is_due(0.0, waiting=True)
    agenda.text_changes(HOUR, HOUR)
    assert agenda.text_is_due(HOUR + QUICK, waiting=True)
    assert agenda.text_is_due(HOUR + 2 * QUICK, waiting=True)
    assert count(agenda, HOUR + 1, 10) > 10 / QUICK / 2


def test_who_types_is_looked_at_quickly_again() -> None:
    """In a session whose text files nobody asked for, too; and at the moment that was named."""
    agenda = schedule(bell=True, files=False)
    assert count(agenda, 0.0, HOUR) <= HOUR / SLOW + 2
    now = HOUR + 2 * SLOW
    assert agenda.text_is_due(now, waiting=True)
    agenda.text_changes(now, now + 0.02)
    assert not agenda.text_is_due(now + 0.01, waiting=True)
    assert agenda.text_is_due(now + 0.02, waiting=True)
    assert agenda.text_is_due(now + 0.02 + QUICK, waiting=True)


def test_a_ring_is_answered_at_once() -> None:
    """However long the next look at the desks is away."""
    agenda = schedule(bell=True, files=False)
    agenda.desks_are_due(0.0)
    agenda.desks_were_seen(0.0, 0.001, waiting=True)
    assert not agenda.desks_are_due(0.1)
    agenda.rung = True
    assert agenda.is_due(0.1)
    assert agenda.desks_are_due(0.1)
    assert not agenda.rung


def test_rings_take_no_more_than_a_tenth_of_the_time() -> None:
    """With thousands waiting a look takes long: the rings meanwhile are answered by the next."""
    agenda = schedule(bell=True, files=False)
    agenda.desks_are_due(0.0)
    agenda.desks_were_seen(0.0, 0.05, waiting=True)
    agenda.rung = True
    assert not agenda.desks_are_due(0.4)
    assert agenda.desks_are_due(0.5)


def test_after_a_look_that_stalled_a_ring_waits_two_seconds() -> None:
    """A reply is not taken ten times as late because the disk was busy once."""
    agenda = schedule(bell=True, files=False)
    agenda.desks_are_due(0.0)
    agenda.desks_were_seen(0.0, 3.0, waiting=True)
    agenda.rung = True
    assert not agenda.desks_are_due(4.9)
    assert agenda.desks_are_due(5.1)


def test_without_a_bell_it_looks_a_hundred_times_a_second_while_something_waits() -> None:
    """Windows, and drives without FIFOs: as before."""
    agenda = schedule(bell=False, files=False)
    agenda.desks_are_due(0.0)
    agenda.desks_were_seen(0.0, 0.0001, waiting=False)
    agenda.arrived(0.1)
    assert agenda.desks_are_due(0.1 + FALLBACK_POLL)
    agenda.desks_were_seen(0.2, 0.2001, waiting=True)
    assert agenda.desks_are_due(0.2 + FALLBACK_POLL)


def test_without_a_ring_a_reply_is_found_by_the_slow_look() -> None:
    """A script, an older desk, a desk in another machine."""
    agenda = schedule(bell=True, files=False)
    agenda.desks_are_due(0.0)
    agenda.desks_were_seen(0.0, 0.0001, waiting=True)
    assert agenda.desks_are_due(SLOW)

"""Text files are looked at quickly while a person is probably writing, and rarely else."""

import itertools
from collections.abc import Iterator

from humanmcp.extensions.text_files.text_schedule import QUICK, TextSchedule
from humanmcp.inbox.attendant import FALLBACK_POLL, SLOW, YOUNG, PollSchedule

HOUR = 3600.0


def schedule(*, chosen: bool) -> TextSchedule:
    """Make a schedule; `chosen` says that a person chose the folder of the text files."""
    made = TextSchedule(PollSchedule(None))
    made.is_chosen = chosen
    return made


def wakes(schedule: TextSchedule, start: float, seconds: float) -> Iterator[float]:
    """Play a loop in which a request waits and nothing happens; yield when it wakes."""
    now = start
    while now < start + seconds:
        schedule.is_due(now, waiting=True)
        now += max(schedule.next() - now, 1e-6)
        yield now


def count(schedule: TextSchedule, start: float, seconds: float) -> int:
    """Return how often it wakes."""
    return sum(1 for _ in wakes(schedule, start, seconds))


def test_with_text_files_it_looks_quickly_while_a_message_is_young_and_rarely_later() -> None:
    """An answer that is saved within two minutes is found within 25 ms."""
    texts = schedule(chosen=True)
    texts.arrived(0.0)
    young = list(itertools.pairwise(wakes(texts, 0.0, YOUNG)))
    assert max(later - earlier for earlier, later in young) <= QUICK + 1e-6
    assert count(texts, YOUNG + SLOW, HOUR) <= HOUR / (2 * SLOW) + 2


def test_where_the_system_tells_of_saved_texts_it_looks_rarely_and_at_once_when_told() -> None:
    """A young message is no reason to look; what is saved within seconds after another is seen."""
    texts = schedule(chosen=True)
    texts.saved = True
    assert texts.is_due(0.0, waiting=True)
    texts.arrived(SLOW)
    assert count(texts, SLOW, YOUNG) <= YOUNG / SLOW + 2
    later = 2 * HOUR
    assert texts.is_due(later, waiting=True)
    texts.saved = True
    assert texts.next() <= later + FALLBACK_POLL
    assert texts.is_due(later + FALLBACK_POLL, waiting=True)
    assert not texts.is_due(later + FALLBACK_POLL, waiting=True)
    assert texts.is_due(later + FALLBACK_POLL + QUICK, waiting=True)


def test_where_a_text_changes_and_the_system_did_not_tell_it_looks_quickly_again() -> None:
    """A drive whose other side is another machine."""
    texts = schedule(chosen=True)
    texts.saved = True
    assert texts.is_due(0.0, waiting=True)
    texts.changes(HOUR, HOUR)
    assert texts.is_due(HOUR + QUICK, waiting=True)
    assert texts.is_due(HOUR + 2 * QUICK, waiting=True)
    assert count(texts, HOUR + 1, 10) > 10 / QUICK / 2


def test_who_types_is_looked_at_quickly_again() -> None:
    """In a session whose text files nobody asked for, too; and at the moment that was named."""
    texts = schedule(chosen=False)
    assert count(texts, 0.0, HOUR) <= HOUR / SLOW + 2
    now = HOUR + 2 * SLOW
    assert texts.is_due(now, waiting=True)
    texts.changes(now, now + 0.02)
    assert not texts.is_due(now + 0.01, waiting=True)
    assert texts.is_due(now + 0.02, waiting=True)
    assert texts.is_due(now + 0.02 + QUICK, waiting=True)

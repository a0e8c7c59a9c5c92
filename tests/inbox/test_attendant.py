"""One thread serves many: at what has come up, at the moments they name, and whatever fails."""

import math
import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from humanmcp.inbox.attendant import Attendant
from tests.support.waiting import PATIENCE, until


class Guest:
    """Is attended, and writes down when it was stepped. `plan` returns its next moments."""

    def __init__(self, plan: Callable[[float], float | None]) -> None:
        """Begin unattended."""
        self.plan = plan
        self.steps: list[float] = []
        self.ended = threading.Event()
        self.wake: Callable[[], object] = list

    def begin_steps(self, wake: Callable[[], object]) -> None:
        """Learn how to be woken."""
        self.wake = wake

    def step(self, now: float) -> float | None:
        """Do as planned."""
        self.steps.append(now)
        return self.plan(now)

    def leave(self) -> None:
        """Note it."""
        self.ended.set()


@pytest.fixture
def attendant() -> Iterator[Attendant]:
    """Run an attendant that has nothing to do but what a test gives it."""
    made = Attendant()
    made.attend(Guest(lambda _now: math.inf))
    thread = threading.Thread(target=made.run, daemon=True)
    thread.start()
    yield made
    made.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def _has_stepped(guest: Guest, times: int) -> bool:
    return len(guest.steps) >= times


def test_who_is_not_woken_is_left_alone(attendant: Attendant) -> None:
    """Of a thousand that are open, one has something to do: one is stepped."""
    guests = [Guest(lambda _now: math.inf) for _ in range(1000)]
    for guest in guests:
        attendant.attend(guest)
    until(lambda: all(guest.steps for guest in guests), "the first step of each")
    guests[500].wake()
    until(lambda: len(guests[500].steps) == 2, "the step of the one that was woken")
    assert sum(len(guest.steps) for guest in guests) == 1001


def test_each_is_stepped_at_the_moment_that_it_named(attendant: Attendant) -> None:
    """Also when a later one was named before; and an earlier step may take the moment back."""
    moments = iter([60.0, 0.02, math.inf])
    guest = Guest(lambda now: now + next(moments))
    attendant.attend(guest)
    until(lambda: guest.steps, "the first step")
    guest.wake()
    until(lambda: len(guest.steps) == 3, "the step of the earlier moment")
    assert guest.steps[2] - guest.steps[1] >= 0.02
    taken_back = iter([0.05, math.inf, math.inf])
    other = Guest(lambda now: now + next(taken_back))
    attendant.attend(other)
    other.wake()
    until(lambda: len(other.steps) == 2, "the step that took the moment back")
    moments = iter([0.1, math.inf])
    later = Guest(lambda now: now + next(moments))
    attendant.attend(later)
    until(lambda: len(later.steps) == 2, "a moment after that")
    assert len(other.steps) == 2


def test_who_always_has_more_to_do_keeps_nobody_waiting(attendant: Attendant) -> None:
    """Neither one that is woken nor one whose moment comes."""
    busy = Guest(lambda now: now)
    attendant.attend(busy)
    punctual = Guest(lambda now: now + 0.001)
    attendant.attend(punctual)
    woken = Guest(lambda _now: math.inf)
    attendant.attend(woken)
    until(lambda: len(punctual.steps) > 20, "twenty moments")
    for count in range(1, 20):
        woken.wake()
        until(partial(_has_stepped, woken, count + 1), "a step")
    assert len(busy.steps) > 40


def test_a_step_that_fails_ends_nothing(attendant: Attendant) -> None:
    """It is tried again, and the others are served."""

    def fail_twice(_now: float) -> float:
        if len(guest.steps) < 3:
            raise RuntimeError
        return math.inf

    guest = Guest(fail_twice)
    attendant.attend(guest)
    until(lambda: len(guest.steps) == 3, "the third try")


def test_it_works_until_nothing_is_left_in_the_foreground() -> None:
    """What is in the background ends with the rest."""
    attendant = Attendant()
    watch = Guest(lambda now: now + 0.01)
    attendant.attend(watch, background=True)
    guests = [Guest(lambda _now: None), Guest(lambda now: now)]
    guests[1].plan = lambda now: now + 0.01 if len(guests[1].steps) < 3 else None
    for guest in guests:
        attendant.attend(guest)
    attendant.run()
    assert [len(guest.steps) for guest in guests] == [1, 3]
    assert all(guest.ended.is_set() for guest in (*guests, watch))


def test_to_stop_overtakes_everything_that_waits() -> None:
    """And all are ended, in the thread that served them."""
    attendant = Attendant()
    guests = [Guest(lambda now: now) for _ in range(3)]
    for guest in guests:
        attendant.attend(guest)

    def stop(now: float) -> float:
        attendant.stop()
        return now

    guests[0].plan = stop
    attendant.run()
    assert [len(guest.steps) for guest in guests] == [1, 0, 0]
    assert all(guest.ended.is_set() for guest in guests)


def test_a_turn_is_taken_without_a_thread() -> None:
    """One step of who was woken, one of whose moment has come, and when the next turn is due."""
    attendant = Attendant()
    sleeper, busy = Guest(lambda now: now + 60.0), Guest(lambda now: now + 2.0)
    for guest in (sleeper, busy):
        attendant.attend(guest)
    assert [attendant.turn(100.0), attendant.turn(100.0)] == [100.0, 102.0]
    assert attendant.turn(101.0) == 102.0
    assert (sleeper.steps, busy.steps) == ([100.0], [100.0])
    sleeper.wake()
    assert attendant.turn(102.0) == 104.0
    assert (sleeper.steps, busy.steps) == ([100.0, 102.0], [100.0, 102.0])


def test_where_nobody_names_a_moment_no_turn_is_due() -> None:
    """Until somebody is woken."""
    attendant = Attendant()
    guest = Guest(lambda _now: math.inf)
    attendant.attend(guest)
    assert attendant.turn(0.0) == math.inf
    guest.wake()
    assert attendant.turn(1.0) == math.inf
    assert guest.steps == [0.0, 1.0]

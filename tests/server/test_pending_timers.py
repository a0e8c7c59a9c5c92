"""The clocks of one waiting exchange."""

import math

from humanmcp.inbox.contract import SUBSCRIBED, Waiting
from humanmcp.protocol.answer_book.decision import Decision
from humanmcp.protocol.conversation.timeouts import TimeoutPlan
from humanmcp.server.waiting import ANSWER_BY_BOOK, GIVE_UP, PendingTimers

NOTHING = TimeoutPlan(None, "unknown", "", "no-token")


def test_the_book_steps_in_after_its_time_unless_a_person_is_at_it() -> None:
    """The safety net gives way to a person."""
    timers = PendingTimers(100.0, Decision(2.0, "{}", stoppable=True), NOTHING)
    assert not timers.due(101.9)
    assert timers.due(102.0) == ANSWER_BY_BOOK
    timers.touched = True
    assert not timers.due(102.0)
    timers.touched, timers.paused = False, True
    assert not timers.due(102.0)
    assert timers.waiting().book == "paused"
    assert timers.waiting().answers_at is None


def test_the_book_never_steps_in_over_a_text_in_out_txt() -> None:
    """A file that is not empty is somebody who writes."""
    timers = PendingTimers(100.0, Decision(2.0, "{}", stoppable=True), NOTHING)
    timers.writing = True
    assert not timers.due(104.9)
    assert (timers.waiting().book, timers.waiting().answers_at) == ("writing", None)
    assert timers.stops_at is None
    timers.writing = False
    assert timers.due(102.0) == ANSWER_BY_BOOK


def test_a_rule_with_a_delay_is_not_stopped_by_typing() -> None:
    """It is what somebody decided."""
    timers = PendingTimers(0.0, Decision(2.0, "x"), NOTHING)
    timers.touched = timers.paused = True
    assert timers.due(2.0) == ANSWER_BY_BOOK
    waiting = timers.waiting()
    assert (waiting.answers_at, waiting.book) == (2.0, "fixed")


def test_what_a_capability_plans_is_due_once_and_the_earliest_first() -> None:
    """It may be planned again, moved, and taken back."""
    timers = PendingTimers(0.0, Decision(), NOTHING)
    timers.plan("remind", 20.0)
    timers.plan("progress", 5.0)
    assert (timers.due(4.9), timers.next()) == ("", 5.0)
    assert [timers.due(30.0) for _ in range(3)] == ["progress", "remind", ""]
    timers.plan("progress", 10.0)
    timers.plan("progress", 15.0)
    timers.plan("remind", 20.0)
    timers.plan("remind", None)
    assert (timers.due(14.9), timers.due(15.0), timers.next()) == ("", "progress", math.inf)


def test_what_is_planned_waits_while_the_client_is_to_repeat_its_request() -> None:
    """The repeat is the same exchange; progress goes on rising."""
    timers = PendingTimers(0.0, Decision(), TimeoutPlan(60, "measured", "retry", "", retry_at=55))
    timers.progressed()
    timers.plan("progress", 60.0)
    timers.retry_until = 85.0
    assert not timers.due(60.0)
    timers.repeated(55.2)
    assert timers.due(60.0) == "progress"
    assert timers.progressed() == 2
    assert timers.waiting().limit == 115.2
    assert timers.waiting().keepalive == "retry"


def test_a_client_that_never_repeats_is_given_up() -> None:
    """Nobody waits for an answer any more."""
    timers = PendingTimers(0.0, Decision(), NOTHING)
    timers.retry_until = 40.0
    assert not timers.due(39.9)
    assert timers.due(40.1) == GIVE_UP


def test_nothing_is_due_before_the_moment_that_is_named() -> None:
    """The loop sleeps until then; it wakes too early rather than too late."""
    timers = PendingTimers(100.0, Decision(2.0, "{}", stoppable=True), NOTHING)
    timers.plan("progress", 105.0)
    assert timers.next() == 102.0
    timers.touched = True
    assert timers.next() == 105.0
    timers.retry_until = 137.0
    assert not timers.due(timers.next() - 0.001)
    assert timers.due(timers.next() + 0.001) == GIVE_UP


def test_an_open_subscription_waits_for_nothing() -> None:
    """2026-07-28: its client waits for changes; no progress and no hold are sent for it."""
    plan = TimeoutPlan(60, "measured", "retry", "", retry_at=55)
    timers = PendingTimers(0.0, Decision(), plan, subscribed=True)
    timers.plan("progress", 5.0)
    assert (timers.next(), timers.due(1e9)) == (math.inf, "")
    assert timers.waiting() == Waiting(keepalive=SUBSCRIBED)

"""The clocks of one waiting exchange."""

import math

from humanmcp.inbox.contract import SUBSCRIBED, Waiting
from humanmcp.protocol.answer_book.decision import Decision
from humanmcp.protocol.conversation.timeouts import TimeoutPlan
from humanmcp.server.waiting import DueAction, PendingTimers

NOTHING = TimeoutPlan(None, "unknown", "", "no-token")


def test_the_book_steps_in_after_its_time_unless_a_person_is_at_it() -> None:
    """The safety net gives way to a person."""
    timers = PendingTimers(100.0, Decision(2.0, "{}", stoppable=True), NOTHING)
    assert timers.due(101.9) is None
    assert timers.due(102.0) is DueAction.ANSWER_BY_BOOK
    timers.touched = True
    assert timers.due(102.0) is None
    timers.touched, timers.paused = False, True
    assert timers.due(102.0) is None
    assert timers.waiting().book == "paused"
    assert timers.waiting().answers_at is None


def test_the_book_never_steps_in_over_a_text_in_out_txt() -> None:
    """A file that is not empty is somebody who writes."""
    timers = PendingTimers(100.0, Decision(2.0, "{}", stoppable=True), NOTHING)
    timers.writing = True
    assert timers.due(104.9) is None
    assert (timers.waiting().book, timers.waiting().answers_at) == ("writing", None)
    assert timers.stops_at is None
    timers.writing = False
    assert timers.due(102.0) is DueAction.ANSWER_BY_BOOK


def test_a_rule_with_a_delay_is_not_stopped_by_typing() -> None:
    """It is what somebody decided."""
    timers = PendingTimers(0.0, Decision(2.0, "x"), NOTHING)
    timers.touched = timers.paused = True
    assert timers.due(2.0) is DueAction.ANSWER_BY_BOOK
    waiting = timers.waiting()
    assert (waiting.answers_at, waiting.book) == (2.0, "fixed")


def test_progress_is_due_every_five_seconds_and_only_rises() -> None:
    """Every 5 s, strictly increasing."""
    timers = PendingTimers(0.0, Decision(), NOTHING)
    assert timers.due(4.9) is None
    assert timers.due(5.0) is DueAction.SEND_PROGRESS
    assert timers.progressed() == 1
    assert timers.due(9.9) is None
    assert timers.due(10.0) is DueAction.SEND_PROGRESS
    assert timers.progressed() == 2


def test_a_hold_parks_the_request_and_a_repeat_starts_the_clock_again() -> None:
    """The repeat is the same exchange; progress goes on rising."""
    timers = PendingTimers(0.0, Decision(), TimeoutPlan(60, "measured", "retry", "", retry_at=55))
    for _ in range(10):
        timers.progressed()
    assert timers.due(55.0) is DueAction.RETRY
    timers.retry_until = 85.0
    assert timers.due(56.0) is None
    timers.repeated(55.2)
    assert timers.due(60.1) is None
    assert timers.due(60.2) is DueAction.SEND_PROGRESS
    assert timers.progressed() == 11
    assert timers.waiting().limit == 115.2
    assert timers.waiting().keepalive == "retry"


def test_a_client_that_never_repeats_is_given_up() -> None:
    """Nobody waits for an answer any more."""
    timers = PendingTimers(0.0, Decision(), NOTHING)
    timers.retry_until = 40.0
    assert timers.due(39.9) is None
    assert timers.due(40.1) is DueAction.GIVE_UP


def test_nothing_is_due_before_the_moment_that_is_named() -> None:
    """The loop sleeps until then; it wakes too early rather than too late."""
    timers = PendingTimers(
        100.0, Decision(2.0, "{}", stoppable=True), NOTHING._replace(retry_at=7.0)
    )
    assert timers.next() == 102.0
    timers.touched = True
    assert timers.next() == 105.0
    timers.progressed()
    assert timers.next() == 107.0
    timers.retry_until = 137.0
    assert timers.due(timers.next() - 0.001) is None
    assert timers.due(timers.next() + 0.001) is DueAction.GIVE_UP


def test_where_no_progress_is_sent_nothing_is_due_ever_again() -> None:
    """With `--no-progress` or `--by-hand` the server took a fifth of a core from second 5 on."""
    timers = PendingTimers(100.0, Decision(), NOTHING._replace(progress=False))
    assert timers.next() == math.inf
    assert timers.due(1e9) is None


def test_an_open_subscription_waits_for_nothing() -> None:
    """2026-07-28: its client waits for changes; no progress and no hold are sent for it."""
    plan = TimeoutPlan(60, "measured", "retry", "", retry_at=55)
    timers = PendingTimers(0.0, Decision(), plan, subscribed=True)
    assert (timers.next(), timers.due(1e9)) == (math.inf, None)
    assert timers.waiting() == Waiting(keepalive=SUBSCRIBED)

"""How long an exchange waits, and what will happen to it."""

from datetime import UTC, datetime

import pytest

from humanmcp.common.timestamps import clock
from humanmcp.inbox.contract import Item, Key, Reply, Waiting
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.terminal.waits import kept_waiting, outlook, waited

NOW = datetime(2026, 11, 20, 12, 0, 30, tzinfo=UTC)


def item(
    wait: Waiting | None = None,
    state: ExchangeState = ExchangeState.PENDING,
    reply: Reply | None = None,
) -> Item:
    """Make an exchange that arrived thirty seconds ago."""
    made = Item(Key("s", 1), "{}", "ping", "1", "2025-11-25", "2026-11-20T12:00:00.000Z")
    return made._replace(state=state, reply=reply, waiting=wait or Waiting())


def said(one: Item) -> list[str]:
    """Return the sentences on an exchange."""
    return [each.sentence for each in outlook(one, NOW, "en")]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (42.9, "0:42"), (725, "12:05"), (3723, "1:02:03"), (-5, "0:00")],
)
def test_seconds_are_written_as_a_clock_does(seconds: float, text: str) -> None:
    """Never negative, never with fractions."""
    assert clock(seconds) == text


@pytest.mark.parametrize(
    ("arrived", "seconds"),
    [
        ("2026-11-20T12:00:00.000Z", 30),
        ("2026-11-20T12:00:00", 30),
        ("2026-11-20T12:00:31Z", 0),
        ("long ago", 0),
    ],
)
def test_the_time_waited_survives_odd_clocks(arrived: str, seconds: float) -> None:
    """A clock that was set back, or a time that cannot be read, counts as no wait."""
    one = Item(Key("s", 1), "{}", "ping", "1", "2025-11-25", arrived)
    assert waited(one, NOW) == seconds


def test_it_is_said_for_how_long_the_status_of_http_is_open() -> None:
    """A person decides it until a stream begins, and not afterwards."""
    assert said(item(Waiting(status_until=40))) == ["you can choose the HTTP status for 0:10"]
    assert said(item(Waiting(status_until=30))) == []


def test_a_deadline_that_is_near_is_marked_as_soon() -> None:
    """Fifteen seconds before it, and after it."""
    far, near, past = (outlook(item(Waiting(limit=limit)), NOW, "en")[0] for limit in (120, 40, 10))
    assert (far.soon, near.soon, past.soon) == (False, True, True)
    assert "timed out" in past.sentence


def test_a_held_book_has_no_countdown() -> None:
    """It says that it waits for the person."""
    assert said(item(Waiting(book_at=60, held=True))) == [
        "the answer book is paused: the request waits for you"
    ]


def test_a_reply_on_its_way_is_all_there_is_to_say() -> None:
    """No deadline matters any more."""
    assert said(item(Waiting(limit=60), reply=Reply("{}"))) == ["an answer is being sent"]


@pytest.mark.parametrize(
    "state", [ExchangeState.ANSWERED, ExchangeState.CANCELLED, ExchangeState.ABANDONED]
)
def test_every_last_state_has_a_sentence(state: ExchangeState) -> None:
    """In both languages, also without an answer or a reason."""
    for language in ("en", "ja"):
        (one,) = outlook(item(state=state), NOW, language)
        assert one.sentence


@pytest.mark.parametrize(
    ("reason", "part"), [("twin", "same id"), ("quiet", "send this request again")]
)
def test_an_exchange_that_ended_before_its_session_says_why(reason: str, part: str) -> None:
    """Not that the session is over, which it is not."""
    ended = item(state=ExchangeState.ABANDONED)._replace(reason=reason)
    assert part in said(ended)[0]


def test_a_reason_of_a_newer_version_is_shown_as_it_is() -> None:
    """Another process wrote it."""
    assert said(item(state=ExchangeState.ABANDONED)._replace(reason="moonshine")) == ["moonshine"]


def test_of_a_client_without_a_limit_nothing_is_said_that_could_keep_it_waiting() -> None:
    """It waits anyway."""
    waiting = Waiting(source="no-limit", why_not="no-token")
    assert kept_waiting(item(waiting), "en") == "this client has no time limit"

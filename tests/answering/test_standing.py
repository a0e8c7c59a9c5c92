"""What is so of an exchange is decided once, and every front end has a sentence for it."""

from typing import Any, Final

import pytest

from humanmcp.answering.standing import Prospect, Standing, Urgency, prospects, standing_of
from humanmcp.answering.summary import told_of
from humanmcp.desk.rendering import told
from humanmcp.inbox.contract import (
    FOLLOWS,
    SUBSCRIBED,
    Answer,
    Draft,
    Item,
    Key,
    Life,
    Parked,
    Purpose,
    Reply,
    Waiting,
)
from humanmcp.locales import LANGUAGES, find_sentence, speaking
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import DROPPED
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity

AT: Final = "2026-11-20T12:00:00.000Z"
TASK: Final = Waiting(parked=Parked("t", "task"))
RETRY: Final = Waiting(parked=Parked("t", "retry"))
ANSWERED: Final = {"state": ExchangeState.ANSWERED}
ENDED: Final = {"state": ExchangeState.ABANDONED}
BACK: Final = (Diagnostic("x", Severity.ERROR),)


def item(**fields: Any) -> Item:  # noqa: ANN401 - the fields of `Item`
    """Make an exchange."""
    return Item(Key("s", 1), "{}", "ping", "1", "2025-11-25", AT)._replace(**fields)


def prompt(**parts: Any) -> Item:  # noqa: ANN401 - parts of an item
    """Make a permission prompt."""
    named = {"host": "claude-code", "method": "PermissionRequest", "line": "{}", **parts}
    return item(purpose=Purpose.PROMPT)._replace(**named)


def decided(action: str, became: str = "", **parts: Any) -> Item:  # noqa: ANN401 - as above
    """Make a prompt that was decided, and of which this was seen."""
    answer = Answer("{}", "desk", AT, action=action, became=became)
    return prompt(**ANSWERED, answer=answer, **parts)


def called(action: str) -> Item:
    """Make a permission prompt that came as a call of a tool, and was decided."""
    return item(**ANSWERED, method="tools/call", answer=Answer("{}", "desk", AT, action=action))


TABLE: Final[list[tuple[Standing, Item, Life]]] = [
    (Standing.WAITS, item(), Life.OPEN),
    (Standing.HELD, item(purpose=Purpose.HELD), Life.OPEN),
    (Standing.WRITING, item(draft=Draft("a", touched=True)), Life.OPEN),
    (Standing.WRITING, item(purpose=Purpose.HELD, draft=Draft("a", touched=True)), Life.OPEN),
    (Standing.RETURNED, item(draft=Draft("a", touched=True), diagnostics=BACK), Life.OPEN),
    (Standing.PARKED, item(waiting=TASK), Life.OPEN),
    (Standing.PARKED, item(waiting=TASK), Life.CLOSED),
    (Standing.WAITS, item(waiting=RETRY), Life.OPEN),
    (Standing.PARKED, item(waiting=RETRY), Life.GONE),
    (Standing.SENDING, item(reply=Reply("a")), Life.OPEN),
    (Standing.SENDING, item(reply=Reply("a"), waiting=TASK), Life.OPEN),
    (Standing.STORED, item(reply=Reply("a"), waiting=TASK), Life.GONE),
    (Standing.SUBSCRIPTION, item(waiting=Waiting(keepalive=SUBSCRIBED)), Life.OPEN),
    (Standing.FOLLOWS, item(waiting=Waiting(keepalive=FOLLOWS)), Life.OPEN),
    (Standing.ANSWERED, item(**ANSWERED), Life.OPEN),
    (Standing.ANSWERED, item(**ANSWERED, answer=Answer("a", "desk", AT)), Life.CLOSED),
    (
        Standing.DELIBERATE,
        item(**ANSWERED, answer=Answer("a", "desk", AT, deliberate=True)),
        Life.OPEN,
    ),
    (
        Standing.RELEASED,
        item(**ANSWERED, purpose=Purpose.HELD, answer=Answer("{}", "desk", AT)),
        Life.OPEN,
    ),
    (Standing.UNFETCHED, item(**ANSWERED, waiting=TASK, answer=Answer("a", "", AT)), Life.OPEN),
    (
        Standing.FETCHED,
        item(**ANSWERED, waiting=TASK, answer=Answer("a", "", AT, fetched=AT)),
        Life.OPEN,
    ),
    (Standing.CANCELLED, item(state=ExchangeState.CANCELLED, reason="too slow"), Life.OPEN),
    (Standing.DROPPED, item(state=ExchangeState.CANCELLED, reason=DROPPED), Life.OPEN),
    (Standing.QUIET, item(**ENDED, reason="quiet", reply=Reply("a")), Life.OPEN),
    (Standing.HANDSHAKE, item(**ENDED, reason="handshake"), Life.OPEN),
    (Standing.TWIN, item(**ENDED, reason="twin"), Life.OPEN),
    (Standing.UNCONFIRMED, item(**ENDED, reply=Reply("a")), Life.CLOSED),
    (Standing.UNCONFIRMED, item(reply=Reply("a")), Life.GONE),
    (Standing.CLOSED, item(**ENDED), Life.CLOSED),
    (Standing.CLOSED, item(), Life.CLOSED),
    (Standing.GONE, item(), Life.GONE),
    (Standing.GONE, item(**ENDED), Life.GONE),
    (Standing.WAITS, prompt(), Life.OPEN),
    (Standing.WITHDRAWN, prompt(**ENDED), Life.OPEN),
    (Standing.WITHDRAWN, prompt(), Life.CLOSED),
    (Standing.UNCONFIRMED, prompt(**ENDED, reply=Reply("a", by="desk")), Life.OPEN),
    (Standing.LATE, prompt(state=ExchangeState.CANCELLED, reason="late"), Life.OPEN),
    (
        Standing.UNRECORDED,
        prompt(state=ExchangeState.CANCELLED, reason="unrecorded", reply=Reply("a", by="desk")),
        Life.OPEN,
    ),
    (Standing.ALLOW_SENT, decided("allow"), Life.CLOSED),
    (Standing.ALLOW_SENT, decided("change"), Life.OPEN),
    (Standing.ALLOW_SENT, decided("answer"), Life.OPEN),
    (Standing.ALLOW_UNUSED, decided("allow", became="ended"), Life.OPEN),
    (Standing.ALLOW_UNTOLD, decided("allow", host="gemini-cli", method="BeforeTool"), Life.OPEN),
    (Standing.ALLOWED, decided("allow", became="ran"), Life.CLOSED),
    (Standing.ALLOWED, decided("allow", became="ran", host="codex"), Life.CLOSED),
    (Standing.CHANGED, decided("change", became="ran"), Life.OPEN),
    (Standing.ANSWERED, decided("answer", became="ran"), Life.OPEN),
    (Standing.HANDED_BACK, decided("hand back"), Life.OPEN),
    (Standing.KEYBOARD, decided("keyboard"), Life.OPEN),
    (Standing.MOVED_ON, decided("ended"), Life.OPEN),
    (Standing.DENIAL_SENT, decided("deny"), Life.OPEN),
    (Standing.DENIED, decided("deny", became="ended"), Life.OPEN),
    (Standing.RAN, decided("deny", became="ran"), Life.OPEN),
    (Standing.DENIED, decided("deny", host="gemini-cli", method="BeforeTool"), Life.OPEN),
    (Standing.DENIAL_SENT, decided("deny", line='{"agent_id": "a7"}'), Life.OPEN),
    (Standing.ALLOW_UNTOLD, called("allow"), Life.OPEN),
    (Standing.ALLOW_UNTOLD, called("change"), Life.CLOSED),
    (Standing.DENIED, called("deny"), Life.OPEN),
    (Standing.ANSWERED, called("answer"), Life.OPEN),
]


@pytest.mark.parametrize(("standing", "exchange", "life"), TABLE)
def test_the_standing_follows_from_an_exchange_and_the_life_of_its_session(
    standing: Standing, exchange: Item, life: Life
) -> None:
    """The same at every front end."""
    assert standing_of(exchange, life) is standing


def test_the_table_has_every_standing() -> None:
    """One that is never so needs no sentence."""
    assert {standing for standing, *_ in TABLE} == set(Standing)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("standing", "exchange"), [row[:2] for row in TABLE])
def test_every_standing_has_a_sentence_at_every_front_end(
    standing: Standing, exchange: Item, language: str
) -> None:
    """The page has a whole one, the terminal and `status.txt` a short one, rows a few words."""
    with speaking(language):
        assert told(exchange, standing, "desk")
        assert told_of(exchange, standing, "desk")
    shown_elsewhere = (Standing.WAITS, Standing.PARKED)  # a row shows the time, or how it is parked
    if not standing.is_over and standing not in shown_elsewhere:
        assert find_sentence("desk", f"state.{standing}", language)


PROSPECTS: Final = [
    (item(), []),
    (item(waiting=Waiting(book_at=20.0)), [Prospect("book", 20.0)]),
    (item(waiting=Waiting(book_at=20.0, book="fixed")), [Prospect("book fixed", 20.0)]),
    (item(waiting=Waiting(book_at=20.0, book="paused")), [Prospect("book paused")]),
    (item(waiting=Waiting(book_at=20.0, book="writing")), [Prospect("book writing")]),
    (item(waiting=Waiting(book_at=20.0), draft=Draft("", paused=True)), [Prospect("book paused")]),
    (item(waiting=Waiting(status_until=12.0)), [Prospect("status open", 12.0)]),
    (item(waiting=Waiting(status_until=9.0)), []),
    (item(waiting=Waiting(limit=60.0)), [Prospect("gives up", 60.0)]),
    (item(waiting=Waiting(limit=5.0)), [Prospect("given up", 5.0)]),
    (item(waiting=Waiting(limit=60.0, book_at=20.0), reply=Reply("a")), []),
    (item(waiting=Waiting(limit=60.0), **ANSWERED), []),
]


@pytest.mark.parametrize(("exchange", "found"), PROSPECTS)
def test_what_happens_to_an_exchange_is_decided_once(exchange: Item, found: list[Prospect]) -> None:
    """After ten seconds."""
    assert list(prospects(exchange, 10.0)) == found


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("code", sorted({one.code for _, found in PROSPECTS for one in found}))
def test_every_prospect_has_a_sentence_at_every_front_end(code: str, language: str) -> None:
    """On the page, in the terminal and in `status.txt`."""
    assert find_sentence("desk", f"prospect.{code}", language)
    assert find_sentence("waits", code, language)
    assert find_sentence("status", code, language)


def test_only_what_waits_for_a_decision_is_urgent() -> None:
    """A page leaves what it shows for nothing else."""
    urgent = {one for one in Standing if one.urgency is Urgency.NOW}
    assert urgent == {Standing.WAITS, Standing.HELD, Standing.WRITING, Standing.RETURNED}
    assert not any(one.is_over for one in urgent)

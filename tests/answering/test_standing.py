"""What is so of an exchange is decided once, and every front end has a sentence for it."""

from typing import Final

import pytest

from humanmcp.answering.standing import Prospect, Standing, Urgency, prospects, standing_of, told_of
from humanmcp.desk.rendering import told
from humanmcp.inbox.contract import Draft, Item, Life, Reply, Waiting
from humanmcp.locales import LANGUAGES, find_sentence, speaking
from tests.support.serve_process import HAS_TEXT_FILES
from tests.support.standings import ANSWERED, TABLE, item


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
    assert find_sentence("status", code, language) or not HAS_TEXT_FILES


def test_only_what_waits_for_a_decision_is_urgent() -> None:
    """A page leaves what it shows for nothing else."""
    urgent = {one for one in Standing if one.urgency is Urgency.NOW}
    assert urgent == {Standing.WAITS, Standing.HELD, Standing.WRITING, Standing.RETURNED}
    assert not any(one.is_over for one in urgent)

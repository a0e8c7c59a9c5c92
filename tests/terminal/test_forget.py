"""`humanmcp forget`: what it says, asks, removes and leaves: L8."""

import pytest

from humanmcp.inbox.contract import Answer, Key
from humanmcp.protocol.conversation.stages import ExchangeState
from tests.support.inbox_folder import CALL, Room, Shell, ago


def answered(room: Room, session: str, number: int, at: str) -> Key:
    """Deliver a call and answer it."""
    key = room.ask(session, number, arrived=at)
    room.inbox.close(key, ExchangeState.ANSWERED, Answer(CALL, "desk", at))
    return key


def test_a_message_is_named_before_it_is_forgotten(room: Room, shell: Shell) -> None:
    """Without a terminal nobody can be asked, so nothing happens without --yes."""
    answered(room, room.session(), 3, ago(0))
    ran = shell("forget", "a/3")
    assert (ran.status, "a/3  tools/call" in ran.out) == (2, True)
    assert "--yes" in ran.err
    assert shell("show", "a/3").status == 0
    ran = shell("forget", "a/3", "--yes")
    assert (ran.status, "1 deleted" in ran.out) == (0, True)
    assert shell("show", "a/3").status == 2


def test_a_number_that_was_listed_for_another_message_deletes_nothing(
    room: Room, shell: Shell
) -> None:
    """It comes again in the next session, as at `humanmcp answer`."""
    first = room.session()
    answered(room, first, 1, ago(0))
    shell("inbox", "--all")
    room.inbox.end(first)
    room.inbox.forget_session(first)
    other = answered(room, room.session(), 1, ago(0))
    ran = shell("forget", "1", "--yes")
    assert (ran.status, "1 was not listed for this message" in ran.err) == (2, True)
    assert room.inbox.item(other).state is ExchangeState.ANSWERED
    shell("show", "1")
    assert shell("forget", "1", "--yes").status == 0


def test_what_waits_is_named_and_stays(room: Room, shell: Shell) -> None:
    """A session that runs loses what is over in it."""
    session = room.session()
    answered(room, session, 3, ago(0))
    room.ask(session, 4)
    assert shell("forget", "a/4", "--yes").status == 1
    ran = shell("forget", "a", "--yes", "--json")
    assert ran.json == {"forgotten": ["a/3"], "waiting": ["a/4"]}
    assert "a/4 stays" in shell("forget", "a", "--yes").out
    assert room.inbox.item(Key(session, 4)).state is ExchangeState.PENDING


def test_what_is_older_than_some_days_is_forgotten(room: Room, shell: Shell) -> None:
    """In a session that runs by exchange; one that is over, by its last line."""
    session, over = room.session(), room.session()
    answered(room, session, 1, ago(3 * 86400))
    answered(room, session, 2, ago(60))
    room.inbox.end(over)
    ran = shell("forget", "--older-than", "2", "--yes", "--json")
    assert ran.json["forgotten"] in (["a/1"], ["a/1", "b"])
    assert shell("forget", "--older-than", "2", "--yes").out.startswith("There is nothing")


@pytest.mark.parametrize(
    "words", [[], ["a/3", "--older-than", "2"], ["--older-than", "-1"], ["--older-than", "nan"]]
)
def test_it_has_to_be_said_clearly_what_is_meant(
    room: Room, shell: Shell, words: list[str]
) -> None:
    """Nothing is guessed where something is removed."""
    answered(room, room.session(), 3, ago(0))
    assert shell("forget", *words, "--yes").status == 2
    assert shell("show", "a/3").status == 0

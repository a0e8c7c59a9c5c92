"""Which exchange a person means."""

import pytest

from humanmcp.inbox import records
from humanmcp.inbox.contract import Item, Role, SessionFacts
from humanmcp.locales.stop import StopError
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.terminal.inbox import choose, label, listed_sessions
from tests.support.inbox_folder import Room
from tests.support.speaking import said_in


def why(room: Room, wanted: str) -> StopError:
    """Return why a name names no exchange."""
    with pytest.raises(StopError) as caught:
        choose(room.inbox, wanted)
    return caught.value


def test_a_bare_number_is_enough_while_one_session_has_it(room: Room) -> None:
    """`3` names the pending 3 of the only session that has one."""
    room.ask(room.session(), 1)
    wanted = room.ask(room.session(), 3)
    item = choose(room.inbox, "3").item
    assert item.key == wanted


def test_a_number_of_two_sessions_asks_for_the_session(room: Room) -> None:
    """The sentence lists what to type instead; nothing is guessed."""
    for _ in range(2):
        room.ask(room.session(), 3)
    error = why(room, "3")
    assert error.code == "several"
    assert "a/3, b/3" in error.sentence()
    assert "a/3, b/3" in said_in("ja", error.sentence)


def test_what_waits_comes_before_what_was_answered(room: Room) -> None:
    """An answered 3 of another session does not make the pending 3 ambiguous."""
    answered = room.ask(room.session(), 3)
    room.inbox.close(answered, ExchangeState.ANSWERED)
    wanted = room.ask(room.session(), 3)
    item = choose(room.inbox, "3").item
    assert item.key == wanted


def test_a_letter_keeps_its_meaning_when_another_session_ends(room: Room) -> None:
    """Who read `b/1` from a list a minute ago never reaches somebody else's message."""
    first, second = room.session(), room.session()
    room.ask(first, 1)
    wanted = room.ask(second, 1)
    room.inbox.end(first)
    case = choose(room.inbox, "b/1")
    assert (case.facts.letter, case.key) == ("b", wanted)


def test_a_session_can_be_named_by_letter_name_beginning_or_last_characters(room: Room) -> None:
    """All the ways in which a person may have seen the name."""
    first, second = room.session(), room.session()
    room.ask(first, 1)
    wanted = room.ask(second, 1)
    for name in ("b", "B", second, second[:-1], second.rpartition("-")[2]):
        item = choose(room.inbox, f"{name}/1").item
        assert item.key == wanted


@pytest.mark.parametrize("wanted", ["c1/2", "c1", "c/1", "claude1/2", "clau/1", "q1/2", "C1/2"])
def test_what_may_be_the_letter_of_a_session_is_never_the_beginning_of_another_name(
    room: Room, wanted: str
) -> None:
    """The letter of an agent that is gone named the prompt of the one that is left."""
    agent = SessionFacts("claude-code-0123456789abcdef", "2026-11-20T18:49:07Z", Role.AGENT)
    room.inbox.join(agent)
    key = room.inbox.enter(agent.name)
    room.inbox.deliver(Item(key, "{}", "PermissionRequest", "", "", "2026-11-20T18:49:07Z"))
    assert choose(room.inbox, "a1/2").key == choose(room.inbox, "claude-/1").key == key
    assert why(room, wanted).code in {"no session", "no number"}


def test_an_agent_without_a_letter_is_named_by_its_whole_name(room: Room) -> None:
    """`letters/` cannot be written. Its prompt took every name that is none of an agent's."""
    (room.inbox.home / records.LETTERS).write_text("in the way", encoding="utf-8")
    agent = SessionFacts("claude-code-0123456789abcdef", "2026-11-20T18:49:07Z", Role.AGENT)
    room.inbox.join(agent)
    key = room.inbox.enter(agent.name)
    room.inbox.deliver(Item(key, "{}", "PermissionRequest", "", "", "2026-11-20T18:49:07Z"))
    everybody = listed_sessions(room.inbox)
    assert label(everybody[0], 1, everybody) == f"{agent.name}/1"
    assert choose(room.inbox, f"{agent.name}/1").key == key
    codes = {wanted: why(room, wanted).code for wanted in ("1", "1/2", "a/1", "a", "2")}
    assert codes == {
        "1": "prompt",
        "1/2": "no live session",
        "a/1": "no live session",
        "a": "no number",
        "2": "prompt",
    }


def test_a_beginning_of_two_names_is_refused_with_the_choices(room: Room) -> None:
    """A prefix that fits two sessions names none."""
    names = [room.session(), room.session()]
    shared = names[0][:4]
    assert names[1].startswith(shared)
    error = why(room, f"{shared}/1")
    assert "a/1, b/1" in error.sentence()


def test_without_a_word_the_only_one_that_waits_is_meant(room: Room) -> None:
    """`humanmcp answer` is enough in the usual case."""
    wanted = room.ask(room.session(), 7)
    item = choose(room.inbox, "").item
    assert item.key == wanted


def test_without_a_word_several_are_listed(room: Room) -> None:
    """The list says what to type, over all sessions."""
    session = room.session()
    room.ask(session, 1)
    room.ask(session, 2)
    error = why(room, "")
    assert error.code == "which"
    assert "1, 2" in error.sentence()


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ("", "nothing waits"),
        ("3", "unknown"),
        ("a/3", "unknown"),
        ("q/3", "no session"),
        ("x", "no number"),
        ("a/", "no number"),
        ("-1", "no number"),
        ("٣", "no number"),
        ("../../etc/3", "no session"),
        ("/3", "no session"),
    ],
)
def test_what_names_nothing_gets_a_sentence(room: Room, wanted: str, code: str) -> None:
    """Whatever is typed, the answer is a sentence in both languages."""
    room.session()
    error = why(room, wanted)
    assert error.code == code
    assert error.sentence() != said_in("ja", error.sentence)


def test_a_number_of_a_session_that_is_over_is_still_found(room: Room) -> None:
    """So that its state can be explained; the newest session counts."""
    old, new = room.session(), room.session()
    room.ask(old, 4)
    wanted = room.ask(new, 4)
    room.inbox.end(old)
    room.inbox.end(new)
    item = choose(room.inbox, "4").item
    assert (item.key, item.state) == (wanted, ExchangeState.ABANDONED)


def test_the_letter_is_shown_only_where_it_is_needed(room: Room) -> None:
    """One live session: `3`. Two: `a/3`. A session that is over always has its letter."""
    first = room.session()
    everybody = listed_sessions(room.inbox)
    assert label(everybody[0], 3, everybody) == "3"
    room.session()
    everybody = listed_sessions(room.inbox)
    assert [label(one, 3, everybody) for one in everybody] == ["a/3", "b/3"]
    room.inbox.end(first)
    everybody = listed_sessions(room.inbox)
    assert [label(one, 3, everybody) for one in everybody] == ["a/3", "3"]

"""What becomes of what a person writes, without any desk: judged, kept, sent, waited for."""

import errno
import json
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import pytest

from humanmcp.answering import service
from humanmcp.answering.open_exchange import open_exchange_of
from humanmcp.answering.service import Outcome, Task
from humanmcp.inbox.contract import (
    Action,
    Answer,
    Draft,
    HttpFacts,
    Key,
    Life,
    Purpose,
    Reply,
    Role,
)
from humanmcp.inbox.records import UnreadableError
from humanmcp.inbox.reply_reader import ReplyReader
from humanmcp.inbox.session_folder import SessionFolder
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json import undecoded
from tests.support.inbox_folder import CALL, Room, ago

SAMPLING = (
    '{"jsonrpc":"2.0","id":3,"method":"sampling/createMessage","params":{"maxTokens":9,'
    '"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}}'
)


def send(room: Room, key: Key, text: str, form: TextForm = TextForm.TEXT, **more: Any) -> Outcome:  # noqa: ANN401 - parts of a reply
    """Send a text, as a desk does; wait for its outcome a moment only."""
    reply = Reply(text, form, by="desk")._replace(**more)
    return service.send(open_exchange_of(room.inbox, key), reply, within=0.2).outcome


@pytest.mark.parametrize("form", [TextForm.TEXT, TextForm.TOOL_ERROR])
@pytest.mark.parametrize(("role", "line"), [(Role.MODEL, SAMPLING), (Role.SERVER, CALL)])
def test_the_message_of_a_plain_draft_is_the_one_that_is_sent(
    room: Room, role: Role, line: str, form: TextForm
) -> None:
    """In the model's role the page showed the result of a tool, which the check refuses."""
    opened = open_exchange_of(room.inbox, room.ask(room.session(role=role), 3, line))
    whole = service.document(opened, Draft("sunny", form))
    verdict = service.judge(opened, whole)
    assert verdict.sendable
    sent = service.judge(opened, "sunny", form).line
    assert sent is not None
    assert json.loads(whole) == json.loads(sent)


def test_a_reply_that_is_not_taken_is_on_its_way(room: Room) -> None:
    """A stopped process: it goes out when the process does."""
    key = room.ask(room.session(), 3)
    assert send(room, key, "sunny") is Outcome.QUEUED
    assert room.inbox.item(key).reply is not None
    assert send(room, key, "rain") is Outcome.TAKEN
    assert [one.text for one in room.inbox.item(key).kept] == ["rain"]


def test_a_reply_that_cannot_be_read_for_now_is_not_put_aside(room: Room) -> None:
    """Too many files were open for a second: the text was gone, and its author was told *sent*."""
    key = room.ask(room.session(), 3)
    reader = ReplyReader(SessionFolder(key.session, room.inbox.folder(key.session)), own=False)
    send(room, key, "sunny")
    for _ in range(2):
        with patch("humanmcp.inbox.reply_reader._TORN_FOR", -1), _failing(errno.EMFILE):
            assert reader.replies() == []
    assert [reply.text for _, reply in reader.replies()] == ["sunny"]


@pytest.mark.parametrize("number", [errno.EACCES, 0])
def test_nobody_is_told_that_a_reply_was_sent_which_was_put_aside(room: Room, number: int) -> None:
    """Its file belongs to another user, or an older program does not know what is in it."""
    key = room.ask(room.session(), 3)
    reader = ReplyReader(SessionFolder(key.session, room.inbox.folder(key.session)), own=False)
    opened, reply = open_exchange_of(room.inbox, key), Reply("sunny", TextForm.TEXT, by="desk")
    room.inbox.send(key, reply)
    error = OSError(number, "") if number else UnreadableError("form")
    with patch("humanmcp.inbox.reply_reader._TORN_FOR", -1), _failing(error):
        assert [*reader.replies(), *reader.replies()] == []
    assert room.inbox.item(key).reply is None
    result = service.result_of(opened, reply)
    assert result is not None
    assert result.outcome is Outcome.REFUSED


def _failing(error: int | Exception) -> AbstractContextManager[object]:
    """Let no reply be read."""
    raised = OSError(error, "") if isinstance(error, int) else error
    return patch("humanmcp.inbox.reply_reader.read_file", side_effect=raised)


def test_who_was_second_is_told_who_was_first(room: Room) -> None:
    """By the name that the first one has on the desk; what was typed is kept."""
    key = room.ask(room.session(), 3)
    first = Reply("sunny", TextForm.TEXT, by="desk", who="Anna")
    assert (
        service.send(open_exchange_of(room.inbox, key), first, within=0).outcome is Outcome.QUEUED
    )
    second = service.send(
        open_exchange_of(room.inbox, key), Reply("rain", TextForm.TEXT, by="desk")
    )
    assert (second.outcome, second.by) == (Outcome.TAKEN, "Anna")
    assert [one.text for one in second.item.kept] == ["rain"]


def test_what_the_check_blocks_is_kept_and_the_book_waits(room: Room) -> None:
    """Nothing is submitted; the countdown of the answer book would answer over the person."""
    key = room.ask(room.session(), 3)
    assert send(room, key, "{", TextForm.RESULT) is Outcome.BLOCKED
    item = room.inbox.item(key)
    assert item.reply is None
    assert item.draft is not None
    assert (item.draft.text, item.draft.form, item.draft.paused) == ("{", TextForm.RESULT, True)


def test_an_empty_text_cannot_be_sent_anyway(room: Room) -> None:
    """There is nothing to write: it is not submitted only to come back."""
    key = room.ask(room.session(), 3)
    assert send(room, key, "  ", anyway=True) is Outcome.BLOCKED


@pytest.mark.parametrize("state", [ExchangeState.CANCELLED, ExchangeState.ABANDONED])
def test_nothing_is_handed_in_for_an_exchange_that_is_over(
    room: Room, state: ExchangeState
) -> None:
    """The text stays as the draft."""
    key = room.ask(room.session(), 3)
    room.inbox.close(key, state)
    assert send(room, key, "sunny") is Outcome.OVER
    item = room.inbox.item(key)
    assert item.reply is None
    assert item.draft is not None
    assert item.draft.text == "sunny"


def test_the_texts_of_two_people_who_are_too_late_are_both_kept(room: Room) -> None:
    """The draft of one of them is not replaced by the other's text."""
    key = room.ask(room.session(), 3)
    room.inbox.close(key, ExchangeState.CANCELLED)
    assert [send(room, key, text) for text in ("sunny", "rain")] == [Outcome.OVER, Outcome.OVER]
    assert [one.text for one in room.inbox.item(key).kept] == ["sunny", "rain"]


def test_a_session_that_has_ended_takes_nothing_and_is_not_waited_for(room: Room) -> None:
    """The page said "on its way" of a reply that went nowhere."""
    session = room.session()
    key = room.ask(session, 3)
    room.inbox.end(session)
    assert send(room, key, "sunny") is Outcome.OVER


@pytest.mark.parametrize(
    ("http_id", "outcome"), [("id", Outcome.QUEUED), ("", Outcome.UNCONFIRMED)]
)
def test_a_reply_is_on_its_way_where_the_next_process_goes_on_with_the_session(
    room: Room, monkeypatch: pytest.MonkeyPatch, http_id: str, outcome: Outcome
) -> None:
    """The process hung and was killed: the page said "over", and the answer went out later."""
    session = room.session(http=HttpFacts(http_id, "8766" if http_id else ""))
    opened = open_exchange_of(room.inbox, room.ask(session, 3))
    facts = room.inbox.facts(session)
    sent = Reply("sunny", TextForm.TEXT, by="desk")

    def dies(_seconds: float) -> None:
        gone = facts._replace(life=Life.GONE)
        monkeypatch.setattr(room.inbox, "facts", lambda _session: gone)

    assert service.send(opened, sent, within=0.2, wake=dies).outcome is outcome


def test_a_second_answer_is_not_called_too_late_while_the_first_may_go_out(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is gone, and its client can come again: the first answer waits for it."""
    session = room.session(http=HttpFacts("id", "8766"))
    key = room.ask(session, 3)
    opened = open_exchange_of(room.inbox, key)
    room.inbox.send(key, Reply("sunny", TextForm.TEXT, by="desk", who="Anna"))
    gone = room.inbox.facts(session)._replace(life=Life.GONE)
    monkeypatch.setattr(room.inbox, "facts", lambda _session: gone)
    result = service.send(opened, Reply("rain", TextForm.TEXT, by="desk"))
    assert (result.outcome, result.by) == (Outcome.TAKEN, "Anna")
    assert [one.text for one in result.item.kept] == ["rain"]


def test_who_sends_again_what_may_have_arrived_is_not_told_that_it_is_too_late(room: Room) -> None:
    """The server died while the answer was on its way; another text is too late."""
    key = room.ask(room.session(), 3)
    room.inbox.send(key, Reply("sunny", TextForm.TEXT, by="desk", at=ago(5)))
    assert room.inbox.take_replies(key.session)
    room.inbox.close(key, ExchangeState.ABANDONED)
    opened = open_exchange_of(room.inbox, key)
    told = [
        service.send(opened, Reply(text, TextForm.TEXT, by="desk")).outcome
        for text in ("sunny", "rain")
    ]
    assert told == [Outcome.UNCONFIRMED, Outcome.OVER]


def test_an_answer_that_was_there_first_is_named(room: Room) -> None:
    """By whom, and its text is beside it."""
    key = room.ask(room.session(), 3)
    room.inbox.close(key, ExchangeState.ANSWERED, Answer("{}", "book: weather", ago(0)))
    opened = open_exchange_of(room.inbox, key)
    result = service.send(opened, Reply("sunny", TextForm.TEXT, by="desk"))
    assert (result.outcome, result.by, result.line) == (Outcome.TAKEN, "book: weather", "{}")
    assert [one.text for one in result.item.kept] == ["sunny"]


def test_what_was_sent_says_what_was_noticed_in_it(room: Room) -> None:
    """A repair or a warning does not stop it, and is told all the same."""
    session = room.session()
    key = room.ask(session, 3)
    room.serve(session)
    reply = Reply('{"content":\n[]}', TextForm.RESULT, by="desk")
    result = service.send(open_exchange_of(room.inbox, key), reply)
    assert result.outcome is Outcome.SENT
    assert result.line == '{"jsonrpc":"2.0","id":3,"result":{"content":[]}}'
    assert [one.severity.value for one in result.diagnostics] == ["repaired"]


def test_a_dropped_message_is_done_with(room: Room) -> None:
    """Whatever its text: the other side never sees it."""
    session = room.session(role=Role.TAP)
    key = room.ask(session, 3, purpose=Purpose.HELD)
    assert send(room, key, "", TextForm.MESSAGE, action=Action.DROP) is Outcome.QUEUED


def test_a_hold_keeps_the_text_and_what_it_is(room: Room) -> None:
    """The countdown stops."""
    key = room.ask(room.session(), 3)
    room.inbox.save(key, Draft("sun", TextForm.TEXT, touched=True, by="desk"))
    service.pause(open_exchange_of(room.inbox, key), "desk")
    draft = room.inbox.item(key).draft
    assert draft is not None
    shown = (draft.text, draft.form, draft.touched, draft.paused)
    assert shown == ("sun", TextForm.TEXT, True, True)


def test_a_pause_loses_no_text_that_was_saved_after_its_page_was_read(room: Room) -> None:
    """Somebody types while somebody else presses Pause."""
    key = room.ask(room.session(), 3)
    opened = open_exchange_of(room.inbox, key)
    room.inbox.save(key, Draft("sun", TextForm.TEXT, touched=True, at=ago(1)))
    service.pause(opened, "desk")
    draft = room.inbox.item(key).draft
    assert draft is not None
    assert (draft.text, draft.touched, draft.paused) == ("sun", True, True)


def test_a_large_message_that_is_held_goes_on_as_it_came_and_is_never_edited(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only its beginning is read: nothing made of that may take its place."""
    key = room.ask(room.session(role=Role.TAP), 3, CALL, purpose=Purpose.HELD)
    opened = open_exchange_of(room.inbox, key)
    assert service.as_it_came(opened).text
    monkeypatch.setattr(undecoded, "LARGEST", 10)
    assert service.judge(opened, CALL).line == CALL
    assert service.as_it_came(opened).text == ""
    assert service.task_of(opened, "change") is Task.NOTHING

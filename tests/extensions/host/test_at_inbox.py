"""A person who is not the server answers through the inbox."""

import contextlib
import errno
import itertools
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import Any

import pytest

from humanmcp.extensions.host.at_inbox import PersonAsked, QuestionInbox
from humanmcp.inbox import attendant
from humanmcp.inbox.atomic import Signature
from humanmcp.inbox.contract import Answer, Item, Key, Reply, Role, StoreError
from humanmcp.inbox.folder import FolderInbox
from humanmcp.inbox.reply_reader import ReplyReader
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics.model import Diagnostic, TextForm, Verdict
from humanmcp.protocol.json.tree import object_at
from tests.support.serve_process import given_back
from tests.support.waiting import PATIENCE, until

PARAMS = {"maxTokens": 9, "messages": [{"role": "user", "content": {"type": "text", "text": "?"}}]}


def ask(role: QuestionInbox) -> tuple[threading.Thread, list[dict[str, Any] | None]]:
    """Ask the person at a seat something in another thread. Returns it, and what it hears."""
    negotiated = NegotiatedState("", client_capabilities={"sampling": {}}, initialized=True)
    person = PersonAsked(role, negotiated)
    heard: list[dict[str, Any] | None] = []
    asking = threading.Thread(
        target=lambda: heard.append(person.ask("sampling/createMessage", PARAMS)), daemon=True
    )
    asking.start()
    return asking, heard


def test_a_reply_is_taken_by_the_ring_of_the_bell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redesign, section 2: the same wake as in the server, and no look fifty times a second."""
    monkeypatch.setattr(attendant, "SLOW", 10 * PATIENCE)
    inbox = FolderInbox(tmp_path / "home")
    role = QuestionInbox(inbox, Role.MODEL)
    asking, heard = ask(role)
    item = until(lambda: inbox.items(role.name), "the question waits")[0]
    FolderInbox(tmp_path / "home").send(item.key, Reply("sunny", TextForm.TEXT, by="desk"))
    until(lambda: heard, "the answer")
    assert object_at(heard[0], "result", "content")["text"] == "sunny"
    asking.join(PATIENCE)
    role.end()


def test_a_reply_that_is_sent_before_the_inbox_asks_for_it_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A desk sees the question, answers and rings while it is still being delivered."""
    monkeypatch.setattr(attendant, "SLOW", 10 * PATIENCE)
    looks: list[str] = []

    class Looked(FolderInbox):
        def take_replies(self, session: str) -> Sequence[tuple[Key, Reply]]:
            taken = super().take_replies(session)
            looks.append(session)
            return taken

    inbox = Looked(tmp_path / "home")
    role = QuestionInbox(inbox, Role.MODEL)
    add = ReplyReader.add

    def answered_first(reader: ReplyReader, number: int, draft_seen: Signature | None) -> None:
        until(lambda: looks, "the look at its beginning")
        looks.clear()
        desk = FolderInbox(tmp_path / "home")
        desk.send(Key(role.name, number), Reply("sunny", TextForm.TEXT, by="desk"))
        until(lambda: looks, "the look after the ring")
        add(reader, number, draft_seen)

    monkeypatch.setattr(ReplyReader, "add", answered_first)
    asking, heard = ask(role)
    until(lambda: heard, "the answer")
    assert object_at(heard[0], "result", "content")["text"] == "sunny"
    asking.join(PATIENCE)
    role.end()


class SignalError(BaseException):
    """A signal ends the program."""


class Interrupted(FolderInbox):
    """An inbox whose asker is interrupted `after` so many calls and returns once it delivered.

    At the latest where the asker begins to wait: `waits` is true then.
    """

    def __init__(self, home: Path, after: int) -> None:
        super().__init__(home)
        self._left = after
        self.waits = False

    def deliver(self, item: Item) -> None:
        """Deliver it, and count from then on."""
        super().deliver(item)
        sys.setprofile(self._count)

    def _count(self, _frame: FrameType, event: str, called: object) -> None:
        self._left -= 1
        of = getattr(called, "__self__", None)
        self.waits = event == "c_call" and isinstance(of, SimpleQueue) and called == of.get
        if self._left == 0 or self.waits:
            raise SignalError


def test_a_question_that_a_signal_interrupts_is_withdrawn_and_its_session_ends(
    tmp_path: Path,
) -> None:
    """At whatever moment after its delivery the signal comes."""
    for after in itertools.count(1):
        inbox = Interrupted(tmp_path / "home", after)
        role = QuestionInbox(inbox, Role.MODEL)

        def run(role: QuestionInbox = role) -> None:
            with contextlib.suppress(SignalError):
                PersonAsked(role, NegotiatedState(initialized=True)).ask("ping", {})
            role.end()

        asking = threading.Thread(target=run, daemon=True)
        asking.start()
        asking.join(PATIENCE)
        assert not asking.is_alive(), after
        assert FolderInbox(tmp_path / "home").items(role.name) == []
        if inbox.waits:
            break
    assert after > 1


class FullDisk(FolderInbox):
    """An inbox that takes no change of an exchange while its disk is full."""

    full = False

    def _check(self) -> None:
        if self.full:
            raise StoreError(OSError(errno.ENOSPC, "full"), "item", number=1)

    def close(
        self, key: Key, state: ExchangeState, answer: Answer | None = None, reason: str = ""
    ) -> None:
        """Close it if there is room."""
        self._check()
        super().close(key, state, answer, reason)

    def refuse(self, key: Key, diagnostics: Sequence[Diagnostic]) -> None:
        """Refuse it if there is room."""
        self._check()
        super().refuse(key, diagnostics)

    def settle_outgoing(self, session: str, ticket: str, diagnostics: Sequence[Diagnostic]) -> None:
        """Settle it if there is room."""
        self._check()
        super().settle_outgoing(session, ticket, diagnostics)


@pytest.mark.parametrize("ends", [False, True], ids=["goes on", "ends"])
def test_the_end_of_a_question_is_kept_when_the_disk_has_room_again(
    tmp_path: Path, *, ends: bool
) -> None:
    """Its asker has the answer at once, and the page shows it as answered in the end."""
    inbox = FullDisk(tmp_path / "home")
    role = QuestionInbox(inbox, Role.MODEL)
    asking, heard = ask(role)
    desk = FolderInbox(tmp_path / "home")
    (item,) = until(lambda: desk.items(role.name), "the question waits")
    inbox.full = True
    desk.send(item.key, Reply("sunny", TextForm.TEXT, by="desk"))
    until(lambda: heard, "the answer")
    assert desk.item(item.key).state is ExchangeState.PENDING
    inbox.full = False
    if ends:
        role.end()
    until(lambda: desk.item(item.key).state is not ExchangeState.PENDING, "the end")
    assert desk.item(item.key).state is ExchangeState.ANSWERED
    asking.join(PATIENCE)
    if not ends:
        role.end()


def test_what_a_full_disk_cannot_note_is_neither_lost_nor_sent_twice(tmp_path: Path) -> None:
    """The problems of a reply come back; an outgoing message goes out once."""
    inbox, said = FullDisk(tmp_path / "home"), list[str]()

    def say(text: str, _anyway: bool) -> Verdict:  # noqa: FBT001 - as the seat calls it
        said.append(text)
        return Verdict(text, text, text)

    role = QuestionInbox(inbox, Role.MODEL)
    role.submit = say
    asking, heard = ask(role)
    desk = FolderInbox(tmp_path / "home")
    (item,) = until(lambda: desk.items(role.name), "the question waits")
    inbox.full = True
    ticket = desk.submit(role.name, Reply("hello", by="desk"))
    desk.send(item.key, Reply('{"role":7}', TextForm.RESULT, by="desk"))
    until(lambda: said, "the outgoing message")
    inbox.full = False
    given_back(desk, item.key)
    assert until(lambda: desk.outgoing_result(role.name, ticket) is not None, "the note")
    assert said == ["hello"]
    desk.send(item.key, Reply("sunny", TextForm.TEXT, by="desk"))
    until(lambda: heard, "the answer")
    asking.join(PATIENCE)
    role.end()

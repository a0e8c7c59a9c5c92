"""Forgetting what was said, with a server that goes on and one that is over."""

import contextlib
import json
import os
from pathlib import Path
from typing import Final

import pytest

from humanmcp.inbox.atomic import discard
from humanmcp.inbox.contract import (
    InboxError,
    Item,
    Key,
    Reply,
    Role,
    SessionFacts,
    StoreError,
    TakenError,
    UnknownItemError,
)
from humanmcp.inbox.folder import FolderInbox
from humanmcp.inbox.forgetting import NotForgottenError
from humanmcp.inbox.form_drafts import FormDraft, FormDrafts
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import FORGOTTEN, Direction, Frame
from tests.inbox.crashing import failing_at, killed_at
from tests.support.serve_process import AtFiles, Serving
from tests.support.waiting import until

SECRET: Final = "hunter2-秘密"
ASKED: Final = "what-is-the-password"


def call(token: int, question: str = ASKED) -> str:
    """Write a call."""
    params = {"name": "ask", "arguments": {"question": question}}
    return json.dumps({"jsonrpc": "2.0", "id": token, "method": "tools/call", "params": params})


def holding(folder: Path, *words: str) -> list[str]:
    """List the files below a folder in which one of the words stands."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(
        path.name for path in files if any(word.encode() in path.read_bytes() for word in words)
    )


def answer(server: Serving, text: str, number: int = 1) -> Key:
    """Answer the call of a number as a person at a desk, after a text that lost."""
    desk = FolderInbox(server.home)
    session = until(lambda: [one.name for one in desk.sessions()], "the session")[0]
    key = Key(session, number)
    until(lambda: [item for item in desk.items(session) if item.key == key], "the call")
    result = json.dumps({"content": [{"type": "text", "text": text}]}, ensure_ascii=False)
    desk.send(key, Reply(f'{{"jsonrpc":"2.0","id":{number + 6},"result":{result}}}', by="desk"))
    server.hear()
    with pytest.raises(TakenError):
        desk.send(key, Reply(f"lost {text}", by="desk"))
    until(lambda: desk.item(key).state is ExchangeState.ANSWERED, "the end of the exchange")
    return key


def test_an_answered_exchange_is_forgotten_while_its_server_goes_on(tmp_path: Path) -> None:
    """Nothing of it stands in any file, and what comes before and after it is untouched."""
    with Serving(tmp_path / "home", "--by-hand") as server:
        server.say(call(7))
        key = answer(server, SECRET)
        assert holding(server.home, SECRET, ASKED) != []
        inbox = FolderInbox(server.home)
        before = list(inbox.frames(key.session))
        inbox.forget(key)
        assert holding(server.home, SECRET, ASKED) == []
        with pytest.raises(UnknownItemError):
            inbox.item(key)
        server.written = [server.arrived()]
        server.say(call(8, "and now?"))
        answer(server, "later", 2)
        frames = list(inbox.frames(key.session))
        assert [one.seq for one in frames] == list(range(1, len(frames) + 1))
        gone = [one for one in frames if one.note == FORGOTTEN]
        assert [(one.direction, one.raw, one.number) for one in gone] == [
            (Direction.NOTE, b"", 1)
        ] * len(before)
        assert frames[-1].text.count("later") == 1


def test_an_answer_from_a_text_file_is_forgotten_with_its_copies(tmp_path: Path) -> None:
    """The line of in.txt and the file in sent/, in a folder of the person's own too."""
    files = tmp_path / "desk"
    with AtFiles(tmp_path, "--by-hand") as server:
        server.say(call(7))
        server.type(json.dumps({"content": [{"type": "text", "text": SECRET}]}, indent=1))
        server.hear()
        inbox = FolderInbox(server.home)
        key = Key(inbox.sessions()[0].name, 1)
        until(lambda: inbox.item(key).state is ExchangeState.ANSWERED, "the end of the exchange")
        sent = server.home / "sessions" / key.session / "sent"
        until(lambda: list(sent.glob("*.txt")), "the text that was sent")
        size = (files / "in.txt").stat().st_size
        inbox.forget(key)
        assert holding(tmp_path, "hunter2", ASKED) == []
        text = (files / "in.txt").read_text("utf-8")
        assert text.rstrip() == '{"forgotten":true}'
        assert (files / "in.txt").stat().st_size == size


def test_a_question_in_the_status_of_a_killed_server_is_forgotten(tmp_path: Path) -> None:
    """Nobody writes `status.txt` anew; its other lines stay."""
    files = tmp_path / "desk"
    status = files / "status.txt"
    with AtFiles(tmp_path, "--by-hand") as server:
        server.say(call(7))
        until(lambda: ASKED in status.read_text("utf-8"), "the question in status.txt")
        server.say(call(8, "and you?"))
        until(lambda: "and you?" in status.read_text("utf-8"), "the next one")
        server.process.kill()
        server.process.wait()
    inbox = FolderInbox(tmp_path / "home")
    inbox.forget(Key(inbox.sessions()[0].name, 1))
    assert holding(tmp_path, ASKED) == []
    assert "and you?" in status.read_text("utf-8")


def test_what_a_client_waits_for_is_not_forgotten(tmp_path: Path) -> None:
    """Nor a session that runs."""
    with Serving(tmp_path / "home", "--by-hand") as server:
        server.say(call(7))
        inbox = FolderInbox(server.home)
        session = until(inbox.sessions, "the session")[0].name
        until(lambda: inbox.items(session), "the call")
        with pytest.raises(NotForgottenError, match="waits"):
            inbox.forget(Key(session, 1))
        with pytest.raises(NotForgottenError, match="still runs"):
            inbox.forget_session(session)
        answer(server, "it can still be answered")


def test_a_session_that_is_over_is_forgotten_whole(tmp_path: Path) -> None:
    """With its lines in the in.txt of the person's own folder, which stays."""
    files = tmp_path / "desk"
    with AtFiles(tmp_path, "--by-hand") as server:
        server.say(call(7))
        key = answer(server, SECRET)
        server.say(call(8))
    inbox = FolderInbox(tmp_path / "home")
    until(lambda: inbox.facts(key.session).life.value != "open", "the end")
    inbox.forget_session(key.session)
    assert holding(tmp_path, "hunter2") == []
    assert "in.txt" not in holding(files, ASKED)
    assert inbox.sessions() == []


def agent(home: Path) -> tuple[FolderInbox, Key]:
    """Return an inbox with an agent whose only prompt is over, with what was typed about it."""
    inbox = FolderInbox(home)
    facts = SessionFacts("claude-code-0123456789abcdef", "2026-11-20T18:49:07Z", Role.AGENT)
    key = inbox.enter(inbox.join(facts))
    frame = Frame(1, facts.started, Direction.IN, SECRET.encode(), key.number)
    inbox.share(key.session, lambda tail: ([frame], tail._replace(seq=1)))
    inbox.deliver(Item(key, SECRET, "PermissionRequest", "", "", facts.started))
    FormDrafts(home).save(FormDraft(f"{key.session}/{key.number}", {"a": SECRET}, SECRET, ""))
    return inbox, key


def test_an_agent_that_is_not_forgotten_keeps_its_name(tmp_path: Path) -> None:
    """While it waits, and where a text of it cannot be forgotten."""
    inbox, key = agent(tmp_path / "home")
    with pytest.raises(NotForgottenError, match="still runs"):
        inbox.forget_session(key.session)
    assert inbox.guest_session(key.session) == key.session
    assert len(holding(tmp_path / "home" / "forms", SECRET)) == 1
    inbox.leave(key)
    for call in range(1, 200):
        with failing_at(call) as countdown, contextlib.suppress(InboxError):
            inbox.forget_session(key.session)
        gone = not (inbox.home / "sessions" / key.session).exists()
        assert (inbox.guest_session(key.session) != key.session) is gone, call
        if gone:
            break
        assert countdown.happened
    assert holding(tmp_path, SECRET) == []


def test_who_is_killed_while_forgetting_leaves_nothing_that_nobody_can_name(tmp_path: Path) -> None:
    """At each write: what is left can be forgotten again, and no name comes again."""
    for call in range(1, 200):
        home = tmp_path / str(call)
        inbox, key = agent(home)
        inbox.leave(key)
        with killed_at(call) as countdown, contextlib.suppress(InboxError):
            inbox.forget_session(key.session)
        if not countdown.happened:
            break
        again = FolderInbox(home)
        with contextlib.suppress(UnknownItemError):
            again.forget_session(key.session)
        assert again.guest_session(key.session) != key.session, call
        discard(home / "tmp")  # as a desk does an hour later
        assert holding(home, SECRET) == [], call
    else:
        raise AssertionError("more than 200 calls")


def test_what_cannot_be_overwritten_is_not_said_to_be_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transcript was passed over, and then nobody could name the message any more."""
    inbox, key = agent(tmp_path / "home")
    inbox.leave(key)
    opened = os.open

    def refusing(file: str, flags: int, *mode: int) -> int:
        if str(file).endswith("transcript.jsonl") and flags & os.O_RDWR:
            raise PermissionError(13, "no", str(file))
        return opened(file, flags, *mode)

    monkeypatch.setattr(os, "open", refusing)
    with pytest.raises(StoreError, match="no"):
        inbox.forget(key)
    assert inbox.item(key).line == SECRET

"""The letters of sessions in the folder: old sessions, removed ones, and files that are broken."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from humanmcp.desk.board import Board
from humanmcp.inbox import records
from humanmcp.inbox.contract import Item, Key, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.terminal.inbox import choose, listed_sessions


def without_letters(home: Path, count: int) -> list[str]:
    """Begin sessions whose letters could not be kept."""
    inbox = FolderInbox(home)
    names = [
        inbox.begin_session(SessionFacts("", f"2026-11-20T18:{n:02d}:00Z")) for n in range(count)
    ]
    shutil.rmtree(home / records.LETTERS)
    for name in names:
        (home / records.SESSIONS / name / records.LETTER).unlink()
    return names


def letters(inbox: FolderInbox) -> dict[str, str]:
    """Return the letter of each session."""
    return {one.name: one.letter for one in inbox.sessions()}


def test_sessions_without_a_letter_get_one_when_they_are_first_shown(home: Path) -> None:
    """In the order in which they began, and they keep them."""
    names = without_letters(home, 3)
    wanted = dict(zip(names, "abc", strict=True))
    assert letters(FolderInbox(home)) == wanted
    newest = FolderInbox(home).begin_session(SessionFacts("", "2026-11-20T00:00:00Z"))
    assert letters(FolderInbox(home)) == {**wanted, newest: "d"}


def test_desks_that_show_such_sessions_at_once_give_one_letter(home: Path) -> None:
    """Whichever is faster, all of them show the same, and each session has its own."""
    without_letters(home, 12)
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda _: letters(FolderInbox(home)), range(8)))
    assert all(one == seen[0] for one in seen)
    assert len(set(seen[0].values())) == 12


def test_no_letter_comes_again_when_its_folder_is_gone(home: Path) -> None:
    """Two sessions never bear one letter, also after all of them were removed; one record stays."""
    inbox = FolderInbox(home)
    board = Board(inbox)
    first, second = (
        inbox.begin_session(SessionFacts("", "2026-11-20T18:00:00Z")) for _ in range(2)
    )
    board.refresh_all()
    inbox.end(first)
    shutil.rmtree(home / records.SESSIONS / first)
    board.refresh_all()
    third = inbox.begin_session(SessionFacts("", "2026-11-20T18:00:00Z"))
    board.refresh_all()
    assert {one.facts.name: one.badge.letter for one in board.sessions()} == {
        second: "B",
        third: "C",
    }
    for name in (second, third):
        inbox.end(name)
        shutil.rmtree(home / records.SESSIONS / name)
    inbox.sweep()
    assert len(list((home / records.LETTERS).iterdir())) == 1
    assert inbox.facts(inbox.begin_session(SessionFacts("", ""))).letter == "d"


def test_page_and_terminal_name_one_session_alike(home: Path) -> None:
    """What `humanmcp answer a/2` answers is the page's A/2, also after a client that probed."""
    inbox = FolderInbox(home)
    board = Board(FolderInbox(home))
    probed = inbox.begin_session(SessionFacts("", "2026-11-20T18:00:00Z", probe=True))
    board.refresh_all()
    second = inbox.begin_session(SessionFacts("", "2026-11-20T18:00:01Z"))
    board.refresh(second)
    inbox.describe(inbox.facts(probed)._replace(probe=False), inbox.negotiated(probed))
    board.refresh(probed)
    for name in (probed, second):
        inbox.deliver(Item(Key(name, 2), "{}", "ping", "1", "2025-11-25", "2026-11-20T18:00:02Z"))
    terminal = FolderInbox(home)
    for view in board.sessions():
        assert choose(terminal, f"{view.badge.letter}/2").key.session == view.facts.name
    assert [one.letter for one in listed_sessions(terminal)] == ["a", "b"]
    assert [one.name for one in listed_sessions(terminal)] == [second, probed]


def test_a_letter_that_cannot_be_kept_stops_nothing(home: Path) -> None:
    """The session is there without one, and the page shows the end of its name."""
    inbox = FolderInbox(home)
    (home / records.LETTERS).write_text("in the way", encoding="utf-8")
    name = inbox.begin_session(SessionFacts("", "2026-11-20T18:00:00Z"))
    board = Board(inbox)
    board.refresh_all()
    assert [one.badge.letter for one in board.sessions()] == [name[-4:]]
    (home / records.LETTERS).unlink()
    assert letters(FolderInbox(home)) == {name: "a"}


def test_what_crashes_left_is_swept_and_what_is_being_written_stays(home: Path) -> None:
    """Files and folders that never got their name, after an hour."""
    inbox = FolderInbox(home)
    temporary = home / records.TEMPORARY
    (temporary / "1-aa").write_text("left", encoding="utf-8")
    (temporary / "1-bb").mkdir()
    (temporary / "1-bb" / "request.json").write_text("left", encoding="utf-8")
    for path in temporary.iterdir():
        os.utime(path, (1.0, 1.0))
    (temporary / "2-cc").write_text("now", encoding="utf-8")
    inbox.sweep()
    assert [path.name for path in temporary.iterdir()] == ["2-cc"]

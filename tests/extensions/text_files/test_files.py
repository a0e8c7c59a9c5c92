"""The three text files, driven by a clock of the test's own, and by real editors and shells."""

import contextlib
import errno
import os
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from humanmcp.common.settings import UnsafeFolderError
from humanmcp.extensions.text_files.files import TextFiles
from humanmcp.extensions.text_files.folder import FileMark, OpenFolder
from humanmcp.extensions.text_files.out_txt import Document, DocumentOutcome
from humanmcp.locales import speaking
from humanmcp.protocol.diagnostics.model import Applicability, Diagnostic, Severity
from tests.support.waiting import until

ONE: Final = '{"jsonrpc":"2.0","id":1,"result":{}}'
TWO: Final = '{"jsonrpc":"2.0","id":2,"result":{"text":"東京"}}'
PRETTY: Final = '{\n  "jsonrpc": "2.0",\n  "id": 3,\n  "result": {\n    "a": [1, 2]\n  }\n}\n'
OSAKA: Final = '{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"遠い。自分で調べて"}}'
WRONG: Final = Diagnostic(
    "R50", Severity.ERROR, (("pending", "1"), ("typed", "99")), line=1, column=8
)


class Desk:
    """A person's folder, and the loop in front of it with a clock that a test moves."""

    def __init__(self, folder: Path, **options: object) -> None:
        """Claim the folder."""
        self.now = 100.0
        self.files = TextFiles.claim(folder, **options)  # type: ignore[arg-type]  # the options are the test's own
        self.folder = self.files.folder
        self.out = self.folder / "out.txt"
        self._open: list[Document] = []
        self._outcomes: list[DocumentOutcome] = []

    def look(self, after: float = 0.03) -> list[str]:
        """Let some seconds pass and look once; return what was handed out."""
        return [document.text for document in self.take(after)]

    def take(self, after: float = 0.03) -> list[Document]:
        """Do the same; return the texts themselves."""
        self.now += after
        return self.poll(self.now)

    def poll(self, now: float) -> list[Document]:
        """Look once at this moment; return the texts that are to be settled."""
        found = list(self.files.poll(now))
        self._open = found or self._open
        return found

    def accept(self, document: Document, diagnostics: Sequence[Diagnostic] = ()) -> None:
        """Say that a text was sent."""
        self._settle(DocumentOutcome(document, sent=True, diagnostics=tuple(diagnostics)))

    def refuse(
        self,
        document: Document,
        diagnostics: Sequence[Diagnostic],
        fixed: str = "",
        applicability: Applicability = Applicability.SAFE,
    ) -> None:
        """Say that a text was not sent."""
        told = tuple(diagnostics)
        self._settle(DocumentOutcome(document, False, told, fixed, applicability))  # noqa: FBT003 - in their order

    def _settle(self, outcome: DocumentOutcome) -> None:
        """Settle the texts of a look together, as soon as each is judged."""
        self._outcomes.append(outcome)
        if len(self._outcomes) == len(self._open):
            outcomes, self._outcomes, self._open = self._outcomes, [], []
            self.files.settle(sorted(outcomes, key=lambda one: one.document.start))

    def looks(self, seconds: float, every: float = 0.01) -> list[str]:
        """Look as often as the loop does, for some seconds, and accept everything."""
        got = []
        for _ in range(round(seconds / every)):
            for document in self.take(every):
                got.append(document.text)
                self.accept(document)
        return got

    def read(self) -> list[Document]:
        """Look twice, as it takes to see that a file has come to rest."""
        return self.take() or self.take()

    def accept_all(self) -> list[str]:
        """Read and accept."""
        texts = self.read()
        for document in texts:
            self.accept(document)
        return [document.text for document in texts]

    def refuse_all(self, *problems: Diagnostic) -> list[str]:
        """Read and refuse."""
        texts = self.read()
        for document in texts:
            self.refuse(document, problems or (WRONG,))
        return [document.text for document in texts]

    def type(self, content: str | bytes) -> None:
        """Save `out.txt` the way most programs do: truncate, write, close."""
        self.out.write_bytes(content.encode() if isinstance(content, str) else content)

    def has_trouble(self) -> bool:
        """Return True if the disk keeps something from being written."""
        return self.files.trouble is not None

    @property
    def problems(self) -> str:
        """What `problems.txt` says."""
        return (self.folder / "problems.txt").read_text(encoding="utf-8")

    @property
    def sent(self) -> list[bytes]:
        """What is kept of what was sent, in order."""
        return [file.read_bytes() for file in sorted((self.folder / "sent").glob("*.txt"))]

    @property
    def in_txt(self) -> bytes:
        """What `in.txt` says."""
        return (self.folder / "in.txt").read_bytes()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """Sit down in front of an empty folder."""
    desk = Desk(tmp_path / "mcp")
    yield desk
    desk.files.release()


# -- in.txt -----------------------------------------------------------------------------------


def test_a_new_folder_has_an_empty_in_txt_and_no_problems(desk: Desk) -> None:
    """Nothing arrived, all is well, and there is nothing to send."""
    assert (desk.in_txt, desk.problems) == (b"", "")
    assert not desk.out.exists()
    assert desk.look() == []
    assert desk.folder.stat().st_mode & 0o777 == 0o700
    assert (desk.folder / "in.txt").stat().st_mode & 0o777 == 0o600


def test_lines_arrive_verbatim(desk: Desk) -> None:
    """Byte for byte, Japanese as UTF-8, bytes that are no text included."""
    lines = [TWO.encode(), b"\xff\xfe\x00", b'{"a":1}\r', b""]
    for line in lines:
        desk.files.in_txt.add(line)
    assert desk.in_txt == b"".join(line + b"\n" for line in lines)


def test_lines_that_are_answered_already_are_added_together_and_in_their_order(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client's next call does not wait for the copy of the one before."""
    writes: list[bytes] = []
    append = OpenFolder.append

    def counting(folder: OpenFolder, name: str, content: bytes) -> int:
        writes.append(bytes(content))
        return append(folder, name, content)

    monkeypatch.setattr(OpenFolder, "append", counting)
    for line in (b"one", b"two"):
        desk.files.in_txt.add(line, later=True)
    assert (desk.in_txt, writes) == (b"", [])
    desk.files.tell_status("")
    desk.files.in_txt.add(b"three", later=True)
    desk.files.in_txt.add(b"four")
    assert desk.in_txt == b"one\ntwo\nthree\nfour\n"
    assert writes == [b"one\ntwo\n", b"three\nfour\n"]


def test_tail_follows_in_txt(desk: Desk) -> None:
    """`tail -f in.txt` shows each line as it arrives: the file is appended to, never replaced."""
    with subprocess.Popen(["tail", "-f", desk.folder / "in.txt"], stdout=subprocess.PIPE) as tail:
        assert tail.stdout is not None
        for line in (b"one", b"two"):
            desk.files.in_txt.add(line)
            assert tail.stdout.readline() == line + b"\n"
        tail.kill()


def test_tail_that_is_left_running_shows_the_next_session(tmp_path: Path) -> None:
    """The old lines are kept beside; the file itself stays the same one and begins anew."""
    first = Desk(tmp_path)
    first.files.in_txt.add(b"old")
    first.files.release()
    in_txt = tmp_path / "in.txt"
    inode = in_txt.stat().st_ino
    with subprocess.Popen(
        ["tail", "-f", in_txt], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as tail:
        assert tail.stdout is not None
        assert tail.stdout.readline() == b"old\n"
        second = Desk(tmp_path)
        assert in_txt.read_bytes() == b""
        assert in_txt.stat().st_ino == inode

        def next_line() -> bytes:
            second.files.in_txt.add(b"new")  # tail looks once a second, and must see it shrink
            return os.read(tail.stdout.fileno(), 4) if tail.stdout and ready(tail) else b""

        assert until(next_line, "the new session's line") == b"new\n"
        tail.kill()
    (aside,) = tmp_path.glob("in.2*.txt")
    assert aside.read_bytes() == b"old\n"
    second.files.release()


def ready(process: subprocess.Popen[bytes]) -> bool:
    """Return True if the process has said something."""
    assert process.stdout is not None
    return bool(select.select([process.stdout], [], [], 0.05)[0])


def test_no_session_loses_the_lines_of_another(tmp_path: Path) -> None:
    """Each is kept under a name of its own, also when they end in the same second."""
    for number in range(4):
        desk = Desk(tmp_path)
        desk.files.in_txt.add(b"%d" % number)
        os.utime(tmp_path / "in.txt", (1_700_000_000, 1_700_000_000))
        desk.files.release()
    kept = {file.name: file.read_bytes() for file in tmp_path.glob("in.*.txt")}
    assert kept == {
        "in.20231114T221320Z.txt": b"0\n",
        "in.20231114T221320Z-2.txt": b"1\n",
        "in.20231114T221320Z-3.txt": b"2\n",
    }
    assert (tmp_path / "in.txt").read_bytes() == b"3\n"


def test_a_large_in_txt_is_kept_too(tmp_path: Path) -> None:
    """There is no size above which lines may be lost."""
    with (tmp_path / "in.txt").open("wb") as stream:
        stream.truncate(20_000_000)
    Desk(tmp_path).files.release()
    (aside,) = tmp_path.glob("in.2*.txt")
    assert aside.stat().st_size == 20_000_000


@pytest.mark.parametrize("make", ["ln -s /etc/passwd in.txt", "mkfifo in.txt", "mkdir in.txt"])
def test_an_in_txt_that_is_no_file_is_not_written_to(tmp_path: Path, make: str) -> None:
    """The folder is refused, with what to do."""
    subprocess.run(["sh", "-c", make], cwd=tmp_path, check=True)
    with pytest.raises(UnsafeFolderError, match="Remove it"):
        Desk(tmp_path)


def test_a_line_that_the_disk_does_not_take_is_written_later(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of it was taken; the rest follows, in order, and the trouble is known."""
    write = os.write
    takes = [3]

    def full(descriptor: int, content: bytes) -> int:
        if not takes:
            raise OSError(errno.ENOSPC, "no space left")
        return write(descriptor, content[: takes.pop()])

    monkeypatch.setattr(os, "write", full)
    desk.files.in_txt.add(b"first")
    desk.files.in_txt.add(b"second")
    assert desk.has_trouble()
    assert desk.in_txt == b"fir"
    monkeypatch.undo()
    desk.look()
    assert not desk.has_trouble()
    assert desk.in_txt == b"first\nsecond\n"


def test_an_in_txt_that_was_removed_is_made_again(desk: Desk) -> None:
    """The person may tidy up."""
    desk.files.in_txt.add(b"one")
    (desk.folder / "in.txt").unlink()
    desk.files.in_txt.add(b"two")
    assert desk.in_txt == b"two\n"


# -- a text is complete -----------------------------------------------------------------------


def test_a_text_is_taken_after_two_looks_that_see_the_same(desk: Desk) -> None:
    """And is kept; `out.txt` is gone."""
    desk.type(PRETTY)
    assert desk.look() == []
    (document,) = desk.take()
    assert document.text == PRETTY.strip()
    assert (document.line, document.column, document.start) == (1, 1, 0)
    assert desk.out.exists()
    desk.accept(document)
    assert not desk.out.exists()
    assert desk.sent == [PRETTY.encode()]
    assert desk.problems == ""


def test_two_looks_in_the_same_moment_are_one(desk: Desk) -> None:
    """10 ms must lie between them."""
    desk.type(ONE)
    assert desk.look() == []
    assert desk.look(0.001) == []
    assert desk.look(0.008) == []
    assert desk.look(0.002) == [ONE]


def test_a_text_is_handed_out_once(desk: Desk) -> None:
    """Also while the loop still thinks about it, however often it is woken."""
    desk.type(ONE)
    (document,) = desk.read()
    assert desk.look() == []
    assert desk.look(5) == []
    desk.accept(document)
    assert (desk.look(5), desk.problems, desk.sent) == ([], "", [ONE.encode()])


def test_several_answers_in_one_file_come_in_order(desk: Desk) -> None:
    """One per line, pretty-printed, without a line end: each where it stands."""
    desk.type(f"{ONE}\n{PRETTY}{TWO}")
    texts = desk.read()
    assert [document.text for document in texts] == [ONE, PRETTY.strip(), TWO]
    assert [(document.line, document.column) for document in texts] == [(1, 1), (2, 1), (9, 1)]
    for document in reversed(texts):
        desk.accept(document)
    assert not desk.out.exists()


def test_a_text_in_three_pieces_is_taken_once_and_whole(desk: Desk) -> None:
    """100 ms apart, and looked at every 10 ms."""
    got = []
    with desk.out.open("w", encoding="utf-8") as out:
        for piece in (TWO[:10], TWO[10:30], TWO[30:]):
            out.write(piece)
            out.flush()
            got += desk.looks(0.1)
    assert got + desk.looks(0.1) == [TWO]
    assert desk.problems == ""


def test_a_file_that_is_filled_late_is_taken_once_and_whole(desk: Desk) -> None:
    """Empty, half of it after 0.5 s, the rest 1.5 s later; nothing is said meanwhile."""
    desk.type("")
    got = desk.looks(0.5)
    desk.type(TWO[:20])
    got += desk.looks(1.5)
    assert desk.problems == ""
    desk.type(TWO)
    got += desk.looks(0.1)
    assert got == [TWO]


@pytest.mark.parametrize("typed", ['{"id":1', "sunny", '{"a":"b', ONE + '{"id"', ONE + " and"])
def test_what_is_not_complete_is_a_mistake_after_two_silent_seconds(desk: Desk, typed: str) -> None:
    """Until then somebody may still be typing."""
    desk.type(typed)
    assert desk.looks(1.9) == []
    got = [document for _ in range(30) for document in desk.take(0.01)]
    assert len(got) == (2 if typed.startswith(ONE) else 1)
    assert "".join(document.text for document in got) == typed.replace("} ", "}")


@pytest.mark.parametrize("typed", ['{"id":1', "sunny", '{"a":"b', ONE + '{"id"'])
def test_what_was_said_of_an_older_text_says_so_until_the_new_one_is_judged(
    desk: Desk, typed: str
) -> None:
    """For two seconds, `problems.txt` named places in a text that was not there any more."""
    desk.type(TWO)
    desk.refuse_all()
    older = desk.problems
    desk.type(typed)
    desk.looks(1.9)
    first, _, rest = desk.problems.partition("\n")
    assert (first.startswith("out.txt has changed since"), rest) == (True, older)
    desk.looks(0.3)
    assert desk.problems == ""


@pytest.mark.parametrize("blank", ["", "\n", " \r\n\t\n"])
def test_an_empty_file_is_nothing(desk: Desk, blank: str) -> None:
    """It stays, and nothing is said of it."""
    desk.type(blank)
    assert desk.looks(3) == []
    assert (desk.out.read_bytes(), desk.problems) == (blank.encode(), "")


def test_nothing_costs_one_look(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """One stat, whether there is no file, an empty one or a refused one; it is not opened."""
    calls: list[str] = []
    stat, open_ = os.stat, os.open

    def counted(name: str, *args: object, **options: object) -> os.stat_result:
        calls.append("stat")
        return stat(name, *args, **options)  # type: ignore[arg-type]  # passed through

    def opened(name: str, *args: object, **options: object) -> int:
        calls.append("open")
        return open_(name, *args, **options)  # type: ignore[arg-type]  # passed through

    monkeypatch.setattr(os, "stat", counted)
    monkeypatch.setattr(os, "open", opened)
    for typed in (None, "", ONE):
        if typed is not None:
            desk.type(typed)
        desk.refuse_all()
        calls.clear()
        desk.look()
        assert calls == ["stat"]


@pytest.mark.parametrize(
    "name",
    [
        "4913",
        "out.txt~",
        ".out.txt.swp",
        "#out.txt#",
        "~$out.txt",
        ".goutputstream-X",
        "OUT.TXT.bak",
    ],
)
def test_only_the_exact_name_counts(desk: Desk, name: str) -> None:
    """Swap files, backups and locks of editors are none of our business."""
    (desk.folder / name).write_text(ONE)
    assert desk.looks(0.2) == []
    assert (desk.folder / name).read_text() == ONE


# -- a text in another encoding ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (OSAKA.encode("utf-8-sig"), "F01"),
        (("\ufeff" + OSAKA + "\r\n").encode("utf-16-le"), "F02"),
        (("\ufeff" + OSAKA).encode("utf-16-be"), "F02"),
        (OSAKA.encode("cp932") + b"\r\n", "F03"),
    ],
    ids=["UTF-8 with BOM", "PowerShell 5.1", "UTF-16BE", "CP932"],
)
def test_what_notepad_and_powershell_write_is_read_and_named(
    desk: Desk, raw: bytes, code: str
) -> None:
    """The same text each time, and a note of what was repaired."""
    desk.type(raw)
    (document,) = desk.read()
    assert document.text == OSAKA
    assert [repair.code for repair in document.repairs] == [code]
    desk.accept(document)
    assert desk.problems.startswith("Sent.")
    assert desk.sent == [raw]


def test_windows_line_ends_are_nothing_to_speak_of(desk: Desk) -> None:
    """CRLF between answers and inside one."""
    desk.type(f"{PRETTY}{TWO}\n".replace("\n", "\r\n"))
    assert desk.accept_all() == [PRETTY.strip().replace("\n", "\r\n"), TWO]
    assert desk.problems == ""


@pytest.mark.parametrize("cut", [1, 2, 3, 41, 42, 43, 60])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp932"])
def test_a_file_that_is_cut_inside_a_character_is_waited_for(
    desk: Desk, cut: int, encoding: str
) -> None:
    """Half a character is no reason to complain while it is being written."""
    raw = OSAKA.encode(encoding)
    desk.type(raw[:-cut])
    assert desk.looks(1) == []
    assert desk.problems == ""
    desk.type(raw)
    assert desk.looks(0.1) == [OSAKA]


@pytest.mark.parametrize(
    "raw",
    [
        "{“id”:1}".encode("cp1252"),
        b'{"id":1,"result":{"a":"\xe9"}}',
        b'{"id":\x001}',
        b"\xff\xfe\x00\xd8",
    ],
    ids=["smart quotes", "cp1252", "NUL", "half a surrogate"],
)
def test_bytes_that_are_no_text_are_refused_with_advice(desk: Desk, raw: bytes) -> None:
    """Guessing would send what nobody typed. They stay, and a better text goes."""
    desk.type(raw)
    assert desk.looks(1.9) == []
    assert desk.problems == ""
    assert desk.looks(1) == []
    assert desk.problems.startswith("Not sent.")
    assert desk.out.read_bytes() == raw
    desk.type(OSAKA)
    assert desk.looks(0.1) == [OSAKA]
    assert desk.problems == ""


# -- a text is refused ------------------------------------------------------------------------


def test_a_refused_text_stays_exactly_as_typed(desk: Desk) -> None:
    """With the reason beside it, and is judged again when it changes, and only then."""
    typed = b"\xef\xbb\xbf" + ONE.encode() + b"\r\n \r\n"
    desk.type(typed)
    assert len(desk.refuse_all()) == 1
    assert desk.out.read_bytes() == typed
    assert "line 1, column 8" in desk.problems
    assert desk.looks(5) == []
    desk.type(ONE.replace("1", "10"))
    assert len(desk.accept_all()) == 1
    assert (desk.problems, desk.out.exists()) == ("", False)


def test_the_same_text_saved_again_is_judged_again(desk: Desk) -> None:
    """To save without a change is to say: try again."""
    desk.type(ONE)
    desk.refuse_all()
    os.utime(desk.out)
    assert desk.accept_all() == [ONE]


def test_what_was_refused_comes_back_and_what_was_sent_is_gone(desk: Desk) -> None:
    """The person sees in `out.txt` what is left to do, with its place there."""
    desk.type(f"  {ONE}  \n{PRETTY}{TWO}\n{OSAKA}")
    first, second, third, fourth = desk.read()
    desk.accept(first)
    desk.refuse(second, (WRONG,))
    desk.accept(third)
    assert desk.look() == []
    desk.refuse(fourth, (WRONG,))
    assert desk.out.read_text(encoding="utf-8") == f"  {PRETTY}{OSAKA}"
    assert "line 1, column 10" in desk.problems
    assert "line 8, column 8" in desk.problems
    assert desk.looks(5) == []
    assert desk.sent == [f"  {ONE}  \n{PRETTY}{TWO}\n{OSAKA}".encode()]
    desk.type(OSAKA)
    assert desk.accept_all() == [OSAKA]
    assert desk.problems == ""


def test_a_report_names_the_place_in_the_file(desk: Desk) -> None:
    """Line and column count from the beginning of the file, not of the document."""
    desk.type(f"\n  {PRETTY}")
    (document,) = desk.read()
    desk.refuse(
        document,
        (
            Diagnostic("R50", Severity.ERROR, WRONG.detail, line=1, column=4),
            Diagnostic("R50", Severity.ERROR, WRONG.detail, line=3, column=5),
            Diagnostic("R50", Severity.ERROR, (("pending", "7"), ("typed", "8"))),
        ),
    )
    said = desk.problems
    assert "line 2, column 6: " in said
    assert "line 4, column 5: " in said
    assert said.count("line ") == 2


def test_a_report_shows_how_the_text_would_be_right(desk: Desk) -> None:
    """Whole, below the problems, ready to be copied; several lines stay several lines."""
    desk.type('{"id": 1,\n "result": {},}\n')
    (document,) = desk.read()
    desk.refuse(document, (WRONG,), '{"id": 1,\n "result": {}}')
    assert desk.problems.endswith(':\n    {"id": 1,\n     "result": {}}\n')


def test_a_report_begins_with_what_keeps_the_text_from_being_sent(desk: Desk) -> None:
    """Nothing is said of repairs in a text that was not sent: they would sound as if it was."""
    desk.type(OSAKA.encode("utf-16"))
    hint = Diagnostic("R51", Severity.HINT, (("typed", "7"),), line=1, column=3)
    repaired = Diagnostic("J50", Severity.REPAIRED, line=1, column=5)
    desk.refuse_all(repaired, hint, WRONG)
    said = desk.problems
    assert 0 < said.index("column 8") < said.index("column 3")
    assert "column 5" not in said
    assert "UTF-16" not in said


def test_a_file_with_thousands_of_texts_is_not_read(desk: Desk) -> None:
    """Nobody typed that: one mistake of a program must not keep the loop busy for minutes."""
    desk.type("{}" * 1001)
    assert desk.looks(3) == []
    assert "1,000" in desk.problems
    desk.type("{}" * 1000)
    assert len(desk.looks(0.1)) == 1000


def test_a_report_speaks_japanese(tmp_path: Path) -> None:
    """In the language that the session was started with."""
    desk = Desk(tmp_path)
    desk.type(ONE)
    with speaking("ja"):
        desk.refuse_all()
    assert "送っていません" in desk.problems
    assert "1 行 8 文字目" in desk.problems
    desk.files.release()


def test_what_is_to_be_noticed_in_a_sent_text_is_told(desk: Desk) -> None:
    """A warning does not keep a text from being sent; the next clean one clears it."""
    desk.type(ONE)
    (document,) = desk.read()
    desk.accept(document, (Diagnostic("R50", Severity.WARNING, WRONG.detail, line=1, column=8),))
    assert desk.problems.startswith("Sent.")
    assert "line 1, column 8" in desk.problems
    desk.type(TWO)
    desk.accept_all()
    assert desk.problems == ""


@pytest.mark.parametrize("tidy", [os.unlink, lambda file: os.truncate(file, 0)])
def test_a_refused_text_that_is_taken_away_is_no_problem_any_more(
    desk: Desk, tidy: Callable[[Path], None]
) -> None:
    """Deleted or emptied: all is well again."""
    desk.type(ONE)
    desk.refuse_all()
    assert desk.problems
    tidy(desk.out)
    desk.looks(0.1)
    assert desk.problems == ""


def test_no_text_acts_on_the_terminal_that_shows_the_report(desk: Desk) -> None:
    """What was typed is quoted with its escape sequences made visible."""
    desk.type(ONE)
    desk.refuse_all(
        Diagnostic("R50", Severity.ERROR, (("pending", "\x1b[2J"), ("typed", "\u202e")))
    )
    assert "\x1b" not in desk.problems
    assert "\u202e" not in desk.problems
    assert "⟦U+001B⟧" in desk.problems


# -- what is written while a text is judged ---------------------------------------------------


def test_what_is_appended_while_a_text_is_judged_is_the_next_text(desk: Desk) -> None:
    """The writer still holds the file; it is renamed under its hands, and nothing is lost."""
    with desk.out.open("w", encoding="utf-8") as out:
        out.write(ONE)
        out.flush()
        (document,) = desk.read()
        out.write(f"\n{TWO}")
        out.flush()
        desk.accept(document)
        assert not desk.out.exists()
        assert desk.looks(0.5) == [TWO]
        out.write(OSAKA[:9])  # and still goes on
        out.flush()
        assert desk.looks(1) == []
        out.write(OSAKA[9:])
        out.flush()
        assert desk.looks(0.5) == [OSAKA]
    assert desk.looks(5) == []
    assert desk.sent == [f"{ONE}\n{TWO}{OSAKA}".encode()]
    assert desk.problems == ""


def test_what_replaces_the_text_while_it_is_judged_is_the_next_text(desk: Desk) -> None:
    """Truncated and written anew in the same file: both were sent, and both are kept."""
    desk.type(ONE)
    (document,) = desk.read()
    desk.type(TWO)
    desk.accept(document)
    assert desk.looks(0.5) == [TWO]
    assert sorted(desk.sent) == sorted([ONE.encode(), TWO.encode()])


def test_a_truncate_that_comes_before_its_write_loses_nothing(desk: Desk) -> None:
    """The second `echo` opens the file before the rename and writes after it."""
    desk.type(ONE)
    (document,) = desk.read()
    with desk.out.open("w", encoding="utf-8") as out:
        desk.accept(document)
        assert desk.looks(0.2) == []
        out.write(TWO)
    assert desk.looks(0.5) == [TWO]


def test_another_file_renamed_over_it_while_it_is_judged_is_the_next_text(desk: Desk) -> None:
    """An editor that saves by rename, in the worst moment."""
    desk.type(ONE)
    (document,) = desk.read()
    (desk.folder / "tmp").write_text(TWO)
    (desk.folder / "tmp").rename(desk.out)
    desk.accept(document)
    assert desk.looks(0.5) == [TWO]
    assert ONE.encode() in desk.sent


def test_a_text_that_is_taken_away_while_it_is_judged_was_sent_all_the_same(desk: Desk) -> None:
    """It is kept, from what was read."""
    desk.type(ONE)
    (document,) = desk.read()
    desk.out.unlink()
    desk.accept(document)
    assert desk.sent == [ONE.encode()]
    assert desk.looks(3) == []


def test_a_refused_text_of_a_writer_that_goes_on_comes_to_out_txt(desk: Desk) -> None:
    """And leaves it again when the writer completes it."""
    with desk.out.open("w", encoding="utf-8") as out:
        out.write(ONE)
        out.flush()
        desk.accept_all()
        out.write(TWO[:12])
        out.flush()
        texts = [document for _ in range(300) for document in desk.take(0.01)]
        assert [document.text for document in texts] == [TWO[:12]]
        desk.refuse(texts[0], (WRONG,))
        assert desk.out.read_text(encoding="utf-8") == TWO[:12]
        assert desk.problems
        out.write(TWO[12:])
    assert desk.looks(1) == [TWO]
    assert not desk.out.exists()
    assert desk.problems == ""


def test_a_refused_text_never_overwrites_the_next_one(desk: Desk) -> None:
    """The person has written on meanwhile: it is kept beside, and the report says where."""
    desk.type(f"{ONE}\n{OSAKA}\n")
    first, second = desk.read()
    desk.accept(first)
    keep = desk.out.with_suffix(".new")
    keep.write_text(TWO)
    rename = os.rename

    def rename_and_lose_the_race(old: str, new: str, **options: int) -> None:
        rename(old, new, **options)
        if old == "out.txt":
            rename(keep, desk.out)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "rename", rename_and_lose_the_race)
        desk.refuse(second, (WRONG,))
    assert desk.out.read_text() == TWO
    assert (desk.folder / "out.refused.txt").read_text(encoding="utf-8") == f"{OSAKA}\n"
    assert "out.refused.txt" in desk.problems
    assert desk.accept_all() == [TWO]


def test_cat_may_stay_open_for_a_whole_session(desk: Desk) -> None:
    """`cat > out.txt`: every pasted answer is taken as soon as it is complete."""
    with subprocess.Popen(["sh", "-c", "cat > out.txt"], cwd=desk.folder, stdin=-1) as cat:
        assert cat.stdin is not None
        for text in (ONE, TWO, PRETTY, OSAKA):
            cat.stdin.write(text.encode() + b"\n")
            cat.stdin.flush()
            assert until(lambda: desk.looks(0.05), "the answer") == [text.strip()]
        cat.stdin.close()
    assert len(desk.sent) == 1


# -- what writes files out there --------------------------------------------------------------


def test_three_echos_from_a_shell(desk: Desk) -> None:
    """The one-liners of the first human MCP server, each when its request is there."""
    got = []
    for number in (1, 2, 3):
        line = f'{{"jsonrpc":"2.0","id":{number},"result":{{}}}}'
        subprocess.run(["sh", "-c", f"echo '{line}' > out.txt"], cwd=desk.folder, check=True)
        got += desk.accept_all()
        assert not desk.out.exists()
    assert got == [f'{{"jsonrpc":"2.0","id":{n},"result":{{}}}}' for n in (1, 2, 3)]
    assert len(desk.sent) == 3


@pytest.mark.parametrize(
    "save",
    [
        "cp new out.txt",
        "mv new out.txt",
        "cat new > out.txt",
        "dd if=new of=out.txt bs=7 status=none",
        "install -m 600 new out.txt",
        "tee out.txt < new > /dev/null",
        "ln new out.tmp && mv out.tmp out.txt && rm new",
        "touch 4913 && rm 4913 && : > out.txt && mv out.txt out.txt~ && cp new out.txt && rm *~",
        ": > out.txt && cat new >> out.txt",
    ],
    ids=["cp", "mv", "cat", "dd", "install", "tee", "ln", "vim", "VS Code"],
)
def test_each_way_to_save_gives_one_answer(desk: Desk, save: str) -> None:
    """The loop looks all the time while a real process saves."""
    (desk.folder / "new").write_text(PRETTY, encoding="utf-8")
    got: list[str] = []

    def gather() -> list[str]:
        got.extend(look_now(desk))
        return got

    with subprocess.Popen(["sh", "-ec", save], cwd=desk.folder) as saving:
        until(lambda: gather() is not None and saving.poll() is not None, save)
    assert saving.returncode == 0
    until(gather, "the answer")
    assert got == [PRETTY.strip()]
    assert desk.looks(3) == []
    assert desk.problems == ""


def look_now(desk: Desk) -> list[str]:
    """Look with the real clock, and accept."""
    texts = desk.poll(time.monotonic())
    for document in texts:
        desk.accept(document)
    return [document.text for document in texts]


def test_a_slow_writer_with_the_real_clock(desk: Desk) -> None:
    """A process writes three pieces 100 ms apart, the loop looks every few milliseconds."""
    script = (
        "import sys, time\n"
        "out = open('out.txt', 'w', encoding='utf-8')\n"
        f"for piece in {[TWO[:5], TWO[5:33], TWO[33:]]!r}:\n"
        "    out.write(piece); out.flush(); time.sleep(0.1)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=desk.folder):
        assert until(lambda: look_now(desk), "the answer") == [TWO]
    assert look_now(desk) == []


@pytest.mark.skipif(
    shutil.which("vim") is None, reason="there is no vim: run `make programs` as root"
)
def test_vim_itself(desk: Desk) -> None:
    """A refused text is opened, changed and saved with the editor's own side files."""
    desk.type(ONE)
    desk.refuse_all()
    edit = ["vim", "-u", "NONE", "-N", "-es", "-c", "%s/1/7/", "-c", "wq", "out.txt"]
    subprocess.run(edit, cwd=desk.folder, check=True, stdin=subprocess.DEVNULL)
    assert desk.accept_all() == [ONE.replace("1", "7", 1)]


def test_a_file_that_an_editor_empties_before_it_writes_is_still_being_written(desk: Desk) -> None:
    """The answer book would answer in the moment between the two."""

    def written() -> list[bool]:
        return [desk.files.is_being_written]

    desk.type(ONE[:20])
    assert desk.look() == []
    desk.type("")
    assert desk.look() == []
    assert written() == [True]
    assert desk.files.look_again is not None
    assert desk.look(after=3) == []
    assert written() == [False]
    desk.type(ONE)
    assert desk.accept_all() == [ONE]
    assert written() == [False]


# -- what is not read -------------------------------------------------------------------------


def link(out: Path) -> None:
    """Lead to a file of somebody else's."""
    out.symlink_to("/etc/passwd")


def dangling(out: Path) -> None:
    """Lead nowhere."""
    out.symlink_to("nowhere")


def fifo(out: Path) -> None:
    """Wait for a writer for ever, if it is opened."""
    os.mkfifo(out)


def folder(out: Path) -> None:
    """Hold files."""
    out.mkdir()


def unix_socket(out: Path) -> None:
    """Listen."""
    with contextlib.chdir(out.parent), socket.socket(socket.AF_UNIX) as listener:
        listener.bind("out.txt")


def hard_link(out: Path) -> None:
    """Be the second name of another file."""
    other = out.with_name("other.txt")
    other.write_text(ONE)
    out.hardlink_to(other)


def sparse(out: Path) -> None:
    """Be 2 GB large without taking any room."""
    with out.open("wb") as stream:
        stream.truncate(2_000_000_000)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (link, "a link to another file"),
        (dangling, "a link to another file"),
        (fifo, "a pipe or a device"),
        (unix_socket, "a pipe or a device"),
        (folder, "is a folder"),
        (hard_link, "a hard link"),
        (sparse, "larger than 16 MiB"),
    ],
)
def test_what_is_no_plain_file_of_ours_is_refused_at_the_first_look(
    desk: Desk, make: Callable[[Path], None], said: str
) -> None:
    """It is not opened, the reason is told once, and a plain file in its place works."""
    make(desk.out)
    assert desk.look() == []
    assert said in desk.problems
    (desk.folder / "problems.txt").unlink()
    assert desk.looks(3) == []
    assert not (desk.folder / "problems.txt").exists()
    if desk.out.is_dir() and not desk.out.is_symlink():
        desk.out.rmdir()
    else:
        desk.out.unlink()
    desk.look()
    assert desk.problems == ""
    desk.type(TWO)
    assert desk.accept_all() == [TWO]


def test_a_link_that_appears_between_two_looks_is_not_followed(desk: Desk) -> None:
    """What was seen was a plain file; what is opened is a link."""
    desk.type(ONE)
    desk.look()
    desk.out.unlink()
    link(desk.out)
    assert desk.looks(0.1) == []
    assert "a link to another file" in desk.problems


def test_a_file_that_may_not_be_read_is_waited_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mode 000, or a lock of another program on Windows: told, tried again, and then read."""
    desk.type(ONE)
    open_ = os.open

    def denied(name: str, *args: object, **options: object) -> int:
        if name == "out.txt":
            raise PermissionError(errno.EACCES, "denied")
        return open_(name, *args, **options)  # type: ignore[arg-type]  # passed through

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", denied)
        assert desk.looks(1) == []
        assert "cannot read" in desk.problems
    assert desk.looks(1) == [ONE]
    assert desk.problems == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_mode_000_is_waited_for(desk: Desk) -> None:
    """With the real thing."""
    desk.type(ONE)
    desk.out.chmod(0)
    assert desk.looks(1) == []
    assert "cannot read" in desk.problems
    desk.out.chmod(0o600)
    assert desk.looks(1) == [ONE]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_refused(desk: Desk) -> None:
    """Nobody else answers for the person."""
    desk.type(ONE)
    os.chown(desk.out, 65534, 65534)
    assert desk.looks(3) == []
    assert "another user" in desk.problems


def test_a_file_that_cannot_be_put_away_is_not_sent_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows keeps an open file from being renamed; it is tried ten times."""
    rename, tries = os.rename, []

    def held(old: str, new: str, **options: int) -> None:
        tries.append(desk.now)
        raise PermissionError(13, "The process cannot access the file")

    desk.type(ONE)
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", held)
        assert desk.looks(2) == [ONE]
        assert desk.problems == ""
        assert desk.looks(2) == []
        assert "cannot move" in desk.problems
        assert len(tries) < 25
        desk.type(f"{ONE}\n{TWO}")  # the person goes on in the same file
        assert desk.looks(0.5) == [TWO]
        assert desk.looks(3) == []
    assert rename is os.rename
    desk.looks(1)
    assert not desk.out.exists()
    assert desk.sent == [f"{ONE}\n{TWO}".encode()]


def test_a_full_disk_ends_no_session(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer was sent; what cannot be written is remembered as trouble."""
    desk.type(f"{ONE}\n{TWO}")
    first, second = desk.read()
    desk.accept(first)

    def full(*_args: object, **_options: object) -> int:
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        desk.refuse(second, (WRONG,))
        assert desk.has_trouble()
        desk.looks(0.5)
    assert desk.sent == [f"{ONE}\n{TWO}".encode()]
    desk.type(OSAKA)
    assert desk.accept_all() == [OSAKA]


# -- folders ----------------------------------------------------------------------------------


def test_a_second_server_takes_the_next_folder(tmp_path: Path) -> None:
    """It says so, and touches nothing of the first one's."""
    first = Desk(tmp_path / "mcp")
    first.files.in_txt.add(b"first")
    first.type(ONE)
    second = Desk(tmp_path / "mcp")
    third = Desk(tmp_path / "mcp")
    assert [desk.folder.name for desk in (first, second, third)] == ["mcp", "mcp-2", "mcp-3"]
    assert first.files.note == ""
    assert str(second.folder) in second.files.note
    assert (first.in_txt, second.in_txt) == (b"first\n", b"")
    assert second.looks(0.1) == []
    assert first.accept_all() == [ONE]
    first.files.release()
    fourth = Desk(tmp_path / "mcp")
    assert fourth.folder.name == "mcp"
    for desk in (second, third, fourth):
        desk.files.release()
        desk.files.release()


def test_a_folder_is_free_as_soon_as_its_server_was_killed(tmp_path: Path) -> None:
    """A lock of the system, no file that kill -9 leaves behind."""
    script = (
        "import pathlib, sys, time\n"
        "from humanmcp.extensions.text_files.files import TextFiles\n"
        "files = TextFiles.claim(pathlib.Path(sys.argv[1]))\n"
        "sys.stdout.write(files.folder.name + '\\n'); sys.stdout.flush(); time.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "mcp")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"mcp\n"
        beside = Desk(tmp_path / "mcp")
        assert beside.folder.name == "mcp-2"
        server.kill()
    after = Desk(tmp_path / "mcp")
    assert after.folder.name == "mcp"
    beside.files.release()
    after.files.release()


def test_what_stood_in_out_txt_before_the_session_is_not_sent(tmp_path: Path) -> None:
    """Nobody knows what it answers. It is kept, and so is the one from the session before."""
    (tmp_path / "out.txt").write_text(ONE)
    (tmp_path / "out.before.txt").write_text("older")
    desk = Desk(tmp_path)
    assert desk.looks(3) == []
    assert not desk.out.exists()
    assert (tmp_path / "out.before.txt").read_text() == "older"
    assert (tmp_path / "out.before-2.txt").read_text() == ONE
    assert "out.before-2.txt" in desk.problems
    desk.type(TWO)
    assert desk.accept_all() == [TWO]
    assert desk.problems == ""
    desk.files.release()


def test_sent_texts_of_several_sessions_are_kept(tmp_path: Path) -> None:
    """Numbers go on; nothing is written over."""
    for text in (ONE, TWO, OSAKA):
        desk = Desk(tmp_path)
        desk.type(text)
        desk.accept_all()
        desk.files.release()
    assert desk.sent == [ONE.encode(), TWO.encode(), OSAKA.encode()]


def test_sent_texts_are_kept_in_the_archive(tmp_path: Path) -> None:
    """The session's own folder keeps them; the person's folder holds four files and no more."""
    (tmp_path / "session").mkdir()
    desk = Desk(tmp_path / "mcp", archive=tmp_path / "session")
    desk.type(ONE)
    desk.accept_all()
    assert (tmp_path / "session" / "sent" / "0001.txt").read_text() == ONE
    assert {file.name for file in desk.folder.iterdir()} == {
        ".humanmcp.lock",
        "in.txt",
        "problems.txt",
        "status.txt",
    }
    desk.files.release()


def test_an_archive_on_another_disk_or_gone_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rename does not leave a disk: the folder itself keeps them then."""
    rename = os.rename

    def same_disk_only(old: str, new: str, **options: int) -> None:
        if new.startswith("/"):
            raise OSError(errno.EXDEV, "another disk")
        rename(old, new, **options)

    monkeypatch.setattr(os, "rename", same_disk_only)
    for archive in (tmp_path, tmp_path / "gone"):
        desk = Desk(tmp_path / f"mcp-for-{archive.name}", archive=archive)
        desk.type(ONE)
        assert desk.accept_all() == [ONE]
        assert desk.sent == [ONE.encode()]
        desk.files.release()


def test_a_folder_that_everybody_may_write_in_is_refused(tmp_path: Path) -> None:
    """With the command that fixes it."""
    tmp_path.chmod(0o777)
    with pytest.raises(UnsafeFolderError, match="chmod o-w"):
        Desk(tmp_path)
    tmp_path.chmod(0o770)
    Desk(tmp_path).files.release()


def test_a_lock_file_laid_there_first_opens_no_folder(tmp_path: Path) -> None:
    """Somebody else made it, readable for all; a drive without modes is told by a new file."""
    (tmp_path / ".humanmcp.lock").touch()
    (tmp_path / ".humanmcp.lock").chmod(0o666)
    tmp_path.chmod(0o777)
    with pytest.raises(UnsafeFolderError, match="chmod o-w"):
        Desk(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".humanmcp.lock"]


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """The folder itself has to be named."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(UnsafeFolderError, match=str(tmp_path / "real")):
        Desk(tmp_path / "link")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    """Its owner could change what is in it."""
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(UnsafeFolderError, match="another user"):
        Desk(tmp_path)


def test_a_folder_that_is_swapped_leads_nowhere_else(tmp_path: Path) -> None:
    """Names are looked up in the folder that was opened, not in what has its name now."""
    desk = Desk(tmp_path / "mcp")
    (tmp_path / "mcp").rename(tmp_path / "moved")
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "out.txt").write_text(ONE)
    assert desk.looks(0.2) == []
    desk.files.in_txt.add(b"line")
    assert (tmp_path / "moved" / "in.txt").read_bytes() == b"line\n"
    (tmp_path / "moved" / "out.txt").write_text(TWO)
    assert desk.looks(0.2) == [TWO]
    desk.files.release()


@pytest.mark.parametrize("name", ["a:b", "CON", "nul.txt", "dot.", "space ", "new\nline", "x/../y"])
def test_odd_names_of_folders_are_safe(tmp_path: Path, name: str) -> None:
    """Whatever the system takes, we take; the note about it stays on one line."""
    first, second = Desk(tmp_path / name), Desk(tmp_path / name)
    assert first.folder != second.folder
    assert "\n" not in second.files.note
    first.type(ONE)
    assert first.accept_all() == [ONE]
    first.files.release()
    second.files.release()


def test_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    """With the system's own reason."""
    with pytest.raises(OSError, match="too long"):
        Desk(tmp_path / ("x" * 300))


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """It is not touched."""
    (tmp_path / "mcp").write_text("mine")
    with pytest.raises(FileExistsError):
        Desk(tmp_path / "mcp")
    assert (tmp_path / "mcp").read_text() == "mine"


# -- anything ---------------------------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(content=st.binary(max_size=200) | st.text('{}[]",:1a \n\ufeff\u2028', max_size=60))
def test_any_bytes_are_read_or_refused(desk: Desk, content: bytes | str) -> None:
    """No crash, no hang, nothing lost: what was not sent is in `out.txt` as typed."""
    desk.type(content)
    typed = desk.out.read_bytes()
    for _ in range(40):
        for document in desk.take(0.1):
            desk.refuse(document, (WRONG,))
    assert desk.out.read_bytes() == typed
    for document in desk.take(3):
        raise AssertionError(document)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    plan=st.lists(
        st.tuples(st.sampled_from([ONE, TWO, PRETTY, OSAKA, "{", "x"]), st.booleans()), max_size=6
    ),
)
def test_each_text_is_sent_once_or_comes_back(desk: Desk, plan: list[tuple[str, bool]]) -> None:
    """Whatever is accepted and refused in one file: nothing is lost and nothing comes twice."""
    whole = [(text.strip(), good) for text, good in plan if len(text) > 1]
    broken = [text for text, _good in plan if len(text) == 1][:1]
    desk.type("\n".join([text for text, _good in whole] + broken))
    answers = [good for _text, good in whole] + [False] * len(broken)
    handed: list[str] = []
    for _ in range(60):
        texts = desk.take(0.1)
        for document, good in zip(texts, answers, strict=False):
            handed.append(document.text)
            (desk.accept(document) if good else desk.refuse(document, (WRONG,)))
    assert handed == [text for text, _good in whole] + broken
    left = desk.out.read_text(encoding="utf-8").split() if desk.out.exists() else []
    assert "".join(left) == "".join(
        "".join(text.split()) for text, good in [*whole, *((b, False) for b in broken)] if not good
    )
    desk.out.unlink(missing_ok=True)
    desk.looks(0.1)


def test_an_idle_folder_is_looked_at_as_a_whole_and_what_is_saved_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call for all names that nothing has; hundreds of sessions wait in one process."""
    files = TextFiles.claim(tmp_path / "me")
    asked: list[str] = []
    mark = OpenFolder.mark

    def asking(folder: OpenFolder, name: str) -> FileMark | None:
        asked.append(name)
        return mark(folder, name)

    monkeypatch.setattr(OpenFolder, "mark", asking)
    assert [len(files.poll(now)) for now in (0.0, 3.0, 4.0)] == [0, 0, 0]
    asked.clear()
    assert not files.poll(4.5)
    assert asked == []
    (files.folder / "out.txt").write_text(ONE)
    assert [len(files.poll(now)) for now in (4.7, 4.9)] == [0, 1]
    files.release()

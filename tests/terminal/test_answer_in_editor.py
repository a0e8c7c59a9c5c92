"""`humanmcp answer N` with the person's own editor, in a real terminal, against the real server."""

import json
import os
import pty
import shlex
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from humanmcp.answering import service
from humanmcp.answering.open_exchange import open_exchange_of
from humanmcp.inbox.contract import Key
from humanmcp.inbox.folder import FolderInbox
from humanmcp.terminal.replying import same, with_comments, without_comments
from tests.support.inbox_folder import CALL
from tests.support.serve_process import Serving
from tests.support.waiting import until

EDITOR: Final = """
import pathlib, sys
steps = pathlib.Path({folder!r})
file = pathlib.Path(sys.argv[1])
at = len(list(steps.glob("seen-*")))
seen = file.read_text(encoding="utf-8")
(steps / f"seen-{{at}}").write_text(seen, encoding="utf-8")
(steps / "mode").write_text(oct(file.stat().st_mode) + oct(file.parent.stat().st_mode))
step = steps / f"step-{{at}}"
if step.exists():
    file.write_text(step.read_text(encoding="utf-8").replace("@SEEN@", seen), encoding="utf-8")
"""


class Terminal(NamedTuple):
    """What a command did in a terminal, and what its editor was shown, time after time."""

    status: int
    screen: str
    seen: list[str]


class Desk:
    """A person with a scripted editor, at a terminal of their own."""

    def __init__(self, folder: Path, home: Path) -> None:
        """Write the editor."""
        self.folder = folder
        self.home = home
        self.editor = folder / "editor.py"
        self.editor.write_text(EDITOR.format(folder=str(folder)), encoding="utf-8")

    def answer(
        self, *words: str, steps: tuple[str, ...] = (), environment: Mapping[str, str] | None = None
    ) -> Terminal:
        """Run `humanmcp answer`; the editor saves one of the steps each time it is opened."""
        for old in (*self.folder.glob("seen-*"), *self.folder.glob("step-*")):
            old.unlink()
        for at, step in enumerate(steps):
            (self.folder / f"step-{at}").write_text(step, encoding="utf-8")
        command = [sys.executable, "-m", "humanmcp", "answer", *words, "--home", str(self.home)]
        quoted = shlex.join([sys.executable, str(self.editor)])
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        kept |= {"EDITOR": quoted, "TERM": "xterm"} if environment is None else dict(environment)
        status, screen = in_terminal(command, kept)
        seen = sorted(self.folder.glob("seen-*"))
        return Terminal(status, screen, [one.read_text(encoding="utf-8") for one in seen])


def in_terminal(command: list[str], environment: Mapping[str, str]) -> tuple[int, str]:
    """Run a command with a terminal for stdin, stdout and stderr. Returns status and screen."""
    pid, master = pty.fork()
    if pid == 0:  # pragma: no cover - the child becomes the command
        os.execve(command[0], command, dict(environment))
    screen = b""
    try:
        while part := os.read(master, 65536):
            screen += part
    except OSError:  # Linux: EIO when the other side of the terminal was closed
        pass
    finally:
        os.close(master)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), screen.decode("utf-8", "replace")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Serving]:
    """Start the server, and let the host call a tool."""
    with Serving(tmp_path / "home", "--by-hand") as serving:
        serving.say(CALL)
        until((serving.session / "pending" / "0001" / "request.json").exists, "the request")
        yield serving


@pytest.fixture
def desk(tmp_path: Path, host: Serving) -> Desk:
    """Sit down at a terminal."""
    folder = tmp_path / "desk"
    folder.mkdir()
    return Desk(folder, host.home)


def draft_of(host: Serving) -> tuple[str, bool, bool]:
    """Return the text to start from, whether it was touched, and whether the book is held."""
    opened = open_exchange_of(FolderInbox(host.home), Key(host.session.name, 1))
    draft = opened.item.draft or service.starting_draft(opened)
    return draft.text, draft.touched, draft.paused


def test_what_is_written_in_the_editor_reaches_the_host(desk: Desk, host: Serving) -> None:
    """The whole way: editor, check, inbox, server, stdout; and the line is shown to the person."""
    text = '{\n  "result": {\n    "content": [{"type": "text", "text": "晴れ"}]\n  }\n}\n'
    ran = desk.answer("1", steps=(text,))
    line = host.hear()
    assert ran.status == 0
    assert json.loads(line)["result"]["content"][0]["text"] == "晴れ"
    assert line in ran.screen.replace("\r\n", "")


def test_the_editor_opens_the_draft_below_an_explanation(desk: Desk) -> None:
    """Comments say what is asked and how to send; below them stands JSON over several lines."""
    (seen,) = desk.answer("1").seen
    comments = [line for line in seen.split("\n") if line.startswith("//")]
    assert any("The model calls a tool" in line for line in comments)
    assert any("get-japan-forecast" in line and "東京" in line for line in comments)
    draft = without_comments(seen)
    assert json.loads(draft)["id"] == 3
    assert draft.count("\n") > 3


def test_the_file_is_private(desk: Desk) -> None:
    """What a person writes is nobody else's: 0600 in a folder of 0700, and gone afterwards."""
    desk.answer("1")
    assert (desk.folder / "mode").read_text() == "0o1006000o40700"
    assert list((desk.home / "editing").iterdir()) == []


def test_a_refused_text_opens_again_with_its_problems(desk: Desk, host: Serving) -> None:
    """The problems name the lines as the editor counts them, and the second text goes out."""
    wrong = '{\n  "result": {\n    "content": "晴れ"\n  }\n}'
    right = wrong.replace('"晴れ"', '[{"type": "text", "text": "晴れ"}]')
    ran = desk.answer("1", steps=(wrong, right))
    first, second = ran.seen
    assert "Fix it" not in first
    named = next(line for line in second.split("\n") if line.startswith("//") and "M01" in line)
    number = int(named.split("line ")[1].split(",")[0])
    assert second.split("\n")[number - 1].strip() == '"content": "晴れ"'
    assert ran.status == 0
    assert json.loads(host.hear())["result"]["content"][0]["text"] == "晴れ"


def test_an_unchanged_text_sends_nothing(desk: Desk, host: Serving) -> None:
    """As in `kubectl edit`; the draft stays, untouched, and the book is let go on counting."""
    before = draft_of(host)[0]
    ran = desk.answer("1")
    assert ran.status == 1
    assert "nothing was sent" in ran.screen
    assert draft_of(host) == (before, False, False)


def test_an_emptied_text_sends_nothing(desk: Desk, host: Serving) -> None:
    """Deleting everything means never mind; the draft is as it was."""
    before = draft_of(host)[0]
    ran = desk.answer("1", steps=("\n\n",))
    assert ran.status == 1
    assert "was empty" in ran.screen
    assert draft_of(host)[0] == before


def test_giving_up_after_a_refusal_keeps_the_text(desk: Desk, host: Serving) -> None:
    """The wrong text is the draft; the next `answer` begins with it."""
    ran = desk.answer("1", steps=('{"result": 4}', '{"result": 5}'))
    assert ran.status == 1
    assert len(ran.seen) == 3
    assert draft_of(host)[0].strip() == '{"result": 5}'
    item = FolderInbox(host.home).item(Key(host.session.name, 1))
    assert item.kept == ()  # its own writer has replaced the one before
    again = desk.answer("1")
    assert same(without_comments(again.seen[0]), '{\n  "result": 5\n}')


def test_the_comments_are_taken_off_only_at_the_top(desk: Desk, host: Serving) -> None:
    """A `//` in the text itself is the person's own."""
    text = (
        '// mine\n  // too\n{"result":{"content":[{"type":"text","text":"https://x.example/ //"}]}}'
    )
    assert desk.answer("1", steps=(text,)).status == 0
    assert json.loads(host.hear())["result"]["content"][0]["text"] == "https://x.example/ //"


def test_send_anyway_sends_what_was_written(desk: Desk, host: Serving) -> None:
    """To see what the client does with it."""
    assert desk.answer("1", "--send-anyway", steps=('{"result": 5}',)).status == 0
    assert json.loads(host.hear())["result"] == 5


def test_an_editor_that_fails_sends_nothing(desk: Desk, host: Serving) -> None:
    """`:cq` in vim; the status is named and the draft kept."""
    before = draft_of(host)[0]
    ran = desk.answer("1", environment={"EDITOR": "false", "PATH": os.environ["PATH"]})
    assert ran.status == 2
    assert "exit status 1" in ran.screen
    assert draft_of(host) == (before, False, False)


def test_an_editor_that_is_not_there_is_named(desk: Desk) -> None:
    """VISUAL comes before EDITOR."""
    environment = {"VISUAL": "no-such-editor", "EDITOR": "true", "PATH": os.environ["PATH"]}
    ran = desk.answer("1", environment=environment)
    assert ran.status == 2
    assert "no-such-editor" in ran.screen


def test_without_any_editor_it_says_what_to_set(desk: Desk) -> None:
    """No VISUAL, no EDITOR, none of the usual ones on the PATH."""
    ran = desk.answer("1", environment={"PATH": str(desk.folder)})
    assert ran.status == 2
    assert "Set EDITOR" in ran.screen


def test_a_cancel_while_the_editor_is_open_keeps_the_text(desk: Desk, host: Serving) -> None:
    """Nothing goes out for it, and what was written is kept."""
    cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}'
    text = '{"result":{"content":[{"type":"text","text":"late"}]}}'
    slow = desk.folder / "slow.py"
    slow.write_text(
        "import pathlib, sys, time\n"
        f"home = pathlib.Path({str(host.session)!r})\n"
        f"pathlib.Path({str(desk.folder / 'open')!r}).touch()\n"
        "end = time.monotonic() + 20\n"
        "while not list((home / 'cancelled').iterdir()) and time.monotonic() < end:\n"
        "    time.sleep(0.01)\n"
        f"pathlib.Path(sys.argv[1]).write_text({text!r})\n",
        encoding="utf-8",
    )

    def give_up() -> None:
        until((desk.folder / "open").exists, "the open editor")
        host.say(cancel)

    hand = threading.Thread(target=give_up)
    hand.start()
    quoted = shlex.join([sys.executable, str(slow)])
    ran = desk.answer("1", environment={"EDITOR": quoted, "PATH": os.environ["PATH"]})
    hand.join()
    assert ran.status == 1
    assert "cancelled" in ran.screen
    assert draft_of(host)[0] == text
    assert host.close() == (0, [])


@pytest.mark.parametrize(
    ("text", "comments"),
    [
        ('{"a": 1}\n', ["one", "two"]),
        ("// not ours\n{}\n", []),
        ("\n\n{}\n", ["one"]),
        ("plain\r\nwords\n", ["one"]),
    ],
)
def test_comments_come_off_as_they_went_on(text: str, comments: list[str]) -> None:
    """Nothing of the text is lost, whatever it is, unless it begins with a comment itself."""
    body = without_comments(with_comments(text, comments))
    assert body == (text if not text.startswith("//") else "{}\n")

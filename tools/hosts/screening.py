"""Permission prompts at a screen: each host is started at a terminal of its own.

No key is pressed after a time, only at a text on the screen: some screens never rest.
"""

import enum
import fcntl
import json
import os
import pty
import signal
import struct
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyte

from humanmcp.inbox.contract import Item
from humanmcp.inbox.folder import FolderInbox
from tools.hosts.hooking import REASON, SOON, Case, Measured, decide, spoil
from tools.hosts.installing import Installed
from tools.hosts.model import Model
from tools.hosts.playing import COMES_WITHIN, Room, configured, wait, waiting
from tools.hosts.table import RealHost

ENTER: Final = "\r"
TYPED: Final = "do it"
COLUMNS: Final = 140
LINES: Final = 40
QUERIES: Final = {b"\x1b[6n": b"\x1b[1;1R", b"\x1b[c": b"\x1b[?1;2c", b"\x1b[0c": b"\x1b[?1;2c"}
"""What a program asks its terminal: where the cursor is, and what it is."""
A_MOMENT: Final = 3.0
"""Seconds in which a key would have had its effect."""


def _as_it_is(_room: Room) -> None:
    """Nothing has to be answered before."""


def _claude_is_known(room: Room) -> None:
    """Answer what Claude Code asks a new user."""
    path = room.home / ".claude.json"
    known: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    known |= {"hasCompletedOnboarding": True, "theme": "dark"}
    known["customApiKeyResponses"] = {"approved": ["sk-ant-none"], "rejected": []}
    known["projects"] = {str(room.project): {"hasTrustDialogAccepted": True}}
    path.write_text(json.dumps(known), "utf-8")


def _opencode_asks(room: Room) -> None:
    """Let opencode ask for commands: it allows everything else."""
    path = room.home / ".config" / "opencode" / "opencode.json"
    settings = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**settings, "permission": {"bash": "ask"}}), "utf-8")


def _copilot_trusts(room: Room) -> None:
    """Let Copilot trust the folder, which it asks about in each new one."""
    path = room.home / ".copilot" / "config.json"
    path.write_text(json.dumps({"trusted_folders": [str(room.project)]}), "utf-8")


class End(enum.Enum):
    """What becomes of the command, as a person at the screen meets it."""

    RUNS = "runs"
    ASKS = "asks"
    """The host asks in its own dialog."""
    DENIED = "denied"


class Screen(NamedTuple):
    """How a host is started at a screen, and its tool for commands.

    `ready` is on the screen when a person can type, `dialog` in the host's own question, whose
    first choice allows. `asks_first` is a text on the screen, and the key to press there. `ends`
    are the cases that end otherwise here than in `CASES`.
    """

    words: tuple[str, ...]
    tool: str
    given: Mapping[str, Any]
    ready: str
    dialog: str
    prepare: Callable[[Room], None] = _as_it_is
    asks_first: tuple[str, str] | None = None
    beside: bool = False
    """Whether its dialog is open while the hook waits. If not, the keyboard is locked."""
    changes: bool = False
    ends: Mapping[str, End] = {}
    mode: str = ""
    """What is said of this screen where a host has two."""


_TOUCH: Final = "touch made.txt; echo done"
_GEMINI: Final = Screen(
    ("--yolo", "--model", "gemini-2.5-flash"),
    "run_shell_command",
    {"command": _TOUCH, "description": "Touch"},
    "Type your message",
    "Allow execution of",
    changes=True,
    ends={
        "hand back": End.DENIED,
        "nobody": End.DENIED,
        "killed": End.RUNS,
        "missing": End.DENIED,
    },
    mode=" --yolo",
)
SCREENS: Final[Mapping[str, tuple[Screen, ...]]] = {
    "claude-code": (
        Screen(
            ("--permission-mode", "manual"),
            "Bash",
            {"command": _TOUCH, "description": "Touch"},
            "for shortcuts",
            "Do you want to proceed?",
            prepare=_claude_is_known,
            beside=True,
            changes=True,
        ),
    ),
    "codex": (
        Screen(
            ("--ask-for-approval", "on-request", "--sandbox", "workspace-write"),
            "exec_command",
            {"cmd": _TOUCH, "sandbox_permissions": "require_escalated", "justification": "May I?"},
            "Ask Codex to do anything",
            "Would you like to run the following command?",
            asks_first=("Hooks need review", f"2{ENTER}"),
        ),
    ),
    "copilot-cli": (
        Screen(
            ("--no-color",),
            "bash",
            {"command": _TOUCH, "description": "Touch"},
            "Manual Approval",
            "Do you want to run this command?",
            prepare=_copilot_trusts,
            ends={"killed": End.DENIED, "missing": End.DENIED},
        ),
    ),
    "gemini-cli": (
        _GEMINI,
        _GEMINI._replace(
            words=_GEMINI.words[1:],
            ends={
                **_GEMINI.ends,
                "allow": End.ASKS,
                "change": End.ASKS,
                "killed": End.ASKS,
                "keyboard": End.ASKS,
            },
            mode="",
        ),
    ),
    "opencode": (
        Screen(
            (),
            "bash",
            {"command": _TOUCH, "description": "Touch"},
            "Ask anything",
            "Permission required",
            prepare=_opencode_asks,
            beside=True,
        ),
    ),
    "qwen-code": (
        Screen(
            ("--approval-mode", "default"),
            "run_shell_command",
            {"command": _TOUCH, "description": "Touch", "is_background": False},
            "Type your message",
            "Allow execution of",
            changes=True,
        ),
    ),
}
CASES: Final = (
    Case("allow", ("--allow",), runs=True, reads="done"),
    Case("deny", ("--deny", REASON), reads=REASON),
    Case("change", ("--change", "-"), reads="changed"),
    Case("hand back", ("--hand-back",)),
    Case("nobody"),
    Case("killed"),
    Case("missing"),
    Case("keyboard", ("--allow",), runs=True, reads="done"),
)


class _Screen(pyte.Screen):
    """A screen that takes a colour in the private form of xterm as well, and leaves it out."""

    def select_graphic_rendition(self, *attributes: int, private: bool = False) -> None:
        if not private:
            super().select_graphic_rendition(*attributes)


class Terminal:
    """A terminal with a host in it, and what it shows."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._screen = _Screen(COLUMNS, LINES)
        self._lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        stream = pyte.ByteStream(self._screen)
        with suppress(OSError):  # the host has ended
            while piece := os.read(self._descriptor, 65536):
                with self._lock:
                    stream.feed(piece)
                for query, answer in QUERIES.items():
                    if query in piece:
                        os.write(self._descriptor, answer)

    @property
    def text(self) -> str:
        """What the screen shows."""
        with self._lock:
            return "\n".join(self._screen.display)

    def shows(self, text: str) -> bool:
        """Wait until a text is on the screen; return False if it never is."""
        wait(lambda: text in self.text, COMES_WITHIN)
        return text in self.text

    def insist(self, text: str, keys: str) -> None:
        """Press keys until a text goes: a question takes none in its first moment."""
        until = time.monotonic() + COMES_WITHIN
        while text in self.text and time.monotonic() < until:
            self.press(keys)
            wait(lambda: text not in self.text, A_MOMENT)

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._descriptor, keys.encode())


@contextmanager
def at_terminal(
    host: RealHost, own: Screen, installed: Installed, model: Model, room: Room, *flags: str
) -> Iterator[Terminal]:
    """Start a host at a terminal. It and what it left in its room end with the context."""
    environment = configured(host, installed, model, room, *flags)
    own.prepare(room)
    pid, descriptor = pty.fork()
    if pid == 0:  # pragma: no cover - the child
        os.chdir(room.project)
        words = [str(installed.program), *host.words]
        os.execve(words[0], words, {**environment, "TERM": "xterm-256color"})
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    try:
        yield Terminal(descriptor)
    finally:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(descriptor)
        for left in _started_in(room):  # Codex leaves a daemon, and a hook ends a moment later
            with suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)


def _started_in(room: Room) -> Iterator[int]:
    """Yield the processes that have this room in their command line."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if os.fsencode(room.folder) in path.read_bytes():
                yield int(path.parent.name)


def screen(host: RealHost, installed: Installed, folder: Path) -> Iterator[Measured]:
    """Play every case with one host at a terminal."""
    for own, case in product(SCREENS[host.name], CASES):
        name = f"screen{own.mode}, {case.name}"
        room = Room(folder / name.replace(" ", "-").replace(",", ""))
        faults = tuple(_play(host, own, installed, room, case))
        yield Measured(name, (room.project / "made.txt").exists(), faults)


def _play(
    host: RealHost, own: Screen, installed: Installed, room: Room, case: Case
) -> Iterator[str]:
    flags = ["--approvals", "--user"]
    if case.name == "nobody":
        flags += ["--wait", str(SOON)]
    prepare = partial(spoil, host) if case.name == "missing" else host.prepare
    asking = replace(host, words=own.words, prepare=prepare)
    with (
        Model([(own.tool, own.given)]) as model,
        at_terminal(asking, own, installed, model, room, *flags) as terminal,
    ):
        for text, keys in ((own.ready, TYPED), (TYPED, ENTER)):
            if not terminal.shows(text):
                yield f"the screen never showed {text!r}"
                return
            terminal.press(keys)
        if own.asks_first and terminal.shows(own.asks_first[0]):
            terminal.insist(*own.asks_first)
        if case.name != "missing":
            wait(lambda: waiting(room), COMES_WITHIN)
            item = next(iter(waiting(room)), None)
            yield from _decide(own, room, terminal, case, item)
        elif waiting(room):
            yield "a prompt reached the inbox"
        yield from _result(own, model, terminal, case)
        wait(lambda: not _waits(room), COMES_WITHIN)
        if _waits(room):
            yield "the prompt still waits"
    ran = (room.project / "made.txt").exists()
    if ran is not (_end(own, case) is End.RUNS):
        yield f"the command ran: {ran}"


def _end(own: Screen, case: Case) -> End:
    """Return what has to become of the command."""
    usual = End.RUNS if case.runs else End.DENIED if case.reads else End.ASKS
    return own.ends.get(case.name, usual)


def _result(own: Screen, model: Model, terminal: Terminal, case: Case) -> Iterator[str]:
    """Wait until the model reads the result, or the host asks itself; yield what does not come."""
    if _end(own, case) is End.ASKS:
        if not terminal.shows(own.dialog):
            yield "its own dialog never opened"
        return
    wait(lambda: _reads(model, case.reads), COMES_WITHIN)
    if not _reads(model, case.reads):
        yield f"the model read {[one.result for one in model.turns][-1:]}"


def _reads(model: Model, words: str) -> bool:
    """Return True if the model has read these words; Codex puts them into quotes, twice."""
    return any(one.result and words in one.result.replace("\\", "") for one in model.turns)


def _waits(room: Room) -> bool:
    """Return True if a prompt waits whose hook lives."""
    inbox = FolderInbox(room.inbox)
    return any(inbox.facts(one.key.session).is_open for one in waiting(room))


def _decide(
    own: Screen, room: Room, terminal: Terminal, case: Case, item: Item | None
) -> Iterator[str]:
    """Do what the case says; yield what is wrong on the way."""
    if item is None:
        yield "no prompt reached the inbox"
    elif case.name == "keyboard" and own.beside:
        if not terminal.shows(own.dialog):
            yield "its dialog is not open beside the hook"
        terminal.press(ENTER)
    elif case.name == "keyboard":
        terminal.press(ENTER)
        time.sleep(A_MOMENT)
        if (room.project / "made.txt").exists() or not _waits(room):
            yield "the keyboard is not locked"
        yield from decide(room, item, case)
    elif case.name == "change" and not own.changes:
        if not [*decide(room, item, case)]:
            yield "a change was taken that the host does not run"
        yield from decide(room, item, Case("deny", ("--deny", "changed")))
    else:
        yield from decide(room, item, case)

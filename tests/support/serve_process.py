"""A running `humanmcp serve` with a test in the host's place."""

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

import pytest

from humanmcp import extensions
from humanmcp.inbox.contract import DeskInbox, Item, Key
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.transcript import Direction
from tests.support.waiting import PATIENCE, until

PASSED_ON: Final = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""All that the SDK clients pass of their environment to a server."""

HUMANMCP: Final = (sys.executable, "-m", "humanmcp")
COMMAND: Final = (*HUMANMCP, "serve")

HAS_TEXT_FILES: Final = any(one.name == "text_files" for one in extensions.installed())


def need_text_files() -> None:
    """Skip a test of somebody who answers in the text files, where these were removed."""
    if not HAS_TEXT_FILES:
        pytest.skip("extension: text_files is not installed")


def bare_environment(home: Path) -> dict[str, str]:
    """Return the environment that a server gets from a host, with another home directory."""
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return kept | {"HOME": str(home)}


def run_command(
    home: Path, *command: str, typed: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end in this home directory, with these lines typed."""
    return subprocess.run(
        command,
        input="".join(line + "\n" for line in typed),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        env=bare_environment(home) | {"PYTHONUTF8": "1"},
    )


class Piped:
    """A process started as a host starts a server, with a test at its pipes."""

    def __init__(self, home: Path, *command: str) -> None:
        """Start it. `home` is its inbox folder."""
        if "--files" in command:
            need_text_files()
        self.home = home
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=bare_environment(home.parent),
            cwd=home.parent,
        )
        assert self.process.stdin is not None
        self.stdin = self.process.stdin
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        """Use it as a context: it is gone afterwards, whatever happened."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it if it still lives, and close every pipe."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def _read(self) -> None:
        stdout = self.process.stdout
        assert stdout is not None
        for line in stdout:
            self._lines.put(line)

    def write(self, raw: bytes) -> None:
        """Write bytes to its stdin."""
        self.stdin.write(raw)
        self.stdin.flush()

    def rest(self) -> list[bytes]:
        """Return the lines that nobody heard, once it has ended."""
        self._reader.join()
        return [self._lines.get() for _ in range(self._lines.qsize())]


class Serving(Piped):
    """One server."""

    def __init__(self, home: Path, *flags: str, command: tuple[str, ...] = COMMAND) -> None:
        """Start it."""
        self.written: list[bytes] = []
        self._there_before = set(home.glob("sessions/*"))
        self._session: Path | None = None
        super().__init__(home, *command, "--home", str(home), *flags)

    # -- the host's side ----------------------------------------------------------------------

    def send(self, line: str) -> None:
        """Write one line to its stdin, and wait for nothing."""
        self.write(line.encode() + b"\n")

    def say(self, line: str | bytes) -> None:
        """Write one line to its stdin, and wait until a person can read it."""
        raw = line.encode() if isinstance(line, str) else line
        self.write(raw + b"\n")
        self.written.append(raw + b"\n")
        until(self._has_arrived, f"{raw!r} in in.txt or the transcript")

    def _has_arrived(self) -> bool:
        assert self.process.poll() is None, self.last_words()
        return self.find_session() is not None and self.arrived() == b"".join(self.written)

    def arrived(self) -> bytes:
        """Return the lines that a person can read: in `in.txt`, or else in the transcript."""
        if HAS_TEXT_FILES:
            return (self.session / "in.txt").read_bytes()
        frames = FolderInbox(self.home).frames(self.session.name)
        return b"".join(one.raw + b"\n" for one in frames if one.direction is Direction.IN)

    def hear(self, within: float = PATIENCE) -> str:
        """Return the next line that it writes to stdout, without its line feed."""
        return self.hear_raw(within).decode("utf-8")

    def hear_raw(self, within: float = PATIENCE) -> bytes:
        """Return the same as bytes: they may be no UTF-8."""
        try:
            raw = self._lines.get(timeout=within)
        except queue.Empty:
            raise AssertionError(f"no line on stdout within {within:g} s") from None
        assert raw.endswith(b"\n")
        return raw.removesuffix(b"\n")

    def close(self) -> tuple[int, list[bytes]]:
        """Close its stdin. Returns its exit status and what it still wrote to stdout."""
        self.stdin.close()
        return self.process.wait(timeout=PATIENCE), self.rest()

    def last_words(self) -> str:
        """Return what a process that has ended said on stderr."""
        stderr = self.process.stderr
        assert stderr is not None
        return f"status {self.process.returncode}: {stderr.read().decode()}"

    # -- the person's side --------------------------------------------------------------------

    def find_session(self) -> Path | None:
        """Return the folder of its session, None before that and its text files are there.

        `status.txt` is the last: an `out.txt` from before that is set aside.
        """
        last = "status.txt" if HAS_TEXT_FILES else "session.json"
        if self._session is None:  # the next one in this home may be of another server
            found = sorted(file.parent for file in self.home.glob(f"sessions/*/{last}"))
            new = (folder for folder in found if folder not in self._there_before)
            self._session = next(new, None)
        return self._session

    @property
    def session(self) -> Path:
        """The folder of its session."""
        return until(self.find_session, "a session's folder")

    def type(self, text: str) -> None:
        """Save a text in `out.txt`."""
        need_text_files()
        (self.session / "out.txt").write_text(text, encoding="utf-8")

    def taken(self) -> bool:
        """Return True if `out.txt` was taken."""
        need_text_files()
        try:
            return (self.session / "out.txt").stat().st_size == 0
        except FileNotFoundError:
            return True

    def complaint(self) -> str:
        """Return what `problems.txt` says, "" when all is well."""
        file = self.session / "problems.txt"
        return file.read_text(encoding="utf-8") if file.exists() else ""


class AtFiles(Serving):
    """A server with `--files`, and what stands in the person's folder."""

    def __init__(self, tmp_path: Path, *flags: str) -> None:
        """Start it in a folder of its own."""
        self.folder = tmp_path / "desk"
        super().__init__(tmp_path / "home", "--files", str(self.folder), "--lang", "en", *flags)

    def find_session(self) -> Path | None:
        """The files are in the person's folder."""
        return self.folder if (self.folder / "status.txt").exists() else None

    def status(self) -> str:
        """Return what `status.txt` says; "" before it is there."""
        file = self.folder / "status.txt"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def says(self, *parts: str) -> None:
        """Wait until `status.txt` says all of this."""
        until(lambda: all(part in self.status() for part in parts), f"{parts} in status.txt")


def pending(home: Path, count: int = 1) -> list[Key]:
    """Wait until this many exchanges wait, as a desk sees them."""

    def look() -> tuple[list[Key]] | None:
        inbox = FolderInbox(home)
        keys = [item.key for facts in inbox.sessions() for item in inbox.items(facts.name)]
        return (keys,) if len(keys) == count else None

    return until(look, f"{count} pending")[0]


def given_back(inbox: DeskInbox, key: Key) -> Item:
    """Wait until a refused reply is the draft again; its problems come a moment before."""

    def found() -> Item | None:
        item = inbox.item(key)
        return item if item.diagnostics and item.reply is None else None

    return until(found, "a reply that comes back")

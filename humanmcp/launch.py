"""Find the desk of an inbox folder, or start one that outlives its starter.

Standard library only, because a server imports it. A lock tells whether a desk runs, never a
process id or an open port; `desk.json` only contains its address.
"""

from __future__ import annotations

import contextlib
import html
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.common import browser
from humanmcp.common.settings import home_flags, make_home
from humanmcp.common.shell import command_line, program
from humanmcp.common.terminal import to_stderr, to_stdout
from humanmcp.inbox import open_inbox, records
from humanmcp.inbox.atomic import write_private
from humanmcp.inbox.life_lock import is_held
from humanmcp.locales import language_of, say, speak
from humanmcp.locales.stop import REFUSED, StopError, sentence_of, stopped

if TYPE_CHECKING:
    from collections.abc import Sequence

LOCK_NAME: Final = "desk.lock"
FACTS_NAME: Final = "desk.json"
LOG_NAME: Final = "desk.log"
OPEN_NAME: Final = "open-desk.html"
SECTION: Final = "desk"

START_WITHIN: Final = 10.0
END_WITHIN: Final = 3.0
STOPS_WITHIN: Final = 20.0
_LOOK_EVERY: Final = 0.02


class DeskFacts(NamedTuple):
    """The content of `desk.json`: the address of the desk, and the token for scripts.

    `elsewhere` is the address for other devices, "" if only this computer reaches it.
    """

    address: str
    token: str
    pid: int
    version: str
    elsewhere: str = ""


def find_or_start(home: Path, *flags: str, stdin: int = subprocess.DEVNULL) -> DeskFacts:
    """Return the running desk of this inbox; start one if none runs, with these flags and stdin.

    A browser also needs the one-time key, which is never in an argument list or a log. A running
    desk keeps its port.

    Raises:
        StopError: it did not come up.
        OSError: the folder cannot be used.
    """
    folder = make_home(home)
    before = _written(folder)
    facts = find(folder)
    if facts is None:
        _start(folder, flags, stdin)
        facts = wait_for_facts(folder, dead=before)
    if facts is None:
        raise stopped("no_desk", "no start", REFUSED, log=folder / LOG_NAME)
    return facts


class DeskOfCommand(contextlib.AbstractContextManager["DeskOfCommand"]):
    """The desk of a command that people end with Ctrl-C: one that it starts ends with it.

    At the regular end it keeps running, as does one in use for another session. One that ran before
    is only used.
    """

    def __init__(self, home: Path) -> None:
        """Start none before `facts` asks for it."""
        self._home = home
        self._lifeline = -1

    def facts(self, port: int | None = None) -> DeskFacts:
        """Return the running desk; start one if none runs.

        Raises:
            StopError: it did not come up.
            OSError: the folder cannot be used.
        """
        if find(self._home) is not None:
            return find_or_start(self._home)
        stdin, self._lifeline = os.pipe()
        try:
            return find_or_start(
                self._home, *(() if port is None else ("--port", str(port))), stdin=stdin
            )
        finally:
            os.close(stdin)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the desk, or say that it stays."""
        facts = find(self._home) if self._lifeline >= 0 else None
        if facts is None:
            return
        if kind is None or any(one.is_open for one in open_inbox(self._home).sessions()):
            os.write(self._lifeline, b"\n")
            stop = command_line(program(), "desk", "--stop", *home_flags(self._home))
            to_stdout(say(SECTION, "stays", address=facts.address, stop=stop))
        os.close(self._lifeline)
        if kind is not None:
            _wait_for_end(self._home, facts)


def find(folder: Path) -> DeskFacts | None:
    """Return the facts of the running desk of a folder; None if none runs."""
    return _written(folder) if is_held(folder / LOCK_NAME) else None


def _written(folder: Path) -> DeskFacts | None:
    """Return what the last desk of a folder wrote, whether it runs or not."""
    try:
        facts = records.read(DeskFacts, records.decode((folder / FACTS_NAME).read_bytes()))
    except (OSError, records.UnreadableError):
        return None  # it holds the lock and is still writing the file
    return facts if facts.address and facts.token and facts.pid else None


def wait_for_facts(
    folder: Path, within: float = START_WITHIN, dead: DeskFacts | None = None
) -> DeskFacts | None:
    """Return the facts of a desk as soon as it has written them; None if it does not.

    The file of a `dead` desk may still exist for a moment when the new one runs already.
    """
    end = time.monotonic() + within
    while time.monotonic() < end:
        facts = find(folder)
        if facts is not None and facts != dead:
            return facts
        time.sleep(_LOOK_EVERY)
    return None


def end(folder: Path) -> bool:
    """End the desk of a folder; wait for one that is just starting.

    Returns False if none ran.

    Raises:
        StopError: it did not end.
    """
    facts = wait_for_facts(folder, END_WITHIN) if is_held(folder / LOCK_NAME) else None
    if facts is None:
        return False
    with contextlib.suppress(OSError):  # it is just ending
        os.kill(facts.pid, signal.SIGTERM)
    _wait_for_end(folder, facts)
    return True


def _wait_for_end(folder: Path, facts: DeskFacts) -> None:
    until = time.monotonic() + STOPS_WITHIN
    while is_held(folder / LOCK_NAME):
        if time.monotonic() > until:
            raise stopped("no_desk", "no end", REFUSED, pid=facts.pid)
        time.sleep(_LOOK_EVERY)


def write_facts(folder: Path, facts: DeskFacts) -> None:
    write_private(folder / FACTS_NAME, json.dumps(facts._asdict()))


def forget_facts(folder: Path) -> None:
    """Remove the file of an ended desk. Only the holder of the lock may do so.

    A program that waits for the new desk would otherwise read the old address and token, and trust
    them, because the lock is held again.
    """
    (folder / FACTS_NAME).unlink(missing_ok=True)


def login_address(facts: DeskFacts, session: str = "") -> str:
    """Return an address of a running desk with a one-time key in its fragment.

    With a session, the key only opens that session.

    Raises:
        StopError: it gives no key.
        OSError: the desk does not answer.
    """
    return ways_in(facts, session)[0]


def ways_in(facts: DeskFacts, session: str = "", device: str = "") -> tuple[str, str]:
    """Return the ways to log in to a running desk: an address with a one-time key, and a code.

    With a device, the address is the link for a new device of that name. The key is in the
    fragment, which browsers do not send, so it is in no log and no Referer.

    Raises:
        StopError: it gives no key.
        OSError: the desk does not answer.
    """
    host, _, port = facts.address.removeprefix("http://").rstrip("/").rpartition(":")
    connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=5)
    with contextlib.closing(connection):
        connection.request(
            "POST",
            "/api/login-key",
            body=json.dumps({"session": session, "device": device}).encode(),
            headers={"Authorization": f"Bearer {facts.token}", "Content-Type": "application/json"},
        )
        response = connection.getresponse()
        body = response.read()
    if response.status != 200:
        raise stopped("no_desk", "no key", REFUSED, status=response.status)
    record = json.loads(body)
    address = f"{facts.elsewhere}/" if device else facts.address
    return f"{address}login#k={record['key']}", str(record.get("code", ""))


def open_in_browser(folder: Path, address: str, login: str) -> str:
    """Open the page at an address, logged in. Return what to tell: it opens, or how to reach it.

    `login` is an address with a key. It is passed in a file that only its owner can read, because
    all users can read command lines.
    """
    environment = browser.desktop()
    is_open = False
    if browser.has_screen(environment):
        page = folder / OPEN_NAME
        target = html.escape(login)
        write_private(
            page,
            f'<!doctype html><meta charset="utf-8"><title>humanmcp</title>'
            f'<meta http-equiv="refresh" content="0; url={target}">',
        )
        is_open = browser.open_address(page.as_uri(), environment)
    return browser.outcome(address, environment, is_open=is_open)


def _start(folder: Path, flags: Sequence[str], stdin: int) -> None:
    """Start a desk that outlives its starter: a host kills the whole process group of a server.

    It ends with its starter only if that holds the other end of its stdin.
    """
    module = "humanmcp" if stdin == subprocess.DEVNULL else "humanmcp.as_child"
    words = [sys.executable, "-m", module, "desk", "--home", str(folder), *flags]
    log = os.open(folder / LOG_NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(log, "ab") as stream:
        if sys.platform == "win32":  # pragma: no cover - Windows only
            _start_on_windows(words, stdin, stream)
        else:
            subprocess.Popen(  # noqa: S603 - our own interpreter and our own words
                words,
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=stream,
                cwd=folder,
                start_new_session=True,
            )


if sys.platform == "win32":  # pragma: no cover - Windows only

    def _start_on_windows(words: list[str], stdin: int, stream: Any) -> None:  # noqa: ANN401 - any binary file
        detached = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        for flags in (detached | subprocess.CREATE_BREAKAWAY_FROM_JOB, detached):
            try:
                subprocess.Popen(  # noqa: S603 - our own interpreter and our own words
                    words,
                    stdin=stdin,
                    stdout=subprocess.DEVNULL,
                    stderr=stream,
                    creationflags=flags,
                )
            except PermissionError:  # the host's job object does not allow it
                continue
            return


def main(home: str, language: str = "") -> int:
    """Run `python -m humanmcp.launch HOME LANG`, which `humanmcp serve --open` starts.

    Its stderr is a log of the host, so the address has no key there.
    """
    speak(language_of(language))
    try:
        facts = find_or_start(Path(home))
        to_stderr(facts.address)
        to_stderr(open_in_browser(Path(home), facts.address, login_address(facts)))
    except (OSError, StopError) as error:
        to_stderr("humanmcp: ", sentence_of(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

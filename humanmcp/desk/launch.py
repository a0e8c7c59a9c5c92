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
import threading
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from humanmcp.common.settings import home_folder, make_private
from humanmcp.common.terminal import has_browser, to_stderr
from humanmcp.desk.login import write_private
from humanmcp.inbox.atomic import is_held
from humanmcp.locales import language_of, speak
from humanmcp.locales.stop import StopError, sentence_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LOCK_NAME: Final = "desk.lock"
FACTS_NAME: Final = "desk.json"
LOG_NAME: Final = "desk.log"
OPEN_NAME: Final = "open-desk.html"

START_WITHIN: Final = 10.0
END_WITHIN: Final = 3.0
STOPS_WITHIN: Final = 20.0
_LOOK_EVERY: Final = 0.02


class NoDeskError(StopError):
    """A desk did not start, or gave no key."""

    section = "no_desk"


@dataclass(frozen=True, slots=True)
class DeskFacts:
    """The content of `desk.json`: the address of the desk, and the token for scripts.

    `elsewhere` is the address for other devices, "" if only this computer reaches it.
    """

    address: str
    token: str
    pid: int
    version: str
    elsewhere: str = ""


def find_or_start(home: str | Path, *, open_browser: bool, port: int | None = None) -> str:
    """Return the address of this inbox's desk; start one if none runs.

    The address alone is not enough: a browser also needs the one-time key, which is never in an
    argument list or a log. A running desk keeps its port.

    Raises:
        NoDeskError: it did not come up.
        OSError: the folder cannot be used.
    """
    folder = make_private(home_folder(str(home)))
    before = _written(folder)
    facts = find(folder)
    if facts is None:
        _start(folder, () if port is None else ("--port", str(port)))
        facts = _wait_for(folder, before)
    if open_browser:
        open_in_browser(folder, facts)
    return facts.address


def find(folder: Path) -> DeskFacts | None:
    """Return the facts of the running desk of a folder; None if none runs."""
    return _written(folder) if is_held(folder / LOCK_NAME) else None


def _written(folder: Path) -> DeskFacts | None:
    """Return what the last desk of a folder wrote, whether it runs or not."""
    try:
        record: dict[str, Any] = json.loads((folder / FACTS_NAME).read_text(encoding="utf-8"))
        return DeskFacts(
            address=str(record["address"]),
            token=str(record["token"]),
            pid=int(record["pid"]),
            version=str(record["version"]),
            elsewhere=str(record["elsewhere"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None  # it holds the lock and is still writing the file


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
        NoDeskError: it did not end.
    """
    facts = wait_for_facts(folder, END_WITHIN) if is_held(folder / LOCK_NAME) else None
    if facts is None:
        return False
    with contextlib.suppress(OSError):  # it is just ending
        os.kill(facts.pid, signal.SIGTERM)
    until = time.monotonic() + STOPS_WITHIN
    while is_held(folder / LOCK_NAME):
        if time.monotonic() > until:
            raise NoDeskError("no end", pid=facts.pid)
        time.sleep(_LOOK_EVERY)
    return True


def write_facts(folder: Path, facts: DeskFacts) -> None:
    """Write the address and the token of this desk."""
    write_private(folder / FACTS_NAME, json.dumps(asdict(facts)))


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
        NoDeskError: it gives no key.
        OSError: the desk does not answer.
    """
    return ways_in(facts, session)[0]


def ways_in(facts: DeskFacts, session: str = "", device: str = "") -> tuple[str, str]:
    """Return the ways to log in to a running desk: an address with a one-time key, and a code.

    With a device, the address is the link for a new device of that name. The key is in the
    fragment, which browsers do not send, so it is in no log and no Referer.

    Raises:
        NoDeskError: it gives no key.
        OSError: the desk does not answer.
    """
    host, _, port = facts.address.removeprefix("http://").rstrip("/").rpartition(":")
    connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=5)
    with contextlib.closing(connection):
        connection.request(
            "POST",
            "/api/login-key",
            body=json.dumps({"session": session, "device": device}).encode(),
            headers={
                "Authorization": f"Bearer {facts.token}",
                "Content-Type": "application/json",
            },
        )
        response = connection.getresponse()
        body = response.read()
    if response.status != 200:
        raise NoDeskError("no key", status=response.status)
    record = json.loads(body)
    address = f"{facts.elsewhere}/" if device else facts.address
    return f"{address}login#k={record['key']}", str(record.get("code", ""))


def open_in_browser(folder: Path, facts: DeskFacts, login: str = "") -> bool:
    """Open the page, logged in. Return False if this computer has no browser.

    The key is passed in a file that only its owner can read, because all users can read command
    lines. The desk itself passes an address with a key as `login`: a request to itself would wait
    forever.
    """
    if not has_browser():
        return False
    page = folder / OPEN_NAME
    target = html.escape(login or login_address(facts))
    write_private(
        page,
        f'<!doctype html><meta charset="utf-8"><title>humanmcp</title>'
        f'<meta http-equiv="refresh" content="0; url={target}">',
    )
    # In a separate process: a browser may print to the stdout of a server.
    subprocess.Popen(  # noqa: S603 - our own interpreter, and the address of our own file
        [sys.executable, "-m", "webbrowser", page.as_uri()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return True


def _start(folder: Path, flags: Sequence[str]) -> None:
    """Start a desk that outlives its starter: a host kills the whole process group of a server."""
    words = [sys.executable, "-m", "humanmcp", "desk", "--home", str(folder), *flags]
    log = os.open(folder / LOG_NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(log, "ab") as stream:
        if sys.platform == "win32":  # pragma: no cover - Windows only
            _start_on_windows(words, stream)
        else:
            subprocess.Popen(  # noqa: S603 - our own interpreter and our own words
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stream,
                cwd=folder,
                start_new_session=True,
            )


if sys.platform == "win32":  # pragma: no cover - Windows only

    def _start_on_windows(words: list[str], stream: Any) -> None:  # noqa: ANN401 - any binary file
        detached = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        for flags in (detached | subprocess.CREATE_BREAKAWAY_FROM_JOB, detached):
            try:
                subprocess.Popen(  # noqa: S603 - our own interpreter and our own words
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stream,
                    creationflags=flags,
                )
            except PermissionError:  # the host's job object does not allow it
                continue
            return


def _wait_for(folder: Path, dead: DeskFacts | None) -> DeskFacts:
    facts = wait_for_facts(folder, dead=dead)
    if facts is None:
        raise NoDeskError("no start", log=folder / LOG_NAME)
    return facts


# -- the demo host: the first request arrives in seconds -------------------------------------------

DEMO_LOG: Final = "demo.log"

_demos: list[subprocess.Popen[bytes]] = []
_demo_lock: Final = threading.Lock()
MOST_DEMOS: Final = 3
"""The maximum number of demo hosts at once."""


def start_demo(home: Path, language: str) -> bool:
    """Start the demo host; return True if it started. It ends with its session.

    Raises:
        OSError: it cannot be started.
    """
    with _demo_lock:
        _demos[:] = [process for process in _demos if process.poll() is None]
        if len(_demos) >= MOST_DEMOS:
            return False
        words = (sys.executable, "-m", "humanmcp", "demo", "--by-hand")
        log = os.open(home / DEMO_LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(log, "wb") as stream:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own words
                [*words, "--home", str(home), "--lang", language],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
        _demos.append(process)
        return True


def end_demos() -> None:
    """Stop the running demo hosts."""
    with _demo_lock:
        for process in _demos:
            if process.poll() is None:
                process.terminate()
        _demos.clear()


def main(home: str, language: str = "") -> int:
    """Run `python -m humanmcp.desk.launch HOME LANG`, which `humanmcp serve --open` starts."""
    speak(language_of(language))
    try:
        to_stderr(find_or_start(home, open_browser=True))
    except (OSError, StopError) as error:
        to_stderr("humanmcp: ", sentence_of(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""A running `humanmcp desk`, and the ways a test speaks with it: as a script, as a browser, raw."""

import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from humanmcp import launch
from humanmcp.common.settings import UnsafeFolderError
from humanmcp.desk.board import Board
from humanmcp.inbox.contract import InboxError
from humanmcp.inbox.folder import FolderInbox
from tests.support.forking import start
from tests.support.ports import own_port
from tests.support.serve_http import Got, ask_http
from tests.support.waiting import PATIENCE, until

COMMAND: Final = (sys.executable, "-m", "humanmcp", "desk")
FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}
JSON: Final = {"Content-Type": "application/json"}


class Desking(AbstractContextManager["Desking"]):
    """One desk over an inbox folder, in a process of its own.

    `get`, `post`, `page` and `submit` first wait until the desk has read what is in the folder, so
    a test may ask for what has just come. `ask` and `raw` wait for nothing.
    """

    def __init__(self, home: Path, *flags: str, port: int = 0, command: Sequence[str] = ()) -> None:
        """Start it and wait until it listens. With a `command` it is a process from the start."""
        self.home = home
        self._current = None if "--inbox" in flags else Board(FolderInbox(home))
        self.login_path = ""
        home.mkdir(mode=0o700, exist_ok=True)
        self.out = home.parent / f"{home.name}.desk.out"
        self.err = home.parent / f"{home.name}.desk.err"
        environment = {key: value for key, value in os.environ.items() if key != "LANG"}
        words = ["--home", str(home), "--port", str(port or own_port()), *flags]
        with (
            Path(os.devnull).open("rb") as null,
            self.out.open("wb") as out,
            self.err.open("ab") as err,
        ):
            files = (null.fileno(), out.fileno(), err.fileno())
            if not command:
                words = ["desk", *words]
            self.process = start(words, files, environment, Path.cwd(), command)
        until(self._is_up, f"the desk of {home} listens")
        found = launch.find(home)
        assert found is not None
        self.facts = found
        self.port = int(found.address.rstrip("/").rpartition(":")[2])

    def _is_up(self) -> bool:
        assert self.process.poll() is None, self.err.read_text(encoding="utf-8")
        return len(self.out.read_text(encoding="utf-8").splitlines()) >= 3

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self.stop()

    def stop(self) -> int:
        """End it the way a person does, and return its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=PATIENCE)

    def kill(self) -> None:
        """End it as a crash does."""
        self.process.kill()
        self.process.wait(timeout=PATIENCE)

    # -- speaking with it -----------------------------------------------------------------------

    def ask(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Got:
        """Send one request with exactly these headers (and a Host) and return the answer."""
        return ask_http(self.port, method, path, body, headers)

    @property
    def bearer(self) -> dict[str, str]:
        """The header by which the desk knows a script."""
        return {"Authorization": f"Bearer {self.facts.token}"}

    def _asked_as_script(self, path: str) -> Got:
        answer = self.ask("GET", path, headers=self.bearer)
        assert answer.status == 200, (path, answer.status, answer.text)
        return answer

    def _catch_up(self) -> None:
        if (board := self._current) is not None:
            until(lambda: self._is_current(board), "the desk reads its inbox")

    def _is_current(self, board: Board) -> bool:
        """Return True if it shows the sessions, and what waits in them, that are in its inbox."""
        try:
            board.refresh_all()
        except (InboxError, OSError, UnsafeFolderError):  # it is broken on purpose
            return True
        sessions = [one.facts for one in board.sessions()]
        names = ("name", "client", "client_version", "protocol_version", "life")
        facts = [{name: getattr(one, name) for name in names} for one in sessions]
        waiting = [list(row.key) for row in board.waiting()]
        shown = self._asked_as_script("/api/sessions").json["sessions"]
        rows = self._asked_as_script("/api/exchanges").json["waiting"]
        return facts == [{name: one[name] for name in names} for one in shown] and waiting == [
            [row["session"], row["number"]] for row in rows
        ]

    def get(self, path: str) -> Any:  # noqa: ANN401 - any JSON value
        """Return what the interface says, as a script asks it."""
        self._catch_up()
        return self._asked_as_script(path).json

    def session(self, name: str) -> dict[str, Any]:
        """Return what it says of a session; nothing if there is none."""
        listed = self.get("/api/sessions")["sessions"]
        return next((dict(one) for one in listed if one["name"] == name), {})

    def post(self, path: str, record: Any) -> Got:  # noqa: ANN401 - any JSON value
        """Act through the interface, as a script."""
        self._catch_up()
        return self.ask(
            "POST", path, body=json.dumps(record).encode(), headers={**self.bearer, **JSON}
        )

    def page(self, path: str) -> str:
        """Return a page."""
        self._catch_up()
        return self._asked_as_script(path).text

    def key(self) -> str:
        """Return a fresh one-time key."""
        headers = {**self.bearer, **JSON}
        return str(self.ask("POST", "/api/login-key", body=b"{}", headers=headers).json["key"])

    def cookie(self) -> dict[str, str]:
        """Log in as a browser does, and return the header with its cookie.

        It counts below the path of the last login session only (`in_login`).
        """
        own = f"http://127.0.0.1:{self.port}"
        answer = self.ask(
            "POST",
            "/api/login",
            body=json.dumps({"key": self.key()}).encode(),
            headers={**JSON, "Origin": own, "Sec-Fetch-Site": "same-origin"},
        )
        assert answer.status == 200, answer.text
        self.login_path = str(answer.json["path"])
        return {"Cookie": answer.headers["set-cookie"].split(";")[0]}

    def in_login(self, path: str) -> str:
        """Return the address of a path for the browser that logged in last."""
        return self.login_path + path

    def submit(self, path: str, **fields: str) -> Got:
        """Press a button of a form, in a browser without scripts.

        Where it leads on is told without the login path.
        """
        self._catch_up()
        own = f"http://127.0.0.1:{self.port}"
        form = {name.replace("_", " "): value for name, value in fields.items()}
        cookie = self.cookie()
        answer = self.ask(
            "POST",
            self.in_login(path),
            body=urlencode(form).encode(),
            headers={
                **cookie,
                **FORM,
                "Origin": own,
                "Sec-Fetch-Site": "same-origin",
            },
        )
        leads = answer.headers.get("location", "").removeprefix(self.login_path)
        return answer._replace(headers={**answer.headers, "location": leads})

    def raw(self, request: bytes) -> bytes:
        """Send bytes as they are and return all that comes back until the desk hangs up."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(request)
            parts = []
            while part := connection.recv(65536):
                parts.append(part)
        return b"".join(parts)

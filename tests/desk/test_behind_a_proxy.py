"""Two desks on one database behind a proxy: a browser need not know which one it meets."""

import http.client
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.desk_process import JSON, Desking
from tests.support.postgres_server import PostgresServer
from tests.support.waiting import PATIENCE, until

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("postgres")]


class Browser:
    """A browser at the address of a proxy."""

    def __init__(self, port: int) -> None:
        """Know nothing."""
        self.port = port
        self.login_path, self.cookie = "", ""

    def opened(self, verb: str, path: str, record: object = None) -> http.client.HTTPResponse:
        """Send a request, and return its response, which is read as it comes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {"Cookie": self.cookie, "Origin": f"http://127.0.0.1:{self.port}", **JSON}
        headers["Connection"] = "close"
        body = None if record is None else json.dumps(record)
        connection.request(verb, f"{self.login_path.rstrip('/')}{path}", body, headers)
        return connection.getresponse()

    def ask(self, verb: str, path: str, record: object = None) -> tuple[int, bytes]:
        """Send a request. Returns the status and the body of its response."""
        with self.opened(verb, path, record) as got:
            return got.status, got.read()

    def json(self, path: str) -> Any:  # noqa: ANN401 - any JSON value
        """Return what the interface says."""
        status, body = self.ask("GET", path)
        assert status == 200, body
        return json.loads(body)

    def log_in(self, key: str) -> None:
        """Open the link with a one-time key."""
        with self.opened("POST", "/api/login", {"key": key}) as got:
            assert got.status == 200, got.read()
            self.cookie = got.headers["Set-Cookie"].partition(";")[0]
            self.login_path = json.loads(got.read())["path"]


def test_the_page_says_by_itself_that_the_database_is_away_and_then_that_it_is_back(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    """In a banner that comes with the list; the stream tells each window to ask for it."""
    with Desking(tmp_path / "one", "--inbox", postgres.url) as desk:
        browser = Browser(desk.port)
        browser.log_in(desk.key())
        with browser.opened("GET", "/api/events") as stream:
            assert b"cannot reach the database" not in browser.ask("GET", "/list")[1]
            postgres.kill()
            try:
                until(lambda: b"event: change" in stream.readline(), "it is told")
                assert b"cannot reach the database" in browser.ask("GET", "/list")[1]
                assert b"database" in browser.ask("GET", "/")[1]
            finally:
                postgres.start()
            until(lambda: b"event: change" in stream.readline(), "it is told")
            assert b"cannot reach the database" not in browser.ask("GET", "/list")[1]

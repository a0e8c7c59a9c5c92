"""A client in a page of another address: the browser decides by what `serve --http` tells it."""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page

from tests.support.serve_http import JSON, ServingHttp, initialize

LIST: Final = '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
FETCH: Final = """async ([url, options]) => {
  try {
    const got = await fetch(url, options);
    return [got.status, got.headers.get("mcp-session-id") ?? "", await got.text()];
  } catch (error) {
    return [0, "", error.name];
  }
}"""


class Empty(http.server.BaseHTTPRequestHandler):
    """An empty page at every address."""

    def do_GET(self) -> None:
        """Send it."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def elsewhere() -> Iterator[int]:
    """Serve pages; return the port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Empty) as pages:
        thread = threading.Thread(target=pages.serve_forever)
        thread.start()
        yield pages.server_address[1]
        pages.shutdown()
        thread.join()


def fetched(page: Page, url: str, body: str = "", method: str = "POST", **more: str) -> Any:  # noqa: ANN401 - what a script returns
    """Let a script of a page ask; return status, session and text, or 0 and the error's name."""
    options = {"method": method, "headers": {**JSON, **more}, "body": body or None}
    return page.evaluate(FETCH, [url, options])


def test_a_page_that_is_let_in_is_a_client_and_another_one_is_not(
    browser: Browser, tmp_path: Path, elsewhere: int
) -> None:
    """Its browser asks before each request; the id of the session can be read, sent and ended."""
    allowed, other = (f"http://{host}:{elsewhere}" for host in ("127.0.0.1", "localhost"))
    home, page = tmp_path / "inbox", browser.new_page()
    with ServingHttp(home, "--auto", "--allow-origin", allowed) as server:
        page.goto(allowed)
        status, session, _text = fetched(page, server.url, initialize("2025-11-25"))
        assert (status, bool(session)) == (200, True)
        own = {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
        status, _session, text = fetched(page, server.url, LIST, **own)
        assert (status, '"tools":' in text) == (200, True)
        assert fetched(page, server.url, method="DELETE", **own)[0] in {200, 204}
        assert fetched(page, server.url, LIST, **own)[0] == 404
        page.goto(other)
        assert fetched(page, server.url, initialize("2025-11-25")) == [0, "", "TypeError"]
    page.close()

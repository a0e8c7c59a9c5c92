"""`humanmcp.pytest`: a mock MCP server for the tests of a client."""

import json
import os
import re
import subprocess
import sys
import threading
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from humanmcp.common.book_file import BookFileError
from humanmcp.pytest import MockServer, humanmcp_server
from tests.support.serve_process import Serving
from tests.support.verdicts import R2025
from tests.support.waiting import until

__all__ = ["humanmcp_server"]

ROOT = Path(__file__).parent.parent
HANDSHAKE = {
    "protocolVersion": R2025,
    "capabilities": {},
    "clientInfo": {"name": "c", "version": "1"},
}


# Another test of the same length is written within a second: compiled, it would be the one before.
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
RULE = "[[rules]]\ntool = 'known'\ntext = 'by rule'"


def request(number: int, method: str, **params: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a request."""
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


@pytest.fixture
def server(humanmcp_server: Callable[..., MockServer]) -> MockServer:
    """A server that waits for the test's answers."""
    return humanmcp_server(RULE, "--otherwise", "hand")


def start(server: MockServer) -> Serving:
    """Be its client."""
    words = tuple(server.command)
    client = Serving(server.home, *server.flags, command=words[: words.index("--home")])
    client.say(request(1, "initialize", **HANDSHAKE))
    client.hear()
    return client


def test_the_example_of_the_manual_runs_against_the_official_client(tmp_path: Path) -> None:
    """What a reader of either language copies works: with the plugin loaded as pytest loads it."""
    page, other = (
        (ROOT / "docs" / "how-to" / f"test-your-client{end}").read_text(encoding="utf-8")
        for end in (".md", ".ja.md")
    )
    example, _of_a_recording = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert f"```python\n{example}```" in other
    (tmp_path / "test_example.py").write_text(example, encoding="utf-8")
    words = ("-m", "pytest", "-q", "-p", "humanmcp.pytest", "-p", "no:cacheprovider", ".")
    run = subprocess.run(
        [sys.executable, *words],
        cwd=tmp_path,
        env=os.environ | ALONE,  # it may not be installed here
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in run.stdout, run.stdout + run.stderr


def test_what_was_asked_is_listed_with_its_answer(server: MockServer) -> None:
    """In order; of one method or tool where that is wanted; also while a request waits."""
    assert server.calls() == []
    with start(server) as client:
        client.say(request(2, "tools/call", name="known", arguments={"city": "東京"}))
        client.hear()
        client.say(request(3, "tools/call", name="other", arguments={}))
        assert [one.method for one in server.calls()] == ["initialize", "tools/call", "tools/call"]
        (known,) = server.calls("tools/call", "known")
        assert known.arguments == {"city": "東京"}
        assert known.result["content"][0]["text"] == "by rule"
        assert (known.by, known.error, known.number) == ("book: rule 1", None, 2)
        (other,) = server.calls(name="other")
        assert (other.answer, other.result) == ("", None)


def test_a_test_answers_what_waits_or_comes(server: MockServer) -> None:
    """As a text, as a tool's error, as a result, as an error."""
    with start(server) as client:
        for number, given, wanted in (
            (2, {"text": "hi"}, {"text": "hi"}),
            (3, {"tool_error": "no"}, {"isError": True}),
            (4, {"result": {"content": []}}, {"content": []}),
            (5, {"error": {"code": -1, "message": "m"}}, {"code": -1}),
        ):
            answering = threading.Thread(target=server.answer, kwargs=given)
            answering.start()
            client.say(request(number, "tools/call", name="other", arguments={}))
            answer = json.loads(client.hear())
            answering.join()
            flat = {**answer.get("error", {}), **answer.get("result", {})}
            flat |= (flat.get("content") or [{}])[0]
            assert wanted.items() <= flat.items()
            assert server.calls()[-1].by == "pytest"


def test_an_answer_that_the_check_refuses_fails_the_test(server: MockServer) -> None:
    """With the sentence that says why; so does an answer to nobody."""
    with pytest.raises(AssertionError, match="no request waited"):
        server.answer("x", within=0.01)
    with start(server) as client:
        client.say(request(2, "tools/call", name="other", arguments={}))
        with pytest.raises(AssertionError, match=r"blocked: .*content"):
            server.answer(result={"contnet": []})


def test_a_call_without_a_rule_is_refused_with_the_rule_to_paste(
    humanmcp_server: Callable[..., MockServer],
) -> None:
    """A test never hangs on a rule that was forgotten, and the rule of the message answers it."""
    server = humanmcp_server(RULE)
    with start(server) as client:
        client.say(request(2, "tools/call", name='o"ther', arguments={}))
        message = json.loads(client.hear())["error"]["message"]
        said, _, rule = message.partition("\n")
        assert said == 'No rule of the answer book answers tools/call o"ther. Add one:'
        with pytest.raises(ValueError, match='"--otherwise", "hand"'):
            server.answer("too late")
    again = humanmcp_server(f"{RULE}\n{rule}")
    with start(again) as client:
        client.say(request(2, "tools/call", name='o"ther', arguments={}))
        assert json.loads(client.hear())["result"]["content"][0]["text"] == "…"


def test_a_book_that_cannot_be_used_fails_the_test_that_has_it(
    humanmcp_server: Callable[..., MockServer], tmp_path: Path
) -> None:
    """Before any client is started: a client would only see a server that ends at once."""
    with pytest.raises(BookFileError, match="toool"):
        humanmcp_server("[[rules]]\ntoool = 'known'\ntext = 'by rule'")
    broken = tmp_path / "broken.toml"
    broken.write_text("[server", encoding="utf-8")
    for named in (broken, str(broken)):
        with pytest.raises(BookFileError, match=r"broken\.toml: it is not TOML"):
            humanmcp_server(named)
    with pytest.raises(BookFileError, match=r"nofile\.toml: it cannot be read"):
        humanmcp_server("nofile.toml")


def test_whoever_does_not_use_it_pays_nothing_for_it() -> None:
    """The plugin is loaded in every run of pytest: it imports nothing of ours, and no more."""
    script = (
        "import sys, pytest; before = set(sys.modules); import humanmcp.pytest;"
        "print(*sorted(set(sys.modules) - before))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["humanmcp", "humanmcp.pytest"]


def test_pytest_finds_the_plugin_where_humanmcp_is_installed() -> None:
    """The fixture is there without a word in a `conftest.py`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"humanmcp": "humanmcp.pytest"}


def test_it_has_an_address_for_a_client_that_takes_a_url(server: MockServer) -> None:
    """One process, started when it is asked for; the same book, and the same list of calls."""
    address = server.address
    assert server.address == address
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    body = request(1, "initialize", **HANDSHAKE).encode()
    handshake = urllib.request.Request(address, body, headers)
    with urllib.request.urlopen(handshake) as answer:
        assert b'"protocolVersion"' in answer.read()
    until(server.calls, "the session is shown")  # that follows the first answer
    assert [one.method for one in server.calls()] == ["initialize"]
    server.stop()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(handshake)


RECORDED = """
import json, subprocess, sys
import pytest

def talk(command):
    lines = [
        {"id": 1, "method": "initialize", "params": HELLO},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": CALL},
    ]
    text = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\\n" for line in lines)
    done = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    done.stdin.write(text)
    done.stdin.flush()
    answers = [json.loads(done.stdout.readline()) for _ in range(2)]
    done.stdin.close()
    done.wait()
    return answers[1]

def test_recorded(humanmcp_server):
    server = humanmcp_server(record="weather.jsonl", command=[sys.executable, "real_server.py"])
    assert talk(server.command)["result"]["content"][0]["text"] == "sunny"
"""
REAL = """
import os, sys
book = '''
[[tools]]
name = "weather"
inputSchema = { type = "object" }

[[rules]]
tool = "weather"
text = "sunny"
'''
open("book.toml", "w").write(book)
words = ["-m", "humanmcp", "serve", "--auto", "--book", "book.toml", "--home", "real"]
os.execv(sys.executable, [sys.executable, *words])
"""


def test_a_recording_is_made_once_and_answers_instead_of_the_server(tmp_path: Path) -> None:
    """Without the server's program, too; a changed request is shown beside the recorded one."""

    def run(city: str, *flags: str) -> tuple[int, str]:
        asked = {"name": "weather", "arguments": {"city": city}}
        head = f"HELLO = {HANDSHAKE!r}\nCALL = {asked!r}\n"
        (tmp_path / "test_it.py").write_text(head + RECORDED, encoding="utf-8")
        words = ("-m", "pytest", "-q", "-p", "humanmcp.pytest", "-p", "no:cacheprovider", *flags)
        done = subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            env=os.environ | ALONE,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    status, told = run("Tokyo")
    assert (status, "weather.jsonl is not recorded yet" in told) == (1, True)
    (tmp_path / "real_server.py").write_text(REAL, encoding="utf-8")
    assert run("Tokyo", "--humanmcp-record")[0] == 0
    (tmp_path / "real_server.py").unlink()
    assert run("Tokyo")[0] == 0
    status, told = run("Osaka")
    assert status == 1
    assert "tools/call weather: no recorded answer" in told
    assert re.search(r'^-\s+"city": "Tokyo"\n\+\s+"city": "Osaka"$', told, re.MULTILINE)

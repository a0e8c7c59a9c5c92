"""`humanmcp.extensions.testing.plugin`: a mock MCP server for the tests of a client."""

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
from types import SimpleNamespace
from typing import Any

import pytest

from humanmcp import extensions
from humanmcp.common.book_file import BookFileError
from humanmcp.extensions.testing.plugin import MockServer, _file_of, _mode, humanmcp_server
from tests.support.ports import own_port
from tests.support.serve_process import Serving
from tests.support.verdicts import R2025

__all__ = ["humanmcp_server"]

ROOT = Path(__file__).parents[3]
PLUGIN = "humanmcp.extensions.testing.plugin"
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
    words = ("-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider", ".")
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


def test_a_flag_and_its_value_may_be_one_word(
    humanmcp_server: Callable[..., MockServer], tmp_path: Path
) -> None:
    """`--otherwise=hand` and `--otherwise=forward` are what they are as two words."""
    with pytest.raises(AssertionError, match="no request waited"):
        humanmcp_server(RULE, "--otherwise=hand").answer("hi", within=0)
    file = tmp_path / "recording.jsonl"
    pong = '{"jsonrpc":"2.0","id":1,"result":{}}'
    file.write_text(f"{request(1, 'ping')}\n{pong}\n", encoding="utf-8")
    made = {"record": file, "command": ["real"]}
    one, two = (
        humanmcp_server("", *words, **made)
        for words in (("--otherwise=forward",), ("--otherwise", "forward"))
    )
    assert one.command[6:] == [
        word.replace(two.home.name, one.home.name) for word in two.command[6:]
    ]
    with pytest.raises(ValueError, match="refuses what no rule answers"):
        humanmcp_server("", record=file).answer("hi", within=0)


def test_an_empty_file_is_a_book(
    humanmcp_server: Callable[..., MockServer], tmp_path: Path
) -> None:
    """A call that no rule answers is refused; it does not wait for a person."""
    (tmp_path / "book.toml").write_text("", encoding="utf-8")
    assert humanmcp_server(tmp_path / "book.toml").command[-2:] == ["--otherwise", "error"]


@pytest.mark.parametrize("ends", [None, KeyboardInterrupt])
def test_a_server_that_does_not_start_is_ended_and_its_log_told(
    server: MockServer, monkeypatch: pytest.MonkeyPatch, ends: type[BaseException] | None
) -> None:
    """Whatever bytes are in the log, and also if the test is interrupted meanwhile."""
    started: list[subprocess.Popen[bytes]] = []

    def start_it(*words: Any, **more: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401 - as `Popen`
        idle = [sys.executable, "-c", "import time; time.sleep(60)"]  # it writes no log
        started.append(popen(idle, *words[1:], **more))
        return started[-1]

    def wait(_look: object, _within: float) -> None:
        (server.home / "http.log").write_bytes(b"no \xff")
        if ends:
            raise ends

    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", start_it)
    monkeypatch.setattr("humanmcp.answering.service.await_result", wait)
    with pytest.raises(ends or AssertionError, match=None if ends else "no \ufffd"):
        _ = server.address
    assert started[0].returncode is not None


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
    """The plugin is loaded in every run of pytest: it imports nothing but its packages."""
    script = (
        f"import sys, pytest; before = set(sys.modules); import {PLUGIN};"
        "print(*sorted(set(sys.modules) - before))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    parts = PLUGIN.split(".")
    assert run.stdout.split() == [".".join(parts[: at + 1]) for at in range(len(parts))]


def test_pytest_finds_the_plugin_where_humanmcp_is_installed() -> None:
    """The fixture is there without a word in a `conftest.py`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"humanmcp": PLUGIN}


def test_it_has_an_address_for_a_client_that_takes_a_url(server: MockServer) -> None:
    """One process, started when it is asked for; the same book, and the same list of calls."""
    address = server.address
    assert server.address == address
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    body = request(1, "initialize", **HANDSHAKE).encode()
    handshake = urllib.request.Request(address, body, headers)
    with urllib.request.urlopen(handshake) as answer:
        assert b'"protocolVersion"' in answer.read()
    assert [one.method for one in server.calls()] == ["initialize"]
    server.stop()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(handshake)


REAL = """
import os, sys
book = '''
[[tools]]
name = "weather"
inputSchema = { type = "object" }

[[rules]]
tool = "weather"
text = "{city}: sunny"
'''
open("book.toml", "w").write(book)
words = ["-m", "humanmcp", "serve", "--auto", "--book", "book.toml", "--home", "real"]
os.execv(sys.executable, [sys.executable, *words])
"""
HEAD = f"""
import json, os, subprocess, sys, urllib.request
import pytest

REAL = [sys.executable, os.path.join(os.path.dirname(__file__), "real_server.py")]
HELLO = {HANDSHAKE!r}

def line(number, method, **params):
    return {{"jsonrpc": "2.0", "id": number, "method": method, "params": params}}

def talk(command, *calls):
    done = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    answers = []
    for number, call in enumerate([None, *calls], 1):
        asked = line(number, "tools/call", name="weather", arguments=call or {{}})
        said = asked if call else line(number, "initialize", **HELLO)
        done.stdin.write(json.dumps(said) + "\\n")
        done.stdin.flush()
        answers.append(json.loads(done.stdout.readline()))
    done.stdin.close()
    done.wait()
    return [one["result"]["content"][0]["text"] if "result" in one else one["error"]["message"]
            for one in answers[1:]]
"""
ALL = "--humanmcp-record"


class Project:
    """A folder with tests and a real server, in which pytest is run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.real(there=True)
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        self.file = folder / "weather.jsonl"

    def real(self, *, there: bool) -> None:
        """Have the program of the real server, or not."""
        program = self.folder / "real_server.py"
        program.write_text(REAL, encoding="utf-8") if there else program.unlink()

    def run(self, test: str, *flags: str, below: str = ".") -> tuple[int, str]:
        """Run one test. Return the status and what pytest printed."""
        folder = self.folder / below
        folder.mkdir(exist_ok=True)
        (self.folder / "test_it.py").write_text(HEAD + test, encoding="utf-8")
        words = ("-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider", *flags)
        file = str(self.folder / "test_it.py")
        done = subprocess.run(
            [sys.executable, *words, file],
            cwd=folder,
            env=os.environ | ALONE,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project that records nothing yet."""
    if not extensions.only("recorder"):
        pytest.skip("extension: none is installed that records")
    return Project(tmp_path)


def asks(*cities: str, made: str = 'record="weather.jsonl", command=REAL', wanted: str = "") -> str:
    """Write a test that asks for the weather of cities."""
    calls = [{"city": city, "api_key": f"sk-{city}-5ecret"} for city in cities]
    expected = wanted or repr([f"{city}: sunny" for city in cities])
    return f"""
def test_it(humanmcp_server):
    server = humanmcp_server({made})
    assert talk(server.command, *{calls!r}) == {expected}
"""


def test_a_recording_is_made_once_and_answers_instead_of_the_server(project: Project) -> None:
    """Without secrets, and a mark fits any. A failed test shows the recorded request beside its."""
    status, told = project.run(asks("Tokyo"))
    assert (status, "weather.jsonl is not recorded yet" in told) == (1, True)
    assert project.run(asks("Tokyo"), ALL)[0] == 0
    assert "5ecret" not in project.file.read_text(encoding="utf-8")
    project.real(there=False)
    assert project.run(asks("Tokyo"), below="tests")[0] == 0
    assert project.run(asks("Tokyo").replace("5ecret", "other"))[0] == 0
    status, told = project.run(asks("Osaka"))
    assert status == 1
    told = told.split("- humanmcp -")[1]
    assert "no answer was recorded for tools/call weather" in told
    assert re.search(r'^-\s+"city": "Tokyo"$', told, re.MULTILINE)
    assert "sk-Osaka-5ecret" not in told


@pytest.mark.parametrize(
    ("by", "mode", "asked_again", "left"),
    [
        ("ini", "none", "no answer was recorded", "Tokyo"),
        ("flag", "once", "no answer was recorded", "Tokyo"),
        ("marker", "once", "no answer was recorded", "Tokyo"),
        ("variable", "once", "no answer was recorded", "Tokyo"),
        ("flag", "new_episodes", "", "Tokyo Osaka"),
        ("ini", "all", "", "Osaka"),
    ],
)
def test_a_mode_says_when_the_real_server_is_asked(  # noqa: PLR0917 - the parts of a row
    monkeypatch: pytest.MonkeyPatch,
    project: Project,
    mode: str,
    asked_again: str,
    left: str,
    by: str,
) -> None:
    """By a flag, the project, the test, or the environment, as pytest reads it."""
    if by == "variable":
        monkeypatch.setitem(ALONE, "PYTEST_ADDOPTS", f"--humanmcp-record-mode={mode}")
    marker = f'@pytest.mark.humanmcp_record("{mode}")\n' if by == "marker" else ""
    flags = {
        "flag": ("--humanmcp-record-mode", mode),
        "ini": ("-o", f"humanmcp_record={mode}"),
    }.get(by, ())
    status, _ = project.run(marker + asks("Tokyo").lstrip(), *flags)
    assert status == (1 if mode == "none" else 0)
    if mode == "none":
        project.run(asks("Tokyo"), ALL)
    status, told = project.run(marker + asks("Osaka").lstrip(), *flags)
    assert (status, asked_again in told) == (1 if asked_again else 0, True)
    recorded = project.file.read_text(encoding="utf-8")
    assert [city for city in ("Tokyo", "Osaka") if f"{city}: sunny" in recorded] == left.split()
    assert "5ecret" not in recorded


@pytest.mark.parametrize(
    ("mode", "broken"),
    [
        ("all", asks("Kyoto", wanted="[]")),
        ("new_episodes", asks("Kyoto", wanted="[]")),
        ("all", asks("Kyoto") + "    pytest.skip()"),
        ("all", asks("Kyoto").replace("assert talk(", "assert [] == []; (lambda *_: 0)(")),
        ("all", asks("Kyoto", made='record="weather.jsonl", command=["nowhere"]')),
    ],
    ids=["fails", "fails with a new episode", "skips", "calls nothing", "has no server"],
)
def test_a_good_recording_stays_if_the_test_does_not_pass_or_records_nothing(
    project: Project, mode: str, broken: str
) -> None:
    """It is replaced at once and as a whole, by one that a passed test has made."""
    project.run(asks("Tokyo"), ALL)
    before = project.file.read_bytes()
    project.run(broken, "--humanmcp-record-mode", mode)
    assert project.file.read_bytes() == before


FAILING = {
    "missing": ('["nowhere"]', "cannot start `nowhere`", "nowhere cannot be started"),
    "exits at once": (
        '[sys.executable, "-c", "exit(7)"]',
        "has ended (exit status 7)",
        "the server has ended with status 7",
    ),
    "dies in the middle": (
        '[sys.executable, "-c", "input(); exit(7)"]',
        "has ended (exit status 7)",
        "the server has ended with status 7",
    ),
}


@pytest.mark.parametrize("server", FAILING)
@pytest.mark.parametrize("mode", ["none", "once", "new_episodes", "all"])
def test_a_real_server_that_fails_is_named_and_what_is_recorded_is_given(
    project: Project, mode: str, server: str
) -> None:
    """No request waits for a person, in any mode; the recording stays."""
    command, forwarded, recorded = FAILING[server]
    made = f'record="weather.jsonl", command={command}'
    is_new = project.run(asks("Osaka", made=made), "--humanmcp-record-mode", mode)
    project.run(asks("Tokyo"), ALL)
    before = project.file.read_bytes()
    flags = ("--humanmcp-record-mode", mode)
    status, told = project.run(asks("Tokyo", "Osaka", made=made), *flags)
    assert status == is_new[0] == 1
    if mode == "all":
        assert recorded in told
    else:
        assert "'Tokyo: sunny'" in told
        assert "no answer was recorded for tools/call weather" in told
        assert (forwarded in told) == (mode == "new_episodes")
    said = {"none": "not recorded yet", "new_episodes": forwarded}.get(mode, recorded)
    assert said in is_new[1]
    assert (project.run(asks("Tokyo", made=made), *flags)[0] == 0) == (mode != "all")
    assert project.file.read_bytes() == before


def test_a_recording_that_cannot_be_read_fails_its_test_and_no_other(project: Project) -> None:
    """A merge that was not finished ended the whole run: the report of the failure reads it."""
    project.file.write_text("<<<<<<< HEAD\nours\n", encoding="utf-8")
    test = asks("Tokyo").replace("    assert talk", "    assert False\n    assert talk")
    status, told = project.run(f"{test}\ndef test_another():\n    pass\n")
    assert (status, "1 failed, 1 passed" in told) == (1, True), told
    assert "weather.jsonl has no messages" in told


def test_what_another_test_has_added_meanwhile_stays(project: Project) -> None:
    """Two of them may run at once, as with pytest-xdist: the second one says so."""
    project.run(asks("Tokyo"), ALL)
    added = project.file.read_text(encoding="utf-8") * 2
    meanwhile = f"    open('weather.jsonl', 'w', encoding='utf-8').write({added!r})\n"
    flags = ("--humanmcp-record-mode", "new_episodes")
    status, told = project.run(asks("Osaka") + meanwhile, *flags)
    assert (status, "something else has added to it" in told) == (1, True), told
    assert project.file.read_text(encoding="utf-8") == added


def test_what_fails_of_one_server_leaves_nothing_of_another_undone(project: Project) -> None:
    first = 'record="nothing.jsonl", command=REAL)\n    server = humanmcp_server('
    test = asks("Tokyo", made=f'{first}record="weather.jsonl", command=REAL')
    status, told = project.run(test, ALL)
    assert (status, "nothing was recorded" in told) == (1, True), told
    assert project.file.exists()


def node(name: str, **more: Any) -> Any:  # noqa: ANN401 - stands in for what pytest has
    """Return what a fixture is told of a test of this name."""
    own = re.sub(r"^(\w+::)+", "", name).partition("@")[0]
    of_test = SimpleNamespace(
        path=ROOT / "tests" / "test_it.py", nodeid=f"tests/test_it.py::{name}", name=own
    )
    return SimpleNamespace(node=SimpleNamespace(**vars(of_test), **more))


def test_no_two_tests_of_a_file_have_one_recording_by_their_names() -> None:
    """Of the same name in two classes, or with values that a file cannot be named after."""
    ids = ["test_it", "test_it[1]", "test_it[-]", "test_it[a/b]", "test_it[a-b]", "test_it[a b]"]
    ids += ["TestA::test_it", "TestB::test_it", "TestA::TestB::test_it", "test_it[a::b]"]
    names = [_file_of(node(name), [], record=True).name for name in ids]
    assert len({*names}) == len(names), names
    assert names[:2] == ["test_it.jsonl", "test_it-1.jsonl"]
    assert "TestA-test_it.jsonl" in names
    in_group = [_file_of(node(f"{name}@a-group"), [], record=True).name for name in ids]
    assert in_group == names, "pytest-xdist writes its group into the id"


def test_a_mode_can_be_given_to_the_mark_by_its_name(pytestconfig: pytest.Config) -> None:
    """It was passed over, and nobody was told."""
    mark = pytest.mark.humanmcp_record(mode="once").mark
    request = node("test_it", get_closest_marker=lambda _: mark)
    request.config = pytestconfig
    assert _mode(request) == "once"


def test_a_recording_can_be_named_after_its_test(project: Project) -> None:
    """Beside the test, whatever folder pytest is started in; the second has a number."""
    made = asks("Tokyo", made="record=True, command=REAL")
    again = made.replace("def test_it(humanmcp_server):", "").replace("server = ", "other = ")
    assert (
        project.run(made + again.replace("server.command", "other.command"), ALL, below="x")[0] == 0
    )
    names = {one.name for one in (project.folder / "recordings" / "test_it").iterdir()}
    assert names == {"test_it.jsonl", "test_it-2.jsonl"}


def test_the_flags_of_a_recording_are_those_of_a_replay(project: Project) -> None:
    """Those that name other answers are refused with the reason; a misspelt one ends the server."""
    project.run(asks("Tokyo"), ALL)
    similar = asks("Kyoto", wanted='["Tokyo: sunny"]').replace(
        "server(record", 'server("", "--match", "similar", record'
    )
    assert project.run(similar)[0] == 0
    forward = asks("Kyoto").replace("server(record", 'server("", "--otherwise", "forward", record')
    assert project.run(forward)[0] == 0
    assert "Kyoto: sunny" in project.file.read_text(encoding="utf-8")
    status, told = project.run(similar.replace('"--match", "similar"', '"--home", "x"'))
    assert (status, "a recording takes no --home" in told) == (1, True)


def test_a_recorded_request_that_was_not_sent_can_fail_the_test(project: Project) -> None:
    project.run(asks("Tokyo", "Osaka"), ALL)
    strict = 'record="weather.jsonl", must_be_used=True'
    assert project.run(asks("Tokyo"))[0] == 0
    status, told = project.run(asks("Tokyo", made=strict))
    assert (status, "recorded, but not called: tools/call weather" in told) == (1, True)
    assert project.run(asks("Tokyo", "Osaka", made=strict))[0] == 0


AT_AN_ADDRESS = """
def post(url, number, method, **params):
    body = json.dumps(line(number, method, **params)).encode()
    heads = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(url, body, {**heads, **SESSION})
    with urllib.request.urlopen(request) as answer:
        SESSION.update({name: value for name, value in answer.headers.items()
                        if name.lower() == "mcp-session-id"})
        return answer.read().decode()

SESSION = {}

def test_it(humanmcp_server):
    server = humanmcp_server(record="weather.jsonl", command=REAL)
    post(server.address, 1, "initialize", **HELLO)
    assert "Tokyo: sunny" in post(server.address, 2, "tools/call", name="weather",
                                  arguments={"city": "Tokyo"})
"""


def test_a_recording_has_an_address(project: Project) -> None:
    """While it is made, and while it answers."""
    status, told = project.run(AT_AN_ADDRESS, ALL)
    assert status == 0, told
    project.real(there=False)
    status, told = project.run(AT_AN_ADDRESS)
    assert status == 0, told


@pytest.mark.parametrize("mode", ["all", "new_episodes"])
def test_a_server_at_an_address_is_recorded(
    project: Project, server: MockServer, mode: str
) -> None:
    """With a header of its key; afterwards it is not needed."""
    server.book.write_text(
        '[[rules]]\ntool = "weather"\ntext = "{city}: sunny"\n', encoding="utf-8"
    )
    made = f'record="weather.jsonl", server_url="{server.address}", headers={{"X-Key": "a"}}'
    status, told = project.run(asks("Tokyo", made=made), "--humanmcp-record-mode", mode)
    assert status == 0, told
    server.stop()
    assert project.run(asks("Tokyo", made=made))[0] == 0


HEARS_AN_ERROR = AT_AN_ADDRESS.replace(
    'post(server.address, 1, "initialize", **HELLO)',
    'post(server.address, 1, "initialize", **HELLO); return',
)


@pytest.mark.parametrize("mode", ["all", "once", "new_episodes"])
def test_the_error_of_a_server_that_is_not_there_is_not_recorded(
    project: Project, mode: str
) -> None:
    """The program in between says it, not the server: the next run would be green with it."""
    real = f'server_url="http://127.0.0.1:{own_port()}/mcp"'  # nobody listens there
    test = HEARS_AN_ERROR.replace("command=REAL", real)
    told = project.run(test, "--humanmcp-record-mode", mode)[1]
    assert not project.file.exists(), told
    assert "nothing was recorded" in told

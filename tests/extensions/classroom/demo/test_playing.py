"""The demo's host at work, with a server that answers as a test says."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from humanmcp.common.child import EndedError
from humanmcp.extensions.classroom.demo import command
from humanmcp.extensions.classroom.demo.command import NOWHERE, DemoRunner, Screen, pasted
from humanmcp.extensions.classroom.demo.good_host import Strictness
from humanmcp.extensions.classroom.demo.lesson import find_lesson, weather
from humanmcp.extensions.classroom.demo.steps import DemoStep
from humanmcp.http.server_address import CallError
from humanmcp.inbox.contract import Item, Key, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.locales import say
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message

RESULTS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2024-11-05",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "sunny"}]},
}


def right(request: dict[str, Any]) -> list[bytes]:
    """Answer a request as a server should."""
    answer = {"jsonrpc": "2.0", "id": request["id"], "result": RESULTS[request["method"]]}
    return [json.dumps(answer).encode()]


class Server:
    """Takes the place of the child process. `answer` makes what comes for each request."""

    url = ""

    def __init__(self, folder: Path, answer: Callable[[dict[str, Any]], list[Any]]) -> None:
        """Begin with nothing said."""
        self.transport = self
        self.said: list[bytes] = []
        self.heard: list[dict[str, Any]] = []
        self.lines: list[str] = []
        self._folder = folder
        self._answer = answer
        self._lines: list[Any] = []

    def send(self, line: str) -> None:
        """Take a line of the host."""
        message = json.loads(line)
        self.heard.append(message)
        self.lines.append(line)
        if "id" in message and "method" in message:
            self._lines += self._answer(message)

    def posted(self) -> None:
        """Say that it was no POST."""

    def receive(self, _timeout: float) -> Any:  # noqa: ANN401 - what the test gave
        """Hand out the next line."""
        if self._lines and self._lines[0] == b"END":
            raise EndedError
        return self._lines.pop(0) if self._lines else None

    def files(self, _home: Path, _wanted: Path) -> Path:
        """Say where the text files are."""
        return self._folder

    def close(self) -> None:
        """End."""

    @property
    def methods(self) -> list[str]:
        """What the host asked and said."""
        return [message["method"] for message in self.heard if "method" in message]


@pytest.fixture
def play(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[dict[str, Any]], list[bytes]]], tuple[Server, bool]]:
    """Play the whole demo against a server; the host is quick to give up."""
    monkeypatch.setattr(command, "GIVES_UP_AFTER", 0.05)
    monkeypatch.setattr(command, "LOOK_EVERY", 0.01)

    def against(answer: Callable[[dict[str, Any]], list[bytes]]) -> tuple[Server, bool]:
        server = Server(tmp_path, answer)
        screen = Screen("humanmcp", by_hand=False)
        played = DemoRunner(server, weather("en").with_handshake(), Strictness.STRICT, screen, 0)  # type: ignore[arg-type]  # it has what the runner uses
        done = played.play(tmp_path, tmp_path)
        screen.end(tmp_path)
        return server, done

    return against


def test_it_gives_up_on_a_call_with_a_wrong_id_and_goes_on(
    play: Any,  # noqa: ANN401 - the fixture above
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It says what it ignored and what it waits for, tells the server, and plays to the end."""

    def answer(request: dict[str, Any]) -> list[bytes]:
        wrong = request["id"] == 3
        return right({**request, "id": 1_000_003} if wrong else request)

    server, done = play(answer)
    said = capsys.readouterr().out
    assert done
    assert "Ignored: no request has the id 1000003. Waiting: 3." in said
    assert "The host gave up: tools/call" in said
    assert server.methods.count("notifications/cancelled") == 1
    assert server.methods.count("tools/call") == 3


def test_the_right_answer_after_a_wrong_one_counts(
    play: Any,  # noqa: ANN401 - the fixture above
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A line that is no JSON, a log line, a wrong id: then the answer, in time."""
    server, done = play(
        lambda request: [b'{"jsonrpc":"2.0","id":', b"Server started", *right(request)]
    )
    said = capsys.readouterr().out
    assert done
    assert said.count("this line is not a message") == 10
    assert "gave up" not in said
    assert "notifications/cancelled" not in server.methods


def test_a_huge_answer_does_not_flood_the_screen(
    play: Any,  # noqa: ANN401 - the fixture above
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is cut, and the cut says how much there was."""

    def answer(request: dict[str, Any]) -> list[bytes]:
        if request["method"] != "tools/call":
            return right(request)
        result = {"content": [{"type": "text", "text": "0" * 1_000_000}]}
        return [json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()]

    _, done = play(answer)
    said = capsys.readouterr().out
    assert done
    assert len(said) < 20_000
    assert "1,000,000 characters in total" in said


@pytest.mark.parametrize(
    "first",
    [
        {"result": {**RESULTS["initialize"], "protocolVersion": "1999-01-01"}},
        {"error": {"code": -32603, "message": "no"}},
        {"result": "no"},
    ],
)
def test_without_an_handshake_it_says_that_it_cannot_connect(
    play: Any,  # noqa: ANN401 - the fixture above
    capsys: pytest.CaptureFixture[str],
    first: dict[str, Any],
) -> None:
    """A version that nobody speaks, a refusal: there is no session."""
    server, done = play(
        lambda request: [json.dumps({"jsonrpc": "2.0", "id": request["id"], **first}).encode()]
    )
    assert not done
    assert server.methods == ["initialize"]
    assert "there is no session" in capsys.readouterr().out


def test_it_asks_again_when_the_tools_have_changed(play: Any) -> None:  # noqa: ANN401 - the fixture above
    """And calls what is offered then."""
    changed = json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}).encode()
    lists = iter(["t", "other"])

    def answer(request: dict[str, Any]) -> list[bytes]:
        if request["method"] == "tools/list":
            tool = {"name": next(lists), "inputSchema": {"type": "object"}}
            result = {"tools": [tool]}
            return [json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()]
        return [changed, *right(request)] if request["id"] == 3 else right(request)

    server, done = play(answer)
    assert done
    called = [one["params"]["name"] for one in server.heard if one.get("method") == "tools/call"]
    assert called == ["t", "other", "other"]


def test_a_server_that_ends_is_told_of(
    play: Any,  # noqa: ANN401 - the fixture above
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With what it said on its stderr."""
    _, done = play(lambda request: right(request) if request["id"] < 3 else [b"END"])
    assert not done
    assert "The server ended" in capsys.readouterr().out


def test_the_example_is_one_that_the_shell_at_hand_understands() -> None:
    """PowerShell on Windows, a POSIX shell elsewhere."""
    assert pasted("{}", "/x/out.txt", "linux") == "echo '{}' > /x/out.txt"
    assert pasted("{}", "C:\\x\\out.txt", "win32") == "'{}' | Set-Content C:\\x\\out.txt"


def test_where_there_are_no_text_files_an_example_names_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Their extension was removed: the example is the answer alone."""
    step = next(one for one in weather("en").steps if one.example is not None)
    screen = Screen("humanmcp", by_hand=True, typed=False, folder=NOWHERE)
    screen._invited = True
    request = jsonrpc.read(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    assert isinstance(request, Message)
    screen.invite(step, request)
    told = capsys.readouterr().out
    assert '"id": 1' in told
    assert "out.txt" not in told


@pytest.mark.extension("text_files")
@pytest.mark.parametrize(
    ("typed", "what_to_do"),
    [
        (True, say("demo", "not-sent-typed", "en")),
        (False, "Not sent. Change out.txt and save it again."),
    ],
)
def test_a_wrong_line_is_corrected_where_it_was_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, typed: bool, what_to_do: str
) -> None:
    """In this terminal or in `out.txt`: with a terminal, a person may have done either."""
    screen = Screen("humanmcp", by_hand=True, typed=typed)
    screen.begin(tmp_path, "")
    refused = say("files", "not-sent", "en", file="out.txt") + "\n\nline 1, column 1: why\n"
    (tmp_path / "problems.txt").write_text(refused, encoding="utf-8")
    capsys.readouterr()
    screen.complaint()
    first, _, why = (line.strip() for line in capsys.readouterr().out.splitlines())
    assert (first, why) == (what_to_do, "line 1, column 1: why")


def test_a_lesson_says_what_passed_and_shows_no_example_where_nothing_is_to_be_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Room 6: `late-answer`, whose host gives up and hears the late answer in the next step."""
    late: list[bytes] = []

    def answer(request: dict[str, Any]) -> list[bytes]:
        if request["method"] == "tools/list":
            tools = [{"name": "rain", "inputSchema": {"type": "object"}}]
            return [json.dumps({"jsonrpc": "2.0", "id": 2, "result": {"tools": tools}}).encode()]
        if request["id"] == 3:
            late.extend(right(request))
            return []
        return [*late, *right(request)]

    lesson_steps = find_lesson("late-answer")("en")
    steps = tuple(replace(one, timeout=one.timeout and 0.05) for one in lesson_steps.steps)
    server, screen = Server(tmp_path, answer), Screen("humanmcp", by_hand=True)
    played = DemoRunner(
        server,  # type: ignore[arg-type]  # it has what the runner uses
        replace(lesson_steps, steps=steps),
        Strictness.STRICT,
        screen,
        0,
    )
    assert played.play(tmp_path, tmp_path)
    said = capsys.readouterr().out
    assert played.passed == [True, True, True, True]
    assert said.count("Passed.") == 4
    assert said.count("Your turn.") == 3


def test_a_lesson_ends_where_the_model_has_no_tool_to_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its tool `t` says nothing of the weather."""
    server, screen = Server(tmp_path, right), Screen("humanmcp", by_hand=False)
    lesson_steps = find_lesson("picked-tool")("en")
    played = DemoRunner(server, lesson_steps, Strictness.STRICT, screen, 0)  # type: ignore[arg-type]  # as above
    assert played.play(tmp_path, tmp_path)
    assert played.passed == [True, False]
    assert "The model does not call your tool" in capsys.readouterr().out


def test_a_call_that_http_brings_no_answer_to_does_not_pass_and_the_lesson_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The reason is shown; the next request is asked."""

    def answer(request: dict[str, Any]) -> list[Any]:
        if request["method"] == "resources/list":
            return [CallError("cut", url="http://127.0.0.1:1/mcp", method="resources/list")]
        shown = {"ttlMs": 0, "cacheScope": "private", "capabilities": {}}
        offered = {"supportedVersions": ["2026-07-28"], "instructions": "Ask me."}
        result = {"resultType": "complete", **offered, **shown}
        return [json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()]

    server, screen = Server(tmp_path, answer), Screen("humanmcp", by_hand=False)
    played = DemoRunner(server, find_lesson("discover")("en"), Strictness.STRICT, screen, 0)  # type: ignore[arg-type]  # as above
    assert played.play(tmp_path, tmp_path)
    assert played.passed == [False, True]
    assert "http://127.0.0.1:1/mcp" in capsys.readouterr().out


def test_an_answer_is_asked_for_once_its_request_is_in_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is pasted before that has to be saved again."""
    server, file = Server(tmp_path, right), tmp_path / "in.txt"
    monkeypatch.setattr("time.sleep", lambda _: file.write_text("\n".join(server.lines), "utf-8"))
    asked: list[bool] = []

    class Noting(Screen):
        def invite(self, step: DemoStep, request: Message) -> None:
            asked.append(file.exists() and request.raw in file.read_text("utf-8"))
            super().invite(step, request)

    screen = Noting("humanmcp", by_hand=True)
    runner = DemoRunner(server, weather("en").with_handshake(), Strictness.STRICT, screen, 0)  # type: ignore[arg-type]  # it has what the runner uses
    assert runner.play(tmp_path, tmp_path)
    assert asked == [True] * 5


def test_what_is_given_is_the_answer_to_its_own_request(tmp_path: Path) -> None:
    """The answer to the one before may still be on its way: then that request is still there."""
    inbox, lesson_steps = FolderInbox(tmp_path), weather("en").with_handshake()
    session = inbox.begin_session(SessionFacts("", "2026-01-01T00:00:00Z", client="demo"))
    lines = [f'{{"jsonrpc":"2.0","id":{one},"method":"tools/list"}}' for one in (1, 2)]
    for number, line in enumerate(lines, 1):
        key = Key(session, number)
        inbox.deliver(Item(key, line, "tools/list", str(number), "2025-11-25", ""))
    inbox.send(Key(session, 1), lesson_steps.requests[0].reply)
    alive = SimpleNamespace(poll=lambda: None)
    server = SimpleNamespace(session=session, child=SimpleNamespace(process=alive))
    screen = Screen("humanmcp", by_hand=True)
    runner = DemoRunner(server, lesson_steps, Strictness.STRICT, screen, 0)  # type: ignore[arg-type]  # as above
    runner._home = tmp_path
    second = jsonrpc.read_text(lines[1])
    assert isinstance(second, Message)
    runner._give(lesson_steps.requests[0], second)
    assert inbox.item(Key(session, 2)).reply == inbox.item(Key(session, 1)).reply
    inbox.end(session)

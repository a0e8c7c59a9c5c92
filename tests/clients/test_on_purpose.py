"""Everything can be sent wrong on purpose, and what real clients make of it.

Each fault comes while the first call waits; then all three calls are answered right. A client that
is as good as `docs/reference/faults.md` says goes on with the right answers.
"""

import json
import os
import signal
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import pytest
from anyio import to_thread
from mcp import Client, StdioServerParameters

from humanmcp.cli import main
from humanmcp.inbox.contract import Item, Life, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics.model import TextForm
from tests.clients.hosts import CLIENT_2_LEGACY, PYTHON_LEGACY, Host, Understood
from tests.support.serve_process import COMMAND, bare_environment
from tests.support.waiting import PATIENCE, until

BOOK: Final = """
[[tools]]
name = "get-japan-forecast"
inputSchema = { type = "object", properties = { location = { type = "string" } } }
"""
SUNNY: Final = {"content": [{"type": "text", "text": "sunny"}]}
WRONG: Final = '{"jsonrpc":"2.0","id":1000004,"result":{}}'


def answer(item: Item, text: str) -> str:
    """Write an answer to a call."""
    result = {"content": [{"type": "text", "text": text}]}
    return json.dumps({"jsonrpc": "2.0", "id": json.loads(item.id), "result": result})


FAULTS: Final[dict[str, Callable[[Item], Sequence[str]]]] = {
    "wrong first and right after": lambda _: (WRONG, "--send-anyway"),
    "a log line": lambda _: ("Server started on stdio", "--send-anyway"),
    "half a line, finished later": lambda _: ("--bytes", '{"jsonrpc":"2.0",'),
    "a request of ours": lambda _: ("--ask", "ping"),
    "a list has changed": lambda _: ("--list-changed", "tools", "--send-anyway"),
    "a log message": lambda _: ("--log", "info", "hello", "--send-anyway"),
    "progress without a token": lambda item: ("--progress", str(item.key.number), "1"),
    "silence": lambda _: ("--silence", "on"),
}
"""What `humanmcp say` is asked for while the first call waits."""


class Person:
    """Somebody at a terminal: breaks the first call on purpose, and answers all three right."""

    def __init__(self, home: Path, act: Callable[[Item], None], calls: int) -> None:
        """Begin as soon as the first call waits; the server lives for so many calls."""
        self._calls = calls
        self.inbox = FolderInbox(home)
        self._act = act
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        for count in range(self._calls):
            item = until(self._waiting, "a call")
            if count == 0:
                self._act(item)
            if self.inbox.facts(item.key.session).life is not Life.OPEN:
                return
            self.inbox.send(item.key, Reply(json.dumps(SUNNY), TextForm.RESULT, by="test"))
            until(partial(self._is_over, item), "the answer")

    def _waiting(self) -> Item | None:
        sessions = self.inbox.sessions()
        found = [item for one in sessions for item in self.inbox.items(one.name)]
        return next((item for item in found if item.method == "tools/call"), None)

    def _is_over(self, item: Item) -> bool:
        return all(one.key != item.key for one in self.inbox.items(item.key.session))


def play(host: Host, tmp_path: Path, act: Callable[[Item], None], calls: int = 3) -> Understood:
    """Play the weather session; `act` is what the person does while the first call waits."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "book.toml").write_text(BOOK, encoding="utf-8")
    Person(home, act, calls)
    return host.play(home, "--handshake", "book")


def say(home: Path, *words: str) -> None:
    """Do as a person at a terminal does."""
    status = main(["say", *words, "--home", str(home)])
    assert status in (0, 1), words


@pytest.mark.parametrize("fault", FAULTS)
def test_the_python_sdk_goes_on_with_the_right_answer(tmp_path: Path, fault: str) -> None:
    """What the specification lets a client ignore, it ignores."""

    def act(item: Item) -> None:
        say(tmp_path / "home", *FAULTS[fault](item))
        if fault.startswith("half a line"):
            say(tmp_path / "home", "--bytes", r'"method":"notifications/x"}\n')

    understood = play(PYTHON_LEGACY, tmp_path, act)
    assert understood.answers == [{"text": "sunny"}] * 3


@pytest.mark.node
def test_the_typescript_sdk_goes_on_with_the_right_answer(tmp_path: Path) -> None:
    """A duplicate, half a line and its end, a wrong id: one after the other."""

    def act(item: Item) -> None:
        home = tmp_path / "home"
        say(home, WRONG, "--send-anyway", "--times", "2")
        say(home, "--bytes", '{"jsonrpc":"2.0",')
        say(home, "--bytes", r'"method":"notifications/x"}\n')

    understood = play(CLIENT_2_LEGACY, tmp_path, act)
    assert understood.answers == [{"text": "sunny"}] * 3


@pytest.mark.node
@pytest.mark.parametrize(
    "text", [r"\xff\xfe\n", r'{"jsonrpc":"2.0","method":"x","params":"\xff"}\n']
)
def test_the_typescript_sdk_goes_on_after_bytes_that_are_no_utf_8(
    tmp_path: Path, text: str
) -> None:
    """It reads them as replacement characters, drops the line and reads on."""
    act = partial(_write_bytes, tmp_path / "home", text)
    understood = play(CLIENT_2_LEGACY, tmp_path, act)
    assert understood.answers == [{"text": "sunny"}] * 3


def test_the_python_sdk_ends_at_bytes_that_are_no_utf_8(tmp_path: Path) -> None:
    """It decodes strictly, and one line ends its connection: a call hangs until the server ends."""

    def act(item: Item) -> None:
        _write_bytes(tmp_path / "home", r"\xff\n", item)
        inbox = FolderInbox(tmp_path / "home")
        os.kill(inbox.facts(item.key.session).pid, signal.SIGTERM)
        until(lambda: inbox.facts(item.key.session).life is not Life.OPEN, "its end")

    with pytest.raises(ExceptionGroup) as raised:
        play(PYTHON_LEGACY, tmp_path, act, calls=1)
    assert raised.group_contains(UnicodeDecodeError)


def _write_bytes(home: Path, text: str, item: Item) -> None:
    say(home, "--bytes", text)
    assert item.method == "tools/call"


def test_an_answer_after_a_cancel_is_dropped(tmp_path: Path) -> None:
    """The request is over, its answer goes out all the same, and the next call works."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "book.toml").write_text(BOOK, encoding="utf-8")
    assert anyio.run(_answered_after_a_cancel, home) == "sunny"


async def _answered_after_a_cancel(home: Path) -> str:
    desk = FolderInbox(home)

    def waiting() -> Item | None:
        found = [item for one in desk.sessions() for item in desk.items(one.name)]
        return next((item for item in found if item.method == "tools/call"), None)

    flags = ["--home", str(home), "--handshake", "book"]
    parameters = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], *flags], env=bare_environment(home.parent)
    )
    call = ("get-japan-forecast", {"location": "東京"})
    with anyio.fail_after(PATIENCE):
        async with Client(parameters, mode="legacy") as client:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, *call)
                item = await to_thread.run_sync(until, waiting, "the call")
                group.cancel_scope.cancel()
            over = partial(_is_cancelled, desk, item)
            await to_thread.run_sync(until, over, "the cancellation")
            late = partial(say, home, answer(item, "late"), "--send-anyway")
            await to_thread.run_sync(late)
            Person(home, lambda _: None, 1)
            result = await client.call_tool(*call)
            return "".join(getattr(one, "text", "") for one in result.content)


def _is_cancelled(desk: FolderInbox, item: Item) -> bool:
    return desk.item(item.key).state is ExchangeState.CANCELLED


def test_an_answer_twice_is_taken_once(tmp_path: Path) -> None:
    """The second has no request any more, and nothing of it is seen in the next call."""

    def act(item: Item) -> None:
        say(tmp_path / "home", answer(item, "cloudy"), "--send-anyway", "--times", "2")

    understood = play(PYTHON_LEGACY, tmp_path, act)
    assert [one["text"] for one in understood.answers] == ["cloudy", "sunny", "sunny"]


@pytest.mark.parametrize("order", [["--exit", "3"], ["--crash"]], ids=["exit", "crash"])
def test_a_server_that_ends_fails_the_call(tmp_path: Path, order: list[str]) -> None:
    """The client says so instead of waiting for ever."""
    home = tmp_path / "home"

    def act(item: Item) -> None:
        say(home, *order)
        desk = FolderInbox(home)
        until(lambda: desk.facts(item.key.session).life is not Life.OPEN, "the end")

    understood = play(PYTHON_LEGACY, tmp_path, act, calls=1)
    assert all("text" not in one for one in understood.answers)

r"""A mock MCP server for the tests of a client: a plugin of pytest.

    def test_the_client_shows_the_weather(humanmcp_server):
        server = humanmcp_server('[[rules]]\ntool = "weather"\ntext = "sunny"')
        ...                                # start your client with server.command
        assert server.calls("tools/call")[0].arguments == {"city": "Tokyo"}

pytest loads this module wherever humanmcp is installed. So it imports only pytest, and the rest
when a test asks for a server.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from subprocess import Popen

    from humanmcp.answering.open_exchange import OpenExchange
    from humanmcp.answering.summary import ReceivedCall

BY: Final = "pytest"
"""The author of answers of a test."""

TIMEOUT: Final = 10.0
"""Seconds to wait for a request that a test wants to answer."""


@dataclass(frozen=True, slots=True)
class MockServer:
    """A server for one test: its answers and its requests. The tested client starts its command."""

    home: Path
    """Its inbox folder; `humanmcp desk --home` shows it."""
    flags: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    """The words behind `humanmcp` of a recording or replaying command; empty for a book's."""
    _started: list[tuple[Popen[bytes], str]] = field(default_factory=list)

    @property
    def command(self) -> list[str]:
        """The command that a client starts, as a list of words."""
        return self._words("humanmcp")

    def _words(self, module: str) -> list[str]:
        if self.instead:
            return [sys.executable, "-m", module, *self.instead]
        words = (sys.executable, "-m", module, "serve", "--handshake", "book")
        return [*words, "--home", str(self.home), "--book", str(self.book), *self.flags]

    @property
    def _refuses(self) -> bool:
        """Return True if it refuses requests without a rule, so that no test can answer them."""
        return dict(pairwise(self.flags)).get("--otherwise") == "error"

    @property
    def address(self) -> str:
        """Its address over Streamable HTTP; the first use starts it."""
        if not self._started:
            self._started.append(self._start())
        return self._started[0][1]

    def _start(self) -> tuple[Popen[bytes], str]:
        import re  # noqa: PLC0415 - see the head of this module
        import subprocess  # noqa: PLC0415 - as above

        from humanmcp.answering.service import await_result  # noqa: PLC0415 - as above

        log_file = self.home / "http.log"
        with log_file.open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own words
                [*self._words("humanmcp.as_child"), "--http"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        found = await_result(lambda: re.search(rb"http://\S+/mcp", log_file.read_bytes()), TIMEOUT)
        if found is None:
            process.kill()
            raise AssertionError(f"the server did not start: {log_file.read_text('utf-8')}")
        return process, found[0].decode()

    def stop(self) -> None:
        """End the process that serves the address; the fixture does it after each test."""
        for process, _ in self._started:
            process.terminate()
            process.communicate()
        self._started.clear()

    @property
    def book(self) -> Path:
        """The file of its answer book; a change takes effect within a second."""
        return self.home / "book.toml"

    def calls(self, method: str = "", name: str = "") -> list[ReceivedCall]:
        """Return the requests so far, in order; of one method, tool, prompt or address."""
        from humanmcp.answering.summary import calls  # noqa: PLC0415 - see the head of this module
        from humanmcp.inbox import open_inbox  # noqa: PLC0415 - as above

        inbox = open_inbox(self.home)
        named = sorted((facts.started, facts.name) for facts in inbox.sessions())
        return [
            call
            for _, session in named
            for call in calls(inbox.frames(session))
            if method in ("", call.method) and name in ("", call.name)
        ]

    def answer(
        self,
        text: str | None = None,
        *,
        tool_error: str | None = None,
        result: Mapping[str, Any] | None = None,
        error: Mapping[str, Any] | None = None,
        within: float = TIMEOUT,
    ) -> None:
        """Answer the request that has waited longest, or the next one that comes.

        Raises:
            AssertionError: no request came in time, or the check refuses the answer.
            ValueError: this server refuses requests without a rule, so nothing waits.
        """
        if self._refuses:
            raise ValueError(
                "this server refuses what no rule answers; to answer in the test, make it with"
                ' humanmcp_server(BOOK, "--otherwise", "hand")'
            )
        from humanmcp.answering.service import await_result  # noqa: PLC0415 - as above

        reply = _reply(text, tool_error, result, error)
        opened = await_result(self._waiting, within)
        if opened is None:
            raise AssertionError(f"no request waited for an answer within {within:g} s")
        _send(opened, *reply)

    def _waiting(self) -> OpenExchange | None:
        from humanmcp.answering.open_exchange import OpenExchange  # noqa: PLC0415 - as above
        from humanmcp.inbox import open_inbox  # noqa: PLC0415 - as above

        inbox = open_inbox(self.home)
        for facts in sorted(inbox.sessions(), key=lambda one: one.started):
            for item in inbox.items(facts.name) if facts.is_open else ():
                if not item.is_subscription and item.reply is None:
                    return OpenExchange(inbox, item, facts)
        return None


def _reply(
    text: str | None,
    tool_error: str | None,
    result: Mapping[str, Any] | None,
    error: Mapping[str, Any] | None,
) -> tuple[str, str]:
    """Return the text of an answer, and its form."""
    import json  # noqa: PLC0415 - as above

    given = {"text": text, "tool error": tool_error, "result": result, "error": error}
    named = {form: value for form, value in given.items() if value is not None}
    if len(named) != 1:
        raise TypeError("give exactly one of: text, tool_error, result, error")
    ((form, value),) = named.items()
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)), form


def _send(opened: OpenExchange, text: str, form: str) -> None:
    from humanmcp import locales  # noqa: PLC0415 - as above
    from humanmcp.answering import service  # noqa: PLC0415 - as above
    from humanmcp.inbox.contract import Reply  # noqa: PLC0415 - as above
    from humanmcp.protocol.diagnostics.model import TextForm  # noqa: PLC0415 - as above

    result = service.send(opened, Reply(text, TextForm(form), by=BY), within=TIMEOUT)
    if result.outcome is not service.Outcome.SENT:
        why = "; ".join(locales.describe(each) for each in result.diagnostics)
        raise AssertionError(f"{result.outcome.value}: {why}")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("humanmcp")
    group.addoption(
        "--humanmcp-record",
        action="store_true",
        help="run the real servers of humanmcp_server(record=…), and write their recordings anew",
    )


_REPLAYED: Final = pytest.StashKey[list[tuple["MockServer", Path]]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failed test which requests had no recorded answer."""
    report = yield
    if call.when == "call" and report.failed:
        for server, file in item.stash.get(_REPLAYED, []):
            if told := _side_by_side(server, file):
                report.sections.append(("humanmcp", told))
    return report


def _recorded(home: Path, file: Path, command: Sequence[str]) -> MockServer:
    """Return the real server behind a tap; without a command, its recording.

    Raises:
        FileNotFoundError: there is no recording.
    """
    if command:
        return MockServer(home, instead=("tap", "--quiet", "--home", str(home), "--", *command))
    if not file.exists():
        raise FileNotFoundError(f"{file} is not recorded yet: pytest --humanmcp-record")
    words = ("serve", "--home", str(home), "--replay", str(file), "--otherwise", "error")
    return MockServer(home, instead=words)


def _write_recording(server: MockServer, file: Path) -> None:
    """Write the session of a tap without its secrets.

    Raises:
        AssertionError: nothing was recorded.
    """
    import subprocess  # noqa: PLC0415 - see the head of this module

    words = ("-m", "humanmcp", "export", "--format", "jsonl", "--home", str(server.home))
    done = subprocess.run((sys.executable, *words), capture_output=True, check=False)  # noqa: S603 - our own words
    if done.returncode or not done.stdout:
        raise AssertionError(f"{file}: nothing was recorded. {done.stderr.decode()}")
    file.write_bytes(done.stdout)


def _side_by_side(server: MockServer, file: Path) -> str:
    """Return the requests without a recorded answer, each beside the recorded one most like it."""
    import difflib  # noqa: PLC0415 - see the head of this module
    import json  # noqa: PLC0415 - as above

    from humanmcp.answering.summary import calls  # noqa: PLC0415 - as above
    from humanmcp.export.recording import recording_of  # noqa: PLC0415 - as above
    from humanmcp.protocol.answer_book.replay import BY_NOTHING  # noqa: PLC0415 - as above

    def written(call: ReceivedCall) -> list[str]:
        return json.dumps(call.arguments, indent=1, ensure_ascii=False, sort_keys=True).split("\n")

    recorded = calls(recording_of(file).frames)
    parts = []
    for sent in server.calls():
        if sent.by != BY_NOTHING:
            continue
        alike = [one for one in recorded if (one.method, one.name) == (sent.method, sent.name)]
        lines = [f"{sent.method} {sent.name}: no recorded answer"]
        if alike:
            nearest = max(
                alike, key=lambda one: difflib.SequenceMatcher(None, one.line, sent.line).ratio()
            )
            lines += difflib.unified_diff(written(nearest), written(sent), "recorded", "sent", n=9)
        parts.append("\n".join(line.rstrip("\n") for line in lines))
    return "\n\n".join(parts)


@pytest.fixture
def humanmcp_server(
    tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[..., MockServer]]:
    """Make a mock MCP server: `humanmcp_server(BOOK, *FLAGS)`. BOOK is a path, or a TOML text.

    It refuses a request without a rule, and the error names the missing rule; with the flags
    "--otherwise", "hand" that waits for `answer`. So does each call without a book, where the
    server offers the tool `ask_human`.

    `humanmcp_server(record=FILE, command=[…])` answers as that real server did when it was recorded
    with `pytest --humanmcp-record`; a failed test shows each request that it has no answer for.

    Raises:
        FileNotFoundError: there is no such recording yet.
        BookFileError: the book cannot be used.
    """
    from humanmcp.common.book_file import parse_book, read_book_text  # noqa: PLC0415 - see above

    made: list[MockServer] = []
    recorded: list[tuple[MockServer, Path]] = []
    records = bool(request.config.getoption("--humanmcp-record", default=False))
    request.node.stash[_REPLAYED] = recorded

    def make(
        book: str | Path = "",
        *flags: str,
        record: str | Path = "",
        command: Sequence[str] = (),
    ) -> MockServer:
        home = tmp_path / f"humanmcp-{len(made) + 1}"
        if record:
            made.append(_recorded(home, Path(record), command if records else ()))
            recorded.append((made[-1], Path(record)))
            return made[-1]
        if isinstance(book, str) and book.endswith(".toml") and "\n" not in book:
            book = Path(book)
        text = read_book_text(book) if isinstance(book, Path) else book
        if text:
            parse_book(text, book if isinstance(book, Path) else home / "book.toml")
            flags = ("--otherwise", "error", *flags)
        home.mkdir(mode=0o700)
        server = MockServer(home, flags)
        server.book.write_text(text, encoding="utf-8")
        made.append(server)
        return server

    yield make
    for server in made:
        server.stop()
    for server, file in recorded if records else ():
        _write_recording(server, file)

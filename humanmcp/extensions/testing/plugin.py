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
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
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
    recording: Recording | None = None
    """The recording that it makes or plays; None for a book's."""
    _started: list[tuple[Popen[bytes], str]] = field(default_factory=list)

    @property
    def command(self) -> list[str]:
        """The command that a client starts, as a list of words."""
        return self._words("humanmcp")

    def _words(self, module: str, *more: str) -> list[str]:
        """Return the command, with more flags behind the name of the subcommand."""
        if self.instead:
            return [sys.executable, "-m", module, self.instead[0], *more, *self.instead[1:]]
        words = (sys.executable, "-m", module, "serve", *more, "--handshake", "book")
        return [*words, "--home", str(self.home), "--book", str(self.book), *self.flags]

    @property
    def _refuses(self) -> bool:
        """Return True if it refuses requests without a rule, so that no test can answer them."""
        return dict(pairwise(self.instead or self.flags)).get("--otherwise") == "error"

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
                self._words("humanmcp.as_child", "--http"),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        address = re.compile(rb" (http://127\.0\.0\.1:\d+/mcp)\b(?!.*http://127)")
        found = None
        try:
            found = await_result(lambda: address.search(log_file.read_bytes()), TIMEOUT)
        finally:  # also if the test is interrupted
            if found is None:
                process.kill()
                process.communicate()
        if found is None:
            log_text = log_file.read_text("utf-8", "replace")
            raise AssertionError(f"the server did not start: {log_text}")
        return process, found[1].decode()

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


def _words_of(flag: str) -> Sequence[str]:
    """Return `--otherwise=hand` as two words, as the rest of this module looks for it."""
    return flag.split("=", 1) if flag.startswith("--otherwise=") else (flag,)


MODES: Final = ("none", "once", "new_episodes", "all")
"""When the real server is asked: never; if there is no recording; for what is not recorded; always.

They are those of vcr.py and pytest-recording.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("humanmcp")
    group.addoption(
        "--humanmcp-record",
        action="store_const",
        const="all",
        dest="humanmcp_record",
        help="run the real servers of humanmcp_server(record=…), and write their recordings anew",
    )
    group.addoption(
        "--humanmcp-record-mode",
        choices=MODES,
        dest="humanmcp_record",
        help="when to ask the real servers of humanmcp_server(record=…): never (none), without a "
        "recording (once), for requests that are not recorded (new_episodes), or always (all)",
    )
    parser.addini("humanmcp_record", "the default of --humanmcp-record-mode", default="none")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "humanmcp_record(mode): when to ask real servers; see --humanmcp-record-mode"
    )


def _mode(request: pytest.FixtureRequest) -> str:
    """Return when the real server is asked: as the command line, the test, or the project says."""
    mark = request.node.get_closest_marker("humanmcp_record")
    config = request.config
    mode = config.getoption("humanmcp_record", default=None)
    if mark and {*mark.kwargs} - {"mode"}:
        raise pytest.UsageError(f"humanmcp_record takes `mode`, not {', '.join(mark.kwargs)}")
    by_mark = [*mark.args, *mark.kwargs.values()] if mark else []
    mode = mode or (by_mark[0] if by_mark else config.getini("humanmcp_record"))
    if mode not in MODES:
        raise pytest.UsageError(f"humanmcp_record: {mode!r} is none of {', '.join(MODES)}")
    return str(mode)


@dataclass(frozen=True, slots=True)
class Recording:
    """The recording of one server of one test.

    `made` is the file that is written anew if the test passes, None if the recording only answers.
    `is_grown` says that the server adds to this file; else it is exported from the inbox.
    """

    file: Path
    made: Path | None = None
    is_grown: bool = False
    before: bytes = b""
    """What the file had when the server began to add to it."""
    is_played: bool = True
    must_be_used: bool = False


_SERVERS: Final = pytest.StashKey[list["MockServer"]]()
_PASSED: Final = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failed test which requests had no recorded answer, or what a recorder logged."""
    report = yield
    if call.when == "call":
        item.stash[_PASSED] = report.passed
    if call.when == "call" and report.failed:
        for server in item.stash.get(_SERVERS, []):
            recording = server.recording
            if recording is None:
                continue
            told = _side_by_side(server, recording.file) if recording.is_played else _log_of(server)
            if told:
                report.sections.append(("humanmcp", told))
    return report


_FORWARD: Final = ("--otherwise", "forward")
_FORWARD_UNATTENDED: Final = ("--otherwise", "forward-or-error")
"""Nobody answers during a test: it would wait for ever."""
_NOT_FOR_RECORDINGS: Final = frozenset({"--replay", "--home", "--http", "--book"})


def _recorded(
    server: MockServer, recording: Recording, mode: str, asked: Sequence[str], *, is_remote: bool
) -> MockServer:
    """Return the server with the command that records the real one, or plays its recording.

    `asked` is what a recorder is told of the real server: flags, `--`, its command or URL; empty
    for unknown.

    Raises:
        FileNotFoundError: there is no recording.
        TypeError: a flag cannot be used with a recording.
    """
    from humanmcp import extensions  # noqa: PLC0415 - see the head of this module

    if strays := [flag for flag in server.flags if flag.split("=")[0] in _NOT_FOR_RECORDINGS]:
        raise TypeError(f"a recording takes no {strays[0]}")
    home, file = server.home, recording.file
    recorder = (extensions.only("recorder"), "--quiet", "--home", str(home))
    if asked and mode != "none" and not recorder[0]:
        raise TypeError("no installed extension records a server")
    made = home / "recording.jsonl"
    if asked and (mode == "all" or (mode == "once" and not file.exists())):
        recording = replace(recording, made=made, is_played=False)
        return replace(server, recording=recording, instead=(*recorder, *asked))
    is_grown = bool(asked) and mode == "new_episodes"
    if not (file.exists() or is_grown):
        raise FileNotFoundError(f"{file} is not recorded yet: pytest --humanmcp-record")
    played = file
    after: tuple[str, ...] = () if "--otherwise" in server.flags else ("--otherwise", "error")
    if is_grown:
        before, played = _content(file), made
        recording = replace(recording, made=made, is_grown=True, before=before)
        if before:
            made.write_bytes(before)
        bridge = ("--", sys.executable, "-m", "humanmcp", *recorder[:-1], str(home / "remote"))
        after = (*_FORWARD_UNATTENDED, *(bridge if is_remote else ()), *asked)
    book = ("--book", str(server.book)) if server.book.exists() else ()
    words = ("serve", "--home", str(home), "--replay", str(played), *book, *server.flags, *after)
    return replace(server, recording=recording, instead=words)


def _write_recording(server: MockServer) -> None:
    """Write what was recorded, without its secrets. The old file stays unless all is well.

    Raises:
        AssertionError: nothing was recorded, or something else has added to the file meanwhile.
    """
    from humanmcp.common.person_files import write_whole  # noqa: PLC0415 - see the head of this module
    from humanmcp.export.recording import LAST, find_recording, recording_of  # noqa: PLC0415 - as above
    from humanmcp.locales.stop import StopError  # noqa: PLC0415 - as above
    from humanmcp.protocol.answer_book.recorded import recorded  # noqa: PLC0415 - as above
    from humanmcp.protocol.conversation.transcript import to_json  # noqa: PLC0415 - as above
    from humanmcp.protocol.validation.redaction import redact_recording  # noqa: PLC0415 - as above

    recording = server.recording
    if recording is None or recording.made is None:
        return
    try:
        is_grown, made = recording.is_grown, recording.made
        found = recording_of(made) if is_grown else find_recording(LAST, server.home)
        frames = redact_recording(found.frames).frames
    except StopError as error:
        raise AssertionError(f"{recording.file}: nothing was recorded. {error}") from error
    if not any(one.answered for one in recorded(frames)):
        raise AssertionError(f"{recording.file}: nothing was recorded. No request was answered.")
    if is_grown and made.read_bytes() == recording.before:
        return
    if is_grown and _content(recording.file) != recording.before:
        raise AssertionError(
            f"{recording.file}: something else has added to it. Run this test again."
        )
    recording.file.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{to_json(frame)}\n" for frame in frames)
    write_whole(recording.file, text.encode("utf-8", "replace"))


def _content(file: Path) -> bytes:
    """Return what a recording has, nothing before it is made."""
    return file.read_bytes() if file.exists() else b""


def _check_use(server: MockServer) -> None:
    """Fail if each recorded request must be sent, and one was not.

    Raises:
        AssertionError: there is one.
    """
    from collections import Counter  # noqa: PLC0415 - see the head of this module

    from humanmcp.export.recording import recording_of  # noqa: PLC0415 - as above
    from humanmcp.protocol.answer_book.recorded import recorded  # noqa: PLC0415 - as above
    from humanmcp.protocol.tables import methods  # noqa: PLC0415 - as above

    recording = server.recording
    if recording is None or not (recording.must_be_used and recording.is_played):
        return
    given = Counter(call.by.split(" (")[0] for call in server.calls())
    left = [
        f"{one.method} {one.name}".rstrip()
        for one in recorded(recording_of(recording.file).frames)
        if one.answered and one.id and not methods.of(one.method).introduces
        if not given[f"replay: {one.seq}"]
    ]
    if left:
        raise AssertionError(f"{recording.file}: recorded, but not called: {', '.join(left)}")


def _log_of(server: MockServer) -> str:
    """Return what the recorder of a server logged, such as how the server ended."""
    from humanmcp.protocol.validation.redaction import without_secrets  # noqa: PLC0415 - see the head of this module

    log = server.home / "humanmcp.log"
    return without_secrets(log.read_text("utf-8", "replace")) if log.exists() else ""


def _side_by_side(server: MockServer, file: Path) -> str:
    """Return the requests without a recorded answer, each beside the recorded one most like it."""
    import difflib  # noqa: PLC0415 - see the head of this module
    import json  # noqa: PLC0415 - as above

    from humanmcp.answering.summary import calls  # noqa: PLC0415 - as above
    from humanmcp.export.recording import recording_of  # noqa: PLC0415 - as above
    from humanmcp.locales.stop import StopError  # noqa: PLC0415 - as above
    from humanmcp.protocol.answer_book.recorded import BY_NOTHING  # noqa: PLC0415 - as above
    from humanmcp.protocol.validation.redaction import without_secrets  # noqa: PLC0415 - as above

    def written(call: ReceivedCall) -> list[str]:
        return json.dumps(call.arguments, indent=1, ensure_ascii=False, sort_keys=True).split("\n")

    try:
        recorded = calls(recording_of(file).frames) if file.exists() else ()
    except StopError as error:  # an exception in this hook would end the run of pytest
        return str(error)
    parts = []
    for sent in server.calls():
        if sent.by != BY_NOTHING:
            continue
        alike = [one for one in recorded if (one.method, one.name) == (sent.method, sent.name)]
        lines = [str(sent.error["message"])]
        if alike:
            nearest = max(
                alike, key=lambda one: difflib.SequenceMatcher(None, one.line, sent.line).ratio()
            )
            lines += difflib.unified_diff(written(nearest), written(sent), "recorded", "sent", n=9)
        parts.append("\n".join(line.rstrip("\n") for line in lines))
    return without_secrets("\n\n".join(parts))


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
    `server_url=` names a server at an address, and `headers=` what it wants. A relative path is one
    of the project; `record=True` names the file after the test. The flags are those of `humanmcp
    serve --replay`. With `must_be_used`, a test fails that does not send each recorded request.

    Raises:
        FileNotFoundError: there is no such recording yet.
        BookFileError: the book cannot be used.
    """
    from humanmcp.common.book_file import parse_book, read_book_text  # noqa: PLC0415 - see above

    made: list[MockServer] = []
    request.node.stash[_SERVERS] = made

    def make(  # noqa: PLR0913 - a book, or a recording and all that belongs to it
        book: str | Path = "",
        *flags: str,
        record: str | Path | bool = False,
        command: Sequence[str] = (),
        server_url: str = "",
        headers: Mapping[str, str] = MappingProxyType({}),
        must_be_used: bool = False,
    ) -> MockServer:
        home = tmp_path / f"humanmcp-{len(made) + 1}"
        flags = tuple(word for flag in flags for word in _words_of(flag))
        if isinstance(book, str) and book.endswith(".toml") and "\n" not in book:
            book = Path(book)
        text = read_book_text(book) if isinstance(book, Path) else book
        if text or isinstance(book, Path):
            parse_book(text, book if isinstance(book, Path) else home / "book.toml")
            flags = ("--otherwise", "error", *flags) if not record else flags
        home.mkdir(mode=0o700)
        server = MockServer(home, flags)
        if text or not record:
            server.book.write_text(text, encoding="utf-8")
        if record:
            named = [word for pair in headers.items() for word in ("--header", ": ".join(pair))]
            real = [server_url] if server_url else command
            asked = [*named, "--", *real] if real else []
            recording = Recording(_file_of(request, made, record=record), must_be_used=must_be_used)
            mode = "new_episodes" if _FORWARD in pairwise(flags) else _mode(request)
            server = _recorded(server, recording, mode, asked, is_remote=bool(server_url))
        made.append(server)
        return server

    yield make
    with ExitStack() as ended:  # all is done of each server, whatever fails of another one
        for server in reversed(made):
            if request.node.stash.get(_PASSED, False):
                ended.callback(_check_use, server)
                ended.callback(_write_recording, server)
            ended.callback(server.stop)


def _file_of(
    request: pytest.FixtureRequest, made: Sequence[MockServer], *, record: str | Path | bool
) -> Path:
    """Return the file of a recording: as named, from the root of the project; else by the test."""
    if not isinstance(record, bool):
        return request.config.rootpath / record
    import re  # noqa: PLC0415 - see the head of this module
    import zlib  # noqa: PLC0415 - as above

    test = request.node.path
    # The end of the id is another one in a group of pytest-xdist.
    classes = request.node.nodeid.partition("::")[2].partition("[")[0].split("::")[:-1]
    name, _, values = request.node.name.partition("[")
    plain = re.sub(r"[^\w.=-]", "-", values.removesuffix("]"))
    parts = [*classes, name, plain]
    if f"{plain}]" != values and values:  # other values are written alike
        parts.append(f"{zlib.crc32(values.encode()):08x}")
    count = 1 + sum(one.recording is not None for one in made)
    number = f"-{count}" if count > 1 else ""
    file = f"{'-'.join(filter(None, parts))}{number}.jsonl"
    return Path(test.parent / "recordings" / test.stem / file)

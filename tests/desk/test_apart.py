"""Nobody waits for another's long text, and work ends when its page has gone.

The routes are those of the table of rights: a new one is a request here, or an exception with its
reason.
"""

import http.client
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

import pytest

from humanmcp import extensions
from humanmcp.common import apart
from humanmcp.desk.aside import MOST_PROCESSES
from humanmcp.desk.board import Board
from humanmcp.desk.history.problems import SessionProblems
from humanmcp.desk.rights import BUTTONS, TABLE, Entry
from humanmcp.inbox import transcripts
from humanmcp.inbox.contract import Item, Key, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.transcript import Direction, Frame, to_json
from tests.desk.history.test_opening import FILE, child_of, children_of
from tests.support.desk_process import FORM, JSON, Desking
from tests.support.waiting import PATIENCE, until

AT: Final = "2026-11-28T18:00:00.000Z"
CALL: Final = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"a"}}'
WRONG: Final = '{"type":"text","text":1}'
LARGE: Final = f'{{"content":[{",".join([WRONG] * 20_000)}]}}'
"""A result with a mistake in each of its blocks."""
LINES: Final = 6_000
STEP: Final = 0.5
"""Seconds of work after which nobody else may have waited for half of it."""


class Long(NamedTuple):
    """A request that makes work."""

    path: str
    body: bytes = b""
    kind: Mapping[str, str] = JSON


def of_json(path: str, **members: object) -> Long:
    return Long(path, json.dumps(members).encode())


def of_form(path: str, **fields: str) -> Long:
    return Long(path, urlencode(fields).encode(), FORM)


REQUESTS: Final[Mapping[str, Callable[[str], Long]]] = {
    "GET /": lambda _name: Long("/"),
    "GET /list": lambda _name: Long("/list"),
    "GET /m/{name}/{number}": lambda name: Long(f"/m/{name}/1"),
    "GET /m/{name}/{number}/line": lambda name: Long(f"/m/{name}/1/line"),
    "GET /m/{name}/{number}/status": lambda name: Long(f"/m/{name}/1/status"),
    "GET /m/{name}/{number}/ask": lambda name: Long(f"/m/{name}/1/ask"),
    "GET /m/{name}/{number}/keep": lambda name: Long(f"/m/{name}/1/keep"),
    "GET /history": lambda _name: Long("/history?q=nothing+that+is+there"),
    "GET /compare": lambda name: Long(f"/compare?line={name}/1&line={name}/2"),
    "GET /line/{name}/{seq}": lambda name: Long(f"/line/{name}/1"),
    "GET /timeline/{name}": lambda name: Long(f"/timeline/{name}"),
    "GET /check/{name}": lambda name: Long(f"/check/{name}"),
    "GET /export/{name}": lambda name: Long(f"/export/{name}?form=html"),
    "GET /faults/{name}": lambda name: Long(f"/faults/{name}"),
    "GET /apps/{name}": lambda name: Long(f"/apps/{name}"),
    "GET /authority": lambda _name: Long("/authority"),
    "GET /authority/{name}": lambda name: Long(f"/authority/{name}"),
    "GET /present": lambda name: Long(f"/present?name={name}"),
    "GET /media/{name}/{where}/{number}/{at}": lambda name: Long(f"/media/{name}/line/1/0"),
    "GET /say/{name}": lambda name: Long(f"/say/{name}?answer=1"),
    "GET /server": lambda name: Long(f"/server?session={name}"),
    "GET /server/entry": lambda name: Long(f"/server/entry?session={name}&member=tools"),
    "GET /api/exchanges/{session}/{number}": lambda name: Long(f"/api/exchanges/{name}/1"),
    "GET /api/exchanges/{session}/{number}/last": lambda name: Long(
        f"/api/exchanges/{name}/1/last"
    ),
    "GET /api/exchanges/{session}/{number}/schema": lambda name: Long(
        f"/api/exchanges/{name}/1/schema"
    ),
    "GET /api/history": lambda _name: Long("/api/history?q=nothing+that+is+there"),
    "GET /api/calls": lambda name: Long(f"/api/calls?session={name}"),
    "GET /api/exchanges": lambda _name: Long("/api/exchanges"),
    "GET /api/sessions/{session}/reactions": lambda name: Long(f"/api/sessions/{name}/reactions"),
    "GET /api/sessions/{session}/schema": lambda name: Long(f"/api/sessions/{name}/schema"),
    "GET /api/sessions/{session}/lines/{seq}": lambda name: Long(f"/api/sessions/{name}/lines/1"),
    "POST /api/exchanges/{session}/{number}/check": lambda name: of_json(
        f"/api/exchanges/{name}/1/check", text=LARGE, form="result"
    ),
    "POST /api/exchanges/{session}/{number}/autofix": lambda name: of_json(
        f"/api/exchanges/{name}/1/autofix", text=LARGE.replace('"', "'"), form="result"
    ),
    "POST /api/exchanges/{session}/{number}/draft": lambda name: of_json(
        f"/api/exchanges/{name}/1/draft", text=LARGE, form="result"
    ),
    "POST /api/exchanges/{session}/{number}/reply": lambda name: of_json(
        f"/api/exchanges/{name}/1/reply", text=LARGE, form="result"
    ),
    "POST /api/exchanges/{session}/{number}/fault": lambda name: of_json(
        f"/api/exchanges/{name}/1/fault", text=LARGE, form="result", fault="no jsonrpc"
    ),
    "POST /api/recordings": lambda _name: Long(
        "/api/recordings?name=a", "\n".join(["data: x {"] * 400_000).encode(), FILE
    ),
    "POST /api/drafts": lambda _name: of_json("/api/drafts?key=a", text=LARGE, words="a"),
    "POST /api/sessions/{session}/say": lambda name: of_json(
        f"/api/sessions/{name}/say", text=LARGE
    ),
    "POST /api/answers": lambda _name: of_json(
        "/api/answers", name="a", text=LARGE, form="result", method="tools/call"
    ),
    "POST /api/rules": lambda _name: of_json("/api/rules", text=LARGE),
    "POST /m/{name}/{number}": lambda name: of_form(f"/m/{name}/1", text=LARGE, form="result"),
    "POST /m/{name}/{number}/ask": lambda name: of_form(f"/m/{name}/1/ask", text=LARGE),
    "POST /m/{name}/{number}/keep": lambda name: of_form(
        f"/m/{name}/1/keep", text=LARGE, act="look"
    ),
    "POST /say/{name}": lambda name: of_form(f"/say/{name}", text=LARGE, act="send"),
    "POST /authority/{name}/{number}": lambda name: of_form(
        f"/authority/{name}/1", text=LARGE, act="send"
    ),
    "POST /book": lambda _name: of_form("/book", text=LARGE, act="be pasted"),
    "POST /server": lambda name: of_form("/server", session=name, text=LARGE, act="list"),
    "POST /server/entry": lambda name: of_form(
        "/server/entry", session=name, member="tools", json=LARGE, act="json"
    ),
}
"""A request of each route that reads what somebody sent, or takes a text."""
OF_EXTENSIONS: Final = {
    "/faults": "judge",
    "/apps": "apps",
    "/authority": "authority",
    **dict.fromkeys(("/book", "/server", "/api/rules", "/m/{name}/{number}/keep"), "books"),
}
"""Which extension brings the addresses that begin so."""


def requests() -> dict[str, Callable[[str], Long]]:
    """Return the requests of the routes that are there."""
    here = {one.name for one in extensions.installed()}
    absent = tuple(path for path, name in OF_EXTENSIONS.items() if name not in here)
    return {k: one for k, one in REQUESTS.items() if not k.partition(" ")[2].startswith(absent)}


EXCEPTIONS: Final = {
    "a room's own pages": {
        *("/room", "/own", "/wall", "/waiting", "/room/seat/{number}", "/room/mistake/{code}"),
        *("/room/export.zip", "/room/seats.csv"),
    },
    "the page without a server: nobody else is there": {"/check"},
    "a login, and files of this program": {
        *("/login", "/offline", "/favicon.ico", "/worker.js", "/manifest.webmanifest"),
        *("/static/{name:path}", "/static/~{kept}/{name:path}", "/api/openapi.json"),
    },
    "what this program, its person and its processes say": {
        *("/connect", "/settings", "/devices", "/mistake/{code}", "/taps", "/book", "/notices"),
        *("/api/answers", "/api/state", "/api/events", "/api/sessions"),
        "/api/sessions/{session}/say/{ticket}",
    },
}
"""Routes that read no text of a stranger."""


def test_each_route_has_a_request_or_a_reason_for_none() -> None:
    """A new one is tried, too."""
    brought = {key: each for one in extensions.loaded("pages") for key, each in one.RIGHTS.items()}
    reading = {key for key, one in {**TABLE, **brought}.items() if takes_text(key, one)}
    left = {path for paths in EXCEPTIONS.values() for path in paths}
    assert {key for key in reading if key.partition(" ")[2] not in left} <= requests().keys()
    assert requests().keys() <= reading


def takes_text(key: str, entry: Entry) -> bool:
    """Return True for a route that reads what is in the inbox, or has a long body."""
    return key.startswith("GET ") or entry.most > BUTTONS


class _Request(threading.Thread):
    """One request, sent and awaited beside the test."""

    def __init__(self, desk: Desking, method: str, long: Long) -> None:
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection("127.0.0.1", desk.port, timeout=6 * PATIENCE)
        headers = {**desk.bearer, **(long.kind if long.body else {})}
        self.connection.request(method, long.path, long.body or None, headers)
        self.status = 0
        self.ended = 0.0

    def run(self) -> None:
        with suppress(OSError):  # it was hung up
            response = self.connection.getresponse()
            response.read()
            self.status = response.status
        self.connection.close()
        self.ended = time.monotonic()


@pytest.fixture
def session(home: Path) -> str:
    """Return a session with long lines and many, and a request that waits with a long draft."""
    inbox = FolderInbox(home)
    name = inbox.begin_session(SessionFacts("", AT, client="a"))
    lines = [f'{{"jsonrpc":"2.0","id":{seq},"result":{LARGE}}}' for seq in (1, 2)]
    lines += [CALL % seq for seq in range(3, LINES)]
    with (inbox.folder(name) / "transcript.jsonl").open("w", encoding="utf-8") as file:
        for seq, line in enumerate(lines, 1):
            way = Direction.OUT if seq <= 2 else Direction.IN
            file.write(to_json(Frame(seq, AT, way, line.encode(), seq)) + "\n")
    inbox.deliver(Item(Key(name, 1), CALL % 1, "tools/call", "1", "2025-11-25", AT))
    return name


def _await(desk: Desking, method: str, long: Long) -> tuple[float, float]:
    """Send a long request; return the seconds that it took, and the longest wait of another."""
    begun, longest = time.monotonic(), 0.0
    request = _Request(desk, method, long)
    request.start()
    while request.is_alive():
        asked = time.monotonic()
        assert desk.ask("GET", "/api/state", headers=desk.bearer).status == 200
        longest = max(longest, time.monotonic() - asked)
    assert request.status in {200, 201, 303, 400, 404, 409, 413, 422}, (long.path, request.status)
    return request.ended - begun, longest


def _stood_still(waited: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Return what took a while, of which another waited for half or longer."""
    return {key: one for key, one in waited.items() if one[0] > STEP and one[1] > one[0] / 2}


@pytest.mark.timeout(600)  # every route that reads a text, one after the other
def test_nobody_waits_for_the_long_text_of_another(home: Path, session: str) -> None:
    """A page that is asked for meanwhile is there long before."""
    with Desking(home) as desk:
        desk.page("/")
        waited = {
            key: _await(desk, key.partition(" ")[0], request(session))
            for key, request in requests().items()
        }
    assert _stood_still(waited) == {}


SHAPES: Final = {
    "carriage returns": "\r",
    "quotes": '"',
    "digits": "1",
}
"""What is one long call of C for somebody, when it is repeated."""


def test_nobody_waits_for_one_long_step(home: Path, session: str) -> None:
    """While the check does not let a thread continue, it does not matter to others."""
    with Desking(home) as desk:
        desk.page("/")
        path = f"/api/exchanges/{session}/1"
        waited = {
            name: _await(desk, "POST", of_json(f"{path}/check", text=unit * 6_000_000))
            for name, unit in SHAPES.items()
        }
    assert _stood_still(waited) == {}


# -- what nobody waits for ------------------------------------------------------------------------

IN_A_PROCESS: Final = tuple(
    f"POST /api/exchanges/{{session}}/{{number}}/{call}" for call in ("check", "autofix")
)
"""Some routes whose work is one function of a text; that of an export begins with many lines."""


OF_MESSAGES: Final = (
    "GET /api/calls",
    "GET /api/sessions/{session}/lines/{seq}",
    "GET /api/exchanges/{session}/{number}",
    "GET /api/sessions/{session}/reactions",
)
"""The routes that decode, lay out or write whole messages."""


def _with_a_large_message(home: Path) -> str:
    """Return a session with a request of many values, which waits, and with a response."""
    inbox, values = FolderInbox(home), ",".join(["1"] * apart.LARGE)
    name = inbox.begin_session(SessionFacts("", AT, client="a"))
    request = CALL.replace('"a"', '"a","arguments":{"a":[%s]}') % (1, values)
    response = f'{{"jsonrpc":"2.0","id":1,"result":{{"structuredContent":[{values}]}}}}'
    for seq, (way, line) in enumerate(((Direction.IN, request), (Direction.OUT, response)), 1):
        inbox.record(name, Frame(seq, AT, way, line.encode(), 1))
    inbox.deliver(Item(Key(name, 1), request, "tools/call", "1", "2025-11-25", AT))
    return name


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
@pytest.mark.parametrize("key", [*IN_A_PROCESS, "GET /export/{name}", *OF_MESSAGES])
def test_the_work_ends_when_its_page_has_gone(home: Path, session: str, key: str) -> None:
    """However long it takes: its process is killed."""
    if key in OF_MESSAGES:
        session = _with_a_large_message(home)
    with Desking(home) as desk:
        desk.page("/")
        request = _Request(desk, key.partition(" ")[0], REQUESTS[key](session))
        child = until(lambda: child_of(desk.process.pid), "a process works")
        os.kill(child, signal.SIGSTOP)  # as if it took for ever
        assert desk.ask("GET", "/api/exchanges", headers=desk.bearer).status == 200
        assert child_of(desk.process.pid) == child
        request.connection.close()
        until(lambda: not child_of(desk.process.pid), "the process has ended")


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_many_long_texts_are_few_processes_at_once(home: Path, session: str) -> None:
    """The others wait their turn, and all are answered."""
    long = REQUESTS["POST /api/exchanges/{session}/{number}/check"](session)
    with Desking(home) as desk:
        desk.page("/")
        requests = [_Request(desk, "POST", long) for _ in range(2 * MOST_PROCESSES)]
        for one in requests:
            one.start()
        most = 0
        while any(one.is_alive() for one in requests):
            most = max(most, len(children_of(desk.process.pid)))
        assert {one.status for one in requests} == {200}
        assert 1 <= most <= MOST_PROCESSES


class _GoneError(Exception):
    """The page has gone."""


class _Leaving:
    """A visitor who leaves after so many steps."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def items(self, function: Callable[..., Iterable[Any]], *arguments: object) -> Iterator[Any]:
        yield from function(*arguments)

    def check(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise _GoneError


def test_a_check_of_many_lines_ends_when_its_page_has_gone(home: Path, session: str) -> None:
    """The next page goes on where it ended."""
    inbox, problems = FolderInbox(home), SessionProblems()
    board = Board(inbox)
    board.refresh_all()
    view = board.session(session)
    token = apart.VISITOR.set(_Leaving(100))
    try:
        with pytest.raises(_GoneError):
            problems.of(inbox, view)
    finally:
        apart.VISITOR.reset(token)
    assert problems.of(inbox, view, 0).messages == 101
    assert problems.of(inbox, view).is_cut


def test_a_search_of_a_large_log_ends_when_its_page_has_gone(
    home: Path, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where no line has the word, so that nothing is found on the way."""
    monkeypatch.setattr(transcripts, "_LARGEST_CHUNK", 1 << 10)
    inbox = FolderInbox(home)
    assert inbox.last_frames_before(session, 0, 1, "nowhere") == ()
    visitor = _Leaving(100)
    token = apart.VISITOR.set(visitor)
    try:
        with pytest.raises(_GoneError):
            inbox.last_frames_before(session, 0, 1, "nowhere")
        assert inbox.last_frames_before(session, 0, 1), "what is read for each page is short"
    finally:
        apart.VISITOR.reset(token)


def test_a_page_does_not_wait_for_the_check_of_another(home: Path, session: str) -> None:
    """It shows what is known so far."""
    inbox, problems = FolderInbox(home), SessionProblems()
    board = Board(inbox)
    board.refresh_all()
    view = board.session(session)
    known = problems.of(inbox, view, 0)
    checking, shown = threading.Event(), threading.Event()

    class _Slow(FolderInbox):
        def frames(self, session: str, after: int = 0) -> Iterator[Frame]:
            checking.set()
            assert shown.wait(PATIENCE)
            yield from super().frames(session, after)

    thread = threading.Thread(target=problems.of, args=(_Slow(home), view))
    thread.start()
    try:
        assert checking.wait(PATIENCE)
        assert problems.of(inbox, view, 0.01) == known._replace(is_whole=False)
    finally:
        shown.set()
        thread.join()

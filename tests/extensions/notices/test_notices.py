"""Notices to people who are elsewhere: when, what they tell, and what is wrong with their file."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from humanmcp.answering.standing import Standing
from humanmcp.answering.summary import Asker, Badge, Row, Summary
from humanmcp.extensions.notices.notice_rules import NoticesError, PhoneRule, Rule, read_rules
from humanmcp.extensions.notices.notices import (
    BEFORE_LIMIT,
    BOOK_SOON,
    LOOK_EVERY,
    SETTLED_AFTER,
    Planner,
)
from humanmcp.extensions.notices.notifier import Looked
from humanmcp.inbox.contract import Key, Waiting
from tests.browser.seats import begin, call
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import PATIENCE, until

# Apprise looks for it where Python still has it.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")


class Service(HTTPServer):
    """A service that takes notices as JSON, as Apprise sends them to `json://`."""

    def __init__(self, status: int = 200) -> None:
        """Listen on a free port, and answer with a status."""
        self.status = status
        self.taken: list[dict[str, Any]] = []
        super().__init__(("127.0.0.1", 0), _Taking)

    @property
    def address(self) -> str:
        """Its address as Apprise writes it."""
        return f"json://127.0.0.1:{self.server_port}/secret-path"


class _Taking(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Service)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.taken.append(json.loads(body))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[Service]:
    """A service that takes notices."""
    with Service() as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join(PATIENCE)


def row(number: int = 1, *, is_hook: bool = False, **waiting: Any) -> Row:  # noqa: ANN401 - the fields of `Waiting`
    """Return a request that came at second 1000."""
    return Row(
        key=Key("20260101T000000Z-1", number),
        badge=Badge("A", 0),
        method="tools/call",
        summary=Summary("ask"),
        standing=Standing.WAITS,
        arrived=1000.0,
        waiting=Waiting(**waiting),
        asker=Asker("20260101T000000Z-1", "/work", "client · …/work", is_hook),
    )


def told(one: Row, *, until_second: int) -> list[int]:
    """Return the seconds after its arrival in which a request has a notice."""
    planner = Planner(lambda: one.arrived)
    return [second for second in range(until_second) if planner.due([one], second, looked_at=False)]


def test_a_request_has_one_notice_and_one_before_its_client_gives_up() -> None:
    """One without a known limit has the first only."""
    assert told(row(), until_second=10_000) == [SETTLED_AFTER]
    assert told(row(limit=300.0, is_hook=True), until_second=600) == [SETTLED_AFTER]
    assert told(row(limit=300.0), until_second=600) == [SETTLED_AFTER, 300 - BEFORE_LIMIT + 1]
    assert told(row(limit=20.0), until_second=60) == [SETTLED_AFTER, 11]


def test_what_the_answer_book_answers_soon_has_no_notice() -> None:
    """Once a person stopped its countdown, it waits for the person."""
    assert told(row(book_at=5.0), until_second=4) == []
    assert told(row(book_at=BOOK_SOON + 60), until_second=20) == [SETTLED_AFTER]
    assert told(row(book_at=5.0, book="paused"), until_second=60) == [SETTLED_AFTER]


def test_what_somebody_looks_at_has_no_notice_afterwards_either() -> None:
    """The second one, before the limit, still goes out when nobody looks any more."""
    planner, one = Planner(lambda: 1002), row(limit=300.0)
    assert planner.due([one], 2, looked_at=True) == []
    assert planner.due([one], 200, looked_at=False) == []
    assert planner.due([one], 280, looked_at=False) == [one]


@pytest.mark.parametrize("wrong_by", [-100_000.0, 100_000.0])
def test_a_clock_that_is_wrong_or_set_moves_no_notice(wrong_by: float) -> None:
    """When a request came is the time of another computer; how long it waits is counted here."""
    wall = 1000.0
    planner, one = Planner(lambda: wall), row(limit=300.0)
    assert planner.due([], 50, looked_at=False) == []
    wall += wrong_by
    found = [second for second in range(51, 400) if planner.due([one], second, looked_at=False)]
    assert found == pytest.approx([52, 51 + 300 - BEFORE_LIMIT], abs=1)


def test_what_waited_before_the_desk_began_is_counted_from_when_it_came() -> None:
    """If the time of then is in the future, from when the desk began."""
    one = row(limit=300.0)
    late, early = Planner(lambda: 1280), Planner(lambda: 0)
    assert late.due([one], 5, looked_at=False) == [one]
    assert late.due([one], 10, looked_at=False) == []
    assert early.due([one], 5, looked_at=False) == []
    assert early.due([one], 6, looked_at=False) == [one]


def test_a_page_counts_as_looked_at_for_half_a_minute() -> None:
    """Nobody has to say that they went away."""
    now = 0.0
    looked = Looked(lambda: now)
    assert not looked.within(30)
    looked.now()
    now = 29.0
    assert looked.within(30)
    now = 31.0
    assert not looked.within(30)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("notices = [", "unreadable"),
        ("[notices]\n", "no list"),
        ("[other]\n", "no list"),
        ("[[notices]]\ndetail = 'question'\n", "no rule"),
        ("[[notices]]\nto = 3\n", "no rule"),
        ("[[notices]]\nto = 'json://x'\nextra = 'y'\n", "no rule"),
        ("[[notices]]\nto = 'json://x'\ndetail = 'all'\n", "no detail"),
        ("[[notices]]\nto = 'nonsense'\n", "no address"),
        ("ntfy = 3\n", "no list"),
        ("ntfy = ['a']\n", "no phone"),
        ("[[ntfy]]\nserver = 'https://ntfy.sh'\n", "no phone"),
        ("[[ntfy]]\ndevice = ' '\n", "no phone"),
        ("[[ntfy]]\ndevice = 'a'\ntopic = 'b'\n", "no phone"),
        ("[[ntfy]]\ndevice = 'a'\nbuttons = 'yes'\n", "no phone"),
        ("[[ntfy]]\ndevice = 'a'\nbuttons = true\n", "no buttons"),
        ("[[ntfy]]\ndevice = 'a'\nbuttons = true\ndetail = 'waiting'\n", "no buttons"),
        ("[[ntfy]]\ndevice = 'a'\nserver = 'ntfy.sh'\n", "no server"),
        ("[[ntfy]]\ndevice = 'a'\nserver = 'https://ntfy.sh/topic'\n", "no server"),
        ("[[ntfy]]\ndevice = 'a'\nserver = 'https://me:secret@ntfy.sh'\n", "no server"),
        ("[[ntfy]]\ndevice = 'a'\ntoken = 'secret\nX: y'\n", "unreadable"),
        ('[[ntfy]]\ndevice = "a"\ntoken = "secret\\nX: y"\n', "no server"),
        ("[[ntfy]]\ndevice = 'a'\n[[ntfy]]\ndevice = ' a '\n", "two phones"),
    ],
)
def test_what_is_wrong_with_the_file_is_said(tmp_path: Path, text: str, code: str) -> None:
    """Nothing is sent by a rule that is not understood, nor by those beside it."""
    file = tmp_path / "notices.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(NoticesError) as raised:
        read_rules(file)
    assert raised.value.code == code
    assert "secret" not in str(raised.value)


def test_rules_are_read(tmp_path: Path) -> None:
    """Without a file there are none; without a detail no text of a request leaves the computer."""
    file = tmp_path / "notices.toml"
    assert read_rules(file) == ([], [])
    file.write_text("[[notices]]\nto = 'json://x'\n[[ntfy]]\ndevice = 'a  b'\n", "utf-8")
    assert read_rules(file) == ([Rule("json://x")], [PhoneRule("https://ntfy.sh", device="a b")])


def test_a_notice_says_by_its_rule_how_much_leaves_the_computer(
    home: Path, service: Service
) -> None:
    """A rule for other clients says nothing."""
    home.mkdir(mode=0o700)
    rules = [("waiting", "*"), ("question", "test-*"), ("question", "other"), ("nothing", "*")]
    file = "".join(
        f'[[notices]]\nto = "{service.address}"\ndetail = "{detail}"\nclient = "{client}"\n'
        for detail, client in rules
    )
    (home / "notices.toml").write_text(file, encoding="utf-8")
    with Desking(home) as desk, Serving(home, "--by-hand") as host:
        begin(host, desk)
        before = len(service.taken)
        host.say(call(city="Tokyo"))
        until(lambda: len(service.taken) >= before + 2, "two notices")
        said = sorted(one["message"] for one in service.taken[before:])
        assert len(said) == 2
        assert said[0].startswith("A request waits for you.\nhttp://127.0.0.1")
        assert "Tokyo" not in said[0]
        assert said[1].startswith(
            f"test-host · …/{home.parent.parent.name}/{home.parent.name}: get_forecast"
        )
        assert "Tokyo" in said[1]
        assert desk.page("/notices").count("json://…") == 4
        assert "secret-path" not in desk.page("/notices")


def test_while_somebody_looks_at_a_page_there_are_no_notices(home: Path, service: Service) -> None:
    """A request after the one that was seen has its notice when nobody looks any more."""
    home.mkdir(mode=0o700)
    (home / "notices.toml").write_text(f'[[notices]]\nto = "{service.address}"\n', "utf-8")
    with Desking(home) as desk, Serving(home, "--by-hand") as host:
        assert "data-watched" in desk.page("/")
        assert desk.post("/api/looking", {}).json == {"noted": True}
        host.say(call(city="Tokyo"))
        (item,) = until(lambda: desk.get("/api/exchanges")["waiting"], "the call")
        due = item["arrived"] + SETTLED_AFTER + 4 * LOOK_EVERY
        until(lambda: time.time() > due, "the moment of a notice is over")
        # a test notice is sent by hand, and is the only one
        assert "The service accepted the notice." in desk.submit("/notices").text
        assert [one["message"].partition("\n")[0] for one in service.taken] == [
            "This is a test notice."
        ]


def test_a_service_that_is_away_is_named_and_loses_nothing(home: Path) -> None:
    """The request waits as before; the log does not have the address, which is a secret."""
    home.mkdir(mode=0o700)
    (home / "notices.toml").write_text('[[notices]]\nto = "json://127.0.0.1:9/secret"\n', "utf-8")
    with Desking(home) as desk, Serving(home, "--by-hand") as host:
        host.say(call(city="Tokyo"))
        log = home / "desk.log"
        until(lambda: "did not take a notice" in log.read_text("utf-8"), "a line in the log")
        assert "secret" not in log.read_text("utf-8")
        assert len(desk.get("/api/exchanges")["waiting"]) == 1
        assert "did not accept the notice" in desk.page("/notices")
        assert "did not accept the notice" in desk.submit("/notices").text


def test_a_notice_that_was_not_taken_is_sent_again_while_its_request_waits(
    home: Path, service: Service
) -> None:
    """The log has one line about it, however often it was tried."""
    home.mkdir(mode=0o700)
    (home / "notices.toml").write_text(f'[[notices]]\nto = "{service.address}"\n', "utf-8")
    service.status = 503
    with Desking(home) as desk, Serving(home, "--by-hand") as host:
        host.say(call(city="Tokyo"))
        until(lambda: len(service.taken) >= 2, "a second try")
        service.status = 200
        before = len(service.taken)
        until(lambda: len(service.taken) > before, "a try that is taken")
        until(lambda: "did not accept the notice" not in desk.page("/notices"), "all is well")
        assert (home / "desk.log").read_text("utf-8").count("did not take a notice") == 1
        assert desk.submit("/notices").text.count("The service accepted the notice.") == 1
        assert [one["message"].partition("\n")[0] for one in service.taken[before:]] == [
            "A request waits for you.",
            "This is a test notice.",
        ]


def test_a_question_reaches_a_service_within_three_seconds(home: Path, service: Service) -> None:
    """Counted from when the host said it."""
    home.mkdir(mode=0o700)
    rule = f'[[notices]]\nto = "{service.address}"\ndetail = "question"\n'
    (home / "notices.toml").write_text(rule, "utf-8")
    with Desking(home) as desk, Serving(home, "--by-hand") as host:
        begin(host, desk)
        assert "The service accepted the notice." in desk.submit("/notices").text
        host.say(call(city="Tokyo"))
        until(lambda: any("Tokyo" in one["message"] for one in service.taken), "the notice", 3.0)


def test_a_desk_with_a_wrong_file_says_so_and_starts(home: Path) -> None:
    """The desk is worth more than its notices."""
    home.mkdir(mode=0o700)
    (home / "notices.toml").write_text("[[notices]]\n", "utf-8")
    with Desking(home) as desk:
        assert "There are no notices." in desk.err.read_text("utf-8")
        assert desk.page("/")

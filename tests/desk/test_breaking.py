"""Add a fault: what the page asks for, and what the client makes of it."""

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from humanmcp.inbox.contract import Answer, HttpFacts, Item, Key, Order, Role, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.tables.faults import Fault
from tests.browser.seats import begin, call
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

LINE = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"weather","arguments":{}}}'


class Asked:
    """A desk, and a session in which a call of a tool waits."""

    def __init__(self, desk: Desking, role: Role) -> None:
        """Begin the session and deliver the call."""
        self.desk = desk
        self.inbox = FolderInbox(desk.home)
        facts = SessionFacts(name="", started="2026-11-21T01:00:00.000Z", role=role, pid=1)
        self.key = Key(self.inbox.begin_session(facts), 1)
        item = Item(self.key, LINE, "tools/call", "7", "2025-11-25", "2026-11-21T01:00:01.000Z")
        self.inbox.deliver(item)
        self.path = f"/m/{self.key.session}/{self.key.number}"


@pytest.fixture
def asked(desking: Desking) -> Iterator[Asked]:
    """A call that waits in the server's role."""
    found = Asked(desking, Role.SERVER)
    yield found
    found.inbox.end(found.key.session)


def test_a_script_asks_for_a_fault_and_nothing_is_kept(asked: Asked) -> None:
    """The same that the page does: the whole message, with the fault in it."""
    path = f"/api/exchanges/{asked.key.session}/{asked.key.number}"
    answer = asked.desk.post(
        f"{path}/fault", {"text": "sunny", "form": "text", "fault": "id-as-text"}
    )
    broken: dict[str, Any] = json.loads(answer.json["document"])
    assert broken["id"] == "7"
    assert broken["result"]["content"] == [{"type": "text", "text": "sunny"}]
    assert asked.inbox.item(asked.key).draft is None


def test_a_fault_of_http_is_asked_of_the_server_and_the_answer_stays_right(asked: Asked) -> None:
    """Where the session is over HTTP; nowhere else is it offered."""
    path = f"/api/exchanges/{asked.key.session}/{asked.key.number}"
    body = {"text": "sunny", "form": "text", "fault": "wrong-status"}
    assert "HTTP: wrong status" not in asked.desk.page(asked.path)
    facts = asked.inbox.facts(asked.key.session)._replace(http=HttpFacts(port="8766"), letter="")
    asked.inbox.describe(facts, NegotiatedState())
    until(lambda: "HTTP: wrong status" in asked.desk.page(asked.path), "the page knows of HTTP")
    right: dict[str, Any] = json.loads(asked.desk.post(f"{path}/fault", body).json["document"])
    assert right["id"] == 7
    asked.desk.post(f"{path}/fault", {**body, "fault": None})
    orders = [order for _ticket, order in asked.inbox.outgoing(asked.key.session)]
    assert {one.order for one in orders} == {Order.HTTP}
    assert [one.text for one in orders] == ["wrong-status", "none"]


def test_a_fault_that_there_is_not_is_refused(asked: Asked) -> None:
    """By its place in the body, without repeating it."""
    path = f"/api/exchanges/{asked.key.session}/{asked.key.number}"
    answer = asked.desk.post(f"{path}/fault", {"text": "sunny", "fault": "nonsense"})
    assert answer.status == 422
    assert answer.json["at"] == ["fault"]


def test_every_fault_stands_in_the_page_with_what_a_good_host_does(asked: Asked) -> None:
    """So that a tester can judge; a warning sign and a word beside the colour."""
    page = html.unescape(asked.desk.page(asked.path))
    assert 'value="wrong-id"' in page
    assert 'value="id-as-number"' not in page  # its id is one already
    assert "no request has this id" in page


def test_a_button_that_the_page_does_not_have_does_nothing(asked: Asked) -> None:
    """Nothing is sent, and nothing is kept."""
    assert asked.desk.submit(asked.path, text="sunny", form="text", act="nonsense").status == 404
    item = asked.inbox.item(asked.key)
    assert (item.draft, item.reply) == (None, None)


@pytest.mark.parametrize("role", [Role.CLIENT, Role.MODEL, Role.HOST])
def test_only_what_a_client_reads_is_broken(desking: Desking, role: Role) -> None:
    """In the other seats a server reads the answer, and what a good host does says nothing."""
    there = Asked(desking, role)
    page = desking.page(there.path)
    assert not [fault for fault in Fault if f'value="{fault.value}"' in page]
    there.inbox.end(there.key.session)


AT = "2026-11-21T01:00:02.000Z"


def test_a_broken_answer_is_called_so_where_its_line_is_not_found(asked: Asked) -> None:
    """The inbox knows it, too: the transcript may be too long to look through."""
    session, wrong = asked.key.session, '{"jsonrpc":"2.0","id":1000007,"result":{}}'
    asked.inbox.record(session, Frame(1, AT, Direction.IN, LINE.encode(), 1))
    asked.inbox.close(asked.key, ExchangeState.ANSWERED, Answer(wrong, "desk", AT, deliberate=True))
    until(lambda: ">sent anyway</b>" in asked.desk.page("/history"), "the answer in the history")


def test_a_broken_answer_says_what_the_client_made_of_it(asked: Asked) -> None:
    """At the answer and in the Sent strip; the right answer may still follow."""
    session, wrong = asked.key.session, '{"jsonrpc":"2.0","id":1000007,"result":{}}'
    asked.inbox.record(session, Frame(1, AT, Direction.IN, LINE.encode(), 1))
    asked.inbox.record(
        session, Frame(2, AT, Direction.OUT, wrong.encode(), 1, by="desk", note="deliberate")
    )
    asked.inbox.close(asked.key, ExchangeState.ANSWERED, Answer(wrong, "desk", AT, deliberate=True))
    said = "You sent a line that no client can use. "
    until(lambda: f"{said}Nothing has come since." in asked.desk.page(asked.path), "the answer")
    assert f"{said}Nothing has come since." in asked.desk.page(f"/?sent={session}/1")
    ping = b'{"jsonrpc":"2.0","id":8,"method":"ping"}'
    asked.inbox.record(session, Frame(3, AT, Direction.IN, ping))
    until(lambda: f"{said}The client continued." in asked.desk.page(asked.path), "the verdict")
    assert f"/say/{session}?answer=1" in asked.desk.page(asked.path)
    assert 'class="arrow result current deliberate"' in asked.desk.page(asked.path)
    assert ">sent anyway</b>" in asked.desk.page("/history")
    assert f"{said}The client continued." in asked.desk.page(f"/say/{session}")
    box = html.unescape(asked.desk.page(f"/say/{session}?answer=1").partition("<textarea")[2])
    assert '"id": 7' in box.partition("</textarea>")[0]


def test_a_cancelled_call_has_no_empty_box_and_a_way_to_answer_late(asked: Asked) -> None:
    """What was begun stays to be copied; an empty locked box says nothing."""
    asked.inbox.close(asked.key, ExchangeState.CANCELLED, reason="too slow")
    page = until(
        lambda: page if "too slow" in (page := asked.desk.page(asked.path)) else "", "the banner"
    )
    assert 'id="composer"' not in page
    assert f"/say/{asked.key.session}?answer=1" in page


def test_send_sends_an_answer_to_a_request_that_is_over(tmp_path: Path) -> None:
    """That is what the page was opened for; a mistake in it is told as elsewhere."""
    home = tmp_path / "home"
    with Desking(home, "--lang", "en") as desk, Serving(home, "--by-hand") as host:
        begin(host, desk)
        host.say(call("2"))
        (waiting,) = until(lambda: desk.get("/api/exchanges")["waiting"], "it waits")
        path = f"/say/{waiting['session']}"
        cancelled = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}'
        host.say(cancelled)
        until(lambda: not desk.get("/api/exchanges")["waiting"], "it is cancelled")
        page = desk.page(f"{path}?answer={waiting['number']}")
        assert "This request is over." in page
        box = html.unescape(page.partition("<textarea")[2].partition(">")[2].partition("<")[0])
        assert (
            "This request is over." in desk.submit(path, text=box[:-3], act="send", late="y").text
        )
        refused = desk.submit(path, text=box, act="send").text
        assert "(R51)" in refused
        assert "(J51)" not in refused
        assert desk.submit(path, text=box, act="send", late="y").status == 303
        assert json.loads(host.hear())["id"] == 2

"""What people submit at the desks: the order it goes out in, and orders for testing a client."""

import base64
import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from humanmcp.answering.service import OrderError, queue_outgoing
from humanmcp.inbox.contract import Item, Key, Life, Order, OutgoingResult, Reply, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.inbox.inbox_session import InboxSession
from humanmcp.protocol.diagnostics.model import TextForm
from tests.support.serve_process import Serving
from tests.support.waiting import PATIENCE, until

CALL: Final = (
    '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"sky","arguments":{},'
    '"_meta":{"progressToken":"t"}}}'
)
SUNNY: Final = '{"content":[{"type":"text","text":"sunny"}]}'


def progress(value: int) -> str:
    """Write a progress notification for the call."""
    params = {"progressToken": "t", "progress": value, "total": 4}
    return json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


class Held(Serving):
    """A server with one call waiting, and a desk beside it."""

    def __init__(self, home: Path, *flags: str) -> None:
        """Start it and let the call arrive."""
        super().__init__(home, *(flags or ("--by-hand",)))
        self.say(CALL)
        self.desk = FolderInbox(home)
        self.name = until(self.desk.sessions, "the session")[0].name
        self.key = until(lambda: self.desk.items(self.name), "the call")[0].key

    def order(self, order: Order, text: str = "") -> None:
        """Submit an order and wait until it is followed."""
        ticket = queue_outgoing(self.desk, self.name, Reply(text, by="test", order=order))
        until(
            lambda: self.desk.outgoing_result(self.name, ticket) == OutgoingResult(),
            f"{order} to be followed",
        )

    def item(self) -> Item:
        """Return the call as a desk sees it."""
        return self.desk.item(self.key)


# -- one order a session ----------------------------------------------------------------------


def test_what_is_handed_in_during_a_look_keeps_its_order(tmp_path: Path) -> None:
    """A message and the reply after it arrive while replies are taken."""

    class Late(FolderInbox):
        def take_replies(self, session: str) -> Sequence[tuple[Key, Reply]]:
            FolderInbox(tmp_path).submit(session, Reply("first", by="test", at="t1"))
            return [(Key(session, 1), Reply("second", by="test", at="t2"))]

    session = InboxSession.begin(Late(tmp_path), SessionFacts("", "2026-01-01T00:00:00Z"), str)
    assert [reply.text for _, reply in session.submissions()] == ["first", "second"]


def test_what_was_handed_in_first_goes_out_first(home: Path) -> None:
    """Progress said before an answer never goes out after it, however both are noticed."""
    with Held(home) as server:
        for value in range(1, 6):
            server.desk.submit(
                server.name, Reply(progress(value), anyway=True, by="test", at=f"t{value}")
            )
        server.desk.send(server.key, Reply(SUNNY, TextForm.RESULT, by="test", at="t6"))
        heard = [json.loads(server.hear()) for _ in range(6)]
    assert [one["params"]["progress"] for one in heard[:5]] == [1, 2, 3, 4, 5]
    assert heard[5]["id"] == 7


def test_of_one_moment_what_is_said_comes_before_what_ends_it(home: Path) -> None:
    """And what is said after an answer stays after it."""
    inbox = FolderInbox(home)
    name = inbox.begin_session(SessionFacts("", "2026-11-20T18:00:00.000Z"))
    key = Key(name, 1)
    inbox.deliver(Item(key, CALL, "tools/call", "7", "2025-11-25", "2026-11-20T18:00:00.000Z"))
    tickets = [
        inbox.submit(name, Reply(text, at=at))
        for text, at in (("first", "a"), ("b too", "b"), ("", "c"))
    ]
    inbox.send(key, Reply("answer", at="b"))
    marks = [mark for mark, _ in InboxSession(inbox, inbox.facts(name), str).submissions()]
    assert marks == [*tickets[:2], key, tickets[2]]


# -- progress can be switched off -------------------------------------------------------------


def test_by_hand_nothing_keeps_the_client_waiting(home: Path) -> None:
    """`--by-hand` says nothing for a person."""
    with Held(home) as server:
        waiting = server.item().waiting
        assert (waiting.keepalive, waiting.why_not) == ("", "silenced")
        with pytest.raises(AssertionError, match="no line on stdout"):
            server.hear(within=6)  # the first would have come after 5 s


def test_progress_does_not_go_on_with_the_half_line_of_a_person(home: Path) -> None:
    """The rest comes later, and belongs right behind the first half."""
    with Held(home, "--lang", "en") as server:
        assert server.item().waiting.keepalive == "progress-maybe"
        server.order(Order.RAW, base64.b64encode(b'{"jsonrpc":').decode())
        with pytest.raises(AssertionError, match="no line on stdout"):
            server.hear(within=6)  # the first progress would have come after 5 s
        server.order(Order.RAW, base64.b64encode(b'"2.0"}\n').decode())
        assert server.hear() == '{"jsonrpc":"2.0"}'
        assert json.loads(server.hear())["method"] == "notifications/progress"


@pytest.mark.parametrize("how", ["--no-progress", "book"])
def test_progress_is_switched_off_by_a_flag_and_by_the_book(home: Path, how: str) -> None:
    """A silent call can be tested."""
    home.mkdir(mode=0o700)
    if how == "book":
        (home / "book.toml").write_text("[server]\nprogress = false\n", encoding="utf-8")
    with Held(home, *(["--no-progress"] if how != "book" else ["--lang", "en"])) as server:
        assert server.item().waiting.why_not == "silenced"


def test_progress_is_switched_off_and_on_while_it_goes_on(home: Path) -> None:
    """From the page and from the interface."""
    with Held(home, "--lang", "en") as server:
        assert server.item().waiting.keepalive == "progress-maybe"
        server.order(Order.PROGRESS, "off")
        assert server.item().waiting.why_not == "silenced"
        server.order(Order.PROGRESS, "on")
        assert server.item().waiting.keepalive == "progress-maybe"


def test_a_persons_own_progress_ends_ours_for_that_call(home: Path) -> None:
    """1/4, 2/4, 3/4 arrive as they were sent, with nothing of ours between them."""
    with Held(home, "--lang", "en") as server:
        server.say(CALL.replace('"id":7', '"id":8').replace('"t"', '"u"'))
        other = until(lambda: server.desk.items(server.name)[1:], "the other call")[0].key
        server.desk.submit(server.name, Reply(progress(1), anyway=True, by="test"))
        assert json.loads(server.hear())["params"]["total"] == 4
        until(lambda: server.item().waiting.why_not == "silenced", "ours to end")
        assert server.desk.item(other).waiting.keepalive == "progress-maybe"
        heard = json.loads(server.hear())["params"]
        assert heard["progressToken"] == "u"


# -- orders -----------------------------------------------------------------------------------


def test_bytes_go_out_as_they_are_and_the_request_stays_open(home: Path) -> None:
    """Wrong first and right after; half a line; what is no UTF-8. The transcript has it."""
    with Held(home) as server:
        for raw in (b'{"jsonrpc":"2.0","id":7,"result":"sun', b'ny"}\n', b"\xff\xfe\n"):
            server.order(Order.RAW, base64.b64encode(raw).decode())
        assert server.hear_raw() == b'{"jsonrpc":"2.0","id":7,"result":"sunny"}'
        assert server.hear_raw() == b"\xff\xfe"
        server.desk.send(server.key, Reply(SUNNY, TextForm.RESULT, by="test"))
        assert json.loads(server.hear())["result"]["content"]
        notes = [frame.note for frame in server.desk.frames(server.name)]
    assert notes == ["", "deliberate bytes, no line end", *["deliberate bytes"] * 2, ""]


def test_silence_keeps_back_even_a_ping_until_it_is_over(home: Path) -> None:
    """And what was kept back is answered then."""
    with Held(home, "--lang", "en") as server:
        server.order(Order.SILENCE, "on")
        server.say('{"jsonrpc":"2.0","id":9,"method":"ping"}')
        until(lambda: len(server.desk.items(server.name)) == 2, "the ping to wait")
        server.order(Order.SILENCE, "off")
        assert json.loads(server.hear())["id"] == 9


def test_an_exit_on_purpose_has_the_status_that_was_asked_for(home: Path) -> None:
    """The session ends in order."""
    with Held(home) as server:
        server.order(Order.EXIT, "3")
        assert server.process.wait(timeout=PATIENCE) == 3
        assert server.desk.facts(server.name).life is Life.CLOSED
        assert "on purpose: exit 3" in [one.note for one in server.desk.frames(server.name)]


def test_a_crash_on_purpose_leaves_without_a_word(home: Path) -> None:
    """As kill -9 does; nothing that was written down is lost."""
    with Held(home) as server:
        server.order(Order.CRASH)
        assert server.process.wait(timeout=PATIENCE) == -signal.SIGKILL
        assert server.desk.facts(server.name).life is Life.GONE
        assert server.item().line == CALL


@pytest.mark.parametrize(
    ("order", "text", "code"),
    [
        (Order.RAW, "no base64!", "base64"),
        (Order.RAW, "", "base64"),
        (Order.SILENCE, "perhaps", "switch"),
        (Order.EXIT, "256", "status"),
        (Order.EXIT, "-1", "status"),
    ],
)
def test_an_order_that_nobody_can_follow_is_not_submitted(
    home: Path, order: Order, text: str, code: str
) -> None:
    """Bad input gets a sentence that says what to do."""
    with Held(home) as server:
        with pytest.raises(OrderError) as caught:
            queue_outgoing(server.desk, server.name, Reply(text, order=order))
        server.close()
        with pytest.raises(OrderError) as late:
            queue_outgoing(server.desk, server.name, Reply("3", order=Order.EXIT))
    assert (caught.value.code, late.value.code) == (code, "over")

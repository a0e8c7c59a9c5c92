"""Try all faults: a served client gets them one after the other, and the page shows what it did."""

import html
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pytest

from humanmcp.answering.service import queue_outgoing
from humanmcp.extensions.judge.server_faults import ServerFault, server_faults
from humanmcp.extensions.judge.trying import BY, to_try, tried
from humanmcp.extensions.judge.verdicts import Word
from humanmcp.inbox.contract import HttpFacts, Order, Reply, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.transcript import ON_PURPOSE, Direction, Frame
from tests.support.desk_process import Desking
from tests.support.serve_http import ServingHttp
from tests.support.serve_process import Serving, pending
from tests.support.waiting import until

HELLO: Final[dict[str, Any]] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"roots": {}},
    "clientInfo": {"name": "mine", "version": "1"},
}
BOOK: Final = """
[[tools]]
name = "t"
inputSchema = { type = "object" }
"""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desking]:
    """Start a desk."""
    (tmp_path / "home").mkdir()
    with Desking(tmp_path / "home", "--lang", "en") as one:
        yield one


@pytest.fixture
def host(tmp_path: Path, desk: Desking) -> Iterator[Serving]:
    """Start a server with one tool, and shake hands."""
    del desk
    book = tmp_path / "book.toml"
    book.write_text(BOOK)
    home = tmp_path / "home"
    with Serving(home, "--handshake", "book", "--book", str(book), "--lang", "en") as one:
        one.send(request(1, "initialize", **HELLO))
        one.hear()
        one.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        one.send(request(2, "tools/list"))
        one.hear()
        yield one


def request(number: int, method: str, **params: object) -> str:
    """Write a request."""
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def possible_in(
    version: str = "2025-11-25",
    capabilities: Mapping[str, Any] = MappingProxyType({}),
    port: str = "",
) -> list[ServerFault]:
    """Return the faults that can be tried in such a session; one with a port is over HTTP."""
    facts = SessionFacts("s", "", protocol_version=version, http=HttpFacts(port=port))
    return to_try(facts, NegotiatedState(client_capabilities=capabilities))


def call(number: int) -> str:
    """Write a call of the tool."""
    return request(number, "tools/call", name="t", arguments={})


def test_a_waiting_call_and_the_next_ones_are_answered_with_one_fault_each(
    desk: Desking, host: Serving
) -> None:
    """Until it is stopped; what the client did then, and showed, stands on the page."""
    host.send(call(3))
    name = until(host.find_session, "a session").name
    address = f"/faults/{name}"
    (key,) = pending(desk.home)
    assert f'href="{address}"' in desk.page(f"/m/{name}/{key.number}")
    assert "Tried: 0 of " in desk.page(address)
    assert desk.submit(address, act="on").headers["location"] == address
    assert json.loads(host.hear()).keys() == {"jsonrpc", "id", "result", "_meta"}
    host.send(call(4))
    assert '"error":null' in host.hear()
    host.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}')
    host.send(call(5))
    assert '"result":null' in host.hear()
    assert desk.submit(address, act="shown error_null w").status == 303
    page = until(lambda: _with(desk.page(address), "<b>believed</b>"), "what the client showed")
    assert "Tried: 3 of " in page
    rows = re.findall(r"<p><b>([^<]*)</b> ([^<]*)", page)
    assert [html.unescape(what).strip() for _word, what in rows] == [
        'A response has an error and "result": null.',
        'A response has a result and "error": null.',
        "A response has a member besides jsonrpc, id and result.",
    ]
    assert [word for word, _what in rows] == ["not known", "believed", "not known"]
    assert "it cancelled its request" in page
    assert desk.submit(address, act="off").status == 303
    until(lambda: ">Try all faults</button>" in desk.page(address), "it has stopped")
    host.send(call(6))
    assert len(pending(desk.home)) == 1


def _with(page: str, part: str) -> str:
    return page if part in page else ""


@pytest.mark.parametrize("order", ["", "all", "shown nan", "shown nan x", "shown A r"])
def test_an_order_that_is_none_is_refused(desk: Desking, host: Serving, order: str) -> None:
    """On the page it is an act that the table does not know, or a sentence."""
    name = until(host.find_session, "a session").name
    path = f"/api/sessions/{name}/say"
    assert desk.post(path, {"text": f"faults {order}", "order": "extension"}).status == 422
    if order.startswith("shown "):
        assert "is not allowed here" in desk.submit(f"/faults/{name}", act=order).text


def test_a_permission_prompt_and_a_question_wait_for_a_person(
    tmp_path: Path, desk: Desking
) -> None:
    """What an agent asks is never answered by a fault."""
    with Serving(tmp_path / "home", "--handshake", "book", "--approvals") as host:
        host.send(request(1, "initialize", **HELLO))
        host.hear()
        host.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        host.send(request(2, "tools/list"))
        tools = {one["name"] for one in json.loads(host.hear())["result"]["tools"]}
        name = until(host.find_session, "a session").name
        desk.post(f"/api/sessions/{name}/say", {"text": "faults on", "order": "extension"})
        until(lambda: ">Stop</button>" in desk.page(f"/faults/{name}"), "it has begun")
        asked = {"approve": {"tool_name": "Bash", "input": {}}, "ask_human": {"question": "Well?"}}
        assert tools >= asked.keys()
        for number, (tool, arguments) in enumerate(asked.items(), start=3):
            host.send(request(number, "tools/call", name=tool, arguments=arguments))
        assert len(pending(tmp_path / "home", 2)) == 2


@pytest.mark.parametrize("waits", [1, None], ids=["one waits", "all wait"])
def test_all_of_them_are_played_one_after_the_other(
    desk: Desking, host: Serving, waits: int | None
) -> None:
    """The server survives each; afterwards a call waits for a person again."""
    possible = possible_in(capabilities=HELLO["capabilities"])
    name = until(host.find_session, "a session").name
    calls = [call(number) for number in range(3, 3 + len(possible))]
    for one in calls[:waits]:
        host.send(one)
    pending(desk.home, len(calls[:waits]))
    assert desk.submit(f"/faults/{name}", act="on").status == 303
    for one in calls[len(calls[:waits]) :]:
        host.send(one)
    host.send(call(1000))
    tells = f"Tried: {len(possible)} of {len(possible)}"
    until(lambda: _with(desk.page(f"/faults/{name}"), tells), "all are played")
    assert len(pending(desk.home)) == 1
    verdicts, _is_on = tried(FolderInbox(desk.home).frames(name))
    assert [one.name for one in verdicts] == [one.name for one in possible]
    written = b"".join(host.close()[1])
    assert [b"Content-Length: 60\r\n\r\n" in written, b"\n\n\n" in written] == [True, True]
    assert "please report" not in host.last_words()


def test_over_http_each_call_gets_its_fault(tmp_path: Path) -> None:
    """As the event of its response, whichever line it is; the session is not hurt."""
    inbox = FolderInbox(tmp_path / "inbox")
    with ServingHttp(tmp_path / "inbox", "--handshake", "book") as server:
        headers = server.initialize()
        possible = possible_in(port="1")
        name = until(lambda: [one.name for one in inbox.sessions()], "a session")[0]
        queue_outgoing(inbox, name, Reply("faults on", by="desk", order=Order.EXTENSION))
        until(lambda: tried(inbox.frames(name))[1], "it has begun")
        for number, _row in enumerate(possible, start=2):
            assert server.ask(body=call(number), headers=headers).status == 200
        verdicts, _is_on = tried(inbox.frames(name))
        assert [one.name for one in verdicts] == [one.name for one in possible]


@pytest.mark.parametrize("port", ["", "1"])
def test_every_fault_that_is_tried_is_one_answer_to_one_call(port: str) -> None:
    """None waits, ends the server, or floods; over HTTP none has a line feed in it."""
    found = possible_in(capabilities={"elicitation": {}}, port=port)
    assert len(found) >= 60
    for row in found:
        assert row.method == "tools/call"
        assert row.transport != "http"
        assert all(step.keys() <= {"line", "right"} for step in row.steps)
        assert not port or not any("\n" in step.get("line", "") for step in row.steps)
    names = {one.name for one in found}
    assert "roots_not_declared" in names
    assert not names & {"elicitation_not_declared", "unknown_result_type", "huge_result"}
    modern = {one.name for one in possible_in("2026-07-28", port=port)}
    assert {"unknown_result_type", "elicitation_not_declared"} <= modern


def frame(seq: int, way: Direction, text: str, row: str = "", note: str = "") -> Frame:
    """Return a frame, a second after the one before."""
    at = f"2026-01-01T00:00:{seq:02}.000Z"
    return Frame(seq, at, way, text.encode(), by=f"{BY}: rule {row}" if row else "", note=note)


def ordered(seq: int, text: str) -> Frame:
    """Return the frame of an order."""
    return frame(seq, Direction.NOTE, "", note=f"{ON_PURPOSE}faults {text}")


CANCELLED: Final = '{"method":"notifications/cancelled","params":{"requestId":1}}'


@pytest.mark.parametrize(
    ("name", "then", "word"),
    [
        ("no_content", [], Word.UNKNOWN),
        ("no_content", [ordered(4, "shown no_content e")], Word.TOLD),
        ("no_content", [ordered(4, "shown no_content n")], Word.SILENT),
        ("another_id", [frame(4, Direction.IN, CANCELLED)], Word.WAITED),
        ("unknown_request", [frame(4, Direction.IN, '{"id":"ask-1","error":{}}')], Word.WELL),
        ("unknown_request", [frame(4, Direction.IN, '{"id":"ask-1","result":{}}')], Word.BELIEVED),
        ("null_flag", [ordered(4, "shown null_flag r")], Word.WELL),
    ],
)
def test_the_word_comes_from_what_was_recorded_and_shown(
    name: str, then: list[Frame], word: Word
) -> None:
    """By the same tables as every verdict."""
    begun = [ordered(1, "on"), frame(2, Direction.OUT, "{}", name)]
    (found,), is_on = tried([*begun, *then])
    assert (found.name, found.word, is_on) == (name, word, True)
    assert tried([*begun, *then, ordered(5, "off")])[1] is False
    assert tried([*begun, *then, ordered(5, "on")]) == ([], True)


def test_every_fault_can_be_shown_to_be_something() -> None:
    """Names of an order are those of the table."""
    assert all(re.fullmatch("[a-z0-9_]{1,60}", name) for name in server_faults())

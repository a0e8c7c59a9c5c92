"""What a page knows of the moment it shows."""

import asyncio
import contextlib
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.requests import Request

from humanmcp.answering.open_exchange import LARGEST, Decoded
from humanmcp.common.settings import Settings
from humanmcp.desk import command
from humanmcp.desk import context as frame
from humanmcp.desk.guard import Address
from humanmcp.desk.history import search
from humanmcp.desk.inbox import inbox_page
from humanmcp.inbox.contract import Answer, Item, Key, Role, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.undecoded import BEGINNING, MOST_VALUES
from humanmcp.protocol.repair.reading import json_doubts
from tests.support.desk_process import Desking
from tests.support.routes import TEMPLATES
from tests.support.waiting import until


def test_a_change_that_comes_while_a_page_is_made_is_asked_for_again(home: Path) -> None:
    """The page carries the number of the last change from before it gathered what it shows."""
    desk = command.make_desk(home, Address(8765), Settings())
    scope = {"type": "http", "path": "/", "headers": [], "query_string": b""}
    request = Request(scope | {"state": {"desk": desk}})
    before = desk.board.version
    asyncio.run(frame.note_version(request))
    desk.board.poke()  # a message arrives
    assert desk.board.version > before
    shown = frame.page(request, "missing.html").body
    assert f'data-version="{before}"'.encode() in bytes(shown)


def test_a_name_is_kept_in_the_browser_and_shown_as_text(desking: Desking) -> None:
    """Forty characters of it; control and direction characters are made visible."""
    form = {"Content-Type": "application/x-www-form-urlencoded", **desking.bearer}
    typed = quote("山\x1b\u202e<b>" + "x" * 60)
    kept = desking.ask("POST", "/preferences", body=f"name={typed}".encode(), headers=form)
    cookie = kept.headers["set-cookie"].split(";")[0]
    assert cookie.isascii()
    page = desking.ask("GET", "/", headers={**desking.bearer, "Cookie": cookie}).text
    (shown,) = re.findall(r'name="name" value="([^"]*)"', page)
    assert html.unescape(shown).startswith("山")
    assert html.unescape(shown).endswith("<b>" + "x" * 34)
    assert "\x1b" not in shown
    assert "\u202e" not in shown


AT = "2026-11-20T18:49:07.123Z"


@contextlib.contextmanager
def waiting(inbox: FolderInbox, method: str) -> Iterator[str]:
    """Let a request of this method wait. Yields the session's name."""
    line = json.dumps({"jsonrpc": "2.0", "id": 7, "method": method})
    name = inbox.begin_session(SessionFacts("", AT))
    inbox.deliver(Item(Key(name, 1), line, method, "7", "2025-11-25", AT))
    yield name
    inbox.end(name)


def test_a_page_says_that_the_client_reads_nothing(desking: Desking) -> None:
    """Whoever answers learns that the answer will wait, in the page and by a script."""
    inbox = FolderInbox(desking.home)
    shown = []
    with waiting(inbox, "ping") as name:
        for stuck in (False, True):
            inbox.describe(SessionFacts(name, AT, stuck=stuck), NegotiatedState())
            until(lambda: desking.session(name).get("stuck") is stuck, "the desk knows")  # noqa: B023 - asked at once
            page_ = desking.page(f"/m/{name}/1/status")
            shown.append("has not read anything for half a minute" in page_)
    assert shown == [False, True]


def test_a_method_goes_on_in_the_next_line_after_a_slash(desking: Desking) -> None:
    """Not in the middle of a word; and what came is text all the same."""
    with waiting(FolderInbox(desking.home), "sampling/<b>") as name:
        until(lambda: desking.session(name).get("waiting") == 1, "the desk knows")
        shown = desking.page(f"/list?session={name}")
    assert "sampling/<wbr>&lt;b&gt;" in shown


def test_the_list_after_an_event_leaves_out_the_menu_of_all_sessions(home: Path) -> None:
    """It is asked for after each event: what it costs must not grow with the sessions."""
    inbox = FolderInbox(home)
    names = [inbox.begin_session(SessionFacts("", AT, client=f"agent {one}")) for one in range(40)]
    counts = {}
    with Desking(home) as desk:
        for path in ("/", "/list", "/list?sessions=yes"):
            menu = desk.page(path).partition('id="all-sessions"')[2].partition("</ul>")[0]
            counts[path] = sum(f"session={name}" in menu for name in names)
    for name in names:
        inbox.end(name)
    assert counts == {"/": 40, "/list": 0, "/list?sessions=yes": 40}


def test_the_page_of_a_huge_request_is_small_and_leads_to_the_rest(home: Path) -> None:
    """A call with a hundred thousand arguments: what is not shown is a link away."""
    inbox = FolderInbox(home)
    name = inbox.begin_session(SessionFacts("", AT))
    arguments = ",".join(f'"k{one}":{one}' for one in range(100_000))
    params = f'{{"name":"forecast","arguments":{{{arguments}}}}}'
    line = f'{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}'
    inbox.deliver(Item(Key(name, 1), line, "tools/call", "7", "2025-11-25", AT))
    with Desking(home) as desk:
        shown, whole = desk.page(f"/m/{name}/1"), desk.page(f"/m/{name}/1/line")
    inbox.end(name)
    assert len(shown) < 600_000
    assert f"/m/{name}/1/line" in shown
    assert "You see only its beginning" in shown
    assert whole == line


@pytest.mark.parametrize(("largest", "times"), [(LARGEST, 0), (10, 3)], ids=["usual", "huge"])
def test_a_page_decodes_the_request_at_most_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, largest: int, times: int
) -> None:
    """What the list has decoded is known; what is too large for that is decoded once a look."""
    monkeypatch.setattr("humanmcp.answering.open_exchange._lines", Decoded(largest))
    inbox = FolderInbox(tmp_path / "home")
    name = inbox.begin_session(
        SessionFacts("", "2026-11-20T18:49:07Z", protocol_version="2025-11-25")
    )
    line = (
        '{"jsonrpc":"2.0","id":"r7","method":"tools/call","params":{"name":"dice","arguments":{}}}'
    )
    arrived = "2026-11-20T18:49:07Z"
    inbox.deliver(Item(Key(name, 1), line, "tools/call", '"r7"', "2025-11-25", arrived))
    read, decoded = jsonrpc.read, []

    def counting(raw: bytes) -> jsonrpc.Message | jsonrpc.Batch | jsonrpc.Malformed:
        decoded.append(raw)
        return read(raw)

    monkeypatch.setattr(jsonrpc, "read", counting)
    desk = command.make_desk(inbox.home, Address(8765), Settings())
    desk.board.refresh_all()
    inbox_page._message(desk, desk.open_exchange(Key(name, 1)), inbox_page.ViewOptions())
    decoded.clear()
    for _ in range(3):
        inbox_page._message(desk, desk.open_exchange(Key(name, 1)), inbox_page.ViewOptions())
    assert [raw for raw in decoded if b"r7" in raw] == [line.encode()] * times


def test_only_the_beginning_of_a_huge_message_is_decoded_for_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a line is decoded nobody else gets a page: a million values took a second."""
    inbox = FolderInbox(tmp_path / "home")
    name = inbox.begin_session(SessionFacts("", AT, protocol_version="2025-11-25"))
    values = ",".join(["{}"] * MOST_VALUES)
    params = f'{{"name":"dice","arguments":{{"a":[{values}]}}}}'
    line = f'{{"method":"tools/call","params":{params},"jsonrpc":"2.0","id":"r7"}}'
    inbox.record(name, Frame(1, AT, Direction.IN, line.encode(), 1))
    inbox.deliver(Item(Key(name, 1), line, "tools/call", '"r7"', "2025-11-25", AT))
    read, sizes = jsonrpc.read, []

    def counting(raw: bytes) -> jsonrpc.Message | jsonrpc.Batch | jsonrpc.Malformed:
        sizes.append(len(raw))
        return read(raw)

    def counting_doubts(text: str) -> object:
        sizes.append(len(text))
        return json_doubts(text)

    monkeypatch.setattr(jsonrpc, "read", counting)
    monkeypatch.setattr("humanmcp.protocol.validation.incoming.json_doubts", counting_doubts)
    desk = command.make_desk(inbox.home, Address(8765), Settings())
    desk.board.refresh_all()
    shown = inbox_page._message(desk, desk.open_exchange(Key(name, 1)), inbox_page.ViewOptions())
    listed = search.recent(desk.board, 8)
    assert shown["row"].summary.name == listed[0].summary.name == "dice"
    assert "r7" in shown["initial_state"]
    assert shown["answerable"]
    assert sizes
    assert max(sizes) < 2 * BEGINNING


def test_after_the_last_session_the_page_says_that_it_is_over(home: Path) -> None:
    """It does not say that no host is connected *yet*, and leads to what was said."""
    inbox = FolderInbox(home)
    inbox.end(inbox.begin_session(SessionFacts("", AT, client="humanmcp-play")))
    with Desking(home) as desk:
        page = html.unescape(desk.page("/"))
    assert "No host is connected any more." in page
    assert 'href="/history"' in page
    assert "No host is connected yet" not in page


def test_a_recording_that_was_opened_is_no_host_that_was_connected(home: Path) -> None:
    """It said that no host is connected *any more*."""
    inbox = FolderInbox(home)
    inbox.end(inbox.begin_session(SessionFacts("", AT, Role.READER, client="a.jsonl")))
    with Desking(home) as desk:
        page = desk.page("/")
    assert "No host is connected yet" in page
    assert "any more" not in page


def test_a_page_forgets_an_answered_exchange(desking: Desking) -> None:
    """A form below the answer, and afterwards there is no such page; what waits stays."""
    inbox = FolderInbox(desking.home)
    with waiting(inbox, "ping") as name:
        until(lambda: desking.session(name).get("waiting") == 1, "the desk knows")
        desking.submit(f"/m/{name}/1", act="forget")
        assert inbox.item(Key(name, 1)).state is ExchangeState.PENDING
        inbox.close(Key(name, 1), ExchangeState.ANSWERED, Answer('{"secret":1}', "desk", AT))
        assert "Delete permanently" in desking.page(f"/m/{name}/1")
        assert desking.submit(f"/m/{name}/1", act="forget").status == 303
        assert desking.ask("GET", f"/m/{name}/1", headers=desking.bearer).status == 404


def test_no_template_takes_an_id_of_the_frame() -> None:
    """Scripts find `words`, `said` and others by their id: the first one of the page is theirs."""
    (base,) = (one for one in TEMPLATES if one.name == "base.html")
    bare = re.sub(r"(?s){% block body %}.*?{% endblock %}", "", base.read_text("utf-8"))
    ids = set(re.findall(r'\sid="([\w-]+)"', bare))
    assert {"words", "said", "live", "menu", "choices"} <= ids
    taken = [
        (one.name, found)
        for one in TEMPLATES
        if one != base
        for found in re.findall(r'\sid="([\w-]+)"', one.read_text("utf-8"))
        if found in ids
    ]
    assert taken == []

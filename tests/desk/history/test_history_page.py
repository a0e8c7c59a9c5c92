"""A session is exported from the page, in each format, with its secrets taken out."""

import html
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from humanmcp.export.command import FORMATS
from humanmcp.inbox.contract import Item, Key, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.inbox.form_drafts import FormDrafts
from humanmcp.protocol.conversation.transcript import HTTP, Direction, Frame
from humanmcp.protocol.http.client import request_part, response_part
from tests.desk.history.test_opening import opened
from tests.support.desk_process import Desking

SECRET = "sk-ant-api03-" + "a1B2" * 12
LINE = (
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dice",'
    f'"arguments":{{"api_key":"{SECRET}"}}}}}}'
)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[tuple[Desking, str]]:
    """A desk over a session in which a key was said."""
    home = tmp_path / "home"
    inbox = FolderInbox(home)
    name = inbox.begin_session(SessionFacts("", "2026-11-20T18:00:00.000Z"))
    inbox.record(name, Frame(1, "2026-11-20T18:00:00.000Z", Direction.IN, LINE.encode()))
    with Desking(home, "--lang", "en") as desk:
        yield desk, name


def test_a_session_is_saved_in_each_format(session: tuple[Desking, str]) -> None:
    """The page offers them; a file has its name, and no secret unless it is wanted."""
    desk, name = session
    page = desk.page(f"/export/{name}")
    for form, made in FORMATS.items():
        assert f'value="{form}"' in page
        answer = desk.ask("GET", f"/export/{name}?form={form}", headers=desk.bearer)
        assert answer.status == 200
        assert f'filename="{name}.{made.ending}"' in answer.headers["content-disposition"]
        if form != "decisions":  # nobody decided anything
            assert name in answer.text or "dice" in answer.text
        assert SECRET not in answer.text
    kept = desk.ask("GET", f"/export/{name}?form=jsonl&secrets=keep", headers=desk.bearer)
    assert SECRET in kept.text


def test_a_line_shows_the_heads_that_carried_it(tmp_path: Path) -> None:
    """They have no row; a head by itself is where the search leads to it."""
    home, moment = tmp_path / "home", "2026-11-20T18:00:00.000Z"
    inbox = FolderInbox(home)
    name = inbox.begin_session(SessionFacts("", moment))
    inbox.record(name, Frame(1, moment, Direction.IN, LINE.encode()))
    heads = (
        request_part(1, "POST", "/mcp", (("host", "h<b>"),), "1 tools/call"),
        response_part(1, 418, "I'm a Teapot", (("retry-after", "7"),)),
    )
    for seq, head in enumerate(heads, 2):
        inbox.record(name, Frame(seq, moment, Direction.NOTE, head.encode(), note=HTTP))
    shown = "HTTP 1 -> POST /mcp\nhost: h<b>\n\nHTTP 1 <- 418 I'm a Teapot\nretry-after: 7"
    with Desking(home, "--lang", "en") as desk:
        page = html.unescape(desk.page(f"/line/{name}/1"))
        assert page.count(shown) == 1
        assert "curl -sS 'http://h<b>/mcp'" in page
        for path in ("/history", f"/line/{name}/1"):
            assert f"/line/{name}/2" not in desk.page(path)
        assert f'href="/line/{name}/2"' in desk.page("/history?q=kind:note")
        assert "retry-after" in desk.page(f"/line/{name}/3")


def test_rows_are_sorted_by_each_column_both_ways(tmp_path: Path) -> None:
    """A second press turns the order round; the page says of how many lines it knows that."""
    home = tmp_path / "home"
    inbox = FolderInbox(home)
    name = inbox.begin_session(SessionFacts("", "2026-11-20T18:00:00.000Z"))
    for seq, (tool, size) in enumerate((("b", 3), ("a", 5), ("c", 1)), 1):
        given = f'{{"name":"{tool}","arguments":{{"x":"{"x" * size}"}}}}'
        line = f'{{"jsonrpc":"2.0","id":{seq},"method":"tools/call","params":{given}}}'
        at = f"2026-11-20T18:00:0{seq}.000Z"
        inbox.record(name, Frame(seq, at, Direction.IN, line.encode()))
    expected = {
        "": "cab",
        "at": "bac",
        "-at": "cab",
        "what": "abc",
        "-what": "cba",
        "size": "cba",
        "-size": "abc",
        "nonsense": "cab",
    }
    with Desking(home, "--lang", "en") as desk:
        for sort, order in expected.items():
            page = desk.page(f"/history?sort={sort}&q=session:{name}")
            assert "".join(re.findall(r"<b>([abc])</b>", page)) == order, sort
        page = desk.page("/history?sort=-size")
        assert re.findall(r'<th class="size" aria-sort="descending"><a href="(.*?)"', page) == [
            "/history?q=&amp;sort=size"
        ]


def test_the_projector_shows_what_matters_and_the_model_behind(
    session: tuple[Desking, str],
) -> None:
    """The envelope apart from the parameters, the model's line, a theme and no bar of its own."""
    desk, name = session
    page = desk.page(f"/present?name={name}&look=dark&bare=1")
    assert '<span class="matter">{' in page
    assert page.index('<span class="envelope">') < page.index('<span class="matter">')
    assert ">model</text>" in page
    assert 'class="behind"' in page
    assert 'data-theme="dark"' in page
    assert 'class="present bare"' in page


def test_a_request_that_waits_is_copied_and_an_answer_has_a_card(
    tmp_path: Path,
) -> None:
    """As the line that it is, as Markdown, with its session; an error says its code and words."""
    home = tmp_path / "home"
    inbox = FolderInbox(home)
    name = inbox.begin_session(SessionFacts("", "2026-11-20T18:00:00.000Z"))
    at = "2026-11-20T18:00:00.000Z"
    inbox.deliver(Item(Key(name, 1), LINE, "tools/call", "1", "2025-11-25", arrived=at))
    error = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"No dice."}}'
    inbox.record(name, Frame(1, at, Direction.OUT, error, 1))
    with Desking(home, "--lang", "en") as desk:
        page = html.unescape(desk.page(f"/m/{name}/1"))
        raw = page.partition('<details class="raw">')[2].partition("</section>")[0]
        assert LINE in raw
        assert "```json" in raw
        assert "humanmcp answer" not in raw
        assert f'/export/{name}"' in raw
        page = desk.page(f"/present?name={name}")
        assert '<p class="aside">Error</p>' in page
        assert "<dd>No dice.</dd>" in page


@pytest.mark.parametrize(("kind", "is_read"), [("text", True), ("txt", False)])
def test_the_projector_says_what_the_model_reads_of_no_answer_that_clients_reject(
    tmp_path: Path, kind: str, *, is_read: bool
) -> None:
    """A client that rejects it gives its model nothing, or something else."""
    home, at = tmp_path / "home", "2026-11-20T18:00:00.000Z"
    inbox = FolderInbox(home)
    name = inbox.begin_session(SessionFacts("", at))
    result = {"content": [{"type": kind, "text": "Six."}]}
    answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result})
    inbox.record(name, Frame(1, at, Direction.IN, LINE.encode(), 1))
    inbox.record(name, Frame(2, at, Direction.OUT, answer.encode(), 1))
    with Desking(home, "--lang", "en") as desk:
        page = html.unescape(desk.page(f"/present?name={name}"))
    assert "Six." in page
    assert ('<p class="aside">The model reads:</p>' in page) is is_read
    assert ('<p class="aside">Answer</p>' in page) is not is_read


def test_a_note_at_a_line_is_in_the_list_and_in_exports_without_secrets(
    session: tuple[Desking, str], tmp_path: Path
) -> None:
    """It is found, saved anew and removed; a mark needs no words; it goes with its session."""
    desk, name = session
    place = f"/line/{name}/1"
    assert desk.submit(place, act="note", note=f"<b> here: {SECRET}").headers["location"] == place
    assert f"★ &lt;b&gt; here: {SECRET}" in desk.page("/history")
    assert f'value="&lt;b&gt; here: {SECRET}"' in desk.page(place)
    assert f'href="{place}"' in desk.page("/history?q=kind:marked")
    assert f'href="{place}"' not in desk.page("/history?q=kind:marked+tool:coin")
    for form in ("html", "jsonl", "markdown", "mermaid"):
        exported = desk.ask("GET", f"/export/{name}?form={form}", headers=desk.bearer).text
        assert "here: [redacted:" in html.unescape(exported).replace("\\", ""), form
        assert SECRET not in exported
    written = export_of(tmp_path / "home", name)
    assert [frame["seq"] for frame in written] == [1, 1]
    assert written[1]["note"].startswith("★ <b> here")
    desk.submit(place, act="note", note="")
    assert '<span class="noted">★ </span>' in desk.page("/history")
    desk.submit(place, act="remove")
    assert "noted" not in desk.page("/history")
    assert f'href="{place}"' not in desk.page("/history?q=kind:marked")
    desk.submit(place, act="note", note="again")
    assert FormDrafts(tmp_path / "home").notes(name) == {1: "again"}
    FormDrafts(tmp_path / "home").forget_place(name)
    assert FormDrafts(tmp_path / "home").notes(name) == {}


def export_of(home: Path, name: str) -> list[dict[str, Any]]:
    """Return the frames that the command exports."""
    words = [sys.executable, "-m", "humanmcp", "export", name, "--format", "jsonl"]
    ended = subprocess.run([*words, "--home", home], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_a_column_without_any_value_is_not_shown(shown: Desking) -> None:
    """Nor does a line without a time say that it has one. What is there keeps its column."""
    for content, missing in ((TIMELESS, {"at", "by", "took"}), (TIMED, {"by"})):
        session = opened(shown, content)["session"]
        page = shown.page(f"/history?q=session:{session}")
        assert (
            set(re.findall(r"no-(\w+)", page.partition("<table")[2].partition(">")[0])) == missing
        )
        detail = shown.page(f"/line/{session}/1")
        assert ("datetime=" in detail) == ("at" not in missing)


def test_a_message_leads_to_what_can_be_done_with_its_session_and_to_its_neighbours(
    shown: Desking,
) -> None:
    """The rows before and after it: a response belongs to the row of its request."""
    session = opened(shown, TIMED)["session"]
    pages = {seq: shown.page(f"/line/{session}/{seq}") for seq in (1, 2, 3)}
    for page in pages.values():
        for act in ("check", "timeline", "export"):
            assert f'href="/{act}/{session}"' in page
    ways = {
        seq: re.findall(rf'rel="(\w+)" href="/line/{session}/(\d+)"', page)
        for seq, page in pages.items()
    }
    assert ways == {1: [("next", "3")], 2: [("next", "3")], 3: [("prev", "1"), ("next", "4")]}


def test_a_history_of_one_session_leads_to_what_can_be_done_with_it(tmp_path: Path) -> None:
    """With a filter or without; of two sessions it does not say which of them."""
    inbox = FolderInbox(tmp_path / "home")
    name = inbox.begin_session(SessionFacts("", "2026-11-20T18:00:00.000Z"))
    inbox.record(name, Frame(1, "2026-11-20T18:00:00.000Z", Direction.IN, LINE.encode(), 1))
    acts = [f"/{act}/{name}" for act in ("check", "timeline", "export")]

    def offered(desk: Desking, page: str) -> list[str]:
        return re.findall(r'href="(/(?:check|timeline|export)/[^"]+)"', desk.page(page))

    with Desking(tmp_path / "home", "--lang", "en") as desk:
        assert offered(desk, "/history") == offered(desk, f"/history?q=session:{name}") == acts
        inbox.begin_session(SessionFacts("", "2026-11-20T19:00:00.000Z"))
        assert offered(desk, "/history") == []
        assert offered(desk, f"/history?q=session:{name}") == acts


def test_each_format_of_an_export_says_what_it_is_good_for(session: tuple[Desking, str]) -> None:
    """In both languages, with words of its own."""
    desk, name = session
    for language in ("en", "ja"):
        headers = {**desk.bearer, "Accept-Language": language}
        page = desk.ask("GET", f"/export/{name}", headers=headers).text
        said = re.findall(r'</b> <span class="aside">([^<]+)<', page)
        assert len(set(said)) == len(FORMATS)
        assert not any(".for" in one for one in said)


CALL = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"book"}}'
ANSWER = '{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}'
LINES = (CALL % 1, ANSWER % 1, CALL % 2, CALL % 3)
TIMELESS = "\n".join(LINES)
TIMED = "\n".join(
    f"[2026-11-28 09:00:0{at}.000] {'OUT' if at == 1 else 'IN'}: {line}"
    for at, line in enumerate(LINES)
)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desking]:
    """Open a desk for recordings."""
    with Desking(tmp_path_factory.mktemp("desk") / "home") as desk:
        yield desk

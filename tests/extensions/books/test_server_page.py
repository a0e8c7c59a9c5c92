"""The pages of the server definition, without a script: where an entry goes, and what is told."""

import contextlib
import html
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from humanmcp.common.book_file import read_book
from humanmcp.inbox.contract import Key, Role, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from tests.browser.seats import begin, request
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The folder of an inbox with a book that somebody wrote."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    text = "# mine\n[[tools]]\nname = 'dice' # six sides\ninputSchema = {type = 'object'}\n"
    (home / "book.toml").write_text(text, encoding="utf-8")
    return home


def test_the_book_gets_an_entry_and_keeps_what_was_written(written: Path) -> None:
    """For all sessions: comments stay, a name that is taken is replaced, what is removed goes."""
    with Desking(written, "--lang", "en") as desk:
        fields = {"member": "tools", "old": "", "act": "put"}
        assert desk.submit("/server/entry", **fields, name="forecast").status == 303
        text = (written / "book.toml").read_text(encoding="utf-8")
        assert text.startswith("# mine\n[[tools]]\nname = 'dice' # six sides\n")
        assert [one["name"] for one in read_book(written / "book.toml").tools] == [
            "dice",
            "forecast",
        ]
        desk.submit("/server", member="tools", name="dice", act="remove")
        assert [one["name"] for one in read_book(written / "book.toml").tools] == ["forecast"]
        desk.submit("/server", member="prompts", text='[{"name": "hi"}]', act="list")
        assert [one["name"] for one in read_book(written / "book.toml").prompts] == ["hi"]
        refused = desk.submit("/server", member="prompts", text="[{]", act="list")
        assert (refused.status, "[{]" in html.unescape(refused.text)) == (422, True)
        right = desk.submit("/server/entry", **{**fields, "act": "look"}, name="forecast")
        assert "You wrote several lines" not in right.text
        wrong = desk.submit("/server/entry", **{**fields, "act": "look"}, name="")
        assert "Line 1" not in wrong.text
        nameless = desk.submit("/server/entry", **fields, name="")
        assert (nameless.status, "It has no name yet." in nameless.text) == (422, True)


def test_a_session_is_told_at_once_and_watched(home: Path) -> None:
    """By hand, too; the interface has the verdict."""
    with Desking(home, "--lang", "en") as desk, Serving(home, "--by-hand") as host:
        begin(host, desk)
        name = desk.get("/api/sessions")["sessions"][0]["name"]
        published = desk.submit(
            "/server/entry", session=name, member="tools", old="", name="forecast", act="put"
        )
        assert published.headers["location"].endswith("#told")  # what the host makes of it
        assert json.loads(host.hear())["method"] == "notifications/tools/list_changed"
        told = until(
            lambda: desk.get(f"/api/sessions/{name}/reactions")["reactions"], "it is recorded"
        )
        assert [one["became"] for one in told] == ["list.never"]
        answer = desk.post(f"/api/sessions/{name}/say", {"order": "definition", "text": "[]"})
        assert answer.status == 422


def test_of_many_sessions_the_page_names_six_and_folds_the_rest(home: Path) -> None:
    """The chips of thirty sessions took four rows; the chosen one is in sight."""
    inbox = FolderInbox(home)
    made = [SessionFacts("", "2026-11-21T01:00:00.000Z", title=f"s{at}", pid=1) for at in range(8)]
    with Desking(home, "--lang", "en") as desk:
        names = [inbox.begin_session(facts) for facts in made]
        page = until(
            lambda: page if "2 more sessions" in (page := desk.page("/server")) else "", "all"
        )
        assert page.count("/server?session=") == 8
        assert "<details><summary>2 more sessions" in page
        folded = page.partition("<details>")[2]
        last = next(name for name in names if f"session={name}" in folded)
        assert "<details open><summary>2 more sessions" in desk.page(f"/server?session={last}")
        for name in names:
            inbox.end(name)


@contextlib.contextmanager
def waiting_list(home: Path) -> Iterator[tuple[Desking, Serving, Key]]:
    """A desk, a host, and the host's `tools/list`, which waits."""
    with Desking(home, "--lang", "en") as desk, Serving(home, "--by-hand") as host:
        begin(host, desk)
        host.say(request("tools/list", token="8"))
        (row,) = until(lambda: desk.get("/api/exchanges")["waiting"], "it waits")
        yield desk, host, Key(row["session"], row["number"])


def test_designing_an_entry_for_a_list_that_waits_stops_its_countdown(home: Path) -> None:
    """As writing does: the answer book would send the list while the form is being filled in."""
    with waiting_list(home) as (desk, _, key):
        at = f"{key.session}/{key.number}"
        address = f"/server/design?at={at}&member=tools"
        assert f'{html.escape(address)}"><p><button id="design">' in desk.page(f"/m/{at}")
        opened = desk.submit(address)
        assert (
            opened.headers["location"] == f"/server/entry?at={at.replace('/', '%2F')}&member=tools"
        )
        draft = FolderInbox(home).item(key).draft
        assert draft is not None
        assert (draft.paused, draft.touched) == (True, False)


def test_an_entry_for_a_list_that_was_answered_meanwhile_can_be_published(home: Path) -> None:
    """It is not put into an answer that nobody waits for; the page says what happened."""
    with waiting_list(home) as (desk, host, key):
        at = f"{key.session}/{key.number}"
        desk.post(f"/api/exchanges/{at}/reply", {"text": '{"tools":[]}', "form": "result"})
        host.hear()
        fields = {"member": "tools", "old": "", "name": "forecast", "act": "put"}
        late = desk.submit("/server/entry", at=at, **fields)
        assert "The list was answered before you finished." in late.text
        assert f'name="session" value="{key.session}"' in late.text
        assert 'value="forecast"' in late.text
        desk.submit("/server/entry", session=key.session, **fields)
        assert json.loads(host.hear())["method"] == "notifications/tools/list_changed"
    with Desking(home, "--lang", "en") as desk:
        until(lambda: not FolderInbox(home).facts(key.session).is_open, "it has ended")
        over = desk.submit("/server/entry", at=at, **fields)
        assert "The session has ended." in over.text
        desk.submit("/server/entry", **fields)
        assert "forecast" in [one["name"] for one in read_book(home / "book.toml").tools]


@pytest.fixture
def desk(home: Path) -> Iterator[Desking]:
    """A desk in English."""
    with Desking(home, "--lang", "en") as opened:
        yield opened


def test_a_tool_that_was_removed_comes_back_with_one_press_there(desk: Desking) -> None:
    """Where it was removed, as long as nobody else has changed the book."""
    tools = '[{"name":"dice","inputSchema":{"type":"object"}}]'
    assert desk.submit("/server", act="list", member="tools", text=tools).status == 303
    assert desk.submit("/server", act="remove", member="tools", name="dice").status == 303
    assert "dice" not in desk.page("/server")
    assert 'value="undo"' in desk.page("/server")
    assert desk.submit("/server", act="undo").status == 303
    assert "dice" in desk.page("/server")
    desk.submit("/server", act="undo")
    assert "nothing was restored" in desk.submit("/server", act="undo").text


@pytest.mark.extension("tap")
def test_who_only_watches_a_tap_is_not_called_the_server(desk: Desking) -> None:
    """The empty page has the words of the role that is there."""
    inbox = FolderInbox(desk.home)
    facts = SessionFacts("", "2026-11-20T18:00:00.000Z", role=Role.TAP, client="host")
    inbox.begin_session(facts)

    def empty_page() -> str:
        page = desk.page("/").partition("<main")[2]
        return page if "host" in page else ""

    page = until(empty_page, "the tap on the page")
    assert "You watch a client and a server." in page
    assert 'href="/taps"' in page
    assert "You are the MCP server" not in page

"""The page of the answer book, without a script: rules off and on, counted, filled; lists taken."""

import html
import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from humanmcp.common.book_file import read_book
from tests.browser.seats import begin, call
from tests.extensions.host.test_host import alive
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

RULE = '# the sun\n[[rules]]\ntool = "get_forecast"\ntext = "sunny in {city}"\n'


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desking]:
    """A desk over a book with one rule."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "book.toml").write_text(RULE, encoding="utf-8")
    with Desking(home, "--lang", "en") as desk:
        yield desk


def test_a_rule_is_counted_and_switched_off_and_on(desk: Desking) -> None:
    """One that is off answers nothing; how many are on stands in the bar of every page."""
    with Serving(desk.home, "--handshake", "book") as host:
        begin_by_book(host)
        host.say(call("7", city="Nagoya"))
        assert "sunny in Nagoya" in host.hear()
        page = desk.page("/book")
        assert "answered once in open sessions" in page
        assert "1 active rule<" in desk.page("/")
        seen = RULE.strip("\n")
        desk.submit("/book", seen=seen, act="off")
        assert "active rule" not in desk.page("/")
        off = RULE.replace("[[rules]]\n", "[[rules]]\non = false\n")
        assert (desk.home / "book.toml").read_text(encoding="utf-8") == off
        assert read_book(desk.home / "book.toml").entries[0].on is False
        until(lambda: _waits(desk, host), "the call waits for a person")
        desk.submit("/book", seen=off.strip("\n"), act="on")
        assert (desk.home / "book.toml").read_text(encoding="utf-8") == RULE


def begin_by_book(host: Serving) -> None:
    """Shake hands; the book answers."""
    from tests.browser.seats import INITIALIZE  # noqa: PLC0415 - beside its one use

    host.say(INITIALIZE)
    host.hear()
    host.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')


def _waits(desk: Desking, host: Serving) -> bool:
    """Call again until the server has read the book anew."""
    host.say(call("8", city="Nagoya"))
    return bool(desk.get("/api/exchanges")["waiting"])


def test_gaps_are_shown_filled_before_they_are_kept(desk: Desking) -> None:
    """The rule and the saved answer keep the gap; the next request fills it."""
    (desk.home / "book.toml").unlink()
    with Serving(desk.home, "--by-hand") as host:
        begin(host, desk)
        host.say(call("7", city="Nagoya"))
        (waiting,) = until(lambda: desk.get("/api/exchanges")["waiting"], "the call waits")
        at = f"{waiting['session']}/{waiting['number']}"
        desk.post(f"/api/exchanges/{at}/draft", {"text": "x", "form": "text"})
        path = f"/m/{at}/keep"
        gaps = {"kept_text": "sunny in {city}", "where_0": ""}
        page = html.unescape(desk.submit(path, act="look", **gaps).text)
        assert "For this request: <q>sunny in Nagoya</q>" in page
        desk.submit(path, act="answer", name="sun", **gaps)
        saved = desk.get("/api/answers")["answers"]
        assert [one["text"] for one in saved] == ["sunny in {city}"]
        page = desk.page(path.removesuffix("/keep"))
        initial_state = page.partition('id="initial-state" hidden>')[2]
        initial_state = initial_state.partition("</data>")[0]
        assert [one["text"] for one in json.loads(initial_state)["saved"]] == ["sunny in Nagoya"]


def test_one_becomes_the_server_whose_lists_are_pasted(desk: Desking) -> None:
    """Its answers, a line each, or only the list; what is none of it says so."""
    pasted = '{"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}\n{"prompts":[]}'
    assert desk.submit("/book", act="be pasted", lists=pasted).status == 303
    book = read_book(desk.home / "book.toml")
    assert [one["name"] for one in book.tools] == ["a"]
    assert len(book.entries) == 1
    refused = desk.submit("/book", act="be pasted", lists="nothing")
    assert (refused.status, "There is no list in this text" in refused.text) == (422, True)


def test_one_becomes_the_server_that_a_command_starts(desk: Desking) -> None:
    """It is asked once, and ends; a command that is no server says why."""
    server = shlex.join([sys.executable, "-m", "humanmcp", "serve", "--auto", "--home"])
    command = f"{server} {shlex.quote(str(desk.home.parent / 'other'))}"
    assert desk.submit("/book", act="be started", command=command).status == 303
    until(lambda: "The server was copied" in desk.page("/book"), "the copy is there")
    assert [one["name"] for one in read_book(desk.home / "book.toml").tools] == ["ask_human"]
    desk.submit("/book", act="be started", command="no-such-program-at-all")
    said = "could not get the server definition"
    until(lambda: said in desk.page("/book"), "it says why")
    assert 'value="no-such-program-at-all"' in desk.page("/book")
    unclosed = desk.submit("/book", act="be started", command='npx "everything')
    assert (unclosed.status, said in unclosed.text) == (422, True)


@pytest.mark.skipif(os.name == "nt", reason="the command is one of a POSIX shell")
def test_the_copy_of_a_silent_server_is_shown_and_cancelled(desk: Desking) -> None:
    """The server ends with it, and the book stays; a second one meanwhile is not started."""
    book = desk.home / "book.toml"
    before = book.read_bytes()
    pid = desk.home / "pid"
    script = f"echo $$ > {shlex.quote(str(pid))}.new; mv {pid}.new {pid}; exec sleep 600"
    desk.submit("/book", act="be started", command=shlex.join(["sh", "-c", script]))
    assert 'value="be cancelled"' in desk.page("/book")
    until(pid.exists, "the server runs")
    desk.submit("/book", act="be started", command=f"touch {desk.home / 'second'}")
    assert desk.submit("/book", act="be cancelled").status == 303
    page = desk.page("/book")
    assert ("You cancelled the copy" in page, 'value="be started"' in page) == (True, True)
    until(lambda: not alive(int(pid.read_text())), "the server has ended")
    assert (book.read_bytes(), (desk.home / "second").exists()) == (before, False)


def test_what_was_changed_or_removed_is_put_back(desk: Desking) -> None:
    """Not where somebody else has changed the book since; a saved answer comes back, too."""
    book = desk.home / "book.toml"
    assert 'value="undo"' not in desk.page("/book")
    desk.submit("/book", seen=RULE.strip("\n"), act="remove")
    assert "There are no rules yet" in desk.page("/book")
    assert desk.submit("/book", act="undo").status == 303
    assert book.read_text(encoding="utf-8") == RULE
    assert 'value="undo"' not in desk.page("/book")
    desk.submit("/book", seen=RULE.strip("\n"), act="off")
    book.write_text(RULE + "# mine\n", encoding="utf-8")
    assert "nothing was restored" in desk.submit("/book", act="undo").text
    assert book.read_text(encoding="utf-8") == RULE + "# mine\n"
    desk.post("/api/answers", {"name": "sun", "method": "tools/call", "text": "sunny"})
    desk.submit("/book", act="forget 1")
    assert "Restore “sun”" in desk.page("/book")
    desk.submit("/book", act="bring back")
    assert [one["text"] for one in desk.get("/api/answers")["answers"]] == ["sunny"]


def test_what_the_book_refuses_stays_where_it_was_typed(desk: Desking) -> None:
    """A rule, lists and a command; what is wrong with a rule is said of the rule."""
    seen = RULE.strip("\n")
    refused = desk.submit("/book", seen=seen, act="change", text='[[rules]]\ntext = "typed').text
    assert ">[[rules]]\ntext = &#34;typed</textarea>" in refused
    assert "it is not TOML" in refused
    assert (
        ">typed lists</textarea>" in desk.submit("/book", act="be pasted", lists="typed lists").text
    )


def test_the_book_says_which_tool_answers_that_nobody_has_answered(desk: Desking) -> None:
    """The rule of the built-in tool stands there; a tool without one has none."""
    assert "When nobody answers ask_human within the seconds of its timeout_seconds" in (
        desk.page("/book")
    )
    tool = '[[tools]]\nname = "ask_team"\nkind = "question"\ninputSchema = { type = "object" }\n'
    (desk.home / "book.toml").write_text(tool, "utf-8")
    assert "When nobody answers" not in desk.page("/book")
    (desk.home / "book.toml").write_text(f'{tool}no_answer_after = "wait"\n', "utf-8")
    assert "When nobody answers ask_team within the seconds of its wait" in desk.page("/book")

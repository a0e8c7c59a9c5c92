"""A wrong message is marked in the history, found there and explained in its detail.

Terminal, Check, history and exports tell the same number of problems.
"""

import html
import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.answering.alone import remarks_on
from humanmcp.answering.summary import asker_of, badge_of
from humanmcp.desk.board import SessionView
from humanmcp.desk.history import problems
from humanmcp.inbox.contract import Role, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.locales import LANGUAGES, speaking
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.validation.captures import decode_lines, read_capture
from tests.browser.seats import INITIALIZE, call, request
from tests.desk.history.test_opening import drop, opened
from tests.support.desk_process import Desking
from tests.support.inbox_folder import Shell
from tests.support.serve_process import Serving
from tests.support.waiting import until


def message(**members: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write one message."""
    return json.dumps({"jsonrpc": "2.0", **members})


def calls(*answers: str) -> str:
    """Write a conversation in which each call gets one of these answers."""
    server = {"capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    lines = [
        INITIALIZE,
        message(id=0, result={"protocolVersion": "2025-11-25", **server}),
        message(method="notifications/initialized"),
    ]
    for token, answer in enumerate(answers, 1):
        lines += [call(str(token), "book", n=token), answer]
    return "\n".join(lines)


RIGHT: Final = message(id=1, result={"content": [{"type": "text", "text": "1 EUR"}]})
PING: Final = '{"jsonrpc":"2.0","id":%d,"method":"ping"}'
CASES: Final = Path(__file__).parents[2] / "cases/inputs"
FILES: Final = {
    "right": calls(RIGHT),
    "an id of another type": calls(RIGHT.replace('"id": 1', '"id": "1"')),
    "an unknown type": calls(RIGHT.replace('"type": "text"', '"type": "txt"')),
    "a code that is a text": calls(message(id=1, error={"code": "-32000", "message": "no"})),
    "an error and a hint about its request": calls(
        message(id=1, error={"code": -32602, "message": "no"})
    ),
    "several": calls(
        message(id=1, result={"content": [{"type": "txt"}, {"type": "image"}]}),
        message(id="2", result={"content": "x"}),
        message(id=3, result={"content": []}, also=1),
    ),
    "no answer": calls(RIGHT).rpartition("\n")[0],
    "a line that is cut": calls(RIGHT[:-9], RIGHT.replace('"id": 1', '"id": 2')),
    "a batch": calls(f"[{RIGHT}, {RIGHT}]"),
    "pings of which one is answered wrongly": "\n".join(
        (PING % 1, message(id=1, result=None), PING % 2, message(id=2, result={}))
    ),
    "an id that is used twice": "\n".join((call("1"), call("1"), *[RIGHT] * 3)),
    "progress that goes back": "\n".join(
        (
            request("tools/call", {"name": "a", "_meta": {"progressToken": 1}}, "1"),
            *(
                message(
                    method="notifications/progress", params={"progressToken": 1, "progress": now}
                )
                for now in (1, 3, 2, 4)
            ),
            RIGHT,
        )
    ),
    "responses alone": RIGHT.replace("text", "txt") + "\n" + RIGHT.replace('"id": 1, ', ""),
}


def told_by_check(shell: Shell, file: Path) -> tuple[int, str]:
    """Return how many problems of a file the terminal tells, and how it counts them, if so."""
    out = shell("check", str(file)).out
    counted = re.findall(r"(?:checked, with|would not be sent:) (\d.*)\.$", out, re.MULTILINE)
    said = str(counted[0]) if counted else ""
    if said or "checked, with no" in out:
        return sum(int(one.split()[0]) for one in said.split(", ") if said), said
    problems = json.loads(shell("check", "--json", str(file)).out)["problems"]
    return sum(one["level"] != "repaired" for one in problems), ""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401 - a generator
    """Open a desk for all files."""
    with Desking(tmp_path_factory.mktemp("desk") / "home") as desk:
        yield desk


def told(page: str) -> list[int]:
    """Return the numbers of problems that an exported page marks."""
    return [int(one) for one in re.findall(r"&#9888; (\d+)", page)]


@pytest.mark.parametrize("name", [*FILES, *sorted(one.name for one in CASES.iterdir())])
def test_everything_tells_the_same_problems_of_a_file(
    shown: Desking, shell: Shell, tmp_path: Path, name: str
) -> None:
    """Terminal, Check, the rows of the history, and the exported page; what was not checked."""
    file = CASES / name
    if name in FILES:
        file = tmp_path / "a.jsonl"
        file.write_text(FILES[name], encoding="utf-8")
    content = file.read_bytes()
    answer = drop(shown, content)
    if answer.status == 422:  # a log, in which nothing is to be checked
        found = json.loads(shell("check", "--json", str(file)).out)
        assert (found["problems"], [one["code"] for one in found["remarks"]]) == (
            [],
            ["not checked"],
        )
        return
    session = json.loads(answer.text)["session"]
    count, said = told_by_check(shell, file)
    check = shown.page(f"/check/{session}")
    history = shown.page(f"/history?q=session:{session}")
    page = shell("export", str(file), "--format", "html").out
    live = shown.page(f"/export/{session}?form=html")
    marks = re.findall(r'⚠ <span class="kind">[\w-]+ \(\w+\)(?: \+(\d+))?', history)
    assert sum(1 + int(more or 0) for more in marks) == count
    assert [sum(told(one)) for one in (page, live)] == [count, count]
    assert ('<p role="status">No problems.' in check) == (not count)
    if said:
        assert f"{said}." in check
        assert all(f"<dd>{said}</dd>" in one for one in (page, live))
    captured = read_capture(decode_lines(content))
    for language in LANGUAGES:
        check = shown.page(f"/check/{session}?lang={language}")
        remarks = [html.unescape(one) for one in re.findall('<p class="aside">(.*)</p>', check)]
        printed = shell("check", str(file), "--lang", language).out.splitlines()
        with speaking(language):
            wanted = [one.sentence for one in remarks_on(captured)]
        assert wanted == [one for one in remarks if one in printed], "what was not checked"
        assert set(wanted) <= {*printed}


def test_the_page_counts_the_lines_of_a_file_that_are_not_kept(shown: Desking) -> None:
    """Their first one is named."""
    content = calls(RIGHT) + '\n{"jsonrpc":"2.0","id":2,"met' * 1_200
    line = content.count("\n", 0, content.index('2,"met')) + 1_001
    said = f"200 lines are no messages. The first is line {line}: "
    assert said in html.unescape(shown.page(opened(shown, content)["address"]))


def test_a_wrong_message_is_found_and_its_detail_says_what_is_right(shown: Desking) -> None:
    """The number on Check leads to it: its sentence, its reason, its place and the right line."""
    session = opened(shown, FILES["an unknown type"])["session"]
    found = shown.page(f"/history?q=session:{session}+kind:problem")
    assert re.findall(r'<tr class="(\w+ \w+)"', found) == ["request answered"]
    chips = shown.page("/history").partition('id="chips"')[2]  # the first filter is seen at once
    assert chips.index(">kind:problem<") < chips.index(">method:")
    (number,) = re.findall(rf'href="/line/{session}/(\d+)"', shown.page(f"/check/{session}"))
    for line in (number, str(int(number) - 1)):  # from its request, too
        detail = shown.page(f"/line/{session}/{line}")
        assert "does not exist here" in html.unescape(detail)
        assert 'href="/mistake/M02"' in detail
        assert '<i class="string wrong-error">&#34;txt&#34;</i>' in detail
        assert re.findall(r'<span class="(gone|new)">.\s*(.*)', detail) == [
            ("gone", "&#34;type&#34;: &#34;txt&#34;,"),
            ("new", "&#34;type&#34;: &#34;text&#34;,"),
        ]


def test_a_message_is_marked_while_its_session_goes_on(home: Path) -> None:
    """Each line is checked once, with what came before it."""
    with Desking(home) as desk, Serving(home, "--by-hand") as host:
        host.say(INITIALIZE)
        host.say(INITIALIZE)  # its id is in use
        assert until(lambda: "id-in-use" in desk.page("/history?q=kind:problem"), "it is marked")
        host.say('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}')
        until(lambda: "tools/call" in desk.page("/history"), "the call")
        assert desk.page("/history").count("problem-mark") == 2


def _recorded(inbox: FolderInbox, text: str, role: Role) -> SessionView:
    name = inbox.begin_session(SessionFacts("", "2026-11-20T18:00:00.000Z", role))
    for seq, line in enumerate(text.split("\n"), 1):
        way = Direction.IN if '"method"' in line else Direction.OUT
        number = 0 if role is Role.READER else seq
        inbox.record(name, Frame(seq, "2026-11-20T18:00:00.000Z", way, line.encode(), number))
    inbox.end(name)
    facts = inbox.facts(name)
    return SessionView(facts, badge_of(facts), asker_of(facts))


@pytest.mark.parametrize("role", [Role.READER, Role.SERVER])
@pytest.mark.parametrize("file", FILES)
def test_what_is_known_of_large_lines_is_packed_from_line_to_line(
    tmp_path: Path, file: str, role: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same is found as at once, whatever the conversation is about."""
    inbox = FolderInbox(tmp_path / "home")
    view = _recorded(inbox, FILES[file], role)
    at_once = problems.SessionProblems().of(inbox, view)
    monkeypatch.setattr(problems, "LARGE", 0)
    assert problems.SessionProblems().of(inbox, view) == at_once


@pytest.mark.parametrize("role", [Role.READER, Role.SERVER])
def test_a_page_waits_no_longer_than_it_may_and_the_next_one_goes_on(
    tmp_path: Path, role: Role
) -> None:
    """A file of many megabytes does not hold up the list; nothing is checked twice, or left out."""
    inbox = FolderInbox(tmp_path / "home")
    view = _recorded(inbox, FILES["several"], role)
    whole = problems.SessionProblems().of(inbox, view)
    assert whole.is_whole
    assert whole.wrong
    step_by_step = problems.SessionProblems()
    seen: list[problems.Checked] = []
    while not seen or not seen[-1].is_whole:
        seen.append(step_by_step.of(inbox, view, seconds=0))
    assert len(seen) > 3
    assert seen[-1] == whole == step_by_step.of(inbox, view)

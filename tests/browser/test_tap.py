"""A person steps in between a real client and a real server, in the page."""

import json
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from humanmcp.protocol.conversation.transcript import COMMAND as COMMAND_NOTE
from humanmcp.protocol.conversation.transcript import DROPPED, Direction
from tests.browser.seats import Windows, open_menu, until_keys_act
from tests.browser.test_answering import read_json, write_json
from tests.clients.hosts import NODE
from tests.extensions.tap.tap_process import COMMAND, Tapped, server
from tests.support.desk_process import Desking
from tests.support.serve_process import bare_environment
from tests.support.waiting import PATIENCE, until

pytestmark = pytest.mark.browser


@pytest.mark.node
def test_a_held_call_is_answered_in_the_page_and_reaches_the_real_client(
    home: Path, desk: Desking, window: Windows
) -> None:
    """The first call is answered by a person, the second let go, the third changed on its way."""
    tap = (*COMMAND, "--home", str(home), "--hold", "in:tools/call", "--")
    with subprocess.Popen(
        ["node", str(NODE / "sdk1.mjs"), *tap, "node", str(NODE / "server1.mjs")],
        stdout=subprocess.PIPE,
        env=bare_environment(home.parent),
    ) as client:
        try:
            _answer_one_let_one_go_change_one(window().page)
            out, _ = client.communicate(timeout=PATIENCE)
        finally:
            client.kill()
    assert json.loads(out)["answers"] == [
        {"text": "asked a person"},
        {"text": "unknown"},
        {"text": "sunny"},
    ]


def _answer_one_let_one_go_change_one(page: Page) -> None:
    expect(page.locator("#held")).to_be_visible()
    expect(page.locator("#held")).to_contain_text("the server has not seen it yet")
    page.locator("#held").get_by_role("link", name="Answer instead").click()
    page.locator("#sentence").fill("asked a person")
    page.locator("#send").click()
    expect(page.locator("#held pre")).to_have_text("大阪")
    until_keys_act(page)
    page.get_by_role("button", name="Release").click()
    expect(page.locator("#held pre")).to_have_text("北海道")
    page.locator("#held").get_by_role("link", name="Change").click()
    page.locator("#view-form").get_by_label("location").fill("東京")
    page.get_by_role("button", name="Send the changed message").click()


def test_a_held_notification_can_be_dropped_in_the_page(
    home: Path, desk: Desking, window: Windows
) -> None:
    """There is nothing to answer, and the page does not offer it."""
    notice = b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}\n'
    with Tapped(home, server("echo"), "--hold", "in") as tapped:
        tapped.say(notice)
        page = window().page
        expect(page.locator("#held")).to_be_visible()
        expect(page.locator("#send")).to_have_count(0)
        expect(page.locator(".sequence .arrow text")).to_have_attribute("x", "92")  # of half a way
        page.get_by_role("button", name="Drop").click()
        expect(page.locator("#held")).to_have_count(0)
        status, rest, _errors = tapped.close()
        assert (status, rest) == (0, b"")
        notes = [frame.note for frame in tapped.frames() if frame.direction is Direction.NOTE]
        assert notes == [DROPPED, COMMAND_NOTE]


def test_a_line_that_nobody_is_sure_of_is_shown_raw_and_only_released_or_dropped(
    home: Path, desk: Desking, window: Windows
) -> None:
    """The page shows what came and why it waits, and reads no part of it."""
    line = b'{"jsonrpc":"2.0",  "id":1,"method":"ping","method":"tools/call"}'
    with Tapped(home, server("echo"), "--hold", "in:tools/call") as tapped:
        tapped.say(line + b"\n")
        page = window().page
        expect(page.locator("#subject")).to_have_text("A line that humanmcp cannot read")
        assert page.locator("#rows .name").inner_text() == "A line that humanmcp cannot read"
        assert page.locator("details.raw > pre").inner_text() == line.decode()
        expect(page.locator("article .remarks .problem")).to_contain_text("twice in one object")
        assert page.locator("#held").get_by_role("link").count() == 0
        assert page.locator("#held button").all_inner_texts() == ["Release\nA", "Drop\nX"]
        until_keys_act(page)
        page.get_by_role("button", name="Release").click()
        assert tapped.hear() == line + b"\n"
        expect(page.locator("#held")).to_have_count(0)


def test_a_refused_edit_is_put_back_with_one_button(
    home: Path, desk: Desking, window: Windows
) -> None:
    """The edit is refused for its id, the original comes back, and nothing has gone on."""
    call = b'{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"dice"}}\n'
    with Tapped(home, server("echo"), "--hold", "in:tools/call") as tapped:
        tapped.say(call)
        page = window().page
        page.locator("#held").get_by_role("link", name="Change").click()
        expect(page.locator(".scripted #view-json")).to_be_visible()
        write_json(page, call.decode().replace('"id":0', '"id":5'))
        page.get_by_role("button", name="Send the changed message").click()
        expect(page.locator("#problems .problem.error")).to_contain_text("id")
        open_menu(page)
        page.get_by_role("button", name="Restore the original").click()
        assert '"id": 0' in read_json(page)
        assert tapped.hears_nothing_yet()


def test_a_held_call_is_changed_in_a_form_of_what_its_tool_takes(
    home: Path, desk: Desking, window: Windows
) -> None:
    """Each argument has a field, also one that the client left out; JSON shows the whole call."""
    takes = {
        "type": "object",
        "properties": {
            "sides": {"type": "integer", "description": "How many faces"},
            "color": {"enum": ["red", "blue"]},
        },
    }
    asked = {"jsonrpc": "2.0", "id": 0, "method": "tools/list"}
    tools = [{"name": "dice", "inputSchema": takes}, {"name": "coin", "inputSchema": {}}]
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "dice"}}
    changed = {**call, "params": {"name": "dice", "arguments": {"sides": 20, "color": "red"}}}
    plain = {**call, "id": 2, "params": {"name": "coin"}}
    lists, calls, wanted, other = (
        json.dumps(one, separators=(",", ":")).encode() for one in (asked, call, changed, plain)
    )
    listed = json.dumps({"jsonrpc": "2.0", "id": 0, "result": {"tools": tools}}).encode()
    done = b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'
    played = ((b"IN", lists), (b"OUT", listed), (b"IN", wanted), (b"OUT", done))
    script = home.parent / "script.log"
    script.write_bytes(b"".join(b"[t] %s: %s\n" % one for one in played))
    with Tapped(home, server("scripted", str(script)), "--hold", "in:tools/call") as tapped:
        tapped.say(lists + b"\n")
        assert tapped.hear() == listed + b"\n"
        tapped.say(calls + b"\n")
        page = window().page
        page.locator("#held").get_by_role("link", name="Change").click()
        page.locator("#view-form").get_by_label("sides").fill("20")
        page.locator("#view-form").get_by_label("color").select_option("red")
        expect(page.locator("#view-form .help")).to_have_text("How many faces")
        page.locator("#tab-json").click()
        assert json.loads(read_json(page)) == changed
        page.get_by_role("button", name="Send the changed message").click()
        assert tapped.hear() == done + b"\n"
        tapped.say(other + b"\n")
        expect(page.locator("h1")).to_contain_text("coin")
        page.locator("#held").get_by_role("link", name="Change").click()
        expect(page.locator(".scripted #view-json")).to_be_visible()
        expect(page.locator("#tab-form")).to_be_disabled()


def test_a_held_answer_is_changed_in_the_page(home: Path, desk: Desking, window: Windows) -> None:
    """It is named as an answer, with what was asked; changed, it is checked as one."""
    request = b'{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"dice"}}\n'
    answer = b'{"jsonrpc":"2.0","id":0,"result":{"content":[{"type":"text","text":"1"}]}}\n'
    script = home.parent / "script.log"
    script.write_bytes(b"[t] IN: " + request + b"[t] OUT: " + answer)
    with Tapped(home, server("scripted", str(script)), "--hold", "out:tools/call") as tapped:
        tapped.say(request)
        page = window().page
        expect(page.locator("#held")).to_contain_text("The server sent it")
        expect(page.locator("h1")).to_have_text("The server answers dice")
        expect(page.locator(".asked .result")).to_contain_text("1")
        expect(page.locator(".remarks")).to_have_count(0)
        expect(page.locator("#held").get_by_role("link", name="Answer instead")).to_have_count(0)
        page.locator("#held").get_by_role("link", name="Change").click()
        expect(page.locator("#sentence")).to_have_value("1")
        page.locator("#sentence").fill("6")
        page.locator("#send").click()
        assert json.loads(tapped.hear())["result"]["content"][0]["text"] == "6"


def test_a_change_and_an_answer_are_two_texts(home: Path, desk: Desking, window: Windows) -> None:
    """What was begun as the one never becomes the other, and a key chooses each."""
    call = b'{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"dice"}}\n'
    with Tapped(home, server("echo"), "--hold", "in:tools/call") as tapped:
        tapped.say(call)
        page = window().page
        expect(page.locator("#held")).to_be_visible()
        expect(page.locator("#send")).to_have_count(0)
        until_keys_act(page)
        page.keyboard.press("c")
        expect(page.locator(".scripted #view-json")).to_be_visible()
        write_json(page, call.decode().replace("dice", "coin"))
        expect(page.locator("#saved-at")).to_have_text("Draft saved")
        page.locator("#held").get_by_role("link", name="Answer instead").click()
        expect(page.locator("#sentence")).to_have_value("")
        page.locator("#tab-json").click()
        write_json(page, call.decode())
        expect(page.locator("#problems .problem.error").first).to_be_visible()
        page.locator("#tab-text").click()
        page.locator("#held").get_by_role("link", name="Change").click()
        expect(page.locator(".scripted #view-json")).to_be_visible()
        assert "coin" in read_json(page)
        page.locator("#send").click()
        assert json.loads(tapped.hear())["params"]["name"] == "coin"


@pytest.mark.parametrize("sent", ["coin", "dice"])
def test_a_written_change_keeps_the_unchanged_message_from_going(
    home: Path, desk: Desking, window: Windows, sent: str
) -> None:
    """*Release* sends nothing while a change is written; without one it sends what was held."""
    call = b'{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"dice"}}\n'
    with Tapped(home, server("echo"), "--hold", "in:tools/call") as tapped:
        tapped.say(call)
        page = window().page
        page.locator("#held").get_by_role("link", name="Change").click()
        expect(page.locator(".scripted #view-json")).to_be_visible()
        original = read_json(page)
        write_json(page, original.replace("dice", "coin"))
        until_keys_act(page)
        release = page.locator("#held").get_by_role("button", name="Release")
        release.click()
        expect(page.locator("#said")).to_contain_text("Not sent: a change is written here.")
        if sent == "coin":
            page.locator("#send").click()
        else:
            write_json(page, original)
            release.click()
        assert json.loads(tapped.hear())["params"]["name"] == sent


def test_what_is_to_be_held_is_said_in_the_page_and_all_go_at_once(
    home: Path, desk: Desking, window: Windows
) -> None:
    """The list shows what is held and for how long; one button lets all of it go.

    What another window or a command had held stands in the bar without a reload.
    """
    lines = [
        b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"}}\n' % number
        for number in range(2)
    ]
    with Tapped(home, server("echo")) as tapped:
        tapped.say(b'{"jsonrpc":"2.0","id":9,"method":"ping"}\n')
        tapped.hear()
        page = window().goto("/taps")
        expect(page.locator("section.tap")).to_have_count(1)
        page.get_by_text("Use patterns").click()
        page.locator("input[name=patterns]").fill("tool:")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert")).to_be_visible()
        expect(page.locator("#holding")).to_have_count(0)
        tapped.inbox.hold(tapped.session, ["in:tools/list", "out:tools/list"])
        expect(page.locator("#holding")).to_have_text("‖ Holding tools/list")
        expect(page.locator("input[name=patterns]")).to_have_value("tool:")
        page.locator("input[name=patterns]").fill("")
        page.get_by_label("tools/call: from the client").check()
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_label("tools/call: from the client")).to_be_checked()
        expect(page.locator("#holding")).to_contain_text("Holding tools/call")
        until(lambda: _is_held(tapped, lines[0]), "a held call")
        tapped.say(lines[1])
        tapped.held(2)
        expect(page.locator("section.tap li.row")).to_have_count(2)
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        page.get_by_role("link", name="Release all 2").click()
        page.get_by_role("button", name="Release these 2").click()
        assert {tapped.hear(), tapped.hear()} == set(lines)


def _is_held(tapped: Tapped, line: bytes) -> bool:
    """Send a call; say whether it is held. One that was not comes back at once."""
    tapped.say(line)
    until(lambda: tapped.inbox.items(tapped.session) or not tapped.hears_nothing_yet(), "either")
    if tapped.hears_nothing_yet():
        return True
    tapped.hear()
    return False

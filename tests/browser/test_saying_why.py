"""Why Send is blocked, and what is wrong where: one desk and one host for the whole file."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser.seats import Sitting, boxes_of, call, request
from tests.browser.test_answering import EDITOR, write_json
from tests.support.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("saying-why")]


def test_a_press_on_send_counts_although_the_bar_moves_away(sitting: Sitting) -> None:
    """What the check finds may move the bar between press and release; leaving it cancels."""
    page = sitting.asked(call("11"))
    page.locator("#sentence").fill("sunny")
    expect(page.locator("#wire")).to_be_visible()  # so that the bar stands where it stays
    (box,) = boxes_of(page.locator("#send"))
    grow = "height => { document.querySelector('article header').style.height = height }"
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(5, 5)
    page.mouse.up()
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.down()
    page.evaluate(grow, "1500px")
    page.mouse.up()
    assert sitting.heard()["id"] == 11


def test_what_only_the_desk_could_check_is_shown_too(sitting: Sitting) -> None:
    """The check is away for a moment, and Send is blocked: the cursor goes to the reason."""
    page = sitting.asked(call("12"))
    page.locator("#tab-json").click()
    page.evaluate(
        """() => {
          const { fetch } = window;
          window.fetch = (path, ...rest) =>
            path.endsWith("/check") ? Promise.reject(new TypeError()) : fetch(path, ...rest);
          window.comeBack = () => { window.fetch = fetch; };
        }"""
    )
    write_json(page, '{"jsonrpc":"2.0","id":"12","result":{"content":[]}}')
    page.locator("#send").click()
    expect(page.locator("#problems .problem.error")).to_contain_text("12")
    expect(page.locator("#problems button, #problems a").first).to_be_focused()
    page.evaluate("comeBack()")
    page.locator("#problems .fix").first.click()
    page.locator("#send").click()
    assert sitting.heard()["id"] == 12


@pytest.mark.skipif(not EDITOR.exists(), reason="the JSON editor was not built")
def test_the_sentence_of_a_mistake_stands_under_the_pointer(sitting: Sitting) -> None:
    """The place is underlined in the JSON editor, and says there what is wrong with it."""
    page = sitting.asked(call("13"))
    page.locator("#tab-json").click()
    write_json(page, '{"jsonrpc":"2.0","id":"13","result":{"content":[]}}')
    page.locator(".editor .wavy.error").hover()
    expect(page.locator(".editor .sentences")).to_contain_text("Use the id 13")
    page.locator("#problems .fix").first.click()
    page.locator("#send").click()
    assert sitting.heard()["id"] == 13


def test_all_fixes_together_leave_none(sitting: Sitting) -> None:
    """A word of yes and no becomes true and false where those are wanted."""
    page = sitting.asked(call("14"))
    page.locator("#tab-json").click()
    write_json(
        page,
        "{'jsonrpc': '2.0', 'id': 14, 'result': {'content': [{'type': 'text', 'text': 'x'}],"
        " 'isError': no}}",
    )
    page.locator("#problems .problem-all button").click()
    expect(page.locator("#problems .problem")).to_have_count(0)
    page.locator("#send").click()
    assert sitting.heard()["result"]["isError"] is False


def test_an_error_without_words_speaks_at_its_field(sitting: Sitting) -> None:
    """An empty message is allowed, and said to be empty there."""
    page = sitting.asked(call("15"))
    page.locator("[name=kind][value=error]").check()
    field = page.get_by_label("Message", exact=True)
    expect(page.locator("#error-fields .at-field.warning")).to_contain_text(
        "error.message is empty"
    )
    assert "R56" in (field.get_attribute("aria-describedby") or "")
    page.get_by_label("Code").fill("x")
    expect(page.get_by_label("Code")).to_have_attribute("aria-invalid", "true")
    page.locator("#send").click()
    expect(page.get_by_label("Code")).to_be_focused()
    page.get_by_label("Code").fill("-32603")
    field.fill("no station")
    expect(page.locator("#error-fields .at-field")).to_have_count(0)
    page.locator("#send").click()
    assert sitting.heard()["error"] == {"code": -32603, "message": "no station"}


def test_a_tool_without_a_name_speaks_at_its_field(sitting: Sitting) -> None:
    """In the form of a list, emptied or taken out."""
    page = sitting.asked(request("tools/list", None, "16"))
    page.locator("#tab-form").click()
    name = page.locator("#form-fields").get_by_label("name").first
    name.fill("")
    expect(page.locator("#form-fields .at-field")).to_contain_text("name")
    assert "M39" in (name.get_attribute("aria-describedby") or "")
    name.fill("ask")
    expect(page.locator("#form-fields .at-field")).to_have_count(0)
    page.locator("#send").click()
    assert sitting.heard()["result"]["tools"][0]["name"] == "ask"


def test_a_malformed_line_is_one_row_and_named_once(sitting: Sitting) -> None:
    """In History one line with the columns of its neighbours; on the projector named once."""
    sitting.host.say('{"jsonrpc": "2.0", "method"')
    seq = until(
        lambda: [
            one["seq"]
            for one in sitting.desk.get("/api/history")["lines"]
            if one["kind"] == "malformed"
        ],
        "the malformed line",
    )[0]
    page = sitting.window.goto("/history")
    malformed = page.locator("#lines tbody tr.malformed").first
    others = page.locator("#lines tbody tr:not(.malformed, .day)").first
    height = "one => one.getBoundingClientRect().height"
    # The page may put a newer row in its place meanwhile: what has gone has no size.
    until(lambda: 0 < malformed.evaluate(height) < 1.2 * others.evaluate(height), "one line")
    assert malformed.locator("td, th").count() == others.locator("td, th").count()
    page = sitting.window.goto(f"/present?name={sitting.session}&seq={seq}")
    assert page.locator("#main").inner_text().count("not a message") == 1


def test_a_whole_message_in_the_text_box_is_used_as_json_with_one_button(sitting: Sitting) -> None:
    """What the demo prints is pasted into the first box that there is."""
    page = sitting.asked(call("17"))
    whole = {"jsonrpc": "2.0", "id": 17, "result": {"content": [{"type": "text", "text": "sunny"}]}}
    page.locator("#sentence").fill(json.dumps(whole))
    expect(page.locator("#problems .what")).to_have_text(
        "The text for the model is a whole JSON-RPC message."
    )
    page.locator("#problems").get_by_role("button", name="Use it as JSON").click()
    expect(page.locator("#sentence")).to_have_value("sunny")
    expect(page.locator("#found")).to_have_text("No problems.")
    page.locator("#send").click()
    assert sitting.heard() == whole


def test_what_a_sentence_quotes_is_code(sitting: Sitting) -> None:
    """Of a problem, and in what is said for a moment."""
    page = sitting.asked(call("19"))
    page.locator("#sentence").fill("password: hunter2hunter2")
    expect(page.locator(".problem .what code").first).to_have_text("humanmcp forget")
    expect(page.locator(".problem .what").first).not_to_contain_text("`")
    page.evaluate("""async () => {
      const desk = document.querySelector("script[src*=desk]").src;
      const { tellFailed } = await import(desk.replace("desk.js", "words.js"));
      tellFailed(new Error("Run `humanmcp check FILE`"));
    }""")
    expect(page.locator("#said code")).to_have_text("humanmcp check FILE")
    page.locator("#sentence").fill("sunny")
    page.locator("#send").click()
    assert sitting.heard()["id"] == 19

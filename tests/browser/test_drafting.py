"""What is being written: nothing of it is dropped, made up or lost."""

import json

import pytest
from playwright.sync_api import Page, expect

from humanmcp.inbox.contract import Key
from humanmcp.inbox.folder import FolderInbox
from tests.browser.seats import INITIALIZE, Opened, Windows, begin, call, request, until_keys_act
from tests.browser.test_answering import read_json, write_json
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

pytestmark = pytest.mark.browser

OUTPUT = {
    "type": "object",
    "properties": {
        "what": {"oneOf": [{"type": "string"}, {"type": "number"}]},
        "days": {"type": "integer"},
        "sky": {"oneOf": [{"const": "s", "title": "Sunny"}, {"const": "r", "title": "Rain"}]},
    },
    "required": ["what"],
}


def declare(desk: Desking, host: Serving) -> str:
    """Offer a tool with an outputSchema, and have it called. Returns the address of the call."""
    begin(host, desk)
    host.say(request("tools/list", None, "1"))
    (waiting,) = until(lambda: desk.get("/api/exchanges")["waiting"], "the list is asked for")
    tool = {"name": "lookup", "inputSchema": {"type": "object"}, "outputSchema": OUTPUT}
    reply = {"text": json.dumps({"tools": [tool]}), "form": "result"}
    name = waiting["session"]
    assert desk.post(f"/api/exchanges/{name}/2/reply", reply).status == 200
    host.hear()
    host.say(call("2", tool="lookup"))
    until(lambda: desk.get("/api/exchanges")["waiting"], "the call is there")
    return f"/m/{name}/3"


def test_a_field_that_is_no_json_blocks_and_keeps_its_text(host: Serving, opened: Opened) -> None:
    """Cut the last brace of an inputSchema: said there, Send goes there, nothing is sent."""
    page = opened(request("tools/list", None, "1"))
    page.locator("#tab-form").click()
    schema = page.locator("#form-fields textarea.json").first
    schema.fill('{"type": "object", "properties": {"n": {"type": "integer"}}')
    expect(page.locator("#form-fields .at-field")).to_contain_text("ends too early")
    expect(schema).to_have_attribute("aria-invalid", "true")
    page.locator("#form-fields input").first.focus()
    page.keyboard.press("Control+Enter")
    expect(schema).to_be_focused()
    expect(page.locator("#found")).to_contain_text("1")
    expect(page.locator("#anyway")).to_be_hidden()
    page.locator("#form-fields").get_by_label("description").first.fill("Rolls")
    expect(schema).to_have_value('{"type": "object", "properties": {"n": {"type": "integer"}}')
    expect(page.locator("#saved-at")).to_contain_text("saved")
    page.reload()
    schema = page.locator("#form-fields textarea.json").first
    expect(schema).to_have_value('{"type": "object", "properties": {"n": {"type": "integer"}}')
    page.locator("#tab-json").click()
    assert '{"n": {"type": "integer"}}' in read_json(page)
    page.locator("#tab-form").click()
    page.locator("#form-fields .at-field .fix").click()
    expect(page.locator("#form-fields .at-field")).to_have_count(0)
    page.locator("#send").click()
    first = json.loads(host.hear())["result"]["tools"][0]
    assert first["inputSchema"] == {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert first["description"] == "Rolls"


def test_words_in_a_field_of_several_types_are_asked_about(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """A plain hello in a field of oneOf is not dropped: quotes are offered."""
    page = window().goto(declare(desk, host))
    field = page.locator("#form-fields").get_by_label("what")
    field.fill("hello")
    expect(page.locator("#form-fields .at-field .code")).to_have_text("plain-text (J20)")
    page.locator("#form-fields .at-field .fix").click()
    expect(field).to_have_value('"hello"')
    expect(field).to_be_focused()
    page.locator("#form-fields").get_by_label("sky").select_option(label="Rain")
    page.locator("#send").click()
    result = json.loads(host.hear())["result"]
    assert result["structuredContent"] == {"what": "hello", "sky": "r"}
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


def test_what_is_no_number_is_not_sent_as_another(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """A number field keeps what was typed, and the check speaks of it there."""
    page = window().goto(declare(desk, host))
    fields = page.locator("#form-fields")
    fields.get_by_label("what").fill("1")
    fields.get_by_label("days").fill("3 days")
    expect(fields.get_by_label("days")).to_have_attribute("aria-invalid", "true")
    page.locator("#send").click()
    expect(fields.get_by_label("days")).to_be_focused()
    expect(fields.get_by_label("days")).to_have_value("3 days")
    fields.get_by_label("days").fill("3")
    page.locator("#send").click()
    assert json.loads(host.hear())["result"]["structuredContent"] == {"what": 1, "days": 3}


def test_a_removed_item_leaves_what_was_typed_into_the_others(opened: Opened) -> None:
    """The text of a field moves up with its item, and the focus stays in the list."""
    page = opened(request("tools/list", None, "1"))
    page.locator("#tab-form").click()
    fields = page.locator("#form-fields")
    page.get_by_role("button", name="+ Add").click()
    expect(fields.get_by_label("name").last).to_be_focused()
    schemas = fields.locator("textarea.json[data-pointer$=inputSchema]")
    schemas.last.fill('{"type"')
    count = schemas.count()
    page.get_by_role("button", name="Remove").first.click()
    expect(schemas).to_have_count(count - 1)
    expect(page.get_by_role("button", name="Remove").first).to_be_focused()
    expect(schemas.last).to_have_value('{"type"')
    while page.get_by_role("button", name="Remove").count():
        page.get_by_role("button", name="Remove").first.click()
    expect(page.get_by_role("button", name="+ Add")).to_be_focused()
    expect(page.locator("#found")).to_have_text("No problems.")


def test_a_placeholder_is_no_text_of_anybody(host: Serving, opened: Opened) -> None:
    """It is shown as one, it is not sent, and what is typed stands alone."""
    page = opened(request("prompts/get", {"name": "greet"}, "1"))
    field = page.locator("#form-fields").get_by_label("text")
    expect(field).to_be_focused()
    expect(field).to_have_value("")
    expect(field).to_have_attribute("placeholder", "Type the answer here.")
    page.keyboard.press("Control+Enter")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_be_focused()
    page.keyboard.type("It is sunny.")
    expect(field).not_to_have_attribute("aria-invalid", "true")
    page.keyboard.press("Control+Enter")
    (message,) = json.loads(host.hear())["result"]["messages"]
    assert message["content"]["text"] == "It is sunny."


def test_a_replaced_draft_comes_back(host: Serving, opened: Opened) -> None:
    """One key after Esc takes a written answer away: Undo and Ctrl+Z bring it back."""
    page = opened(call("1", city="Tokyo"))
    box = page.locator("#sentence")
    box.fill("a careful answer")
    page.keyboard.press("Escape")
    until_keys_act(page)
    page.keyboard.press("t")
    expect(page.locator("#replaced")).to_be_visible()
    page.locator("#put-back").click()
    expect(box).to_have_value("a careful answer")
    expect(page.locator("#replaced")).to_be_hidden()
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    expect(box).to_have_value("")
    page.keyboard.press("Control+z")
    expect(box).to_have_value("a careful answer")
    expect(page.locator("#replaced")).to_be_hidden()
    page.locator("#send").click()
    assert json.loads(host.hear())["result"]["content"][0]["text"] == "a careful answer"


def test_every_view_undoes(desk: Desking, host: Serving, window: Windows) -> None:
    """Ctrl+Z takes back what was written in the text, in a form and in JSON, and Ctrl+Y not."""
    host.say(INITIALIZE)
    page = window().page
    field = page.locator("#form-fields").get_by_label("instructions")
    field.fill("Be brief.")
    page.keyboard.press("Control+z")
    expect(field).to_have_value("")
    page.keyboard.press("Control+y")
    expect(field).to_have_value("Be brief.")
    page.locator("#tab-json").click()
    assert "Be brief." in read_json(page)
    page.keyboard.press("Control+z")
    until(lambda: "Be brief." not in read_json(page), "the JSON view undoes it too")
    page.locator("#tab-form").click()
    expect(field).to_have_value("")


def test_words_in_a_number_field_are_told_that_a_number_is_wanted(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """In the words of the field's type, and still as they were typed after a look at the JSON."""
    page = window().goto(declare(desk, host))
    page.locator("#form-fields").get_by_label("what").fill("1")
    days = page.locator("#form-fields").get_by_label("days")
    days.fill("warm")
    expect(page.locator("#form-fields .at-field")).to_contain_text("integer")
    expect(page.locator("#form-fields .at-field")).not_to_contain_text("quotes")
    page.locator("#tab-json").click()
    page.locator("#tab-form").click()
    expect(days).to_have_value("warm")
    days.fill("3")
    expect(page.locator("#form-fields .at-field")).to_have_count(0)


def test_a_text_for_a_tool_with_a_schema_leads_to_the_form(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """No line of a document that is not on the page; the form is one press away."""
    page = window().goto(declare(desk, host))
    page.locator("#tab-text").click()
    page.locator("#sentence").fill("It is warm.")
    problem = page.locator("#problems .problem", has_text="the result needs structuredContent")
    expect(problem).to_be_visible()
    expect(problem).not_to_contain_text("Line")
    problem.get_by_role("button", name="Fill in the form").click()
    expect(page.locator("#form-fields").get_by_label("what")).to_be_focused()


def test_a_draft_opens_in_the_view_that_it_was_written_in(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """A call opens as text; what Text cannot show opens as JSON in any browser."""
    begin(host, desk)
    host.say(call("1", city="Tokyo"))
    host.say(call("2", city="Osaka"))
    here = window()
    page = here.page
    page.locator("#tab-json").click()
    whole = until(
        lambda: read_json(page) if read_json(page).endswith("}") else "", "every line is drawn"
    )
    write_json(page, whole.replace("Type the answer here.", "sunny"))
    expect(page.locator("#saved-at")).to_contain_text("saved")
    at = page.url
    page.goto(at)
    expect(page.locator("#tab-json")).to_have_attribute("aria-selected", "true")
    path = "/m/" + at.partition("/m/")[2]
    elsewhere = window().goto(path)
    expect(elsewhere.locator("#sentence")).to_have_value("sunny")
    write_json(page, whole.replace('"content"', '"_meta": {}, "content"'))
    expect(page.locator("#saved-at")).to_contain_text("saved")
    elsewhere.reload()
    expect(elsewhere.locator("#tab-json")).to_have_attribute("aria-selected", "true")


def test_words_come_along_to_another_kind_of_answer(host: Serving, opened: Opened) -> None:
    """From a result to a protocol error that has none; each keeps what was written for it."""
    page = opened(call("1", city="Tokyo"))
    page.locator("#sentence").fill('the "Tokyo" service\nis down')
    kinds = page.locator(".kinds")
    kinds.get_by_text("Protocol error").click()
    message = page.locator("[data-pointer='/error/message']")
    assert json.loads(read_json_of(page))["error"]["message"] == 'the "Tokyo" service\nis down'
    message.fill("no such city")
    kinds.get_by_text("Tool error").click()
    expect(page.locator("#sentence")).to_have_value('the "Tokyo" service\nis down')
    kinds.get_by_text("Protocol error").click()
    expect(message).to_have_value("no such city")
    page.keyboard.press("Control+Enter")
    error = json.loads(host.hear())["error"]
    assert error == {"code": -32602, "message": "no such city"}


def test_the_message_of_an_error_becomes_the_text_of_a_result(
    host: Serving, opened: Opened
) -> None:
    """Where the result has no text yet."""
    page = opened(call("1", city="Tokyo"))
    page.locator(".kinds").get_by_text("Protocol error").click()
    page.locator("[data-pointer='/error/message']").fill("no such city")
    page.locator(".kinds").get_by_text("Result").click()
    expect(page.locator("#sentence")).to_have_value("no such city")
    page.keyboard.press("Control+Enter")
    assert json.loads(host.hear())["result"]["content"][0]["text"] == "no such city"


def test_a_message_that_is_no_text_stays_when_the_code_changes(
    host: Serving, opened: Opened
) -> None:
    """It is shown as the JSON that it is; a long one has several lines."""
    page = opened(call("1", city="Tokyo"))
    page.locator(".kinds").get_by_text("Protocol error").click()
    message = page.locator("[data-pointer='/error/message']")
    message.fill("no such city, " * 9)
    page.locator("#tab-json").click()
    write_json(
        page,
        until(lambda: read_json(page), "it is drawn").replace(f'"{"no such city, " * 9}"', "{}"),
    )
    page.locator("#tab-text").click()
    expect(message).to_have_value("{}")
    page.get_by_label("Code").fill("-32000")
    expect(page.locator("#found")).not_to_be_empty()
    assert json.loads(read_json_of(page))["error"] == {"code": -32000, "message": {}}
    page.keyboard.press("Control+z")
    message.fill('"no"')
    page.keyboard.press("Control+Enter")
    assert json.loads(host.hear())["error"]["message"] == "no"


def read_json_of(page: Page) -> str:
    """Read the whole message, and go back to the text."""
    page.locator("#tab-json").click()
    text = until(lambda: read_json(page), "the JSON is drawn")
    page.locator("#tab-text").click()
    return text


def test_the_draft_of_another_is_kept_beside_ones_own(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """Two pages that were open before either wrote; who goes on leaves no text for each pause."""
    begin(host, desk)
    host.say(call())
    ann, bob = window(locale="en-US").page, window(locale="en-US").page
    for page, texts in ((ann, ("A", "Ann")), (bob, ("B", "Bob"))):
        for text in texts:
            page.locator("#sentence").fill(text)
            expect(page.locator("#saved-at")).to_have_text("Draft saved")
    inbox = FolderInbox(desk.home)
    (session,) = inbox.sessions()

    def kept() -> list[str]:
        found = [json.loads(one.text) for one in inbox.item(Key(session.name, 2)).kept]
        return [one["result"]["content"][0]["text"] for one in found]

    assert kept() == ["Ann"]
    cal = window(locale="en-US").page
    expect(cal.locator("#sentence")).to_have_value("Bob")
    expect(cal.locator("details.kept")).to_contain_text("Ann")
    cal.locator("#sentence").fill("Bob, and Cal")
    expect(cal.locator("#saved-at")).to_have_text("Draft saved")
    assert kept() == ["Ann"]  # Cal had seen what Bob wrote
    bob.locator("#sentence").fill("Bob again")
    expect(bob.locator("#saved-at")).to_have_text("Draft saved")
    assert kept() == ["Ann", "Bob, and Cal"]
    ann.reload()  # what she had typed was saved: it hides nothing that is newer
    expect(ann.locator("#sentence")).to_have_value("Bob again")
    expect(ann.locator("details.kept")).to_contain_text("Ann")
    assert kept() == ["Ann", "Bob, and Cal"]

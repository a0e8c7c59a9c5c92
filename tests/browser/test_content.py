"""Answers of several parts, arguments as a tree, switches, and the quiet view."""

import base64
import json
import re
from typing import Any, Final

import pytest
from playwright.sync_api import FilePayload, expect

from humanmcp.inbox.contract import Item, Key, Role, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from tests.browser.seats import Sitting, call, request
from tests.browser.test_answering import read_json
from tests.browser.test_page import AXE, violations
from tests.support.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("content")]

PNG: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
DROP: Final = """(box, data) => {
    const files = new DataTransfer();
    const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
    files.items.add(new File([bytes], "dot.png", { type: "image/png" }));
    const told = { dataTransfer: files, bubbles: true, cancelable: true };
    box.dispatchEvent(new DragEvent("drop", told));
}"""
"""Drop a file on an element, as from the desktop."""


PASTE: Final = DROP.replace("dataTransfer: files", "clipboardData: files").replace(
    'DragEvent("drop"', 'ClipboardEvent("paste"'
)


def is_shown(image: Any) -> bool:  # noqa: ANN401 - a locator
    """Return True if the browser could read the picture."""
    return bool(image.evaluate("one => one.decode().then(() => one.naturalWidth > 0)"))


def sends_the_picture(sitting: Sitting, id: str, event: str) -> None:  # noqa: A002 - the protocol's own word
    """Give the empty box a picture, as a drop or a paste does, and send it with the chord."""
    page = sitting.asked(call(id))
    data = base64.b64encode(PNG).decode()
    page.locator("#sentence").evaluate(event, data)
    assert is_shown(page.locator("#form-fields .preview img"))
    page.keyboard.press("Control+Enter")
    content = sitting.heard()["result"]["content"]
    assert content == [{"type": "image", "data": data, "mimeType": "image/png"}]


def test_a_dropped_picture_is_the_answer_and_is_seen_everywhere(sitting: Sitting) -> None:
    """Drop, chord. The picture is previewed, and shown in the answer, History, projector."""
    sends_the_picture(sitting, "21", DROP)
    number = sitting.desk.get("/api/history")["lines"][0]["number"]
    place = f"{sitting.session}/{number}"
    until(lambda: sitting.desk.get(f"/api/exchanges/{place}")["state"] == "answered", "it is over")
    page = sitting.window.goto(f"/m/{place}")
    assert is_shown(page.locator(".answer .media img"))
    seq = sitting.desk.get("/api/history")["lines"][0]["seq"]
    page = sitting.window.goto(f"/line/{sitting.session}/{seq}")
    assert is_shown(page.locator(".media img"))
    expect(page.locator(".media img")).to_have_attribute("alt", re.compile("image/png, 70 bytes"))
    page = sitting.window.goto(f"/present?name={sitting.session}&seq={seq}")
    assert is_shown(page.locator(".media img"))


def test_text_link_and_resource_are_added_as_forms(sitting: Sitting) -> None:
    """Each part is a form of its own; what is no picture is never shown as one."""
    page = sitting.asked(call("22"))
    page.locator("#tab-form").click()
    form = page.locator("#form-fields")
    form.get_by_label("text").fill("See:")
    form.get_by_role("button", name="+ Link").click()
    form.get_by_label("uri").fill("https://example.com/")
    form.get_by_label("name").fill("example")
    form.get_by_role("button", name="+ Resource").click()
    form.get_by_label("uri").last.fill("file:///notes.txt")
    form.get_by_label("text").last.fill("notes")
    form.get_by_role("button", name="+ Image").click()
    svg = {"name": "x.svg", "mimeType": "image/svg+xml", "buffer": b"<svg/>"}
    form.get_by_label("data").set_input_files([svg])  # type: ignore[arg-type]
    expect(form.get_by_label("mimeType").last).to_have_value("image/svg+xml")
    expect(page.locator(".preview")).to_have_count(0)
    form.get_by_role("button", name="Remove").last.click()
    if AXE.exists():
        assert violations(page) == []
    page.locator("#send").click()
    assert [one["type"] for one in sitting.heard()["result"]["content"]] == [
        *("text", "resource_link", "resource")
    ]
    page.evaluate("localStorage.clear()")


def test_a_pasted_picture_is_the_answer(sitting: Sitting) -> None:
    """Ctrl+V of a picture into the empty box, then the chord."""
    sends_the_picture(sitting, "26", PASTE)
    sitting.window.page.evaluate("localStorage.clear()")


def test_messages_of_a_prompt_have_content_of_each_kind(sitting: Sitting) -> None:
    """A role and a content each; a picture is chosen as in an answer of a tool."""
    page = sitting.asked(request("prompts/get", {"name": "poem"}, "27"))
    form = page.locator("#form-fields")
    form.get_by_label("text").fill("What is this?")
    form.get_by_role("button", name="+ Add").click()
    page.keyboard.press("ArrowDown")  # the role, which has the focus
    form.get_by_label("text").last.fill("A dot.")
    kind = form.get_by_label("type").first
    kind.focus()
    kind.select_option("Image")
    expect(kind).to_be_focused()
    file: FilePayload = {"name": "dot.png", "mimeType": "image/png", "buffer": PNG}
    form.get_by_label("data").set_input_files([file])
    assert is_shown(page.locator("#form-fields .preview img"))
    if AXE.exists():
        assert violations(page) == []
    page.keyboard.press("Control+Enter")
    picture = {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}
    assert sitting.heard()["result"]["messages"] == [
        {"role": "user", "content": picture},
        {"role": "assistant", "content": {"type": "text", "text": "A dot."}},
    ]


def test_what_the_model_says_becomes_a_list_with_a_second_part(sitting: Sitting) -> None:
    """In the client's role a sampling has content of each kind, and one stays no list."""
    inbox = FolderInbox(sitting.desk.home)
    facts = SessionFacts(name="", started="2026-11-21T01:00:00.000Z", role=Role.CLIENT, pid=1)
    key = Key(inbox.begin_session(facts), 1)
    said = {"role": "user", "content": {"type": "text", "text": "Draw a dot."}}
    line = request("sampling/createMessage", {"messages": [said], "maxTokens": 9}, "1")
    inbox.deliver(Item(key, line, "sampling/createMessage", "1", "2025-11-25", facts.started))
    until(lambda: key.session in sitting.desk.page("/"), "the desk has seen it")
    page = sitting.window.goto(f"/m/{key.session}/{key.number}")
    page.locator("#tab-form").click()
    form = page.locator("#form-fields")
    form.get_by_label("text").fill("Here:")
    assert json.loads(read_json(page))["result"]["content"] == {"type": "text", "text": "Here:"}
    form.get_by_role("button", name="+ Image").click()
    file: FilePayload = {"name": "dot.png", "mimeType": "image/png", "buffer": PNG}
    form.get_by_label("data").set_input_files([file])
    assert is_shown(page.locator("#form-fields .preview img"))
    kinds = [one["type"] for one in json.loads(read_json(page))["result"]["content"]]
    assert kinds == ["text", "image"]
    page.locator("#send").click()
    ((_, reply),) = until(lambda: inbox.take_replies(key.session), "it was sent")
    assert json.loads(reply.text)["result"]["content"][1]["mimeType"] == "image/png"


def test_a_file_is_the_contents_of_a_resource(sitting: Sitting) -> None:
    """Its bytes stand in `blob`, its type beside them, and the text is gone."""
    page = sitting.asked(request("resources/read", {"uri": "file:///dot.png"}, "28"))
    form = page.locator("#form-fields")
    png: FilePayload = {"name": "dot.png", "mimeType": "image/png", "buffer": PNG}
    form.get_by_label("blob").set_input_files([png])
    expect(form.get_by_label("mimeType")).to_have_value("image/png")
    page.keyboard.press("Control+Enter")
    assert sitting.heard()["result"]["contents"] == [
        {"uri": "file:///dot.png", "mimeType": "image/png", "blob": base64.b64encode(PNG).decode()}
    ]


def test_capabilities_are_switches(sitting: Sitting) -> None:
    """One line each; it is filled in, so it can be sent; a list that was not offered warns."""
    page = sitting.asked(request("prompts/list", None, "23"))
    expect(page.locator(".problem.warning")).to_contain_text("M05")
    page.locator("#send").click()
    sitting.heard()
    line = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "h"}}
    page = sitting.asked(request("initialize", {**line, "version": "1"}, "24"))
    expect(page.locator(".filled")).to_contain_text("This answer is filled in")
    tools = page.get_by_role("checkbox", name="tools", exact=True)
    prompts = page.get_by_role("checkbox", name="prompts", exact=True)
    expect(tools).to_be_checked()
    expect(prompts).not_to_be_checked()
    prompts.check()
    tools.focus()
    page.keyboard.press("Space")
    inner = page.get_by_role("checkbox", name="listChanged")
    inner.nth(0).focus()  # of the tools, which it turns on again; and off with them
    page.keyboard.press("Space")
    expect(tools).to_be_checked()
    tools.focus()
    page.keyboard.press("Space")
    expect(inner.nth(0)).not_to_be_checked()
    page.get_by_role("checkbox", name="subscribe").check()
    page.locator("#send").click()
    assert sitting.heard()["result"]["capabilities"] == {
        "prompts": {},
        "resources": {"subscribe": True},
    }


def test_arguments_are_a_tree_with_what_was_declared(sitting: Sitting) -> None:
    """Members and items in rows, each with the description of the tool's own schema."""
    leg = {"type": "object", "properties": {"to": {"description": "the station"}}}
    legs = {"type": "array", "description": "each part of the way", "items": leg}
    tool = {"name": "plan", "inputSchema": {"type": "object", "properties": {"legs": legs}}}
    page = sitting.asked(request("tools/list", None, "25"))
    path = (page.locator("article").get_attribute("data-key") or "").split("/")
    result = {"text": json.dumps({"tools": [tool]}), "form": "result"}
    assert sitting.desk.post(f"/api/exchanges/{'/'.join(path)}/reply", result).status == 200
    sitting.heard()
    page = sitting.asked(call("26", tool="plan", legs=[{"to": "Ueno"}, {"to": "Asakusa"}]))
    tree = page.locator(".asked > table")
    expect(tree).to_contain_text("each part of the way")
    expect(tree.get_by_text("the station")).to_have_count(2)
    expect(tree.locator("table table").nth(1).locator("td.value").first).to_contain_text("Asakusa")
    page.locator("#sentence").fill("gone")
    page.locator("#send").click()
    sitting.heard()


def test_the_quiet_view_is_question_box_and_send(sitting: Sitting) -> None:
    """Nothing else is there, also on the next request, until it is left again."""
    page = sitting.asked(call("27", city="Tokyo"))
    page.get_by_role("button", name="Focus view").click()
    for number in ("27", "28"):
        expect(page.locator("body.quiet #sentence")).to_be_focused()
        for part in ("nav.list", ".side", ".tools", "#more", ".places", ".raw"):
            expect(page.locator(part).first).to_be_hidden()
        expect(page.locator(".asked")).to_contain_text("Tokyo")
        if number == "28":
            break
        sitting.host.say(call("28", city="Tokyo"))
        page.keyboard.insert_text("sunny")
        page.keyboard.press("Control+Enter")
        assert sitting.heard()["id"] == 27
    page.get_by_role("button", name="Focus view").click()
    expect(page.locator("nav.list")).to_be_visible()
    page.locator("#sentence").fill("sunny")
    page.locator("#send").click()
    assert sitting.heard()["id"] == 28

"""The page's own functions on text, in the browser that runs them."""

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from humanmcp.protocol.json.visible import visible
from tests.browser.seats import (
    Opened,
    Window,
    Windows,
    begin,
    call,
    open_menu,
    request,
    until_keys_act,
)
from tests.browser.test_answering import read_json
from tests.support.desk_process import Desking
from tests.support.misleading_inputs import SHOWN
from tests.support.serve_process import Serving
from tests.support.waiting import until

pytestmark = pytest.mark.browser

TEXT = '{\n  "a": 1.0,\n  "b": [1e2, {"c": "\\u00e9", "c": 2}],\n  "__proto__": {"x": []}\n}'


def run(window: Window, code: str, *arguments: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Call a function of jsontext.js."""
    return window.page.evaluate(
        f"async (given) => (await import('/static/jsontext.js')).{code}(...given)", list(arguments)
    )


def test_the_scripts_show_the_characters_that_the_desk_shows(
    desk: Desking, window: Windows
) -> None:
    """Every one that Unicode draws as nothing, and emoji of several parts."""
    texts = [json.loads(one.json).get("command", "") for one in SHOWN.values()]
    texts += [
        "👨\u200d👩 ❤\ufe0f 1\ufe0f\u20e3",
        "a\u200db\ufe0f",
        "❤\ufe0f\ufe0f",
        "東京\n\t\u3000",
    ]
    code = "async (given) => given.map((await import('/static/words.js')).visible)"
    plain = [one for one in texts if one == one.encode(errors="ignore").decode()]
    assert len(plain) > 60
    assert window().page.evaluate(code, plain) == [visible(one) for one in plain]


def test_one_place_of_a_text_is_changed_and_nothing_else(desk: Desking, window: Windows) -> None:
    """Spelling, order and white space of the rest stay; the result is what was asked for."""
    shown = window()
    cases = [
        (["a"], "2", TEXT.replace("1.0", "2")),
        (["b", 0], "null", TEXT.replace("1e2", "null")),
        (["b", 1, "c"], "3", TEXT.replace('"c": 2', '"c": 3')),
        (["__proto__", "x"], "7", TEXT.replace("[]", "7")),
        (["d"], "9", TEXT.replace('{"x": []}\n', '{"x": []},\n  "d": 9\n')),
    ]
    for path, value, wanted in cases:
        assert run(shown, "put", TEXT, path, value) == wanted, path
    deep = run(shown, "put", '{"result": {}}', ["result", "content", 0, "text"], '"hi"')
    assert json.loads(deep) == {"result": {"content": [{"text": "hi"}]}}
    assert run(shown, "put", "{broken", ["a"], "1") == "{broken"


def test_members_and_items_are_taken_out_with_their_comma(desk: Desking, window: Windows) -> None:
    """First, middle, last and only: the rest is still JSON."""
    shown = window()
    for text, path, wanted in (
        ('{"a": 1, "b": 2, "c": 3}', ["a"], {"b": 2, "c": 3}),
        ('{"a": 1, "b": 2, "c": 3}', ["b"], {"a": 1, "c": 3}),
        ('{"a": 1, "b": 2, "c": 3}', ["c"], {"a": 1, "b": 2}),
        ('{"a": 1}', ["a"], {}),
        ("[1, [2, 3]]", [1, 0], [1, [3]]),
        ("[1]", [0], []),
        ('{"a": 1}', ["z"], {"a": 1}),
    ):
        assert json.loads(run(shown, "drop", text, path)) == wanted, (text, path)


def test_laying_out_and_compacting_keep_every_token(desk: Desking, window: Windows) -> None:
    """Both ways, for strange texts as well."""
    shown = window()
    for text in (TEXT, '{"a":{},"b":[],"c":"\\"x\\\\","d":-0.0,"😀":[[1],{}]}', "[]", '"a b"', "1"):
        compact = run(shown, "compact", text)
        assert run(shown, "compact", run(shown, "layOut", text)) == compact
    assert run(shown, "layOut", "{not json") == "{not json"


def test_what_is_no_json_is_no_tree(desk: Desking, window: Windows) -> None:
    """The browser's parser and this one agree on what is JSON."""
    shown = window()
    texts = [
        *("", " ", "{", "}", "[1,]", "{,}", '{"a":1,}', "01", "1.", ".5", "+1", "-", "1e", "nul"),
        *("'a'", '"\t"', '"\\x"', '"\\u12"', "{a:1}", "1 2", "[1 2]", "NaN", '{"a" 1}', '"a'),
        *("0", "-0", "1e+9", "[[]]", '{"":{}}', '"\\u0041\\n"', " true ", "null"),
    ]
    for text in texts:
        tree = run(shown, "parse", text)
        valid = shown.page.evaluate(
            "text => { try { JSON.parse(text); return true; } catch { return false; } }", text
        )
        assert (tree is not None) == valid, text


def test_places_are_counted_in_characters(desk: Desking, window: Windows) -> None:
    """The desk counts characters, JavaScript units: 😀 is one there and two here."""
    shown = window()
    assert [run(shown, "unitsAt", "a😀b😀c", at) for at in range(6)] == [0, 1, 3, 4, 6, 7]


def test_a_form_fills_structured_content_and_its_text(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """A tool with an outputSchema: fields, lists, choices; the model's text is the same value."""
    begin(host, desk)
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "<b>Name</b>"},
            "temperature": {"type": "number"},
            "sky": {"type": "string", "enum": ["sunny", "rain"]},
            "sure": {"type": "boolean"},
            "hours": {"type": "array", "items": {"type": "integer"}},
            "__proto__": {"type": "string"},
        },
        "required": ["city", "temperature"],
    }
    tool = {"name": "lookup", "inputSchema": {"type": "object"}, "outputSchema": schema}
    host.say(request("tools/list", None, "1"))
    name = desk.get("/api/sessions")["sessions"][0]["name"]
    text = json.dumps({"tools": [tool]})
    reply = {"text": text, "form": "result"}
    until(lambda: desk.get("/api/exchanges")["waiting"], "the list is asked for")
    assert desk.post(f"/api/exchanges/{name}/2/reply", reply).status == 200
    host.hear()
    host.say(call("2", tool="lookup", city="Osaka"))
    page = window().goto(f"/m/{name}/3")
    expect(page.locator("#tab-form")).to_have_attribute("aria-selected", "true")
    field = page.locator("#form-fields")
    field.get_by_label("city").fill("大阪")
    field.get_by_label("temperature").fill("23.50")
    field.get_by_label("sky").select_option('"rain"')
    field.get_by_label("sure").select_option("true")
    page.get_by_role("button", name="+ Add").click()
    field.locator("fieldset input").last.fill("9")
    expect(page.locator("#found")).to_contain_text("No problems")
    expect(field.locator(".help").first).to_have_text("<b>Name</b>")
    page.locator("#tab-json").click()
    assert '"temperature": 23.50' in read_json(page)
    page.locator("#send").click()
    line = host.hear()
    result = json.loads(line)["result"]
    value = {"city": "大阪", "temperature": 23.5, "sky": "rain", "sure": True, "hours": [9]}
    assert result["structuredContent"] == value
    assert json.loads(result["content"][0]["text"]) == value
    assert '"temperature":23.50' in line


def test_a_list_of_tools_is_written_in_a_form(host: Serving, opened: Opened) -> None:
    """Add a tool, remove the others: the new one has what a tool must have."""
    page = opened(request("tools/list", None, "1"))
    page.locator("#tab-form").click()
    field = page.locator("#form-fields")
    page.get_by_role("button", name="+ Add").click()
    field.get_by_label("name").last.fill("dice")
    field.get_by_label("description").last.fill("Roll dice")
    while field.get_by_label("name").count() > 1:
        page.get_by_role("button", name="Remove").first.click()
    page.locator("#send").click()
    (tool,) = json.loads(host.hear())["result"]["tools"]
    assert (tool["name"], tool["description"]) == ("dice", "Roll dice")
    assert tool["inputSchema"]["type"] == "object"


@pytest.mark.extension("books")
def test_a_saved_answer_is_one_key(host: Serving, opened: Opened) -> None:
    """Save it once; the next call of the tool has it under 1, and the last answer under R."""
    page = opened(call("1", city="Tokyo"))
    page.locator("#sentence").fill("sunny all day")
    open_menu(page)
    page.locator("#keep-answer").click()
    page.get_by_label("Name of the answer").fill("sun")
    page.keyboard.press("Enter")
    expect(page.locator("[data-saved]")).to_have_text("1 sun")
    page.locator("#sentence").fill("rain")
    page.locator("#send").click()
    host.hear()
    expect(page.locator(".sent")).to_be_visible()
    host.say(call("2", city="Osaka"))
    expect(page.locator("#sentence")).to_be_visible()
    page.keyboard.press("Escape")
    until_keys_act(page)
    page.keyboard.press("1")
    expect(page.locator("#sentence")).to_have_value("sunny all day")
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    expect(page.locator("#sentence")).to_have_value("rain")
    page.locator("#send").click()
    assert json.loads(host.hear())["id"] == 2

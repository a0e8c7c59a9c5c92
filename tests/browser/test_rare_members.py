"""The members of an answer that few people write: folded in the form until they are there."""

import json
from typing import Any, Final

import pytest
from playwright.sync_api import expect

from tests.browser.seats import Sitting, request

pytestmark = pytest.mark.browser

URI: Final = "ui://weather/page"
RARE: Final = {
    "tools/list": ("/result/tools/0/_meta", {"ui": {"resourceUri": URI}}),
    "resources/list": ("/result/resources/0/_meta", {"ui": {"csp": {}}}),
    "resources/read": ("/result/contents/0/_meta", {"ui": {"prefersBorder": True}}),
    "tools/call": ("/result/structuredContent", {"degrees": 21}),
}
"""What only authors of apps write: its place, and a value."""


@pytest.mark.parametrize("method", RARE)
def test_the_form_has_what_names_a_page_and_what_the_page_gets(
    sitting: Sitting, method: str
) -> None:
    """It is folded until it is there, and the same in form and JSON."""
    pointer, value = RARE[method]
    params = {"uri": "ui://weather/other", "name": "show_weather", "arguments": {}}
    page = sitting.asked(request(method, params))
    page.locator("#tab-form").click()
    field = page.locator(f'[data-pointer="{pointer}"]')
    expect(field).to_be_hidden()
    page.locator("summary", has_text="More members").first.click()
    field.fill(json.dumps(value))
    page.locator("#tab-json").click()
    expect(page.locator(".cm-content")).to_contain_text(pointer.rpartition("/")[2])
    page.locator("#tab-form").click()
    expect(field).to_be_visible()  # nobody has to look for what is there
    assert json.loads(field.input_value()) == value
    if method == "tools/call":
        page.locator('[data-pointer="/result/content/0/text"]').fill("21 degrees")
    page.locator("#send").click()
    found: Any = sitting.heard()
    for step in pointer.split("/")[1:]:
        found = found[int(step) if step.isdigit() else step]
    assert found == value

"""Try all faults: from a waiting call, with the client that is there; the page follows."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser.seats import PHONE, Opened, Windows, call, open_menu, until_keys_act
from tests.browser.test_page import AXE, violations
from tests.support.serve_process import Serving
from tests.support.waiting import until

pytestmark = pytest.mark.browser


@pytest.mark.skipif(not AXE.exists(), reason="axe is not installed")
def test_all_faults_are_tried_from_a_waiting_call(
    host: Serving, opened: Opened, window: Windows
) -> None:
    """The page shows each row as it comes, keeps what the client showed, and fits on a phone."""
    page = opened(call())
    until_keys_act(page)
    open_menu(page)
    page.locator("#add-fault").click()
    page.get_by_role("link", name="Try all faults…").click()
    expect(page.locator("#tries")).to_contain_text("Tried: 0 of")
    page.locator("#tries button").click()
    assert json.loads(host.hear())["_meta"] == {"a": 1}
    expect(page.locator("#tried li")).to_have_count(1)
    host.send(call("8"))
    assert '"error":null' in host.hear()
    expect(page.locator("#tried li")).to_have_count(2)
    page.locator("button[value='shown error_null w']").click()
    row = page.locator("#tried li").first
    expect(row).to_contain_text("believed")
    expect(row).to_contain_text("wrong-7421")
    assert violations(page) == []
    phone = window(**PHONE, locale="ja-JP")
    shown = phone.goto(f"/faults/{until(host.find_session, 'a session').name}")
    expect(shown.locator("#tried li").first).to_contain_text("誤信")
    assert shown.evaluate("document.documentElement.scrollWidth") == PHONE["viewport"]["width"]
    page.locator("#tries button").click()
    expect(page.locator("#tries button")).to_have_text("Try all faults")

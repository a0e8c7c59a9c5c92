"""An answer from elsewhere while somebody is about to press Send: told rightly, sent once."""

import json

import pytest
from playwright.sync_api import expect

from humanmcp.inbox.contract import Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.diagnostics.model import TextForm
from tests.browser.seats import Windows, begin, call
from tests.desk.desking import Desking
from tests.serving import Serving
from tests.waiting import until

pytestmark = pytest.mark.browser

CLOUDY = '{"content":[{"type":"text","text":"cloudy"}]}'


def test_send_just_after_an_answer_from_elsewhere_says_who_was_first(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """Send stays enabled until the news is here. Here it never comes: the worst race."""
    begin(host, desk)
    host.say(call())
    page = window().page
    page.route("**/api/events*", lambda route: route.abort())
    page.route("**/api/changes*", lambda route: route.abort())
    page.reload()
    page.locator("#sentence").fill("sunny")
    expect(page.locator("#saved-at")).not_to_be_empty()
    inbox = FolderInbox(host.home)
    item = until(lambda: inbox.items(inbox.sessions()[0].name), "the call")[0]
    inbox.send(item.key, Reply(CLOUDY, TextForm.RESULT, by="terminal"))
    assert json.loads(host.hear())["result"]["content"][0]["text"] == "cloudy"
    expect(page.locator("#send")).to_be_enabled()
    page.locator("#send").click()
    expect(page.locator("#lock")).to_contain_text("terminal answered first. Your text is saved")
    expect(page.locator("#send")).to_be_disabled()
    assert any("sunny" in one.text for one in inbox.item(item.key).kept)
    assert host.close()[1] == []

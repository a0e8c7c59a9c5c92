"""What a person at the page sees of the buttons of a phone."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.seats import INITIALIZE, Window
from tests.extensions.notices.test_ntfy import DEVICE, asks, chosen, write_rule
from tests.support.desk_process import Desking
from tests.support.ntfy import Ntfy, press
from tests.support.serve_process import Serving

pytestmark = pytest.mark.browser


@pytest.fixture
def server() -> Iterator[Ntfy]:
    """An ntfy server."""
    with Ntfy() as running:
        yield running


@pytest.fixture
def desk(home: Path, server: Ntfy) -> Iterator[Desking]:
    """A desk with a phone."""
    write_rule(home, server.url)
    with Desking(home) as running:
        yield running


def test_an_open_page_says_at_once_that_a_button_was_pressed_too_late(
    desk: Desking, server: Ntfy, window: Callable[..., Window]
) -> None:
    """The settings list it, too, and show what the phone subscribes to."""
    topic = json.loads((desk.home / "phones.json").read_text("utf-8"))[DEVICE]["topic"]
    with Serving(desk.home, "--handshake", "book") as host:
        host.say(INITIALIZE)
        host.hear()
        host.say(asks(7))
        notice = server.notice(topic)
        (item,) = desk.get("/api/exchanges")["waiting"]
        own = window()
        page = own.goto(f"/m/{item['session']}/{item['number']}")
        press(notice, "Tea")
        assert chosen(host.hear()) == "Tea"
        press(notice, "Coffee")
        expect(page.locator("#status")).to_contain_text("“Coffee” for message")
        page = own.goto("/notices")
        expect(page.locator("main")).to_contain_text("“Coffee” for message")
        page.locator("summary", has_text=DEVICE).click()
        expect(page.locator("main code.break")).to_have_text(topic)
        expect(page.locator("main .qr svg")).to_be_visible()

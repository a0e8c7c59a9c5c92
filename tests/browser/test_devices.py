"""A phone with a link of its own: it answers, and the page is installed there as an app."""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, expect

from tests.browser.seats import OPTIONS, PHONE, Windows, begin, call, close
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import PATIENCE, until

pytestmark = pytest.mark.browser

FLAGS = ("--url", "https://desk.example")


@pytest.fixture
def desk(home: Path) -> Iterator[Desking]:
    """A desk that others reach through a proxy."""
    with Desking(home, *FLAGS) as desk:
        yield desk


@pytest.fixture
def phone(browser: Browser, desk: Desking) -> Iterator[Page]:
    """A phone that follows the link of a device, without the proxy."""
    context = browser.new_context(**{**OPTIONS, **PHONE})
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    answer = desk.submit("/devices", name="My phone")
    found = re.search(r"/login#k=[\w-]+", answer.text)
    assert found, answer.text
    page.goto(desk.facts.address.rstrip("/") + found[0])
    page.wait_for_url(lambda url: "/login" not in url)
    yield page
    close(context)


def test_the_page_with_the_link_says_that_it_was_followed(
    window: Windows, browser: Browser
) -> None:
    """The device is in its list at once; before, nobody knows whether the phone is there."""
    page = window().goto("/devices")
    page.get_by_label("Name of the device").fill("My phone")
    page.get_by_role("button", name="Make a link").click()
    link = page.locator("code.break").inner_text()
    expect(page.locator("#known")).to_contain_text("No devices.")
    context = browser.new_context(**{**OPTIONS, **PHONE})
    own = page.url.partition("/~")[0]
    context.new_page().goto(own + link[link.index("/login") :])
    expect(page.locator("#known li strong")).to_have_text("My phone")
    expect(page.locator("code.break")).to_be_visible()
    close(context)


def open_call(phone: Page, desk: Desking, host: Serving) -> None:
    """Have the host call a tool, and open the call on the phone."""
    begin(host, desk)
    host.say(call(city="Tokyo"))
    (item,) = until(lambda: desk.get("/api/exchanges")["waiting"], "the call")
    start = re.search(r".*/~[\w-]+", phone.url)
    assert start
    phone.goto(f"{start[0]}/m/{item['session']}/{item['number']}")


def kept_in(page: Page) -> str:
    """Return the drafts that the browser of a page has."""
    drafts = "Object.entries(localStorage).filter(([key]) => key.includes('draft'))"
    return str(page.evaluate(f"() => JSON.stringify({drafts})"))


def test_a_phone_answers_a_call_and_sees_no_settings(
    desk: Desking, host: Serving, phone: Page
) -> None:
    """It is as wide as its screen, and leads nowhere that it may not go."""
    open_call(phone, desk, host)
    phone.locator("#sentence").fill("sunny")
    phone.locator("#send").tap()
    assert json.loads(host.hear())["result"]["content"][0]["text"] == "sunny"
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    phone.locator("button.menu").tap()
    expect(phone.locator("#menu")).to_contain_text("Log out")
    expect(phone.locator('#menu a, nav a[href$="/book"]')).to_have_count(0)


def test_an_installed_page_says_that_the_desk_is_away_and_keeps_the_draft(
    desk: Desking, host: Serving, phone: Page, home: Path
) -> None:
    """It opens without the desk, and goes on where it was when the desk is back."""
    open_call(phone, desk, host)
    facts = phone.evaluate(
        "async () => (await fetch(document.querySelector('link[rel=manifest]').href)).json()"
    )
    assert facts["display"] == "standalone"
    phone.evaluate("() => navigator.serviceWorker.ready.then(() => true)")
    phone.locator("#sentence").fill("half a sentence")
    until(lambda: "half a sentence" in kept_in(phone), "a draft")
    desk.kill()
    phone.reload()
    expect(phone.locator("main")).to_contain_text("cannot reach the computer")
    with Desking(home, *FLAGS, port=desk.port):
        phone.locator("main a").tap()
        expect(phone.locator("#sentence")).to_have_value("half a sentence")
        kept = phone.evaluate(
            "async () => (await Promise.all((await caches.keys()).map(async (one) =>"
            " (await (await caches.open(one)).keys()).map((each) => new URL(each.url).pathname))))"
            ".flat()"
        )
    assert "/offline" in kept
    assert [path for path in kept if path != "/offline" and not path.startswith("/static/")] == []


def test_the_page_of_devices_fits_a_phone_and_removes_one(desk: Desking, phone: Page) -> None:
    """The device that is removed is asked to log in with its next page."""
    listed = desk.page("/devices")
    found = re.search(r'My phone</strong>.*?name="remove" value="(\w+)"', listed)
    assert found
    desk.submit("/devices", remove=found[1])
    phone.reload()
    expect(phone.locator("body")).to_contain_text("This device was removed")


def test_a_removed_device_sends_nothing_and_keeps_its_draft(
    desk: Desking, host: Serving, phone: Page
) -> None:
    """Its page was open, with an answer in it; it says that it has to log in.

    The page may notice before the answer is sent.
    """
    open_call(phone, desk, host)
    phone.locator("#sentence").fill("half a sentence")
    until(lambda: "half a sentence" in kept_in(phone), "a draft")
    found = re.search(r'My phone</strong>.*?name="remove" value="(\w+)"', desk.page("/devices"))
    assert found
    desk.submit("/devices", remove=found[1])
    with contextlib.suppress(Error):  # the page may just be leaving
        phone.evaluate("() => document.getElementById('send')?.click()")
    expect(phone.locator("body")).to_contain_text("This device was removed")
    beside = phone.context.new_page()  # it goes nowhere, as the other one still may
    beside.goto(f"{desk.facts.address}static/desk.css")
    assert "half a sentence" in kept_in(beside)
    (item,) = desk.get("/api/exchanges")["waiting"]
    assert desk.get(f"/api/exchanges/{item['session']}/{item['number']}")["state"] == "pending"


def test_the_link_of_a_notice_opens_the_request_on_a_device(
    desk: Desking, host: Serving, phone: Page
) -> None:
    """It has no secret in it: the device knows its own login path."""
    open_call(phone, desk, host)
    (item,) = desk.get("/api/exchanges")["waiting"]
    phone.goto("about:blank")
    phone.goto(f"{desk.facts.address}m/{item['session']}/{item['number']}")
    expect(phone.locator("#subject")).to_contain_text("get_forecast")

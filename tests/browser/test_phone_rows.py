"""What a row of the history and the settings show on a phone."""

import json
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from humanmcp.inbox.contract import Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.diagnostics.model import TextForm
from tests.browser.seats import INITIALIZE, PHONE, Window, begin, call
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

SENTENCE = "Sunny all day, with a light wind from the south-west and 23 degrees at noon."


def test_a_row_of_the_history_shows_the_question_and_the_whole_answer(
    home: Path, desk: Desking, host: Serving, window: Callable[..., Window]
) -> None:
    """Neither is cut on a phone, and the settings of a client stand below each other."""
    begin(host, desk)
    host.say(call())
    inbox = FolderInbox(home)
    name = until(inbox.sessions, "the session")[0].name
    (item,) = until(lambda: inbox.items(name), "the call")
    inbox.send(item.key, Reply(SENTENCE, TextForm.TEXT, by="desk"))
    assert json.loads(host.hear())["result"]
    opened = window(**PHONE)
    page = opened.goto("/history?q=method:tools/call")
    told = page.locator(".gist.told")
    expect(told).to_be_visible()
    expect(told).to_contain_text(SENTENCE)
    assert told.evaluate("one => one.scrollHeight <= one.clientHeight + 1")
    tops = "all => new Set(all.map((one) => Math.round(one.getBoundingClientRect().top))).size"
    assert page.locator(".search > *").evaluate_all(tops) <= 2, "the rows of the search"
    opened.goto("/settings")
    narrow = "cells => cells.filter(one => one.clientWidth < 100 && one.textContent.trim()).length"
    assert page.locator(".clients td").evaluate_all(narrow) == 0


def test_no_name_of_an_argument_is_cut(
    home: Path, desk: Desking, host: Serving, window: Callable[..., Window]
) -> None:
    """Those of MCP stand in one line; one without an end goes on in the next."""
    host.say(INITIALIZE)
    until(lambda: desk.get("/api/exchanges")["waiting"], "it waits")
    shown = window(**PHONE)
    shown.page.locator("#rows .row a").click()
    names = shown.page.locator(".asked th")
    expect(names.first).to_have_text("protocolVersion")
    cut = "all => all.filter((one) => one.scrollWidth > one.clientWidth).length"
    assert names.evaluate_all(cut) == 0
    rows = "one => { const all = document.createRange(); all.selectNodeContents(one);"
    assert names.first.evaluate(f"{rows} return all.getClientRects().length; }}") == 1
    names.first.evaluate("one => { one.textContent = 'a_name_without_an_end'.repeat(4); }")
    assert names.evaluate_all(cut) == 0
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 390

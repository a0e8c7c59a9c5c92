"""What a row of the history and the settings show on a phone."""

import json
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from humanmcp.inbox.contract import Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.diagnostics.model import TextForm
from tests.browser.seats import PHONE, Window, begin, call
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

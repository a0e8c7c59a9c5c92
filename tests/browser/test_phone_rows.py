"""What a row of the history and the settings show on a phone."""

import json
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from humanmcp.inbox.contract import Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.diagnostics.model import TextForm
from tests.browser.seats import INITIALIZE, PHONE, Window, begin, call
from tests.extensions.agents.test_hook import Agent, said
from tests.protocol.conversation.test_prompts import CLAUDE
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


def test_what_was_decided_elsewhere_is_off_the_list_of_a_phone_that_was_touched(
    home: Path, desk: Desking, window: Callable[..., Window]
) -> None:
    """The place of the last touch counted as under the pointer: the row stayed, "being sent"."""
    phone = window(**PHONE).page
    agent = Agent(home)
    with agent.asks(CLAUDE):
        opened = phone.locator("#rows .row.opened")
        expect(opened).to_be_visible()
        with agent.asks({**CLAUDE, "tool_input": {"command": "ls"}}) as hook:
            row = phone.locator("#rows .row:not(.opened)")
            expect(row).to_be_visible()
            phone.locator("nav.list h2").first.tap()
            reply = {"text": json.dumps({"behavior": "deny"}), "form": "decision"}
            desk.post(f"/api/exchanges/{row.get_attribute('data-key')}/reply", reply)
            assert said(hook)
        expect(row).to_have_count(0)
        expect(opened).to_be_visible()


def test_under_a_pointer_a_row_that_has_gone_says_nothing_of_when_it_waited(
    home: Path, desk: Desking, window: Callable[..., Window]
) -> None:
    """It stays where it is until the pointer leaves."""
    page = window().page
    with Agent(home).asks(CLAUDE) as hook:
        row = page.locator("#rows .row")
        expect(row).to_be_visible()
        row.hover()
        (one,) = desk.get("/api/exchanges")["waiting"]
        reply = {"text": json.dumps({"behavior": "deny"}), "form": "decision"}
        desk.post(f"/api/exchanges/{one['session']}/{one['number']}/reply", reply)
        assert said(hook)
    expect(page.locator("#rows .row.gone")).to_be_visible()
    for told in (".state", ".since"):
        expect(row.locator(told)).to_be_hidden()
    page.mouse.move(700, 400)
    expect(row).to_have_count(0)

"""The probe in a real browser: hosts that do one thing wrong each, and the word that it gets."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser

from humanmcp.common.book_file import read_book
from humanmcp.extensions import book
from humanmcp.extensions.apps.report import seen_in, verdicts
from tests.extensions.apps.test_report import BEGIN, RESULT, WELL, asked
from tests.support.waiting import until

pytestmark = pytest.mark.browser

HOSTS: Final[dict[str, dict[str, str]]] = {
    "good": {},
    "no handshake": {"initialize": "never", "input": "too early", "order": "too early"},
    "early": {"input": "too early", "order": "too early"},
    "twice": {"input": "came twice"},
    "no input": {"input": "never", "input_first": "too early"},
    "no result": {"result": "never", "input_first": "not seen", "structured": "not seen"},
    "result first": {"input_first": "too early"},
    "half a result": {"structured": "never"},
    "no size": {"size": "not kept"},
    "no mode": {"mode": "wrong shape"},
    "no policy": {"undeclared": "not kept"},
    "strict": {"domain": "stricter"},
    "calls": {"model_only": "not kept"},
    "no sandbox": {"apart": "not kept"},
    "farewell": {"teardown": "came"},
}
"""What a simulated host does wrong, and where its words differ from those of a good one."""

HOST: Final = Path(__file__).with_name("app_hosts.js")


def is_over(calls: list[dict[str, Any]]) -> bool:
    """Return True once the page has waited for what is to come."""
    return any("resized" in one["arguments"].get("frame", {}) for one in calls)


def test_hosts_that_do_one_thing_wrong_get_its_word(browser: Browser) -> None:
    """All of them at once, in one window; nothing is loaded from outside."""
    found = book("app-probe")
    assert found is not None
    rule = next(one for one in read_book(found).entries if one.method == "resources/read")
    page: str = json.loads(rule.text)["contents"][0]["text"]
    window = browser.new_page()
    loaded: list[str] = []
    window.on("request", lambda request: loaded.append(request.url))
    window.set_content("<!doctype html><title>simulated hosts</title><body></body>")
    window.add_script_tag(content=HOST.read_text("utf-8"))
    show = "([names, page, result]) => { for (const name of names) show(name, page, result); }"
    window.evaluate(show, [[*HOSTS], page, RESULT])

    def calls() -> dict[str, list[dict[str, Any]]] | None:
        said: dict[str, list[dict[str, Any]]] = window.evaluate("window.calls")
        return said if all(map(is_over, said.values())) else None

    said = until(calls, "the last report of each page")
    assert {url for url in loaded if "invalid" not in url} == set()
    window.close()
    for name, differs in HOSTS.items():
        frames = [asked(10 + at, "tools/call", one) for at, one in enumerate(said[name])]
        words = {one.name: one.word.value for one in verdicts(seen_in((*BEGIN, *frames)))}
        assert words == WELL | differs, name

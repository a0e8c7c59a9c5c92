"""A tab in the background that the browser freezes, as it does after minutes."""

import contextlib
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.support.room_process import Rooming
from tests.support.waiting import until

pytestmark = pytest.mark.browser


class HiddenTab:
    """A tab that may be hidden: one of Playwright's own always says that it is visible."""

    def __init__(self, browser: Browser, address: str) -> None:
        """Open it."""
        self._browser = browser.new_browser_cdp_session()
        self._heard: dict[int, dict[str, Any]] = {}
        self._numbers = itertools.count(1)
        self._browser.on("Target.receivedMessageFromTarget", self._hear)
        self._context = self._browser.send("Target.createBrowserContext")["browserContextId"]
        options = {"url": address, "browserContextId": self._context}
        target = self._browser.send("Target.createTarget", options)["targetId"]
        attached = self._browser.send("Target.attachToTarget", {"targetId": target})
        self._session = attached["sessionId"]

    def _hear(self, event: dict[str, Any]) -> None:
        message = json.loads(event["message"])
        self._heard[message.get("id", 0)] = message

    def send(self, method: str, **parameters: object) -> dict[str, Any]:
        """Call a method of the browser's protocol for the tab."""
        number = next(self._numbers)
        text = json.dumps({"id": number, "method": method, "params": parameters})
        order = {"sessionId": self._session, "message": text}
        self._browser.send("Target.sendMessageToTarget", order)

        def answer() -> dict[str, Any] | None:
            self._browser.send("Target.getTargets")  # lets what has come be heard
            return self._heard.get(number)

        result: dict[str, Any] = until(answer, f"the answer to {method}")["result"]
        return result

    def evaluate(self, expression: str) -> object:
        """Return the value of a JavaScript expression in the tab."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")

    def close(self) -> None:
        """Close it."""
        self._browser.send("Target.disposeBrowserContext", {"browserContextId": self._context})


SEEN = (
    "[...document.querySelectorAll('li.seat')].map((one) => one.textContent.match(/step \\d/)?.[0])"
)
STANDS = "[location.href, document.querySelector('#live')?.dataset.how, document.body.innerText]"


@pytest.mark.parametrize("meanwhile", ["open", "killed"])
def test_a_teachers_tab_that_was_frozen_shows_what_is_so(
    tmp_path: Path, browser: Browser, meanwhile: str
) -> None:
    """People joined and went on meanwhile, and the room may have been away."""
    home = tmp_path / "home"
    with contextlib.ExitStack() as stack:
        room = stack.enter_context(Rooming(home))
        tab = stack.enter_context(contextlib.closing(HiddenTab(browser, room.teacher_link)))
        first = room.learner("Ann")
        first.question("initialize")
        until(lambda: tab.evaluate(SEEN) == ["step 1"], "the first seat")
        tab.evaluate(
            "globalThis.went = []; for (const name of ['freeze', 'resume'])"
            " document.addEventListener(name, () => went.push(name))"
        )
        tab.send("Page.setWebLifecycleState", state="frozen")
        for one in (first, *(room.learner(f"L{number}") for number in range(3))):
            one.answer_as_offered("initialize")
            one.question("tools/list")
        if meanwhile == "killed":
            room.kill()
            room = stack.enter_context(Rooming(home))
        room.learner("late").question("initialize")
        tab.send("Page.setWebLifecycleState", state="active")
        until(lambda: tab.evaluate("went") == ["freeze", "resume"], "the tab was frozen")
        true = ["step 1", *["step 2"] * 4]
        until(
            lambda: tab.evaluate(SEEN) == true,
            lambda: f"the table of now, not {tab.evaluate(STANDS)} of {room.teacher_link}",
        )
        room.learner("later").question("initialize")
        until(lambda: tab.evaluate(SEEN) == ["step 1", *true], "what comes after that")

"""Permission prompts of a real host, decided in a real browser with one key each, and no click."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from playwright.sync_api import Error, expect, sync_playwright

from tests.browser import chromium
from tests.browser.seats import Window, until_keys_act
from tests.support.desk_process import Desking
from tools.hosts.approving import WORDS, script
from tools.hosts.model import Model
from tools.hosts.playing import COMES_WITHIN, Room, started, wait

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from playwright.sync_api import Page

    from tools.hosts.approving import Step
    from tools.hosts.installing import Installed
    from tools.hosts.table import RealHost

REASON: Final = "A person denied this."


def press(host: RealHost, installed: Installed, folder: Path, commands: int) -> list[str]:
    """Let a host ask for so many commands. Return what is not as it has to be.

    The page is open before the host starts, and nothing but keys reaches it.
    """
    steps, room = list(script(commands, 0)), Room(folder)
    room.inbox.mkdir(mode=0o700, parents=True)
    with (
        Model([(one.tool, one.given) for one in steps]) as model,
        Desking(room.inbox) as desk,
        sync_playwright() as driver,
        chromium.launch(driver) as browser,
    ):
        page = Window(browser, desk).page
        asking = replace(host, words=WORDS)
        with started(asking, installed, model, room, "--approvals") as process:
            try:
                _decide(page, steps)
            except (AssertionError, Error) as error:
                said = (room.folder / "said.txt").read_text("utf-8", "replace")
                return [f"{error}", said[-500:]]
            wait(lambda: process.poll() is not None, COMES_WITHIN)
        results = [one.result for one in model.turns][1:]
    return [
        f"step {number}: the model read {result[:200]!r}"
        for number, (step, result) in enumerate(zip(steps, results, strict=True), 1)
        if (REASON if "--deny" in step.words else step.back) not in result
    ]


def _decide(page: Page, steps: Sequence[Step]) -> None:
    for step in steps:
        command = page.locator(".approval .part.code pre").first
        expect(command).to_have_text(step.given["command"], timeout=COMES_WITHIN * 1000)
        until_keys_act(page)
        page.keyboard.press("d" if "--deny" in step.words else "a")

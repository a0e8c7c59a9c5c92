"""Permission prompts and questions of a real host, answered with one command each."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from humanmcp.answering.open_exchange import open_exchange_of
from humanmcp.inbox.contract import Item
from humanmcp.inbox.folder import FolderInbox
from tools.hosts.installing import Installed
from tools.hosts.model import Model
from tools.hosts.playing import (
    COMES_WITHIN,
    HUMANMCP,
    LOOK_EVERY,
    Room,
    started,
    wait,
    waiting,
)
from tools.hosts.table import RealHost

WORDS: Final = (
    *("-p", "Do what the script says.", "--permission-mode", "manual"),
    *("--permission-prompt-tool", "mcp__humanmcp__approve"),
)
ASK: Final = "mcp__humanmcp__ask_human"
REASON: Final = "Not today — 今日はだめ."


class Step(NamedTuple):
    """One call of the model, how the person decides, and what comes back to the model then.

    A call of our own tool is allowed first, and then answered with `answers`.
    """

    tool: str
    given: Mapping[str, Any]
    words: tuple[str, ...]
    back: str
    answers: tuple[str, ...] = ()


def script(commands: int, questions: int) -> Iterator[Step]:
    """Yield so many commands, the fifth of them denied, a file, and so many sets of questions."""
    for number in range(1, commands + 1):
        given = {"command": f"touch made-{number}.txt; echo done {number}", "description": "Touch"}
        denied = number % 5 == 0
        words: tuple[str, ...] = ("--deny", REASON) if denied else ("--allow",)
        yield Step("Bash", given, words, REASON if denied else f"done {number}")
    for number in range(1, questions + 1):
        options = [
            {"label": f"one {number}", "description": "x"},
            {"label": "two", "description": "y"},
        ]
        first = {"question": f"Which {number}?", "header": "A", "multiSelect": False}
        second = {"question": f"Several {number}?", "header": "B", "multiSelect": True}
        asked = [{**one, "options": options} for one in (first, second)]
        words = ("--answers", "1", "1,2")
        yield Step("AskUserQuestion", {"questions": asked}, words, f"one {number}, two")
        ours = {"multiple": True, "question": second["question"], "options": options}
        several = {"questions": [{"question": "Why?", "default": "none"}, ours]}
        yield Step(ASK, several, ("--allow",), '"answered"', ("--answers", REASON, "1,2"))
        yield Step(ASK, several, ("--allow",), '"declined"', ("--deny", REASON))
        soon = {"question": "Why?", "default": "none", "timeout_seconds": 1}
        yield Step(ASK, soon, ("--allow",), '"no_answer"')


def approve(
    host: RealHost, installed: Installed, folder: Path, commands: int, questions: int
) -> list[str]:
    """Let a host ask for every step of a script. Return what is not as it has to be."""
    steps, room = list(script(commands, questions)), Room(folder)
    faults: list[str] = []
    with Model([(one.tool, one.given) for one in steps]) as model:
        asking = replace(host, words=WORDS)
        with started(asking, installed, model, room, "--approvals") as process:
            for number, step in enumerate(steps, 1):
                found = _next(room, process)
                if found is None:
                    said = (room.folder / "said.txt").read_text("utf-8", "replace")
                    return [*faults, f"step {number}: no prompt reached the inbox: {said[-500:]}"]
                faults += [f"step {number}: {one}" for one in _decide(room, found, step)]
                if step.tool == ASK and (asked := _next(room, process)) is not None:
                    faults += [f"step {number}: {one}" for one in _answer(room, asked, step)]
            wait(lambda: process.poll() is not None, COMES_WITHIN)
            if process.poll() != 0:
                faults.append(f"ended with {process.poll()}")
        results = [one.result for one in model.turns][1:]
    for number, (step, result) in enumerate(zip(steps, results, strict=False), 1):
        if step.back not in result:
            faults.append(f"step {number}: the model read {result[:200]!r}")
    for number in range(1, commands + 1):
        if (room.project / f"made-{number}.txt").exists() is (number % 5 == 0):
            faults.append(f"command {number} did not end as the person decided")
    return faults


def _next(room: Room, process: subprocess.Popen[bytes]) -> Item | None:
    wait(lambda: bool(waiting(room)) or process.poll() is not None, COMES_WITHIN)
    return next(iter(waiting(room)), None)


def _decide(room: Room, item: Item, step: Step) -> Iterator[str]:
    """Decide as a person does at a terminal; yield what is wrong on the way."""
    inbox = FolderInbox(room.inbox)
    approval = open_exchange_of(inbox, item.key).approval
    if approval is None:
        yield "it is not read as a permission prompt"
    elif (approval.tool, json.loads(approval.text)) != (step.tool, step.given):
        yield f"it is about something else: {approval.tool} {approval.text[:200]}"
    yield from _send(room, item, step.words)


def _answer(room: Room, item: Item, step: Step) -> Iterator[str]:
    """Answer a call of our own tool, or let the limit of its asker pass."""
    if step.answers:
        yield from _send(room, item, step.answers)
    else:
        _wait_until_over(room, item)


def _send(room: Room, item: Item, words: Sequence[str]) -> Iterator[str]:
    """Answer with a command; yield why it was not sent."""
    named = f"{item.key.session}/{item.key.number}"
    ran = subprocess.run(
        [*HUMANMCP, "answer", named, *words, "--home", str(room.inbox)],
        env=room.environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    if ran.returncode:
        yield f"not sent: {ran.stderr.decode()[-300:]}"
    _wait_until_over(room, item)


def _wait_until_over(room: Room, item: Item) -> None:
    wait(lambda: item.key not in [one.key for one in waiting(room)], LOOK_EVERY * 100)

"""What the demo shows in the terminal: each line of both sides, and what the host makes of it."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Final

from humanmcp.common.terminal import Painted, to_stdout
from humanmcp.demo import steps
from humanmcp.demo.good_host import Answered
from humanmcp.demo.lesson import cut, not_passed, understood, why_ignored
from humanmcp.locales import say

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from humanmcp.demo.good_host import Failed, Ignored
    from humanmcp.demo.steps import DemoStep
    from humanmcp.locales.stop import StopError
    from humanmcp.protocol.http.client import IncomingResponse, OutgoingRequest
    from humanmcp.protocol.json.jsonrpc import Message

_LOOK_EVERY: Final = 0.05


def pasted(text: str, file: str, platform: str = sys.platform) -> str:
    """Return the command that writes a text into a file, for the shell that people have here."""
    if platform == "win32":  # PowerShell; its `>` would write UTF-16
        return f"'{text}' | Set-Content '{file}'"
    return f"echo '{text}' > {file}"


class Screen:
    """Shows one session step by step."""

    def __init__(  # noqa: PLR0913 - where a person answers
        self,
        language: str,
        program: str,
        *,
        by_hand: bool,
        typed: bool = False,
        opened: bool = False,
        command: str = "demo",
    ) -> None:
        """Show it in a language. `program` is how to type the command.

        A person answers `by_hand`: `typed` in this terminal, or in the page that `opened`, too.
        """
        self._again = f"{program} {command}"
        self._language = language
        self._program = program
        self._by_hand = by_hand
        self._typed = typed
        self._opened = opened
        self._folder: Path | None = None
        self._arrows: list[str] = []
        self._complained = ""

    def _say(self, code: str, /, **fillings: object) -> str:
        return say("demo", code, self._language, **fillings)

    def _tell(self, code: str, colour: str, /, **fillings: object) -> None:
        for line in self._say(code, **fillings).splitlines():
            to_stdout(Painted("     " + line, colour))

    # -- the host's lines -----------------------------------------------------------------------

    def begin(self, folder: Path, url: str) -> None:
        """Say what is going to happen, and where to answer. `url` is the server's, over HTTP."""
        self._folder = folder
        to_stdout(Painted(self._say("title"), "bold"))
        if self._opened:
            to_stdout(self._say("in-the-page"))
        elif self._typed:
            to_stdout(self._say("typed"))
        how = "by-hand" if self._by_hand else "by-itself"
        to_stdout(self._say(how, folder=folder, program=self._program))
        starts = "starts-http" if url else "starts"
        to_stdout(Painted(self._say(starts, command="humanmcp serve", url=url), "dim"))

    def step(self, number: str, step: DemoStep, line: str, posted: OutgoingRequest | None) -> None:
        """Show a message of the host, as it was `posted`; without a line it had nothing to say."""
        to_stdout()
        what = "" if line else "call-none"
        if step.code == "call-tokyo" and line and f'"name":"{steps.TOOL}"' not in line:
            what = "call-own"
        title, about = step.title, step.about or step.task
        if what:
            title, about = (self._say(f"{what}-{part}") for part in ("title", "is"))
        to_stdout(Painted(f"{number}  {title}", "bold"))
        to_stdout("     " + about)
        if posted is not None:
            to_stdout(Painted("  >> ", "cyan"), f"{posted.method} {posted.url}")
            for name, value in posted.headers:
                if name.lower().startswith("mcp-"):
                    to_stdout(f"     {name}: {value}")
        if line:
            to_stdout(Painted("  >> ", "cyan"), line)
            self._arrow("to", step.method)

    def invite(self, step: DemoStep, request: Message) -> None:
        """Show an answer to copy, where a person answers."""
        if not self._by_hand or request.id is None:
            return
        example = {"jsonrpc": "2.0", "id": request.id.value, **(step.example or {})}
        text = json.dumps(example, ensure_ascii=False)
        self._tell("your-turn-typed" if self._typed else "your-turn", "yellow")
        to_stdout("     " + (text if self._typed else pasted(text, f"{self._folder}/out.txt")))

    def gave_up(self, request: Message, seconds: float, line: str) -> None:
        """Say that the host waits no longer, and what it tells the server."""
        self._tell("gave-up", "red", method=request.method, seconds=f"{seconds:g}")
        if line:
            to_stdout(Painted("  >> ", "cyan"), line)
            self._arrow("to", "notifications/cancelled")

    def cannot_go_on(self) -> None:
        """Say why the lesson is over before its last step."""
        to_stdout()
        self._tell("cannot-go-on", "yellow", again=self._again)

    def judged(self, step: DemoStep, *, passed: bool) -> None:
        """Say that an answer passed, or what may help."""
        if passed:
            self._tell("passed", "green")
            return
        to_stdout(Painted("     " + not_passed(step, self._language), "yellow"))
        for hint in step.hints[1:]:
            to_stdout(Painted("     " + hint, "yellow"))

    # -- the server's lines ---------------------------------------------------------------------

    def heard(self, line: bytes) -> None:
        """Show a line of the server as it came, as far as a screen can hold it."""
        to_stdout(Painted("  << ", "green"), cut(line.decode("utf-8", "replace"), self._language))

    def responded(self, response: IncomingResponse) -> None:
        """Show the head of an HTTP response."""
        to_stdout(Painted("  << ", "green"), f"{response.status} {response.reason} {response.type}")

    def unanswered(self, why: StopError) -> None:
        """Say why no answer will come."""
        to_stdout(Painted(f"     {why.sentence(self._language)}", "red"))

    def answered(self, answer: Answered | Failed) -> None:
        """Say what the host makes of an answer."""
        self._arrow("from", "error" if "error" in answer.message.body else "result")
        colour = "green" if isinstance(answer, Answered) else "red"
        for line in understood(answer, self._language).splitlines():
            to_stdout(Painted("     " + line, colour))

    def ignored(self, ignored: Ignored, still: float) -> None:
        """Say why a line changes nothing, and how many seconds the host still waits."""
        self._arrow("from", self._say("ignored"))
        to_stdout(Painted("     " + why_ignored(ignored, self._language), "red"))
        if still:
            self._tell("still-waits", "yellow", seconds=f"{still:g}")

    def noticed(self, message: Message) -> None:
        """Say what the host makes of a notification."""
        self._arrow("from", message.method)
        changed = message.method == "notifications/tools/list_changed"
        self._tell("noticed-tools" if changed else "noticed", "green", method=message.method)

    def was_asked(self, message: Message, line: str) -> None:
        """Show what the server asked, and the host's answer."""
        self._arrow("from", message.method)
        self._tell("was-asked", "green", method=message.method)
        to_stdout(Painted("  >> ", "cyan"), line)
        self._arrow("to", "error" if '"error":' in line else "result")

    def not_connected(self) -> None:
        """Say that there is no session without an answer to `initialize`."""
        self._tell("not-connected", "red", again=self._again)

    def gone(self, said: Sequence[bytes]) -> None:
        """Say that the server ended, and what it said last."""
        self._tell("gone", "red")
        for line in said:
            to_stdout("     " + line.decode("utf-8", "replace").rstrip())

    # -- what stands in problems.txt ------------------------------------------------------------

    def notes(self, within: float) -> None:
        """Show what is said of the answer that was just sent, before the next step begins.

        The server puts `out.txt` away after it has written the line: wait for that.
        """
        until = time.monotonic() + within
        while self._by_hand and self._out_txt_is_full() and time.monotonic() < until:
            time.sleep(_LOOK_EVERY)
        self.complaint()

    def _out_txt_is_full(self) -> bool:
        try:
            return self._folder is not None and (self._folder / "out.txt").stat().st_size > 0
        except OSError:
            return False

    def complaint(self) -> None:
        """Show what `problems.txt` says, once."""
        if self._folder is None:
            return
        try:
            text = (self._folder / "problems.txt").read_text(encoding="utf-8").strip()
        except OSError:
            return
        if text and text != self._complained:
            for line in self._as_answered_here(text).splitlines():
                to_stdout(Painted("     " + line, "red"))
        self._complained = text

    def _as_answered_here(self, problems: str) -> str:
        """Return the problems with what to do for somebody who types, not for a file."""
        for_the_file = say("files", "not-sent", self._language, file="out.txt")
        if not self._typed:
            return problems
        return problems.replace(for_the_file, self._say("not-sent-typed"), 1)

    # -- at a glance ----------------------------------------------------------------------------

    def _arrow(self, way: str, what: str) -> None:
        self._arrows.append(self._say(f"arrow-{way}", what=what))

    def end(self, sessions: Path) -> None:
        """Show the whole session at a glance, and where to go from here."""
        to_stdout()
        to_stdout(Painted(self._say("at-a-glance"), "bold"))
        for arrow in self._arrows:
            to_stdout("     " + arrow)
        to_stdout()
        to_stdout(self._say("what-next", sessions=sessions, program=self._program))

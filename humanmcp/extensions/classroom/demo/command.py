"""`humanmcp demo`: start the server as a child, as every host does, and play the session."""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import re
import shlex
import sys
import threading
import time
from dataclasses import KW_ONLY, InitVar, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from humanmcp import launch
from humanmcp.common.book_file import BookFile
from humanmcp.common.child import ChildCommand, ChildTransport, EndedError
from humanmcp.common.settings import (
    add_brought_flags,
    add_flags,
    book_path,
    brought_folders,
    home_folder,
    make_home,
    sample,
)
from humanmcp.common.shell import program, shell_quoted
from humanmcp.common.terminal import Painted, is_terminal, to_stdout
from humanmcp.extensions.classroom.demo.good_host import (
    GIVES_UP_AFTER,
    Answered,
    Failed,
    Ignored,
    Noticed,
    Strictness,
    WasAsked,
)
from humanmcp.extensions.classroom.demo.lesson import (
    cut,
    not_passed,
    understood,
    weather,
    why_ignored,
)
from humanmcp.extensions.classroom.demo.steps import LessonRun, list_again, tells_of_tools
from humanmcp.http.server_address import ServerAddress
from humanmcp.http.transport import HttpTransport
from humanmcp.inbox import open_inbox
from humanmcp.inbox.contract import InboxError
from humanmcp.locales import language_of, say, spoken_language
from humanmcp.locales.stop import StopError, sentence_of
from humanmcp.protocol.http.client import IncomingResponse, OutgoingRequest, named_after
from humanmcp.protocol.json.jsonrpc import Kind
from humanmcp.protocol.json.tree import at
from humanmcp.protocol.tables.versions import META_VERSION

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.extensions.classroom.demo.good_host import Reaction
    from humanmcp.extensions.classroom.demo.steps import DemoStep, LessonSteps, Missing
    from humanmcp.http.transport import HttpPart
    from humanmcp.protocol.json.jsonrpc import Message

    Arrived: TypeAlias = bytes | IncomingResponse | StopError
    """A line, the head of an HTTP response, or why there will be no answer."""


WEATHER_BOOK: Final = "weather.toml"
DEMO_FOLDER: Final = "demo"
TEXT_FILES: Final = "files"
"""The setting for the folder of text files, if an extension has such files."""
SETTINGS: Final = tuple(one for one in brought_folders() if one.name == TEXT_FILES)
BETWEEN_STEPS: Final = 2.5
"""Seconds to read a step, when people watch the demo play automatically."""


def add_arguments(parser: Parser) -> None:
    flag = parser.flags("demo", "help ")
    add_flags(parser, "home", "book", "lang")
    add_brought_flags(parser, SETTINGS)
    flag("--by-hand", action="store_true")
    flag("--handshake", action="store_true")
    moods = [strictness.value for strictness in Strictness]
    flag("--mood", choices=moods, default=moods[0])
    flag("--open", action="store_true")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Play the session. Returns 0 at its end, 1 if the connection ended before."""
    watched = sys.stdin.isatty() or bool(arguments.by_hand)
    lesson_steps = weather(language_of(settings.lang))
    if arguments.handshake:
        lesson_steps = lesson_steps.with_handshake()
    by_hand = watched and not settings.book
    book = settings.book or str(sample(WEATHER_BOOK))
    strictness = Strictness(arguments.mood)
    opened = by_hand and bool(arguments.open)
    done, _ = play(
        lesson_steps, settings, strictness, "demo", by_hand=by_hand, book=book, opened=opened
    )
    return done


def play(  # noqa: PLR0913 - a lesson, and how to play it
    lesson_steps: LessonSteps,
    settings: Settings,
    strictness: Strictness,
    name: str,
    *,
    by_hand: bool,
    book: str = "",
    opened: bool = False,
) -> tuple[int, list[bool]]:
    """Play a lesson against a new server. `name` is the command that plays it.

    With `opened` the page opens in the browser, and a person answers there.

    Returns the exit status (1: the connection did not last), and which requests passed.

    Raises:
        StopError: the book cannot be used. The server would only say so after the first request.
    """
    if book:
        BookFile(book_path(book, Path()), must_exist=True)
    language = language_of(settings.lang)
    home = make_home(home_folder(settings.home))
    folder = _text_folder(settings, home)
    # Over HTTP, a server does not end with its stdin.
    module = "humanmcp.as_child" if lesson_steps.http else "humanmcp"
    command = [sys.executable, "-m", module, "serve", "--home", str(home)]
    command += ["--lang", language]
    command += [f"--{TEXT_FILES}", str(folder)] if folder != NOWHERE else []
    # By hand, a person starts from the lists of the book: the tool that the host then calls.
    command += ["--book", str(Path(book).absolute())] if book else []
    command += ["--by-hand" if by_hand else "--auto"]
    typed = by_hand and sys.stdin.isatty() and folder != NOWHERE
    pause = BETWEEN_STEPS if is_terminal() and not by_hand else 0
    version = lesson_steps.meta.get(META_VERSION, "")
    passed: list[bool] = []
    try:
        with launch.DeskOfCommand(home) as desk:
            page = partial(_open_page, desk, home) if opened else None
            screen = Screen(program(), by_hand=by_hand, typed=typed, page=page, command=name)
            server = DemoServer(command, version if lesson_steps.http else None)
            with contextlib.closing(server) as child:
                runner = DemoRunner(child, lesson_steps, strictness, screen, pause)
                passed = runner.passed
                try:
                    return (0 if runner.play(home, folder) else 1), passed
                finally:
                    screen.end(home / "sessions" / child.session)
    except KeyboardInterrupt:
        return 130, passed


def play_against(lesson_steps: LessonSteps, command: Sequence[str]) -> list[bool]:
    """Play a lesson against a server that `command` starts. Return which requests passed."""
    screen = Screen(program(), by_hand=False, command="lesson", folder=NOWHERE)
    to_stdout(Painted(say("demo", "starts-own", command=shlex.join(command)), "dim"))
    waits = (replace(one, timeout=one.timeout or GIVES_UP_AFTER) for one in lesson_steps.steps)
    lesson_steps = replace(lesson_steps, steps=tuple(waits))  # no person thinks here
    with contextlib.closing(DemoServer([*command])) as child:
        runner = DemoRunner(child, lesson_steps, Strictness.STRICT, screen, 0)
        runner.play(NOWHERE, NOWHERE)
    return runner.passed


NOWHERE: Final = Path(os.devnull)
"""The folder of the text files of a server that has none: nothing can be read there."""


def _text_folder(settings: Settings, home: Path) -> Path:
    """Return the folder of the text files, `NOWHERE` if no installed extension has such files."""
    chosen = settings.added.get(TEXT_FILES)
    return NOWHERE if chosen is None else Path(chosen or home / DEMO_FOLDER)


def _open_page(desk: launch.DeskOfCommand, home: Path) -> str:
    """Open the page in the browser. Return its address, and whether it opens."""
    try:
        facts = desk.facts()
        address = launch.login_address(facts)
        opens = launch.open_in_browser(home, facts.address, launch.login_address(facts))
    except (OSError, StopError) as error:
        return sentence_of(error)
    return say("demo", "in-the-page", address=address, opens=opens)


# -- the host that plays, and its screen ---------------------------------------------------------


_LOOK_EVERY: Final = 0.05
_VISIBLE_WITHIN: Final = 60.0
"""Seconds for a server on a busy computer; one that has ended is not waited for."""
_IN_FILE_WITHIN: Final = 5.0


class DemoServer:
    """The server of a host; its lines wait here until they are read.

    Over HTTP each message is a POST, with the headers of its version.
    """

    def __init__(self, command: list[str], http_version: str | None = None) -> None:
        """Start the server. With a version, "" before a handshake, wait for its address.

        Raises:
            EndedError: it did not start.
        """
        self.lines: queue.SimpleQueue[Arrived | None] = queue.SimpleQueue()
        self.said: list[bytes] = []
        """Its stderr, for the case that it crashes."""
        self.url = ""
        """Its address, if it has one."""
        self.session = ""
        """The name of its session, once that can be seen."""
        self._urls: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._posts: queue.SimpleQueue[OutgoingRequest] = queue.SimpleQueue()
        at = () if http_version is None else ("--http", "127.0.0.1")
        self.child = ChildTransport(ChildCommand((*command, *at)))
        self.transport: ChildTransport | HttpTransport = self.child
        self.child.start(self)
        if http_version is not None:
            self.transport = self._connected(http_version)

    def _connected(self, version: str) -> HttpTransport:
        with contextlib.suppress(queue.Empty):
            self.url = self._urls.get(timeout=_VISIBLE_WITHIN)
        if not self.url:
            self.child.close()
            raise self.child.end_reason()
        transport = HttpTransport(ServerAddress(self.url))
        transport.conversation.version = version
        transport.start(self)
        return transport

    def close(self) -> None:
        """Close the connection, and wait for the server's end."""
        self.transport.close()
        self.child.close()

    def files(self, home: Path, wanted: Path) -> Path:
        """Return the folder of its text files: another than `wanted` if that one is in use.

        A session can be seen from its first message on; call this after that.
        """
        inbox = open_inbox(home)
        until = time.monotonic() + _VISIBLE_WITHIN
        while time.monotonic() < until and self.child.process.poll() is None:
            for facts in inbox.sessions():
                if facts.pid == self.child.process.pid and (facts.files or wanted == NOWHERE):
                    self.session = facts.name
                    return Path(facts.files) if facts.files else wanted
            time.sleep(_LOOK_EVERY)
        return wanted

    def posted(self) -> OutgoingRequest | None:
        """Return the POST of the last sent line; None over stdin and stdout."""
        return self._posts.get(timeout=_VISIBLE_WITHIN) if self.url else None

    def receive(self, timeout: float) -> Arrived | None:
        """Return the next line of the server, or None on a timeout.

        Raises:
            EndedError: the server is gone.
        """
        try:
            line = self.lines.get(timeout=timeout)
        except queue.Empty:
            return None
        if line is None:
            raise self.transport.end_reason()
        return line

    def line_arrived(self, line: bytes, asked: str = "") -> None:
        """Keep a line from the server; an error without an id answers what was `asked`."""
        line = named_after(line, asked) if asked else line
        self.lines.put(line)

    def stderr_line(self, line: bytes) -> None:
        """Keep a line of its stderr; one of the first has the address."""
        self.said.append(line)
        if found := re.search(rb"http://[\d.:]+/\w+", line):
            self._urls.put(found[0].decode())

    def ended(self) -> None:
        """Wake the readers that wait for an address or a line: none will come."""
        self._urls.put("")
        self.lines.put(None)

    def http_passed(self, number: int, what: HttpPart) -> None:  # noqa: ARG002 - one is under way
        """Keep a POST, and the head of a response."""
        if isinstance(what, IncomingResponse):
            self.lines.put(what)
        elif isinstance(what, OutgoingRequest) and what.method == "POST":
            self._posts.put(what)

    def answer_failed(self, line: str, why: StopError) -> None:  # noqa: ARG002 - one is under way
        """Keep why no answer will come."""
        self.lines.put(why)


LOOK_EVERY: Final = 0.2
_NOTES_WITHIN: Final = 1.0


def take_typed(descriptor: int, out: Path) -> None:
    """Write each line typed in a terminal into `out.txt`, until the terminal closes.

    A line of JSON replaces the text there; any other line continues it, as the lines of a
    pasted text do. The descriptor is read directly: a thread inside `sys.stdin` would keep the
    program from ending.
    """
    while typed := os.read(descriptor, 65536).decode("utf-8", "replace"):
        try:
            json.loads(typed)
        except ValueError:
            before = out.read_text(encoding="utf-8") if out.exists() else ""
        else:
            before = ""
        if typed.strip():
            out.write_text(before + typed, encoding="utf-8")


@dataclass(eq=False)
class DemoRunner:
    """Plays the host's part of one session. `pause` is in seconds, between two steps.

    A person who answers `by_hand` is asked the last request again if the lesson cannot continue;
    lines that they have `typed` in this terminal are answers.
    """

    child: DemoServer
    lesson_steps: InitVar[LessonSteps]
    strictness: InitVar[Strictness]
    screen: Screen
    pause: float

    def __post_init__(self, lesson_steps: LessonSteps, strictness: Strictness) -> None:
        self._lesson_run = LessonRun(lesson_steps, lesson_steps.host(strictness))
        self._host = self._lesson_run.host
        self.passed = self._lesson_run.passed
        self._tools_changed = False
        self._home = NOWHERE

    def play(self, home: Path, wanted: Path) -> bool:
        """Play all steps; the text files are in `wanted`. Return False if the connection ended."""
        lesson, self._home = self._lesson_run, home
        try:
            while lesson.left:
                step = lesson.left.pop(0)
                line, request = self._send(step)
                if self.screen.folder is None:
                    folder = self.child.files(home, wanted)
                    self.screen.begin(folder, self.child.url)
                    if self.screen.typed:
                        out = folder / "out.txt"
                        threading.Thread(target=take_typed, args=(0, out), daemon=True).start()
                if not line and (lesson.lesson_steps.teaches or self.screen.by_hand):
                    if not (self.screen.by_hand and lesson.go_back()):
                        self.screen.cannot_go_on()
                        return True
                    continue
                counted = [one for one in lesson.lesson_steps.requests if not self._gives(one)]
                left = sum(one in counted for one in lesson.left)
                number = f"{len(counted) - left}/{len(counted)}  " if step in counted else ""
                self.screen.step(number, step, line, self.child.posted() if line else None)
                if request is not None and not self._settle(step, request):
                    return False
                if step.example is not None:
                    lesson.judge(given=self._gives(step))
                    if lesson.lesson_steps.teaches:
                        self.screen.judged(step, lesson.missing)
                time.sleep(self.pause)
        except EndedError:
            self.child.transport.close()  # then all of its stderr is here
            self.screen.gone(self.child.said)
            return False
        return True

    def _send(self, step: DemoStep) -> tuple[str, Message | None]:
        """Send a step's message. Returns its line, and the request to wait for if it is one."""
        line, request = self._lesson_run.message(step)
        if line:
            self.child.transport.send(line)
        return line, request

    def _settle(self, step: DemoStep, request: Message) -> bool:
        """Wait for an answer and show what became of it. False when that ends the connection."""
        if step.is_answered:
            if self.screen.by_hand:
                self._wait_for_the_files(request)
            if self._gives(step):
                self.screen.give()
                self._give(step, request)
            else:
                self.screen.invite(step, request)
        answer = self._answer_to(request, step)
        self.screen.notes(within=_NOTES_WITHIN)
        if answer is not None:
            self.screen.answered(answer)
        understood = isinstance(answer, Answered) and answer.message.kind is Kind.RESULT
        if request.method == "initialize" and not understood:
            self.screen.not_connected()
            return False
        return self._list_again()

    def _gives(self, step: DemoStep) -> bool:
        """Return True if the lesson answers this step in the place of its person."""
        return step.given and self.screen.by_hand

    def _give(self, step: DemoStep, request: Message) -> None:
        """Answer the request, as soon as it waits. The one before it may still be on its way."""
        inbox, until = open_inbox(self._home), time.monotonic() + _VISIBLE_WITHIN
        while time.monotonic() < until and self.child.child.process.poll() is None:
            session = self.child.session
            for item in inbox.items(session) if session else ():
                if item.line != request.raw:
                    continue
                with contextlib.suppress(InboxError):  # a person was first
                    inbox.send(item.key, step.reply)
                return
            time.sleep(_LOOK_EVERY)

    def _wait_for_the_files(self, request: Message) -> None:
        """Wait until `in.txt` has the request: the server does not take an answer before that."""
        until = time.monotonic() + _IN_FILE_WITHIN
        folder = self.screen.folder
        while folder not in (None, NOWHERE) and time.monotonic() < until:
            with contextlib.suppress(OSError):
                if request.raw in (folder / "in.txt").read_text(encoding="utf-8"):
                    return
            time.sleep(_LOOK_EVERY)

    def _list_again(self) -> bool:
        """List the tools again if the server has announced that they changed."""
        if not self._tools_changed:
            return True
        self._tools_changed = False
        heard, again = self._lesson_run.heard, list_again(spoken_language())
        line, request = self._send(again)
        self.screen.step("+", again, line, self.child.posted() if line else None)
        goes_on = request is None or self._settle(again, request)
        self._lesson_run.heard = heard
        return goes_on

    def _answer_to(self, request: Message, step: DemoStep) -> Answered | Failed | None:
        """Wait for the answer to the open request. Return None if the host gave up."""
        deadline = time.monotonic() + step.timeout if step.timeout else math.inf
        while (left := deadline - time.monotonic()) > 0:
            line = self.child.receive(min(LOOK_EVERY, left))
            if isinstance(line, IncomingResponse):
                self.screen.responded(line)
                continue
            if isinstance(line, StopError):
                self.screen.show_unanswered(line)
                self._host.give_up(request, 0)
                return None
            if line is None:
                self.screen.complaint()
                continue
            self.screen.heard(line)
            for reaction in self._host.take(line):
                self._lesson_run.heard.append(reaction)
                if isinstance(reaction, (Answered, Failed)):
                    return reaction
                if self._is_in_vain(reaction):
                    deadline = min(deadline, time.monotonic() + GIVES_UP_AFTER)
        self._give_up(request, step.gives_up_after)
        return None

    def _is_in_vain(self, reaction: Reaction) -> bool:
        """Take a line that is no answer. Return True if the server may take it for one."""
        match reaction:
            case Ignored():
                in_vain = reaction.is_in_vain
                self.screen.ignored(reaction, GIVES_UP_AFTER if in_vain else 0)
                return in_vain
            case WasAsked(message, line):
                self.child.transport.send(line)
                self.screen.was_asked(message, line)
            case Noticed(message):
                self._tools_changed |= tells_of_tools(reaction)
                self.screen.noticed(message)
            case _:
                pass
        return False

    def _give_up(self, request: Message, seconds: float) -> None:
        line = self._host.give_up(request, seconds)
        if line is not None:
            self.child.transport.send(line)
        self.screen.gave_up(request, seconds, line or "")


def pasted(text: str, file: str, platform: str = sys.platform) -> str:
    """Return the command that writes a text into a file, for the shell that people have here."""
    text, file = shell_quoted(text, platform), shell_quoted(file, platform)
    if platform == "win32":  # PowerShell; its `>` would write UTF-16
        return f"{text} | Set-Content {file}"
    return f"echo {text} > {file}"


@dataclass(eq=False)
class Screen:
    """Shows one session step by step. `program` is how to type the command.

    A person answers `by_hand`, and `typed` in this terminal, too. `page` opens the page
    with their first request, and returns what to say of it.
    """

    program: str
    _: KW_ONLY
    by_hand: bool
    typed: bool = False
    page: Callable[[], str] | None = None
    command: str = "demo"
    folder: Path | None = None

    def __post_init__(self) -> None:
        self._again = f"{self.program} {self.command}"
        self._arrows: list[str] = []
        self._complained = ""
        self._invited = False

    def _say(self, code: str, /, **fillings: object) -> str:
        return say("demo", code, **fillings)

    def _tell(self, code: str, colour: str, /, **fillings: object) -> None:
        self._print(self._say(code, **fillings), colour)

    def _print(self, text: str, colour: str = "") -> None:
        for line in text.splitlines():
            to_stdout(Painted("     " + line, colour))

    # -- the host's lines -----------------------------------------------------------------------

    def begin(self, folder: Path, url: str) -> None:
        """Print what will happen, and where to answer. `url` is the server's, over HTTP."""
        self.folder = folder
        to_stdout(Painted(self._say("title"), "bold"))
        if not self.by_hand:
            to_stdout(self._say("by-itself", folder=folder))
        starts = "starts-http" if url else "starts"
        to_stdout(Painted(self._say(starts, command="humanmcp serve", url=url), "dim"))

    def step(self, number: str, step: DemoStep, line: str, posted: OutgoingRequest | None) -> None:
        """Show a message of the host, and its POST; without a line it had nothing to send."""
        to_stdout()
        title, about = step.title, step.about or step.task
        if not line:
            title, about = (self._say(f"call-none-{part}") for part in ("title", "is"))
        to_stdout(Painted(f"{number}{title}", "bold"))
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
        """Show an answer to copy, where a person answers; in it, … is for their own words."""
        if not self.by_hand or request.id is None:
            return
        if not self._invited:
            self._say_where()
        example = {"jsonrpc": "2.0", "id": request.id.value, **(step.example or {})}
        text = json.dumps(example, ensure_ascii=False)
        for own in (one.at for one in step.passes if one.other_than is not None):
            text = text.replace(json.dumps(at(example, own), ensure_ascii=False), '"…"')
        self._tell("your-turn-typed" if self.typed else "your-turn", "yellow")
        has_file = not self.typed and self.folder != NOWHERE
        to_stdout("     " + (pasted(text, f"{self.folder}/out.txt") if has_file else text))

    def _say_where(self) -> None:
        """Open the page, and say where else a person can answer."""
        self._invited = True
        if self.page is not None:
            to_stdout(self.page())
        if self.typed:
            to_stdout(self._say("typed"))
        to_stdout(self._say("by-hand", folder=self.folder, program=self.program))

    def give(self) -> None:
        """Say that the person need not answer this request."""
        self._tell("given", "yellow", again=f"{self._again} --handshake")

    def gave_up(self, request: Message, seconds: float, line: str) -> None:
        """Print that the host stops waiting, and its notification to the server."""
        self._tell("gave-up", "red", method=request.method, seconds=f"{seconds:g}")
        if line:
            to_stdout(Painted("  >> ", "cyan"), line)
            self._arrow("to", "notifications/cancelled")

    def cannot_go_on(self) -> None:
        """Say why the lesson is over before its last step."""
        to_stdout()
        self._tell("cannot-go-on", "yellow", again=self._again)

    def judged(self, step: DemoStep, missing: Missing | None) -> None:
        """Say that an answer passed, or why not, and what may help."""
        if missing is None:
            self._tell("passed", "green")
            return
        self._print("\n".join((not_passed(step, missing), *step.hints[1:])), "yellow")

    # -- the server's lines ---------------------------------------------------------------------

    def heard(self, line: bytes) -> None:
        """Show a line of the server as it came, as far as a screen can hold it."""
        to_stdout(Painted("  << ", "green"), cut(line.decode("utf-8", "replace")))

    def responded(self, response: IncomingResponse) -> None:
        """Show the head of an HTTP response."""
        to_stdout(Painted("  << ", "green"), f"{response.status} {response.reason} {response.type}")

    def show_unanswered(self, why: StopError) -> None:
        """Say why no answer will come."""
        self._print(why.sentence(), "red")

    def answered(self, answer: Answered | Failed) -> None:
        """Print the host's reaction to an answer."""
        self._arrow("from", "error" if "error" in answer.message.body else "result")
        self._print(understood(answer), "green" if isinstance(answer, Answered) else "red")

    def ignored(self, ignored: Ignored, still: float) -> None:
        """Say why a line changes nothing, and how many seconds the host still waits."""
        self._arrow("from", self._say("ignored"))
        self._print(why_ignored(ignored), "red")
        if still:
            self._tell("still-waits", "yellow", seconds=f"{still:g}")

    def noticed(self, message: Message) -> None:
        """Print the host's reaction to a notification."""
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
        """Print that the server ended, and its last lines."""
        self._tell("gone", "red")
        for line in said:
            to_stdout("     " + line.decode("utf-8", "replace").rstrip())

    # -- the content of problems.txt -------------------------------------------------------------

    def notes(self, within: float) -> None:
        """Show the problems of the answer that was just sent, before the next step begins.

        The server puts `out.txt` away after it has written the line: wait for that.
        """
        until = time.monotonic() + within
        while self.by_hand and self._out_txt_is_full() and time.monotonic() < until:
            time.sleep(_LOOK_EVERY)
        self.complaint()

    def _out_txt_is_full(self) -> bool:
        try:
            return self.folder is not None and (self.folder / "out.txt").stat().st_size > 0
        except OSError:
            return False

    def complaint(self) -> None:
        """Show the content of `problems.txt`, once."""
        if self.folder is None:
            return
        try:
            text = (self.folder / "problems.txt").read_text(encoding="utf-8").strip()
        except OSError:
            return
        if text and text != self._complained:
            self._print(self._as_answered_here(text), "red")
        self._complained = text

    def _as_answered_here(self, problems: str) -> str:
        """Return the problems; in a terminal, with the instruction for typing."""
        for_the_file = say("files", "not-sent", file="out.txt")
        return (
            problems.replace(for_the_file, self._say("not-sent-typed"), 1)
            if self.typed
            else problems
        )

    # -- at a glance ----------------------------------------------------------------------------

    def _arrow(self, way: str, what: str) -> None:
        self._arrows.append(self._say(f"arrow-{way}", what=what))

    def end(self, session: Path) -> None:
        """Show the whole session at a glance, and where to go from here."""
        to_stdout()
        to_stdout(Painted(self._say("at-a-glance"), "bold"))
        self._print("\n".join(self._arrows))
        to_stdout()
        to_stdout(self._say("what-next", session=session, program=self.program))

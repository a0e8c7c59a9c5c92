"""`humanmcp demo`: starts the server as a child, as every host does, and plays the session."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from humanmcp.common.book_file import BookFile
from humanmcp.common.own_process import in_order
from humanmcp.common.settings import add_flags, home_folder, make_private, sample
from humanmcp.common.terminal import has_browser, is_terminal
from humanmcp.demo.good_host import Strictness
from humanmcp.demo.runner import DemoRunner, DemoServer, HttpDemoServer, Screen
from humanmcp.demo.steps import weather
from humanmcp.locales import language_of
from humanmcp.protocol.spec.versions import META_VERSION

if TYPE_CHECKING:
    import argparse

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.demo.steps import LessonSteps

WEATHER_BOOK: Final = "weather.toml"
DEMO_FOLDER: Final = "demo"
BETWEEN_STEPS: Final = 2.5
"""Seconds to read a step by, where people watch the demo play by itself."""


def add_arguments(parser: Parser) -> None:
    """Declare the flags of `demo`."""
    flag = parser.flags("demo", "help ")
    add_flags(parser, "home", "files", "book", "lang")
    flag("--by-hand", action="store_true")
    moods = [strictness.value for strictness in Strictness]
    flag("--mood", choices=moods, default=moods[0])
    flag("--open", action="store_true")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Play the session. Returns 0 when it came to its end, 1 when the connection did not last."""
    watched = sys.stdin.isatty() or bool(arguments.by_hand)
    lesson_steps = weather(language_of(settings.lang))
    by_hand = watched and not settings.book
    book = settings.book or str(sample(WEATHER_BOOK))
    strictness = Strictness(arguments.mood)
    opened = by_hand and arguments.open and has_browser()
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
    """Play a lesson against a server of our own. `name` is the command that plays it.

    With `opened` the page opens in the browser, and a person answers there.

    Returns the exit status (1: the connection did not last), and which requests passed.

    Raises:
        StopError: the book cannot be used. The server would say so too, after the first request.
    """
    if book:
        BookFile(Path(book), must_exist=True)
    language = language_of(settings.lang)
    home = make_private(home_folder(settings.home))
    folder = Path(settings.files).absolute() if settings.files else home / DEMO_FOLDER
    command = [sys.executable, "-m", "humanmcp", "serve", "--home", str(home)]
    command += ["--files", str(folder), "--lang", language]
    # By hand, a person starts from the lists of the book: the tool that the host then calls.
    command += ["--book", str(Path(book).absolute())] if book else []
    command += ["--by-hand" if by_hand else "--auto", *(["--open"] if opened else ())]
    typed = by_hand and sys.stdin.isatty()
    pause = BETWEEN_STEPS if is_terminal() and not by_hand else 0
    screen = Screen(program(), by_hand=by_hand, typed=typed, opened=opened, command=name)
    version = lesson_steps.meta.get(META_VERSION, "")
    started = HttpDemoServer(command, version) if lesson_steps.http else DemoServer(command)
    with in_order(), started as child:
        runner = DemoRunner(
            child, lesson_steps, strictness, screen, pause, asks_again=by_hand, typed=typed
        )
        try:
            return (0 if runner.play(home, folder) else 1), runner.passed
        except KeyboardInterrupt:
            return 130, runner.passed
        finally:
            screen.end(home / "sessions")


def program() -> str:
    """Name the command as it can be typed here: a fresh `.venv` is not on PATH yet."""
    ours = Path(sys.executable).with_name("humanmcp")
    on_path = shutil.which("humanmcp")
    if not ours.exists() or (on_path and Path(on_path).samefile(ours)):
        return "humanmcp"
    here = Path.cwd()
    return str(ours.relative_to(here) if ours.is_relative_to(here) else ours)

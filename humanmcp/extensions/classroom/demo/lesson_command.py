"""`humanmcp lesson`: list the lessons, take one alone at a desk, or check one of your own."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from humanmcp import extensions
from humanmcp.common.settings import add_brought_flags, add_flags, home_folder, make_home
from humanmcp.common.terminal import to_stdout
from humanmcp.extensions.classroom.demo.command import SETTINGS, play, play_against
from humanmcp.extensions.classroom.demo.good_host import Strictness
from humanmcp.extensions.classroom.demo.lesson import client_name, find_lesson, lesson_names
from humanmcp.locales import language_of, say, spoken_language
from humanmcp.locales.stop import stopped

if TYPE_CHECKING:
    import argparse

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings

SECTION = "lesson"


def add_arguments(parser: Parser) -> None:
    flag = parser.flags(SECTION, "help ")
    flag("name", nargs="?", default="", metavar="LESSON")
    flag("--check", action="store_true")
    flag("--open", action="store_true")
    flag("--handshake", action="store_true")
    flag("--step", type=int, default=0)
    flag("--server", metavar="COMMAND", default="")
    add_flags(parser, "home", "book", "lang")
    add_brought_flags(parser, SETTINGS)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """List, check or play. Returns 0 when every step of the lesson passed."""
    language = language_of(settings.lang)
    if not arguments.name:
        if arguments.check:
            raise stopped("lesson", "check what")
        return _list()
    if brought := extensions.brought("lessons", arguments.name):
        return _play(brought, arguments, settings)
    lesson_steps = find_lesson(arguments.name)(language)
    if arguments.handshake:
        lesson_steps = lesson_steps.with_handshake()
    total, step = len(lesson_steps.requests), int(arguments.step)
    to_stdout(
        say(SECTION, "head", title=lesson_steps.title, count=total, teaches=lesson_steps.teaches)
    )
    if arguments.check:
        return 0
    if step:
        if not 0 < step <= total:
            raise stopped(SECTION, "no step", count=total)
        if arguments.server or settings.book:
            raise stopped(SECTION, "by hand alone", name=arguments.name)
        lesson_steps = lesson_steps.beginning_at(step)
    if arguments.server:
        passed = play_against(lesson_steps, shlex.split(arguments.server))
        to_stdout(say(SECTION, "result", passed=sum(passed), count=total))
        return int(sum(passed) < total)
    home = make_home(home_folder(settings.home))
    name, book = f"lesson {arguments.name}", settings.book
    lesson_steps = lesson_steps.played_by(client_name(arguments.name, home))
    opened = bool(arguments.open) and not book
    done, passed = play(
        *(lesson_steps, settings, Strictness.STRICT, name),
        by_hand=not book,
        book=book,
        opened=opened,
    )
    count, passed = total - max(0, step - 1), passed[max(0, step - 1) :]
    to_stdout(say(SECTION, "result", passed=sum(passed), count=count))
    return done or int(sum(passed) < count)


def _play(lesson: Any, arguments: argparse.Namespace, settings: Settings) -> int:  # noqa: ANN401 - an object of another extension
    """Play a lesson of another extension. Its person answers at a desk, not a book or a server."""
    to_stdout(say(SECTION, "head", title=lesson.title, count=lesson.count, teaches=lesson.teaches))
    if arguments.check:
        return 0
    if arguments.server or settings.book:
        raise stopped(SECTION, "by hand alone", name=arguments.name)
    if arguments.step:
        raise stopped(SECTION, "no single step", name=arguments.name)
    done, passed = lesson.play(settings, opened=bool(arguments.open))
    to_stdout(say(SECTION, "result", passed=passed, count=lesson.count))
    return done or int(passed < lesson.count)


def _list() -> int:
    every = {name: find_lesson(name)(spoken_language()).title for name in lesson_names()}
    for name in (name for one in extensions.installed() for name in one.brings.lessons):
        if brought := extensions.brought("lessons", name):
            every[name] = brought.title
    width = max(map(len, every))
    for name, title in every.items():
        to_stdout(f"{name:<{width}}  ", title)
    to_stdout(say(SECTION, "how"))
    return 0

"""Where lessons stand: those that come along, by their names, and files of a teacher's own."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from humanmcp.common.book_file import decode, text_of
from humanmcp.common.paths import make_private, sample
from humanmcp.demo.lesson_format import LANGUAGES, parse_lesson
from humanmcp.demo.steps import weather
from humanmcp.locales.stop import StopError, stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from humanmcp.demo.steps import Course

WEATHER: Final = "weather"
"""The name of the lesson that `humanmcp demo` plays."""


AT_DESK: Final = "humanmcp lesson"
"""What the host of a lesson alone at a desk calls itself, followed by the lesson's name."""

OWN: Final = "lessons"
"""The folder below the home with the files that were played at its desk."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]{1,60}")


def lesson_files() -> Sequence[Path]:
    """Return the files of the lessons that come along, in the order to take them."""
    return sorted(sample("lessons").glob("*.toml"))


def name_of(file: Path) -> str:
    """Return how a lesson is called on the command line: without the number that orders it."""
    return file.stem.partition("-")[2]


def client_name(name: str, home: Path) -> str:
    """Return what the host of a lesson at a desk calls itself: a file's place is not said.

    A file of one's own is kept below `home` under its name, so that the desk there has it, too.
    """
    if name in map(name_of, lesson_files()):
        return f"{AT_DESK} {name}"
    file = Path(name).expanduser()
    if not _PLAIN.fullmatch(file.stem):
        return AT_DESK
    text = text_of(file)
    (make_private(home / OWN) / f"{file.stem}.toml").write_text(text, encoding="utf-8")
    return f"{AT_DESK} {file.stem}.toml"


def lesson_of_client(client: str, home: Path) -> Callable[[str], Course] | None:
    """Return the lesson that a client plays by its name; None for any other client."""
    begin, _, name = client.rpartition(" ")
    if begin != AT_DESK:
        return None
    file = home / OWN / name
    if name.endswith(".toml") and _PLAIN.fullmatch(file.stem) and file.is_file():
        with suppress(StopError):  # somebody has changed it since
            return find_lesson(str(file))
    return find_lesson(name) if name in map(name_of, lesson_files()) else None


def find_lesson(name: str) -> Callable[[str], Course]:
    """Return what makes a lesson in a language, by its name or its file.

    Raises:
        StopError: there is no such lesson, or its file cannot be used.
    """
    if name == WEATHER:
        return weather
    shipped = {name_of(one): one for one in lesson_files()}
    path = shipped.get(name, Path(name).expanduser())
    if name not in shipped and not path.exists() and path.suffix != ".toml":
        raise stopped("lesson", "unknown", name=name, known=", ".join((WEATHER, *shipped)))
    text = text_of(path)
    made = {one: decode(text, path, partial(parse_lesson, language=one)) for one in LANGUAGES}
    return made.__getitem__

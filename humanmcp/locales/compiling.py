"""From the sentences' source, TOML, to what a program loads: one JSON file a room.

The source is for people: a file a reader and language, a table a room, a table a sentence where it
has several wordings. TOML takes 13 ms to read, JSON less than one. So the wheel has only the JSON
(`hatch_build.py`), and a checkout makes it by itself as Python makes `__pycache__`: each file
remembers size and time of its source, and where they differ, all are made again.

The build loads this file alone: it imports nothing of the package.
"""

from __future__ import annotations

import contextlib
import json
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FOLDER: Final = Path(__file__).parent
PLAIN: Final = "says"
"""The wording for everybody who has none of their own: it has the code of its table."""


def languages(folder: Path = FOLDER) -> list[str]:
    """List the languages that there are sources in."""
    return sorted({file.parent.name for file in folder.glob("*/*.toml")})


class Room(NamedTuple):
    """One room as it is written: the sentences by code, and where they stand."""

    name: str
    sentences: Mapping[str, str]
    source: str
    stamp: tuple[int, int]


def rooms(language: str, folder: Path = FOLDER) -> Iterator[Room]:
    """Read every room of a language from its source."""
    for file in sorted((folder / language).glob("*.toml")):
        stamp = stamp_of(file)  # before it is read: a change in between makes it stale
        for name, table in tomllib.loads(file.read_text(encoding="utf-8")).items():
            yield Room(name, dict(_sentences(table)), f"{language}/{file.name}", stamp)


def sentences(language: str, folder: Path = FOLDER) -> Mapping[str, Mapping[str, str]]:
    """Return every sentence of a language as {room: {code: sentence}}, from its source."""
    return {room.name: room.sentences for room in rooms(language, folder)}


def _sentences(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Walk the sentences of a table as (code, sentence); the codes of tables in it join by dots."""
    for key, value in table.items():
        code = f"{before}.{key}" if before else key
        if isinstance(value, str):
            yield code.removesuffix(f".{PLAIN}"), value
        else:
            yield from _sentences(value, code)


def stamp_of(file: Path) -> tuple[int, int]:
    """Return what differs when a file has changed: its time in nanoseconds and its size."""
    facts = file.stat()
    return facts.st_mtime_ns, facts.st_size


def refresh(language: str, room: str, folder: Path, compiled: Path) -> Mapping[str, str]:
    """Compile a language anew, and return the sentences of one room; none where there is no such.

    Where the folder cannot be written, each program that starts reads the source.
    """
    found = list(rooms(language, folder))
    with contextlib.suppress(OSError):
        write(compiled / language, found)
    return next((each.sentences for each in found if each.name == room), {})


def write(target: Path, found: Iterable[Room], *, stamped: bool = True) -> None:
    """Write the compiled form of a language, and remove rooms that are no more.

    Without stamps two builds of one source are equal byte by byte.
    """
    target.mkdir(parents=True, exist_ok=True)
    made = set()
    for room in found:
        stamp = {"source": room.source, "stamp": room.stamp} if stamped else {}
        content = json.dumps({**stamp, "sentences": room.sentences}, ensure_ascii=False)
        temporary = target / f".{room.name}.{os.getpid()}"
        temporary.write_text(content, encoding="utf-8")
        made.add(temporary.replace(target / f"{room.name}.json"))
    for file in set(target.glob("*.json")) - made:
        file.unlink(missing_ok=True)

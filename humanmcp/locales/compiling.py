"""Compile the sentences from their source, TOML, to JSON, one file per section.

The source is for people: a catalog per reader and language, a table per section, and a table per
sentence with several wordings. TOML takes 13 ms to read, JSON less than one. So the wheel has only
the JSON (`hatch_build.py`), and a checkout compiles it as Python makes `__pycache__`: each file
has the size and time of its source, and if they differ, all are compiled again.

The build loads only this file: it imports nothing of the package.
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
"""The wording for all other readers: it has the code of its table."""


def folders() -> list[Path]:
    """Return our folder of sentences, then those of the extensions that we ship."""
    return [FOLDER, *sorted(FOLDER.parent.glob("extensions/*/locales"))]


def languages(folder: Path = FOLDER) -> list[str]:
    return sorted({file.parent.name for file in folder.glob("*/*.toml")})


class Section(NamedTuple):
    """One section: its sentences by code, and its source."""

    name: str
    sentences: Mapping[str, str]
    source: str
    stamp: tuple[int, int]


def sections(language: str, folder: Path = FOLDER) -> Iterator[Section]:
    """Read every section of a language from its source."""
    for file in sorted((folder / language).glob("*.toml")):
        stamp = stamp_of(file)  # before it is read: a change in between makes it stale
        for name, table in tomllib.loads(file.read_text(encoding="utf-8")).items():
            yield Section(name, dict(_sentences(table)), f"{language}/{file.name}", stamp)


def sentences(language: str, folder: Path = FOLDER) -> Mapping[str, Mapping[str, str]]:
    """Return every sentence of a language as {section: {code: sentence}}, from its source."""
    return {section.name: section.sentences for section in sections(language, folder)}


def _sentences(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Walk the sentences of a table as (code, sentence); the codes of tables in it join by dots."""
    for key, value in table.items():
        code = f"{before}.{key}" if before else key
        if isinstance(value, str):
            yield code.removesuffix(f".{PLAIN}"), value
        else:
            yield from _sentences(value, code)


def stamp_of(file: Path) -> tuple[int, int]:
    """Return the time of a file in nanoseconds and its size: one differs after a change."""
    facts = file.stat()
    return facts.st_mtime_ns, facts.st_size


def refresh(language: str, section: str, folder: Path, compiled: Path) -> Mapping[str, str]:
    """Compile a language again, and return the sentences of one section, if it exists.

    Where the folder cannot be written, each program that starts reads the source. An installed
    program has no source, and keeps its compiled form.
    """
    found = list(sections(language, folder))
    if found:
        with contextlib.suppress(OSError):
            write(compiled / language, found)
    return next((each.sentences for each in found if each.name == section), {})


def write(target: Path, found: Iterable[Section], *, stamped: bool = True) -> None:
    """Write the compiled form of a language, and remove sections that no longer exist.

    Without stamps two builds of one source are equal byte by byte.
    """
    target.mkdir(parents=True, exist_ok=True)
    made = set()
    for section in found:
        stamp = {"source": section.source, "stamp": section.stamp} if stamped else {}
        content = json.dumps({**stamp, "sentences": section.sentences}, ensure_ascii=False)
        temporary = target / f".{section.name}.{os.getpid()}"
        temporary.write_text(content, encoding="utf-8")
        made.add(temporary.replace(target / f"{section.name}.json"))
    for file in set(target.glob("*.json")) - made:
        file.unlink(missing_ok=True)

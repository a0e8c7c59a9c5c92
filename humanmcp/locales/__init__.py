"""Every sentence a person reads, by code, in every language. One place for each.

The sentences stand in `en.toml` and `ja.toml`: a table a room (`[problem]`, `[cli]`, …), a line a
code. A sentence names its fillings in braces: `"{key}" is missing`.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from humanmcp.protocol.diagnostics.model import Problem

LANGUAGES: Final = ("en", "ja")


class UnknownSentenceError(LookupError):
    """A code has no sentence."""

    def __init__(self, room: str, code: str) -> None:
        """Remember which."""
        super().__init__(room, code)
        self.room = room
        self.code = code

    def __str__(self) -> str:
        """Say what to do."""
        return f"no sentence for {self.room}.{self.code}: add it to humanmcp/locales/*.toml"


_ROOM: Final = re.compile(r"^\[([a-z_]+)\]\n", re.MULTILINE)


@cache
def _rooms(language: str) -> Mapping[str, str]:
    """Return the TOML of each room of a language, not yet read.

    A server says three sentences in its life: reading all of them would cost it 8 ms of its start.
    """
    text = Path(__file__).with_name(f"{language}.toml").read_text(encoding="utf-8")
    _before, *parts = _ROOM.split(text)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@cache
def _room(language: str, room: str) -> Mapping[str, str]:
    """Return the sentences of one room; none when there is no such room."""
    import tomllib  # noqa: PLC0415 - 5 ms that only those who speak have to pay

    return tomllib.loads(_rooms(language).get(room, ""))


def sentences(language: str) -> Mapping[str, Mapping[str, str]]:
    """Return every sentence of a language as {room: {code: sentence}}."""
    return {room: _room(language, room) for room in _rooms(language)}


_spoken = True
_preferred = ""


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Speak this language inside, where no other is asked for: for a command line's own words."""
    global _preferred  # noqa: PLW0603 - one process says things to one person
    before, _preferred = _preferred, language
    try:
        yield
    finally:
        _preferred = before


@contextmanager
def unspoken() -> Iterator[None]:
    """Say nothing inside: for the help of flags that nobody asked to read."""
    global _spoken  # noqa: PLW0603 - one process says things to one person
    _spoken = False
    try:
        yield
    finally:
        _spoken = True


def say(room: str, code: str, language: str = "", /, **fillings: object) -> str:
    """Return one sentence, filled. Without a language it is that of `speaking`, else English.

    Raises:
        UnknownSentenceError: neither the language nor English has it.
    """
    if not _spoken:
        return ""
    for candidate in (language or _preferred, "en"):
        if candidate in LANGUAGES:
            sentence = _room(candidate, room).get(code)
            if sentence is not None:
                return sentence.format(**fillings) if fillings else sentence
    raise UnknownSentenceError(room, code)


def problem(found: Problem, language: str = "en") -> str:
    """Return a problem's sentence, without its place; of many of a kind with their number."""
    sentence = say("problem", found.code, language, **fillings_of(found, language))
    return sentence if found.times == 1 else f"{found.times} \u00d7 {found.code}: {sentence}"


def fillings_of(found: Problem, language: str) -> dict[str, str]:
    """Return what fills a problem's sentence.

    In the language are `got`, the name of a JSON type, and `why`, where a `rule` of a JSON Schema
    is broken that has a sentence.
    """
    fillings = dict(found.detail)
    if fillings.get("got") in _room("en", "json_type"):
        fillings["got"] = say("json_type", fillings["got"], language)
    if fillings.get("rule") in _room("en", "schema_rule"):
        fillings["why"] = say("schema_rule", fillings["rule"], language, **fillings)
    return fillings


def language_of(wanted: str = "") -> str:
    """Choose the language: the wanted one, else the environment's, else English.

    Hosts often start servers without `LANG`: the settings file and `--lang` are the way there.
    """
    for candidate in (
        wanted,
        _preferred,
        *(os.environ.get(name, "") for name in ("LC_ALL", "LANG")),
    ):
        short = candidate[:2].lower()
        if short in LANGUAGES:
            return short
    return "en"

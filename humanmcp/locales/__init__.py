"""Every sentence a person reads, by code, in every language. One place for each.

The sentences are in a folder per language (`en/`, `ja/`), in a catalog per reader (`page.toml`,
`terminal.toml`, …), in a section (`[desk]`, `[show]`, …), one line for each code. A sentence names
its fillings in braces: `"{key}" is missing`. A word of a command line that people paste is
`{folder!q}`, which quotes it for their shell. Where it has several wordings it is a table of them:
`[problem.J01]` with `says` and `why` has the codes `J01` and `J01.why`.
A program loads the compiled form, section by section: see `compiling`.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp import extensions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from humanmcp.protocol.diagnostics.model import Diagnostic

LANGUAGES: Final = ("en", "ja")


TIPS: Final = "{tips}"
"""The place in a sentence for what extensions say there, such as one of their commands."""


class UnknownSentenceError(LookupError):
    """A code has no sentence."""

    def __init__(self, section: str, code: str) -> None:
        super().__init__(section, code)
        self.section = section
        self.code = code

    def __str__(self) -> str:
        return f"no sentence for {self.section}.{self.code}: add it to humanmcp/locales/*/*.toml"


_FOLDER: Final = Path(__file__).parent
_NAMED: Final = (("got", "json_type"), ("was", "message_kind"), ("now", "message_kind"))
"""Fillings of problems that are codes, and the sections with their words."""


def _tell(fault: extensions.Fault) -> None:
    """Tell on stderr, where a server's or a command's person reads, what is left out."""
    with suppress(OSError, AttributeError, ValueError):  # there is no stderr
        from humanmcp.protocol.json.visible import one_line  # noqa: PLC0415 - seldom needed

        said = one_line(say("extension", "fault", **fault._asdict()), 300)
        sys.stderr.write(f"humanmcp: {said}\n")


extensions.on_fault(_tell)


@cache
def sentences_of(section: str, language: str) -> Mapping[str, str]:
    """Return the sentences of one section by code; none if there is no such section."""
    for folder in _folders():
        found = _compiled(folder, section, language)
        if found is not None:
            return found
    from humanmcp.locales.compiling import refresh  # noqa: PLC0415 - once after each change

    ours = refresh(language, section, _FOLDER, _FOLDER / "compiled")
    made = (
        extensions.call(name, "locales", refresh, language, section, folder, folder / "compiled")
        for name, folder in extensions.folders("locales")
    )
    return ours or next(filter(None, made), {})


def _folders() -> Iterator[Path]:
    """Yield our folder of sentences, then those of extensions."""
    yield _FOLDER
    yield from (folder for _name, folder in extensions.folders("locales"))


def _compiled(folder: Path, section: str, language: str) -> Mapping[str, str] | None:
    """Return the sentences of a section in their compiled form; None if there is no fresh one."""
    try:
        with open(f"{folder}/compiled/{language}/{section}.json", "rb") as compiled:  # noqa: PTH123 - at every start
            found = json.loads(compiled.read())
        if "source" not in found or _is_fresh(f"{folder}/{found['source']}", found["stamp"]):
            return found["sentences"]  # type: ignore[no-any-return]  # written by `compiling`
    except (OSError, ValueError):
        pass
    return None


def _is_fresh(source: str, stamp: list[int]) -> bool:
    """Return True if the source has not changed. An installed program has no source."""
    facts = os.stat(source)  # noqa: PTH116 - at every start
    return [facts.st_mtime_ns, facts.st_size] == stamp


class _Process:
    """The language of everything that no context gives another one."""

    language = "en"


_reader: Final[ContextVar[str]] = ContextVar("language")


def spoken_language() -> str:
    """Return the language of the reader: that of this context, else that of the process."""
    return _reader.get(_Process.language)


def speak(language: str) -> None:
    """Choose the language of the process, in all of its threads."""
    _Process.language = language


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Use the language of a reader within the context, such as that of a request."""
    token = _reader.set(language)
    try:
        yield
    finally:
        _reader.reset(token)


def in_one_language(value: Any, language: str) -> Any:  # noqa: ANN401 - of JSON or TOML
    """Choose the language of each text that is written in all: `{en = "…", ja = "…"}`."""
    match value:
        case dict() if value.keys() == {*LANGUAGES}:
            return value[language]
        case dict():
            return {name: in_one_language(one, language) for name, one in value.items()}
        case list():
            return [in_one_language(one, language) for one in value]
        case _:
            return value


def say(section: str, code: str, language: str = "", /, **fillings: object) -> str:
    """Return one sentence, filled, in the language of its reader, or in English.

    The reader's is `spoken_language`, unless another one is named.

    With a `count` of 1 it is the wording for one, `CODE one`, if there is such a wording.

    Raises:
        UnknownSentenceError: neither the language nor English has it.
    """
    sentence = find_sentence(section, code, language, **fillings)
    if sentence is None:
        raise UnknownSentenceError(section, code)
    return sentence


def find_sentence(section: str, code: str, language: str = "", /, **fillings: object) -> str | None:
    """Return the sentence that `say` returns, or None if there is none."""
    for candidate in (language or spoken_language(), "en"):
        if candidate in LANGUAGES:
            sentences = sentences_of(section, candidate)
            singular = sentences.get(f"{code} one") if fillings.get("count") in (1, "1") else None
            sentence = singular or sentences.get(code)
            if sentence is not None:
                if TIPS in sentence:
                    fillings |= {"tips": _tips(section, code, candidate, fillings)}
                if "!q}" in sentence:
                    from humanmcp.common.shell import CommandFormatter  # noqa: PLC0415 - seldom needed

                    return CommandFormatter().format(sentence, **fillings)
                return sentence.format(**fillings) if fillings else sentence
    return None


def _tips(section: str, code: str, language: str, fillings: Mapping[str, object]) -> str:
    """Return what extensions say at a sentence: each in `tip SECTION CODE` of its own section."""
    said = []
    for one in extensions.installed():
        with suppress(LookupError, ValueError):  # a sentence that cannot be filled
            said.append(find_sentence(one.name, f"tip {section} {code}", language, **fillings))
    return "".join(filter(None, said))


def who(by: str) -> str:
    """Describe who answered: a person at a desk, the book. Any other name is returned.

    Of an extension that answers by rules it is the sentence `by rule` of its section.
    """
    name, _, rule = by.partition(": rule ")
    known = find_sentence("by", f"{name} rule" if rule else name, rule=rule)
    is_word = bool(rule) and name.isascii() and name.isalpha()
    return known or (find_sentence(name, "by rule", rule=rule) if is_word else None) or by


def describe(diagnostic: Diagnostic) -> str:
    """Return a problem's sentence, without its place; of many of a kind with their number.

    The code of a problem that an extension finds begins with its section: `reminders.late`.
    """
    if diagnostic.times > 1:
        return titled(diagnostic)
    section, _, code = diagnostic.code.rpartition(".")
    return say(section or "problem", code, **fillings_of(diagnostic))


def titled(diagnostic: Diagnostic) -> str:
    """Return a problem's sentence after its name, its code and the number of many of a kind."""
    from humanmcp.protocol.diagnostics.kinds import title_of  # noqa: PLC0415 - a layer above

    many = f"{diagnostic.times} \u00d7 " if diagnostic.times > 1 else ""
    sentence = describe_or_code(diagnostic._replace(times=1))
    return f"{many}{title_of(diagnostic.code)}: {sentence}"


def describe_or_code(diagnostic: Diagnostic) -> str:
    """Return a problem's sentence, or its code if a newer humanmcp found it."""
    try:
        return describe(diagnostic)
    except UnknownSentenceError:
        return diagnostic.code


def fillings_of(diagnostic: Diagnostic) -> dict[str, str]:
    """Return what fills a problem's sentence.

    In the language are `got`, the name of a JSON type; `was` and `now`, the kinds of a message;
    `why`, where a `rule` of a JSON Schema is broken that has a sentence; and `reactions`, what
    clients do.
    """
    fillings = dict(diagnostic.detail)
    for name, section in _NAMED:
        if fillings.get(name) in sentences_of(section, "en"):
            fillings[name] = say(section, fillings[name])
    if fillings.get("rule") in sentences_of("schema_rule", "en"):
        fillings["why"] = say("schema_rule", fillings["rule"], **fillings)
    if "reactions" in fillings:
        groups = (one.split("=", 1) for one in fillings["reactions"].split(";"))
        words = (say("client_does", told, clients=clients) for told, clients in groups)
        fillings["reactions"] = say("client_does", "and").join(words)
    return fillings


def language_of(wanted: str = "") -> str:
    """Choose the language: the wanted one, else the environment's, else English.

    Hosts often start servers without `LANG`: the settings file and `--lang` are the way there.
    """
    for candidate in (wanted, os.environ.get("LC_ALL", ""), os.environ.get("LANG", "")):
        short = candidate[:2].lower()
        if short in LANGUAGES:
            return short
    return "en"

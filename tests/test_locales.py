"""Every sentence a person reads."""

import re
import string
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from humanmcp import extensions
from humanmcp.cli import commands
from humanmcp.locales import LANGUAGES, TIPS, UnknownSentenceError, language_of, say, sentences_of
from humanmcp.locales.compiling import folders, sections

HOSTILE: Final = "x'$(touch PWNED)'; touch PWNED & #y"
TYPED: Final = ("humanmcp", "chmod", "ulimit", "{program!q}")
SAFE: Final = {"prog", "codes", "needed"}
"""Fillings of our own: the name of a command, codes of problems, and a number."""


def in_backticks(sentence: str) -> list[str]:
    """Return what a sentence names as it is typed."""
    return re.findall(r"`([^`]+)`", sentence)


def has_fillings(line: str) -> bool:
    """Return True for a command line that is not the same each time."""
    return line.startswith(TYPED) and "{" in line


def sentences_with_commands() -> Iterator[tuple[str, str, str, str]]:
    """Yield language, section, code and sentence."""
    for language in LANGUAGES:
        for section in (one for folder in folders() for one in sections(language, folder)):
            for code, alone in section.sentences.items():
                sentence = alone.replace(TIPS, tips(section.name, code, language))
                if any(map(has_fillings, in_backticks(sentence))):
                    yield language, section.name, code, sentence


def tips(section: str, code: str, language: str) -> str:
    """Return what extensions add to a sentence."""
    found = (sentences_of(one.name, language) for one in extensions.installed())
    return "".join(sentences.get(f"tip {section} {code}", "") for sentences in found)


def names_in(template: str) -> dict[str, str | None]:
    """Return the fillings of a template, and their conversions."""
    parts = string.Formatter().parse(template)
    return {name: conversion for _text, name, _spec, conversion in parts if name}


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with commands that write down their arguments."""
    folder = tmp_path_factory.mktemp("shell")
    for name in ("humanmcp", "chmod"):
        command = folder / name
        command.write_text('#!/bin/sh\nprintf "%s\\0" "$@" > arguments\n')
        command.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    "found", [pytest.param(one, id=" ".join(one[:3])) for one in sentences_with_commands()]
)
def test_a_printed_command_line_does_only_what_it_says(
    tmp_path: Path, shell: Path, found: tuple[str, str, str, str]
) -> None:
    """Whatever a folder, a session or a server is called: the line is pasted into a real shell."""
    language, section, code, sentence = found
    values = {name: name if name in SAFE else HOSTILE for name in names_in(sentence)}
    printed = in_backticks(say(section, code, language, **values))
    for template, line in zip(in_backticks(sentence), printed, strict=True):
        if not has_fillings(template):
            continue
        names = names_in(template)
        assert {name for name, conversion in names.items() if conversion != "q"} <= SAFE
        subprocess.run(
            ["sh", "-c", line],
            cwd=tmp_path,
            env={"PATH": f"{shell}:/usr/bin:/bin"},
            stderr=subprocess.DEVNULL,
            check=False,
        )
        assert not (tmp_path / "PWNED").exists()
        if template.startswith(("humanmcp", "chmod")) and not SAFE & names.keys():
            assert HOSTILE in (tmp_path / "arguments").read_text().split("\0")


def test_every_command_line_with_fillings_is_in_backticks() -> None:
    """So that the test above finds it."""
    command = re.compile(
        rf"(?:humanmcp (?:{'|'.join(commands())})|chmod|{{program)\b[^.。:]*{{(?!codes)"
    )
    outside = [
        (language, section.name, code)
        for language in LANGUAGES
        for folder in folders()
        for section in sections(language, folder)
        for code, sentence in section.sentences.items()
        if command.search(re.sub(r"`[^`]+`", "", sentence))
    ]
    assert outside == []


def test_a_sentence_is_filled_in_the_wanted_language() -> None:
    """An unknown language gets English."""
    assert say("waiting", "measured", "en") == "measured"
    assert say("waiting", "measured", "ja") == "実測値"
    assert say("waiting", "measured", "fr") == "measured"
    assert "3" in say("demo", "understood-tools", "ja", count=3, names="a")


def test_one_thing_is_not_plural() -> None:
    """English has a wording for one; Japanese needs none."""
    assert say("desk", "talk.earlier", "en", count=1) == "1 earlier turn"
    assert say("desk", "talk.earlier", "en", count=2) == "2 earlier turns"
    assert say("desk", "talk.earlier", "ja", count=1) == "その前の 1 ターン"


def test_a_code_without_a_sentence_says_what_to_do() -> None:
    """It is a mistake of ours, and names the place."""
    with pytest.raises(UnknownSentenceError, match=r"no sentence for demo\.nonsense"):
        say("demo", "nonsense", "ja")


def test_the_language_is_the_wanted_one_then_the_environments_then_english(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Hosts often start servers without LANG."""
    for name in ("LC_ALL", "LANG"):
        monkeypatch.delenv(name, raising=False)
    assert language_of() == "en"
    assert language_of("ja") == "ja"
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    assert language_of() == "ja"
    assert language_of("en") == "en"
    monkeypatch.setenv("LC_ALL", "C")
    assert language_of() == "ja"

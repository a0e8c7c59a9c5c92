"""Write the page of `man humanmcp` from the parsers of the commands: `make dist` does."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from humanmcp import __version__, cli
from humanmcp.common import published
from humanmcp.common.settings import FILE_NAME, PREFIX
from humanmcp.locales import say

if TYPE_CHECKING:
    from collections.abc import Iterator

_OUTCOMES: Final = (
    ("0", "Done."),
    ("1", "Not done: refused, too late, or the check found errors."),
    ("2", "Asked in a way that cannot be done."),
)


MADE: Final = Path(__file__).parent.parent / "build" / "humanmcp.1"
"""Where `hatch_build.py` finds it."""


def page() -> str:
    """Return the page in roff, with the macros of man(7)."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield '.\\" Made from the code by `make dist`.'
    yield f'.TH HUMANMCP 1 "" "humanmcp {__version__}" "User Commands"'
    yield ".SH NAME"
    yield f"{published.NAME} \\- be the server of MCP, the Model Context Protocol, by hand"
    yield ".SH SYNOPSIS"
    yield ".B humanmcp"
    yield ".I COMMAND"
    yield "[\\fIARGUMENT\\fR]..."
    yield ".SH DESCRIPTION"
    for paragraph in (say("cli", code, "en") for code in ("description", "epilog")):
        yield ".PP"
        yield _text(" ".join(paragraph.split()).replace("`", ""))
    yield ".SH COMMANDS"
    for name in cli.commands():
        yield from _command(name)
    yield ".SH EXIT STATUS"
    for status, meaning in _OUTCOMES:
        yield from (".TP", f".B {status}", meaning)
    yield ".SH ENVIRONMENT"
    yield f"Each setting of the file \\fI~/.humanmcp/{FILE_NAME}\\fR is also a variable:"
    yield f".BR {PREFIX}LANG ,"
    yield f".BR {PREFIX}HOME ,"
    yield "and so on. A flag wins over the environment, the environment over the file."


def _command(name: str) -> Iterator[str]:
    parser = cli.parser_of(name, importlib.import_module(cli.commands()[name]))
    yield f".SS humanmcp {name}"
    yield _text((parser.description or "").replace("`", ""))
    for action in parser._actions:  # noqa: SLF001 - argparse lists them nowhere else
        if action.help is argparse.SUPPRESS or "--help" in action.option_strings:
            continue
        names = action.metavar or action.dest.upper()
        called = " ".join(names) if isinstance(names, tuple) else names
        value = f" \\fI{_text(called)}\\fR" if action.nargs != 0 else ""
        flags = ", ".join(f"\\fB{_text(flag)}\\fR" for flag in action.option_strings)
        meaning = (action.help or "") % {"default": action.default, "prog": "humanmcp"}
        yield ".TP"
        yield f"{flags}{value}".strip()
        yield _text(" ".join(meaning.split()).replace("`", ""))


def _text(words: str) -> str:
    """Keep a sentence from being read as roff: no request, no escape, hyphens as they are."""
    escaped = words.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    MADE.parent.mkdir(exist_ok=True)
    MADE.write_text(page(), encoding="utf-8")

"""Command lines as people paste them into the shell that they have here."""

from __future__ import annotations

import re
import shlex
import shutil
import string
import sys
from pathlib import Path
from typing import Final, Literal, cast

_PLAIN: Final = re.compile(r"[\w@%+=:,./\\-]+", re.ASCII)
_POWERSHELL_QUOTES: Final = re.compile("(['\u2018\u2019\u201a\u201b])")


def shell_quoted(word: str, platform: str = sys.platform) -> str:
    """Return a word of a command line so that the shell takes it as it is."""
    if platform != "win32":
        return shlex.quote(word)
    # https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_quoting_rules:
    # in single quotes nothing is replaced. PowerShell reads four more characters as a single quote.
    if _PLAIN.fullmatch(word) and word[0] not in "@%":
        return word
    return "'" + _POWERSHELL_QUOTES.sub(r"\1\1", word) + "'"


class CommandFormatter(string.Formatter):
    """Formats a sentence with command lines: `{folder!q}` is a word of one, or a tuple of words."""

    def convert_field(self, value: object, conversion: str | None) -> object:
        """Quote a word for the shell."""
        if conversion == "q":
            return command_line(*value) if isinstance(value, tuple) else shell_quoted(str(value))
        return super().convert_field(value, cast("Literal['r', 's', 'a'] | None", conversion))


def command_line(*words: str) -> str:
    return " ".join(map(shell_quoted, words))


def program() -> str:
    """Return the command as it can be typed here: a fresh `.venv` is not on PATH yet."""
    ours = Path(sys.executable).with_name("humanmcp")
    on_path = shutil.which("humanmcp")
    if not ours.exists() or (on_path and Path(on_path).samefile(ours)):
        return "humanmcp"
    here = Path.cwd()
    return str(ours.relative_to(here) if ours.is_relative_to(here) else ours)

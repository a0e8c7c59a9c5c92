"""The parser of every command: argparse, in the language of its reader.

argparse takes its own words from gettext, which goes by the environment alone and not by `--lang`.
So a formatter writes the words of help, and errors of a command line are recognised by argparse's
English and translated; an error that is not recognised is shown as argparse has it.
"""

from __future__ import annotations

import argparse
import os
import re
from typing import TYPE_CHECKING, Any, Final, NoReturn

from humanmcp.locales import find_sentence, say
from humanmcp.locales.stop import USAGE_ERROR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

SECTION: Final = "parsing"
HELP: Final = ("--help",)
"""The command line that asks for help."""

_COLUMNS: Final = 80
"""The width without a terminal."""
_MOST_OF_A_LINE: Final = 0.6
"""The share of a usage line for flags; the rest is the indentation below the command."""

# Texts: `re` compiles each when it is first used, which the start of a server need not pay for.
_PLACE: Final = r"(?s)argument (?P<place>[^:]+): (?P<rest>.*)"
_TROUBLES: Final = (
    ("missing", r"the following arguments are required: (?P<words>.+)"),
    ("unknown", r"unrecognized arguments: (?P<words>.+)"),
    ("one of", r"one of the arguments (?P<words>.+) is required"),
    ("ambiguous", r"ambiguous option: (?P<word>.+) could match (?P<words>.+)"),
    ("one value", r"expected one argument"),
    ("one value or more", r"expected at least one argument"),
    ("one value at most", r"expected at most one argument"),
    ("values", r"expected (?P<count>\d+) arguments?"),
    ("choice", r"invalid choice: (?P<value>.+) \(choose from (?P<words>.+)\)"),
    ("whole number", r"invalid int value: (?P<value>.+)"),
    ("number", r"invalid float value: (?P<value>.+)"),
    ("seconds", r"invalid seconds value: (?P<value>.+)"),
    ("from one", r"invalid from_one value: (?P<value>.+)"),
    ("together", r"not allowed with argument (?P<words>.+)"),
    ("no value", r"ignored explicit argument (?P<value>.+)"),
)
"""The errors of argparse, each with the code of our sentence."""


class Parser(argparse.ArgumentParser):
    """A parser whose help and errors are sentences of `locales/`, in the reader's language."""

    def __init__(self, words: Sequence[str] = HELP, **settings: Any) -> None:  # noqa: ANN401 - what argparse takes
        """Make a parser for this command line; the other settings are those of argparse."""
        self._explains = any(  # argparse takes flags that are cut short, too
            word.startswith("-h") or (len(word) > len("--") and "--help".startswith(word))
            for word in words
        )
        settings.setdefault("formatter_class", Formatter)
        super().__init__(**settings, add_help=False)
        self.add_argument("-h", "--help", action="help", help=self.words(SECTION)("help"))

    def words(self, section: str, before: str = "") -> Callable[..., str]:
        """Return a function that returns the sentences of a section, by code.

        It returns "" if nobody asked for help: a server's start loads no sentences.
        """
        if not self._explains:
            return lambda _code, **_fillings: ""
        return lambda code, **fillings: say(section, before + code, **fillings)

    def flags(self, section: str, before: str = "") -> Callable[..., argparse.Action]:
        """Return a function that adds an argument; its help is the sentence with its name.

        `to` is the group that it is added to, `code` another sentence, `said` what fills it.
        """
        words = self.words(section, before)

        def flag(*names: str, **settings: Any) -> argparse.Action:  # noqa: ANN401 - what argparse takes
            code = settings.pop("code", names[-1].lstrip("-"))
            said = words(code, **settings.pop("said", {}))
            group: argparse._ActionsContainer = settings.pop("to", self)
            return group.add_argument(*names, help=said, **settings)

        return flag

    def error(self, message: str) -> NoReturn:
        """Print an error of the command line, and exit."""
        said = sentence(message, self.prog, tuple(self._option_string_actions))
        self.exit(USAGE_ERROR, f"{self.prog}: {said}\n")


def sentence(message: str, prog: str, flags: Sequence[str] = ()) -> str:
    """Translate an error of argparse; a mistyped one of these flags is guessed."""
    placed = re.fullmatch(_PLACE, message)
    place, rest = (placed["place"], placed["rest"]) if placed else ("", message)
    for code, pattern in _TROUBLES:
        trouble = re.fullmatch(pattern, rest, re.DOTALL)
        if trouble is not None:
            # Only some versions of Python quote the choices.
            found = trouble.groupdict().items()
            fillings = {name: re.sub(r"'([^']*)'", r"\1", text) for name, text in found}
            if code == "choice":
                guess = closest(fillings["value"], fillings["words"].split(", "))
            else:
                guess = closest(fillings["words"], flags) if code == "unknown" else ""
            if guess:
                return say(SECTION, f"{code} guess", place=place, guess=guess, **fillings)
            return say(SECTION, code, place=place, prog=prog, **fillings)
    return f"{place}: {rest}" if place else rest


def closest(typed: str, words: Iterable[str]) -> str:
    """Return the one of these words that a person probably meant to type, or ""."""
    import difflib  # noqa: PLC0415 - a command line that is right needs no guess

    return next(iter(difflib.get_close_matches(typed.partition(" ")[0], words, n=1)), "")


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Writes the help of a command with headings of `locales/`."""

    def __init__(self, prog: str, *, groups: Mapping[str, Sequence[str]] | None = None) -> None:
        """Use the width of the terminal. `groups` are the headings of the commands.

        argparse creates a formatter for each flag that is added.
        """
        super().__init__(prog, width=_columns() - 2)
        self._groups = groups or {}

    def add_arguments(self, actions: Iterable[argparse.Action]) -> None:
        """Add arguments, and commands below the headings of their groups."""
        for action in actions:
            if not isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - no other way
                self.add_argument(action)
                continue
            commands = {one.dest: one for one in action._get_subactions()}  # noqa: SLF001 - as above
            for heading, names in self._groups.items():
                self.start_section(heading)
                super().add_arguments([commands[name] for name in names])
                self.end_section()

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Any,  # noqa: ANN401 - argparse names no public type for a group
        prefix: str | None = None,
    ) -> None:
        """Add the usage lines.

        argparse never breaks a line within `[--a | --b]`. A group that does not fit in a line is
        written flag by flag; an error says which flags exclude each other.
        """
        short = [group for group in groups if self._fits(group)]
        ours = say(SECTION, "usage") if prefix is None else prefix
        super().add_usage(usage, actions, short, ours)

    def _fits(self, group: Any) -> bool:  # noqa: ANN401 - as above
        flags = [one for one in group._group_actions if one.option_strings]  # noqa: SLF001 - no other way
        longest = sum(len(f"{one.option_strings[0]} {one.metavar} | ") for one in flags)
        return longest < self._width * _MOST_OF_A_LINE

    def start_section(self, heading: str | None) -> None:
        """Begin a list of arguments under its heading."""
        super().start_section(find_sentence(SECTION, heading or "") or heading)


def _columns() -> int:
    """Return the width of the terminal; `shutil`, which argparse uses, costs a start 2 ms."""
    stated = os.environ.get("COLUMNS", "")
    if stated.isdecimal() and int(stated):
        return int(stated)
    try:
        return os.get_terminal_size().columns or _COLUMNS
    except OSError:
        return _COLUMNS


LONGEST_SECONDS: Final = 7 * 24 * 3600.0
"""A week: people may take that long to answer."""


def seconds(typed: str) -> float:
    """Read a time in seconds, for argparse, which names what it cannot read by this function."""
    found = float(typed)
    if not 0 < found <= LONGEST_SECONDS:  # neither does any comparison hold for "nan"
        raise ValueError(typed)
    return found


def from_one(typed: str) -> int:
    """Read a number from 1, for argparse."""
    if not typed.isdecimal() or int(typed) < 1:
        raise ValueError(typed)
    return int(typed)

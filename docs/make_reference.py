"""Write what the manual has from the code: two pages of docs/reference, and what others quote.

A command, a flag or a setting that is not on its page does not exist for a user; so the pages come
from the same tables as the program. A page quotes a conversation in a block after the comment
`quote: FILE`. `make docs` writes all of it anew; tests/test_docs.py fails when something is stale.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp.cli import COMMANDS
from humanmcp.locales import say
from humanmcp.settings import FILE_NAME, PREFIX, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT: Final = Path(__file__).parent.parent
CONVERSATIONS: Final = ROOT / "tests" / "conversations"
QUOTE: Final = re.compile(
    r"(^<!-- quote: (\S+) -->\n```[^\n]*\n)(.*?)^```$", re.MULTILINE | re.DOTALL
)
"""A block that quotes a file: (all before the block, the file, the block)."""
NOTICE: Final = "<!-- Made from the code by `make docs`: edit that instead. -->"


def pages() -> Mapping[Path, str]:
    """Make every page: where it stands and its text."""
    folder = ROOT / "docs" / "reference"
    return {
        folder / "commands.md": _page(_commands()),
        folder / "settings.md": _page(_settings()),
        **dict(_quoting()),
    }


def _page(lines: Iterator[str]) -> str:
    return "\n".join([NOTICE, "", *lines]) + "\n"


# -- commands ---------------------------------------------------------------------------------


def parser_of(command: str) -> argparse.ArgumentParser:
    """Make the parser of one command, with every argument it has."""
    parser = argparse.ArgumentParser(prog=f"humanmcp {command}", add_help=False)
    importlib.import_module(COMMANDS[command]).add_arguments(parser)
    return parser


def _commands() -> Iterator[str]:
    yield "# Commands"
    yield ""
    yield "`humanmcp COMMAND --help` says the same. What the flag of a [setting](settings.md) says"
    yield "can also be said by the environment and in the settings file."
    for command in COMMANDS:
        yield ""
        yield f"## `humanmcp {command}`"
        yield ""
        yield _sentence(say("command", command))
        arguments = [action for action in parser_of(command)._actions if _is_shown(action)]  # noqa: SLF001 - argparse lists them nowhere else
        if arguments:
            yield ""
            yield "| argument | meaning |"
            yield "| --- | --- |"
            yield from (f"| {_spelled(action)} | {_meaning(action)} |" for action in arguments)


def _is_shown(action: argparse.Action) -> bool:
    return action.help is not argparse.SUPPRESS


def _spelled(action: argparse.Action) -> str:
    """Write an argument as a person types it."""
    value = ""
    if action.nargs != 0:
        names = action.metavar or action.dest.upper()
        value = " ".join(names) if isinstance(names, tuple) else names
    if not action.option_strings:
        return f"`{value}`"
    return ", ".join(f"`{flag} {value}`".replace(" `", "`") for flag in action.option_strings)


def _meaning(action: argparse.Action) -> str:
    text = (action.help or "") % {"default": action.default, "prog": "humanmcp"}
    if action.choices and not all(str(choice) in text for choice in action.choices):
        text += f" ({', '.join(str(choice) for choice in action.choices)})"
    return _cell(text)


# -- settings ---------------------------------------------------------------------------------


def _settings() -> Iterator[str]:
    yield "# Settings"
    yield ""
    yield f"A flag wins over the environment, the environment over `{FILE_NAME}` in the inbox"
    yield "folder (`~/.humanmcp`), the file over the default. Hosts often start servers"
    yield "without your environment: the file and the flags always work."
    yield ""
    yield "| in the file | flag | environment | default | meaning |"
    yield "| --- | --- | --- | --- | --- |"
    for field in dataclasses.fields(Settings):
        flag = "--" + field.name.replace("_", "-")
        yield (
            f"| `{field.name}` | `{flag}` | `{PREFIX}{field.name.upper()}`"
            f" | {_default(field.default)} | {_cell(say('setting', field.name))} |"
        )


def _default(value: Any) -> str:  # noqa: ANN401 - a setting is text, a number or a truth value
    return "" if value == "" else f"`{value}`"


# -- conversations ----------------------------------------------------------------------------


def _quoting() -> Iterator[tuple[Path, str]]:
    """Bring the conversations that pages quote up to date: a block that is none becomes whole."""
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if QUOTE.search(text):
            yield page, QUOTE.sub(_quoted, text)


def _quoted(found: re.Match[str]) -> str:
    opening, name, block = found.groups()
    whole = (ROOT / name).read_text(encoding="utf-8")
    return f"{opening}{block if is_part(block, whole) else whole}```"


def is_part(block: str, whole: str) -> bool:
    """Say whether a block is a run of whole lines of a file."""
    return f"\n{block}" in f"\n{whole}"


# -- text -------------------------------------------------------------------------------------


def _sentence(text: str) -> str:
    """Make a help line a sentence of its own."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else text + "."


def _cell(text: str) -> str:
    """Fit a text into a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    """Write every page that is not up to date."""
    os.environ["LC_ALL"] = "en"  # argument texts follow the environment's language
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""The command line: which commands there are, and where each one lives.

A command is a module with `add_arguments(parser)` and `run(arguments, settings) -> exit status`.
It is imported when it is called, so that `serve` starts without the weight of the others.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import stat
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

from humanmcp import __version__
from humanmcp.locales import language_of, say, unspoken
from humanmcp.settings import SettingError, load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COMMANDS: Final[Mapping[str, str]] = {
    "serve": "humanmcp.stub.serve",
    "desk": "humanmcp.desk.command",
    "inbox": "humanmcp.terminal_desk.inbox",
    "show": "humanmcp.terminal_desk.show",
    "answer": "humanmcp.terminal_desk.answer",
    "check": "humanmcp.terminal_desk.check",
    "config": "humanmcp.setup.config",
    "doctor": "humanmcp.setup.doctor",
    "demo": "humanmcp.demo",
    "client": "humanmcp.host.commands.client",
    "host": "humanmcp.host.commands.host",
    "play": "humanmcp.play",
    "tap": "humanmcp.tap.command",
    "hold": "humanmcp.tap.holding",
    "release": "humanmcp.tap.release",
    "wrap": "humanmcp.setup.wrap",
    "unwrap": "humanmcp.setup.unwrap",
    "export": "humanmcp.export.command",
    "diff": "humanmcp.export.comparing",
}
"""Every command and the module that is it. Their one-line help: `locales/`, room `command`."""

USAGE_ERROR: Final = 2
_HELP: Final = frozenset({"-h", "--help"})

INTERRUPTED: Final = 130
"""What shells say of a program that Ctrl-C ended: 128 and the number of SIGINT."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words:
        words = ["serve"] if _stdin_is_a_pipe() else ["--help"]
    if words[0] not in COMMANDS:
        _overview().parse_args(words)  # leaves: it knows no command of its own
        return USAGE_ERROR
    try:
        return _run(words[0], words[1:])
    except SettingError as error:
        sys.stderr.write(f"humanmcp: {error.sentence(language_of())}\n")
        return USAGE_ERROR
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(name: str, words: Sequence[str]) -> int:
    # Nothing that is imported becomes garbage; looking for some costs a server 6 ms of its start.
    gc.disable()
    module = importlib.import_module(COMMANDS[name])
    with nullcontext() if _HELP.intersection(words) else unspoken():
        parser = parser_of(name)
        module.add_arguments(parser)
    arguments = parser.parse_args(words)
    gc.enable()
    return int(module.run(arguments, load(vars(arguments))))


def parser_of(name: str) -> argparse.ArgumentParser:
    """Make the parser of one command, still without the command's own arguments."""
    return argparse.ArgumentParser(
        prog=f"humanmcp {name}",
        description=say("command", name, language_of()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _stdin_is_a_pipe() -> bool:
    """Say whether a program talks to us: then plain `humanmcp` is the server."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _overview() -> argparse.ArgumentParser:
    """Make the parser that explains itself: what there is, and where to start."""
    language = language_of()
    parser = argparse.ArgumentParser(
        prog="humanmcp",
        description=say("cli", "description", language),
        epilog=say("cli", "epilog", language),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"humanmcp {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS:
        commands.add_parser(name, help=say("command", name, language))
    return parser

"""`humanmcp wrap HOST SERVER`: put the tap before a server that a host has configured already.

With `--all`, before every server of every host on this machine.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp.common.settings import add_flags
from humanmcp.common.terminal import Painted, to_stderr
from humanmcp.locales import language_of, say
from humanmcp.locales.stop import REFUSED, sentence_of
from humanmcp.protocol.rules.hold_patterns import PatternError, parse_all
from humanmcp.setup.config_file import ConfigFile, ConfigFileError
from humanmcp.setup.everywhere import Standing, change_all, tell_what_now
from humanmcp.setup.hosts import BY_NAME, Format, Host, place
from humanmcp.setup.starting import starter
from humanmcp.setup.wrapping import has_odd_arguments, is_wrapped, wrapped

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.setup.config_file import Keys

ROOM: Final = "wrap"


class WrapError(ConfigFileError):
    """A server cannot be wrapped or unwrapped."""

    room = ROOM


def add_arguments(parser: Parser) -> None:
    """Declare the flags of `wrap`."""
    flag = parser.flags("tap")
    add_place(parser)
    flag("--hold", action="append", default=[], metavar="PATTERN")
    flag("--log-dir", metavar="DIR")
    add_flags(parser, "home", "book", "lang")


def add_place(parser: Parser, all_code: str = "wrap all") -> None:
    """Declare what names an entry in a host's configuration, or all of them."""
    flag = parser.flags(ROOM)
    said = {"hosts": ", ".join(BY_NAME)}
    flag("host", metavar="HOST", nargs="?", choices=tuple(BY_NAME), said=said)
    flag("server", metavar="SERVER", nargs="?")
    flag("--path", metavar="FILE")
    flag("--all", code=all_code, action="store_true")
    flag("--yes", action="store_true")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Put the tap in. Returns the exit status."""
    language = language_of(settings.lang)
    try:
        parse_all(arguments.hold)  # a tap that cannot start would take the server away
        if arguments.all:
            change = partial(_all_wrapped, arguments)
            return change_all(Standing.PLAIN, change, yes=arguments.yes, language=language)
        file, entry = entry_of(arguments)
        if is_wrapped(entry):
            raise WrapError("wrapped already", name=arguments.server, path=file.path)
        if has_odd_arguments(entry):
            raise WrapError("odd arguments", name=arguments.server, path=file.path)
        changed = wrapped(entry, starter(), _flags(arguments, arguments.server))
        if changed is None:
            raise WrapError("no command", name=arguments.server, path=file.path)
        kept = file.having({(*file.host.keys, arguments.server): changed}).write()
    except (ConfigFileError, PatternError) as error:
        to_stderr(Painted(sentence_of(error, language), "yellow"))
        return REFUSED
    report("done", file.host, arguments.server, kept, language)
    return 0


def _all_wrapped(
    arguments: argparse.Namespace, config_file: ConfigFile, chosen: Sequence[Keys]
) -> ConfigFile:
    entries = {
        keys: wrapped(config_file.servers[keys], starter(), _flags(arguments, keys[-1]))
        for keys in chosen
    }
    return config_file.having(entries)


def _flags(arguments: argparse.Namespace, server: str) -> list[str]:
    """Return the words for `humanmcp tap`, with absolute paths: hosts start it anywhere."""
    words = ["--title", server, "--quiet"]
    for flag, value in (
        ("--home", arguments.home),
        ("--book", arguments.book),
        ("--log-dir", arguments.log_dir),
    ):
        if value:
            words += [flag, str(Path(value).expanduser().absolute())]
    for pattern in arguments.hold:
        words += ["--hold", pattern]
    return words


def entry_of(arguments: argparse.Namespace) -> tuple[ConfigFile, dict[str, Any]]:
    """Return the configuration that is meant, and the entry of the server that is named in it.

    Raises:
        ConfigFileError: none is named, or the file is not understood, or has no such server.
    """
    if not arguments.host or not arguments.server:
        raise WrapError("which")
    host, name = BY_NAME[arguments.host], arguments.server
    path = place(host, sys.platform, Path.home(), os.environ, Path.cwd())
    if arguments.path:
        path = Path(arguments.path).expanduser().absolute()
    if host.format is Format.YAML:
        raise WrapError("no yaml", label=host.label)
    file = ConfigFile.read(host, path)
    known = file.entries()
    entry = known.get(name)
    if not isinstance(entry, dict):
        code = "no server" if known else "none there"
        raise WrapError(code, name=name, path=path, names=", ".join(known))
    return file, entry


def report(code: str, host: Host, name: str, kept: Path | None, language: str) -> None:
    """Say what was done, where the old file is, and what is to be done now."""
    to_stderr(Painted(say(ROOM, code, language, name=name, label=host.label), "green"))
    tell_what_now(host, kept, language)

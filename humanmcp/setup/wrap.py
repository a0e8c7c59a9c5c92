"""`humanmcp wrap HOST SERVER`: put the tap before a server that a host has configured already.

With `--all`, before every server of every host on this machine.
"""

from __future__ import annotations

import enum
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp.common.settings import add_flags
from humanmcp.common.terminal import Painted, asked_whether, to_stderr, to_stdout
from humanmcp.locales import say
from humanmcp.locales.stop import REFUSED, sentence_of
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.validation.held import PatternError, parse_patterns
from humanmcp.setup.config import tell_what_now
from humanmcp.setup.config_file import (
    ConfigFile,
    ConfigFileError,
    configurations,
    with_more_tries,
)
from humanmcp.setup.hosts import (
    BY_NAME,
    Format,
    Host,
    command_in,
    place,
    starter,
    starts_humanmcp,
    url_in,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.setup.config_file import Keys

_TAP: Final = "tap"
_DASHES: Final = "--"


def wrapped(
    entry: Mapping[str, Any], starter: Sequence[str], flags: Sequence[str]
) -> dict[str, Any]:
    """Return an entry that has a command with a tap before it.

    `starter` are the words that start humanmcp, `flags` those of `humanmcp tap`.
    """
    return _with_words(entry, (*starter, _TAP, *flags, _DASHES, *command_in(entry)))


def unwrapped(entry: object) -> Any:  # noqa: ANN401 - any JSON value
    """Return the entry without its tap; None when it has none."""
    words = _words_after_tap(entry)
    return _with_words(entry, words) if words and isinstance(entry, dict) else None


def is_wrapped(entry: object) -> bool:
    """Return True if an entry starts a server through a tap."""
    return bool(_words_after_tap(entry))


def _words_after_tap(entry: object) -> Sequence[str]:
    words = command_in(entry)
    if not starts_humanmcp(entry) or _TAP not in words or _DASHES not in words:
        return ()
    dashes = words.index(_DASHES)
    return words[dashes + 1 :] if words.index(_TAP) < dashes else ()


def _with_words(entry: Mapping[str, Any], words: Sequence[str]) -> dict[str, Any]:
    """Set the command of an entry in the shape that it has: see `as_plain`."""
    command = entry.get("command")
    if isinstance(command, list):
        return {**entry, "command": list(words)}
    if isinstance(command, dict):
        return {**entry, "command": _with_words(command, words)}
    name = next(name for name in ("command", "cmd", "path") if name in entry)
    args = {"args": list(words[1:])} if len(words) > 1 or "args" in entry else {}
    return {**entry, name: words[0], **args}


SECTION: Final = "wrap"
_COMMAND: Final = 60
"""Characters of a server's command that are listed."""


class TapState(enum.Enum):
    """Whether a server's entry has a tap, or can have one."""

    PLAIN = "plain"
    WRAPPED = "wrapped"
    OURS = "ours"
    """It starts humanmcp itself: a person is the server, and sees everything anyway."""
    REMOTE = "remote"
    ODD = "odd"


def state_of(entry: object) -> TapState:
    """Return whether an entry has a tap, or can have one."""
    if is_wrapped(entry):
        return TapState.WRAPPED
    if command_in(entry):
        return TapState.OURS if starts_humanmcp(entry) else TapState.PLAIN
    return TapState.REMOTE if url_in(entry) else TapState.ODD


def _title(file: ConfigFile, keys: Keys) -> str:
    """Return the name of a server, and of its project if it has one."""
    if keys[:-1] == file.host.keys:
        return one_line(keys[-1])
    project = one_line(keys[len(file.host.project_keys) - 1])
    return say(SECTION, "in project", name=one_line(keys[-1]), project=project)


def change_all(
    state: TapState, change: Callable[[ConfigFile, Sequence[Keys]], ConfigFile], *, yes: bool
) -> int:
    """List every server with this `state`, ask, and change each file. Return the exit status.

    `change` makes the new file from the keys of the servers to change.
    """
    verb = "wrap" if state is TapState.PLAIN else "unwrap"
    files, failed = _files()
    chosen_in = [
        (
            config_file,
            [keys for keys, entry in config_file.servers.items() if state_of(entry) is state],
        )
        for config_file in files
    ]
    for config_file, these in chosen_in:
        _list(config_file, these)
    count = sum(len(these) for _one, these in chosen_in)
    if not count:
        to_stderr(say(SECTION, f"none to {verb}"))
        return REFUSED if failed else 0
    if not yes and not _agreed(verb, count):
        return REFUSED if failed else 0
    for config_file, these in chosen_in:
        if these:
            failed |= not _change(config_file, these, change, verb)
    return REFUSED if failed else 0


def _files() -> tuple[list[ConfigFile], bool]:
    """Return the configurations that are there, and whether one of them cannot be used."""
    found, failed = [], False
    for host, path in configurations():
        try:
            file = ConfigFile.read(host, path)
            _ = file.servers  # raises if the file is wrong
        except ConfigFileError as error:
            to_stderr(Painted(error.sentence(), "yellow"))
            failed = True
        else:
            found.append(file)
    return found, failed


def _list(config_file: ConfigFile, chosen: Sequence[Keys]) -> None:
    to_stdout(Painted(f"{config_file.host.label}  ", "bold"), Painted(str(config_file.path), "dim"))
    if not config_file.servers:
        to_stdout("    ", Painted(say(SECTION, "no servers"), "dim"))
    for keys, entry in config_file.servers.items():
        title = _title(config_file, keys)
        if keys in chosen:
            started = one_line(" ".join(command_in(entry)), _COMMAND)
            to_stdout("  * ", Painted(title, "bold"), f"  {started}")
        else:
            why = say(SECTION, f"is {state_of(entry).value}")
            to_stdout("    ", Painted(f"{title}  {why}", "dim"))


def _agreed(verb: str, count: int) -> bool:
    """Ask for confirmation; without a terminal, name the flag instead."""
    answer = asked_whether(say(SECTION, f"{verb} all?", count=count))
    if answer is None:
        to_stderr(say(SECTION, f"{verb} with yes", count=count))
    return answer is True


def _change(
    config_file: ConfigFile,
    chosen: Sequence[Keys],
    change: Callable[[ConfigFile, Sequence[Keys]], ConfigFile],
    verb: str,
) -> bool:
    """Change one file. Returns whether that went well."""
    try:
        kept = change(config_file, chosen).write()
    except ConfigFileError as error:
        to_stderr(Painted(error.sentence(), "yellow"))
        return False
    names = ", ".join(_title(config_file, keys) for keys in chosen)
    line = say(SECTION, f"{verb} done", label=config_file.host.label, names=names)
    to_stderr(Painted(line, "green"))
    tell_what_now(config_file.host, kept)
    return True


class WrapError(ConfigFileError):
    """A server cannot be wrapped or unwrapped."""

    section = SECTION


def add_arguments(parser: Parser) -> None:
    flag = parser.flags("tap")
    add_place(parser)
    flag("--hold", action="append", default=[], metavar="PATTERN")
    flag("--log-dir", metavar="FOLDER")
    add_flags(parser, "home", "book", "lang")


def add_place(parser: Parser, all_code: str = "wrap all") -> None:
    """Declare what names an entry in a host's configuration, or all of them."""
    flag = parser.flags(SECTION)
    flag("host", metavar="HOST", nargs="?", choices=tuple(BY_NAME))
    flag("server", metavar="SERVER", nargs="?")
    flag("--path", metavar="FILE")
    flag("--all", code=all_code, action="store_true")
    flag("--yes", action="store_true")


def run(arguments: argparse.Namespace, _settings: Settings) -> int:
    """Put the tap in. Returns the exit status."""
    try:
        parse_patterns(arguments.hold)  # a tap that cannot start would take the server away
        if arguments.all:
            change = partial(_all_wrapped, arguments)
            return change_all(TapState.PLAIN, change, yes=arguments.yes)
        host, kept = with_more_tries(partial(_put_tap_in, arguments))
    except (ConfigFileError, PatternError) as error:
        to_stderr(Painted(sentence_of(error), "yellow"))
        return REFUSED
    report("done", host, arguments.server, kept)
    return 0


def _put_tap_in(arguments: argparse.Namespace) -> tuple[Host, Path | None]:
    """Put the tap before one server. Return the host, and the backup."""
    file, entry = entry_of(arguments)
    state = state_of(entry)
    if state not in (TapState.PLAIN, TapState.OURS):
        raise WrapError(f"stop {state.value}", name=arguments.server, path=file.path)
    changed = wrapped(entry, starter(), _flags(arguments, arguments.server))
    return file.host, file.having({(*file.host.keys, arguments.server): changed}).write()


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
    """Return the chosen configuration file, and the entry of the chosen server.

    Raises:
        ConfigFileError: no server is named, or the file is not understood or has no such server.
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


def report(code: str, host: Host, name: str, kept: Path | None) -> None:
    """Print what was done, where the backup is, and what to do now."""
    to_stderr(Painted(say(SECTION, code, name=name, label=host.label), "green"))
    tell_what_now(host, kept)

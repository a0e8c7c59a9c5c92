"""`humanmcp wrap HOST SERVER`: put the tap before a server that a host has configured already.

With `--all`, before every server of every host on this machine.
"""

from __future__ import annotations

import enum
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

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
    given_to_humanmcp,
    place,
    starter,
    url_in,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.setup.config_file import Keys

    Change: TypeAlias = Callable[[ConfigFile, Sequence[Keys]], ConfigFile]
    """Makes the new file from the keys of the servers to change."""

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
    words = given_to_humanmcp(command_in(entry))
    if words[1:2] != (_TAP,) or _DASHES not in words:
        return ()
    return words[words.index(_DASHES) + 1 :]


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


_WANTED: Final = {"wrap": TapState.PLAIN, "unwrap": TapState.WRAPPED}


def state_of(entry: object) -> TapState:
    """Return whether an entry has a tap, or can have one."""
    if is_wrapped(entry):
        return TapState.WRAPPED
    if words := command_in(entry):
        return TapState.OURS if given_to_humanmcp(words) else TapState.PLAIN
    return TapState.REMOTE if url_in(entry) else TapState.ODD


def _title(file: ConfigFile, keys: Keys) -> str:
    """Return the name of a server, and of its project if it has one."""
    if keys[:-1] == file.host.keys:
        return one_line(keys[-1])
    project = one_line(keys[len(file.host.project_keys) - 1])
    return say(SECTION, "in project", name=one_line(keys[-1]), project=project)


def change_servers(arguments: argparse.Namespace, verb: str, change: Change) -> int:
    """Change the named server, or with `--all` every one of this machine. Return the exit status.

    `verb` is "wrap" or "unwrap".

    Raises:
        ConfigFileError: the named server cannot be changed.
    """
    if arguments.all:
        return _change_all(verb, change, yes=arguments.yes)
    _change(*_file_of(arguments), partial(_named, arguments.server, verb), change, verb)
    return 0


def _change_all(verb: str, change: Change, *, yes: bool) -> int:
    """List every server of the wanted state, ask, and change each file. Return the exit status."""
    wanted, chosen_in, status = _WANTED[verb], [], 0
    for host, path in configurations():
        try:
            file = ConfigFile.read(host, path)
            chosen = [keys for keys, entry in file.servers.items() if state_of(entry) is wanted]
        except ConfigFileError as error:
            to_stderr(Painted(error.sentence(), "yellow"))
            status = REFUSED
        else:
            chosen_in.append((file, chosen))
    for file, chosen in chosen_in:
        _list(file, chosen)
    count = sum(len(chosen) for _file, chosen in chosen_in)
    if not count:
        to_stderr(say(SECTION, f"none to {verb}"))
    elif yes or _agreed(verb, count):
        for file, chosen in chosen_in:
            choose = partial(_still, wanted, chosen)
            try:
                _change(file.host, file.path, choose, change, verb)
            except ConfigFileError as error:
                to_stderr(Painted(error.sentence(), "yellow"))
                status = REFUSED
    return status


def _still(wanted: TapState, chosen: Sequence[Keys], file: ConfigFile) -> list[Keys]:
    """Return the chosen servers that have this state, also if the file was changed meanwhile."""
    return [keys for keys in chosen if state_of(file.servers.get(keys)) is wanted]


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
    host: Host,
    path: Path,
    choose: Callable[[ConfigFile], Sequence[Keys]],
    change: Change,
    verb: str,
) -> None:
    """Change the servers of one file that `choose` returns, and print what was done."""

    def changed() -> tuple[ConfigFile, Sequence[Keys], Path | None]:
        file = ConfigFile.read(host, path)
        chosen = choose(file)
        return file, chosen, change(file, chosen).write() if chosen else None

    file, chosen, kept = with_more_tries(changed)
    if chosen:
        names = ", ".join(_title(file, keys) for keys in chosen)
        to_stderr(Painted(say(SECTION, f"{verb} done", label=host.label, names=names), "green"))
        tell_what_now(host, kept)


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
    except PatternError as error:
        to_stderr(Painted(sentence_of(error), "yellow"))
        return REFUSED
    return change_servers(arguments, "wrap", partial(_wrapped_in, arguments))


def _wrapped_in(
    arguments: argparse.Namespace, file: ConfigFile, chosen: Sequence[Keys]
) -> ConfigFile:
    return file.having(
        {
            keys: wrapped(file.servers[keys], starter(), _flags(arguments, keys[-1]))
            for keys in chosen
        }
    )


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


def _file_of(arguments: argparse.Namespace) -> tuple[Host, Path]:
    """Return the chosen host, and its configuration file."""
    if not arguments.host or not arguments.server:
        raise WrapError("which")
    host = BY_NAME[arguments.host]
    if host.format is Format.YAML:
        raise WrapError("no yaml", label=host.label)
    if arguments.path:
        return host, Path(arguments.path).expanduser().absolute()
    return host, place(host, sys.platform, Path.home(), os.environ, Path.cwd())


def _named(name: str, verb: str, file: ConfigFile) -> list[Keys]:
    """Return the keys of the server of this name."""
    known = file.entries()
    if name not in known:
        code = "no server" if known else "none there"
        raise WrapError(code, name=name, path=file.path, names=", ".join(known))
    state = state_of(known[name])
    if state is not _WANTED[verb] and (verb, state) != ("wrap", TapState.OURS):
        code = f"stop {state.value}" if verb == "wrap" else "not wrapped"
        raise WrapError(code, name=name, path=file.path)
    return [(*file.host.keys, name)]

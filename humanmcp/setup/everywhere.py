"""`wrap --all` and `unwrap --all`: the servers of every host on this machine, after one question.

What will be done is listed first. Each file is changed once, with one backup; one that is not
understood is named and left alone, and the others go on.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

from humanmcp.common.terminal import Painted, asked_whether, to_stderr, to_stdout
from humanmcp.locales import say
from humanmcp.locales.stop import REFUSED
from humanmcp.protocol.json.escaping import one_line
from humanmcp.setup.config_file import ConfigFile, ConfigFileError, configurations
from humanmcp.setup.hosts import command_in, is_ours
from humanmcp.setup.wrapping import has_odd_arguments, is_wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from humanmcp.setup.config_file import Keys
    from humanmcp.setup.hosts import Host

ROOM: Final = "wrap"
_COMMAND: Final = 60
"""Characters of a server's command that are listed."""


class Standing(enum.Enum):
    """How a server's entry stands to the tap."""

    PLAIN = "plain"
    WRAPPED = "wrapped"
    OURS = "ours"
    """It starts humanmcp itself: a person is the server, and sees everything anyway."""
    REMOTE = "remote"
    ODD = "odd"


def standing_of(entry: object) -> Standing:
    """Return how an entry stands to the tap."""
    if is_wrapped(entry):
        return Standing.WRAPPED
    found = command_in(entry)
    if not isinstance(entry, dict) or found is None or not found[0]:
        return Standing.REMOTE
    if is_ours(entry):
        return Standing.OURS
    return Standing.ODD if has_odd_arguments(entry) else Standing.PLAIN


def _title(file: ConfigFile, keys: Keys, language: str) -> str:
    """Name a server, and its project where it belongs to one."""
    if keys[:-1] == file.host.keys:
        return one_line(keys[-1])
    project = one_line(keys[len(file.host.project_keys) - 1])
    return say(ROOM, "in project", language, name=one_line(keys[-1]), project=project)


def change_all(
    standing: Standing,
    change: Callable[[ConfigFile, Sequence[Keys]], ConfigFile],
    *,
    yes: bool,
    language: str,
) -> int:
    """List every server that stands as `standing`, ask, change each file. Returns the exit status.

    `change` makes the new form of a file from the keys of its servers that are to be changed.
    """
    verb = "wrap" if standing is Standing.PLAIN else "unwrap"
    files, failed = _files(language)
    chosen_in = [
        (
            config_file,
            [keys for keys, entry in config_file.servers.items() if standing_of(entry) is standing],
        )
        for config_file in files
    ]
    for config_file, these in chosen_in:
        _list(config_file, these, language)
    count = sum(len(these) for _one, these in chosen_in)
    if not count:
        to_stderr(say(ROOM, f"none to {verb}", language))
        return REFUSED if failed else 0
    if not yes and not _agreed(verb, count, language):
        return REFUSED if failed else 0
    for config_file, these in chosen_in:
        if these:
            failed |= not _change(config_file, these, change, verb, language)
    return REFUSED if failed else 0


def _files(language: str) -> tuple[list[ConfigFile], bool]:
    """Return the configurations that are there, and whether one of them cannot be used."""
    found, failed = [], False
    for host, path in configurations():
        try:
            file = ConfigFile.read(host, path)
            _ = file.servers  # what is wrong with the file is said here
        except ConfigFileError as error:
            to_stderr(Painted(error.sentence(language), "yellow"))
            failed = True
        else:
            found.append(file)
    return found, failed


def _list(config_file: ConfigFile, chosen: Sequence[Keys], language: str) -> None:
    to_stdout(Painted(f"{config_file.host.label}  ", "bold"), Painted(str(config_file.path), "dim"))
    if not config_file.servers:
        to_stdout("    ", Painted(say(ROOM, "no servers", language), "dim"))
    for keys, entry in config_file.servers.items():
        title = _title(config_file, keys, language)
        words = command_in(entry)
        started = one_line(" ".join((words[0], *words[1])), _COMMAND) if words else ""
        if keys in chosen:
            to_stdout("  * ", Painted(title, "bold"), f"  {started}")
        else:
            why = say(ROOM, f"is {standing_of(entry).value}", language)
            to_stdout("    ", Painted(f"{title}  {why}", "dim"))


def _agreed(verb: str, count: int, language: str) -> bool:
    """Ask; where stdin is no terminal, say how it is done."""
    answer = asked_whether(say(ROOM, f"{verb} all?", language, count=count))
    if answer is None:
        to_stderr(say(ROOM, f"{verb} with yes", language, count=count))
    return answer is True


def _change(
    config_file: ConfigFile,
    chosen: Sequence[Keys],
    change: Callable[[ConfigFile, Sequence[Keys]], ConfigFile],
    verb: str,
    language: str,
) -> bool:
    """Change one file. Returns whether that went well."""
    try:
        kept = change(config_file, chosen).write()
    except ConfigFileError as error:
        to_stderr(Painted(error.sentence(language), "yellow"))
        return False
    names = ", ".join(_title(config_file, keys, language) for keys in chosen)
    line = say(ROOM, f"{verb} done", language, label=config_file.host.label, names=names)
    to_stderr(Painted(line, "green"))
    tell_what_now(config_file.host, kept, language)
    return True


def tell_what_now(host: Host, kept: Path | None, language: str) -> None:
    """Say of a file that was changed where the old one is, and what is to be done now."""
    if kept is not None:
        to_stderr(say("config", "backup", language, backup=kept))
    to_stderr(say("config", "restart", language, label=host.label))

"""`humanmcp config HOST`: print the entry for a host's configuration, write it, or take it out.

Paths are absolute and settings are arguments: hosts start servers in any folder, without the
shell's PATH and with an environment of six variables.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from humanmcp.answering.schema import filled
from humanmcp.answering.schema.interface import HostEntryShape
from humanmcp.common.settings import Settings, add_flags
from humanmcp.common.terminal import Painted, json_to_stdout, raw_to_stdout, to_stderr
from humanmcp.http.server_address import ServerAddress
from humanmcp.locales import say, spoken_language
from humanmcp.locales.stop import REFUSED, StopError
from humanmcp.setup.config_file import ConfigFile, ConfigFileError, as_laid_out
from humanmcp.setup.hosts import (
    APPROVAL_WAIT,
    BY_NAME,
    DEFAULT_NAME,
    Format,
    Host,
    command_in,
    is_ours,
    place,
    user_place,
)
from humanmcp.setup.starting import (
    PASSED_ON,
    HostEntry,
    manner_for,
    passed_on,
)
from humanmcp.setup.wrap import tell_what_now

if TYPE_CHECKING:
    import argparse

    from humanmcp.answering.schema.interface import ConfigShape
    from humanmcp.common.parsing import Parser
    from humanmcp.setup.config_file import Keys

ROOM: Final = "config"
HTTP_URL: Final = "http://127.0.0.1:8766/mcp"
"""Where `humanmcp serve --http` is, where nothing else is in its way."""


@dataclass(frozen=True, slots=True)
class Wanted(HostEntry):
    """What goes into which host's file. `manner` are the words that say who opens the session."""

    manner: tuple[str, ...] = ()
    prompts_to: str = ""
    """The command that runs the host with its permission prompts sent to us; "" for none."""

    @property
    def keys(self) -> Keys:
        """What leads to the entry in the file."""
        return (*self.host.keys, self.name)

    def sentence(self, code: str, **fillings: object) -> str:
        """Return a sentence of this command."""
        return say(ROOM, code, **fillings)


def add_arguments(parser: Parser) -> None:
    """Add the arguments of this command."""
    flag = parser.flags(ROOM, "help ")
    flag("host", metavar="HOST", choices=tuple(BY_NAME))
    flag("--name", default=DEFAULT_NAME)
    where = parser.add_mutually_exclusive_group()
    flag("--path", to=where, metavar="FILE")
    flag("--user", to=where, action="store_true")
    act = parser.add_mutually_exclusive_group()
    flag("--write", to=act, action="store_true")
    flag("--remove", to=act, action="store_true")
    flag("--wait", type=int, metavar="SECONDS")
    manner = parser.add_mutually_exclusive_group()
    flag("--by-hand", to=manner, action="store_true")
    flag("--auto", to=manner, action="store_true")
    flag("--handshake", to=manner, choices=("book", "hand"), metavar="WHO")
    flag("--http", to=manner, nargs="?", const=HTTP_URL, metavar="URL", default="")
    flag("--open", action="store_true")
    flag("--approvals", action="store_true")
    flag("--json", action="store_true")
    add_flags(parser, *PASSED_ON)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print, write or remove an entry. Returns the exit status."""
    try:
        wanted = _wanted(arguments, settings)
        if arguments.remove:
            return _remove(wanted, as_json=arguments.json)
        if arguments.write:
            return _write(wanted, as_json=arguments.json)
        return _print(wanted, as_json=arguments.json)
    except StopError as error:
        to_stderr(Painted(error.sentence(), "yellow"))
        return REFUSED


# -- what goes in -----------------------------------------------------------------------------


def _wanted(arguments: argparse.Namespace, settings: Settings) -> Wanted:
    host = BY_NAME[arguments.host]
    if arguments.http and not host.remote:
        raise ConfigFileError("no url", label=host.label)
    if arguments.approvals and not host.prompts_to:
        raise ConfigFileError("no approvals", label=host.label)
    if arguments.http:
        ServerAddress.of(arguments.http)
    given = passed_on(settings, vars(arguments), os.environ, spoken_language())
    if settings.book and "book" in given and not Path(settings.book).expanduser().is_file():
        raise ConfigFileError("no book", path=settings.book)
    chosen = "by-hand" if arguments.by_hand else "auto" if arguments.auto else arguments.handshake
    handshake = manner_for(chosen, files="files" in given)
    flags = {"--open": arguments.open, "--approvals": arguments.approvals}
    words = (*handshake, *(name for name, wanted in flags.items() if wanted))
    wait = APPROVAL_WAIT if arguments.approvals and arguments.wait is None else arguments.wait
    path = _path(host, arguments.path, for_user=arguments.user)
    host = as_laid_out(host, path)
    if arguments.user and host.user_places:  # it asks about the servers of a project
        host = dataclasses.replace(host, approval="")
    return Wanted.of(
        host,
        path,
        given,
        words,
        name=arguments.name,
        wait=wait,
        url=arguments.http,
        manner=("http",) if arguments.http else handshake,
        prompts_to=host.prompts_to.format(name=arguments.name) if arguments.approvals else "",
    )


def _path(host: Host, written: str | None, *, for_user: bool) -> Path:
    """Return the file that is meant."""
    if written:
        return Path(written).expanduser().absolute()
    if for_user:
        return user_place(host, sys.platform, Path.home(), os.environ)
    return place(host, sys.platform, Path.home(), os.environ, Path.cwd())


# -- print, write, remove ---------------------------------------------------------------------


def _print(wanted: Wanted, *, as_json: bool) -> int:
    """Print the entry: the snippet alone to stdout, what is to be said about it to stderr."""
    status, state = _state(wanted)
    if as_json:
        _tell(wanted, state=state)
        return status
    to_stderr(wanted.sentence("where", label=wanted.host.label, path=wanted.path))
    raw_to_stdout(wanted.snippet.removesuffix("\n"))
    if state in ("there", "differs"):
        to_stderr(wanted.sentence(state, name=wanted.name))
    code = "by hand only" if wanted.host.format is Format.YAML else "do it"
    to_stderr(wanted.sentence(code, host=wanted.host.name))
    if wanted.link:
        to_stderr(wanted.sentence("link", link=wanted.link))
    if wanted.shell:
        to_stderr(wanted.sentence("shell", command=wanted.shell))
    _say_waiting(wanted)
    return status


def _state(wanted: Wanted) -> tuple[int, str]:
    """Look whether the entry is in the host's file; say what is wrong with the file, if anything.

    Returns the exit status, and "absent", "there", "differs" or "unreadable".
    """
    if wanted.host.format is Format.YAML:
        return 0, "unknown"
    try:
        found = ConfigFile.read(wanted.host, wanted.path).entries()
    except ConfigFileError as error:
        to_stderr(Painted(error.sentence(), "yellow"))
        return REFUSED, "unreadable"
    for name, one in found.items():
        if isinstance(one, dict) and "url" in one and command_in(one) is None:
            to_stderr(Painted(wanted.sentence("remote", name=name), "dim"))
    if wanted.name not in found:
        return 0, "absent"
    return 0, "there" if found[wanted.name] == wanted.entry else "differs"


def _write(wanted: Wanted, *, as_json: bool) -> int:
    try:
        before, after = _changed(wanted)
        kept = None if before == after else after.write()
    except ConfigFileError as error:
        return _refused(wanted, error, as_json=as_json)
    if as_json:
        _tell(wanted, changed=before != after, backup=None if kept is None else str(kept))
        return 0
    if before == after:
        to_stderr(wanted.sentence("unchanged", path=wanted.path))
    else:
        to_stderr(Painted(wanted.sentence("written", path=wanted.path), "green"))
        tell_what_now(wanted.host, kept)
    to_stderr(wanted.sentence("answer"))
    _say_waiting(wanted)
    return 0


def _changed(wanted: Wanted) -> tuple[ConfigFile, ConfigFile]:
    if wanted.host.format is Format.YAML:
        raise ConfigFileError("no yaml")
    file = ConfigFile.read(wanted.host, wanted.path)
    there = file.entries().get(wanted.name)
    if there is not None and not is_ours(there):
        raise ConfigFileError("not ours", path=wanted.path, name=wanted.name)
    return file, file.having({wanted.keys: wanted.entry})


def _refused(wanted: Wanted, error: ConfigFileError, *, as_json: bool) -> int:
    """Return why the file was left alone, and print what can be pasted instead."""
    if as_json:
        _tell(wanted, changed=False, backup=None, why=error.sentence())
        return REFUSED
    to_stderr(Painted(error.sentence(), "yellow"))
    raw_to_stdout(wanted.snippet.removesuffix("\n"))
    return REFUSED


def _remove(wanted: Wanted, *, as_json: bool) -> int:
    if wanted.host.format is Format.YAML:
        raise ConfigFileError("no yaml")
    before = ConfigFile.read(wanted.host, wanted.path)
    after = before.without(wanted.keys)
    kept = None
    if before != after:
        after = before.undone((wanted.keys,)) or after
        kept = after.write()
    if as_json:
        _tell(wanted, changed=before != after, backup=None if kept is None else str(kept))
    elif before == after:
        to_stderr(wanted.sentence("absent", path=wanted.path, name=wanted.name))
    else:
        code = "removed" if after.text else "deleted"
        to_stderr(Painted(wanted.sentence(code, path=wanted.path), "green"))
        tell_what_now(wanted.host, kept)
    return 0


def _say_waiting(wanted: Wanted) -> None:
    to_stderr(
        wanted.sentence(
            f"opens {' '.join(wanted.manner) or 'files'}", host=wanted.host.name, url=wanted.url
        )
    )
    to_stderr(wanted.sentence(wanted.host.waiting))
    if wanted.prompts_to:
        to_stderr(wanted.sentence("approvals", command=wanted.prompts_to))
    if wanted.host.approval:
        to_stderr(wanted.sentence(wanted.host.approval))


def _tell(wanted: Wanted, **more: object) -> None:
    """Print an entry for a script, and what became of it."""
    host = wanted.host
    entry = filled(
        HostEntryShape,
        wanted,
        host=host.name,
        label=host.label,
        path=str(wanted.path),
        format=host.format.value,
        waiting=wanted.sentence(host.waiting),
        approval=wanted.sentence(host.approval) if host.approval else "",
    )
    shape = cast("ConfigShape", {**entry, **more})
    json_to_stdout(shape)

"""`humanmcp config HOST`: print the entry for a host's configuration, write it, or take it out.

Paths are absolute and settings are arguments: hosts start servers in any folder, without the
shell's PATH and with an environment of six variables.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from humanmcp.answering.schema import TypedDict, filled
from humanmcp.common import jsonc
from humanmcp.common.settings import (
    Settings,
    add_brought_flags,
    add_flags,
    book_path,
    brought_settings,
    by_hand,
)
from humanmcp.common.terminal import Painted, json_to_stdout, raw_to_stdout, to_stderr
from humanmcp.http.server_address import ServerAddress
from humanmcp.locales import say, spoken_language
from humanmcp.locales.stop import REFUSED
from humanmcp.setup.addition import Addition, setup_parts
from humanmcp.setup.config_file import (
    ConfigFile,
    ConfigFileError,
    Keys,
    as_laid_out,
    with_more_tries,
)
from humanmcp.setup.hosts import (
    APPROVAL_WAIT,
    BY_NAME,
    DEFAULT_NAME,
    PASSED_ON,
    Format,
    Host,
    HostEntry,
    manner_for,
    passed_on,
    place,
    starts_humanmcp,
    url_in,
)

if TYPE_CHECKING:
    import argparse

    from humanmcp.common.parsing import Parser


SECTION: Final = "config"
SETTINGS: Final = brought_settings()
HTTP_URL: Final = "http://127.0.0.1:8766/mcp"
"""Where `humanmcp serve --http` is, where nothing else is in its way."""


@dataclass(frozen=True, slots=True)
class Wanted(HostEntry):
    """An entry for a host's file. `manner` are the flags that choose who answers the handshake."""

    manner: tuple[str, ...] = ()
    addition: Addition | None = None
    """What brings the permission prompts of the host here."""
    asks: bool = False
    """The person asks for that."""
    setting: str = ""
    """The flag of a setting by which a person answers the handshake."""

    @property
    def keys(self) -> Keys:
        """What leads to the entry in the file."""
        return (*self.host.keys, self.name)

    def sentence(self, code: str, **fillings: object) -> str:
        return say(SECTION, code, **fillings)


def add_arguments(parser: Parser) -> None:
    flag = parser.flags(SECTION, "help ")
    flag("host", metavar="HOST", nargs="?", choices=tuple(BY_NAME))
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
    add_brought_flags(parser, SETTINGS)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print, write or remove an entry; without a host, list all. Returns the exit status."""
    if arguments.host is None:
        to_stderr(say(SECTION, "which host"))
        for name, host in BY_NAME.items():
            raw_to_stdout(f"{name:<16}{host.label}")
        return REFUSED if arguments.write or arguments.remove else 0
    wanted = _wanted(arguments, settings)
    if arguments.remove:
        return _remove(wanted, as_json=arguments.json)
    if arguments.write:
        return _write(wanted, as_json=arguments.json)
    return _print(wanted, as_json=arguments.json)


# -- what goes in -----------------------------------------------------------------------------


def _wanted(arguments: argparse.Namespace, settings: Settings) -> Wanted:
    host = BY_NAME[arguments.host]
    if arguments.http and not host.remote:
        raise ConfigFileError("no url", label=host.label)
    given = passed_on(settings, vars(arguments), os.environ, spoken_language())
    parts = (one.of(host, given, arguments.wait) for one in setup_parts())
    addition = next(filter(None, parts), None)
    if arguments.approvals and not (host.prompts_to or addition):
        raise ConfigFileError("no approvals", label=host.label)
    if arguments.http:
        ServerAddress.of(arguments.http)
    if "book" in given and not book_path(settings.book, Path()).is_file():
        raise ConfigFileError("no book", path=settings.book)
    chosen = "by-hand" if arguments.by_hand else "auto" if arguments.auto else arguments.handshake
    handshake = manner_for(chosen, given)
    flags = {"--open": arguments.open, "--approvals": arguments.approvals and host.prompts_to}
    words = (*handshake, *(name for name, wanted in flags.items() if wanted))
    is_asked = arguments.approvals and host.prompts_to and arguments.wait is None
    wait = APPROVAL_WAIT if is_asked else arguments.wait
    path = _path(host, arguments.path, for_user=arguments.user)
    if arguments.write and arguments.path and not path.parent.is_dir():
        raise ConfigFileError("no folder", folder=path.parent)
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
        addition=addition,
        asks=arguments.approvals and addition is not None,
        setting=by_hand(given),
    )


def _path(host: Host, written: str | None, *, for_user: bool) -> Path:
    """Return the path of the configuration file."""
    if written:
        return Path(written).expanduser().absolute()
    project = None if for_user else Path.cwd()
    return place(host, sys.platform, Path.home(), os.environ, project)


# -- print, write, remove ---------------------------------------------------------------------


def _print(wanted: Wanted, *, as_json: bool) -> int:
    """Print the snippet to stdout, and notes about it to stderr."""
    status, state = _state(wanted)
    if as_json:
        _tell(wanted, state=state)
        return status
    to_stderr(wanted.sentence("where", label=wanted.host.label, path=wanted.path))
    raw_to_stdout(wanted.snippet.removesuffix("\n"))
    if state in ("there", "differs"):
        to_stderr(wanted.sentence(state, name=wanted.name))
    code = "by hand only" if wanted.host.format is Format.YAML else "do it"
    to_stderr(wanted.sentence(code))
    if wanted.link:
        to_stderr(wanted.sentence("link", link=wanted.link))
    if wanted.shell:
        to_stderr(wanted.sentence("shell", command=wanted.shell))
    if wanted.addition is not None and wanted.asks:
        to_stderr(wanted.addition.where())
        raw_to_stdout(wanted.addition.snippet())
    _say_waiting(wanted)
    return status


def _state(wanted: Wanted) -> tuple[int, str]:
    """Compare the entry with the host's file, and print an error of the file.

    Returns the exit status, and "absent", "there", "differs" or "unreadable".
    """
    try:
        found = ConfigFile.read(wanted.host, wanted.path).entries()
    except ConfigFileError as error:
        to_stderr(Painted(error.sentence(), "yellow"))
        return REFUSED, "unreadable"
    for name, one in found.items():
        if url_in(one):
            to_stderr(Painted(wanted.sentence("remote", name=name), "dim"))
    if wanted.name not in found:
        return 0, "absent"
    return 0, "there" if found[wanted.name] == wanted.entry else "differs"


def _write(wanted: Wanted, *, as_json: bool) -> int:
    addition = wanted.addition if wanted.asks else None
    try:
        if addition is not None:
            addition.check()  # what cannot be done with it stops before anything is written
        files = with_more_tries(partial(_changed, wanted))
    except ConfigFileError as error:
        return _refused(wanted, error, as_json=as_json)
    done, why = "", None
    try:
        done = addition.write() if addition is not None else ""
    except ConfigFileError as error:
        why = error
    if _is_told(wanted, files, ("written", "unchanged"), done, as_json=as_json) and why is None:
        if addition is None:
            to_stderr(wanted.sentence("answer"))
            _say_waiting(wanted)
        else:
            for one in addition.notes(is_written=True):
                to_stderr(one)
    if why is not None:
        to_stderr(Painted(why.sentence(), "yellow"))
    return REFUSED if why is not None else 0


def _is_told(
    wanted: Wanted,
    files: tuple[ConfigFile, ConfigFile, Path | None],
    codes: tuple[str, str],
    more: str,
    *,
    as_json: bool,
) -> bool:
    """Print what was done: one of the two codes, and `more`. False for JSON."""
    before, after, kept = files
    if as_json:
        _tell(wanted, changed=before != after, backup=None if kept is None else str(kept))
        return False
    said = wanted.sentence(codes[before == after], path=wanted.path, name=wanted.name)
    if before == after:
        to_stderr(said)
    else:
        to_stderr(Painted(said, "green"))
        if after.text.startswith(jsonc.BOM):
            to_stderr(Painted(wanted.sentence("bom", path=wanted.path), "yellow"))
        if kept is not None:
            to_stderr(wanted.sentence("backup", backup=kept))
        if not wanted.asks or codes[0] != "written":  # else it is said with what comes then
            to_stderr(wanted.sentence("restart", label=wanted.host.label))
    if more:
        to_stderr(Painted(more, "green"))
    return True


def _changed(wanted: Wanted) -> tuple[ConfigFile, ConfigFile, Path | None]:
    """Write the entry. Return the file before and after, and the backup."""
    if wanted.host.format is Format.YAML:
        raise ConfigFileError("no yaml")
    file = ConfigFile.read(wanted.host, wanted.path)
    there = file.entries().get(wanted.name)
    if there is not None and not starts_humanmcp(there):
        raise ConfigFileError("not ours", path=wanted.path, name=wanted.name)
    after = file.having({wanted.keys: wanted.entry})
    return file, after, None if file == after else after.write()


def _refused(wanted: Wanted, error: ConfigFileError, *, as_json: bool) -> int:
    """Print why the file was not changed, and a snippet to paste instead."""
    if as_json:
        _tell(wanted, changed=False, backup=None, why=error.sentence())
        return REFUSED
    to_stderr(Painted(error.sentence(), "yellow"))
    to_stderr(wanted.sentence("not changed"))
    raw_to_stdout(wanted.snippet.removesuffix("\n"))
    return REFUSED


def _remove(wanted: Wanted, *, as_json: bool) -> int:
    if wanted.host.format is Format.YAML:
        raise ConfigFileError("no yaml")
    # This first: a host whose hook is there and cannot be started may refuse every tool.
    addition = wanted.addition
    more = addition.remove(is_asked=wanted.asks) if addition is not None else ""
    files = with_more_tries(partial(_taken_out, wanted))
    done = "removed" if files[1].text else "deleted"
    _is_told(wanted, files, (done, "absent"), more, as_json=as_json)
    return 0


def _taken_out(wanted: Wanted) -> tuple[ConfigFile, ConfigFile, Path | None]:
    """Take the entry out. Return the file before and after, and the backup."""
    before = ConfigFile.read(wanted.host, wanted.path)
    after = before.without(wanted.keys)
    if before == after:
        return before, after, None
    after = before.undone((wanted.keys,)) or after
    return before, after, after.write()


def _say_waiting(wanted: Wanted) -> None:
    code = f"opens {' '.join(wanted.manner) or 'setting'}"
    to_stderr(wanted.sentence(code, url=wanted.url, flag=wanted.setting))
    to_stderr(wanted.sentence(wanted.host.waiting))
    if wanted.addition is not None:
        added = wanted.addition
        told = added.notes(is_written=False) if wanted.asks else [added.offer()]
        for one in told:
            to_stderr(one)
    if wanted.host.approval:
        to_stderr(wanted.sentence(wanted.host.approval))
    if wanted.host.asks_with:
        tool = wanted.host.asks_with.format(name=wanted.name)
        to_stderr(wanted.sentence("asks with", label=wanted.host.label, tool=tool))


class HostEntryShape(TypedDict):
    """An entry for the configuration of a host, and the file for it."""

    host: str
    label: str
    name: str
    path: str
    format: str
    entry: dict[str, Any]
    snippet: str
    link: str
    shell: str
    waiting: str
    approval: str


class ConfigShape(HostEntryShape, total=False):
    """The result of `config`. Paste `snippet`, or use `link` or `shell` instead.

    `state`: absent, there, differs or unreadable. `why`: why nothing was written.
    """

    state: str
    changed: bool
    backup: str | None
    why: str


def _tell(wanted: Wanted, **more: object) -> None:
    """Print an entry and its outcome as JSON."""
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
    json_to_stdout(cast("ConfigShape", {**entry, **more}))


def tell_what_now(host: Host, kept: Path | None) -> None:
    """Print where the backup of a changed file is, and what to do now."""
    if kept is not None:
        to_stderr(say("config", "backup", backup=kept))
    to_stderr(say("config", "restart", label=host.label))

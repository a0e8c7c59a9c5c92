"""`humanmcp config HOST`: print the entry for a host's configuration, write it, or take it out.

Paths are absolute and settings are arguments: hosts start servers in any folder, without the
shell's PATH and with an environment of six variables. A configuration file is written back with a
backup, and only when it was read again and found to be the old content with that one change. A file
that is not understood is left alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import stat
import sys
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

from humanmcp.answering.schema import TypedDict, filled
from humanmcp.common import jsonc, toml_edit
from humanmcp.common.block_yaml import YamlError, read_yaml
from humanmcp.common.person_files import NotRegularError, keep_owner, read_regular, replace_regular
from humanmcp.common.settings import Settings, add_flags
from humanmcp.common.terminal import Painted, json_to_stdout, raw_to_stdout, to_stderr
from humanmcp.http.server_address import ServerAddress
from humanmcp.locales import say, spoken_language
from humanmcp.locales.stop import REFUSED, StopError
from humanmcp.protocol.diagnostics.model import blocking
from humanmcp.protocol.json.tree import object_at
from humanmcp.protocol.repair import reading
from humanmcp.setup.hook_entries import (
    HOOKS,
    KEY,
    HostHooks,
    hook_command,
    hook_limit,
    hook_words,
    is_our_plugin,
    of_others,
    our_hooks,
    plugin_text,
    with_hooks,
    without_hooks,
)
from humanmcp.setup.hosts import (
    APPROVAL_WAIT,
    BY_NAME,
    DEFAULT_NAME,
    HOSTS,
    PASSED_ON,
    Format,
    Host,
    HostEntry,
    command_for,
    command_in,
    filled_in,
    manner_for,
    passed_on,
    place,
    starts_humanmcp,
    user_place,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from humanmcp.common.parsing import Parser


SECTION: Final = "config"
_T = TypeVar("_T")
HTTP_URL: Final = "http://127.0.0.1:8766/mcp"
"""Where `humanmcp serve --http` is, where nothing else is in its way."""


@dataclass(frozen=True, slots=True)
class Wanted(HostEntry):
    """An entry for a host's file. `manner` are the flags that choose who answers the handshake."""

    manner: tuple[str, ...] = ()
    hook: tuple[Path, Mapping[str, Any], str] | None = None
    """The file of the host's hooks, the items that bring its permission prompts to us, and what a
    new file starts with."""
    hook_wait: int = 0
    """Seconds that the host waits for the hook."""
    prompts_to: str = ""
    """The command that runs the host with its permission prompts sent to us; "" for none."""

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
    if arguments.approvals and not (host.prompts_to or host.name in HOOKS):
        raise ConfigFileError("no approvals", label=host.label)
    if arguments.http:
        ServerAddress.of(arguments.http)
    given = passed_on(settings, vars(arguments), os.environ, spoken_language())
    if settings.book and "book" in given and not Path(settings.book).expanduser().is_file():
        raise ConfigFileError("no book", path=settings.book)
    chosen = "by-hand" if arguments.by_hand else "auto" if arguments.auto else arguments.handshake
    handshake = manner_for(chosen, files="files" in given)
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
    hooks, hook, hook_wait = HOOKS.get(host.name), None, 0
    if hooks is not None and (arguments.approvals or arguments.remove):
        hook_wait = arguments.wait or hooks.wait
        hook = _hook(host, hooks, given, hook_wait)
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
        hook=hook,
        hook_wait=hook_wait,
    )


def _hook(
    host: Host, hooks: HostHooks, given: Mapping[str, Any], seconds: int
) -> tuple[Path, dict[str, Any], str]:
    """Return the file of a host's hooks, our items, and what a new file starts with."""
    path = filled_in(hooks.place, Path.home(), os.environ, Path.cwd())
    passed = {name: one for name, one in given.items() if name in ("home", "inbox", "lang")}
    server = command_for(passed, ())
    command = hook_command(host.name, server, seconds)
    if hooks.plugin:
        return path, {"": command}, plugin_text(hooks, hook_words(host.name, server, seconds))
    return path, hooks.items(command, seconds), hooks.new


def _path(host: Host, written: str | None, *, for_user: bool) -> Path:
    """Return the path of the configuration file."""
    if written:
        return Path(written).expanduser().absolute()
    if for_user:
        return user_place(host, sys.platform, Path.home(), os.environ)
    return place(host, sys.platform, Path.home(), os.environ, Path.cwd())


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
    if wanted.hook is not None:
        to_stderr(wanted.sentence("where hook", label=wanted.host.label, path=wanted.hook[0]))
        host = dataclasses.replace(wanted.host, format=Format.JSONC)
        empty = ConfigFile(host, wanted.hook[0], "")
        raw_to_stdout(empty.hooked(*wanted.hook[1:]).text.removesuffix("\n"))
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
        if isinstance(one, dict) and "url" in one and command_in(one) is None:
            to_stderr(Painted(wanted.sentence("remote", name=name), "dim"))
    if wanted.name not in found:
        return 0, "absent"
    return 0, "there" if found[wanted.name] == wanted.entry else "differs"


def _write(wanted: Wanted, *, as_json: bool) -> int:
    try:
        before, after, kept = with_more_tries(partial(_changed, wanted))
        told = _change_hook(wanted, wanted.hook[1]) if wanted.hook is not None else ""
    except ConfigFileError as error:
        return _refused(wanted, error, as_json=as_json)
    if as_json:
        _tell(wanted, changed=before != after, backup=None if kept is None else str(kept))
        return 0
    if before == after:
        to_stderr(wanted.sentence("unchanged", path=wanted.path))
    else:
        to_stderr(Painted(wanted.sentence("written", path=wanted.path), "green"))
        if after.text.startswith(_BOM):
            to_stderr(Painted(wanted.sentence("bom", path=wanted.path), "yellow"))
        tell_what_now(wanted.host, kept)
    if told:
        to_stderr(Painted(told, "green"))
    to_stderr(wanted.sentence("answer"))
    _say_waiting(wanted)
    return 0


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
    raw_to_stdout(wanted.snippet.removesuffix("\n"))
    return REFUSED


def _remove(wanted: Wanted, *, as_json: bool) -> int:
    if wanted.host.format is Format.YAML:
        raise ConfigFileError("no yaml")
    # The hook first: a host whose hook is there and cannot be started may refuse every tool.
    told = _change_hook(wanted, {}) if wanted.hook is not None else ""
    before, after, kept = with_more_tries(partial(_taken_out, wanted))
    if told and not as_json:
        to_stderr(Painted(told, "green"))
    if as_json:
        _tell(wanted, changed=before != after, backup=None if kept is None else str(kept))
    elif before == after:
        to_stderr(wanted.sentence("absent", path=wanted.path, name=wanted.name))
    else:
        code = "removed" if after.text else "deleted"
        to_stderr(Painted(wanted.sentence(code, path=wanted.path), "green"))
        tell_what_now(wanted.host, kept)
    return 0


def _taken_out(wanted: Wanted) -> tuple[ConfigFile, ConfigFile, Path | None]:
    """Take the entry out. Return the file before and after, and the backup."""
    before = ConfigFile.read(wanted.host, wanted.path)
    after = before.without(wanted.keys)
    if before == after:
        return before, after, None
    after = before.undone((wanted.keys,)) or after
    return before, after, after.write()


def _change_hook(wanted: Wanted, items: Mapping[str, Any]) -> str:
    """Have exactly these items of ours in the file of the hooks. Return what to say, or ""."""
    path, _, new = wanted.hook or (wanted.path, {}, "")
    host = dataclasses.replace(wanted.host, format=Format.JSONC)

    def change() -> str:
        file = ConfigFile.read(host, path)
        after = file.hooked(items, new)
        if after.text == file.text:
            return "hook unchanged" if items else ""
        after.write()
        return "hook written" if items else "hook removed"

    code = with_more_tries(change)
    return wanted.sentence(code, path=path) if code else ""


def _say_waiting(wanted: Wanted) -> None:
    to_stderr(wanted.sentence(f"opens {' '.join(wanted.manner) or 'files'}", url=wanted.url))
    to_stderr(wanted.sentence(wanted.host.waiting))
    if wanted.hook is not None:
        seconds = hook_limit(wanted.hook_wait)
        to_stderr(wanted.sentence(f"gate {wanted.host.name}", seconds=seconds))
    if wanted.prompts_to:
        to_stderr(wanted.sentence("approvals", command=wanted.prompts_to))
    elif wanted.host.prompts and wanted.hook is None:
        known = wanted.sentence(f"known {wanted.host.prompts['known']}", **wanted.host.prompts)
        to_stderr(wanted.sentence("prompts", label=wanted.host.label, source=known))
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
    shape = cast("ConfigShape", {**entry, **more})
    json_to_stdout(shape)


# -- a configuration file: read, changed in one entry, written back ------------------------------


_MCP_IN_SETTINGS: Final = ("mcp", "servers")
_BACKUPS_READ: Final = 20
_TRIES: Final = 20
LARGEST: Final = 8 * 1024 * 1024
"""Bytes of a file that is changed: an edit looks at every member several times."""
_BOM: Final = "\ufeff"

Keys = tuple[str, ...]
"""The members that lead to an entry in a configuration; the last is the server's name."""


class ConfigFileError(StopError):
    """A configuration file cannot be read, understood or changed."""

    section = "config"


class ChangedMeanwhileError(ConfigFileError):
    """Another program has written the file since it was read. Nothing was changed."""


def with_more_tries(change: Callable[[], _T]) -> _T:
    """Change a file, again if another program writes it meanwhile: hosts often do.

    Raises:
        ConfigFileError: it cannot be changed.
    """
    for _ in range(_TRIES - 1):
        with contextlib.suppress(ChangedMeanwhileError):
            return change()
    return change()


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one humanmcp at a time change the files of a folder. Windows cannot lock a folder."""
    if sys.platform == "win32":  # pragma: no cover - there, a change is only noticed
        yield
        return
    import fcntl  # noqa: PLC0415 - Windows has none

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network drives have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def configurations() -> Iterator[tuple[Host, Path]]:
    """Yield the existing files of all hosts that can be changed, each once."""
    seen: set[Path] = set()
    for host in HOSTS:
        in_project = place(host, sys.platform, Path.home(), os.environ, Path.cwd())
        for path in (in_project, user_place(host, sys.platform, Path.home(), os.environ)):
            if host.format is not Format.YAML and path.is_file() and path not in seen:
                seen.add(path)
                yield host, path


@dataclasses.dataclass(frozen=True)
class ConfigFile:
    """The text of a host's configuration file, and the servers in it."""

    host: Host
    path: Path
    text: str
    original: str = ""
    """What the file contained when it was read: another program may have changed it since."""

    @classmethod
    def read(cls, host: Host, path: Path) -> Self:
        """Read a configuration file; without a file, the text is "".

        Raises:
            ConfigFileError: it cannot be read, is no UTF-8, or no file but a device or a pipe.
        """
        text = _read(path)
        return cls(as_laid_out(host, path), path, text, text)

    @cached_property
    def value(self) -> dict[str, Any]:
        """The decoded content; see `parsed`."""
        return parsed(self.text, self.host.format, self.path)

    def entries(self, keys: Keys = ()) -> dict[str, Any]:
        """Return the entries of the servers for all projects, or below other keys, by name.

        Raises:
            ConfigFileError: it is not in its format, or something else is at this place.
        """
        found: Any = self.value
        for key in keys or self.host.keys:
            found = found.get(key, {})
            if not isinstance(found, dict):
                raise ConfigFileError("no place", path=self.path, key=key)
        return dict(found)

    @cached_property
    def servers(self) -> dict[Keys, Any]:
        """The entries of all servers, those of single projects too, by the keys that lead there.

        Raises:
            ConfigFileError: as `entries`.
        """
        keys = self.host.keys
        found = {(*keys, name): one for name, one in self.entries().items()}
        for projects in self.host.project_keys[:1]:
            for project in object_at(self.value, projects):
                keys = (projects, project, *self.host.project_keys[1:])
                with contextlib.suppress(ConfigFileError):  # a project of another shape has none
                    found |= {(*keys, name): one for name, one in self.entries(keys).items()}
        return found

    def having(self, entries: Mapping[Keys, Any]) -> Self:
        """Return the file with these entries set, each below its keys, in this order.

        Raises:
            ConfigFileError: the file is not understood.
        """
        changed = self
        for keys, entry in entries.items():
            changed = changed._having(keys, entry)
        return changed

    def _having(self, keys: Keys, entry: Mapping[str, Any]) -> Self:
        current = self.entries(keys[:-1]).get(keys[-1])
        wanted = _set(self.value, keys, entry)
        if self.value == wanted:
            return self
        if self.host.format is Format.TOML:
            return self._edited(lambda: toml_edit.put(self.text, keys, entry))
        mark, body = self._split
        if isinstance(current, dict) and set(current) <= set(entry):
            for key, value in entry.items():  # only what differs: comments beside the rest stay
                before, path = current.get(key), (*keys, key)
                if isinstance(before, list) and isinstance(value, list):
                    body = jsonc.with_list(body, path, before, value) if before != value else body
                elif key not in current or before != value:
                    body = jsonc.put(body, path, value)
            after = mark + body
        elif body.strip():
            after = mark + jsonc.put(body, keys, dict(entry))
        else:
            after = jsonc.put("{}", keys, dict(entry)) + "\n"
        return self._proven(after, wanted)

    def without(self, keys: Keys) -> Self:
        """Return the file without an entry.

        Raises:
            ConfigFileError: the file is not understood.
        """
        if keys[-1] not in self.entries(keys[:-1]):
            return self
        if self.host.format is Format.TOML:
            return self._edited(lambda: toml_edit.take(self.text, keys))
        mark, body = self._split
        return self._proven(mark + jsonc.take(body, keys), _set(self.value, keys, None))

    def hooked(self, items: Mapping[str, Any], new: str) -> Self:
        """Return the file with exactly these hooks of ours. Without any, the newest backup counts.

        Raises:
            ConfigFileError: the file is not understood.
        """
        if is_our_plugin(new):
            if not self.text or is_our_plugin(self.text):
                return dataclasses.replace(self, text=new if items else "")
            if items:
                raise ConfigFileError("not understood", path=self.path)
            return self
        mark, body = self._split
        if items:
            after = with_hooks(body, self.value, items, new)
        else:
            after = without_hooks(body, self.value) if our_hooks(self.value) else body
            if (before := self._before(lambda one: one.hooked(self._own_items(), new))) is not None:
                return before
        changed = dataclasses.replace(self, text=mark + after if after else "")
        if of_others(changed.value) != of_others(self.value):
            raise ConfigFileError("not understood", path=self.path)
        return changed

    def _own_items(self) -> dict[str, Any]:
        ours = our_hooks(self.value)
        return {event: self.value[KEY][event][places[0]] for event, places in ours.items()}

    def undone(self, changed: Sequence[Keys]) -> Self | None:
        """Return the file before `having` changed it, or None if that is unknown.

        That is the newest backup, or no file, if setting the same entries there results in this
        text. So removing an entry restores the file byte for byte. A killed command leaves a copy
        of a file that it did not change: that copy is not a backup.
        """
        entries = {keys: self.servers.get(keys) for keys in changed}
        if not all(isinstance(entry, dict) for entry in entries.values()):
            return None
        return self._before(lambda one: one.having(entries))

    def _before(self, change: Callable[[Self], Self]) -> Self | None:
        """Return the newest backup, or no file, that a change turns into this text; else None."""
        for text in (*map(_read, newest_backups(self.path)), ""):
            before = dataclasses.replace(self, text=text)
            with contextlib.suppress(ConfigFileError):
                if text != self.text == change(before).text:
                    return before
        return None

    def with_entry_as_it_was(
        self, keys: Keys, is_original: Callable[[object], bool]
    ) -> Self | None:
        """Return the file with the text of an entry before `having` changed it, or None.

        The rest may have changed since. The text is that of the newest backup with the original.
        """
        for text in map(_read, newest_backups(self.path)):
            before = dataclasses.replace(self, text=text)
            with contextlib.suppress(ConfigFileError):
                original = before.servers.get(keys)
                if not is_original(original):
                    continue
                after = before.having({keys: self.servers[keys]})
                own = self.text_of(keys)
                if own is not None and own == after.text_of(keys):
                    start, end = self._span_of(keys) or (0, 0)
                    restored = self.text[:start] + (before.text_of(keys) or "") + self.text[end:]
                    return self._proven(restored, _set(self.value, keys, original))
        return None

    def _span_of(self, keys: Keys) -> tuple[int, int] | None:
        if self.host.format is Format.TOML:
            return toml_edit.span_of(self.text, keys)
        mark, body = self._split
        found = jsonc.span_of(body, keys)
        return None if found is None else (found[0] + len(mark), found[1] + len(mark))

    def text_of(self, keys: Keys) -> str | None:
        """Return the text of an entry; None if it is in several places."""
        found = self._span_of(keys)
        return None if found is None else self.text[slice(*found)]

    def write(self) -> Path | None:
        """Write it, and return the backup of the old one; None when there was none.

        The new text is complete before it takes the old one's place. A link is followed, so that a
        configuration that is kept elsewhere stays kept there; owner and mode stay as they were. A
        file that has nothing left in it is deleted.

        Raises:
            ChangedMeanwhileError: another program has written it since it was read.
            ConfigFileError: it cannot be written. The old file is unchanged.
        """
        real = self.path.resolve()
        try:
            real.parent.mkdir(parents=True, exist_ok=True)
            with _locked(real.parent):
                self._stop_if_changed()
                kept = backup(real) if real.exists() else None
                if not self.text:
                    real.unlink()
                    return kept
                replace_regular(real, self.text.encode("utf-8"), still_wanted=self._stop_if_changed)
        except NotRegularError as error:
            raise ConfigFileError("no file", path=self.path) from error
        except OSError as error:
            raise ConfigFileError("unwritable", path=self.path, why=error) from error
        return kept

    def _stop_if_changed(self) -> None:
        real = self.path.resolve()
        if real.exists() and not real.stat().st_mode & stat.S_IWUSR:
            raise ConfigFileError("read-only", path=self.path)
        if _read(self.path) != self.original:
            raise ChangedMeanwhileError("busy", path=self.path)

    @property
    def _split(self) -> tuple[str, str]:
        """The byte order mark, "" for none, and the text after it."""
        body = self.text.removeprefix(_BOM)
        return self.text[: len(self.text) - len(body)], body

    def _edited(self, edit: Callable[[], str]) -> Self:
        try:
            return dataclasses.replace(self, text=edit())
        except toml_edit.NotEditableError as error:
            raise ConfigFileError("not understood", path=self.path) from error

    def _proven(self, after: str, wanted: Mapping[str, Any]) -> Self:
        """Return the file with a new text, if the text decodes to the wanted content.

        Raises:
            ConfigFileError: it does not; the layout of the file is not understood.
        """
        changed = dataclasses.replace(self, text=after)
        if changed.value != wanted:
            raise ConfigFileError("not understood", path=self.path)
        return changed


def as_laid_out(host: Host, path: Path) -> Host:
    """Return a host with the place that it reads in this very file, where it reads several kinds.

    VS Code reads `servers` in its mcp.json, and `mcp.servers` in the settings.json of its users.
    """
    if host.name != "vscode":
        return host
    kept_in = _MCP_IN_SETTINGS if path.name == "settings.json" else host.keys
    with contextlib.suppress(ConfigFileError):  # reported when the file is read
        found = parsed(_read(path), host.format, path)
        within = found.get("mcp")
        if "servers" not in found and isinstance(within, dict) and "servers" in within:
            kept_in = _MCP_IN_SETTINGS
    return dataclasses.replace(host, keys=kept_in)


def _read(path: Path) -> str:
    """Return the text of a configuration file, or "" without a file."""
    try:
        if path.stat().st_size > LARGEST:
            raise ConfigFileError("too large", path=path, megabytes=LARGEST >> 20)
        return read_regular(path).decode("utf-8")
    except NotRegularError as error:
        raise ConfigFileError("no file", path=path) from error
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise ConfigFileError("no utf-8", path=path, byte=error.start + 1) from error
    except OSError as error:
        raise ConfigFileError("unreadable", path=path, why=error) from error


def _toml_or_yaml(text: str, form: Format, path: Path) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return tomllib.loads(text) if form is Format.TOML else read_yaml(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigFileError("no toml", path=path, why=error) from error
    except YamlError as error:
        raise ConfigFileError("unread yaml", path=path, line=error.line) from error


def parsed(text: str, form: Format, path: Path) -> dict[str, Any]:
    """Decode a configuration; an empty file has no content.

    Raises:
        ConfigFileError: it is not in its format. The sentence names line, column and cause.
    """
    text = text.removeprefix(_BOM)
    if not text.strip():
        return {}
    if form is Format.JSON:
        with contextlib.suppress(ValueError, RecursionError):
            if isinstance(value := json.loads(text), dict):
                return value
        for oddity in jsonc.oddities(text):
            raise ConfigFileError(
                _ODD[oddity.kind, bool(oddity.after)],
                path=path,
                line=oddity.line,
                column=oddity.column,
                after=oddity.after,
                closing=oddity.closing,
            )
    try:
        is_json = form in (Format.JSON, Format.JSONC)
        value = json.loads(jsonc.plain(text)) if is_json else _toml_or_yaml(text, form, path)
    except json.JSONDecodeError as error:
        wrong = blocking(reading.read_json(jsonc.plain(text)).diagnostics)
        why = wrong[0] if wrong else error.msg
        raise ConfigFileError(
            "no json", path=path, line=error.lineno, column=error.colno, why=why
        ) from error
    except RecursionError as error:
        raise ConfigFileError("too deep", path=path) from error
    if not isinstance(value, dict):
        raise ConfigFileError("no object", path=path)
    return value


_ODD: Final[Mapping[tuple[str, bool], str]] = {
    ("comment", False): "comment",
    ("comma", True): "comma after",
    ("comma", False): "comma",
}


def _set(value: Mapping[str, Any], keys: Keys, entry: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the decoded configuration with the entry set (None: taken out)."""
    key, *rest = keys
    if rest:
        return {**value, key: _set(value.get(key, {}), tuple(rest), entry)}
    others = {name: one for name, one in value.items() if name != key}
    return others if entry is None else {**others, key: dict(entry)}


def backup(path: Path) -> Path:
    """Copy a file beside itself under a name with the time in it, and return the copy's path."""
    content = read_regular(path)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    copy = path.with_name(f"{path.name}.humanmcp-{stamp}.bak")
    replace_regular(copy, content)  # half a copy must not pass for one
    keep_owner(copy, path.stat())
    return copy


def newest_backups(path: Path) -> list[Path]:
    real = path.resolve()
    return sorted(real.parent.glob(f"{real.name}.humanmcp-*.bak"), reverse=True)[:_BACKUPS_READ]


def tell_what_now(host: Host, kept: Path | None) -> None:
    """Print where the backup of a changed file is, and what to do now."""
    if kept is not None:
        to_stderr(say("config", "backup", backup=kept))
    to_stderr(say("config", "restart", label=host.label))

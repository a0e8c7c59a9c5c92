"""A host's configuration file: read, changed in one entry, and written back with a backup.

A file is written only when it was read again and found to be the old content with that one change.
A file that is not understood is left alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import stat
import sys
import tomllib
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from humanmcp.common import jsonc, toml_edit
from humanmcp.common.block_yaml import YamlError, read_yaml
from humanmcp.common.person_files import NotRegularError, keep_owner, read_regular, replace_regular
from humanmcp.locales.stop import StopError
from humanmcp.protocol.diagnostics.model import blocking
from humanmcp.protocol.json.tree import object_at
from humanmcp.protocol.repair import reading
from humanmcp.setup.hosts import HOSTS, Format, Host, place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_T = TypeVar("_T")
_MCP_IN_SETTINGS: Final = ("mcp", "servers")
_CELLS: Final = ("mcpServers", "servers", "context_servers", "mcp_servers", "extensions")
"""Where hosts have their servers: most of them, VS Code, Zed, Codex, and goose."""
_COMMENTED: Final = re.compile(r'"(?:servers|context_servers)"\s*:')
"""In the files of VS Code and Zed, which have comments."""
_FORMATS: Final = {
    ".jsonc": Format.JSONC,
    ".toml": Format.TOML,
    ".yaml": Format.YAML,
    ".yml": Format.YAML,
}
_BACKUPS_READ: Final = 20
_TRIES: Final = 20
LARGEST: Final = 8 * 1024 * 1024
"""Bytes of a file that is changed: an edit looks at every member several times."""

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
        for project in (Path.cwd(), None):
            path = place(host, sys.platform, Path.home(), os.environ, project)
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
        text = config_text(path)
        return cls(as_laid_out(host, path), path, text, text)

    @classmethod
    def of_any_host(cls, path: Path, text: str) -> Self:
        """Return the configuration of a host that is not known, by its name and its content.

        Raises:
            ConfigFileError: it is not in its format, or no host has its servers where it has them.
        """
        is_commented = _COMMENTED.search(text) is not None
        form = _FORMATS.get(path.suffix, Format.JSONC if is_commented else Format.JSON)
        value = parsed(text, form, path)
        places = [(*before, cell) for before in (("mcp",), ()) for cell in _CELLS]
        keys = next((one for one in places if one[-1] in object_at(value, *one[:-1])), ("mcp",))
        opencode = object_at(value, "mcp").values()
        if keys == ("mcp",) and not (opencode and all(isinstance(one, dict) for one in opencode)):
            raise ConfigFileError("no servers", path=path)
        return cls(Host("", "", keys, {}, form), path, text, text)

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
        after = self.text
        if isinstance(current, dict) and set(current) <= set(entry):
            for key, value in entry.items():  # only what differs: comments beside the rest stay
                before, path = current.get(key), (*keys, key)
                if isinstance(before, list) and isinstance(value, list):
                    after = jsonc.with_list(after, path, before, value)
                elif key not in current or before != value:
                    after = jsonc.put(after, path, value)
        elif after.removeprefix(jsonc.BOM).strip():
            after = jsonc.put(after, keys, dict(entry))
        else:
            after = jsonc.put("{}", keys, dict(entry)) + "\n"
        return self.proven(after, wanted)

    def without(self, keys: Keys) -> Self:
        """Return the file without an entry.

        Raises:
            ConfigFileError: the file is not understood.
        """
        if keys[-1] not in self.entries(keys[:-1]):
            return self
        if self.host.format is Format.TOML:
            return self._edited(lambda: toml_edit.take(self.text, keys))
        return self.proven(jsonc.take(self.text, keys), _set(self.value, keys, None))

    def undone(self, changed: Sequence[Keys]) -> Self | None:
        """Return the file before `having` changed it, or None if that is unknown.

        That is the newest backup, or no file, if setting the same entries there results in this
        text. So removing an entry restores the file byte for byte. A killed command leaves a copy
        of a file that it did not change: that copy is not a backup.
        """
        entries = {keys: self.servers.get(keys) for keys in changed}
        if not all(isinstance(entry, dict) for entry in entries.values()):
            return None
        return self.before(lambda one: one.having(entries))

    def before(self, change: Callable[[Self], Self]) -> Self | None:
        """Return the newest backup, or no file, that a change turns into this text; else None."""
        for text in (*map(config_text, newest_backups(self.path)), ""):
            before = dataclasses.replace(self, text=text)
            with contextlib.suppress(ConfigFileError):
                if text != self.text == change(before).text:
                    return before
        return None

    def span_of(self, keys: Keys) -> tuple[int, int] | None:
        """Return where the text of an entry is; None if it is in several places."""
        find = toml_edit.span_of if self.host.format is Format.TOML else jsonc.span_of
        return find(self.text, keys)

    def text_of(self, keys: Keys) -> str | None:
        """Return the text of an entry; None if it is in several places."""
        found = self.span_of(keys)
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
        if config_text(self.path) != self.original:
            raise ChangedMeanwhileError("busy", path=self.path)

    def _edited(self, edit: Callable[[], str]) -> Self:
        try:
            return dataclasses.replace(self, text=edit())
        except toml_edit.NotEditableError as error:
            raise ConfigFileError("not understood", path=self.path) from error

    def proven(self, after: str, wanted: Mapping[str, Any]) -> Self:
        """Return the file with a new text, if the text decodes to the wanted content.

        Raises:
            ConfigFileError: it does not; the layout of the file is not understood.
        """
        changed = dataclasses.replace(self, text=after)
        with contextlib.suppress(ConfigFileError):  # what the edit broke is no fault of the file
            if changed.value == wanted:
                return changed
        raise ConfigFileError("not understood", path=self.path)


def as_laid_out(host: Host, path: Path) -> Host:
    """Return a host with the place that it reads in this very file, where it reads several kinds.

    VS Code reads `servers` in its mcp.json, and `mcp.servers` in the settings.json of its users.
    """
    if host.name != "vscode":
        return host
    kept_in = _MCP_IN_SETTINGS if path.name == "settings.json" else host.keys
    with contextlib.suppress(ConfigFileError):  # reported when the file is read
        found = parsed(config_text(path), host.format, path)
        within = found.get("mcp")
        if "servers" not in found and isinstance(within, dict) and "servers" in within:
            kept_in = _MCP_IN_SETTINGS
    return dataclasses.replace(host, keys=kept_in)


def config_text(path: Path) -> str:
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


def parsed(text: str, form: Format, path: Path) -> dict[str, Any]:
    """Decode a configuration; an empty file has no content.

    Raises:
        ConfigFileError: it is not in its format. The sentence names line, column and cause.
    """
    text = text.removeprefix(jsonc.BOM)
    if not text.strip():
        return {}
    clear = jsonc.plain(text) if form in (Format.JSON, Format.JSONC) else text
    try:
        value = _READERS.get(form, json.loads)(clear)
    except tomllib.TOMLDecodeError as error:
        raise ConfigFileError("no toml", path=path, why=error) from error
    except YamlError as error:
        raise ConfigFileError("unread yaml", path=path, line=error.line) from error
    except json.JSONDecodeError as error:
        found = reading.read_json(clear).diagnostics
        wrong = (blocking(found) or found)[0]
        raise ConfigFileError(
            "no json", path=path, line=wrong.line, column=wrong.column, why=wrong
        ) from error
    except RecursionError as error:
        raise ConfigFileError("too deep", path=path) from error
    for oddity in jsonc.oddities(text) if form is Format.JSON and clear != text else ():
        code = f"{oddity.kind} after" if oddity.after else oddity.kind
        raise ConfigFileError(code, path=path, **dataclasses.asdict(oddity))
    if not isinstance(value, dict):
        raise ConfigFileError("no object", path=path)
    return value


_READERS: Final[Mapping[Format, Callable[[str], Any]]] = {
    Format.TOML: tomllib.loads,
    Format.YAML: read_yaml,
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

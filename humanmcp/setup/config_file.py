"""A host's configuration file: read it, change the one entry in it, write it back with a backup.

Nothing is written that was not read again and found to be the old content with that one change. A
file that is not understood is left alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
import tomllib
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from humanmcp.common import jsonc, toml_edit
from humanmcp.common.person_files import (
    NotRegularError,
    keep_owner,
    read_regular,
    replace_regular,
)
from humanmcp.locales.stop import StopError
from humanmcp.protocol.diagnostics.model import blocking
from humanmcp.protocol.json.tree import object_at
from humanmcp.protocol.repair import reading
from humanmcp.setup.hosts import HOSTS, Format, place, user_place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from humanmcp.setup.hosts import Host

_MCP_IN_SETTINGS: Final = ("mcp", "servers")
_BACKUPS_READ: Final = 20
_BOM: Final = "\ufeff"

Keys = tuple[str, ...]
"""The members that lead to an entry in a configuration; the last is the server's name."""


class ConfigFileError(StopError):
    """A configuration file cannot be read, understood or changed."""

    room = "config"


def configurations() -> Iterator[tuple[Host, Path]]:
    """Go through the files of all hosts that are there and can be changed, each once."""
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

    @classmethod
    def read(cls, host: Host, path: Path) -> Self:
        """Read a configuration file; the text is "" where there is none.

        Raises:
            ConfigFileError: it cannot be read, is no UTF-8, or no file but a device or a pipe.
        """
        return cls(as_laid_out(host, path), path, _read(path))

    @cached_property
    def value(self) -> dict[str, Any]:
        """What it says; see `parsed`."""
        return parsed(self.text, self.host.format, self.path)

    def entries(self, keys: Keys = ()) -> dict[str, Any]:
        """Return the entries of the servers for all projects, or below other keys, by name.

        Raises:
            ConfigFileError: it is not in its format, or something else stands in their place.
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
        """Return it with several entries set, in this order, each by the keys that lead there.

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
                if key not in current or current[key] != value:
                    body = jsonc.put(body, (*keys, key), value)
            after = mark + body
        elif body.strip():
            after = mark + jsonc.put(body, keys, dict(entry))
        else:
            after = jsonc.put("{}", keys, dict(entry)) + "\n"
        return self._proven(after, wanted)

    def without(self, keys: Keys) -> Self:
        """Return it without an entry; unchanged when it is not there.

        Raises:
            ConfigFileError: the file is not understood.
        """
        if keys[-1] not in self.entries(keys[:-1]):
            return self
        if self.host.format is Format.TOML:
            return self._edited(lambda: toml_edit.take(self.text, keys))
        mark, body = self._split
        return self._proven(mark + jsonc.take(body, keys), _set(self.value, keys, None))

    def undone(self, changed: Sequence[Keys]) -> Self | None:
        """Return it as it was before `having` made it into this one; None when unknown.

        That is the newest backup, or no file at all, if setting the same entries there gives this
        text. So taking out what was put in leaves the file byte for byte as it was. A command that
        was killed leaves a copy of what it did not come to change: that is no backup of another.
        """
        entries = {keys: self.servers.get(keys) for keys in changed}
        if not all(isinstance(entry, dict) for entry in entries.values()):
            return None
        for text in (*map(_read, newest_backups(self.path)), ""):
            before = dataclasses.replace(self, text=text)
            with contextlib.suppress(ConfigFileError):
                if text != self.text == before.having(entries).text:
                    return before
        return None

    def write(self) -> Path | None:
        """Write it, and return the backup of the old one; None when there was none.

        The new text is complete before it takes the old one's place. A link is followed, so that a
        configuration that is kept elsewhere stays kept there; owner and mode stay as they were. A
        file that has nothing left in it is deleted.

        Raises:
            ConfigFileError: it cannot be written. The old one is as it was.
        """
        real = self.path.resolve()
        try:
            kept = backup(real) if real.exists() else None
            if not self.text:
                real.unlink()
                return kept
            real.parent.mkdir(parents=True, exist_ok=True)
            replace_regular(real, self.text.encode("utf-8"))
        except NotRegularError as error:
            raise ConfigFileError("no file", path=self.path) from error
        except OSError as error:
            raise ConfigFileError("unwritable", path=self.path, why=error) from error
        return kept

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
        """Return it with a new text if that says exactly what it should.

        Raises:
            ConfigFileError: it does not (the file is laid out in a way that is not understood).
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
    with contextlib.suppress(ConfigFileError):  # said where the file is read
        found = parsed(_read(path), host.format, path)
        within = found.get("mcp")
        if "servers" not in found and isinstance(within, dict) and "servers" in within:
            kept_in = _MCP_IN_SETTINGS
    return dataclasses.replace(host, keys=kept_in)


def _read(path: Path) -> str:
    """Return the text of a configuration file, "" when there is none."""
    try:
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
    """Return what a configuration says; an empty file says nothing.

    Raises:
        ConfigFileError: it is not in its format. The sentence names line, column and cause.
    """
    text = text.removeprefix(_BOM)
    if not text.strip():
        return {}
    if form is Format.TOML:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigFileError("no toml", path=path, why=error) from error
    if form is Format.JSON:
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
        value = json.loads(jsonc.plain(text))
    except json.JSONDecodeError as error:
        wrong = blocking(reading.read(jsonc.plain(text)).diagnostics)
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
    """Return the newest backups of a file, the newest first."""
    real = path.resolve()
    return sorted(real.parent.glob(f"{real.name}.humanmcp-*.bak"), reverse=True)[:_BACKUPS_READ]

"""A host's configuration file: read it, change the one entry in it, write it back with a backup.

Nothing is written that was not read again and found to be the old content with that one change. A
file that is not understood is left alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import tomllib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from humanmcp.common import toml_edit
from humanmcp.common.regular_file import (
    PRIVATE,
    NotRegularError,
    keep_owner,
    read_regular,
    replace_regular,
)
from humanmcp.connecting.hosts import Format, Host
from humanmcp.locales.stop import StopError
from humanmcp.protocol.diagnostics.model import blocking
from humanmcp.protocol.repair import reading
from humanmcp.setup import jsonc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

_MCP_IN_SETTINGS: Final = ("mcp", "servers")
_BOM: Final = "\ufeff"

Keys = tuple[str, ...]
"""The members that lead to an entry in a configuration; the last is the server's name."""


class ConfigFileError(StopError):
    """A configuration file cannot be read, understood or changed."""

    room = "config"


def read(path: Path) -> str:
    """Return the text of a configuration file, "" when there is none.

    Raises:
        ConfigError: it cannot be read, is no UTF-8, or no file but a device or a pipe.
    """
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
        ConfigError: it is not in its format. The sentence names line, column and cause.
    """
    text = text.removeprefix(_BOM)
    if not text.strip():
        return {}
    if form is Format.TOML:
        return _parsed_toml(text, path)
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
        wrong = blocking(reading.read(jsonc.plain(text)).problems)
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


def as_laid_out(host: Host, path: Path) -> Host:
    """Return a host with the place that it reads in this very file, where it reads several kinds.

    VS Code reads `servers` in its mcp.json, and `mcp.servers` in the settings.json of its users.
    """
    if host.name != "vscode":
        return host
    kept_in = _MCP_IN_SETTINGS if path.name == "settings.json" else host.keys
    with contextlib.suppress(ConfigFileError):  # said where the file is read
        found = parsed(read(path), host.format, path)
        within = found.get("mcp")
        if "servers" not in found and isinstance(within, dict) and "servers" in within:
            kept_in = _MCP_IN_SETTINGS
    return dataclasses.replace(host, keys=kept_in)


def servers(value: Mapping[str, Any], host: Host, path: Path) -> dict[str, Any]:
    """Return the entries of all servers by name.

    Raises:
        ConfigError: something else stands in their place.
    """
    found: Any = value
    for key in host.keys:
        found = found.get(key, {})
        if not isinstance(found, dict):
            raise ConfigFileError("no place", path=path, key=key)
    return dict(found)


def all_servers(value: Mapping[str, Any], host: Host, path: Path) -> dict[Keys, Any]:
    """Return the entries of all servers, those of single projects too, by the keys that lead there.

    Raises:
        ConfigError: something else stands in their place.
    """
    found = {(*host.keys, name): one for name, one in servers(value, host, path).items()}
    for projects in host.project_keys[:1]:
        within = value.get(projects)
        for project in within if isinstance(within, dict) else ():
            place = dataclasses.replace(host, keys=(projects, project, *host.project_keys[1:]))
            with contextlib.suppress(ConfigFileError):  # a project of another shape has none
                own = servers(value, place, path)
                found |= {(*place.keys, name): one for name, one in own.items()}
    return found


def with_entry(text: str, host: Host, name: str, entry: Mapping[str, Any], path: Path) -> str:
    """Return the text with the entry set.

    Raises:
        ConfigError: the file is not understood.
    """
    before = parsed(text, host.format, path)
    wanted = _set(before, host, name, entry, path)
    if before == wanted:
        return text
    if host.format is Format.TOML:
        return _toml(path, lambda: toml_edit.put(text, (*host.keys, name), entry))
    mark, body = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    current = servers(before, host, path).get(name)
    if isinstance(current, dict) and set(current) <= set(entry):
        after = mark + _with_members(body, host, name, current, entry)
    elif body.strip():
        after = mark + jsonc.put(body, (*host.keys, name), dict(entry))
    else:
        after = jsonc.put("{}", (*host.keys, name), dict(entry)) + "\n"
    return _proven(after, wanted, host, path)


def _with_members(
    body: str, host: Host, name: str, current: Mapping[str, Any], entry: Mapping[str, Any]
) -> str:
    """Change only those members of an entry that differ: comments beside the others stay."""
    for key, value in entry.items():
        if key not in current or current[key] != value:
            body = jsonc.put(body, (*host.keys, name, key), value)
    return body


def without_entry(text: str, host: Host, name: str, path: Path) -> str:
    """Return the text without the entry; unchanged when it is not there.

    Raises:
        ConfigError: the file is not understood.
    """
    before = parsed(text, host.format, path)
    if name not in servers(before, host, path):
        return text
    if host.format is Format.TOML:
        return _toml(path, lambda: toml_edit.take(text, (*host.keys, name)))
    mark, body = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    after = jsonc.take(body, (*host.keys, name))
    return _proven(mark + after, _set(before, host, name, None, path), host, path)


def write(path: Path, after: str) -> Path | None:
    """Write a configuration, and return the backup of the old one; None when there was none.

    The new text is complete before it takes the old one's place. A link is followed, so that a
    configuration that is kept elsewhere stays kept there; owner and mode stay as they were.

    Raises:
        ConfigError: it cannot be written. The old one is as it was.
    """
    real = path.resolve()
    try:
        kept = backup(real) if real.exists() else None
        real.parent.mkdir(parents=True, exist_ok=True)
        replace_regular(real, after.encode("utf-8"))
    except NotRegularError as error:
        raise ConfigFileError("no file", path=path) from error
    except OSError as error:
        raise ConfigFileError("unwritable", path=path, why=error) from error
    return kept


def backup(path: Path) -> Path:
    """Copy a file beside itself under a name with the time in it, and return the copy's path."""
    content = read_regular(path)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    copy = path.with_name(f"{path.name}.humanmcp-{stamp}.bak")
    number = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    with os.fdopen(number, "wb") as stream:
        stream.write(content)
    keep_owner(copy, path.stat())
    return copy


def undone(text: str, host: Host, changed: Sequence[Keys], path: Path) -> str | None:
    """Return the text as it was before `with_entries` made it into this one; None when unknown.

    That is the newest backup, or no file at all, if setting the same entries there gives this text.
    So taking out what was put in leaves the file byte for byte as it was.
    """
    known = all_servers(parsed(text, host.format, path), host, path)
    entries = {keys: known.get(keys) for keys in changed}
    kept = newest_backup(path)
    if not all(isinstance(entry, dict) for entry in entries.values()):
        return None
    for before in ("" if kept is None else read(kept), ""):
        with contextlib.suppress(ConfigFileError):
            if with_entries(before, host, entries, path) == text:
                return before
    return None


def with_entries(text: str, host: Host, entries: Mapping[Keys, Any], path: Path) -> str:
    """Return the text with several entries set, in this order, each by the keys that lead there.

    Raises:
        ConfigError: the file is not understood.
    """
    for (*keys, name), entry in entries.items():
        place = dataclasses.replace(host, keys=tuple(keys))
        text = with_entry(text, place, name, entry, path)
    return text


def delete(path: Path) -> Path:
    """Delete a configuration file that has nothing left in it. Returns its backup.

    Raises:
        ConfigError: it cannot be deleted.
    """
    real = path.resolve()
    try:
        kept = backup(real)
        real.unlink()
    except OSError as error:
        raise ConfigFileError("unwritable", path=path, why=error) from error
    return kept


def newest_backup(path: Path) -> Path | None:
    """Return the newest backup of a file; None when there is none."""
    real = path.resolve()
    found = sorted(real.parent.glob(f"{real.name}.humanmcp-*.bak"))
    return found[-1] if found else None


def _toml(path: Path, edited: Callable[[], str]) -> str:
    try:
        return edited()
    except toml_edit.NotEditableError as error:
        raise ConfigFileError("not understood", path=path) from error


def _parsed_toml(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigFileError("no toml", path=path, why=error) from error


def _set(
    before: Mapping[str, Any], host: Host, name: str, entry: Mapping[str, Any] | None, path: Path
) -> dict[str, Any]:
    """Return the decoded configuration with the entry set (None: taken out)."""
    entries = servers(before, host, path)
    entries.pop(name, None) if entry is None else entries.update({name: dict(entry)})
    changed: Any = entries
    for depth in range(len(host.keys) - 1, -1, -1):
        around: Any = before
        for key in host.keys[:depth]:
            around = around.get(key, {})
        changed = {**around, host.keys[depth]: changed}
    return dict(changed)


def _proven(after: str, wanted: Mapping[str, Any], host: Host, path: Path) -> str:
    """Return the new text if it says exactly what it should.

    Raises:
        ConfigError: it does not (the file is laid out in a way that is not understood).
    """
    if parsed(after, host.format, path) != wanted:
        raise ConfigFileError("not understood", path=path)
    return after

"""A host's configuration: which servers there are, read from the file of any known host.

JSON with `mcpServers`, JSON with comments as VS Code and Zed write it, Codex's TOML and goose's
YAML. The
mistakes that people make are explained by place and name, and nothing is guessed. What is wrong
with one entry costs this entry alone.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final

from humanmcp.common import jsonc
from humanmcp.common.block_yaml import YamlError, read_yaml
from humanmcp.common.child import ChildCommand
from humanmcp.http.server_address import AddressError, ServerAddress, with_variables
from humanmcp.locales.stop import StopError
from humanmcp.protocol.repair.reading import read_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.host.client.client import ServerTarget
    from humanmcp.protocol.diagnostics.model import Diagnostic

DEFAULT_NAME: Final = ".mcp.json"
"""The file in the home directory that is read when none is named."""

TRAILING_COMMA: Final = "J02"
_CELLS: Final = ("mcpServers", "servers", "context_servers", "mcp_servers", "extensions")
"""Where hosts have their servers: most of them, VS Code, Zed, Codex, and goose."""
_COMMENTED: Final = re.compile(r'"(?:servers|context_servers)"\s*:')
"""In the files of VS Code and Zed, which have comments."""
_ENVIRONMENTS: Final = ("env", "envs", "environment")
"""What most hosts, goose and opencode call the environment of a server."""
_URLS: Final = ("url", "httpUrl", "serverUrl", "uri")
"""What hosts call the address of a remote server."""


_INPUT: Final = re.compile(r"\$\{input:[^}]*\}")
"""What VS Code asks its user for."""


class HostConfigError(StopError):
    """A configuration cannot be used."""

    section = "servers"


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """One server of a configuration: how to start it, or where it is.

    `url` and `headers` are those of a remote one as they are written, `address` as they are used.
    `trouble` is what is wrong with this entry, and with no other.
    """

    name: str
    command: ChildCommand | None = None
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    address: ServerAddress | None = None
    disabled: bool = False
    trouble: StopError | None = None

    @property
    def target(self) -> ServerTarget | None:
        """What a client connects to; None where something is wrong with it."""
        return self.command or self.address

    @property
    def can_start(self) -> bool:
        """Return True if a client can connect to it."""
        return self.target is not None and not self.disabled and self.trouble is None

    @property
    def is_person(self) -> bool:
        """Return True if a person surely answers there: humanmcp's own server, by hand."""
        words = self.command.words if self.command is not None else ()
        names = {PurePath(word).stem for word in words[:-1]}
        return "humanmcp" in names and "serve" in words and not {"--auto", "--replay"} & set(words)


def read_config(path: Path) -> tuple[ServerEntry, ...]:
    """Read a configuration.

    Raises:
        HostConfigError: there is no such file, or something in it has no meaning.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise HostConfigError("no file", path=path) from error
    except (OSError, UnicodeDecodeError) as error:
        raise HostConfigError("unreadable", path=path, why=error) from error
    return parse(text, str(path))


def parse(
    text: str, path: str, environment: Mapping[str, str] = os.environ
) -> tuple[ServerEntry, ...]:
    """Read the text of a configuration; `path` is only for the messages.

    Variables are filled in from the environment.

    Raises:
        HostConfigError: as `read_config`.
    """
    servers = _servers(_value(text, path), path)
    if not servers:
        raise HostConfigError("empty", path=path)
    entries = (_read_entry(name, written, path) for name, written in servers.items())
    return tuple(entry if entry.trouble else _filled(entry, environment) for entry in entries)


def _value(text: str, path: str) -> Any:  # noqa: ANN401 - any JSON value
    """Decode a configuration, by the ending of its name.

    Raises:
        HostConfigError: it cannot be read.
    """
    ending = PurePath(path).suffix
    if ending in (".yaml", ".yml"):
        try:
            return read_yaml(text)
        except YamlError as error:
            raise HostConfigError("no yaml", path=path, line=error.line) from error
    if ending == ".toml":
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise HostConfigError("no toml", path=path, why=error) from error
    is_commented = ending == ".jsonc" or _COMMENTED.search(text) is not None
    reading = read_json(jsonc.plain(text) if is_commented else text)
    errors = [one for one in reading.diagnostics if one.blocks]
    if errors or not reading.readable:
        raise _explained((errors or list(reading.diagnostics))[0], text, path)
    return reading.value


def _read_entry(name: str, written: Any, path: str) -> ServerEntry:  # noqa: ANN401 - any JSON value
    """Read an entry. A mistake in it is its trouble."""
    try:
        return _entry(name, written, path)
    except HostConfigError as trouble:
        return ServerEntry(name, trouble=trouble)


def find(entries: tuple[ServerEntry, ...], name: str, path: str) -> ServerEntry:
    """Return the entry of one name that can be started.

    Raises:
        StopError: there is none, or something is wrong with it.
    """
    for entry in entries:
        if entry.name == name:
            if entry.trouble is not None:
                raise entry.trouble
            return entry
    names = ", ".join(entry.name for entry in entries)
    raise HostConfigError("no such server", name=name, path=path, names=names)


def _servers(value: Any, path: str) -> Mapping[str, Any]:  # noqa: ANN401 - any JSON value
    if not isinstance(value, dict):
        raise HostConfigError("no object", path=path)
    inner = value.get("mcp")
    for name in _CELLS:
        servers = (inner if isinstance(inner, dict) else value).get(name)
        if isinstance(servers, dict):
            return servers
        if servers is not None:
            raise HostConfigError("not an object", path=path, name=name)
    if isinstance(inner, dict) and inner and all(isinstance(one, dict) for one in inner.values()):
        return inner  # opencode
    raise HostConfigError("no servers", path=path)


def _filled(entry: ServerEntry, environment: Mapping[str, str]) -> ServerEntry:
    """Fill the variables of an entry in. One that is not set costs this entry and no other."""
    texts = (entry.url, *(text for _, text in entry.headers))
    if entry.command is not None:
        texts = (*entry.command.words, *entry.command.env.values())
    asked = next((found[0] for found in map(_INPUT.search, texts) if found), "")
    if asked:
        trouble = HostConfigError("input", server=entry.name, name=asked)
        return replace(entry, trouble=trouble)
    try:
        if entry.command is None:
            address = ServerAddress.of(entry.url, entry.headers, environment)
            return replace(entry, address=address)
        words = tuple(with_variables(word, environment) for word in entry.command.words)
        env = {key: with_variables(text, environment) for key, text in entry.command.env.items()}
        folder = with_variables(entry.command.folder, environment)
    except KeyError as error:
        trouble = HostConfigError("not set", server=entry.name, name=error.args[0])
        return replace(entry, trouble=trouble)
    except AddressError as error:
        return replace(entry, trouble=error)
    return replace(entry, command=ChildCommand(words, env, folder))


def _entry(name: str, written: Any, path: str) -> ServerEntry:  # noqa: ANN401 - any JSON value
    if not isinstance(written, dict):
        raise HostConfigError("not an object", path=path, name=name)
    disabled = written.get("disabled") is True or written.get("enabled") is False
    if "command" not in written and "cmd" in written:  # goose
        written = {**written, "command": written["cmd"]}
    if "command" not in written:
        url = next((written[key] for key in _URLS if isinstance(written.get(key), str)), None)
        if url is None:
            raise HostConfigError("no command", path=path, name=name)
        headers = tuple(_named_texts(written, "headers", name, path).items())
        return ServerEntry(name, url=url, headers=headers, disabled=disabled)
    if isinstance(written["command"], dict):  # as Zed wrote it
        written = {**written, "command": "", **written["command"]}
        written["command"] = written.get("path", "")
    if isinstance(written["command"], list):  # opencode
        first, *more = written["command"] or [""]
        written = {**written, "command": first, "args": more}
    command = _text(written["command"], f"{name}.command", path)
    if command.startswith("~"):
        raise HostConfigError("home", path=path, name=f"{name}.command", command=command)
    args = [
        _text(word, f"{name}.args[{index}]", path)
        for index, word in enumerate(_list(written, "args", name, path))
    ]
    if " " in command and not args and not Path(command).exists():
        first, rest = command.split(" ", 1)
        code = {"command": first, "args": json.dumps(rest.split())}
        raise HostConfigError("one string", path=path, name=name, **code)
    env = _named_texts(written, next(filter(written.get, _ENVIRONMENTS), "env"), name, path)
    folder = _text(written.get("cwd", ""), f"{name}.cwd", path)
    return ServerEntry(name, ChildCommand((command, *args), env, folder), disabled=disabled)


def _list(written: Mapping[str, Any], key: str, name: str, path: str) -> list[Any]:
    found = [] if written.get(key) is None else written[key]
    if not isinstance(found, list):
        raise HostConfigError("not a list", path=path, name=f"{name}.{key}")
    return found


def _named_texts(written: Mapping[str, Any], key: str, name: str, path: str) -> dict[str, str]:
    found = {} if written.get(key) is None else written[key]
    if not isinstance(found, dict):
        raise HostConfigError("not an object", path=path, name=f"{name}.{key}")
    return {inner: _text(value, f"{name}.{key}.{inner}", path) for inner, value in found.items()}


def _text(value: Any, name: str, path: str) -> str:  # noqa: ANN401 - any JSON value
    if not isinstance(value, str):
        raise HostConfigError("not text", path=path, name=name)
    return value


# -- what is wrong with the JSON -----------------------------------------------------------------


def _explained(diagnostic: Diagnostic, text: str, path: str) -> HostConfigError:
    place = {"path": path, "line": diagnostic.line, "column": diagnostic.column}
    if diagnostic.code == TRAILING_COMMA:
        comma = next(one for one in jsonc.oddities(text) if one.kind == "comma")
        code = "trailing comma after" if comma.after else "trailing comma"
        return HostConfigError(code, closing=comma.closing, after=comma.after, **place)
    return HostConfigError("no json", why=diagnostic, **place)

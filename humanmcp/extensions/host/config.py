"""The servers in a host's configuration, and what a client connects to for each.

Nothing is guessed. What is wrong with one entry costs this entry alone.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, TypeVar

from humanmcp.common.child import ChildCommand
from humanmcp.http.server_address import AddressError, ServerAddress, with_variables
from humanmcp.locales.stop import StopError
from humanmcp.setup.config_file import ConfigFile, config_text
from humanmcp.setup.hosts import as_plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.extensions.host.client.client import ServerTarget

DEFAULT_NAME: Final = ".mcp.json"
"""The file in the home directory that is read when none is named."""
_INPUT: Final = re.compile(r"\$\{input:[^}]*\}")
"""What VS Code asks its user for."""
_T = TypeVar("_T", dict[str, Any], list[Any], str)


class HostConfigError(StopError):
    """A configuration cannot be used."""

    section = "servers"


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """One server of a configuration: what a client connects to, or the problem of this entry."""

    name: str
    target: ServerTarget | None = None
    disabled: bool = False
    trouble: StopError | None = None

    @property
    def can_start(self) -> bool:
        """Return True if a client can connect to it."""
        return self.target is not None and not self.disabled

    @property
    def is_person(self) -> bool:
        """Return True if a person surely answers there: humanmcp's own server, by hand."""
        words = self.target.words if isinstance(self.target, ChildCommand) else ()
        names = {PurePath(word).stem for word in words[:-1]}
        return "humanmcp" in names and "serve" in words and not {"--auto", "--replay"} & set(words)


def read_config(path: Path) -> tuple[ServerEntry, ...]:
    """Read a configuration.

    Raises:
        StopError: there is no such file, or something in it has no meaning.
    """
    if not path.exists():
        raise HostConfigError("no file", path=path)
    return parse(config_text(path), path)


def parse(
    text: str, path: Path, environment: Mapping[str, str] = os.environ
) -> tuple[ServerEntry, ...]:
    """Read the text of the configuration at `path`, and fill its variables in.

    Raises:
        StopError: as `read_config`.
    """
    servers = ConfigFile.of_any_host(path, text).entries()
    if not servers:
        raise HostConfigError("empty", path=path)
    return tuple(_entry(name, one, str(path), environment) for name, one in servers.items())


def find(entries: tuple[ServerEntry, ...], name: str, path: Path) -> ServerTarget:
    """Return what the entry of one name connects to.

    Raises:
        StopError: there is none, or something is wrong with it.
    """
    for entry in entries:
        if entry.name == name:
            if entry.target is None:
                raise entry.trouble or HostConfigError("empty", path=path)
            return entry.target
    names = ", ".join(entry.name for entry in entries)
    raise HostConfigError("no such server", name=name, path=path, names=names)


def _entry(name: str, written: Any, path: str, environment: Mapping[str, str]) -> ServerEntry:  # noqa: ANN401 - any JSON value
    """Read an entry. A mistake in it is its trouble."""
    try:
        plain = as_plain(_typed({}, written, path, name))
        target = _target(name, plain, path, environment)
    except (HostConfigError, AddressError) as trouble:
        return ServerEntry(name, trouble=trouble)
    return ServerEntry(name, target, plain.get("disabled") is True or plain.get("enabled") is False)


def _target(
    name: str, entry: Mapping[str, Any], path: str, environment: Mapping[str, str]
) -> ServerTarget:
    """Return what an entry connects to, with its variables filled in."""

    def typed(empty: _T, key: str) -> _T:
        return _typed(empty, entry.get(key), path, f"{name}.{key}")

    def texts(key: str) -> dict[str, str]:
        found = typed({}, key).items()
        return {inner: _typed("", one, path, f"{name}.{key}.{inner}") for inner, one in found}

    filled = partial(_filled, server=name, environment=environment)
    command = typed("", "command")
    if not command:
        url, headers = typed("", "url"), texts("headers")
        if not url:
            raise HostConfigError("no command", path=path, name=name)
        for text in (url, *headers.values()):
            filled(text)
        return replace(ServerAddress.of(url, headers.items(), environment), is_entry=True)
    if command.startswith("~"):
        raise HostConfigError("home", path=path, name=f"{name}.command", command=command)
    args = [
        _typed("", word, path, f"{name}.args[{at}]") for at, word in enumerate(typed([], "args"))
    ]
    if " " in command and not args and not Path(command).exists():
        first, rest = command.split(" ", 1)
        code = {"command": first, "args": json.dumps(rest.split())}
        raise HostConfigError("one string", path=path, name=name, **code)
    env = {key: filled(text) for key, text in texts("env").items()}
    return ChildCommand(tuple(map(filled, (command, *args))), env, filled(typed("", "cwd")))


def _filled(text: str, server: str, environment: Mapping[str, str]) -> str:
    """Fill the variables of a text in; the person is asked for none."""
    if asked := _INPUT.search(text):
        raise HostConfigError("input", server=server, name=asked[0])
    try:
        return with_variables(text, environment)
    except KeyError as error:
        raise HostConfigError("not set", server=server, name=error.args[0]) from error


def _typed(empty: _T, value: object, path: str, name: str) -> _T:
    """Return a value of the kind that `empty` is; `empty` itself for none."""
    if value is None:
        return empty
    if not isinstance(value, type(empty)):
        code = {dict: "not an object", list: "not a list", str: "not text"}[type(empty)]
        raise HostConfigError(code, path=path, name=name)
    return value

"""The hosts: where each keeps its servers, how an entry looks there, and what to paste for it.

One table, `hosts.toml`. Its places are those of the hosts' own manuals; variables of the host, `~`
and `.` (the folder of the project) are filled in by `place`. The command of an entry is absolute,
with its settings as arguments: hosts start servers in any folder, without the shell's PATH and with
an environment of six variables. `humanmcp config` prints the entry and the page shows it: one text,
made here. Knows no file of a host.
"""

from __future__ import annotations

import base64
import enum
import json
import os
import re
import shlex
import shutil
import sys
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import quote, quote_plus, urlencode

from humanmcp import extensions
from humanmcp.common.settings import PREFIX, Settings, by_hand
from humanmcp.common.toml_edit import table_text
from humanmcp.protocol.conversation import timeouts
from humanmcp.protocol.json.tree import mapped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence


DEFAULT_NAME: Final = "humanmcp"
APPROVAL_WAIT: Final = 86_400
"""Seconds that a permission prompt may wait, where an entry can say so."""
DEFAULT_WAIT: Final = 600
"""Seconds that a call may take, where an entry can say so."""
_SERVED: Final = re.compile(r"http://(127\.0\.0\.1|localhost|\[::1\])(:[0-9]+)?/mcp")
_HUMANMCP: Final = re.compile(
    r"(?:[^\0]*[/\\])?(?:humanmcp|python[0-9.]*(?:\.exe)?\0(?:-P\0)?-m\0humanmcp"
    r"|uvx(?:\.exe)?\0humanmcp(?:@[^\0]*)?)(?:\.exe)?(?=\0|$)"
)
"""A command that starts humanmcp, and not something else with its name."""
LONGEST_START: Final = 120
"""Seconds that a host should wait at most for the start: a broken server holds it up that long."""


class Format(enum.Enum):
    """The format of a host's configuration."""

    JSON = "json"
    JSONC = "jsonc"
    """JSON with comments and trailing commas."""
    TOML = "toml"
    YAML = "yaml"


@dataclass(frozen=True, slots=True)
class HostCommand:
    """The command that a host starts, as an absolute path, and its arguments."""

    command: str
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Host:
    """One host. `keys` lead to the object (or table) that holds its servers.

    `places` are the paths of its configuration, by `sys.platform`; "" means any other. See
    `filled_in`.
    `wait_keys` are the members of an entry that make it wait longer, with what a second counts
    there. `client` is how it names itself to a server: by that
    `protocol/conversation/timeouts.py` knows how long it waits. `members` are further members that
    an entry needs, `approval` the code of the sentence about what the host asks before our tools
    can be used. `user_places` are the paths for servers of all projects, if the host's `places`
    lie in one project. `project_keys` lead, in that file, to an object with a member for each
    project, and within each of these to its servers.
    """

    name: str
    label: str
    keys: tuple[str, ...]
    places: Mapping[str, Sequence[str]]
    format: Format = Format.JSON
    local: Mapping[str, Any] = field(
        default_factory=lambda: {"command": "{command}", "args": "{args}"}
    )
    """An entry for a server that it starts. `{words}` are command and arguments as one list."""
    wait_keys: Mapping[str, int] = field(default_factory=dict)
    client: str = ""
    members: Mapping[str, Any] = field(default_factory=dict)
    approval: str = ""
    user_places: Mapping[str, Sequence[str]] = field(default_factory=dict)
    project_keys: tuple[str, ...] = ()
    remote: Mapping[str, Any] = field(default_factory=dict)
    """An entry for a server at an address, which replaces `{url}`; {} for none."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """The hook that hands its permission prompts to a command: `how` it is called, `since` which
    version, and how that is `known`: "measured" or "documented"."""
    prompts_to: str = ""
    """The command that sends its permission prompts to the tool `approve` of the entry `{name}`."""
    asks_with: str = ""
    """What it calls the tool `ask_human`, if it asks for a permission before each call."""
    link: str = ""
    """The link that installs an entry: its `{name}`, and `{entry}`, `{named}` or `{words}`."""
    program: str = ""
    """The command that its installation brings, "" for none."""
    plugin: Sequence[str] = ()
    """The places of the file that is there, or names our plugin, once the host has it."""
    plugin_name: str = ""
    waiting: str = "wait other"
    """The code of the sentence on what its user can set to wait longer."""


def _read() -> Iterator[Host]:
    table = resources.files("humanmcp.setup").joinpath("hosts.toml")
    for name, facts in tomllib.loads(table.read_text("utf-8")).items():
        keys = {key: tuple(facts[key]) for key in ("keys", "project_keys") if key in facts}
        yield Host(name, **{**facts, **keys, "format": Format(facts.get("format", "json"))})


HOSTS: Final = tuple(_read())
"""Every host that `humanmcp config` knows."""

BY_NAME: Final[Mapping[str, Host]] = {host.name: host for host in HOSTS}


def place(
    host: Host, platform: str, home: Path, environment: Mapping[str, str], project: Path | None
) -> Path:
    """Return where a host keeps its servers; without a project, those for all of a user's."""
    places = host.places if project else host.user_places or host.places
    written = places.get(platform, places[""])
    return filled_in(written, home, environment, project or Path())


def filled_in(
    places: Sequence[str], home: Path, environment: Mapping[str, str], project: Path
) -> Path:
    """Return the first of `$NAME/…` whose variable is set, or the last place.

    That begins with `~`, with `.` (the project), or is absolute. Hosts take a relative value as
    relative to the folder that they are started in; the XDG Base Directory Specification says to
    ignore it.
    """
    *variable, usual = places
    for written in variable:
        name, _, rest = written.removeprefix("$").partition("/")
        value = environment.get(name, "")
        if value and ("XDG" not in name or Path(value).is_absolute()):
            return Path(value).absolute() / rest
    first, _, rest = usual.partition("/")
    return {"~": home, ".": project}.get(first, Path(first, "/")) / rest


def wait_to_write(host: Host, asked: int | None) -> int:
    """Return the timeout of calls for an entry, in seconds; 0 to write none.

    `asked` is the person's choice. Otherwise ten minutes are written if the host itself would
    give up sooner, or its limit is unknown: a limit in the entry may be shorter than none.
    """
    if not host.wait_keys:
        return 0
    if asked is not None:
        return max(0, asked)
    known = timeouts.find_client(host.client)
    is_long = known is not None and (known.call is None or known.call >= DEFAULT_WAIT)
    return 0 if is_long else DEFAULT_WAIT


def local_entry(host: Host, command: HostCommand, wait: int) -> dict[str, Any]:
    """Return the entry for a command. `wait` are the seconds that a call may take, 0 for unset."""
    words = [command.command, *command.args]
    fillings = {"{command}": words[0], "{args}": words[1:], "{words}": words}
    return _waiting(host, from_template(host.local, fillings), wait)


def remote_entry(host: Host, url: str, wait: int) -> dict[str, Any]:
    """Return the entry for a server at an address, of a host that takes one."""
    return _waiting(host, from_template(host.remote, {"{url}": url}), wait)


def from_template(template: Mapping[str, Any], fillings: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of one of our tables with its `{…}` replaced."""

    def fill(value: object) -> object:
        return fillings.get(value, value) if isinstance(value, str) else value

    filled: dict[str, Any] = mapped(template, fill)
    return filled


def _waiting(host: Host, made: Mapping[str, Any], wait: int) -> dict[str, Any]:
    """Add an entry's other members and timeouts."""
    return {**made, **host.members} | {
        key: (min(wait, LONGEST_START) if key.startswith("startup") else wait) * second
        for key, second in host.wait_keys.items()
        if wait
    }


_SAME: Final = {
    "command": ("cmd",),
    "env": ("envs", "environment"),
    "url": ("httpUrl", "serverUrl", "uri"),
}
"""What some hosts call a member of an entry that most call otherwise."""


def as_plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of any host with the names and the shape that most hosts have."""
    same = {name: entry[key] for name, keys in _SAME.items() for key in keys if entry.get(key)}
    plain = {**same, **entry}
    command = plain.get("command")
    if isinstance(command, dict):  # as older versions of Zed wrote it
        plain |= {**command, "command": command.get("path", "")}
    elif isinstance(command, list):  # opencode
        plain["command"], *plain["args"] = command or [""]
    return plain


def command_in(entry: object) -> tuple[str, ...]:
    """Return the command and arguments of an entry in any host's shape; () when it has none."""
    plain = as_plain(entry) if isinstance(entry, dict) else {}
    command, args = plain.get("command"), plain.get("args") or []
    if not command or not isinstance(args, list):
        return ()
    words = (command, *args)
    return words if all(isinstance(word, str) for word in words) else ()


def url_in(entry: object) -> str:
    """Return the address of an entry that is not started; "" when it has none."""
    plain = as_plain(entry) if isinstance(entry, dict) else {}
    url = plain.get("url")
    return url if isinstance(url, str) and not plain.get("command") else ""


def starts_humanmcp(one: object) -> bool:
    """Return True if an entry names humanmcp, or leads to where it is served on this computer.

    What it starts may be another program all the same, such as a shell: see `as_ours`.
    """
    words = command_in(one)
    is_named = bool(given_to_humanmcp(words)) or "humanmcp" in words[1:]
    return is_named or bool(_SERVED.fullmatch(url_in(one)))


def given_to_humanmcp(words: Sequence[str]) -> tuple[str, ...]:
    """Return a command from humanmcp's own name on, with what is given to it; () for another one.

    That is `humanmcp`, `python -m humanmcp` and `uvx humanmcp`, each with any path.
    """
    found = _HUMANMCP.match("\0".join(words))
    return ("humanmcp", *words[found[0].count("\0") + 1 :]) if found else ()


def as_ours(words: Sequence[str]) -> tuple[str, ...]:
    """Return a command of this installation, by the path that it has itself; () for any other.

    A file or a package of that name may be anybody's: in a project, or on a PATH that leads there.
    """
    called = given_to_humanmcp(words)
    script = _script()
    if called and "-m" in words[1:3]:
        return (sys.executable, *_AS_MODULE, *called[1:]) if words[0] == sys.executable else ()
    if not called or not Path(words[0]).is_absolute():
        return ()
    is_own = script.is_file() and Path(words[0]).is_file() and script.samefile(words[0])
    return (str(script), *called[1:]) if is_own else ()


def install_link(host: Host, name: str, command: HostCommand) -> str:
    """Return a link that installs the entry with one click; "" where a host has none."""
    plain: dict[str, Any] = {"command": command.command, "args": list(command.args)}
    entry, named = (
        json.dumps(one, separators=(",", ":")) for one in (plain, {"name": name, **plain})
    )
    return host.link.format(
        name=quote_plus(name),
        entry=quote_plus(base64.b64encode(entry.encode())),
        named=quote(named, safe=""),
        words=urlencode([("cmd", command.command), *(("arg", word) for word in command.args)]),
    )


# -- the command that a host is to start, and what to paste for it -------------------------------


PASSED_ON: Final = (
    *("home", "inbox", "book", "title", "versions", "client_limit", "notify", "lang"),
)
"""The settings that a server understands."""

_PATHS: Final = ("home", "book")


def passed_on(
    settings: Settings, flags: Mapping[str, Any], environment: Mapping[str, str], language: str
) -> dict[str, Any]:
    """Return the settings that an entry must contain: those of flags and environment.

    Settings of the settings file are not among them: the server reads that file.
    """
    values = {**{name: getattr(settings, name) for name in PASSED_ON}, **settings.added}
    given = {
        name: value
        for name, value in values.items()
        if flags.get(name) is not None or environment.get(PREFIX + name.upper())
    }
    if language != "en":
        given["lang"] = language  # hosts strip LANG
    return given


def command_for(given: Mapping[str, Any], manner: Sequence[str] = ()) -> HostCommand:
    """Return the absolute command that starts `serve` with these settings as arguments."""
    words = ["serve"]
    for name, value in given.items():
        path = Path(str(value)).expanduser()
        is_named = name == "book" and not path.exists() and extensions.book(str(value))
        written = str(path.absolute()) if name in _PATHS and not is_named else str(value)
        words += ["--" + name.replace("_", "-"), *([] if value is True else [written])]
    first, *rest = starter()
    return HostCommand(first, (*rest, *words, *manner))


def manner_for(chosen: str | None, given: Collection[str]) -> tuple[str, ...]:
    """Return the flags of an entry that choose who answers the handshake.

    `chosen` is "by-hand", "auto", "book", "hand" or None. A real host's model wants its tools in
    its first turn, and most hosts do not wait for a person. So the book answers the handshake,
    unless one of the `given` settings says that a person does.
    """
    if chosen in ("by-hand", "auto"):
        return (f"--{chosen}",)
    if chosen is None and by_hand(given):
        return ()
    return ("--handshake", chosen or "book")


def starter() -> list[str]:
    """Return the words that start humanmcp from anywhere, without a PATH."""
    python = Path(sys.executable)
    uvx = shutil.which("uvx")
    if uvx and "uv" in python.parts and any(part.startswith("archive-") for part in python.parts):
        return [str(Path(uvx).absolute()), "humanmcp"]  # uv's cache: gone when it is cleaned
    script = _script()
    if script.is_file() and os.access(script, os.X_OK):
        return [str(script)]
    return [str(python), *_AS_MODULE]


_AS_MODULE: Final = ("-P", "-m", "humanmcp")
"""Without -P, a package of that name in the folder of a project would be started instead."""


def _script() -> Path:
    """Return the command of this installation."""
    return Path(sys.executable).parent / ("humanmcp.exe" if os.name == "nt" else "humanmcp")


@dataclass(frozen=True, slots=True)
class HostEntry:
    """An entry for one host, and other ways to add it.

    `path` is relative if the file is in a project. `command` is for the host's own command and
    for links, which cannot say how long a call may take.
    """

    host: Host
    name: str
    path: Path
    command: HostCommand
    entry: dict[str, Any]
    url: str = ""
    """The address of the server; "" if the host starts it."""

    @classmethod
    def of(  # noqa: PLR0913 - the last three have defaults
        cls,
        host: Host,
        path: Path,
        given: Mapping[str, Any],
        words: Sequence[str],
        *,
        name: str = DEFAULT_NAME,
        wait: int | None = None,
        url: str = "",
        **more: Any,  # noqa: ANN401 - what a subclass holds besides
    ) -> Self:
        """Make an entry from a server's settings and flags, or from its URL.

        `wait` is the timeout of calls that the person chose.
        """
        seconds = wait_to_write(host, wait)
        if url:
            entry = remote_entry(host, url, seconds)
            return cls(host, name, path, command_for(given, words), entry, url, **more)
        # The server knows the timeout that the entry sets; the person's own `client_limit` wins.
        limit = {"client_limit": seconds} if seconds else {}
        waiting = command_for({**limit, **given}, words)
        entry = local_entry(host, waiting, seconds)
        return cls(host, name, path, command_for(given, words), entry, **more)

    @property
    def snippet(self) -> str:
        """What to paste."""
        return snippet(self.host, self.name, self.entry)

    @property
    def shell(self) -> str:
        """The host's own command that adds the entry; "" when it has none."""
        return "" if self.url else shell_command(self.host, self.name, self.command)

    @property
    def link(self) -> str:
        """A link that adds the entry with one click, or ""."""
        return "" if self.url else install_link(self.host, self.name, self.command)


def snippet(host: Host, name: str, entry: Mapping[str, Any]) -> str:
    """Return what to paste into the host's file, with a line feed at the end."""
    if host.format is Format.TOML:
        return table_text((*host.keys, name), entry)
    if host.format is Format.YAML:
        return yaml_entry(".".join(host.keys), name, entry)
    value: dict[str, Any] = {name: entry}
    for key in reversed(host.keys):
        value = {key: value}
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def shell_command(host: Host, name: str, command: HostCommand) -> str:
    """Return the host's own command that adds the entry; "" when it has none."""
    words = [command.command, *command.args]
    match host.name:
        case "claude-code":
            return shlex.join(["claude", "mcp", "add", "--scope", "user", name, "--", *words])
        case "codex":
            return shlex.join(["codex", "mcp", "add", name, "--", *words])
        case "vscode":
            plain = {"name": name, "command": words[0], "args": words[1:]}
            return shlex.join(["code", "--add-mcp", json.dumps(plain, ensure_ascii=False)])
        case _:
            return ""


def yaml_entry(parent: str, name: str, entry: Mapping[str, Any]) -> str:
    """Write an entry as YAML: JSON values, which YAML 1.2 reads as they are."""
    lines = [f"    {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    return "\n".join((f"{parent}:", f"  {json.dumps(name)}:", *lines)) + "\n"

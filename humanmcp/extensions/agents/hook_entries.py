"""The hooks that bring a host's permission prompts here: what `config --approvals` writes.

The entries are data (`hooks.toml`). Each is one item in the list of its event, in a file that has
other hooks of the person: these, and comments, stay, also where one of them is in a group with
ours. Writing twice is writing once.
"""

from __future__ import annotations

import functools
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tomllib
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.common import jsonc
from humanmcp.protocol.diagnostics.model import line_and_column
from humanmcp.protocol.json.tree import array_at, follow, leaves, object_at
from humanmcp.setup.config_file import ConfigFile, ConfigFileError, config_text, parsed
from humanmcp.setup.hosts import Format, filled_in, from_template, given_to_humanmcp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from humanmcp.setup.hosts import HostCommand

SECTION: Final = "agents"
KEY: Final = "hooks"
"""The member of every host's file with a list for each event."""
BEFORE_THE_END: Final = 5
"""Seconds by which `humanmcp hook` gives up before its host does, so that it says what is safe."""
PLUGIN: Final = "// humanmcp: "
NO_WORDS: Final = "const COMMAND = []"
"""What our plugin begins with, and where it gets the words of its hook."""
DEFAULT_LIMIT: Final = "590"
"""Seconds until `humanmcp hook` gives up without --limit."""
_WINDOWS_PATH: Final = re.compile(r"""[&\s"']*[A-Za-z]:\\""")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]*=")
_CONTROL: Final = frozenset(";|&()")
"""With these a shell starts another command, too."""


class HooksError(ConfigFileError):
    """The hooks of a file are not what its host reads."""

    section = SECTION


class Off(NamedTuple):
    """A member of a file, and its value as JSON."""

    path: Path
    member: str
    value: str


def _file(places: Sequence[str]) -> Path:
    """Return the file of a host that counts here."""
    return filled_in(places, Path.home(), os.environ, Path.cwd())


def _value_of(path: Path) -> Any:  # noqa: ANN401 - any value of JSON or TOML
    """Return what a file has; None if it cannot be read, which is said where it is looked at."""
    with suppress(ConfigFileError):
        form = Format.TOML if path.suffix == ".toml" else Format.JSONC
        return parsed(config_text(path), form, path)
    return None


@dataclass(frozen=True, slots=True)
class HostHooks:
    """The hooks of one host. `wait` are the seconds that the host waits for one.

    `second` is what a second counts there; `new` is what a new file starts with.
    """

    places: Sequence[str]
    wait: int
    events: Mapping[str, Any] = field(default_factory=dict)
    second: int = 1
    new: str = "{}"
    plugin: str = ""
    """The file of a host without hooks: a plugin of its own, of which nothing else is a part."""
    trusted_in: Sequence[str] = ()
    """The file with the hooks that its user trusts, of a host that runs no others."""
    off: Sequence[Mapping[str, Any]] = ()
    """What switches its hooks off: the `value` of a member, or an item of its list; the `path` that
    leads there, the `places` of its file, and the `system` that has it."""

    @property
    def path(self) -> Path:
        """The file of the hooks."""
        return _file(self.places)

    def is_trusted(self, content: Mapping[str, Any]) -> bool:
        """Return True if the user trusted our hook, or one that was at its place before."""
        if not self.trusted_in:
            return True
        trusted = object_at(_value_of(_file(self.trusted_in)), KEY, "state")
        event, *at = next(_places(content))[1:]
        label = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
        named = (f"{one}:{label}:{at[0]}:{at[-1]}" for one in (self.path, self.path.resolve()))
        states = (object_at(trusted, one) for one in named)
        return any("trusted_hash" in one and one.get("enabled") is not False for one in states)

    def switched_off(self) -> Off | None:
        """Return what switches the hooks off, if anything does that can be seen."""
        for row in self.off:
            path = _file(row["places"])
            is_here = row.get("system", sys.platform) == sys.platform
            value = follow(_value_of(path), *row["path"]) if is_here else None
            if row["value"] in (value if isinstance(value, list) else [value]):
                return Off(path, ".".join(row["path"]), json.dumps(value))
        return None

    def items(self, command: str, wait: int) -> dict[str, Any]:
        """Return the item of each event."""
        fillings = {
            "{command}": command,
            "{powershell}": f"& {command}",
            "{wait}": wait * self.second,
        }
        return from_template(self.events, fillings)


def _read() -> Iterator[tuple[str, HostHooks]]:
    table = resources.files(__package__).joinpath("hooks.toml")
    for name, facts in tomllib.loads(table.read_text("utf-8")).items():
        yield name, HostHooks(**facts)


HOOKS: Final[Mapping[str, HostHooks]] = dict(_read())
"""By the name of the host."""

_COMMANDS: Final = frozenset(
    path[-1]
    for hooks in HOOKS.values()
    for path, leaf in leaves(hooks.events)
    if leaf in ("{command}", "{powershell}")
)
"""The members of a hook that hold a command line."""


def hook_limit(wait: int) -> int:
    """Return after how many seconds a hook gives up, for which its host waits so many."""
    return max(1, wait - BEFORE_THE_END)


def hook_words(host: str, command: HostCommand, wait: int) -> list[str]:
    """Return the words of a hook. `command` is that of the server, with its settings."""
    args = ["hook" if word == "serve" else word for word in command.args]
    return [command.command, *args, "--host", host, "--limit", str(hook_limit(wait))]


def hook_command(host: str, command: HostCommand, wait: int) -> str:
    """Return the command line of a hook.

    On Windows hosts start it in Git Bash, PowerShell or cmd: all of them take slashes in a path.
    """
    words = hook_words(host, command, wait)
    if sys.platform == "win32":
        return subprocess.list2cmdline(word.replace("\\", "/") for word in words)
    return shlex.join(words)


def plugin_text(hooks: HostHooks, words: Sequence[str]) -> str:
    """Return the plugin of a host, which starts the hook with these words."""
    text = resources.files(__package__).joinpath(hooks.plugin).read_text("utf-8")
    return text.replace(NO_WORDS, f"{NO_WORDS[:-2]}{json.dumps(words)}", 1)


def is_our_plugin(text: str) -> bool:
    """Return True if a file is the plugin that humanmcp writes."""
    return text.startswith(PLUGIN)


def plugin_facts(text: str) -> HookFacts | None:
    """Return the hook that our plugin starts; it gives up before nobody."""
    words = re.search(rf"^{re.escape(NO_WORDS[:-2])}(\[.*\])$", text, re.MULTILINE)
    command = shlex.join(json.loads(words[1])) if words else ""
    return HookFacts(command, _limit_of(command), math.inf) if command else None


def words_of(line: str) -> tuple[str, ...]:
    """Return the words of a command line; () if a shell would start more than one program."""
    if _WINDOWS_PATH.match(line):
        line = line.replace("\\", "/")
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:  # a quote that is not closed
        return ()
    words = words[1:] if words[:1] == ["&"] else words  # how PowerShell calls
    while words and _ASSIGNMENT.match(words[0]):
        words = words[1:]
    starts_more = any(_CONTROL.issuperset(word) for word in words if word)
    return () if starts_more or re.search(r"`|\$\(|\n", line) else tuple(words)


def is_our_hook(hook: object) -> bool:
    """Return True if one hook of a list starts `humanmcp hook`."""
    lines = [hook.get(name) for name in _COMMANDS] if isinstance(hook, dict) else []
    called = (given_to_humanmcp(words_of(line)) for line in lines if isinstance(line, str))
    return any(words[1:2] == ("hook",) for words in called)


def _places(content: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the path of each hook of ours in a decoded file: in a group, or in the list itself."""
    events = object_at(content, KEY)
    for event in events:
        for at, item in enumerate(array_at(events, event)):
            path, group = (KEY, event, str(at)), follow(item, KEY)
            inside = {(*path, KEY, str(n)): hook for n, hook in enumerate(array_at(group))}
            hooks = inside if isinstance(group, list) else {path: item}
            yield from (one for one, hook in hooks.items() if is_our_hook(hook))


def our_hooks(content: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return our items of each event in a decoded file, each with one hook and none of others."""
    found: dict[str, list[Any]] = {}
    for path in _places(content):
        hook, item = follow(content, *path), follow(content, *path[:3])
        found.setdefault(path[1], []).append(hook if hook is item else {**item, KEY: [hook]})
    return found


class HookFacts(NamedTuple):
    """Our hook in a host's file: its command line, and when it and its host give up, in seconds.

    `matcher` is what it is limited to where another one was written; "" otherwise.
    """

    command: str
    limit: float
    wait: float
    matcher: str = ""


def hook_facts(content: Mapping[str, Any], hooks: HostHooks) -> HookFacts | None:
    """Return our hook that asks a person, in a decoded file; None where one is not whole."""
    ours = our_hooks(content)
    if not ours.keys() >= hooks.events.keys():
        return None
    event = next(iter(hooks.events))
    item = ours[event][0]
    hook = follow(item, KEY, 0, missing=item)
    usual, matcher = (str(one.get("matcher", "*")) for one in (hooks.events[event], item))
    limited = matcher if matcher not in (usual, "", "*", ".*") else ""
    command = next(str(hook[name]) for name in sorted(_COMMANDS) if name in hook)
    waits = [one for name, one in hook.items() if name.startswith("timeout")]
    try:
        wait = float(waits[0]) / hooks.second
    except (IndexError, TypeError, ValueError):
        return None
    return HookFacts(command, _limit_of(command), wait, limited)


def _limit_of(command: str) -> float:
    """Return the seconds until a hook gives up; endless if it does not say a number."""
    found = re.search(r"--limit[ =](\S+)", " ".join(words_of(command)))
    try:
        return float(found[1] if found else DEFAULT_LIMIT)
    except ValueError:
        return math.inf


def _taken_out(content: Mapping[str, Any]) -> tuple[list[tuple[str, ...]], dict[str, Any]]:
    """Return the paths to take out of a decoded file, one after the other, and what is left.

    What is empty without a hook of ours goes with it: its group, its list, `hooks`.
    """
    left, taken, paths = json.loads(json.dumps(content)), [], [*_places(content)]
    while paths:
        *outer, name = path = paths.pop()
        holder = follow(left, *outer)
        del holder[int(name) if isinstance(holder, list) else name]
        taken.append(path)
        if outer and not holder:
            paths.append(path[:3] if len(path) > 3 else path[:-1])
    return taken, left


def with_hooks(text: str, content: Mapping[str, Any], items: Mapping[str, Any]) -> str:
    """Return the text of a file, which decodes to `content`, with exactly these items of ours."""
    if our_hooks(content) == {event: [item] for event, item in items.items()}:
        return text
    text = functools.reduce(jsonc.take, _taken_out(content)[0], text)
    if content.get(KEY, {}) is None:
        text = jsonc.put(text, (KEY,), {})
    for event, item in items.items():
        text = jsonc.append(text, (KEY, event), item)
    return text if text.endswith("\n") or not items else f"{text}\n"


def content_with(content: Mapping[str, Any], items: Mapping[str, Any]) -> dict[str, Any]:
    """Return a decoded file with these items of ours at the end of their lists, and no others."""
    _taken, others = _taken_out(content)
    events = others.get(KEY) or {}
    added = {event: [*(events.get(event) or ()), item] for event, item in items.items()}
    return {**others, KEY: {**events, **added}} if items else others


def _stop_if_odd(file: ConfigFile, items: Mapping[str, Any]) -> None:
    """Refuse what a host cannot read itself, with its place; null counts as nothing there.

    Raises:
        ConfigFileError: the hooks are no object, or those of an event are no list.
    """
    for path in [(KEY,), *((KEY, event) for event in items)]:
        wanted, code = (list, "hooks no list") if path[1:] else (dict, "hooks no object")
        if not isinstance(follow(file.value, *path), wanted | None):
            start, _end = jsonc.span_of(file.text, path) or (0, 0)
            line, column = line_and_column(file.text, start)
            raise HooksError(code, path=file.path, line=line, column=column, name=path[-1])


def hooked(file: ConfigFile, items: Mapping[str, Any], new: str) -> ConfigFile:
    """Return the file with exactly these hooks of ours. Without any, the newest backup counts.

    Raises:
        ConfigFileError: the file is not understood.
    """
    if is_our_plugin(new):
        if not file.text or is_our_plugin(file.text):
            return replace(file, text=new if items else "")
        if items:
            raise ConfigFileError("not understood", path=file.path)
        return file
    before = file if file.text.removeprefix(jsonc.BOM).strip() else replace(file, text=new)
    ours = our_hooks(before.value)
    if items:
        _stop_if_odd(before, items)
    elif ours:
        own = {event: one for event, (one, *_) in ours.items()}
        kept = file.before(lambda one: hooked(one, own, new))
        if kept is not None and not our_hooks(kept.value):
            return kept
    else:
        return file
    wanted = content_with(before.value, items)
    if not (items or wanted.keys() - {"version"}):
        return replace(file, text="")
    after = with_hooks(before.text, before.value, items)
    return file if after == file.text else before.proven(after, wanted)

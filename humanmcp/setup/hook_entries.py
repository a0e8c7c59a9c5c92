"""The hooks that bring a host's permission prompts here: what `config --approvals` writes.

The entries are data (`hooks.toml`). Each is one item in the list of its event, in a file that has
other hooks of the person: these, and comments, stay. Writing twice is writing once.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.common import jsonc
from humanmcp.protocol.json.tree import leaves
from humanmcp.setup.config_file import ConfigFile, ConfigFileError
from humanmcp.setup.hosts import from_template

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from humanmcp.setup.hosts import HostCommand

KEY: Final = "hooks"
"""The member of every host's file with a list for each event."""
BEFORE_THE_END: Final = 5
"""Seconds by which `humanmcp hook` gives up before its host does, so that it says what is safe."""
PLUGIN: Final = "// humanmcp: "
NO_WORDS: Final = "const COMMAND = []"
"""What our plugin begins with, and where it gets the words of its hook."""
_OURS: Final = re.compile(r"humanmcp(\.exe)?['\"]? .*\bhook\b|humanmcp(\.exe)?['\"]? hook\b")
_LIMIT: Final = re.compile(r"--limit['\"]? ['\"]?([0-9.]+)")


@dataclass(frozen=True, slots=True)
class HostHooks:
    """The hooks of one host. `place` is their file, `wait` the seconds that the host waits for one.

    `second` is what a second counts there; `new` is what a new file starts with.
    """

    place: str
    wait: int
    events: Mapping[str, Any] = field(default_factory=dict)
    second: int = 1
    new: str = "{}"
    plugin: str = ""
    """The file of a host without hooks: a plugin of its own, of which nothing else is a part."""

    def items(self, command: str, wait: int) -> dict[str, Any]:
        """Return the item of each event."""
        fillings = {
            "{command}": command,
            "{powershell}": f"& {command}",
            "{wait}": wait * self.second,
        }
        return from_template(self.events, fillings)


def _read() -> Iterator[tuple[str, HostHooks]]:
    table = resources.files("humanmcp.setup").joinpath("hooks.toml")
    for name, facts in tomllib.loads(table.read_text("utf-8")).items():
        yield name, HostHooks(**facts)


HOOKS: Final[Mapping[str, HostHooks]] = dict(_read())
"""By the name of the host."""


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
    text = resources.files("humanmcp.setup").joinpath(hooks.plugin).read_text("utf-8")
    return text.replace(NO_WORDS, f"{NO_WORDS[:-2]}{json.dumps(words)}", 1)


def is_our_plugin(text: str) -> bool:
    """Return True if a file is the plugin that humanmcp writes."""
    return text.startswith(PLUGIN)


def plugin_facts(text: str) -> HookFacts | None:
    """Return the hook that our plugin starts; it gives up before nobody."""
    words = re.search(rf"^{re.escape(NO_WORDS[:-2])}(\[.*\])$", text, re.MULTILINE)
    command = shlex.join(json.loads(words[1])) if words else ""
    limit = _LIMIT.search(command)
    return HookFacts(command, float(limit[1]), math.inf) if limit else None


def is_our_hook(item: object) -> bool:
    """Return True if an item of an event starts `humanmcp hook`."""
    return any(isinstance(leaf, str) and _OURS.search(leaf) for _path, leaf in leaves(item))


def our_hooks(content: Mapping[str, Any]) -> dict[str, list[int]]:
    """Return where our items are in a decoded file: their places in the list of each event."""
    events = content.get(KEY)
    return {
        event: places
        for event, items in (events if isinstance(events, dict) else {}).items()
        if isinstance(items, list)
        and (places := [at for at, one in enumerate(items) if is_our_hook(one)])
    }


class HookFacts(NamedTuple):
    """Our hook in a host's file: its command line, and when it and its host give up, in seconds."""

    command: str
    limit: float
    wait: float


def hook_facts(content: Mapping[str, Any], hooks: HostHooks) -> HookFacts | None:
    """Return our hook that asks a person, in a decoded file; None without one that is whole."""
    event = next(iter(hooks.events))
    items = [content[KEY][event][at] for at in our_hooks(content).get(event, ())]
    found = [(str(path[-1]), leaf) for path, leaf in leaves(items)]
    command = next((str(leaf) for _name, leaf in found if is_our_hook(leaf)), "")
    limit = _LIMIT.search(command)
    waits = [leaf for name, leaf in found if name.startswith("timeout") and isinstance(leaf, int)]
    return HookFacts(command, float(limit[1]), waits[0] / hooks.second) if limit and waits else None


def of_others(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a decoded file without our items, what is empty then, and the version of its form."""
    events = content.get(KEY)
    others = {name: value for name, value in content.items() if name not in (KEY, "version")}
    if not isinstance(events, dict):
        return others if events is None else {**others, KEY: events}
    ours = our_hooks(content)
    left = {
        event: [one for at, one in enumerate(items) if at not in ours[event]]
        if event in ours
        else items
        for event, items in events.items()
    }
    left = {event: items for event, items in left.items() if items or event not in ours}
    return {**others, KEY: left} if left else others


def with_hooks(
    text: str, content: Mapping[str, Any], items: Mapping[str, Any], new: str = "{}"
) -> str:
    """Return the text of a file, which decodes to `content`, with exactly these items of ours."""
    there = our_hooks(content)
    ours = {event: [content[KEY][event][at] for at in places] for event, places in there.items()}
    if ours == {event: [item] for event, item in items.items()}:
        return text
    text = without_hooks(text, content) if there else text
    text = text if text.removeprefix(jsonc.BOM).strip() else new
    for event, item in items.items():
        text = jsonc.append(text, (KEY, event), item)
    return text if text.endswith("\n") else f"{text}\n"


def without_hooks(text: str, content: Mapping[str, Any]) -> str:
    """Return the text of a file without our items; "" if nothing else is in it."""
    ours, events = our_hooks(content), content.get(KEY, {})
    only_ours = [event for event, places in ours.items() if len(places) == len(events[event])]
    for event in ours:
        if event in only_ours:
            text = jsonc.take(text, (KEY, event))
        else:
            for at in reversed(ours[event]):
                text = jsonc.take_item(text, (KEY, event), at)
    if only_ours and len(only_ours) == len(events):
        text = jsonc.take(text, (KEY,))
    left = jsonc.plain(text).removeprefix(jsonc.BOM).strip()
    return "" if re.fullmatch(r'\{\s*("version"\s*:\s*\d+\s*)?\}', left) else text


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
    if items:
        after = with_hooks(file.text, file.value, items, new)
    else:
        ours = our_hooks(file.value)
        after = without_hooks(file.text, file.value) if ours else file.text
        own = {event: file.value[KEY][event][places[0]] for event, places in ours.items()}
        if (before := file.before(lambda one: hooked(one, own, new))) is not None:
            return before
    changed = replace(file, text=after)
    if of_others(changed.value) != of_others(file.value):
        raise ConfigFileError("not understood", path=file.path)
    return changed

"""The hooks of hosts in `config HOST --approvals` and `doctor`."""

from __future__ import annotations

import dataclasses
import subprocess
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp.common.child import environment
from humanmcp.common.own_process import LOG_NAME
from humanmcp.common.settings import home_folder
from humanmcp.common.terminal import Painted
from humanmcp.extensions.agents import hook_entries as entries
from humanmcp.locales import say
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.validation.redaction import without_secrets
from humanmcp.setup import doctor
from humanmcp.setup.config_file import ConfigFile, ConfigFileError, with_more_tries
from humanmcp.setup.hosts import BY_NAME, Format, Host, as_ours, command_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from humanmcp.common.settings import Settings
    from humanmcp.setup.addition import Finding

HOOK_WITHIN: Final = 5.0
"""Seconds within which a hook must have ended that has nothing to ask."""
_HOOK_FLAGS: Final = frozenset({"--host", "--event", "--limit", "--home", "--lang"})
"""The flags of a hook that reach out of the folder of a trial in no way."""


class HookAddition:
    """The hook of one host (`setup/addition.py`)."""

    def __init__(
        self, host: Host, hooks: entries.HostHooks, given: Mapping[str, Any], wait: int | None
    ) -> None:
        self._host = dataclasses.replace(host, format=Format.JSONC)
        self._hooks = hooks
        seconds = wait or hooks.wait
        self._limit = entries.hook_limit(seconds)
        passed = {name: one for name, one in given.items() if name in ("home", "inbox", "lang")}
        server = command_for(passed, ())
        command = entries.hook_command(host.name, server, seconds)
        self._items, self._new = hooks.items(command, seconds), hooks.new
        if hooks.plugin:
            self._items = {"": command}
            self._new = entries.plugin_text(hooks, entries.hook_words(host.name, server, seconds))

    def _say(self, code: str, **fillings: object) -> str:
        return say(entries.SECTION, code, label=self._host.label, path=self._hooks.path, **fillings)

    def offer(self) -> str:
        known = self._say(f"known {self._host.prompts['known']}", **self._host.prompts)
        return self._say("prompts", source=known)

    def where(self) -> str:
        return self._say("where hook")

    def snippet(self) -> str:
        empty = ConfigFile(self._host, self._hooks.path, "")
        return entries.hooked(empty, self._items, self._new).text.removesuffix("\n")

    def check(self) -> None:
        self._set(self._items, to_file=False)

    def write(self) -> str:
        is_written = with_more_tries(partial(self._set, self._items))
        return self._say("hook written" if is_written else "hook unchanged")

    def remove(self, *, is_asked: bool) -> str:
        is_removed = with_more_tries(partial(self._set, {}))
        code = "hook removed" if is_removed else "hook absent"
        return self._say(code) if is_asked or is_removed else ""

    def notes(self, *, is_written: bool) -> Iterator[str | Painted]:
        off = self._hooks.switched_off()
        if off is not None:
            told = say(entries.SECTION, "runs no hook", label=self._host.label, **off._asdict())
            yield Painted(told, "yellow")
        elif is_written:
            yield self._say("hook next")
        yield self._say(f"gate {self._host.name}", seconds=self._limit)

    def _set(self, items: Mapping[str, Any], *, to_file: bool = True) -> bool:
        """Have exactly these items of ours in the file. Return False if it had them already."""
        file = ConfigFile.read(self._host, self._hooks.path)
        after = entries.hooked(file, items, self._new)
        if to_file and after.text != file.text:
            after.write()
        return after.text != file.text


class HostPrompts:
    """What brings the permission prompts of hosts: a `SetupPart`."""

    def of(self, host: Host, given: Mapping[str, Any], wait: int | None) -> HookAddition | None:
        hooks = entries.HOOKS.get(host.name)
        return None if hooks is None else HookAddition(host, hooks, given, wait)

    def check(self, settings: Settings) -> Iterator[Finding]:  # noqa: ARG002 - hosts have files of their own
        """Check whether each hook starts, and gives up before its host."""
        for host, hooks in _hosts():
            try:
                text, content = _read(host, hooks)
            except ConfigFileError as error:
                yield doctor.warning("host bad", label=host.label, why=error)
                continue
            if entries.our_hooks(content) or (hooks.plugin and entries.is_our_plugin(text)):
                yield from _check_hook(host, hooks, text, content)


PROMPTS: Final = HostPrompts()


def _hosts() -> Iterator[tuple[Host, entries.HostHooks]]:
    for name, hooks in entries.HOOKS.items():
        yield dataclasses.replace(BY_NAME[name], format=Format.JSONC), hooks


def _read(host: Host, hooks: entries.HostHooks) -> tuple[str, Mapping[str, Any]]:
    """Return the text of a host's file, and its decoded content; {} of a plugin.

    Raises:
        ConfigFileError: it cannot be read.
    """
    file = ConfigFile.read(host, hooks.path)
    return file.text, {} if hooks.plugin else file.value


def _facts(
    hooks: entries.HostHooks, text: str, content: Mapping[str, Any]
) -> entries.HookFacts | None:
    return entries.plugin_facts(text) if hooks.plugin else entries.hook_facts(content, hooks)


def hooks_for(home: Path) -> Iterator[str]:
    """Yield what is so of each hook that brings prompts to this folder.

    It is what files tell: no hook is started.
    """
    for host, hooks in _hosts():
        with suppress(ConfigFileError):
            text, content = _read(host, hooks)
            facts = _facts(hooks, text, content)
            words = entries.words_of(facts.command) if facts else ()
            homes = doctor.homes_of(words) or [""]
            if not words or "--inbox" in words or home_folder(homes[-1]) != home:
                continue
            off = hooks.switched_off()
            told = {"label": host.label, "path": hooks.path, **(off._asdict() if off else {})}
            ready = "hook set" if hooks.is_trusted(content) else "hook not trusted"
            yield say(entries.SECTION, "runs no hook" if off else ready, **told)


def _finding(level: Callable[..., Finding], code: str, **fillings: object) -> Finding:
    return dataclasses.replace(level(code, **fillings), section=entries.SECTION)


def _check_hook(
    host: Host, hooks: entries.HostHooks, text: str, content: Mapping[str, Any]
) -> Iterator[Finding]:
    """Yield what is so of a hook, and what is wrong with the inbox folder of one that works."""
    facts = _facts(hooks, text, content)
    about = {"label": host.label, "path": hooks.path, "host": host.name}
    words = entries.words_of(facts.command) if facts else ()
    ours = as_ours(words)
    if facts is None:
        yield _finding(doctor.problem, "hook part", **about)
    elif not facts.limit < facts.wait:
        yield _finding(doctor.problem, "hook limit", **about)
    elif (off := hooks.switched_off()) is not None:
        yield _finding(
            doctor.problem, "hook off", **about, file=off.path, member=off.member, value=off.value
        )
    elif not _is_harmless(ours, _HOOK_FLAGS | {"--inbox"}):
        command = without_secrets(facts.command)
        yield _finding(doctor.warning, "hook other", **about, command=command)
    elif not _is_harmless(ours, _HOOK_FLAGS):
        yield _finding(doctor.ok, "hook reaches", **about)
    elif why := _cannot_start(ours):
        yield _finding(doctor.problem, "hook silent", **about, why=why)
    elif facts.matcher:
        yield _finding(doctor.warning, "hook matcher", **about, matcher=facts.matcher)
    elif not hooks.is_trusted(content):
        yield _finding(doctor.warning, "hook untrusted", **about)
    else:
        code = "hook trust" if hooks.trusted_in else "hook"
        yield _finding(doctor.ok, code, **about, limit=f"{facts.limit:g}")
        yield from doctor.check_home_of(words)


def _is_harmless(words: Sequence[str], allowed: frozenset[str]) -> bool:
    """Return True for a hook of this installation with no other flags than these."""
    flags = {word.partition("=")[0] for word in words if word.startswith("--")}
    is_redirected = any(word and not word.strip("<>|&") for word in words)
    return bool(words) and flags <= allowed and not is_redirected


def _cannot_start(words: Sequence[str]) -> str:
    """Run a hook on the end of a session that it does not know. Return why that fails, or "".

    A fault of its own is in its log alone: it ends quietly.
    """
    with tempfile.TemporaryDirectory(prefix="humanmcp-doctor-") as scratch:
        try:
            ran = subprocess.run(  # noqa: S603 - a command of this installation
                [*words, "--home", str(Path(scratch, "home"))],
                input=b'{"hook_event_name": "Stop"}',
                capture_output=True,
                timeout=HOOK_WITHIN,
                check=False,
                cwd=scratch,
                env=environment({}),
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        log = Path(scratch, "home", LOG_NAME)
        logged = log.read_bytes() if log.exists() else b""
    is_right = ran.returncode == 0 and not ran.stdout and not logged
    told = (ran.stderr + logged).decode("utf-8", "replace").strip()
    return "" if is_right else one_line(told, 300) or str(ran.returncode)

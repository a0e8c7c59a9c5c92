"""The hook that brings a host's permission prompts: written, written again, taken out."""

import json
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.common import jsonc
from humanmcp.hook.events import EVENTS, LABELS
from humanmcp.locales import say
from humanmcp.setup import doctor
from humanmcp.setup.hook_entries import (
    BEFORE_THE_END,
    HOOKS,
    hook_command,
    is_our_hook,
    of_others,
    plugin_facts,
    with_hooks,
    without_hooks,
)
from humanmcp.setup.hosts import BY_NAME, HostCommand, filled_in
from tests.support.inbox_folder import Ran

OTHERS: Final = """{
  // mine
  "model": "x", /* kept */
  "hooks": {
    "%s": [
      // first
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "echo hook humanmcp"}]}, // last
    ],
    "Notification": [{"hooks": []}],
  },
}
"""


WITH_HOOKS: Final = [host for host, hooks in HOOKS.items() if not hooks.plugin]


@pytest.fixture
def run(run: Callable[..., Ran]) -> Callable[..., Ran]:
    """Run `humanmcp config` in a home and a project of its own."""
    return partial(run, "config")


def items_of(host: str) -> dict[str, Any]:
    """Return what is written for a host."""
    hooks = HOOKS[host]
    command = hook_command(host, HostCommand("/opt/my tools/humanmcp", ("serve",)), hooks.wait)
    return hooks.items(command, hooks.wait)


def decoded(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Read a file with comments."""
    return json.loads(jsonc.plain(text)) if text else {}


@pytest.mark.parametrize("host", WITH_HOOKS)
def test_a_hook_names_its_agent_and_gives_up_before_the_agent_does(host: str) -> None:
    """An agent that gives up first may run the tool."""
    hooks, items = HOOKS[host], items_of(host)
    assert LABELS[host] == BY_NAME[host].label
    asked = {event.name for event in EVENTS if event.agent == host}
    assert asked & set(items)
    for item in items.values():
        assert is_our_hook(item)
        (command,) = {leaf.removeprefix("& ") for leaf in _strings(item) if " hook " in leaf}
        words = shlex.split(command)
        assert words[:4] == ["/opt/my tools/humanmcp", "hook", "--host", host]
        assert int(words[words.index("--limit") + 1]) == hooks.wait - BEFORE_THE_END


def test_a_command_line_of_windows_is_one_for_each_shell_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Git Bash would drop backslashes, and PowerShell starts what is quoted after `&` alone."""
    monkeypatch.setattr("humanmcp.setup.hook_entries.sys.platform", "win32")
    for program, first in (
        ("C:\\me\\humanmcp.exe", "C:/me/humanmcp.exe"),
        ("C:\\My Tools\\humanmcp.exe", '"C:/My Tools/humanmcp.exe"'),
    ):
        line = hook_command("copilot-cli", HostCommand(program, ("serve",)), 60)
        assert line == f"{first} hook --host copilot-cli --limit 55"
        assert is_our_hook(line)
        (item,) = HOOKS["copilot-cli"].items(line, 60).values()
        assert (item["bash"], item["powershell"]) == (line, f"& {line}")


def _strings(item: object) -> set[str]:
    if isinstance(item, dict):
        return {one for value in item.values() for one in _strings(value)}
    if isinstance(item, list):
        return {one for value in item for one in _strings(value)}
    return {item} if isinstance(item, str) else set()


@pytest.mark.parametrize("host", WITH_HOOKS)
def test_hooks_and_comments_of_the_person_stay(host: str) -> None:
    """Written twice is written once; another limit replaces the item."""
    items = items_of(host)
    before = OTHERS % next(iter(items))
    after = with_hooks(before, decoded(before), items)
    for comment in ("// mine", "/* kept */", "// first", "// last"):
        assert comment in after
    assert of_others(decoded(after)) == decoded(before)
    assert with_hooks(after, decoded(after), items) == after
    hooks = HOOKS[host]
    slower = hooks.items(hook_command(host, HostCommand("humanmcp", ("serve",)), 900), 900)
    changed = with_hooks(after, decoded(after), slower)
    assert of_others(decoded(changed)) == decoded(before)
    assert decoded(changed)["hooks"][next(iter(items))][-1] == next(iter(slower.values()))
    left = without_hooks(changed, decoded(changed))
    assert decoded(left) == decoded(before)
    assert "// first" in left


@pytest.mark.parametrize("host", WITH_HOOKS)
def test_the_command_writes_the_hook_and_takes_it_out(
    run: Callable[..., Ran], host: str, tmp_path: Path
) -> None:
    """What no hook can do is said in one line."""
    path = filled_in(HOOKS[host].place, tmp_path, {}, tmp_path)
    shown = run(host, "--approvals")
    assert str(path) in shown.err
    assert " hook --host " in shown.out
    assert not path.exists()
    written = run(host, "--approvals", "--write")
    assert written.status == 0
    assert str(path) in written.err
    items = decoded(path.read_text("utf-8"))["hooks"]
    assert all(is_our_hook(one) for one in items.values())
    text = path.read_text("utf-8")
    assert "already there" in run(host, "--approvals", "--write").err
    assert path.read_text("utf-8") == text
    assert "add --approvals" not in written.err
    assert run(host, "--remove").status == 0
    assert not path.exists() or "humanmcp hook" not in path.read_text("utf-8")


@pytest.mark.parametrize("host", ["codex", "copilot-cli", "qwen-code"])
def test_the_limit_that_is_told_is_that_of_the_hook(run: Callable[..., Ran], host: str) -> None:
    """A call of a tool waits as long as without the hook."""
    for flags, limit in (((), 55), (("--wait", "300"), 295)):
        ran = run(host, "--approvals", *flags)
        assert f"after {limit} s" in ran.err
        assert f"--limit {limit}" in ran.out
    assert "86400" not in run(host, "--approvals").out


def test_a_host_without_hooks_gets_a_plugin_that_starts_ours(
    run: Callable[..., Ran], tmp_path: Path
) -> None:
    """It is a file of its own; one of the person with its name stays as it is."""
    path = filled_in(HOOKS["opencode"].place, tmp_path, {}, tmp_path)
    assert "const COMMAND = [" in run("opencode", "--approvals").out
    assert run("opencode", "--approvals", "--write").status == 0
    text = path.read_text("utf-8")
    facts = plugin_facts(text)
    assert facts is not None
    words = shlex.split(facts.command)
    assert words[words.index("hook") :][:3] == ["hook", "--host", "opencode"]
    assert facts.limit == HOOKS["opencode"].wait - BEFORE_THE_END
    assert "already there" in run("opencode", "--approvals", "--write").err
    (found,) = doctor.check_hooks()
    assert (found.code, dict(found.fillings)["path"]) == ("hook", path)
    assert run("opencode", "--remove").status == 0
    assert not path.exists()
    path.write_text("// mine\n", "utf-8")
    assert run("opencode", "--approvals", "--write").status != 0
    run("opencode", "--remove")
    assert path.read_text("utf-8") == "// mine\n"


def test_a_file_of_the_person_comes_back_byte_for_byte(
    run: Callable[..., Ran], tmp_path: Path
) -> None:
    """Its newest backup has it."""
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    before = OTHERS % "PermissionRequest"
    path.write_text(before, "utf-8")
    run("claude-code", "--approvals", "--write")
    assert path.read_text("utf-8") != before
    run("claude-code", "--remove")
    assert path.read_text("utf-8") == before


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("", "", "within 55 s"),
        ("--limit 55", "--limit 60", "must give up before its host does"),
        ("--limit 55", "", "must give up before its host does"),
        ("--host codex", "--host nobody", "does not work"),
        ("--limit 55", "--limit 55 --home /dev/null/x", "does not work"),
        ('"command": "', '"command": "echo; ', "does not work: echo;"),
    ],
)
def test_the_doctor_tries_the_hook(
    run: Callable[..., Ran], tmp_path: Path, old: str, new: str, told: str
) -> None:
    """Whether it starts, and gives up in time; Codex alone knows whether it is trusted."""
    run("codex", "--approvals", "--write")
    path = tmp_path / ".codex" / "hooks.json"
    path.write_text(
        path.read_text("utf-8").replace(old, new) if old else path.read_text("utf-8"), "utf-8"
    )
    (found,) = doctor.check_hooks()
    sentence = say("doctor", found.code, **dict(found.fillings))
    assert told in sentence
    assert (found.level is doctor.Level.OK) is (not old)


@pytest.mark.parametrize("text", ['{"hooks": []}', '{"hooks": {"PermissionRequest": {}}}', "{"])
def test_a_file_that_is_not_understood_is_left_alone(
    run: Callable[..., Ran], tmp_path: Path, text: str
) -> None:
    """And the command says so."""
    path = tmp_path / ".codex" / "hooks.json"
    path.parent.mkdir()
    path.write_text(text, "utf-8")
    ran = run("codex", "--approvals", "--write")
    assert ran.status
    assert path.read_text("utf-8") == text

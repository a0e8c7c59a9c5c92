"""The hook that brings a host's permission prompts: written, written again, taken out."""

import json
import shlex
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.common import jsonc, toml_edit
from humanmcp.common.settings import Settings
from humanmcp.extensions.agents.hook_entries import (
    BEFORE_THE_END,
    HOOKS,
    content_with,
    hook_command,
    is_our_hook,
    our_hooks,
    plugin_facts,
    with_hooks,
)
from humanmcp.extensions.agents.host_prompts import PROMPTS
from humanmcp.locales import say
from humanmcp.protocol.conversation.prompts import EVENTS, LABELS
from humanmcp.setup.addition import Level
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
        assert all(map(is_our_hook, item.get("hooks", [item])))
        (command,) = {leaf.removeprefix("& ") for leaf in _strings(item) if " hook " in leaf}
        words = shlex.split(command)
        assert words[:4] == ["/opt/my tools/humanmcp", "hook", "--host", host]
        assert int(words[words.index("--limit") + 1]) == hooks.wait - BEFORE_THE_END


def test_a_command_line_of_windows_is_one_for_each_shell_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Git Bash would drop backslashes, and PowerShell starts what is quoted after `&` alone."""
    monkeypatch.setattr("humanmcp.extensions.agents.hook_entries.sys.platform", "win32")
    for program, first in (
        ("C:\\me\\humanmcp.exe", "C:/me/humanmcp.exe"),
        ("C:\\My Tools\\humanmcp.exe", '"C:/My Tools/humanmcp.exe"'),
    ):
        line = hook_command("copilot-cli", HostCommand(program, ("serve",)), 60)
        assert line == f"{first} hook --host copilot-cli --limit 55"
        assert is_our_hook({"command": line})
        (item,) = HOOKS["copilot-cli"].items(line, 60).values()
        assert (item["bash"], item["powershell"]) == (line, f"& {line}")


def _strings(item: object) -> set[str]:
    if isinstance(item, dict):
        return {one for value in item.values() for one in _strings(value)}
    if isinstance(item, list):
        return {one for value in item for one in _strings(value)}
    return {item} if isinstance(item, str) else set()


@pytest.mark.parametrize(
    ("line", "is_ours"),
    [
        ("humanmcp hook --host codex", True),
        ("'/opt/my tools/humanmcp' hook --limit 5", True),
        ("/opt/my\\ tools/humanmcp hook", True),
        ('"C:/My Tools/humanmcp.exe" hook', True),
        ("C:\\me\\humanmcp.exe hook", True),
        ('& "C:/My Tools/humanmcp.exe" hook', True),
        ("python -m humanmcp hook", True),
        ("/usr/bin/python3.12 -P -m humanmcp hook --limit 5", True),
        ("uvx humanmcp hook", True),
        ("HUMANMCP_HOME='/x y' humanmcp hook", True),
        ("humanmcp hook 2>> /tmp/log", True),
        ("cd ~/src/humanmcp && ./run-hook.sh", False),
        ("/opt/my-humanmcp hook-logger.sh", False),
        ("bash /home/me/humanmcp notes/hook.sh", False),
        ("echo hook humanmcp hook", False),
        ("humanmcp hooks", False),
        ("humanmcp serve hook", False),
        ("humanmcp-hook hook", False),
        ("'humanmcp hook'", False),
        ("humanmcp hook; say done", False),
        ("humanmcp hook || true", False),
        ("(humanmcp hook)", False),
        ("humanmcp hook\nsay done", False),
        ("humanmcp hook $(say done)", False),
        ("humanmcp hook `say done`", False),
        ("sh -c 'humanmcp hook'", False),
        ("npx humanmcp hook", False),
        ("python hook.py -m humanmcp hook", False),
        ("humanmcp hook '", False),
        ("", False),
    ],
)
def test_a_hook_is_ours_if_its_program_is_humanmcp_and_its_first_word_hook(
    line: str, *, is_ours: bool
) -> None:
    """Read as a shell reads it; what starts something else, too, is the person's."""
    assert is_our_hook({"command": line}) is is_ours
    assert is_our_hook({"bash": line, "powershell": "x"}) is is_ours


@pytest.mark.parametrize("hook", [{"command": 5}, {"name": "humanmcp hook"}, "humanmcp hook", None])
def test_only_a_command_line_makes_a_hook_ours(hook: object) -> None:
    """Not what it is called, nor a text where a hook should be."""
    assert not is_our_hook(hook)


OURS: Final = (
    '{"type": "command", "command": "/old/humanmcp hook --host x --limit 5", "timeout": 9}'
)
THEIRS: Final = '{"type": "command",  "command": "notify-me humanmcp hook"}'


@pytest.mark.parametrize("host", ["claude-code", "codex", "qwen-code", "gemini-cli"])
@pytest.mark.parametrize("group", [(THEIRS, OURS), (OURS, THEIRS), (THEIRS, OURS, THEIRS, OURS)])
def test_another_hook_in_the_same_group_stays_in_its_place(
    run: Callable[..., Ran], host: str, group: tuple[str, ...]
) -> None:
    """Byte for byte, when ours is replaced and when it is removed."""
    event, path = next(iter(HOOKS[host].events)), HOOKS[host].path
    path.parent.mkdir(parents=True)
    theirs = ", ".join(one for one in group if one == THEIRS)
    text = '{"hooks": {"%s": [{"matcher": "Bash",\n "hooks": [%s]}, 5, null]}}\n'
    path.write_text(text % (event, ", ".join(group)), "utf-8")
    assert run(host, "--approvals", "--write").status == 0
    after = path.read_text("utf-8")
    first, five, none, ours = json.loads(after)["hooks"][event]
    assert first == {"matcher": "Bash", "hooks": json.loads(f"[{theirs}]")}
    assert (five, none, after.count(THEIRS)) == (5, None, group.count(THEIRS))
    assert ours == items_of(host)[event] | {"hooks": ours["hooks"]}
    assert run(host, "--approvals", "--remove").status == 0
    left = json.loads(path.read_text("utf-8"))["hooks"][event]
    assert left == [first, 5, None]
    assert path.read_text("utf-8").count(THEIRS) == group.count(THEIRS)


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "If humanmcp is missing, only that dialog asks."),
        ("ja", "その画面だけが確認します。"),
    ],
)
def test_claude_code_is_told_who_asks_without_humanmcp(
    run: Callable[..., Ran], language: str, told: str
) -> None:
    """Its own dialog does, as measured."""
    assert told in run("claude-code", "--approvals", "--write", "--lang", language).err


def test_a_hook_of_ours_beside_another_is_not_written_again(run: Callable[..., Ran]) -> None:
    """It asks already."""
    path = HOOKS["codex"].path
    run("codex", "--approvals", "--write")
    content = json.loads(path.read_text("utf-8"))
    (group,) = content["hooks"]["PermissionRequest"]
    group["hooks"].insert(0, json.loads(THEIRS))
    path.write_text(json.dumps(content), "utf-8")
    assert "already there" in run("codex", "--approvals", "--write").err
    assert json.loads(path.read_text("utf-8")) == content


SHAPES: Final = [
    ("{}", ""),
    ('{"hooks": null}', ""),
    ('{"hooks": {}}', ""),
    ('{"hooks": {"%s": null}}', ""),
    ('{"hooks": {"%s": []}}', ""),
    ('{"hooks": {"%s": [null, 5, "humanmcp hook", [], {}, {"hooks": null}]}}', ""),
    ('{"hooks": {"Other": "x", "Third": null, "%s": [{"hooks": [5, null, {}]}]}}', ""),
    ('// mine\n{"hooks": /* no */ null, "a": [1,],}', ""),
    ('{"hooks": []}', 'line 1, column 11: "hooks" must be an object'),
    ('{\n  "hooks": "x"\n}', 'line 2, column 12: "hooks" must be an object'),
    ('{"hooks": false}', '"hooks" must be an object'),
    ('{"hooks": {"%s": {}}}', '"%s" must be a list'),
    ('{"hooks": {"%s": "x"}}', '"%s" must be a list'),
    ('{"hooks": {"%s": 0}}', '"%s" must be a list'),
    ("[]", "must contain an object"),
    ('{"hooks": {', "not JSON"),
]
"""A file of hooks, and what is said of it if no hook can be written. `%s` is the event."""


@pytest.mark.parametrize("host", WITH_HOOKS)
@pytest.mark.parametrize(("text", "told"), SHAPES)
def test_a_file_of_any_shape_is_written_or_explained(
    run: Callable[..., Ran], host: str, text: str, told: str
) -> None:
    """Nothing is written where it is explained, also no entry; `--remove` restores the file."""
    event, path = next(iter(HOOKS[host].events)), HOOKS[host].path
    path.parent.mkdir(parents=True, exist_ok=True)
    text, told = text.replace("%s", event), told.replace("%s", event)
    path.write_text(text, "utf-8")
    before = sorted(Path.cwd().rglob("*"))
    written = run(host, "--approvals", "--write")
    assert told in written.err
    if told:
        assert written.status
        assert path.read_text("utf-8") == text
        assert sorted(Path.cwd().rglob("*")) == before
        assert ("not JSON" in written.err) is ("not JSON" in told)
    else:
        assert written.status == 0
        content = decoded(path.read_text("utf-8"))
        others = content_with(content, {}).keys() - {"mcpServers", "hooks"}
        assert others == decoded(text).keys() - {"hooks"}
        assert our_hooks(content).keys() == HOOKS[host].events.keys()
    removed = run(host, "--approvals", "--remove")
    assert "Traceback" not in removed.err
    if not told:
        assert removed.status == 0
        assert path.read_text("utf-8") == text
        assert "has no hook of humanmcp" in run(host, "--approvals", "--remove").err


def test_an_edit_that_fails_is_no_fault_of_the_file(
    run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not told that the file is not JSON."""
    path = HOOKS["codex"].path
    path.parent.mkdir()
    path.write_text('{"hooks": {}}', "utf-8")
    monkeypatch.setattr("humanmcp.extensions.agents.hook_entries.with_hooks", lambda *_: "{,}")
    written = run("codex", "--approvals", "--write")
    assert "cannot change" in written.err
    assert "not JSON" not in written.err
    assert path.read_text("utf-8") == '{"hooks": {}}'


def test_what_is_removed_does_not_come_back_from_an_old_copy(run: Callable[..., Ran]) -> None:
    """The copy from before the last change has an older hook of ours."""
    path = HOOKS["codex"].path
    path.parent.mkdir()
    group = [{"hooks": [json.loads(OURS)]}]
    path.write_text(json.dumps({"hooks": {"PermissionRequest": group}}), "utf-8")
    run("codex", "--approvals", "--write")
    run("codex", "--remove")
    assert not path.exists()


OFF: Final = [
    (host, row)
    for host, hooks in HOOKS.items()
    for row in hooks.off
    if not any(written.startswith(("/", "C:")) for written in row["places"])
    and row.get("system", sys.platform) == sys.platform
]


@pytest.mark.parametrize(("host", "row"), OFF, ids=str)
def test_what_switches_the_hooks_off_is_said(
    run: Callable[..., Ran], tmp_path: Path, host: str, row: Mapping[str, Any]
) -> None:
    """Where they are written, and by the doctor; nothing comes to the inbox then."""
    assert "come to your inbox" in run(host, "--approvals", "--write").err
    path = filled_in(row["places"], tmp_path, {}, tmp_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    value = [row["value"]] if isinstance(row["value"], str) else row["value"]
    toml, text = path.suffix == ".toml", path.read_text("utf-8") if path.exists() else ""
    if toml:
        path.write_text(toml_edit.put(text, tuple(row["path"][:-1]), {row["path"][-1]: value}))
    else:
        path.write_text(jsonc.put(text or "{}", row["path"], value))
    off = HOOKS[host].switched_off()
    assert off is not None
    told = f"{path} says {'.'.join(row['path'])} = {json.dumps(value)}"
    again = run(host, "--approvals", "--write")
    assert told in again.err
    assert "come to your inbox" not in again.err
    assert told in run(host, "--approvals").err
    (found,) = PROMPTS.check(Settings())
    assert (found.code, found.level) == ("hook off", Level.PROBLEM)
    assert told in say(found.section, found.code, **dict(found.fillings))


def test_a_policy_of_the_system_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where its host looks for it on this system."""
    policy = tmp_path / "settings.json"
    policy.write_text('{"hooksConfig": {"enabled": false}}')
    assert HOOKS["gemini-cli"].switched_off() is None
    monkeypatch.setenv("GEMINI_CLI_SYSTEM_SETTINGS_PATH", str(policy))
    assert HOOKS["gemini-cli"].switched_off() == (policy, "hooksConfig.enabled", "false")


@pytest.mark.parametrize("host", HOOKS)
def test_writing_the_hook_ends_in_two_lines(run: Callable[..., Ran], host: str) -> None:
    """What is to be done now, and what the hook does not ask about."""
    lines = run(host, "--approvals", "--write").err.splitlines()
    assert lines[-2].startswith(f"Restart {BY_NAME[host].label}. Then its permission prompts")
    assert lines[-1] == say("agents", f"gate {host}", seconds=HOOKS[host].wait - BEFORE_THE_END)
    assert all(line.startswith(("Written: ", "The old file")) for line in lines[:-2])


@pytest.mark.parametrize("host", WITH_HOOKS)
def test_hooks_and_comments_of_the_person_stay(host: str) -> None:
    """Written twice is written once; another limit replaces the item."""
    items = items_of(host)
    before = OTHERS % next(iter(items))
    after = with_hooks(before, decoded(before), items)
    for comment in ("// mine", "/* kept */", "// first", "// last"):
        assert comment in after
    assert content_with(decoded(after), {}) == decoded(before)
    assert with_hooks(after, decoded(after), items) == after
    hooks = HOOKS[host]
    slower = hooks.items(hook_command(host, HostCommand("humanmcp", ("serve",)), 900), 900)
    changed = with_hooks(after, decoded(after), slower)
    assert content_with(decoded(changed), {}) == decoded(before)
    assert decoded(changed)["hooks"][next(iter(items))][-1] == next(iter(slower.values()))
    left = with_hooks(changed, decoded(changed), {})
    assert decoded(left) == decoded(before)
    assert "// first" in left


_HOOKS: Final = st.lists(st.sampled_from([THEIRS, OURS, "5", "{}"]).map(json.loads), max_size=3)
_ITEMS: Final = st.lists(
    _HOOKS.map(lambda hooks: {"matcher": "*", "hooks": hooks})
    | st.sampled_from([THEIRS, OURS, "null", '{"hooks": null}']).map(json.loads),
    max_size=3,
)


@given(st.dictionaries(st.sampled_from(["One", "Two"]), _ITEMS | st.none()))
def test_what_is_taken_out_is_ours_and_what_is_empty_then(
    events: dict[str, list[Any] | None],
) -> None:
    """Whatever stands beside it, in the text and in what the text is compared with."""
    content = {"a": 1, "hooks": events}
    left = {event: _of_others(items) for event, items in events.items()}
    kept = {event: items for event, items in left.items() if items or items == events[event]}
    expected = {"a": 1, "hooks": kept} if kept or not events else {"a": 1}
    text = json.dumps(content, indent=2)
    assert content_with(content, {}) == decoded(with_hooks(text, content, {})) == expected
    assert content == json.loads(text)


def test_how_deep_the_rest_of_a_file_is_does_not_matter() -> None:
    """Beside the hooks, and in them."""
    deep = "[" * 500 + "]" * 500
    others = '{"a": [], "hooks": {"One": [[], {"hooks": [7, []]}]}}'.replace("[]", deep)
    text = others.replace("7", f"7, {OURS}")
    left = with_hooks(text, json.loads(text), {})
    assert decoded(left) == content_with(json.loads(text), {}) == json.loads(others)


def _of_others(items: list[Any] | None) -> list[Any] | None:
    """Return a list of an event without our hooks."""
    if items is None:
        return None
    left = []
    for item in items:
        hooks = item.get("hooks") if isinstance(item, dict) else None
        others = [hook for hook in hooks or [] if not is_our_hook(hook)]
        if hooks and others != hooks:
            left += [{**item, "hooks": others}] if others else []
        elif not is_our_hook(item):
            left.append(item)
    return left


@pytest.mark.parametrize("host", WITH_HOOKS)
def test_the_command_writes_the_hook_and_takes_it_out(
    run: Callable[..., Ran], host: str, tmp_path: Path
) -> None:
    """What no hook can do is said in one line."""
    path = filled_in(HOOKS[host].places, tmp_path, {}, tmp_path)
    shown = run(host, "--approvals")
    assert str(path) in shown.err
    assert " hook --host " in shown.out
    assert not path.exists()
    written = run(host, "--approvals", "--write")
    assert written.status == 0
    assert str(path) in written.err
    items = decoded(path.read_text("utf-8"))["hooks"]
    assert our_hooks({"hooks": items}).keys() == items.keys()
    text = path.read_text("utf-8")
    assert "already there" in run(host, "--approvals", "--write").err
    assert path.read_text("utf-8") == text
    assert "add --approvals" not in written.err
    assert run(host, "--remove").status == 0
    assert not path.exists() or "humanmcp hook" not in path.read_text("utf-8")


@pytest.mark.parametrize(
    ("host", "second"), [("codex", 1), ("gemini-cli", 1000), ("qwen-code", 1000)]
)
def test_a_host_is_told_in_its_own_unit_how_long_to_wait(host: str, second: int) -> None:
    """Qwen Code 0.15.10 took seconds for milliseconds, and ended the hook at once."""
    (item, *_) = HOOKS[host].items("command", 60).values()
    assert item["hooks"][0]["timeout"] == 60 * second


@pytest.mark.parametrize("host", ["codex", "copilot-cli", "qwen-code"])
def test_the_limit_that_is_told_is_that_of_the_hook(run: Callable[..., Ran], host: str) -> None:
    """A call of a tool waits as long as without the hook."""
    for flags, limit in (((), 55), (("--wait", "300"), 295)):
        ran = run(host, "--approvals", *flags)
        assert f"after {limit} s" in ran.err
        assert f"--limit {limit}" in ran.out
    assert "86400" not in run(host, "--approvals").out


def test_a_host_without_hooks_gets_a_plugin_that_starts_ours(
    run: Callable[..., Ran], installation: Path, tmp_path: Path
) -> None:
    """It is a file of its own; one of the person with its name stays as it is."""
    path = filled_in(HOOKS["opencode"].places, tmp_path, {}, tmp_path)
    assert installation.exists()
    assert "const COMMAND = [" in run("opencode", "--approvals").out
    assert run("opencode", "--approvals", "--write").status == 0
    text = path.read_text("utf-8")
    facts = plugin_facts(text)
    assert facts is not None
    words = shlex.split(facts.command)
    assert words[words.index("hook") :][:3] == ["hook", "--host", "opencode"]
    assert facts.limit == HOOKS["opencode"].wait - BEFORE_THE_END
    assert "already there" in run("opencode", "--approvals", "--write").err
    (found,) = PROMPTS.check(Settings())
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
        ("--limit 55", "--limit nan", "must give up before its host does"),
        ("--limit 55", "--limit x", "must give up before its host does"),
        ('"timeout": 60', '"timeout": "x"', "is not complete"),
        ('"matcher": ".*"', '"matcher": "Bash"', "only the permission prompts of Bash"),
        ("--host codex", "--host nobody", "does not work"),
        ('"command": "', '"command": "/opt', "was not tried"),
    ],
)
def test_the_doctor_tries_the_hook(
    run: Callable[..., Ran],
    installation: Path,
    old: str,
    new: str,
    told: str,
) -> None:
    """Whether it starts, and gives up in time; Codex alone knows whether it is trusted."""
    run("codex", "--approvals", "--write")
    trust()
    path = HOOKS["codex"].path
    assert str(installation) in path.read_text("utf-8")
    path.write_text(
        path.read_text("utf-8").replace(old, new) if old else path.read_text("utf-8"), "utf-8"
    )
    (found,) = PROMPTS.check(Settings())
    sentence = say(found.section, found.code, **dict(found.fillings))
    assert told in sentence
    assert (found.level is Level.OK) is (not old)


def trust(state: str = 'trusted_hash = "sha256:25db"') -> None:
    """Let the person trust the hook in Codex, as it keeps that (measured with 0.171.0)."""
    path = HOOKS["codex"].path.with_name("config.toml")
    table = f'[hooks.state."{HOOKS["codex"].path}:permission_request:0:0"]\n{state}\n'
    path.write_text(path.read_text("utf-8") + table, "utf-8")


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ('trusted_hash = "sha256:25db"', "hook trust"),
        ('trusted_hash = "sha256:25db"\nenabled = false', "hook untrusted"),
        ("enabled = true", "hook untrusted"),
    ],
)
def test_a_hook_that_its_host_does_not_trust_is_told(
    run: Callable[..., Ran], installation: Path, state: str, code: str
) -> None:
    """It is not run; whether it was changed since is for Codex to say."""
    assert installation.exists()
    run("codex", "--approvals", "--write")
    assert [one.code for one in PROMPTS.check(Settings())] == ["hook untrusted"]
    trust(state)
    assert [one.code for one in PROMPTS.check(Settings())] == [code]


def test_the_inbox_folder_of_a_hook_is_looked_at(
    run: Callable[..., Ran], installation: Path, tmp_path: Path
) -> None:
    """Its trial uses another one."""
    assert installation.exists()
    run("codex", "--approvals", "--write", "--home", str(tmp_path / "file"))
    trust()
    (tmp_path / "file").touch()
    assert [one.code for one in PROMPTS.check(Settings())] == ["hook trust", "home no folder"]


def test_a_part_of_the_hook_is_not_the_hook(run: Callable[..., Ran], installation: Path) -> None:
    """Without the others, cards of what was answered at the keyboard would stay."""
    assert installation.exists()
    run("claude-code", "--approvals", "--write")
    path = HOOKS["claude-code"].path
    path.write_text(jsonc.take(path.read_text("utf-8"), ("hooks", "Stop")), "utf-8")
    assert [one.code for one in PROMPTS.check(Settings())] == ["hook part"]
    run("claude-code", "--approvals", "--write")
    assert [one.code for one in PROMPTS.check(Settings())] == ["hook"]

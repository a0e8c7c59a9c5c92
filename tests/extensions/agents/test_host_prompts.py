"""The hooks of hosts in `config HOST --approvals` and `doctor`."""

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from humanmcp.common.settings import Settings
from humanmcp.extensions.agents.hook_entries import HOOKS
from humanmcp.extensions.agents.host_prompts import PROMPTS, _cannot_start
from humanmcp.setup.hosts import BY_NAME, HOSTS, Host
from tests.support.inbox_folder import Ran


@pytest.fixture
def run(run: Callable[..., Ran]) -> Callable[..., Ran]:
    """Run `humanmcp config` in a home and a project of its own."""
    return partial(run, "config")


@pytest.mark.parametrize("host", [host for host in HOSTS if host.name in HOOKS])
def test_hooks_and_plugins_are_where_the_servers_of_the_host_are(host: Host) -> None:
    """One variable moves all of them."""
    for places in (HOOKS[host.name].places, host.plugin):
        own = {written.partition("/")[0] for written in places if written.startswith("$")}
        servers = (host.user_places or host.places)[""]
        named = {written.partition("/")[0] for written in servers if written.startswith("$")}
        assert own == named or places[-1:] == ["./.github/hooks/humanmcp.json"] or not places


def test_a_host_that_can_sends_its_permission_prompts_to_us(
    run: Callable[..., Ran], tmp_path: Path
) -> None:
    """The entry offers the tool and waits a day; with the hook, one way is printed, not both."""
    ran = run("claude-code", "--approvals", "--name", "me")
    assert "--permission-prompt-tool" not in ran.err
    run("claude-code", "--approvals", "--name", "me", "--write")
    entry = json.loads((tmp_path / ".mcp.json").read_text("utf-8"))["mcpServers"]["me"]
    assert "--approvals" in entry["args"]
    assert entry["timeout"] == 86_400_000
    refused = run("zed", "--approvals", "--write")
    assert refused.status
    assert "knows no hook of Zed" in refused.err


@pytest.mark.parametrize(
    ("host", "told"),
    [
        ("claude-code", "add --approvals (measured with 2.1.332)"),
        ("codex", "by a hook: add --approvals (measured with 0.171.0)"),
        ("opencode", "by a hook: add --approvals (measured with 1.18.33)"),
        ("vscode", "documented since"),
    ],
)
def test_an_entry_comes_with_where_its_host_sends_permission_prompts(
    run: Callable[..., Ran], host: str, told: str
) -> None:
    """And how that is known."""
    assert told in run(host).err
    assert BY_NAME[host].prompts["known"] in {"measured", "documented"}


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("./humanmcp hook --limit 5", "hook other"),
        ("{here}/humanmcp hook --limit 5", "hook other"),
        ("humanmcp hook --limit 5", "hook other"),
        ("{here}/python -m humanmcp hook --limit 5", "hook other"),
        ("{ours} hook --limit 5 --notify 'touch {here}/ran'", "hook other"),
        ("{ours} hook --limit 5 --inbox postgresql://127.0.0.1:9/x", "hook reaches"),
        ("{here}/humanmcp hook --limit 5 --inbox postgresql://127.0.0.1:9/x", "hook other"),
        ("{ours} hook --limit 5 > {here}/ran", "hook other"),
        ("PATH={here} {ours} hook --limit 5", "hook"),
        ("{python} -m humanmcp hook --limit 5", "hook"),
        ("{ours} hook --limit 5; touch {here}/ran", ""),
        ("{ours} hook --limit 5 $(touch {here}/ran)", ""),
        ("sh -c 'touch {here}/ran' humanmcp hook", ""),
        ("cd {here} && ./humanmcp hook", ""),
        ("{here}/my-humanmcp hook", ""),
    ],
)
def test_no_hook_of_a_repository_runs(
    stranger: Path, installation: Path, monkeypatch: pytest.MonkeyPatch, command: str, code: str
) -> None:
    """Only that of this installation; a line that starts more is no hook of ours at all."""
    monkeypatch.chdir(stranger)
    monkeypatch.setenv("PATH", f".:{stranger}:{os.environ['PATH']}")
    line = command.format(here=stranger, ours=installation, python=sys.executable)
    item = {"type": "command", "command": line, "timeout": 600}
    path = stranger / ".github" / "hooks" / "humanmcp.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"hooks": {"PreToolUse": [item]}}))
    assert [one.code for one in PROMPTS.check(Settings())] == ([code] if code else [])
    assert not (stranger / "ran").exists()


@pytest.mark.parametrize("is_broken", [True, False])
def test_a_hook_with_a_fault_of_its_own_is_no_hook_that_works(*, is_broken: bool) -> None:
    """It ends quietly in the agent, with a line in its log."""
    script = "import sys; from humanmcp import cli; from humanmcp.extensions.agents import guests; "
    script += "guests.note_event = None; " if is_broken else ""
    words = [sys.executable, "-c", f"{script}sys.exit(cli.main(sys.argv[1:]))", "hook"]
    assert ("this should not happen" in _cannot_start(words)) is is_broken

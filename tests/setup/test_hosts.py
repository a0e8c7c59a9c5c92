"""The table of hosts."""

import base64
import json
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from humanmcp.locales import LANGUAGES, say
from humanmcp.setup.hosts import (
    BY_NAME,
    HOSTS,
    Host,
    HostCommand,
    command_in,
    entry,
    install_link,
    is_ours,
    place,
)

COMMAND = HostCommand("/opt/human mcp/humanmcp", ("serve", "--lang", "ja"))


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_the_command_of_an_entry_is_found_again_in_any_shape(host: Host) -> None:
    """Whatever a host calls it: `command`, `cmd`, one list or two."""
    made = entry(host, COMMAND, 600)
    assert command_in(made) == (COMMAND.command, list(COMMAND.args))
    assert is_ours(made)


@pytest.mark.parametrize("platform", ["darwin", "win32", "linux"])
def test_every_host_has_a_place_on_every_system(platform: str) -> None:
    """Absolute, and inside the home or the project."""
    home, project = Path("/home/me"), Path("/work/project")
    for host in HOSTS:
        found = place(host, platform, home, {"APPDATA": "/home/me/roaming"}, project)
        assert found.is_absolute()
        assert found.is_relative_to(home) or found.is_relative_to(project)


def test_waiting_is_written_in_the_unit_of_each_host() -> None:
    """Milliseconds or seconds; 0 leaves it out; the start is never waited for that long."""
    assert entry(BY_NAME["opencode"], COMMAND, 600)["timeout"] == 600_000
    codex = entry(BY_NAME["codex"], COMMAND, 600)
    assert (codex["tool_timeout_sec"], codex["startup_timeout_sec"]) == (600, 120)
    for host in HOSTS:
        assert not set(host.wait_keys) & set(entry(host, COMMAND, 0))


def test_install_links_carry_the_entry() -> None:
    """VS Code, Cursor, LM Studio and goose; the others have none."""
    plain = {"command": COMMAND.command, "args": list(COMMAND.args)}
    vscode = install_link(BY_NAME["vscode"], "me", COMMAND)
    assert json.loads(unquote(vscode.partition("?")[2])) == {"name": "me", **plain}
    for name in ("cursor", "lm-studio"):
        query = parse_qs(urlsplit(install_link(BY_NAME[name], "me", COMMAND)).query)
        assert query["name"] == ["me"]
        assert json.loads(base64.b64decode(query["config"][0])) == plain
    goose = parse_qs(urlsplit(install_link(BY_NAME["goose"], "me", COMMAND)).query)
    assert (goose["cmd"], goose["arg"]) == ([COMMAND.command], list(COMMAND.args))
    assert install_link(BY_NAME["zed"], "me", COMMAND) == ""


@pytest.mark.parametrize(
    ("one", "ours"),
    [
        ({"command": "/x/bin/humanmcp"}, True),
        ({"command": "C:\\x\\Scripts\\humanmcp.exe"}, True),
        ({"command": "/x/python", "args": ["-m", "humanmcp", "serve"]}, True),
        ({"command": "uvx", "args": ["humanmcp"]}, True),
        ({"command": ["uvx", "humanmcp"]}, True),
        ({"command": "npx", "args": ["other"]}, False),
        ({"url": "https://humanmcp.example/"}, False),
        ({"command": []}, False),
        ({"command": 5}, False),
        ("humanmcp", False),
        (None, False),
    ],
)
def test_an_entry_that_starts_humanmcp_is_recognised(one: object, ours: bool) -> None:  # noqa: FBT001 - the expectation
    """However it is started."""
    assert is_ours(one) is ours


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_host_has_a_sentence_on_waiting(language: str) -> None:
    """In every language."""
    for host in HOSTS:
        assert say("config", host.waiting, language)

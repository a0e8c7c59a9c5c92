"""`wrap --all` and `unwrap --all`: every server of every host, after one question."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from humanmcp.setup import doctor
from humanmcp.setup.config_file import ConfigFile
from humanmcp.setup.hosts import BY_NAME, HOSTS, Format, HostCommand, command_in, local_entry, place
from tests.support.inbox_folder import Ran

CURSOR = """{
  "mcpServers": {
    "weather":  {"command": "weather-app", "args": ["run"], "env": {"A": "b"}},
    "far": {"url": "https://example.org"},
    "me": {"command": "/opt/bin/humanmcp", "args": ["serve"]},
    "odd": {"command": "x", "args": [1]},
    "files": {"command": "files-app"}
  }
}
"""
CODEX = '# mine\n[mcp_servers.dice]\ncommand = "dice"\nargs = ["-v"]\n'


@pytest.fixture
def files(tmp_path: Path) -> dict[Path, str]:
    """Configure two hosts, and return what stands in which file."""
    found = {tmp_path / ".cursor" / "mcp.json": CURSOR, tmp_path / ".codex" / "config.toml": CODEX}
    for path, text in found.items():
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
    return found


def servers(path: Path) -> dict[str, list[str]]:
    """Return how each server of a JSON file is started."""
    found = json.loads(path.read_text("utf-8"))["mcpServers"]
    return {
        name: [one["command"], *map(str, one.get("args", []))]
        for name, one in found.items()
        if "command" in one
    }


def test_a_list_comes_first_and_without_a_yes_nothing_is_changed(
    run: Callable[..., Ran], files: dict[Path, str]
) -> None:
    """What would be wrapped is marked, and why the others stay is said."""
    ran = run("wrap", "--all")
    assert ran.status == 0
    marked = [line.split()[1] for line in ran.out.splitlines() if line.startswith("  * ")]
    assert marked == ["weather", "files", "dice"]
    for why in (
        "far  has an address",
        "me  is humanmcp itself",
        "odd  has a command or an",
    ):
        assert why in ran.out
    assert "wrap --all --yes" in ran.err
    assert {path: path.read_text("utf-8") for path in files} == files


def test_all_are_wrapped_and_unwrapped_byte_for_byte(
    run: Callable[..., Ran], files: dict[Path, str], tmp_path: Path
) -> None:
    """With one backup a file each time; wrapping again finds nothing to do."""
    ran = run("wrap", "--all", "--yes", "--hold", "next")
    assert ran.status == 0
    started = servers(tmp_path / ".cursor" / "mcp.json")
    assert started["weather"][-5:] == ["--hold", "next", "--", "weather-app", "run"]
    assert started["weather"][1:4] == ["tap", "--title", "weather"]
    assert started["me"] == ["/opt/bin/humanmcp", "serve"]
    assert started["odd"] == ["x", "1"]
    assert '"dice"' in (tmp_path / ".codex" / "config.toml").read_text("utf-8")
    assert len(list((tmp_path / ".cursor").glob("*.bak"))) == 1
    again = run("wrap", "--all", "--yes")
    assert (again.status, "No host" in again.err) == (0, True)
    assert run("unwrap", "--all").status == 0
    assert {path: path.read_text("utf-8") for path in files} != files
    assert run("unwrap", "--all", "--yes").status == 0
    assert {path: path.read_text("utf-8") for path in files} == files


def test_a_file_that_was_edited_since_keeps_the_edit(
    run: Callable[..., Ran], files: dict[Path, str], tmp_path: Path
) -> None:
    """Only the taps go."""
    assert files
    path = tmp_path / ".cursor" / "mcp.json"
    run("wrap", "--all", "--yes")
    path.write_text(path.read_text("utf-8").replace('"A": "b"', '"A": "c"'), "utf-8")
    run("unwrap", "--all", "--yes")
    edited = json.loads(path.read_text("utf-8"))["mcpServers"]
    assert edited["weather"] == {"command": "weather-app", "args": ["run"], "env": {"A": "c"}}
    assert servers(path)["files"] == ["files-app"]


def test_one_file_that_is_not_understood_stops_no_other(
    run: Callable[..., Ran], files: dict[Path, str], tmp_path: Path
) -> None:
    """It is named, left alone, and told by the exit status."""
    assert files
    (tmp_path / ".cursor" / "mcp.json").write_text("{", "utf-8")
    ran = run("wrap", "--all", "--yes")
    assert ran.status == 1
    assert "mcp.json" in ran.err
    assert "Codex" in ran.err
    assert (tmp_path / ".cursor" / "mcp.json").read_text("utf-8") == "{"


@pytest.mark.parametrize(
    ("typed", "changed"), [("y", True), ("\uff59", True), ("n", False), ("", False)]
)
def test_a_person_is_asked_once(
    run: Callable[..., Ran],
    files: dict[Path, str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    typed: str,
    changed: bool,
) -> None:
    """One question for all; anything but a yes, in wide letters, too, is a no."""
    person = io.StringIO(f"{typed}\nnext")
    monkeypatch.setattr(person, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", person)
    assert run("wrap", "--all").status == 0
    assert person.read() == "next"
    assert ({path: path.read_text("utf-8") for path in files} != files) is changed


def test_without_all_a_host_and_a_server_are_named(run: Callable[..., Ran]) -> None:
    """Neither is guessed."""
    for words in ((), ("cursor",)):
        for command in ("wrap", "unwrap"):
            ran = run(command, *words)
            assert ran.status == 1
            assert "--all" in ran.err


def test_where_nothing_is_configured_that_is_said(run: Callable[..., Ran]) -> None:
    """In both directions."""
    for command in ("wrap", "unwrap"):
        ran = run(command, "--all", "--yes")
        assert (ran.status, ran.err.startswith("No host")) == (0, True)


CLAUDE = """{
  "numStartups": 12,
  "mcpServers": {"dice": {"type": "stdio", "command": "dice", "args": []}},
  "projects": {
    "/home/me/one": {
      "allowedTools": [],
      "mcpServers": {"weather": {"command": "weather-app", "args": ["run"], "env": {}}}
    },
    "/home/me/two": {
      "mcpServers": {"weather": {"command": "other"}, "far": {"url": "https://e.org"}}
    },
    "/home/me/three": {"history": []},
    "/home/me/odd": {"mcpServers": []}
  }
}
"""


def test_the_servers_of_single_projects_are_wrapped_and_unwrapped(
    run: Callable[..., Ran], tmp_path: Path
) -> None:
    """Claude Code keeps them in ~/.claude.json under `projects`; one backup, byte for byte."""
    path = tmp_path / ".claude.json"
    path.write_text(CLAUDE, "utf-8")
    listed = run("wrap", "--all")
    assert [line.split("  ")[1] for line in listed.out.splitlines() if line.startswith("  * ")] == [
        "* dice",
        "* weather (in /home/me/one)",
        "* weather (in /home/me/two)",
    ]
    assert "far (in /home/me/two)  has an address" in listed.out
    assert run("wrap", "--all", "--yes").status == 0
    projects = json.loads(path.read_text("utf-8"))["projects"]
    started = projects["/home/me/one"]["mcpServers"]["weather"]
    assert started["args"][-3:] == ["--", "weather-app", "run"]
    assert projects["/home/me/two"]["mcpServers"]["weather"]["args"][-2:] == ["--", "other"]
    assert projects["/home/me/odd"] == {"mcpServers": []}
    assert len(list(tmp_path.glob("*.bak"))) == 1
    assert run("unwrap", "--all", "--yes").status == 0
    assert path.read_text("utf-8") == CLAUDE


MOVED: Final = [
    (host.name, written)
    for host in HOSTS
    if host.format is not Format.YAML
    for written in (host.user_places or host.places)[""]
    if written.startswith("$")
]


@pytest.mark.parametrize(("host", "written"), MOVED)
def test_every_command_goes_where_the_host_s_variable_says(
    run: Callable[..., Ran],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    written: str,
) -> None:
    """The usual file is not even made; what is in it is not looked at."""
    name, _, rest = written.removeprefix("$").partition("/")
    path, usual = tmp_path / "moved" / rest, place(BY_NAME[host], "", tmp_path, {}, None)
    usual.parent.mkdir(parents=True, exist_ok=True)
    usual.write_text("")
    monkeypatch.setenv(name, str(tmp_path / "moved"))
    assert str(path) in run("config", host, "--user").err
    assert run("config", host, "--user", "--write").status == 0
    assert "humanmcp" in path.read_text("utf-8")
    add = local_entry(BY_NAME[host], HostCommand("/bin/x", ("y",)), 0)
    file = ConfigFile.read(BY_NAME[host], path)
    file.having({(*BY_NAME[host].keys, "other"): add}).write()
    run("wrap", "--all", "--yes")
    assert "tap" in command_in(ConfigFile.read(BY_NAME[host], path).entries()["other"])
    run("unwrap", "--all", "--yes")
    assert ConfigFile.read(BY_NAME[host], path).entries()["other"] == add
    assert str(path) in "".join(str(dict(one.fillings).get("path")) for one in doctor.check_hosts())
    assert run("config", host, "--user", "--remove").status == 0
    assert not ConfigFile.read(BY_NAME[host], path).entries().keys() - {"other"}
    assert usual.read_text() == ""

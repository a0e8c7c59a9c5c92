"""The tap is put before a server's command in a host's configuration, and taken out again."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.extensions.tap.wrap import is_wrapped, state_of, unwrapped, wrapped
from tests.support.inbox_folder import Ran
from tests.support.serve_process import HUMANMCP, run_command

STARTER = ("/opt/bin/humanmcp",)


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "npx", "args": ["-y", "server", "--", "x"], "env": {"KEY": "1"}, "timeout": 5},
        {"type": "stdio", "command": "/bin/server"},
        {"type": "local", "command": ["uvx", "server"], "enabled": True},
        {"cmd": "server", "args": [], "type": "stdio"},
    ],
    ids=["plain", "without arguments", "one list", "cmd"],
)
def test_what_is_wrapped_and_unwrapped_is_the_same_entry(entry: dict[str, Any]) -> None:
    """In every shape that hosts have; all other keys stay."""
    tapped = wrapped(entry, STARTER, ("--hold", "in"))
    assert is_wrapped(tapped)
    assert not is_wrapped(entry)
    back = unwrapped(tapped)
    assert {**back, "args": back.get("args", [])} == {**entry, "args": entry.get("args", [])}
    assert set(entry) <= set(tapped)


def test_the_servers_own_words_come_after_the_dashes() -> None:
    """The order of the article, with `--` between ours and theirs."""
    tapped = wrapped({"command": "npx", "args": ["-y", "s"]}, STARTER, ("--quiet",))
    assert tapped == {
        "command": "/opt/bin/humanmcp",
        "args": ["tap", "--quiet", "--", "npx", "-y", "s"],
    }


@pytest.mark.parametrize(
    ("entry", "state"),
    [
        ({"command": "npx"}, "plain"),
        ({"command": {"path": "npx"}}, "plain"),
        ({"command": "/opt/bin/humanmcp", "args": ["serve"]}, "ours"),
        ({"command": "/opt/bin/humanmcp", "args": ["tap", "--", "npx"]}, "wrapped"),
        *(({key: "https://x"}, "remote") for key in ("url", "httpUrl", "serverUrl", "uri")),
        ({"command": "npx", "args": ["-p", 80]}, "odd"),
        ({"command": ["npx", 80]}, "odd"),
        ({"command": 1}, "odd"),
        ({}, "odd"),
        ("npx", "odd"),
    ],
)
def test_only_an_entry_with_a_command_of_strings_can_have_a_tap(entry: object, state: str) -> None:
    """An entry with an address has none to stand before, by whatever name a host has for it."""
    assert state_of(entry).value == state


def test_our_own_server_is_not_taken_for_a_wrapped_one() -> None:
    """`humanmcp serve` has no tap; and what only has its name among its words is another server."""
    assert not is_wrapped({"command": "/opt/bin/humanmcp", "args": ["serve", "--", "tap"]})
    assert unwrapped({"command": "other", "args": ["tap", "--", "x"]}) is None
    for words in (["-c", "x", "humanmcp", "tap", "--", "y"], ["humanmcp"]):
        assert unwrapped({"command": "sh", "args": words}) is None
        assert state_of({"command": "sh", "args": words}).value == "plain"


CONFIG = """{
  // my servers
  "servers": {
    "demo": { "command": "demo-app", "args": [ "run", 1.0, ], },
    "other": { "url": "https://example.org" }
  },
}
"""
PLAIN = """{
  "mcpServers": {
    "demo":   {"command": "demo-app", "args": ["run"], "env": {"A": "b"}}
  }
}
"""


def command(name: str, *words: str) -> tuple[int, str]:
    """Run `humanmcp wrap` or `unwrap`."""
    ran = run_command(Path.home(), *HUMANMCP, name, *words, "--lang", "en")
    return ran.returncode, ran.stdout + ran.stderr


def test_the_file_is_as_it_was_after_both(tmp_path: Path) -> None:
    """With a backup each time, and byte for byte."""
    path = tmp_path / "config.json"
    path.write_text(PLAIN, encoding="utf-8")
    status, said = command("wrap", "claude-desktop", "demo", "--path", str(path), "--hold", "next")
    assert status == 0
    assert "To watch" in said
    entry = json.loads(path.read_text(encoding="utf-8"))["mcpServers"]["demo"]
    assert entry["env"] == {"A": "b"}
    assert entry["args"][-5:] == ["--hold", "next", "--", "demo-app", "run"]
    (backup,) = tmp_path.glob("*.bak")
    assert backup.read_text(encoding="utf-8") == PLAIN
    assert command("wrap", "claude-desktop", "demo", "--path", str(path))[0] == 1
    assert command("unwrap", "claude-desktop", "demo", "--path", str(path))[0] == 0
    assert path.read_text(encoding="utf-8") == PLAIN
    assert command("unwrap", "claude-desktop", "demo", "--path", str(path))[0] == 1


def test_comments_survive(tmp_path: Path) -> None:
    """VS Code's file is JSON with comments."""
    path = tmp_path / "mcp.json"
    path.write_text(CONFIG.replace("1.0, ", ""), encoding="utf-8")
    assert command("wrap", "vscode", "demo", "--path", str(path))[0] == 0
    assert "// my servers" in path.read_text(encoding="utf-8")
    status, said = command("wrap", "vscode", "other", "--path", str(path))
    assert status == 1
    assert "has an address, not a command" in said


@pytest.mark.parametrize("command_of_zed", ['{"path": "npx", "args": ["-y"]}', '{"path": "npx"}'])
def test_a_command_that_is_an_object_is_wrapped_in_it(
    run: Callable[..., Ran], tmp_path: Path, command_of_zed: str
) -> None:
    """Zed wrote it so, with its environment beside; byte for byte afterwards."""
    path = tmp_path / "settings.json"
    text = f'{{"context_servers": {{"old": {{"command":   {command_of_zed}}}}}}}'
    path.write_text(text, encoding="utf-8")
    assert run("wrap", "zed", "old", "--path", str(path)).status == 0
    command = json.loads(path.read_text("utf-8"))["context_servers"]["old"]["command"]
    assert command["args"][command["args"].index("--") + 1] == "npx"
    assert run("unwrap", "zed", "old", "--path", str(path)).status == 0
    assert path.read_text("utf-8") == text


INSIDE = """{
\t"servers": {
\t\t"demo": { /* mine */
\t\t\t"type": "stdio", // kind
\t\t\t"command": "node", // what
\t\t\t"args": ["a.js",],
\t\t\t"env": {"K": "v"}, // where
\t\t},
\t},
}
"""


def test_comments_beside_the_other_members_survive_an_edit_in_between(tmp_path: Path) -> None:
    """Only the command is changed; so they also stay when the file was edited while wrapped."""
    path = tmp_path / "mcp.json"
    path.write_text(INSIDE, encoding="utf-8")
    assert command("wrap", "vscode", "demo", "--path", str(path))[0] == 0
    between = path.read_text(encoding="utf-8")
    for comment in ("/* mine */", "// kind", "// what", '"env": {"K": "v"}, // where'):
        assert comment in between
    path.write_text(between.replace('"v"', '"w"'), encoding="utf-8")
    assert command("unwrap", "vscode", "demo", "--path", str(path))[0] == 0
    after = path.read_text(encoding="utf-8")
    assert '"env": {"K": "w"}, // where' in after
    assert '"command": "node", // what' in after


ARGUMENTS = """{
	"servers": {
		"demo": {
			"command": "node",
			"args": [
				// the script
				"a.js", /* built */ "--port",
				"80", // not 8080
			],
			"env": {"K": "v"}
		}
	}
}
"""


@pytest.mark.parametrize(
    "text",
    [
        ARGUMENTS,
        ARGUMENTS.replace("node", "uvx").replace("\n\t\t\t\t//", " //"),
        ARGUMENTS.replace('"command": "node",\n', "").replace("args", "command"),
        INSIDE.replace('"a.js",', '/* one */ "a.js", "b" /* two */,'),
    ],
    ids=["lines", "beside the bracket", "one list", "one line"],
)
def test_comments_in_the_arguments_survive_an_edit_in_between(tmp_path: Path, text: str) -> None:
    """Wrapped, edited by hand, and unwrapped: only what was edited is another text."""
    path = tmp_path / "mcp.json"
    path.write_text(text, encoding="utf-8")
    assert command("wrap", "vscode", "demo", "--path", str(path))[0] == 0
    between = path.read_text(encoding="utf-8")
    assert between != text
    edited = between.replace('"v"', '"w"').replace("// the script", "// my script")
    path.write_text(edited, encoding="utf-8")
    assert command("unwrap", "vscode", "demo", "--path", str(path))[0] == 0
    expected = text.replace('"v"', '"w"').replace("// the script", "// my script")
    assert path.read_text(encoding="utf-8") == expected


def test_comments_that_were_written_beside_the_tap_survive(tmp_path: Path) -> None:
    """In a list that had none before; one of the tap's own words goes with it."""
    path = tmp_path / "mcp.json"
    path.write_text(ARGUMENTS.replace("// the script", "").replace(" // not 8080", ""), "utf-8")
    assert command("wrap", "vscode", "demo", "--path", str(path))[0] == 0
    between = path.read_text(encoding="utf-8")
    path.write_text(between.replace('"80"', '"80" // mine'), encoding="utf-8")
    assert command("unwrap", "vscode", "demo", "--path", str(path))[0] == 0
    assert '"80" // mine' in path.read_text(encoding="utf-8")


TOML = """# mine
[mcp_servers.a] # the first
command = "x" # what
args = [
  "1", # one
]
startup_timeout_sec = 5 # long

[mcp_servers.a.env]
K = "v"

[other]
x = 1
"""


TOML_ARGUMENTS = TOML.replace(
    """  "1", # one
""",
    """  # the script
  "a.js", "--port", # built
  "80", # not 8080
  # the end
""",
)


@pytest.mark.parametrize(
    "text",
    [
        TOML,
        TOML_ARGUMENTS,
        TOML_ARGUMENTS.replace('[\n  # the script\n  "a.js"', '["a.js"'),
        TOML_ARGUMENTS.replace("\n", "\r\n"),
        TOML.replace('args = [\n  "1", # one\n]', "args = ['1', '2'] # two").replace(
            "\n\n[mcp_servers.a.env]\nK = ", "\nenv.K = "
        ),
    ],
    ids=["one", "lines", "beside the bracket", "CR LF", "one line"],
)
def test_comments_in_the_arguments_of_toml_survive_an_edit_in_between(
    tmp_path: Path, text: str
) -> None:
    """Codex, as in JSON: wrapped, edited by hand, and unwrapped."""
    path = tmp_path / "config.toml"
    path.write_bytes(text.encode())
    assert command("wrap", "codex", "a", "--path", str(path))[0] == 0
    between = path.read_bytes().decode()
    assert between != text
    path.write_bytes(between.replace('"v"', '"w"').replace("# not 8080", "# mine").encode())
    assert command("unwrap", "codex", "a", "--path", str(path))[0] == 0
    expected = text.replace('"v"', '"w"').replace("# not 8080", "# mine")
    assert path.read_bytes().decode() == expected


def test_a_table_with_children_is_wrapped_in_place(tmp_path: Path) -> None:
    """Codex: the environment is a table below the server's own; nothing but the command changes."""
    path = tmp_path / "config.toml"
    path.write_text(TOML, encoding="utf-8")
    assert command("wrap", "codex", "a", "--path", str(path))[0] == 0
    text = path.read_text(encoding="utf-8")
    assert "startup_timeout_sec = 5 # long\n\n[mcp_servers.a.env]" in text
    entry = tomllib.loads(text)["mcp_servers"]["a"]
    assert entry["args"][-3:] == ["--", "x", "1"]
    assert entry["env"] == {"K": "v"}
    assert command("unwrap", "codex", "a", "--path", str(path))[0] == 0
    assert path.read_text(encoding="utf-8") == TOML


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("claude-desktop", '{"mcpServers":{"a":{"command":"x"}}}'),
        ("codex", "[mcp_servers.a]\r\ncommand = 'x'\r\n"),
        ("codex", "[mcp_servers.a]  # mine\ncommand = 'x'"),
    ],
)
def test_an_entry_without_arguments_is_as_it_was_after_both(
    tmp_path: Path, host: str, text: str
) -> None:
    """None are put in where none were."""
    path = tmp_path / "config"
    path.write_bytes(text.encode())
    assert command("wrap", host, "a", "--path", str(path))[0] == 0
    assert command("unwrap", host, "a", "--path", str(path))[0] == 0
    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize(
    "text",
    [
        '[mcp_servers]\nd.command =   "x" # a\nd.args = [ "y" ] # b\n[z]\na=1\n',
        '[mcp_servers.d]\ncommand="x"\n[z]\na=1\n[mcp_servers.d.env]\nA="b" # e\n',
        'mcp_servers = { d = { command = "x", args = [ "y" ] } } # c\n',
    ],
    ids=["dotted keys", "two places", "in braces"],
)
def test_an_entry_that_is_not_in_one_piece_is_as_it_was_after_both(
    run: Callable[..., Ran], tmp_path: Path, text: str
) -> None:
    """The whole file is that of the backup, where nothing else was changed."""
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    assert run("wrap", "codex", "d", "--path", str(path)).status == 0
    assert run("unwrap", "codex", "d", "--path", str(path)).status == 0
    assert path.read_text("utf-8") == text


def test_an_argument_that_is_no_text_is_not_dropped_silently(tmp_path: Path) -> None:
    """The server would be started otherwise than before."""
    path = tmp_path / "config.json"
    path.write_text('{"mcpServers":{"a":{"command":"x","args":["-p",80]}}}', encoding="utf-8")
    status, said = command("wrap", "claude-desktop", "a", "--path", str(path))
    assert status == 1
    assert "a command or an argument that is not a string" in said


def test_what_cannot_be_wrapped_is_said_and_left_alone(tmp_path: Path) -> None:
    """The trailing comma of an article is named with its line; an unknown server with the known."""
    path = tmp_path / "config.json"
    broken = PLAIN.replace('"b"}}', '"b"}},')
    path.write_text(broken, encoding="utf-8")
    status, said = command("wrap", "claude-desktop", "demo", "--path", str(path))
    assert status == 1
    assert "line 3" in said
    assert path.read_text(encoding="utf-8") == broken
    path.write_text(PLAIN, encoding="utf-8")
    status, said = command("wrap", "claude-desktop", "nobody", "--path", str(path))
    assert status == 1
    assert "demo" in said
    nothing = str(tmp_path / "none.json")
    said = command("wrap", "claude-desktop", "demo", "--path", nothing)[1]
    assert "has no servers. Add demo" in said
    status, said = command("wrap", "claude-desktop", "demo", "--path", str(path), "--hold", "tool:")
    assert status == 1
    assert "tool:NAME" in said
    assert path.read_text(encoding="utf-8") == PLAIN


COMMENTED: Final = {
    ("vscode", "mcp.json"): """{
\t"servers": {
\t\t"docs": { "command": "npx", "args": ["-y", /* pinned because of #12 */ "docs-mcp@1"] },
\t\t"fs": { "command": "uvx", "args": [
\t\t\t"fs", // the server
\t\t\t"C:\\\\Users\\\\me",   // my home
\t\t] },
\t},
\t"inputs": [1], // elsewhere
}
""",
    ("cursor", "mcp.json"): """{"mcpServers": {
  "docs": {"args":    ["-y",
     "docs-mcp@1"], "command": "npx"},
  "fs": {"command": "uvx", "args": ["fs",   "x"]}},
  "inputs": [1]}
""",
    ("codex", "config.toml"): """inputs = 1 # elsewhere

[mcp_servers.docs] # the first
command = "npx"
args = [
  "-y", # pinned because of #12
  "docs-mcp@1",
]

[mcp_servers.docs.env] # where
K = "v"

# the other
[mcp_servers.fs]
args = ["fs", # the server
  "x"]
command = "uvx"
""",
}
"""The configurations of two servers, laid out by hand."""


@pytest.mark.parametrize("edited_after", range(5))
@pytest.mark.parametrize("taken_out", ["docs fs", "fs docs"])
@pytest.mark.parametrize("put_in", ["docs fs", "fs docs"])
@pytest.mark.parametrize(("host", "name"), COMMENTED, ids=[host for host, _ in COMMENTED])
def test_an_edit_elsewhere_changes_nothing_of_what_comes_back(
    run: Callable[..., Ran],
    tmp_path: Path,
    *,
    host: str,
    name: str,
    put_in: str,
    taken_out: str,
    edited_after: int,
) -> None:
    """Byte for byte, with the comments inside the entries, in every order and at every moment."""
    path = tmp_path / name
    text = COMMENTED[host, name]
    path.write_text(text, encoding="utf-8")
    steps = [("wrap", server) for server in put_in.split()]
    steps += [("unwrap", server) for server in taken_out.split()]
    for number in range(5):
        if number == edited_after:
            old, new = ("inputs = 1", "inputs = 23") if host == "codex" else ("[1]", "[2, 3]")
            path.write_text(path.read_text("utf-8").replace(old, new), encoding="utf-8")
            text = text.replace(old, new)
        if number < len(steps):
            verb, server = steps[number]
            ran = run(verb, host, server, "--path", str(path))
            assert ran.status == 0, ran.err
    assert path.read_text("utf-8") == text


def test_a_host_without_hooks_is_told_of_the_tap(run: Callable[..., Ran]) -> None:
    """Its calls can be held in front of its servers."""
    assert "`humanmcp tap --hold tools/call`" in run("config", "zed", "--approvals").err

"""The configuration of a host, and what is said of the mistakes in it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from humanmcp.common.child import ChildCommand
from humanmcp.common.toml_edit import table_text
from humanmcp.extensions.host.config import ServerEntry, find, parse, read_config
from humanmcp.extensions.tap.wrap import state_of
from humanmcp.http.server_address import ServerAddress
from humanmcp.locales.stop import StopError
from humanmcp.setup.config_file import ConfigFile
from tests.support.speaking import said_in

TRAILING = """{
  "mcpServers": {
    "demo-app": {
      "command": "uv",
      "args": [
        "run",
        "server.py"
      ]
    },
  }
}
"""


def written(servers: Any) -> str:  # noqa: ANN401 - also what is wrong
    """Write a configuration."""
    return json.dumps({"mcpServers": servers})


def complaint(text: str) -> str:
    """Return what is said of a configuration."""
    with pytest.raises(StopError) as caught:
        parse(text, Path("x.json"))
    assert said_in("ja", caught.value.sentence) != str(caught.value)
    return str(caught.value)


def test_an_entry_says_how_to_start_a_server() -> None:
    """An entry has a command and arguments; `env` may be left out."""
    gdrive = {"command": "npx", "args": ["-y", "gdrive"], "env": {"CREDENTIALS": "/x"}}
    assert parse(written({"gdrive": gdrive, "plain": {"command": "dice"}}), Path("x")) == (
        ServerEntry("gdrive", ChildCommand(("npx", "-y", "gdrive"), {"CREDENTIALS": "/x"})),
        ServerEntry("plain", ChildCommand(("dice",))),
    )


@pytest.mark.parametrize("key", ["url", "httpUrl", "serverUrl"])
def test_a_remote_entry_is_called_with_its_headers(key: str) -> None:
    """An entry with a `url` works like any other; a key of a variable is not shown."""
    headers = {"Authorization": "Bearer ${KEY}", "X-Team": "blue"}
    remote = {"type": "http", key: "https://example.com/${WHERE}", "headers": headers}
    (entry,) = parse(written({"github": remote}), Path("x"), {"KEY": "secret", "WHERE": "mcp"})
    assert entry.can_start
    assert find((entry,), "github", Path("x")) is entry.target
    address = entry.target
    assert isinstance(address, ServerAddress)
    assert address.url == "https://example.com/mcp"
    assert address.changes.given == {"Authorization": "Bearer secret", "X-Team": "blue"}
    assert "secret" not in str(address) + str(address.changes.shown((("a", "b"),)))
    assert "authorization" in address.changes.secret


@pytest.mark.parametrize(
    ("remote", "said"),
    [
        ({"url": "https://a b/"}, "is not a valid address"),
        ({"url": "https://a/", "headers": {"a b": ""}}, "a b is not a valid HTTP header"),
        ({"url": "https://a/", "headers": {"a": "${KEY}"}}, "the variable KEY is not set"),
    ],
)
def test_a_mistake_in_a_remote_entry_costs_this_entry_alone(
    remote: dict[str, object], said: str
) -> None:
    """The others of the configuration still work."""
    broken, dice = parse(written({"github": remote, "dice": {"command": "dice"}}), Path("x"), {})
    assert dice.can_start
    assert not broken.can_start
    assert said in str(broken.trouble)


def test_a_trailing_comma_is_shown_by_line_and_name() -> None:
    """Line 10, after "demo-app", and where the comma itself stands."""
    said = complaint(TRAILING)
    assert "line 10" in said
    assert 'after "demo-app" (line 9, column 6)' in said


def test_a_trailing_comma_in_a_list_has_no_name() -> None:
    """The element of a list has none; the place is said all the same."""
    said = complaint('{"mcpServers": {"a": {"command": "b", "args": ["c",]}}}')
    assert "Remove the comma (line 1, column 51)" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"mcpServers": {}}', "no MCP servers found in config file"),
        ("{}", 'no "mcpServers"'),
        ("[]", "must contain an object"),
        ("hello", "x.json, line 1, column 1"),
        ("", 'no "mcpServers"'),
        (written([]), '"mcpServers" must contain the servers'),
    ],
)
def test_each_mistake_has_its_sentence(text: str, said: str) -> None:
    """What is wrong with the file, without a traceback."""
    assert said in complaint(text)


def in_json(servers: dict[str, object]) -> str:
    return json.dumps({"mcpServers": servers})


def in_jsonc(servers: dict[str, object]) -> str:
    return f"\ufeff// mine\n{json.dumps({'servers': servers})[:-1]},}}"


def in_toml(servers: dict[str, object]) -> str:
    return f"\ufeff{table_text(['mcp_servers'], servers)}"


def in_yaml(servers: dict[str, object]) -> str:
    return f"extensions: {json.dumps(servers)}\n"


@pytest.mark.parametrize(
    ("write", "path"),
    [(in_json, "a.json"), (in_jsonc, "b.json"), (in_toml, "c.toml"), (in_yaml, "d.yaml")],
)
@pytest.mark.parametrize(
    ("entry", "said", "state"),
    [
        ("dice", "a must be an object", "odd"),
        ({}, 'a has neither "command"', "odd"),
        ({"command": 1}, "a.command must be a string in quotes", "odd"),
        ({"cmd": "b", "args": "c"}, "a.args must be an array", "odd"),
        ({"command": "b", "args": ["c", 1]}, "a.args[1] must be a string", "odd"),
        ({"command": ["b", 1]}, "a.args[0] must be a string", "odd"),
        ({"command": {"path": 1}}, "a.command must be a string", "odd"),
        ({"command": "b", "env": []}, "a.env must be an object", "plain"),
        ({"command": "b", "envs": {"PORT": 1}}, "a.env.PORT must be a string", "plain"),
        ({"command": "b", "cwd": 1}, "a.cwd must be a string", "plain"),
        ({"uri": "https://a/", "headers": {"k": 1}}, "a.headers.k must be a", "remote"),
        ({"url": 1}, "a.url must be a string", "odd"),
        ({"command": "~/bin/srv"}, "nothing replaces ~", "plain"),
        ({"command": {"path": "~/srv"}}, "nothing replaces ~", "plain"),
        ({"command": "python3 server.py"}, '"args": ["server.py"]', "plain"),
        ({"command": "b", "args": ["${input:key}"]}, "VS Code asks its user", "plain"),
        ({"url": "https://a/", "headers": {"k": "${input:key}"}}, "VS Code asks", "remote"),
    ],
)
def test_a_mistake_in_an_entry_costs_this_entry_alone(
    write: Callable[[dict[str, object]], str], path: str, entry: object, said: str, state: str
) -> None:
    """In every format; the others can be started, and `wrap` leaves alone what has no command."""
    text = write({"a": entry, "right": {"command": "b"}})
    broken, right = parse(text, Path(path), {})
    assert said in str(broken.trouble)
    assert not broken.can_start
    assert right.can_start
    assert state_of(ConfigFile.of_any_host(Path(path), text).entries()["a"]).value == state


COMMENTED = """{
  // mine
  "%s": {"a": {"command": "b", "args": ["c",],},},
}"""
CODEX = '[mcp_servers.a]\ncommand = "b"\nargs = ["c"]\n'


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (COMMENTED % "servers", "mcp.json"),
        (COMMENTED % "context_servers", "settings.json"),
        (COMMENTED % "mcpServers", "mine.jsonc"),
        (CODEX, "config.toml"),
        ('{"context_servers":{"a":{"command":{"path":"b","args":["c"],"env":null}}}}', "z.json"),
        ("extensions:\n  # mine\n  a:\n    cmd: b\n    args: [c]\n    envs: {}\n", "config.yaml"),
        ("---\nextensions:\n  'a':\n    cmd: \"b\"  # b\n    args:\n    - c\n", "config.yml"),
        ('{"mcp":{"a":{"type":"local","command":["b","c"],"environment":{}}}}', "opencode.json"),
        ('{"mcp":{"servers":{"a":{"command":"b","args":["c"]}}}}', "settings.json"),
    ],
)
def test_the_file_of_each_host_is_read_as_the_host_reads_it(text: str, path: str) -> None:
    """With comments where the host has them; Zed's older form, too."""
    (entry,) = parse(text, Path(path), {})
    assert entry == ServerEntry("a", ChildCommand(("b", "c")))


@pytest.mark.parametrize(("path", "said"), [("c.yaml", "has no"), ("c.toml", "is not TOML")])
def test_another_format_is_named(path: str, said: str) -> None:
    """And what to write instead."""
    with pytest.raises(StopError) as found:
        parse("a:\n  b: 1\n", Path(path))
    assert said in str(found.value)


GOOSE = """extensions:
  far:
    type: streamable_http
    uri: http://127.0.0.1:9/mcp
    headers: {Authorization: 'Bearer x'}
  off:
    enabled: false
    cmd: b
  developer: {type: builtin, enabled: true}
  number:
    cmd: b
    envs:
      PORT: 3
"""


def test_one_bad_entry_of_goose_stops_only_itself() -> None:
    """Its own tools have no command; the others start."""
    far, off, developer, number = parse(GOOSE, Path("config.yaml"), {})
    assert far.can_start
    assert isinstance(far.target, ServerAddress)
    assert far.target.changes.given == {"Authorization": "Bearer x"}
    assert off.disabled
    assert developer.trouble is not None
    assert number.trouble is not None
    assert "PORT" in str(number.trouble)


def test_yaml_that_is_not_understood_is_named_by_its_line() -> None:
    """Nothing is guessed: another command would be started."""
    with pytest.raises(StopError, match="line 3"):
        parse("extensions:\n  a:\n    cmd: !x b\n", Path("c.yaml"))


def test_a_file_that_is_missing_is_an_error_that_names_it(tmp_path: Path) -> None:
    """Nothing is created behind anybody's back."""
    missing = tmp_path / ".mcp.json"
    with pytest.raises(StopError, match="does not exist"):
        read_config(missing)
    assert not missing.exists()


def test_a_byte_order_mark_is_read_over(tmp_path: Path) -> None:
    """Windows editors add one."""
    file = tmp_path / "x.json"
    file.write_bytes(b"\xef\xbb\xbf" + written({"a": {"command": "b"}}).encode())
    assert [entry.name for entry in read_config(file)] == ["a"]


def test_the_cell_of_vs_code_is_read_too() -> None:
    """`{"mcp": {"servers": …}}`, as the first human MCP server's README has it."""
    text = json.dumps({"mcp": {"servers": {"human-mcp": {"command": "humanmcp", "args": []}}}})
    assert [entry.name for entry in parse(text, Path("x"))] == ["human-mcp"]


def test_a_disabled_entry_is_not_started() -> None:
    """Several hosts know the word."""
    (entry,) = parse(written({"a": {"command": "b", "disabled": True}}), Path("x"))
    assert not entry.can_start


def test_a_server_that_is_not_there_is_answered_with_those_that_are() -> None:
    """A mistyped name is seen at once."""
    entries = parse(written({"dice": {"command": "b"}}), Path("x"))
    with pytest.raises(StopError, match=r"has no server dize\. It has: dice"):
        find(entries, "dize", Path("x"))


@pytest.mark.parametrize(
    ("words", "is_person"),
    [
        (("humanmcp", "serve"), True),
        (("/opt/x/humanmcp.exe", "serve", "--title", "kim"), True),
        (("python", "-m", "humanmcp", "serve"), True),
        (("uvx", "humanmcp", "serve", "--by-hand"), True),
        (("humanmcp", "serve", "--auto"), False),
        (("humanmcp", "tap", "--", Path("x")), False),
        (("python", "dice.py"), False),
    ],
)
def test_a_server_is_known_to_be_a_person_only_where_it_surely_is(
    words: tuple[str, ...], *, is_person: bool
) -> None:
    """What is said of how long a person has must not be made up."""
    assert ServerEntry("x", ChildCommand(words)).is_person is is_person


def test_variables_are_filled_in_as_hosts_do() -> None:
    """In the command, its arguments, its environment and folder; what is none stays."""
    entry = {
        "command": "${RUNNER:-uvx}",
        "args": ["--key=${KEY}", "${env:KEY}", "${EMPTY:-x}", "$KEY", "${a b}"],
        "env": {"TOKEN": "${KEY}"},
        "cwd": "${HOME}/work",
    }
    environment = {"KEY": "k", "EMPTY": "", "HOME": "/home/me"}
    (found,) = parse(written({"a": entry}), Path("x"), environment)
    assert found.target == ChildCommand(
        ("uvx", "--key=k", "k", "x", "$KEY", "${a b}"),
        {"TOKEN": "k"},
        "/home/me/work",
    )


def test_a_variable_that_is_not_set_costs_its_server_only() -> None:
    """It is named with what to do, and nothing goes out verbatim."""
    servers = {"a": {"command": "b", "args": ["${KEY}"]}, "dice": {"command": "dice"}}
    broken, dice = parse(written(servers), Path("x"), {})
    assert not broken.can_start
    assert dice.can_start
    with pytest.raises(StopError, match=r"a: the variable KEY is not set.*\$\{KEY:-"):
        find((broken, dice), "a", Path("x"))


def test_a_variable_in_an_address_is_filled_in() -> None:
    """It is called where the variable says, and shown as it was written."""
    (entry,) = parse(
        written({"github": {"url": "https://${HOST}/mcp"}}), Path("x"), {"HOST": "a.jp"}
    )
    address = entry.target
    assert isinstance(address, ServerAddress)
    assert (address.url, str(address)) == ("https://a.jp/mcp", "https://${HOST}/mcp")

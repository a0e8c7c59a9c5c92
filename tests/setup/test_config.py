"""`humanmcp config HOST`: print, write, remove."""

import json
import os
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.cli import main
from humanmcp.setup import config_file
from humanmcp.setup.config_file import ConfigFileError, parsed
from humanmcp.setup.hosts import BY_NAME, HOSTS, Format
from tests.support.inbox_folder import Ran
from tests.support.speaking import said_in
from tests.support.waiting import PATIENCE

TRAILING_COMMA = """{
  "mcpServers": {
    "demo-app": {
      "command": "C:/mcptest/.venv/Scripts/mcp.exe",
      "args": [
        "run",
        "C:/mcptest/server.py"
      ]
    },
  }
}
"""
"""The first configuration of an article: the comma on line 9, the bracket on line 10."""


@pytest.fixture
def run(run: Callable[..., Ran]) -> Callable[..., Ran]:
    """Run `humanmcp config` in a home and a project of its own."""
    return partial(run, "config")


def write(path: Path, text: str) -> Path:
    """Write a file, byte for byte."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def backups(path: Path) -> list[Path]:
    """List the backups of a file."""
    return sorted(path.parent.glob(path.name + ".humanmcp-*.bak"))


def decoded(text: str, form: Format) -> Any:  # noqa: ANN401 - any decoded value
    """Read a configuration."""
    return tomllib.loads(text) if form is Format.TOML else json.loads(text)


# -- printing ---------------------------------------------------------------------------------


def test_the_snippet_alone_goes_to_stdout(run: Callable[..., Ran], tmp_path: Path) -> None:
    """It can be piped; where it goes and how the host waits is said on stderr."""
    ran = run("claude-desktop")
    (made,) = json.loads(ran.out)["mcpServers"].values()
    assert Path(made["command"]).is_absolute()
    assert os.access(made["command"], os.X_OK)
    assert made["args"][-3:] == ["serve", "--handshake", "book"]
    assert "claude_desktop_config.json" in ran.err
    assert "4 minutes" in ran.err


def test_a_folder_that_is_not_there_is_not_made_for_a_mistyped_path(
    run: Callable[..., Ran], tmp_path: Path
) -> None:
    """A host would look there for ever without a word."""
    ran = run("claude-desktop", "--write", "--path", str(tmp_path / "typo" / "mcp.json"))
    assert (ran.status, (tmp_path / "typo").exists()) == (1, False)
    assert f"There is no folder {tmp_path / 'typo'}." in ran.err
    assert run("claude-desktop", "--write", "--path", str(tmp_path / "mcp.json")).status == 0


def test_without_a_host_the_hosts_are_listed(run: Callable[..., Ran], tmp_path: Path) -> None:
    """For who reads it first; where something was to be written, nothing is."""
    listed = run()
    assert (listed.status, listed.err) == (0, "Choose a host: humanmcp config HOST\n")
    assert [line.split()[0] for line in listed.out.splitlines()] == [*BY_NAME]
    assert run("--write").status == 1
    assert list(tmp_path.iterdir()) == []


def test_what_to_do_next_keeps_the_flags_that_were_typed(run: Callable[..., Ran]) -> None:
    """A command without them would write another entry, or into another file."""
    told = run("vscode", "--user", "--title", "mcp").err
    assert "the same command with --write" in told
    assert "config vscode --write" not in told


@pytest.mark.extension("text_files")
def test_settings_become_arguments_with_absolute_paths(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts strip the environment and start servers anywhere."""
    write(tmp_path / "book.toml", "")
    monkeypatch.setenv("HUMANMCP_HOME", "inbox")
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    ran = run("vscode", "--files", "texts", "--book", "book.toml", "--title", "天気", "--by-hand")
    args = json.loads(ran.out)["servers"]["humanmcp"]["args"]
    given = dict(zip(args[1:-1:2], args[2:-1:2], strict=True))
    assert given == {
        "--home": str(tmp_path / "inbox"),
        "--files": str(tmp_path / "texts"),
        "--book": str(tmp_path / "book.toml"),
        "--title": "天気",
        "--lang": "ja",
    }
    assert args[-1] == "--by-hand"


def test_a_book_that_is_not_there_is_named(run: Callable[..., Ran]) -> None:
    """Before the host starts a server that cannot start."""
    ran = run("vscode", "--book", "nowhere.toml")
    assert ran.status == 1
    assert "nowhere.toml" in ran.err


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_every_host_is_printed_in_words_and_for_machines(
    run: Callable[..., Ran],
    host: Any,  # noqa: ANN401 - a host
) -> None:
    """The same snippet both ways."""
    shown, made = run(host.name), json.loads(run(host.name, "--json").out)
    assert shown.status == 0
    assert made["snippet"] == shown.out
    assert made["host"] == host.name
    if host.format is not Format.YAML:
        assert decoded(shown.out, host.format)


def test_an_unknown_host_lists_the_known_ones(
    run: Callable[..., Ran], capsys: pytest.CaptureFixture[str]
) -> None:
    """The usage error of the command line."""
    with pytest.raises(SystemExit) as ended:
        run("emacs")
    assert ended.value.code == 2
    assert "claude-desktop" in capsys.readouterr().err


# -- writing ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", [host for host in HOSTS if host.format is not Format.YAML], ids=lambda host: host.name
)
def test_writing_makes_the_file_and_removing_unmakes_it(
    run: Callable[..., Ran],
    host: Any,  # noqa: ANN401 - a host
) -> None:
    """A file that was not there is not there afterwards; in between it says what was printed."""
    path = Path(json.loads(run(host.name, "--json").out)["path"])
    assert not path.exists()
    snippet = run(host.name).out
    assert run(host.name, "--write").status == 0
    assert decoded(path.read_text("utf-8"), host.format) == decoded(snippet, host.format)
    if os.name != "nt":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert run(host.name, "--remove").status == 0
    assert not path.exists()


def test_other_servers_the_order_and_the_indentation_stay(
    run: Callable[..., Ran], tmp_path: Path
) -> None:
    """Only our lines are new; the old file is kept byte for byte beside it."""
    old = '{\n    "theme": "dark",\n    "mcpServers": {\n        "b": {"command": "x"}\n    }\n}\n'
    path = write(tmp_path / ".cursor" / "mcp.json", old)
    path.chmod(0o640)
    ran = run("cursor", "--write")
    new = path.read_text("utf-8")
    assert [line for line in old.splitlines() if line not in new] == []
    assert list(json.loads(new)) == ["theme", "mcpServers"]
    assert '        "humanmcp": {' in new
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    (kept,) = backups(path)
    assert kept.read_text("utf-8") == old
    assert str(kept) in ran.err


@pytest.mark.parametrize(
    "old",
    [
        "{}",
        '{"a": 1}',
        '{\r\n\t"mcpServers": {\r\n\t\t"b": {}\r\n\t}\r\n}',
        '\ufeff{\n  "mcpServers": {}\n}\n',
        "",
        "  \n",
    ],
)
def test_removing_undoes_writing_byte_for_byte(
    run: Callable[..., Ran], tmp_path: Path, old: str
) -> None:
    """Whatever the file was like before."""
    path = write(tmp_path / ".cursor" / "mcp.json", old)
    assert run("cursor", "--write").status == 0
    assert path.read_bytes() != old.encode()
    assert run("cursor", "--remove").status == 0
    assert not path.exists() if not old else path.read_bytes() == old.encode()


def test_a_byte_order_mark_that_hosts_reject_is_named(
    run: Callable[..., Ran], tmp_path: Path
) -> None:
    """It is kept, because the file is the person's."""
    path = write(tmp_path / ".cursor" / "mcp.json", '\ufeff{"mcpServers": {}}\n')
    assert "starts with a byte-order mark" in run("cursor", "--write").err
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    path.write_text('{"mcpServers": {}}\n', "utf-8")
    assert "byte-order mark" not in run("cursor", "--write").err


def test_removing_keeps_what_was_changed_since(run: Callable[..., Ran], tmp_path: Path) -> None:
    """An entry that was added after ours stays."""
    path = write(tmp_path / ".cursor" / "mcp.json", '{"mcpServers": {}}')
    run("cursor", "--write")
    value = json.loads(path.read_text("utf-8"))
    value["mcpServers"]["later"] = {"command": "x"}
    write(path, json.dumps(value, indent=2))
    run("cursor", "--remove")
    assert json.loads(path.read_text("utf-8")) == {"mcpServers": {"later": {"command": "x"}}}


def test_an_older_entry_of_ours_is_replaced(run: Callable[..., Ran], tmp_path: Path) -> None:
    """With the settings that are given now; what is printed says that it differs."""
    path = write(
        tmp_path / ".cursor" / "mcp.json",
        '{"mcpServers": {"humanmcp": {"command": "uvx", "args": ["humanmcp"]}}}',
    )
    assert "different" in run("cursor").err
    run("cursor", "--write", "--lang", "ja")
    args = json.loads(path.read_text("utf-8"))["mcpServers"]["humanmcp"]["args"]
    assert args[-4:] == ["--lang", "ja", "--handshake", "book"]
    assert "このとおりの項目" in run("cursor", "--lang", "ja").err


def test_an_entry_with_an_address_is_written_replaced_and_removed(
    run: Callable[..., Ran], tmp_path: Path
) -> None:
    """`--http`: the server is started by a person, and the entry is ours all the same."""
    path = tmp_path / ".cursor" / "mcp.json"

    def entry() -> Any:  # noqa: ANN401 - any JSON value
        return json.loads(path.read_text("utf-8"))["mcpServers"]["humanmcp"]

    ran = run("cursor", "--http", "--write")
    assert "humanmcp serve --http" in ran.err
    assert entry() == {"url": "http://127.0.0.1:8766/mcp"}
    assert run("cursor", "--remove").status == 0
    assert not path.exists()
    run("cursor", "--http", "--write")
    run("cursor", "--http", "http://localhost:9000/mcp", "--write")
    assert entry() == {"url": "http://localhost:9000/mcp"}
    assert run("cursor", "--write").status == 0
    assert "command" in entry()


def test_a_host_that_takes_no_address_says_so(run: Callable[..., Ran]) -> None:
    """And what is no address is not written."""
    assert "cannot have an address" in run("claude-desktop", "--http").err
    assert "is not a valid address" in run("cursor", "--http", "nowhere").err


@pytest.mark.parametrize("host", [host for host in HOSTS if host.remote], ids=lambda one: one.name)
def test_an_address_stands_in_every_host_s_entry_as_our_host_reads_it(
    run: Callable[..., Ran],
    host: Any,  # noqa: ANN401 - a host
) -> None:
    """Each in its own words; neither a command nor a link belongs to it."""
    made = json.loads(run(host.name, "--http", "--json").out)
    assert "http://127.0.0.1:8766/mcp" in made["entry"].values()
    assert "command" not in made["entry"]
    assert (made["link"], made["shell"]) == ("", "")


@pytest.mark.parametrize("theirs", ['{"url": "https://x.example"}', '{"command": "npx"}'])
def test_an_entry_of_somebody_else_is_never_replaced(
    run: Callable[..., Ran], tmp_path: Path, theirs: str
) -> None:
    """The name is taken; another one works."""
    old = f'{{"mcpServers": {{"humanmcp": {theirs}}}}}'
    path = write(tmp_path / ".cursor" / "mcp.json", old)
    ran = run("cursor", "--write")
    assert ran.status == 1
    assert "--name" in ran.err
    assert path.read_text("utf-8") == old
    assert run("cursor", "--write", "--name", "human").status == 0


def test_remote_entries_are_pointed_out(run: Callable[..., Ran], tmp_path: Path) -> None:
    """A `url` only entry is not started by the host, and there is nothing to answer."""
    write(tmp_path / ".cursor" / "mcp.json", '{"mcpServers": {"github": {"url": "https://x"}}}')
    assert "github is a remote entry" in run("cursor").err


def test_the_seed_s_trailing_comma_is_named_with_its_line(
    run: Callable[..., Ran], tmp_path: Path
) -> None:
    """Line 10, after "demo-app"; the file stays, the snippet is there to paste."""
    path = write(tmp_path / "config.json", TRAILING_COMMA)
    for words in ((), ("--write",), ("--remove",)):
        ran = run("claude-desktop", "--path", str(path), *words)
        assert ran.status == 1
        assert "line 10" in ran.err
        assert 'comma after "demo-app" (line 9, column 6)' in ran.err
    assert "mcpServers" in run("claude-desktop", "--path", str(path), "--write").out
    assert path.read_text("utf-8") == TRAILING_COMMA
    assert backups(path) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{\n  // note\n  "a": 1\n}', "line 2, column 3: there is a comment"),
        ('{"a": [1,]}', "line 1"),
        ('{"a": 1', "line 1"),
        ("[]", "object"),
        ('{"mcpServers": []}', '"mcpServers"'),
        ("hello", "line 1, column 1"),
        ("\xff", "not JSON"),
    ],
)
def test_a_file_that_is_not_understood_is_left_alone(
    run: Callable[..., Ran], tmp_path: Path, text: str, words: str
) -> None:
    """Named line, column and cause; not a byte is changed."""
    path = write(tmp_path / ".cursor" / "mcp.json", text)
    ran = run("cursor", "--write")
    assert ran.status == 1
    assert words in ran.err
    assert path.read_bytes() == text.encode()
    assert backups(path) == []


def test_a_file_that_cannot_be_written_stays_whole(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk in the middle: the old text, no scrap, a sentence."""
    path = write(tmp_path / ".cursor" / "mcp.json", "{}")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    ran = run("cursor", "--write")
    assert ran.status == 1
    assert "the disk is full" in ran.err
    assert path.read_text("utf-8") == "{}"
    assert [one.name for one in path.parent.iterdir() if not one.name.endswith(".bak")] == [
        "mcp.json"
    ]


def test_a_layout_that_cannot_be_changed_is_said_to_be_that(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A valid file is never called "not TOML"; it stays as it was."""
    text = 'mcp_servers = { humanmcp = { command = "humanmcp" } }\n'
    path = write(tmp_path / ".codex" / "config.toml", text)
    monkeypatch.setattr("tomlkit.parse", lambda _text: {})
    ran = run("codex", "--write")
    assert ran.status == 1
    assert "without changing other parts" in ran.err
    assert path.read_text("utf-8") == text


def test_yaml_is_printed_and_never_changed(run: Callable[..., Ran], tmp_path: Path) -> None:
    """The snippet and a link; --write says so."""
    assert "goose://extension?" in run("goose").err
    for act in ("--write", "--remove"):
        assert run("goose", act).status == 1
    assert not (tmp_path / ".config" / "goose").exists()


def test_removing_what_is_not_there_is_no_mistake(run: Callable[..., Ran]) -> None:
    """Nothing is made, and it says so."""
    ran = run("cursor", "--remove")
    assert ran.status == 0
    assert "Nothing to remove" in ran.err


def test_json_tells_what_was_done(run: Callable[..., Ran], tmp_path: Path) -> None:
    """For the programs that install programs."""
    write(tmp_path / ".cursor" / "mcp.json", "{}")
    done = json.loads(run("cursor", "--write", "--json").out)
    assert done["changed"] is True
    assert Path(done["backup"]).exists()
    again = json.loads(run("cursor", "--write", "--json").out)
    assert (again["changed"], again["backup"]) == (False, None)


@pytest.mark.parametrize(
    ("text", "english", "japanese"),
    [
        ('{"a": }', "not JSON (A value is missing here.)", "JSON ではありません\uff08ここに値が"),
        ("[" * 100_000, "is nested too deeply", "入れ子が深すぎます"),
    ],
)
def test_why_a_configuration_is_no_json_is_said_in_both_languages(
    text: str, english: str, japanese: str, tmp_path: Path
) -> None:
    """The reason is ours, not a library's: place, fact and what to do."""
    with pytest.raises(ConfigFileError) as caught:
        parsed(text, Format.JSON, tmp_path / "mcp.json")
    assert english in caught.value.sentence()
    assert japanese in said_in("ja", caught.value.sentence)


def entry_of(run: Callable[..., Ran], host: str, *words: str) -> dict[str, Any]:
    """Return the entry that is printed for a host."""
    ran = run(host, "--json", *words)
    found: dict[str, Any] = json.loads(ran.out)["entry"]
    return found


@pytest.mark.parametrize("host", ["claude-code", "gemini-cli", "qwen-code"])
def test_no_limit_is_written_for_a_host_that_waits_as_long_by_itself(
    run: Callable[..., Ran], host: str
) -> None:
    """The entry cut Claude Code's calls at 600 s, which waited over 640 s without it."""
    made = entry_of(run, host)
    assert "timeout" not in made
    assert "--client-limit" not in made["args"]


@pytest.mark.parametrize(
    ("host", "key", "written"),
    [
        ("codex", "tool_timeout_sec", 600),
        ("copilot-cli", "timeout", 600_000),
        ("opencode", "timeout", 600_000),
        ("goose", "timeout", 600),
    ],
)
def test_a_limit_that_is_written_is_told_to_the_server(
    run: Callable[..., Ran], host: str, key: str, written: int
) -> None:
    """Where the host would give up sooner; its own command, which has no limit, promises none."""
    made = entry_of(run, host)
    words = made.get("args") or made["command"]
    assert made[key] == written
    assert words[words.index("--client-limit") + 1] == "600"
    assert "--client-limit" not in json.loads(run(host, "--json").out)["shell"]


def test_the_limit_that_was_asked_for_is_written_and_told(run: Callable[..., Ran]) -> None:
    """Also for a host without one; what was said of the limit stays; 0 leaves it out."""
    made = entry_of(run, "claude-code", "--wait", "900")
    assert (made["timeout"], made["args"][1:3]) == (900_000, ["--client-limit", "900"])
    own = entry_of(run, "codex", "--client-limit", "60")
    assert own["args"][1:3] == ["--client-limit", "60.0"]
    none = entry_of(run, "codex", "--wait", "0")
    assert "tool_timeout_sec" not in none
    assert "--client-limit" not in none["args"]


@pytest.mark.parametrize(
    ("host", "member"),
    [("claude-code", "alwaysLoad"), ("codex", "required"), ("qwen-code", "alwaysLoadTools")],
)
def test_what_a_host_needs_to_offer_the_tools_at_once_is_written(
    run: Callable[..., Ran], host: str, member: str
) -> None:
    """Hosts that would not wait do, and those that hide tools at first show them."""
    assert entry_of(run, host)[member] is True
    run(host, "--write")
    assert "Nothing to change" in run(host, "--write").err


def test_what_claude_code_asks_is_said_and_the_user_s_own_scope_is_offered(
    run: Callable[..., Ran], tmp_path: Path
) -> None:
    """Twice, and no is selected; a server of the user's own is not asked about."""
    told = run("claude-code").err
    assert "Pending approval" in told
    assert "--user" in told
    assert "claude mcp add --scope user" in told
    claude = write(tmp_path / ".claude.json", '{"projects": {}}')
    for_user = run("claude-code", "--user", "--write")
    assert for_user.status == 0
    assert "Pending approval" not in for_user.err
    assert list(json.loads(claude.read_text("utf-8"))["mcpServers"]) == ["humanmcp"]
    assert not (tmp_path / ".mcp.json").exists()
    run("claude-code", "--user", "--remove")
    assert claude.read_text("utf-8") == '{"projects": {}}'


def test_after_the_entry_is_written_it_says_where_to_answer(run: Callable[..., Ran]) -> None:
    """The host then asks, and somebody has to see it."""
    assert "humanmcp desk --open" in run("cursor", "--write").err
    assert "humanmcp desk --open" not in run("cursor", "--remove").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "in its first turn. Calls wait for you"),
        (["--handshake", "hand"], "You answer the handshake by hand"),
        pytest.param(
            ["--files", "texts"], "Because of --files", marks=pytest.mark.extension("text_files")
        ),
        (["--by-hand"], "not even a ping"),
        (["--auto"], "everything it can immediately"),
    ],
)
def test_who_opens_the_session_is_said_where_it_is_chosen(
    run: Callable[..., Ran], words: list[str], said: str
) -> None:
    """Handshake by hand is one word, and its price is named."""
    assert said in run("claude-code", *words).err
    assert said in run("claude-code", *words, "--write").err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs here")
@pytest.mark.parametrize("flags", [[], ["--write"], ["--remove"]])
def test_a_pipe_in_the_place_of_the_file_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    """It is not waited for, and what is no file is not replaced by one."""
    pipe = tmp_path / "settings.json"
    os.mkfifo(pipe)
    status = main(["config", "cursor", "--path", str(pipe), *flags])
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["settings.json"]
    if flags:
        assert status != 0
        assert "is a device or a pipe" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "old"),
    [
        ("settings.json", '{\n  // mine\n  "mcp": {"servers": {"a": {"command": "x"}}}\n}\n'),
        ("settings.json", '{"editor.tabSize": 2}\n'),
        ("settings.json", ""),
        ("other.json", '{"mcp": {"inputs": [], "servers": {}}}'),
    ],
)
def test_in_settings_of_vs_code_the_entry_goes_where_it_is_read(
    run: Callable[..., Ran], tmp_path: Path, name: str, old: str
) -> None:
    """`servers` beside `mcp.servers` was reported as success, and read by nobody."""
    path = write(tmp_path / name, old)
    assert run("vscode", "--path", str(path), "--write").status == 0
    now = json.loads(path.read_text("utf-8").replace("// mine", ""))
    assert "humanmcp" in now["mcp"]["servers"]
    assert "servers" not in now
    assert '"mcp"' in run("vscode", "--path", str(path)).out
    assert run("vscode", "--path", str(path), "--remove").status == 0
    assert not path.exists() or path.read_text("utf-8") == old


def test_the_page_opens_by_itself_where_the_entry_says_so(run: Callable[..., Ran]) -> None:
    """`config --open`; the command that tells of a question is in the entry too."""
    made = entry_of(run, "claude-code", "--open", "--notify", "notify-send 'A question'")
    assert made["args"][-3:] == ["--handshake", "book", "--open"]
    assert made["args"][1:3] == ["--notify", "notify-send 'A question'"]
    assert "--open" not in entry_of(run, "claude-code")["args"]


@pytest.mark.parametrize("act", [(), ("--write",)])
@pytest.mark.parametrize(
    "who",
    [
        *((), ("--handshake", "hand"), ("--by-hand",), ("--auto",)),
        pytest.param(("--files", "mcp"), marks=pytest.mark.extension("text_files")),
    ],
)
def test_every_way_to_open_sessions_goes_with_the_page(
    run: Callable[..., Ran], tmp_path: Path, who: tuple[str, ...], act: tuple[str, ...]
) -> None:
    """`config claude-code --open --write` wrote the entry, and then ended with a traceback."""
    path = tmp_path / "mcp.json"
    done = run("claude-code", "--path", str(path), *who, "--open", *act)
    assert done.status == 0
    assert '"--open"' in (path.read_text("utf-8") if act else done.out)


def test_a_host_that_asks_before_each_question_is_told_how_to_allow_them(
    run: Callable[..., Ran],
) -> None:
    """Else a question costs two decisions, and `claude -p` refuses it."""
    ran = run("claude-code", "--name", "me")
    assert "--allowedTools mcp__me__ask_human" in ran.err
    assert "--allowedTools" not in run("codex").err


def test_two_at_once_lose_no_entry(tmp_path: Path) -> None:
    """Each looks again before it replaces the file, and tries again."""
    path = tmp_path / "mcp.json"
    words = (sys.executable, "-c", WRITES_ENTRIES, str(path))
    writers = [subprocess.Popen([*words, name]) for name in "ab"]
    assert [one.wait(PATIENCE) for one in writers] == [0, 0]
    assert json.loads(path.read_text())["mcpServers"].keys() == {
        f"{name}{number}" for name in "ab" for number in range(16)
    }


WRITES_ENTRIES: Final = """
import sys
from humanmcp.cli import main
_, path, name = sys.argv
for number in range(16):
    assert main(["config", "cursor", "--write", "--name", f"{name}{number}", "--path", path]) == 0
"""


def test_what_a_host_writes_meanwhile_is_kept(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host replaces its file at the last moment before humanmcp does."""
    path = tmp_path / "mcp.json"
    path.write_text("{}")
    backup = config_file.backup

    def with_the_host(real: Path) -> Path:
        kept = backup(real)
        real.write_text('{"theirs": 1}')
        monkeypatch.setattr(config_file, "backup", backup)
        return kept

    monkeypatch.setattr(config_file, "backup", with_the_host)
    assert run("cursor", "--write", "--path", str(path)).status == 0
    assert json.loads(path.read_text()).keys() == {"theirs", "mcpServers"}


def test_a_file_that_keeps_changing_is_left_alone(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence says so."""
    path = tmp_path / "mcp.json"
    path.write_text("{}")
    backup, times = config_file.backup, iter(range(100))

    def with_the_host(real: Path) -> Path:
        kept = backup(real)
        real.write_text(f'{{"theirs": {next(times)}}}')
        return kept

    monkeypatch.setattr(config_file, "backup", with_the_host)
    ran = run("cursor", "--write", "--path", str(path))
    assert ran.status == 1
    assert f"Another program keeps changing {path}" in ran.err
    assert json.loads(path.read_text()).keys() == {"theirs"}


def test_a_read_only_file_is_left_alone(run: Callable[..., Ran], tmp_path: Path) -> None:
    """A new file in its place would be written without a word."""
    path = tmp_path / "mcp.json"
    path.write_text("{}")
    path.chmod(0o400)
    ran = run("cursor", "--write", "--path", str(path))
    assert ran.status == 1
    assert f"{path} is read-only" in ran.err
    assert f"`chmod u+w {path}`" in ran.err
    assert path.read_text() == "{}"


def test_a_file_that_is_too_large_to_be_edited_is_left_alone(
    run: Callable[..., Ran], tmp_path: Path
) -> None:
    """It would take minutes; the entry is printed instead."""
    path = tmp_path / "mcp.json"
    path.write_bytes(b'{"a": "' + b"x" * config_file.LARGEST + b'"}')
    ran = run("cursor", "--write", "--path", str(path))
    assert ran.status == 1
    assert f"{path} is larger than 8 MB" in ran.err
    assert '"mcpServers"' in ran.out
    assert not backups(path)

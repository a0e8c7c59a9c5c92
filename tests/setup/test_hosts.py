"""The table of hosts: entries, links, and the command that an entry starts."""

import base64
import html
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from humanmcp.cli import main
from humanmcp.common.settings import Setting, Settings
from humanmcp.locales import LANGUAGES, say
from humanmcp.setup.hosts import (
    BY_NAME,
    HOSTS,
    Host,
    HostCommand,
    as_ours,
    command_for,
    command_in,
    given_to_humanmcp,
    install_link,
    local_entry,
    manner_for,
    passed_on,
    place,
    shell_command,
    snippet,
    starts_humanmcp,
    yaml_entry,
)
from tests.support.desk_process import Desking

COMMAND = HostCommand("/opt/human mcp/humanmcp", ("serve", "--lang", "ja"))


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_the_command_of_an_entry_is_found_again_in_any_shape(host: Host) -> None:
    """Whatever a host calls it: `command`, `cmd`, one list or two."""
    made = local_entry(host, COMMAND, 600)
    assert command_in(made) == (COMMAND.command, *COMMAND.args)
    assert starts_humanmcp(made)


@pytest.mark.parametrize(
    ("platform", "host", "variables", "expected"),
    [
        ("linux", "claude-code", {}, "/me/.claude.json"),
        ("linux", "claude-code", {"CLAUDE_CONFIG_DIR": "/x"}, "/x/.claude.json"),
        ("darwin", "claude-code", {"CLAUDE_CONFIG_DIR": "/x"}, "/x/.claude.json"),
        ("linux", "claude-code", {"CLAUDE_CONFIG_DIR": ""}, "/me/.claude.json"),
        ("linux", "codex", {"CODEX_HOME": "/x"}, "/x/config.toml"),
        ("linux", "gemini-cli", {"GEMINI_CLI_HOME": "/x"}, "/x/.gemini/settings.json"),
        ("linux", "copilot-cli", {"COPILOT_HOME": "/x"}, "/x/mcp-config.json"),
        ("linux", "copilot-cli", {"XDG_CONFIG_HOME": "/x"}, "/me/.copilot/mcp-config.json"),
        ("linux", "qwen-code", {"QWEN_HOME": "/x"}, "/x/settings.json"),
        ("linux", "opencode", {"XDG_CONFIG_HOME": "/x"}, "/x/opencode/opencode.json"),
        ("linux", "opencode", {"XDG_CONFIG_HOME": "x"}, "/me/.config/opencode/opencode.json"),
        ("linux", "opencode", {"OPENCODE_CONFIG_DIR": "/x"}, "/me/.config/opencode/opencode.json"),
        ("linux", "zed", {"XDG_CONFIG_HOME": "/x"}, "/x/zed/settings.json"),
        (
            "linux",
            "zed",
            {"FLATPAK_XDG_CONFIG_HOME": "/y", "XDG_CONFIG_HOME": "/x"},
            "/y/zed/settings.json",
        ),
        ("darwin", "zed", {"XDG_CONFIG_HOME": "/x"}, "/me/.config/zed/settings.json"),
        (
            "linux",
            "goose",
            {"GOOSE_PATH_ROOT": "/y", "XDG_CONFIG_HOME": "/x"},
            "/y/config/config.yaml",
        ),
        ("linux", "goose", {"XDG_CONFIG_HOME": "/x"}, "/x/goose/config.yaml"),
        ("linux", "vscode", {"XDG_CONFIG_HOME": "/x"}, "/x/Code/User/mcp.json"),
        (
            "linux",
            "vscode",
            {"VSCODE_PORTABLE": "/y", "XDG_CONFIG_HOME": "/x"},
            "/y/user-data/User/mcp.json",
        ),
        ("win32", "vscode", {"VSCODE_APPDATA": "/y", "APPDATA": "/x"}, "/y/Code/User/mcp.json"),
        ("win32", "vscode", {"APPDATA": "/x"}, "/x/Code/User/mcp.json"),
        ("win32", "vscode", {}, "/me/AppData/Roaming/Code/User/mcp.json"),
        (
            "linux",
            "claude-desktop",
            {"XDG_CONFIG_HOME": "/x"},
            "/x/Claude/claude_desktop_config.json",
        ),
        ("win32", "claude-desktop", {"APPDATA": "/x"}, "/x/Claude/claude_desktop_config.json"),
        ("linux", "cursor", {"CURSOR_CONFIG_DIR": "/x"}, "/me/.cursor/mcp.json"),
    ],
)
def test_a_host_s_own_variables_say_where_its_file_is(
    platform: str, host: str, variables: Mapping[str, str], expected: str
) -> None:
    """Those that its documentation or its code names, and no others."""
    assert place(BY_NAME[host], platform, Path("/me"), variables, None) == Path(expected)


def test_a_relative_variable_is_of_the_folder_in_which_the_host_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Claude Code, Gemini CLI, Qwen Code and Copilot CLI were measured."""
    monkeypatch.chdir(tmp_path)
    found = place(BY_NAME["claude-code"], "linux", Path("/me"), {"CLAUDE_CONFIG_DIR": "x"}, None)
    assert found == tmp_path / "x" / ".claude.json"


@pytest.mark.parametrize("platform", ["darwin", "win32", "linux"])
def test_every_host_has_a_place_on_every_system(platform: str) -> None:
    """Absolute, and inside the home or the project."""
    home, project = Path("/home/me"), Path("/work/project")
    for host in HOSTS:
        found = place(host, platform, home, {"APPDATA": "/home/me/roaming"}, project)
        assert found.is_absolute()
        assert found.is_relative_to(home) or found.is_relative_to(project)


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (("humanmcp", "hook"), ("humanmcp", "hook")),
        (("/opt/my tools/humanmcp",), ("humanmcp",)),
        (("C:\\me\\humanmcp.exe", "serve"), ("humanmcp", "serve")),
        (("python3.12", "-m", "humanmcp", "tap"), ("humanmcp", "tap")),
        (("/x/python", "-P", "-m", "humanmcp"), ("humanmcp",)),
        (("uvx", "humanmcp@0.1", "serve"), ("humanmcp", "serve")),
        ((), ()),
        (("my-humanmcp", "serve"), ()),
        (("humanmcp-hook", "serve"), ()),
        (("humanmcp.sh", "serve"), ()),
        (("sh", "-c", "humanmcp"), ()),
        (("env", "humanmcp", "serve"), ()),
        (("npx", "humanmcp"), ()),
        (("python", "x.py", "-m", "humanmcp"), ()),
        (("python", "-c", "x", "-m", "humanmcp"), ()),
        (("cmd", "/c", "humanmcp"), ()),
    ],
)
def test_humanmcp_is_the_program_and_not_one_of_the_words(
    words: tuple[str, ...], given: tuple[str, ...]
) -> None:
    """What is behind a shell, `env` or a script may be anything."""
    assert given_to_humanmcp(words) == given


def test_only_the_command_of_this_installation_is_ours(installation: Path, tmp_path: Path) -> None:
    """By the file that it is, not by its name; a link to it is replaced by its own path."""
    python = sys.executable
    link, other = tmp_path / "link" / "humanmcp", write(tmp_path / "bin" / "humanmcp", "")
    link.parent.mkdir()
    link.symlink_to(installation)
    own = (str(installation), "serve")
    assert as_ours(own) == as_ours((str(link), "serve")) == own
    assert as_ours((python, "-m", "humanmcp", "hook")) == (python, "-P", "-m", "humanmcp", "hook")
    for words in (
        (str(other), "serve"),
        ("humanmcp", "serve"),
        ("./humanmcp", "serve"),
        (str(tmp_path / "gone" / "humanmcp"),),
        ("python", "-m", "humanmcp"),
        (str(tmp_path / "python"), "-m", "humanmcp"),
        (python, "-c", "x"),
        (python, "-m", "other"),
        ("/bin/sh", "-c", "x", "humanmcp", "serve"),
        ("uvx", "humanmcp"),
        (),
    ):
        assert as_ours(words) == ()


def test_waiting_is_written_in_the_unit_of_each_host() -> None:
    """Milliseconds or seconds; 0 leaves it out; the start is never waited for that long."""
    assert local_entry(BY_NAME["opencode"], COMMAND, 600)["timeout"] == 600_000
    codex = local_entry(BY_NAME["codex"], COMMAND, 600)
    assert (codex["tool_timeout_sec"], codex["startup_timeout_sec"]) == (600, 120)
    for host in HOSTS:
        assert not set(host.wait_keys) & set(local_entry(host, COMMAND, 0))


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
    assert starts_humanmcp(one) is ours


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_host_has_a_sentence_on_waiting(language: str) -> None:
    """In every language."""
    for host in HOSTS:
        assert say("config", host.waiting, language)


ENTRY = {"command": "/x/humanmcp", "args": ["serve", "--title", 'the "one"'], "wait": 60}


def test_values_are_written_as_toml_and_as_yaml() -> None:
    """A JSON value reads the same in both."""
    assert tomllib.loads(snippet(BY_NAME["codex"], "b", ENTRY)) == {"mcp_servers": {"b": ENTRY}}
    assert '    args: ["serve", "--title", "the \\"one\\""]\n' in yaml_entry("a", "b", ENTRY)


def test_a_command_of_the_host_s_own_is_quoted_for_the_shell() -> None:
    """Three hosts have one; a space in a path stays in it."""
    command = HostCommand("/opt/human mcp/humanmcp", ("serve",))
    made = {host.name: shell_command(host, "me", command) for host in HOSTS}
    assert {name for name, words in made.items() if words} == {"claude-code", "codex", "vscode"}
    assert made["codex"] == "codex mcp add me -- '/opt/human mcp/humanmcp' serve"
    assert shell_command(BY_NAME["zed"], "me", command) == ""


# -- the page and the command say the same ------------------------------------------------------


@pytest.fixture(scope="module")
def desking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desking]:
    """A desk with an answer book of its own, which a server must be told of."""
    folder = tmp_path_factory.mktemp("connect")
    (folder / "my book.toml").write_text("", encoding="utf-8")
    with Desking(folder / "home", "--book", str(folder / "my book.toml")) as desk:
        yield desk


def config(desking: Desking, host: str, language: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Ask `humanmcp config` what the page is to show of a host, in the order of the page."""
    flags = ["--home", str(desking.home), "--book", str(desking.home.parent / "my book.toml")]
    flags += [] if language == "en" else ["--lang", language]
    main(["config", host, "--json", *flags])
    made = json.loads(capsys.readouterr().out)
    shown = [made["label"], made["snippet"].rstrip("\n"), made["shell"], made["link"]]
    return "\n".join((*filter(None, shown), made["waiting"]))


def on_the_page(section: str) -> str:
    """Return the same of one host on the page."""
    found = re.findall(
        r'<summary>(.*?)</summary>|class="copyable">(.*?)</pre>|href="(.*?)"|"aside">(.*?)<',
        section,
        re.DOTALL,
    )
    return "\n".join(html.unescape("".join(parts)) for parts in found)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_offers_what_the_command_prints(
    desking: Desking,
    language: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """The same hosts in the same order, each with the same text, command, link and advice."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.setenv("LANG", language)
    page = desking.page(f"/connect?lang={language}")
    sections = re.findall(r"<details>(.*?)</details>", page.split('class="snippets"')[1], re.DOTALL)
    printed = [config(desking, host.name, language, capsys) for host in HOSTS]
    assert [on_the_page(one) for one in sections] == printed
    assert str(desking.home) in printed[0]
    assert "my book.toml" in printed[0]


def test_a_file_of_a_project_is_named_as_such(desking: Desking) -> None:
    """The desk does not know which project: it names no folder of its own."""
    page = desking.page("/connect?lang=en")
    assert "In .vscode/mcp.json in your project folder:" in page
    assert re.search(r"In /\S+/\.cursor/mcp\.json:", page)


# -- the command that a host is to start ---------------------------------------------------------


def write(path: Path, text: str) -> Path:
    """Write a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_only_what_was_given_here_and_now_is_passed_on() -> None:
    """The settings file is read by the server itself; flags and the environment are not there."""
    settings = Settings(home="/a", book="/b", title="t")
    given = passed_on(settings, {"home": "/a", "book": None}, {"HUMANMCP_TITLE": "t"}, "ja")
    assert given == {"home": "/a", "title": "t", "lang": "ja"}


def test_without_the_console_script_python_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`python -m humanmcp` with the whole path of this Python."""
    python = write(tmp_path / "bin" / "python", "")
    monkeypatch.setattr("sys.executable", str(python))
    made = command_for({}, [])
    assert (made.command, made.args) == (str(python), ("-P", "-m", "humanmcp", "serve"))


def test_out_of_uv_s_cache_uvx_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What stands in the cache is gone when it is cleaned; `uvx` finds it again."""
    uvx = write(tmp_path / "tools" / "uvx", "")
    uvx.chmod(0o755)
    monkeypatch.setenv("PATH", str(uvx.parent))
    python = tmp_path / "cache" / "uv" / "archive-v0" / "abc" / "bin" / "python"
    monkeypatch.setattr("sys.executable", str(python))
    made = command_for({"lang": "ja"}, ["--auto"])
    assert (made.command, made.args) == (str(uvx), ("humanmcp", "serve", "--lang", "ja", "--auto"))


@pytest.mark.parametrize(
    ("chosen", "given", "words"),
    [
        (None, {"slow"}, ("--handshake", "book")),
        (None, {"manual"}, ()),
        ("book", {"manual"}, ("--handshake", "book")),
        ("hand", {}, ("--handshake", "hand")),
        ("by-hand", {}, ("--by-hand",)),
        ("auto", {"manual"}, ("--auto",)),
    ],
)
def test_an_entry_says_who_opens_the_session(
    monkeypatch: pytest.MonkeyPatch, chosen: str | None, given: set[str], words: tuple[str, ...]
) -> None:
    """The book, at once, unless another word was said or a setting says that a person does."""
    added = (Setting("slow", 0.0), Setting("manual", "", by_hand=True))
    monkeypatch.setattr("humanmcp.common.settings.brought_settings", lambda: added)
    assert manner_for(chosen, given) == words

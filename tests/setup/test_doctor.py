"""`humanmcp doctor`: what is wrong with an installation, in plain words."""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import TypeAdapter

from humanmcp.cli import main
from humanmcp.common.settings import Settings
from humanmcp.inbox.life_lock import LifeLock
from humanmcp.locales import LANGUAGES, say
from humanmcp.setup import doctor
from humanmcp.setup.addition import Finding, Level
from humanmcp.setup.doctor import DoctorShape
from humanmcp.setup.hosts import HOSTS, Format
from humanmcp.setup.trial import run_trial
from tests.setup.conftest import program

BANNER: Final = """
import json, sys
print("Hello!", flush=True)
for line in sys.stdin:
    answer = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {}}
    print(json.dumps(answer), flush=True)
"""
"""A server that greets people on stdout, as many do."""


def codes(found: Iterable[Finding]) -> dict[str, Level]:
    """Return what was found, by code; each finding must have its sentence in every language."""
    kept = list(found)
    for finding in kept:
        for language in LANGUAGES:
            assert say("doctor", finding.code, language, **dict(finding.fillings))
    return {finding.code: finding.level for finding in kept}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Make a private inbox folder."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


def settings(home: Path, book: str = "") -> Settings:
    """Make settings for a folder."""
    return Settings(home=str(home), book=book)


# -- one check each ---------------------------------------------------------------------------


def test_an_old_python_is_a_problem() -> None:
    """3.11 is the oldest that works."""
    assert codes(doctor.check_python((3, 10, 2)))["python old"] is Level.PROBLEM
    assert codes(doctor.check_python())["python"] is Level.OK


def test_missing_parts_of_the_page_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server and the terminal work without them."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert codes(doctor.check_python())["parts missing"] is Level.WARNING


def test_a_private_folder_is_well(home: Path) -> None:
    """0700, ours, writable; and nothing is left in it."""
    assert codes(doctor.check_home(settings(home))) == {"home": Level.OK}
    assert list(home.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no mode bits")
@pytest.mark.parametrize(
    ("mode", "code", "level"),
    [
        (0o777, "home open", Level.PROBLEM),
        (0o770, "home open", Level.PROBLEM),
        (0o755, "home readable", Level.WARNING),
    ],
)
def test_a_folder_that_others_may_enter_is_told(
    home: Path, mode: int, code: str, level: Level
) -> None:
    """With the chmod line that fixes it."""
    home.chmod(mode)
    (finding,) = [one for one in doctor.check_home(settings(home)) if one.code == code]
    assert finding.level is level
    assert "chmod 700" in say("doctor", code, "en", **dict(finding.fillings))


def test_a_folder_that_is_something_else_is_a_problem(home: Path, tmp_path: Path) -> None:
    """A file, a link."""
    file = tmp_path / "file"
    file.touch()
    link = tmp_path / "link"
    link.symlink_to(home)
    for one in (file, link):
        assert codes(doctor.check_home(settings(one)))["home no folder"] is Level.PROBLEM


def test_a_folder_that_is_not_there_yet_is_well(tmp_path: Path) -> None:
    """It is made when it is needed; looking makes nothing."""
    wanted = tmp_path / "a" / "b"
    assert codes(doctor.check_home(settings(wanted))) == {"home new": Level.OK}
    assert not (tmp_path / "a").exists()


def test_a_folder_that_cannot_be_made_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody may write above it."""
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "home impossible" in codes(doctor.check_home(settings(tmp_path / "new")))


def test_a_folder_that_cannot_be_written_is_a_problem(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, a read-only one."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.NamedTemporaryFile", full)
    assert codes(doctor.check_home(settings(home)))["unwritable"] is Level.PROBLEM


def test_little_space_is_a_problem(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session keeps every line."""
    monkeypatch.setattr("humanmcp.setup.doctor.LEAST_SPACE", 1 << 60)
    assert codes(doctor.check_disk(settings(home)))["disk full"] is Level.PROBLEM


def test_a_network_drive_is_a_warning(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes may be noticed late there."""
    mounts = tmp_path / "mounts"
    point = str(home).replace(" ", "\\040")
    mounts.write_text(f"/dev/a / ext4 rw 0 0\nserver:/x {point} nfs4 rw 0 0\nodd\n", "utf-8")
    assert doctor.kind_of_disk(home, mounts) == "nfs4"
    assert doctor.kind_of_disk(home / "in", mounts) == "nfs4"
    assert doctor.kind_of_disk(tmp_path, mounts) == "ext4"
    assert doctor.kind_of_disk(home, tmp_path / "none") == ""
    monkeypatch.setattr("humanmcp.setup.doctor.kind_of_disk", lambda _: "nfs4")
    assert codes(doctor.check_disk(settings(home)))["disk remote"] is Level.WARNING


@pytest.mark.parametrize(
    ("instances", "watches", "code"),
    [("128", "65536", "watching ok"), ("4", "65536", "watching"), ("128", "100", "watching")],
)
def test_few_watches_are_a_warning(tmp_path: Path, instances: str, watches: str, code: str) -> None:
    """The page falls back to looking now and then."""
    (tmp_path / "max_user_instances").write_text(instances + "\n")
    (tmp_path / "max_user_watches").write_text(watches + "\n")
    assert list(codes(doctor.check_watching(tmp_path))) == [code]


def test_without_inotify_there_is_nothing_to_say(tmp_path: Path) -> None:
    """Other systems have no such limit."""
    assert codes(doctor.check_watching(tmp_path)) == {}


def test_the_answer_book_is_read(home: Path, tmp_path: Path) -> None:
    """A good one, a bad one, one that is not there, none at all."""
    book = tmp_path / "book.toml"
    wanted = settings(home, book=str(book))
    assert codes(doctor.check_book(wanted))["book missing"] is Level.PROBLEM
    book.write_text('[server]\nname = "weather"\n', "utf-8")
    assert codes(doctor.check_book(wanted)) == {"book": Level.OK}
    for bad in ("[server", "[nonsense]\n"):
        book.write_text(bad, "utf-8")
        assert codes(doctor.check_book(wanted))["book bad"] is Level.PROBLEM
    assert codes(doctor.check_book(settings(home))) == {"book none": Level.OK}


def test_the_lock_says_whether_the_page_runs(home: Path) -> None:
    """Never a process number, never a file that was left behind."""
    assert codes(doctor.check_desk(settings(home))) == {"desk none": Level.OK}
    (home / "desk.json").write_text("{}")
    assert codes(doctor.check_desk(settings(home))) == {"desk stale": Level.OK}
    lock = LifeLock.take(home / "desk.lock")
    try:
        assert codes(doctor.check_desk(settings(home))) == {"desk": Level.OK}
    finally:
        lock.release()


def entries_of(machine: Path, **entries: Any) -> None:  # noqa: ANN401 - any JSON value
    """Write entries of Cursor."""
    (machine / ".cursor").mkdir(exist_ok=True)
    (machine / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": entries}))


def test_hosts_that_start_humanmcp_are_found(machine: Path, installation: Path) -> None:
    """Whether what they start is there and answers; a broken file is not fatal."""
    assert codes(doctor.check_hosts()) == {"host none": Level.WARNING}
    good = str(installation)
    entries_of(
        machine,
        one={"command": good, "args": ["serve", "--auto", "--title", "x"]},
        two={"command": "humanmcp"},
        three={"command": str(machine / "gone" / "humanmcp")},
        four={"command": program(machine / "bin" / "humanmcp", "1"), "args": ["serve"]},
        five={"command": good, "args": ["tap", "--", "npx", "x"]},
        six={"command": good, "args": ["serve", "--by-hand"]},
        github={"url": "https://x.example"},
        other={"command": "npx", "args": ["x"]},
    )
    (machine / ".mcp.json").write_text('{"mcpServers": {},}')
    found = list(doctor.check_hosts())
    assert codes(found) == {
        "host answers": Level.OK,
        "host relative": Level.WARNING,
        "host missing": Level.PROBLEM,
        "host other": Level.WARNING,
        "host more": Level.OK,
        "host asks": Level.OK,
        "host remote": Level.OK,
        "host bad": Level.WARNING,
    }
    (why,) = (dict(one.fillings)["why"] for one in found if one.code == "host bad")
    assert "line 1, column 18" in str(why)


def test_an_installation_that_does_not_start_says_why(machine: Path, installation: Path) -> None:
    """With its own last words."""
    entries_of(machine, one={"command": str(installation), "args": ["serve"]})
    program(installation, "import sys; sys.exit('moved away')")
    (found,) = doctor.check_hosts()
    assert found.code == "host silent"
    assert "moved away" in str(dict(found.fillings)["why"])


MANNERS: Final = (("--handshake", "hand"), ("--by-hand",), ("--auto",))
WRITTEN: Final = [
    *((host.name, ()) for host in HOSTS if host.format is not Format.YAML),
    *(("cursor", flags) for flags in MANNERS),
    pytest.param("cursor", ("--files", "own"), marks=pytest.mark.extension("text_files")),
]


@pytest.mark.parametrize(("host", "flags"), WRITTEN)
def test_every_entry_that_config_writes_starts(
    machine: Path, installation: Path, host: str, flags: tuple[str, ...]
) -> None:
    """And its trial leaves nothing where the entry would write."""
    assert main(["config", host, "--write", "--user", "--lang", "en", *flags]) == 0
    found = codes(doctor.check_hosts())
    asks = flags and flags[0] != "--auto"
    assert found == {"host asks" if asks else "host answers": Level.OK}
    assert not (machine / "own").exists()
    assert installation.exists()


@pytest.mark.parametrize(
    ("flags", "code", "why"),
    [
        (("--title", "x"), "host asks", ""),
        pytest.param(
            ("--home", "own", "--files", "own"),
            "host asks",
            "",
            marks=pytest.mark.extension("text_files"),
        ),
        (("--handshake", "book", "--home=own"), "host answers", ""),
        (("--bogus",), "host silent", "--bogus"),
        (("--auto", "--handshake", "book"), "host silent", "--auto"),
        (("--book", "gone.toml", "--auto"), "host silent", "gone.toml"),
        (("--", "python", "x.py"), "host silent", "python"),
        (("--help",), "host silent", ""),
        (("--http", "127.0.0.1:9"), "host reaches", ""),
        (("--inbox=postgresql://nobody@127.0.0.1:9/x",), "host reaches", ""),
        (("--open",), "host reaches", ""),
        (("--ope",), "host reaches", ""),
        (("--notify", "touch own"), "host reaches", ""),
        (("--replay", "x", "--otherwise", "forward", "--", "touch", "own"), "host reaches", ""),
    ],
)
def test_an_entry_is_tried_with_its_flags(
    machine: Path, installation: Path, flags: tuple[str, ...], code: str, why: str
) -> None:
    """As its host starts it; nothing is written where it would write."""
    entries_of(machine, one={"command": str(installation), "args": ["serve", *flags]})
    (found,) = doctor.check_hosts()
    assert found.code == code
    assert why in str(dict(found.fillings).get("why", ""))
    assert not (machine / "own").exists()


def test_the_inbox_folder_of_an_entry_is_looked_at(machine: Path, installation: Path) -> None:
    """Its trial uses another one."""
    for home in ("--home", str(machine / "file")), (f"--home={machine / 'file'}",):
        (machine / "file").touch()
        entries_of(machine, one={"command": str(installation), "args": ["serve", *home]})
        assert "home no folder" in codes(doctor.check_hosts())


OF_STRANGERS: Final[Mapping[str, Any]] = {
    "a shell": {"command": "/bin/sh", "args": ["-c", "touch ran #", "humanmcp", "serve"]},
    "env": {"command": "/usr/bin/env", "args": ["humanmcp", "serve"]},
    "env of the project": {"command": "/usr/bin/env", "args": ["PATH={here}", "humanmcp"]},
    "a file of the project": {"command": "{here}/humanmcp", "args": ["serve"]},
    "a relative file": {"command": "./humanmcp", "args": ["serve"]},
    "a name": {"command": "humanmcp", "args": ["serve"]},
    "another python": {"command": "{here}/python", "args": ["-m", "humanmcp", "serve"]},
    "uvx": {"command": "{here}/uvx", "args": ["humanmcp", "serve"]},
    "npx": {"command": "{here}/npx", "args": ["humanmcp", "serve"]},
    "a way back": {"command": "{here}/../{name}/humanmcp", "args": ["serve"]},
    "a package": {"command": "{python}", "args": ["-m", "humanmcp", "serve", "--auto"]},
    "its folder": {"command": "{ours}", "args": ["serve"], "cwd": "{here}"},
    "PYTHONPATH": {"command": "{ours}", "args": ["serve"], "env": {"PYTHONPATH": "{here}"}},
    "LD_PRELOAD": {"command": "{ours}", "args": ["serve"], "env": {"LD_PRELOAD": "{here}/x.so"}},
    "PATH": {"command": "{ours}", "args": ["serve"], "env": {"PATH": "{here}"}},
    "a notice": {"command": "{ours}", "env": {"HUMANMCP_NOTIFY": "touch {here}/ran"}},
    "a database": {"command": "{ours}", "env": {"HUMANMCP_INBOX": "postgresql://127.0.0.1:9/x"}},
    "variables that are none": {"command": "{ours}", "args": ["serve"], "env": ["PYTHONPATH"]},
    "a file of variables": {"command": "{ours}", "args": ["serve"], "envFile": "{here}/env"},
    "a tap": {"command": "{ours}", "args": ["tap", "--", "{here}/humanmcp"]},
    "a notice flag": {"command": "{ours}", "args": ["serve", "--notify", "touch {here}/ran"]},
    "another command": {"command": "{ours}", "args": ["client", "--", "{here}/humanmcp"]},
    "a link to ours": {"command": "{here}/link/humanmcp", "args": ["serve", "--auto"]},
}
"""Entries that a repository may bring. `humanmcp` and the others in it leave the file `ran`."""


def _put(value: Any, **named: object) -> Any:  # noqa: ANN401 - any JSON value
    text = json.dumps(value)
    for name, filling in named.items():
        text = text.replace("{" + name + "}", str(filling))
    return json.loads(text)


@pytest.mark.parametrize("name", OF_STRANGERS)
@pytest.mark.parametrize("place", [".mcp.json", ".vscode/mcp.json"])
def test_nothing_of_a_repository_runs(
    stranger: Path, installation: Path, monkeypatch: pytest.MonkeyPatch, name: str, place: str
) -> None:
    """Its entries and its folder are of somebody else; what is not run is told."""
    monkeypatch.chdir(stranger)
    monkeypatch.setenv("PATH", f".:{stranger}:{os.environ['PATH']}")
    named = {"here": stranger, "name": stranger.name, "ours": installation}
    entry = _put(OF_STRANGERS[name], **named, python=sys.executable)
    servers = {"servers" if "vscode" in place else "mcpServers": {"docs": entry}}
    (stranger / place).parent.mkdir(exist_ok=True)
    (stranger / place).write_text(json.dumps(servers))
    found = codes(doctor.check_hosts())
    assert not (stranger / "ran").exists()
    starts = {"host answers"} if name in ("a package", "a link to ours") else set()
    assert found.keys() <= starts | {
        "host other",
        "host relative",
        "host more",
        "host reaches",
    }
    assert found


def test_a_file_that_begins_with_a_mark_is_told(machine: Path) -> None:
    """Two hosts reject it, so that none of its servers starts."""
    (machine / ".cursor").mkdir()
    (machine / ".cursor" / "mcp.json").write_text('{"mcpServers": {}}', "utf-8-sig")
    assert codes(doctor.check_hosts())["host bom"] is Level.WARNING


@pytest.mark.parametrize(
    ("entry", "is_told"),
    [
        ('args = ["serve"]', True),
        ('command = ""', True),
        ('command = ["humanmcp", 5]', True),
        ("command = 5", True),
        ('command = "x"', False),
        ("enabled = false", False),
        ('source = "extension"', False),
    ],
)
def test_an_entry_without_a_command_is_told(machine: Path, entry: str, *, is_told: bool) -> None:
    """It was passed over in silence."""
    (machine / ".codex").mkdir()
    (machine / ".codex" / "config.toml").write_text(f"[mcp_servers.one]\n{entry}\n")
    found = codes(doctor.check_hosts())
    assert (found.pop("host odd", None) is Level.WARNING) is is_told
    assert found == {"host without": Level.OK, "host none": Level.WARNING}


def test_hosts_that_are_here_without_an_entry_are_named(machine: Path) -> None:
    """By their command or the folder of their file, with the command that adds it."""
    program(machine / "bin" / "codex", "")
    (machine / ".gemini").mkdir()
    (machine / ".config" / "goose").mkdir(parents=True)
    project = {"projects": {"/p": {"mcpServers": {"me": {"command": "humanmcp"}}}}}
    (machine / ".claude.json").write_text(json.dumps(project))
    found = list(doctor.check_hosts())
    told = {(one.code, dict(one.fillings)["label"]) for one in found}
    assert told == {
        ("host without", "Codex"),
        ("host without", "Gemini CLI"),
        ("host unread", "goose"),
        ("host relative", "Claude Code"),
    }
    assert codes(found)["host without"] is Level.OK


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (".claude/plugins/installed_plugins.json", '{"plugins": {"humanmcp@humanmcp": []}}'),
        (".codex/config.toml", '[plugins."humanmcp@humanmcp"]\nenabled = true\n'),
        (".gemini/extensions/humanmcp/gemini-extension.json", '{"args": ["humanmcp@0.1.0"]}'),
    ],
)
def test_a_host_with_the_plugin_needs_no_entry(machine: Path, place: str, text: str) -> None:
    """It was told that it does not start humanmcp."""
    listed = machine / place
    listed.parent.mkdir(parents=True)
    listed.write_text(text)
    assert set(codes(doctor.check_hosts())) == {"host plugin"}
    listed.unlink()
    assert "host plugin" not in codes(doctor.check_hosts())


def test_the_editor_is_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """VISUAL, EDITOR, what is installed, nothing."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    assert codes(doctor.check_editor()) == {"editor none": Level.WARNING}
    (tmp_path / "nano").touch(mode=0o755)
    assert codes(doctor.check_editor()) == {"editor default": Level.OK}
    monkeypatch.setenv("EDITOR", "nano -w")
    assert codes(doctor.check_editor()) == {"editor": Level.OK}
    monkeypatch.setenv("VISUAL", "code --wait")
    assert codes(doctor.check_editor()) == {"editor missing": Level.WARNING}


# -- the trial --------------------------------------------------------------------------------


def test_the_server_is_started_and_listened_to() -> None:
    """It answers, writes messages only, and ends when its host closes the connection."""
    seen = run_trial((sys.executable, "-m", "humanmcp", "serve", "--auto"), ("home",))
    assert seen.first_answer is not None
    assert seen.stray == []
    assert seen.status == 0
    assert len(seen.stderr.encode()) <= doctor.MOST_STDERR


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("import sys; sys.exit('broken installation')", "server silent"),
        (BANNER, "stdout dirty"),
    ],
)
def test_a_server_that_does_not_behave_is_a_problem(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, code: str
) -> None:
    """A banner on stdout, or no start at all; its own words are quoted."""
    fake = tmp_path / "python"
    fake.write_text(f"#!{sys.executable}\n{program}\n", "utf-8")
    fake.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(fake))
    found = list(doctor.check_server())
    assert codes(found)[code] is Level.PROBLEM
    text = str(dict(found[0].fillings))
    assert "broken installation" in text or "Hello!" in text


def test_a_python_that_is_not_there_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """A moved virtual environment."""
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    assert codes(doctor.check_server()) == {"server silent": Level.PROBLEM}


# -- the command ------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_whole_check_ends_with_one_sentence(
    home: Path, language: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a good folder nothing is a problem, whatever this machine is like."""
    assert main(["doctor", "--home", str(home), "--lang", language]) == 0
    out = capsys.readouterr().out
    assert "✓" in out
    assert "✗" not in out


def test_a_problem_makes_the_exit_status_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For scripts, also as JSON."""
    file = tmp_path / "file"
    file.touch()
    assert main(["doctor", "--home", str(file), "--json", "--lang", "en"]) == 1
    made = json.loads(capsys.readouterr().out)
    assert made["ok"] is False
    assert TypeAdapter(DoctorShape).validate_python(made) == made
    assert {"code", "level", "message"} == set(made["findings"][0])
    assert any(one["level"] == "problem" for one in made["findings"])

"""`humanmcp` alone at a terminal: what one can do now, and what runs already."""

import subprocess
import sys
from pathlib import Path

from humanmcp.cli import commands
from humanmcp.welcome import COMMANDS
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving, bare_environment

PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'


def said(home: Path, language: str = "en") -> str:
    """Run it as a person does who types nothing else."""
    variables = {"HUMANMCP_HOME": str(home), "HUMANMCP_LANG": language}
    run = subprocess.run(
        [sys.executable, "-m", "humanmcp"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=bare_environment(home.parent) | variables,
        check=True,
    )
    return run.stdout.decode()


def test_it_names_the_next_commands_and_makes_no_folder(tmp_path: Path) -> None:
    """On a computer on which nothing was done yet, in both languages."""
    shown = said(tmp_path / "home")
    assert all(command in shown for command in COMMANDS.values())
    assert ("Next:\n  humanmcp demo  " in shown) == ("demo" in commands())
    assert "Connected" not in shown
    assert "ホストをつなぐ" in said(tmp_path / "home", "ja")
    assert not (tmp_path / "home").exists()


def test_it_says_what_waits_and_where_the_page_is(tmp_path: Path) -> None:
    """Each session that is connected, and each message of it that is open."""
    home = tmp_path / "home"
    with Desking(home) as desk, Serving(home, "--by-hand") as serving:
        serving.say(PING)
        shown = said(home)
        assert "Connected now: 1. Messages that wait for you: 1." in shown
        assert desk.facts.address in shown

"""The command line in a home directory and a project of a test, and an installation of its own."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from humanmcp.cli import main
from humanmcp.setup.hosts import HOSTS
from tests.support.inbox_folder import Ran

VARIABLES = {
    written.partition("/")[0].removeprefix("$")
    for places in (
        *(
            places
            for host in HOSTS
            for where in (host.places, host.user_places)
            for places in where.values()
        ),
    )
    for written in places
    if written.startswith("$")
}
"""The variables that say where a host has its files."""


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what says where the hosts of this computer have their files."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def installation(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have humanmcp installed in a folder of its own. Returns its command."""
    folder = tmp_path_factory.mktemp("installation")
    root = str(Path(__file__).parents[2])
    text = f"import sys; sys.path[:0] = [{root!r}]; from humanmcp.cli import main; sys.exit(main())"
    script = folder / "humanmcp"
    script.write_text(f"#!{sys.executable}\n{text}\n", "utf-8")
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={root} exec {sys.executable} "$@"\n', "utf-8")
    for program in (script, python):
        program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    return script


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """Run a command in a home and a project of its own."""
    for name in list(os.environ):
        if name.startswith("HUMANMCP_") or name in ("LANG", "LC_ALL"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def command(*words: str) -> Ran:
        capsys.readouterr()
        status = main(list(words))
        out, err = capsys.readouterr()
        return Ran(status, out, err)

    return command


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a computer without any host: its home folder, which is the project, too."""
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    return tmp_path


def program(path: Path, text: str) -> str:
    """Write a program that can be started, and return its path."""
    path.write_text(f"#!{sys.executable}\n{text}\n", "utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def stranger(machine: Path, installation: Path) -> Path:
    """Be in a cloned repository whose programs leave the file `ran`, and on whose PATH it is."""
    here = machine / "repository"
    (here / "link").mkdir(parents=True)
    (here / "link" / "humanmcp").symlink_to(installation)
    text = f"open({str(here / 'ran')!r}, 'w')"
    for name in ("humanmcp", "python", "uvx", "npx"):
        program(here / name, text)
    (here / "sitecustomize.py").write_text(text)
    (here / "humanmcp.py").write_text(text)
    return here

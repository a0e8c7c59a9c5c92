"""Real clients over HTTP, and the official conformance suite."""

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.clients.hosts import (
    CLIENT_2_AUTO,
    CLIENT_2_LEGACY,
    CLIENT_2_PIN,
    NODE,
    PYTHON_AUTO,
    PYTHON_LEGACY,
    SDK_1,
    Host,
    with_node,
)
from tests.clients.test_weather import check_weather
from tests.support.person import Person
from tests.support.serve_http import ServingHttp
from tests.support.serve_process import bare_environment

CONFORMANCE: Final = Path(__file__).parents[2] / "samples" / "conformance.toml"
SUITE: Final = ("node", str(NODE / "conformance.mjs"), "server")
SUMMARY: Final = re.compile(r"^([\u2713\u2717]) (\S+): \d+ passed, \d+ failed$", re.MULTILINE)
UNSCORED: Final = re.compile(r"^  [\u2713\u2717] (\S+) \(", re.MULTILINE)


@pytest.mark.parametrize(
    "host",
    [
        PYTHON_LEGACY,
        PYTHON_AUTO,
        with_node(SDK_1),
        with_node(CLIENT_2_LEGACY),
        with_node(CLIENT_2_AUTO),
        with_node(CLIENT_2_PIN),
    ],
    ids=str,
)
def test_every_client_has_the_weather_session_with_a_person(host: Host, tmp_path: Path) -> None:
    """The tools, the texts and the errors, each typed into `out.txt`."""
    home = tmp_path / "home"
    with ServingHttp(home, "--handshake", "hand") as server, Person(home):
        found = host.play_with([server.url], home)
    version = "2024-11-05" if host.mode == "legacy" else "2026-07-28"
    check_weather(found, version)


@pytest.mark.node
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("version", "required"), [("2025-11-25", 30), ("2026-07-28", 37)])
def test_the_official_suite_passes_what_it_requires(
    version: str, required: int, tmp_path: Path
) -> None:
    """With the sample book; what the suite does not score passes as well."""
    with ServingHttp(tmp_path / "home", "--auto", "--book", str(CONFORMANCE)) as server:
        done = subprocess.run(
            [*SUITE, "--url", server.url, "--requirements", version],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=280,
            cwd=tmp_path,
            env=bare_environment(tmp_path),
        )
    said = done.stdout + done.stderr
    marks = {name: mark for mark, name in SUMMARY.findall(said)}
    assert [name for name, mark in marks.items() if mark != "\u2713"] == []
    assert len(marks.keys() - set(UNSCORED.findall(said))) == required
    assert done.returncode == 0

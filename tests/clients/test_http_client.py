"""The official conformance suite opposite `humanmcp client`, which types a script."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.clients.hosts import NODE
from tests.serving import bare_environment

SCENARIOS: Final = Path(__file__).parent / "scenarios"
SUITE: Final = ("node", str(NODE / "conformance.mjs"), "client")
SUMMARY: Final = re.compile(r"^\u2713 (\S+): [1-9]\d* passed, 0 failed$", re.MULTILINE)
COMMAND: Final = """#!/bin/sh
# No sign-in is begun here, so what is about one is not played.
case "$MCP_CONFORMANCE_SCENARIO" in auth/*) exit 1 ;; esac
script={scenarios}/$MCP_CONFORMANCE_SCENARIO.txt
[ -f "$script" ] || exit 1
case "$MCP_CONFORMANCE_PROTOCOL_VERSION" in 2026*) opening=modern ;; *) opening=handshake ;; esac
exec {python} -m humanmcp client --opening "$opening" --script "$script" "$1" < /dev/null
"""
HANDSHAKE: Final = {
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
}
STATELESS: Final = {
    "tools_call",
    "request-metadata",
    "sep-2322-client-request-state",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
}


@pytest.mark.node
@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    ("revision", "wanted"), [("2025-11-25", HANDSHAKE), ("2026-07-28", STATELESS)]
)
def test_the_client_passes_what_needs_no_sign_in(
    revision: str, wanted: set[str], tmp_path: Path
) -> None:
    """HTTP-22: all scenarios but those of OAuth, in one process of the suite.

    `json-schema-2020-12-preservation`, which is not scored, wants a schema copied from a list into
    a call: a person at the prompt does that, a script cannot.
    """
    command = tmp_path / "client.sh"
    python, scenarios = shlex.quote(sys.executable), shlex.quote(str(SCENARIOS))
    command.write_text(COMMAND.format(python=python, scenarios=scenarios))
    command.chmod(0o755)
    done = subprocess.run(
        [*SUITE, "--command", str(command), "--requirements", revision],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=180,
        cwd=tmp_path,
        env=bare_environment(tmp_path),
    )
    assert wanted - set(SUMMARY.findall(done.stdout + done.stderr)) == set()

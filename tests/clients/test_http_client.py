"""The official conformance suite opposite `humanmcp client`, which types a script."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.clients.hosts import NODE
from tests.support.serve_process import bare_environment

SCENARIOS: Final = Path(__file__).parent / "scenarios"
SUITE: Final = ("node", str(NODE / "conformance.mjs"), "client")
SUMMARY: Final = re.compile(r"^\u2713 (\S+): [1-9]\d* passed, 0 failed$", re.MULTILINE)
COMMAND: Final = """#!/bin/sh
# No sign-in is begun here, so what is about one is not played.
case "$MCP_CONFORMANCE_SCENARIO" in auth/*) exit 1 ;; esac
case "$MCP_CONFORMANCE_PROTOCOL_VERSION" in 2026*) start=modern ;; *) start=handshake ;; esac
humanmcp() {{ {python} -m humanmcp client --start "$start" "$@" < /dev/null; }}
if [ "$MCP_CONFORMANCE_SCENARIO" = json-schema-2020-12-preservation ]; then  # as a person copies
  schema=$(humanmcp --list tools --json "$1" | {python} -c '{schema}') || exit 1
  humanmcp --call json_schema_echo --arguments "{{\\"schema\\":$schema}}" "$1"
  exit
fi
script={scenarios}/$MCP_CONFORMANCE_SCENARIO.txt
[ -f "$script" ] || exit 1
humanmcp --script "$script" "$1"
"""
SCHEMA: Final = """
import json, sys
tools = {one["name"]: one for one in json.load(sys.stdin)["tools"]}
print(json.dumps(tools["json_schema_2020_12_tool"]["inputSchema"]))
"""
"""Takes out of a list what is to come back as it was."""
PRESERVED: Final = "json-schema-2020-12-preservation"
HANDSHAKE: Final = {
    PRESERVED,
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
}
STATELESS: Final = {
    PRESERVED,
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
    ("version", "wanted"), [("2025-11-25", HANDSHAKE), ("2026-07-28", STATELESS)]
)
def test_the_client_passes_what_needs_no_sign_in(
    version: str, wanted: set[str], tmp_path: Path
) -> None:
    """All but those of OAuth, in one process of the suite; those not scored, too."""
    command = tmp_path / "client.sh"
    python, scenarios = shlex.quote(sys.executable), shlex.quote(str(SCENARIOS))
    command.write_text(COMMAND.format(python=python, scenarios=scenarios, schema=SCHEMA))
    command.chmod(0o755)
    done = subprocess.run(
        [*SUITE, "--command", str(command), "--requirements", version],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=180,
        cwd=tmp_path,
        env=bare_environment(tmp_path),
    )
    assert wanted - set(SUMMARY.findall(done.stdout + done.stderr)) == set()

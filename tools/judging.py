"""Judge the real clients, and write what they do: `make judge`, the page of the manual.

    python -m tools.judging [CLIENT…]      only these: the beginning of a name, such as "Python"

Runs each SDK over stdio and over Streamable HTTP. Nothing else should run beside it.
"""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from humanmcp.judge.misbehaviours import misbehaviours
from humanmcp.locales import say
from tests.clients.reactions import commands
from tools.install import CLIENTS

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "reference" / "clients.md"
FILE: Final = PAGE.with_suffix(".json")

_HEAD: Final = """\
<!-- Written by `make judge`: do not edit. -->

# What clients do with faulty servers

`make judge` measures this with `humanmcp judge`, and writes this page.
[See what a client does with a faulty server](../how-to/judge-a-client.md) says what the words mean.
Each client lists the tools, calls one, and prints the result. Its timeout is set to 4 seconds.

"""
UNMEASURED: Final = _HEAD + "Not measured yet.\n"
"""The page before the first `make judge`."""


def judged(words: tuple[str, ...], server: str) -> dict[str, Any]:
    """Judge one client over one transport: {server...} or {url}."""
    command = [sys.executable, "-m", "humanmcp", "judge", "--lang", "en", "--format", "json"]
    done = subprocess.run(
        [*command, "--", *words, server],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=CLIENTS,
    )
    return {one["name"]: one for one in json.loads(done.stdout)["verdicts"]}


def measured(chosen: list[str]) -> list[dict[str, Any]]:
    """Judge the clients that are installed: those of `tests/clients/reactions.py`."""
    found = []
    for name, edition, command in commands("judged.mjs", "judged.py"):
        if chosen and not any(name.startswith(one) for one in chosen):
            continue
        words: dict[str, str] = {}
        for transport, server in (("stdio", "{server...}"), ("http", "{url}")):
            for row, verdict in judged((*command, transport), server).items():
                if transport == "stdio" or misbehaviours()[row].place == "http":
                    words[row] = verdict["word"]
            sys.stderr.write(f"{name} {edition} {transport}\n")
        found.append({"name": name, "version": edition, "words": words})
    return found


def page(table: dict[str, Any]) -> str:
    """Write the measured words as a page."""
    clients = table["clients"]
    heads = [f"{one['name']} {one['version']}" for one in clients]
    lines = [f"{_HEAD}Measured on {table['date']}."]
    rows = misbehaviours()
    for place in dict.fromkeys(one.place for one in rows.values()):
        lines += [f"\n## {place}\n", f"| the server | {' | '.join(heads)} |"]
        lines.append("| --- " * (len(heads) + 1) + "|")
        for name in (one.name for one in rows.values() if one.place == place):
            words = [client["words"].get(name, "") for client in clients]
            lines.append(f"| {say('misbehaviour', name, 'en')} | {' | '.join(words)} |")
    return "\n".join(lines) + "\n"


def main(chosen: list[str]) -> None:
    """Measure and write both files; only measure and print if clients are chosen."""
    table = {"date": datetime.now(UTC).date().isoformat(), "clients": measured(chosen)}
    if chosen:
        sys.stderr.write(page(table))
        return
    FILE.write_text(json.dumps(table, indent=1) + "\n", "utf-8")
    PAGE.write_text(page(table), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Measure what real clients do with odd lines, and write the table of `tables/reactions.py`.

    python -m tests.clients.reactions [CASE…]       print each case, and write the table

The clients are the SDKs that `python -m tools.install clients` installs. The cases are those of
`odd_results.toml`, and of `humanmcp/extensions/judge/server_faults.toml` with a `problem`. What the
check says of a case is its row; where cases of one row differ, it is unknown for a client (`?`).
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from humanmcp.extensions.judge.playing import Player
from humanmcp.extensions.judge.server_faults import rows as all_rows
from humanmcp.extensions.judge.server_faults import server_fault
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import HINTS, Diagnostic
from humanmcp.protocol.tables import reactions
from humanmcp.protocol.validation.whole_conversation import ConversationJudge
from tests.clients.odd_results import PARAMS, answer, odd_results
from tools.install import CLIENTS, sdk_1

HERE: Final = Path(__file__).parent
TABLE: Final = Path(reactions.__file__)
LINES: Final = {
    f"{name}:{number}": row
    for name, row in all_rows().items()
    if "problem" in row
    for number in range(1, len(row["lines"]) + 1)
}
"""The cases of the judge, each with its row."""


def commands(
    of_node: str = "reactions.mjs", of_python: str = "reactions_of_sdk.py"
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the name, the version and the command of each client that is installed."""
    packages = json.loads((CLIENTS / "package.json").read_text("utf-8"))["dependencies"]
    script = str(CLIENTS / of_node)
    yield "TypeScript SDK", packages["@modelcontextprotocol/sdk"], ("node", script, "1")
    yield "TypeScript SDK", packages["@modelcontextprotocol/client"], ("node", script, "2")
    script, python = str(HERE / of_python), sdk_1()
    if python is not None:
        told = "from importlib.metadata import version; print(version('mcp'))"
        of_it = subprocess.run((python, "-c", told), capture_output=True, text=True, check=True)
        yield "Python SDK", of_it.stdout.strip(), (str(python), script)
    yield "Python SDK", version("mcp"), (sys.executable, script)


# -- what the check says of a case ----------------------------------------------------------------


def judged(name: str) -> list[Diagnostic]:
    """Judge a whole session in which a case is answered oddly: what is said of the odd lines."""
    judge, number = ConversationJudge(), 0
    player = Player(server_fault(name)) if name in LINES else None
    methods = ("tools/list", "tools/call", "ping") if player else (name.partition(":")[0],)
    found: list[Diagnostic] = []
    for token, method in enumerate(dict.fromkeys(("initialize", INITIALIZED, *methods)), 1):
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        message |= {"params": PARAMS[method]} if method in PARAMS else {}
        message |= {} if method == INITIALIZED else {"id": token}
        lines = [(Direction.IN, json.dumps(message).encode())]
        is_odd = method == methods[0]
        if player:
            raw, is_odd = _raw_lines(player, message)
            lines += [(Direction.OUT, line) for line in raw]
        elif method != INITIALIZED:
            lines.append((Direction.OUT, answer(name, message).encode()))
        for direction, line in lines:
            number += 1
            for each in judge.line(number, direction, line):
                found += each.diagnostics if is_odd and direction is Direction.OUT else ()
    return found


INITIALIZED: Final = "notifications/initialized"


def _raw_lines(player: Player, message: dict[str, Any]) -> tuple[list[bytes], bool]:
    """Return what a server of the judge writes for a message, and whether it is odd."""
    steps, is_odd = player.steps(message)
    lines: list[bytes] = []
    for one in steps:
        is_right = "line" not in one
        text = player.right(message) if is_right else player.filled(one["line"], message)
        lines += (text.encode() if is_right else player.encoded(text)).split(b"\n")
    return lines, is_odd


def row_of(name: str) -> str:
    """Return the beginning of the row of a case: of its one problem, or the one that it names."""
    found = [one for one in judged(name) if one.code not in ("N39", "N46")]
    if name in LINES:
        found = [one for one in found if one.code == LINES[name]["problem"]]
    else:
        found = [one for one in found if one.severity not in HINTS]
    (only,) = {reactions.head(one) for one in found}
    return only


# -- what the clients do --------------------------------------------------------------------------


def measured(command: tuple[str, ...], names: set[str]) -> dict[str, str]:
    """Play cases for one client."""
    lines = {name: LINES[name].get("method", "tools/call") for name in sorted(names & LINES.keys())}
    results = {name: name.partition(":")[0] for name in sorted(names - LINES.keys())}
    with tempfile.TemporaryDirectory() as folder:
        server = (sys.executable, "-m", "humanmcp.extensions.judge.playing", folder, "60", "t")
        return {
            **_played(command, server, lines),
            **_played(command, (sys.executable, str(HERE / "odd_results.py")), results),
        }


def _played(
    command: tuple[str, ...], server: tuple[str, ...], wanted: dict[str, str]
) -> dict[str, str]:
    """Return what a client does with each case; `wanted` is the method that it answers oddly."""
    words = (*command, json.dumps(wanted), *server)
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=CLIENTS)
    found = dict(line.split() for line in done.stdout.splitlines() if line.count(" ") == 1)
    if found.keys() != wanted.keys():
        sys.exit(f"{command}: {sorted(wanted.keys() - found.keys())}\n{done.stderr}")
    return found


def main(chosen: list[str]) -> None:
    """Measure, print, and write the table if all cases were measured."""
    names = {*LINES, *odd_results()}
    names = {name for name in names if not chosen or {name, name.partition(":")[0]} & {*chosen}}
    of_row: dict[str, list[set[str]]] = defaultdict(list)
    for at, (client, edition, command) in enumerate(commands()):
        found = measured(command, names)
        for name in (*LINES, *odd_results()):
            if name in found:
                sys.stderr.write(f"{client} {edition} {name} {found[name]}\n")
                told = of_row[row_of(name)]
                told += [set()] * (at + 1 - len(told))
                told[at] = {*told[at], found[name]}
    if not chosen:
        table = {
            row: " ".join(one.pop() if len(one) == 1 else "?" for one in told)
            for row, told in of_row.items()
        }
        text = TABLE.read_text("utf-8")
        written = f'MEASURED: Final = """\n{reactions.table(table)}"""'
        text = re.sub(r'MEASURED: Final = """\n.*?"""', lambda _: written, text, flags=re.DOTALL)
        TABLE.write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

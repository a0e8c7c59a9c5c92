"""Measure what real clients do with odd lines, and write the table of `tables/reactions.py`.

    python -m tests.clients.reactions [ROW…]        print each case, and write the table

The clients are the SDKs that `python -m tools.install clients` installs. A row whose cases have
different effects on a client is unknown for it (`?`), unless it is made two rows.
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

from humanmcp.extensions.judge.misbehaviours import rows as all_rows
from humanmcp.protocol.tables import reactions
from tools.install import CLIENTS, sdk_1

HERE: Final = Path(__file__).parent
TABLE: Final = Path(reactions.__file__)


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


def cases(rows: dict[str, Any]) -> dict[str, str]:
    """Return the method that each case answers oddly, by the name of the case."""
    return {
        f"{name}:{number}": row.get("method", "tools/call")
        for name, row in rows.items()
        for number in range(1, len(row["lines"]) + 1)
    }


def measured(command: tuple[str, ...], wanted: dict[str, str]) -> dict[str, str]:
    """Play every case for one client."""
    with tempfile.TemporaryDirectory() as folder:
        server = (sys.executable, "-m", "humanmcp.extensions.judge.playing", folder, "60", "t")
        done = subprocess.run(
            (*command, json.dumps(wanted), *server),
            capture_output=True,
            text=True,
            check=False,
            cwd=CLIENTS,
        )
    found = dict(line.split() for line in done.stdout.splitlines() if line.count(" ") == 1)
    if found.keys() != wanted.keys():
        sys.exit(f"{command}: {sorted(wanted.keys() - found.keys())}\n{done.stderr}")
    return found


def main(chosen: list[str]) -> None:
    """Measure, print, and write the table if all rows were measured."""
    rows = {name: row for name, row in all_rows().items() if "problem" in row}
    rows = {name: row for name, row in rows.items() if not chosen or name in chosen}
    of_row: dict[str, list[str]] = defaultdict(list)
    clients = []
    for name, edition, command in commands():
        clients.append((name, edition))
        found = measured(command, cases(rows))
        for row, content in rows.items():
            told = [found[f"{row}:{at}"] for at in range(1, len(content["lines"]) + 1)]
            of_row[row].append(told[0] if len(set(told)) == 1 else "?")
            sys.stderr.write(f"{name} {edition} {row} {' '.join(told)}\n")
    if chosen:
        return
    of_problem: dict[str, list[str]] = {}
    for row, told in of_row.items():
        before = of_problem.setdefault(rows[row]["problem"], told)
        of_problem[rows[row]["problem"]] = [
            one if one == other else "?" for one, other in zip(before, told, strict=True)
        ]
    width = max(map(len, of_problem))
    lines = [f"{problem:{width}} | {' '.join(told)}" for problem, told in of_problem.items()]
    text = TABLE.read_text("utf-8")
    text = re.sub(
        r'(MEASURED: Final = """\n).*?"""',
        lambda one: one[1] + "\n".join(lines) + '\n"""',
        text,
        flags=re.DOTALL,
    )
    TABLE.write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Judge the real clients, and write what they do: `make judge`, the page of the manual.

    python -m tools.judging [--folder FOLDER] [CLIENT…]      only these; the other clients stay
    python -m tools.judging --only ROW,ROW [CLIENT…]         only these rows; their other words stay

The SDKs are those of `python -m tools.install clients`. The other clients come from npm into
FOLDER, by default a temporary one. Each client is judged twice, and what differs is not known.
Nothing else should run beside it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from humanmcp.extensions.judge.server_faults import every
from humanmcp.extensions.judge.verdicts import Word
from humanmcp.setup import hosts
from tests.clients.reactions import commands
from tools.hosts.installing import CannotRunError, Installed, install
from tools.hosts.model import TOOL
from tools.hosts.table import REAL, RealHost
from tools.install import CLIENTS

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "reference" / "clients.md"
FILE: Final = PAGE.with_suffix(".json")

_HEAD: Final = """\
<!-- Written by `make judge`: do not edit. -->

# What clients do with faulty servers

`make judge` measures this with `humanmcp judge`, and writes this page.
[See what a client does with a faulty server](../how-to/judge-a-client.md) says what the words mean.
Where two runs differ, the word is *not known*.

"""
_AGAINST: Final = """
**Bold**: against this sentence. A client that does not speak its version need not follow it.
"""
RUNS: Final = 2
TELEMETRY: Final = {"MCP_USE_ANONYMIZED_TELEMETRY": "false", "DO_NOT_TRACK": "1"}
"""So that a measurement reports nothing to anybody."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A client: its command for each transport, the flags of `humanmcp judge`, and what to tell."""

    name: str
    version: str
    how: str
    words: Mapping[str, Sequence[str]]
    flags: tuple[str, ...] = ()
    path: tuple[Path, ...] = ()
    """Folders that come first on PATH."""


def clients(folder: Path, chosen: Sequence[str]) -> Iterator[Judged]:
    """Yield the chosen clients; those that are no SDKs are installed into a folder."""
    for kind in (_sdks, _signing_in, _programs, _mcp_use, _agents):
        yield from kind(folder, lambda name: not chosen or name.startswith(tuple(chosen)))


Wanted = Callable[[str], bool]


def _sdks(_folder: Path, wanted: Wanted) -> Iterator[Judged]:
    how = "It lists the tools, calls one, and prints the result. A request may take 4 seconds."
    for name, version, command in commands("judged.mjs", "judged.py"):
        if wanted(name):
            words = {
                "stdio": (*command, "stdio", "{server...}"),
                "http": (*command, "http", "{url}"),
            }
            yield Judged(name, version, how, words)


def _signing_in(_folder: Path, wanted: Wanted) -> Iterator[Judged]:
    how = (
        "`--only oauth`. It signs in, lists the tools, calls one, and prints the result. What comes"
        " back to the browser is judged by the SDK; where the SDK leaves that to the program"
        " (TypeScript: `state`; 1: errors, too), the program stops."
    )
    for sdk, version, command in commands("signs_in.mjs", "signs_in.py"):
        if wanted(name := f"{sdk}, signing in"):
            words = {"http": (*command, "{url}", "t")}
            yield Judged(name, version, how, words, ("--only", "oauth", "--timeout", "30"))


_PROGRAMS: Final = (
    (
        RealHost("inspector", "@modelcontextprotocol/inspector", "mcp-inspector", (), {}),
        "Inspector CLI",
        "`--cli … --method tools/call`. It has its own limit of 60 seconds; after 70 it *hung*.",
        ("--cli",),
        {"stdio": ("{server...}",), "http": ("{url}", "--transport", "http")},
        ("--method", "tools/call", "--tool-name", "t"),
        ("--timeout", "70"),
    ),
    (
        RealHost("mcporter", "mcporter", "mcporter", (), {}),
        "mcporter",
        "`mcporter call --timeout 4000`. After 40 seconds it *hung*.",
        ("call", "--name", "judged", "--timeout", "4000", "t"),
        {"stdio": ("--stdio", "{server}"), "http": ("--http-url", "{url}", "--allow-http")},
        (),
        ("--timeout", "40"),
    ),
)


def _programs(folder: Path, wanted: Wanted) -> Iterator[Judged]:
    for host, name, how, before, servers, after, flags in _PROGRAMS:
        if wanted(name) and (found := _installed(host, folder)):
            words = {
                transport: (str(found.program), *before, *server, *after)
                for transport, server in servers.items()
            }
            yield Judged(name, found.version, how, words, flags, found.path)


def _mcp_use(folder: Path, wanted: Wanted) -> Iterator[Judged]:
    """Install mcp-use from PyPI, in an environment of its own."""
    if not wanted("mcp-use"):
        return
    python = folder.absolute() / "mcp-use-py" / "bin" / "python"
    if not python.exists():
        venv.create(python.parents[1], with_pip=True)
        subprocess.run((python, "-m", "pip", "install", "--quiet", "mcp-use"), check=True)
    told = "from importlib.metadata import version; print(version('mcp-use'))"
    version = subprocess.run((python, "-c", told), capture_output=True, text=True, check=True)
    command = (str(python), str(ROOT / "tests" / "clients" / "judged_mcp_use.py"))
    yield Judged(
        "mcp-use (Python)",
        version.stdout.strip(),
        "It lists the tools, calls one, and prints the result. After 20 seconds it *hung*.",
        {"stdio": (*command, "stdio", "{server...}"), "http": (*command, "http", "{url}")},
        ("--timeout", "20"),
    )


_OF_AGENTS: Final = """
banner exit_at_start silent_at_initialize exit_after_initialize version_of_the_future
version_missing no_server_info tools_not_declared initialize_refused
null_member_in_list no_string_in_list dangling_reference_in schema_not_object silent_at_list
many_tools name_with_dot name_with_spaces name_of_100_letters same_name_twice one_of_at_the_top
array_without_items list_of_types schema_of_itself slow_pattern schema_with_comment cursor_to_itself
empty_cursor long_description
error_null id_string another_id not_json array no_content result_no_object null_flag null_meta
bad_base64 structured_mismatch second_response log_line exit_at_call silent_at_call
unknown_request roots_not_declared
app_only_tool app_page_elsewhere app_meta_no_object
"""
"""What an agent is judged on: each run takes it some seconds."""


def _agents(folder: Path, wanted: Wanted) -> Iterator[Judged]:
    how = (
        "One prompt, with a stand-in model that calls the tool and repeats its result. A call may"
        " take 10 seconds where the entry of the host can say so; after 60 seconds it *hung*."
    )
    for host in REAL:
        name = hosts.BY_NAME[host.name].label
        if wanted(name) and (found := _installed(host, folder)):
            words = (sys.executable, "-m", "tools.hosts.judged", host.name, str(folder.absolute()))
            flags = ("--tool", TOOL, "--timeout", "60", "--only", ",".join(_OF_AGENTS.split()))
            yield Judged(name, found.version, how, {"stdio": (*words, "{server...}")}, flags)


def _installed(host: RealHost, folder: Path) -> Installed | None:
    try:
        return install(host, folder)
    except CannotRunError as error:
        sys.stderr.write(f"NOT RUN: {host.name}: {error}\n")
        return None


def judged(
    client: Judged, transport: str, jobs: int, only: str = ""
) -> tuple[dict[str, str], list[str]]:
    """Judge one client over one transport, twice. Return the words, and what is against a rule."""
    command = [sys.executable, "-m", "humanmcp", "judge", "--lang", "en", "--format", "json"]
    flags = (*client.flags, "--only", only) if only else client.flags
    path = os.pathsep.join([*map(str, client.path), os.environ["PATH"]])
    runs = []
    for _ in range(RUNS):
        done = subprocess.run(
            [*command, "--jobs", str(jobs), *flags, "--", *client.words[transport]],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            cwd=CLIENTS,
            env={**os.environ, **TELEMETRY, "PATH": path, "PYTHONPATH": str(ROOT)},
        )
        verdicts = json.loads(done.stdout)["verdicts"]
        runs.append({one["name"]: one["word"] for one in verdicts})
        against = [one["name"] for one in verdicts if one["broke"]]
    first, second = runs
    words = {}
    for name, word in first.items():
        if transport == "stdio" or every()[name].transport == "http":
            words[name] = word if word == second[name] else Word.UNKNOWN.value
        if word != second[name]:
            sys.stderr.write(f"{client.name} {client.version}, {name}: {word}, {second[name]}\n")
    return words, [name for name in against if words.get(name) == first.get(name)]


def measured(client: Judged, jobs: int, only: str = "") -> dict[str, Any]:
    """Judge one client over all its transports; `only` are rows of stdio."""
    words: dict[str, str] = {}
    against: list[str] = []
    for transport in ("stdio",) if only else client.words:
        found, broke = judged(client, transport, jobs, only)
        words, against = words | found, against + broke
        sys.stderr.write(f"{client.name} {client.version} {transport}\n")
    return {
        "name": client.name,
        "version": client.version,
        "runs": RUNS,
        "date": datetime.now(UTC).date().isoformat(),
        "how": client.how,
        "words": words,
        **({"against": against} if against else {}),
    }


def _marked(client: Mapping[str, Any], name: str) -> str:
    word: str = client["words"].get(name, "")
    return f"**{word}**" if name in client.get("against", ()) else word


def page(table: Sequence[Mapping[str, Any]]) -> str:
    """Write the measured words as a page."""
    lines = [_HEAD, "| client | version | measured | runs | how |", "|" + " --- |" * 5]
    for one in table:
        days = Counter(one.get("later", {}).values())
        dates = [
            one["date"],
            *(f"{count} row{'s' * (count > 1)} {day}" for day, count in days.items()),
        ]
        cells = (one["name"], one["version"], ", ".join(dates), str(one["runs"]), one["how"])
        lines.append(f"| {' | '.join(cells)} |")
    rows = every()
    for place in dict.fromkeys(one.place for one in rows.values()):
        of_place = [
            name for name in rows if rows[name].place == place and rows[name].kind != "good"
        ]
        here = [one for one in table if one["words"].keys() & set(of_place)]
        if not here:
            continue
        heads = [f"{one['name']} {one['version']}" for one in here]
        lines += [f"\n## {place}\n", f"| the server | {' | '.join(heads)} |"]
        lines.append("| --- " * (len(heads) + 1) + "|")
        for name in of_place:
            words = [_marked(client, name) for client in here]
            lines.append(f"| {rows[name].what('en')} | {' | '.join(words)} |")
        broken = [one for one in of_place if rows[one].guarded and rows[one].source[0]]
        lines += [_AGAINST] if broken else []
        for name in broken:
            quote, link = rows[name].source
            lines.append(f"- {rows[name].what('en')}: “{quote}” [{link.split('/')[4]}]({link})")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write both files; after each client, so that an interrupt keeps the others."""
    parser = argparse.ArgumentParser(prog="python -m tools.judging", description=__doc__)
    parser.add_argument("clients", nargs="*", help="the beginning of their names (default: all)")
    parser.add_argument("--folder", type=Path, help="keep the packages here for the next time")
    parser.add_argument("--jobs", type=int, default=1, help="run so many at a time")
    parser.add_argument("--only", default="", help="measure only these rows of stdio")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="judging-", ignore_cleanup_errors=True) as temporary:
        for client in clients(arguments.folder or Path(temporary), arguments.clients):
            if arguments.only and "stdio" not in client.words:
                continue
            try:
                row = measured(client, arguments.jobs, arguments.only)
                write(row, is_part=bool(arguments.only))
            except subprocess.CalledProcessError as error:
                sys.stderr.write(
                    f"NOT RUN: {client.name}: `humanmcp judge` exits {error.returncode}\n"
                )


def write(row: Mapping[str, Any], *, is_part: bool = False) -> None:
    """Put the row of a client into both files, in the place of its earlier one.

    That is the one of the same name whose version has the same first number. A part is added to it,
    with its day, if the version is the same.
    """

    def key(one: Mapping[str, Any]) -> tuple[str, str]:
        return one["name"], one["version"].partition(".")[0]

    found = json.loads(FILE.read_text("utf-8"))["clients"] if FILE.exists() else []
    table = {key(one): one for one in found}
    earlier = table.get(key(row), {})
    if not is_part:
        table[key(row)] = row
    elif earlier.get("version") == row["version"]:
        later = earlier.get("later", {}) | dict.fromkeys(row["words"], row["date"])
        table[key(row)] = earlier | {"words": earlier["words"] | row["words"], "later": later}
    else:
        sys.stderr.write(f"NOT WRITTEN: {row['name']} {row['version']} has no other words\n")
    content = {"clients": list(table.values())}
    FILE.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    PAGE.write_text(page(content["clients"]), "utf-8")


if __name__ == "__main__":
    main()

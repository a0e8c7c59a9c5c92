"""`humanmcp hosts`: how hosts behave, as a table. It is `samples/measured_hosts.toml`."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.schema import TypedDict
from humanmcp.common.settings import add_flags, sample
from humanmcp.common.terminal import json_to_stdout, to_stdout
from humanmcp.locales import say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings

SECTION: Final = "hosts"
FILE: Final = "measured_hosts.toml"
COLUMNS: Final = ("name", "version", "opens", "start", "call", "token", "progress", "cancels")


def add_arguments(parser: Parser) -> None:
    flag = parser.flags(SECTION, "help ")
    add_flags(parser, "lang")
    flag("--json", action="store_true")


def run(arguments: argparse.Namespace, _settings: Settings) -> int:
    """Print the table."""
    rows = table()
    if arguments.json:
        json_to_stdout(list(rows))
    else:
        for line in lines(rows):
            to_stdout(line)
    return 0


class HostRowShape(TypedDict, total=False):
    """The measured timeouts of a host, in seconds: `waited` is the minimum of `call`.

    `opens`: probe, modern or handshake. `token`: always, on request or never.
    """

    name: str
    client: str
    version: str
    package: str
    opens: str
    protocol_version: str
    capabilities: list[str]
    start: float | str
    call: float | str
    waited: float
    token: str
    progress: bool
    cancels: bool
    ends: str


def table() -> tuple[HostRowShape, ...]:
    """Read the rows that come with humanmcp."""
    return tuple(tomllib.loads(sample(FILE).read_text(encoding="utf-8"))["host"])


def lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Write rows as a table of Markdown."""
    yield f"| {' | '.join(say(SECTION, name) for name in COLUMNS)} |"
    yield f"| {' | '.join('---' for _ in COLUMNS)} |"
    for row in rows:
        yield f"| {' | '.join(_cell(row.get(name), name) for name in COLUMNS)} |"


def _cell(value: object, name: str) -> str:
    if isinstance(value, bool):
        return say(SECTION, "yes" if value else "no")
    if value is None:
        return "?"
    if value == "none" or name in ("opens", "token"):
        return say(SECTION, f"{name} {value}" if name in ("opens", "token") else "none")
    return f"{value:g} s" if isinstance(value, (int, float)) else str(value)

"""What a server can do wrong, read from `server_faults.toml`, and the words that it then writes."""

from __future__ import annotations

import functools
import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp.extensions import loaded
from humanmcp.locales import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from humanmcp.extensions import Guarded

RIGHT: Final = "right-7421"
"""The text of a right result: a client that prints its results prints it."""
WRONG: Final = "wrong-7421"
"""The text of a result that no client may take for an answer."""

_FILE: Final = Path(__file__).with_name("server_faults.toml")
_REPEAT: Final = re.compile("«([0-9]+)[|]([^|]*)[|]([^»]*)»")
_MARKED: Final = re.compile(r"\b(?:IDX|IDW|ID|OK|TEXT|TOOLS|NAME)\b")
_PLACES: Final = {
    "initialize": "handshake",
    "notifications/initialized": "handshake",
    "server/discover": "handshake",
    "tools/list": "lists",
    "start": "start",
    "end": "end",
}
_OF_PROBLEM: Final = {"R": "json_rpc", "N": "newline", "M": "schema", "J": "json"}


@dataclass(frozen=True, slots=True)
class ServerFault:
    """One thing that a server does wrong, and where.

    `steps` are what it does instead of the answer to `method`; `response` is a whole HTTP response
    instead. The other members are described at the head of `server_faults.toml`.
    """

    name: str
    kind: str = "wrong"
    method: str = "tools/call"
    duty: str = ""
    steps: tuple[Mapping[str, Any], ...] = ()
    response: str | None = None
    encoding: str = "utf-8"
    then_right: bool = False
    structured: bool = False
    nth: int = 0
    unanswered: str = ""
    declares: str = ""
    answer: str = "error"
    transport: str = ""
    version: str = ""
    problem: str = ""
    guarded: Guarded | None = None
    """What another extension brings; all of its answers to messages of MCP are right."""

    @property
    def place(self) -> str:
        """Where it happens: start, handshake, lists, call, request, notification, http or end."""
        if self.guarded is not None:
            return self.guarded.place
        if self.transport == "http":
            return "http"
        return "request" if self.kind == "asking" else _PLACES.get(self.method, "call")

    def what(self, language: str = "") -> str:
        """Say what is wrong."""
        if self.guarded is not None:
            return say(self.guarded.section, self.guarded.code, language)
        return say("server_fault", self.name, language)

    @property
    def source(self) -> tuple[str, str]:
        """The sentence that it breaks, or that a good client keeps, and its page; "" for none."""
        if self.guarded is not None:
            return self.guarded.quote, self.guarded.link
        duty = duties().get(self.duty, {"quote": "", "link": ""})
        return duty["quote"], duty["link"]

    @property
    def text(self) -> str:
        """The text of the results that it writes."""
        right = self.kind != "wrong" and not self.then_right
        return RIGHT if right else WRONG


GOOD: Final = ServerFault("good", kind="tolerable", method="")
"""A server that does nothing wrong: what a client does with it is the measure of the others."""


@functools.cache
def rows() -> Mapping[str, Any]:
    """Return `server_faults.toml`."""
    return tomllib.loads(_FILE.read_text("utf-8"))


@functools.cache
def duties() -> Mapping[str, Mapping[str, str]]:
    """Return `duties.toml`."""
    return tomllib.loads(_FILE.with_name("duties.toml").read_text("utf-8"))


@functools.cache
def server_faults() -> Mapping[str, ServerFault]:
    """Return all of them by name, in their order; each with the first case of its row."""
    return {name: server_fault(name) for name in rows()}


@functools.cache
def every() -> Mapping[str, ServerFault]:
    """Return all of them, then what other extensions bring to be judged."""
    brought = (one for rows_of in loaded("judged") for one in rows_of())
    made = {
        one.name: ServerFault(one.name, one.kind, "", transport="http", guarded=one)
        for one in brought
    }
    return {**server_faults(), **made}


def measure_of(one: ServerFault) -> ServerFault:
    """Return the server without a fault with which a client's run is compared."""
    ours = (row for row in every().values() if row.kind == "good" and row.place == one.place)
    return next(ours, GOOD)


def server_fault(name: str) -> ServerFault:
    """Return one of them. `NAME:2` is the second case of a row; "good" is none.

    Raises:
        KeyError: there is none of this name.
    """
    if name == GOOD.name:
        return GOOD
    row, _, number = name.partition(":")
    found = dict(rows()[row])
    lines = found.pop("lines", None)
    steps = tuple(found.pop("steps", ()))
    if lines is not None:
        steps = ({"line": lines[int(number or 1) - 1]},)
    if found.get("then_right"):
        steps = (*steps, {"right": True})
    found.setdefault("duty", _OF_PROBLEM.get(found.get("problem", "")[:1], ""))
    return ServerFault(name=name, steps=steps, **found)


def written(text: str, one: ServerFault, token: str, tools: Sequence[str] = ("t",)) -> str:
    """Fill in what stands for something else. `token` is the id of the request, as JSON."""
    other = f"{int(token) + 1_000_000}" if token.isdigit() else '"another"'
    result = json.dumps({"content": [{"type": "text", "text": one.text}]}, separators=(",", ":"))
    listed = ",".join(json.dumps(tool(name), separators=(",", ":")) for name in tools)
    meanings = {
        "IDX": json.dumps(token.strip('"')),
        "IDW": other,
        "ID": token,
        "OK": result,
        "TEXT": one.text,
        "TOOLS": listed,
        "NAME": json.dumps(tools[0]),
    }
    text = _MARKED.sub(lambda mark: meanings[mark[0]], text)
    return _REPEAT.sub(_repeated, text)  # at the end: it makes megabytes


def _repeated(found: re.Match[str]) -> str:
    count, between, text = int(found[1]), found[2], found[3]
    if "#" not in text:
        return between.join([text] * count)
    return between.join(text.replace("#", str(number)) for number in range(1, count + 1))


def tool(name: str) -> dict[str, Any]:
    """Return a tool that takes any arguments."""
    return {"name": name, "description": "Look it up.", "inputSchema": {"type": "object"}}

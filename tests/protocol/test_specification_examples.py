"""The JSON examples of the specification itself: nothing is said of them that is not so.

They are read from a folder with the repositories of github.com/modelcontextprotocol in it, which
`HUMANMCP_SPECIFICATION` names. `make specification` fetches it; then `make test` finds it, too.

What an example leaves out for the reader (`_meta`, the rest of a digest) is said to be missing, and
so it is. `specification_examples.toml` lists what else is said of one, and why that is right.
"""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
from humanmcp.protocol.diagnostics.problem import RawDiagnostic
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Kind, Message
from humanmcp.protocol.repair.reading import read_json
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.tables.objects import ASKS, CONTENT
from humanmcp.protocol.validation import check
from humanmcp.protocol.validation.envelope import judge_error
from humanmcp.protocol.validation.shape_checker import judge
from tests.support.verdicts import R2025, R2026

SETTING: Final = "HUMANMCP_SPECIFICATION"
FOLDERS: Final = (
    *((f"modelcontextprotocol/docs/specification/{one}", one) for one in versions.ALL),
    ("modelcontextprotocol/docs/extensions", R2026),
    ("ext-tasks/specification/2026-07-28", R2026),
    ("ext-skills/specification/stable", R2026),
    ("ext-apps/specification/2026-01-26", R2025),
)
"""Where examples stand, and the version that they are written in."""

_BLOCK: Final = re.compile(r"^ *```jsonc?\b[^\n]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
_ABLE: Final = NegotiatedState(
    client_capabilities={
        "roots": {"listChanged": True},
        "sampling": {"tools": {}, "context": {}},
        "elicitation": {"form": {}, "url": {}},
    },
    initialized=True,
)
_LEFT_OUT: Final = {"M88": "", "M56": "", "M57": "", "R41": "", "M72": "...", "M29": "base64"}
"""What an example leaves out or cuts short, by code, and what then stands in the quoted value."""
_COMMENTED: Final = {"J02", "J08", "J51"}
"""What is said of JSON with comments: a comma too many, a comment, several lines."""
_KNOWN: Final[dict[str, dict[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("specification_examples.toml").read_text("utf-8")
)


class Example(NamedTuple):
    """One block of a page: the value, and what was asked before it on the page, by id."""

    page: str
    version: str
    value: Any
    request: Message | None

    @property
    def digest(self) -> str:
        """What the example is known by: its JSON, whatever its spaces and the order of members."""
        text = json.dumps(self.value, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def blocks(text: str) -> Iterator[Any]:
    """Yield what stands in the JSON blocks of a page, with its comments taken out.

    A sketch of JSON is passed over.
    """
    for found in _BLOCK.findall(text):
        reading = read_json(found)
        if reading.readable and {one.code for one in reading.diagnostics} <= _COMMENTED:
            yield reading.value


def examples(root: Path) -> Iterator[Example]:
    """Yield the examples of every page below a folder."""
    for folder, version in FOLDERS:
        for page in sorted((root / folder).rglob("*.md*")):
            asked: dict[str, Message] = {}
            for value in blocks(page.read_text("utf-8")):
                own = str(value.get("id")) if isinstance(value, dict) else ""
                message = jsonrpc.read(json.dumps(value).encode())
                found = message if isinstance(message, Message) else None
                answers = found is not None and found.kind.is_answer
                request = asked.pop(own, None) if answers else None  # pages use their ids again
                yield Example(str(page.relative_to(root)), version, value, request)
                if found is not None and found.kind is Kind.REQUEST:
                    asked[own] = found


def said(example: Example) -> list[str]:
    """List what is said of an example, each as its code and its place."""
    value, version = example.value, example.version
    if not isinstance(value, dict):
        return []
    message = jsonrpc.read(json.dumps(value).encode())
    if "jsonrpc" in value and isinstance(message, Message):
        if not message.kind.is_answer:
            return _told(_of_first(message, value, version))
        if example.request is None:
            return _told(each.unplaced() for each in _of_unknown(value, version))
        exchange = Exchange(1, example.request, version)
        return _told(check.review(exchange, message, _ABLE))
    value, kind = _part(example.page, value)
    found = judge(value, kind, version) if kind else []
    return _told(each.unplaced() for each in found)


def _of_unknown(value: dict[str, Any], version: str) -> list[RawDiagnostic]:
    """Judge an answer whose request is not on the page, by what only one result has."""
    if "error" in value:
        return judge_error(value["error"], version, ("error",))
    result = value["result"]
    kinds = (
        one.result_in(version)
        for one in methods.REQUESTS.values()
        if one.is_in(version) and not {*one.gives_away}.isdisjoint(result)
    )
    of_client = (kind for mark, kind in _OF_CLIENTS.items() if mark in result)
    kind = next(of_client, None) or next(kinds, None)
    return [] if kind is None else judge(result, kind, version, ("result",))


def _of_first(message: Message, value: dict[str, Any], version: str) -> Iterable[Any]:
    record = methods.of(message.method)
    if version in record.to_server or not record.name:
        return check.remarks(message, version, _ABLE)
    return check.check_outgoing(json.dumps(value), version, _ABLE).diagnostics


def _part(page: str, value: dict[str, Any]) -> tuple[Any, Any]:
    """Return a part of a message and its kind in the table; no kind where that cannot be told."""
    if value.get("type") in CONTENT.shapes:
        return value, CONTENT
    if value.get("method") in ASKS.shapes:
        return value, ASKS
    if value.keys() == {"capabilities"}:
        side = next((kind for part, kind in _SIDES.items() if part in page), None)
        return value["capabilities"], side
    marks = (kind for mark, kind in _MARKS.items() if mark in value)
    return value, next(marks, None)


_OF_CLIENTS: Final = {"action": "ElicitResult", "role": "CreateMessageResult"}
_SIDES: Final = {"/server/": "ServerCapabilities", "/client/": "ClientCapabilities"}
_MARKS: Final = {
    "inputSchema": "Tool",
    "uriTemplate": "ResourceTemplate",
    "frontmatter": "Skill",
    "action": "ElicitResult",
}


def _told(diagnostics: Iterable[Any]) -> list[str]:
    told = []
    for one in diagnostics:
        cut = _LEFT_OUT.get(one.code)
        if cut is None or cut not in str(one.detail):
            told.append(f"{one.code} {one.pointer}")
    return sorted(told)


def known(example: Example) -> list[str]:
    """Return what is rightly said of an example that is not as the schema has it."""
    return sorted(_KNOWN.get(example.digest, {}).get("said", []))


def test_nothing_wrong_is_said_of_an_example_of_the_specification() -> None:
    """Each page of the five versions, of tasks, skills and apps."""
    root = os.environ.get(SETTING)
    if not root:
        pytest.skip(f"no specification here: `make specification`, or name its folder in {SETTING}")
    found = list(examples(Path(root)))
    assert found, f"no examples below {root}"
    wrong = [(one.page, one.digest, said(one)) for one in found if said(one) != known(one)]
    assert wrong == []


TASK: Final = {
    "taskId": "1",
    "status": "completed",
    "createdAt": "2026-07-28T10:30:00Z",
    "lastUpdatedAt": "2026-07-28T10:30:00Z",
    "ttlMs": 60000,
    "result": {"content": []},
}


def test_a_page_is_read_as_a_conversation(tmp_path: Path) -> None:
    """Requests, answers by their id, notifications and parts; what is no JSON is passed over."""
    page = tmp_path / "ext-tasks/specification/2026-07-28/tasks.md"
    page.parent.mkdir(parents=True)
    parts: list[Any] = [
        {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": "1"}},
        {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", **TASK}},
        {"jsonrpc": "2.0", "id": 2, "method": "tasks/get", "params": {"taskId": "1"}},
        {"jsonrpc": "2.0", "id": 2, "result": {"resultType": "complete", **TASK, "ttlMs": "1"}},
        {"jsonrpc": "2.0", "method": "notifications/tasks", "params": TASK},
        {"jsonrpc": "2.0", "method": "notifications/tasks", "params": {**TASK, "x": 1}},
        {"jsonrpc": "2.0", "id": 9, "result": {}},
        {"jsonrpc": "2.0", "id": 9, "result": {"resultType": "complete", "content": 5}},
        {"jsonrpc": "2.0", "id": 9, "error": {"code": "x", "message": "no"}},
        {"type": "text", "text": 5},
        {"other": 1},
    ]
    written = "\n".join(f"```json\n{json.dumps(one)}\n```\n" for one in parts)
    page.write_text(f"# Tasks\n\n```json\n{{ ... }}\n```\n{written}")
    wanted: list[list[str]] = [
        *([], [], [], ["M18 /result/ttlMs"], [], ["M12 /params/x"], []),
        *(["M01 /result/content"], ["R08 /error/code"], ["M15 /text"], []),
    ]
    assert [said(one) for one in examples(tmp_path)] == wanted

"""What a lesson says of the protocol is in the tables of the protocol, in both languages alike.

A method, a member, a version, a header, an error code or a number that is not right is seen beside
the table; one that differs in one language, beside the other.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.extensions.classroom.demo.lesson import lesson_files
from humanmcp.protocol.http.http_headers import SPELLING
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.tables.objects import SHAPES
from humanmcp.protocol.tables.types import members_in
from humanmcp.protocol.validation.envelope import STANDARD

FACTS: Final = {
    "method": r"(?<![\w/:~.$-])[a-z]+(?:/[A-Za-z_]+)+\b(?!;)",
    "member": r"(?<!/)\b[a-z]+(?:[A-Z][a-z]+)+\b",
    "version": r"\b20\d\d-\d\d-\d\d\b",
    "header": r"\bM(?:CP|cp)-[A-Z][A-Za-z-]+",
    "code": r"(?<!\w)-32\d{3}\b",
    "number": r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-])",
}
"""How a fact is written in a sentence."""
FOREIGN: Final = {"textContent": "of an element of HTML", "resourceUri": "of MCP Apps"}
WORDS: Final = {"1": "one a each", "2": "two second both"}
"""A number that Japanese writes with a digit, and English with a word."""


def sentences(value: Any) -> Iterator[dict[str, str]]:  # noqa: ANN401 - TOML's types
    """Yield what a lesson says to a person, in its languages; not its examples and its model."""
    if isinstance(value, list):
        for one in value:
            yield from sentences(one)
    elif isinstance(value, dict) and set(value) == {"en", "ja"}:
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            if name not in ("example", "model"):
                yield from sentences(one)


def known(kind: str, version: str) -> set[str]:
    """Return what the tables have of a kind, in a version of the protocol."""
    match kind:
        case "method":
            return {*methods.REQUESTS, *methods.NOTIFICATIONS, "text/html"}
        case "member":
            shapes = (members_in(one, version) for one in SHAPES.values() if one.since <= version)
            return {*(name for one in shapes for name in one), *FOREIGN}
        case "version":
            return {*versions.ALL}
        case "header":
            return {*SPELLING.values()}
        case _:
            return {str(one) for one in STANDARD}


def found(kind: str, text: str) -> set[str]:
    return set(re.findall(FACTS[kind], text))


def troubles(lesson: dict[str, Any]) -> list[str]:
    """Return what is not so in the sentences of a lesson."""
    version = lesson.get("protocol_version", versions.LATEST_HANDSHAKE)
    told = []
    for one in sentences(lesson):
        for kind in FACTS:
            en, ja = found(kind, one["en"]), found(kind, one["ja"])
            if kind == "number":
                words = set(re.findall(r"[a-z]+", one["en"].lower()))
                ja -= {number for number in ja - en if words & set(WORDS.get(number, "").split())}
            if en != ja:
                told.append(f"{kind}: {en ^ ja} in one language only: {one['en']}")
            strays = set() if kind == "number" else (en | ja) - known(kind, version)
            if kind == "header":
                strays = {name for name in strays if not name.startswith("Mcp-Param-")}
            told += [f"{kind}: no {name} in {version}: {one['en']}" for name in sorted(strays)]
    for step in lesson["steps"]:
        begun = step["title"]["en"].partition(":")[0]
        if step.get("method") and begun != step["method"]:
            told.append(f"the step asks {step['method']}, its title begins with {begun}")
        if "timeout" in step and f"{step['timeout']:g} " not in step["task"]["en"]:
            told.append(f"the host waits {step['timeout']:g} seconds: {step['task']['en']}")
    return told


@pytest.mark.parametrize("file", lesson_files(), ids=lambda one: Path(str(one)).stem)
def test_what_a_lesson_says_is_in_the_tables_of_the_protocol(file: Path) -> None:
    assert troubles(tomllib.loads(file.read_text("utf-8"))) == []


@pytest.mark.parametrize(
    ("lesson", "right", "wrong"),
    [
        ("05-ask-back", "form: elicitation/create", "form: elicitation/ask"),
        ("05-ask-back", "form: elicitation/create", "form: sampling/createMessage"),
        ("04-structured-result", "outputSchema promises", "resultSchema promises"),
        ("03-recover", "isError, the model", "isFailure, the model"),
        ("13-discover", "contains 2026-07-28", "contains 2026-07-27"),
        ("13-discover", "contains 2026-07-28", "contains 2025-11-25"),
        ("14-over-http", "headers MCP-Protocol-Version", "headers MCP-Version"),
        ("10-late-answer", "after 15 seconds", "after 60 seconds"),
        ("07-progress", "progress 1, total 2", "progress 1, total 3"),
        ("07-progress", "tools/call: say how far", "tools/list: say how far"),
        ("12-no-handshake", "ttlMs says", "ttl says"),
        ("04-structured-result", "outputSchema promises", "ttlMs promises"),
    ],
)
def test_a_sentence_that_is_changed_is_seen(lesson: str, right: str, wrong: str) -> None:
    (file,) = [one for one in lesson_files() if one.stem == lesson]
    text = file.read_text("utf-8")
    assert right in text
    assert troubles(tomllib.loads(text.replace(right, wrong)))

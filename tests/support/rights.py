"""What a table of rights is held against: functions, forms, and each visitor on the wire."""

import ast
import html
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Flag
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from humanmcp.desk import guard
from humanmcp.desk.rights import Entry
from tests.desk.test_guard import flat
from tests.support.serve_http import Got

ENDLESS: Final = "GET /api/events"
STARTING: Final = frozenset({"POST /try", "POST /test-prompt"})
ENDING: Final = frozenset({"POST /logout"})


def endpoints(routers: Iterable[Any]) -> dict[str, Callable[..., Any]]:
    """Return the function of each route."""
    return {
        f"{method} {route.path}": route.endpoint
        for router in routers
        for route in flat(router.routes)
        for method in route.methods or ()
    }


def acts_of(endpoint: Callable[..., Any]) -> set[str]:
    """Return the acts that a function and its helpers compare with, as its source says."""
    module = sys.modules[endpoint.__module__]
    found, seen, left = set[str](), set[str](), [endpoint.__name__]
    while left:
        name = left.pop()
        function = getattr(module, name, None)
        if (
            name in seen
            or not inspect.isfunction(function)
            or function.__module__ != module.__name__
        ):
            continue
        seen.add(name)
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                left.append(node.func.id)
            found |= {*_compared(node)}
    return found


def _compared(node: ast.AST) -> Iterator[str]:
    """Return the texts that a node compares an act with; "x *" for its first word."""
    if isinstance(node, ast.Match) and "act" in ast.unparse(node.subject):
        patterns = [part for case in node.cases for part in ast.walk(case.pattern)]
        for part in patterns:
            if isinstance(part, ast.MatchValue) and isinstance(part.value, ast.Constant):
                yield str(part.value.value)
    if isinstance(node, ast.Compare) and re.search(r"\bact\b", ast.unparse(node)):
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and part.value not in ("act", ""):
                yield str(part.value)
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".startswith"):
        for part in node.args:
            if isinstance(part, ast.Constant) and str(part.value).endswith(" "):
                yield f"{part.value!s}*"


def unknown_acts(
    table: Mapping[str, Entry], functions: Mapping[str, Callable[..., Any]]
) -> set[str]:
    """Return the acts of functions that their entries do not know."""
    return {
        f"{key} {act}"
        for key, entry in table.items()
        if entry.acts and key in functions
        for act in acts_of(functions[key])
        if not act.startswith(("hold ", "drop ")) and entry.allowed(act) is None
    }


def forms(templates: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Return the act of each button of the templates, with the file."""
    for file in templates:
        text = file.read_text(encoding="utf-8")
        loops = dict(re.findall(r"for (\w+) in \(([^)]*)\)", text))
        for value in re.findall(r'name="act" value="([^"]*)"', text):
            literal = re.sub(r"\{\{.*?\}\}", "x", value)
            inner = re.findall(r"\{\{(.*?)\}\}", value)
            chosen = [
                one for part in inner if " if " in part for one in re.findall(r"'([^']+)'", part)
            ]
            listed = loops.get(inner[0].strip(), "") if literal == "x" else ""
            for act in chosen or re.findall(r"'([^']+)'", listed) or [literal]:
                yield file.name, act


def tries(
    table: Mapping[str, Entry], who: Flag, session: str
) -> Iterator[tuple[str, str, str, bool]]:
    """Return each route with each of its acts, and whether this visitor may do it."""
    for key, entry in table.items():
        method, _, path = key.partition(" ")
        if key in (ENDLESS, "POST /login", "POST /api/login") or path.startswith("/static/"):
            continue
        at = re.sub(r"\{(?:number|seq|at)\}", "1", path)
        at = re.sub(r"\{\w+\}", session, at)
        for act, allowed in (entry.acts or {"": entry.who}).items():
            yield method, at, act.replace("*", "x"), bool(who & allowed)


def is_tried(method: str, path: str, act: str) -> bool:
    """Return True unless it would start something, or end the visit."""
    key = f"{method} {path}"
    return key not in STARTING | ENDING and act not in ("remove idle", "be started")


def encoded(path: str, record: object) -> tuple[str, bytes]:
    """Return a record as a call or a form takes it, and its content type."""
    if isinstance(record, bytes):
        return guard._FILE, record
    if path.startswith("/api/"):
        return "application/json", json.dumps(record).encode()
    assert isinstance(record, dict)
    return "application/x-www-form-urlencoded", urlencode(record).encode()


def asked(visitor: Any, method: str, path: str, act: str) -> Got:  # noqa: ANN401 - a browser, a script or a learner
    """Do one thing as this visitor."""
    if method == "GET":
        got: Got = visitor.get(path)
        return got
    record: object = {"order" if path.endswith("/say") and path.startswith("/api/") else "act": act}
    if path in guard._OF_FILES:
        record = b"\0"
    elif path.startswith("/api/") and not act:
        record = {}
    sent: Got = visitor.post(path, record)
    return sent


def said_in_words(path: str, got: Got) -> bool:
    """Return True if a refusal is a page for people, and JSON for scripts."""
    if path.startswith("/api/"):
        return bool(got.json["detail"])
    return "<h1>" in got.text and "{" not in html.unescape(got.text.partition("<main")[2])

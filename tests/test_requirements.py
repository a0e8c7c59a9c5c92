"""Requirements and tests name each other, and nothing names a document that is not here (R12)."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from docs import make_reference
from tests.requirements import REQUIREMENTS, SPECIFICATION

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parent.parent
FOLDERS: Final = ("humanmcp", "tests", "bench", "docs", "samples", "editor")

ID: Final = r"[A-Z]{4,8}-\d{1,2}|[A-Z]\d{1,2}"
NAMED: Final = re.compile(rf"(?<![\w.+-])({ID})(?![\w*^])")
RANGE: Final = re.compile(r"\b([A-Z]+-?)(\d{1,2}) to \1(\d{1,2})\b")
TEST: Final = re.compile(r"test_([a-z]\d{1,2})_")
DOCUMENT: Final = re.compile(r"[\w./-]*\w\.md\b")
ELSEWHERE: Final = re.compile(r"\b[Ii]ssue \d|\b[Ss]eed 00\d|\b[Ff]ailures? \d|\brows? [A-Z]\d")
"""How one might name a list of work, or a row of it, that a reader does not have."""

Said = tuple[Path, str]


@cache
def sources() -> tuple[tuple[Path, str], ...]:
    """Read every module of the repository."""
    found = (file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py")))
    return tuple(
        (file, file.read_text(encoding="utf-8"))
        for file in found
        if "node_modules" not in file.parts
    )


def docstrings(text: str) -> Iterator[tuple[str, str]]:
    """List what has a docstring: its name, and what that says."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield getattr(node, "name", ""), ast.get_docstring(node) or ""


def prose(text: str) -> Iterator[str]:
    """List docstrings, those of values too, and comments."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def named(name: str, said: str) -> set[str]:
    """Return the ids that a test names, in its docstring or at the head of its name."""
    ranges = {
        f"{subject}{number:0{len(first)}}"
        for subject, first, last in RANGE.findall(said)
        for number in range(int(first), int(last) + 1)
    }
    return {*NAMED.findall(said), *ranges, *(one.upper() for one in TEST.findall(name))}


@cache
def named_by_tests() -> dict[str, str]:
    """Return each id that a test names, with one place where it does."""
    return {
        each: f"{file.relative_to(ROOT)}: {name}"
        for file, text in sources()
        if file.is_relative_to(ROOT / "tests")
        for name, said in docstrings(text)
        for each in named(name, said)
    }


@cache
def exists(document: str, file: Path) -> bool:
    """Return True if a document is here: beside the file, under the root, or by its name alone."""
    if "/" in document:
        return (ROOT / document).is_file() or (file.parent / document).is_file()
    return any(ROOT.glob(f"{document}")) or any((ROOT / "docs").rglob(document))


def test_r12_every_requirement_is_proved_by_a_test() -> None:
    """R12: a sentence that nothing proves is a wish."""
    assert [each for each in REQUIREMENTS if each not in named_by_tests()] == []


def test_r12_every_id_that_a_test_names_is_a_requirement() -> None:
    """R12: or the code of a problem, which looks like one."""
    known = REQUIREMENTS.keys() | make_reference.kinds().keys()
    assert {each: at for each, at in named_by_tests().items() if each not in known} == {}


def test_r12_what_the_specification_says_belongs_to_a_requirement() -> None:
    """R12: each link has its sentence."""
    assert SPECIFICATION.keys() - REQUIREMENTS.keys() == set()


def test_r12_no_module_names_a_document_that_is_not_here() -> None:
    """R12: a reader has this repository and nothing else."""
    strangers = [
        f"{file.relative_to(ROOT)}: {document}"
        for file, text in sources()
        for said in prose(text)
        for document in DOCUMENT.findall(said)
        if not exists(document, file)
    ]
    assert strangers == []


def test_r12_no_module_names_a_list_that_is_not_here() -> None:
    """R12: nor a row of one."""
    found = [
        f"{file.relative_to(ROOT)}: {match[0]}"
        for file, text in sources()
        if file != Path(__file__)
        for said in prose(text)
        if (match := ELSEWHERE.search(said))
    ]
    assert found == []


def test_r12_the_rules_above_can_fail() -> None:
    """R12: ids in names, in lists and in ranges; documents in docstrings and comments."""
    assert named("test_k3_x", "T1, U05 and B1 to B3: UTF-8, CP932.") == {
        *("K3", "T1", "U05", "B1", "B2", "B3")
    }
    assert named("test_x", "E08 to E10; LINE-9 to LINE-11.") >= {"E09", "LINE-10"}
    assert not exists("nowhere.md", ROOT / "tests" / "x.py")
    assert exists("docs/reference/folder.md", ROOT / "tests" / "x.py")
    assert list(prose('"""A."""\nx = 1  # See b.md\n')) == ["A.", "# See b.md"]
    assert ELSEWHERE.search("Failure 3: x")

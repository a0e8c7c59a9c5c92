"""Docstrings are in plain technical English, and name who does what."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

import humanmcp

if TYPE_CHECKING:
    from collections.abc import Iterator

HOUSE: Final = Path(humanmcp.__file__).parent
NOT_PLAIN: Final = re.compile(
    r"\b(?:nobody|somebody|whoever)\b|\b(?:say|tell) (?:whether|if)\b", re.IGNORECASE
)
"""Write who it is (the client, a person, the caller), "Return True if ..." for a question."""


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield every text that stands alone, those below an attribute too, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text


def not_plain(tree: ast.AST) -> list[str]:
    """Return each use of such a word, with its line."""
    return [
        f"line {line}: {found.group()}"
        for line, text in sorted(docstrings(tree))
        for found in NOT_PLAIN.finditer(text)
    ]


@pytest.mark.parametrize("folder", ["bench", "docs", "tests"])
def test_docstrings_outside_the_package_say_what_is_returned(folder: str) -> None:
    """No "Say whether"; who does not do something may be nobody in a story of a test."""
    files = sorted((HOUSE.parent / folder).rglob("*.py"))
    trees = [(file.name, ast.parse(file.read_text("utf-8"))) for file in files]
    found = [
        f"{name}, line {line}"
        for name, tree in trees
        for line, text in docstrings(tree)
        if re.match(r"(?:Say|Tell) (?:whether|if)\b", text)
    ]
    assert found == []


def test_docstrings_name_who_and_say_what_is_returned() -> None:
    """No nobody, somebody or whoever, and no "Say whether", in the whole package."""
    files = sorted(HOUSE.rglob("*.py"))
    trees = ((file.relative_to(HOUSE), ast.parse(file.read_text("utf-8"))) for file in files)
    assert [f"{file}: {one}" for file, tree in trees for one in not_plain(tree)] == []


def test_a_word_that_is_not_plain_is_found() -> None:
    """The rule itself can fail, also below an attribute."""
    source = 'def f():\n    """Say whether it is."""\n\nX = 1\n"""Somebody reads it."""'
    assert not_plain(ast.parse(source)) == ["line 2: Say whether", "line 5: Somebody"]


def test_a_module_that_a_docstring_names_is_there() -> None:
    """A file that was moved is named by its new place: seven names led nowhere."""
    root = HOUSE.parent
    files = [
        file for place in ("humanmcp", "tests", "bench", "docs") for file in modules(root / place)
    ]
    known = {str(file.relative_to(root)) for file in (*files, *root.glob("*.py"))}
    gone = [
        f"{file.relative_to(root)}: {name}"
        for file in files
        for _line, text in docstrings(ast.parse(file.read_text("utf-8")))
        for name in re.findall(r"`([\w/]+\.py)`", text)
        if not any(f"/{one}".endswith(f"/{name}") for one in known)
    ]
    assert gone == []


def modules(folder: Path) -> list[Path]:
    """List the modules below a folder that are ours."""
    return [file for file in folder.rglob("*.py") if "node_modules" not in file.parts]

"""One class name means one thing in the whole package."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import humanmcp

if TYPE_CHECKING:
    from collections.abc import Iterable

HOUSE = Path(humanmcp.__file__).parent


def named_twice(trees: Iterable[tuple[str, ast.Module]]) -> dict[str, list[str]]:
    """Return the names that several modules give to a class of their own, with the modules."""
    places: dict[str, list[str]] = defaultdict(list)
    for place, tree in trees:
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(place)
    return {name: found for name, found in places.items() if len(found) > 1}


def test_no_class_name_means_two_things() -> None:
    """Who searches for a name finds one class; a private class counts too."""
    files = sorted(HOUSE.rglob("*.py"))
    trees = [(str(file.relative_to(HOUSE)), ast.parse(file.read_text("utf-8"))) for file in files]
    assert named_twice(trees) == {}


def test_a_name_that_is_given_twice_is_found() -> None:
    """The rule itself can fail."""
    trees = [("a.py", ast.parse("class Text: ...")), ("b.py", ast.parse("class Text: ..."))]
    assert named_twice(trees) == {"Text": ["a.py", "b.py"]}

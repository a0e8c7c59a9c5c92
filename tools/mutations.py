"""The mistakes that can be made in a module, one at a time, for `make mutants`.

Knows the syntax tree and nothing of tests. A mistake is named by its function, by what stands
there and by what would stand there: a change elsewhere in the file leaves the name as it is.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).parent.parent

_SWAPS: Final[dict[type[ast.AST], type[ast.AST]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.Continue: ast.Break,
    ast.Break: ast.Continue,
}


class Mistake(NamedTuple):
    """One mistake: where it is made, what stands there, and what stands there with it."""

    file: str
    function: str
    before: str
    after: str
    nth: int
    """Which one, of those in the function that read alike: 1 is the first."""

    def __str__(self) -> str:
        """Return a line about it."""
        again = f"  (number {self.nth})" if self.nth > 1 else ""
        return f"{self.file}::{self.function}  {self.before}  ->  {self.after}{again}"


class Place(NamedTuple):
    """Where a mistake is made in a tree, and which lines run when it does."""

    node: ast.AST
    field: str
    value: Any
    lines: range


@cache
def mistakes(file: str) -> dict[Mistake, Place]:
    """Return every mistake that can be made in the functions of a module."""
    found: dict[Mistake, Place] = {}
    alike: Counter[tuple[str, str, str]] = Counter()
    for name, function in _functions(_parsed(file), ""):
        for node, lines in _inside(function.body, range(0)):
            for field, value in _of(node):
                texts = (name, _text(node), _text(node, field, value))
                alike[texts] += 1
                found[Mistake(file, *texts, alike[texts])] = Place(node, field, value, lines)
    return found


def make(mistake: Mistake) -> ast.Module:
    """Make a mistake in the tree of its module, for good, and return the tree."""
    place = mistakes(mistake.file)[mistake]
    setattr(place.node, place.field, place.value)
    return ast.fix_missing_locations(_parsed(mistake.file))


@cache
def _parsed(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text("utf-8"))


def _functions(node: ast.AST, around: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions and methods of a module; those inside a function belong to it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield around + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{around}{child.name}.")


def _inside(nodes: Iterable[ast.AST], lines: range) -> Iterator[tuple[ast.AST, range]]:
    """Yield what runs when a function is called, with the lines of its statement."""
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        at = _lines(node) if isinstance(node, ast.stmt) else lines
        yield node, at
        for name, field in ast.iter_fields(node):
            if name not in ("annotation", "returns"):
                parts = field if isinstance(field, list) else [field]
                yield from _inside((part for part in parts if isinstance(part, ast.AST)), at)


def _lines(statement: ast.stmt) -> range:
    """Return the lines of a statement without the block in it."""
    end = statement.end_lineno or statement.lineno
    for first in getattr(statement, "body", ())[:1]:
        end = max(statement.lineno, first.lineno - 1)
    return range(statement.lineno, end + 1)


def _text(node: ast.AST, field: str = "", value: object = None) -> str:
    """Return the first line of a node, with another value in a field."""
    shown = type(node)(**dict(ast.iter_fields(node)) | ({field: value} if field else {}))
    return ast.unparse(ast.fix_missing_locations(ast.copy_location(shown, node))).split("\n", 1)[0]


def _of(node: ast.AST) -> Iterator[tuple[str, Any]]:  # noqa: C901 - an arm a kind
    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                yield "ops", [*ops[:at], _SWAPS[type(op)](), *ops[at + 1 :]]
        case ast.BoolOp(op=op) | ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in _SWAPS:
            yield "op", _SWAPS[type(op)]()
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            if not isinstance(test, (ast.Compare, ast.BoolOp)):
                yield "test", ast.UnaryOp(ast.Not(), test)
        case ast.Return(value=ast.expr() as value) if not _is(value, None):
            yield "value", ast.Constant(None)
        case ast.Assign(value=value) if not isinstance(value, ast.Constant):
            yield "value", ast.Constant(None)
        case ast.Constant(value=bool() as value):
            yield "value", not value
        case ast.Constant(value=int() as value):
            yield "value", value + 1
        case ast.Constant(value=str() as value) if value:
            yield "value", f"XX{value}XX"


def _is(node: ast.AST, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value

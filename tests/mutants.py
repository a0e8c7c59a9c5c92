"""How well the tests of the core notice a mistake: each mutant is the core with one made in it.

    make mutants                     a sample of 300, chosen at random
    make mutants MUTANTS="-n 50"     fewer; --seed chooses another sample, --under one package

A mutant lives in memory: its module is compiled with the mistake when a test imports it, in a
process of its own, and the tests that mirror its module are run. Those that no test notices are
listed: each is a missing test, or a branch that changes nothing. No part of `make test`: it takes
an hour.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib.abc
import importlib.util
import multiprocessing
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import jsonschema_rs  # noqa: F401 - here, so that not every mutant's process has to load it
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

ROOT: Final = Path(__file__).parent.parent
CORE: Final = "humanmcp/protocol"
PATIENCE: Final = 60
"""Seconds for one test: one that takes longer has noticed the mutant."""


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


class Mutant(NamedTuple):
    """A mistake: in which file, and the how manieth of those that can be made there."""

    file: str
    number: int


def mutations(tree: ast.Module) -> Iterator[tuple[ast.AST, str, Any]]:
    """Yield every mistake that can be made in the functions of a module: node, field, new value."""
    for function in _functions(tree):
        for node in _inside(function):
            yield from _of(node)


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for inner in ast.walk(node):
                if inner is not node and isinstance(inner, ast.FunctionDef):
                    break
            else:
                yield node


def _inside(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield what runs when a function is called; no annotation and no docstring."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        yield node
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns"):
                parts = value if isinstance(value, list) else [value]
                waiting += [part for part in parts if isinstance(part, ast.AST)]


def _of(node: ast.AST) -> Iterator[tuple[ast.AST, str, Any]]:  # noqa: C901 - an arm a kind
    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                yield node, "ops", [*ops[:at], _SWAPS[type(op)](), *ops[at + 1 :]]
        case ast.BoolOp(op=op) | ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in _SWAPS:
            yield node, "op", _SWAPS[type(op)]()
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            if not isinstance(test, (ast.Compare, ast.BoolOp)):
                yield node, "test", ast.UnaryOp(ast.Not(), test)
        case ast.Return(value=ast.expr() as value) if not _is(value, None):
            yield node, "value", ast.Constant(None)
        case ast.Assign(value=value) if not isinstance(value, ast.Constant):
            yield node, "value", ast.Constant(None)
        case ast.Constant(value=bool() as value):
            yield node, "value", not value
        case ast.Constant(value=int() as value):
            yield node, "value", value + 1
        case ast.Constant(value=str() as value) if value:
            yield node, "value", f"XX{value}XX"


def _is(node: ast.AST, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def mutated(mutant: Mutant) -> tuple[ast.Module, str]:
    """Return a module with the mistake in it, and a line about it."""
    tree = ast.parse((ROOT / mutant.file).read_text("utf-8"))
    node, field, new = list(mutations(tree))[mutant.number]
    before = ast.unparse(copy.deepcopy(node)).partition("\n")[0]
    setattr(node, field, new)
    ast.fix_missing_locations(tree)
    after = ast.unparse(node).partition("\n")[0]
    return tree, f"{mutant.file}:{getattr(node, 'lineno', 0)}  {before[:70]}  ->  {after[:70]}"


class _WithMistake(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from its changed tree, and leaves the others alone."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        """Take the place of the file's module."""
        self.name = file.removesuffix(".py").replace("/", ".")
        self.file = str(ROOT / file)
        self.tree = tree

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> Any:  # noqa: ANN401 - as the interpreter wants it
        """Find the one module."""
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.file, loader=self)

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to the interpreter."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed module."""
        exec(compile(self.tree, self.file, "exec"), vars(module))


def tests_of(file: str) -> list[str]:
    """Return the tests of a module, nearest first: its own, then those of each folder around it."""
    path = Path(file.replace("humanmcp/", "tests/", 1))
    nearest = (path.with_name(f"test_{path.name}"), *list(path.parents)[:-2])
    return [str(place) for place in nearest if (ROOT / place).exists()]


def noticed(mutant: Mutant) -> tuple[bool, str]:
    """Run the tests of a mutant's module. For a process of its own, which ends with it."""
    tree, about = mutated(mutant)
    sys.meta_path.insert(0, _WithMistake(mutant.file, tree))
    options = ["-x", "-q", "-p", "no:cacheprovider", "-o", f"timeout={PATIENCE}"]
    with open(os.devnull, "w", encoding="utf-8") as nothing:  # noqa: PTH123 - a name, no path
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
        statuses = (_status([*options, place]) for place in tests_of(mutant.file))
        return any(status != pytest.ExitCode.OK for status in statuses), about


def _status(words: list[str]) -> int:
    try:
        status = pytest.main(words)
    except BaseException:  # noqa: BLE001 - whatever a mutant does, it was noticed
        return pytest.ExitCode.TESTS_FAILED
    if status in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError(words)
    return status


def every(under: str) -> list[Mutant]:
    """List all mutants below a folder."""
    found: list[Mutant] = []
    for file in sorted((ROOT / under).rglob("*.py")):
        count = sum(1 for _ in mutations(ast.parse(file.read_text("utf-8"))))
        name = file.relative_to(ROOT).as_posix()
        found += [Mutant(name, number) for number in range(count)]
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Make the mutants and say how many were noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--under", default=CORE)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    wanted = parser.parse_args(words)
    there = every(wanted.under)
    sample = random.Random(wanted.seed).sample(there, min(wanted.n, len(there)))
    killed = done = 0
    os.chdir(ROOT)
    green = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        wanted.under.replace("humanmcp", "tests", 1),
    ]
    if subprocess.run(green, check=False).returncode:
        sys.stderr.write("the tests fail without any mistake: every mutant would seem noticed\n")
        return 1
    with (
        multiprocessing.get_context("fork").Pool(wanted.workers, maxtasksperchild=1) as pool,
        contextlib.suppress(KeyboardInterrupt),
    ):
        for was_noticed, about in pool.imap_unordered(noticed, sample):
            killed, done = killed + was_noticed, done + 1
            if not was_noticed:
                sys.stderr.write(f"not noticed: {about}\n")
    share = 100 * killed / max(1, done)
    sys.stderr.write(f"{killed} of {done} noticed ({share:.1f} %), of {len(there)} there are\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Diagnostics without a class: whoever makes one fills its whole sentence."""

from __future__ import annotations

import ast
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Final

import pytest

from humanmcp.locales import LANGUAGES, sentences_of
from humanmcp.protocol.diagnostics.codes import LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[3]
PAIRS_FROM: Final = {
    "CodedDiagnostic": 2,
    "Diagnostic": 2,
    "problem": 4,
    "wound": 3,
    "swap": 4,
    "Malformed": 2,
}
"""Where the fillings begin among the arguments of what makes a diagnostic."""


def filled() -> Iterator[tuple[str, str, set[str]]]:
    """Walk what is made of a written code and written fillings: where, the code, the names."""
    for file in (ROOT / "humanmcp" / "protocol").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                for code, names in _of_call(node):
                    yield f"{file.relative_to(ROOT)}:{node.lineno}", code, names


def _of_call(call: ast.Call) -> Iterator[tuple[str, set[str]]]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    codes = [
        one.value
        for one in call.args[:2]
        if isinstance(one, ast.Constant) and one.value in LEVELS and isinstance(one.value, str)
    ]
    if name not in PAIRS_FROM or not codes:
        return
    given = call.args[PAIRS_FROM[name] :]
    if name in ("CodedDiagnostic", "Diagnostic", "Malformed"):
        if given and not isinstance(given[0], ast.Tuple):
            return
        given = given[0].elts if given and isinstance(given[0], ast.Tuple) else []
    pairs = [one.elts[0] for one in given if isinstance(one, ast.Tuple) and len(one.elts) == 2]
    if len(pairs) == len(given):
        yield codes[0], {str(one.value) for one in pairs if isinstance(one, ast.Constant)}


@pytest.mark.parametrize("language", LANGUAGES)
def test_r9_what_is_made_by_its_code_fills_its_sentence(language: str) -> None:
    """R9: a filling that was forgotten was a KeyError while a person types."""
    table = sentences_of("problem", language)
    made = list(filled())
    assert len(made) > 100
    lacking = {}
    for where, code, names in made:
        braces = {str(name) for _text, name, _spec, _how in Formatter().parse(table[code])}
        # {…} is what an object looks like, in a sentence without fillings
        if missing := {name for name in braces if name.isascii()} - names - {"", "None"}:
            lacking[where] = (code, missing)
    assert lacking == {}

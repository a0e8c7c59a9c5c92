"""A value against the table of shapes: where the limits are."""

import pytest

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.problem import ProblemKind
from humanmcp.protocol.tables.versions import R2025_11
from humanmcp.protocol.validation.shape_checker import judge
from tests.support.verdicts import asked, check


@pytest.mark.parametrize(("count", "said"), [(100, []), (101, [kinds.too_many_values])])
def test_a_hundred_completions_are_allowed(count: int, said: list[ProblemKind]) -> None:
    """MCP, completion: "Maximum 100 items per response"."""
    found = judge({"values": ["a"] * count}, "Completion", R2025_11)
    assert [one.kind for one in found] == said


@pytest.mark.parametrize(
    ("typed", "meant"),
    [('"5"', "5"), ('" -5 "', "-5"), ('"--5"', None), ('"5.5"', None), ('"\u0665"', None),
     ('"five"', None), ('""', None), ("true", None)],
)  # fmt: skip
def test_digits_in_quotes_are_the_number_that_they_spell(typed: str, meant: str | None) -> None:
    """With a minus before them; anything else is a person's to fix."""
    text = f'{{"completion":{{"values":[],"total":{typed}}}}}'
    params = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "x"}}
    (diagnostic,) = [
        one
        for one in check(asked("completion/complete", params), text).diagnostics
        if one.pointer.endswith("/total")
    ]
    made = diagnostic.fix.apply(text) if diagnostic.fix else None
    assert made == (None if meant is None else text.replace(typed, meant))

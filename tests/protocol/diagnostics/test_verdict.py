"""Many problems of one kind are one problem."""

import json

from humanmcp import locales
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.kinds import title_of
from humanmcp.protocol.diagnostics.locate import MOST_PLACED, Placer, Source
from humanmcp.protocol.diagnostics.model import (
    MOST,
    Applicability,
    Diagnostic,
    Fix,
    Severity,
    TextEdit,
    grouped,
)
from humanmcp.protocol.diagnostics.problem import RawDiagnostic
from humanmcp.protocol.json.jsonrpc import Malformed, read
from humanmcp.protocol.validation.shape_checker import ENOUGH
from tests.support.speaking import said_in
from tests.support.verdicts import R2024, R2025, asked, check

LIST = "tools/list"


def tools(count: int, **more: object) -> str:
    """Write a list of tools that are all alike."""
    schema = {"type": "object"}
    listed = [{"name": f"t{at}", "inputSchema": schema, **more} for at in range(count)]
    return json.dumps({"result": {"tools": listed}})


def test_the_same_member_in_many_tools_is_one_problem() -> None:
    """Its fix takes the member out everywhere."""
    text = tools(33, execution={"taskSupport": "optional"})
    verdict = check(asked(LIST, version=R2024), text)
    (found,) = (each for each in verdict.diagnostics if each.detail[0] == ("key", "execution"))
    assert found.times == 33
    assert locales.describe(found).startswith(f"33 \u00d7 {title_of(found.code)}: ")
    assert said_in("ja", locales.describe, found).startswith(f"33 \u00d7 {title_of(found.code)}: ")
    assert found.fix is not None
    assert "execution" not in found.fix.apply(text)
    assert found.fix.applicability is Applicability.REMOVES


def test_thousands_of_unknown_members_are_ten_problems() -> None:
    """Each has another name, so the last one shown stands for the rest."""
    many = {f"x{at}": at for at in range(4000)}
    verdict = check(asked(LIST), tools(1, **many))
    found = [each for each in verdict.diagnostics if each.code == "M12"]
    assert len(found) == MOST
    assert sum(each.times for each in found) == ENOUGH + 1
    assert found[-1].fix is not None
    assert len(found[-1].fix.edits) == 1


def test_thousands_of_tools_of_one_name_are_one_problem() -> None:
    """Nobody reads more than a thousand places."""
    tool = {"name": "a", "inputSchema": {"type": "object"}}
    verdict = check(asked(LIST), json.dumps({"tools": [tool] * 4000}))
    (found,) = (each for each in verdict.diagnostics if each.code == "M38")
    assert found.times == MOST_PLACED - 1  # the number of tools is told, too
    assert verdict.text[found.start : found.end] == '"a"'
    assert found.start == verdict.text.index('"a"', 60)


def test_of_many_findings_a_thousand_are_placed_and_errors_first() -> None:
    """Each place is looked for in the text, and an error behind 40,000 warnings still blocks."""
    text = json.dumps({f"x{at}": at for at in range(40_000)})
    found: list[RawDiagnostic] = [
        kinds.unknown_member((f"x{at}",), key=f"x{at}", version=R2025) for at in range(39_999)
    ]
    found.append(kinds.unknown_envelope_member(("x39999",), key="x39999"))
    placed = Placer(Source(text, text)).diagnostics(found)
    assert len(placed) == MOST_PLACED
    assert [text[each.start : each.end] for each in placed[:3]] == ["39999", "0", "1"]


def test_where_one_of_many_has_no_fix_the_group_has_that_of_the_first() -> None:
    """A button that fixes some of them would seem to fix all."""
    fixed = Diagnostic("M12", Severity.WARNING, fix=Fix((TextEdit(0, 1, ""),)))
    (one,) = grouped([fixed, *[Diagnostic("M12", Severity.WARNING)] * 4])
    assert (one.times, one.fix) == (5, fixed.fix)


def test_an_incoming_line_of_a_million_brackets_is_refused() -> None:
    """It was read a hundred times."""
    for line in (b"[" * 1_000_000, b"[[]" * 500_000):
        found = read(line)
        assert isinstance(found, Malformed)
        assert found.why == "N03"

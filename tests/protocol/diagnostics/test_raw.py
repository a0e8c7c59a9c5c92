"""Diagnostics as classes: registered by their code, with the fields that their sentence needs."""

from __future__ import annotations

from string import Formatter
from typing import Final

import pytest

from humanmcp.locales import LANGUAGES, problem, sentences_of
from humanmcp.protocol import session  # noqa: F401 - every class registers itself as the core loads
from humanmcp.protocol.diagnostics import codes
from humanmcp.protocol.diagnostics.locate import Placer, Source
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.diagnostics.raw import KINDS, RawDiagnostic, SchemaDiagnostic, delete
from humanmcp.protocol.validation.rules.lists import TwiceInList

FIELDS: Final = {code: set(kind.__annotations__) for code, kind in KINDS.items()}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("code", KINDS)
def test_r9_the_fields_of_a_class_are_the_braces_of_its_sentence(code: str, language: str) -> None:
    """R9: a filling that was forgotten was a KeyError while a person types."""
    table = sentences_of("problem", language)
    braces = {name for _text, name, _spec, _how in Formatter().parse(table[code]) if name}
    by_the_rule = {"why"} if issubclass(KINDS[code], SchemaDiagnostic) else set()
    assert braces == (FIELDS[code] | by_the_rule)


@pytest.mark.parametrize("code", KINDS)
def test_r9_a_class_has_a_severity_and_a_reason_and_no_second_form(code: str) -> None:
    """R9: in its class line and its docstring; `codes.py` has those without a class."""
    kind = KINDS[code]
    assert isinstance(kind.severity, Severity)
    assert kind.__doc__
    assert kind.__doc__ != RawDiagnostic.__doc__
    assert code not in codes.LEVELS
    assert FIELDS[code].isdisjoint({"code", "severity", "path", "mend", "at_name", "detail"})


def test_a_finding_has_its_fillings_as_attributes_and_as_detail() -> None:
    """One is for code, the other for the sentence."""
    found = TwiceInList(("result", "tools", 1), key="name", value="a")
    assert (found.code, found.severity, found.key) == ("M38", Severity.WARNING, "name")
    assert found.detail == (("key", "name"), ("value", "a"))
    text = '{"result":{"tools":[1,2]}}'
    (placed,) = Placer(Source(text, text)).problems([found])
    assert problem(placed, "en") == 'name: "a" is in the list twice.'
    assert placed.level is Severity.WARNING


def test_what_somebody_else_sent_is_noted_without_a_fix() -> None:
    """The finding itself stays as it was."""
    found = TwiceInList(("result",), delete(("result",)), key="a", value="b")
    noted = found.without_fix(Severity.HINT)
    assert (noted.code, noted.severity, noted.mend) == ("M38", Severity.HINT, None)
    assert noted.detail == found.detail
    assert (found.severity, found.mend) == (Severity.WARNING, delete(("result",)))

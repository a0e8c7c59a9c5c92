"""Diagnostics as classes: registered by their code, with the fields that their sentence needs."""

from string import Formatter
from typing import Final

import pytest

from docs import make_reference
from humanmcp.locales import LANGUAGES, describe, sentences_of
from humanmcp.protocol.diagnostics.locate import (
    Placer,
    RawDiagnostic,
    SchemaDiagnostic,
    Source,
    delete,
)
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.validation.rules.tools import TwiceInList

KINDS: Final = make_reference.kinds()
FIELDS: Final = {code: set(kind.__annotations__) for code, kind in KINDS.items()}
FAMILIES: Final = {
    code: {
        name
        for family in kind.__mro__[1:]
        if issubclass(family, RawDiagnostic) and family is not RawDiagnostic
        for name in vars(family).get("__annotations__", {})
    }
    - {"broken", "everywhere", "label", "grade"}
    for code, kind in KINDS.items()
}
"""The fields that a kind shares with others of its family, of which it need not say each."""


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("code", KINDS)
def test_the_fields_of_a_class_are_the_braces_of_its_sentence(code: str, language: str) -> None:
    """A filling that was forgotten was a KeyError while a person types."""
    table = sentences_of("problem", language)
    braces = {name for _text, name, _spec, _how in Formatter().parse(table[code]) if name}
    # {…} is what an object looks like; of R10 see `ReservedCode`
    braces = {{"code": "number"}.get(name, name) for name in braces if name.isascii()}
    by_the_rule = {"why"} if issubclass(KINDS[code], SchemaDiagnostic) else set()
    assert FIELDS[code] | by_the_rule <= braces <= FIELDS[code] | by_the_rule | FAMILIES[code]


@pytest.mark.parametrize("code", KINDS)
def test_a_class_has_a_severity_and_a_reason(code: str) -> None:
    """In its class line and its docstring, which says more than that of its family."""
    kind = KINDS[code]
    assert isinstance(kind.severity, Severity)
    assert kind.__doc__
    assert kind.__doc__ not in {family.__doc__ for family in kind.__mro__[1:]}
    assert FIELDS[code].isdisjoint({"code", "severity", "path", "fix", "at_name", "detail"})


def test_a_code_has_one_class() -> None:
    """A second one would change what the first one's findings say."""
    with pytest.raises(TypeError, match="M38"):
        type("Second", (RawDiagnostic,), {}, code="M38")
    assert KINDS["M38"] is TwiceInList


def test_a_finding_has_its_fillings_as_attributes_and_as_detail() -> None:
    """One is for code, the other for the sentence."""
    found = TwiceInList(("result", "tools", 1), key="name", value="a")
    assert (found.code, found.severity, found.key) == ("M38", Severity.WARNING, "name")
    assert found.detail == (("key", "name"), ("value", "a"))
    text = '{"result":{"tools":[1,2]}}'
    (placed,) = Placer(Source(text, text)).diagnostics([found])
    assert describe(placed, "en") == 'name: "a" appears twice.'
    assert placed.severity is Severity.WARNING


def test_what_somebody_else_sent_is_noted_without_a_fix() -> None:
    """The finding itself stays as it was."""
    found = TwiceInList(("result",), delete(("result",)), key="a", value="b")
    noted = found.without_fix(Severity.HINT)
    assert (noted.code, noted.severity, noted.fix) == ("M38", Severity.HINT, None)
    assert noted.detail == found.detail
    assert (found.severity, found.fix) == (Severity.WARNING, delete(("result",)))

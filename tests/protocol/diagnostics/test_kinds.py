"""The table of kinds of problems: names, codes, and the fields that each sentence needs."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from string import Formatter
from typing import Final

import pytest

import humanmcp
from humanmcp.locales import LANGUAGES, describe, sentences_of, titled
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.kinds import KINDS
from humanmcp.protocol.diagnostics.locate import Placer, Source
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity, unreadable
from humanmcp.protocol.diagnostics.problem import ProblemKind, delete
from humanmcp.protocol.json.jsonrpc import Flaw, Malformed, read
from tests.support.serve_process import HAS_TEXT_FILES

PACKAGE: Final = Path(humanmcp.__file__).parent
PLACED: Final = frozenset({"path", "fix", "at_name"})
"""What a problem is given besides the fields of its sentence."""
APART: Final = frozenset({"where", "broken", "null", "form"})
"""What tells places and cases apart, also where no sentence says it, and the rule of a schema."""
FOREIGN: Final = {"N49", "N50", "N51", "N52", "N53", "N54", "N55"}
"""Lines of another format, which `unreadable` names."""
BY_RULE: Final = frozenset({"why"})
"""What the broken rule of a JSON Schema fills."""


def braces(code: str, language: str = "en") -> set[str]:
    """Return the names in the braces of a sentence; `{…}` is what an object looks like."""
    sentence = sentences_of("problem", language)[code]
    named = {name for _text, name, _spec, _how in Formatter().parse(sentence) if name}
    return {name for name in named if name.isascii()}


def kind_named(node: ast.AST) -> Iterator[ProblemKind]:
    """Yield the kind of a member of `kinds`; both of `one if … else other`."""
    match node:
        case ast.Attribute(value=ast.Name(id="kinds"), attr=name) if hasattr(kinds, name):
            kind = getattr(kinds, name)
            yield from [kind] if isinstance(kind, ProblemKind) else []
        case ast.IfExp(body=one, orelse=other):
            yield from kind_named(one)
            yield from kind_named(other)


def reports(tree: ast.Module) -> Iterator[tuple[ProblemKind, set[str], int]]:
    """Yield each kind that is called, with its fields: directly, or by way of a variable.

    A kind that is handed to a function with keywords (`self.swap(kinds.unknown_escape, …)`) counts,
    too: these are its fields.
    """
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and all(word.arg for word in node.keywords):
            given = {str(word.arg) for word in node.keywords} - PLACED
            is_record = isinstance(node.func, ast.Name) and node.func.id[0].isupper()
            handed_on = node.args[:1] if given and not is_record else []
            for each in (node.func, *handed_on, *assigned(node, functions)):
                for kind in kind_named(each):
                    yield kind, given, node.lineno


def assigned(call: ast.Call, functions: list[ast.FunctionDef]) -> Iterator[ast.expr]:
    """Yield what the function around a call gives the variable that is called."""
    for around in functions:
        if around.lineno <= call.lineno <= (around.end_lineno or 0):
            for node in ast.walk(around):
                match node, call.func:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value), ast.Name(id=called):
                        yield from [value] if name == called else []


@cache
def modules() -> dict[str, ast.Module]:
    """Parse every module that names a kind."""
    texts = {file: file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py")}
    return {
        str(file.relative_to(PACKAGE)): ast.parse(text)
        for file, text in texts.items()
        if "kinds." in text and file.name != "kinds.py"
    }


def test_what_reports_a_problem_gives_the_fields_of_its_sentence() -> None:
    """A field that is forgotten would be a KeyError while a person types."""
    wrong, seen = [], set()
    for place, tree in modules().items():
        for kind, given, line in reports(tree):
            seen.add(kind.code)
            wanted = braces(kind.code) - kind.always.keys()
            wanted -= BY_RULE if "broken" in given else set()
            # one variable may stand for two kinds, of which the other one says more
            more = given - wanted - APART if kind is not kinds.missing_result_type else set()
            if more or not wanted <= given:
                wrong.append(f"{place}:{line}: {kind.name} needs {wanted}, is given {given}")
    assert wrong == []
    assert len(seen) > len(KINDS) * 2 / 3  # the others are handed on: to a table, say


def test_every_kind_is_reported_somewhere() -> None:
    """A kind that nothing reports would be a rumour. Of a line the reader itself names the code."""
    nodes = chain.from_iterable(ast.walk(tree) for tree in modules().values())
    named = {kind.code for node in nodes for kind in kind_named(node)}
    of_text_files = set() if HAS_TEXT_FILES else {"F06"}
    assert set(KINDS) - named == ({flaw.value for flaw in Flaw} - {"N08"}) | FOREIGN | of_text_files


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_has_a_sentence_and_a_reason_with_the_same_fields(language: str) -> None:
    """In each language."""
    table = sentences_of("problem", language)
    assert set(KINDS) == {code for code in table if "." not in code}
    assert [code for code in KINDS if f"{code}.why" not in table] == []
    assert [code for code in KINDS if braces(code, language) != braces(code)] == []


def test_a_name_is_two_to_four_words_and_stands_once() -> None:
    """People read it: `unknown-member (M12)`."""
    names = [kind.name for kind in KINDS.values()]
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+){1,3}", name)] == []
    assert len({id(one) for one in vars(kinds).values() if isinstance(one, ProblemKind)}) == len(
        KINDS
    )


@pytest.mark.parametrize("typed", ["unknown-member", "Unknown-Member", "m12", "M12"])
def test_a_kind_is_found_by_its_name_and_by_its_code(typed: str) -> None:
    """However it is written."""
    assert kinds.code_of(typed) == "M12"


def test_a_kind_that_a_newer_program_found_has_its_code_alone() -> None:
    """It was kept in a file, say."""
    assert kinds.code_of("M999") == kinds.name_of_kind("M999") == ""
    assert kinds.title_of("M999") == "M999"


def test_a_problem_is_shown_with_its_name_and_its_code() -> None:
    """Of many of a kind also with their number."""
    found = kinds.extra_comma().unplaced()
    assert titled(found).startswith("extra-comma (J02): This comma is extra")
    assert describe(found._replace(times=12)).startswith("12 \u00d7 extra-comma (J02): This")
    assert titled(Diagnostic("M999", Severity.ERROR)) == "M999: M999"


def test_a_problem_has_the_fields_of_its_sentence_as_detail() -> None:
    """They fill it."""
    found = kinds.duplicate_in_list(("result", "tools", 1), key="name", value="a")
    assert (found.code, found.severity) == ("M38", Severity.WARNING)
    assert found.detail == (("key", "name"), ("value", "a"))
    text = '{"result":{"tools":[1,2]}}'
    (placed,) = Placer(Source(text, text)).diagnostics([found])
    assert describe(placed) == 'name: "a" appears twice.'
    assert placed.severity is Severity.WARNING


def test_what_somebody_else_sent_is_noted_without_a_fix() -> None:
    """The problem itself stays as it was."""
    found = kinds.duplicate_in_list(("result",), delete(("result",)), key="a", value="b")
    noted = found.without_fix(Severity.HINT)
    assert (noted.code, noted.severity, noted.fix) == ("M38", Severity.HINT, None)
    assert noted.detail == found.detail
    assert (found.severity, found.fix) == (Severity.WARNING, delete(("result",)))


UNREADABLE: Final = {
    kinds.line_not_json: b"{",
    kinds.line_not_utf8: b'{"a":"\xff"}',
    kinds.line_too_deep: b"[" * 200,
    kinds.line_number_too_long: b'{"id":' + b"1" * 5000 + b"}",
    kinds.line_not_object: b"1",
    kinds.line_not_message: b'{"jsonrpc":"2.0"}',
    kinds.line_with_invalid_id: b'{"id":true,"method":"ping"}',
    kinds.response_without_id: b'{"result":{}}',
}


@pytest.mark.parametrize("kind", UNREADABLE, ids=lambda kind: kind.name)
def test_a_line_that_is_no_message_has_the_fields_of_its_kind(kind: ProblemKind) -> None:
    """What reads lines knows the code of each kind alone."""
    found = read(UNREADABLE[kind])
    assert isinstance(found, Malformed)
    assert KINDS[found.why] is kind
    assert {name for name, _text in found.detail} == braces(kind.code)
    assert unreadable(found).severity is kind.severity is Severity.ERROR

"""Fix all takes nothing out that was typed, makes no answer up, and follows no guess."""
# ruff: noqa: RUF001 - full-width characters are what this is about

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from humanmcp.protocol.diagnostics.autofix import Autofix, autofix, suggestion
from humanmcp.protocol.diagnostics.model import Applicability
from humanmcp.protocol.validation.check import check
from tests.support.damaged_answers import Typed, carelessly, plainly
from tests.support.verdicts import asked

PLAIN: Final = tuple(plainly())
CARELESS: Final = tuple(carelessly())

FILLERS: Final = frozenset(
    {
        *("jsonrpc", "2.0", "id", "3", "result", "error"),  # the envelope, and the client's own id
        *("resulttype", "complete", "ttlms", "cachescope", "private", "0"),  # asked of any result
        *("content", "type", "text"),  # plain text as what a tool says
        *("code", "-32603", "message"),  # an error of which only the words were typed
    }
)
"""What a bulk fix may add: the structure around an answer, and never an answer."""


def fix(typed: Typed) -> Autofix:
    """Apply every safe fix to a text."""
    exchange = asked(typed.method)
    return autofix(typed.text, lambda text: check(exchange, text))


def letters(text: str) -> str:
    """Return what a reader sees of a text, without what quotes, brackets and spaces it needs."""
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    text = re.sub(r"\\[nrtbf]", "", text)
    return re.sub(r"[^\w.\-/?#=]+", "", unicodedata.normalize("NFKC", text)).casefold()


def leaves(value: object) -> Iterator[str]:
    """Yield the names, texts and numbers of a value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield str(value)


def in_order(part: str, whole: str) -> bool:
    """Return True if the letters of a text all stand in another, in their order."""
    rest = iter(whole)
    return all(letter in rest for letter in part)


def hold(typed: Typed, fixed: Autofix) -> None:
    """Assert what is true of every bulk fix."""
    before, after = letters(typed.text), letters(fixed.text)
    for text in {text for text in leaves(typed.meant) if letters(text) in before}:
        assert letters(text) in after, (typed.kind, typed.text, fixed.text)
    assert in_order(_words(typed.text), _words(fixed.text)), (typed.text, fixed.text)
    assert "…" not in fixed.text
    try:
        value = json.loads(fixed.text)
    except ValueError:
        return
    for leaf in leaves(value):
        known = letters(leaf) in before or leaf.casefold() in FILLERS
        assert known, (typed.kind, leaf, typed.text, fixed.text)


def _words(text: str) -> str:
    """Return the letters of the words that are nobody's structure."""
    known = {"true", "false", "null", "none", "undefined", "json"} | FILLERS
    words = re.findall(r"[^\W\d_]{3,}", unicodedata.normalize("NFKC", _unescaped(text)).casefold())
    return "".join(word for word in words if word not in known)


def _unescaped(text: str) -> str:
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    return re.sub(r"\\+[nrtbf](?![a-z])|\\", " ", text)


def test_the_corpus_is_large() -> None:
    """Several thousand texts, each with what was meant."""
    assert len(PLAIN) + len(CARELESS) > 2500


@pytest.mark.parametrize("kind", sorted({typed.kind for typed in PLAIN}))
def test_what_has_one_meaning_is_fixed_to_it(kind: str) -> None:
    """Python's repr and pprint, an input method, a lost brace: the very answer comes out."""
    for typed in PLAIN:
        if typed.kind == kind:
            fixed = fix(typed)
            hold(typed, fixed)
            assert fixed.verdict.sendable, (typed.text, fixed.text)
            assert json.loads(fixed.verdict.line or "") == typed.meant, typed.text


def test_no_bulk_fix_loses_or_invents_anything() -> None:
    """One mistake at each place: every text survives, and nobody's words are added."""
    for typed in CARELESS:
        hold(typed, fix(typed))


WORDS: Final = st.text(alphabet="abc déあ晴:,'\"{}[]\\/\n…-5", min_size=1, max_size=12)


def test_a_version_that_swallowed_the_answer_is_not_replaced() -> None:
    """A quote too many made one text of all that follows; the answer stays in it."""
    broken = (
        '{"jsonrpc"\': "2.0", "id": 3, "result": {"content": '
        '[{"type": "text", "text": "5"}], "note": "\' "}}'
    )
    assert "5" in fix(Typed("any", "tools/call", broken, {})).text


@settings(max_examples=300, deadline=None)
@given(WORDS, WORDS, st.data())
def test_whatever_is_typed_survives(one: str, other: str, data: st.DataObject) -> None:
    """Any two texts in any of the places, and a character lost or put in anywhere."""
    answer: dict[str, Any] = {
        "jsonrpc": "2.0", "id": 3,
        "result": {"content": [{"type": "text", "text": one}], "note": other},
    }  # fmt: skip
    text = json.dumps(answer, ensure_ascii=False)
    at = data.draw(st.integers(0, len(text) - 1))
    new = data.draw(st.sampled_from(["", '"', "'", ",", "{", "}", "]", ":", "x", "「", "ー"]))
    broken = text[:at] + new + text[at + data.draw(st.integers(0, 1)) :]
    fixed = fix(Typed("any", "tools/call", broken, {}))
    for part in (one, other, "note"):
        if letters(part) in letters(broken):
            assert letters(part) in letters(fixed.text), (broken, fixed.text)
    assert fixed.text.count("…") == broken.count("…")


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ('{"result":{"content":[{"type":"text","text":"""sunny"""}]}}', "sunny"),
        ("{'result':{'content':[{'type':'text','text':'sun'\n   'ny'}]}}", "sunny"),
        ("{'result':{'content':[{'type':'text','text':'sun' +\n 'ny'}]}}", "sunny"),
        (
            """{'result':{'content':[{'type':'text','text':'''say "hi"\nnow'''}]}}""",
            'say "hi"\nnow',
        ),
    ],
)
def test_adjacent_and_triple_quoted_texts_are_one(text: str, becomes: str) -> None:
    """Python reads them as one text."""
    line = fix(Typed("", "tools/call", text, {})).verdict.line or ""
    assert json.loads(line)["result"]["content"][0]["text"] == becomes


def test_a_lost_quote_leaves_an_error_an_error() -> None:
    """`"error: {` was made a result of "…"."""
    text = '{"jsonrpc":"2.0","id":3,"error: {"code":-32602,"message":"too far"}}'
    verdict = check(asked("tools/call"), text)
    (diagnostic,) = (each for each in verdict.diagnostics if each.blocks)
    assert diagnostic.code == "J17"
    assert diagnostic.fix is not None
    assert diagnostic.fix.applicability is Applicability.GUESS
    assert diagnostic.fix.apply(text) == text.replace('"error:', '"error":')
    assert fix(Typed("", "tools/call", text, {})).text == text


def test_a_removal_is_offered_alone_and_named() -> None:
    """`note` stays in a bulk fix; its own fix takes it out."""
    text = '{"jsonrpc":"2.0","id":3,"result":{"content":[],},"note":"mine"}'
    exchange = asked("tools/call")
    fixed = autofix(text, lambda typed: check(exchange, typed))
    assert fixed.text == text.replace("],}", "]}")
    (left,) = fixed.left
    assert left.fix is not None
    assert left.fix.applicability is Applicability.REMOVES
    offered = suggestion(text, lambda typed: check(exchange, typed))
    assert offered.applicability is Applicability.REMOVES
    assert "mine" not in offered.text


@pytest.mark.parametrize(
    "text",
    [
        '{"ｊｓｏｎｒｐｃ":"２．０","ｉｄ":3,"ｅｒｒｏｒ":{"ｃｏｄｅ":-32601,"ｍｅｓｓａｇｅ":"遠い"}}',
        "｛ｊｓｏｎｒｐｃ：「２．０」、ｉｄ：３、ｅｒｒｏｒ：｛ｃｏｄｅ：ー３２６０１、ｍｅｓｓａｇｅ：「遠い」｝｝",
        '『"jsonrpc"：”2.0”、"id"：3、"error"：『"code"：ー32601、"message"：«遠い»』』',
    ],
)
def test_what_an_input_method_writes_is_read_as_it_was_meant(text: str) -> None:
    """Full-width names, digits and signs, and corner brackets for quotes and brackets."""
    line = fix(Typed("", "tools/call", text, {})).verdict.line or ""
    error = {"code": -32601, "message": "遠い"}
    assert json.loads(line) == {"jsonrpc": "2.0", "id": 3, "error": error}

"""Look up a kind of mistake: its sentence, its reason, an example, and its specification.

The sentences are in `locales/`, the examples in `samples/mistakes.toml`.
"""

from __future__ import annotations

import functools
import re
import tomllib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.answering.alone import Asked, judge_file, open_exchange_of
from humanmcp.answering.files import read_file
from humanmcp.common import published
from humanmcp.common.settings import sample
from humanmcp.locales import describe, fillings_of, say, sentences_of, spoken_language
from humanmcp.protocol.diagnostics.kinds import KINDS, code_of, title_of
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.tables import methods, versions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.diagnostics.model import Diagnostic

FILE: Final = "mistakes.toml"
CLIENTS: Final = frozenset({"N39", "N46"})
"""The kinds that say what clients did with a message."""


class Quote(NamedTuple):
    """A sentence of a specification, and its address."""

    says: str
    link: str

    @property
    def source(self) -> str:
        """The name of the specification."""
        if self.link.startswith(versions.SPEC):
            return f"MCP {self.link.removeprefix(versions.SPEC).partition('/')[0]}"
        return "JSON-RPC 2.0" if "jsonrpc" in self.link else "JSON: RFC 8259"


class Example(NamedTuple):
    """A mistake and its fix. Without method, request and form it is not an answer."""

    wrong: str
    right: str
    quotes: tuple[Quote, ...] = ()
    method: str = ""
    request: str = ""
    form: str = ""
    protocol_version: str = ""

    @property
    def pages(self) -> Mapping[str, str]:
        """The pages about its method, by protocol version."""
        record = methods.of(self.method)
        return {one: record.page_in(one) for one in versions.ALL if record.is_in(one)}


@functools.cache
def file_of_mistakes() -> Mapping[str, Any]:
    """Read the file of examples."""
    return tomllib.loads(sample(FILE).read_text(encoding="utf-8"))


@functools.cache
def examples() -> Mapping[str, Example]:
    """Read the examples, by the code of their mistake."""
    table = file_of_mistakes()
    quotes = {name: Quote(**quote) for name, quote in table["quote"].items()}
    return {
        code: Example(**{**one, "quotes": tuple(quotes[name] for name in one.get("quotes", ()))})
        for code, one in table["mistake"].items()
    }


class Mistake(NamedTuple):
    """A kind of mistake, for a reader; `page` is its page in the manual, or "".

    Its sentence is filled from its example. `clients` says what real clients did with that.
    """

    code: str
    title: str
    sentence: str
    why: str
    example: Example | None
    page: str
    clients: str = ""


def codes() -> list[str]:
    """Return the code of every kind of mistake, by letter and number."""
    return sorted(KINDS, key=lambda code: (code[0], int(code[1:])))


def find_mistake(typed: str) -> Mistake | None:
    """Return a kind of mistake by its name or code, or None."""
    code = code_of(typed)
    if not code:
        return None
    sentences, example = sentences_of("problem", spoken_language()), examples().get(code)
    problems = () if example is None else problems_of(example)
    fillings = next((fillings_of(one) for one in problems if one.code == code), {})
    says, why = (filled(sentences.get(one, ""), fillings) for one in (code, f"{code}.why"))
    told = [describe(one) for one in problems if one.code in CLIENTS and one.code != code]
    page = published.page_of(code)
    return Mistake(code, title_of(code), says, why, example, page, " ".join(told))


@functools.cache
def problems_of(example: Example) -> tuple[Diagnostic, ...]:
    """Return what the check says of the wrong text of an example."""
    text, form = example.wrong, TextForm(example.form or TextForm.MESSAGE)
    is_answer = example.method or example.request or example.form
    if not is_answer:
        judged = judge_file(read_file(text), FILE, example.protocol_version)
        return tuple(each for one in judged for each in one.diagnostics)
    asked = Asked(example.request or None, example.method or None, example.protocol_version or None)
    return open_exchange_of(text, form, asked).told_verdict().diagnostics


def filled(sentence: str, fillings: Mapping[str, str]) -> str:
    """Return a sentence as one line. What no example fills has a usual value, else dots."""
    usual = {**file_of_mistakes()["usual"], **fillings}
    rule = "required" if "inputSchema" in sentence or "outputSchema" in sentence else "too costly"
    usual.setdefault("why", say("schema_rule", rule, names=usual["key"]))
    words = re.sub(r"(?<!\{)\{(\w+)\}(?!\})", lambda one: usual.get(one[1], "…"), sentence)
    return " ".join(words.replace("{{", "{").replace("}}", "}").split())

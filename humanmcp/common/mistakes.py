"""Look up a kind of mistake: its sentence, its reason, an example, and its specification.

The sentences are in `locales/`, the examples in `samples/mistakes.toml`.
"""

from __future__ import annotations

import functools
import re
import tomllib
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.common import published
from humanmcp.common.settings import sample
from humanmcp.locales import sentences_of, spoken_language
from humanmcp.protocol.diagnostics.kinds import KINDS, code_of, title_of
from humanmcp.protocol.tables import methods, versions

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE: Final = "mistakes.toml"


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
def examples() -> Mapping[str, Example]:
    """Read the examples, by the code of their mistake."""
    table = tomllib.loads(sample(FILE).read_text(encoding="utf-8"))
    quotes = {name: Quote(**quote) for name, quote in table["quote"].items()}
    return {
        code: Example(**{**one, "quotes": tuple(quotes[name] for name in one.get("quotes", ()))})
        for code, one in table["mistake"].items()
    }


class Mistake(NamedTuple):
    """A kind of mistake, for a reader; `page` is its page in the manual, or ""."""

    code: str
    title: str
    sentence: str
    why: str
    example: Example | None
    page: str


def codes() -> list[str]:
    """Return the code of every kind of mistake, by letter and number."""
    return sorted(KINDS, key=lambda code: (code[0], int(code[1:])))


def find_mistake(typed: str) -> Mistake | None:
    """Return a kind of mistake by its name or code, or None."""
    code = code_of(typed)
    if not code:
        return None
    sentences = sentences_of("problem", spoken_language())
    says, why = (without_fillings(sentences.get(one, "")) for one in (code, f"{code}.why"))
    return Mistake(code, title_of(code), says, why, examples().get(code), published.page_of(code))


def without_fillings(sentence: str) -> str:
    """Return a sentence as one line, with dots instead of its fillings."""
    unfilled = re.sub(r"(?<!\{)\{\w+\}(?!\})", "…", sentence)
    return " ".join(unfilled.replace("{{", "{").replace("}}", "}").split())

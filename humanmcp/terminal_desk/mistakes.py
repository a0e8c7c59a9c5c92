"""`humanmcp check --explain CODE`: a mistake, why it matters, wrong and right, who says so.

The sentences stand in `locales/`, the examples in `samples/mistakes.toml`.
"""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.common import published
from humanmcp.common.terminal import Painted, to_stdout
from humanmcp.locales import say, sentences_of
from humanmcp.protocol.spec import methods, versions
from humanmcp.terminal_desk.cases import CaseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FILE: Final = "mistakes.toml"
_PACKAGE: Final = Path(__file__).parent.parent
ROOM: Final = "check"


class Quote(NamedTuple):
    """A sentence of a specification, and where it stands."""

    says: str
    link: str

    @property
    def source(self) -> str:
        """What it is a sentence of, in a word or two."""
        if self.link.startswith(versions.SPEC):
            return f"MCP {self.link.removeprefix(versions.SPEC).partition('/')[0]}"
        return "JSON-RPC 2.0" if "jsonrpc" in self.link else "JSON: RFC 8259"


class Example(NamedTuple):
    """A mistake made and mended. Without method, request and form it is no answer."""

    wrong: str
    right: str
    quotes: tuple[Quote, ...] = ()
    method: str = ""
    request: str = ""
    form: str = ""
    revision: str = ""

    @property
    def pages(self) -> Mapping[str, str]:
        """The page on its method in each revision that has the method."""
        record = methods.of(self.method)
        return {one: record.page_in(one) for one in versions.ALL if record.is_in(one)}


@functools.cache
def examples() -> Mapping[str, Example]:
    """Read the example of each mistake that one file can show, by its code."""
    installed = _PACKAGE / "samples" / FILE
    file = installed if installed.exists() else _PACKAGE.parent / "samples" / FILE
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    quotes = {name: Quote(**quote) for name, quote in table["quote"].items()}
    return {code: _example(one, quotes) for code, one in table["mistake"].items()}


def _example(one: Mapping[str, Any], quotes: Mapping[str, Quote]) -> Example:
    return Example(**{**one, "quotes": tuple(quotes[name] for name in one.get("quotes", ()))})


def explain(codes: Sequence[str], language: str) -> None:
    """Print what there is to know of some kinds of mistakes.

    Raises:
        CaseError: one of them does not exist.
    """
    sentences = sentences_of("problem", language)
    for code in codes:
        if code.upper() not in sentences:
            raise CaseError("no such code", got=code)
    for code in codes:
        _explain(code.upper(), sentences, language)


def _explain(code: str, sentences: Mapping[str, str], language: str) -> None:
    to_stdout(Painted(code, "bold"), f": {_flat(sentences[code])}")
    if why := sentences.get(f"{code}.why"):
        to_stdout(_flat(why))
    example = examples().get(code)
    if example is None:
        to_stdout(Painted(say(ROOM, "no example", language), "dim"))
    else:
        _show_example(example, language)
    if page := published.page_of(code):
        to_stdout(Painted(page, "dim"))
    to_stdout("")


def _show_example(example: Example, language: str) -> None:
    if example.request:
        _show_text(say(ROOM, "example request", language), "dim", example.request)
    elif example.method:
        to_stdout(Painted(say(ROOM, "example method", language, method=example.method), "dim"))
    _show_text(say(ROOM, "example wrong", language), "red", example.wrong)
    _show_text(say(ROOM, "example right", language), "green", example.right)
    for quote in example.quotes:
        to_stdout(f"“{quote.says}”")
        to_stdout("  ", Painted(quote.link, "dim"))
    for page in sorted(set(example.pages.values())):
        to_stdout("  ", Painted(page, "dim"))


def _show_text(title: str, colour: str, text: str) -> None:
    to_stdout(Painted(title, colour))
    for line in text.split("\n"):
        to_stdout("  ", line)


def _flat(text: str) -> str:
    return " ".join(text.replace("{{", "{").replace("}}", "}").split())


def hint(codes: Iterable[str], language: str) -> str:
    """Return the command that explains what was found; "" where nothing was."""
    first = list(dict.fromkeys(codes))[:5]
    return say(ROOM, "explain these", language, codes=" ".join(first)) if first else ""

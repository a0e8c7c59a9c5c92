"""`humanmcp check --explain CODE`: what there is to know of a mistake, at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.common import mistakes
from humanmcp.common.terminal import Painted, to_stdout
from humanmcp.locales import say
from humanmcp.terminal.cases import CaseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from humanmcp.common.mistakes import Example, Mistake

ROOM: Final = "check"


def explain(codes: Sequence[str], language: str) -> None:
    """Print what there is to know of some kinds of mistakes; without a code, list them all.

    Raises:
        CaseError: one of them does not exist.
    """
    if not codes:
        for code in mistakes.codes():
            to_stdout(Painted(code, "bold"), f": {_found(code, language).sentence}")
        return
    found = [_found(code, language) for code in codes]
    for mistake in found:
        _explain(mistake, language)


def _found(code: str, language: str) -> Mistake:
    mistake = mistakes.find(code.upper(), language)
    if mistake is None:
        raise CaseError("no such code", got=code)
    return mistake


def _explain(mistake: Mistake, language: str) -> None:
    to_stdout(Painted(mistake.code, "bold"), f": {mistake.sentence}")
    if mistake.why:
        to_stdout(mistake.why)
    if mistake.example is None:
        to_stdout(Painted(say(ROOM, "no example", language), "dim"))
    else:
        _show_example(mistake.example, language)
    if mistake.page:
        to_stdout(Painted(mistake.page, "dim"))
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


def hint(codes: Iterable[str], language: str) -> str:
    """Return the command that explains what was found; "" where nothing was."""
    first = list(dict.fromkeys(codes))[:5]
    return say(ROOM, "explain these", language, codes=" ".join(first)) if first else ""

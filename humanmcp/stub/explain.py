"""What stands in `problems.txt`: why a text was not sent, and what was noticed in one that was.

Knows sentences and places, and no file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.locales import problem as sentence
from humanmcp.locales import say
from humanmcp.protocol.problems import Level
from humanmcp.protocol.visible import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from humanmcp.protocol.problems import Problem
    from humanmcp.stub.reading import Outcome, Text

_WIDEST: Final = 400  # characters of a mended line that is shown


def report(outcomes: Iterable[Outcome], language: str, aside: str = "") -> str:
    """Say what became of the texts of a file; empty when there is nothing to say.

    `aside` names the file that holds what was refused, where that is not `out.txt`.
    """
    outcomes = tuple(outcomes)
    refused = [one for one in outcomes if not one.sent]
    noticed = [one for one in outcomes if one.sent and (one.problems or one.text.repairs)]
    lines: list[str] = []
    if refused:
        lines += [say("files", "not-sent", language, file=aside or "out.txt"), ""]
        lines += _about(refused, language)
    if noticed:
        lines += [say("files", "noticed", language), ""]
        lines += _about(noticed, language)
    return "\n".join(lines)


def note(code: str, language: str, **fillings: object) -> str:
    """Say one thing about the files themselves."""
    shown = {name: one_line(str(value)) for name, value in fillings.items()}
    return say("files", code, language, **shown) + "\n"


def _about(outcomes: Iterable[Outcome], language: str) -> Iterator[str]:
    said: set[str] = set()
    for outcome in outcomes:
        for found in _to_tell(outcome):
            block = "\n".join(_lines(outcome.text, found, language))
            if block not in said:  # a repair of the file is told once, not for each text in it
                said.add(block)
                yield block
    yield ""


def _to_tell(outcome: Outcome) -> list[Problem]:
    """Return what is to be said: of a text that was not sent no repairs, and errors first."""
    problems = [*outcome.text.repairs, *outcome.problems]
    if outcome.sent:
        return problems
    told = [each for each in problems if each.level is not Level.REPAIRED]
    return sorted(told, key=lambda each: not each.blocks)


def _lines(text: Text, found: Problem, language: str) -> Iterator[str]:
    told = visible(sentence(found, language))
    if found.line:
        line, column = _place(text, found)
        yield say("files", "place", language, line=line, column=column, sentence=told)
    else:
        yield told
    if found.fix is not None and (mended := _mended(text, found)):
        yield say("files", "mended", language, text=mended)
    if found.page and found.blocks:
        yield say("files", "page", language, page=found.page)


def _place(text: Text, found: Problem) -> tuple[int, int]:
    """Return the line and column in the file of a place in one of its documents."""
    column = found.column + text.column - 1 if found.line == 1 else found.column
    return found.line + text.line - 1, column


def _mended(text: Text, found: Problem) -> str:
    """Return the first line that a fix changes, as it would then be."""
    if found.fix is None or not found.fix.edits:
        return ""
    mended = found.fix.apply(text.text)
    at = min(edit.start for edit in found.fix.edits)
    start = mended.rfind("\n", 0, at) + 1
    end = mended.find("\n", at)
    line = mended[start : end if end >= 0 else len(mended)].strip()
    return one_line(line, _WIDEST)

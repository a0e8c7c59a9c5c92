"""What stands in `problems.txt`: why a text was not sent, and what was noticed in one that was.

Knows sentences and places, and no file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.locales import describe as sentence
from humanmcp.locales import say
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.json.escaping import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.server.text_files.documents import Document, DocumentOutcome


def report(outcomes: Iterable[DocumentOutcome], language: str, aside: str = "") -> str:
    """Return what became of the texts of a file; empty when there is nothing to say.

    `aside` names the file that holds what was refused, where that is not `out.txt`.
    """
    outcomes = tuple(outcomes)
    refused = [one for one in outcomes if not one.sent]
    noticed = [one for one in outcomes if one.sent and (one.diagnostics or one.document.notes)]
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


def _about(outcomes: Iterable[DocumentOutcome], language: str) -> Iterator[str]:
    said: set[str] = set()
    for outcome in outcomes:
        several = _to_tell(outcome)
        for block in [_sentence(outcome.document, each, language) for each in several]:
            if block not in said:  # a repair of the file is told once, not for each text in it
                said.add(block)
                yield block
        if outcome.mended:
            code = f"mended {outcome.applicability.value}"
            yield say("files", code, language, text=_shown(outcome.mended))
        for page in dict.fromkeys(each.page for each in several if each.blocks and each.page):
            yield say("files", "page", language, page=page)
    yield ""


def _to_tell(outcome: DocumentOutcome) -> list[Diagnostic]:
    """Return what is to be said: of a text that was not sent no repairs, and errors first."""
    diagnostics = [*outcome.document.notes, *outcome.diagnostics]
    if outcome.sent:
        return diagnostics
    several = [each for each in diagnostics if each.severity is not Severity.REPAIRED]
    return sorted(several, key=lambda each: not each.blocks)


def _sentence(document: Document, diagnostic: Diagnostic, language: str) -> str:
    several = visible(sentence(diagnostic, language))
    if not diagnostic.line:
        return several
    line, column = _place(document, diagnostic)
    return say("files", "place", language, line=line, column=column, sentence=several)


def _place(document: Document, diagnostic: Diagnostic) -> tuple[int, int]:
    """Return the line and column in the file of a place in one of its documents."""
    column = diagnostic.column + document.column - 1 if diagnostic.line == 1 else diagnostic.column
    return diagnostic.line + document.line - 1, column


def _shown(mended: str) -> str:
    """Return a text to copy, beside its heading where it is one line, and below it elsewhere."""
    lines = mended.strip().split("\n")
    if len(lines) == 1:
        return f" {visible(lines[0])}"
    return "".join(f"\n    {visible(line.rstrip())}" for line in lines)

"""Answer in the person's own editor: open, check, and open again until it may go."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from humanmcp.answering import service
from humanmcp.answering.service import Outcome, SendResult
from humanmcp.common.terminal import to_stderr
from humanmcp.inbox.contract import Draft
from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.json.escaping import one_line
from humanmcp.protocol.json.layout import pretty
from humanmcp.terminal import editor
from humanmcp.terminal.explain import explained, summary
from humanmcp.terminal.inbox import request_in_short
from humanmcp.terminal.replying import BY, Answering, not_sent, submit, tell

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from humanmcp.protocol.diagnostics.model import Diagnostic

_JSON_FORMS: Final = frozenset({TextForm.MESSAGE, TextForm.RESULT, TextForm.ERROR})


def in_editor(at: Answering, start: Draft, home: Path, *, anyway: bool) -> int:
    """Open the editor until the text may go, or the person gives up. Returns the exit status."""
    opened = _laid_out(start)
    before = at.case.item.draft
    diagnostics = at.case.item.diagnostics
    touched = before is not None and before.touched
    service.keep(at.case, start._replace(touched=touched, hold=True, by=BY))
    while True:
        comments = _comments(at, diagnostics)
        name = f"answer-{at.case.key.number}"
        try:
            written, took = editor.edit(opened.text, comments, home, name)
        except BaseException:  # Ctrl-C too: the book must not stay held by an editor that is gone
            _let_go(at, opened)
            raise
        if not written.strip() or editor.same(written, opened.text):
            return _never_mind(at, opened, took, emptied=not written.strip())
        opened = opened._replace(text=written)
        result = submit(at, opened, anyway=anyway)
        diagnostics = result.diagnostics
        if result.outcome is Outcome.BLOCKED:
            continue  # the editor opens again with what is wrong at the top
        status = tell(at, opened, result)
        if result.outcome is not Outcome.REFUSED:
            return status


def _laid_out(start: Draft) -> Draft:
    """Lay JSON that stands on one line out over several; leave the person's own lines alone."""
    if start.form not in _JSON_FORMS or "\n" in start.text.strip():
        return start
    try:
        json.loads(start.text)
    except (ValueError, RecursionError):
        return start
    return start._replace(text=pretty(start.text))


def _never_mind(at: Answering, opened: Draft, took: float, *, emptied: bool) -> int:
    """Stop without sending. The draft stays as it was, and the book may go on counting."""
    _let_go(at, opened)
    if not emptied and took < editor.AT_ONCE:
        to_stderr(at.sentence("at once"))
    why = at.sentence("emptied" if emptied else "unchanged", name=at.name)
    return not_sent(at, why, SendResult(Outcome.BLOCKED, at.case.item))


def _let_go(at: Answering, opened: Draft) -> None:
    """Keep the text as the draft, and let the answer book go on counting."""
    draft = at.case.inbox.item(at.case.key).draft
    touched = draft is not None and draft.touched
    service.keep(at.case, Draft(opened.text, opened.form, touched, by=BY))


def _comments(at: Answering, diagnostics: Sequence[Diagnostic]) -> list[str]:
    """Write what stands above the text: what is asked, what to do, and what is wrong so far.

    The problems name lines as the editor counts them: with the comments on top.
    """
    item = at.case.item
    card = at.case.card(at.language)
    lines = [
        f"humanmcp {at.name}: {card.title} ({at.who})",
        request_in_short(item, 160),
        card.what,
        at.sentence("how", name=at.name),
    ]
    if diagnostics:
        lines += ["", at.sentence("mend", counted=summary(diagnostics, at.language))]
        shift = len(lines) + len(diagnostics)
        for diagnostic in diagnostics:
            lines.append("  " + _in_one_line(diagnostic, at.language, shift))
    return lines


def _in_one_line(diagnostic: Diagnostic, language: str, shift: int) -> str:
    """Say a problem in one comment line."""
    parts = next(explained(diagnostic, "", language, shift=shift))
    return one_line("".join(word if isinstance(word, str) else word.text for word in parts))

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


def in_editor(answering: Answering, draft: Draft, home: Path, *, anyway: bool) -> int:
    """Open the editor until the text may go, or the person gives up. Returns the exit status."""
    opened = _laid_out(draft)
    before = answering.case.item.draft
    diagnostics = answering.case.item.diagnostics
    touched = before is not None and before.touched
    service.keep(answering.case, draft._replace(touched=touched, hold=True, by=BY))
    while True:
        comments = _comments(answering, diagnostics)
        name = f"answer-{answering.case.key.number}"
        try:
            written, took = editor.edit(opened.text, comments, home, name)
        except BaseException:  # Ctrl-C too: the book must not stay held by an editor that is gone
            _let_go(answering, opened)
            raise
        if not written.strip() or editor.same(written, opened.text):
            return _never_mind(answering, opened, took, emptied=not written.strip())
        opened = opened._replace(text=written)
        result = submit(answering, opened, anyway=anyway)
        diagnostics = result.diagnostics
        if result.outcome is Outcome.BLOCKED:
            continue  # the editor opens again with what is wrong at the top
        status = tell(answering, opened, result)
        if result.outcome is not Outcome.REFUSED:
            return status


def _laid_out(draft: Draft) -> Draft:
    """Lay JSON that stands on one line out over several; leave the person's own lines alone."""
    if draft.form not in _JSON_FORMS or "\n" in draft.text.strip():
        return draft
    try:
        json.loads(draft.text)
    except (ValueError, RecursionError):
        return draft
    return draft._replace(text=pretty(draft.text))


def _never_mind(answering: Answering, draft: Draft, took: float, *, emptied: bool) -> int:
    """Stop without sending. The draft stays as it was, and the book may go on counting."""
    _let_go(answering, draft)
    if not emptied and took < editor.AT_ONCE:
        to_stderr(answering.sentence("at once"))
    why = answering.sentence("emptied" if emptied else "unchanged", name=answering.name)
    return not_sent(answering, why, SendResult(Outcome.BLOCKED, answering.case.item))


def _let_go(answering: Answering, opened: Draft) -> None:
    """Keep the text as the draft, and let the answer book go on counting."""
    draft = answering.case.inbox.item(answering.case.key).draft
    touched = draft is not None and draft.touched
    service.keep(answering.case, Draft(opened.text, opened.form, touched, by=BY))


def _comments(answering: Answering, diagnostics: Sequence[Diagnostic]) -> list[str]:
    """Write what stands above the text: what is asked, what to do, and what is wrong so far.

    The problems name lines as the editor counts them: with the comments on top.
    """
    item = answering.case.item
    card = answering.case.card(answering.language)
    lines = [
        f"humanmcp {answering.name}: {card.title} ({answering.who})",
        request_in_short(item, 160),
        card.what,
        answering.sentence("how", name=answering.name),
    ]
    if diagnostics:
        lines += ["", answering.sentence("mend", counted=summary(diagnostics, answering.language))]
        shift = len(lines) + len(diagnostics)
        for diagnostic in diagnostics:
            lines.append("  " + _in_one_line(diagnostic, answering.language, shift))
    return lines


def _in_one_line(diagnostic: Diagnostic, language: str, shift: int) -> str:
    """Say a problem in one comment line."""
    parts = next(explained(diagnostic, "", language, shift=shift))
    return one_line("".join(word if isinstance(word, str) else word.text for word in parts))

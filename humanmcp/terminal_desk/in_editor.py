"""Answer in the person's own editor: open, check, and open again until it may go."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from humanmcp.common.terminal import complain
from humanmcp.locales.explain import explain
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.json.escaping import one_line
from humanmcp.protocol.json.layout import pretty
from humanmcp.terminal_desk import editor
from humanmcp.terminal_desk.explain import explained, summary
from humanmcp.terminal_desk.inbox import request_in_short
from humanmcp.terminal_desk.replying import HeldCase, judged, may_go, not_sent, sent
from humanmcp.terminal_desk.sending import TypedText, keep

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from humanmcp.protocol.diagnostics.model import Diagnostic

_JSON_FORMS: Final = frozenset({TextForm.MESSAGE, TextForm.RESULT, TextForm.ERROR})


def in_editor(case: HeldCase, start: TypedText, home: Path, *, anyway: bool) -> int:
    """Open the editor until the text may go, or the person gives up. Returns the exit status."""
    opened = _laid_out(start)
    before = case.item.draft
    problems = case.item.problems
    touched = before is not None and before.touched
    keep(case.inbox, case.key, start, touched=touched, hold=True)
    while True:
        comments = _comments(case, problems)
        name = f"answer-{case.key.number}"
        try:
            written, took = editor.edit(opened.text, comments, home, name)
        except BaseException:  # Ctrl-C too: the book must not stay held for nobody
            _let_go(case, opened)
            raise
        if not written.strip() or editor.same(written, opened.text):
            return _never_mind(case, opened, took, emptied=not written.strip())
        opened = TypedText(written, opened.form)
        verdict = judged(case, opened)
        keep(case.inbox, case.key, opened, touched=True, hold=True)
        if may_go(verdict, anyway=anyway):
            status = sent(case, opened, verdict.problems, anyway=anyway)
            problems = case.inbox.item(case.key).problems
            if status == 0 or _closed_now(case) or not problems:
                return status
        else:
            problems = verdict.problems


def _laid_out(start: TypedText) -> TypedText:
    """Lay JSON that stands on one line out over several; leave the person's own lines alone."""
    if start.form not in _JSON_FORMS or "\n" in start.text.strip():
        return start
    try:
        json.loads(start.text)
    except (ValueError, RecursionError):
        return start
    return TypedText(pretty(start.text), start.form)


def _never_mind(case: HeldCase, opened: TypedText, took: float, *, emptied: bool) -> int:
    """Stop without sending. The draft stays as it was, and the book may go on counting."""
    _let_go(case, opened)
    if not emptied and took < editor.AT_ONCE:
        complain(case.say("at once"))
    return not_sent(case, case.say("emptied" if emptied else "unchanged", name=case.name), ())


def _let_go(case: HeldCase, opened: TypedText) -> None:
    """Keep the text as the draft, and let the answer book go on counting."""
    draft = case.inbox.item(case.key).draft
    touched = draft is not None and draft.touched
    keep(case.inbox, case.key, opened, touched=touched, hold=False)


def _closed_now(case: HeldCase) -> bool:
    return case.inbox.item(case.key).state is not ExchangeState.PENDING


def _comments(case: HeldCase, problems: Sequence[Diagnostic]) -> list[str]:
    """Write what stands above the text: what is asked, what to do, and what is wrong so far.

    The problems name lines as the editor counts them: with the comments on top.
    """
    card = explain(
        case.item.method,
        case.item.revision,
        case.language,
        seat=case.seat.value,
        inwards=case.item.way is Direction.IN,
    )
    lines = [
        f"humanmcp {case.name}: {card.title} ({case.who})",
        request_in_short(case.item, 160),
        card.what,
        case.say("how", name=case.name),
    ]
    if problems:
        lines += ["", case.say("mend", counted=summary(problems, case.language))]
        shift = len(lines) + len(problems)
        for problem in problems:
            lines.append("  " + _in_one_line(problem, case.language, shift))
    return lines


def _in_one_line(problem: Diagnostic, language: str, shift: int) -> str:
    """Say a problem in one comment line."""
    parts = next(explained(problem, "", language, shift=shift))
    return one_line("".join(word if isinstance(word, str) else word.text for word in parts))

"""The approval card and the card of several questions on the page."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering import approvals
from humanmcp.answering.last_words import last_words
from humanmcp.answering.standing import note_told
from humanmcp.inbox.contract import Action, Reply
from humanmcp.locales import say
from humanmcp.protocol.json.tree import pretty
from humanmcp.protocol.json.visible import visible_code, visible_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.answering.open_exchange import OpenExchange
    from humanmcp.protocol.conversation.approvals import Approval
    from humanmcp.protocol.conversation.questions import AskedQuestion

OPTION_KEYS: Final = (
    *(f"Digit{n}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 0)),
    *(f"Key{one}" for one in "GHMNPQUVWXYZ"),
)
"""The keys that choose options, over all questions of a card."""


LONGEST: Final = 100_000
"""The maximum length of an input that can be changed on the page, in characters."""


def approval_card(approval: Approval, *, whole: bool) -> dict[str, Any]:
    """Return what the person reads before a decision: the words, without the buttons."""
    card = approvals.card_of(approval)
    is_closed = card.is_long and not whole
    return {
        "heading": approvals.heading(approval, card),
        "problem": say(approvals.SECTION, approval.problem) if approval.problem else "",
        "card": card.beginning() if is_closed else card,
        "is_closed": is_closed,
        "is_open": card.is_long and whole,
        "questions": question_views(approval.questions),
    }


def approval_view(opened: OpenExchange, *, whole: bool) -> dict[str, Any] | None:
    """Return the content of the card of an exchange; None if it asks for no permission.

    `is_closed`: only the beginning of the input is shown. `can_hand_back`: the agent can ask
    in its own dialog instead.
    """
    approval = opened.approval
    if approval is None:
        return None
    shown = approval_card(approval, whole=whole)
    is_too_long = shown["is_closed"] or len(approval.text) > LONGEST
    editable = not (is_too_long or approval.is_fixed)
    texts = approvals.input_as_typed(approval) if editable else ()
    allowed, (note, told) = approvals.allowed_patterns(opened), note_told(opened.item)
    return {
        **shown,
        "digest": approval.digest,
        "folder": approvals.folder_of(opened),
        "fields": [
            (visible_code(name), text, min(20, text.count("\n") + 1)) for name, text in texts
        ],
        "json": visible_json(pretty(approval.text)) if editable else "",
        "scope": approvals.scope_of(opened),
        "likes": [approvals.pattern_in_words(one) for one in approvals.patterns_of(opened)],
        "allowed": [(str(one), approvals.pattern_in_words(one)) for one in allowed],
        "takes_note": opened.prompt is not None and opened.prompt.takes_note,
        "note": (note, say(approvals.SECTION, told) if note else ""),
        # while it waits: later the agent writes more
        "words": last_words(opened.prompt) if opened.prompt and opened.item.waits else "",
        "can_hand_back": approvals.can_hand_back(opened),
    }


def question_views(questions: tuple[AskedQuestion, ...]) -> list[dict[str, Any]]:
    """Return questions, their notes, and their options with a key each, "" if none is left."""
    keys = chain(OPTION_KEYS, repeat(""))
    return [
        {
            "asked": one,
            "beside": [*approvals.told_beside(one)],
            "options": [(label, note, next(keys)) for label, note in one.options],
        }
        for one in questions
    ]


def chosen_reply(opened: OpenExchange, values: Mapping[str, str]) -> Reply:
    """Return the reply of a button of the card.

    Raises:
        approvals.ApprovalError: nothing may be sent for it.
    """
    approval, shown, act = opened.asked, values.get("shown", ""), values.get("act", "")
    seen = values.get("seen") == "all"
    if act in {"let go", "drop"}:
        drop = Reply(opened.item.line, action=Action.DROP)
        return drop if act == "drop" else approvals.release(opened, seen=seen, shown=shown)
    if approval is None or not shown:
        raise approvals.ApprovalError("no prompt")
    match act:
        case "deny":
            return approvals.deny(opened, values.get("reason", ""), shown=shown)
        case "hand back":
            return approvals.hand_back(opened, shown=shown)
        case "change" | "change json":
            approvals.must_be_seen(approval, seen=seen)
            text = values.get("json", "") if act != "change" else _typed(approval, values)
            return approvals.change(opened, approval, text, shown=shown)
        case "answers":
            answers = approvals.chosen_answers(approval.questions, values)
            return approvals.answer(opened, answers, shown=shown)
        case _:
            note = values.get("note", "")
            return approvals.allow(opened, approval, seen=seen, shown=shown, note=note)


def _typed(approval: Approval, values: Mapping[str, str]) -> str:
    """Return the input with the fields of the form."""
    fields = {name: text for name, text in values.items() if name.startswith("input ")}
    typed = {name.removeprefix("input "): text for name, text in fields.items()}
    return approvals.changed_input(approval, typed)

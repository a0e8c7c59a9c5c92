"""The approval card and the card of several questions on the page."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.answering import approvals
from humanmcp.answering.approvals import (
    ApprovalError,
    allowed_patterns,
    pattern_in_words,
    patterns_of,
)
from humanmcp.inbox.contract import Action, Reply
from humanmcp.locales import say
from humanmcp.protocol.json.tree import pretty
from humanmcp.protocol.json.visible import visible_code, visible_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.answering.approvals import ApprovalCard
    from humanmcp.answering.open_exchange import OpenExchange
    from humanmcp.protocol.conversation.approvals import Approval
    from humanmcp.protocol.conversation.questions import AskedQuestion

OPTION_KEYS: Final = (*(f"Digit{n}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 0)), *"GHMNPQUVWXYZ")
"""The keys that choose options, over all questions of a card; letters are `Key…`."""


LONGEST: Final = 100_000
"""The maximum length of an input that can be changed on the page, in characters."""


class InputField(NamedTuple):
    """One member of the input, as a field of the form that changes it."""

    name: str
    text: str
    rows: int


class Option(NamedTuple):
    """One option of a question, with its key: "" if no key is left."""

    label: str
    description: str
    key: str = ""

    @property
    def letter(self) -> str:
        """The label of the key."""
        return self.key.removeprefix("Digit").removeprefix("Key")


@dataclass(frozen=True, slots=True)
class QuestionView:
    """One question, and its options with their keys."""

    asked: AskedQuestion
    beside: tuple[str, ...]
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class ApprovalView:
    """The content of an approval card. `is_closed`: only the beginning of the input is shown."""

    headline: str
    digest: str
    problem: str
    card: ApprovalCard
    is_closed: bool
    is_open: bool
    fields: tuple[InputField, ...]
    json: str
    likes: tuple[str, ...]
    allowed: tuple[tuple[str, str], ...]
    questions: tuple[QuestionView, ...]
    is_agents: bool
    """Whether the agent can ask in its own dialog instead."""


def approval_view(opened: OpenExchange, *, whole: bool) -> ApprovalView | None:
    """Return the card of an exchange; None if it asks for no permission."""
    approval = opened.approval
    if approval is None:
        return None
    card = approvals.card_of(approval)
    is_long = card.is_long
    is_closed = is_long and not whole
    editable = not (is_closed or len(approval.text) > LONGEST or approvals.is_fixed(approval))
    texts = approvals.input_as_typed(approval) if editable else ()
    return ApprovalView(
        headline=approvals.headline(opened, approval, card),
        digest=approval.digest,
        problem=say(approvals.SECTION, approval.problem) if approval.problem else "",
        card=card.beginning() if is_closed else card,
        is_closed=is_closed,
        is_open=is_long and whole,
        fields=tuple(
            InputField(visible_code(name), text, min(20, text.count("\n") + 1))
            for name, text in texts
        ),
        json=visible_json(pretty(approval.text)) if editable else "",
        likes=tuple(pattern_in_words(one) for one in patterns_of(opened)),
        allowed=tuple((str(one), pattern_in_words(one)) for one in allowed_patterns(opened)),
        questions=question_views(approval.questions),
        is_agents=approval.agent is not None,
    )


def question_views(questions: tuple[AskedQuestion, ...]) -> tuple[QuestionView, ...]:
    """Return questions with a key for each option."""
    number = count()

    def key() -> str:
        at = next(number)
        name = OPTION_KEYS[at] if at < len(OPTION_KEYS) else ""
        return f"Key{name}" if len(name) == 1 else name

    return tuple(
        QuestionView(
            one,
            tuple(approvals.told_beside(one)),
            tuple(Option(label, note, key()) for label, note in one.options),
        )
        for one in questions
    )


def chosen_reply(opened: OpenExchange, values: Mapping[str, str]) -> Reply:
    """Return the reply of a button of the card.

    Raises:
        ApprovalError: nothing may be sent for it.
    """
    approval, shown, act = opened.asked, values.get("shown", ""), values.get("act", "")
    seen = values.get("seen") == "all"
    if act in {"let go", "drop"}:
        drop = Reply(opened.item.line, action=Action.DROP)
        return drop if act == "drop" else approvals.release(opened, seen=seen, shown=shown)
    if approval is None or not shown:
        raise ApprovalError("no prompt")
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
            return approvals.allow(opened, approval, seen=seen, shown=shown)


def _typed(approval: Approval, values: Mapping[str, str]) -> str:
    """Return the input with the fields of the form."""
    fields = {name: text for name, text in values.items() if name.startswith("input ")}
    typed = {name.removeprefix("input "): text for name, text in fields.items()}
    return approvals.changed_input(approval, typed)

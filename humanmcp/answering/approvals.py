"""The approval card: what a person reads before they allow something, and what their choice sends.

The same in every front end. The card shows the whole input: a command with its description,
an edit as a difference, a file as its text, and every other member beside it.
"""

from __future__ import annotations

import difflib
import json
import re
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.answering.summary import client_of
from humanmcp.inbox.contract import Action, Reply
from humanmcp.locales import say
from humanmcp.locales.stop import USAGE_ERROR, StopError
from humanmcp.protocol.conversation import approvals, questions
from humanmcp.protocol.conversation.allow_patterns import pattern_of, patterns_for, patterns_in
from humanmcp.protocol.conversation.exchange import APPROVAL, QUESTION
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import as_json, member, members
from humanmcp.protocol.json.tree import pretty
from humanmcp.protocol.json.visible import code_point, one_line, visible_code
from humanmcp.protocol.validation.results import outcome_result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from humanmcp.answering.open_exchange import OpenExchange
    from humanmcp.protocol.conversation.allow_patterns import AllowPattern
    from humanmcp.protocol.conversation.approvals import Approval
    from humanmcp.protocol.conversation.questions import AskedQuestion
    from humanmcp.protocol.json.jsonrpc import JsonObject

SECTION: Final = "approval"
LONG_LINES: Final = 40
LONG_TEXT: Final = 3_000
"""More lines or characters than this must be opened before they can be allowed."""
LONGEST_TOOL: Final = 80
"""The characters of a tool's name in the headline; a longer or unusual name is a part of the card,
where no two names look alike."""
_NO_NAME: Final = "⟦⟧"


class CardLine(NamedTuple):
    """One line of a part. `sign` is "-", "+" or a space in a difference, else "".

    `number` counts in a difference, from 1: a removed line in the old text, any other in the new.
    """

    text: str
    sign: str = ""
    number: int = 0


class CardPart(NamedTuple):
    """One part of a card: a member of the input. `kind` is "code", "text" or "difference"."""

    name: str
    kind: str
    lines: tuple[CardLine, ...]


class ApprovalCard(NamedTuple):
    """What the person allows: the code of the headline, and the parts.

    With `is_long` it must be opened before it can be allowed.
    """

    kind: str
    parts: tuple[CardPart, ...]

    @property
    def is_long(self) -> bool:
        """Return True if it is too long to be seen at once."""
        lines = [line for part in self.parts for line in part.lines]
        size = sum(len(line.text) for line in lines) + sum(len(part.name) for part in self.parts)
        return len(lines) > LONG_LINES or size > LONG_TEXT

    def beginning(self) -> ApprovalCard:
        """Return the first lines of a long card."""
        parts, left = [], LONG_LINES // 2
        for part in self.parts:
            lines = tuple(one._replace(text=one.text[:300]) for one in part.lines[:left])
            left -= len(lines)
            if lines:
                parts.append(part._replace(name=part.name[:300], lines=lines))
        return self._replace(parts=tuple(parts))


_TEXTS: Final[Mapping[str, Mapping[str, str]]] = {
    "command": {"command": "code", "description": "text"},
    "file": {"content": "code"},
    "plan": {"plan": "text"},
}
"""The members that come first on a card of this kind, if they are texts, and how each is shown."""


def card_of(approval: Approval) -> ApprovalCard:
    """Lay out an input on a card, with every member. Two different inputs never look alike."""
    given = approval.input
    kind = approvals.kind_of_input(given, approval.tool)
    texts = _TEXTS.get(kind, {})
    shown = {name for name in texts if isinstance(given.get(name), str)}
    first = [_part(name, given[name], form) for name, form in texts.items() if name in shown]
    if kind == "edit":
        shown = {"old_string", "new_string", "edits"}
        edits = approvals.edits_in(given)
        first = [CardPart("", "difference", _difference(*edit)) for edit in edits]
    elif kind == "plan" and not shown:
        first = [_part("plan", say(SECTION, "no plan"), "text")]
    rest = [
        _part(name, _as_member(given[name], raw))
        for name, raw in _members(approval)
        if name not in shown
    ]
    is_plain = approval.tool.isascii() and visible_code(approval.tool) == approval.tool
    is_plain = is_plain and len(approval.tool) <= LONGEST_TOOL
    tool = [] if is_plain else [_part("tool_name", approval.tool)]
    before = kind in ("edit", "file")  # the path comes before what is done to it
    parts = (*rest, *first) if before else (*first, *rest)
    return ApprovalCard(kind, (*tool, *parts))


def _members(approval: Approval) -> Iterator[tuple[str, str]]:
    text = approval.text
    return ((name, text[start:end]) for name, start, end in members(text))


def _as_member(value: object, raw: str) -> str:
    """Return a text as it is, and anything else as JSON; also a text that reads like JSON."""
    if not isinstance(value, str):
        return pretty(raw)
    try:
        json.loads(value)
    except (ValueError, RecursionError):
        return value
    return as_json(value)


def _part(name: str, text: str, kind: str = "code") -> CardPart:
    lines = tuple(CardLine(visible_code(line)) for line in text.split("\n"))
    start = len(name) - len(name.lstrip(" "))  # indented, it would look like a line of the text
    shown = code_point(" ") * start + visible_code(name[start:])
    return CardPart(shown or _NO_NAME, kind, lines)


_MOST_COMPARED: Final = 1_000
"""The most lines that are compared; longer texts are shown as removed and added."""


def _difference(old: str, new: str) -> tuple[CardLine, ...]:
    before, after = old.split("\n") if old else [], new.split("\n") if new else []
    if len(before) + len(after) > _MOST_COMPARED:
        changes = [*(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    else:
        every = len(before) + len(after)
        found = list(difflib.unified_diff(before, after, lineterm="", n=every))
        changes = found[3:] or [f" {line}" for line in before]
    numbers = {"-": count(1), "+": count(1)}
    lines = []
    for line in changes:
        at = {sign: next(one) for sign, one in numbers.items() if line[0] in {sign, " "}}
        lines.append(CardLine(visible_code(line[1:]), line[0], at.get("+") or at["-"]))
    return tuple(lines)


def headline(opened: OpenExchange, approval: Approval, card: ApprovalCard) -> str:
    """Return who wants to do what."""
    who, prompt = client_of(opened.facts) or say(SECTION, "an agent"), opened.prompt
    if prompt is not None and prompt.agent_type:
        who = f"{who} · {one_line(prompt.agent_type, 40)}"
    return say(SECTION, f"kind {_kind(approval, card)}", who=who, tool=_tool(approval))


def heading(approval: Approval, card: ApprovalCard) -> tuple[str, str]:
    """Return what is wanted, as a list says it, and the tool that does it, where it is not said."""
    kind, tool = _kind(approval, card), _tool(approval)
    code = {"question": "answer", "problem": "unread"}.get(kind, kind)
    return say("wants", code, tool=tool), tool if kind in {"command", "edit", "file"} else ""


def _tool(approval: Approval) -> str:
    return one_line(" · ".join(filter(None, (approval.server, approval.tool))), LONGEST_TOOL)


def _kind(approval: Approval, card: ApprovalCard) -> str:
    asks = approval.questions or approval.kind == QUESTION
    return "question" if asks else "problem" if approval.problem else card.kind


def folder_of(opened: OpenExchange) -> str:
    """Return the folder in which the agent works that asks, or its client; "" if unknown."""
    prompt = opened.prompt
    return (prompt.folder if prompt is not None else "") or opened.facts.folder


def pattern_in_words(pattern: AllowPattern) -> str:
    """Describe what a pattern allows."""
    tool, value = visible_code(pattern.tool), visible_code(pattern.value)
    return say(SECTION, f"like {pattern.way}", tool=tool, value=value)


# -- what a choice sends --------------------------------------------------------------------------


class ApprovalError(StopError):
    """A choice cannot be sent: nothing was allowed."""

    section = SECTION
    status = USAGE_ERROR


def allow(
    opened: OpenExchange, approval: Approval, *, seen: bool, shown: str = "", note: str = ""
) -> Reply:
    """Return the reply that allows the input unchanged. With `seen` all of it was shown.

    The agent reads the note once the tool has run.

    Raises:
        ApprovalError: it cannot be allowed, or was not shown completely.
    """
    if opened.held is not None:
        return release(opened, seen=seen, shown=shown)
    _may_be_allowed(approval)
    must_be_seen(approval, seen=seen)
    text = approvals.allowed(approval)
    if note.strip():
        if opened.prompt is None or not opened.prompt.takes_note:
            raise ApprovalError("no note")
        text = approvals.with_members(text, {"note": as_json(note.strip())})
    return _decision(opened, text, shown)


def _decision(opened: OpenExchange, text: str, shown: str) -> Reply:
    """Return the reply that decides a permission prompt of a hook, or of a tool call."""
    form = TextForm.TEXT if opened.prompt is None else TextForm.DECISION
    return Reply(text, form, shown=shown)


def release(opened: OpenExchange, *, seen: bool, shown: str) -> Reply:
    """Return the reply that forwards a held message as it came; `shown` is the digest of it.

    Raises:
        ApprovalError: it was not shown, or a call not completely.
    """
    if not shown:
        raise ApprovalError("unseen")
    if opened.approval is not None:
        must_be_seen(opened.approval, seen=seen)
    return Reply(opened.item.line, action=Action.FORWARD, shown=shown)


def must_be_seen(approval: Approval, *, seen: bool) -> None:
    """Refuse a long input that was not shown completely.

    Raises:
        ApprovalError: it was not.
    """
    if not seen and card_of(approval).is_long:
        raise ApprovalError("unseen")


def change(opened: OpenExchange, approval: Approval, text: str, *, shown: str = "") -> Reply:
    """Return the reply that allows another input, which is JSON.

    Raises:
        ApprovalError: it cannot be allowed, or the text is not a JSON object.
    """
    _may_be_allowed(approval)
    if approval.is_fixed:
        raise ApprovalError("fixed")
    if not isinstance(approvals.read_once(text)[0], dict):
        raise ApprovalError("no object")
    if opened.held is not None:
        line = opened.item.line
        params = approvals.with_members(member(line, "params") or "{}", {"arguments": text})
        return Reply(approvals.with_members(line, {"params": params}), shown=shown)
    return _decision(opened, approvals.allowed(approval, text), shown)


def input_as_typed(approval: Approval) -> tuple[tuple[str, str], ...]:
    """Return the names and texts of the fields of a form: text as text, other members as JSON.

    Empty if a field could not show a text, or would send another one than it shows.
    """
    if approval.is_fixed:
        return ()
    given = approval.input
    found = tuple(
        (name, given[name] if isinstance(given[name], str) else raw)
        for name, raw in _members(approval)
    )
    return found if all(_fits_field(text) for _, text in found) else ()


def _fits_field(text: str) -> bool:
    plain = f"{text}.".replace("\n", "").replace("\t", "")
    return visible_code(plain) == plain


def changed_input(approval: Approval, typed: Mapping[str, str]) -> str:
    """Return the input with the changed fields of its form, which are named by their number.

    Raises:
        ApprovalError: the fields are not those of the form that was shown.
    """
    fields = input_as_typed(approval)
    if not fields or typed.keys() != {str(at) for at in range(len(fields))}:
        raise ApprovalError("other fields")
    changed: dict[str, str] = {}
    for at, (name, before) in enumerate(fields):
        words = re.sub("\r\n?", "\n", typed[str(at)])  # as a form sends line ends
        if words != before:
            is_text = isinstance(approval.input[name], str)
            if not is_text and approvals.read_once(words)[1]:  # `1, "b": 2` would be two members
                raise ApprovalError("no object")
            changed[name] = as_json(words) if is_text else words
    return approvals.with_members(approval.text, changed) if changed else approval.text


def hand_back(opened: OpenExchange, *, shown: str = "") -> Reply:
    """Return the reply that lets the agent ask in its own dialog.

    Raises:
        ApprovalError: no hook of an agent asks, or the agent would deny it.
    """
    if not can_hand_back(opened):
        raise ApprovalError("no agent" if opened.prompt is None else "no dialog")
    return _decision(opened, approvals.handed_back(), shown)


def can_hand_back(opened: OpenExchange) -> bool:
    """Return True if the agent asks in its own dialog instead."""
    return opened.prompt is not None and opened.prompt.lost == "ask"


def deny(opened: OpenExchange, reason: str, *, shown: str = "") -> Reply:
    """Return the reply that denies or declines the request; the model reads the reason."""
    if opened.held is not None:
        words = reason.strip() or approvals.DENIED
        return Reply(words, TextForm.TOOL_ERROR, action=Action.ANSWER, shown=shown)
    if opened.asked is None or opened.asked.kind == APPROVAL:
        return _decision(opened, approvals.denied(reason), shown)
    return _outcome(opened, questions.declined(reason), shown)


def _outcome(opened: OpenExchange, outcome: JsonObject, shown: str) -> Reply:
    result = outcome_result(opened.item.protocol_version, outcome, opened.negotiated)
    return Reply(as_json(result), TextForm.RESULT, shown=shown)


def typed_answers(
    asked: Sequence[AskedQuestion], words: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return the answer to each question: numbers of options with commas, or own words.

    Raises:
        ApprovalError: a question has no answer.
    """
    typed: dict[str, str] = {}
    for at, (question, answer) in enumerate(zip(asked, words, strict=False)):
        typed |= typed_answer(at, question, answer)
    return chosen_answers(asked, typed)


def typed_answer(at: int, question: AskedQuestion, words: str) -> dict[str, str]:
    """Return the answer to a question as fields of a form."""
    numbers = [one.strip() for one in words.split(",")]
    known = [str(number + 1) for number in range(len(question.options))]
    if all(one in known for one in numbers) and (question.multiple or len(numbers) == 1):
        return {f"answer {at} {int(one) - 1}": "on" for one in numbers}
    return {f"own {at}": words}


def told_beside(question: AskedQuestion) -> Iterator[str]:
    """Yield the notes of a question: its context, its default, what cannot be offered."""
    if question.context:
        yield question.context
    for note in question.notes:
        yield say(SECTION, note.code, name=note.name, value=one_line(note.value, 300))
    if question.default:
        default = question.default
        text = default if isinstance(default, str) else ", ".join(default)
        yield say(SECTION, "default", default=text)


def told_of(asked: Approval | None) -> tuple[str, ...]:
    """Return the notes of a call that the usual text box answers, without its context."""
    if asked is None or not asked.is_alone:
        return ()
    problem = (say(SECTION, asked.problem),) if asked.problem else ()
    alone = (one._replace(context="") for one in asked.questions)
    return (*problem, *(told for one in alone for told in told_beside(one)))


def chosen_answers(
    asked: Sequence[AskedQuestion], typed: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Return the chosen options and own words for each question, from a form.

    An option is `answer 0 1`, or the value of `answer 0` where one is chosen; both count from 0.
    Own words are `own 0`.

    Raises:
        ApprovalError: a question has no answer.
    """
    found: dict[str, tuple[str, ...]] = {}
    for at, question in enumerate(asked):
        one = typed.get(f"answer {at}")
        chosen = [
            label
            for number, label in enumerate(question.labels)
            if one == str(number) or f"answer {at} {number}" in typed
        ]
        own = typed.get(f"own {at}", "").strip() if question.free_text else ""
        if own and not question.multiple:
            chosen = []
        found[question.text] = (*chosen, *([own] if own else []))
        if not found[question.text]:
            raise ApprovalError("unanswered")
    return found


def answer(
    opened: OpenExchange, answers: Mapping[str, tuple[str, ...]], *, shown: str = ""
) -> Reply:
    """Return the reply that answers the questions.

    Raises:
        ApprovalError: it has no questions.
    """
    approval = opened.asked
    if approval is None or not approval.questions:
        raise ApprovalError("no prompt")
    if approval.kind == APPROVAL:
        return _decision(opened, approvals.answered(approval, answers), shown)
    return _outcome(opened, questions.answered(approval.questions, answers), shown)


def _may_be_allowed(approval: Approval) -> None:
    if approval.questions or approval.kind == QUESTION:
        raise ApprovalError("questions")
    if approval.problem:
        raise ApprovalError(approval.problem)


# -- allow like this ------------------------------------------------------------------------------


def patterns_of(opened: OpenExchange) -> tuple[AllowPattern, ...]:
    """List the patterns that a person may choose for this request, the narrowest first."""
    asked, is_one = opened.approval, opened.facts.is_one_client
    return patterns_for(asked) if asked is not None and is_one else ()


def scope_of(opened: OpenExchange) -> str:
    """Say where a pattern applies that is chosen for a prompt; "" for a call of MCP."""
    return say(SECTION, "like where") if opened.prompt is not None else ""


def pattern_at(opened: OpenExchange, number: str) -> AllowPattern:
    """Return the pattern with this number, from 1.

    Raises:
        ApprovalError: there is none.
    """
    found = patterns_of(opened)
    numbered = {str(at): one for at, one in enumerate(found, 1)}
    if number not in numbered:
        listed = "; ".join(f"{at} {pattern_in_words(one)}" for at, one in numbered.items())
        raise ApprovalError("no pattern" if found else "no patterns", choices=listed)
    return numbered[number]


def allowed_patterns(opened: OpenExchange) -> tuple[AllowPattern, ...]:
    """List the patterns that are allowed in the session of this request."""
    return patterns_in(opened.inbox.holds(opened.key.session))


def allow_like(opened: OpenExchange, pattern: AllowPattern) -> None:
    """Allow inputs that match a pattern in this session from now on.

    Raises:
        ApprovalError: the pattern is none that may be chosen for this request.
    """
    if pattern not in patterns_of(opened):
        raise ApprovalError("no patterns")
    opened.inbox.change_holds(
        opened.key.session, lambda kept: tuple(dict.fromkeys((*kept, str(pattern))))
    )


def take_back(opened: OpenExchange, pattern: str) -> None:
    """Ask again for inputs that match a pattern. What a tap holds stays held."""
    opened.inbox.change_holds(
        opened.key.session,
        lambda kept: tuple(one for one in kept if one != pattern or pattern_of(one) is None),
    )

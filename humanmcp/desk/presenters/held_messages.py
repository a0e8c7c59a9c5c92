"""A message that a tap holds, as the page shows it: what it is, and what a person makes of it.

A held request has two texts of a person: what goes on in its place, and what answers it. Which of
them is open is the `Task`; neither is ever taken for the other.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

from humanmcp.answering import service
from humanmcp.desk.presenters import rows
from humanmcp.desk.presenters.conversation import ModelToolResult, tool_result
from humanmcp.inbox.contract import Action, Draft
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.validation import held as held_check

if TYPE_CHECKING:
    from humanmcp.answering.case import Case
    from humanmcp.desk.presenters.rows import Field
    from humanmcp.protocol.validation.held import HeldMessage


class Task(enum.StrEnum):
    """What a person does on the page of an exchange."""

    NOTHING = ""
    """Nothing yet: a held message is let go, dropped, or one of the others is chosen."""
    CHANGE = "change"
    ANSWER = "answer"


def task_of(case: Case, wanted: str) -> Task:
    """Choose the task: the one that was asked for, else the one that a draft was begun for."""
    held, draft = case.held, case.item.draft
    if held is None:
        return Task.ANSWER
    answerable = held.question is not None
    if (wanted == Task.CHANGE and not case.is_large) or (wanted == Task.ANSWER and answerable):
        return Task(wanted)
    if draft is None or not draft.touched:
        return Task.NOTHING
    return _task_of(held, draft)


def _task_of(held: HeldMessage, draft: Draft) -> Task:
    meant = draft.action is Action.ANSWER
    answers = held_check.answers(held, draft.text, draft.form, answer=meant)
    return Task.ANSWER if answers and held.question is not None else Task.CHANGE


def action_of(case: Case, task: Task) -> Action:
    """Return what becomes of a held message when the text of a task is sent."""
    held = case.held is not None
    return Action.ANSWER if held and task is Task.ANSWER else Action.FORWARD


def goes_on(case: Case, task: Task) -> bool:
    """Return True if what is written goes on in the place of a message that is no answer."""
    return task is Task.CHANGE and not case.item.asked


def draft_of(case: Case, task: Task, language: str) -> Draft:
    """Return what a person has written for a task, or what they start from.

    The draft is what they wrote last; what they had written for the other task was put aside.
    """
    held, item = case.held, case.item
    if held is None:
        return service.draft_of(case, language)
    if item.draft is not None and item.draft.touched:
        for one in (item.draft, *reversed(item.kept)):
            if _task_of(held, one) is task:
                return one
    on = task is Task.ANSWER
    return service.starting_draft(case, language) if on else service.as_it_came(case)


class HeldAnswer(NamedTuple):
    """An answer that a tap holds: what was asked, and the answer, to be read."""

    asked: tuple[Field, ...]
    result: ModelToolResult | None
    """What a tool said."""
    members: tuple[Field, ...]
    """The members of any other result, or of an error."""


def answer_of(case: Case) -> HeldAnswer | None:
    """Read a held answer; None for anything else."""
    item = case.outlined
    if case.held is None or not item.asked:
        return None
    asked = item._replace(line=item.asked)
    for member in ("result", "error"):
        text = jsonrpc.member(item.line, member)
        if text is not None:
            result = tool_result(text) if member == "result" else None
            members = () if result else rows.members(text)
            return HeldAnswer(rows.fields(asked), result, members)
    return HeldAnswer(rows.fields(asked), None, ())

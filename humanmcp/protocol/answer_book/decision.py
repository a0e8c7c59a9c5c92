"""The book's decision on one exchange."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.answer_book.placeholders import fill, fill_answer
from humanmcp.protocol.diagnostics.model import TextForm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.answer_book.book_entry import DefinitionChange, Notice, Question


class Decision(NamedTuple):
    """The book's decision on an exchange: which answer, and how long after its arrival.

    `after` is in seconds, None if only a person answers. `by` is the author in the transcript.
    `entry` is the index of the book's entry, None for the book's own answers. `stoppable`: a person
    who opens the exchange stops it; so it is for a safety net, not for an entry. `own` is what the
    capability that decided wants to know when it acts; no other reads it.

    Before the answer, `notices` are sent, then each round of `ask`, with its questions by name,
    then the definition changes. `fault` is the fault in the answer. `counts`: the answer counts for
    the entry's `times`. `values` fill the placeholders of its text; None leaves them. `keep` is the
    content of the record `key` after the answer.
    """

    after: float | None = None
    text: str = ""
    form: TextForm = TextForm.RESULT
    by: str = ""
    entry: int | None = None
    stoppable: bool = False
    own: object = None
    notices: tuple[Notice, ...] = ()
    ask: tuple[Mapping[str, Question], ...] = ()
    change: DefinitionChange | None = None
    fault: str = ""
    counts: bool = True
    values: Mapping[str, Any] | None = None
    key: str = ""
    keep: Mapping[str, Any] = MappingProxyType({})

    @property
    def has_steps(self) -> bool:
        """True if messages or changes come before the answer."""
        return bool(self.notices or self.ask or self.change)

    @property
    def at_once(self) -> bool:
        """True if the answer is sent at once: nobody sees the request wait."""
        return self.due(0) and not self.has_steps

    def answered(self, answers: Mapping[str, Any]) -> Decision:
        """Return the decision with its text filled; nothing is left to ask."""
        if self.values is None:
            return self._replace(ask=()) if self.ask else self
        values = {**self.values, **answers}
        text = fill_answer(self.text, self.form, values)
        return self._replace(text=text, keep=fill(self.keep, values), ask=())

    def refused(self, error: Mapping[str, Any]) -> Decision:
        """Return the decision with an error instead of the answer and of all steps before it."""
        refusal = Decision(self.after, json.dumps(error), TextForm.ERROR, self.by, self.entry)
        return refusal._replace(counts=False)

    def due(self, waited: float, *, touched: bool = False) -> bool:
        """Return True if the book answers now, `waited` seconds after the arrival."""
        if self.after is None or (touched and self.stoppable):
            return False
        return waited >= self.after


BY_PERSON: Final = Decision()


def by_entry(index: int) -> str:
    """Return the author of an entry's answer in the transcript."""
    return f"book: rule {index + 1}"

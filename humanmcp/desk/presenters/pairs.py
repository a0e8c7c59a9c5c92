"""The history in pairs: a request with its answer, how long that took and what became of it.

Pure: lines go in, oldest first, rows come out. Also what may be copied of a line, and how two of
them differ.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from humanmcp.answering.case import read_line
from humanmcp.common.timestamps import seconds_of
from humanmcp.export.markdown import fenced
from humanmcp.inbox.contract import Draft
from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.json.layout import pretty
from humanmcp.protocol.rules.book_writer import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from humanmcp.desk.presenters.rows import Step

_ANSWERS: Final = ("result", "error")
MOST_COMPARED: Final = 3000
"""Lines of a message, laid out, that are compared with another."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A row: a request with its answer, or a line by itself.

    `state` is "" for what is no request. `times` counts pings that one row stands for.
    `before` is the line to compare with: of the last row that asked the same.
    """

    step: Step
    answer: Step | None = None
    state: str = ""
    times: int = 1
    before: str = ""

    @property
    def took(self) -> float | None:
        """Seconds until the answer."""
        if self.answer is None:
            return None
        return max(0.0, seconds_of(self.answer.at) - seconds_of(self.step.at))

    @property
    def compared(self) -> str:
        """The line that is compared with those before: the answer where there is one."""
        return place(self.answer or self.step)


def place(step: Step) -> str:
    """Name a line: its session and its number there."""
    return f"{step.session}/{step.seq}" if step.seq else ""


def pairs(steps: Iterable[Step]) -> list[Pair]:
    """Put each answer to its request, by its id, and the pings of a session into one row."""
    found: list[Pair] = []
    asked: dict[tuple[str, str, bool], int] = {}
    pings: dict[str, int] = {}
    for step in steps:
        if step.kind in _ANSWERS:
            at = asked.pop((step.session, step.id, not step.inwards), None)
            if at is not None:
                found[at] = replace(found[at], answer=step, state=answered_state(step))
                continue
        elif step.kind == "request":
            if step.word == "ping" and step.session in pings:
                at = pings[step.session]
                found[at] = replace(found[at], times=found[at].times + 1)
                asked[step.session, step.id, step.inwards] = at
                continue
            pings |= {step.session: len(found)} if step.word == "ping" else {}
            asked[step.session, step.id, step.inwards] = len(found)
        found.append(Pair(step, state="pending" if step.kind == "request" else ""))
    return _by_number(found)


def _by_number(found: list[Pair]) -> list[Pair]:
    """Put an answer that was sent under another id on purpose to the request that it was for."""
    open_ones: dict[tuple[str, int, bool], int] = {}
    rows: list[Pair] = []
    for one in found:
        step = one.step
        at = None
        if step.number and one.state == "pending":
            open_ones[step.session, step.number, step.inwards] = len(rows)
        elif step.number and step.kind in _ANSWERS:
            at = open_ones.pop((step.session, step.number, not step.inwards), None)
        if at is None:
            rows.append(one)
        else:
            rows[at] = replace(rows[at], answer=step, state=answered_state(step))
    return rows


def answered_state(answer: Step) -> str:
    """Return the state of a request that has this answer."""
    return "error" if answer.kind == "error" or answer.failed else "answered"


def compared(found: Iterable[Pair]) -> list[Pair]:
    """Name for each row the last one before it that asked the same, oldest first."""
    last: dict[tuple[str, str], str] = {}
    rows = []
    for one in found:
        what = (one.step.word, one.step.name)
        rows.append(replace(one, before=last.get(what, "")) if one.state else one)
        if one.state and one.compared:
            last[what] = one.compared
    return rows


def difference(before: str, now: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of two texts: `same`, `gone` or `new`, and the line."""
    old, new = (text.split("\n")[:MOST_COMPARED] for text in (before, now))
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (("same", line) for line in old[a:b])
        else:
            yield from (("gone", line) for line in old[a:b])
            yield from (("new", line) for line in new[c:d])


# -- what may be copied ---------------------------------------------------------------------------


def body_of(line: str) -> Draft | None:
    """Return an answer without its envelope: its text alone where it is one text for a model."""
    found = read_line(line)
    if not isinstance(found, Message):
        return None
    error, result = jsonrpc.member(line, "error"), jsonrpc.member(line, "result")
    plain = plain_text(found.body.get("result"))
    if plain is not None:
        return Draft(plain.text, plain.form)
    if error is not None:
        return Draft(error, TextForm.ERROR)
    return None if result is None else Draft(result, TextForm.RESULT)


def copies(line: str) -> list[tuple[str, str]]:
    """List the ways to write a line elsewhere: as it was, laid out, as a command, as Markdown."""
    laid_out = pretty(line)
    found = [("line", line), ("pretty", laid_out)]
    draft = body_of(line)
    if draft is not None:
        found.append(("command", _command(draft)))
    return [*found, ("markdown", "\n".join(fenced(laid_out)))]


def _command(draft: Draft) -> str:
    """Write the command that answers so."""
    flags = {TextForm.TEXT: "--text", TextForm.TOOL_ERROR: "--tool-error"}
    if draft.form in flags:
        return f"humanmcp answer {flags[draft.form]} {shlex.quote(draft.text)}"
    whole = f'{{"{draft.form.value}":{draft.text}}}' if draft.form is TextForm.ERROR else draft.text
    flag = "--message" if draft.form is TextForm.ERROR else "--result"
    return f"humanmcp answer {flag} - <<'JSON'\n{pretty(whole)}\nJSON"

"""Rows for lists of messages: the few words by which a person recognises a message.

An item goes in, values for templates come out. Invisible characters are replaced here
(`protocol/json/visible.py`), and the templates escape the text.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.open_exchange import read_line
from humanmcp.answering.summary import (
    GIST,
    Summary,
    author_of,
    line_kind,
    message_in,
    row_title,
    summary_of,
    summary_of_frame,
)
from humanmcp.common.timestamps import seconds_of
from humanmcp.export.readable import fenced
from humanmcp.inbox.contract import Draft, Role
from humanmcp.locales import say
from humanmcp.protocol.answer_book.recorded import plain_text
from humanmcp.protocol.conversation.transcript import DELIBERATE, Direction
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.http.client import (
    HttpConversation,
    carried,
    head_of,
    is_beside,
    part_in,
    part_in_words,
)
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import DecodedLine, Message
from humanmcp.protocol.json.tree import pretty
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.tables.methods import PROGRESS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from humanmcp.answering.standing import Standing
    from humanmcp.answering.summary import Badge
    from humanmcp.inbox.contract import SessionFacts
    from humanmcp.protocol.conversation.transcript import Frame

SHOWN: Final = 2000
"""The maximum length of an HTTP head that is shown, in characters."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a conversation: a row of the history and an arrow of the diagram.

    `kind` is a `LineKind`. `answers` is the tool or method of the request that a response belongs
    to, if that is among the rows (`paired`).
    """

    session: str
    badge: Badge
    seq: int
    at: str
    number: int
    inwards: bool
    kind: str
    word: str
    summary: Summary
    by: str
    size: int
    id: str = ""
    """The id of a request or response; for progress, the token."""
    answers: str = ""
    role: Role = Role.SERVER
    until: str = ""
    """The time of the last line if it represents several (`folded`)."""
    more: tuple[int, ...] = ()
    """The numbers of the other lines that its row represents."""
    failed: bool = False
    """It is a tool result with `isError`."""
    method: str = ""
    """For a response, the method of its request (`paired`)."""
    deliberate: bool = False
    """It was sent despite the check's errors."""
    part: dict[str, Any] = field(default_factory=dict)
    """The part of an HTTP exchange that a note contains."""
    carries: str = ""
    """What identifies a client's message, or the message of an HTTP part."""
    http: tuple[str, ...] = ()
    """The HTTP details of its line, if they have no separate rows (`folded`)."""
    in_inbox: bool = False
    """Its exchange was in the inbox, and has a page."""
    now: Standing | None = None
    """Of a decision, what is so by now; None where that is not known."""

    @property
    def title(self) -> str:
        """What it asks for; of a decision, what is so by now if that is more than it says."""
        title = row_title(self.summary)
        if self.now is None:
            return title
        sent, now = (say("desk", f"state.{one}") for one in (answered_state(self), self.now))
        return title if now == sent else f"{now[:1].upper()}{now[1:]}"

    @property
    def address(self) -> str:
        """The address of its page: a client's request leads to its exchange, others to the line."""
        if self.in_inbox and self.kind in ASKS and self.inwards:
            return f"/m/{self.session}/{self.number}"
        return f"/line/{self.session}/{self.seq}"

    @property
    def sender(self) -> str:
        """The sender: the code of a party's name."""
        if self.summary.wants and self.kind == "note":  # what became of a decision
            return "humanmcp"
        return self.role.traits.parties[0 if self.inwards else 1]

    @property
    def lasted(self) -> float:
        """The seconds from the first of its lines to the last."""
        return seconds_of(self.until) - seconds_of(self.at) if self.until else 0.0


def folded(steps: Iterable[Step]) -> list[Step]:
    """Join the progress of one request into one row, at its first line.

    HTTP details are added to the row of their line. The lines of a session must be oldest first.
    """
    found: list[Step] = []
    first: dict[tuple[str, str, bool], int] = {}
    http = _Carried(found)
    for step in steps:
        if http.takes(step):
            continue
        at = len(found)
        if step.word == PROGRESS:
            at = first.setdefault((step.session, step.id, step.inwards), at)
        if at == len(found):
            found.append(step)
        else:
            row = found[at]
            found[at] = replace(row, until=step.at, more=(*row.more, step.seq))
    return found


class _Carried:
    """Adds HTTP details to the rows of their lines, which are in `found`."""

    def __init__(self, found: list[Step]) -> None:
        self._found = found
        self._lines: dict[tuple[str, str], list[int]] = {}
        self._calls: dict[tuple[str, str], int] = {}

    def takes(self, step: Step) -> bool:
        """Return True if a step has no separate row; add it to its line if that is here."""
        call = (step.session, str(step.part.get("call")))
        lines = self._lines.setdefault((step.session, step.carries), [])
        if is_beside(step.part):
            if lines:  # several may be on their way, and one may be sent again
                fresh = (at for at in lines if not self._found[at].http)
                self._calls[call] = next(fresh, lines[-1])
            if call in self._calls:
                self._put(self._calls[call], step)
            return True
        if "method" in step.part:
            self._calls[call] = len(self._found)
        elif step.carries:
            lines.append(len(self._found))
        return False

    def _put(self, at: int, step: Step) -> None:
        row = self._found[at]
        status = "".join(step.summary.gist.partition(" <-")[1:])
        gist = row.summary.gist + (status if row.part and "status" in step.part else "")
        http = (*row.http, head_of(step.part)[:SHOWN])
        self._found[at] = replace(row, summary=row.summary._replace(gist=gist), http=http)


def paired(steps: Iterable[Step]) -> list[Step]:
    """Set the tool or method of each response. The lines of a session must be oldest first."""
    asked: dict[tuple[str, str, bool], Step] = {}
    found: list[Step] = []
    for step in steps:
        of = None
        if step.kind == "request":
            asked[step.session, step.id, step.inwards] = step
        elif step.kind in ("result", "error"):
            of = asked.pop((step.session, step.id, not step.inwards), None)
        name = (of.summary.name or of.word) if of else ""
        found.append(replace(step, answers=name, method=of.word) if of else step)
    return found


def step(session: str, badge: Badge, frame: Frame, role: Role = Role.SERVER) -> Step:
    """Return the row of a recorded line."""
    found = message_in(frame)
    kind, word, summary = _step_words(frame, found)
    token = found.id if isinstance(found, Message) else None
    of = "" if token is None else repr(token.key)
    if kind in _FOREIGN:
        of = f"foreign {frame.number}"
    if isinstance(found, Message) and word == PROGRESS:
        of = repr(found.params.get("progressToken"))
    part, inwards = part_in(frame), frame.direction is Direction.IN
    return Step(
        session=session,
        badge=badge,
        seq=frame.seq,
        at=frame.at,
        number=frame.number,
        inwards=inwards,
        kind=kind,
        word=word,
        summary=summary,
        by=one_line(author_of(frame), 90),
        size=len(frame.raw),
        id=of,
        role=role,
        deliberate=frame.note.startswith(DELIBERATE),
        failed=isinstance(found, Message) and is_failed(found.body.get("result")),
        part=part,
        carries=carried(found) if inwards else str(part.get("carries", "")),
    )


def is_failed(result: object) -> bool:
    """Return True for a tool result with `isError`."""
    return isinstance(result, dict) and result.get("isError") is True


def _step_words(frame: Frame, found: DecodedLine | None) -> tuple[str, str, Summary]:
    kind = line_kind(frame, found).value
    if (decided := summary_of_frame(frame)) is not None:
        return kind, "", decided
    if isinstance(found, Message):
        return kind, one_line(found.method, 60), summary_of(found)
    words = frame.text[: GIST * 2] if found else part_in_words(frame) or frame.remark or frame.text
    return kind, "", Summary("", one_line(words, GIST))


# -- requests with their answers -----------------------------------------------------------------

ASKS: Final = ("request", "prompt", "step")
ANSWERS: Final = ("result", "error", "decision", "step answer")
_FOREIGN: Final = ("prompt", "decision", "step", "step answer")
MOST_COMPARED: Final = 3000
"""The maximum number of formatted lines of a message that are compared with another."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A row: a request with its response, or a single line.

    `state` is a `Standing` or what the lines alone say (pending, answered, error, …); "" for other
    lines than requests. `times` counts the pings of a row.
    """

    step: Step
    answer: Step | None = None
    state: str = ""
    times: int = 1
    more: tuple[int, ...] = ()
    """The numbers of the lines of the other pings."""

    def answered(self, step: Step) -> Pair:
        """Return the row with a response. One of several pings that failed is what it shows."""
        if self.answer is None:
            return replace(self, answer=step, state=answered_state(step))
        state = self.state if self.state == "error" else answered_state(step)
        return replace(self, state=state, more=(*self.more, step.seq))

    @property
    def lines(self) -> tuple[int, ...]:
        """The numbers of all lines that it represents, those that it shows first."""
        steps = (self.step, self.answer) if self.answer else (self.step,)
        others = (seq for one in steps for seq in one.more)
        return (*(one.seq for one in steps), *others, *self.more)

    @property
    def took(self) -> float | None:
        """The seconds until the response; None without one, or without times."""
        if self.answer is None or not self.step.at:
            return None
        return max(0.0, seconds_of(self.answer.at) - seconds_of(self.step.at))

    @property
    def size(self) -> int:
        """The bytes of both lines."""
        return self.step.size + (self.answer.size if self.answer else 0)

    @property
    def place(self) -> str:
        """The session and number of the line that its page shows."""
        return place(self.step) or place(self.answer or self.step)

    @property
    def compared(self) -> str:
        """The line to compare with others: the response if there is one."""
        return place(self.answer or self.step) or self.place


def place(step: Step) -> str:
    """Return the name of a line: its session and its number; "" for one that is not recorded."""
    return f"{step.session}/{step.seq}" if step.seq else ""


ORDERS: Final[Mapping[str, Callable[[Pair], Any]]] = MappingProxyType(
    {
        "at": lambda one: one.step.at,
        "what": lambda one: (one.step.word, one.step.summary.name),
        "state": lambda one: one.state,
        "by": lambda one: one.answer.by if one.answer else "",
        "size": lambda one: one.size,
        "took": lambda one: -1.0 if one.took is None else one.took,
    }
)
"""The columns of the history by which its rows are sorted."""


def pairs(steps: Iterable[Step]) -> list[Pair]:
    """Join each response with its request by id, and the pings of a session into one row."""
    found: list[Pair] = []
    asked: dict[tuple[str, str, bool], int] = {}
    pings: dict[str, int] = {}
    for step in steps:
        if step.kind in ANSWERS:
            at = asked.pop((step.session, step.id, not step.inwards), None)
            if at is not None:
                found[at] = found[at].answered(step)
                continue
        elif step.kind in ASKS:
            if step.word == "ping" and step.session in pings:
                at = pings[step.session]
                row = found[at]
                found[at] = replace(row, times=row.times + 1, more=(*row.more, step.seq))
                asked[step.session, step.id, step.inwards] = at
                continue
            pings |= {step.session: len(found)} if step.word == "ping" else {}
            asked[step.session, step.id, step.inwards] = len(found)
        found.append(Pair(step, state="pending" if step.kind in ASKS else ""))
    return _by_number(found)


def _by_number(found: list[Pair]) -> list[Pair]:
    """Join a response with an intentionally wrong id with its request."""
    open_ones: dict[tuple[str, int, bool], int] = {}
    rows: list[Pair] = []
    for one in found:
        step = one.step
        at = None
        if step.number and one.state == "pending":
            open_ones[step.session, step.number, step.inwards] = len(rows)
        elif step.number and step.kind in ANSWERS:
            at = open_ones.pop((step.session, step.number, not step.inwards), None)
        if at is None:
            rows.append(one)
        else:
            rows[at] = replace(rows[at], answer=step, state=answered_state(step))
    return rows


def answered_state(answer: Step) -> str:
    """Return the state of a request with this response."""
    wants = answer.summary.wants
    if wants.startswith("decided "):
        return _DECIDED.get(wants.removeprefix("decided "), "answered")
    return "error" if answer.kind == "error" or answer.failed else "answered"


_DECIDED: Final = {
    "allow": "allow sent",
    "change": "allow sent",
    "answer": "allow sent",
    "deny": "denial sent",
    "hand back": "handed back",
    "keyboard": "keyboard",
    "ended": "moved on",
    "by nobody": "late",
}
"""The state of a prompt about which this was decided."""


def difference(before: str, now: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of two texts: `same`, `gone` or `new`, and the line."""
    old, new = (text.split("\n")[:MOST_COMPARED] for text in (before, now))
    for tag, a, b, c, d in SequenceMatcher(None, old, new).get_opcodes():
        if tag == "equal":
            yield from (("same", line) for line in old[a:b])
        else:
            yield from (("gone", line) for line in old[a:b])
            yield from (("new", line) for line in new[c:d])


# -- what may be copied --------------------------------------------------------------------------


def body_of(line: str) -> Draft | None:
    """Return a response without its envelope; only its text if it is one text for a model."""
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


def copies(line: str, curl: str = "") -> list[tuple[str, str]]:
    """Return the forms in which a line can be copied: raw, formatted, as a command, as Markdown."""
    laid_out = pretty(line)
    found = [("pretty", laid_out), ("line", line), *([("curl", curl)] if curl else [])]
    draft = body_of(line)
    if draft is not None:
        found.append(("command", _command(draft)))
    return [*found, ("markdown", "\n".join(fenced(laid_out)))]


def curl(line: str, facts: SessionFacts, url: str = "") -> str:
    """Return the command that sends a client's message over HTTP, to `$MCP_URL` without a `url`."""
    conversation = HttpConversation("curl")
    conversation.version, conversation.session = facts.protocol_version, facts.http.id
    headers = conversation.posted(line.encode("utf-8", "replace")).headers
    words = [f"curl -sS {shlex.quote(url)}" if url else 'curl -sS "$MCP_URL"']
    words += [
        f"-H {shlex.quote(f'{name}: {value}')}"
        for name, value in headers
        if name not in ("Content-Length", "User-Agent")
    ]
    return " \\\n  ".join([*words, f"--data-binary {shlex.quote(line)}"])


def _command(draft: Draft) -> str:
    """Return the command that sends this answer."""
    flags = {TextForm.TEXT: "--text", TextForm.TOOL_ERROR: "--tool-error"}
    if draft.form in flags:
        return f"humanmcp answer {flags[draft.form]} {shlex.quote(draft.text)}"
    whole = f'{{"{draft.form.value}":{draft.text}}}' if draft.form is TextForm.ERROR else draft.text
    flag = "--message" if draft.form is TextForm.ERROR else "--result"
    return f"humanmcp answer {flag} - <<'JSON'\n{pretty(whole)}\nJSON"


# -- a sequence diagram --------------------------------------------------------------------------

WIDTH: Final = 300
LEFT: Final = 34
RIGHT: Final = 266
TOP: Final = 44
PITCH: Final = 34
ASIDE: Final = 110
"""The width for the model beside the two parties of a session."""
_SHOWN: Final = 24


def draw(
    steps: Sequence[Step], current: int, *, on_stage: bool = False, held: Collection[int] = ()
) -> dict[str, Any]:
    """Return the diagram of the last messages of a conversation; `more` earlier ones are left out.

    `current` is the number of the shown exchange; on the stage of a projector that of a line, and
    the model behind a host is a third party, which asks for calls and reads their results. `held`
    are the exchange numbers of the messages that a tap holds; their arrows end halfway.
    """
    wire = [step for step in steps if step.kind not in ("note", "err")]
    shown = wire[-_SHOWN:]
    traits = (shown[-1].role if shown else Role.SERVER).traits
    aside = ASIDE if on_stage and traits.has_client else 0
    arrows = []
    for y, step in enumerate(shown, 1):
        arrow = _arrow(step, LEFT + aside, RIGHT + aside, is_held=step.number in held)
        is_current = current > 0 and current == (step.seq if on_stage else step.number)
        arrows.append({**arrow, "y": TOP + PITCH * y, "current": is_current})
    return {
        "width": WIDTH + aside,
        "height": TOP + PITCH * (len(shown) + 1),
        "left": LEFT + aside,
        "right": RIGHT + aside,
        "arrows": arrows,
        "more": len(wire) - len(shown),
        "parties": traits.parties,
        "model": LEFT if aside else 0,
    }


def _arrow(step: Step, left: int, right: int, *, is_held: bool) -> dict[str, Any]:
    """Return one message of the diagram; the arrow goes from `tail` to `head`.

    `asks` is 1 if the model asked for it, -1 if it goes on to the model, else 0.
    """
    tail, head = (left, right) if step.inwards else (right, left)
    words = step.summary.name or step.word or step.summary.gist
    if step.kind == "decision":
        words = " · ".join(filter(None, (step.title, step.summary.gist)))
    if step.more:
        words = step.word.rpartition("/")[2]
    called = step.word == "tools/call" and step.inwards
    read = step.method == "tools/call" and not step.inwards
    return {
        "tail": tail,
        "head": (tail + head) // 2 if is_held else head,
        "label": words,
        "kind": step.kind,
        "step": step,
        "asks": called - read,
    }

"""What a client did, in one word: decided by tables over what was seen of it.

Nothing is guessed: where it cannot be known from outside, the word is *not known*.
"""

from __future__ import annotations

import enum
import json
import re
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.extensions.judge.playing import SERVER
from humanmcp.extensions.judge.server_faults import RIGHT, WRONG
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.validation.redaction import Redaction, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from humanmcp.extensions.judge.running import Run
    from humanmcp.extensions.judge.server_faults import ServerFault


class Word(enum.StrEnum):
    """What the client did, the best first."""

    WELL = "well"
    """It did what a good host does."""
    TOLD = "told"
    """It failed the call, and said why."""
    WAITED = "waited"
    """It waited until its own timeout, and said so."""
    UNKNOWN = "not known"
    """It cannot be known from outside, or it never came so far."""
    OTHER = "other"
    """It did something else: none of the words fits."""
    SILENT = "silent"
    """It failed, and showed nothing: no result, and no error."""
    BELIEVED = "believed"
    """It took what is not so for an answer."""
    HUNG = "hung"
    """It had to be ended."""
    DIED = "died"
    """It broke down."""


_Decision = tuple[Word, tuple[str, ...], tuple[str, ...]]

_ALWAYS: Final[tuple[_Decision, ...]] = (
    (Word.UNKNOWN, ("unreached",), ()),
    (Word.HUNG, ("killed",), ()),
    (Word.DIED, ("signalled", "failed"), ()),
    (Word.DIED, ("crashed", "failed"), ("timed out",)),
    (Word.OTHER, ("broke",), ()),
)
_NOTHING: Final[tuple[_Decision, ...]] = (
    (Word.SILENT, ("failed",), ()),
    (Word.SILENT, ("quiet",), ()),
    (Word.OTHER, (), ()),
)
_GAVE_UP: Final[tuple[_Decision, ...]] = (
    (Word.WAITED, ("late", "timed out", "said"), ()),
    (Word.WAITED, ("late", "timed out", "failed", "spoke"), ()),
    (Word.WAITED, ("late", "timed out", "unseen"), ()),
)
_COMPLAINED: Final[tuple[_Decision, ...]] = (
    (Word.TOLD, ("failed", "spoke"), ()),
    (Word.TOLD, ("said",), ("right",)),
)
DECISIONS: Final[Mapping[str, tuple[_Decision, ...]]] = {
    "wrong": (
        *_ALWAYS,
        *_GAVE_UP,
        (Word.BELIEVED, ("shown",), ("failed", "said")),
        *_COMPLAINED,
        (Word.SILENT, ("failed",), ()),
        (Word.BELIEVED, ("shown",), ()),
        (Word.BELIEVED, ("right",), ()),
        (Word.UNKNOWN, ("blind", "in call"), ()),
        (Word.BELIEVED, ("blind", "went on"), ()),
        (Word.UNKNOWN, ("blind",), ()),
        *_NOTHING,
    ),
    "tolerable": (
        *_ALWAYS,
        (Word.BELIEVED, ("shown",), ()),
        (Word.WELL, ("right",), ("failed",)),
        *_GAVE_UP,
        *_COMPLAINED,
        (Word.UNKNOWN, ("unseen", "in call"), ()),
        (Word.WELL, ("unseen", "went on"), ()),
        (Word.UNKNOWN, ("unseen",), ()),
        (Word.WELL, ("blind",), ("failed",)),
        *_NOTHING,
    ),
    "failing": (
        *_ALWAYS,
        (Word.WELL, ("right", "failed"), ()),
        (Word.WELL, ("right", "spoke"), ()),
        (Word.BELIEVED, ("right",), ()),
        *_GAVE_UP,
        *_COMPLAINED,
        (Word.UNKNOWN, ("blind",), ("failed",)),
        *_NOTHING,
    ),
    "absent": (
        *_ALWAYS,
        (Word.WELL, ("right",), ("failed", "said")),
        *_GAVE_UP,
        *_COMPLAINED,
        (Word.BELIEVED, ("shown",), ()),
        (Word.TOLD, ("said", "right"), ()),
        (Word.UNKNOWN, ("blind",), ("failed",)),
        *_NOTHING,
    ),
    "asking": (
        (Word.UNKNOWN, ("declared",), ()),
        *_ALWAYS,
        (Word.WELL, ("answered well",), ()),
        (Word.BELIEVED, ("answered",), ()),
        *_GAVE_UP,
        *_COMPLAINED,
        *_NOTHING,
    ),
    "hidden": (
        *_ALWAYS,
        (Word.BELIEVED, ("called", "declared"), ()),
        (Word.OTHER, ("called",), ()),
        (Word.UNKNOWN, ("never called",), ()),
        (Word.WELL, (), ()),
    ),
    "staying": (
        (Word.UNKNOWN, ("unseen", "unreached"), ()),
        (Word.HUNG, ("killed",), ()),
        (Word.SILENT, ("server left",), ()),
        (Word.WELL, (), ("failed",)),
        (Word.TOLD, (), ()),
    ),
}
"""For each kind: a word, the facts that it needs, and those that it excludes; the first counts."""


class Verdict(NamedTuple):
    """What a client did with one fault, and what proves it."""

    name: str
    word: Word
    seconds: float
    """From the fault to the end of the client, or of its time."""
    lines: tuple[str, ...]
    """The lines that prove it: what the server did, then what the client sent and printed."""
    notes: tuple[str, ...] = ()
    """Codes of sentences: what else was seen."""
    cpu_seconds: float | None = None
    memory_mb: int | None = None
    broke: tuple[str, str] | None = None
    """The sentence of the specification that it broke, and its page, if that is known. It breaks
    it by going on with what is wrong, or by stopping at what it must take."""

    def as_json(self) -> dict[str, Any]:
        """Return it as it stands in a file of results."""
        return self._asdict() | {"seconds": round(self.seconds, 1)}


_MISTAKE: Final = re.compile(
    r"(?i)error|exception|traceback|fail|invalid|refused|unexpected|time[ds]?[ -]?out|closed|"
    r"unsupported|not found|cannot|could not|can't|unable|unknown|reject|panic|unhandled|"
    r"\b(?:401|403|404|429|50[0234])\b"
)
_CRASH: Final = re.compile(
    r"(?:TypeError|AttributeError|KeyError|IndexError|NameError|AssertionError|RecursionError"
    r"|ReferenceError|RangeError|UnicodeDecodeError)\b|Cannot read propert|panicked at"
    r"|Segmentation fault|core dumped|NullPointerException|'NoneType' object|Maximum call stack"
    r"|heap out of memory"
)
_TIMEOUT: Final = re.compile(r"(?i)time[ds]?[ _-]?out|deadline|-32001")
_CHANGING: Final = re.compile(
    r"(?:\b[A-Za-z]:\\|(?<!\w)/)[\w.~/\\-]+|\b(?=[\w-]*\d)[0-9A-Fa-f-]+\b|\d"
)
_CANCELLED: Final = "notifications/cancelled"
LATE: Final = 1.5
"""Seconds without anything after which a client waited."""
_SHOWN_LINES: Final = 8
_SEARCHED: Final = 20_000
"""Characters of a message in which secrets are searched; far fewer are shown."""


def facts(row: ServerFault, run: Run, good: Run) -> dict[str, bool]:
    """Return what was seen of a run, compared with that against a good server."""
    odd_at = run.odd_at
    output, before = run.output or "", good.output or ""
    new = _new_lines(output, before)
    answers = [one for one in messages(run) if "method" not in one and "id" in one]
    wrong_answer = "result" if row.answer == "error" else "error"
    waits = sum(step.get("wait", 0) for step in row.steps)
    last = max((one.at for one in good.events if one.what == "out"), default=good.ended_at)
    tail = good.ended_at - last
    status = run.status or 0
    return {
        # it never began: the client did not ask, or speaks another version
        "unreached": odd_at is None and not (run.ended_for and row.unanswered),
        # the client declared the capability that the server uses, or that this is about
        "declared": bool(row.declares) and _declares(run, row.declares),
        "killed": bool(run.ended_for),
        # a shell, and what is like one, adds 128 to a signal
        "signalled": (status < 0 or status - 128 in signal.valid_signals()) and not run.ended_for,
        # its output has the words of a program that broke down
        "crashed": any(map(_CRASH.search, new)),
        # it ended with another exit status than with the good server
        "failed": run.status != good.status,
        # its output has a new line with the words of a mistake
        "said": any(map(_MISTAKE.search, new)),
        # its output has a new line
        "spoke": bool(new),
        # its output has the text of the wrong result
        "shown": WRONG in output,
        # it did what no client may do, or showed what none may show
        "broke": any(one.what == "broke" for one in run.events)
        or (row.guarded is not None and row.guarded.is_hidden and WRONG in output),
        # its output has the text of the right result
        "right": RIGHT in output,
        # its output has nothing of the result, and nothing new; with the good server it had
        "quiet": RIGHT in before and not (RIGHT in output or WRONG in output or new),
        # only its server saw it, and nobody said what it showed
        "unseen": run.output is None,
        # it does not print results, also not those of the good server
        "blind": run.output is None or RIGHT not in before,
        # the fault concerns the result of a call, which only the output could show
        "in call": row.method == "tools/call",
        # it sent all the requests and notifications that it sends to the good server
        "went on": _methods(good) <= _methods(run) and _said_after(run),
        # it did nothing for a while after the fault, or before it got no answer
        "late": odd_at is not None
        and (bool(row.unanswered) or run.ended_at - odd_at > LATE + waits + tail),
        # it says so, or it cancelled its request
        "timed out": any(map(_TIMEOUT.search, new)) or bool(_count(run, _CANCELLED)),
        # it called a tool; it calls none, also of the good server
        "called": bool(_count(run, "tools/call")),
        "never called": not _count(good, "tools/call"),
        # it answered the request of the server
        "answered": bool(answers),
        "answered well": bool(answers) and not any(wrong_answer in one for one in answers),
        # its server ran on when it had ended
        "server left": SERVER in run.left,
    }


def verdict(row: ServerFault, run: Run, good: Run) -> Verdict:
    """Decide the word."""
    seen = facts(row, run, good)
    word = next(
        word
        for word, needed, excluded in DECISIONS[row.kind]
        if all(seen[fact] for fact in needed) and not any(seen[fact] for fact in excluded)
    )
    notes = [
        *([run.ended_for] if run.ended_for not in ("", "late") else []),
        *(["asked again"] if _count(run, row.method) > max(1, _count(good, row.method)) else []),
        *(["cancelled"] if _count(run, _CANCELLED) else []),
        *(["started again"] if _starts(run) > _starts(good) else []),
        *(["declared"] if seen["declared"] else []),
        *(["called"] if row.kind == "hidden" and seen["called"] else []),
        *(["never asked"] if seen["unreached"] else []),
        *(["stays"] if run.stays else ["left"] if {*run.left} - {SERVER} else []),
    ]
    begun = run.odd_at or run.ended_at
    lines = tuple(_proof(run, good))
    seconds = max(0.0, run.ended_at - begun)
    stops = row.kind == "tolerable" and word not in (Word.WELL, Word.UNKNOWN)
    is_against = row.guarded is not None and (stops or seen["broke"] or word is Word.BELIEVED)
    broke = row.source if is_against else ("", "")
    used = (run.cpu, run.memory, broke if broke[0] else None)
    return Verdict(row.name, word, seconds, lines, tuple(notes), *used)


def _new_lines(output: str, before: str) -> list[str]:
    known = {_worn(line) for line in before.splitlines()}
    return [line for line in output.splitlines() if _worn(line) and _worn(line) not in known]


def _worn(line: str) -> str:
    """Return a line without what changes from run to run: numbers, paths of files, and ids."""
    return re.sub(r"\W+", " ", _CHANGING.sub(" ", line.replace(WRONG, RIGHT))).strip()


def messages(run: Run) -> Iterator[dict[str, Any]]:
    for event in run.events:
        if event.what == "in":
            with suppress(ValueError, RecursionError):
                message = json.loads(event.text)
                if isinstance(message, dict):
                    yield message


def _declares(run: Run, capability: str) -> bool:
    """Return True if the client declared it: `sampling`, or `extensions.` and the id of one."""
    first = next((one for one in messages(run) if one.get("method") == "initialize"), {})
    path = ("params", "capabilities", *capability.split(".", 1))
    return follow(first, *path) is not None


def _methods(run: Run) -> set[str]:
    return {str(one["method"]) for one in messages(run) if "method" in one}


def _said_after(run: Run) -> bool:
    """Return True if the client sent something after the fault, other than to cancel."""
    begun = run.odd_at or 0.0
    return any(
        one.what == "in" and one.at > begun and _CANCELLED not in one.text for one in run.events
    )


def _count(run: Run, method: str) -> int:
    return sum(one.get("method") == method for one in messages(run))


def _starts(run: Run) -> int:
    return sum(one.what == "start" for one in run.events)


def _proof(run: Run, good: Run) -> Iterator[str]:
    """Yield the lines that show what happened: `->` from the client, `<-` from the server.

    Secrets are left out, also those that the client prints: a report is for others.
    """
    secrets = Redaction()
    output = secrets.redact(run.output or "")
    begun = run.odd_at
    after = [one for one in run.events if begun is not None and one.at >= begun]
    before = [one for one in run.events if begun is not None and one.at < begun]
    for one in (*before[-1:], *after[:_SHOWN_LINES]):
        if one.what in ("in", "out", "odd"):
            shown = secrets.redact(one.text[:_SEARCHED])[:160]
            yield f"{'->' if one.what == 'in' else '<-'} {shown}"
        elif one.what == "broke":
            yield f"!! {one.text[:160]}"
    known = without_secrets(good.output or "")
    marked = [line for line in output.splitlines() if RIGHT in line or WRONG in line]
    told = [line for line in _new_lines(output, known) if line not in marked]
    for line in (*marked[:2], *told[-4:]):
        yield f"   {line.strip()[:200]}"
    if not run.ended_for and run.status is not None:
        yield f"   exit {run.status}"
    used = [f"{run.cpu:.1f} s CPU"] if run.cpu is not None else []
    used += [f"{run.memory} MB"] if run.memory is not None else []
    if used:
        yield f"   {', '.join(used)}"

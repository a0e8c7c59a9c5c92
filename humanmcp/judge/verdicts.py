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

from humanmcp.judge.misbehaviours import RIGHT, WRONG
from humanmcp.judge.playing import SERVER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from humanmcp.judge.misbehaviours import Misbehaviour
    from humanmcp.judge.running import Run


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
    SILENT = "silent"
    """It failed the call, and did not say so."""
    BELIEVED = "believed"
    """It took what is not so for an answer."""
    HUNG = "hung"
    """It had to be ended."""
    DIED = "died"
    """It broke down."""


class Fact(enum.Enum):
    """Something that was seen, compared with what the client does with a good server."""

    UNREACHED = enum.auto()
    """The misbehaviour never began: the client did not ask, or speaks another version."""
    DECLARED = enum.auto()
    """The client declared the capability that the server uses."""
    KILLED = enum.auto()
    SIGNALLED = enum.auto()
    CRASHED = enum.auto()
    """Its output has the words of a program that broke down."""
    FAILED = enum.auto()
    """It ended with another exit status than with the good server."""
    SAID = enum.auto()
    """Its output has a new line with the words of a mistake."""
    SPOKE = enum.auto()
    """Its output has a new line."""
    SHOWN = enum.auto()
    """Its output has the text of the wrong result."""
    RIGHT = enum.auto()
    """Its output has the text of the right result."""
    UNSEEN = enum.auto()
    """Only its server saw it, and nobody said what it showed."""
    BLIND = enum.auto()
    """It does not print results, also not those of the good server."""
    IN_CALL = enum.auto()
    """The misbehaviour concerns the result of a call, which only the output could show."""
    WENT_ON = enum.auto()
    """It sent all the requests and notifications that it sends to the good server."""
    LATE = enum.auto()
    """It did nothing for a while after the misbehaviour, or before it got no answer."""
    TIMED_OUT = enum.auto()
    """It says so, or it cancelled its request."""
    ANSWERED_WELL = enum.auto()
    ANSWERED = enum.auto()
    """It answered the request of the server."""
    SERVER_LEFT = enum.auto()
    """Its server ran on when it had ended."""


_F = Fact
_Decision = tuple[Word, tuple[Fact, ...], tuple[Fact, ...]]

_ALWAYS: Final[tuple[_Decision, ...]] = (
    (Word.UNKNOWN, (_F.UNREACHED,), ()),
    (Word.HUNG, (_F.KILLED,), ()),
    (Word.DIED, (_F.SIGNALLED, _F.FAILED), ()),
    (Word.DIED, (_F.CRASHED, _F.FAILED), (_F.TIMED_OUT,)),
)
_GAVE_UP: Final[tuple[_Decision, ...]] = (
    (Word.WAITED, (_F.LATE, _F.TIMED_OUT, _F.SAID), ()),
    (Word.WAITED, (_F.LATE, _F.TIMED_OUT, _F.FAILED, _F.SPOKE), ()),
    (Word.WAITED, (_F.LATE, _F.TIMED_OUT, _F.UNSEEN), ()),
)
_COMPLAINED: Final[tuple[_Decision, ...]] = (
    (Word.TOLD, (_F.FAILED, _F.SPOKE), ()),
    (Word.TOLD, (_F.SAID,), (_F.RIGHT,)),
)
DECISIONS: Final[Mapping[str, tuple[_Decision, ...]]] = {
    "wrong": (
        *_ALWAYS,
        *_GAVE_UP,
        (Word.BELIEVED, (_F.SHOWN,), (_F.FAILED, _F.SAID)),
        *_COMPLAINED,
        (Word.SILENT, (_F.FAILED,), ()),
        (Word.BELIEVED, (_F.SHOWN,), ()),
        (Word.BELIEVED, (_F.RIGHT,), ()),
        (Word.UNKNOWN, (_F.BLIND, _F.IN_CALL), ()),
        (Word.BELIEVED, (_F.BLIND, _F.WENT_ON), ()),
        (Word.UNKNOWN, (_F.BLIND,), ()),
        (Word.SILENT, (), ()),
    ),
    "tolerable": (
        *_ALWAYS,
        (Word.BELIEVED, (_F.SHOWN,), ()),
        (Word.WELL, (_F.RIGHT,), (_F.FAILED,)),
        *_GAVE_UP,
        *_COMPLAINED,
        (Word.UNKNOWN, (_F.UNSEEN, _F.IN_CALL), ()),
        (Word.WELL, (_F.UNSEEN, _F.WENT_ON), ()),
        (Word.UNKNOWN, (_F.UNSEEN,), ()),
        (Word.WELL, (_F.BLIND,), (_F.FAILED,)),
        (Word.SILENT, (), ()),
    ),
    "absent": (
        *_ALWAYS,
        (Word.WELL, (_F.RIGHT,), (_F.FAILED, _F.SAID)),
        *_GAVE_UP,
        *_COMPLAINED,
        (Word.BELIEVED, (_F.SHOWN,), ()),
        (Word.TOLD, (_F.SAID, _F.RIGHT), ()),
        (Word.UNKNOWN, (_F.BLIND,), (_F.FAILED,)),
        (Word.SILENT, (), ()),
    ),
    "asking": (
        (Word.UNKNOWN, (_F.DECLARED,), ()),
        *_ALWAYS,
        (Word.WELL, (_F.ANSWERED_WELL,), ()),
        (Word.BELIEVED, (_F.ANSWERED,), ()),
        *_GAVE_UP,
        *_COMPLAINED,
        (Word.SILENT, (), ()),
    ),
    "staying": (
        (Word.UNKNOWN, (_F.UNSEEN, _F.UNREACHED), ()),
        (Word.HUNG, (_F.KILLED,), ()),
        (Word.SILENT, (_F.SERVER_LEFT,), ()),
        (Word.WELL, (), (_F.FAILED,)),
        (Word.TOLD, (), ()),
    ),
}
"""For each kind: a word, the facts that it needs, and those that it excludes; the first counts."""


class Verdict(NamedTuple):
    """What a client did with one misbehaviour, and what proves it."""

    name: str
    word: Word
    seconds: float
    """From the misbehaviour to the end of the client, or of its time."""
    lines: tuple[str, ...]
    """The lines that prove it: what the server did, then what the client sent and printed."""
    notes: tuple[str, ...] = ()
    """Codes of sentences: what else was seen."""
    cpu: float | None = None
    memory: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as it stands in a file of results."""
        return {
            "name": self.name,
            "word": self.word.value,
            "seconds": round(self.seconds, 1),
            "lines": list(self.lines),
            "notes": list(self.notes),
            "cpu_seconds": self.cpu,
            "memory_mb": self.memory,
        }


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
_CANCELLED: Final = "notifications/cancelled"
LATE: Final = 1.5
"""Seconds without anything after which a client waited."""
_SHOWN_LINES: Final = 8


def facts(row: Misbehaviour, run: Run, good: Run) -> frozenset[Fact]:
    """Return what was seen of a run, compared with that against a good server."""
    odd_at = run.odd_at
    output, before = run.output or "", good.output or ""
    new = _new_lines(output, before)
    answers = list(_answers(run))
    wrong_answer = "result" if row.answer == "error" else "error"
    waits = sum(step.get("wait", 0) for step in row.steps)
    seen = {
        Fact.UNREACHED: odd_at is None and not (run.ended_for and row.unanswered),
        Fact.DECLARED: bool(row.declares) and _declares(run, row.declares),
        Fact.KILLED: bool(run.ended_for),
        Fact.SIGNALLED: _is_signal(run.status or 0) and not run.ended_for,
        Fact.CRASHED: any(map(_CRASH.search, new)),
        Fact.FAILED: run.status != good.status,
        Fact.SAID: any(map(_MISTAKE.search, new)),
        Fact.SPOKE: bool(new),
        Fact.SHOWN: WRONG in output,
        Fact.RIGHT: RIGHT in output,
        Fact.UNSEEN: run.output is None,
        Fact.BLIND: run.output is None or RIGHT not in before,
        Fact.IN_CALL: row.method == "tools/call",
        Fact.WENT_ON: _methods(good) <= _methods(run) and _said_after(run),
        Fact.LATE: odd_at is not None
        and (bool(row.unanswered) or run.ended_at - odd_at > LATE + waits + _tail(good)),
        Fact.TIMED_OUT: any(map(_TIMEOUT.search, new)) or bool(_count(run, _CANCELLED)),
        Fact.ANSWERED: bool(answers),
        Fact.ANSWERED_WELL: bool(answers) and not any(wrong_answer in one for one in answers),
        Fact.SERVER_LEFT: any(SERVER in one for one in run.left),
    }
    return frozenset(fact for fact, is_so in seen.items() if is_so)


def verdict(row: Misbehaviour, run: Run, good: Run) -> Verdict:
    """Decide the word."""
    seen = facts(row, run, good)
    word = next(
        word
        for word, needed, excluded in DECISIONS[row.kind]
        if seen.issuperset(needed) and seen.isdisjoint(excluded)
    )
    notes = [
        *([run.ended_for] if run.ended_for not in ("", "late") else []),
        *(["asked again"] if _count(run, row.method) > max(1, _count(good, row.method)) else []),
        *(["cancelled"] if _count(run, _CANCELLED) else []),
        *(["started again"] if _starts(run) > _starts(good) else []),
        *(["declared"] if Fact.DECLARED in seen else []),
        *(["never asked"] if Fact.UNREACHED in seen else []),
        *(["left"] if any(SERVER not in one for one in run.left) else []),
    ]
    begun = run.odd_at or run.ended_at
    lines = tuple(_proof(run, good))
    seconds = max(0.0, run.ended_at - begun)
    return Verdict(row.name, word, seconds, lines, tuple(notes), run.cpu, run.memory)


def _is_signal(status: int) -> bool:
    """Return True if a program ended by a signal. A shell, and what is like one, adds 128."""
    return status < 0 or status - 128 in signal.valid_signals()


def _tail(good: Run) -> float:
    """Return the seconds from the last line of the good server to the end of the client."""
    last = max((one.at for one in good.events if one.what == "out"), default=good.ended_at)
    return good.ended_at - last


def _new_lines(output: str, before: str) -> list[str]:
    known = {_worn(line) for line in before.splitlines()}
    return [line for line in output.splitlines() if _worn(line) and _worn(line) not in known]


def _worn(line: str) -> str:
    """Return a line without what changes from run to run."""
    return re.sub(r"[\d\W]+", " ", line.replace(WRONG, RIGHT)).strip()


def messages(run: Run) -> Iterator[dict[str, Any]]:
    for event in run.events:
        if event.what == "in":
            with suppress(ValueError, RecursionError):
                message = json.loads(event.text)
                if isinstance(message, dict):
                    yield message


def _answers(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the responses of the client to requests of the server."""
    return (one for one in messages(run) if "method" not in one and "id" in one)


def _declares(run: Run, capability: str) -> bool:
    for message in messages(run):
        params = message.get("params")
        if message.get("method") == "initialize" and isinstance(params, dict):
            return capability in params.get("capabilities", {})
    return False


def _methods(run: Run) -> set[str]:
    return {str(one["method"]) for one in messages(run) if "method" in one}


def _said_after(run: Run) -> bool:
    """Return True if the client sent something after the misbehaviour, other than to cancel."""
    begun = run.odd_at or 0.0
    return any(
        one.what == "in" and one.at > begun and _CANCELLED not in one.text for one in run.events
    )


def _count(run: Run, method: str) -> int:
    return sum(one.get("method") == method for one in messages(run))


def _starts(run: Run) -> int:
    return sum(one.what == "start" for one in run.events)


def _proof(run: Run, good: Run) -> Iterator[str]:
    """Yield the lines that show what happened: `->` from the client, `<-` from the server."""
    begun = run.odd_at
    after = [one for one in run.events if begun is not None and one.at >= begun]
    before = [one for one in run.events if begun is not None and one.at < begun]
    for one in (*before[-1:], *after[:_SHOWN_LINES]):
        if one.what in ("in", "out", "odd"):
            yield f"{'->' if one.what == 'in' else '<-'} {one.text[:160]}"
    output = run.output or ""
    marked = [line for line in output.splitlines() if RIGHT in line or WRONG in line]
    told = [line for line in _new_lines(output, good.output or "") if line not in marked]
    for line in (*marked[:2], *told[-4:]):
        yield f"   {line.strip()[:200]}"
    if not run.ended_for and run.status is not None:
        yield f"   exit {run.status}"
    used = [f"{run.cpu:.1f} s CPU"] if run.cpu is not None else []
    used += [f"{run.memory} MB"] if run.memory is not None else []
    if used:
        yield f"   {', '.join(used)}"

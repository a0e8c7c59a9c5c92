"""The record of what people decided: one line of JSON for each answer, chained by digests.

`digest`, always the last member, is the SHA-256 of the line before `,"digest":`; `previous` is the
digest of the record before, and 64 zeros in the first one of a session. Asked and answered are the
exact bytes of the two messages: the transcript has them, and a record shows no word of them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator


NO_DIGEST: Final = "0" * 64


_END: Final = re.compile(rb',"digest":"([0-9a-f]{64})"}')


_BEGINNING: Final = re.compile(rb'{"number":([1-9][0-9]{0,17}),"previous":"([0-9a-f]{64})",')


class DecisionRecord(NamedTuple):
    """A person's decision. `shown` is the digest that the person's page sent with it.

    `action` is what was decided: `allow`, `change` (allowed with changes), `deny`, `answer`,
    `decline`, `no answer`, `hand back` (to the agent's own dialog), `error` or `fault`; for a
    message that a tap held `allow`, `change`, `deny` (answered instead of the server) or `drop`.
    `keyboard`, `ended`, `ran` (although it was denied) and `equal ran` (this one, or one like it)
    say what an agent did without it. `late` says that the decision before was not printed in time,
    `unconfirmed` that nobody knows whether.
    `device` is the device that it came from, "" for the computer of the desk; `where` says the same
    in words. `shown_at` is when the desk first showed the request to somebody, `sent_at` when the
    person sent the answer, `taken_at` when the server or tap wrote it. `agent` names the host,
    event, session and folder of a hook, "" elsewhere.
    """

    session: str
    exchange: int
    method: str
    asked: str
    answered: str
    by: str = ""
    who: str = ""
    device: str = ""
    where: str = ""
    action: str = "answer"
    shown: str = ""
    shown_at: str = ""
    sent_at: str = ""
    taken_at: str = ""
    anyway: bool = False
    agent: str = ""


def sha256(content: str | bytes) -> str:
    """Return the SHA-256 of a text as UTF-8, in hexadecimal."""
    import hashlib  # noqa: PLC0415 - brings OpenSSL, which no start of a server waits for

    raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()


_PLACES: Final = {
    "desk": "a browser on this computer",
    "terminal": "a terminal on this computer",
    "files": "a text file on this computer",
    "allowed": "a pattern that a person allowed for the session",
    "keyboard": "the agent itself, before the decision from here",
    "ended": "the agent itself, which ended its turn",
}


def origin_in_words(by: str, device: str) -> str:
    """Say in words where an answer came from."""
    return f"the device {device}" if device else _PLACES.get(by, by)


class DecisionChain:
    """The records of one session, each with the digest of the previous one."""

    def __init__(self, number: int = 0, last: str = "") -> None:
        """Begin after the record of this number, whose digest is `last`."""
        self.number = number
        self.last = last or NO_DIGEST

    def go_on(self, record: str) -> None:
        """Continue after a record of another process, unless that is an earlier one."""
        found: dict[str, Any] = json.loads(record)
        if int(found["number"]) > self.number:
            self.number, self.last = int(found["number"]), str(found["digest"])

    def add(self, decision: DecisionRecord) -> str:
        """Return the record of a decision, and continue after it."""
        self.number += 1
        digests = {"asked": sha256(decision.asked), "answered": sha256(decision.answered)}
        whole = {"number": self.number, "previous": self.last, **decision._asdict(), **digests}
        text = json.dumps(whole, separators=(",", ":"))[:-1]
        self.last = sha256(text)
        return f'{text},"digest":"{self.last}"}}'


class DecisionFlaw(NamedTuple):
    """A problem in a file of records: a code of `locales/`, and the number of the line.

    `number` is the number of the record, `session` the one that it names.
    """

    code: str
    line: int
    number: int = 0
    session: str = ""


class ChainEnd(NamedTuple):
    """The last record of a session: how many there are, and its digest."""

    number: int
    digest: str


def verify_decisions(
    content: bytes, known: Callable[[str], ChainEnd | None] | None = None
) -> Iterator[DecisionFlaw]:
    """Yield what was changed, removed or moved in the records of one or more sessions.

    `known` returns what is known elsewhere of the end of a session, or None. Without it nobody can
    notice that the last records were removed, or that a whole chain was written anew.
    """
    if not content.strip():
        yield DecisionFlaw("empty", 1)
        return
    if not content.endswith(b"\n"):
        yield DecisionFlaw("unended", content.count(b"\n") + 1)
    before = _Link(0, "", NO_DIGEST, "")
    ends: dict[str, tuple[int, ChainEnd]] = {}
    for at, line in enumerate(content.removesuffix(b"\n").split(b"\n"), 1):
        begins, ending = _BEGINNING.match(line), _END.search(line)
        if begins is None or ending is None or ending.end() != len(line):
            yield DecisionFlaw("unreadable", at, before.number + 1)
            before = _Link(before.number + 1, "", "", "")
            continue
        link = _Link(int(begins[1]), begins[2].decode(), ending[1].decode(), _session_in(line))
        if sha256(line[: ending.start()]) != link.digest:
            yield DecisionFlaw("changed", at, link.number)
        yield from _misplaced(at, link, before, ends)
        before, ends[link.session] = link, (at, ChainEnd(link.number, link.digest))
    for session, (at, end) in ends.items():
        expected = end if known is None else known(session) or end
        if expected != end:
            code = "too few" if expected.number > end.number else "other end"
            yield DecisionFlaw(code, at, expected.number, session)


class _Link(NamedTuple):
    """What joins a record to the others of its chain; the digest of an unreadable one is ""."""

    number: int
    previous: str
    digest: str
    session: str


def _misplaced(
    at: int, link: _Link, before: _Link, sessions: Container[str]
) -> Iterator[DecisionFlaw]:
    """Yield why a record does not belong behind the one before it; `sessions` have begun."""
    if link.number == 1 and link.previous == NO_DIGEST:
        if link.session in sessions:
            yield DecisionFlaw("twice", at, 1, link.session)
    elif before.session and link.session != before.session:
        yield DecisionFlaw("other session", at, link.number, link.session)
    elif before.digest and (link.previous, link.number) != (before.digest, before.number + 1):
        if link.number > before.number + 1:
            yield DecisionFlaw("left out", at, before.number + 1)
        else:
            yield DecisionFlaw("moved", at, link.number)


def _session_in(line: bytes) -> str:
    """Return the session that a record names, "" if it names none."""
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    named = record.get("session") if isinstance(record, dict) else None
    return named if isinstance(named, str) else ""

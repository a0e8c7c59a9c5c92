"""The record of decisions: what was asked, what was answered, by whom and when.

One line of JSON for each answer of a person, chained by digests. `digest`, always the last member,
is the SHA-256 of the line before `,"digest":`; `previous` is the digest of the record before, and
64 zeros in the first one of a session. Asked and answered are the exact bytes of the two messages:
the transcript has them, and a record shows no word of them. Pure.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST: Final = "0" * 64
_END: Final = re.compile(rb',"digest":"([0-9a-f]{64})"}')
_BEGINNING: Final = re.compile(rb'{"number":([1-9][0-9]*),"previous":"([0-9a-f]{64})",')


class Decision(NamedTuple):
    """What is known of an answer. `shown` is the digest that the person's page sent with it.

    `sent_at` is when the person sent it, `taken_at` when the server wrote it.
    """

    session: str
    exchange: int
    method: str
    asked: str
    answered: str
    by: str
    who: str = ""
    shown: str = ""
    sent_at: str = ""
    taken_at: str = ""
    anyway: bool = False


def sha256(content: str | bytes) -> str:
    """Return the SHA-256 of a text as UTF-8, in hexadecimal."""
    import hashlib  # noqa: PLC0415 - brings OpenSSL, which no start of a server waits for

    raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()


class DecisionChain:
    """The records of one session, one after the other."""

    def __init__(self) -> None:
        """Begin with none."""
        self.number = 0
        self.last = FIRST

    def go_on(self, record: str) -> None:
        """Continue after a record of another process."""
        found: dict[str, Any] = json.loads(record)
        self.number, self.last = int(found["number"]), str(found["digest"])

    def add(self, decision: Decision) -> str:
        """Return the record of a decision."""
        self.number += 1
        digests = {"asked": sha256(decision.asked), "answered": sha256(decision.answered)}
        whole = {"number": self.number, "previous": self.last, **decision._asdict(), **digests}
        text = json.dumps(whole, separators=(",", ":"))[:-1]
        self.last = sha256(text)
        return f'{text},"digest":"{self.last}"}}'


class Flaw(NamedTuple):
    """What is wrong in a file of records: a code of `locales/`, and the line that it was found in.

    `number` is the number of the record that it is about.
    """

    code: str
    line: int
    number: int = 0


def verify(content: bytes) -> Iterator[Flaw]:
    """Yield what was changed, left out or moved in the records of one or more sessions.

    A file that was cut off after a record is not noticed: compare its last digest with a copy.
    """
    if not content.endswith(b"\n"):
        yield Flaw("unended", content.count(b"\n") + 1)
    previous, number = FIRST.encode(), 0
    for at, line in enumerate(content.removesuffix(b"\n").split(b"\n"), 1):
        begins, ends = _BEGINNING.match(line), _END.search(line)
        if begins is None or ends is None or ends.end() != len(line):
            yield Flaw("unreadable", at, number + 1)
            previous, number = b"", number + 1
            continue
        found, digest = int(begins[1]), ends[1]
        if sha256(line[: ends.start()]).encode() != digest:
            yield Flaw("changed", at, found)
        begins_anew = found == 1 and begins[2] == FIRST.encode()
        if not begins_anew and previous and begins[2] != previous:
            is_gap = found > number + 1
            yield Flaw("left out" if is_gap else "moved", at, number + 1 if is_gap else found)
        previous, number = digest, found

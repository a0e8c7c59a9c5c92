"""Solve who sent each message of a file from what the messages say of each other.

Only clients send `initialize`, and a response goes against its request. What stands around such a
message (`message_finder.py`) then means its side for the messages that do not tell: `recv` is the
server's word in one log, and the client's in the next. Words decide alone only where no message
does.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.tables import methods

if TYPE_CHECKING:
    from collections.abc import Sequence

_PAIRS: Final = (
    ("client|c2s", "server|s2c"),
    ("upstream|outbound|outgoing", "downstream|inbound|incoming"),
    ("requests?|req", "responses?|resp?|rsp|reply"),
    ("sen[dt]|sending|tx|wr(?:ote|ite|iting)", "recv|receiv(?:ed?|ing)|rx|read(?:ing)?|got"),
    ("in|stdin|input", "out|stdout|output"),
    (">{1,3}|-+>|=+>|→|▶|»", "<{1,3}|<-+|<=+|←|◀|«"),
)
"""Words of opposite sides, those of the client first where nothing else tells."""
FIRST_ARROW: Final = len(_PAIRS) - 1
"""The first of the marks of `marks_of` that is no word."""
_OPPOSITES: Final = tuple(
    re.compile(rf"(?i)(?<![{near}])(?:(?P<IN>{ours})|(?P<OUT>{theirs}))(?![{near}])")
    for near, (ours, theirs) in zip(("a-z",) * FIRST_ARROW + ("\\w<>/",), _PAIRS, strict=True)
)
_ARROW: Final = re.compile(r"(?i)([a-z]\w*)(?: ?(?:-+>|=+>|→) ?|[ _-]to[ _-])([a-z]\w*)")
_WORD: Final = re.compile(r"[^\W\d_]{2,}|[<>←→-]+")
_CLEAR: Final = 0.3
"""The weight from which a context tells the side."""
ABOVE: Final = "^"
"""The first character of a clue that is a line above the message."""
_MOST_WORDS: Final = 12
_STEADY: Final = 0.8
"""The part of the messages that a word must fit to state the side."""
_KINDS: Final = 2
"""The words of `_PAIRS` that tell a request from a response; both sides send both."""
Marks: TypeAlias = "frozenset[tuple[object, int]]"
"""What the clues of a message say: a clue or a pair of words, and 1, or -1 for its other word."""


def side_of_method(method: object) -> int:
    """Return 1 for a method that only clients send, -1 for one that only servers send, else 0."""
    record = methods.of(method) if isinstance(method, str) else None
    if record is None:
        return 0
    from_server = record.from_servers or (bool(record.to_client) and not record.to_server)
    return -1 if from_server else int(bool(record.to_server) and not record.to_client)


@lru_cache(1 << 12)
def marks_of(words: str) -> Marks:
    """Return the words for a side in a clue, as a name that both sides share, and 1 or -1."""
    found: set[tuple[object, int]] = set()
    for number, pair in enumerate(_OPPOSITES):
        if match := pair.search(words):
            found.add((number, 1 if match["IN"] else -1))
    for match in _ARROW.finditer(words):
        one, other = match[1].lower(), match[2].lower()
        found.add(((min(one, other), max(one, other)), 1 if one < other else -1))
    return frozenset(found)


class Head(NamedTuple):
    """What a message tells of its exchange. `id` is None for none, `method` "" for none."""

    method: str = ""
    id: object = None
    is_answer: bool = False
    is_bare: bool = False
    """It has neither a version nor an id."""


def solved_sides(messages: Sequence[tuple[Head | None, tuple[str, ...]]]) -> list[Direction | None]:
    """Return who sent each message; None where neither the messages nor their context tell.

    Each comes as its head and its clues. What is no message has no head.
    """
    heads = [head or _NO_HEAD for head, _clues in messages]
    read: dict[tuple[str, ...], Marks] = {}
    marks = [read.get(clues) or read.setdefault(clues, _features(clues)) for _, clues in messages]
    if len(set(read.values())) < 2:
        return [None] * len(marks)
    sides = [side_of_method(head.method) for head in heads]
    tally = _Tally(marks, sides)
    waiting = defaultdict[object, list[int]](list)
    for at, head in enumerate(heads):
        score = tally.score(marks[at])
        if head.method and not head.is_answer:
            sides[at] = sides[at] or _sign(score)
            if head.id is not None:
                waiting[head.id].append(sides[at])
        elif asked := waiting[head.id]:
            fitting = [side for side in asked if side * score < 0] or asked[-1:]
            asked.remove(fitting[-1])
            sides[at] = -fitting[-1]
    side_of = _Tally(marks, sides).side
    sent = (head is not None for head, _ in messages)
    return [_DIRECTIONS[side_of(*one)] for one in zip(marks, sides, sent, strict=True)]


_NO_HEAD: Final = Head()
_DIRECTIONS: Final = {1: Direction.IN, -1: Direction.OUT, 0: None}


class _Tally:
    """Counts for what side each clue stands."""

    def __init__(self, marks: Sequence[Marks], sides: Sequence[int]) -> None:
        signs = set(chain.from_iterable(set(marks)))
        self._opposed = {name for name, sign in signs if (name, -sign) in signs}
        """The words of which the file has both: they tell two things from each other."""
        self._sums, self._counts = Counter[object](), Counter[object]()
        for (one, side), times in Counter(zip(marks, sides, strict=True)).items():
            for name, sign in one if side else ():
                self._sums[name] += side * sign * times
                self._counts[name] += times
        self._mean = sum(sides) / max(1, sum(map(bool, sides)))
        self.score, self.side = cache(self._score), cache(self._side)

    def _score(self, marks: Marks) -> float:
        """Return what the clues of a message say: above 0 for the client, below for the server."""
        voted = self._vote(marks)
        if abs(voted) >= _CLEAR:
            return voted
        words = (one for one in marks if isinstance(one[0], int) and one[0] not in self._counts)
        return sum(sign / (1 + int(str(name))) for name, sign in words)

    def _vote(self, marks: Marks) -> float:
        """Return what messages have said of these clues."""
        return sum(sign * self._weight(name) for name, sign in marks if name in self._counts)

    def _weight(self, name: object) -> float:
        count = self._counts[name]
        common = 0.0 if name in self._opposed else self._mean
        return (self._sums[name] / count - common) * count / (count + 1)

    def _side(self, marks: Marks, side: int, is_sent: bool) -> int:  # noqa: FBT001 - a key of a cache
        """Return the side of a message of which the messages say this one, 0 for none.

        A word of which the file has both states the side if it does so throughout. A message that
        only the other side may send went the wrong way then: the check tells.
        """
        for name, sign in marks:
            if name in self._opposed and name not in (_KINDS, (ABOVE, _KINDS)):
                count = self._counts[name] - (side != 0)
                sum_ = self._sums[name] - side * sign
                if count > 1 and abs(sum_) >= _STEADY * count:
                    return sign if sum_ > 0 else -sign
        return side or _sign(self._score(marks) if is_sent else self._vote(marks))


def _features(clues: Sequence[str]) -> Marks:
    said = list(filter(None, clues))
    words = _WORD.findall(clues[0])[:_MOST_WORDS]
    marks = {
        ((ABOVE, name) if clue.startswith(ABOVE) else name, sign)
        for clue in said
        for name, sign in marks_of(clue)
    }
    clear = (one for one in marks if (one[0], -one[1]) not in marks)
    return frozenset(chain(((one, 1) for one in (*said, *words)), clear))


def _sign(score: float) -> int:
    return 0 if abs(score) < _CLEAR else 1 if score > 0 else -1

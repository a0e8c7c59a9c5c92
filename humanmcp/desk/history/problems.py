"""What the check says of the lines of each session: for rows, messages, Check and exports alike.

Each line is checked once. A page waits a moment for the lines that were not checked yet; what it
shows by then says whether more are left.
"""

from __future__ import annotations

import math
import pickle
import threading
import time
from collections import OrderedDict
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from humanmcp.answering.alone import Remark, is_error, judge_recording, remarks_on, told
from humanmcp.common.apart import LARGE, call, items, while_wanted
from humanmcp.inbox.contract import Role
from humanmcp.protocol.validation.captures import captured_line
from humanmcp.protocol.validation.whole_conversation import RecordingJudge

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from humanmcp.desk.board import SessionView
    from humanmcp.inbox.contract import DeskInbox
    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.validation.whole_conversation import Judged

MOST_CHECKED: Final = 5000
"""The maximum number of lines of a session that are checked: the first ones."""
MOST_KEPT: Final = 50
"""The maximum number of sessions whose problems are kept."""


class Checked(NamedTuple):
    """What is known of a session: the messages with problems, and how many were checked."""

    wrong: tuple[Judged, ...] = ()
    messages: int = 0
    is_cut: bool = False
    """It has more lines than are checked."""
    is_whole: bool = True
    """False while lines are left that were not checked yet."""
    remarks: Sequence[Remark] = ()
    """What is said of a recording from elsewhere beside its problems."""

    @property
    def by_line(self) -> Mapping[int, Sequence[Judged]]:
        """The messages of each line that has problems, in order."""
        found: dict[int, list[Judged]] = {}
        for one in self.wrong:
            found.setdefault(one.line, []).append(one)
        return found


_Judge: TypeAlias = RecordingJudge | bytes
"""A judge, or one that knows large messages, packed: to unpack it keeps others waiting."""


def _unpacked(judge: _Judge) -> RecordingJudge:
    if isinstance(judge, RecordingJudge):
        return judge
    unpacked: RecordingJudge = pickle.loads(judge)  # noqa: S301 - what `_fed` wrote
    return unpacked


def _fed(judge: _Judge, frame: Frame, size: int) -> tuple[_Judge, tuple[Judged, ...]]:
    """Check the next line; return the judge of the line after it, and what was found.

    `size` is that of both.
    """
    knowing = _unpacked(judge)
    found = tuple(knowing.feed(frame.seq, frame))
    if size <= LARGE:
        return knowing, found
    packed = pickle.dumps(knowing)
    return packed if len(packed) > LARGE else knowing, found


def _weight(judge: _Judge) -> int:
    return len(judge) if isinstance(judge, bytes) else 0


def _left(judge: _Judge) -> tuple[Judged, ...]:
    return _unpacked(judge).end()


class _CheckedSession:
    """The check of one session, as far as it is. Large lines are checked apart."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.latest = Checked(is_whole=False)
        self._judge: _Judge = RecordingJudge()
        self._found: list[Judged] = []
        self._lines: set[int] = set()
        self._last = self._taken = 0
        self._rest: Iterator[Judged] | None = None
        """What is left to check of a recording from elsewhere, which gets no more lines."""
        self._remarks: Sequence[Remark] = ()
        self._is_cut = False

    def go_on(self, inbox: DeskInbox, view: SessionView, until: float) -> Checked:
        """Check the lines that are new, at least one, until a time of the monotonic clock."""
        left: tuple[Judged, ...] = ()
        if view.facts.role is Role.READER:
            is_whole = self._foreign(inbox, view, until)
        else:
            is_whole = self._own(inbox, view, until)
            is_over = is_whole and not (self._is_cut or view.facts.is_open)
            left = call(_weight(self._judge), _left, self._judge) if is_over else ()
        wrong = tuple(told((*self._found, *left)))
        self.latest = Checked(wrong, len(self._lines), self._is_cut, is_whole, self._remarks)
        return self.latest

    def _own(self, inbox: DeskInbox, view: SessionView, until: float) -> bool:
        """Return True if no line is left."""
        for at, frame in enumerate(while_wanted(inbox.frames(view.facts.name, self._last))):
            self._is_cut = self._taken == MOST_CHECKED
            if self._is_cut or (at and time.monotonic() > until):
                return self._is_cut
            size = _weight(self._judge) + len(frame.raw)
            self._judge, found = call(size, _fed, self._judge, frame, size, at_once=LARGE)
            self._last, self._taken = frame.seq, self._taken + 1
            self._keep(found)
        return True

    def _foreign(self, inbox: DeskInbox, view: SessionView, until: float) -> bool:
        """Return True if no message is left."""
        if self._rest is None:
            frames = list(islice(inbox.frames(view.facts.name), MOST_CHECKED + 1))
            self._is_cut = len(frames) > MOST_CHECKED
            frames = frames[:MOST_CHECKED]
            self._remarks = tuple(remarks_on([captured_line(one) for one in frames]))
            judging = partial(judge_recording, goes_on=self._is_cut)
            numbered = [(one.seq, one) for one in frames]
            longest = max((len(one.raw) for one in frames), default=0)
            self._rest = (
                judging(numbered)
                if longest <= LARGE
                else iter(tuple(items(longest, judging, numbered)))
            )
        for one in while_wanted(self._rest):
            self._keep((one,))
            if time.monotonic() > until:
                return False
        return True

    def _keep(self, judged: Iterable[Judged]) -> None:
        for one in judged:
            self._lines.add(one.line)
            if one.diagnostics or is_error(one):
                self._found.append(one)


class SessionProblems:
    """The problems of each session, from the cache. It can be used from several threads."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, _CheckedSession] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, inbox: DeskInbox, view: SessionView, seconds: float = math.inf) -> Checked:
        """Return the problems of a session, after at most `seconds` of checking."""
        until = time.monotonic() + seconds
        with self._lock:
            found = self._sessions.setdefault(view.facts.name, _CheckedSession())
            self._sessions.move_to_end(view.facts.name)
            if len(self._sessions) > MOST_KEPT:
                self._sessions.popitem(last=False)
        # Another page may check it now, for longer than this one waits.
        if not found.lock.acquire(timeout=min(max(0, seconds), threading.TIMEOUT_MAX)):
            return found.latest._replace(is_whole=False)
        try:
            return found.go_on(inbox, view, until)
        finally:
            found.lock.release()


class ProblemsInTime:
    """The problems that one page shows. All its sessions share a time limit."""

    def __init__(self, problems: SessionProblems, inbox: DeskInbox, seconds: float) -> None:
        self._problems, self._inbox = problems, inbox
        self._until = time.monotonic() + seconds
        self._found: dict[str, Mapping[int, Sequence[Judged]]] = {}
        self.is_whole = True
        """False if lines were not checked in time."""

    def of(self, view: SessionView) -> Mapping[int, Sequence[Judged]]:
        """Return the messages with problems of a session, by their lines."""
        name = view.facts.name
        if name not in self._found:
            left = self._until - time.monotonic()
            checked = self._problems.of(self._inbox, view, left)
            self.is_whole &= checked.is_whole
            self._found[name] = checked.by_line
        return self._found[name]

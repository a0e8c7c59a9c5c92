"""The records of a room: who may enter in which role, and what is saved of room and seats.

Each known visitor has a *key*, and each key leads to a login path (`/~…/`) with a cookie
that counts there alone. Both follow from the key: a room that was killed knows its visitors again.
Keys are in the files of room and seats as they are: a learner's page shows its owner the address
that they are part of. Only the owner of the folder may read them.
"""

from __future__ import annotations

import base64
import enum
import hmac
import json
import secrets
import unicodedata
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from humanmcp.desk.login import (
    LETTERS,
    Door,
    digest,
    login_of,
    parts_of,
)
from humanmcp.desk.rights import Who
from humanmcp.inbox.atomic import write_private
from humanmcp.inbox.contract import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


# -- what is kept on disk: the room, and each of its seats ---------------------------------------


ROOM_FILE: Final = "room.json"
SEAT_FILE: Final = "seat.json"
CLOCK_FILE: Final = "clock"
CODE_LENGTH: Final = 8
"""31^8 codes: 2,000 guesses a second for a day find one with a chance of 1 in 5,000. So guesses
need no limit, which one visitor could use up for all others behind the same address."""
TYPED_KEY_LENGTH: Final = 12
"""For teacher and projector: 31^12 codes."""


class DoorState(enum.Enum):
    """Whether the code opens a seat."""

    OPEN = "open"
    """It opens a seat immediately."""
    KNOCKING = "knocking"
    """It opens a seat when the teacher agrees."""
    LOCKED = "locked"
    """It opens no seat. People with a seat keep it."""


def new_key() -> str:
    """Make the key of a seat: 128 bit."""
    return secrets.token_urlsafe(16)


def new_code() -> str:
    """Make a code that a person types in."""
    return "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH))


def typed_key(key: str) -> str:
    """Return the code that a person can type in the place of a key, from which it follows."""
    signed = hmac.digest(key.encode(), b"typed", "sha256")
    return "".join(LETTERS[one % len(LETTERS)] for one in signed[:TYPED_KEY_LENGTH])


@dataclass(slots=True)
class RoomRecord:
    """A room. `lesson` is a name or a file, "" for the weather.

    `projected` is what the projector shows: "code", "steps", "seat NUMBER", "answer NUMBER KEY", or
    "mistake CODE". `ends` is the end of the count-down, by the clock of the class; 0 for none.
    """

    name: str = field(default_factory=lambda: secrets.token_hex(3))
    port: int = 0
    lesson: str = ""
    teacher: str = field(default_factory=new_key)
    wall: str = field(default_factory=new_key)
    door: str = DoorState.OPEN.value
    code: str = field(default_factory=new_code)
    projected: str = "code"
    names_on_wall: bool = False
    frozen: bool = False
    ends: float = 0.0
    last_seat: int = 0
    pairs: list[PairRecord] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Take pairs as they were read from a file, too."""
        self.pairs = [_pair(one) for one in self.pairs]


@dataclass(slots=True)
class PairRecord:
    """Two seats that are joined, by their numbers, and the session of each; "" for none yet.

    `began` is when they were joined, by the clock of the class; 0 when their talk is over.
    """

    model: int
    server: int
    model_session: str = ""
    server_session: str = ""
    began: float = 0.0


@dataclass(slots=True)
class StepRecord:
    """What a learner did at one step of a lesson, however often it was begun.

    `tries` counts what was sent, also where the check stopped it; `counted` is the exchange,
    session/number, whose answer was counted last. `mistakes` are codes that the check found and
    that stayed for a while; `stopped` those for which Send was refused; `sent` those that were in a
    sent answer; `taught` those that the teacher left in the draft. `asked` are the last exchanges,
    session/number, that asked for its answer. `given`: the lesson or the teacher answered it.
    `since` is when it was first asked in the last session, by the clock of the class, without the
    time in pairs; `tries_before` are the tries before that session; `seconds` is
    from there to the answer that passed, or to the last one, or until the step was left without
    one; `hints` and `hands` are counted.
    """

    asked: list[str] = field(default_factory=list)
    tries: int = 0
    tries_before: int = 0
    passed: bool = False
    counted: str = ""
    mistakes: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    taught: list[str] = field(default_factory=list)
    given: bool = False
    since: float = 0.0
    seconds: float | None = None
    hints: int = 0
    hands: int = 0


@dataclass(slots=True)
class SeatRecord:
    """A seat. `hand` is since when it is raised, by the clock of the class; 0 for not at all.

    With `pen`, the teacher writes here. `lesson` is the learner's choice, "" for that of
    the room. `opened` is the step that the teacher opened last, or, with `repeats`, the
    one that the learner repeats. `steps` is what was done in each
    lesson, by its name and the number of the step. `sessions` has the lesson that was played in
    each session of the practice host, the present one last. `told` is what the teacher did that
    changed the learner's work ("reset", "lesson"), until it is read; `removed` when they removed
    the seat, in seconds since 1970, 0 for not at all. `handed_in` has when each lesson was.
    """

    number: int
    key: str = field(default_factory=new_key)
    name: str = ""
    joined: str = ""
    hand: float = 0.0
    hint: str = ""
    pen: bool = False
    lesson: str = ""
    opened: int = 0
    repeats: bool = False
    told: str = ""
    removed: float = 0.0
    steps: dict[str, dict[str, StepRecord]] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    handed_in: dict[str, str] = field(default_factory=dict)

    @property
    def led_to(self) -> int:
        """The step that the teacher opened last."""
        return 0 if self.repeats else self.opened

    @property
    def moments(self) -> Iterator[float]:
        """When what is kept here began, by the clock of the class."""
        yield self.hand
        yield from (step.since for steps in self.steps.values() for step in steps.values())

    def __post_init__(self) -> None:
        """Take steps as they were read from a file, too."""
        self.steps = {
            lesson: {at: _step(one) for at, one in steps.items()}
            for lesson, steps in self.steps.items()
        }


def _pair(kept: PairRecord | dict[str, Any]) -> PairRecord:
    return kept if isinstance(kept, PairRecord) else _known(PairRecord, kept)


def _step(kept: StepRecord | dict[str, Any]) -> StepRecord:
    return kept if isinstance(kept, StepRecord) else _known(StepRecord, kept)


Record = TypeVar("Record", RoomRecord, SeatRecord, StepRecord, PairRecord)


def _known(kind: type[Record], found: dict[str, Any]) -> Record:
    """Return the record that these members are, without those of a newer humanmcp."""
    ours = {one.name for one in fields(kind)}
    return kind(**{name: value for name, value in found.items() if name in ours})


def keep(file: Path, record: RoomRecord | SeatRecord) -> None:
    """Save a record.

    Raises:
        OSError: it cannot be written.
    """
    write_private(file, json.dumps(asdict(record), ensure_ascii=False, indent=1))


def read(file: Path, kind: type[Record]) -> Record | None:
    """Read a record, or return None. Members of a newer humanmcp are ignored.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not a record.
    """
    try:
        return _known(kind, json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (TypeError, AttributeError) as error:
        raise ValueError(file) from error


@contextmanager
def changing(record: RoomRecord | SeatRecord | StepRecord, **changes: object) -> Iterator[None]:
    """Change a record while it is saved. What the disk refuses is not changed."""
    before = {name: getattr(record, name) for name in changes}
    for name, value in changes.items():
        setattr(record, name, value)
    try:
        yield
    except StoreError:
        for name, value in before.items():
            setattr(record, name, value)
        raise


# -- the door: the code, the keys, and the login sessions that follow from them ------------------


JOINS: Final = 40
"""People who join from one address at once, and in each minute after that."""
_MOST_ADDRESSES: Final = 10_000


class RoomRole(enum.Flag):
    """Who asks in a room."""

    TEACHER = enum.auto()
    """At their own desk."""
    WATCHER = enum.auto()
    """The teacher, at a learner's seat."""
    LEARNER = enum.auto()
    GUEST = enum.auto()
    """The projector."""
    KNOCKER = enum.auto()
    """Waits at the door."""

    @property
    def who(self) -> Who:
        """What they are to the pages of a desk."""
        if self & SEATED:
            return Who.HOSTED
        return Who.ONLOOKER if self is RoomRole.GUEST else Who.VISITOR


SEATED: Final = RoomRole.TEACHER | RoomRole.WATCHER | RoomRole.LEARNER
"""Who has a desk."""


class Visitor(NamedTuple):
    """A visitor. `seat` is the number of a seat, or of a knock; 0 for none.

    `kind` is teacher, learner, watcher (the teacher at a learner's seat), guest or knocker.
    """

    kind: RoomRole
    seat: int = 0


class RateLimit:
    """Allows each address `most` things at once, and as many in each minute after that."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self._most, self._clock = most, clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, address: str) -> bool:
        """Take one; False where none is left."""
        if len(self._left) > _MOST_ADDRESSES:
            self._left.clear()
        now = self._clock()
        left, at = self._left.get(address, (float(self._most), now))
        left = min(self._most, left + (now - at) * self._most / 60)
        self._left[address] = (left - 1 if left >= 1 else left, now)
        return left >= 1


@dataclass
class RoomDoor(Door):
    """The door of a room: it knows its visitors by their keys, and no script by a token."""

    seen: dict[Visitor, float] = field(default_factory=dict)
    """When each was seen last, by the clock of the door."""
    _visitors: dict[bytes, Visitor] = field(default_factory=dict)
    _by_key: dict[bytes, Visitor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Count who joins from each address."""
        self.joins = RateLimit(JOINS, self.clock)

    def admit(self, visitor: Visitor, key: str) -> None:
        """Recognise a visitor by this key from now on."""
        self._visitors[digest(login(visitor, key))] = visitor
        if visitor.kind is not RoomRole.WATCHER:
            self._by_key[digest(key)] = visitor
        if visitor.kind in {RoomRole.TEACHER, RoomRole.GUEST}:
            self._by_key[digest(typed_key(key))] = visitor

    def dismiss(self, visitor: Visitor) -> None:
        for known in (self._visitors, self._by_key):
            for gone in [one for one, who in known.items() if who == visitor]:
                del known[gone]

    def who(self, login: str) -> Visitor | None:
        """Return who a login session belongs to."""
        return self._visitors.get(digest(login))

    def holder(self, key: str) -> Visitor | None:
        """Return the visitor with this key, or who may type this code in its place; or None."""
        return self._by_key.get(digest(key)) or self._by_key.get(digest(plain(key)))

    # -- what the guard asks --------------------------------------------------------------------

    def knows_token(self, token: str) -> bool:  # noqa: ARG002 - no script is known by one
        """Return False: there is no token for everything in a room."""
        return False

    def knows_login(self, login: str) -> bool:
        """Return True if this names a login session, and note that its visitor was seen."""
        found = self.who(login)
        if found is not None:
            self.seen[found] = self.clock()
        return found is not None

    def still_in(self, login: str) -> bool:
        """Return True as long as the visitor is known."""
        return self.who(login) is not None

    def end_login(self, login: str) -> None:
        """Do nothing: the browser forgets its cookie, and the key stays good."""


def plain(typed: str) -> str:
    """Return the letters of a code that a person typed."""
    letters = unicodedata.normalize("NFKC", typed[:64]).upper()  # full width: Japanese keyboards
    return "".join(one for one in letters if one in LETTERS)


def fits(typed: str, code: str) -> bool:
    """Compare what a person typed with a code."""
    return hmac.compare_digest(plain(typed), code)


def spaced(code: str) -> str:
    """Return a code as it is read aloud: in groups of four."""
    return "-".join(code[at : at + 4] for at in range(0, len(code), 4))


def login(visitor: Visitor, key: str) -> str:
    """Return the login session that follows from a key: its path and its cookie."""
    name = f"{visitor.kind.name} {visitor.seat}"
    return login_of(f"/~{_derived(key, f'path {name}')[:22]}", _derived(key, f"cookie {name}"))


def login_path(visitor: Visitor, key: str) -> str:
    """Return what the addresses of a visitor begin with."""
    return parts_of(login(visitor, key))[0]


def _derived(key: str, purpose: str) -> str:
    signed = hmac.digest(key.encode(), purpose.encode(), "sha256")
    return base64.urlsafe_b64encode(signed).decode().rstrip("=")

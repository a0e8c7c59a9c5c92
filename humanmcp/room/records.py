"""What a room keeps on disk: itself, and each of its seats, so that a killed one is back at once.

Keys stand in these files as they are: a learner's page shows its owner the address that they are
part of. Only the owner of the folder may read them.
"""

from __future__ import annotations

import enum
import json
import secrets
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

from humanmcp.desk.auth.login import LETTERS, write_private

if TYPE_CHECKING:
    from pathlib import Path

ROOM_FILE: Final = "room.json"
SEAT_FILE: Final = "seat.json"
CODE_LENGTH: Final = 8
"""31^8 codes: 2,000 guesses a second for a day find one with a chance of 1 in 5,000. So guesses
need no limit, which one visitor could use up for all others behind the same address."""


class DoorState(enum.Enum):
    """What the code is good for."""

    OPEN = "open"
    """A seat at once."""
    KNOCKING = "knocking"
    """A seat as soon as the teacher says so."""
    LOCKED = "locked"
    """Nothing. Who has a seat keeps it."""


def new_key() -> str:
    """Make the key of a seat: 128 bit."""
    return secrets.token_urlsafe(16)


def new_code() -> str:
    """Make a code that a person types in."""
    return "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH))


@dataclass(slots=True)
class RoomRecord:
    """A room. `lesson` is a name or a file, "" for the weather.

    `ends` is the end of the count-down, in seconds since 1970; 0 for none.
    """

    name: str = field(default_factory=lambda: secrets.token_hex(3))
    port: int = 0
    lesson: str = ""
    teacher: str = field(default_factory=new_key)
    wall: str = field(default_factory=new_key)
    door: str = DoorState.OPEN.value
    code: str = field(default_factory=new_code)
    on_wall: int = 0
    names_on_wall: bool = False
    frozen: bool = False
    ends: float = 0.0
    last_seat: int = 0


@dataclass(slots=True)
class StepRecord:
    """What a learner did at one step of a lesson, however often it was begun.

    `tries` counts what was sent, also where the check stopped it. `mistakes` are codes that the
    check found and that stood for a while; `sent` those of them that stood when it was sent.
    """

    tries: int = 0
    passed: bool = False
    mistakes: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)


@dataclass(slots=True)
class SeatRecord:
    """A seat. `hand` is since when it is raised, in seconds since 1970; 0 for not at all.

    `pen` says that the teacher writes here. `lesson` is one that the learner chose, "" for that of
    the room. `opened` is the step that the teacher opened last. `steps` is what was done in each
    lesson, by its name and the number of the step.
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
    steps: dict[str, dict[str, StepRecord]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take steps as they were read from a file, too."""
        self.steps = {
            lesson: {at: _step(one) for at, one in steps.items()}
            for lesson, steps in self.steps.items()
        }


def _step(kept: StepRecord | dict[str, Any]) -> StepRecord:
    return kept if isinstance(kept, StepRecord) else StepRecord(**kept)


Record = TypeVar("Record", RoomRecord, SeatRecord)


def keep(file: Path, record: RoomRecord | SeatRecord) -> None:
    """Write a record down.

    Raises:
        OSError: it cannot be written.
    """
    write_private(file, json.dumps(asdict(record), ensure_ascii=False, indent=1))


def read(file: Path, kind: type[Record]) -> Record | None:
    """Read a record; None where there is none. What a newer humanmcp added is left out.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no record of ours.
    """
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    ours = {one.name for one in fields(kind)}
    try:
        return kind(**{name: value for name, value in found.items() if name in ours})
    except (TypeError, AttributeError) as error:
        raise ValueError(file) from error

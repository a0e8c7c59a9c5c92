"""The conversation as a picture: where each arrow of the sequence stands.

Only numbers and words: the template draws. Two lines of life, on the left that of the party from
which messages come in, one arrow a message, the exchange at hand in bold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from humanmcp.desk.presenters.rows import parties
from humanmcp.inbox.contract import Seat

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from humanmcp.desk.presenters.rows import Step

WIDTH: Final = 300
LEFT: Final = 34
RIGHT: Final = 266
TOP: Final = 44
PITCH: Final = 34
ASIDE: Final = 110
"""Room for the model beside the two parties of a session."""
_SHOWN: Final = 24
_LONGEST: Final = 30


@dataclass(frozen=True, slots=True)
class Arrow:
    """One message of the picture, at its height; the arrow goes from `tail` to `head`."""

    y: int
    tail: int
    head: int
    label: str
    kind: str
    current: bool
    step: Step
    asks: int = 0
    """1 where the model asked for it, -1 where it goes on to the model, 0 for neither."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A sequence, ready to be drawn. `open` says that an answer is still missing at the end."""

    width: int
    height: int
    left: int
    right: int
    arrows: tuple[Arrow, ...]
    more: int
    """How many earlier messages are not drawn."""
    parties: tuple[str, str] = ("host", "you")
    """Who stands on the left and on the right."""
    model: int = 0
    """Where the line of life of the model behind a host stands; 0 without it."""


def draw(
    steps: Sequence[Step],
    current: int,
    *,
    by_seq: bool = False,
    model: bool = False,
    held: Collection[int] = (),
) -> Picture:
    """Place the last messages of a conversation.

    `current` is the number of the exchange at hand; with `by_seq` that of one line. `model` draws
    the model behind a host as a third party: it asks for calls, and reads what they bring. What a
    tap holds is `held`, by the numbers of its exchanges: it has come half of the way.
    """
    wire = [step for step in steps if step.kind not in ("note", "err")]
    shown = wire[-_SHOWN:]
    arrows = tuple(
        _arrow(
            step,
            TOP + PITCH * (at + 1),
            current=current > 0 and current == (step.seq if by_seq else step.number),
            held=step.number in held,
        )
        for at, step in enumerate(shown)
    )
    height = TOP + PITCH * (len(shown) + 1)
    seat = shown[-1].seat if shown else Seat.SERVER
    more, names = len(wire) - len(shown), parties(seat)
    if not model or seat not in (Seat.SERVER, Seat.TAP):
        return Picture(WIDTH, height, LEFT, RIGHT, arrows, more, names)
    return Picture(
        WIDTH + ASIDE,
        height,
        LEFT + ASIDE,
        RIGHT + ASIDE,
        tuple(_aside(one) for one in arrows),
        more,
        names,
        LEFT,
    )


def _aside(arrow: Arrow) -> Arrow:
    """Make room for the model on the left, and say what it has to do with a message."""
    called = arrow.step.word == "tools/call"
    read = arrow.step.method == "tools/call" and not arrow.step.inwards
    asks = 1 if called and arrow.step.inwards else -1 if read else 0
    return replace(arrow, tail=arrow.tail + ASIDE, head=arrow.head + ASIDE, asks=asks)


def _arrow(step: Step, y: int, *, current: bool, held: bool) -> Arrow:
    tail, head = (LEFT, RIGHT) if step.inwards else (RIGHT, LEFT)
    head = (tail + head) // 2 if held else head
    words = step.name or step.word or step.gist
    if step.times > 1:
        words = step.word.rpartition("/")[2]
    label = words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"
    return Arrow(y, tail, head, label, step.kind, current, step)

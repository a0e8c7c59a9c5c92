"""How a seat is told apart where no name is shown: a colour and an animal."""

from __future__ import annotations

from typing import Final, NamedTuple

from humanmcp.locales import say

COLOURS: Final = ("blue", "green", "red", "yellow", "purple", "orange", "grey", "brown")
ANIMALS: Final = (
    *("fox", "owl", "bear", "whale", "frog", "cat", "crane", "rabbit", "turtle", "horse"),
    *("penguin", "monkey", "sparrow", "deer", "tiger", "mouse", "elephant", "dolphin", "goat"),
    *("hedgehog", "duck", "wolf", "snail"),
)
"""Their number and that of the colours have no common divisor: 184 seats are told apart."""


class SeatMark(NamedTuple):
    """A colour and an animal, by code."""

    colour: str
    animal: str

    def words(self, language: str) -> str:
        """Return the mark in words."""
        animal = say("room", f"animal.{self.animal}", language)
        return say("room", f"colour.{self.colour}", language, animal=animal)


def mark_of(number: int) -> SeatMark:
    """Return the mark of the seat with this number, from 1."""
    return SeatMark(COLOURS[(number - 1) % len(COLOURS)], ANIMALS[(number - 1) % len(ANIMALS)])

"""Who sent a message follows from what the messages say of each other, and then from words."""

import pytest

from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.validation.sides import (
    ABOVE,
    FIRST_ARROW,
    Head,
    marks_of,
    side_of_method,
    solved_sides,
)

IN, OUT = Direction.IN, Direction.OUT


@pytest.mark.parametrize(
    ("words", "marks"),
    [
        ("", set()),
        ("client", {(0, 1)}),
        ("[Server] 10:00", {(0, -1)}),
        ("c2s", {(0, 1)}),
        ("clients", set()),
        ("outbound", {(1, 1)}),
        ("incoming", {(1, -1)}),
        ("request", {(2, 1)}),
        ("RSP:", {(2, -1)}),
        ("sending", {(3, 1)}),
        ("got", {(3, -1)}),
        ("in", {(4, 1)}),
        ("stdout", {(4, -1)}),
        ("info", set()),
        (">>", {(FIRST_ARROW, 1)}),
        ("<--", {(FIRST_ARROW, -1)}),
        ("<b>", set()),
        ("send >", {(3, 1), (FIRST_ARROW, 1)}),
        ("a->b", {(("a", "b"), 1)}),
        ("B to a", {(("a", "b"), -1)}),
        ("host => box", {(("box", "host"), -1), (FIRST_ARROW, 1)}),
    ],
)
def test_a_clue_has_marks_of_a_side(words: str, marks: set[tuple[object, int]]) -> None:
    """Words as they stand alone; an arrow between two names is a pair of its own."""
    assert marks_of(words) == marks


@pytest.mark.parametrize(
    ("method", "side"),
    [
        ("initialize", 1),
        ("tools/call", 1),
        ("notifications/initialized", 1),
        ("roots/list", -1),
        ("notifications/tools/list_changed", -1),
        ("ping", 0),
        ("notifications/cancelled", 0),
        ("x/y", 0),
        ("", 0),
        (7, 0),
        (None, 0),
    ],
)
def test_a_method_tells_its_side(method: object, side: int) -> None:
    """If only one side may send it."""
    assert side_of_method(method) == side


INITIALIZE, INITIALIZED = Head("initialize", 1), Head("", 1, is_answer=True)


def answer(own: object) -> Head:
    """Return the head of a response."""
    return Head("", own, is_answer=True)


@pytest.mark.parametrize(
    ("messages", "sides"),
    [
        ([], []),
        # with one context, nothing is told apart
        ([(INITIALIZE, ("a",)), (INITIALIZED, ("a",))], [None, None]),
        # what the messages say is what the words mean
        (
            [(INITIALIZE, ("recv",)), (INITIALIZED, ("send",)), (Head("x", 2), ("recv",))],
            [IN, OUT, IN],
        ),
        (
            [
                (INITIALIZE, ("srv -> cli",)),
                (INITIALIZED, ("cli -> srv",)),
                (None, ("cli -> srv",)),
            ],
            [IN, OUT, OUT],
        ),
        # words decide alone where no message does
        ([(Head("x", 1), ("client",)), (Head("y", 2), ("server",))], [IN, OUT]),
        ([(Head("x", 1), ("response",)), (Head("y", 2), ("outbound",))], [OUT, IN]),
        # the others only together: in one log, what is sent is the server's
        ([(Head("x", 1), ("send",)), (Head("y", 2), ("recv",))], [None, None]),
        ([(Head("x", 1), ("send >",)), (Head("y", 2), ("recv <",))], [IN, OUT]),
        ([(Head("x", 1), ("a",)), (Head("y", 2), ("b",))], [None, None]),
        # a response goes against its request, of two with one id that of the side that fits
        (
            [(Head("x", 1), ("client",)), (answer(1), ("a",)), (answer(2), ("b",))],
            [IN, OUT, None],
        ),
        (
            [
                (Head("tools/call", 1), ("a",)),
                (Head("roots/list", 1), ("b",)),
                (answer(1), ("c",)),
                (answer(1), ("d",)),
            ],
            [IN, OUT, IN, OUT],
        ),
        # what is no message has the side of its context, if messages have told it
        (
            [(INITIALIZE, ("send",)), (INITIALIZED, ("recv",)), (None, ("recv",)), (None, ("b",))],
            [IN, OUT, OUT, None],
        ),
        ([(None, ("send",)), (None, ("recv",))], [None, None]),
        # a word that states the side throughout says who sent the wrong thing
        (
            [
                *[(Head("tools/call", at), ("send",)) for at in range(3)],
                *[(answer(at), ("recv",)) for at in range(3)],
                (Head("roots/list", 9), ("send",)),
            ],
            [IN] * 3 + [OUT] * 3 + [IN],
        ),
        # but both sides send requests and responses
        (
            [
                *[(Head("tools/call", at), ("request",)) for at in range(3)],
                *[(answer(at), ("response",)) for at in range(3)],
                (Head("roots/list", 9), ("request",)),
                (answer(9), ("response",)),
            ],
            [IN] * 3 + [OUT] * 3 + [OUT, IN],
        ),
        (
            [
                *[(Head("tools/call", at), ("", f"{ABOVE}request")) for at in range(3)],
                *[(answer(at), ("", f"{ABOVE}response")) for at in range(3)],
                (Head("roots/list", 9), ("", f"{ABOVE}request")),
            ],
            [IN] * 3 + [OUT] * 3 + [OUT],
        ),
    ],
)
def test_the_sides_are_solved(
    messages: list[tuple[Head | None, tuple[str, ...]]], sides: list[Direction | None]
) -> None:
    """Each message says something of the others."""
    assert solved_sides(messages) == sides

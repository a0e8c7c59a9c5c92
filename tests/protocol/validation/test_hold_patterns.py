"""What a tap is to hold, as a person writes it."""

import pytest

from humanmcp.locales.stop import sentence_of
from humanmcp.protocol.conversation.state import ConversationState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.jsonrpc import Message, read
from humanmcp.protocol.validation.held import PatternError, parse_pattern, parse_patterns


def fits(pattern: str, *messages: tuple[Direction, str]) -> list[bool]:
    """Say which messages of a conversation a pattern means."""
    state = ConversationState()
    found = []
    for direction, text in messages:
        message = read(text.encode())
        assert isinstance(message, Message)
        found.append(parse_pattern(pattern).fits(state.observe(direction, message)))
    return found


CALL = (Direction.IN, '{"id":1,"method":"tools/call","params":{"name":"dice"}}')
ANSWER = (Direction.OUT, '{"id":1,"result":{}}')
ASKED = (Direction.OUT, '{"id":1,"method":"roots/list"}')
TOLD = (Direction.IN, '{"id":1,"result":{"roots":[]}}')
NOTICE = (Direction.OUT, '{"method":"notifications/message"}')


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("tools/call", [True, False, False, False, False]),
        ("tool:dice", [True, False, False, False, False]),
        ("tool:coin", [False, False, False, False, False]),
        ("out:tools/call", [False, True, False, False, False]),
        ("out:tool:dice", [False, True, False, False, False]),
        ("out:tool: dice ", [False, True, False, False, False]),
        ("tool:7", [False, False, False, False, False]),
        ("in:roots/list", [False, False, False, True, False]),
        ("roots/list", [False, False, True, False, False]),
        ("in", [True, False, False, True, False]),
        ("out", [False, True, True, False, True]),
        ("next", [True, True, True, True, True]),
        ("out:next", [False, True, True, False, True]),
        ("notifications/message", [False, False, False, False, True]),
    ],
)
def test_a_pattern_means_what_it_says(pattern: str, wanted: list[bool]) -> None:
    """A method is its request; with a direction it is whatever goes that way about it."""
    assert fits(pattern, CALL, ANSWER, ASKED, TOLD, NOTICE) == wanted


@pytest.mark.parametrize(
    ("pattern", "of_client", "of_server"),
    [
        ("next", True, True),
        ("in", True, False),
        ("out", False, True),
        ("in:next", True, False),
        ("out:tools/call", False, True),
        ("in:roots/list", True, False),
        ("tool:dice", True, False),
        ("out:tool:dice", False, True),
        ("tools/call", True, False),
        ("roots/list", False, True),
        ("ping", True, True),
        ("notifications/cancelled", True, True),
        ("notifications/message", False, True),
        ("x/y", True, True),
    ],
)
def test_a_pattern_covers_the_side_from_which_it_may_come(
    pattern: str, *, of_client: bool, of_server: bool
) -> None:
    """A method that nobody knows may come from both."""
    covers = parse_pattern(pattern).covers
    assert (covers(Direction.IN), covers(Direction.OUT)) == (of_client, of_server)


@pytest.mark.parametrize("text", ["", " ", "tool:", "in:", "out:tool:", " tools/call"])
def test_a_pattern_that_says_nothing_is_refused(text: str) -> None:
    """The message says what can be written."""
    with pytest.raises(PatternError) as caught:
        parse_pattern(text)
    assert "tool:NAME" in sentence_of(caught.value)


def test_next_is_followed_once() -> None:
    """The others until somebody says otherwise."""
    assert [pattern.once for pattern in parse_patterns(["next", "in:next", "in", "ping"])] == [
        True,
        True,
        False,
        False,
    ]

"""Which requests never got an answer, or one that the asking side has dropped."""

import json
from typing import Any

import pytest

from humanmcp.protocol.conversation.state import MOST_OPEN, ConversationState, ObservedMessage
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity
from humanmcp.protocol.json.jsonrpc import Malformed, Message, read
from humanmcp.protocol.validation.whole_conversation import NeverAnswered, Unanswered

WRONG = Diagnostic("R01", Severity.ERROR)
"""What clients drop an answer for."""


class Talk:
    """A conversation, and what is not answered in it."""

    def __init__(self) -> None:
        """Begin."""
        self.state = ConversationState()
        self.unanswered = Unanswered()

    def hears(self, seq: int, direction: Direction, **body: Any) -> ObservedMessage:  # noqa: ANN401 - any JSON value
        """Take a line."""
        found = read(json.dumps({"jsonrpc": "2.0", **body}).encode())
        assert isinstance(found, Message)
        observed = self.state.observe(direction, found)
        self.unanswered.heard(seq, observed)
        return observed

    def asks(self, seq: int, token: object, method: str = "ping") -> ObservedMessage:
        """Take a request of the client."""
        return self.hears(seq, Direction.IN, id=token, method=method)

    def answers(self, seq: int, token: object, *said: Diagnostic) -> NeverAnswered | None:
        """Take an answer, and what the check said of it."""
        observed = self.hears(seq, Direction.OUT, id=token, result={})
        return self.unanswered.checked(seq, observed, said)

    def breaks(self, seq: int, text: str) -> NeverAnswered | None:
        """Take a line that is no message."""
        malformed = read(text.encode())
        assert isinstance(malformed, Malformed)
        return self.unanswered.broken(seq, malformed, self.state.open)

    def left(self) -> list[tuple[int, str, int]]:
        """Return the lines of the requests, their methods and what was dropped."""
        return [
            (one.seq, one.request.method, one.dropped) for one in self.unanswered.left(self.state)
        ]


def test_what_is_open_at_the_end_was_left_without_an_answer() -> None:
    """In the order of the requests; a subscription stays open by design."""
    talk = Talk()
    talk.asks(3, 1, "tools/list")
    talk.asks(5, "a", "tools/call")
    talk.asks(6, 2)
    talk.asks(7, 3, "subscriptions/listen")
    assert talk.answers(8, 2) is None
    assert talk.left() == [(3, "tools/list", 0), (5, "tools/call", 0)]
    first, second = (one.diagnostic for one in talk.unanswered.left(talk.state))
    assert (first.code, second.code) == ("N38", "N38")
    assert dict(second.detail) == {"method": "tools/call", "id": '"a"'}


def test_an_answer_that_clients_drop_answers_nothing() -> None:
    """Whatever else is said of one does it no harm."""
    talk = Talk()
    talk.asks(3, 1)
    talk.asks(4, 2)
    note = Diagnostic("M11", Severity.HINT)
    assert talk.answers(5, 2, note) is None
    found = talk.answers(6, 1, note, WRONG)
    assert found is not None
    assert (found.seq, found.request.method, found.dropped) == (3, "ping", 6)
    assert found.diagnostic.code == "N39"
    assert dict(found.diagnostic.detail) == {"method": "ping", "id": "1", "line": "6"}
    assert talk.left() == [(3, "ping", 6)]
    assert talk.answers(7, 9, WRONG) is None  # an answer to nothing


def test_what_the_check_says_of_a_request_fails_none() -> None:
    """Only an answer can be dropped."""
    talk = Talk()
    observed = talk.asks(3, 1)
    assert talk.unanswered.checked(3, observed, (WRONG,)) is None
    assert talk.left() == [(3, "ping", 0)]


@pytest.mark.parametrize(
    ("text", "line"),
    [('{"id":1,"resu', 3), ('{"id":"a","resu', 4), ('{"id":2,"resu', 0), ("words", 0)],
)
def test_a_line_that_is_no_message_fails_the_request_whose_id_stands_in_it(
    text: str, line: int
) -> None:
    """As it is written: 1 is not "1"."""
    talk = Talk()
    talk.asks(3, 1)
    talk.asks(4, "a")
    found = talk.breaks(9, text)
    assert (found.seq if found else 0) == line
    assert (
        (line, "ping", 9) in talk.left()
        if line
        else talk.left() == [(3, "ping", 0), (4, "ping", 0)]
    )


def test_memory_stays_bounded() -> None:
    """Of the oldest the line is forgotten first, and what was answered in vain, too."""
    talk = Talk()
    for number in range(1, MOST_OPEN + 2):
        talk.asks(number, number)
        talk.answers(number, number, WRONG)
    assert len(talk.left()) == MOST_OPEN
    assert talk.left()[0][0] == 2

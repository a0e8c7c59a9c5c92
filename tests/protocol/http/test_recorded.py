"""What stands in a transcript of an exchange over HTTP, and how it is read again."""

import json

import pytest

from humanmcp.protocol.conversation.transcript import HTTP
from humanmcp.protocol.http.client import (
    IncomingResponse,
    OutgoingRequest,
    calls_in,
    cut_part,
    event_part,
    head_of,
    is_beside,
    part_as_json,
    part_in,
    part_in_words,
)
from humanmcp.protocol.http.events import ServerSentEvent, UnreadBytes
from tests.support.http_parts import ANSWERED, ASKED, CALL, NOTICE
from tests.support.http_parts import part_frame as frame


@pytest.mark.parametrize(
    ("body", "carries"), [(CALL, '"a" tools/call'), (NOTICE, "notifications/initialized")]
)
def test_a_request_names_the_message_that_it_carries(body: bytes, carries: str) -> None:
    """By the id as it was written, and the method."""
    assert json.loads(part_as_json(3, ASKED._replace(body=body))) == {
        "call": 3,
        "method": "POST",
        "url": "http://h/mcp",
        "headers": [["Accept", "x"]],
        "carries": carries,
    }


@pytest.mark.parametrize("body", [b"", b"no message", b"[]"])
def test_a_request_without_a_message_carries_none(body: bytes) -> None:
    """A DELETE has no body."""
    assert json.loads(part_as_json(1, ASKED._replace(body=body)))["carries"] == ""


def test_a_response_and_an_event_are_written_without_their_content() -> None:
    """Which stands in the transcript as a line of its own. Letters stay as they are."""
    assert part_as_json(1, IncomingResponse(200, "良い")) == (
        '{"call":1,"status":200,"reason":"良い","headers":[]}'
    )
    assert part_as_json(2, ServerSentEvent(b"x", "7")) == '{"call":2,"event":"message","id":"7"}'
    assert part_as_json(2, ServerSentEvent(b"x", "7", "e", 0)) == (
        '{"call":2,"event":"e","id":"7","retry":0}'
    )


@pytest.mark.parametrize(
    ("text", "note"), [(part_as_json(1, ASKED), ""), ("{", HTTP), ("[1]", HTTP), ("", HTTP)]
)
def test_what_is_no_part_is_taken_for_none(text: str, note: str) -> None:
    """An edited transcript must not end the export of the rest."""
    assert part_in(frame(text, note)) == {}
    assert part_in_words(frame(text, note)) == ""


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (ASKED, "HTTP 4 -> POST http://h/mcp"),
        (ANSWERED, "HTTP 4 <- 200 OK"),
        (IncomingResponse(200, ""), "HTTP 4 <- 200"),
        (ServerSentEvent(b"", "7"), "HTTP 4 <- event 7"),
        (ServerSentEvent(b""), "HTTP 4 <- event"),
    ],
)
def test_a_part_reads_as_http_writes_it(
    part: OutgoingRequest | IncomingResponse | ServerSentEvent, words: str
) -> None:
    """One line for a list of what happened."""
    assert part_in_words(frame(part_as_json(4, part))) == words


def test_what_is_missing_in_a_part_is_left_out_of_its_words() -> None:
    """Written by another version, or by hand."""
    assert part_in_words(frame('{"call":1,"method":"GET"}')) == "HTTP 1 -> GET "
    assert part_in_words(frame('{"call":1,"status":404}')) == "HTTP 1 <- 404"
    assert part_in_words(frame('{"call":1}')) == "HTTP 1 <- event"
    assert part_in_words(frame('{"call":1,"cut":"server"}')) == "HTTP 1 -- hung up by the server"
    unread = "HTTP 1 <- bytes that make no event: x"
    assert part_in_words(frame('{"call":1,"unread":"x"}')) == unread


def test_the_head_of_a_part_has_a_line_for_each_header() -> None:
    """In the order in which they came; what is no header, in an edited transcript, is left out."""
    part = part_in(frame(part_as_json(4, ANSWERED._replace(headers=(("A", "1"), ("B", "2"))))))
    assert head_of(part) == "HTTP 4 <- 200 OK\nA: 1\nB: 2"
    odd = {"call": 4, "status": 200, "headers": [["A", 1], ["B"], "CD", ["E", "2", "3"]]}
    assert head_of(odd) == "HTTP 4 <- 200\nA: 1"
    assert head_of({"call": 4, "status": 200, "headers": "AB"}) == "HTTP 4 <- 200"


def test_who_hung_up_stands_alone() -> None:
    """So does a request that brought no message; any other part is beside a line."""
    parts = [
        cut_part(1, "client"),
        part_as_json(1, ASKED),
        part_as_json(1, ASKED._replace(body=b"")),
        part_as_json(1, ANSWERED),
    ]
    assert [is_beside(part_in(frame(one))) for one in (*parts, "x")] == [
        False, True, False, True, False,
    ]  # fmt: skip


def test_exchanges_are_numbered_on_from_the_highest() -> None:
    """An edited transcript may hold any number, or none."""
    parts = [
        part_as_json(3, ASKED),
        part_as_json(7, ASKED),
        part_as_json(5, ASKED),
        '{"call":"9"}',
        "x",
    ]
    assert calls_in([frame(one) for one in parts]) == 7
    assert calls_in([frame("x")]) == 0
    assert calls_in([]) == 0


def test_a_request_of_several_messages_names_them_all() -> None:
    """2025-03-26: what in the array is no message is left out."""
    batch = b"[" + CALL + b",7," + NOTICE + b"]"
    said = json.loads(part_as_json(1, ASKED._replace(body=batch)))
    assert said["carries"] == '"a" tools/call, notifications/initialized'


def test_bytes_that_make_no_event_are_recorded_as_they_are() -> None:
    """They stand alone in a list."""
    part = part_as_json(2, UnreadBytes("x: 良"))
    assert part == '{"call":2,"unread":"x: 良"}'
    assert not is_beside(part_in(frame(part)))
    assert part_in_words(frame(part)) == "HTTP 2 <- bytes that make no event: x: 良"
    assert cut_part(3, "server") == '{"call":3,"cut":"server"}'
    assert event_part(4, "") == '{"call":4,"event":"message","id":""}'


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ('{"method":"GET","url":"u"}', "HTTP None -> GET u"),
        ('{"call":5,"status":200,"reason":"OK "}', "HTTP 5 <- 200 OK"),
        ('{"call":5,"event":"e","id":7}', "HTTP 5 <- event 7"),
        ('{"call":5,"method":"GET","status":200,"cut":"client"}', "HTTP 5 -> GET "),
        ('{"call":5,"status":200,"cut":"client","unread":"x"}', "HTTP 5 <- 200"),
        ('{"call":5,"cut":"client","unread":"x"}', "HTTP 5 -- hung up by the client"),
    ],
)
def test_a_part_is_what_its_first_known_member_says(part: str, words: str) -> None:
    """An edited transcript may hold several."""
    assert part_in_words(frame(part)) == words


@pytest.mark.parametrize(
    ("part", "beside"),
    [
        ('{"method":"GET","carries":""}', False),
        ('{"method":"GET"}', False),
        ('{"method":"POST","carries":"1 ping"}', True),
        ('{"method":"POST","carries":"1 ping","cut":"client"}', False),
        ('{"method":"POST","carries":"1 ping","unread":"x"}', False),
        ('{"status":200}', True),
        ("{}", False),
    ],
)
def test_a_part_that_only_adds_to_a_line_is_beside_it(part: str, *, beside: bool) -> None:
    """What a list would not show otherwise is shown itself."""
    assert is_beside(part_in(frame(part))) is beside

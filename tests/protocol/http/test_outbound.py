"""What goes out over HTTP: events, faults on purpose, and which session makes room."""

import re
from itertools import pairwise
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.http.events import (
    COMMENT,
    EventError,
    EventId,
    EventReader,
    ServerSentEvent,
    UnreadBytes,
    event,
    priming,
)
from humanmcp.protocol.http.http_faults import INSTEAD, ON_STREAM, HttpFault
from humanmcp.protocol.http.outbound import http_status_of
from humanmcp.protocol.http.session_ends import (
    MAKES_ROOM_AFTER,
    SESSION_ENDS_AFTER,
    VISIT_ENDS_AFTER,
    evictable,
    silent,
    visitor_of,
)
from humanmcp.protocol.tables.faults import Fault
from tests.support.verdicts import STATED, asked

LINES = st.lists(
    st.sampled_from(
        (
            *("data: {}", "data:x", "data", "id: 1-2", "id: a\0b", "event: ping", ": comment", ""),
            *("retry: 10", "retry: soon", "unknown: 1", "dataset: no"),
        )
    ),
    max_size=12,
)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def read(*pieces: bytes, longest: int = 1000) -> list[ServerSentEvent]:
    """Read a stream that comes in these pieces."""
    reader = EventReader(longest)
    return [event for piece in pieces for event in reader.feed(piece)]


def test_what_the_server_writes_is_read_as_it_was() -> None:
    """The reader undoes the writer: the same line, the same id, comments and priming apart."""
    line = '{"jsonrpc":"2.0","id":1,"result":{"x":"é"}}'.encode()
    event_id = EventId(3, 1)
    content = COMMENT + priming(EventId(3, 0), 1000) + event(line, event_id) + event(line)
    assert read(content) == [
        ServerSentEvent(b"", "3-0", "message", 1000),
        ServerSentEvent(line, "3-1"),
        ServerSentEvent(line),
    ]


@given(LINES, ENDS, st.lists(st.integers(0, 200), max_size=5))
def test_pieces_change_nothing(lines: list[str], end: str, cuts: list[int]) -> None:
    """However a stream is cut, and whatever ends its lines, the events are the same."""
    content = "".join(line + end for line in lines).encode()
    places = sorted({min(cut, len(content)) for cut in cuts} | {0, len(content)})
    pieces = [content[a:b] for a, b in pairwise(places)]
    assert read(*pieces) == read("".join(line + "\n" for line in lines).encode())


def test_a_byte_order_mark_is_dropped_at_the_beginning_only() -> None:
    """Of each stream: later the same characters belong to a text."""
    reader = EventReader(1000)
    mark = b"\xef\xbb\xbf"
    for _stream in range(2):
        found = [event.data for event in reader.feed(mark + b"data: a\ndata: " + mark + b"b\n\n")]
        assert found == [b"a\n" + mark + b"b"]
        reader.begin_anew()


def test_the_last_id_and_the_pause_stay_known() -> None:
    """An event without an id does not undo the one before; a new stream keeps what was learned."""
    reader = EventReader(1000)
    list(reader.feed(b"id: 7\nretry: 20\ndata: a\n\ndata: b\n\n"))
    assert (reader.last_id, reader.retry, reader.count) == ("7", 20, 2)
    reader.begin_anew()
    assert reader.last_id == "7"


@pytest.mark.parametrize("content", [b"data: " + b"x" * 200, b"data: x\n" * 60])
def test_an_endless_event_is_not_kept(content: bytes) -> None:
    """Neither one long line nor many short ones fill the memory."""
    with pytest.raises(EventError):
        read(content, longest=100)


def test_what_is_no_utf8_is_replaced_in_a_name_and_kept_in_a_message() -> None:
    """A message is judged as its bytes; a name is only shown, and sent back."""
    content = b"id: a\xff\nevent: \xc3\xa9\xff\ndata: \xff\n\n"
    assert read(content) == [ServerSentEvent(b"\xff", "a\ufffd", "é\ufffd")]


def test_an_event_may_be_as_long_as_is_allowed() -> None:
    """Its lines without their ends, and what has come of the next one."""
    content = b"id: 1\ndata: " + b"x" * 89
    assert read(content, b"\n\n", longest=100) == [ServerSentEvent(b"x" * 89, "1")]
    with pytest.raises(EventError):
        read(content, b"x", longest=100)


RIGHT = (("content-length", "2"), ("mcp-session-id", "mine"), ("content-type", "application/json"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("wrong-status", HttpFault(Fault.WRONG_STATUS, 500)),
        ("wrong-status 404", HttpFault(Fault.WRONG_STATUS, 404)),
        ("wrong-status 99", None),
        ("wrong-status 200", HttpFault(Fault.WRONG_STATUS, 200)),
        ("wrong-status 599", HttpFault(Fault.WRONG_STATUS, 599)),
        ("wrong-status 199", None),
        ("wrong-status 600", None),
        ("wrong-status x", None),
        ("wrong-status ٤٠٤", None),
        ("cut-stream", HttpFault(Fault.CUT_STREAM, 20)),
        ("cut-stream 0", HttpFault(Fault.CUT_STREAM, 0)),
        ("cut-stream 000000010", HttpFault(Fault.CUT_STREAM, 10)),
        ("cut-stream 0000000010", None),
        ("cut-stream 1000000", HttpFault(Fault.CUT_STREAM, 1_000_000)),
        ("cut-stream 1000001", None),
        ("cut-stream " + "1" * 5000, None),
        ("no-type", HttpFault(Fault.NO_TYPE)),
        ("no-type 3", None),
        ("wrong-id", None),
    ],
)
def test_a_fault_is_named_with_the_number_that_it_can_have(
    text: str, found: HttpFault | None
) -> None:
    """And nothing else is a fault of HTTP."""
    assert HttpFault.read(text) == found


@pytest.mark.parametrize(
    ("fault", "status", "headers"),
    [
        ("wrong-status 418", 418, RIGHT),
        ("wrong-type", 200, (*RIGHT[:2], ("content-type", "text/html"))),
        ("no-type", 200, RIGHT[:2]),
        ("other-session", 200, (RIGHT[0], RIGHT[2], ("mcp-session-id", "another-session"))),
    ],
)
def test_one_thing_of_the_head_is_wrong_and_the_rest_is_right(
    fault: str, status: int, headers: tuple[tuple[str, str], ...]
) -> None:
    """So that it is seen what a client does with this one."""
    broken = HttpFault.read(fault)
    assert broken is not None
    assert broken.status(200) == status
    assert broken.headers(RIGHT) == headers


@pytest.mark.parametrize(
    ("fault", "status"), [("unauthorized", 401), ("lost-session", 404), ("redirect", 307)]
)
def test_what_stands_in_the_place_of_an_answer_has_its_status(fault: str, status: int) -> None:
    """A redirect leads back to the endpoint."""
    broken = HttpFault.read(fault)
    assert broken is not None
    found, headers = INSTEAD[broken.fault]
    assert found == status
    assert all(value.startswith("/mcp") for name, value in headers if name == "location")


class Kept:
    """A session of which something was last heard at a moment."""

    def __init__(
        self, name: str, last_seen: float, *, is_idle: bool = True, address: str = ""
    ) -> None:
        """Begin with it."""
        self.id = name
        self.address = address
        self.last_seen = last_seen
        self.is_idle = is_idle


def test_a_visitor_is_gone_long_before_a_client_that_may_come_back() -> None:
    """Who waits is never gone, whatever the silence."""
    visitor, client, waits = Kept("", 0), Kept("id", 0), Kept("", 0, is_idle=False)
    every = [visitor, client, waits]
    assert silent(every, VISIT_ENDS_AFTER) == []
    assert silent(every, VISIT_ENDS_AFTER + 1) == [visitor]
    assert silent(every, SESSION_ENDS_AFTER + 1) == [visitor, client]


def test_the_one_that_is_idle_longest_makes_room() -> None:
    """None that waits, and none that was heard of a moment ago."""
    newer, older, waits = Kept("a", 5), Kept("b", 2), Kept("c", 0, is_idle=False)
    every = [newer, older, waits]
    assert evictable(every, 1 + MAKES_ROOM_AFTER, "") is None
    assert evictable(every, 9 + MAKES_ROOM_AFTER, "") is older
    assert evictable([waits], 9 + MAKES_ROOM_AFTER, "") is None


def test_a_client_that_opens_many_sessions_ends_its_own() -> None:
    """Those of another address are safe, however long they are silent."""
    honest = [Kept("a", 0, address="honest"), Kept("b", 0, address="honest")]
    greedy = [Kept(f"{number}", 5 + number, address="greedy") for number in range(4)]
    now = 99 + MAKES_ROOM_AFTER
    assert evictable([*honest, *greedy], now, "greedy") is greedy[0]
    assert evictable([*honest, *greedy[:2]], now, "greedy") is greedy[0]
    waiting = [Kept("w", 5, address="greedy", is_idle=False) for _ in range(3)]
    assert evictable([*honest, *waiting], now, "greedy") is None


def test_an_address_with_more_than_half_of_all_sessions_keeps_no_other_out() -> None:
    """Neither by being heard of all the while nor by letting all its requests wait."""
    other = [Kept("a", 0, address="other")]
    waiting = [Kept(f"{at}", at, address="greedy", is_idle=False) for at in range(2)]
    fresh = Kept("fresh", 9, address="greedy")
    assert evictable([*other, *waiting], 9, "new") is waiting[0]
    assert evictable([*other, *waiting, fresh], 9, "other") is fresh
    assert evictable([*other, *waiting, fresh], 9, "greedy") is None


def test_of_several_addresses_the_one_with_the_most_sessions_makes_room() -> None:
    """Whoever has more than the newcomer, and after a minute of silence alone."""
    one = [Kept("a", 0, address="one")]
    two = [Kept(f"{at}", at, address="two") for at in (4, 3)]
    three = [Kept(f"{at}", at, address="three") for at in (9, 5, 7)]
    every = [*one, *two, *three]
    assert evictable(every, 99 + MAKES_ROOM_AFTER, "new") is three[1]
    assert evictable(every, 4.5 + MAKES_ROOM_AFTER, "new") is two[1]
    assert evictable(every, 2 + MAKES_ROOM_AFTER, "two") is None


def test_clients_that_have_not_come_back_after_a_start_crowd_nobody_out() -> None:
    """Nobody knows where they are: they have the usual minute."""
    resumed = [Kept(f"{at}", at) for at in range(3)]
    assert evictable(resumed, 9, "new") is None
    assert evictable(resumed, 9 + MAKES_ROOM_AFTER, "new") is resumed[0]


def test_a_visitor_is_known_by_its_key_and_by_what_it_says_that_it_is() -> None:
    """In whatever order it says so; one that says nothing is one, too. No key is written down."""

    def of(info: object, key: str = "key", host: str = "host") -> str:
        meta = {} if info is None else {"_meta": {STATED + "clientInfo": info}}
        return visitor_of(asked("ping", meta).request, key, host)

    who = of({"version": "1", "name": "é"})
    assert who == of({"name": "é", "version": "1"})
    others = {of(None), of({"name": "é"}), of({"version": "1", "name": "é"}, "other")}
    others.add(of({"version": "1", "name": "é"}, host="other"))
    assert len({who, *others}) == 5
    assert re.fullmatch("[0-9a-f]{64}", who)
    assert of("x" * 9999) == of("x" * 99999)


NO_EVENTS: Final = "\n".join(f"x: {number}" for number in range(64))


@pytest.mark.parametrize(
    ("pieces", "unended", "unread"),
    [
        ([], b"", None),
        ([b": comment\n", b"\n", b"data: x\n\n"], b"", None),
        ([b"data: x\n"], b"x", "data: x"),
        ([b"data: x\ndata: y\nid: 1\n", b"da"], b"x\ny\nda", "data: x\ndata: y\nid: 1\nda"),
        ([b"data: x"], b"data: x", "data: x"),
        ([b"hello\n\n"], b"", "hello"),
        ([b"hello\n\n: x\nworld\n"], b"", "hello\nworld"),
        ([b"hello\n\ndata: x\n\n"], b"", "hello"),
        ([b"caf\xe9"], b"caf\xe9", "caf\ufffd"),
        ([NO_EVENTS.encode(), b"\nmore: 1\n"], b"", NO_EVENTS),
        ([NO_EVENTS.encode(), b"\n\nmore: 1\n\n"], b"", NO_EVENTS),
        ([b"\n\xef\xbb\xbfdata: x\n\n"], b"", "\ufeffdata: x"),  # it is at no beginning
    ],
    ids=range(12),
)
def test_what_of_a_stream_made_no_event_is_known(
    pieces: list[bytes], unended: bytes, unread: str | None
) -> None:
    """Of very much of it the beginning."""
    reader = EventReader(10_000)
    for piece in pieces:
        list(reader.feed(piece))
    assert reader.unended == unended
    assert reader.unread == (None if unread is None else UnreadBytes(unread))
    reader.begin_anew()
    assert (reader.unended, reader.unread) == (b"", None)


@pytest.mark.parametrize(
    ("content", "events"),
    [
        (b"id: a\n\n", [ServerSentEvent(b"", "a")]),
        (b"retry: 0\n\n", [ServerSentEvent(b"", retry=0)]),
        (b"retry: 999999999\n\n", [ServerSentEvent(b"", retry=999_999_999)]),
        (b"retry: 1000000000\n\n", []),
        (b"retry: -1\n\n", []),
        (b"event: e\n\n", []),
        (b"id\n\n", []),
        (b"data\n\n", [ServerSentEvent(b"")]),
        (b"data:  x\n\n", [ServerSentEvent(b" x")]),
        (b"data: x\nevent\n\n", [ServerSentEvent(b"x")]),
        (b"data: x\nid: a\0\n\n", [ServerSentEvent(b"x")]),
        (b"event: e\n\ndata: x\n\n", [ServerSentEvent(b"x")]),
        (b"data: x\n\xef\xbb\xbfdata: y\n\n", [ServerSentEvent(b"x")]),
        (b"id: 1\ndata: x\n\ndata: y\n\n", [ServerSentEvent(b"x", "1"), ServerSentEvent(b"y")]),
    ],
)
def test_a_blank_line_completes_an_event_of_data_an_id_or_a_pause(
    content: bytes, events: list[ServerSentEvent]
) -> None:
    """What any of the three lacks is none; nothing of one event belongs to the next."""
    assert read(content) == events


@pytest.mark.parametrize(
    ("fault", "instead"),
    [
        (Fault.UNAUTHORIZED, (401, (("www-authenticate", "Bearer"),))),
        (Fault.REDIRECT, (307, (("location", "/mcp?once-more"),))),
        (Fault.LOST_SESSION, (404, ())),
    ],
)
def test_the_whole_head_of_what_stands_for_a_response(fault: Fault, instead: object) -> None:
    """A client acts on it."""
    assert INSTEAD[fault] == instead


def test_a_fault_of_a_stream_leaves_the_head_as_it_is() -> None:
    """It needs a stream, and the others do not."""
    names = {"cut-stream", "no-final-event", "event-twice", "event-without-id", "slow-drip"}
    assert {one.value for one in ON_STREAM} == names
    for fault in ON_STREAM:
        assert (HttpFault(fault, 7).status(200), HttpFault(fault).headers(RIGHT)) == (200, RIGHT)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b'{"id":1,"error":{"code":-32601}}', 404),
        (b'{"id":1,"error":{"code":-32600}}', 400),
        (b'{"id":1,"error":{"code":-32021}}', 400),
        (b'{"id":1,"error":{"code":-32603}}', 200),
        (b'{"id":1,"error":{"code":"-32601"}}', 200),
        (b'{"id":1,"error":7}', 200),
        (b'{"id":1,"result":{"error":{"code":-32601}}}', 200),
        (b'{"id":1,"result":{}}', 200),
        (b'{"error"', 200),
    ],
)
def test_only_an_error_of_2026_has_a_status(line: bytes, status: int) -> None:
    """A line may be wrong on purpose."""
    assert http_status_of(line, "2026-07-28") == status
    assert http_status_of(line, "2025-11-25") == 200


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0-0", EventId(0, 0)),
        ("9" * 16 + "-1", EventId(9_999_999_999_999_999, 1)),
        ("9" * 17 + "-1", None),
        ("1-" + "9" * 17, None),
        ("1-1\n", None),
    ],
)
def test_an_event_id_has_two_numbers_of_at_most_sixteen_digits(
    text: str, found: EventId | None
) -> None:
    """A client sends back what it was given."""
    assert EventId.read(text) == found


def test_a_stream_begins_with_an_id_and_perhaps_a_pause() -> None:
    """And with no message."""
    assert priming(EventId(3, 0)) == b"id: 3-0\ndata: \n\n"

"""Which response a message goes out on, and what a client gets that comes again."""

import asyncio

from humanmcp.http.responses import OWN, OutEvent, Stream, Streams
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.http.events import EventId
from humanmcp.protocol.http.inbound import Posted
from humanmcp.protocol.json import jsonrpc
from humanmcp.server.http.connection import HttpConnection, after
from humanmcp.server.journal import DELIBERATE_BYTES

BATCH = (
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"},'
    b'{"jsonrpc":"2.0","method":"notifications/initialized"},'
    b'{"jsonrpc":"2.0","id":2,"method":"ping"}]'
)
PROGRESS = b'{"jsonrpc":"2.0","method":"notifications/progress"}'
ANSWERS = b'[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]'


def recorded(
    *lines: tuple[Direction, bytes, int] | tuple[Direction, bytes, int, str],
) -> list[Frame]:
    """Return the frames of a transcript."""
    return [
        Frame(seq, "", direction, raw, number, note="".join(note))
        for seq, (direction, raw, number, *note) in enumerate(lines, start=1)
    ]


def heard(stream: Stream) -> list[OutEvent]:
    """Return all that a stream says until its end."""

    async def listen() -> list[OutEvent]:
        found = []
        while (event := await stream.next()) is not None:
            found.append(event)
        return found

    return asyncio.run(asyncio.wait_for(listen(), 10))


def test_a_batch_is_one_stream_whichever_of_its_requests_a_line_is_about() -> None:
    """Each event has the stream of the batch, and its place in it."""
    streams, stream = Streams(), Stream()
    streams.posted(stream, (3, 4))
    for line, number in ((PROGRESS, 4), (PROGRESS, 3), (ANSWERS, 4)):
        streams.send(line, number)
    names = [(event.event_id, event.last) for event in heard(stream)]
    assert names == [(EventId(3, 1), False), (EventId(3, 2), False), (EventId(3, 3), True)]
    assert streams.is_idle


def test_a_batch_may_be_answered_one_by_one() -> None:
    """As a server behind a tap does: the stream ends with the last answer."""
    streams, stream = Streams(), Stream()
    streams.posted(stream, (3, 4))
    for line, number in ((b'{"id":2,"result":{}}', 4), (b'{"id":1,"result":{}}', 3)):
        streams.send(line, number)
    assert [event.last for event in heard(stream)] == [False, True]
    assert streams.is_idle


def test_a_batch_that_is_resumed_is_complete() -> None:
    """What was said of the second request, and the array under whichever number."""
    frames = recorded(
        (Direction.IN, BATCH, 3),
        (Direction.OUT, PROGRESS, 4),
        (Direction.OUT, PROGRESS, 0),
        (Direction.OUT, PROGRESS, 3),
        (Direction.OUT, ANSWERS, 4),
    )
    missed = after(frames, EventId(3, 1), print)
    assert [(event.event_id, event.content) for event in missed] == [
        (EventId(3, 2), PROGRESS),
        (EventId(3, 3), ANSWERS),
    ]
    assert missed[-1].last


def test_a_batch_goes_on_for_the_requests_that_still_wait() -> None:
    """One is cancelled, the other is answered, after the client came again."""
    streams, first = Streams(), Stream()
    streams.posted(first, (3, 4))
    streams.drop_stream(first)
    again = Stream(EventId(3, 0))
    assert streams.listen(again)
    streams.end_unanswered(3)
    streams.send(ANSWERS, 3)
    assert [event.event_id for event in heard(again)] == [EventId(3, 1)]


def test_bytes_that_were_typed_as_such_move_no_place() -> None:
    """An id names the same message live and from the transcript."""
    frames = recorded(
        (Direction.OUT, b"x", 0, DELIBERATE_BYTES),
        (Direction.OUT, PROGRESS, 0),
    )
    assert [event.event_id for event in after(frames, EventId(OWN, 0), print)] == [EventId(OWN, 1)]


def test_a_session_that_another_process_began_goes_on_at_its_places() -> None:
    """The next event of a stream has the next id, and none comes twice."""
    streams = Streams()
    streams.go_on({5: 5}, {5: 2, OWN: 1})
    stream, own = Stream(EventId(5, 2)), Stream(EventId(OWN, 1))
    assert streams.listen(stream)
    assert streams.listen(own)
    streams.send(PROGRESS, 0)
    streams.send(ANSWERS, 5)
    streams.close()
    assert [event.event_id for event in heard(stream)] == [EventId(5, 3)]
    assert [event.event_id for event in heard(own)] == [EventId(OWN, 2)]


def test_a_stream_that_is_over_cannot_go_on() -> None:
    """All that there is stands in the transcript."""
    assert not Streams().listen(Stream(EventId(7, 1)))


def test_what_comes_too_late_for_a_session_is_not_left_waiting() -> None:
    """Before its last look and after it: the client is told that there is no session."""
    connection = HttpConnection(lambda call, *arguments: call(*arguments))
    before = connection.post(Posted(PROGRESS, jsonrpc.read(PROGRESS)))
    connection.close()
    late = connection.post(Posted(PROGRESS, jsonrpc.read(PROGRESS)))
    assert [heard(before), heard(late)] == [[], []]
    assert not before.taken
    assert not late.taken

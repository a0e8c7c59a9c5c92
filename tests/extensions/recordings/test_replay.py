"""Recorded answers: by method and parameters, in order, by likeness."""

import json
from typing import Any

import pytest

from humanmcp.extensions.recordings.replay import (
    Match,
    Otherwise,
    Replay,
    Replayed,
    UnrecordedRequest,
    renewed,
)
from humanmcp.protocol.answer_book.decision import Decision
from humanmcp.protocol.answer_book.recorded import recorded
from humanmcp.protocol.conversation.exchange import Exchange
from humanmcp.protocol.conversation.transcript import (
    CHANGED,
    DROPPED,
    HELD,
    INSTEAD,
    LET_GO,
    Direction,
    Frame,
)
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import Message, read
from humanmcp.protocol.validation.redaction import redact_recording


def frame(seq: int, direction: Direction, text: str, number: int = 0, note: str = "") -> Frame:
    """Make a frame."""
    return Frame(seq, "2026-11-20T00:00:00.000Z", direction, text.encode(), number, note=note)


def call(id: int, **arguments: Any) -> str:  # noqa: A002, ANN401 - the protocol's own word; any JSON value
    """Write a call of the tool `weather`."""
    params = {"name": "weather", "arguments": arguments, "_meta": {"progressToken": id}}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})


def said(id: int, text: str) -> str:  # noqa: A002 - the protocol's own word
    """Write an answer."""
    return f'{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"said":"{text}","n":1.0}}}}'


def session(*turns: tuple[str, str]) -> list[Frame]:
    """Make a transcript of requests, each answered at once."""
    frames: list[Frame] = []
    for request, answer in turns:
        frames.append(frame(len(frames) + 1, Direction.IN, request))
        frames.append(frame(len(frames) + 1, Direction.OUT, answer))
    return frames


WEATHER = session(
    (call(1, city="Tokyo"), said(1, "sunny")),
    (call(2, city="Osaka"), said(2, "rain")),
    (call(3, city="Tokyo"), said(3, "snow")),
)


def exchange(text: str, version: str = "2025-06-18") -> Exchange:
    """Make the exchange of a request."""
    found = read(text.encode())
    assert isinstance(found, Message)
    return Exchange(1, found, version)


def played(replay: Replay, text: str) -> str | None:
    """Ask, count the answer as given, and say which frame it was, with the hint."""
    found = replay.find(exchange(text))
    if found is None:
        return None
    replay.given(found.recorded.seq)
    return found.by


def test_the_same_question_gets_its_answers_in_turn() -> None:
    """Ids and progress tokens do not count; after the last answer it is repeated."""
    replay = Replay(recorded(WEATHER))
    asked = call(77, city="Tokyo")
    assert [played(replay, asked) for _ in range(3)] == ["replay: 2", "replay: 6", "replay: 6"]


def test_the_answer_is_the_recorded_text() -> None:
    """1.0 stays 1.0."""
    found = Replay(recorded(WEATHER)).find(exchange(call(9, city="Osaka")))
    assert found is not None
    assert found.recorded.text == '{"content":[],"said":"rain","n":1.0}'
    assert found.decision().form is TextForm.RESULT


def test_what_was_not_asked_is_left_to_a_person() -> None:
    """Another argument, another tool, another method."""
    replay = Replay(recorded(WEATHER))
    assert played(replay, call(1, city="Kyoto")) is None
    assert played(replay, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}') is None


def test_a_removed_part_of_a_request_fits_any_value() -> None:
    """The others do not; "[redacted]" that somebody wrote is a word, and a resource has a mark."""
    read_it = '{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"db://me:%s@h/x"}}'
    frames = session(
        (call(1, city="Tokyo", api_key="first-1"), said(1, "sunny")),
        (call(2, city="[redacted]"), said(2, "rain")),
        (read_it % "s3cret", said(3, "rows")),
    )
    replay = Replay(recorded(redact_recording(frames).frames))
    assert played(replay, call(9, city="Tokyo", api_key="other")) == "replay: 2"
    assert played(replay, call(9, city="Tokyo", api_key=5)) == "replay: 2"
    assert played(replay, call(9, city="Kyoto", api_key="other")) is None
    assert played(replay, call(9, city="Tokyo")) is None
    assert played(replay, call(9, city="[redacted]")) == "replay: 4"
    assert played(replay, call(9, city="Osaka")) is None
    assert played(replay, read_it % "other") == "replay: 6"
    assert played(replay, read_it.replace("db:", "x:") % "other") is None


def test_in_order_the_next_answer_for_the_same_tool_is_given() -> None:
    """With a hint; when all were given the rest is left to a person."""
    replay = Replay(recorded(WEATHER), Match.ORDER)
    asked = call(1, city="Kyoto")
    assert [played(replay, asked) for _ in range(4)] == [
        "replay: 2 (in order)",
        "replay: 4 (in order)",
        "replay: 6 (in order)",
        None,
    ]


def test_by_likeness_the_closest_answer_is_given_once_the_order_is_used_up() -> None:
    """With a hint; what is like nothing is left to a person."""
    replay = Replay(recorded(WEATHER), Match.SIMILAR)
    for seq in (2, 4, 6):
        replay.given(seq)
    assert played(replay, call(1, city="Osaka!")) == "replay: 4 (similar)"
    assert played(replay, call(1, something="else entirely", and_more=[1, 2, 3] * 20)) is None


def test_what_the_client_saw_is_what_is_replayed() -> None:
    """A changed answer, an answer instead of the server's; not what was dropped."""
    frames = [
        frame(1, Direction.IN, call(1, city="A")),
        frame(2, Direction.OUT, said(1, "original"), 1, HELD),
        frame(3, Direction.OUT, said(1, "edited"), 1, CHANGED),
        frame(4, Direction.IN, call(2, city="B"), 2, HELD),
        frame(5, Direction.OUT, said(2, "by a person"), 2, INSTEAD),
        frame(6, Direction.IN, call(3, city="C")),
        frame(7, Direction.OUT, said(3, "late"), 3, HELD),
        frame(8, Direction.NOTE, "", 3, LET_GO),
        frame(9, Direction.IN, call(4, city="D")),
        frame(10, Direction.OUT, said(4, "never seen"), 4, HELD),
        frame(11, Direction.NOTE, "", 4, DROPPED),
    ]
    assert [one.seq for one in recorded(frames)] == [3, 5, 7]


@pytest.mark.parametrize("method", ["initialize", "server/discover"])
def test_the_handshake_fits_every_client(method: str) -> None:
    """Each client asks with its own name; the recorded answer is given all the same."""
    asked = '{"jsonrpc":"2.0","id":0,"method":"%s","params":{"clientInfo":{"name":"%s"}}}'
    frames = session((asked % (method, "a"), '{"jsonrpc":"2.0","id":0,"result":{}}'))
    version = "2026-07-28" if method == "server/discover" else "2025-06-18"
    found = Replay(recorded(frames)).find(exchange(asked % (method, "b"), version))
    assert found is not None


def test_a_handshake_recording_makes_a_modern_client_shake_hands() -> None:
    """server/discover is answered "method not found": the client then sends initialize."""
    discover = '{"jsonrpc":"2.0","id":0,"method":"server/discover"}'
    found = Replay(recorded(WEATHER)).find(exchange(discover, "2026-07-28"))
    assert found is not None
    assert json.loads(found.decision().text)["code"] == -32601


def test_an_answer_of_the_other_era_does_not_fit() -> None:
    """2026-07-28 results have other members."""
    assert Replay(recorded(WEATHER)).find(exchange(call(1, city="Tokyo"), "2026-07-28")) is None


def test_what_is_not_recorded_is_asked_of_the_real_server_but_what_is_ours() -> None:
    """A rule of the book comes first, a ping is answered here, and what it left is a person's."""
    replay = Replay(recorded(WEATHER), otherwise=Otherwise.FORWARD)
    asked = exchange(call(9, city="Kyoto"))
    by_book, by_entry = Decision(0.0, by="book"), Decision(0.0, by="book: rule 1", entry=0)
    assert replay.instead(asked, by_book).own is Otherwise.FORWARD
    assert replay.instead(asked, by_entry) == by_entry
    assert replay.instead(exchange('{"jsonrpc":"2.0","id":1,"method":"ping"}'), by_book) == by_book
    replay.leave(asked, "it ended")
    assert replay.instead(asked, by_book) == by_book
    assert [unrecorded.words for unrecorded in replay.misses] == ["1 tools/call weather"]


def test_what_is_not_recorded_is_refused_where_that_was_wished() -> None:
    """And left to the answer book where it answers at once, or where nothing was wished."""
    asked, late = exchange(call(9, city="Kyoto")), Decision(5.0, by="book")
    refused = Replay(recorded(WEATHER), otherwise=Otherwise.ERROR).instead(asked, late)
    assert (refused.after, refused.form) == (0.0, TextForm.ERROR)
    assert json.loads(refused.text) == {
        "code": -32602,
        "message": "no answer was recorded for tools/call weather",
    }
    at_once = late._replace(after=0.0)
    assert Replay((), otherwise=Otherwise.ERROR).instead(asked, at_once) == at_once
    assert Replay(()).instead(asked, late) == late


def test_a_request_that_was_recorded_without_an_answer_has_what_was_said_about_it() -> None:
    """Each time in its turn, and then no more; it is no answer to be counted."""
    log = '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}'
    frames = [
        frame(1, Direction.IN, call(1, city="Tokyo")),
        frame(2, Direction.OUT, log),
        frame(3, Direction.IN, '{"jsonrpc":"2.0","method":"notifications/initialized"}'),
    ]
    replay = Replay(recorded(frames))
    assert len(replay) == 0
    left = replay.find_unanswered(exchange(call(7, city="Tokyo")))
    assert left is not None
    assert [one.raw.decode() for one in left.before] == [log]
    assert replay.find_unanswered(exchange(call(8, city="Tokyo"))) is None
    assert Replay(recorded(frames[:2])).find_unanswered(exchange(call(7, city="Osaka"))) is None
    assert Replay(recorded(WEATHER)).find_unanswered(exchange(call(7, city="Tokyo"))) is None


def test_the_reaction_to_a_notification_is_said_again_in_its_turn() -> None:
    """What a server says after `initialized`, say; of another method nothing."""
    ready = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
    frames = [
        *session((call(1), said(1, "x"))),
        frame(3, Direction.IN, ready),
        frame(4, Direction.OUT, changed),
    ]
    replay = Replay(recorded(frames))
    assert replay.reaction("notifications/x") is None
    reaction = replay.reaction("notifications/initialized")
    assert reaction is not None
    assert [one.raw.decode() for one in reaction.after] == [changed]
    assert replay.reaction("notifications/initialized") is None
    assert replay.reaction("tools/call") is None


def test_a_recorded_answer_is_found_by_its_frame_and_counted() -> None:
    """With all that was said around it."""
    replay = Replay(recorded(WEATHER))
    assert len(replay) == 3
    around = replay.around(4)
    assert around is not None
    assert (around.seq, around.id) == (4, "2")
    assert replay.around(3) is None


def test_what_was_missing_is_told_without_pings_and_in_a_line() -> None:
    """A ping asks for nothing that is recorded; a name may be as long as it likes."""
    replay = Replay(())
    for text in ('{"jsonrpc":"2.0","id":1,"method":"ping"}', call(1)):
        replay.miss(exchange(text))
    assert [unrecorded.words for unrecorded in replay.misses] == ["1 tools/call weather"]
    assert UnrecordedRequest(3, "tools/list", "").words == "3 tools/list"
    assert len(UnrecordedRequest(3, "tools/call", "x" * 500).words) <= 120


def test_a_recording_of_the_newest_version_has_its_own_discovery() -> None:
    """No "method not found" is made up where the server spoke without a handshake."""
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}, "name": "t"}
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": meta})
    replay = Replay(recorded(session((asked, said(1, "x")))))
    discover = '{"jsonrpc":"2.0","id":0,"method":"server/discover"}'
    assert replay.find(exchange(discover, "2026-07-28")) is None
    assert Replay(recorded(WEATHER)).find(exchange(call(1, city="Tokyo"))) is not None


def test_an_answer_of_a_recording_is_given_as_it_was() -> None:
    """At once, with the frame that it comes from."""
    found = Replay(recorded(WEATHER)).find(exchange(call(9, city="Osaka")))
    assert found is not None
    text = '{"content":[],"said":"rain","n":1.0}'
    assert found.decision() == Decision(0.0, text, TextForm.RESULT, "replay: 4", own=Replayed(4))
    discover = exchange('{"jsonrpc":"2.0","id":0,"method":"server/discover"}', "2026-07-28")
    made = Replay(recorded(WEATHER)).find(discover)
    assert made is not None
    error = '{"code":-32601,"message":"Method not found"}'
    assert made.decision() == Decision(0.0, error, TextForm.ERROR, "replay: 0", own=Replayed(0))


@pytest.mark.parametrize(
    ("city", "by"),
    [("abcdefghij", "replay: 2"), ("abcdefghix", "replay: 2 (similar)"), ("", None)],
)
def test_parameters_are_similar_enough_or_not(city: str, by: str | None) -> None:
    """Six tenths of them."""
    asked, answered = call(1, city="abcdefghij"), said(1, "x")
    replay = Replay(recorded(session((asked, answered))), Match.SIMILAR)
    replay.given(2)
    other = call(1, city=city) if city else call(1, n=list(range(99)))
    assert played(replay, other) == by


def test_what_is_not_recorded_has_a_decision_of_its_own() -> None:
    """Of the real server, or an error by nobody."""
    asked = exchange('{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    forward = Replay((), otherwise=Otherwise.FORWARD).instead(asked, Decision(0.0, by="book"))
    assert forward == Decision(own=Otherwise.FORWARD)
    refused = Replay((), otherwise=Otherwise.ERROR).instead(asked, Decision())
    error = {"code": -32602, "message": "no answer was recorded for tools/list"}
    text = json.dumps(error)
    assert refused == Decision(0.0, text, TextForm.ERROR, "replay: not recorded")


def test_an_answer_can_take_as_long_as_it_took() -> None:
    """Also over midnight; without times, no time."""
    at = ["2026-11-20T23:59:59.500Z", "2026-11-21T00:00:02.000Z"]
    frames = [one._replace(at=time) for one, time in zip(WEATHER[:2], at, strict=True)]
    (one,) = recorded(frames)
    assert one.took == 2.5
    (one,) = recorded([frame._replace(at="") for frame in frames])
    assert one.took == 0.0


def test_what_was_not_used_is_named() -> None:
    """Each recorded request with an answer; a handshake belongs to the client."""
    hello = '{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}'
    frames = session((hello, said(7, "hello")), *((call(i, n=i), said(i, "x")) for i in (1, 2)))
    replay = Replay(recorded(frames))
    assert replay.unused == ["tools/call weather", "tools/call weather"]
    played(replay, call(9, n=2))
    assert replay.unused == ["tools/call weather"]


def test_the_spelling_of_an_id_stays_when_the_id_changes() -> None:
    """Text for a number, a number with decimals, half a message."""
    names = {"id": ("7", '"a"')}
    assert renewed(b'{"id":7}{"id":70}{"id" : 7', names) == b'{"id":"a"}{"id":70}{"id" : "a"'
    numbers = {"id": ("7", "8")}
    assert renewed(b'{"id":7.0}{"id":"7"}\xff', numbers) == b'{"id":8.0}{"id":"8"}\xff'


@pytest.mark.parametrize(
    ("was", "becomes", "line", "renewed_line"),
    [
        ("7", "8", '{"id": "7"}', '{"id": "8"}'),
        ("7", '"a"', '{"id":"7"}', '{"id":"a"}'),
        ("7", '"a"', '{"id":7.00}', '{"id":"a"}'),
        ('"a"', "8", '{"id":"a"}', '{"id":"8"}'),
        ('"XaX"', '"XbX"', '{"id":"XaX"}', '{"id":"XbX"}'),
        ('"a"', "-8", '{"id":a}', '{"id":-8}'),
        (
            "7",
            "8",
            '{"id":7.5}{"ids":7}{"id":71}{"xid":7}',
            '{"id":7.5}{"ids":7}{"id":71}{"xid":7}',
        ),
        ('"a.b"', '"c"', '{"id":"axb"}{"id":"a.b"}', '{"id":"axb"}{"id":"c"}'),
    ],
)
def test_the_spelling_stays_as_far_as_the_new_id_allows(
    was: str, becomes: str, line: str, renewed_line: str
) -> None:
    """Quotes stay; a text for a number gets some, and no decimals."""
    assert renewed(line.encode(), {"id": (was, becomes)}) == renewed_line.encode()

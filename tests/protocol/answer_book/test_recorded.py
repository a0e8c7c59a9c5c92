"""What a server did in a recording: which line belongs to which request."""

import json
from dataclasses import replace

import pytest

from humanmcp.protocol.answer_book.recorded import (
    BY_STUB,
    Recorded,
    comparison_key,
    recorded,
)
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import NO_RESPONSE
from humanmcp.protocol.json.removed import mark_of
from tests.support.verdicts import asked

AT = "2026-11-20T00:00:00.000Z"


def call(id: int, token: object = None) -> str:  # noqa: A002 - the protocol's own word
    """Write a call of a tool."""
    meta = "" if token is None else f',"_meta":{{"progressToken":{token}}}'
    params = f'{{"name":"dice"{meta}}}'
    return f'{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}'


def result(id: int) -> str:  # noqa: A002 - the protocol's own word
    """Write an answer."""
    return f'{{"jsonrpc":"2.0","id":{id},"result":{{"n":{id}}}}}'


LOG = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}'


def read(*lines: tuple[Direction, str, *tuple[int | str, ...]]) -> tuple[Recorded, ...]:
    """Read a recording; a line may have the number of an exchange, and who wrote it."""
    frames = []
    for seq, (direction, line, *rest) in enumerate(lines, 1):
        number, by = rest or (0, "")
        frames.append(Frame(seq, AT, direction, line.encode(), int(number), str(by)))
    return recorded(frames)


def said(recorded: Recorded) -> tuple[list[int], list[int]]:
    """Say by their frames what was said before and after an answer."""
    return [each.seq for each in recorded.before], [each.seq for each in recorded.after]


def test_progress_belongs_to_the_request_whose_token_it_has() -> None:
    """Also when another one came later; a log belongs to the last one that waits."""
    progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,'
    first, second = read(
        (Direction.IN, call(1, 7)),
        (Direction.IN, call(2)),
        (Direction.OUT, progress + '"progress":1}}'),
        (Direction.OUT, LOG),
        (Direction.OUT, result(1)),
        (Direction.OUT, result(2)),
        (Direction.OUT, LOG),
    )
    assert (first.id, said(first)) == ("1", ([3], []))
    assert (second.id, said(second)) == ("2", ([4], [7]))


def test_a_servers_own_recording_says_by_number_what_a_broken_line_answers() -> None:
    """Two wait; the wrong id names neither."""
    answers = read(
        (Direction.IN, call(1), 1, ""),
        (Direction.IN, call(2), 2, ""),
        (Direction.OUT, result(99), 1, "terminal"),
        (Direction.OUT, result(2), 2, "terminal"),
    )
    assert [(recorded.id, recorded.raw is not None) for recorded in answers] == [
        ("1", True),
        ("2", False),
    ]


def test_what_came_before_a_broken_answer_and_after_it_is_told_apart() -> None:
    """The last broken line of a request that got nothing else was its answer."""
    (recorded,) = read(
        (Direction.IN, call(1), 1, ""),
        (Direction.OUT, "starting", 0, ""),
        (Direction.OUT, "{", 1, "terminal"),
        (Direction.OUT, LOG, 1, "terminal"),
    )
    assert recorded.raw == b"{"
    assert said(recorded) == ([2], [4])


def test_what_a_server_said_to_gain_time_is_not_said_again() -> None:
    """Its progress and its hold are no part of the server's behaviour: the repeat is answered."""
    hold = '{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}'
    (recorded,) = read(
        (Direction.IN, call(1), 1, ""),
        (Direction.OUT, LOG, 1, BY_STUB),
        (Direction.OUT, hold, 1, BY_STUB),
        (Direction.IN, call(2)),
        (Direction.OUT, result(2), 1, "terminal"),
    )
    assert (recorded.id, said(recorded)) == ("2", ([], []))


def test_what_stands_in_for_a_server_that_is_not_there_is_no_answer_of_it() -> None:
    """A tap answers its client with an error when nobody listens at the address."""
    data = json.dumps(NO_RESPONSE)
    error = f'{{"jsonrpc":"2.0","id":1,"error":{{"code":-32603,"message":"a","data":{data}}}}}'
    assert read((Direction.IN, call(1)), (Direction.OUT, error)) == ()


def test_a_cancelled_request_has_no_answer() -> None:
    """What comes for it all the same is said after it was cancelled."""
    cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    (recorded,) = read((Direction.IN, call(1)), (Direction.IN, cancel), (Direction.OUT, result(1)))
    assert (recorded.method, said(recorded)) == ("notifications/cancelled", ([], [3]))


def test_an_array_of_answers_answers_each_request_of_an_array() -> None:
    """2025-03-26: item by item, and what in it is no message is left out."""
    first, second = read(
        (Direction.IN, f"[{call(1)},{call(2)},7]"),
        (Direction.OUT, f"[{result(2)},7,{result(1)}]"),
    )
    assert [(recorded.text, recorded.raw) for recorded in (first, second)] == [
        ('{"n":1}', None),
        ('{"n":2}', None),
    ]


def test_an_array_is_a_broken_answer_to_a_request_that_came_alone() -> None:
    """Clients drop it; a line of no answers is said as it was."""
    array = f"[{result(1)}]"
    (recorded,) = read((Direction.IN, call(1)), (Direction.OUT, array))
    assert recorded.raw == array.encode()
    question = '[{"jsonrpc":"2.0","id":9,"method":"ping"}]'
    (recorded,) = read(
        (Direction.IN, call(1)), (Direction.OUT, question), (Direction.OUT, result(1))
    )
    assert [recorded.raw.decode() for recorded in recorded.before] == [question]


def test_what_a_server_says_before_it_was_asked_comes_before_the_first_request() -> None:
    """Empty lines count for nothing."""
    (recorded,) = read(
        (Direction.OUT, "starting"),
        (Direction.OUT, "  "),
        (Direction.IN, call(1)),
        (Direction.OUT, result(1)),
    )
    assert said(recorded) == ([1], [])
    assert recorded.before[0].message is None
    assert not recorded.before[0].asks


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc":"2.0","id":1.0,"result":{"n":1}}',
        '{"jsonrpc":"2.0","id":1,"result":{"n":1},"more":1}',
        "\ufeff" + result(1),
    ],
)
def test_an_answer_that_is_not_as_it_should_be_is_kept_as_it_was(line: str) -> None:
    """It is replayed right or wrong: another spelling of the id, more members, a mark before it."""
    (recorded,) = read((Direction.IN, call(1)), (Direction.OUT, line))
    assert recorded.raw == line.encode()
    (plain,) = read((Direction.IN, call(1)), (Direction.OUT, result(1)))
    assert plain.raw is None
    assert plain.answered


def test_a_question_of_the_server_is_told_from_a_notice() -> None:
    """The client has to answer it before the server goes on."""
    (recorded,) = read(
        (Direction.IN, call(1)),
        (Direction.OUT, '{"jsonrpc":"2.0","id":9,"method":"roots/list"}'),
        (Direction.IN, '{"jsonrpc":"2.0","id":9,"result":{"roots":[]}}'),
        (Direction.OUT, LOG),
        (Direction.OUT, result(1)),
    )
    assert [each.asks for each in recorded.before] == [True, False]


def test_a_subscription_takes_no_line_that_names_no_request() -> None:
    """It waits until the end; its acknowledgement is said anew each time."""
    listen = '{"jsonrpc":"2.0","id":5,"method":"subscriptions/listen"}'
    told = '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"}'
    (recorded,) = read(
        (Direction.IN, call(1)),
        (Direction.IN, listen),
        (Direction.OUT, told),
        (Direction.OUT, LOG),
        (Direction.OUT, result(1)),
    )
    assert (recorded.method, said(recorded)) == ("tools/call", ([4], []))


def test_a_broken_line_belongs_to_the_request_whose_id_stands_in_it() -> None:
    """Spelt as a text or a number."""
    first, second = read(
        (Direction.IN, call(1)),
        (Direction.IN, call(2)),
        (Direction.OUT, '{"id":"1","resu'),
        (Direction.OUT, result(2)),
    )
    assert (first.id, first.raw) == ("1", b'{"id":"1","resu')
    assert (second.id, second.raw) == ("2", None)


def test_what_is_compared_is_what_was_asked_in_an_order_of_its_own() -> None:
    """Not the `_meta`, and not what a server of 2026-07-28 gave for the repeat."""
    params = {"b": 1, "a": "é", "_meta": {"x": 1}, "requestState": "s"}
    assert comparison_key(params) == '{"a":"é","b":1}'


@pytest.mark.parametrize(
    ("first", "second", "line", "owner"),
    [
        ('"a"', '"b"', '{"id":"a","resu', '"a"'),
        ('"a"', '"b"', '{"id":"b","resu', '"b"'),
        ("1", "2", '{"id": 1', "1"),
        ("1", "2", '{"id":"1"', "1"),
        ('"1"', "2", '{"id":1', '"1"'),
        ("1", '"1"', '{"id":1', '"1"'),
        ("1", "2", '{"id":2,"x":{"id":1', "2"),
        ('"X1X"', "2", '{"id":"X1X"', '"X1X"'),
        ("1", "2", '{"id":9', "2"),
        ("1", "2", "words", "2"),
    ],
)
def test_a_broken_line_is_of_the_last_request_that_it_can_name(
    first: str, second: str, line: str, owner: str
) -> None:
    """Of those that wait; where it names none, of the last one."""
    asked = '{{"jsonrpc":"2.0","id":{},"method":"x"}}'
    found = read(
        (Direction.IN, asked.format(first)),
        (Direction.IN, asked.format(second)),
        (Direction.OUT, line),
    )
    assert [(recorded.id, recorded.raw) for recorded in found] == [(owner, line.encode())]


PROGRESS = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s}}'


@pytest.mark.parametrize(
    ("token", "owner"), [("7", "1"), ('"7"', "2"), ("8", "3"), ('""', "3"), ("null", "3")]
)
def test_progress_without_an_owner_is_of_the_last_request(token: str, owner: str) -> None:
    """A token is compared as it is written; one that no request gave names none."""
    (recorded,) = read(
        (Direction.IN, call(1, 7)),
        (Direction.IN, call(2, '"7"')),
        (Direction.IN, call(3)),
        (Direction.OUT, PROGRESS % token),
    )
    assert (recorded.id, said(recorded)) == (owner, ([4], []))


def test_a_line_is_of_the_last_request_that_nothing_was_meant_to_answer() -> None:
    """What came broken may have been its answer: the next line is of the one before it."""
    first, second = read(
        (Direction.IN, call(1)),
        (Direction.IN, call(2)),
        (Direction.OUT, "{"),
        (Direction.OUT, LOG),
    )
    assert (first.id, said(first)) == ("1", ([4], []))
    assert (second.id, second.raw, second.seq) == ("2", b"{", 3)


def test_the_number_of_an_exchange_that_is_over_names_no_request() -> None:
    """The line is of one that waits, or else of the last answer."""
    first, second = read(
        (Direction.IN, call(1), 1, ""),
        (Direction.IN, call(2), 2, ""),
        (Direction.OUT, result(1), 1, "terminal"),
        (Direction.OUT, LOG, 1, "terminal"),
        (Direction.OUT, result(2), 2, "terminal"),
        (Direction.OUT, LOG, 1, "terminal"),
    )
    assert (first.id, said(first)) == ("1", ([], []))
    assert (second.id, said(second)) == ("2", ([4], [6]))


def test_an_answer_to_nothing_that_was_asked_is_a_broken_line() -> None:
    """Of the request that waits for one."""
    (recorded,) = read((Direction.IN, call(1)), (Direction.OUT, result(9)))
    assert (recorded.id, recorded.raw, recorded.text) == ("1", result(9).encode(), None)


def test_what_was_cancelled_got_no_answer_by_a_broken_line() -> None:
    """It was said before it was cancelled, and stays so."""
    cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    (recorded,) = read((Direction.IN, call(1)), (Direction.OUT, "{"), (Direction.IN, cancel))
    assert (recorded.method, recorded.answered, said(recorded)) == ("tools/call", False, ([2], []))


def test_what_was_printed_before_a_notification_answers_it_in_no_way() -> None:
    """There is nothing to answer; it is said again when the notification comes."""
    notice = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    (recorded,) = read((Direction.OUT, "starting"), (Direction.IN, notice), (Direction.OUT, LOG))
    assert (recorded.method, recorded.id, recorded.name, recorded.answered) == (
        "notifications/initialized",
        "",
        "",
        False,
    )
    assert (recorded.modern, said(recorded)) == (False, ([1], [3]))


def test_a_record_holds_what_was_asked_and_how_it_was_answered() -> None:
    """The name, the parameters, the token and the version; the number is the answer's."""
    line = '{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"dice","_meta":{%s}}}'
    stated = '"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    error = '{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"x"}}'
    for version in ("", stated):
        asked = line % f'{version}"progressToken":"p"'
        assert read((Direction.IN, asked), (Direction.OUT, error)) == (
            Recorded(
                seq=2,
                method="tools/call",
                name="dice",
                params='{"name":"dice"}',
                text='{"code":1,"message":"x"}',
                form=TextForm.ERROR,
                modern=version == stated,
                id='"a"',
                progress_token='"p"',
            ),
        )


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc":"1.0","id":1,"result":{"n":1}}',
        '{"id":1,"result":{"n":1}}',
        '{"jsonrpc":"2.0","id":1,"id":1,"result":{"n":1}}',
        '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"},"result":{}}',
    ],
)
def test_an_answer_with_another_envelope_is_kept_as_it_was(line: str) -> None:
    """Another version of JSON-RPC or none, two ids, two answers."""
    (recorded,) = read((Direction.IN, call(1)), (Direction.OUT, line))
    assert recorded.raw == line.encode()


GONE = mark_of("TOKEN")


@pytest.mark.parametrize(
    ("kept", "params", "fits"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1, "_meta": {"progressToken": 7}}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": GONE}, {"a": "anything"}, True),
        ({"a": GONE, "b": 1}, {"b": 2, "a": "x"}, False),
        ({"a": f"Bearer {GONE}"}, {"a": "Basic x"}, False),
    ],
)
def test_what_was_removed_from_the_parameters_may_be_anything(
    kept: dict[str, object], params: dict[str, object], *, fits: bool
) -> None:
    """The rest is the same, in any order."""
    (one,) = read((Direction.IN, call(1), 1, ""), (Direction.OUT, result(1), 1, ""))
    assert replace(one, params=comparison_key(kept)).has_params(params) is fits


@pytest.mark.parametrize(
    ("method", "name", "fits"),
    [
        ("tools/call", "dice", True),
        ("tools/call", GONE, True),
        ("tools/call", "coin", False),
        ("prompts/get", "dice", False),
    ],
)
def test_a_recorded_request_is_for_its_method_and_tool(
    method: str, name: str, *, fits: bool
) -> None:
    """A name that was removed may be any."""
    (one,) = read((Direction.IN, call(1), 1, ""), (Direction.OUT, result(1), 1, ""))
    request = asked("tools/call", {"name": "dice"})
    assert replace(one, method=method, name=name).is_for(request) is fits

"""Lines of JSON-RPC: read, cut off, and shown to people."""

import json
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.json import jsonrpc, undecoded
from humanmcp.protocol.json.encodings import half_characters
from humanmcp.protocol.json.jsonrpc import (
    AmbiguousError,
    Batch,
    Flaw,
    Kind,
    Malformed,
    Message,
    RequestId,
    compact,
    decode_once,
    deeper_than,
    item_spans,
    items_in,
    json_type,
    member,
    members,
    read,
    value_end,
    wire_line,
    with_token,
)
from humanmcp.protocol.json.undecoded import META, outline, stand_in


def message(line: str | bytes) -> Message:
    """Read a line that must be a message."""
    got = read(line.encode() if isinstance(line, str) else line)
    assert isinstance(got, Message), got
    return got


def malformed(line: str | bytes) -> Malformed:
    """Read a line that must not be one."""
    got = read(line.encode() if isinstance(line, str) else line)
    assert isinstance(got, Malformed), got
    return got


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ('{"jsonrpc":"2.0","id":1,"method":"ping"}', Kind.REQUEST),
        ('{"jsonrpc":"2.0","method":"notifications/initialized"}', Kind.NOTIFICATION),
        ('{"jsonrpc":"2.0","id":1,"result":{}}', Kind.RESULT),
        ('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}', Kind.ERROR),
        ('{"jsonrpc":"2.0","error":{"code":-32600,"message":"x"}}', Kind.ERROR),
        ('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}', Kind.ERROR),
        ('{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', Kind.ERROR),
        # a program with one structure for all messages
        ('{"id":1,"method":"ping","params":{},"result":null,"error":null}', Kind.REQUEST),
        ('{"method":"ping","result":null,"error":null}', Kind.NOTIFICATION),
        ('{"id":1,"method":null,"params":null,"result":{},"error":null}', Kind.RESULT),
        ('{"id":1,"method":"","params":null,"result":{},"error":null}', Kind.RESULT),
        ('{"id":1,"method":"","result":null,"error":{"code":1,"message":"x"}}', Kind.ERROR),
        ('{"id":1,"method":7,"result":{}}', Kind.RESULT),
        ('{"id":1,"method":"","result":null}', Kind.RESULT),
        ('{"id":1,"result":null,"error":null}', Kind.RESULT),
        ('{"id":1,"error":null}', Kind.ERROR),
        ('{"id":1,"method":"ping","result":{}}', Kind.REQUEST),
        ('{"id":1,"method":""}', Kind.REQUEST),
    ],
)
def test_the_members_that_are_present_tell_the_kind(line: str, kind: Kind) -> None:
    """A request has method and id, a notification no id, a response result or error."""
    assert message(line).kind is kind


@pytest.mark.parametrize(
    "token",
    [
        "0",
        "-1",
        "7",
        '"7"',
        '""',
        "9007199254740993",
        "1.0",
        "1e0",
        '"\\u0061"',
        '"東京"',
        '"a\\"b"',
    ],
)
def test_an_id_keeps_its_token_byte_for_byte(token: str) -> None:
    """Zero, empty, huge, spelled oddly: the token stays as it came."""
    got = message(f'{{"id" : {token} , "method":"ping"}}').id
    assert got is not None
    assert got.token == token


def test_seven_and_the_text_seven_are_different_ids() -> None:
    """An id is its type and its value."""
    number, text = message('{"id":7,"method":"m"}').id, message('{"id":"7","method":"m"}').id
    assert number is not None
    assert text is not None
    assert number.key != text.key


def test_one_and_one_point_zero_are_the_same_id() -> None:
    """JSON has one kind of number; only the spelling differs."""
    whole, point = message('{"id":1,"method":"m"}').id, message('{"id":1.0,"method":"m"}').id
    assert whole is not None
    assert point is not None
    assert whole.key == point.key
    assert whole.token != point.token


@pytest.mark.parametrize("bad", ["true", "null", "1.5", "{}", "[1]", "1e400"])
def test_an_id_that_mcp_forbids_makes_no_request(bad: str) -> None:
    """`true` is no integer, null is forbidden, 1.5 is not a whole number."""
    assert malformed(f'{{"id":{bad},"method":"ping"}}').why == "N07"


def test_the_last_of_two_equal_members_counts_for_the_id_too() -> None:
    """Parsers keep the last one, so its token is the one to echo."""
    got = message('{"id":1,"id":2,"method":"ping"}').id
    assert got is not None
    assert got.token == "2"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"hello", "N01"),
        (b'{"a":', "N01"),
        (b"\xff\xfe{\x00", "N02"),
        (b'{"id":1,"method":"\xe9"}', "N02"),
        (b"[" * 100_000, "N03"),
        (b'{"id":' + b"9" * 5000 + b',"method":"x"}', "N04"),
        (b"42", "N05"),
        (b'"text"', "N05"),
        (b'{"foo":1}', "N06"),
        (b"[]", "N06"),
        (b'{"method":7,"id":3}', "N06"),
        (b'{"result":{}}', "N08"),
    ],
)
def test_a_line_that_is_no_message_is_a_value_with_its_bytes(line: bytes, why: str) -> None:
    """Nothing raises, and the bytes are kept."""
    got = malformed(line)
    assert got.why == why
    assert got.raw == line
    assert isinstance(got.text, str)


def test_a_malformed_request_still_shows_its_id() -> None:
    """A person may answer it deliberately, so the id is worth knowing."""
    got = malformed('{"method":7,"id":"q-3"}')
    assert got.id is not None
    assert got.id.token == '"q-3"'


def test_a_batch_keeps_the_text_of_each_message() -> None:
    """2025-03-26: an array of messages; each keeps its own text and tokens."""
    got = read(b'[ {"id":1.0,"method":"ping"} , {"method":"n"}, 42, {"id":true,"method":"x"} ]')
    assert isinstance(got, Batch)
    first, second, third, fourth = got.items
    assert isinstance(first, Message)
    assert isinstance(second, Message)
    assert first.raw == '{"id":1.0,"method":"ping"}'
    assert second.kind is Kind.NOTIFICATION
    assert isinstance(third, Malformed)
    assert isinstance(fourth, Malformed)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{ "a" : [ 1.0 , 1e5 ] }', '{"a":[1.0,1e5]}'),
        ('{\r\n\t"a b" :\n"c \\" d"\n}', '{"a b":"c \\" d"}'),
        ('{"n": 123456789012345678901234567890}', '{"n":123456789012345678901234567890}'),
        ('{"u": "\\u00e9 \\ud83d\\ude00 東"}', '{"u":"\\u00e9 \\ud83d\\ude00 東"}'),
        ('"\u2028"', '"\u2028"'),
    ],
)
def test_compact_takes_only_the_space_between_tokens(text: str, line: str) -> None:
    """The person's own text on one line; nothing inside a string changes."""
    assert compact(text) == line


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(
    value=json_values,
    indent=st.sampled_from([None, 1, 2, "\t"]),
    ascii_only=st.booleans(),
)
def test_compact_changes_no_value_and_leaves_one_line(
    value: object, indent: int | str | None, *, ascii_only: bool
) -> None:
    """Whatever is typed, the line says the same thing and is one line."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    line = compact(text)
    assert json.loads(line) == value
    assert "\n" not in line
    assert "\r" not in line


@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_members_name_the_exact_text_of_each_value(body: dict[str, object]) -> None:
    """The spans cut out what the parser reads."""
    text = json.dumps(body, indent=1, ensure_ascii=False)
    assert {name: json.loads(text[a:b]) for name, a, b in members(text)} == body
    for name, value in body.items():
        assert json.loads(member(text, name) or "") == value


def test_a_missing_member_is_none() -> None:
    """Also where the text holds no object at all."""
    assert member('{"a":1}', "b") is None
    assert member("[1]", "a") is None


@given(st.binary(max_size=300))
def test_reading_any_bytes_never_fails(line: bytes) -> None:
    """Any bytes give a message, a batch or a value that says why not."""
    assert isinstance(read(line), Message | Batch | Malformed)


def test_depth_counts_brackets_outside_strings_only() -> None:
    """A text full of brackets is not deep."""
    assert not deeper_than('["' + "[" * 500 + '"]', 3)
    assert deeper_than("[[[[", 3)
    assert not deeper_than("[[[", 3)
    assert not deeper_than("[] " * 200, 3)


def test_each_json_type_has_one_name() -> None:
    """The names that sentences use."""
    values: list[object] = [None, True, "x", 1, 1.5, [], {}]
    names = ["null", "boolean", "text", "number", "number", "list", "object"]
    assert [json_type(value) for value in values] == names


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            '{"jsonrpc":"2.0", "id" : 1 ,"result":{"id":1}}',
            '{"jsonrpc":"2.0", "id" : "a" ,"result":{"id":1}}',
        ),
        ('{"id":1,"result":{},"id":"x"}', '{"id":"a","result":{},"id":"a"}'),
        ('{"method":"m"}', '{"method":"m"}'),
    ],
)
def test_only_the_messages_own_id_is_another_one(text: str, left: str) -> None:
    """However it is written, wherever it stands, also twice; where there is none, none is made."""
    assert with_token(text, '"a"') == left


def test_a_cancellation_names_another_request() -> None:
    """The id of what it cancels stands in its parameters."""
    path = ("params", "requestId")
    text = '{"method":"notifications/cancelled","params":{"reason":"requestId","requestId":3}}'
    assert with_token(text, "4", path) == text.replace("3", "4")
    assert with_token('{"method":"m"}', "4", path) == '{"method":"m"}'


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ('"a\\"b" x', 6),
        ("-1.5e3,", 6),
        ("true]", 4),
        ("null}", 4),
        ("7", 1),
        ('{"a":[1]} x', 9),
        ("[[]],", 4),
        ('{"a":{"b":["]\\"}"]}}}', 20),
        ("[[[[]]]]],", 8),
        (f'{{"a":["}}",{"7" * 5000}]}} x', 5012),
        (f'[[[["}}",{"7" * 5000}]]]] x', 5012),
    ],
)
def test_the_end_of_a_value_is_found_whatever_follows(text: str, end: int) -> None:
    """Also of one that holds an integer which Python refuses to read (4300 digits)."""
    assert value_end(text, 0) == end
    assert value_end(f"[{text}", 1) == end + 1


def test_the_items_of_a_list_are_found_with_their_own_text() -> None:
    """White space between them belongs to none."""
    text = ' [ 1 , "a,]" ,[ 2 ], {"b" : 3} ] '
    assert [text[start:end] for start, end in item_spans(text, 1)] == [
        "1",
        '"a,]"',
        "[ 2 ]",
        '{"b" : 3}',
    ]
    assert list(item_spans("[]", 0)) == []


def test_one_line_is_one_message_or_several() -> None:
    """2025-03-26: an array; what in it is no message is told as such."""
    first, second = items_in(b'[{"jsonrpc":"2.0","method":"a"},7]')
    assert isinstance(first, Message)
    assert isinstance(second, Malformed)
    (only,) = items_in(b'{"jsonrpc":"2.0","method":"a"}')
    assert isinstance(only, Message)
    (broken,) = items_in(b"[]")
    assert isinstance(broken, Malformed)


def test_a_token_is_replaced_wherever_it_stands() -> None:
    """A name may stand twice; what stands at another place stays."""
    text = '{"id":1,"params":{"_meta":{"progressToken":1},"id":1},"id":2}'
    assert with_token(text, '"x"') == (
        '{"id":"x","params":{"_meta":{"progressToken":1},"id":1},"id":"x"}'
    )
    path = ("params", "_meta", "progressToken")
    assert with_token(text, "9", path) == text.replace('progressToken":1', 'progressToken":9')
    assert with_token(text, "9", ("params", "none")) == text


BIG = "x" * 5_000


@pytest.mark.parametrize(
    "line",
    [
        f'{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"a":"{BIG}"}}}}',
        f'{{"method":"tools/call","params":{{"a":"{BIG}"}},"jsonrpc":"2.0","id":7}}',
        f'{{"params":{{"id":1,"a":"{BIG}"}}, "method" : "tools/call" , "id" : 7 }}\r',
    ],
)
def test_method_and_id_are_read_wherever_they_stand(line: str) -> None:
    """Before the parameters, after them, and on both sides."""
    raw = line.encode()
    made = stand_in(raw[:1024], raw[-1024:], len(raw))
    assert made is not None
    message = read(made)
    assert isinstance(message, Message)
    assert (message.kind, message.method) == (Kind.REQUEST, "tools/call")
    assert message.id is not None
    assert message.id.token == "7"
    assert str(len(raw)) in message.meta[META]


def test_an_id_goes_back_as_it_came() -> None:
    """Byte for byte, whatever its type."""
    raw = f'{{"id":"a\\u00e9","method":"x","params":"{BIG}"}}'.encode()
    made = stand_in(raw[:1024], raw[-1024:], len(raw))
    assert made is not None
    assert b'"id":"a\\u00e9",' in made


@pytest.mark.parametrize(
    "line",
    [
        BIG,
        f'{{"jsonrpc":"2.0","method":"notifications/x","params":"{BIG}"}}',
        f'{{"jsonrpc":"2.0","id":7,"result":"{BIG}"}}',
        f'["{BIG}"]',
        f'{{"params":["{BIG}",{{"method":"x","id":7}}]}}',
        f'{{"id":12345,"method":7,"params":"{BIG}"}}',
        '{"a":' * 3000,
    ],
)
def test_what_is_no_request_stays_unread(line: str) -> None:
    """A notification, an answer, a log line, an id inside the parameters: nobody can answer it."""
    raw = line.encode()
    assert stand_in(raw[:1024], raw[-1024:], len(raw)) is None


def test_a_number_that_may_have_been_cut_is_no_id() -> None:
    """Half an id would answer somebody else's request."""
    raw = b'{"method":"x","id":' + b"1" * 2_000 + b"}"
    assert stand_in(raw[:1024], b"", len(raw)) is None


def test_the_stand_in_is_one_line_of_json() -> None:
    """It is recorded, shown and answered like any other."""
    raw = f'{{"id":1,"method":"a\\nb","params":"{BIG}"}}'.encode()
    made = stand_in(raw[:1024], raw[-1024:], len(raw))
    assert made is not None
    assert b"\n" not in made
    assert json.loads(made)["method"] == "a\nb"


@pytest.mark.parametrize(
    "line",
    [
        f'{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"a","b":["{BIG}"]}}}}',
        f'{{"method":"tools/call","params":{{"name":"a","b":["{BIG}"]}},"jsonrpc":"2.0","id":7}}',
        f'{{"params":{{"name":"a","b":["{BIG}"]}}, "method" : "tools/call" , "id" : 7 }}\r',
        f'{{"id":7,"method":"tools/call","params":{{"b":["{BIG}"],"name":"a"}}}}',
        f'{{"params":{{"b":["{BIG}"] , "name" : "a" }} ,"id":7,"method":"tools/call"}}',
    ],
)
def test_of_a_message_that_is_too_large_the_beginning_is_read(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The id, the method and the name of the tool are enough to answer it."""
    assert outline(line) == line, "this is not too large"
    monkeypatch.setattr(undecoded, "LARGEST", 4_000)
    monkeypatch.setattr(undecoded, "BEGINNING", 1_000)
    message = read(outline(line).encode())
    assert isinstance(message, Message)
    assert (message.kind, message.method) == (Kind.REQUEST, "tools/call")
    assert message.id is not None
    assert message.id.token == "7"
    assert message.params == {"name": "a", "b": []}


def test_the_beginning_of_a_message_is_json_wherever_it_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a string with brackets and commas, in a number, between a name and its value."""
    value = {
        "a,]}": ['x"],{', 12.5, True, None, {"b": [[], {}, [1, "\\"]]}],
        "c": {"d": "e"},
        "f": 1,
    }
    line = json.dumps({"id": 7, "params": value, "method": "x"})
    monkeypatch.setattr(undecoded, "LARGEST", 10)
    for end in range(2, len(line)):
        monkeypatch.setattr(undecoded, "BEGINNING", end)
        found = json.loads(outline(line))
        assert found["method"] == "x", "it stands at the end"
        assert found.get("params", {}).keys() <= value.keys()


def test_a_name_inside_the_arguments_is_not_the_name_of_the_tool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """More braces stand behind it."""
    monkeypatch.setattr(undecoded, "LARGEST", 4_000)
    monkeypatch.setattr(undecoded, "BEGINNING", 1_000)
    line = json.dumps({"params": {"arguments": {"x": BIG, "name": "inner"}}, "id": 7})
    assert json.loads(outline(line)) == {"params": {"arguments": {}}, "id": 7}


def test_a_message_of_many_values_is_large_and_a_picture_is_not() -> None:
    """It is the values that take the time, not the characters."""
    assert undecoded.is_large(f"[{'[],' * undecoded.MOST_VALUES}1]")
    assert not undecoded.is_large(f'{{"data":"{"A" * 5_000_000}"}}')
    assert not undecoded.is_large(json.dumps({"csv": '1,"[{\\",\n' * undecoded.MOST_VALUES}))
    assert undecoded.is_large(json.dumps([{"a,": "b"}] * undecoded.MOST_VALUES))
    assert undecoded.is_large(f'{{"data":"{"A" * undecoded.LARGEST}"}}')


@pytest.mark.parametrize(
    ("text", "line"),
    [(" a\r\nb\rc\nd ", "a b c d"), ("a\ud800b", "a?b"), (" \n ", None), ("", None)],
)
def test_any_text_is_one_line_of_the_wire(text: str, line: str | None) -> None:
    """Half a character is replaced; nothing is left of what is blank."""
    assert wire_line(text) == line


@pytest.mark.parametrize(
    ("text", "halves"),
    [
        (r'"\ud83d\ude00"', []),
        (r'"\ud83d"', [(1, 7)]),
        (r'"\ude00"', [(1, 7)]),
        (r'"\ud83d \ude00"', [(1, 7), (8, 14)]),
        (r'"\ud83d\n\ude00"', [(1, 7), (9, 15)]),
        (r'"\ud83d\ud83d\uDE00"', [(1, 7)]),
        (r'"\ud83d\ude00\ude00"', [(13, 19)]),
        (r'"\\ud83d"', []),
    ],
)
def test_half_a_character_is_found_where_its_other_half_is_missing(
    text: str, halves: list[tuple[int, int]]
) -> None:
    """The second half has to come just after the first."""
    assert half_characters(text) == halves


@pytest.mark.parametrize(
    ("text", "size"), [("", 0), ("ab", 2), ("é", 2), ("日本", 6), ("\ud800", -1)]
)
def test_a_text_is_as_large_as_its_utf8(text: str, size: int) -> None:
    """Half a character keeps it from being any."""
    assert jsonrpc.size_of(text) == size


def test_an_error_and_a_notification_keep_what_is_written() -> None:
    """The id and the parameters are text."""
    error = '{"jsonrpc":"2.0","id":7.0,"error":{"code":-32601,"message":"東"}}'
    assert jsonrpc.error_line("7.0", -32601, "東") == error
    notice = '{"jsonrpc":"2.0","method":"m","params":{"a":1.0}}'
    assert jsonrpc.notice_line("m", '{"a":1.0}') == notice


@pytest.mark.parametrize(
    ("own", "asked", "answers"),
    [
        (7, 7, True),
        (7, 8, False),
        ("7", 7, True),
        ("8", 7, False),
        ("07", 7, False),
        (7, "7", False),
        ("7", "7", True),
        ("1.0", 1.0, False),
        (1.0, 1, True),
    ],
)
def test_an_id_answers_its_own_and_the_number_that_it_shows(
    own: str | float, asked: str | float, *, answers: bool
) -> None:
    """SDKs make a number of a text, and never a text of a number."""
    assert RequestId("", own).answers(RequestId("", asked)) is answers


def test_an_id_of_our_own_is_written_as_json() -> None:
    """With its value."""
    assert RequestId.of(7) == RequestId("7", 7)
    assert RequestId.of('é"') == RequestId('"é\\""', 'é"')


PARSED: Final = RequestId("3", 3)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b"\xff", Malformed(b"\xff", Flaw.NOT_UTF8, (("byte", "1"),))),
        (b"ab\xc3", Malformed(b"ab\xc3", Flaw.NOT_UTF8, (("byte", "3"),))),
        (b'{"a":}', Malformed(b'{"a":}', Flaw.NOT_JSON, (("column", "6"),))),
        (b"", Malformed(b"", Flaw.NOT_JSON, (("column", "1"),))),
        (b"[" * 129, Malformed(b"[" * 129, Flaw.TOO_DEEP, (("limit", "128"),))),
        (b"[" * 128, Malformed(b"[" * 128, Flaw.NOT_JSON, (("column", "129"),))),
        (b"1" * 5000, Malformed(b"1" * 5000, Flaw.LONG_NUMBER)),
        (b"null", Malformed(b"null", Flaw.NO_OBJECT, (("got", "null"),))),
        (b"\xef\xbb\xbf7\r", Malformed(b"7", Flaw.NO_OBJECT, (("got", "number"),))),
        (b"7\r\r", Malformed(b"7\r", Flaw.NO_OBJECT, (("got", "number"),))),
        (b" [ ] ", Malformed(b" [ ] ", Flaw.NO_MESSAGE)),
        (b'{"id":3}', Malformed(b'{"id":3}', Flaw.NO_MESSAGE, id=PARSED)),
        (b'{"id":null}', Malformed(b'{"id":null}', Flaw.NO_MESSAGE)),
        (b'{"method":1}', Malformed(b'{"method":1}', Flaw.NO_MESSAGE)),
        (b'{"result":1}', Malformed(b'{"result":1}', Flaw.ID_MISSING)),
        (
            b'{"id":null,"result":1}',
            Malformed(b'{"id":null,"result":1}', Flaw.ID_MALFORMED, (("got", "null"),)),
        ),
        (
            b'{"id":[],"error":1}',
            Malformed(b'{"id":[],"error":1}', Flaw.ID_MALFORMED, (("got", "list"),)),
        ),
        (
            b'{"id":1.5,"method":"m"}',
            Malformed(b'{"id":1.5,"method":"m"}', Flaw.ID_MALFORMED, (("got", "number"),)),
        ),
    ],
    ids=range(18),
)
def test_what_is_no_message_is_told_with_its_place_and_its_type(
    line: bytes, found: Malformed
) -> None:
    """Each fills the sentence; what is left out fills nothing."""
    assert read(line) == found


@pytest.mark.parametrize(("count", "is_batch"), [(1, True), (100, True), (101, False)])
def test_a_batch_has_at_most_a_hundred_messages(count: int, *, is_batch: bool) -> None:
    """A longer one would keep others waiting."""
    text = f"[{','.join(['7'] * count)}]"
    found = read(text.encode())
    if is_batch:
        item = Malformed(b"7", Flaw.NO_OBJECT, (("got", "number"),))
        assert found == Batch(text, (item,) * count)
    else:
        assert found == Malformed(text.encode(), Flaw.LONG_BATCH, (("limit", "100"),))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a":1,"a":1}', "twice"),
        ('[{"b":{"a":1,"a":2}}]', "twice"),
        ("NaN", "number"),
        ("-Infinity", "number"),
        ("[1e400]", "number"),
        ("-1e400", "number"),
    ],
)
def test_json_with_two_meanings_has_a_code(text: str, reason: str) -> None:
    """Of a name, or of a number."""
    with pytest.raises(AmbiguousError) as error:
        decode_once(text)
    assert error.value.args == (reason,)
    assert decode_once('{"a":[1.5,-1e300,7],"b":{"a":null}}') == {
        "a": [1.5, -1e300, 7],
        "b": {"a": None},
    }


@pytest.mark.parametrize(
    ("line", "method", "params", "meta"),
    [
        ('{"method":"m","params":{"_meta":{"a":1}}}', "m", {"_meta": {"a": 1}}, {"a": 1}),
        ('{"method":"m","params":[1]}', "m", {}, {}),
        ('{"method":"m","params":{"_meta":7}}', "m", {"_meta": 7}, {}),
        ('{"id":1,"result":{"_meta":{}}}', "", {}, {}),
        ('{"error":7}', "", {}, {}),
    ],
)
def test_what_a_message_lacks_is_empty(
    line: str, method: str, params: object, meta: object
) -> None:
    """Also where something else is in its place."""
    found = message(line)
    assert (found.method, found.params, found.meta) == (method, params, meta)


@pytest.mark.parametrize(
    ("text", "at", "end"),
    [
        ("[]", 0, 2),
        ('{"]":[{}]} ]', 0, 10),
        ("[[]", 0, -1),
        ('["]', 0, -1),
        ("[]]", 1, -1),
        ("a[ ]", 0, 1),
        ("", 0, -1),
    ],
)
def test_brackets_are_closed_somewhere_or_nowhere(text: str, at: int, end: int) -> None:
    """A string that never ends hides all that follows."""
    assert jsonrpc.closed_at(text, at) == end


@pytest.mark.parametrize("limit", [2, 3, 8, 128])
@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize(
    "around",
    ["{}", '"\\""{}', '["{{"]{}', "[]{{}}[][][]{}"],
)
def test_the_depth_of_brackets_is_exact(limit: int, more: int, around: str) -> None:
    """Whatever stands before them, and in whatever order they come."""
    depth = limit + more
    for opens, closes in (("[", "]"), ("[{"[depth % 2], "]}"[depth % 2]), ("[", "")):
        text = around.format(opens * depth + closes * depth)
        assert deeper_than(text, limit) is (more > 0), text[:40]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a":1}', {"a": 1}),
        (b'{"a":1}', {"a": 1}),
        ("[]", {}),
        ("{", {}),
        (b"\xff", {}),
        ("[" * 200_000, {}),
    ],
    ids=range(6),
)
def test_an_object_is_read_or_empty(text: str | bytes, found: object) -> None:
    """Whatever a line holds."""
    assert jsonrpc.object_in(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a" : [1 ,2] , "b":{"c":1.0}, "a":7}', {"a": "7", "b": '{"c":1.0}'}),
        (' { "\\u0061":1}', {"a": "1"}),
        (r'{"\u0a":1,"\x":2,"c":3}', {r"\u0a": "1", r"\x": "2", "c": "3"}),
        ("[1]", {}),
        ("", {}),
    ],
)
def test_members_are_read_as_they_are_written(text: str, found: dict[str, str]) -> None:
    """The last of a name counts; a name is what it means, or is as it was written."""
    assert jsonrpc.parts_of(text) == found
    assert member(text, "b", "c") == ("1.0" if "b" in found else None)
    assert member(text) == text


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [
        ('{"id":7,"method":"m","params":{', "", {"id": "7", "method": '"m"'}),
        (' { "jsonrpc" : "2.0" , "id" : "a" , "x', "", {"id": '"a"'}),
        ('{"id":7', "", {}),
        ('{"id":7,', "", {"id": "7"}),
        ('{"id":null,"method":["m"],"x":', "", {}),
        ('["id",7,', "", {}),
        ("", '},"id":7,"method":"m"}', {"id": "7", "method": '"m"'}),
        ('{"id":1,"x":', '},"id":7}', {"id": "1"}),
        (
            '{"method":"a","x":',
            '}, "id" : -7 , "jsonrpc":"2.0" } \r',
            {"method": '"a"', "id": "-7", "jsonrpc": '"2.0"'},
        ),
    ],
)
def test_the_ends_of_a_line_show_its_id_and_method(
    first: str, last: str, found: dict[str, str]
) -> None:
    """What is complete there, and what the beginning says first."""
    assert undecoded.at_the_ends(first.encode(), last.encode()) == found


@pytest.mark.parametrize(
    ("line", "left"),
    [
        (
            '{"jsonrpc":"2.0","id":7,"method":"m","params":{}}',
            '{"jsonrpc":"2.0","id":7,"method":"m"}',
        ),
        ('{"method":"m","params":{}}', '{"jsonrpc":"2.0","method":"m"}'),
        ('{"id":"a","result":{"x":1}}', '{"jsonrpc":"2.0","id":"a","result":{}}'),
        ('{"id":7,"method":"","result":{}}', '{"jsonrpc":"2.0","id":7,"result":{}}'),
        ('{"id":7,"method":8,"result":{}}', '{"jsonrpc":"2.0","id":7,"result":{}}'),
        ("[]", '{"jsonrpc":"2.0","result":{}}'),
    ],
)
def test_the_envelope_of_a_line_says_which_request_it_is_or_answers(line: str, left: str) -> None:
    """With nothing of what is in it."""
    assert undecoded.envelope(line.encode()) == left.encode()


def test_what_stands_for_a_long_line_says_how_long_it_was() -> None:
    """Word for word."""
    told = '"5000 bytes: only the method and the id of this line were kept"'
    made = stand_in(b'{"id":7,"method":"m","params":{', b"", 5000)
    params = f'{{"_meta":{{"humanmcp/too-long":{told}}}}}'
    assert made == f'{{"jsonrpc":"2.0","id":7,"method":"m","params":{params}}}'.encode()


@pytest.mark.parametrize(
    ("text", "waiting", "answered"),
    [
        ("{'id': 7, 'result': {}", ["7", "8"], {"7"}),
        ('{\\"id\\":"a"}', ['"a"', "7"], {'"a"'}),
        ("{id: -7}", ["-7"], {"-7"}),
        ('{"id":9}', ["7"], set()),
        ('"result"', ["7"], {"7"}),
        ('"error":', ["7"], {"7"}),
        ('"result"', ["7", "8"], set()),
        ('"result"', [], set()),
        ('{"method"', ["7"], set()),
        ('{\0"\0i\0d\0"\0:\0007', ["7"], {"7"}),
    ],
)
def test_a_line_that_cannot_be_read_seems_to_answer_what_it_names(
    text: str, waiting: list[str], answered: set[str]
) -> None:
    """Or the only request that waits, where it looks like an answer."""
    assert undecoded.answered_in(text, waiting) == answered


def test_a_message_is_large_from_one_more_on() -> None:
    """Of characters, and of values."""
    assert not undecoded.is_large(" " * undecoded.LARGEST)
    assert undecoded.is_large(" " * (undecoded.LARGEST + 1))
    most = undecoded.MOST_VALUES
    assert not undecoded.has_many_values("[" * most)
    assert undecoded.has_many_values("," * (most + 1))
    assert not undecoded.has_many_values(f'{"[" * most}"{"," * 9}"')
    assert undecoded.has_many_values(f'{"{" * most}",",')


@pytest.mark.parametrize("first", ["{}", "{ }", '{"a":1}', '{"a":1,7', "{7"])
def test_the_beginning_of_a_line_may_show_nothing(first: str) -> None:
    """Neither an id nor a method."""
    assert undecoded.at_the_ends(first.encode(), b"") == {}


@given(st.text(alphabet='{}[]," \\a', max_size=60), st.integers(1, 9))
def test_a_text_is_the_same_in_pieces(text: str, size: int) -> None:
    """Wherever a piece ends: within a string, or before what a backslash escapes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonrpc, "_PIECE", size)
        pieces = list(jsonrpc.outside_strings(text))
    assert "".join(pieces) == "".join(jsonrpc.outside_strings(text))
    assert len(pieces) >= len(text) // (size + text.count("\\"))

"""A line that is too long to keep is a request all the same, and somebody can refuse it."""

import json

import pytest

from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import META, Kind, Message, outline, read, stand_in

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
    ],
)
def test_of_a_message_that_is_too_large_the_beginning_is_read(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The id, the method and the name of the tool are enough to answer it."""
    assert outline(line) == line, "this is not too large"
    monkeypatch.setattr(jsonrpc, "LARGEST", 4_000)
    monkeypatch.setattr(jsonrpc, "BEGINNING", 1_000)
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
    monkeypatch.setattr(jsonrpc, "LARGEST", 10)
    for end in range(2, len(line)):
        monkeypatch.setattr(jsonrpc, "BEGINNING", end)
        found = json.loads(outline(line))
        assert found["method"] == "x", "it stands at the end"
        assert found.get("params", {}).keys() <= value.keys()


def test_a_message_of_many_values_is_large_and_a_picture_is_not() -> None:
    """It is the values that take the time, not the characters."""
    assert jsonrpc.is_large(f"[{'[],' * jsonrpc.MOST_VALUES}1]")
    assert not jsonrpc.is_large(f'{{"data":"{"A" * 5_000_000}"}}')
    assert not jsonrpc.is_large(json.dumps({"csv": '1,"[{\\",\n' * jsonrpc.MOST_VALUES}))
    assert jsonrpc.is_large(json.dumps([{"a,": "b"}] * jsonrpc.MOST_VALUES))
    assert jsonrpc.is_large(f'{{"data":"{"A" * jsonrpc.LARGEST}"}}')

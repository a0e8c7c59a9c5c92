"""Which lines a tap holds, decided line by line: what is not understood is held whole.

Each line is one that some program reads as a call of a tool, or as something else than humanmcp.
"""

import tomllib
from typing import Final

import pytest

from humanmcp.extensions.tap.hold import Cancelled, Held, HoldPolicy, NotTaken
from humanmcp.protocol.answer_book.book_format import parse
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.validation.held import parse_patterns

CALL: Final = b'"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}'
PING: Final = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
TWO: Final = b"{" + CALL + b',"id":2}'


def _call(more: bytes) -> bytes:
    return b"{" + CALL + b"," + more + b"}"


def _in_arguments(value: bytes, method: bytes = b"ping") -> bytes:
    return b'{"jsonrpc":"2.0","id":1,"method":"%s","params":{"arguments":%s}}' % (method, value)


UNREAD: Final = {
    # what is no message to us
    "a call nested 129 deep": (_in_arguments(b"[" * 129 + b"]" * 129, b"tools/call"), "N03"),
    "an integer of 4301 digits": (_in_arguments(b"1" * 4301, b"tools/call"), "N04"),
    "an id that is null": (_call(b'"id":null'), "N07"),
    "an id of 1.5": (_call(b'"id":1.5'), "N07"),
    "an id that is true": (_call(b'"id":true'), "N07"),
    "an id that is a list": (_call(b'"id":[1]'), "N07"),
    "an array of 101 calls": (b"[" + b",".join([TWO] * 101) + b"]", "N17"),
    "an array with one bad message": (b"[" + PING + b"," + _call(b'"id":null') + b"]", "N07"),
    "an array in an array": (b"[[" + TWO + b"]]", "N05"),
    "an empty array": (b"[]", "N06"),
    "no JSON": (b'{jsonrpc:"2.0",id:1,method:"tools/call"}', "N01"),
    "a trailing comma": (_call(b'"id":2,'), "N01"),
    "a comment": (b"/* */" + TWO, "N01"),
    "half a message": (TWO[:-1], "N01"),
    "text": (b"call the tool x", "N01"),
    "a framing of another protocol": (b"Content-Length: 80", "N49"),
    "a call as a JSON string": (b'"{\\"method\\":\\"tools/call\\"}"', "N05"),
    "two messages on one line": (PING + TWO, "N54"),
    "two messages with a space": (PING + b" " + TWO, "N54"),
    "a method that is no text": (b'{"jsonrpc":"2.0","id":1,"method":["tools/call"]}', "N06"),
    "a method under another name": (b'{"jsonrpc":"2.0","id":1,"Method":"tools/call"}', "N06"),
    "invalid UTF-8": (b"{" + CALL + b',"id":"\xff"}', "N02"),
    "an overlong slash": (b'{"id":1,"method":"tools\xc0\xafcall"}', "N02"),
    "UTF-16 with a mark": (TWO.decode().encode("utf-16"), "N52"),
    "UTF-16 without a mark": (TWO.decode().encode("utf-16-le"), "N52"),
    "two byte-order marks": (b"\xef\xbb\xbf\xef\xbb\xbf" + TWO, "N01"),
    "a NUL before it": (b"\0" + TWO, "N01"),
    "a NUL after it": (PING + b"\0" + TWO, "N01"),
    # what other programs read differently
    "a carriage return between two": (PING + b"\r" + TWO, "N41"),
    "a carriage return inside": (
        b'{"id":1,"method":"ping","params":{"a":\r' + TWO + b"\r}}",
        "N41",
    ),
    "a name twice": (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping"}', "J09"),
    "a name twice deep inside": (_in_arguments(b'{"a":{"b":1,"b":2}}'), "J09"),
    "a name twice with an escape": (b'{"id":1,"m\\u0065thod":"x","method":"ping"}', "J09"),
    "not a number": (_in_arguments(b"NaN"), "J10"),
    "half a surrogate pair": (_in_arguments(b'"\\ud83d"'), "J23"),
    "a name in capitals beside it": (b'{"id":1,"method":"ping","METHOD":"tools/call"}', "N42"),
    "a name with a long s": ('{"id":1,"method":"ping","param\u017f":{}}'.encode(), "N42"),
    "arguments in capitals": (
        b'{"id":1,"method":"ping","params":{"name":"x","arguments":{},"Arguments":{}}}',
        "N42",
    ),
    "a method in capitals": (b'{"id":1,"method":"Tools/Call"}', "N42"),
    "a method with a space": (b'{"id":1,"method":"tools/call "}', "N42"),
    "a method with a NUL": (b'{"id":1,"method":"tools/call\\u0000"}', "N42"),
    "a name with a NUL": (b'{"id":1,"method":"ping","params":{"name":"x\\u0000y"}}', "N42"),
    "an array with a name twice": (b"[" + PING + b',{"id":1,"method":"a","id":2}]', "J09"),
}
"""A line, and why it is held."""

CALLS: Final = {
    "a call": TWO,
    "a call without jsonrpc": b'{"id":1,"method":"tools/call"}',
    "a call of another version": b'{"jsonrpc":"1.0","id":1,"method":"tools/call"}',
    "a call without an id": b'{"jsonrpc":"2.0","method":"tools/call"}',
    "an escaped slash": b'{"id":1,"method":"tools\\/call"}',
    "an escaped letter": b'{"id":1,"m\\u0065thod":"tools\\u002fcall"}',
    "a call with a result": b'{"id":1,"method":"tools/call","result":{}}',
    "a byte-order mark": b"\xef\xbb\xbf" + TWO,
    "white space around it": b" \t" + TWO + b" \r",
    "an array of calls": b"[" + PING + b"," + TWO + b"]",
    "an array of one call": b"[" + TWO + b"]",
}
"""Lines that everybody reads as a call, whatever they look like."""

OTHERS: Final = {
    "a request": PING,
    "a notification": b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    "a response": b'{"jsonrpc":"2.0","id":1,"result":{}}',
    "an error without an id": b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}',
    "an array of pings": b"[" + PING + b"]",
    "a byte-order mark": b"\xef\xbb\xbf" + PING,
    "a carriage return at its end": PING + b"\r",
    "a whole surrogate pair": _in_arguments(b'"\\ud83d\\ude00"'),
    "words of any language": _in_arguments('"東京\u2028\u202e"'.encode()),
    "a method of an extension": b'{"jsonrpc":"2.0","id":1,"method":"x-y/Z_1"}',
    "nothing": b"",
    "white space": b"  \t\r",
}
"""Lines that everybody reads as something else than a call."""


class Policy:
    """A policy with these patterns, and what it held."""

    def __init__(self, *patterns: str) -> None:
        self.kept: list[Held | NotTaken | Cancelled] = []
        self.recorded: list[Held | NotTaken] = []
        self.policy = HoldPolicy(record=self.recorded.append, keep=self.kept.append)
        self.policy.hold(parse_patterns(patterns))

    def why(self, line: bytes, direction: Direction = Direction.IN) -> list[str] | None:
        """Return why a line is held, [] if a pattern asks for it; None if it passes."""
        if self.policy.passes(direction, line + b"\n"):
            return None
        held = self.kept[-1]
        assert isinstance(held, Held)
        assert held == self.recorded[-1]
        assert held.line == line + b"\n"  # whole
        return [one.code for one in held.unread]


@pytest.mark.parametrize("pattern", ["tools/call", "in", "tool:y", "in:ping", "next"])
@pytest.mark.parametrize(("line", "code"), UNREAD.values(), ids=UNREAD)
def test_what_is_not_understood_is_held_and_says_why(line: bytes, code: str, pattern: str) -> None:
    """Whatever the pattern asks for, if it asks the client's messages at all."""
    assert Policy(pattern).why(line) == [code]


@pytest.mark.parametrize("line", CALLS.values(), ids=CALLS)
def test_a_call_is_held_however_it_is_written(line: bytes) -> None:
    """It is understood, so it can be changed and answered as any other."""
    assert Policy("tools/call").why(line) == []


@pytest.mark.parametrize("line", OTHERS.values(), ids=OTHERS)
def test_what_is_understood_and_not_asked_for_passes(line: bytes) -> None:
    """A hold holds up nothing else."""
    assert Policy("tools/call").why(line) is None


@pytest.mark.parametrize(
    ("pattern", "sides"),
    [
        ("tools/call", {Direction.IN}),
        ("tool:x", {Direction.IN}),
        ("in", {Direction.IN}),
        ("in:tools/call", {Direction.IN}),
        ("out", {Direction.OUT}),
        ("out:tools/call", {Direction.OUT}),
        ("sampling/createMessage", {Direction.OUT}),
        ("ping", {Direction.IN, Direction.OUT}),
        ("x/of-an-extension", {Direction.IN, Direction.OUT}),
        ("next", {Direction.IN, Direction.OUT}),
        ("in:next", {Direction.IN}),
    ],
)
def test_a_pattern_holds_what_is_not_understood_from_the_side_that_it_is_about(
    pattern: str, sides: set[Direction]
) -> None:
    """A server that writes a log line to stdout is not held up by a hold of calls."""
    held = {side for side in (Direction.IN, Direction.OUT) if Policy(pattern).why(b"?", side)}
    assert held == sides


def test_without_a_hold_everything_passes() -> None:
    """Also after the last pattern was taken away."""
    policy = Policy("next")
    assert policy.why(b"?") == ["N01"]  # it was the next message
    assert policy.policy.patterns == ()
    assert policy.why(b"?") is None
    assert not policy.policy.closed


@pytest.mark.parametrize(
    ("rule", "holds"),
    [('do = "hold"', True), ('text = "sunny"', True), ('do = "forward"', False)],
)
def test_a_rule_that_keeps_requests_back_keeps_back_what_is_not_understood(
    rule: str, *, holds: bool
) -> None:
    """No rule matches such a line, and the server must not get it for that."""
    policy = Policy()
    policy.policy.follow(parse(tomllib.loads(f'[[rules]]\nmethod = "tools/call"\n{rule}\n')))
    assert (policy.why(_call(b'"id":null')) == ["N07"]) is holds


@pytest.mark.parametrize(
    ("rule", "holds"),
    [('do = "hold"', True), ('text = "sunny"', True), ('do = "forward"', False)],
)
def test_a_rule_that_keeps_a_call_back_keeps_back_the_array_around_it(
    rule: str, *, holds: bool
) -> None:
    """It waits for a person: a rule answers no array."""
    policy = Policy()
    policy.policy.follow(parse(tomllib.loads(f'[[rules]]\nmethod = "tools/call"\n{rule}\n')))
    assert (policy.why(b"[" + PING + b"," + TWO + b"]") == []) is holds
    assert policy.why(b"[" + PING + b"]") is None


@pytest.mark.parametrize(
    ("params", "holds"),
    [
        (b'{"name":"x"}', True),
        (b'{"name":" x "}', True),
        (b'{"name":["x"]}', True),
        (b'{"uri":"y"}', True),
        (b'["x",{}]', True),
        (b"null", True),
        (b'{"name":"y"}', False),
        (b'{"name":"X"}', False),
    ],
)
def test_a_call_that_names_its_tool_otherwise_is_held_with_the_calls_of_each_tool(
    params: bytes, *, holds: bool
) -> None:
    """A program may take a list of one text for the text, or params by their position."""
    held = Policy("tool:x").why(b'{"id":1,"method":"tools/call","params":' + params + b"}")
    assert (held == []) is holds


def test_a_rule_and_a_pattern_that_allow_a_call_allow_none_that_is_read_differently() -> None:
    """The rule forwards calls; a line with two methods is no call to everybody."""
    policy = Policy("in")
    policy.policy.follow(parse(tomllib.loads('[[rules]]\nmethod = "tools/call"\ndo = "forward"\n')))
    assert policy.why(TWO) is None
    assert policy.why(b'{"id":1,"method":"ping","method":"tools/call"}') == ["J09"]

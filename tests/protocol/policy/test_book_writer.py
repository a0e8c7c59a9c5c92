"""A recorded session as an answer book: what becomes a rule, and what it cannot hold."""

from __future__ import annotations

from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.policy.book_writer import CopiedBook, LeftOut, copied

AT = "2026-11-20T00:00:00.000Z"


def book(*lines: tuple[Direction, str]) -> CopiedBook:
    """Copy a session of these lines."""
    numbered = enumerate(lines, 1)
    return copied([Frame(seq, AT, way, line.encode()) for seq, (way, line) in numbered])


def asked(name: str, number: int = 1) -> tuple[Direction, str]:
    """Write a call of a tool."""
    params = f'{{"name":"{name}","arguments":{{"n":1}}}}'
    line = f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{params}}}'
    return Direction.IN, line


def answered(result: str, number: int = 1) -> tuple[Direction, str]:
    """Write an answer."""
    return Direction.OUT, f'{{"jsonrpc":"2.0","id":{number},"result":{result}}}'


SIX = '{"content":[{"type":"text","text":"six"}]}'


def test_an_answer_becomes_a_rule_of_what_was_asked() -> None:
    """The tool and its arguments are the condition, a plain text is written as one."""
    (rule,) = book(asked("dice"), answered(SIX)).rules
    assert (rule["tool"], rule["where"], rule["text"]) == ("dice", {"n": 1}, "six")


def test_what_a_book_cannot_hold_is_named_with_its_reason() -> None:
    """TOML has no null; a broken answer is none."""
    assert book(asked("dice"), answered('{"content":[],"next":null}')).left_out == (
        LeftOut("null", "tools/call", "dice"),
    )
    assert book(asked("dice"), (Direction.OUT, '{"id":1,"resu')).left_out == (
        LeftOut("broken", "tools/call", "dice"),
    )


def test_the_same_call_answered_otherwise_is_the_next_turn_of_its_rule() -> None:
    """Equal answers stay one."""
    one = '{"content":[{"type":"text","text":"one"}]}'
    lines = (asked("dice"), answered(SIX), asked("dice", 2), answered(one, 2))
    (rule,) = book(*lines).rules
    assert (rule["text"], [turn["text"] for turn in rule["then"]]) == ("six", ["one"])
    (rule,) = book(*lines[:3], answered(SIX, 2)).rules
    assert "then" not in rule


def test_an_error_becomes_the_error_of_a_rule() -> None:
    """With its code, its words and its data."""
    error = '{"code":-32602,"message":"no","data":{"a":1}}'
    answer = f'{{"jsonrpc":"2.0","id":1,"error":{error}}}'
    (rule,) = book(asked("dice"), (Direction.OUT, answer)).rules
    assert rule["error"] == {"code": -32602, "message": "no", "data": {"a": 1}}
    assert "text" not in rule

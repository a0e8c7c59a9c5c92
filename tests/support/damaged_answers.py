"""Answers as people type them: right ones, and what slips, editors and languages make of them."""
# ruff: noqa: RUF001 - full-width and curly characters are what this is about

import json
import pprint
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

SUNNY: Final = {"content": [{"type": "text", "text": "sunny, 22 degrees"}]}

RIGHT: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("tools/call", {"result": SUNNY}),
    ("tools/call", {"result": {**SUNNY, "isError": True}}),
    ("tools/call", {"result": {"content": [{"type": "text", "text": "東京は晴れです。"}]}}),
    ("tools/call", {"result": {"content": [{"type": "text", "text": "it's 5 o'clock: go"}]}}),
    ("tools/call", {"result": {"content": [{"type": "text", "text": 'say "hi" {now}'}]}}),
    ("tools/call", {"result": {"content": [{"type": "text", "text": "one\ntwo\tthree"}]}}),
    ("tools/call", {"result": {"content": [{"type": "text", "text": "see C:\\Users\\me"}]}}),
    ("tools/call", {"result": {"content": [{"type": "text", "text": "http://a.b/c?d=e#f"}]}}),
    (
        "tools/call",
        {
            "result": {
                "content": [{"type": "text", "text": "first"}, {"type": "text", "text": "second"}],
                "structuredContent": {"sum": 12.5, "parts": [1, 2], "unit": "mm", "sure": None},
            }
        },
    ),
    ("tools/call", {"error": {"code": -32602, "message": "too far, ask at home"}}),
    (
        "tools/call",
        {"error": {"code": -32603, "message": "broken", "data": {"retry": False, "after": 30}}},
    ),
    (
        "tools/call",
        {
            "result": {
                "content": [
                    {
                        "type": "text",
                        "text": "A long answer of many words that a printer of Python breaks, "
                        "since no line of it may be wider than eighty columns, as people say.",
                    }
                ]
            }
        },
    ),
    (
        "tools/list",
        {
            "result": {
                "tools": [
                    {
                        "name": "roll",
                        "description": "Roll dice, many at once",
                        "inputSchema": {
                            "type": "object",
                            "properties": {"sides": {"type": "integer", "minimum": 2}},
                            "required": ["sides"],
                        },
                    }
                ]
            }
        },
    ),
    (
        "resources/read",
        {"result": {"contents": [{"uri": "file:///notes.md", "text": "# Notes\n- milk"}]}},
    ),
    (
        "prompts/get",
        {
            "result": {
                "description": "Review",
                "messages": [{"role": "user", "content": {"type": "text", "text": "Look at it"}}],
            }
        },
    ),
    ("ping", {"result": {}}),
)
"""Methods and answers without their envelope."""


class Typed(NamedTuple):
    """A text as it was typed, and the answer that was meant."""

    kind: str
    method: str
    text: str
    meant: dict[str, Any]


def _python(answer: dict[str, Any]) -> str:
    return repr(answer)


def _pprint(answer: dict[str, Any]) -> str:
    return pprint.pformat(answer, width=60)


def _javascript(answer: dict[str, Any]) -> str:
    text = json.dumps(answer, ensure_ascii=False, indent=2)
    return re.sub(r'^(\s*)"(\w+)":', r"\1\2:", text, flags=re.MULTILINE)


def _input_method(answer: dict[str, Any]) -> str:
    return _outside(answer, lambda part: part.translate(str.maketrans("{}[]:,", "｛｝［］：、")))


def _corners(answer: dict[str, Any]) -> str:
    return _outside(answer, lambda part: part.translate(str.maketrans("{}[]:,", "｛｝「」：、")))


def _curly(answer: dict[str, Any]) -> str:
    text = json.dumps(answer, ensure_ascii=False)
    return re.sub(r'(?<!\\)"((?:[^"\\]|\\.)*)"', r"“\1”", text)


def _outside(answer: dict[str, Any], change: Callable[[str], str]) -> str:
    """Change what stands outside strings."""
    text = json.dumps(answer, ensure_ascii=False)
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    return "".join(part if at % 2 else change(part) for at, part in enumerate(parts))


SAME: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "json": lambda answer: json.dumps(answer, ensure_ascii=False),
    "ascii": json.dumps,
    "pretty": lambda answer: json.dumps(answer, ensure_ascii=False, indent=2),
    "python": _python,
    "pprint": _pprint,
    "javascript": _javascript,
    "input method": _input_method,
    "corners": _corners,
    "curly": _curly,
    "trailing commas": lambda answer: _outside(
        answer, lambda part: re.sub(r"([\]}])", r",\1", part)
    ),
    "semicolon": lambda answer: json.dumps(answer, ensure_ascii=False) + ";",
    "one more brace": lambda answer: json.dumps(answer, ensure_ascii=False) + "}",
    "last brace lost": lambda answer: json.dumps(answer, ensure_ascii=False)[:-1],
    "first brace lost": lambda answer: json.dumps(answer, ensure_ascii=False)[1:],
    "both braces lost": lambda answer: json.dumps(answer, ensure_ascii=False)[1:-1],
    "fence": lambda answer: f"```json\n{json.dumps(answer, ensure_ascii=False)}\n```\n",
    "cmd.exe": lambda answer: f"'{json.dumps(answer)}'" if "'" not in json.dumps(answer) else "",
}
"""Ways to write an answer that leave no doubt about what was meant."""


def whole(answer: dict[str, Any]) -> dict[str, Any]:
    """Put an answer into its envelope."""
    return {"jsonrpc": "2.0", "id": 3, **answer}


def plainly() -> Iterator[Typed]:
    """Yield every answer, written in each of the ways that leave no doubt."""
    for method, right in RIGHT:
        answer = whole(right)
        for kind, write in SAME.items():
            text = write(answer)
            if text:
                yield Typed(kind, method, text, answer)


def carelessly() -> Iterator[Typed]:
    """Yield every answer with one mistake, at each place where one is likely."""
    for method, right in RIGHT:
        answer = whole(right)
        text = json.dumps(answer, ensure_ascii=False)
        for at, char in enumerate(text):
            if char in '{}[]",:\\':
                yield Typed(f"without {at}", method, text[:at] + text[at + 1 :], answer)
            if char in '{}[]",:' and at % 3 == 0:
                yield Typed(f"doubled {at}", method, text[:at] + char + text[at:], answer)
        for name, value in _strings(answer):
            for kind, new in _retyped(name):
                yield Typed(f"{kind} {name}", method, text.replace(f'"{name}"', new, 1), answer)
            for kind, new in _retyped(value):
                was = json.dumps(value, ensure_ascii=False)
                yield Typed(f"{kind} {value}", method, text.replace(was, new, 1), answer)
        for more in ('"note": "mine"', '"note": {"a": "kept"}', '"Extra": "x y"', '"meta": null'):
            yield Typed(f"more {more}", method, f"{text[:-1]}, {more}}}", answer)
            yield Typed(f"first {more}", method, f"{{{more}, {text[1:]}", answer)
            inside = re.sub(r'("(?:result|error)": \{)', rf"\1{more}, ", text, count=1)
            yield Typed(f"inside {more}", method, inside, answer)
        for before, after in (
            ("Here it is: ", ""), ("", " thanks"), ("", " // done"), ("# mine\n", ""),
            ("Sure!\n```json\n", "\n```\nHope it helps"), ("", '\n{"second": "answer"}'),
            ("data: ", "\n\n"), ("> ", ""), ("const x = ", ";"), ("print(", ")"),
        ):  # fmt: skip
            yield Typed(f"{before}…{after}", method, before + text + after, answer)


def _strings(value: object) -> Iterator[tuple[str, str]]:
    """Yield the names of an answer whose values are texts, with these."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, str):
                yield name, inner
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _retyped(text: str) -> Iterator[tuple[str, str]]:
    """Yield other spellings of a text in quotes."""
    yield "bare", text
    yield "triple", f'"""{text}"""'
    yield "raw", f'"{text}"'
    yield "single", f"'{text}'"
    yield "corner", f"「{text}」"
    yield "guillemets", f"«{text}»"
    yield "half open", f'{text}"'
    yield "not closed", f'"{text}'
    yield "null", "null"
    yield "number", "07"
    middle = len(text) // 2
    yield "two", f'"{text[:middle]}" "{text[middle:]}"'
    yield "plus", f"'{text[:middle]}' +\n '{text[middle:]}'"
    yield "upper", f'"{text.upper()}"'

"""Texts that make a careless reader slow: each is a unit that is repeated, in several surroundings.

`steepness` lets a reader read one of them at two lengths, and compares the processor times: a
reader that tries the same place twice takes longer than the text is longer.
"""

import time
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

UNITS: Final = {
    "quotes": '"',
    "escaped quotes": '\\"',
    "backslashes": "\\\\",
    "single backslashes": "\\",
    "braces": "{",
    "brackets": "[",
    "objects in arrays": "[{",
    "names": '"a":',
    "nested objects": '{"a":',
    "closed objects": "{}",
    "closing brackets": "]}",
    "objects on lines": '{"a":1}\n',
    "block comments": "/*",
    "line comments": "//",
    "hashes": "#",
    "blanks": " ",
    "tabs": "\t",
    "carriage returns": "\r",
    "letters and carriage returns": "a\r",
    "line feeds": "\n",
    "letters and line feeds": "a\n",
    "Windows line ends": "\r\n",
    "events": "data: x\n",
    "events with carriage returns": "data: x\r",
    "event fields": "data:",
    "whole events": "event: message\ndata: {\n\n",
    "boxes": "│ {\n",
    "logged braces": "2026-11-28 09:00:00 info {\n",
    "quoted in HTML": "&quot;",
    "doubled quotes": '""',
    "quotes and commas": '","',
    "empty texts": '"",',
    "quotes, then a letter": '"a',
    "single quotes": "'",
    "curly quotes": "“",
    "backticks": "`",
    "fences": "```\n",
    "digits": "1",
    "zeros": "0",
    "minus signs": "-",
    "exponents": "e9",
    "decimal points": "1.",
    "commas": ",",
    "numbers": "1,",
    "half surrogates": "\\ud800",
    "escapes": "\\u0000",
    "byte-order marks": "\ufeff",
    "base64": "QUJD",
    "angle brackets": "<",
    "tags": "<a>",
    "percent escapes": "%22",
    "terminal colours": "\x1b[31m",
    "unfinished colours": "\x1b[",
    "zero bytes": "\0",
    "equals signs": "=",
    "colons": ":",
    "words": "word ",
    "letters": "a",
    "members of a message": '"jsonrpc":"2.0",',
    "messages begin": '{"jsonrpc":"2.0",',
    "ids": '"id": ',
    "methods": '"method":"a",',
    "stars": "**",
    "underscores": "_",
    "parentheses": "(",
    "dollars": "${",
    "dots": "a.",
    "slashes": "a/",
    "full-width brackets": "\uff3b",
    "combining marks": "a\u0301\u0301",
    "right to left": "\u05d0\u202e",
    "emoji": "\U0001f468\u200d",
}
"""What is repeated, by its name."""

AROUND: Final = {
    "alone": ("", ""),
    "after a brace": ('{"a":\n', ""),
    "in deep brackets": ("[" * 129, ""),
    "in a string": (
        '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"',
        '"}]}}',
    ),
    "between messages": (
        '{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        '\n{"jsonrpc":"2.0","id":1,"result":{}}\n',
    ),
}
"""What stands before and after the repeated unit."""


class Hostile(NamedTuple):
    """One text that can be made at any length."""

    unit: str
    around: str

    def __str__(self) -> str:
        return f"{self.unit}, {self.around}"

    def of(self, length: int) -> str:
        """Return it with a repeated part of about so many characters."""
        before, after = AROUND[self.around]
        unit = UNITS[self.unit]
        return f"{before}{unit * (length // len(unit))}{after}"


def every() -> Iterator[Hostile]:
    """Yield each unit in each surrounding."""
    return (Hostile(unit, around) for around in AROUND for unit in UNITS)


SHORT: Final = 2_000
LONG: Final = 16_000
_RATIO: Final = 16
"""Eight times the text takes at most so many times as long: a quadratic reader takes 64 times."""
_NOISE: Final = 0.05
"""Processor seconds that the machine may add."""


def steepness(read: Callable[[str], object], hostile: Hostile) -> str:
    """Return how a reader's time grows if it grows faster than the text; "" if it does not.

    A pair of times that is too steep is measured again: the machine may have been busy.
    """
    text, before, now = hostile.of(LONG), 0.0, 0.0
    for _try in range(3):
        now = _seconds(read, text)
        if now <= _NOISE:
            return ""
        before = _seconds(read, hostile.of(SHORT))
        if now <= _RATIO * before + _NOISE:
            return ""
    return f"{hostile}: {before:.3f} s for {SHORT:,} characters, {now:.3f} s for {LONG:,}"


def _seconds(read: Callable[[str], object], text: str) -> float:
    """Return the processor time of reading a text."""
    start = time.process_time()
    read(text)
    return time.process_time() - start

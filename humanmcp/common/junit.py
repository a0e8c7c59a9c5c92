"""Results as JUnit's XML, which every service of continuous integration shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from collections.abc import Sequence


class Case(NamedTuple):
    """One result. `failure` says why it failed, `skipped` why nothing is known; "" for neither."""

    group: str
    name: str
    failure: str = ""
    skipped: str = ""
    text: str = ""
    """What proves it."""
    seconds: float = 0.0


def junit(suite: str, cases: Sequence[Case]) -> str:
    """Return a whole document. What XML cannot have becomes U+FFFD."""
    failed = sum(bool(one.failure) for one in cases)
    skipped = sum(bool(one.skipped) for one in cases)
    counts = f'tests="{len(cases)}" failures="{failed}" skipped="{skipped}"'
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f"<testsuite name={_quoted(suite)} {counts}>",
    ]
    for one in cases:
        named = f"classname={_quoted(one.group)} name={_quoted(one.name)}"
        inner = ""
        if one.failure:
            text = escape(_allowed(one.text))
            inner = f"<failure message={_quoted(one.failure)}>{text}</failure>"
        elif one.skipped:
            inner = f"<skipped message={_quoted(one.skipped)}/>"
        lines.append(f'<testcase {named} time="{one.seconds:.1f}">{inner}</testcase>')
    return "\n".join([*lines, "</testsuite>"])


def _quoted(text: str) -> str:
    return quoteattr(_allowed(text))


def _allowed(text: str) -> str:
    """Replace what no XML document may have (XML 1.0, 2.2: Char)."""
    return "".join(
        char
        if char in "\t\n" or " " <= char < "\ud800" or "\udfff" < char not in "\ufffe\uffff"
        else "\ufffd"
        for char in text
    )

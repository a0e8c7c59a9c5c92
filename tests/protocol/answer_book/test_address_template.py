"""The addresses that a rule is meant for, and what stands in their gaps."""

import itertools
import re
import time

import pytest

from humanmcp.protocol.answer_book.book_entry import LONGEST_ADDRESS, gaps_filled

LONG = 3.0
"""Seconds that no comparison takes; those that tried each way to cut the address took hours."""


@pytest.mark.parametrize(
    ("template", "address", "filled"),
    [
        ("note://all", "note://all", {}),
        ("note://all", "note://al", None),
        ("note://{id}", "note://7", {"id": "7"}),
        ("note://{id}", "note://", None),
        ("note://{id}", "note://a/b", None),
        ("note://{+rest}", "note://a/b", {"rest": "a/b"}),
        ("w://{city}-{day}", "w://a-b-c", {"city": "a-b", "day": "c"}),
        ("{+all}.{kind}", "a/b.c.d", {"all": "a/b.c", "kind": "d"}),
        ("x{a}{b}y", "x123y", {"a": "12", "b": "3"}),
    ],
)
def test_each_gap_takes_as_much_as_it_can(
    template: str, address: str, filled: dict[str, str] | None
) -> None:
    """The first one first; one without a plus takes no slash."""
    assert gaps_filled(template, address) == filled


@pytest.mark.parametrize("template", ["{a}-{b}", "{a}{+b}", "a{+x}/{y}", "{+a}-{b}/{c}", "/{a}a"])
def test_a_gap_means_what_a_pattern_means(template: str) -> None:
    """Of all short addresses."""
    parts = re.split(r"\{(\+?)(\w)\}", template)
    named = zip(parts[1::3], parts[2::3], strict=True)
    gaps = [f"(?P<{name}>{'.+' if plus else '[^/]+'})" for plus, name in named]
    texts = map(re.escape, parts[::3])
    pattern = "".join(itertools.chain(*itertools.zip_longest(texts, gaps, fillvalue="")))
    for size in range(7):
        for letters in itertools.product("a-/", repeat=size):
            found = re.fullmatch(pattern, "".join(letters))
            assert gaps_filled(template, "".join(letters)) == (found and found.groupdict())


@pytest.mark.parametrize(
    ("template", "letter"),
    [("{a}-{b}-{c}-{d}/x", "-"), ("{a}{b}{c}{d}", "a"), ("{+a}/{+b}/{+c}/x", "/")],
)
def test_no_address_of_a_peer_costs_more_than_its_length(template: str, letter: str) -> None:
    """It fits in a billion ways, up to its last letter."""
    address = letter * (LONGEST_ADDRESS - 1) + ("/" if letter == "a" else "\n")
    began = time.process_time()
    assert gaps_filled(template, address) is None
    assert time.process_time() - began < LONG
    assert gaps_filled("{+a}", "a" * (LONGEST_ADDRESS + 1)) is None

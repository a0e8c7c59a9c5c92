"""How many slips of the fingers lie between two words."""

import pytest

from humanmcp.protocol.json.tree import slips


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        ("", "", 0),
        ("text", "text", 0),
        ("tex", "text", 1),
        ("textt", "text", 1),
        ("tezt", "text", 1),
        ("etxt", "text", 1),
        ("tetx", "text", 1),
        ("txet", "text", 1),
        ("ba", "ab", 1),
        ("ettx", "text", 2),
        ("txt", "text", 1),
        ("", "abc", 3),
        ("abc", "", 3),
        ("abcd", "", 4),
        ("", "abcdef", 4),
        ("abcd", "wxyz", 4),
        ("cab", "abc", 2),
        ("uri", "url", 1),
    ],
)
def test_letters_left_out_added_changed_or_swapped_are_counted(
    one: str, other: str, count: int
) -> None:
    """Up to one more than the limit; it is the same both ways."""
    assert slips(one, other, 3) == count
    assert slips(other, one, 3) == count
    assert slips(one, other, 1) == min(count, 2)

"""What headers say: a length."""

from __future__ import annotations

import pytest

from humanmcp.protocol.http.headers import content_length


@pytest.mark.parametrize(
    ("values", "length"),
    [
        ([], 0),
        (["0"], 0),
        (["17"], 17),
        (["9" * 12], 999_999_999_999),
        (["9" * 13], None),
        (["1" * 5000], None),
        (["²"], None),
        (["٣"], None),
        (["-1"], None),
        (["1_0"], None),
        ([""], None),
        (["5", "5"], None),
    ],
)
def test_a_length_is_digits_and_stands_once(values: list[str], length: int | None) -> None:
    """Anything else would be read in two ways, or end a process that turns it into a number."""
    assert content_length(values) == length

"""What the core says of a great many texts is what stands in `verdicts/`."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

import pytest

from tests.protocol import recorded_verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.mark.parametrize("each", recorded_verdicts.EVERY, ids=lambda each: each.__name__)
def test_what_is_said_of_a_text_is_what_was_said_before(each: Callable[[], Iterator[str]]) -> None:
    """Whole: the problems, their places, words and fixes, and the line that would go out.

    Where it is to be otherwise: `python -m tests.protocol.recorded_verdicts`, and read the change.
    """
    kept = (recorded_verdicts.FILES / f"{each.__name__}.txt").read_text("utf-8").split("\n")[:-1]
    heading = ""
    for now, before in zip_longest(recorded_verdicts.said(each), kept):
        heading = now if now and not now.startswith("    ") else heading
        assert now == before, f"{each.__name__}: {heading}"

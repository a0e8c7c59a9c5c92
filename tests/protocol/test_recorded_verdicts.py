"""What the core says of a great many texts is what was recorded in `verdicts/`."""

from collections.abc import Callable, Iterator

import pytest

from tools.verdicts import recording


@pytest.mark.parametrize("each", recording.EVERY, ids=lambda each: each.__name__)
def test_what_is_said_of_a_text_is_what_was_said_before(each: Callable[[], Iterator[str]]) -> None:
    """Compare the problems, their places, words and fixes, and the line that would go out."""
    before = (recording.FILES / f"{each.__name__}.txt").read_text("utf-8").split("\n")[:-1]
    now = recording.recorded(each)
    changed = [line for line in now if line not in before]
    assert now == before, (
        f"{each.__name__}, now: {changed[:3]}. `python -m tools.verdicts.recording "
        "--compare HEAD` shows each line that differs; its --help says what to do then."
    )

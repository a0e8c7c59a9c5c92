"""What `completion/complete` is asked with, and what its answer offers."""

import pytest

from humanmcp.protocol.tables import versions
from humanmcp.protocol.validation import starting_draft

REF = {"type": "ref/prompt", "name": "trip"}


@pytest.mark.parametrize("version", versions.ALL)
def test_the_other_arguments_go_along_where_the_version_has_a_place(version: str) -> None:
    """`context` came with 2025-06-18; empty ones are left out, and the argument itself."""
    given = {"country": "Japan", "city": "O", "day": ""}
    asked = starting_draft.asked(REF, "city", "O", given, version)
    assert asked["argument"] == {"name": "city", "value": "O"}
    later = version >= versions.R2025_06
    assert asked.get("context") == ({"arguments": {"country": "Japan"}} if later else None)
    assert "context" not in starting_draft.asked(REF, "city", "O", {"city": "O"}, version)


def test_a_server_is_asked_that_offers_it_or_cannot_say_so() -> None:
    """The capability came with 2025-03-26."""
    assert starting_draft.has_completions({}, versions.R2024_11)
    assert not starting_draft.has_completions({"prompts": {}}, versions.R2025_03)
    assert starting_draft.has_completions({"completions": {}}, versions.R2026_07)


def test_only_words_are_offered() -> None:
    """It came over a wire: it may be anything."""
    assert starting_draft.values_of({"completion": {"values": ["a", 1, "b"]}}) == ["a", "b"]
    strange: tuple[object, ...] = (
        None,
        [],
        {},
        {"completion": []},
        {"completion": {"values": "abc"}},
    )
    for result in strange:
        assert starting_draft.values_of(result) == []

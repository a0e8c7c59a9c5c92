"""JSON Pointers, written and followed."""

from __future__ import annotations

import pytest

from humanmcp.protocol.json.pointer import at, pointer

BODY = {"a": [1, {"b": None}], "c/d": 3, "~": 4, "": 5, "01": 6}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", BODY),
        ("/a/0", 1),
        ("/a/1/b", None),
        ("/c~1d", 3),
        ("/~0", 4),
        ("/", 5),
        ("/01", 6),
        *((way, "nothing") for way in ("/none", "/a/2", "/a/b", "/a/-1", "/a/00", "/a/0/x")),
        ("/a/①", "nothing"),
        ("/a/" + "1" * 5000, "nothing"),
    ],
)
def test_a_pointer_leads_through_objects_and_lists(text: str, found: object) -> None:
    """RFC 6901, 4: an index has no sign and no zero before it; 5,000 digits ended a lesson."""
    assert at(BODY, text, "nothing") == found


@pytest.mark.parametrize("path", [(), ("a", 1, "b"), ("c/d",), ("~",), ("",), ("01",)])
def test_what_is_written_leads_back(path: tuple[object, ...]) -> None:
    """`~` and `/` are escaped, in this order."""
    value: object = BODY
    for step in path:
        value = value[step]  # type: ignore[index] # an object or a list, as the path says
    assert at(BODY, pointer(path), "nothing") == value

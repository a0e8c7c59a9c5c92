"""The versions, a record each, and what a request states of itself."""

import pytest

from humanmcp.protocol.json.jsonrpc import Message, read
from humanmcp.protocol.spec import versions


@pytest.mark.parametrize(
    ("feature", "marks"),
    [
        ("stateless", "----x"),
        ("server_requests", "xxxx-"),
        ("input_required", "----x"),
        ("result_types", "----x"),
        ("subscriptions", "----x"),
        ("batches", "-x---"),
        ("progress_messages", "-xxxx"),
        ("completions", "-xxxx"),
        ("structured_content", "--xxx"),
        ("any_schema", "----x"),
    ],
)
def test_each_version_has_its_features(feature: str, marks: str) -> None:
    """What code asks for, instead of whether a version is a modern one."""
    has = [getattr(versions.features(one), feature) for one in versions.ALL]
    assert has == [mark == "x" for mark in marks]


def test_an_unknown_version_is_taken_for_the_last_with_a_handshake() -> None:
    """A tap meets versions that did not exist when this was written."""
    assert versions.features("2031-01-01") == versions.features(versions.LATEST_HANDSHAKE)


def test_a_modern_request_states_its_version_itself() -> None:
    """2026-07-28: it stands in the request's `_meta`; elsewhere nothing is stated."""
    modern = read(
        b'{"id":1,"method":"x","params":{"_meta":'
        b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}'
    )
    plain = read(b'{"id":1,"method":"x","params":{"_meta":{"progressToken":1}}}')
    assert isinstance(modern, Message)
    assert isinstance(plain, Message)
    assert versions.stated_in(modern) == "2026-07-28"
    assert versions.stated_in(plain) is None

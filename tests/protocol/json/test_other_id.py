"""A message under another id: nothing else changes."""

from __future__ import annotations

import pytest

from humanmcp.protocol.json.other_id import with_id, with_request_id


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            '{"jsonrpc":"2.0", "id" : 1 ,"result":{"id":1}}',
            '{"jsonrpc":"2.0", "id" : "a" ,"result":{"id":1}}',
        ),
        ('{"id":1,"result":{},"id":"x"}', '{"id":"a","result":{},"id":"a"}'),
        ('{"method":"m"}', '{"method":"m"}'),
    ],
)
def test_only_the_messages_own_id_is_another_one(text: str, left: str) -> None:
    """However it is written, wherever it stands, also twice; where there is none, none is made."""
    assert with_id(text, '"a"') == left


def test_a_cancellation_names_another_request() -> None:
    """The id of what it cancels stands in its parameters."""
    text = '{"method":"notifications/cancelled","params":{"reason":"requestId","requestId":3}}'
    assert with_request_id(text, "4") == text.replace("3", "4")
    assert with_request_id('{"method":"m"}', "4") == '{"method":"m"}'

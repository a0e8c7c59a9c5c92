"""What a conversation learns from a result."""

import pytest

from humanmcp.protocol.conversation.state import may_teach
from tests.asking import asked


@pytest.mark.parametrize(
    ("method", "line", "teaches"),
    [
        ("tools/list", '{"result":{}}', True),
        ("tools/call", '{"result":{}}', False),
        ("tools/call", '{"result":{"resultType":"input_required"}}', True),
        ("tools/call", r'{"result":{"resultType":"input\u005frequired"}}', True),
    ],
)
def test_a_long_answer_is_decoded_only_where_it_may_teach(
    method: str, line: str, *, teaches: bool
) -> None:
    """It is told by the text; an escape may hide the word."""
    assert may_teach(asked(method).request, line) is teaches

"""An answer that came and cannot be read is told as such, and not as one that did not come."""

import sys

import pytest

from humanmcp.common.child import ChildCommand, ChildTransport
from humanmcp.extensions.host.client.callbacks import Nobody
from humanmcp.extensions.host.client.client import Client
from humanmcp.extensions.host.client.handshake import NoAnswerError
from humanmcp.locales import LANGUAGES
from tests.extensions.host.client.test_client import Line
from tests.support.speaking import said_in

ANSWER = '{"jsonrpc":"2.0","id":101,"result":{}}'


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (f"info: sent {ANSWER}", "answer not read"),
        (ANSWER[:-1], "answer not read"),
        ("{'jsonrpc': '2.0', 'id': 101, 'result': {}}", "answer not read"),
        ('"result": {}', "answer not read"),  # the only request that waits
        ("Server is ready", "no answer"),
        (ANSWER.replace("101", "7") + "x", "no answer"),
    ],
)
def test_a_line_that_seems_to_be_the_answer_is_shown(line: str, code: str) -> None:
    """More time would not help."""
    client = Client(Line(), Nobody(), timeout=0.01)
    begun = client.begin("ping")
    client.line_arrived(line.encode())
    with pytest.raises(NoAnswerError) as found:
        client.wait(begun)
    assert found.value.code == code
    for lang in LANGUAGES:
        said = said_in(lang, found.value.sentence)
        assert "--timeout" not in said
        assert (line in said) is (code == "answer not read")


def test_a_missing_line_feed_is_named_with_what_was_written() -> None:
    """The server flushed, and the line has not ended."""
    program = (
        "import sys\nsys.stdin.readline()\n"
        f"sys.stdout.write({ANSWER!r}); sys.stdout.flush()\nsys.stdin.read()"
    )
    client = Client(
        ChildTransport(ChildCommand((sys.executable, "-c", program))), Nobody(), timeout=2
    )
    try:
        begun = client.begin("ping")
        with pytest.raises(NoAnswerError) as found:
            client.wait(begun)
    finally:
        client.close()
    assert found.value.code == "answer without line feed"
    assert f"{len(ANSWER)} characters and no line feed" in said_in("en", found.value.sentence)

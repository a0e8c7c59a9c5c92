"""What stands in `problems.txt`, sentence by sentence."""

import re

import pytest

from humanmcp.extensions.text_files.out_txt import Document, DocumentOutcome, report
from humanmcp.protocol.conversation.outcomes import RequestArrived
from humanmcp.protocol.diagnostics.autofix import fully_fixed
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity
from humanmcp.protocol.session import McpSession
from humanmcp.protocol.validation.addressing import addressed
from humanmcp.protocol.validation.check import check
from tests.support.speaking import said_in


def refused(typed: str, language: str = "en") -> str:
    """Return what is said of an answer to a tool call with the id 3 that does not pass."""
    session = McpSession()
    call = b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","arguments":{}}}'
    (event,) = session.receive(call)
    assert isinstance(event, RequestArrived)
    assert addressed(typed, session.pending) == event.exchange
    verdict = check(event.exchange, typed)
    assert not verdict.sendable
    right = fully_fixed(typed, lambda text: check(event.exchange, text))
    outcome = DocumentOutcome(
        Document(typed), sent=False, diagnostics=verdict.diagnostics, fixed=right
    )
    return said_in(language, report, [outcome])


def test_a_refused_text_is_shown_as_it_would_be_right() -> None:
    """With every fix at once, so that it can be copied and passes."""
    said = refused("{'jsonrpc':'2.0','id':\"3\",'result':{'content':'sunny',}}")
    right = said.partition("This would be right: ")[2].splitlines()[0]
    assert '"content":[{"type": "text", "text": "sunny"}]' in right
    session = McpSession()
    (event,) = session.receive(b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{}}')
    assert isinstance(event, RequestArrived)
    assert check(event.exchange, right).sendable


def test_the_sample_of_the_specification_is_shown_as_json() -> None:
    """Unquoted names and semicolons; several lines stay several lines."""
    said = refused('{\n  jsonrpc: "2.0";\n  id: 3;\n  result: {\n    content: []\n  }\n}')
    assert '    {\n      "jsonrpc": "2.0",\n      "id": 3,\n' in said


def test_half_a_fix_is_not_called_right() -> None:
    """What would be refused again is not shown as the way to write it."""
    said = refused('{"id":3,"result":{"content":[]},"error":{"code":1,"message":"x"}}')
    assert "would be right" not in said
    assert '"jsonrpc"' in said


def test_plain_text_is_told_how_to_be_an_answer() -> None:
    """The whole answer with the person's words in it."""
    assert '"text": "sunny"' in refused("sunny")


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ('{"jsonrpc":"2.0","id":3,"result":{"content":"sunny","isError":"no"}}', 1),
        ('{"id":3,"result":{"content":"sunny"},"x":1}', 2),  # of the envelope, and of tools
    ],
)
def test_each_page_of_the_specification_is_named_once(language: str, text: str, pages: int) -> None:
    """Two mistakes of one page, one address to read."""
    links = re.findall(r"https://modelcontextprotocol\.io/\S+", refused(text, language))
    assert len(links) == len(set(links)) == pages


def test_nothing_to_say_is_nothing() -> None:
    """An answer without a remark leaves problems.txt empty."""
    assert report([DocumentOutcome(Document("{}"), sent=True, diagnostics=())]) == ""


def test_what_the_peer_wrote_is_escaped() -> None:
    """An escape sequence in a name cannot reach the terminal that shows the file."""
    diagnostic = Diagnostic(
        "M12", Severity.WARNING, (("key", "\x1b[2J"), ("version", "2025-11-25"))
    )
    said = report([DocumentOutcome(Document("{}"), sent=True, diagnostics=(diagnostic,))])
    assert "\x1b" not in said

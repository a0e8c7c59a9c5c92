"""Lines that are no message: what reads them knows no diagnostics, but the code of each."""

from typing import Final

import pytest

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.locate import KINDS
from humanmcp.protocol.diagnostics.model import Severity, unreadable
from humanmcp.protocol.json.jsonrpc import Malformed, read

UNREADABLE: Final = {
    kinds.NotJson: b"{",
    kinds.LineNotUtf8: b'{"a":"\xff"}',
    kinds.LineTooDeep: b"[" * 200,
    kinds.LineWithLongNumber: b'{"id":' + b"1" * 5000 + b"}",
    kinds.LineNoObject: b"1",
    kinds.LineNoMessage: b'{"jsonrpc":"2.0"}',
    kinds.LineIdMalformed: b'{"id":true,"method":"ping"}',
    kinds.LineIdMissing: b'{"result":{}}',
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_line_that_is_no_message_has_the_fields_of_its_kind(
    kind: type[kinds.LineDiagnostic],
) -> None:
    """Below the diagnostics no class holds the code to them."""
    found = read(UNREADABLE[kind])
    assert isinstance(found, Malformed)
    assert (KINDS[found.why], found.why) == (kind, kind.code)
    assert {name for name, _text in found.detail} == set(kind.__annotations__)
    assert unreadable(found).severity is kind.severity is Severity.ERROR

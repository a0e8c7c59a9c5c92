"""What the check says of a line is what the clients did that were measured with it."""

import pytest

from humanmcp.protocol.tables.reactions import Reaction, in_detail, measured
from tests.clients.odd_results import odd_results
from tests.clients.reactions import LINES, judged, row_of

CASES = [*LINES, *odd_results()]


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_of_a_line_is_what_the_clients_did_with_it(name: str) -> None:
    """Every measured case, through the whole check: the clients of its row."""
    told = [dict(one.detail)["reactions"] for one in judged(name) if one.code in ("N39", "N46")]
    row = measured()[row_of(name)]
    known = {column: told for column, told in enumerate(row) if told is not None}
    text = LINES[name]["lines"][0] if name in LINES else odd_results()[name]
    grave = {Reaction.SILENT, Reaction.ENDED}
    grave |= set() if '"error":{' in text and '"result":OK' not in text else {Reaction.FAILED}
    said = in_detail(known) if grave & set(known.values()) else ""
    assert set(told) == ({said} if said else set())

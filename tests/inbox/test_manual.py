"""docs/reference/folder.md describes every file and every member of its JSON."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.inbox import records
from humanmcp.inbox.contract import Answer, Draft, HeldFacts, Reply, SessionFacts, Waiting
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import to_json
from humanmcp.protocol.http import client
from tests.inbox.contract import AT, PROBLEM, frame_of, item_of
from tests.support.inbox_folder import LAYOUT

PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "folder.md"
ROW: Final = re.compile(r"^\| (`[^|]+) \| (?!type)", re.MULTILINE)

FRAME: Final = json.loads(to_json(frame_of(1, b"\xff", number=1)))
PARTS: Final = (
    client.request_part(1, "", "", (), ""),
    client.response_part(1, 200, "", ()),
    client.event_part(1, "", retry=1),
    client.cut_part(1, "client"),
)
IN_PARTS: Final = {name: "" for part in PARTS for name in json.loads(part)}
OPTIONAL: Final = dict.fromkeys(("by", "note", "stream", "decision", "ticket"))
RECORDS: Final[Mapping[str, Mapping[str, Any]]] = {
    records.SESSION: records.facts_record(SessionFacts("", "")),
    records.KNOWN: records.record_of(NegotiatedState()),
    records.TRANSCRIPT: {**FRAME, **OPTIONAL, **IN_PARTS},
    records.HOLDS: records.holds_record(["*"]),
    records.REQUEST: records.request_record(
        item_of("s")._replace(headers=(PROBLEM,), held=HeldFacts(unread=(PROBLEM,)))
    ),
    records.WAIT: records.record_of(Waiting()),
    records.DRAFT: records.record_of(Draft("")),
    records.REPLY: records.record_of(Reply("")),
    records.PROBLEMS: records.diagnostics_record([PROBLEM])["problems"][0],
    records.ANSWER: records.close_record(ExchangeState.ANSWERED, Answer("", "", AT), ""),
}


def section(name: str) -> str:
    """Return the section on one file."""
    page = PAGE.read_text("utf-8")
    return page.split(f"\n### `{name}`\n")[1].split("\n## ")[0].split("\n### ")[0]


@pytest.mark.parametrize("name", RECORDS)
def test_every_member_of_a_record_is_described_and_no_other(name: str) -> None:
    """A member that is written stands in the table of its file, and the other way round."""
    described = {
        member for row in ROW.findall(section(name)) for member in re.findall(r"`(\w+)`", row)
    }
    assert described == set(RECORDS[name])


@pytest.mark.parametrize("name", LAYOUT)
def test_every_name_of_the_layout_stands_in_a_table(name: str) -> None:
    """With what it is."""
    assert re.search(rf"^\| (`[^|]*`, )?`{re.escape(name)}`", PAGE.read_text("utf-8"), re.MULTILINE)

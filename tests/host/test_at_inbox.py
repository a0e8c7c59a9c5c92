"""A person in another seat than the server's answers through the inbox."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from humanmcp.host.asked import PersonAsked
from humanmcp.host.at_inbox import AtInbox
from humanmcp.inbox import poll_schedule
from humanmcp.inbox.contract import Reply, Seat
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.exchange import Established
from humanmcp.protocol.diagnostics.verdict import TextForm
from tests.waiting import PATIENCE, until

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PARAMS = {"maxTokens": 9, "messages": [{"role": "user", "content": {"type": "text", "text": "?"}}]}


def test_a_reply_is_taken_by_the_ring_of_the_bell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redesign, section 2: the same wake as in the stub, and no look fifty times a second."""
    monkeypatch.setattr(poll_schedule, "SLOW", 10 * PATIENCE)
    inbox = FolderInbox(tmp_path / "home")
    seat = AtInbox(inbox, Seat.MODEL, language="en")
    person = PersonAsked(
        seat, Established("", client_capabilities={"sampling": {}}, initialized=True)
    )
    heard: list[str | None] = []
    asking = threading.Thread(
        target=lambda: heard.append(person.ask("sampling/createMessage", PARAMS)), daemon=True
    )
    asking.start()
    item = until(lambda: inbox.items(seat.name), "the question waits")[0]
    FolderInbox(tmp_path / "home").send(item.key, Reply("sunny", TextForm.TEXT, by="desk"))
    until(lambda: heard, "the answer")
    assert '"text":"sunny"' in (heard[0] or "")
    asking.join(PATIENCE)
    seat.end()

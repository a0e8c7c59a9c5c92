"""What is said of a request beside it, read from the inbox alone."""

from pathlib import Path

from humanmcp.answering.open_exchange import OpenExchange, open_exchange_of
from humanmcp.inbox.contract import Item, Key, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from tests.inbox.contract import AT, item_of


def call(session: str, number: int, token: str) -> Item:
    """Make a request that needs no other words."""
    line = f'{{"jsonrpc":"2.0","id":{token},"method":"tools/list"}}'
    return item_of(session, number)._replace(id=token, method="tools/list", line=line)


def test_two_requests_with_one_id_are_pointed_out_while_both_wait(tmp_path: Path) -> None:
    """Beside both; 7 and "7" are two ids; one that has ended is in no way."""
    inbox = FolderInbox(tmp_path / "home")
    session = inbox.begin_session(SessionFacts("", AT))
    for number, token in ((1, "7"), (2, '"7"'), (3, "7")):
        inbox.deliver(call(session, number, token))

    def said(number: int) -> list[str]:
        return [one.code for one in open_exchange_of(inbox, Key(session, number)).remarks]

    assert ("N10" in said(1), "N10" in said(2), "N10" in said(3)) == (True, False, True)
    inbox.close(Key(session, 1), ExchangeState.CANCELLED)
    assert ("N10" in said(1), "N10" in said(3)) == (False, False)


def test_of_a_line_that_is_no_message_nothing_is_said(tmp_path: Path) -> None:
    """Whatever stands in the file."""
    inbox = FolderInbox(tmp_path / "home")
    item = item_of("s")._replace(line="no message")
    opened = OpenExchange(inbox, item, SessionFacts("s", AT))
    assert opened.remarks == ()
    assert (opened.params, opened.exchange, opened.inquiry) == ({}, None, None)

"""Parked calls on the page: a list of their own, answered when their session is over."""

import gc
import html

from humanmcp.inbox.contract import Answer, Item, Key, Parked, Reply, SessionFacts, Waiting
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.stages import ExchangeState
from tests.support.desk_process import Desking
from tests.support.waiting import until

AT = "2026-11-21T01:00:00.000Z"
LINE = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"weather","arguments":{}}}'


def page_with(desking: Desking, path: str, words: str) -> str:
    """Return a page once the desk shows what it says."""

    def page() -> str:
        found = html.unescape(desking.page(path))
        return found if words in found else ""

    return until(page, f"{words} on {path}")


def call(inbox: FolderInbox, waiting: Waiting) -> Key:
    """Let a call wait in a session that has parked calls."""
    facts = SessionFacts(name="", started=AT, pid=1)
    key = Key(inbox.begin_session(facts), 1)
    item = Item(key, LINE, "tools/call", "7", "2025-11-25", AT)
    inbox.deliver(item._replace(waiting=waiting))
    inbox.describe(facts._replace(name=key.session, parked=True), NegotiatedState())
    return key


def test_a_parked_call_is_in_a_list_of_its_own_and_is_answered_there(desking: Desking) -> None:
    """Also when its session is over; then it says that nobody has come for it yet."""
    inbox = FolderInbox(desking.home)
    key = call(inbox, Waiting(parked=Parked("t", "task", AT, "Anna looks")))
    path = f"/m/{key.session}/{key.number}"
    page = page_with(desking, path, 'id="parked-status"')
    assert "Anna looks" in page
    inbox.end(key.session)
    waiting, _, parked = page_with(desking, "/", "Parked").partition('id="parked"')
    assert path not in waiting.partition('id="rows"')[2]
    assert path in parked
    desking.submit(path, text="sunny", form="text", act="send")
    assert page_with(desking, path, "Your answer is stored")
    line = '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}'
    assert inbox.take_parked(key) is not None
    inbox.close(key, ExchangeState.ANSWERED, Answer(line, "desk", AT))
    assert "has not fetched the answer yet" in page_with(desking, path, "has not fetched")
    inbox.fetched(key, AT)
    assert "fetched the answer" in page_with(desking, path, "fetched the answer at")


def test_a_call_that_can_be_parked_has_a_button(desking: Desking) -> None:
    """It says what the client gets."""
    inbox = FolderInbox(desking.home)
    key = call(inbox, Waiting(can_park="ticket"))
    page = page_with(desking, f"/m/{key.session}/{key.number}", 'value="park"')
    assert "The model gets a ticket" in page
    inbox.end(key.session)


def test_an_answer_that_no_process_took_is_not_said_to_be_sent(desking: Desking) -> None:
    """The process died first: the client may have it, and the text is there."""
    inbox = FolderInbox(desking.home)
    key = call(inbox, Waiting())
    FolderInbox(desking.home).send(key, Reply("sunny", by="desk", who="Anna"))
    path = f"/m/{key.session}/{key.number}"
    assert page_with(desking, path, "An answer by Anna is being sent")
    del inbox
    gc.collect()
    page = page_with(desking, path, "Not confirmed: ")
    assert "sunny" in page
    assert "cannot be delivered" not in page

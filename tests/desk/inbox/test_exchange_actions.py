"""The plain form of an exchange, as a browser without JavaScript sends it."""

import html

import pytest

from humanmcp.inbox.contract import Action, Item, Key, Purpose, Role, SessionFacts, Waiting
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.approvals import digest_of
from tests.support.desk_process import Desking
from tests.support.waiting import until

LINE = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"weather","arguments":{}}}'


def test_a_held_call_is_changed_or_answered_with_the_plain_form(desking: Desking) -> None:
    """A change starts from the call; a stopped text comes back, with its problem, as its task."""
    inbox = FolderInbox(desking.home)
    facts = SessionFacts(name="", started="2026-11-21T01:00:00.000Z", role=Role.TAP, pid=1)
    key = Key(inbox.begin_session(facts), 1)
    item = Item(key, LINE, "tools/call", "7", "2025-11-25", "2026-11-21T01:00:01.000Z")
    inbox.deliver(item._replace(purpose=Purpose.HELD))
    path = f"/m/{key.session}/{key.number}"

    def plain_form(task: str) -> str:
        page = html.unescape(desking.page(f"{path}?do={task}"))
        return page.partition('<form id="act"')[2].partition("</form>")[0]

    assert f'action="{path}?do=change"' in plain_form("change")
    assert '"name": "weather"' in plain_form("change")
    assert "<select" in plain_form("answer")
    for task, action in (("change", Action.FORWARD), ("answer", Action.ANSWER)):
        stopped = desking.submit(
            f"{path}?do={task}", text="{", form="message", act="send", shown=digest_of(LINE)
        )
        assert stopped.headers["location"] == f"{path}?do={task}#answer"
        problem, _, box = plain_form(task).partition("<textarea")
        assert "The JSON ends too early" in problem
        assert box.partition(">")[2].startswith("{<")
        draft = inbox.item(key).draft
        assert draft is not None
        assert draft.action is action
    inbox.end(key.session)


def test_an_order_to_a_session_that_just_ended_leads_back_to_its_page(desking: Desking) -> None:
    """Its buttons were still on the page; the page now says that it has ended."""
    inbox = FolderInbox(desking.home)
    facts = SessionFacts(name="", started="2026-11-21T01:00:00.000Z", role=Role.SERVER, pid=1)
    key = Key(inbox.begin_session(facts), 1)
    inbox.deliver(Item(key, LINE, "tools/call", "7", "2025-11-25", "2026-11-21T01:00:01.000Z"))
    inbox.end(key.session)
    path = f"/m/{key.session}/{key.number}"
    for act in ("progress on", "progress off", "park", "status", "pause"):
        assert desking.submit(path, act=act).headers["location"] == f"{path}#answer", act


@pytest.mark.extension("classroom")
def test_a_lesson_does_not_say_that_its_client_cannot_wait_longer(desking: Desking) -> None:
    """It waits for as long as the person needs; what is said of another client helps."""
    inbox = FolderInbox(desking.home)
    said = {}
    for client in ("humanmcp demo host", "humanmcp lesson dice", "other"):
        facts = SessionFacts(name="", started="2026-11-21T01:00:00.000Z", client=client, pid=1)
        key = Key(inbox.begin_session(facts), 1)
        item = Item(key, LINE, "tools/call", "7", "2025-11-25", "2026-11-21T01:00:01.000Z")
        inbox.deliver(item._replace(waiting=Waiting(source="unknown", why_not="no-token")))
        page = desking.page(f"/m/{key.session}/{key.number}/status")
        said[client] = "humanmcp cannot make this client wait longer." in page
        inbox.end(key.session)
    assert said == {"humanmcp demo host": False, "humanmcp lesson dice": False, "other": True}


@pytest.mark.extension("tap")
def test_what_a_tap_holds_is_named_as_in_the_inbox(desking: Desking) -> None:
    """A permission prompt says what it asks for, and words from right to left keep their place."""
    inbox = FolderInbox(desking.home)
    facts = SessionFacts(name="", started="2026-11-21T01:00:00.000Z", role=Role.TAP, pid=1)
    key = Key(inbox.begin_session(facts), 1)
    asks = '{"tool_name":"Bash","input":{"command":"cat \u05d0\u05d1 x"}}'
    line = LINE.replace('"weather","arguments":{}', f'"approve","arguments":{asks}')
    item = Item(key, line, "tools/call", "7", "2025-11-25", "2026-11-21T01:00:01.000Z")
    inbox.deliver(item._replace(purpose=Purpose.HELD))
    until(lambda: desking.session(key.session), "the desk knows of the tap")
    for page in ("/list", "/taps"):
        text = desking.page(page)
        assert '<span class="name">Run a command</span>' in text, page
        assert '<span class="gist">cat <bdi>\u05d0\u05d1</bdi> x</span>' in text, page
    inbox.end(key.session)

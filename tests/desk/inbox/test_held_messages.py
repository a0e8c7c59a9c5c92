"""What a person makes of a held message: which text the page shows for which task."""

import re

import pytest

from humanmcp.answering import service
from humanmcp.answering.open_exchange import OpenExchange, open_exchange_of
from humanmcp.answering.service import Outcome, Task, draft_for, task_of
from humanmcp.inbox.contract import Action, Draft, Key, Purpose, Reply, Role
from humanmcp.protocol.conversation.approvals import digest_of
from tests.support.desk_process import Desking
from tests.support.inbox_folder import CALL, Room
from tests.support.waiting import until

ANSWER = '{"jsonrpc":"2.0","id":3,"result":{"content":[]}}'


@pytest.fixture
def held(room: Room) -> Key:
    """Hold one tool call at a tap."""
    session = room.session(role=Role.TAP)
    return room.ask(session, 3, purpose=Purpose.HELD, draft=Draft(CALL))


LONG_CALL = CALL.replace("東京", "東京" * 2000)


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        (CALL, {}),
        (CALL, {"shown": digest_of(LONG_CALL)}),
        (LONG_CALL, {"shown": digest_of(LONG_CALL)}),
        (LONG_CALL, {"seen": "all"}),
    ],
    ids=["not shown", "another one", "not opened", "opened, not shown"],
)
def test_a_held_call_is_released_only_by_a_page_that_showed_all_of_it(
    room: Room, desk: Desking, line: str, seen: dict[str, str]
) -> None:
    """As an approval is: a short page has no button that works, and a forged form does nothing."""
    session = room.session(role=Role.TAP)
    room.serve(session)
    key = room.ask(session, 3, line, purpose=Purpose.HELD)
    path = f"/m/{session}/{key.number}"
    told = desk.submit(path, act="let go", **seen)
    assert room.inbox.item(key).reply is None
    assert 'role="alert"' in desk.page(told.headers["location"].partition("#")[0])
    button = re.search(r'<button[^>]* value="let go"[^>]*>', desk.page(path))
    assert button is not None
    assert ("disabled" in button[0]) == (line == LONG_CALL)
    page = desk.page(f"{path}?whole=1")
    form = (
        page.partition('id="held"')[2]
        .partition('class="actions verdict">')[2]
        .partition("</form>")[0]
    )
    given = dict(re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', form))
    assert desk.submit(path, act="let go", **given).status == 303
    reply = until(lambda: room.inbox.item(key).reply, "the call is released")
    assert (reply.text, reply.action) == (line, Action.FORWARD)


def written(room: Room, key: Key, text: str, action: Action) -> OpenExchange:
    """Save what a person has written, as the desk does."""
    service.keep(open_exchange_of(room.inbox, key), Draft(text, touched=True, action=action))
    return open_exchange_of(room.inbox, key)


def shown(opened: OpenExchange, task: Task) -> str:
    """Return the text that the page shows for a task."""
    return draft_for(opened, task).text


def test_an_answer_that_looks_like_a_request_is_never_taken_for_the_change(
    room: Room, held: Key
) -> None:
    """It was told by its text, and took the place of the change that was written before."""
    changed, wrong = CALL.replace("forecast", "coin"), CALL.replace("tools/call", "tools/list")
    written(room, held, changed, Action.FORWARD)
    opened = written(room, held, wrong, Action.ANSWER)
    assert task_of(opened, "") is Task.ANSWER
    assert shown(opened, Task.ANSWER) == wrong
    assert shown(opened, Task.CHANGE) == changed
    opened = written(room, held, changed, Action.FORWARD)
    assert (shown(opened, Task.CHANGE), shown(opened, Task.ANSWER)) == (
        changed,
        wrong,
    )


def test_an_answer_that_the_check_blocks_stays_an_answer(room: Room, held: Key) -> None:
    """Send keeps it as the draft, which forgot what it was for."""
    wrong = CALL.replace("tools/call", "tools/list")
    reply = Reply(wrong, action=Action.ANSWER)
    assert service.send(open_exchange_of(room.inbox, held), reply).outcome is Outcome.BLOCKED
    opened = open_exchange_of(room.inbox, held)
    assert task_of(opened, "") is Task.ANSWER
    assert shown(opened, Task.ANSWER) == wrong


def test_what_was_not_begun_starts_from_where_it_always_does(room: Room, held: Key) -> None:
    """The change from the message that is held, whatever was written as an answer."""
    opened = written(room, held, ANSWER, Action.ANSWER)
    assert "tools/call" in shown(opened, Task.CHANGE)
    assert shown(opened, Task.ANSWER) == ANSWER


def test_a_draft_without_its_action_is_told_by_its_text(room: Room, held: Key) -> None:
    """As those of older desks, and of the terminal."""
    assert task_of(written(room, held, ANSWER, Action.FORWARD), "") is Task.ANSWER
    assert task_of(written(room, held, CALL + " ", Action.FORWARD), "") is Task.CHANGE


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('[{"jsonrpc":"2.0","id":6,"method":"ping"}]', "in it: ping."),
        (f'[{CALL},{{"jsonrpc":"2.0","method":"x"}},{ANSWER}]', "in it: tools/call, x, a result."),
        (f"[{CALL},{CALL},5]", "in it: tools/call."),
    ],
)
def test_a_held_array_is_not_shown_as_its_first_message(
    room: Room, desk: Desking, line: str, named: str
) -> None:
    """A ping with an id was called a notification that MCP does not have, without arguments."""
    session = room.session(role=Role.TAP)
    room.serve(session)
    page = desk.page(f"/m/{session}/{room.ask(session, 3, line, purpose=Purpose.HELD).number}")
    assert "An array of messages" in page
    assert named in page
    assert '<details class="raw" open>' in page
    assert "No arguments" not in page
    assert "MCP does not have" not in page

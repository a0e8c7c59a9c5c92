"""`humanmcp answer` on a message that a tap holds: judged as in the tap and in the page."""

from pathlib import Path

import pytest

from humanmcp.inbox.contract import Draft, Key, Purpose, Role
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.tree import pretty
from tests.terminal.rooms import CALL, Room, Shell


def written(folder: Path, text: str) -> str:
    """Write a text to a file; return its name."""
    file = folder / "text.json"
    file.write_text(text, "utf-8")
    return str(file)


@pytest.fixture
def held(room: Room) -> Key:
    """Hold one tool call at a tap that takes replies."""
    session = room.session(role=Role.TAP)
    delivered = room.ask(session, 3, purpose=Purpose.HELD, way=Direction.IN, draft=Draft(CALL))
    room.serve(session)
    return delivered


def test_a_held_message_goes_to_the_server_and_an_answer_to_the_client(
    held: Key, shell: Shell
) -> None:
    """The person is told who gets what they send."""
    assert held.number == 3
    assert shell("answer", "3", "--as-is").out.startswith("Sent to the server (")


def test_an_answer_in_the_servers_place_goes_to_the_client(
    held: Key, shell: Shell, tmp_path: Path
) -> None:
    """Plain text becomes the whole result; what is wrong with a result is said."""
    assert held.number == 3
    wrong = written(tmp_path, '{"content":[{"type":"x"}]}')
    assert "M02" in shell("answer", "3", "--result", wrong).out
    assert shell("answer", "3", "--text", "sunny").out.startswith("Sent to claude-code")


def test_a_changed_draft_is_put_back_with_one_command(
    held: Key, room: Room, shell: Shell, tmp_path: Path
) -> None:
    """The original is the draft again, nothing is sent, and the message still waits."""
    shell("answer", "3", "--message", written(tmp_path, CALL.replace('"id":3', '"id":4')))
    assert shell("answer", "3", "--start-over").status == 0
    item = room.inbox.item(held)
    assert item.draft is not None
    assert item.draft.text == pretty(CALL)
    assert not item.draft.touched
    assert item.state is ExchangeState.PENDING
    assert "`humanmcp release 3`" in shell("show", "3").out


def test_an_answer_to_a_held_call_is_broken_by_name_as_in_the_page(held: Key, shell: Shell) -> None:
    """It is judged as an answer, and kept: with --send-anyway it goes out."""
    assert held.number == 3
    ran = shell("answer", "3", "--text", "sunny", "--break", "wrong-id")
    assert ran.status == 1
    assert "R03" in ran.out


def test_no_empty_list_of_faults_is_offered_for_a_held_message(room: Room, shell: Shell) -> None:
    """The rule: "There are: -." says nothing of what can be done instead."""
    line = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    room.ask(room.session(role=Role.TAP), 3, line, purpose=Purpose.HELD)
    ran = shell("answer", "3", "--text", "sunny", "--break", "wrong-id")
    assert ran.status == 2
    assert "There are" not in ran.err
    assert "`humanmcp answer 3` opens it in your editor" in ran.err


def test_the_card_of_what_is_held_is_the_pages_own(room: Room, shell: Shell) -> None:
    """A held answer was shown as a notification that MCP does not know."""
    session = room.session(role=Role.TAP)
    answer = '{"jsonrpc":"2.0","id":3,"result":{"content":[]}}'
    room.ask(session, 3, answer, purpose=Purpose.HELD, way=Direction.OUT, asked=CALL)
    assert shell("show", "3", "--json").json["card"]["title"] == "The model calls a tool"
    assert "3  tools/call  get-japan-forecast  content: []" in shell("inbox").out

"""`humanmcp show N`: one message and what it means."""

from humanmcp.inbox.contract import Answer, Draft
from humanmcp.protocol.conversation.exchange import ExchangeState
from tests.terminal.rooms import CALL, INITIALIZE, QUESTION, Room, Shell, ago, waiting


def test_a_message_is_explained_with_what_happens_if_nobody_answers(
    room: Room, shell: Shell
) -> None:
    """What it is, who sent it, what silence does, and the page of this version."""
    room.ask(room.session(), 3)
    out = shell("show", "3").out
    assert "The model calls a tool" in out
    assert "If you do nothing:" in out
    assert "https://modelcontextprotocol.io/specification/2025-11-25/server/tools" in out


def test_the_message_is_laid_out_without_changing_a_token(room: Room, shell: Shell) -> None:
    """Big integers, 1.0 and key order stay what they are."""
    line = CALL.replace('"東京"', '9007199254740993,"b":1.0,"a":1e400')
    room.ask(room.session(), 3, line)
    out = shell("show", "3").out
    assert '      "location": 9007199254740993,\n' in out
    assert '        "b": 1.0,\n' in out
    assert '        "a": 1e400\n' in out


def test_raw_prints_the_line_exactly(room: Room, shell: Shell) -> None:
    """For a pipe: the bytes of the line and a line feed."""
    room.ask(room.session(), 3)
    assert shell("show", "3", "--raw").out == CALL + "\n"


def test_the_check_speaks_of_the_request_too(room: Room, shell: Shell) -> None:
    """`args` instead of `arguments` is shown beside the request."""
    room.ask(room.session(), 3, CALL.replace('"arguments"', '"args"'))
    ran = shell("show", "3", "--json").json
    assert ran["remarks"]
    assert "args" in str(ran["remarks"])


def test_a_draft_and_the_reasons_of_its_refusal_are_shown(room: Room, shell: Shell) -> None:
    """What the person wrote last, and why it was not sent."""
    session = room.session()
    key = room.ask(session, 3)
    room.inbox.save(key, Draft('{"result": 5}', touched=True))
    out = shell("show", "3").out
    assert "Your draft" in out
    assert '{"result": 5}' in out


def test_what_keeps_the_client_waiting_is_said(room: Room, shell: Shell) -> None:
    """Or why nothing can."""
    session = room.session()
    room.ask(session, 1, waiting=waiting(means="progress"))
    room.ask(session, 2, waiting=waiting(why_not="no-token"))
    assert "sends progress notifications" in shell("show", "1").out
    assert "progressToken" in shell("show", "2").out


def test_the_sent_answer_is_shown_afterwards(room: Room, shell: Shell) -> None:
    """The line that went out, and that it can no longer be answered."""
    key = room.ask(room.session(), 3)
    room.inbox.close(key, ExchangeState.ANSWERED, Answer('{"jsonrpc":"2.0"}', "desk", ago(0)))
    out = shell("show", "3").out
    assert "answered (you, on the page)" in out
    assert '{"jsonrpc":"2.0"}' in out
    assert "If you do nothing" not in out


def test_a_line_that_is_no_message_is_shown_as_it_came(room: Room, shell: Shell) -> None:
    """Its text, and that nothing is owed for it."""
    room.ask(room.session(), 3, "hello  world")
    out = shell("show", "3").out
    assert "Not a message" in out
    assert "  hello  world\n" in out


def test_an_unknown_number_is_a_usage_error(shell: Shell) -> None:
    """Exit status 2 and a sentence, no traceback."""
    ran = shell("show", "12")
    assert ran.status == 2
    assert "There is no message 12" in ran.err


def test_a_question_comes_first_with_its_options_numbered(room: Room, shell: Shell) -> None:
    """What is asked, what to know, what to choose from, and the command that chooses."""
    room.ask(room.session(), 3, QUESTION)
    out = shell("show", "3").out
    question, card = out.index("\nTea or coffee?\n"), out.index("The model calls a tool")
    assert question < out.index("  It is late.\n") < out.index("  1  Tea\n") < card
    assert "  2  Coffee\n" in out
    assert "humanmcp answer 3 --choose 1" in out
    assert shell("show", "3", "--json").json["options"] == ["Tea", "Coffee"]
    assert "Tea or coffee?" in shell("inbox").out


def test_what_is_said_of_an_option_stands_below_it(room: Room, shell: Shell) -> None:
    """The answer is the label, word for word."""
    described = '{"label":"Tea","description":"It is green."}'
    room.ask(room.session(), 3, QUESTION.replace('"Tea"', described))
    assert "  1  Tea\n     It is green.\n  2  Coffee\n" in shell("show", "3").out
    assert shell("show", "3", "--json").json["options"] == ["Tea", "Coffee"]


def test_what_can_be_typed_next_fits_the_message(room: Room, shell: Shell) -> None:
    """Under `initialize` stood how a tool call is answered in words."""
    session = room.session()
    room.ask(session, 1, INITIALIZE)
    room.ask(session, 2)
    handshake, call = shell("show", "1").out, shell("show", "2").out
    assert "humanmcp answer 1 --as-is" in handshake
    assert "--text" not in handshake
    assert 'humanmcp answer 2 --text "…"' in call

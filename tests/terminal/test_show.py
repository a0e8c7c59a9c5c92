"""`humanmcp show`: a message, what is held, what could not be read, and its problems."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from humanmcp.answering.alone import count_problems
from humanmcp.answering.open_exchange import OpenExchange
from humanmcp.inbox.contract import (
    Answer,
    DeskInbox,
    Draft,
    HeldFacts,
    Item,
    Key,
    Life,
    Parked,
    Purpose,
    Reply,
    Role,
    SessionFacts,
    Waiting,
)
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import Diagnostic, Fix, Severity, TextEdit, line_and_column
from humanmcp.protocol.json.tree import pretty
from humanmcp.terminal.inbox import kept_waiting, outlook, waited
from humanmcp.terminal.problems import columns, cut, explained, fix_in_words, pad
from tests.support.inbox_folder import (
    CALL,
    INITIALIZE,
    QUESTION,
    Room,
    Shell,
    ago,
    question,
    waiting,
)
from tests.support.serve_process import Serving
from tests.support.waiting import until


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


def test_what_the_client_of_a_task_was_asked_and_answered_is_shown(
    room: Room, shell: Shell
) -> None:
    """As it came over the wire, with what hides in it made visible."""
    heard = '{"user":{"action":"\u202edecline"}}'
    parked = Parked("t", "task", asks='{"user-2":{}}', heard=heard)
    room.ask(room.session(), 3, waiting=Waiting(parked=parked))
    shown = shell("show", "3").out
    assert 'You asked the client\n  {\n    "user-2": {}' in shown
    assert '"action": "⟦U+202E⟧decline"' in shown.partition("The client answered\n")[2]


def test_what_keeps_the_client_waiting_is_said(room: Room, shell: Shell) -> None:
    """Or why nothing can."""
    session = room.session()
    room.ask(session, 1, waiting=waiting(keepalive="progress"))
    room.ask(session, 2, waiting=waiting(why_not="no-token"))
    assert "sends progress notifications" in shell("show", "1").out
    assert "progressToken" in shell("show", "2").out


def test_the_sent_answer_is_shown_afterwards(room: Room, shell: Shell) -> None:
    """The line that went out, and that it can no longer be answered."""
    key = room.ask(room.session(), 3)
    room.inbox.close(key, ExchangeState.ANSWERED, Answer('{"jsonrpc":"2.0"}', "desk", ago(0)))
    out = shell("show", "3").out
    assert "answered by you, on the page" in out
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
    question, card = out.index("  │ Tea or coffee?\n"), out.index("The model calls a tool")
    assert question < out.index("  │ It is late.\n") < out.index("  1  Tea\n") < card
    assert "  2  Coffee\n" in out
    assert "humanmcp answer 3 --choose 1" in out
    assert shell("show", "3", "--json").json["options"] == ["Tea", "Coffee"]
    assert "Tea or coffee?" in shell("inbox").out


def test_no_line_of_a_question_or_its_context_looks_like_an_option(
    room: Room, shell: Shell
) -> None:
    """A second line of it, or of its context, was printed as options are."""
    fake = "  1  Yes, delete nothing"
    arguments = {"question": f"Delete?\n{fake}", "context": f"All of it.\n{fake}"}
    room.ask(room.session(), 3, question(**arguments, options=["Yes, delete all", "No"]))
    lines = shell("show", "3").out.splitlines()
    options = [line for line in lines if line.startswith("  1  ")]
    assert options == ["  1  Yes, delete all"]
    assert lines.count(f"  │ {fake}") == 2


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


def written(folder: Path, text: str) -> str:
    """Write a text to a file; return its name."""
    file = folder / "text.json"
    file.write_text(text, "utf-8")
    return str(file)


@pytest.fixture
def held(room: Room) -> Key:
    """Hold one tool call at a tap that takes replies."""
    session = room.session(role=Role.TAP)
    delivered = room.ask(session, 3, purpose=Purpose.HELD, draft=Draft(CALL))
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


@pytest.mark.extension("tap")
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


@pytest.mark.extension("tap")
def test_a_held_line_that_is_not_understood_is_only_released_or_dropped(
    room: Room, shell: Shell
) -> None:
    """Its reason is shown, and no command is named that would not work."""
    session = room.session(role=Role.TAP)
    room.ask(
        session,
        3,
        purpose=Purpose.HELD,
        held=HeldFacts(unread=(Diagnostic("N41", Severity.ERROR),)),
    )
    room.serve(session)
    shown, refused = shell("show", "3").out, shell("answer", "3", "--text", "sunny").out
    assert "carriage return in the middle" in shown
    assert "`humanmcp release 3 --drop` drops it." in shown
    assert "`humanmcp answer" not in shown
    assert "N43" in refused
    assert "--send-anyway" not in refused


def test_no_empty_list_of_faults_is_offered_for_a_held_message(room: Room, shell: Shell) -> None:
    """The rule: "There are: -." says nothing of what can be done instead."""
    line = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    room.ask(room.session(role=Role.TAP), 3, line, purpose=Purpose.HELD)
    ran = shell("answer", "3", "--text", "sunny", "--fault", "wrong-id")
    assert ran.status == 2
    assert "There are" not in ran.err
    assert "`humanmcp answer 3` opens it in your editor" in ran.err


def test_the_card_of_what_is_held_is_the_pages_own(room: Room, shell: Shell) -> None:
    """A held answer was shown as a notification that MCP does not know."""
    session = room.session(role=Role.TAP)
    answer = '{"jsonrpc":"2.0","id":3,"result":{"content":[]}}'
    room.ask(session, 3, answer, purpose=Purpose.HELD, held=HeldFacts(Direction.OUT, CALL))
    assert shell("show", "3", "--json").json["card"]["title"] == "The model calls a tool"
    assert "3  tools/call  get-japan-forecast  content: []" in shell("inbox").out


@pytest.fixture
def server(room: Room) -> Iterator[Serving]:
    """Start a server in the room's inbox, without a client that has said its name."""
    with Serving(room.home, "--by-hand") as serving:
        yield serving


def unreadable(server: Serving) -> int:
    """Return how many lines the inbox knows of that could not be read."""
    found = FolderInbox(server.home).sessions()
    return found[0].unreadable if found else 0


def test_the_list_says_how_many_lines_could_not_be_read(server: Serving, shell: Shell) -> None:
    """They stood in the transcript alone, and the terminal said that nothing waits."""
    server.say("hello")
    until(lambda: unreadable(server) == 1, "the first")
    assert "  1 line of this client could not be read" in shell("inbox").out
    server.say(b'{"a":"\xff"}')
    until(lambda: unreadable(server) == 2, "the second")
    assert "  2 lines of this client could not be read" in shell("inbox").out
    assert "クライアントの 2 行は読めません" in shell("inbox", "--lang", "ja").out


def test_the_last_one_is_explained(server: Serving, shell: Shell) -> None:
    """Why it cannot be read, and the line itself."""
    line = b'{"a":"\xff"}'
    server.say("something before it")
    server.say(line)
    server.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    until(lambda: unreadable(server) == 2, "both")
    out = shell("show", "--unreadable").out
    assert "This line is not UTF-8 (byte 7)." in out
    assert '{"a":"�"}' in out
    told = shell("show", "a", "--unreadable", "--json").json
    assert (told["unreadable"], told["letter"]) == (2, "a")
    assert [one["code"][0] for one in told["problems"]] == ["N"]
    assert shell("show", "--unreadable", "--raw").out == '{"a":"�"}\n'


def test_where_every_line_could_be_read_that_is_said(room: Room, shell: Shell) -> None:
    """Nothing to explain is no mistake of the person's."""
    room.ask(room.session(), 3)
    assert "could not be read" not in shell("inbox").out
    ran = shell("show", "--unreadable")
    assert ran.status == 2
    assert "every line of the client could be read" in ran.err


TEXT = '{\n\t"a\u202e": 1\n}'


def diagnostic(start: int, end: int, fix: Fix | None = None, text: str = TEXT) -> Diagnostic:
    """Make a problem with a place."""
    line, column = line_and_column(text, start)
    return Diagnostic("J99", Severity.ERROR, (), "", start, end, line, column, fix)


def shown(diagnostic: Diagnostic, text: str = TEXT) -> list[str]:
    """Return the lines without their colours."""
    return [
        "".join(part if isinstance(part, str) else part.text for part in line)
        for line in explained(diagnostic, text)
    ]


def test_a_caret_stands_below_what_is_made_visible() -> None:
    """A direction override takes the columns of its code point's name."""
    at = TEXT.index("1")
    _, excerpt, caret = shown(diagnostic(at, at + 1))
    assert excerpt == '  2 |  "a⟦U+202E⟧": 1'
    assert caret.index("^") == excerpt.index("1")


@pytest.mark.parametrize(
    ("start", "end", "excerpt"),
    [
        pytest.param(0, len(TEXT), ["  1 | {", "    | ^"], id="not over the end of the line"),
        pytest.param(len(TEXT), len(TEXT), ["  3 | }", "    |  ^"], id="at the end of the text"),
    ],
)
def test_carets_stay_in_their_line(start: int, end: int, excerpt: list[str]) -> None:
    """There is always one."""
    assert shown(diagnostic(start, end))[1:] == excerpt


def test_a_problem_without_a_place_has_no_excerpt() -> None:
    """An empty text, say."""
    assert len(shown(Diagnostic("J99", Severity.ERROR))) == 1


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ((TextEdit(0, 1, "["),), "fix: write [ instead of {"),
        ((TextEdit(0, 1, ""),), "fix: remove {"),
        ((TextEdit(0, 0, "["),), "fix: add ["),
        ((TextEdit(0, 1, "["), TextEdit(2, 3, "]")), "fix: 2 small changes"),
    ],
)
def test_a_fix_is_said_in_words(edits: tuple[TextEdit, ...], words: str) -> None:
    """What goes, what comes."""
    assert fix_in_words(Fix(edits), TEXT).startswith(words)


def test_problems_are_counted_by_level() -> None:
    """One is singular."""
    found = [
        Diagnostic("x", Severity.ERROR),
        Diagnostic("x", Severity.HINT),
        Diagnostic("x", Severity.HINT),
    ]
    assert count_problems(found) == "1 error, 2 hints"


def test_columns_count_wide_and_combining_characters() -> None:
    """East Asian Width (UAX #11)."""
    assert columns("a東か\u3099") == 5
    assert pad("東", 4) == "東  "
    assert cut("東京都", 5) == "東京…"
    assert cut("東京", 4) == "東京"


NOW = datetime(2026, 11, 20, 12, 0, 30, tzinfo=UTC)


def item(
    wait: Waiting | None = None,
    state: ExchangeState = ExchangeState.PENDING,
    reply: Reply | None = None,
) -> Item:
    """Make an exchange that arrived thirty seconds ago."""
    made = Item(Key("s", 1), "{}", "ping", "1", "2025-11-25", "2026-11-20T12:00:00.000Z")
    return made._replace(state=state, reply=reply, waiting=wait or Waiting())


@pytest.mark.parametrize(
    ("arrived", "seconds"),
    [
        ("2026-11-20T12:00:00.000Z", 30),
        ("2026-11-20T12:00:00", 30),
        ("2026-11-20T12:00:31Z", 0),
        ("long ago", 0),
    ],
)
def test_the_time_waited_survives_odd_clocks(arrived: str, seconds: float) -> None:
    """A clock that was set back, or a time that cannot be read, counts as no wait."""
    one = Item(Key("s", 1), "{}", "ping", "1", "2025-11-25", arrived)
    assert waited(one, NOW) == seconds


def opened_item(exchange: Item, life: Life = Life.OPEN) -> OpenExchange:
    """Open an exchange of a session with this life; nothing else is read of its inbox."""
    return OpenExchange(cast("DeskInbox", None), exchange, SessionFacts("s", "", life=life))


@pytest.mark.parametrize(
    ("exchange", "sentences"),
    [
        (Waiting(status_until=40), ["you can choose the HTTP status for 0:10"]),
        (Waiting(status_until=30), []),
        (
            Waiting(book_at=60, book="paused"),
            ["the answer book is paused: the request waits for you"],
        ),
        (Waiting(limit=60), ["the client may time out in 0:30"]),
    ],
)
def test_the_outlook_says_what_matters_and_nothing_else(
    exchange: Waiting, sentences: list[str]
) -> None:
    """No countdown where the person decides."""
    told = [sentence for sentence, _ in outlook(opened_item(item(exchange)), NOW)]
    assert told == ["waits for you", *sentences]


def test_no_deadline_is_told_once_an_answer_is_on_its_way() -> None:
    """The client has not given up, and the person has nothing to do."""
    (one,) = outlook(opened_item(item(Waiting(limit=60), reply=Reply("{}"))), NOW)
    assert one[0] == "an answer is being sent"


def test_a_deadline_that_is_near_is_marked_as_soon() -> None:
    """Fifteen seconds before it, and after it."""
    far, near, past = (
        outlook(opened_item(item(Waiting(limit=limit))), NOW)[1] for limit in (120, 40, 10)
    )
    assert (far[1], near[1], past[1]) == (False, True, True)
    assert "timed out" in past[0]


def test_of_a_client_without_a_limit_nothing_is_said_that_could_keep_it_waiting() -> None:
    """It waits anyway."""
    waiting = Waiting(source="no-limit", why_not="no-token")
    assert kept_waiting(item(waiting)) == "this client has no timeout"

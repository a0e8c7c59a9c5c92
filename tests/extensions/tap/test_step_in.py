"""A person between a client and a server: hold, let go, edit, drop, answer instead."""

import json
import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from humanmcp.answering import approvals
from humanmcp.answering.open_exchange import open_exchange_of
from humanmcp.common.line_pipe import LONGEST_LINE
from humanmcp.inbox.contract import Action, Item, Purpose, Reply
from humanmcp.protocol.conversation.allow_patterns import patterns_for
from humanmcp.protocol.conversation.decisions import sha256, verify_decisions
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import Diagnostic, TextForm
from tests.extensions.tap.tap_process import Tapped, python, server
from tests.support.full_disk import empty, fill
from tests.support.serve_process import HUMANMCP, run_command
from tests.support.waiting import until

CALL: Final = (
    b'{ "jsonrpc":"2.0", "id":7, "method":"tools/call",'
    b' "params":{"name":"dice","arguments":{"sides":6.0}}}\r\n'
)
LIST: Final = b'{"jsonrpc":"2.0","id":8,"method":"tools/list"}\n'
ANSWER: Final = '{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"4"}]}}'


def notes(tapped: Tapped) -> list[tuple[Direction, int, str, str]]:
    """Return what is remarkable in the record: way, number, by, note."""
    return [
        (frame.direction, frame.number, frame.by, frame.note)
        for frame in tapped.frames()
        if frame.note and frame.by != "check"
    ]


def hold_call(tapped: Tapped) -> Item:
    """Send a call and something after it; return the held call once the other has passed."""
    tapped.say(CALL + LIST)
    assert tapped.hear() == LIST  # what is not held is not held up
    (item,) = tapped.held()
    return item


def test_a_held_message_waits_in_the_inbox_and_holds_up_nothing_else(home: Path) -> None:
    """The item says what it is, where it came from, and that it may be let go."""
    with Tapped(home, server("echo"), "--hold", "in:tools/call") as tapped:
        item = hold_call(tapped)
        assert (item.purpose, item.held.way, item.method, item.id) == (
            Purpose.HELD,
            Direction.IN,
            "tools/call",
            "7",
        )
        assert item.line.encode() == CALL.removesuffix(b"\r\n")
        assert tapped.hears_nothing_yet()


def test_what_is_let_go_is_the_original_byte_for_byte(home: Path) -> None:
    """An untouched text, also laid out over several lines, is not the person's: 6.0 stays 6.0."""
    with Tapped(home, server("echo"), "--hold", "in:tools/call") as tapped:
        item = hold_call(tapped)
        assert item.draft is not None
        assert "\n" in item.draft.text
        tapped.send(item.key, Reply(item.draft.text, by="desk"))
        assert tapped.hear() == CALL
        assert tapped.settled(item.key).state is ExchangeState.ANSWERED
        assert tapped.close()[0] == 0
        assert notes(tapped) == [
            (Direction.IN, 1, "", "held"),
            (Direction.NOTE, 1, "desk", "let go"),
        ]


def test_an_edited_message_goes_on_and_is_marked(home: Path) -> None:
    """The original is kept beside the change, so it can be had back."""
    with Tapped(home, server("echo"), "--hold", "in:tools/call") as tapped:
        item = hold_call(tapped)
        tapped.send(item.key, Reply(item.line.replace("6.0", "20"), by="desk"))
        changed = tapped.hear()
        assert json.loads(changed)["params"]["arguments"] == {"sides": 20}
        settled = tapped.settled(item.key)
        assert settled.line == item.line
        assert settled.answer is not None
        assert settled.answer.line.encode() == changed[:-1]
        assert tapped.close()[0] == 0
        assert notes(tapped) == [
            (Direction.IN, 1, "", "held"),
            (Direction.IN, 1, "desk", "changed"),
        ]


def test_a_dropped_message_never_arrives(home: Path) -> None:
    """The server hears what comes after it, and not it."""
    with Tapped(home, server("echo"), "--hold", "in:tools/call") as tapped:
        item = hold_call(tapped)
        tapped.send(item.key, Reply("", action=Action.DROP, by="desk"))
        settled = tapped.settled(item.key)
        assert (settled.state, settled.reason) == (ExchangeState.CANCELLED, "dropped")
        status, rest, _errors = tapped.close()
        assert (status, rest) == (0, b"")
        assert notes(tapped)[-1] == (Direction.NOTE, 1, "desk", "dropped")


@pytest.mark.parametrize(
    "reply",
    [
        Reply(ANSWER, action=Action.ANSWER, by="desk"),
        Reply(ANSWER, by="desk"),
        Reply('{"content":[{"type":"text","text":"4"}]}', TextForm.RESULT, by="desk"),
        Reply("4", TextForm.TEXT, by="desk"),
    ],
    ids=["action", "a response", "a result", "text"],
)
def test_a_person_answers_instead_of_the_server(home: Path, reply: Reply) -> None:
    """The answer reaches the client; the server never sees the request (it would send it back)."""
    with Tapped(home, server("echo"), "--hold", "tool:dice") as tapped:
        item = hold_call(tapped)
        tapped.send(item.key, reply)
        answer = json.loads(tapped.hear())
        assert answer["id"] == 7
        assert answer["result"]["content"] == [{"type": "text", "text": "4"}]
        status, rest, _errors = tapped.close()
        assert (status, rest) == (0, b"")
        assert notes(tapped)[-1] == (Direction.OUT, 1, "desk", "answered instead")


def test_each_decision_about_a_held_message_leaves_a_record(home: Path) -> None:
    """Allowed, changed, dropped, answered in the server's place: of each the exact bytes."""
    with Tapped(home, server("echo"), "--hold", "in:tools/call") as tapped:
        replies = (
            Reply("", by="desk", who="アンナ", device="phone", shown_at="2026-11-21T01:00:00Z"),
            Reply("6.0", by="desk"),
            Reply("", action=Action.DROP, by="desk"),
            Reply("4", TextForm.TEXT, by="desk"),
        )
        held: list[Item] = []
        for at, reply in enumerate(replies, 1):
            tapped.say(CALL.replace(b"7", b"%d" % at))
            (item,) = until(tapped.held, "the call")
            text = {1: item.line, 2: item.line.replace("6.0", "20")}.get(at, reply.text)
            tapped.send(item.key, reply._replace(text=text))
            held.append(tapped.settled(item.key))
        facts = until(
            lambda: one if (one := tapped.inbox.facts(item.key.session)).decisions == 4 else None,
            "the facts",
        )
        assert tapped.close()[0] == 0
        written = [frame.decision for frame in tapped.frames() if frame.decision]
    records = [json.loads(one) for one in written]
    assert [one["action"] for one in records] == ["allow", "change", "drop", "deny"]
    assert list(verify_decisions("".join(f"{one}\n" for one in written).encode())) == []
    assert facts.last_decision == records[-1]["digest"]
    for item, record in zip(held, records, strict=True):
        answered = item.answer.line if item.answer else ""
        assert (record["asked"], record["answered"]) == (sha256(item.line), sha256(answered))
    first = records[0]
    assert first["answered"] == first["asked"]
    assert [first[name] for name in ("who", "device")] == ["アンナ", "phone"]
    assert first["shown_at"] == "2026-11-21T01:00:00Z"


def test_a_wrong_answer_comes_back_with_its_problems(home: Path) -> None:
    """The check decides here as it does in the server; the text is kept, the call still waits."""
    wrong = ANSWER.replace('"id":7', '"id":99')
    with Tapped(home, server("echo"), "--hold", "in:tools/call") as tapped:
        item = hold_call(tapped)
        tapped.send(item.key, Reply(wrong, by="desk"))
        inbox = tapped.inbox
        back = until(
            lambda: one if (one := inbox.item(item.key)).diagnostics else None, "the problems"
        )
        assert back.state is ExchangeState.PENDING
        assert back.draft is not None
        assert back.draft.text == wrong
        tapped.send(item.key, Reply(wrong, anyway=True, by="desk"))
        assert json.loads(tapped.hear())["id"] == 99
        settled = tapped.settled(item.key)
        assert settled.answer is not None
        assert settled.answer.deliberate


def test_an_answer_can_be_held_and_changed(home: Path) -> None:
    """out:METHOD holds the server's answer; the item says which request it belongs to."""
    request = b'{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"dice"}}\n'
    answer = b'{"jsonrpc":"2.0","id":0,"result":{"content":[{"type":"text","text":"1"}]}}\n'
    script = home.parent / "script.log"
    script.write_bytes(b"[t] IN: " + request + b"[t] OUT: " + answer)
    with Tapped(home, server("scripted", str(script)), "--hold", "out:tool:dice") as tapped:
        tapped.say(request)
        (item,) = tapped.held()
        assert (item.held.way, item.method, item.id) == (Direction.OUT, "tools/call", "0")
        assert item.held.asked.encode() == request[:-1]
        tapped.send(item.key, Reply(item.line.replace('"1"', '"6"'), by="desk"))
        assert json.loads(tapped.hear())["result"]["content"][0]["text"] == "6"
        assert tapped.close()[0] == 0
        assert notes(tapped)[-1] == (Direction.OUT, 1, "desk", "changed")


def test_next_holds_one_message_and_no_more(home: Path) -> None:
    """And whoever looks sees that nothing is to be held any more."""
    with Tapped(home, server("echo"), "--hold", "next") as tapped:
        tapped.say(CALL + LIST)
        assert tapped.hear() == LIST
        (item,) = tapped.held()
        inbox = tapped.inbox
        until(lambda: not inbox.holds(item.key.session), "nothing more to hold")


def test_a_person_says_while_it_runs_what_is_to_be_held(home: Path) -> None:
    """What a desk writes is in force within a moment."""
    with Tapped(home, server("echo")) as tapped:
        tapped.say(LIST)
        assert tapped.hear() == LIST
        inbox, name = tapped.inbox, tapped.session
        inbox.hold(name, ["tools/list"])

        def is_held() -> bool:
            tapped.say(LIST)
            if not inbox.items(name):
                return False
            inbox.hold(name, [])
            return True

        until(is_held, "a held message")


def test_a_hold_setting_that_cannot_be_read_holds_everything(home: Path) -> None:
    """It counted as none, and everything passed."""
    with Tapped(home, server("echo"), "--hold", "ping") as tapped:
        tapped.say(LIST)
        assert tapped.hear() == LIST
        (home / "sessions" / tapped.session / "holds.json").write_text("[")
        until(lambda: _is_held(tapped, LIST), "the tap to hold everything")


def _is_held(tapped: Tapped, line: bytes) -> bool:
    tapped.say(line)
    return bool(tapped.inbox.items(tapped.session))


def test_a_call_that_was_allowed_for_the_session_passes_and_any_other_is_held(home: Path) -> None:
    """A denied call never arrives: the model reads the reason as a tool error."""
    with Tapped(home, server("echo"), "--hold", "tools/call") as tapped:
        inbox, name = tapped.inbox, tapped.session
        item = hold_call(tapped)
        opened = open_exchange_of(inbox, item.key)
        assert opened.approval is not None
        (same, _every) = patterns_for(opened.approval)
        tapped.send(item.key, approvals.deny(opened, "no dice")._replace(by="desk"))
        denied = json.loads(tapped.hear())["result"]
        assert (denied["isError"], denied["content"][0]["text"]) == (True, "no dice")
        tapped.settled(item.key)
        inbox.hold(name, ["in:tools/call", "in:ping", str(same)])
        until(lambda: _holds_a_ping(tapped), "the tap to follow")
        tapped.say(CALL)
        passed = iter(tapped.hear, CALL)
        assert all(b'"ping"' in line for line in passed)
        tapped.say(CALL.replace(b"6.0", b"7"))
        until(lambda: any('sides":7' in one.line for one in tapped.held()), "the other is held")


def test_all_go_after_a_time(home: Path) -> None:
    """--release-after: nobody has to be there."""
    with Tapped(home, server("echo"), "--hold", "in", "--release-after", "0.2") as tapped:
        tapped.say(CALL)
        assert tapped.hear() == CALL
        assert tapped.close()[0] == 0
        assert notes(tapped)[-1] == (Direction.NOTE, 1, "tap", "let go")


def test_a_cancelled_request_is_held_no_more(home: Path) -> None:
    """The client gave up: the item says so, and the server never sees the request."""
    cancel = (
        b'{"jsonrpc":"2.0","method":"notifications/cancelled",'
        b'"params":{"requestId":7,"reason":"too slow"}}\n'
    )
    with Tapped(home, server("echo"), "--hold", "in:tools/call") as tapped:
        item = hold_call(tapped)
        tapped.say(cancel)
        assert tapped.hear() == cancel
        settled = tapped.settled(item.key)
        assert (settled.state, settled.reason) == (ExchangeState.CANCELLED, "too slow")


def test_a_cancelled_request_is_held_no_more_when_nothing_else_is_to_be_held(home: Path) -> None:
    """`next` held it and is used up: the gate still hears that the client gave up."""
    cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}\n'
    with Tapped(home, server("echo"), "--hold", "next") as tapped:
        item = hold_call(tapped)
        tapped.say(cancel)
        assert tapped.hear() == cancel
        assert tapped.settled(item.key).state is ExchangeState.CANCELLED


LATE: Final = """
import sys
for line in sys.stdin:
    if '"initialize"' in line:
        print('{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2024-11-05",'
              '"capabilities":{},"serverInfo":{"name":"s","version":"1"}}}', flush=True)
    if '"notifications/progress"' in line:
        print('{"jsonrpc":"2.0","id":1,"result":{"content":[]}}', flush=True)
"""


def test_a_late_wish_finds_what_is_in_flight_and_what_was_agreed(home: Path) -> None:
    """Holding begins in the middle of a session: version and open requests are known."""
    first = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}\n'
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dice"}}\n'
    with Tapped(home, python(LATE)) as tapped:
        tapped.say(first)
        assert b"2024-11-05" in tapped.hear()
        tapped.say(call)
        inbox, name = tapped.inbox, tapped.session
        until(lambda: len(tapped.frames()) >= 3, "the call in the record")
        inbox.hold(name, ["out:tool:dice", "ping"])
        until(lambda: _holds_a_ping(tapped), "the tap to hold")
        tapped.say(b'{"jsonrpc":"2.0","method":"notifications/progress"}\n')
        found = until(
            lambda: next((one for one in inbox.items(name) if one.held.way is Direction.OUT), None),
            "the held answer",
        )
        assert (found.protocol_version, found.held.asked.encode()) == ("2024-11-05", call[:-1])


def _holds_a_ping(tapped: Tapped) -> bool:
    tapped.say(b'{"jsonrpc":"2.0","id":99,"method":"ping"}\n')
    return bool(tapped.inbox.items(tapped.session))


BATCH: Final = (
    b'[{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"dice"}}, '
    b'{"jsonrpc":"2.0","id":8,"method":"ping"}]\n'
)


def test_a_held_array_goes_on_whole_byte_for_byte(home: Path) -> None:
    """2025-03-26: what holds one message in it holds all of it; it is not taken apart."""
    with Tapped(home, server("echo"), "--hold", "in:tool:dice") as tapped:
        tapped.say(BATCH + LIST)
        assert tapped.hear() == LIST
        (item,) = tapped.held()
        assert (item.line.encode(), item.method, item.id) == (BATCH[:-1], "tools/call", "")
        tapped.send(item.key, Reply(item.line, action=Action.FORWARD, by="desk"))
        assert tapped.hear() == BATCH
        assert tapped.close()[0] == 0
        assert notes(tapped) == [
            (Direction.IN, 1, "", "held"),
            (Direction.NOTE, 1, "desk", "let go"),
        ]


def test_a_held_array_outlives_the_end_of_one_request_in_it(home: Path) -> None:
    """The client cancels one of them: the others still have to arrive."""
    cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}\n'
    with Tapped(home, server("echo"), "--hold", "in:tool:dice") as tapped:
        tapped.say(BATCH + cancel)
        assert tapped.hear() == cancel
        (item,) = tapped.held()
        tapped.send(item.key, Reply(item.line, action=Action.FORWARD))
        assert tapped.hear() == BATCH


def test_a_held_array_can_be_changed_and_dropped(home: Path) -> None:
    """An array stays an array; one line goes on, whatever the layout was."""
    with Tapped(home, server("echo"), "--hold", "in:tool:dice") as tapped:
        tapped.say(BATCH * 2)
        first, second = tapped.held(2)
        tapped.send(first.key, Reply(ANSWER))
        inbox = tapped.inbox
        back = until(
            lambda: one if (one := inbox.item(first.key)).diagnostics else None, "the problems"
        )
        assert [diagnostic.code for diagnostic in back.diagnostics] == ["N32"]
        tapped.send(first.key, Reply("[\n" + item_of(BATCH, 1) + "\n]"))
        assert tapped.hear() == b"[" + item_of(BATCH, 1).encode() + b"]\n"
        tapped.send(second.key, Reply("", action=Action.DROP))
        assert tapped.settled(second.key).state is ExchangeState.CANCELLED


ANSWERS: Final = (
    '[{"jsonrpc":"2.0","id":8,"result":{}},\n'
    ' {"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"4"}]}}]'
)


def test_a_held_array_can_be_answered_instead_of_the_server(home: Path) -> None:
    """With an array that answers every request in it; the server never sees any of them."""
    with Tapped(home, server("echo"), "--hold", "in:tool:dice") as tapped:
        tapped.say(BATCH)
        (item,) = tapped.held()
        tapped.send(item.key, Reply(ANSWERS.partition(",\n")[0] + "]", by="desk"))
        inbox = tapped.inbox
        back = until(
            lambda: one if (one := inbox.item(item.key)).diagnostics else None, "the problems"
        )
        assert [(one.code, dict(one.detail)) for one in back.diagnostics] == [("N35", {"ids": "7"})]
        tapped.send(item.key, Reply(ANSWERS, by="desk"))
        assert json.loads(tapped.hear()) == json.loads(ANSWERS)
        assert tapped.close()[:2] == (0, b"")
        assert notes(tapped)[-1] == (Direction.OUT, 1, "desk", "answered instead")


def item_of(batch: bytes, index: int) -> str:
    """Return one message of an array, written as compactly as it goes on."""
    return json.dumps(json.loads(batch)[index], separators=(",", ":"))


def test_nothing_held_keeps_the_end_back(home: Path) -> None:
    """CAPTURE-6 and T3 with a person at it: the client leaves, the server hears of it at once."""
    with Tapped(home, server("echo", "3"), "--hold", "in:tools/call") as tapped:
        item = hold_call(tapped)
        assert tapped.close()[0] == 3
        assert tapped.inbox.item(item.key).state is ExchangeState.ABANDONED


def test_the_servers_last_words_are_let_go_when_it_ends(home: Path) -> None:
    """What is held of its output still reaches the client."""
    last = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}\n'
    script = home.parent / "script.log"
    script.write_bytes(b"[t] OUT: " + last)
    with Tapped(home, server("scripted", str(script)), "--hold", "out") as tapped:
        tapped.held()
        assert tapped.close()[1] == last


BOOK: Final = """
[[rules]]
tool = "dice"
where = { sides = 6 }
text = "always four"
times = 1

[[rules]]
tool = "dice"
where = { sides = 2 }
do = "forward"

[[rules]]
tool = "dice"
do = "hold"
"""


def roll(number: int, sides: int) -> bytes:
    """Return the call of a die with so many sides."""
    params = f'{{"name":"dice","arguments":{{"sides":{sides}}}}}'
    return f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{params}}}\n'.encode()


def test_the_answer_book_answers_forwards_and_holds(home: Path) -> None:
    """By rule, per tool and argument; what matches nothing is forwarded."""
    book = home.parent / "book.toml"
    book.write_text(BOOK, encoding="utf-8")

    with Tapped(home, server("echo"), "--book", str(book)) as tapped:
        tapped.say(roll(1, 6))
        answer = json.loads(tapped.hear())
        assert answer["result"]["content"] == [{"type": "text", "text": "always four"}]
        tapped.say(roll(2, 2) + LIST)
        assert (tapped.hear(), tapped.hear()) == (roll(2, 2), LIST)
        tapped.say(roll(3, 6))  # the first rule answers once
        (item,) = tapped.held()
        assert item.id == "3"
        assert tapped.close()[0] == 0
        assert (Direction.OUT, 1, "book: rule 1", "answered instead") in notes(tapped)


def test_a_rule_at_a_tap_uses_the_arguments_and_one_that_asks_holds(home: Path) -> None:
    """A tap says nothing of its own and asks nobody: such a request is a person's."""
    book = home.parent / "book.toml"
    book.write_text(
        """
[[rules]]
tool = "dice"
where = { sides = 6 }
text = "{sides} sides"

[[rules]]
tool = "dice"
text = "what you say"
ask = { user = { method = "roots/list" } }
""",
        encoding="utf-8",
    )

    with Tapped(home, server("echo"), "--book", str(book)) as tapped:
        tapped.say(roll(1, 6))
        assert json.loads(tapped.hear())["result"]["content"][0]["text"] == "6 sides"
        tapped.say(roll(2, 2))
        (item,) = tapped.held()
        assert item.id == "2"


def test_a_saved_book_is_followed_and_a_broken_one_is_said(home: Path) -> None:
    """While the tap runs; the last good book stays in force."""
    book = home.parent / "book.toml"
    book.write_text('[[rules]]\ntool = "dice"\ntext = "one"\n', encoding="utf-8")

    def answered(words: str) -> bool:
        tapped.say(CALL)
        return words.encode() in tapped.hear()

    with Tapped(home, server("echo"), "--book", str(book)) as tapped:
        assert answered("one")
        book.write_text('[[rules]]\ntool = "dice"\ntext = "another"\n', encoding="utf-8")
        until(lambda: answered("another"), "the new book")
        book.write_text("[[rules]]\ntool =\n", encoding="utf-8")
        until(lambda: [note for *_, note in notes(tapped) if "answer book" in note], "a complaint")
        assert answered("another")


def test_a_pattern_that_says_nothing_is_a_usage_error(home: Path) -> None:
    """The message says what can be written; the server is not started."""
    with Tapped(home, server("echo"), "--hold", "tool:") as tapped:
        status, _rest, errors = tapped.ended()
    assert status == 2
    assert b"tool:NAME" in errors


def command(tapped: Tapped, *words: str) -> tuple[int, str]:
    """Run a command of humanmcp against the same inbox. Returns its status and what it said."""
    home = tapped.home
    ran = run_command(home.parent, *HUMANMCP, *words, "--home", str(home), "--lang", "en")
    return ran.returncode, ran.stdout + ran.stderr


def test_what_is_held_is_let_go_with_one_command(home: Path) -> None:
    """`humanmcp release NUMBER …`: in the order in which it came."""
    with Tapped(home, server("echo"), "--hold", "in") as tapped:
        tapped.say(CALL + LIST)
        tapped.held(2)
        assert command(tapped, "release", "1", "2") == (0, "2 released\n")
        assert {tapped.hear(), tapped.hear()} == {CALL, LIST}
        assert command(tapped, "release") == (1, "0 released\n")


def test_one_held_message_is_dropped_with_a_command(home: Path) -> None:
    """`humanmcp release NUMBER --drop`; the other one stays held."""
    with Tapped(home, server("echo"), "--hold", "in") as tapped:
        tapped.say(CALL + LIST)
        first, second = tapped.held(2)
        assert command(tapped, "release", str(first.key.number), "--drop") == (0, "1 dropped\n")
        assert tapped.settled(first.key).state is ExchangeState.CANCELLED
        assert tapped.inbox.item(second.key).state is ExchangeState.PENDING
        status, said = command(tapped, "release", "99")
        assert status == 1
        assert "Message 99 is not held" in said


def test_the_command_that_lets_go_is_printed_as_it_can_be_typed(home: Path) -> None:
    """With two taps, too, where the number alone is not enough: in the list, and of a message."""
    with (
        Tapped(home, server("echo"), "--hold", "in") as one,
        Tapped(home, server("echo"), "--hold", "in") as other,
    ):
        one.say(LIST)
        other.say(LIST)
        both = "two messages are held"
        until(lambda: command(one, "inbox")[1].count("held by the tap") == 2, both)
        for words in (("inbox",), ("show", "b/1")):
            printed = re.findall(r"`humanmcp (release [^`]*)`", command(one, *words)[1])[0]
            assert command(one, *shlex.split(printed)) == (0, "1 released\n")
        assert (one.hear(), other.hear()) == (LIST, LIST)


def test_what_is_to_be_held_is_said_and_seen_with_a_command(home: Path) -> None:
    """`humanmcp hold`: patterns that say nothing are refused."""
    with Tapped(home, server("echo")) as tapped:
        tapped.say(LIST)
        tapped.hear()
        until(lambda: list(tapped.inbox.sessions()), "a visible session")
        status, said = command(tapped, "hold", "in:tools/call", "next")
        assert status == 0
        assert "holds: in:tools/call, next (0 waiting)" in said
        assert "holds: next (0 waiting)" in command(tapped, "hold", "next", "--session", "a")[1]
        assert command(tapped, "hold", "next", "--session", "b")[0] == 1
        assert "nothing" in command(tapped, "hold", "--nothing")[1]
        assert command(tapped, "hold", "tool:")[0] == 1


def test_nothing_can_be_said_first_at_a_tap(home: Path) -> None:
    """A desk that tries learns why, instead of waiting for ever."""
    with Tapped(home, server("echo")) as tapped:
        inbox, name = tapped.inbox, tapped.session
        ticket = inbox.submit(name, Reply('{"jsonrpc":"2.0","method":"notifications/message"}'))
        result = until(lambda: inbox.outgoing_result(name, ticket), "what became of it")
        assert [problem.code for problem in result.problems] == ["N34"]


@pytest.mark.parametrize("client_leaves", [False, True], ids=["goes on", "leaves"])
def test_the_end_of_a_held_message_is_kept_when_the_disk_has_room_again(
    home: Path, *, client_leaves: bool
) -> None:
    """Nobody is shown for ever that it waits, nor that it was abandoned."""
    with Tapped(home, server("echo"), "--hold", "in:tools/call") as tapped:
        item = hold_call(tapped)
        fill(tapped.process)
        tapped.send(item.key, Reply(item.line, by="desk"))
        assert tapped.hear() == CALL
        assert tapped.inbox.item(item.key).state is ExchangeState.PENDING
        empty(tapped.process)
        if client_leaves:
            assert tapped.close()[0] == 0
        settled = tapped.settled(item.key)
        assert settled.state is ExchangeState.ANSWERED
        assert settled.answer is not None


def test_problems_of_a_held_message_come_back_when_the_disk_has_room_again(home: Path) -> None:
    """Its reply would count as being on its way for ever."""
    with Tapped(home, server("echo"), "--hold", "in:tool:dice") as tapped:
        hold_call(tapped)
        second = CALL.replace(b'"id":7', b'"id":70')
        tapped.say(second)
        wrong, right = tapped.held(2)
        fill(tapped.process)
        tapped.send(wrong.key, Reply(ANSWER.replace('"id":7', '"id":99'), by="desk"))
        tapped.send(right.key, Reply(right.line, by="desk"))
        assert tapped.hear() == second  # the reply that was submitted before it was looked at, too
        assert not tapped.inbox.item(wrong.key).diagnostics
        empty(tapped.process)
        assert until(lambda: tapped.inbox.item(wrong.key).diagnostics, "the problems")


def test_what_cannot_be_stored_is_held_until_a_person_can_see_it(home: Path) -> None:
    """It went on, and `--release-after` released what nobody could read."""
    with Tapped(home, server("echo"), "--hold", "in:tool:dice", "--release-after", "0.1") as tapped:
        tapped.say(LIST)
        assert tapped.hear() == LIST
        fill(tapped.process)
        tapped.say(CALL)
        tapped.say(LIST)
        assert tapped.hear() == LIST
        empty(tapped.process)
        assert tapped.held()
        assert tapped.hear() == CALL


def test_what_cannot_be_stored_is_not_released_by_the_end_of_its_side(home: Path) -> None:
    """The client gets nothing that no person could read, and stderr says why."""
    with Tapped(home, server("echo", "3"), "--hold", "out:tools/call") as tapped:
        tapped.say(LIST)
        assert tapped.hear() == LIST
        fill(tapped.process)
        tapped.say(CALL + LIST)
        assert tapped.hear() == LIST
        status, rest, errors = tapped.close()
    assert (status, rest) == (3, b"")
    assert b"held message 1 cannot be stored" in errors


def test_a_tap_that_cannot_hold_ends_with_a_sentence(home: Path) -> None:
    """It said that nothing is held, and passed everything."""
    home.write_text("no folder")
    with Tapped(home, server("echo"), "--hold", "in") as tapped:
        status, rest, errors = tapped.ended()
    assert (status, rest) == (2, b"")
    assert b"no message is forwarded" in errors


UNREAD: Final = (
    b'{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"x"}}\r\n',
    b'{"id":1,"method":"tools/call","params":{"name":"\xff"}}\n',
    b'{"id":1,"method":"ping"}\r{"id":2,"method":"tools/call"}\n',
)


def test_what_is_not_understood_waits_and_is_released_byte_for_byte(home: Path) -> None:
    """Nothing but releasing and dropping is offered, and nothing else is taken."""
    with Tapped(home, server("echo"), "--hold", "tools/call") as tapped:
        tapped.say(b"".join(UNREAD) + LIST)
        assert tapped.hear() == LIST
        items = tapped.held(3)
        assert [[one.code for one in item.held.unread] for item in items] == [
            ["N07"],
            ["N02"],
            ["N41"],
        ]
        assert [(item.method, item.id, item.purpose) for item in items] == [
            ("", "", Purpose.HELD)
        ] * 3
        assert items[1].line == '{"id":1,"method":"tools/call","params":{"name":"\\xff"}}'
        for reply in (
            Reply(ANSWER, action=Action.ANSWER, anyway=True, by="desk"),
            Reply("4", TextForm.TEXT, by="desk"),
            Reply(items[1].line.replace("xff", "xfe"), anyway=True, by="desk"),
        ):
            tapped.send(items[1].key, reply)
            assert [one.code for one in refusal_of(tapped, items[1])] == ["N43"]
        tapped.send(items[0].key, Reply(items[0].line, by="desk"))
        assert tapped.hear() == UNREAD[0]
        tapped.send(items[1].key, Reply(items[1].line, by="desk"))
        assert tapped.hear() == UNREAD[1]
        tapped.send(items[2].key, Reply("", action=Action.DROP, by="desk"))
        assert tapped.settled(items[2].key).reason == "dropped"
        assert tapped.close()[:2] == (0, b"")
        assert notes(tapped)[-3:] == [
            (Direction.NOTE, 1, "desk", "let go"),
            (Direction.NOTE, 2, "desk", "let go"),
            (Direction.NOTE, 3, "desk", "dropped"),
        ]


def refusal_of(tapped: Tapped, item: Item) -> tuple[Diagnostic, ...]:
    """Wait until a reply was given back, and return why."""

    def given_back() -> tuple[Diagnostic, ...]:
        found = tapped.inbox.item(item.key)
        return () if found.reply else found.diagnostics

    return until(given_back, "the reply given back")


def test_a_client_that_leaves_releases_nothing_that_is_not_understood(home: Path) -> None:
    """Its last line may be a call, and nobody allowed it."""
    with Tapped(home, server("echo"), "--hold", "tools/call") as tapped:
        tapped.say(UNREAD[0] + LIST + UNREAD[1].removesuffix(b"\n"))
        assert tapped.hear() == LIST
        assert tapped.close()[:2] == (0, b"")


def test_no_time_releases_what_is_not_understood(home: Path) -> None:
    """`--release-after` released lines that nobody could read; the server's end did, too."""
    code = "import sys; print('42', flush=True); sys.stdin.read()"
    with Tapped(home, python(code), "--hold", "out", "--release-after", "0.1") as tapped:
        (item,) = tapped.held()
        assert (item.held.unread[0].code, item.waiting.book_at) == ("N05", None)
        _, rest, errors = tapped.close()
    assert rest == b""
    assert b"held message 1 was not forwarded" in errors


def test_a_line_that_is_too_long_to_be_held_is_refused_and_said(home: Path) -> None:
    """Nobody could look at it. Who waits for its answer is told; the next line passes."""
    size = LONGEST_LINE + 1
    long = b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"x":"' + b"x" * size + b'"}}\n'
    with Tapped(home, server("echo"), "--hold", "tools/call") as tapped:
        tapped.say(long + LIST)
        heard = sorted((tapped.hear(), tapped.hear()), key=len)
        assert heard[0] == LIST
        error = json.loads(heard[1])
        assert (error["id"], error["error"]["code"]) == (9, -32603)
        status, rest, errors = tapped.close()
        assert (status, rest) == (0, b"")
        assert f"{len(long) - 1} bytes" in errors.decode()
        assert [note for *_, note in notes(tapped)[1:3]] == [
            errors.decode().splitlines()[0],
            "answered instead",
        ]


def test_the_servers_line_that_is_too_long_to_be_held_becomes_an_error(home: Path) -> None:
    """The client is told so instead of waiting for the response."""
    code = (
        "import sys; sys.stdin.readline();"
        f" x = 'x' * {LONGEST_LINE};"
        ' print(\'{"jsonrpc":"2.0","id":8,"result":"\' + x + \'"}\')'
    )
    with Tapped(home, python(code), "--hold", "out:tools/list") as tapped:
        tapped.say(LIST)
        error = json.loads(tapped.hear())
        assert (error["id"], error["error"]["code"]) == (8, -32603)
        assert tapped.close()[:2] == (0, b"")


def test_a_line_that_no_hold_is_about_passes_however_long_it_is(home: Path) -> None:
    """A hold of what the server says holds up nothing that the client says."""
    size = LONGEST_LINE + 1
    answer = '\'{"jsonrpc":"2.0","id":%d,"result":{}}\''
    counts = python(f"import sys; print({answer} % len(sys.stdin.buffer.readline()))")
    with Tapped(home, counts, "--hold", "out:ping") as tapped:
        tapped.say(b"x" * size + b"\n")
        assert json.loads(tapped.hear())["id"] == size + 1

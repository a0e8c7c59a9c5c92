"""Permission prompts and questions of an agent in the terminal: shown, and decided with one key."""

import json
import os
import pty
import select
import sys
import termios
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest

from humanmcp.answering.open_exchange import open_exchange_of
from humanmcp.inbox.contract import Key
from humanmcp.protocol.conversation.approvals import digest_of
from humanmcp.terminal.replying import Answering, ask, read_key
from tests.support.inbox_folder import Room, Shell, approving, outcome, permission, question
from tests.support.waiting import PATIENCE, until


@pytest.fixture
def asked(room: Room) -> Callable[[str], Key]:
    """Return what lets a host ask, in a session whose server takes replies."""

    def ask(line: str) -> Key:
        session = approving(room, folder="/home/ann/app")
        room.serve(session)
        return room.ask(session, 3, line)

    return ask


def decided(room: Room, key: Key) -> Any:  # noqa: ANN401 - any JSON value
    """Return what the host reads of the answer; None if it has none."""
    answer = room.inbox.item(key).answer
    return answer and json.loads(json.loads(answer.line)["result"]["content"][0]["text"])


def test_show_says_who_wants_to_do_what_and_where(
    asked: Callable[[str], Key], shell: Shell
) -> None:
    """What could hide is shown, and the next command decides."""
    asked(permission("Bash", command="rm \u202ex", description="Clean up"))
    out = shell("show", "3").out
    assert "claude-code 2.1 wants to run a command with Bash" in out
    assert "/home/ann/app" in out
    assert "    rm ⟦U+202E⟧x" in out
    assert "answer 3 --allow" in out


def test_a_terminal_with_colours_shows_an_edit_and_words_in_their_order(
    asked: Callable[[str], Key], shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Removed and added lines have a colour, and the others none; a mark is beside each word."""
    asked(permission("Edit", file_path="/אב/גד", old_string="a\nb", new_string="a\nc"))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    out = shell("show", "3").out
    assert "    a\n    \x1b[31m-b\x1b[0m\n    \x1b[32m+c\x1b[0m\n" in out
    assert "    \u200e/אב\u200e/גד\u200e\n" in out
    assert "/אב\u200e/גד\u200e" in shell("inbox").out


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        (["--allow"], {"behavior": "allow", "updatedInput": {"command": "git status"}}),
        (["--deny", "not now"], {"behavior": "deny", "message": "not now"}),
        (["--deny"], {"behavior": "deny", "message": "A person denied this."}),
    ],
)
def test_a_flag_decides(
    asked: Callable[[str], Key], room: Room, shell: Shell, words: list[str], sent: object
) -> None:
    """No JSON is typed."""
    key = asked(permission("Bash", command="git status"))
    assert shell("answer", "3", *words).status == 0
    assert decided(room, key) == sent


def test_what_is_allowed_for_the_session_is_named_by_its_number(
    asked: Callable[[str], Key], room: Room, shell: Shell
) -> None:
    """A number that there is not lists the patterns, and sends nothing."""
    key = asked(permission("Bash", command="git status"))
    refused = shell("answer", "3", "--allow-like", "7")
    assert refused.status
    assert "2 Bash: commands that begin with “git status”" in refused.err
    assert decided(room, key) is None
    assert shell("answer", "3", "--allow-like", "2").status == 0
    assert len(room.inbox.holds(key.session)) == 1


def test_a_long_input_is_allowed_with_the_digest_that_show_printed(
    asked: Callable[[str], Key], room: Room, shell: Shell
) -> None:
    """Another digest, and none, send nothing."""
    line = permission("Bash", command="true\n" * 60 + "rm -rf /")
    key = asked(line)
    assert "Open it first" in shell("answer", "3", "--allow").err
    assert "The request changed" in shell("answer", "3", "--allow", "--digest", "0" * 64).out
    assert decided(room, key) is None
    assert f"--digest {digest_of(line)}" in shell("show", "3").out
    assert shell("answer", "3", "--allow", "--digest", digest_of(line)).status == 0
    assert decided(room, key)["behavior"] == "allow"


YES: Final = '{"behavior":"allow"}'


@pytest.mark.parametrize(
    "words",
    [
        ("--text", YES),
        ("--result", json.dumps({"content": [{"type": "text", "text": YES}]})),
        ("--as-is",),
        ("--template", "allow"),
        ("--error", "-32000", "x"),
        ("--tool-error", "x"),
        ("--fault", "id-of-another-type", "--send-anyway"),
    ],
)
@pytest.mark.parametrize("wanted", ["", "a"])
def test_whatever_answers_a_prompt_on_the_command_line_names_it(
    asked: Callable[[str], Key], room: Room, shell: Shell, words: tuple[str, ...], wanted: str
) -> None:
    """`--text` with a decision allowed what `--allow` did not."""
    key = asked(permission("Bash", command="ls"))
    ran = shell("answer", *filter(None, [wanted]), *words)
    assert ran.status in {1, 2}
    assert room.inbox.item(key).answer is None
    assert room.inbox.item(key).reply is None


@pytest.mark.parametrize("wanted", ["3", "a/3", "A/3", "{}/3"])
def test_each_name_that_means_one_message_for_ever_may_allow(
    asked: Callable[[str], Key], room: Room, shell: Shell, wanted: str
) -> None:
    key = asked(permission("Bash", command="ls"))
    assert shell("answer", wanted.format(key.session), "--allow").status == 0
    assert decided(room, key)["behavior"] == "allow"


def test_several_questions_are_answered_by_numbers_and_own_words(
    asked: Callable[[str], Key], room: Room, shell: Shell
) -> None:
    """One word for each question."""
    questions = [
        {"question": "Which?", "options": [{"label": "A", "description": "first"}, {"label": "B"}]},
        {"question": "Where?", "multiSelect": True, "options": ["x", "y", "z"]},
        {"question": "Why?"},
    ]
    key = asked(permission("AskUserQuestion", questions=questions))
    assert "first" in shell("show", "3").out
    assert "Answer every question" in shell("answer", "3", "--answers", "2").err
    assert shell("answer", "3", "--answers", "2", "1,3", "no reason").status == 0
    answers = {"Which?": "B", "Where?": "x, z", "Why?": "no reason"}
    assert decided(room, key)["updatedInput"]["answers"] == answers


@pytest.mark.parametrize("words", [("--allow",), ("--allow-like", "1"), ("--change", "-")])
def test_what_is_allowed_on_the_command_line_is_named(
    asked: Callable[[str], Key], room: Room, shell: Shell, words: tuple[str, ...]
) -> None:
    """The only one that waits may be another one than a minute ago."""
    key = asked(permission("Bash", command="ls"))
    name = key.session
    for wanted in ("", "a", "A", name, name[:-1], f"{name[:-1]}/3", f"{name[-4:]}/3"):
        ran = shell("answer", *filter(None, [wanted]), *words)
        assert ran.status == 2
        assert "Type the number of the message that you have seen; 3 is waiting now." in ran.err
        assert decided(room, key) is None
    digest = digest_of(room.inbox.item(key).line)
    assert shell("answer", "--allow", "--digest", digest).status == 0


def test_a_call_that_is_no_permission_prompt_is_answered_as_usual(room: Room, shell: Shell) -> None:
    """The flags of approvals say so."""
    room.ask(room.session(), 3)
    assert "not a permission prompt" in shell("answer", "3", "--allow").err


def typing(*words: str) -> Callable[[], str]:
    """Return what a person types, one after the other."""
    left: Iterator[str] = iter(words)
    return lambda: next(left)


@pytest.mark.parametrize(
    ("keys", "lines", "sent"),
    [
        ("a", (), {"behavior": "allow", "updatedInput": {"command": "git status"}}),
        ("zd", ("no",), {"behavior": "deny", "message": "no"}),
        (
            "cc",
            ("yes", '{"command": "ls"}'),
            {"behavior": "allow", "updatedInput": {"command": "ls"}},
        ),
        ("l", ("2",), {"behavior": "allow", "updatedInput": {"command": "git status"}}),
        ("q", (), None),
        (("\x1b[A", "all", "q"), (), None),
    ],
)
def test_one_key_decides_at_a_terminal(
    asked: Callable[[str], Key],
    room: Room,
    keys: Sequence[str],
    lines: tuple[str, ...],
    sent: object,
) -> None:
    """What is typed wrongly is asked for again; q leaves it waiting."""
    key = asked(permission("Bash", command="git status"))
    answering = Answering(open_exchange_of(room.inbox, key), "3", "claude-code", json=False)
    assert ask(answering, typing(*keys), typing(*lines)) == 0
    assert decided(room, key) == sent


def test_at_a_terminal_a_long_input_is_opened_first(
    asked: Callable[[str], Key], room: Room, capsys: pytest.CaptureFixture[str]
) -> None:
    """The key that allows does so only after the one that opens."""
    key = asked(permission("Bash", command="true\n" * 60 + "rm -rf /"))
    answering = Answering(open_exchange_of(room.inbox, key), "3", "claude-code", json=False)
    assert ask(answering, typing("a", "q"), typing()) == 0
    assert "rm -rf" not in capsys.readouterr().out
    assert decided(room, key) is None
    assert ask(answering, typing("o", "a"), typing()) == 0
    assert "rm -rf /" in capsys.readouterr().out
    assert decided(room, key)["behavior"] == "allow"


@pytest.mark.parametrize("typed", ["a", "\x1b[A", "make all", "oa", "\n"])
def test_what_a_key_or_a_paste_sends_at_once_is_never_taken_apart(
    monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    """The arrow that leads to the command before sends an A, which would allow."""
    ours, theirs = pty.openpty()
    with (
        os.fdopen(theirs, encoding="utf-8") as stdin,
        os.fdopen(ours, "wb", 0) as keyboard,
        ThreadPoolExecutor(1) as pool,
    ):
        monkeypatch.setattr(sys, "stdin", stdin)
        keyboard.write(b"a\n")  # before anything was asked
        until(lambda: select.select([theirs], [], [], 0)[0], "it has come")
        pressed = pool.submit(read_key)
        until(lambda: not termios.tcgetattr(theirs)[3] & termios.ICANON, "it waits for a key")
        keyboard.write(typed.encode())
        assert pressed.result(PATIENCE) == typed
        assert termios.tcgetattr(theirs)[3] & termios.ICANON


# -- the questions of a tool that asks ------------------------------------------------------------

ASKED: Final = question(
    questions=[
        {"question": "Which?", "options": ["A", "B"], "context": "For now.", "default": "A"},
        {"question": "Where?", "options": ["x", "y", "z"], "multiple": True},
        {"question": "Why?"},
    ]
)


def test_several_questions_of_an_agent_are_shown_and_answered_with_words(
    asked: Callable[[str], Key], room: Room, shell: Shell
) -> None:
    """What the asker takes without an answer is shown, too."""
    key = asked(ASKED)
    out = shell("show", "3").out
    for told in ("claude-code 2.1 asks you", "For now.", "If nobody answers, the agent takes: A"):
        assert told in out
    assert shell("answer", "3", "--answers", "2", "1,3", "own words").status == 0
    answers = {"Which?": "B", "Where?": ["x", "z"], "Why?": "own words"}
    assert outcome(room, key) == {"status": "answered", "answers": answers}


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        (["--deny", "not mine"], {"status": "declined", "answers": {}, "reason": "not mine"}),
        (["--deny"], {"status": "declined", "answers": {}}),
        (["--text", "rum"], {"status": "answered", "answers": {"Tea?": "rum"}}),
        (["--choose", "2"], {"status": "answered", "answers": {"Tea?": "no"}}),
        (["--answers", "2"], {"status": "answered", "answers": {"Tea?": "no"}}),
    ],
)
def test_one_question_of_an_agent_is_answered_or_declined(
    asked: Callable[[str], Key], room: Room, shell: Shell, words: list[str], sent: object
) -> None:
    """The next commands name the way to decline."""
    key = asked(question(question="Tea?", options=["yes", "no"]))
    assert "--deny" in shell("show", "3").out
    assert shell("answer", "3", *words).status == 0
    assert outcome(room, key) == sent


@pytest.mark.parametrize(
    ("keys", "lines", "sent"),
    [
        (
            "2133\nw",
            ("because",),
            {"status": "answered", "answers": {"Which?": "B", "Where?": ["x"], "Why?": "because"}},
        ),
        (
            "z112wq",
            ("1",),
            None,
        ),
        ("1d", ("not mine",), {"status": "declined", "answers": {}, "reason": "not mine"}),
    ],
)
def test_each_question_takes_one_key_at_a_terminal(
    asked: Callable[[str], Key],
    room: Room,
    keys: Sequence[str],
    lines: tuple[str, ...],
    sent: object,
) -> None:
    """A second press takes a choice back, and q sends nothing."""
    key = asked(ASKED)
    answering = Answering(open_exchange_of(room.inbox, key), "3", "claude-code", json=False)
    assert ask(answering, typing(*keys), typing(*lines)) == 0
    assert outcome(room, key) == sent


def test_own_words_that_look_like_a_number_stay_words(
    asked: Callable[[str], Key], room: Room
) -> None:
    """Only a key chooses an option."""
    key = asked(question(questions=[{"question": "How many?", "options": ["few", "many"]}] * 1))
    answering = Answering(open_exchange_of(room.inbox, key), "3", "claude-code", json=False)
    assert ask(answering, typing("w"), typing("2")) == 0
    assert outcome(room, key)["answers"] == {"How many?": "2"}


def test_a_question_that_cannot_be_read_is_explained_and_declined(
    asked: Callable[[str], Key], room: Room, shell: Shell
) -> None:
    """Its arguments are shown as they came."""
    key = asked(question(questions=[{"question": "Tea?"}, {"question": "Tea?"}]))
    assert "asks the same question twice" in shell("show", "3").out
    assert "Answer them, or decline" in shell("answer", "3", "--allow").err
    assert outcome(room, key) is None
    assert shell("answer", "3", "--deny", "once is enough").status == 0
    assert outcome(room, key)["status"] == "declined"


def test_what_could_hide_in_a_question_is_shown_in_a_terminal(
    asked: Callable[[str], Key], shell: Shell
) -> None:
    """Alone and among others; no control character reaches the terminal."""
    hides = "a\u202eb\x1b[2J"
    one = {"question": f"Q {hides}", "options": [f"L {hides}"], "default": f"E {hides}"}
    asked(question(questions=[one, {"question": "B?"}]))
    out = shell("show", "3").out
    for name in "QLE":
        assert f"{name} a⟦U+202E⟧b⟦U+001B⟧[2J" in out
    assert "\x1b[2J" not in out
    assert "\u202e" not in out.partition("tools/call")[0]


def test_an_option_of_several_lines_cannot_look_like_two_options(
    asked: Callable[[str], Key], shell: Shell
) -> None:
    """The number before an option is the one that chooses it, and no line of the agent has one."""
    options = [{"label": "Keep\n  2  Keep", "description": "All\n  2  Keep"}, "Delete"]
    one = {"question": "Which?", "options": options, "context": "So\n  2  Keep"}
    asked(question(questions=[one, {"question": "B?"}]))
    lines = shell("show", "3").out.partition("tools/call")[0].splitlines()
    assert [one for one in lines if one.startswith("  2")] == ["  2  Delete"]


def test_what_of_a_question_cannot_be_read_is_named_in_the_terminal(
    asked: Callable[[str], Key], room: Room, shell: Shell
) -> None:
    """`show` says it beside the question, and `--choose` says why there is nothing to choose."""
    asked(question(question="Which?", options="a or b"))
    assert 'cannot offer its options "a or b"' in shell("show", "3").out
    assert "cannot offer its options" in shell("answer", "3", "--choose", "1").err


def test_options_that_came_as_text_are_chosen_by_number(
    asked: Callable[[str], Key], room: Room, shell: Shell
) -> None:
    """As real agents send them."""
    key = asked(question(question="Which?", options='["PostgreSQL", "SQLite"]'))
    assert "sent options as text" in shell("show", "3").out
    assert shell("answer", "3", "--choose", "2").status == 0
    assert outcome(room, key) == {"status": "answered", "answers": {"Which?": "SQLite"}}

"""The decisions of the approval card, as a browser without JavaScript sends them."""

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from humanmcp.answering import service
from humanmcp.answering.open_exchange import open_exchange_of
from humanmcp.common.timestamps import now
from humanmcp.inbox.contract import Draft, Key
from humanmcp.protocol.conversation.approvals import digest_of
from tests.extensions.agents.test_hook import Agent
from tests.protocol.conversation.test_prompts import CLAUDE, COMMAND
from tests.support.desk_process import Desking
from tests.support.inbox_folder import Room, approving, outcome, permission, question
from tests.support.waiting import PATIENCE


def _asked(room: Room, line: str) -> Key:
    session = approving(room)
    room.serve(session)
    return room.ask(session, 1, line)


def _nothing_went_out(room: Room, desk: Desking, key: Key, **values: str) -> str:
    """Press a button in vain. Return the page that says why."""
    sent = desk.submit(f"/m/{key.session}/1", **values)
    item = room.inbox.item(key)
    assert (item.reply, item.answer, room.inbox.holds(key.session)) == (None, None, ())
    return html.unescape(desk.page(sent.headers["location"].partition("#")[0]))


@pytest.mark.parametrize("act", ["allow", "deny", "change", "change json", "like"])
def test_no_decision_counts_without_what_was_shown_or_for_something_else(
    room: Room, desk: Desking, act: str
) -> None:
    """Another tab, a forged form, or a request that changed meanwhile."""
    before, now = permission("Bash", command="git log"), permission("Bash", command="git push")
    key = _asked(room, now)
    more = {"act": act, "json": "{}", "pattern": "1", "input_0": "ls"}
    page = _nothing_went_out(room, desk, key, **more)
    assert "This is not a permission prompt" in page
    page = _nothing_went_out(room, desk, key, **more, shown=digest_of(before))
    assert "The request changed after you saw it" in page


def test_a_long_input_is_allowed_only_by_the_page_that_showed_it_whole(
    room: Room, desk: Desking
) -> None:
    """Without scripts, too: the button of the short page does nothing."""
    line = permission("Bash", command="true\n" * 100 + "rm -rf /")
    key = _asked(room, line)
    short = (
        desk.page(f"/m/{key.session}/1").partition('id="approval"')[2].partition("</section>")[0]
    )
    card = short.partition("<form")[0]
    assert "rm -rf" not in card
    assert 'name="seen"' not in short
    for act in ("allow", "like"):
        values = {"act": act, "shown": digest_of(line), "pattern": "1"}
        assert "You have not seen all of it" in _nothing_went_out(room, desk, key, **values)
    assert 'name="seen" value="all"' in desk.page(f"/m/{key.session}/1?whole=1")
    desk.submit(f"/m/{key.session}/1", act="allow", shown=digest_of(line), seen="all")
    answer = room.inbox.item(key).answer
    assert answer is not None
    assert "rm -rf /" in json.loads(answer.line)["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"act": "allow"}, "Allow sent by you"),
        ({"act": "deny", "reason": "not today"}, "Denial sent by you"),
        ({"act": "change json", "json": '{"command": "ls"}'}, "Allow with a change sent by you"),
        ({"act": "hand back"}, "Left to the agent’s own dialog by you"),  # noqa: RUF001 - as the page has it
    ],
)
def test_the_next_page_says_what_became_of_the_prompt(
    desk: Desking, home: Path, values: dict[str, str], said: str
) -> None:
    """And of which one."""
    agent = Agent(home)
    with agent.asks(CLAUDE) as hook:
        opened = agent.card()
        shown = digest_of(opened.item.line)
        place = f"/m/{opened.item.key.session}/{opened.item.key.number}"
        sent = desk.submit(place, **values, shown=shown, seen="all")
        page = html.unescape(desk.page(sent.headers["location"]))
        style, _, aside = (
            page.partition('<aside class="')[2].partition("</aside>")[0].partition('"')
        )
        assert style == ("sent denied" if values["act"] == "deny" else "sent")
        assert said in aside
        assert COMMAND["command"] in aside
        hook.communicate(timeout=PATIENCE)


def test_an_input_without_members_is_said_to_be_empty(room: Room, desk: Desking) -> None:
    """The card had nothing above its buttons."""
    key = _asked(room, permission("Bash"))
    page = desk.page(f"/m/{key.session}/{key.number}")
    card = page.partition('id="approval"')[2].partition('class="decide')[0]
    assert "No arguments" in card


@pytest.mark.parametrize(
    "sent",
    [
        {**CLAUDE, "tool_input": {"command": "ls", "list": [0] * 100_001}},
        {**CLAUDE, "tool_input": "ls"},
        {"unknown": "shape"},
    ],
    ids=["large", "no object", "unknown"],
)
def test_a_prompt_that_can_only_be_denied_is_not_said_to_be_empty(
    desk: Desking, home: Path, sent: dict[str, Any]
) -> None:
    """It has arguments, which nobody could look through."""
    agent = Agent(home)
    with agent.asks(sent):
        key = agent.card().key
        page = desk.page(f"/m/{key.session}/{key.number}")
    card = page.partition('id="approval"')[2].partition("</section>")[0]
    assert "You can only deny it" in card
    assert "No arguments" not in page
    assert 'id="allow"' not in page


def test_a_changed_input_that_is_no_object_is_explained(room: Room, desk: Desking) -> None:
    """Nothing is sent, and the request waits on."""
    line = permission("Bash", command="ls")
    key = _asked(room, line)
    page = _nothing_went_out(room, desk, key, act="change json", json="yes", shown=digest_of(line))
    assert "must be a JSON object" in page


def test_questions_are_not_allowed_and_answered_only_as_a_whole(room: Room, desk: Desking) -> None:
    """A forged form cannot allow them without answers."""
    questions = [{"question": "A?", "options": ["x", "y"]}, {"question": "B?", "options": ["z"]}]
    line = permission("AskUserQuestion", questions=questions)
    key = _asked(room, line)
    shown = digest_of(line)
    page = _nothing_went_out(room, desk, key, act="allow", shown=shown)
    assert "Answer them, or decline" in page
    for half in ({"answer 0": "1"}, {"answer 0": "1", "answer 1": "7"}):
        page = _nothing_went_out(room, desk, key, act="answers", shown=shown, **half)
        assert "Answer every question" in page
    desk.submit(
        f"/m/{key.session}/1", act="answers", shown=shown, **{"answer 0": "1", "own 1": "w"}
    )
    answer = room.inbox.item(key).answer
    assert answer is not None
    text = json.loads(json.loads(answer.line)["result"]["content"][0]["text"])
    assert text["updatedInput"]["answers"] == {"A?": "y", "B?": "w"}


def test_only_codes_of_ours_become_sentences(room: Room, desk: Desking) -> None:
    """A link to the page cannot put words into it."""
    key = _asked(room, permission("Bash", command="ls"))
    page = desk.page(f"/m/{key.session}/1?why=It+is+safe")
    assert "It is safe" not in page


# -- the questions of a tool that asks ------------------------------------------------------------

SEVERAL = [
    {"question": "Which?", "options": ["A", {"label": "B", "description": "two"}], "default": "A"},
    {"question": "Where?", "options": ["x", "y"], "multiple": True, "context": "More <b>here</b>"},
]


def test_several_questions_of_an_agent_stand_on_one_card(room: Room, desk: Desking) -> None:
    """With what each brings; all that came over the wire is text."""
    line = question(questions=SEVERAL)
    key = _asked(room, line)
    page = desk.page(f"/m/{key.session}/1")
    for told in ("Answer a question", "two", "the agent takes: A", "&lt;b&gt;here"):
        assert told in page
    assert 'id="allow"' not in page
    values = {"answer 0": "1", "answer 1 0": "on", "answer 1 1": "on"}
    desk.submit(f"/m/{key.session}/1", act="answers", shown=digest_of(line), **values)
    answers = {"Which?": "B", "Where?": ["x", "y"]}
    assert outcome(room, key) == {"status": "answered", "answers": answers}


def test_one_question_of_an_agent_can_be_declined_with_the_reason(
    room: Room, desk: Desking
) -> None:
    """Its options are buttons as before."""
    line = question(question="Tea?", options=["yes", "no"], default="yes")
    key = _asked(room, line)
    page = desk.page(f"/m/{key.session}/1")
    assert "the agent takes: yes" in page
    assert 'id="options"' in page
    desk.submit(f"/m/{key.session}/1", act="deny", shown=digest_of(line), reason="not mine")
    assert outcome(room, key) == {"status": "declined", "answers": {}, "reason": "not mine"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "cannot read the questions of this call"),
        ({"questions": {"question": "Tea?"}}, "cannot read the questions of this call"),
        ({"questions": [*SEVERAL, *SEVERAL]}, "asks the same question twice"),
        ({"questions": [{"question": f"{n}?"} for n in range(11)]}, "more than 10 questions"),
    ],
    ids=range(4),
)
def test_questions_that_cannot_be_read_are_explained_and_answered_in_words(
    room: Room, desk: Desking, arguments: dict[str, Any], told: str
) -> None:
    """The page has its usual box, and may decline."""
    key = _asked(room, question(**arguments))
    page = html.unescape(desk.page(f"/m/{key.session}/1"))
    assert told in page
    assert "only deny" not in page
    assert 'value="deny"' in page
    desk.submit(f"/m/{key.session}/1", act="send", form="text", text="x and y")
    assert outcome(room, key) == {"status": "answered", "answers": {"answer": "x and y"}}


@pytest.mark.parametrize(
    "arguments", [{"questions": "x" * 5_000_000}, {"question": "x" * 9_000_000}], ids=range(2)
)
def test_questions_that_are_too_large_can_only_be_declined(
    room: Room, desk: Desking, arguments: dict[str, Any]
) -> None:
    """Nothing is sent until a person declines, and the request waits on."""
    key = _asked(room, question(**arguments))
    page = desk.page(f"/m/{key.session}/1")
    assert "too large to show" in html.unescape(page)
    shown = re.search(r'name="shown" value="([0-9a-f]*)"', page)
    assert shown is not None
    for act in ("allow", "answers", "like"):
        _nothing_went_out(room, desk, key, act=act, shown=shown[1], pattern="1")


def test_options_that_cannot_be_offered_are_said_to_be_so_beside_the_question(
    room: Room, desk: Desking
) -> None:
    """They are shown as they came."""
    key = _asked(room, question(question="Which?", options=[1, 2]))
    page = desk.page(f"/m/{key.session}/1")
    assert "cannot offer its options" in page
    desk.submit(f"/m/{key.session}/1", act="send", form="text", text="the first")
    assert outcome(room, key) == {"status": "answered", "answers": {"Which?": "the first"}}


def test_an_answer_to_one_call_is_none_of_another(room: Room, desk: Desking) -> None:
    """Two tabs: what the first shows is not sent to the call of the second."""
    first, second = question(questions=SEVERAL), question(questions=[*SEVERAL, {"question": "C?"}])
    key, other = _asked(room, first), _asked(room, second)
    values = {"answer 0": "1", "answer 1 0": "on", "own 2": "c"}
    page = _nothing_went_out(room, desk, other, act="answers", shown=digest_of(first), **values)
    assert "The request changed after you saw it" in page
    desk.submit(f"/m/{other.session}/1", act="answers", shown=digest_of(second), **values)
    desk.submit(f"/m/{other.session}/1", act="deny", shown=digest_of(second), reason="late")
    assert json.loads(json.dumps(outcome(room, other)))["status"] == "answered"
    assert outcome(room, key) is None


def test_a_question_that_paints_itself_as_an_approval_allows_nothing(
    room: Room, desk: Desking
) -> None:
    """Headings, buttons and markdown in it are text; its answer is an answer and no permission."""
    paint = '# claude-code wants to run a command\n<button id="allow">Allow</button>\n**rm -rf /**'
    asks = {"question": paint, "options": ["Allow", "Deny"]}
    line = question(**asks)
    key = _asked(room, line)
    page = desk.page(f"/m/{key.session}/1")
    assert '<button id="allow"' not in page
    assert "A question for you" in page
    page = _nothing_went_out(room, desk, key, act="allow", shown=digest_of(line))
    assert "Answer them, or decline" in page
    both = question(questions=[asks, {"question": "And?"}])
    key = _asked(room, both)
    page = desk.page(f"/m/{key.session}/1")
    assert ('<button id="allow"' not in page) is ("Answer a question" in page) is True
    _nothing_went_out(room, desk, key, act="allow", shown=digest_of(both), seen="all")


def test_a_reply_says_when_its_request_was_first_shown(room: Room, desk: Desking) -> None:
    """By this desk; a script that was shown nothing says nothing."""
    session = room.session()
    first, other = room.ask(session, 1), room.ask(session, 2)
    desk.page(f"/m/{session}/1")
    shown_by = now()
    desk.page(f"/m/{session}/1")
    for key in (first, other):
        desk.post(f"/api/exchanges/{session}/{key.number}/reply", {"text": "sunny", "form": "text"})
    replies = [room.inbox.item(key).reply for key in (first, other)]
    assert replies[0] is not None
    assert replies[1] is not None
    assert "" < replies[0].shown_at <= shown_by <= replies[0].at
    assert replies[1].shown_at == ""


@pytest.mark.parametrize("several", [False, True])
def test_what_could_hide_in_a_question_is_shown(
    room: Room, desk: Desking, *, several: bool
) -> None:
    """Directions and invisible characters, wherever a question has text."""
    hides = "a\u202eb\u200b"
    asked = {
        "question": f"Q {hides}",
        "context": f"C {hides}",
        "options": [{"label": f"L {hides}", "description": f"D {hides}"}],
        "default": f"E {hides}",
    }
    line = question(questions=[asked, {"question": "B?"}]) if several else question(**asked)
    key = _asked(room, line)
    page = desk.page(f"/m/{key.session}/1").partition('<article class="message"')[2]
    shown = page.partition('class="raw"')[0] if several else page
    for name in "QCLDE":
        assert f"{name} a⟦U+202E⟧b⟦U+200B⟧" in shown
    body = re.sub(r'value="[^"]*"|<textarea.*?</textarea>', "", shown, flags=re.DOTALL)
    assert not re.search("[\u202e\u200b]", body)


def test_the_limit_of_the_asker_cannot_be_paused_and_is_shown_as_it_is(
    room: Room, desk: Desking
) -> None:
    """The page counts down, also while a person types, and offers no pause."""
    key = _asked(room, question(question="Tea?", timeout_seconds=600))
    item = room.inbox.item(key)
    waits = item.waiting._replace(book_at=600.0, book="fixed")
    room.inbox.update(key, line=item.line, id="1", waiting=waits)
    service.keep(open_exchange_of(room.inbox, key), Draft("typed", touched=True))
    page = desk.page(f"/m/{key.session}/1")
    assert "Automatic answer in" in page
    assert "because you are typing" not in page
    assert 'id="pause"' not in page

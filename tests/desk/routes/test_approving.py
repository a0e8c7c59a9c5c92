"""The decisions of the approval card, as a browser without JavaScript sends them."""

import html
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from humanmcp.inbox.contract import Key
from humanmcp.protocol.conversation.approvals import digest_of
from tests.desk.desking import Desking
from tests.terminal.rooms import Room, approving, permission


@pytest.fixture
def room(home: Path) -> Iterator[Room]:
    """An inbox folder, with a server that takes what is sent."""
    made = Room(home)
    yield made
    made.close()


@pytest.fixture
def own(home: Path) -> Iterator[Desking]:
    """A desk over it."""
    with Desking(home) as desk:
        yield desk


def _asked(room: Room, line: str) -> Key:
    session = approving(room)
    room.serve(session)
    return room.ask(session, 1, line)


def _nothing_went_out(room: Room, own: Desking, key: Key, **values: str) -> str:
    """Press a button in vain. Return the page that says why."""
    sent = own.submit(f"/m/{key.session}/1", **values)
    item = room.inbox.item(key)
    assert (item.reply, item.answer, room.inbox.holds(key.session)) == (None, None, ())
    return html.unescape(own.page(sent.headers["location"].partition("#")[0]))


@pytest.mark.parametrize("act", ["allow", "deny", "change", "change json", "like"])
def test_no_decision_counts_without_what_was_shown_or_for_something_else(
    room: Room, own: Desking, act: str
) -> None:
    """Another tab, a forged form, or a request that changed meanwhile."""
    before, now = permission("Bash", command="git log"), permission("Bash", command="git push")
    key = _asked(room, now)
    more = {"act": act, "json": "{}", "pattern": "0"}
    page = _nothing_went_out(room, own, key, **more)
    assert "This is not a permission prompt" in page
    page = _nothing_went_out(room, own, key, **more, shown=digest_of(before))
    assert "The request changed after you saw it" in page


def test_a_long_input_is_allowed_only_by_the_page_that_showed_it_whole(
    room: Room, own: Desking
) -> None:
    """Without scripts, too: the button of the short page does nothing."""
    line = permission("Bash", command="true\n" * 100 + "rm -rf /")
    key = _asked(room, line)
    short = own.page(f"/m/{key.session}/1").partition('id="approval"')[2].partition("</section>")[0]
    card = short.partition("<form")[0]
    assert "rm -rf" not in card
    assert 'name="seen"' not in short
    for act in ("allow", "like"):
        values = {"act": act, "shown": digest_of(line), "pattern": "0"}
        assert "You have not seen all of it" in _nothing_went_out(room, own, key, **values)
    assert 'name="seen" value="all"' in own.page(f"/m/{key.session}/1?whole=1")
    own.submit(f"/m/{key.session}/1", act="allow", shown=digest_of(line), seen="all")
    answer = room.inbox.item(key).answer
    assert answer is not None
    assert "rm -rf /" in json.loads(answer.line)["result"]["content"][0]["text"]


def test_a_changed_input_that_is_no_object_is_explained(room: Room, own: Desking) -> None:
    """Nothing is sent, and the request waits on."""
    line = permission("Bash", command="ls")
    key = _asked(room, line)
    page = _nothing_went_out(room, own, key, act="change json", json="yes", shown=digest_of(line))
    assert "must be a JSON object" in page


def test_questions_are_not_allowed_and_answered_only_as_a_whole(room: Room, own: Desking) -> None:
    """A forged form cannot allow them without answers."""
    questions = [{"question": "A?", "options": ["x", "y"]}, {"question": "B?", "options": ["z"]}]
    line = permission("AskUserQuestion", questions=questions)
    key = _asked(room, line)
    shown = digest_of(line)
    page = _nothing_went_out(room, own, key, act="allow", shown=shown)
    assert "Answer them, or decline" in page
    for half in ({"answer 0": "1"}, {"answer 0": "1", "answer 1": "7"}):
        page = _nothing_went_out(room, own, key, act="answers", shown=shown, **half)
        assert "Answer every question" in page
    own.submit(f"/m/{key.session}/1", act="answers", shown=shown, **{"answer 0": "1", "own 1": "w"})
    answer = room.inbox.item(key).answer
    assert answer is not None
    text = json.loads(json.loads(answer.line)["result"]["content"][0]["text"])
    assert text["updatedInput"]["answers"] == {"A?": "y", "B?": "w"}


def test_only_codes_of_ours_become_sentences(room: Room, own: Desking) -> None:
    """A link to the page cannot put words into it."""
    key = _asked(room, permission("Bash", command="ls"))
    page = own.page(f"/m/{key.session}/1?why=It+is+safe")
    assert "It is safe" not in page

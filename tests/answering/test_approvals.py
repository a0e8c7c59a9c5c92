"""The approval card at every desk: what stands on it, and what each choice sends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from humanmcp.answering import approvals, service
from humanmcp.answering.approvals import ApprovalError, card_of
from humanmcp.answering.open_exchange import OpenExchange, open_exchange_of
from humanmcp.answering.service import Outcome
from humanmcp.inbox.contract import Action, Purpose, Role
from humanmcp.protocol.conversation.allow_patterns import patterns_for
from humanmcp.protocol.conversation.approvals import Approval, digest_of
from humanmcp.protocol.diagnostics.model import TextForm
from tests.support.inbox_folder import Room, approving, permission
from tests.support.speaking import said_in


def asked(room: Room, tool: str = "Bash", **given: Any) -> tuple[OpenExchange, Approval]:  # noqa: ANN401 - any JSON value
    """Let a host ask for permission."""
    opened = open_exchange_of(room.inbox, room.ask(approving(room), 1, permission(tool, **given)))
    assert opened.approval is not None
    return opened, opened.approval


def laid_out(room: Room, tool: str = "Bash", **given: Any) -> list[str]:  # noqa: ANN401 - any JSON value
    """Return the lines of a card, each with the name of its part."""
    parts = card_of(asked(room, tool, **given)[1]).parts
    return [f"{part.name}: {line.sign}{line.text}" for part in parts for line in part.lines]


def test_a_command_stands_before_its_description_and_everything_else_beside_them(
    room: Room,
) -> None:
    """A member that changes what the command does is seen."""
    given: dict[str, Any] = {"description": "Look", "run_in_background": True, "command": "ls\npwd"}
    assert laid_out(room, **given) == [
        "command: ls",
        "command: pwd",
        "description: Look",
        "run_in_background: true",
    ]


def test_an_edit_is_a_difference_below_its_path(room: Room) -> None:
    """Lines that stay are shown, too."""
    lines = laid_out(room, "Edit", file_path="/a.py", old_string="a\nb", new_string="a\nc")
    assert lines == ["file_path: /a.py", ":  a", ": -b", ": +c"]
    several = [{"old_string": "", "new_string": "x"}, {"old_string": "y", "new_string": ""}]
    lines = laid_out(room, "MultiEdit", file_path="/a.py", edits=several)
    assert lines == ["file_path: /a.py", ": +x", ": -y"]


def test_edits_with_more_in_them_are_shown_as_they_came(room: Room) -> None:
    """What a difference cannot show is never left out."""
    several = [{"old_string": "", "new_string": "x", "replace_all": True}]
    assert any("replace_all" in line for line in laid_out(room, "MultiEdit", edits=several))
    assert any("42" in line for line in laid_out(room, "Edit", old_string=42, new_string="x"))


def test_a_new_file_is_its_text_and_anything_else_is_json(room: Room) -> None:
    """Numbers stay as they were written."""
    lines = laid_out(room, "Write", file_path="/a", content="1\n2")
    assert lines == ["file_path: /a", "content: 1", "content: 2"]
    assert laid_out(room, "mcp__x__y", deep={"n": 1}) == ["deep: {", 'deep:   "n": 1', "deep: }"]
    assert laid_out(room, "mcp__x__y") == []


@pytest.mark.parametrize("command", ["x" * 3_001, "echo\n" * 41, "ls" + "\n" * 60 + "rm -rf /"])
def test_what_is_too_long_to_be_seen_at_once_is_allowed_only_after_it_was_opened(
    room: Room, command: str
) -> None:
    """Its beginning is short, and nothing goes out."""
    opened, approval = asked(room, command=command)
    assert card_of(approval).is_long
    beginning = card_of(approval).beginning()
    assert sum(len(part.lines) for part in beginning.parts) <= 20
    with pytest.raises(ApprovalError) as stopped:
        approvals.allow(opened, approval, seen=False)
    assert stopped.value.code == "unseen"
    assert json.loads(approvals.allow(opened, approval, seen=True).text)["behavior"] == "allow"


def test_allowing_denying_and_changing_send_what_the_host_reads(room: Room) -> None:
    """Each passes the check as the text of a tool's result."""
    opened, approval = asked(room, command="ls", timeout=1.0)
    replies = (
        approvals.allow(opened, approval, seen=True, shown=approval.digest),
        approvals.change(opened, approval, '{"command": "pwd"}', shown=approval.digest),
        approvals.deny(opened, "not now", shown=approval.digest),
    )
    assert [json.loads(one.text) for one in replies] == [
        {"behavior": "allow", "updatedInput": {"command": "ls", "timeout": 1.0}},
        {"behavior": "allow", "updatedInput": {"command": "pwd"}},
        {"behavior": "deny", "message": "not now"},
    ]
    for one in replies:
        assert one.form is TextForm.TEXT
        assert one.shown == approval.digest
        assert service.judge(opened, one.text, one.form).sendable


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yes",
        "[]",
        '{"command": ',
        "[" * 100_000,
        '{"n": NaN}',
        '{"n": 1e999}',
        '{"n": 1, "n": 2}',
    ],
)
def test_a_changed_input_that_is_no_object_is_not_sent(room: Room, text: str) -> None:
    """The sentence says what it must be."""
    opened, approval = asked(room, command="ls")
    with pytest.raises(ApprovalError) as stopped:
        approvals.change(opened, approval, text)
    assert "JSON" in stopped.value.sentence()


def test_the_form_of_the_input_changes_only_what_was_typed(room: Room) -> None:
    """A browser sends other line ends than the text has."""
    approval = asked(room, command="a\nb", timeout=1e3, n=1)[1]
    same = {"0": "a\r\nb", "1": "1000.0", "2": "1"}
    assert approvals.changed_input(approval, same) == approval.text
    changed = json.loads(approvals.changed_input(approval, {**same, "0": "a\nc", "2": "2"}))
    assert changed == {"command": "a\nc", "timeout": 1000.0, "n": 2}


@pytest.mark.parametrize(
    "typed", [{}, {"0": "ls"}, {"0": "ls", "1": "", "2": ""}, {"a": "ls", "1": ""}]
)
def test_a_form_with_other_fields_than_those_that_were_shown_is_refused(
    room: Room, typed: dict[str, str]
) -> None:
    """Nothing is filled in from the input that was to be changed."""
    approval = asked(room, **{"rm -rf /\r\n": "x", "b": "y"})[1]
    with pytest.raises(ApprovalError) as stopped:
        approvals.changed_input(approval, typed)
    assert "not the fields" in stopped.value.sentence()
    changed = json.loads(approvals.changed_input(approval, {"0": "ls", "1": "y"}))
    assert changed == {"rm -rf /\r\n": "ls", "b": "y"}


@pytest.mark.parametrize(
    "text", ["a\r\nb", "a\rb", "\x00", "a\u200bb", "\u202e", "a\xa0b", "\ud800"]
)
def test_a_text_that_a_field_cannot_show_is_changed_as_json_only(room: Room, text: str) -> None:
    """A field would hide a part of it, or send another text than the one that came."""
    approval = asked(room, command=text, n=1)[1]
    assert approvals.input_as_typed(approval) == ()
    with pytest.raises(ApprovalError):
        approvals.changed_input(approval, {"0": "ls", "1": "1"})


@pytest.mark.parametrize("typed", ['2, "y": 3', "NaN", "1e400", '{"a": 1, "a": 2}', "", "2 // two"])
def test_a_field_of_a_changed_input_is_one_value(room: Room, typed: str) -> None:
    """A comma in it would add a member that the form has no field for."""
    approval = asked(room, x=1)[1]
    with pytest.raises(ApprovalError) as stopped:
        approvals.changed_input(approval, {"0": typed})
    assert "must be a JSON object" in stopped.value.sentence()


def test_what_cannot_be_read_can_only_be_denied(room: Room) -> None:
    """Nonsense in the place of the arguments allows nothing."""
    line = permission("Bash").replace('"input": {}', '"input": "rm"')
    opened = open_exchange_of(room.inbox, room.ask(approving(room), 1, line))
    approval = opened.approval
    assert approval is not None
    with pytest.raises(ApprovalError):
        approvals.allow(opened, approval, seen=True)
    with pytest.raises(ApprovalError) as stopped:
        approvals.change(opened, approval, "{}")
    assert "only deny" in stopped.value.sentence()
    assert json.loads(approvals.deny(opened, "").text)["behavior"] == "deny"


def test_nothing_is_sent_for_other_arguments_than_those_that_were_shown(room: Room) -> None:
    """A client repeats its request with another command, and the person still sees the first."""
    opened, approval = asked(room, command="ls")
    reply = approvals.allow(opened, approval, seen=True, shown=approval.digest)
    room.inbox.update(
        opened.key,
        line=permission("Bash", command="rm"),
        id="1",
        waiting=opened.item.waiting,
    )
    result = service.send(opened, reply, within=0)
    assert result.outcome is Outcome.BLOCKED
    assert [one.code for one in result.diagnostics] == ["N40"]
    assert room.inbox.item(opened.key).reply is None


def test_a_call_that_a_tap_holds_is_released_changed_or_fails_with_the_reason(room: Room) -> None:
    """Released as it came, byte for byte; a denial is a tool error that the model reads."""
    params = '{"name":"add","arguments":{"a": 1}}'
    line = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'
    session = room.session(role=Role.TAP)
    opened = open_exchange_of(room.inbox, room.ask(session, 1, line, purpose=Purpose.HELD))
    approval = opened.approval
    assert approval is not None
    with pytest.raises(ApprovalError):
        approvals.allow(opened, approval, seen=True)
    released = approvals.allow(opened, approval, seen=True, shown=digest_of(line))
    assert (released.text, released.action) == (line, Action.FORWARD)
    changed = approvals.change(opened, approval, '{"a": 2}')
    assert json.loads(changed.text)["params"]["arguments"] == {"a": 2}
    assert service.judge(opened, changed.text, changed.form, changed.action).sendable
    denied = approvals.deny(opened, "not that one")
    assert (denied.form, denied.action) == (TextForm.TOOL_ERROR, Action.ANSWER)
    sent = service.judge(opened, denied.text, denied.form, denied.action).line
    assert sent is not None
    assert json.loads(sent)["result"]["isError"] is True


def test_what_a_person_allowed_is_kept_for_its_session_alone_and_can_be_taken_back(
    room: Room,
) -> None:
    """Beside what a tap is to hold."""
    opened, approval = asked(room, command="git status")
    other, _ = asked(room, command="git status")
    room.inbox.hold(opened.key.session, ["tools/call"])
    (same, begins) = patterns_for(approval)
    approvals.allow_like(opened, same)
    approvals.allow_like(opened, same)
    approvals.allow_like(opened, begins)
    assert approvals.allowed_patterns(opened) == (same, begins)
    assert approvals.allowed_patterns(other) == ()
    approvals.take_back(opened, str(same))
    assert room.inbox.holds(opened.key.session) == ("tools/call", str(begins))
    assert "git status" in approvals.pattern_in_words(begins)


def test_the_headline_names_the_client_and_what_it_wants(room: Room) -> None:
    """In the person's own language."""
    opened, approval = asked(room, command="ls")
    card = approvals.card_of(approval)
    said = approvals.headline(opened, approval, card)
    assert said == "claude-code 2.1 wants to run a command with Bash"
    assert "claude-code" in said_in("ja", approvals.headline, opened, approval, card)

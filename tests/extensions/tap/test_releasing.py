"""What `humanmcp release`, the page of taps and the interface release: what a person has seen."""

import json
import re
from collections.abc import Callable

import pytest

from humanmcp.answering import service
from humanmcp.answering.open_exchange import open_exchange_of
from humanmcp.extensions.tap import release
from humanmcp.inbox.contract import Action, Draft, HeldFacts, Key, Purpose, Reply, Role
from humanmcp.protocol.conversation.approvals import digest_of
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity
from tests.support.desk_process import Desking
from tests.support.inbox_folder import CALL, Room, Shell
from tests.support.waiting import until

LIST = '{"jsonrpc":"2.0","id":4,"method":"tools/list"}'
ANSWER = '{"jsonrpc":"2.0","id":5,"result":{"tools":[{"name":"rm"}]}}'
TWICE = '{"jsonrpc":"2.0","id":6,"method":"ping","method":"tools/call"}'
LONG = CALL.replace("東京", "東京" * 2000)
LONG_ANSWER = ANSWER.replace("rm", "rm" * 2000)
SHORT = (CALL, LIST, ANSWER, TWICE)
UNREAD = {TWICE: (Diagnostic("N41", Severity.ERROR),)}


def hold(room: Room, *lines: str) -> list[Key]:
    """Hold these lines at a tap, under numbers from 1."""
    session = room.session(role=Role.TAP)
    return [
        room.ask(
            session,
            at,
            line,
            purpose=Purpose.HELD,
            held=HeldFacts(Direction.OUT, LIST)
            if line in {ANSWER, LONG_ANSWER}
            else HeldFacts(unread=UNREAD.get(line, ())),
            draft=Draft(line),
        )
        for at, line in enumerate(lines, 1)
    ]


def released(room: Room, keys: list[Key]) -> list[int]:
    """Return the numbers of those that are to be forwarded; each as it came."""
    replies = {key.number: room.inbox.item(key) for key in keys}
    found = {at: item for at, item in replies.items() if item.reply is not None}
    for item in found.values():
        assert item.reply is not None
        assert (item.reply.text, item.reply.action) == (item.line, Action.FORWARD)
        assert item.reply.shown == digest_of(item.line)
    return list(found)


@pytest.mark.parametrize(
    "case",
    [
        ((), True, [1, 2, 3, 4]),
        ((), False, []),
        ((), None, []),
        (("1", "4"), None, [1, 4]),
        (("5",), None, []),
        (("6",), None, [6]),
    ],
    ids=["agreed", "not agreed", "nobody to ask", "named", "a long call", "a long answer"],
)
def test_a_command_releases_what_it_has_shown_or_what_is_named(
    room: Room,
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[tuple[str, ...], bool | None, list[int]],
) -> None:
    """Not what came while it asked, nor what is too long; and nothing where nobody can be asked."""
    words, answer, expected = case
    keys = hold(room, *SHORT, LONG, LONG_ANSWER)

    def comes_later(_question: str) -> bool | None:
        room.ask(keys[0].session, 7, CALL, purpose=Purpose.HELD)
        keys.append(Key(keys[0].session, 7))
        return answer

    monkeypatch.setattr(release, "asked_whether", comes_later)
    ran = shell("release", *words)
    assert released(room, keys) == expected
    assert ran.status == (0 if expected else 1)
    assert f"{len(expected)} released" in ran.out
    if not words:
        for part in ("get-japan-forecast", "東京", '"tools/list"', '"rm"', TWICE):
            assert part in ran.out
        assert re.findall(r"Message (\d) is too long", ran.out) == ["5", "6"]
        assert ("after `humanmcp release`: 1 2 3 4" in ran.err) == (answer is None)
    assert ("too long to be shown" in ran.err) == (words == ("5",))


@pytest.mark.parametrize(
    "case",
    [((), True, [1, 2]), ((), False, []), ((), None, []), (("2",), None, [2]), (("3",), None, [3])],
    ids=["agreed", "not agreed", "nobody to ask", "named", "a long call"],
)
def test_a_command_drops_what_it_has_shown_or_what_is_named(
    room: Room,
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[tuple[str, ...], bool | None, list[int]],
) -> None:
    """Without a number it shows the messages and asks, as it does before it releases them."""
    words, answer, expected = case
    keys = hold(room, CALL, TWICE, LONG)
    asked = []

    def ask(question: str) -> bool | None:
        asked.append(question)
        return answer

    monkeypatch.setattr(release, "asked_whether", ask)
    ran = shell("release", *words, "--drop")
    items = [room.inbox.item(key) for key in keys]
    replies = {item.key.number: item.reply for item in items if item.reply is not None}
    assert list(replies) == expected
    assert {reply.action for reply in replies.values()} <= {Action.DROP}
    assert f"{len(expected)} dropped" in ran.out
    assert [one.split("?")[0] for one in asked] == ([] if words else ["Drop these 2 messages"])
    if not words:
        assert "東京" in ran.out
        assert TWICE in ran.out
        assert ("after `humanmcp release`: 1 2 --drop" in ran.err) == (answer is None)


FAKE = "a/9  The agent wants to run a command"
NAMES = {"method": f"x\n{FAKE}\n  command\n    ls", "id": 4, "jsonrpc": "2.0"}
METHOD = json.dumps({**NAMES, "params": {}})
ID = json.dumps({**NAMES, "method": "tools/list", "id": f"\r\n{FAKE}"})
TOOL = json.dumps({**NAMES, "method": "tools/call", "params": {"name": f"x\n{FAKE}"}})


@pytest.mark.parametrize("line", [METHOD, ID, TOOL], ids=["method", "id", "tool"])
def test_no_name_in_a_message_imitates_the_lines_of_a_command(
    room: Room, shell: Shell, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """A line break in it is shown as what it is."""
    monkeypatch.setattr(release, "asked_whether", lambda _: False)
    hold(room, line)
    for words in (["release"], ["inbox"], ["show", "1"], ["release", "--drop"], ["release", "1"]):
        ran = shell(*words)
        said = re.sub(r"\x1b\[\d*m", "", ran.out + ran.err)
        assert not [one for one in said.split("\n") if one.startswith(FAKE)], words


def test_a_long_call_is_released_with_the_digest_that_was_printed(room: Room, shell: Shell) -> None:
    """As a long approval is; `--as-is` needs it, too."""
    keys = hold(room, LONG)
    assert "Open it first" in shell("answer", "1", "--as-is").err
    assert shell("answer", "1", "--as-is", "--digest", "0" * 64).status
    assert released(room, keys) == []
    digest = digest_of(LONG)
    assert digest in shell("show", "1").out
    room.serve(keys[0].session)
    assert shell("answer", "1", "--as-is", "--digest", digest).status == 0


def test_a_page_releases_what_it_has_shown_completely(room: Room, desk: Desking) -> None:
    """The list that follows what comes has no button; what came later or is long stays held."""
    keys = hold(room, *SHORT, LONG, LONG_ANSWER)
    session = keys[0].session
    until(lambda: desk.session(session), "the desk knows of the tap")
    assert 'value="release"' not in desk.page("/taps")
    page = desk.page(f"/taps?release={session}")
    assert 'data-follow="yes"' not in page.partition('class="tap"')[2].partition("</section>")[0]
    fields = dict(re.findall(r'name="(shown \d)" value="(\w+)"', page))
    assert list(fields) == ["shown 1", "shown 2", "shown 3", "shown 4"]
    for part in ("東京", "&#34;tools/list&#34;", "&#34;rm&#34;"):
        assert part in page
    room.ask(session, 7, CALL, purpose=Purpose.HELD)
    keys.append(Key(session, 7))
    wrong = {"shown 1": digest_of(LIST), "shown 5": digest_of(LONG), "shown 6": "1", "shown 7": ""}
    desk.submit(f"/taps/{session}", act="release")
    desk.submit(f"/taps/{session}", act="release", **wrong)
    assert released(room, keys) == []
    desk.submit(f"/taps/{session}", act="release", **fields)
    assert released(room, keys) == [1, 2, 3, 4]
    assert desk.page("/taps").count('class="held-mark"') >= 3


@pytest.mark.parametrize("line", [CALL, LIST, ANSWER])
@pytest.mark.parametrize("change", [str, lambda line: line.replace("2.0", "2.0 ")])
def test_the_interface_forwards_a_held_message_only_with_its_digest(
    room: Room, desk: Desking, line: str, change: Callable[[str], str]
) -> None:
    """Unchanged or changed; what was typed is kept. A script reads the digest with the message."""
    (key,) = hold(room, line)
    here = f"/api/exchanges/{key.session}/1"
    for shown in ("", digest_of(LONG)):
        refused = desk.post(f"{here}/reply", {"text": change(line), "shown": shown})
        assert refused.status == 422
        assert [one["code"] for one in refused.json["problems"]] == ["N40"]
    assert room.inbox.item(key).reply is None
    digest = desk.get(here)["digest"]
    reply = Reply(line, action=Action.FORWARD, shown=digest)
    service.send(open_exchange_of(room.inbox, key), reply, within=0)
    assert released(room, [key]) == [1]


@pytest.mark.parametrize("words", [("1",), ("1", "--drop")])
def test_a_number_that_was_listed_for_another_message_releases_nothing(
    room: Room, shell: Shell, words: tuple[str, ...]
) -> None:
    """A client that starts again has a tap of its own, whose numbers begin anew."""
    before = hold(room, CALL)
    assert shell("inbox").status == 0
    room.inbox.end(before[0].session)
    after = hold(room, LIST)
    refused = shell("release", *words)
    assert refused.status == 1
    assert "humanmcp show" in refused.err
    assert room.inbox.item(after[0]).reply is None
    assert shell("inbox").status == 0
    assert shell("release", *words).status == 0
    assert room.inbox.item(after[0]).reply is not None

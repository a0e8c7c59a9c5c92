"""Two seats of a room as model and server: what one sends the other gets, and nobody else."""

import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.extensions.classroom.room.pairs import ASK, PAIR_HOST, PairTalk
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.transcript import Direction
from tests.support.room_process import Rooming, Visitor
from tests.support.waiting import until

TOOLS: Final = [
    {"name": "weather", "description": "knows ☂ 1.0", "inputSchema": {"type": "object"}, "odd": 1}
]
HELLO: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "mine", "version": "1"},
}


def said(request: str, result: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """Answer a line of the host."""
    return json.dumps(
        {"jsonrpc": "2.0", "id": json.loads(request)["id"], "result": result}
    ).encode()


def greeted(talk: PairTalk) -> None:
    """Be a server that has told its tools."""
    talk.hear_server(said(talk.next_line(), HELLO))
    assert json.loads(talk.next_line())["method"] == "notifications/initialized"
    talk.hear_server(said(talk.next_line(), {"tools": TOOLS}))


def content(*blocks: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Return a model's answer."""
    return {"result": {"role": "assistant", "model": "me", "content": list(blocks)}}


TEXT: Final = {"type": "text", "text": "It is sunny."}
CALL: Final = {"type": "tool_use", "id": "a", "name": "weather", "input": {"n": 1.0, "x": "☂"}}


def test_what_one_says_the_other_gets_as_it_was_written() -> None:
    """Tools, arguments and content are copied; the id of a call is the model's."""
    talk = PairTalk(["Tokyo?", "Kyoto?"])
    greeted(talk)
    turn = talk.next_turn()
    assert turn is not None
    assert turn["tools"] == TOOLS
    assert turn["messages"] == [{"role": "user", "content": {"type": "text", "text": "Tokyo?"}}]
    talk.hear_model(content(CALL))
    line = talk.next_line()
    assert json.loads(line)["params"] == {"name": "weather", "arguments": CALL["input"]}
    result = [{"type": "text", "text": "sunny", "annotations": {"priority": 0.5}}]
    talk.hear_server(said(line, {"content": result, "isError": True}))
    turn = talk.next_turn()
    assert turn is not None
    given = {"type": "tool_result", "toolUseId": "a", "content": result, "isError": True}
    assert turn["messages"][1:] == [
        {"role": "assistant", "content": [CALL]},
        {"role": "user", "content": [given]},
    ]
    talk.hear_model(content(TEXT))
    turn = talk.next_turn()
    assert turn is not None
    assert turn["messages"][-1]["content"]["text"] == "Kyoto?"
    talk.hear_model(content(TEXT))
    assert talk.is_over
    assert (talk.next_line(), talk.next_turn()) == ("", None)


def test_each_of_several_calls_has_its_answer_before_the_model_is_asked() -> None:
    """One after another; a refusal is read by the model as one."""
    talk = PairTalk(["?"])
    greeted(talk)
    assert talk.next_turn()
    talk.hear_model(content(CALL, {**CALL, "id": "b"}))
    first = talk.next_line()
    assert talk.next_line() == ""
    talk.hear_server(said(first, {"content": []}))
    second = talk.next_line()
    assert talk.next_turn() is None
    number = json.loads(second)["id"]
    error = {"code": -32602, "message": "no"}
    talk.hear_server(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode())
    turn = talk.next_turn()
    assert turn is not None
    one, other = turn["messages"][-1]["content"]
    assert (one["toolUseId"], other["toolUseId"], other["isError"]) == ("a", "b", True)


@pytest.mark.parametrize(
    "answer",
    [
        {"jsonrpc": "2.0", "error": {"code": -32601, "message": "?"}},
        {"jsonrpc": "2.0", "result": {"tools": "none"}},
    ],
)
def test_a_list_that_a_host_cannot_use_is_asked_for_again(answer: dict[str, Any]) -> None:
    """The server is no dead end after a mistake."""
    talk = PairTalk(["?"])
    talk.hear_server(said(talk.next_line(), HELLO))
    assert talk.next_line()
    number = json.loads(talk.next_line())["id"]
    talk.hear_server(json.dumps({**answer, "id": number}).encode())
    assert json.loads(talk.next_line())["method"] == "tools/list"


def test_an_error_of_the_model_asks_the_same_turn_again() -> None:
    """Nothing goes to the server."""
    talk = PairTalk(["?"])
    greeted(talk)
    turn = talk.next_turn()
    talk.hear_model({"error": {"code": 1, "message": "busy"}})
    assert talk.next_line() == ""
    assert talk.next_turn() == turn


def test_the_model_sees_the_tools_of_now() -> None:
    """After `list_changed` the list is read again before the next turn."""
    talk = PairTalk(["?"])
    greeted(talk)
    assert talk.next_turn()
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    talk.hear_server(json.dumps(changed).encode())
    talk.hear_model(content(CALL))
    line = talk.next_line()
    assert json.loads(line)["method"] == "tools/list"
    talk.hear_server(said(line, {"tools": []}))
    talk.hear_server(said(talk.next_line(), {"content": []}))
    turn = talk.next_turn()
    assert turn is not None
    assert "tools" not in turn


# -- in a room -----------------------------------------------------------------------------------


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Rooming]:
    """A room."""
    with Rooming(tmp_path / "home") as opened:
        yield opened


def paired(room: Rooming, *names: str) -> list[Visitor]:
    """Seat people, and join them two by two."""
    people = [room.learner(one) for one in names]
    assert room.teacher().order(act="pair all").status == 303
    return people


def asked(learner: Visitor, method: str) -> dict[str, Any]:
    """Wait for a request of the pair, not of the lesson."""

    def found() -> dict[str, Any] | None:
        listed = learner.get("/api/sessions").json["sessions"]
        ours = {one["name"] for one in listed if one["client"] in {"", PAIR_HOST}}
        rows = [one for one in learner.waiting() if one["session"] in ours]
        return next((one for one in rows if one["method"] == method), None)

    return until(found, f"{method} of the pair")


def answered(learner: Visitor, method: str, result: Any) -> None:  # noqa: ANN401 - any JSON value
    """Answer a request of the pair."""
    learner.answer_to_the_end(asked(learner, method), json.dumps(result), "result")


def turn(*blocks: dict[str, Any]) -> dict[str, Any]:
    """Return a turn of the model."""
    return {"role": "assistant", "model": "me", "content": blocks[0], "stopReason": "endTurn"}


def line_of(learner: Visitor, row: dict[str, Any]) -> dict[str, Any]:
    """Return a request as it is shown."""
    found = learner.get(f"/api/exchanges/{row['session']}/{row['number']}").json
    return dict(json.loads(found["line"]))


USE: Final = {"type": "tool_use", "id": "a", "name": "weather", "input": {}}
STEPS: Final[tuple[tuple[int, str, Any], ...]] = (
    (1, "initialize", HELLO),
    (1, "tools/list", {"tools": TOOLS}),
    (0, ASK, turn(USE)),
    (1, "tools/call", {"content": [{"type": "text", "text": "sunny"}]}),
    (0, ASK, turn(TEXT)),
    (0, ASK, turn(TEXT)),
)
"""A whole conversation: whose turn it is (0: the model), what is asked, the answer."""


NAME: Final = re.compile("<bdi>(Ann|Ben)</bdi></a>")


def test_a_pair_talks_to_its_end(room: Rooming) -> None:
    """The model reads what the server wrote; the third of three people hears nothing."""
    model, server, third = paired(room, "Ann", "Ben", "Eve")
    asked(server, "initialize")
    teacher = room.teacher()
    rows = re.findall(r'<li class="seat.*?</li>', teacher.get("/room").text, re.DOTALL)
    turns = {name: re.findall("⇄ (▸ |✓ |)[ms]", row) for row in rows for name in NAME.findall(row)}
    assert (turns["Ann"], turns["Ben"]) == ([""], ["▸ "]), "whose turn it is stands first"
    is_timed = {name: "data-since" in row for row in rows for name in NAME.findall(row)}
    assert (is_timed["Ann"], is_timed["Ben"]) == (False, False), "the lesson waits"
    for who, method, result in STEPS:
        answered((model, server)[who], method, result)
    until(lambda: "The conversation is over." in model.get("/").text, "the end")
    assert teacher.get("/room").text.count("⇄ ✓ ") == 2
    assert {one["method"] for one in third.waiting()} == {"initialize"}
    assert "Eve" in room.teacher().get("/room").text.partition("Without a partner:")[2][:60]
    lists = [re.sub(r"<[^>]*>", "", one.get("/own/home").text) for one in (model, server, third)]
    for side, page in zip(("Model Answers: 3", "Server Answers: 3"), lists, strict=False):
        assert side in page
    assert "Answers:" not in lists[2]
    own = FolderInbox(room.folder / "seats" / "003")
    lines = b"".join(frame.raw for one in own.sessions() for frame in own.frames(one.name))
    assert b"sunny" not in lines
    assert ASK.encode() not in lines


def opened(learner: Visitor) -> str:
    """Return which request the first page opens; "" for none."""
    found = re.search(r'<article class="message[^>]*data-key="([^"]+)"', learner.get("/").text)
    return found[1] if found else ""


def listed(learner: Visitor) -> list[str]:
    """Return the requests in the list."""
    return re.findall(r'class="row[^>]*data-key="([^"]+)"', learner.get("/list").text)


def test_the_lesson_is_set_aside_until_the_pair_is_over(room: Rooming) -> None:
    """No list has its request and no page opens it; who looks at it is led to the pair."""
    ann, ben = people = [room.learner("Ann"), room.learner("Ben")]
    lessons = [one.question() for one in people]
    keys = [f"{one['session']}/{one['number']}" for one in lessons]
    room.teacher().order(act="pair all")
    hello = asked(ben, "initialize")
    key = f"{hello['session']}/{hello['number']}"
    assert (opened(ann), listed(ann), ann.waiting()) == ("", [], [])
    assert (opened(ben), listed(ben)) == (key, [key])
    assert ann.get("/list").text.count("<title>humanmcp") == 1
    for learner, lesson, following in zip(people, keys, ("", key), strict=True):
        status = learner.get(f"/m/{lesson}/status").text
        assert "data-waits" not in status
        assert re.findall(r'data-next="([^"]+)"', status) == [one for one in (following,) if one]
        assert "This message is of the lesson" in learner.get(f"/m/{lesson}").text
    for who, method, result in STEPS:
        answered(people[who], method, result)
    for learner, lesson in zip(people, keys, strict=True):
        until(lambda: opened(learner) == lesson, "the lesson again")  # noqa: B023 - done before the next
        assert listed(learner) == [lesson]
    room.teacher().order(act="swap")
    asked(ann, "initialize")
    assert keys[0] not in listed(ann)
    room.teacher().order(act="part")
    until(lambda: (opened(ann), listed(ann)) == (keys[0], [keys[0]]), "the lesson again")


@pytest.mark.parametrize("at", range(len(STEPS)))
@pytest.mark.parametrize("end", [Rooming.kill, lambda room: room.__exit__()], ids=["kill", "stop"])
def test_a_pair_goes_on_after_a_restart(
    tmp_path: Path, at: int, end: Callable[[Rooming], None]
) -> None:
    """In each state: the same request, with what was typed; nothing is asked or sent twice."""
    with Rooming(tmp_path / "home") as room:
        people = paired(room, "Ann", "Ben")
        for who, method, result in STEPS[:at]:
            answered(people[who], method, result)
        who, method, _ = STEPS[at]
        row = asked(people[who], method)
        path = f"/api/exchanges/{row['session']}/{row['number']}"
        assert people[who].call(f"{path}/draft", {"text": "half"}).status == 200
        end(room)
    with Rooming(tmp_path / "home") as room:
        again = asked(people[who], method)
        assert (again["session"], again["number"]) == (row["session"], row["number"])
        assert people[who].get(path).json["document"] == "half"
        for who, method, result in STEPS[at:]:
            answered(people[who], method, result)
        until(lambda: "The conversation is over." in people[0].get("/").text, "the end")
        counted = [len(list(inputs(room, number))) for number in (1, 2)]
    assert counted == [3, 4], "three turns; handshake, notification, list, call"


def inputs(room: Rooming, number: int) -> Iterator[bytes]:
    """Yield what the host of a pair has sent to a seat."""
    inbox = FolderInbox(room.folder / "seats" / f"{number:03d}")
    for one in inbox.sessions():
        if one.client == PAIR_HOST:
            for frame in inbox.frames(one.name):
                if frame.direction is Direction.IN and not frame.note:
                    yield frame.raw


def test_a_pair_survives_kills_at_any_moment(tmp_path: Path) -> None:
    """The room is killed right after each answer, wherever it is then."""
    home, moments = tmp_path / "home", random.Random(7)
    with Rooming(home) as room:
        people = paired(room, "Ann", "Ben")
        for at, (who, method, result) in enumerate(STEPS):
            waits = asked(people[who], method)
            people[who].answer(waits, json.dumps(result), "result")
            for _ in range(moments.randrange(3)):
                people[who].waiting()
            room.kill()
            room = Rooming(home)  # noqa: PLW2901 - the next process
            for later, asks, _ in STEPS[at + 1 : at + 2]:
                asked(people[later], asks)
        until(lambda: "The conversation is over." in people[0].get("/").text, "the end")
        counted = [len(list(inputs(room, number))) for number in (1, 2)]
        room.__exit__()
    assert counted == [3, 4]


def test_who_loses_a_partner_is_told_and_can_have_another(room: Rooming) -> None:
    """A removed seat ends its pair; its partner keeps what was typed."""
    model, _, third = paired(room, "Ann", "Ben", "Eve")
    teacher = room.teacher()
    assert teacher.order(act="remove", seat=2).status == 303
    until(lambda: "Your pair has ended." in model.get("/").text, "the partner is told")
    assert teacher.order(act="pair", seat=3, server=1).status == 303
    answered(model, "initialize", HELLO)
    answered(model, "tools/list", {"tools": TOOLS})
    assert line_of(third, asked(third, ASK))["params"]["tools"] == TOOLS


def test_who_loses_a_pair_is_named_before_it_ends(room: Rooming) -> None:
    """Also the partner of somebody who is joined to another; once each, and nobody for nothing."""
    model, server, _ = paired(room, "Ann", "Ben", "Eve")
    for who, method, result in STEPS[:3]:
        answered((model, server)[who], method, result)
    asked(server, "tools/call")
    teacher = room.teacher()
    page = teacher.submit("/room", act="pair", seat="3", server="1")
    assert page.status == 409
    assert re.findall("<bdi>(Ann|Ben|Eve)</bdi>", page.text) == ["Ann", "Ben"]
    assert teacher.submit("/room", act="pair", seat="1", server="1").status == 303
    asked(server, "tools/call")


def test_two_people_are_offered_as_a_pair(room: Rooming) -> None:
    """As they stand there: nobody is joined with themselves."""
    for one in ("Ann", "Ben", "Eve"):
        room.learner(one)
    for chosen in ("", "?seat=1", "?seat=2", "?seat=3"):
        text = room.teacher().get(f"/room{chosen}").text
        form = next(one for one in text.split("<form")[1:] if 'value="pair"' in one)
        lists = re.findall("<select.*?</select>", form, re.DOTALL)
        marked = [re.findall('value="([0-9]+)"([^>]*)', one) for one in lists]
        stands = [next((n for n, rest in one if "selected" in rest), one[0][0]) for one in marked]
        assert len({*stands}) == 2, (chosen, stands)


def test_roles_are_swapped(room: Rooming) -> None:
    """Each is once the model and once the server."""
    model, server = paired(room, "Ann", "Ben")
    answered(server, "initialize", HELLO)
    teacher = room.teacher()
    assert teacher.order(act="swap").status == 303
    answered(model, "initialize", HELLO)
    answered(model, "tools/list", {"tools": TOOLS})
    assert asked(server, ASK)


@pytest.mark.parametrize("number", [1, 2])
def test_a_pair_whose_session_was_deleted_begins_again(tmp_path: Path, number: int) -> None:
    """The room opens, and the pair talks."""
    with Rooming(tmp_path / "home") as room:
        people = paired(room, "Ann", "Ben")
        for who, method, result in STEPS[:2]:
            answered(people[who], method, result)
        row = asked(people[0], ASK)
        seat = room.folder / "seats" / f"{number:03d}" / "sessions"
        if number == 2:
            listed = people[1].get("/api/sessions").json["sessions"]
            row = {"session": next(one["name"] for one in listed if one["client"] == PAIR_HOST)}
        room.kill()
    shutil.rmtree(seat / row["session"])
    with Rooming(tmp_path / "home"):
        for who, method, result in STEPS:
            answered(people[who], method, result)
        until(lambda: "The conversation is over." in people[0].get("/").text, "the end")

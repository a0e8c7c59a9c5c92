"""The JSON interface, as a script uses it, against a running desk and a running server."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from fastapi.routing import APIRoute
from starlette.responses import Response

from docs import make_api
from humanmcp.desk.app import CALLS, PAGES
from humanmcp.desk.guard import API
from humanmcp.inbox.contract import Key, Writer
from humanmcp.inbox.folder import FolderInbox
from tests.browser.seats import call
from tests.desk.test_guard import flat
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until


@pytest.fixture
def seats(home: Path) -> Iterator[tuple[Desking, Serving]]:
    """A desk, and a host whose call waits."""
    with Desking(home) as desk, Serving(home, "--by-hand") as host:
        host.say(call("7", city="東京"))
        until(lambda: desk.get("/api/exchanges")["waiting"], "the call waits")
        yield desk, host


def path(desk: Desking) -> str:
    """Return the path of what waits first."""
    one = desk.get("/api/exchanges")["waiting"][0]
    return f"/api/exchanges/{one['session']}/{one['number']}"


def calls() -> list[APIRoute]:
    """Return each call, those of extensions, too."""
    found = (route for router in (*CALLS, *PAGES) for route in flat(router.routes))
    return [one for one in found if one.path.startswith(API)]


@pytest.mark.parametrize("write", [make_api.summary, make_api.page])
def test_every_call_is_documented_and_every_documented_call_exists(
    write: Callable[[], Iterator[str]],
) -> None:
    """Both pages list the interface, no more and no less."""
    page = "\n".join(write())
    documented = set(re.findall(r"^(?:###|-) `((?:GET|POST) /api/[^`]+)`", page, re.MULTILINE))
    existing = {f"{method} {route.path}" for route in calls() for method in route.methods or ()}
    assert documented == existing


def test_a_running_desk_describes_every_call_with_its_members(home: Path) -> None:
    """For those who have no manual."""
    with Desking(home) as desk:
        described = desk.get("/api/openapi.json")
    assert set(described["paths"]) == {route.path for route in calls()}
    assert "method" in described["components"]["schemas"]["CallShape"]["properties"]


def test_every_member_of_every_body_and_answer_is_documented() -> None:
    """`action`, for one, was missing; a call that says nothing of its answer would be, too."""
    page = "\n".join(make_api.page())
    for route in calls():
        hints = get_type_hints(route.endpoint)
        shapes = [hints["return"], *([hints["body"]] if "body" in hints else [])]
        if shapes[0] is Response:  # the live stream, the description
            continue
        for shape in shapes:
            section = page.split(f"### {shape.__name__}\n")[1].split("\n#")[0]
            assert set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE)) == set(
                get_type_hints(shape)
            )


def test_fields_that_are_no_json_are_checked_by_themselves(
    seats: tuple[Desking, Serving],
) -> None:
    """Each problem names its field and counts in it; nothing else is said of that place."""
    desk, _ = seats
    text = '{"result": {"content": [{"type": "text", "text": 7}], "structuredContent": 1}}'
    place = "/result/structuredContent"
    body = {"text": text, "fields": {place: '{"a": 1', "/result/content/0/text": "+5"}}
    judged = desk.post(f"{path(desk)}/check", body).json
    found = {(one["code"], one["field"], one["pointer"]) for one in judged["problems"]}
    assert found == {("J07", place, place), ("J21", *["/result/content/0/text"] * 2)}
    assert (judged["sendable"], judged["forcible"], judged["line"]) == (False, False, None)


def test_a_script_checks_saves_and_sends(seats: tuple[Desking, Serving]) -> None:
    """Check, draft, reply: what the page does, in three calls."""
    desk, host = seats
    here = path(desk)
    judged = desk.post(f"{here}/check", {"text": '{"id": "7", "result": {}}'}).json
    assert judged["sendable"] is False
    assert {"R04"} <= {one["code"] for one in judged["problems"]}
    assert desk.post(f"{here}/draft", {"text": "sun", "form": "text"}).status == 200
    kept = desk.get(here)
    assert kept["draft"]["text"] == "sun"
    assert kept["draft"]["touched"] is True
    assert '"text": "sun"' in kept["document"]
    sent = desk.post(f"{here}/reply", {"text": "sunny", "form": "text"})
    assert (sent.status, sent.json["became"]) == (200, "sent")
    assert sent.json["line"] == host.hear()
    late = desk.post(f"{here}/reply", {"text": "rain", "form": "text"})
    assert (late.status, late.json["became"]) == (409, "taken")


def test_a_notification_of_ones_own_goes_out(seats: tuple[Desking, Serving]) -> None:
    """Said first: a ticket, and then what became of it."""
    desk, host = seats
    session = desk.get("/api/sessions")["sessions"][0]["name"]
    text = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
    ticket = desk.post(f"/api/sessions/{session}/say", {"text": text}).json["ticket"]
    here = f"/api/sessions/{session}/say/{ticket}"
    until(lambda: desk.get(here)["became"] == "refused" or None, "nothing may be said yet")
    assert desk.get(here)["problems"]
    ticket = desk.post(f"/api/sessions/{session}/say", {"text": text, "anyway": True}).json[
        "ticket"
    ]
    assert json.loads(host.hear())["method"] == "notifications/tools/list_changed"
    here = f"/api/sessions/{session}/say/{ticket}"
    until(lambda: desk.get(here)["became"] == "sent" or None, "the saying is settled")


def test_the_last_answer_comes_back_with_the_new_id(seats: tuple[Desking, Serving]) -> None:
    """The same tool is asked again: the old answer, the new id, not one other character."""
    desk, host = seats
    assert desk.get(f"{path(desk)}/last")["line"] is None
    desk.post(f"{path(desk)}/reply", {"text": "sunny", "form": "text"})
    first = host.hear()
    host.say(call('"b"', city="大阪"))
    until(lambda: desk.get("/api/exchanges")["waiting"], "the second call waits")
    again = desk.get(f"{path(desk)}/last")["line"]
    assert again == first.replace('"id":7', '"id":"b"')


def test_the_history_is_searched(seats: tuple[Desking, Serving]) -> None:
    """By words, method, tool, kind, state and session; the newest line first."""
    desk, host = seats
    here = path(desk)
    desk.post(f"{here}/reply", {"text": "sunny", "form": "text"})
    host.hear()

    def found(query: str) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = desk.get(f"/api/history?q={query}")["lines"]
        return lines

    everything = found("")
    assert [one["way"] for one in everything][:2] == ["out", "in"]
    assert found("SUNNY") == everything[:1]
    assert found("method:tools/call") == everything[1:2]
    assert found("tool:get_forecast") == everything[1:2]
    assert found("kind:result") == everything[:1]
    assert found("state:answered") == everything[:2]
    assert found("session:A") == everything
    assert found("session:Z") == []
    assert found("sunny%20rain") == []


def test_wrong_bodies_and_names_are_refused_and_change_nothing(
    seats: tuple[Desking, Serving],
) -> None:
    """Never a 500, never a traceback: the place in the body is named, its content is not."""
    desk, _ = seats
    here = path(desk)
    secret = "do-not-repeat"
    wrong_bodies: list[Any] = [[], {}, {"text": 1}, {"text": "a", "form": secret}, {"text": None}]
    for body in wrong_bodies:
        answer = desk.post(f"{here}/check", body)
        assert answer.status == 422
        assert secret not in answer.text
    broken = desk.ask(
        "POST",
        f"{here}/check",
        body=b"{",
        headers={**desk.bearer, "Content-Type": "application/json"},
    )
    assert broken.status == 422
    session = here.split("/")[3]
    for wrong in (
        "/api/exchanges/none/1",
        f"/api/exchanges/{session}/99",
        f"/api/exchanges/{session}/999999999999999999999999",
        f"/api/exchanges/{session}/-1",
        f"/api/exchanges/{session}/x",
        "/api/exchanges/..../1",
        "/api/sessions/none/lines/1",
        "/api/nothing",
    ):
        assert desk.ask("GET", wrong, headers=desk.bearer).status in (404, 422), wrong
    assert len(desk.get("/api/exchanges")["waiting"]) == 1


def test_a_saved_answer_fits_its_tool(seats: tuple[Desking, Serving]) -> None:
    """Kept in a file of our naming, listed where it fits, thrown away."""
    desk, _ = seats
    body = {"name": "../../evil", "method": "tools/call", "tool": "get_forecast", "text": "sunny"}
    number = desk.post("/api/answers", body).json["number"]
    fitting = "/api/answers?method=tools/call&tool="
    assert [one["name"] for one in desk.get(f"{fitting}get_forecast")["answers"]] == ["../../evil"]
    assert desk.get(f"{fitting}other")["answers"] == []
    names = [one.name for one in (desk.home / "answers").iterdir()]
    assert names == [f"{number:04d}.json"]


@pytest.mark.extension("books")
def test_a_saved_rule_answers_the_next_call(home: Path) -> None:
    """Shown as a sentence first; saved, the server reads it and answers by itself."""
    with Desking(home) as desk, Serving(home) as host:
        rule = {
            "method": "tools/call",
            "tool": "get_forecast",
            "text": 'sunny "and" dry\nall day 東京 \x7f',
            "where": {"city": "東京"},
        }
        shown = desk.post("/api/rules", {**rule, "save": False}).json
        assert "get_forecast" in shown["sentence"]
        assert not (home / "book.toml").exists()
        assert desk.post("/api/rules", rule).json["saved"] is True
        whole = desk.post("/api/rules", {**rule, "form": "message", "text": "{}"})
        assert (whole.status, "the answer only" in whole.json["why"]) == (422, True)
        bad = desk.post("/api/rules", {**rule, "form": "result", "text": "[]"})
        assert bad.status == 422
        half = {"method": "tools/call", "tool": "\ud800", "text": "\ud800"}
        assert desk.post("/api/rules", half).status == 200

        def answered_by_the_rule() -> bool:
            host.say(call("7", city="東京"))
            content = json.loads(host.hear())["result"]["content"]
            return bool(content[0]["text"] == rule["text"])

        until(lambda: answered_by_the_rule() or None, "the rule answers")


def test_half_a_character_breaks_nothing(home: Path) -> None:
    """A lone surrogate is legal in JSON and not in UTF-8: in a message, a draft, an answer."""
    with Desking(home) as desk, Serving(home, "--by-hand") as host:
        host.say(
            '{"jsonrpc":"2.0","id":"\\ud800","method":"tools/call",'
            '"params":{"name":"a\\ud800","arguments":{"x\\udfff":"\\ud83d"}}}'
        )
        until(lambda: desk.get("/api/exchanges")["waiting"], "the call waits")
        here = path(desk)
        half = {"text": "\ud800", "form": "text", "name": "\ud800", "method": "tools/call"}
        assert desk.post(f"{here}/draft", half).status == 200
        judged = desk.post(f"{here}/check", half)
        assert judged.status == 200
        assert "J23" in judged.text
        assert desk.post(f"{here}/reply", half).status == 422
        assert desk.post("/api/answers", half).status == 200
        page = here.replace("/api/exchanges", "/m")
        shown = ("/", page, f"{page}/status", "/history", "/present", "/list")
        for one in (*shown, here, "/api/answers", "/api/history"):
            assert desk.ask("GET", one, headers=desk.bearer).status == 200, one


def test_what_the_check_says_of_a_request_stands_beside_it(seats: tuple[Desking, Serving]) -> None:
    """A client's mistake is explained beside its request, for scripts and in the page."""
    desk, host = seats
    params = {"name": "get_forecast", "args": {"city": "Tokyo"}}
    host.say(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}))
    host.say(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}))
    until(lambda: len(desk.get("/api/exchanges")["waiting"]) == 3, "all three wait")
    last = desk.get("/api/exchanges")["waiting"][-1]
    here = f"{last['session']}/{last['number']}"
    assert {"N10", "M87"} <= {one["code"] for one in desk.get(f"/api/exchanges/{here}")["remarks"]}
    shown = desk.page(f"/m/{here}")
    assert "Problems in this message" in shown
    assert "The server sees no arguments." in shown
    assert '/mistake/M87"' in shown


def test_what_a_client_asked_is_listed_with_the_answers(home: Path) -> None:
    """In order, of one session, method or tool; an array is told apart, and so is what waits."""
    book = home.parent / "book.toml"
    book.write_text("[[rules]]\ntool = 'known'\ntext = 'by rule'\n[wait]\n'*' = 0")
    handshake = {
        "protocolVersion": "2025-03-26",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    }
    two = [
        {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": name}}
        for id_, name in (("a", "known"), ("b", "unknown"))
    ]
    with Desking(home) as desk, Serving(home, "--book", str(book)) as host:
        request = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": handshake}
        host.say(json.dumps(request))
        host.hear()
        host.say(json.dumps(two))
        host.say(call("7", city="東京"))
        until(lambda: len(desk.get("/api/exchanges")["waiting"]) == 2, "two wait")
        found = desk.get("/api/calls")["calls"]
        assert [(one["number"], one["method"], one["name"]) for one in found] == [
            (1, "initialize", ""),
            (2, "tools/call", "known"),
            (3, "tools/call", "unknown"),
            (4, "tools/call", "get_forecast"),
        ]
        assert found[3]["arguments"] == {"city": "東京"}
        assert (found[3]["answer"], found[3]["result"], found[3]["by"]) == (None, None, "")
        assert found[0]["result"]["protocolVersion"] == "2025-03-26"
        assert found[0]["by"] == "book"
        assert desk.get("/api/calls?name=known&method=tools/call")["calls"] == [found[1]]
        assert desk.get("/api/calls?most=1")["calls"] == found[3:]
        assert desk.get(f"/api/calls?session={found[0]['session']}")["calls"] == found
        outside = desk.ask("GET", "/api/calls?session=..%2Fsecret", headers=desk.bearer)
        assert outside.status == 404


def test_who_writes_is_told_on_every_page_from_every_process_until_they_leave(
    seats: tuple[Desking, Serving],
) -> None:
    """In the list and at the open message: from another desk, or a phone at this one."""
    desk, _ = seats
    one = desk.get("/api/exchanges")["waiting"][0]
    key, anchor = Key(one["session"], one["number"]), f"{one['session']}/{one['number']}"
    elsewhere = FolderInbox(desk.home)
    elsewhere.note_writer(key, Writer("a", "花子"))
    until(lambda: "花子 is writing" in desk.page("/list"), "the list says who writes")
    assert "花子 is writing an answer to this." in desk.page(f"/m/{anchor}/status")
    elsewhere.clear_writer("a")
    until(lambda: "is writing" not in desk.page("/list"), "nobody writes")
    desk.post(f"{path(desk)}/writer", {"who": "phone"})
    assert elsewhere.writers() == {key: (Writer("phone"),)}
    assert "someone is writing" in desk.page("/list")
    desk.post(f"{path(desk)}/writer", {"who": "phone", "on": False})
    desk.post(f"{path(desk)}/draft", {"text": "saved on the way out", "who": "phone"})
    assert elsewhere.writers() == {}


def test_a_draft_that_its_next_writer_had_not_seen_is_kept(seats: tuple[Desking, Serving]) -> None:
    """By `page` and `since`: all programs that name no page are one writer."""
    desk, _ = seats
    here = path(desk)

    def save(text: str, **more: str) -> str:
        answer = desk.post(f"{here}/draft", {"text": text, "form": "text", **more})
        assert answer.status == 200
        return str(answer.json["at"])

    def kept() -> list[str]:
        _, name, number = here.rsplit("/", 2)
        return [one.text for one in FolderInbox(desk.home).item(Key(name, int(number))).kept]

    save("A", page="1")
    at = save("Ann", page="1")
    assert kept() == []
    save("Ann, and Bob", page="2", since=at)
    assert kept() == []
    save("Cal", since=at)
    assert kept() == ["Ann, and Bob"]
    save("Dan")
    assert kept() == ["Ann, and Bob"]
    save("Eve", page="3")
    assert kept() == ["Ann, and Bob", "Dan"]

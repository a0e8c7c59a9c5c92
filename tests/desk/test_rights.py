"""The table of rights: every page, call and button of desk and room, tried by everybody."""

import ast
import html
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import urlencode

import pytest

from humanmcp import extensions
from humanmcp.desk import guard, rights
from humanmcp.desk.rights import TABLE, Who
from humanmcp.desk.routing import DeskRoute
from humanmcp.inbox.contract import Order
from tests.desk.devices.test_devices import Browser, link_of
from tests.desk.test_guard import flat
from tests.support.desk_process import Desking
from tests.support.room_process import Rooming, Visitor
from tests.support.routes import RIGHTS, ROUTERS, TEMPLATES
from tests.support.serve_http import Got

ENDPOINTS: Final = {
    f"{method} {route.path}": route.endpoint
    for router in ROUTERS
    for route in flat(router.routes)
    for method in route.methods or ()
    if not (method == "POST" and route.path == "/login")  # the desk and the room have one each
}
ENDLESS: Final = "GET /api/events"
STARTING: Final = frozenset({"POST /try"})
ENDING: Final = frozenset({"POST /logout"})


def test_every_route_has_an_entry_and_every_entry_a_route() -> None:
    """What is allowed to nobody is not there, and what is not there is allowed to nobody."""
    files = {"GET /favicon.ico", *(key for key in TABLE if "/static/" in key)}
    brought = {key for one in extensions.loaded("pages") for key in one.RIGHTS}
    assert {*RIGHTS, *brought} == {*ENDPOINTS, *files, "POST /login"}
    assert not TABLE.keys() & brought


def test_a_route_without_an_entry_does_not_start() -> None:
    """Nobody can forget to say who may use it."""
    with pytest.raises(KeyError, match="POST /api/everything"):
        DeskRoute("/api/everything", lambda: None, methods=["POST"])


# -- what the functions and the forms say ----------------------------------------------------------


def acts_of(endpoint: Callable[..., Any]) -> set[str]:
    """Return the acts that a function and its helpers compare with, as its source says."""
    module = sys.modules[endpoint.__module__]
    found, seen, left = set[str](), set[str](), [endpoint.__name__]
    while left:
        name = left.pop()
        function = getattr(module, name, None)
        if (
            name in seen
            or not inspect.isfunction(function)
            or function.__module__ != module.__name__
        ):
            continue
        seen.add(name)
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                left.append(node.func.id)
            found |= {*_compared(node)}
    return found


def _compared(node: ast.AST) -> Iterator[str]:
    """Return the texts that a node compares an act with; "x *" for its first word."""
    if isinstance(node, ast.Match) and "act" in ast.unparse(node.subject):
        patterns = [part for case in node.cases for part in ast.walk(case.pattern)]
        for part in patterns:
            if isinstance(part, ast.MatchValue) and isinstance(part.value, ast.Constant):
                yield str(part.value.value)
    if isinstance(node, ast.Compare) and re.search(r"\bact\b", ast.unparse(node)):
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and part.value not in ("act", ""):
                yield str(part.value)
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".startswith"):
        for part in node.args:
            if isinstance(part, ast.Constant) and str(part.value).endswith(" "):
                yield f"{part.value!s}*"


@pytest.mark.parametrize(
    "route", [key for key, one in RIGHTS.items() if one.acts and key in ENDPOINTS]
)
def test_every_act_of_a_function_has_an_entry(route: str) -> None:
    """A new case in its code is refused, and fails here, until the table says who may do it."""
    found = {one for one in acts_of(ENDPOINTS[route]) if not one.startswith(("hold ", "drop "))}
    assert {one for one in found if RIGHTS[route].allowed(one) is None} == set()


def test_what_was_collected_is_what_is_there() -> None:
    """The search in the source finds the acts: else the test before would pass with none."""
    for route in ("POST /room", "POST /own", "POST /book", "POST /m/{name}/{number}"):
        listed = {one for one in RIGHTS[route].acts if one != "forget *"}
        assert listed - acts_of(ENDPOINTS[route]) <= {"park", "status", "drop"}, route


def test_every_order_has_an_entry() -> None:
    """An order is an act, too."""
    entry = RIGHTS["POST /api/sessions/{session}/say"]
    assert set(entry.acts) == {one.value for one in Order}


def forms() -> Iterator[tuple[str, str]]:
    """Return the act of each button of the templates, with the file."""
    for file in TEMPLATES:
        text = file.read_text(encoding="utf-8")
        loops = dict(re.findall(r"for (\w+) in \(([^)]*)\)", text))
        for value in re.findall(r'name="act" value="([^"]*)"', text):
            literal = re.sub(r"\{\{.*?\}\}", "x", value)
            inner = re.findall(r"\{\{(.*?)\}\}", value)
            chosen = [
                one for part in inner if " if " in part for one in re.findall(r"'([^']+)'", part)
            ]
            listed = loops.get(inner[0].strip(), "") if literal == "x" else ""
            for act in chosen or re.findall(r"'([^']+)'", listed) or [literal]:
                yield file.name, act


def test_every_button_of_a_page_is_an_act_of_the_table() -> None:
    """A button that nobody may press is refused to everybody."""
    found = list(forms())
    assert len(found) > 60
    brought = [entry for one in extensions.loaded("pages") for entry in one.RIGHTS.values()]
    entries = [one for one in (*RIGHTS.values(), *brought) if one.acts]
    unknown = [one for one in found if all(each.allowed(one[1]) is None for each in entries)]
    assert unknown == []


# -- on the wire ---------------------------------------------------------------------------------


def tries(who: Who) -> Iterator[tuple[str, str, str, bool]]:
    """Return each route with each of its acts, and whether this visitor may do it."""
    for key, entry in RIGHTS.items():
        method, _, path = key.partition(" ")
        if key in (ENDLESS, "POST /login", "POST /api/login") or path.startswith("/static/"):
            continue
        at = re.sub(r"\{(?:number|seq|at)\}", "1", path)
        at = re.sub(r"\{\w+\}", "20260101T000000Z-x" if who not in rights.SEATS else "x", at)
        for act, allowed in (entry.acts or {"": entry.who}).items():
            yield method, at, act.replace("*", "x"), bool(who & allowed)


def is_tried(method: str, path: str, act: str) -> bool:
    """Return True unless it would start something, or end the visit."""
    key = f"{method} {path}"
    return key not in STARTING | ENDING and act not in ("remove idle", "be started")


@pytest.mark.parametrize("who", [Who.OWNER, Who.SCRIPT, Who.ONE_SESSION, Who.DEVICE], ids=str)
def test_the_desk_lets_everybody_do_what_the_table_says(open_desk: Desking, who: Who) -> None:
    """403 where it says no, and never where it says yes."""
    seat_only = {"/own", "/room", "/wall", "/waiting", "/check"}
    with open_desk as desk:
        visitor = visitor_of(desk, who)
        for method, path, act, allowed in tries(who):
            if (
                path in seat_only
                or path.startswith("/room/")
                or (allowed and not is_tried(method, path, act))
            ):
                continue
            got = asked(visitor, method, path, act)
            assert (got.status == 403) != allowed, (method, path, act, got.status)
            assert got.status not in (401, 500), (method, path, act)
            if not allowed:
                assert said_in_words(path, got), (path, got.text)


def visitor_of(desk: Desking, who: Who) -> Any:  # noqa: ANN401 - a browser or a script
    """Return a visitor of the desk."""
    if who is Who.DEVICE:
        return Browser(desk, link_of(desk, "phone"))
    if who is Who.SCRIPT:
        return Script(desk)
    body = {"session": "20260101T000000Z-x"} if who is Who.ONE_SESSION else {}
    return Browser(desk, f"#k={desk.post('/api/login-key', body).json['key']}")


class Script:
    """A program with the token."""

    def __init__(self, desk: Desking) -> None:
        """Use its token."""
        self._desk = desk

    def get(self, path: str) -> Got:
        """Read."""
        return self._desk.ask("GET", path, headers=self._desk.bearer)

    def post(self, path: str, record: object) -> Got:
        """Send a form, or make a call."""
        kind, body = encoded(path, record)
        headers = {**self._desk.bearer, "Content-Type": kind}
        return self._desk.ask("POST", path, body=body, headers=headers)


def encoded(path: str, record: object) -> tuple[str, bytes]:
    """Return a record as a call or a form takes it, and its content type."""
    if isinstance(record, bytes):
        return guard._FILE, record
    if path.startswith("/api/"):
        return "application/json", json.dumps(record).encode()
    assert isinstance(record, dict)
    return "application/x-www-form-urlencoded", urlencode(record).encode()


def asked(visitor: Any, method: str, path: str, act: str) -> Got:  # noqa: ANN401 - a browser, a script or a learner
    """Do one thing as this visitor."""
    if method == "GET":
        got: Got = visitor.get(path)
        return got
    record: object = {"order" if path.endswith("/say") and path.startswith("/api/") else "act": act}
    if path in guard._OF_FILES:
        record = b"\0"
    elif path.startswith("/api/") and not act:
        record = {}
    sent: Got = visitor.post(path, record)
    return sent


def said_in_words(path: str, got: Got) -> bool:
    """Return True if a refusal is a page for people, and JSON for scripts."""
    if path.startswith("/api/"):
        return bool(got.json["detail"])
    return "<h1>" in got.text and "{" not in html.unescape(got.text.partition("<main")[2])


class Seat:
    """A visitor of a room, as the browsers of the desk are."""

    def __init__(self, visitor: Visitor) -> None:
        """Be this visitor."""
        self._visitor = visitor

    def get(self, path: str) -> Got:
        """Read."""
        return self._visitor.get(path)

    def post(self, path: str, record: object) -> Got:
        """Send a form, or make a call."""
        kind, body = encoded(path, record)
        own = f"http://127.0.0.1:{self._visitor.port}"
        headers = {"Content-Type": kind, "Origin": own}
        return self._visitor.ask("POST", self._visitor.login_path + path, body, headers)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rooming]:
    """A room with one seat."""
    with Rooming(tmp_path_factory.mktemp("rights") / "home") as opened:
        opened.learner("Ann")
        yield opened


def watcher(room: Rooming) -> Visitor:
    """Return the teacher at a seat, in control of it."""
    teacher = room.teacher()
    seat = re.search(r"/room/seat/(\d+)", teacher.get("/room").text)
    assert seat
    looking = room.visitor()
    looking.cookies = teacher.cookies
    looking.led_by(teacher.get(f"/room/seat/{seat[1]}"))
    looking.cookies = {**looking.cookies, **teacher.cookies}
    looking.submit("/own", act="take")
    return looking


PEOPLE: Final[dict[Who, Callable[[Rooming], Visitor]]] = {
    Who.LEARNER: lambda room: room.learner("Ben"),
    Who.GUEST: lambda room: room.visitor().follow(room.wall_link),
    Who.KNOCKER: lambda room: room.visitor().join(room.code, "x", lost="yes"),
    Who.TEACHER: lambda room: room.teacher(),
    Who.WATCHER: watcher,
}


@pytest.mark.parametrize("who", PEOPLE, ids=str)
def test_a_room_lets_everybody_do_what_the_table_says(room: Rooming, who: Who) -> None:
    """A device, an owner and a script are no visitors of a room."""
    visitor = Seat(PEOPLE[who](room))
    desk_only = {"/devices", "/logout", "/api/login-key", "/worker.js", "/offline"}
    lite_only = "/check"
    for method, path, act, allowed in tries(who):
        if (
            path in {*desk_only, lite_only, "/manifest.webmanifest"}
            or act in ("give back", "door")
            or (allowed and not is_tried(method, path, act))
        ):
            continue
        got = asked(visitor, method, path, act)
        if got.status == 303 and path == "/":
            continue  # the door of the room
        assert (got.status == 403) != allowed, (method, path, act, got.status)
        assert got.status not in (401, 500), (method, path, act)
        if not allowed:
            assert said_in_words(path, got), (path, got.text)


def test_devices_change_no_hold_no_rule_and_no_setting() -> None:
    """The table gives them reading and answering, and nothing else."""
    acts = {
        f"{key} {act}".strip()
        for key, entry in RIGHTS.items()
        if key.startswith("POST")
        for act, who in (entry.acts or {"": entry.who}).items()
        if Who.DEVICE in who and Who.STRANGER not in who
    }
    exchange = "POST /api/exchanges/{session}/{number}"
    assert acts == {
        *(f"POST /m/{{name}}/{{number}} {act}" for act in ("send", "allow", "deny", "answers")),
        *(f"POST /m/{{name}}/{{number}} {act}" for act in ("change", "change json", "pause")),
        "POST /m/{name}/{number} hand back",
        *(f"POST /m/{{name}}/{{number}} {act}" for act in ("let go", "drop", "park", "status")),
        *(f"POST /m/{{name}}/{{number}}/ask {act}" for act in ("send", "json", "anyway")),
        *(f"POST /say/{{name}} {act}" for act in ("send", "json", "anyway")),
        *(f"{exchange}/{what}" for what in ("check", "autofix", "draft", "reply")),
        f"{exchange}/writer",
        "POST /api/drafts",
        "POST /api/sessions/{session}/say say",
        "POST /api/sessions/{session}/complete",
        *("POST /preferences", "POST /api/looking", "POST /logout"),
    }


def test_a_text_is_bounded_for_everybody_but_the_owner() -> None:
    """A form of buttons is smaller than one with a text."""
    text, button = RIGHTS["POST /m/{name}/{number}"], RIGHTS["POST /own"]
    assert text.largest(Who.OWNER) == rights.OWN_TEXT
    assert {text.largest(who) for who in (Who.DEVICE, Who.LEARNER)} == {rights.TEXT}
    assert {button.largest(who) for who in (Who.WATCHER, Who.LEARNER)} == {rights.BUTTONS}

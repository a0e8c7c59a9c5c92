"""Nobody reaches what is not theirs: every route of the room, attacked from every other side."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from fastapi.routing import APIRoute

from humanmcp.desk.rights import PUBLIC
from humanmcp.extensions.classroom.room.app import _ROUTERS
from tests.support.room_process import Rooming, Visitor

SECRET = "the-word-that-only-seat-A-has-typed"


class Scene(NamedTuple):
    """A room in which seat A has typed something."""

    room: Rooming
    owner: Visitor
    asked: dict[str, object]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Let A type a secret; B, a guest, one who knocks and a stranger come later."""
    with Rooming(tmp_path_factory.mktemp("roles") / "home") as room:
        owner = room.learner(f"Own {SECRET}")
        asked = owner.question()
        path = f"/api/exchanges/{asked['session']}/{asked['number']}/draft"
        assert owner.call(path, {"text": SECRET}).status == 200
        yield Scene(room, owner, asked)


def routes() -> list[tuple[str, str]]:
    """List every route with its method."""
    found = []
    for router in _ROUTERS:
        for route in router.routes:
            assert isinstance(route, APIRoute)
            found += [
                (method, route.path) for method in route.methods or () if method in {"GET", "POST"}
            ]
    return sorted(set(found))


def filled(path: str, scene: Scene) -> str:
    """Put what is known of seat A into the gaps of a path."""
    session, number = str(scene.asked["session"]), str(scene.asked["number"])
    path = re.sub(r"\{(session|name)(:path)?\}", session, path)
    return re.sub(r"\{\w+(:path)?\}", number, path)


def kept(scene: Scene) -> object:
    """Return what A's seat holds."""
    path = f"/api/exchanges/{scene.asked['session']}/{scene.asked['number']}"
    page = scene.owner.get(path).json
    return page["state"], page["draft"], page["document"]


INTRUDERS: Final[dict[str, Callable[[Rooming], Visitor]]] = {
    "learner B": lambda room: room.learner("B"),
    "guest": lambda room: room.visitor().follow(room.wall_link),
    "knocker": lambda room: room.visitor().join(room.code, "x", lost="yes"),
    "stranger": lambda room: room.visitor(),
}


@pytest.mark.parametrize("who", INTRUDERS)
def test_no_route_shows_or_changes_another_seat(scene: Scene, who: str) -> None:
    """A's secret is in no answer, and what A wrote stays as it is."""
    intruder = INTRUDERS[who](scene.room)
    before = kept(scene)
    for method, path in routes():
        if path in {"/api/events", "/login", "/own", "/preferences"}:
            continue  # a stream without an end; what has tests of its own; what changes a cookie
        at = filled(path, scene)
        for question in ("", f"?session={scene.asked['session']}&name={scene.asked['session']}"):
            if method == "GET":
                page = intruder.get(at + question)
            elif at.startswith("/api/"):
                page = intruder.call(at, {"text": "mine", "form": "text", "anyway": True})
            else:
                page = intruder.submit(at, act="send", text="mine", form="text", seat=1)
            assert SECRET not in page.text, (method, at, question)
            if who != "learner B":
                assert page.status in {200, 303, 401, 403, 404, 405}, (method, at, page.status)
                if page.status == 303:
                    assert (at, page.headers["location"]) == ("/", f"/login{question}")
            if page.status == 200 and who in {"stranger", "knocker"}:
                assert path in {"/waiting", *PUBLIC}, (method, at)
    assert kept(scene) == before


def test_only_the_teacher_has_the_teachers_pages(scene: Scene) -> None:
    """Each of its addresses, and what its buttons do."""
    pages = [path for _, path in routes() if path.startswith("/room")]
    assert len(pages) > 5
    for who, make in INTRUDERS.items():
        intruder = make(scene.room)
        for path in pages:
            wanted = 401 if who == "stranger" else 403
            assert intruder.get(filled(path, scene)).status == wanted, (who, path)
        assert intruder.submit("/room", act="freeze", on="yes").status in {401, 403}
    assert scene.room.teacher().get("/room").status == 200


def test_a_login_path_without_its_cookie_opens_nothing(scene: Scene) -> None:
    """The address of A's page is in A's address bar; it is no key."""
    thief = scene.room.visitor()
    thief.login_path = scene.owner.login_path
    assert thief.get("/").status == 401
    thief.cookies = {scene.owner.login_path: next(iter(scene.room.learner("C").cookies.values()))}
    assert thief.get("/").status == 401


def test_the_key_of_the_wall_or_the_teacher_opens_no_endpoint_for_hosts(scene: Scene) -> None:
    """Only a seat has one."""
    for link in (scene.room.teacher_link, scene.room.wall_link):
        path = link.partition(f":{scene.room.port}")[2]
        assert scene.room.visitor().ask("POST", f"{path}/mcp", b"{}").status == 404


@pytest.mark.extension("books")
def test_nobody_starts_a_program_on_the_teachers_computer(scene: Scene, tmp_path: Path) -> None:
    """What the owner of a desk may do on their own computer, a seat must not do on another's."""
    trace = tmp_path / "trace"
    for one in (scene.room.learner("curious"), scene.room.teacher()):
        assert "be started" not in one.get("/book").text
        page = one.submit("/book", act="be started", command=f"touch {trace}")
        assert page.status == 403
        one.submit("/try")
    assert not trace.exists()
    children = Path(f"/proc/{scene.room.process.pid}/task/{scene.room.process.pid}/children")
    assert not children.read_text()


@pytest.mark.extension("books")
def test_no_page_of_a_seat_names_a_folder_of_the_teachers_computer(scene: Scene) -> None:
    """Neither where something is kept nor in what is said of a mistake."""
    seat = scene.room.learner("curious")
    asked = seat.question()
    theirs = scene._replace(asked=asked)
    gets = {filled(path, theirs) for method, path in routes() if method == "GET"}
    pages = {path: seat.get(path) for path in sorted(gets - {"/api/events"})}
    assert pages["/book"].status == 200
    assert pages["/settings"].status == 403
    rule = {"method": "tools/call", "tool": "t", "form": "text", "text": "x", "save": True}
    pages["a rule"] = seat.call("/api/rules", rule)
    book = scene.room.folder / "seats"
    for one in book.glob("*/book.toml"):
        one.write_text("no book", encoding="utf-8")
    pages["a bad book"] = seat.get("/book")
    assert "book.toml" in pages["a bad book"].text
    assert pages["a bad book"].status == 422
    assert [path for path, page in pages.items() if str(scene.room.home) in page.text] == []


def test_a_crash_on_purpose_ends_one_session_and_not_the_room(scene: Scene) -> None:
    """Other people live in this process: what ends the server of one must not end theirs."""
    wild = scene.room.learner("wild")
    asked = wild.question()
    for order in ("crash", "exit"):
        wild.call(f"/api/sessions/{asked['session']}/say", {"text": "3", "order": order})
    assert scene.owner.get("/").status == 200
    assert scene.room.process.poll() is None


def test_whoever_has_not_the_pen_writes_nothing(scene: Scene) -> None:
    """The learner while the teacher writes; each login of the teacher without the pen there."""
    room, teacher = scene.room, scene.room.teacher()
    learner = room.learner("Ann of the pen")
    room.learner("Ben of the pen")
    asked = learner.question()

    page = teacher.get("/room").text

    def led_to(name: str) -> Visitor:
        found = re.search(rf'/room/seat/(\d+)">[^\n]*{name}</bdi></a>', page)
        assert found
        visitor = room.visitor()
        visitor.led_by(teacher.ask("GET", f"{teacher.login_path}/room/seat/{found[1]}"))
        visitor.cookies = teacher.cookies
        return visitor

    watcher, second = led_to("Ann of the pen"), led_to("Ann of the pen")
    elsewhere = led_to("Ben of the pen")

    def posts(visitor: Visitor, path: str) -> int:
        return (visitor.call(path, {}) if path.startswith("/api/") else visitor.submit(path)).status

    def may_write(visitor: Visitor) -> set[str]:
        here = scene._replace(asked=asked)
        return {
            path
            for method, path in routes()
            if method == "POST"
            and path not in {"/login", "/own", "/preferences"}
            and not path.endswith("/check")
            and posts(visitor, filled(path, here)) not in {403, 404}
        }

    assert may_write(watcher) == may_write(second) == set()
    assert may_write(learner) != set()
    watcher.submit("/own", act="take")
    assert may_write(learner) == set()
    assert may_write(elsewhere) == set()
    assert may_write(watcher) != set()
    second.submit("/own", act="give back")
    assert may_write(watcher) == set()
    learner.submit("/own", act="take")
    assert may_write(learner) != set(), "a learner takes no pen"
    teacher.submit("/room", act="freeze", on="yes")
    assert may_write(learner) == set()
    teacher.submit("/room", act="freeze", on="")

"""How people come into a room, and come back."""

import contextlib
import html
import http.client
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import pytest

from humanmcp.desk.login import Door
from humanmcp.extensions.classroom.room import records
from humanmcp.extensions.classroom.room.classroom import MOST_SEATS
from humanmcp.extensions.classroom.room.records import (
    JOINS,
    RateLimit,
    RoomDoor,
    RoomRole,
    Visitor,
    fits,
    login,
)
from humanmcp.extensions.classroom.room.seat import ANIMALS, COLOURS, mark_of
from tests.support.room_process import FORM, Rooming
from tests.support.serve_http import initialize
from tests.support.waiting import until


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rooming]:
    """One room for all of these tests: each brings people of its own."""
    with Rooming(tmp_path_factory.mktemp("room") / "home") as opened:
        yield opened


def test_the_code_gives_a_seat_with_a_lesson_that_has_begun(room: Rooming) -> None:
    """Nothing but a browser; the practice host asks at once."""
    learner = room.learner("Yuki")
    asked = learner.question()
    assert asked["method"] == "initialize"
    learner.answer_as_offered("initialize")
    listed = learner.question("tools/list")
    assert listed["session"] == asked["session"]
    path = f"/api/exchanges/{listed['session']}/{listed['number']}"
    assert "get-japan-forecast" in learner.get(path).json["document"], "as its step says"
    assert room.home.parent.name not in learner.get("/").text, "no folder of the teacher's"


def test_no_process_and_no_thread_is_added_for_a_learner(room: Rooming) -> None:
    """One attendant serves everybody."""
    room.learner("first").question()
    tasks = Path(f"/proc/{room.process.pid}/task")
    for name in "abcdef":
        room.learner(name).question()
    names = [(one / "comm").read_text().strip() for one in tasks.iterdir()]
    # The threads that pages share have no name of their own.
    assert len(names) < 20, names
    children = Path(f"/proc/{room.process.pid}/task/{room.process.pid}/children")
    assert not children.read_text()


def test_a_wrong_code_is_refused_with_a_sentence(room: Rooming) -> None:
    """It says what to do, and gives no seat."""
    stranger = room.visitor()
    page = stranger.submit("/login", code="222222", name="x")
    assert page.status == 401
    assert "not the code" in page.text
    assert not stranger.cookies


def test_the_code_may_be_typed_in_small_letters_with_spaces(room: Rooming) -> None:
    """It is read from a wall and typed on a phone."""
    code = f" {room.code[:4].lower()} - {room.code[4:].lower()} "
    assert room.visitor().join(code, "small").waiting() is not None


def test_a_name_turns_no_letter_of_the_teachers_page_around(room: Rooming) -> None:
    """Characters that are not drawn are shown, and what is beside a name stays there."""
    room.learner("\u202eanna\x1b[2J")
    page = room.teacher().get("/room").text
    assert "<bdi>⟦U+202E⟧anna⟦U+001B⟧[2J</bdi>" in page
    assert not {"\u202e", "\x1b"} & set(page)


def test_one_name_twice_is_two_seats(room: Rooming) -> None:
    """Neither sees what the other is asked; the teacher sees a number with the second."""
    one, two = room.learner("Sam"), room.learner("Sam")
    assert one.question()["session"] != two.question()["session"]
    assert "Sam (2)" in room.teacher().get("/room").text


def test_two_windows_of_one_person_are_one_seat(room: Rooming) -> None:
    """The personal link opens the same seat in another browser; a reload stays."""
    one = room.learner("windows")
    other = room.visitor().follow(one.link)
    assert other.login_path == one.login_path
    assert other.question()["session"] == one.question()["session"]
    assert one.get("/").status == one.get("/").status == 200


def test_a_lost_cookie_is_made_good_by_the_teacher_and_never_by_a_name(room: Rooming) -> None:
    """Who only knows the name waits at the door; one click gives the seat back."""
    lost = room.learner("Kim")
    session = lost.question()["session"]
    back = room.visitor().join(room.code, "Kim", lost="yes")
    assert "You are waiting to join" in back.get("/waiting").text
    assert back.get("/api/exchanges").status == 403
    teacher = room.teacher()
    page = teacher.get("/room").text
    knock = re.findall(r'name="knock" value="(\d+)"', page)[-1]
    seat = re.findall(r'<option value="(\d+)" selected>Kim', page)[-1]
    teacher.submit("/room", act="let in", knock=knock, seat=seat)
    back.led_by(back.get("/waiting"))
    assert back.question()["session"] == session


def test_all_who_knock_are_let_in_with_one_press(room: Rooming) -> None:
    """A class comes at once; who has had a seat is still looked at one by one."""
    teacher = room.teacher()
    teacher.submit("/room", act="door", state="knocking")
    come = [room.visitor().join(room.code, name) for name in ("Kim", "Lee")]
    lost = room.visitor().join(room.code, "Sam", lost="yes")
    assert "Let all 2 in" in teacher.get("/room").text
    teacher.submit("/room", act="let all in")
    for one in come:
        one.led_by(one.get("/waiting"))
        assert one.waiting() is not None
    assert "You are waiting to join" in lost.get("/waiting").text
    knock = re.findall(r'name="knock" value="(\d+)"', teacher.get("/room").text)[-1]
    teacher.submit("/room", act="send away", knock=knock)
    teacher.submit("/room", act="door", state="open")


def test_a_knocking_door_lets_in_whom_the_teacher_lets_in(room: Rooming) -> None:
    """And a locked one nobody, but who has a seat stays, and a new code is made afterwards."""
    stays = room.learner("stays")
    teacher = room.teacher()
    teacher.submit("/room", act="door", state="knocking")
    waits = room.visitor().join(room.code, "waits")
    knock = re.findall(r'name="knock" value="(\d+)"', teacher.get("/room").text)[-1]
    teacher.submit("/room", act="send away", knock=knock)
    assert waits.get("/waiting").status == 401
    teacher.submit("/room", act="door", state="locked")
    late = room.visitor().submit("/login", code=room.code, name="late")
    assert late.status == 403
    assert 'value="late"' in late.text, "it is not typed again once the door is open"
    assert stays.get("/").status == 200
    teacher.submit("/room", act="door", state="open")
    assert room.visitor().submit("/login", code=room.code, name="old").status == 401
    found = re.search(r'<b class="mono">(\w{4})-(\w{4})</b>', teacher.get("/room").text)
    assert found
    room.code = found[1] + found[2]
    assert room.learner("late").question()


@pytest.mark.parametrize("state", ["open", "locked"])
def test_teacher_and_projector_come_in_by_a_code_that_a_person_can_type(
    tmp_path: Path, state: str
) -> None:
    """The last part of their links, at the address of the room; also while it is locked."""
    with Rooming(tmp_path / "home") as room:
        room.teacher().order(act="door", state=state)
        assert 'name="code"' in room.visitor().get("/login").text
        for link, path in ((room.teacher_link, "/room"), (room.wall_link, "/wall")):
            assert len(link.removeprefix(f"http://127.0.0.1:{room.port}")) == len(
                "/s/ABCD-EFGH-JKLM"
            )
            typed = link.rpartition("/")[2].lower().replace("-", " ")
            came = room.visitor().join(typed, "ignored")
            assert came.login_path == room.visitor().follow(link).login_path
            assert came.get(path).status == 200
        assert "ignored" not in room.teacher().get("/room").text


def test_the_front_door_leads_to_the_code_and_keeps_what_the_qr_code_says(room: Rooming) -> None:
    """The address alone is what people type."""
    page = room.visitor().ask("GET", f"/?code={room.code}")
    assert (page.status, page.headers["location"]) == (303, f"/login?code={room.code}")
    assert f'value="{room.code}"' in room.visitor().ask("GET", f"/login?code={room.code}").text


def test_another_name_for_this_computer_is_refused(room: Rooming) -> None:
    """A page of a stranger's whose name leads here reaches neither the door nor a link."""
    link = room.teacher_link.partition(f":{room.port}")[2]
    for path in ("/login", link, f"{link}/mcp"):
        page = room.visitor().ask("GET", path, headers={"Host": f"evil.example:{room.port}"})
        assert page.status == 421, path


@pytest.mark.parametrize(
    ("path", "headers", "said"),
    [
        ("//", {}, "This path does not exist."),
        ("/room/..%2f", {}, "This path does not exist."),
        ("/room", {"Host": "evil.example"}, "This is not the address of this page."),
        ("/s/x", {"Host": "evil.example"}, "This is not the address of this page."),
        ("/room", {"Sec-Fetch-Site": "cross-site"}, "Another site sent this request"),
        ("/api/state", {}, "You are not logged in."),
    ],
)
@pytest.mark.parametrize("lang", ["en", "ja"])
def test_a_refusal_in_a_room_names_what_is_there(
    room: Rooming, path: str, headers: dict[str, str], said: str, lang: str
) -> None:
    """Learners have a link and a projector; nobody there runs the command of a desk."""
    page = room.visitor().ask("GET", path, headers={**headers, "Accept-Language": lang})
    text = str(page.json["detail"]) if path.startswith("/api") else page.text
    assert page.status in {400, 401, 403, 421}
    assert (said in text) is (lang == "en")
    assert ("projector" if lang == "en" else "プロジェクター") in text
    assert "humanmcp desk" not in text


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_a_room_with_a_certificate_speaks_https_and_its_cookies_go_nowhere_else(
    tmp_path: Path,
) -> None:
    """`--tls CERT KEY`."""
    certificate, key = str(tmp_path / "c.pem"), str(tmp_path / "k.pem")
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    subprocess.run(
        [*words.split(), "-subj", "/CN=localhost", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    with Rooming(tmp_path / "home", "--tls", certificate, key) as room:
        context = ssl.create_default_context(cafile=certificate)
        context.check_hostname = False
        secure = http.client.HTTPSConnection("127.0.0.1", room.port, context=context)
        secure.request("GET", room.teacher_link.partition(f":{room.port}")[2])
        got = secure.getresponse()
        assert got.status == 200
        assert "; Secure" in str(got.getheader("set-cookie"))
        secure.close()


# -- the door by itself -------------------------------------------------------------------------


def test_whoever_guesses_codes_shuts_out_nobody_behind_the_same_address(room: Rooming) -> None:
    """A class shares an address: the right code always gives a seat."""
    for guess in range(400):
        page = room.visitor().submit("/login", code=f"AAAAA{guess:03}", name="x")
        assert page.status == 401
    assert room.learner("Mei").question()


def test_joins_of_one_address_are_limited_for_a_minute_and_those_of_another_are_not() -> None:
    """As many as before may join after a minute."""
    now = [100.0]
    joins = RateLimit(3, lambda: now[0])
    assert [joins.take("here") for _ in range(5)] == [True, True, True, False, False]
    assert joins.take("there")
    now[0] += 61
    assert [joins.take("here") for _ in range(4)] == [True, True, True, False]


@pytest.mark.parametrize(
    ("flags", "limited"),
    [((), True), (("--url", "https://room.example"), False)],
    ids=["alone", "proxy"],
)
def test_an_address_that_a_request_names_itself_is_believed_of_a_proxy_alone(
    tmp_path: Path, flags: tuple[str, ...], *, limited: bool
) -> None:
    """Else whoever runs a program on this computer could take all seats at once."""
    with Rooming(tmp_path / "home", *flags) as room:
        body = urlencode({"code": room.code, "name": "x"}).encode()
        own = {"Content-Type": FORM, "Origin": f"http://127.0.0.1:{room.port}"}
        statuses = set()
        for number in range(JOINS * 3 // 2):
            named = own | {"X-Forwarded-For": f"10.0.{number // 256}.{number % 256}"}
            statuses.add(room.visitor().ask("POST", "/login", body, named).status)
            if 429 in statuses:
                break
        assert statuses == ({200, 429} if limited else {200})


def test_a_code_in_full_width_letters_is_the_code() -> None:
    """A Japanese keyboard types them."""
    assert fits("".join(chr(ord(one) + 0xFEE0) for one in "ktp2-4ZM9"), "KTP24ZM9")


def test_one_script_cannot_fill_a_room(tmp_path: Path) -> None:
    """Joins are limited for each address; the page says to wait, and keeps name and code."""
    with Rooming(tmp_path / "home") as room:
        script = room.visitor()
        pages = [script.submit("/login", code=room.code, name="bot") for _ in range(MOST_SEATS)]
        refused = [page for page in pages if page.status == 429]
        allowed = [page.status for page in pages].count(200)
        assert JOINS <= allowed < MOST_SEATS / 2
        assert len(refused) == MOST_SEATS - allowed  # any of them: one more may join with time
        assert "Too many people tried to join" in refused[-1].text
        assert 'value="bot"' in refused[-1].text


NAMES: Final = {
    "a\u202egnp.exe": "a⟦U+202E⟧gnp.exe",
    "👩‍🚀 Zoé": "👩\u200d🚀 Zoé",
    "<b>": "<b>",
    "x" * 40: "x" * 40,
    "  ": "",
}


def test_any_name_takes_a_seat_and_is_shown_as_it_is(room: Rooming) -> None:
    """Directions are visible, and 4 MiB are refused."""
    for name in NAMES:
        assert room.learner(name).question()
    with contextlib.suppress(ConnectionError):  # the room hangs up while it is being told
        refused = room.visitor().submit("/login", code=room.code, name="x" * 4 * 1024 * 1024)
        assert refused.status == 413
    shown = {
        html.unescape(one)
        for one in re.findall("<bdi>(.*?)</bdi>", room.teacher().get("/room").text)
    }
    assert {one for one in NAMES.values() if one} <= shown


def test_of_two_people_with_one_name_the_one_who_is_gone_is_offered_the_seat(
    tmp_path: Path,
) -> None:
    """While both are there, the teacher chooses by colour and animal."""
    with Rooming(tmp_path / "home") as room:
        learners, teacher = [room.learner("Ben") for _ in range(2)], room.teacher()
        assert {learners[0].question()["number"], learners[1].question()["number"]} == {1}
        assert "Ben (2)" in teacher.get("/room").text
        room.visitor().join(room.code, "Ben", lost="yes")
        assert _offered(teacher.get("/room").text) == []
        teacher.order(act="remove", seat=2)
        assert _offered(teacher.get("/room").text) == ["2"]


def _offered(page: str) -> list[str]:
    """Return what is chosen in the list of who may be given back a seat."""
    seats = page.partition('<option value="">')[2].partition("</select>")[0]
    assert seats
    return re.findall(r'<option value="(\d+)" selected>', seats)


def test_a_wrong_code_keeps_the_name(room: Rooming) -> None:
    """Only what was wrong is typed again."""
    page = room.visitor().submit("/login", code="222222", name="Yuki <b>")
    assert 'value="Yuki &lt;b&gt;"' in page.text


@pytest.mark.parametrize("lost", ["", "yes"])
def test_a_name_that_is_too_long_is_told_of_and_kept(room: Rooming, lost: str) -> None:
    """It ended after 40 characters without a word; what was typed is there to be shortened."""
    name = "さ" * 41
    browser = room.visitor()
    assert "At most 40 characters." in browser.get("/login").text
    page = browser.submit("/login", code=room.code, name=name, lost=lost)
    assert page.status == 422
    assert "This name has 41 characters, and 40 fit." in page.text
    field = re.findall(r'<input name="name"[^>]*>', page.text)[0]
    assert f'value="{name}"' in field
    assert 'aria-invalid="true"' in field
    assert "maxlength" not in field
    assert f'value="{room.code}"' in page.text
    assert browser.submit("/login", code=room.code, name=name[:40], lost=lost).status == 200
    assert name[:40] in room.teacher().get("/room").text


def test_a_removed_seat_opens_nothing_until_its_person_is_given_it_back(tmp_path: Path) -> None:
    """Neither its link nor its host's address, also after a restart; what was typed is kept."""
    with Rooming(tmp_path / "home") as room:
        gone, stays = room.learner("gone"), room.learner("stays")
        gone.answer_as_offered("initialize")
        asked, link = gone.question("tools/list"), gone.link
        path = f"/api/exchanges/{asked['session']}/{asked['number']}"
        gone.call(f"{path}/draft", {"text": "half a list"})
        assert gone.host(initialize("2025-11-25")).status == 200
        address = link.partition(f":{room.port}")[2]
        teacher = room.teacher()
        teacher.order(act="remove", seat=1)
        assert "gone</bdi></a>" not in teacher.get("/room").text
        assert gone.get(path).status == 401
        assert gone.get("/").headers["location"].endswith("/login")
        assert "The teacher removed this seat." in gone.get("/login").text
        outside = room.visitor().ask("GET", address)
        assert outside.status == 404
        assert "The teacher removed this seat." in outside.text
        assert room.visitor().ask("POST", f"{address}/mcp", b"{}").status == 404
        stays.answer_as_offered("initialize")
        assert room.learner("new").login_path != gone.login_path
    with Rooming(tmp_path / "home") as room:
        page = teacher.get("/room").text
        assert sorted(re.findall(r'/room/seat/(\d+)"', page)) == ["2", "3"]
        assert gone.get("/").headers["location"].endswith("/login")
        knocking = room.visitor().join(room.code, "gone", lost="yes")
        assert "gone (removed)" in teacher.get("/room").text
        teacher.submit("/room", act="let in", knock=1, seat=1)
        back = knocking.led_by(knocking.get("/waiting"))
        again = back.question("tools/list")
        assert (again["session"], again["number"]) == (asked["session"], asked["number"])
        assert back.get(path).json["document"] == "half a list"
        assert gone.get("/").status == 200


def test_a_code_is_eight_letters_that_cannot_be_mistaken() -> None:
    """An alphabet without 0 O 1 I L."""
    codes = {records.new_code() for _ in range(200)}
    assert len(codes) == 200
    assert {len(one) for one in codes} == {8}
    assert not set("".join(codes)) & set("0O1IL")


def test_neither_half_of_a_visit_follows_from_the_other() -> None:
    """A login path is in every address that is shown, a cookie goes to servers of other ports."""
    door = RoomDoor()
    me = Visitor(RoomRole.LEARNER, 1)
    door.admit(me, "key")
    path, _, cookie = login(me, "key").partition(".")
    assert door.who(f"{path}.{cookie}") == me
    assert door.who(f"{path}.{path}") is None
    assert door.who(f"{cookie}.{cookie}") is None
    assert login(Visitor(RoomRole.WATCHER, 1), "key") != login(me, "key")
    assert isinstance(door, Door)


def test_as_many_seats_as_there_are_marks_are_told_apart() -> None:
    """A colour and an animal, no two alike."""
    count = len(COLOURS) * len(ANIMALS)
    assert len({mark_of(number) for number in range(1, count + 1)}) == count


def test_a_key_is_128_bits() -> None:
    """As many as nobody guesses."""
    assert len(records.new_key()) >= 22


def test_a_learner_that_never_came_back_is_shown_as_gone(room: Rooming) -> None:
    """Here at first: who has just joined is not gone."""
    room.learner("fresh")
    teacher = room.teacher()
    shown = until(
        lambda: re.search(
            r'<li class="seat (\w+)[^>]*>\s*<a class="learner"[^\n]*fresh',
            teacher.get("/room").text,
        ),
        "the seat",
    )
    assert shown[1] == "here"

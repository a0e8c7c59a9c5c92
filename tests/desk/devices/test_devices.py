"""Devices with a link of their own: what they may do, and how long."""

import html
import http.client
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import pytest

from humanmcp import extensions
from humanmcp.desk.login import DEVICE_IDLE, DEVICE_KEY_LIFE, LONGEST, Door
from humanmcp.inbox.contract import Order, Role
from tests.desk.test_live import Stream
from tests.desk.test_login import Clock
from tests.support.desk_process import JSON, Desking
from tests.support.inbox_folder import Room
from tests.support.serve_http import Got
from tests.support.waiting import PATIENCE, until


class Browser:
    """A browser elsewhere, which came in by the link of a device."""

    def __init__(self, desk: Desking, link: str) -> None:
        """Follow the link."""
        self.desk = desk
        answer = self._enter(link)
        assert answer.status == 200, answer.text
        self.login_path = str(answer.json["path"])
        secret = re.search(r"humanmcp-\d+=[^;]*", answer.headers["set-cookie"])
        assert secret
        self.headers = {"Cookie": secret[0]}

    def _enter(self, link: str) -> Got:
        body = json.dumps({"key": link.partition("#k=")[2]}).encode()
        return self.desk.ask("POST", "/api/login", body=body, headers=JSON)

    def get(self, path: str) -> Got:
        """Look at a page."""
        return self.desk.ask("GET", self.login_path + path, headers=self.headers)

    def post(self, path: str, record: object = None, **headers: str) -> Got:
        """Press a button, or make a call; `headers` are sent in place of those of the own page."""
        own = {"Origin": f"http://127.0.0.1:{self.desk.port}"}
        if isinstance(record, bytes):
            kind, body = {"Content-Type": "application/octet-stream"}, record
        elif path.startswith("/api/"):
            kind, body = JSON, json.dumps({} if record is None else record).encode()
        else:
            kind = {"Content-Type": "application/x-www-form-urlencoded"}
            body = urlencode(record).encode() if isinstance(record, dict) else b"x=1"
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        given = {**self.headers, **kind, **(more or own)}
        return self.desk.ask("POST", self.login_path + path, body=body, headers=given)


def link_of(desk: Desking, name: str) -> str:
    """Make the link of a device on the page."""
    answer = desk.submit("/devices", name=name)
    assert answer.status == 200, answer.text
    found = re.search(r"https?://[^<]+/login#k=[\w-]+", answer.text)
    assert found, answer.text
    assert "<svg" in answer.text
    return found[0]


def test_a_device_answers_and_changes_no_settings(open_desk: Desking) -> None:
    """Its own name stands beside what it answers."""
    with open_desk:
        link = link_of(open_desk, "Aya's phone")
        assert link.startswith("https://desk.example/login#k=")
        phone = Browser(open_desk, link)
        page = phone.get("/").text
        assert 'value="Aya&#39;s phone"' in page
        assert "data-device" in page
        assert 'href="/~' in page
        assert '/settings"' not in page
        for path in ("/settings", "/devices", "/connect"):
            assert (path, phone.get(path).status) == (path, 403)
        for path in ("/devices", "/settings", "/api/login-key", "/try"):
            assert (path, phone.post(path).status) == (path, 403)


def test_a_device_gives_no_orders_and_deletes_nothing(room: Room, open_desk: Desking) -> None:
    """Routes that it may use take more than answers from a browser of the desk."""
    session = room.session()
    room.serve(session)
    key = room.ask(session, 1)
    with open_desk:
        phone = Browser(open_desk, link_of(open_desk, "phone"))
        saying, page = f"/api/sessions/{session}/say", f"/say/{session}"
        for order in Order:
            record = {"text": "{}", "order": order.value}
            assert (phone.post(saying, record).status == 403) == (order is not Order.SAY), order
        for act in ("exit 0", "crash", "raw", "silence on", "progress off"):
            assert phone.post(page, {"act": act, "text": "{}"}).status == 403, act
        for link in extensions.links("holding"):
            assert phone.post(f"{link.address}/{session}", {"act": "release"}).status == 403
        answer = f"/api/exchanges/{session}/1/reply"
        assert phone.post(answer, {"text": "sunny", "form": "text"}).status == 200
        here = f"/m/{session}/1"
        assert phone.post(here, {"act": "forget"}).status == 403
        assert room.inbox.item(key).answer is not None
        shown = phone.get(here).text
        assert 'value="forget"' not in shown
        for link in extensions.links("answer"):
            assert link.address.format(**key._asdict()) not in shown
        assert 'value="crash"' not in phone.get(page).text


def test_a_page_offers_a_device_nothing_that_is_refused(room: Room, open_desk: Desking) -> None:
    """Every address of the own page that somebody can press there is answered."""
    session = room.session()
    room.serve(session)
    room.ask(session, 1)
    pages = ("/", f"/m/{session}/1", "/history", f"/line/{session}/1", f"/timeline/{session}")
    with open_desk:
        phone = Browser(open_desk, link_of(open_desk, "phone"))
        own = rf'(?:<a [^>]*href|method="get" action)="{re.escape(phone.login_path)}(/[^"#]*)'
        offered = {one for path in pages for one in re.findall(own, phone.get(path).text)}
        assert f"/check/{session}" in offered
        answers = {one: phone.get(html.unescape(one)).status for one in offered}
        assert {one for one, status in answers.items() if status >= 400} == set()


@pytest.mark.extension("tap")
def test_a_device_changes_nothing_that_a_tap_holds(room: Room, open_desk: Desking) -> None:
    """Not by the page of a message either; taking back what is allowed releases nothing at all."""
    session = room.session(role=Role.TAP)
    room.ask(session, 1)
    room.inbox.hold(session, ("in:tools/call",))
    form = {"act": "take back", "pattern": "in:tools/call"}
    with open_desk:
        phone = Browser(open_desk, link_of(open_desk, "phone"))
        refused = phone.post(f"/m/{session}/1", form)
        assert (refused.status, "This device can read and answer." in refused.text) == (403, True)
        assert open_desk.submit(f"/m/{session}/1", **form).status == 303
        assert room.inbox.holds(session) == ("in:tools/call",)


def test_no_name_hides_which_device_answered(room: Room, open_desk: Desking) -> None:
    """The record of decisions has it beside the name that a person typed."""
    session = room.session()
    room.serve(session)
    key = room.ask(session, 1)
    with open_desk:
        phone = Browser(open_desk, link_of(open_desk, "phone"))
        phone.headers = {"Cookie": f"{phone.headers['Cookie']}; name=Anna"}
        assert 'value="Anna"' in phone.get("/").text
        answer = f"/api/exchanges/{session}/1/reply"
        assert phone.post(answer, {"text": "sunny", "form": "text"}).status == 200
        reply = room.inbox.item(key).reply
        assert reply is not None
        assert (reply.who, reply.device, reply.author) == ("Anna", "phone", "Anna (phone)")
        path = f"/m/{session}/1"
        until(lambda: "Answered by" in open_desk.page(path), "the answer is on the page")
        assert "Answered by Anna (phone), after" in open_desk.page(path)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://desk.example"},
        {"Origin": "https://desk.example.evil.example"},
        {"Origin": "https://desk.example", "Sec_Fetch_Site": "cross-site"},
        {"Origin": "https://desk.example", "Sec_Fetch_Site": "same-site"},
        {"Referer": "https://desk.example/"},
    ],
    ids=str,
)
def test_another_page_cannot_act_as_a_device(
    room: Room, open_desk: Desking, headers: dict[str, str]
) -> None:
    """Not even one that the proxy's name is reached by without encryption."""
    session = room.session()
    key = room.ask(session, 1)
    with open_desk:
        phone = Browser(open_desk, link_of(open_desk, "phone"))
        for path in (f"/m/{session}/1", f"/api/exchanges/{session}/1/reply", "/logout"):
            sent = phone.post(path, {"text": "x", "form": "text"}, Host="desk.example", **headers)
            assert sent.status == 403, path
        assert room.inbox.item(key).reply is None
        own = phone.post("/preferences", None, Host="desk.example", Origin="https://desk.example")
        assert own.status == 303


def test_what_one_device_knows_opens_nothing_for_another(open_desk: Desking) -> None:
    """Neither its address with another's cookie, nor its cookie at another's address."""
    with open_desk:
        one, other = (Browser(open_desk, link_of(open_desk, name)) for name in ("one", "other"))
        one.login_path, other.login_path = other.login_path, one.login_path
        assert (one.get("/").status, other.get("/").status) == (401, 401)


def test_of_many_who_follow_one_link_at_once_one_gets_in() -> None:
    """Whoever comes second, however quick, sees the page to log in."""
    door = Door()
    key = door.new_key(device="phone")
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda _: door.enter_with_key(key), range(64)))
    assert sum(one is not None for one in found) == 1
    assert len(door.devices()) == 1


def test_the_cookie_of_a_device_behind_https_goes_out_encrypted_only(open_desk: Desking) -> None:
    """On this computer there is no encryption, so there it does."""
    with open_desk:
        for host, secure in (("desk.example", True), (f"127.0.0.1:{open_desk.port}", False)):
            key = link_of(open_desk, "phone").partition("#k=")[2]
            body = json.dumps({"key": key}).encode()
            answer = open_desk.ask("POST", "/api/login", body=body, headers={**JSON, "Host": host})
            assert ("Secure" in answer.headers["set-cookie"]) == secure


def test_the_live_stream_of_a_removed_device_ends_and_it_sends_no_more(
    room: Room, open_desk: Desking
) -> None:
    """Its page is still open."""
    session = room.session()
    key = room.ask(session, 1)
    with open_desk:
        phone = Browser(open_desk, link_of(open_desk, "phone"))
        connection = http.client.HTTPConnection("127.0.0.1", open_desk.port, timeout=PATIENCE)
        with closing(connection):
            connection.request("GET", f"{phone.login_path}/api/events", headers=phone.headers)
            stream = connection.getresponse()
            assert b"hello" in stream.readline() + stream.readline() + stream.readline()
            listed = open_desk.page("/devices")
            found = re.search(r'name="remove" value="(\w+)"', listed)
            assert found
            open_desk.submit("/devices", remove=found[1])
            assert b"event: bye" in stream.read()
        answer = f"/api/exchanges/{session}/1/reply"
        assert phone.post(answer, {"text": "sunny", "form": "text"}).status == 401
        assert room.inbox.item(key).reply is None


def test_the_link_of_a_device_works_once(open_desk: Desking) -> None:
    """Whoever photographs it afterwards stays outside."""
    with open_desk:
        link = link_of(open_desk, "phone")
        Browser(open_desk, link)
        with pytest.raises(AssertionError, match="This link was already used"):
            Browser(open_desk, link)
        with pytest.raises(AssertionError, match="the link of a device 15"):
            Browser(open_desk, "#k=unknown")


@pytest.mark.parametrize("way", ["code", "key"])
def test_whoever_logs_in_from_elsewhere_is_a_device(open_desk: Desking, way: str) -> None:
    """With the terminal's code, or the owner's link: a phone is never the owner."""
    with open_desk:
        for host, is_device in (("desk.example", True), (f"localhost:{open_desk.port}", False)):
            code = open_desk.post("/api/login-key", {}).json["code"] if way == "code" else ""
            made = open_desk.post("/api/login-key", {}).json
            body = json.dumps({"code": code} if code else {"key": made["key"]}).encode()
            got = open_desk.ask("POST", "/api/login", body=body, headers={**JSON, "Host": host})
            cookie = {"Cookie": got.headers["set-cookie"].partition(";")[0]}
            settings = open_desk.ask("GET", f"{got.json['path']}/settings", headers=cookie)
            assert (settings.status == 403) == is_device, host
        assert "My phone</strong>" in open_desk.page("/devices")


def test_the_first_page_of_a_device_is_one_sentence(open_desk: Desking) -> None:
    """It can start no demo and connect no host."""
    with open_desk:
        page = Browser(open_desk, link_of(open_desk, "phone")).get("/").text
        empty = page.partition('<section class="empty">')[2].partition("</section>")[0]
        assert (
            empty.strip()
            == "<p>Nothing waits for you now. A new request appears here automatically.</p>"
        )


def test_a_device_that_was_removed_is_out_at_once(open_desk: Desking) -> None:
    """The other device stays."""
    with open_desk:
        lost, kept = (Browser(open_desk, link_of(open_desk, name)) for name in ("lost", "kept"))
        listed = open_desk.page("/devices")
        found = re.search(r'lost</strong>.*?name="remove" value="(\w+)"', listed)
        assert found
        assert open_desk.submit("/devices", remove=found[1]).status == 303
        refused = lost.get("/")
        assert (refused.status, "This device was removed" in refused.text) == (401, True)
        assert "The code from the terminal" not in refused.text
        assert "This device was removed" in lost.get("/api/state").json["detail"]
        assert kept.get("/").status == 200
        assert "lost</strong>" not in open_desk.page("/devices")


def test_a_device_stays_when_the_desk_starts_again(home: Path) -> None:
    """Its login session stands on disk, as a digest."""
    flags = ("--url", "https://desk.example")
    with Desking(home, *flags) as desk:
        phone = Browser(desk, link_of(desk, "phone"))
        port = desk.port
    with Desking(home, *flags, port=port) as phone.desk:
        assert phone.get("/").status == 200
        assert phone.get("/settings").status == 403


def test_a_device_without_a_name_gets_no_link(open_desk: Desking) -> None:
    """The page says what is missing."""
    with open_desk:
        answer = open_desk.submit("/devices", name="  ")
        assert answer.status == 422
        assert "Type a name for the device" in answer.text


def test_a_desk_of_this_computer_alone_says_how_others_reach_it(desking: Desking) -> None:
    """A link that leads nowhere is not made."""
    assert "humanmcp desk --lan" in desking.page("/devices")
    assert desking.submit("/devices", name="phone").status == 422


def test_a_desk_for_the_network_is_called_by_the_names_that_it_printed(home: Path) -> None:
    """A page that rebinds a name of its own to this computer is turned away."""
    with Desking(home, "--lan") as desk:
        printed = until(
            lambda: re.search(r"http://(\S+):(\d+)/login#k=\S+\Z", desk.out.read_text().strip()),
            "the link of a device",
        )
        assert "█" in desk.out.read_text("utf-8")
        own = f"{printed[1]}:{printed[2]}"
        assert desk.ask("GET", "/login", headers={"Host": own}).status == 200
        others = ("evil.example", f"{printed[1]}.evil.example", f"{printed[1]}.", "0.0.0.0", "[::]")
        for host in (*(f"{one}:{printed[2]}" for one in others), printed[1], f"{printed[1]}:1"):
            assert desk.ask("GET", "/login", headers={"Host": host}).status == 421, host


def test_a_device_that_was_not_seen_for_months_needs_a_new_link() -> None:
    """One that is used stays for longer than a browser of this computer."""
    clock = Clock()
    door = Door(clock=clock)
    login = door.enter_with_key(door.new_key(device="phone"))
    assert login
    for _ in range(10):
        clock.now += LONGEST
        assert door.knows_login(login)
    clock.now += DEVICE_IDLE + 1
    assert not door.knows_login(login)
    assert door.devices() == []


def test_the_link_of_a_device_is_old_after_a_quarter_of_an_hour() -> None:
    """A code that hangs about opens nothing."""
    clock = Clock()
    door = Door(clock=clock)
    key = door.new_key(device="phone")
    clock.now += DEVICE_KEY_LIFE + 1
    assert door.enter_with_key(key) is None


@pytest.mark.extension("books")
def test_a_login_of_one_session_reaches_no_other_however_it_is_named(
    room: Room, open_desk: Desking
) -> None:
    """Encoded, in other capitals, or in a form: the name of another session opens nothing."""
    own, other = room.session(), room.session()
    for session in (own, other):
        room.serve(session)
        room.ask(session, 1)
    with open_desk as desk:
        key = desk.post("/api/login-key", {"session": own}).json["key"]
        visitor = Browser(desk, f"#k={key}")
        assert visitor.get(f"/m/{own}/1").status == 200
        for name in (other, other.replace("T", "%54"), other.replace("-", "%2D"), other.lower()):
            for path in (f"/m/{name}/1", f"/m/{name}/1/line", f"/export/{name}"):
                assert (path, visitor.get(path).status) == (path, 403)
            for query in ("/server?session=", "/history?session=", "/?sent="):
                assert (name, visitor.get(query + name).status) == (name, 403)
            sent = visitor.post(f"/m/{name}/1", {"act": "send", "text": "not from here"})
            assert (name, sent.status) == (name, 403)
            for link in extensions.links("holding"):
                assert visitor.post(f"{link.address}/{name}", {"hold": "in"}).status == 403
        for form in ({"session": other}, {"at": f"{other}/1"}):
            put = {**form, "act": "put", "member": "tools", "name": "x", "old": ""}
            assert visitor.post("/server/entry", put).status == 404
        assert "not from here" not in desk.page(f"/m/{other}/1")


def test_a_login_of_one_session_is_told_of_no_other_one(room: Room, open_desk: Desking) -> None:
    """Neither when it asks what changed, nor by the stream: not even that there is another one."""
    own, other = room.session(), room.session()
    for session in (own, other):
        room.serve(session)
    with open_desk as desk:
        key = desk.post("/api/login-key", {"session": own}).json["key"]
        visitor = Browser(desk, f"#k={key}")
        before = visitor.get("/api/state").json["version"]

        def told(reader: Callable[[str], Got]) -> set[str]:
            """Return the sessions whose changes somebody is told of."""
            changes = reader(f"/api/state?since={before}").json["changes"]
            return {one["session"] for one in changes}

        room.ask(other, 1)
        room.ask(own, 1)
        script = partial(desk.ask, "GET", headers=desk.bearer)
        until(lambda: {own, other} <= told(script), "the desk knows of both requests")
        assert told(visitor.get) == {own}
        path = f"{visitor.login_path}/api/events?after={before}"
        with Stream(desk, path, **visitor.headers) as stream:
            assert stream.event()[0] == "hello"
            name, record = stream.event()
            assert (name, {one["session"] for one in record["changes"]}) == ("change", {own})

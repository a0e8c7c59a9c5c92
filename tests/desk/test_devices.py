"""Devices with a link of their own: what they may do, and how long."""

import json
import re
from pathlib import Path

import pytest

from humanmcp.desk.guard import is_for_devices
from humanmcp.desk.login import DEVICE_IDLE, DEVICE_KEY_LIFE, LONGEST, Door
from tests.desk.desking import JSON, Desking
from tests.desk.test_guard import routes
from tests.desk.test_login import Clock
from tests.serving_http import Got
from tests.waiting import until


class Phone:
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

    def post(self, path: str) -> Got:
        """Press a button."""
        own = f"http://127.0.0.1:{self.desk.port}"
        more = {"Content-Type": "application/x-www-form-urlencoded", "Origin": own}
        if path.startswith("/api/"):
            more |= JSON
        body = b"{}" if path.startswith("/api/") else b"x=1"
        return self.desk.ask(
            "POST", self.login_path + path, body=body, headers={**self.headers, **more}
        )


def link_of(desk: Desking, name: str) -> str:
    """Make the link of a device on the page."""
    answer = desk.submit("/devices", name=name)
    assert answer.status == 200, answer.text
    found = re.search(r"https?://[^<]+/login#k=[\w-]+", answer.text)
    assert found, answer.text
    assert "<svg" in answer.text
    return found[0]


@pytest.fixture
def open_desk(home: Path) -> Desking:
    """A desk that others reach through a proxy."""
    return Desking(home, "--url", "https://desk.example")


def test_a_device_answers_and_changes_no_settings(open_desk: Desking) -> None:
    """Its own name stands beside what it answers."""
    with open_desk:
        link = link_of(open_desk, "Aya's phone")
        assert link.startswith("https://desk.example/login#k=")
        phone = Phone(open_desk, link)
        page = phone.get("/").text
        assert 'value="Aya&#39;s phone"' in page
        assert "data-device" in page
        assert 'href="/~' in page
        assert '/settings"' not in page
        for path in ("/settings", "/book", "/devices", "/connect", "/m/1/1/keep", "/openapi.json"):
            assert (path, phone.get(path).status) == (path, 403)
        for path in ("/devices", "/settings", "/book", "/api/login-key", "/api/rules", "/api/demo"):
            assert (path, phone.post(path).status) == (path, 403)


def test_what_a_device_may_do_is_decided_for_each_route(home: Path) -> None:
    """A new page or call is not for devices until it stands here."""
    allowed = {path for _method, path in routes(home) if is_for_devices(path)}
    assert "/m/1/1/keep" not in allowed
    assert {re.sub("/(api/)?([a-z.]*).*", r"/\1\2", path) for path in allowed} == {
        *("/", "/m", "/media", "/line", "/say", "/mistake", "/list", "/history", "/compare"),
        *("/taps", "/worker.js", "/manifest.webmanifest", "/preferences", "/logout"),
        *("/api/state", "/api/events", "/api/sessions", "/api/exchanges", "/api/history"),
        *("/api/calls", "/api/answers", "/api/looking", "/api/logout"),
    }


def test_the_link_of_a_device_works_once(open_desk: Desking) -> None:
    """Whoever photographs it afterwards stays outside."""
    with open_desk:
        link = link_of(open_desk, "phone")
        Phone(open_desk, link)
        with pytest.raises(AssertionError):
            Phone(open_desk, link)


def test_a_device_that_was_removed_is_out_at_once(open_desk: Desking) -> None:
    """The other device stays."""
    with open_desk:
        lost, kept = (Phone(open_desk, link_of(open_desk, name)) for name in ("lost", "kept"))
        listed = open_desk.page("/devices")
        found = re.search(r'lost</strong>.*?name="remove" value="(\w+)"', listed)
        assert found
        assert open_desk.submit("/devices", remove=found[1]).status == 303
        assert lost.get("/").status == 401
        assert kept.get("/").status == 200
        assert "lost</strong>" not in open_desk.page("/devices")


def test_a_device_stays_when_the_desk_starts_again(home: Path) -> None:
    """Its login session stands on disk, as a digest."""
    flags = ("--url", "https://desk.example")
    with Desking(home, *flags) as desk:
        phone = Phone(desk, link_of(desk, "phone"))
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
        evil = f"evil.example:{printed[2]}"
        assert desk.ask("GET", "/login", headers={"Host": evil}).status == 421


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

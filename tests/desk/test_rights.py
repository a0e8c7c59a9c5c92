"""The table of rights: every page, call and button of the desk, tried by everybody."""

from typing import Any, Final

import pytest

from humanmcp import extensions
from humanmcp.common.web_folder import web_folder
from humanmcp.desk import rights
from humanmcp.desk.app import CALLS, PAGES
from humanmcp.desk.rights import TABLE, Who
from humanmcp.desk.routing import DeskRoute
from humanmcp.inbox.contract import Order
from tests.desk.devices.test_devices import Browser, link_of
from tests.support.desk_process import Desking
from tests.support.rights import (
    acts_of,
    asked,
    encoded,
    endpoints,
    forms,
    is_tried,
    said_in_words,
    tries,
    unknown_acts,
)
from tests.support.routes import DESK
from tests.support.serve_http import Got

OWN_PAGES: Final = PAGES[: len(PAGES) - len(extensions.loaded("pages"))]
NAME: Final = "20260101T000000Z-x"
"""The name of a session that is not there."""
ENDPOINTS: Final = {
    key: function
    for key, function in endpoints((*CALLS, *OWN_PAGES)).items()
    if key != "POST /login"
}


def test_every_route_has_an_entry_and_every_entry_a_route() -> None:
    """What is allowed to nobody is not there, and what is not there is allowed to nobody."""
    files = {"GET /favicon.ico", *(key for key in TABLE if "/static/" in key)}
    assert {*TABLE} == {*ENDPOINTS, *files, "POST /login"}


def test_a_route_without_an_entry_does_not_start() -> None:
    """Nobody can forget to say who may use it."""
    with pytest.raises(KeyError, match="POST /api/everything"):
        DeskRoute("/api/everything", lambda: None, methods=["POST"])


# -- what the functions and the forms say ----------------------------------------------------------


def test_every_act_of_a_function_has_an_entry() -> None:
    """A new case in its code is refused, and fails here, until the table says who may do it."""
    assert unknown_acts(TABLE, ENDPOINTS) == set()


def test_what_was_collected_is_what_is_there() -> None:
    """The search in the source finds the acts: else the test before would pass with none."""
    route = "POST /m/{name}/{number}"
    assert {*TABLE[route].acts} - acts_of(ENDPOINTS[route]) <= {"park", "status", "drop"}


def test_every_order_has_an_entry() -> None:
    """An order is an act, too."""
    entry = TABLE["POST /api/sessions/{session}/say"]
    assert set(entry.acts) == {one.value for one in Order}


def test_every_button_of_a_page_is_an_act_of_the_table() -> None:
    """A button that nobody may press is refused to everybody."""
    found = list(forms(sorted((web_folder() / "templates").rglob("*.html"))))
    assert len(found) > 30
    entries = [one for one in TABLE.values() if one.acts]
    unknown = [one for one in found if all(each.allowed(one[1]) is None for each in entries)]
    assert unknown == []


# -- on the wire ---------------------------------------------------------------------------------


@pytest.mark.parametrize("who", [Who.OWNER, Who.SCRIPT, Who.ONE_SESSION, Who.DEVICE], ids=str)
def test_the_desk_lets_everybody_do_what_the_table_says(open_desk: Desking, who: Who) -> None:
    """403 where it says no, and never where it says yes."""
    with open_desk as desk:
        visitor = visitor_of(desk, who)
        for method, path, act, allowed in tries(DESK, who, NAME):
            if allowed and not is_tried(method, path, act):
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


def test_devices_change_no_hold_no_rule_and_no_setting() -> None:
    """The table gives them reading and answering, and nothing else."""
    acts = {
        f"{key} {act}".strip()
        for key, entry in TABLE.items()
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
    text, button = TABLE["POST /m/{name}/{number}"], TABLE["POST /handshake"]
    assert text.largest(Who.OWNER) == rights.OWN_TEXT
    assert {text.largest(who) for who in (Who.DEVICE, Who.HOSTED)} == {rights.TEXT}
    assert button.largest(Who.HOSTED) == rights.BUTTONS

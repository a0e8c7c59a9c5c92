"""The page of the client's role, without a script: what to begin with, and what became of it."""

import html
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from humanmcp.inbox.contract import Role
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity
from humanmcp.protocol.tables import versions
from tests.desk.seated import Seated
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

TOOL: Final = {
    "name": "weather",
    "inputSchema": {
        "type": "object",
        "properties": {"place": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["place"],
    },
}


@pytest.fixture
def seated(tmp_path: Path) -> Iterator[Seated]:
    """Sit down at a desk."""
    home = tmp_path / "home"
    with Desking(home, "--lang", "en") as desk:
        yield Seated(home, desk)


def test_the_box_holds_a_request_from_the_start(seated: Seated) -> None:
    """Nothing is known yet: every list may be asked for."""
    page = seated.page()
    assert '"method": "tools/list"' in seated.box(page)
    assert all(f">{method}/list</a>" in page for method in ("tools", "resources", "prompts"))
    assert ">ping</a>" in page


def test_what_the_server_offers_may_be_begun_with(seated: Seated) -> None:
    """Its lists, and a call of each of its tools with what it needs; nothing that it lacks."""
    seated.knows(
        "2025-11-25", NegotiatedState(server_capabilities={"tools": {}}, tools={"weather": TOOL})
    )
    page = until(lambda: page if "weather" in (page := seated.page()) else None, "the tool")
    assert ">resources/list</a>" not in page
    address = f"/say/{seated.name}?begin=tools/call%20weather"
    assert f'href="{address}"' in page
    assert 'name="field place"' in seated.desk.page(address)
    begun = html.unescape(seated.press("json", form="tools/call weather").text)
    asked = json.loads(seated.box(begun))
    assert asked["params"] == {"name": "weather", "arguments": {"place": ""}}
    assert asked["id"].startswith("person-")
    assert "_meta" not in asked["params"]


def test_a_request_of_the_modern_era_carries_its_envelope(seated: Seated) -> None:
    """2026-07-28: every request names its version, so what one begins with does."""
    seated.knows(versions.R2026_07, NegotiatedState("me", "1", server_capabilities={"tools": {}}))
    page = until(lambda: page if "_meta" in (page := seated.page()) else None, "the envelope")
    meta = json.loads(seated.box(page))["params"]["_meta"]
    assert meta[versions.META_VERSION] == versions.R2026_07
    assert meta[versions.META_CLIENT] == {"name": "me", "version": "1"}


def test_what_was_sent_is_said_and_what_was_not_is_explained(seated: Seated) -> None:
    """The program of the session judges it; a refused text stays in the box."""
    diagnostics: list[tuple[Diagnostic, ...]] = [(), (Diagnostic("R01", Severity.ERROR),)]
    texts: list[str] = []

    def settle() -> None:
        while diagnostics:
            for ticket, reply in seated.inbox.outgoing(seated.name):
                texts.append(reply.text)
                seated.inbox.settle_outgoing(seated.name, ticket, diagnostics.pop(0))

    program = threading.Thread(target=settle)
    program.start()
    sent = seated.press("send", "one")
    assert (sent.status, sent.headers["location"]) == (303, f"/say/{seated.name}?sent=1")
    refused = html.unescape(seated.press("anyway", "two <b>").text)
    program.join()
    assert texts == ["one", "two <b>"]
    assert "R01" in refused
    assert seated.box(refused) == "two <b>"
    assert "Sent." in seated.desk.page(f"/say/{seated.name}?sent=1")


def test_a_session_whose_program_is_gone_leaves_the_text_in_the_box(seated: Seated) -> None:
    """It waits a moment, and says that nobody has sent it."""
    kept = html.unescape(seated.press("send", "hello?").text)
    assert "Not sent yet" in kept
    assert seated.box(kept) == "hello?"


def test_a_form_whose_response_was_lost_sends_its_message_once(seated: Seated) -> None:
    """It is sent again as it is: changed, or from a new page, it is another message."""
    knows = NegotiatedState(server_capabilities={"tools": {}}, tools={"weather": TOOL})
    seated.knows("2025-11-25", knows)
    page = until(lambda: page if "weather" in (page := seated.page()) else None, "the tool")
    keys = [re.findall(r'name="key" value="([^"]+)"', one)[0] for one in (page, seated.page())]
    assert keys[0] != keys[1]
    call = {"form": "tools/call weather", "field place": "Oslo"}
    forms = [
        *({**call, "key": keys[0]} for _ in range(3)),
        {**call, "key": keys[0], "field place": "Kyoto"},
        {**call, "key": keys[1]},
    ]
    with seated.server(lambda _: None) as asked:
        for form in forms:
            sent = seated.press("send", **form)
            assert (sent.status, sent.headers["location"]) == (303, f"/say/{seated.name}?sent=1")
    places = [one["params"]["arguments"]["place"] for one in asked]
    assert places == ["Oslo", "Kyoto", "Oslo"]


def test_a_message_that_waits_for_its_program_is_sent_once_however_often_it_is_pressed(
    seated: Seated,
) -> None:
    """The page says that it was not sent yet, and its form is still the same."""
    key = ""
    for _ in range(2):
        kept = seated.press("send", '{"jsonrpc":"2.0","id":1,"method":"ping"}', key=key or "first")
        key = re.findall(r'name="key" value="([^"]+)"', kept.text)[0]
        assert key == "first"
    assert len(seated.inbox.outgoing(seated.name)) == 1


def test_the_client_and_the_server_are_led_there(seated: Seated) -> None:
    """A model and a host are asked; they do not ask. A server may speak first, too."""
    server = seated.begun(Role.SERVER)
    asked = [one for one in Role if not (one.traits.speaks_first or one.traits.is_guest)]
    others = [server, *(seated.begun(role) for role in asked)]
    page = until(
        lambda: page if all(one in (page := seated.desk.page("/")) for one in others) else None,
        "every session",
    )
    assert set(re.findall(r'href="/say/([^"]+)"', page)) == {seated.name, server}


@pytest.mark.parametrize("role", [Role.CLIENT, Role.MODEL, Role.HOST, Role.SERVER])
def test_the_empty_page_names_the_seat_that_one_has(seated: Seated, role: Role) -> None:
    """Nobody is told to be the server who is not."""
    name = seated.begun(role)
    said = {
        Role.CLIENT: "You are the client.",
        Role.MODEL: "You are the model.",
        Role.HOST: "You are the user at the host.",
        Role.SERVER: "You are the MCP server.",
    }
    motto = f'<h1 class="motto">{said[role]}</h1>'  # the desk may not know of the session yet
    until(lambda: motto in seated.desk.page(f"/?session={name}") or None, motto)


def test_where_nobody_is_connected_one_is_the_server(tmp_path: Path) -> None:
    """The first visit, before any session."""
    with Desking(tmp_path / "home", "--lang", "en") as desk:
        assert '<h1 class="motto">You are the MCP server.</h1>' in desk.page("/")


# -- the server's role ------------------------------------------------------------------------


def test_the_server_s_seat_says_first_what_a_server_may(seated: Seated) -> None:
    """List_changed, a log message, a ping; `/say/SESSION` said "You are the client"."""
    seated.name = seated.begun(Role.SERVER)
    page = seated.page()
    assert "You are the server" in page
    assert "You are the client" not in page
    for method in ("notifications/tools/list_changed", "notifications/message", "ping"):
        assert f"?begin={method}%20" in page


def test_what_is_wrong_on_purpose_is_handed_in_from_the_page_and_the_interface(
    seated: Seated,
) -> None:
    """Bytes as they can be typed in a box; silence, progress, an exit and a crash."""
    name = seated.name = seated.begun(Role.SERVER)
    orders = [("raw", "aGFsZv8="), ("silence", "on"), ("progress", "off"), ("exit", "1")]
    for order, text in (*orders, ("crash", "")):
        seated.desk.post(f"/api/sessions/{name}/say", {"text": text, "order": order})
    seated.press("raw", r"half\xff")
    said = [reply for _ticket, reply in seated.inbox.outgoing(name)]
    assert [(one.order.value, one.text) for one in said] == [*orders, ("crash", ""), orders[0]]


def test_what_was_sent_is_sent_again_with_an_id_of_its_own(seated: Seated) -> None:
    """From its page in the history; what the other side sent has no such link."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "weather"}}
    seated.lines((Direction.IN, asked), (Direction.OUT, {**asked, "method": "roots/list"}))
    address = f"/say/{seated.name}?again=1"
    line = until(lambda: seated.desk.page(f"/line/{seated.name}/1"), "the line")
    assert f'href="{address}"' in line
    assert "?again=" not in seated.desk.page(f"/line/{seated.name}/2")
    again = json.loads(seated.box(html.unescape(seated.desk.page(address))))
    assert again.pop("id").startswith("person-")
    assert again == {key: value for key, value in asked.items() if key != "id"}
    for wrong in ("3", "x", "-1"):
        path = f"/say/{seated.name}?again={wrong}"
        assert seated.desk.ask("GET", path, headers=seated.desk.bearer).status == 404


def test_an_order_to_somebody_else_s_server_is_refused(seated: Seated) -> None:
    """In the client's role there is no server of ours; the interface says so."""
    path = f"/api/sessions/{seated.name}/say"
    refused = seated.desk.post(path, {"text": "", "order": "crash"})
    assert refused.status == 422
    assert "humanmcp serve" in refused.json["detail"]


def test_a_waiting_call_s_page_can_send_and_keep_it_open(tmp_path: Path) -> None:
    """The button stands in the page of a server's request."""
    params = '{"name":"x","arguments":{},"_meta":{"progressToken":7}}'  # it could hear of progress
    call = f'{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}'
    home = tmp_path / "home"
    with Desking(home, "--lang", "en") as desk, Serving(home, "--by-hand") as server:
        server.say(call)
        item = until(lambda: desk.get("/api/exchanges")["waiting"], "the call")[0]
        page = desk.page(f"/m/{item['session']}/{item['number']}")
    assert 'id="keep-open"' in page
    assert 'value="progress on"' in page  # --by-hand sends none by itself


def test_a_line_that_is_no_message_says_why_and_is_answered_with_an_error(tmp_path: Path) -> None:
    """As in the terminal and the text files: -32700 without an id, which the check lets pass."""
    home = tmp_path / "home"
    with Desking(home, "--lang", "en") as desk, Serving(home, "--by-hand") as server:
        server.say('{"jsonrpc":"2.0","id":1,"method":"ping"}')
        server.say('{"jsonrpc":"2.0","id":2,')
        name = until(lambda: desk.get("/api/sessions")["sessions"], "the session")[0]["name"]
        until(lambda: "/line/" in desk.page("/history?q=kind:malformed"), "the line")
        page = html.unescape(desk.page(f"/line/{name}/2"))
        assert 'class="problems"' in page
        assert "not JSON" in page
        (address,) = re.findall(r'href="([^"]*/say/[^"]*)"', page)
        begun = html.unescape(desk.page(f"/say/{name}{address.partition(name)[2]}"))
        text = begun.partition('spellcheck="false">')[2].partition("</textarea>")[0]
        assert desk.submit(f"/say/{name}", text=text, act="send").status == 303
        answer = json.loads(server.hear())
        assert (answer["id"], answer["error"]["code"]) == (None, -32700)
        assert 'class="problems"' not in desk.page(f"/line/{name}/1")


# -- completion -----------------------------------------------------------------------------------

PROMPT: Final = {"type": "ref/prompt", "name": "trip"}


def complete(seated: Seated, value: str) -> list[str]:
    """Ask for values of an argument."""
    body = {"ref": PROMPT, "argument": "city", "value": value, "arguments": {"country": "Japan"}}
    values: list[str] = seated.desk.post(f"/api/sessions/{seated.name}/complete", body).json[
        "values"
    ]
    return values


def test_an_argument_is_completed_by_the_server(seated: Seated) -> None:
    """The other arguments go along; its answer is found by the id."""
    seated.knows("2025-11-25", NegotiatedState(server_capabilities={"completions": {}}))
    found = {"completion": {"values": ["Osaka", "Otaru"]}}
    with seated.server(lambda _: found) as asked:
        assert complete(seated, "O") == ["Osaka", "Otaru"]
    (request,) = asked
    assert request["method"] == "completion/complete"
    assert request["params"] == {
        "ref": PROMPT,
        "argument": {"name": "city", "value": "O"},
        "context": {"arguments": {"country": "Japan"}},
    }


def test_a_server_that_offers_no_completion_is_not_asked(seated: Seated) -> None:
    """Neither from the page, nor by a script; and in no other role."""
    seated.knows("2025-11-25", NegotiatedState(server_capabilities={"prompts": {}}))
    assert complete(seated, "O") == []
    seated.name = seated.begun(Role.SERVER)
    assert complete(seated, "O") == []
    assert not seated.inbox.outgoing(seated.name)


def test_an_error_of_the_server_offers_no_values(seated: Seated) -> None:
    """It is quiet: who types goes on typing."""
    seated.knows("2025-11-25", NegotiatedState(server_capabilities={"completions": {}}))
    with seated.server(lambda _: {"completion": "?"}):
        assert complete(seated, "O") == []


def test_an_editor_learns_what_a_client_can_say(seated: Seated) -> None:
    """The requests of its version, and the arguments of each tool as they were declared."""
    seated.knows(
        "2025-11-25", NegotiatedState(server_capabilities={"tools": {}}, tools={"weather": TOOL})
    )
    schema = seated.desk.get(f"/api/sessions/{seated.name}/schema")["schema"]
    methods = {one["properties"]["method"]["const"]: one["properties"] for one in schema["oneOf"]}
    (called,) = methods["tools/call"]["params"]["oneOf"]
    assert called["properties"]["arguments"] == TOOL["inputSchema"]
    assert "resources/subscribe" in methods
    assert "server/discover" not in methods

"""What HTTP says beside the lines of a served session: recorded, and exported as it was."""

import http.client
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import pytest

from humanmcp.export.recording import ExportOptions, Recording
from humanmcp.extensions.recordings import har
from humanmcp.inbox.contract import Key, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.transcript import HTTP
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.http.client import part_in
from humanmcp.protocol.http.http_headers import HIDDEN
from tests.support.serve_http import INITIALIZED, ServingHttp, call, initialize, modern
from tests.support.waiting import until

FAULTS: Final = ("wrong-status 418", "wrong-type", "unauthorized", "redirect", "cut-stream 7")
BOOK: Final = "".join(
    f'[[rules]]\ntool = "{fault.partition(" ")[0]}"\ntext = "sunny"\n'
    + (f'fault = "{fault}"\n' if fault != "quick" else "")
    for fault in ("quick", "exit", *FAULTS)
)
QUICK: Final = call(2, name="quick")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServingHttp]:
    """Return a server with a rule, whose streams begin soon."""
    folder = tmp_path_factory.mktemp("notes")
    (folder / "book.toml").write_text(BOOK, encoding="utf-8")
    flags = ("--handshake", "book", "--book", str(folder / "book.toml"))
    with ServingHttp(folder / "inbox", *flags, quick=1) as running:
        yield running


@pytest.fixture
def inbox(server: ServingHttp) -> FolderInbox:
    """Answer there."""
    return FolderInbox(server.home)


def name_of(inbox: FolderInbox, headers: dict[str, str]) -> str:
    """Return the session of an id."""
    wanted = headers["Mcp-Session-Id"]
    return next(one.name for one in inbox.sessions() if one.http.id == wanted)


def notes_of(inbox: FolderInbox, name: str) -> list[dict[str, Any]]:
    """Return what HTTP said, as far as it is written."""
    return [part_in(frame) for frame in inbox.frames(name) if frame.note == HTTP]


def archived(inbox: FolderInbox, name: str) -> list[dict[str, Any]]:
    """Return the entries of the session's HTTP archive."""
    recording = Recording(name, tuple(inbox.frames(name)), inbox.facts(name))
    entries: list[dict[str, Any]] = json.loads(har.write(recording, ExportOptions()))["log"][
        "entries"
    ]
    return entries


def answer(inbox: FolderInbox, name: str, number: int = 2) -> None:
    """Answer a call."""
    inbox.send(Key(name, number), Reply("sunny", TextForm.TEXT, by="desk"))


def over(inbox: FolderInbox, name: str) -> None:
    """Wait until a session is over."""
    until(lambda: not inbox.facts(name).is_open, "the end of the session")


def test_a_served_session_has_its_true_requests(server: ServingHttp, inbox: FolderInbox) -> None:
    """Each with its headers and its status, those too that brought no message."""
    headers = server.initialize()
    name = name_of(inbox, headers)
    secret = {"Authorization": "Bearer tell-nobody", "Cookie": "tell=nobody", "X-City": "Tokyo"}
    assert server.ask(body=QUICK, headers={**headers, **secret}).status == 200
    events = {**headers, "Accept": "text/event-stream"}
    assert server.ask(body=call(3, name="quick"), headers=events).status == 200
    assert server.ask(body=INITIALIZED, headers=events).status == 202
    assert server.ask(body="{}", headers={**headers, "Content-Type": "text/plain"}).status == 415
    assert server.ask(body="{no json", headers=headers).status == 400
    listening = server.open(headers, verb="GET")
    assert listening.response.status == 200
    assert server.ask("GET", headers=headers).status == 409
    assert server.ask("DELETE", headers=headers, path="/mcp?key=tell-nobody").status == 204
    over(inbox, name)
    entries = archived(inbox, name)
    said = [(one["request"]["method"], one["response"]["status"]) for one in entries]
    assert said == [
        *[("POST", 200), ("POST", 202), ("POST", 200), ("POST", 200), ("POST", 202), ("POST", 415)],
        *[("POST", 400), ("GET", 200), ("GET", 409), ("DELETE", 204)],
    ]
    types = [one["response"]["content"]["mimeType"] for one in entries[2:4]]
    assert types == ["application/json", "text/event-stream"]
    bodies = [one["request"].get("postData", {}).get("text") for one in entries]
    assert bodies[0] == initialize("2025-11-25")
    said_in = [INITIALIZED, QUICK, call(3, name="quick"), INITIALIZED, None, "{no json"]
    assert bodies[1:7] == said_in
    sent = {one["name"]: one["value"] for one in entries[2]["request"]["headers"]}
    assert (sent["authorization"], sent["cookie"], sent["x-city"]) == (HIDDEN, HIDDEN, "Tokyo")
    assert sent["mcp-session-id"] == headers["Mcp-Session-Id"]
    assert entries[-1]["request"]["url"] == f"{server.url}?…"
    transcript = (inbox.folder(name) / "transcript.jsonl").read_text(encoding="utf-8")
    assert "tell-nobody" not in transcript
    inbox.forget(Key(name, 2))
    transcript = (inbox.folder(name) / "transcript.jsonl").read_text(encoding="utf-8")
    assert "Tokyo" not in transcript


def test_a_status_that_was_put_in_on_purpose_is_the_one_that_stands_there(
    server: ServingHttp, inbox: FolderInbox
) -> None:
    """Also of what stands in the place of an answer, and of a stream that is cut."""
    headers = server.initialize()
    name = name_of(inbox, headers)
    for number, fault in enumerate(FAULTS, 2):
        with suppress(http.client.HTTPException, ConnectionError):
            server.ask(body=call(number, name=fault.partition(" ")[0]), headers=headers)
    assert server.ask("DELETE", headers=headers).status == 204
    over(inbox, name)
    found = [(one["response"], one["comment"]) for one in archived(inbox, name)[2:-1]]
    assert [head["status"] for head, _ in found] == [418, 200, 401, 307, 200]
    assert {"name": "content-type", "value": "text/html"} in found[1][0]["headers"]
    assert {"name": "location", "value": "/mcp?once-more"} in found[3][0]["headers"]
    assert found[4][1].endswith("(the server hung up)")


def test_who_still_waits_when_a_session_ends_is_told_and_that_is_recorded(
    server: ServingHttp, inbox: FolderInbox
) -> None:
    """The session's transcript is closed after the last of its responses."""
    headers = server.initialize()
    name = name_of(inbox, headers)
    waiting = server.open(headers, call())
    until(lambda: inbox.items(name), "a question")
    assert server.ask(body=call(3, name="exit"), headers=headers).status == 404
    over(inbox, name)
    found = archived(inbox, name)[2:]
    assert waiting.response.status in (200, 404)  # a stream that has begun just ends
    assert [one["response"]["status"] for one in found] == [waiting.response.status, 404]


def test_a_client_that_comes_again_is_seen_to(server: ServingHttp, inbox: FolderInbox) -> None:
    """Who hung up, what was resumed from where, and which events were said twice."""
    headers = server.initialize()
    name = name_of(inbox, headers)
    waiting = server.open(headers, call())
    assert next(waiting.events()) == ("2-0", b"")
    waiting.close()
    until(lambda: {"call": 3, "cut": "client"} in notes_of(inbox, name), "that it hung up")
    answer(inbox, name)
    again = server.open({**headers, "Last-Event-ID": "2-0"}, verb="GET")
    assert [one for one, data in again.events() if data] == ["2-1"]
    notes = until(
        lambda: [one for one in notes_of(inbox, name) if one.get("id") == "2-1"], "its event"
    )
    assert notes == [{"call": 4, "event": "message", "id": "2-1"}]
    asked, resumed = archived(inbox, name)[-2:]
    assert asked["comment"].endswith("(the client hung up)")
    assert asked["response"]["status"] == 200
    assert {"name": "last-event-id", "value": "2-0"} in resumed["request"]["headers"]


def test_what_a_visitor_of_2026_asks_is_recorded_as_well(
    server: ServingHttp, inbox: FolderInbox
) -> None:
    """With the headers that repeat the body, and the status of an error."""
    asked = modern("resources/read", client="visitor", uri="file:///a")
    got = server.open({**asked.headers, "Mcp-Name": "file:///b"}, asked.body)
    name = until(
        lambda: [one.name for one in inbox.sessions() if one.client == "visitor"], "a session"
    )[0]
    until(lambda: inbox.items(name), "the request")
    inbox.send(Key(name, 1), Reply('{"code":-32602,"message":"no"}', TextForm.ERROR, by="desk"))
    assert got.response.status == 400
    until(lambda: len(notes_of(inbox, name)) == 2, "its head")
    (entry,) = archived(inbox, name)
    assert (entry["response"]["status"], entry["response"]["statusText"]) == (400, "Bad Request")
    assert {"name": "mcp-name", "value": "file:///b"} in entry["request"]["headers"]

"""`humanmcp export --format har`: HAR 1.2, complete, with what HTTP was where that is known."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from humanmcp.export.readable import write_markdown
from humanmcp.export.recording import ExportOptions, Recording
from humanmcp.extensions.recordings import har
from humanmcp.inbox.contract import HttpFacts, SessionFacts
from humanmcp.protocol.conversation.transcript import HTTP, Direction, Frame
from humanmcp.protocol.http.client import (
    IncomingResponse,
    OutgoingRequest,
    carried,
    cut_part,
    part_as_json,
    request_part,
    response_part,
)
from humanmcp.protocol.http.events import ServerSentEvent
from humanmcp.protocol.http.http_headers import HIDDEN
from humanmcp.protocol.json import jsonrpc
from tests.support.http_parts import ANSWERED, ASKED, NOTICE, part_frame
from tests.support.recordings import HOSTILE, WEATHER, frame, text

MANNER = ExportOptions(zone=UTC)


def test_the_archive_has_an_entry_a_request() -> None:
    """HAR 1.2: both sides' requests and the notifications, with how long each answer took."""
    log: dict[str, Any] = json.loads(har.write(WEATHER, MANNER))["log"]
    assert log["version"] == "1.2"
    entries = log["entries"]
    assert [entry["request"]["url"] for entry in entries] == [
        "stdio://server/initialize",
        "stdio://server/notifications/initialized",
        "stdio://server/tools/list",
        "stdio://server/tools/call",
        "stdio://server/tools/call",
        "stdio://server/tools/call",
        "stdio://server/resources/read",
        "stdio://client/roots/list",
    ]
    first_call, second_call = entries[3], entries[4]
    assert json.loads(first_call["response"]["content"]["text"])["result"] == text("sunny")
    assert (first_call["time"], second_call["response"]["status"]) == (3000.0, 400)


def test_the_archive_of_a_session_over_http_has_its_true_requests() -> None:
    """Method, address, headers and status as they were; what brought no message is there, too."""
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    url, kind = "https://example.com/mcp", (("content-type", "application/json"),)
    post = OutgoingRequest("POST", (("Authorization", HIDDEN),), ping, url)
    parts = [
        part_as_json(1, OutgoingRequest("GET", (), url=url)),
        part_as_json(2, post),
        part_as_json(1, IncomingResponse(405, "Method Not Allowed")),
        part_as_json(2, IncomingResponse(200, "OK", kind)),
        part_as_json(2, ServerSentEvent(b"", "1-1")),
    ]
    recorded = Recording(
        "web",
        (
            frame(1, Direction.IN, ping),
            *(frame(seq, Direction.NOTE, part, note=HTTP) for seq, part in enumerate(parts, 2)),
            frame(7, Direction.OUT, {"jsonrpc": "2.0", "id": 1, "result": {}}),
        ),
    )
    log = json.loads(har.write(recorded, MANNER))["log"]
    assert "over HTTP" in log["comment"]
    said, listened = log["entries"]
    assert (said["request"]["method"], said["request"]["url"]) == ("POST", url)
    assert said["request"]["headers"] == [{"name": "Authorization", "value": HIDDEN}]
    assert said["request"]["postData"]["text"] == ping.decode()
    assert (said["response"]["status"], said["response"]["statusText"]) == (200, "OK")
    assert json.loads(said["response"]["content"]["text"])["result"] == {}
    assert (listened["request"]["method"], listened["response"]["status"]) == ("GET", 405)
    told = write_markdown(recorded, MANNER)
    assert "HTTP 2 -\\> POST" in told or "HTTP 2 -> POST" in told


def test_the_archive_of_our_own_server_holds_what_it_recorded() -> None:
    """Nothing is derived where it is known: a status of a person's, a batch, who hung up.

    A request may bring no request: the client's answer, or what is no message.
    """
    url, head = "http://127.0.0.1:8766/mcp", (("content-type", "application/json"),)
    asked = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}'
    told, broken = b'{"jsonrpc":"2.0","id":"ours","result":{}}', b"{no json"
    batch = b"[" + asked.replace(b"1", b"2") + b"," + asked.replace(b"1", b"3") + b"]"
    lines = [asked, told, broken, batch]
    names = [carried(jsonrpc.read(line)) for line in lines]
    assert names == ["1 tools/call", '"ours"', "", "2 tools/call, 3 tools/call"]
    frames: list[Frame] = []

    def put(direction: Direction, raw: bytes | str | dict[str, Any], at: str = "00") -> None:
        note = HTTP if direction is Direction.NOTE else ""
        made = frame(len(frames) + 1, direction, raw, note=note)
        frames.append(made._replace(at=f"2026-11-22T10:00:{at}.000Z"))

    for number, line in enumerate(lines, 1):
        put(Direction.IN, line)
        put(Direction.NOTE, request_part(number, "POST", url, head, names[number - 1]))
    put(Direction.OUT, {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}, "03")
    for number, status in enumerate((418, 202, 400, 200), 1):
        put(Direction.NOTE, response_part(number, status, "", head), "02" if number == 1 else "00")
    put(Direction.NOTE, cut_part(1, "client"), "03")
    facts = SessionFacts("s", "", http=HttpFacts("x", "8766"))
    log = json.loads(har.write(Recording("s", tuple(frames), facts), MANNER))["log"]
    entries = log["entries"]
    found = [(one["request"]["postData"]["text"], one["response"]["status"]) for one in entries]
    said = [line.decode() for line in lines]
    assert found == [(said[0], 418), (said[1], 202), (said[2], 400), *[(said[3], 200)] * 2]
    assert entries[0]["timings"] == {"send": 0, "wait": 2000.0, "receive": 1000.0}
    assert entries[0]["time"] == 3000.0
    assert entries[0]["comment"].endswith("(the client hung up)")


def test_the_archive_of_our_own_server_at_an_address_names_it() -> None:
    """Method, address and status follow from what was said, where no more is recorded."""
    facts = SessionFacts("s", "", http=HttpFacts("x", "8766"))
    log = json.loads(har.write(replace(WEATHER, facts=facts), MANNER))["log"]
    assert "over HTTP" in log["comment"]
    *asked, by_server = log["entries"]
    url = "http://127.0.0.1:8766/mcp"
    assert {(one["request"]["method"], one["request"]["url"]) for one in asked} == {("POST", url)}
    assert [one["response"]["status"] for one in asked[:3]] == [200, 202, 200]
    assert by_server["request"]["url"] == "sse://client/roots/list"


# The members that HAR 1.2 does not call optional, each with its type.
HAR: Final[Mapping[str, Mapping[str, Any]]] = {
    "log": {"version": str, "creator": dict, "entries": list},
    "creator": {"name": str, "version": str},
    "entry": {
        "startedDateTime": str,
        "time": (int, float),
        "request": dict,
        "response": dict,
        "cache": dict,
        "timings": dict,
    },
    "request": {
        "method": str,
        "url": str,
        "httpVersion": str,
        "cookies": list,
        "headers": list,
        "queryString": list,
        "headersSize": int,
        "bodySize": int,
    },
    "postData": {"mimeType": str, "text": str},
    "response": {
        "status": int,
        "statusText": str,
        "httpVersion": str,
        "cookies": list,
        "headers": list,
        "content": dict,
        "redirectURL": str,
        "headersSize": int,
        "bodySize": int,
    },
    "content": {"size": int, "mimeType": str},
    "timings": {"send": (int, float), "wait": (int, float), "receive": (int, float)},
}


@pytest.mark.parametrize("recorded", [WEATHER, HOSTILE], ids=["weather", "hostile"])
def test_the_archive_has_what_every_reader_of_archives_needs(recorded: Recording) -> None:
    """HAR 1.2: every member that is not optional, with its type; times are ISO 8601."""
    log = json.loads(har.write(recorded, MANNER))["log"]
    found: list[tuple[str, Any]] = [("log", log), ("creator", log["creator"])]
    for entry in log["entries"]:
        request, response = entry["request"], entry["response"]
        found += [("entry", entry), ("request", request), ("response", response)]
        found += [("postData", request["postData"]), ("content", response["content"])]
        found += [("timings", entry["timings"])]
        assert datetime.fromisoformat(entry["startedDateTime"]).tzinfo is not None
        assert entry["time"] == sum(entry["timings"].values()) >= 0
    for kind, value in found:
        for name, wanted in HAR[kind].items():
            assert isinstance(value[name], wanted), (kind, name)


def test_each_response_is_put_to_its_own_request() -> None:
    """HTTP: several are on the way at once; a response to none is left out."""
    got = IncomingResponse(202, "Accepted")
    parts = [
        part_as_json(1, ASKED),
        part_as_json(2, ASKED._replace(body=NOTICE)),
        part_as_json(2, got),
        part_as_json(9, got),
        part_as_json(2, ServerSentEvent(b"x")),
        part_as_json(1, ANSWERED),
    ]
    first, second = har.exchanges_in([part_frame(part) for part in [*parts, "x"]])
    assert (first.frame.text, first.carries, first.response["status"]) == (
        parts[0],
        '"a" tools/call',
        200,
    )
    assert (second.carries, second.response["status"]) == ("notifications/initialized", 202)


def test_who_hung_up_is_said_of_the_exchange() -> None:
    """With the time at which the head of its response came."""
    cut = cut_part(1, "client")
    parts = (part_as_json(1, ASKED), part_as_json(1, ANSWERED), cut)
    (found,) = har.exchanges_in([part_frame(one) for one in parts])
    assert found.response["cut"] == "client"
    assert found.response["at"] == found.frame.at
    assert har.exchanges_in([part_frame('{"method":"GET"}')])[0].carries == ""

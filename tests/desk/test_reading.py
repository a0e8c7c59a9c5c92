"""How large bodies are read: as small ones, but aside, in short steps, and only where needed."""

import asyncio
import json
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.common.apart import SMALL
from humanmcp.desk import rights, routing
from humanmcp.desk.api import read_calls
from humanmcp.desk.app import CALLS
from humanmcp.desk.routing import (
    MOST_FIELDS,
    MOST_MEMBERS,
    MOST_OWN_VALUES,
    read_form,
    read_record,
)
from humanmcp.http.bodies import Bodies, BodyError
from humanmcp.inbox.contract import UnknownItemError
from tests.desk.devices.test_devices import Browser, link_of
from tests.desk.test_guard import flat
from tests.support.desk_process import JSON, Desking
from tests.support.room_process import Rooming

TEXTS = st.text() | st.sampled_from(["%", "%4", "a%41b", "é\u202e", "x" * 70_000])


def as_python_reads(body: bytes) -> dict[str, str]:
    """Return what the standard library finds in a form."""
    found = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[-1].replace("\r\n", "\n") for name, values in found.items()}


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=5), st.sampled_from([1, 2, 3, 5, 16384]))
def test_a_form_is_read_as_python_reads_it(fields: list[tuple[str, str]], piece: int) -> None:
    """Wherever it is cut into pieces."""
    body = urlencode(fields).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routing, "_PIECE", max(3, piece))
        assert read_form(body) == as_python_reads(body)


@given(st.binary(max_size=200).map(lambda some: some.replace(b"%", b"%4")))
def test_whatever_is_called_a_form_is_read_without_an_error(body: bytes) -> None:
    """And says of ASCII what Python says."""
    if body.count(b"&") < MOST_FIELDS:
        found = read_form(body)
        assert not body.isascii() or found == as_python_reads(body)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@pytest.mark.parametrize("value", ["1", '""', "[]", '{"b":1}'])
def test_a_large_record_has_no_more_values_than_the_fields_of_a_form(value: str) -> None:
    """A million of one name would keep everybody else's texts waiting for seconds."""
    few, many = ([f'"a":{value}'] * count for count in (MOST_FIELDS // 2, MOST_MEMBERS + 1))
    assert read_record(f"{{{','.join(few)}}}".encode()) == {"a": json.loads(value)}
    for body in (
        f"{{{','.join(many)}}}",
        f'{{"in":{{{",".join(many)}}}}}',
    ):
        with pytest.raises(json.JSONDecodeError, match="too many values"):
            read_record(body.encode())


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.sampled_from([None, 2]))
def test_a_large_record_is_read_as_a_small_one(record: object, indent: int | None) -> None:
    """With its white space, and with members that are no texts."""
    assert read_record(json.dumps(record, indent=indent).encode()) == record


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        '{"a"',
        '{"a":',
        '{"a":1',
        '{"a":1,}',
        '{"a" 1}',
        "{1:2}",
        '{"a":1}x',
        '{"a":1 "b":2}',
    ],
)
def test_what_is_no_json_is_none_in_a_large_body_either(body: str) -> None:
    """As the standard library says, too."""
    for reads in (json.loads, read_record):
        with pytest.raises(json.JSONDecodeError):
            reads(body.encode())


def test_a_large_record_holds_texts_and_no_large_list() -> None:
    """Millions of lists are one step of many seconds; a text is none of this length."""
    text = "[]," * 1_000_000
    assert read_record(json.dumps({"text": text}).encode()) == {"text": text}
    with pytest.raises(json.JSONDecodeError):
        read_record(b'{"text":[' + text.encode() + b"[]]}")


def test_a_form_is_decoded_in_short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others go on between them."""
    lengths = []

    def decode(piece: bytes) -> bytes:
        lengths.append(len(piece))
        return piece

    monkeypatch.setattr(routing, "unquote_to_bytes", decode)
    read_form(b"text=" + b"%41" * 1_000_000)
    assert max(lengths) <= routing._PIECE
    assert sum(lengths) == 3_000_000 + len("text")


def test_the_thread_of_a_call_writes_its_result() -> None:
    """The event loop, where everybody waits, does not: a fix of a text may have 80,000 edits."""
    calls = [one for router in CALLS for one in flat(router.routes)]
    assert len(calls) > 20
    for call in calls:
        in_loop = asyncio.iscoroutinefunction(call.endpoint)
        assert (call.path, hasattr(call.endpoint, "__wrapped__")) == (call.path, not in_loop)
    (sessions,) = (one.endpoint for one in calls if one.endpoint.__name__ == "sessions")
    board = SimpleNamespace(sessions=list)
    desk = SimpleNamespace(board=board)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_calls, "desk_of", lambda _: desk)
        written = sessions(None)
    assert (type(written), written) == (routing.JsonText, '{"sessions":[]}')


@pytest.mark.parametrize("size", [SMALL, SMALL + 1])
@pytest.mark.parametrize("path", ["/m/{name}/{number}", "/api/exchanges/{session}/{number}/reply"])
def test_a_large_body_is_read_and_weighed_in_the_one_thread_for_it(
    monkeypatch: pytest.MonkeyPatch, path: str, size: int
) -> None:
    """A small one is there before a thread would be."""
    body = json.dumps({"text": "x" * size}).encode()[:size]
    where = {}

    def noted(name: str) -> object:
        real = getattr(routing, name)

        def run(*given: object) -> object:
            where[name] = threading.current_thread().name
            return real(*given)

        return run

    for name in ("read_form", "read_record", "is_heavy"):
        monkeypatch.setattr(routing, name, noted(name))

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    scope: dict[str, object] = {"type": "http", "method": "POST", "path": path, "headers": []}
    scope["state"] = {"who": rights.Who.OWNER}
    request = routing.ReadRequest(scope, receive)
    entry = rights.TABLE[f"POST {path}"]
    with suppress(UnknownItemError):
        asyncio.run(routing._check(request, entry))
    assert set(where) >= {"is_heavy"}
    assert set(where.values()) == {"MainThread" if size <= SMALL else "reading_0"}


def test_a_body_that_says_that_it_is_too_large_is_not_read() -> None:
    """Its route knows how much it needs."""

    async def never() -> dict[str, object]:
        raise AssertionError

    async def play() -> None:
        coming = Bodies().coming(never, "visitor", rights.TEXT + 1)
        with coming as body, pytest.raises(BodyError):
            body.limit(rights.TEXT)

    asyncio.run(play())


def test_a_device_sends_no_larger_text_than_a_photo(open_desk: Desking) -> None:
    """It is told so in words, after all that its browser sends."""
    with open_desk:
        phone = Browser(open_desk, link_of(open_desk, "phone"))
        refused = phone.post("/m/x/1", {"act": "send", "text": "x" * (rights.TEXT + 1)})
        assert (refused.status, "This is too large, so nothing was sent." in refused.text) == (
            413,
            True,
        )
        assert "<h1>" in refused.text
        record = {"text": "x" * (rights.TEXT + 1)}
        refused = phone.post("/api/exchanges/x/1/draft", record)
        assert (refused.status, "too large" in refused.json["detail"]) == (413, True)
        photo, lists = {"text": "x" * (rights.TEXT - 100)}, {"text": "[]," * 200_000}
        assert phone.post("/api/exchanges/x/1/check", photo).status == 404
        refused = phone.post("/api/exchanges/x/1/check", lists)
        assert (refused.status, "too many values" in refused.json["detail"]) == (413, True)
        own = json.dumps(record).encode()
        headers = {**open_desk.bearer, **JSON}
        path = "/api/exchanges/x/1/draft"
        for body in (own, json.dumps(lists).encode()):
            assert open_desk.ask("POST", path, body=body, headers=headers).status == 404
        more = json.dumps({"text": "[]," * MOST_OWN_VALUES}).encode()
        told = open_desk.ask("POST", path, body=more, headers=headers)
        assert (told.status, "too many values" in told.json["detail"]) == (413, True)


@pytest.mark.extension("classroom")
def test_a_learner_keeps_no_draft_of_twenty_megabytes(tmp_path: Path) -> None:
    """The teacher's computer stores the drafts of all."""
    with Rooming(tmp_path / "home") as room:
        learner = room.learner("Ann")
        asked = learner.question()
        path = f"/api/exchanges/{asked['session']}/{asked['number']}/draft"
        assert learner.call(path, {"text": "x" * 20_000_000}).status == 413
        assert learner.call(path, {"text": "x" * 2_000_000}).status == 200

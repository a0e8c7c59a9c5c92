"""Being the server over HTTP, from a client's side and from a person's."""

import json
import signal
import sys
from pathlib import Path
from typing import Final

import pytest

from humanmcp.answering import service
from humanmcp.answering.open_exchange import open_exchange_of
from humanmcp.answering.service import Outcome
from humanmcp.common.timestamps import now
from humanmcp.inbox import open_inbox
from humanmcp.inbox.contract import Key, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.http.client import part_in
from humanmcp.protocol.tables import versions
from tests.support.ports import own_port
from tests.support.recordings import recorded_at
from tests.support.serve_http import (
    Modern,
    ServingHttp,
    answer_in,
    call,
    initialize,
    modern,
)
from tests.support.serve_process import Serving
from tests.support.waiting import PATIENCE, until

ANSWER = '{"content":[{"type":"text","text":"天気"}],"x":1e5,"b":1.0,"a":9007199254740993}'
NEW_TOOL = '[[tools]]\nname = "new"\ninputSchema = { type = "object" }'
RULE = """
[[rules]]
method = "tools/call"
result = { content = [{ type = "text", text = "天気" }] }
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Return a book that answers every call with `ANSWER`."""
    file = tmp_path / "book.toml"
    file.write_text(RULE, encoding="utf-8")
    return file


@pytest.mark.parametrize("version", versions.HANDSHAKE[1:])
def test_a_whole_session_in_every_version_with_a_handshake(home: Path, version: str) -> None:
    """Initialize, a call that a person answers, and the end."""
    with ServingHttp(home, "--handshake", "book") as server:
        headers = server.initialize(version)
        tools = server.ask(body='{"jsonrpc":"2.0","id":2,"method":"tools/list"}', headers=headers)
        assert tools.json["result"]["tools"][0]["name"] == "ask_human"
        waiting = server.open(headers, call(3))
        server.answer(3, "sunny")
        assert answer_in(json.loads(waiting.response.read())) == "sunny"
        assert server.ask("DELETE", headers=headers).status == 204
        assert server.ask(body=call(4), headers=headers).status == 404
        waiting.close()


def test_a_session_of_2026_has_no_id(home: Path) -> None:
    """Nothing is minted, and the visitor's requests stand in one session of the inbox."""
    with ServingHttp(home, "--handshake", "book") as server:
        tools = modern("tools/list")
        got = server.ask(body=tools.body, headers=tools.headers)
        assert got.status == 200
        assert "mcp-session-id" not in got.headers
        asked = modern("tools/call", 2, name="ask_human", arguments={"question": "?"})
        waiting = server.open(asked.headers, asked.body)
        server.answer(2, "sunny")
        assert json.loads(waiting.response.read())["result"]["resultType"] == "complete"
        assert len([*home.glob("sessions/*")]) == 1
        waiting.close()


def test_an_answer_is_byte_identical_over_stdio_json_and_events(home: Path, book: Path) -> None:
    """The three ways of one answer."""
    with Serving(home, "--auto", "--book", str(book)) as server:
        server.say(initialize("2025-11-25"))
        server.hear()
        server.say(call())
        over_stdio = server.hear_raw()
    with ServingHttp(home, "--auto", "--book", str(book)) as server:
        headers = server.initialize()
        assert server.ask(body=call(), headers=headers).body == over_stdio
        events = server.open({**headers, "Accept": "text/event-stream"}, call())
        assert events.response.getheader("content-type") == "text/event-stream"
        assert [data for _name, data in events.events() if data] == [over_stdio]


@pytest.mark.extension("text_files")
def test_what_a_person_types_goes_out_as_it_was_typed(home: Path) -> None:
    """Numbers, escapes and the order of members, in a body."""
    with ServingHttp(home, "--handshake", "book") as server:
        headers = server.initialize()
        waiting = server.open(headers, call())
        typed = f'{{"jsonrpc":"2.0","id":2,"result":{ANSWER}}}'
        (server.folder() / "out.txt").write_text(typed, encoding="utf-8")
        sent = waiting.response.read()
        assert sent.startswith(typed[:-2].encode())  # its outcome follows as data


def test_nothing_is_sent_until_the_status_is_decided_and_then_a_stream_begins(home: Path) -> None:
    """First a name for the stream, then comments, then the answer."""
    with ServingHttp(home, "--handshake", "book", quick=PATIENCE) as server:
        headers = server.initialize()
        waiting = server.open(headers, call())
        assert waiting.response.status == 200
        assert waiting.response.getheader("x-accel-buffering") == "no"
        lines = waiting.lines()
        assert [next(lines) for _ in range(4)] == [b"id: 2-0", b"retry: 1000", b"data: ", b""]
        assert next(lines) == b":"
        server.answer(2, "sunny")
        rest = [line for line in lines if line not in (b":", b"")]
        assert rest[:2] == [b"event: message", b"id: 2-1"]
        waiting.close()


def test_a_stream_that_waits_for_long_ends_and_its_client_asks_again(home: Path) -> None:
    """SEP-1699, in 2025-11-25 alone; the answer comes to whoever asks."""
    with ServingHttp(home, "--handshake", "book", quick=1) as server:
        headers, before = server.initialize(), server.initialize("2025-06-18")
        waiting = server.open(headers, call())
        lines = [line for line in waiting.lines() if line not in (b":", b"")]
        assert lines == [
            *(b"id: 2-0", b"retry: 1000", b"data: "),
            *(b"id: 2-0", b"retry: 200", b"data: "),
        ]
        server.leave_answer(2, "sunny")
        again = server.open({**headers, "Last-Event-ID": "2-0"}, verb="GET")
        assert [name for name, data in again.events() if data] == ["2-1"]
        older = server.open(before, call())
        assert [next(older.lines()) for _ in range(9)].count(b":") > 2  # twice as long, and open
        older.close()


@pytest.mark.parametrize(
    "way",
    [
        pytest.param("by hand", marks=pytest.mark.extension("text_files")),
        pytest.param("replay", marks=pytest.mark.extension("recordings")),
    ],
)
def test_an_answer_is_byte_identical_by_hand_in_text_files_and_replayed(
    home: Path, tmp_path: Path, way: str
) -> None:
    """With `--by-hand --files`, and with `--replay`, as over a pipe."""
    typed = f'{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"2025-11-25","x":{ANSWER}}}}}'
    files = tmp_path / "files"
    recorded = recorded_at(
        tmp_path / "recorded",
        (Direction.IN, initialize("2025-11-25")),
        (Direction.OUT, typed),
    )
    flags = ["--by-hand", "--files", str(files)] if way == "by hand" else ["--replay", recorded]
    with ServingHttp(home, *flags) as server:
        waiting = server.open({}, initialize("2025-11-25"))
        if way == "by hand":
            server.folder()
            until(lambda: (files / "in.txt").read_text() == initialize("2025-11-25") + "\n", "it")
            told = "you can choose the HTTP status until "
            until(lambda: told in (files / "status.txt").read_text(), "who decides the status")
            inbox = FolderInbox(home)
            key = Key(inbox.sessions()[0].name, 1)
            inbox.send(key, Reply(typed, anyway=True, by="terminal"))
        assert waiting.response.read() == typed.encode()
        assert waiting.response.getheader("mcp-session-id")


def test_an_error_has_its_status_in_2026_and_200_before(home: Path) -> None:
    """404 for a method that does not exist, 400 for a version that does not."""
    with ServingHttp(home, "--auto") as server:
        asked = modern("unknown/method")
        got = server.ask(body=asked.body, headers=asked.headers)
        assert (got.status, got.json["error"]["code"]) == (404, -32601)
        headers = server.initialize()
        old = server.ask(body='{"jsonrpc":"2.0","id":2,"method":"unknown/method"}', headers=headers)
        assert (old.status, old.json["error"]["code"]) == (200, -32601)


@pytest.mark.extension("text_files")
def test_a_header_that_lies_is_shown_and_a_person_may_answer_all_the_same(home: Path) -> None:
    """200, where every other server says 400."""
    with ServingHttp(home, "--handshake", "book") as server:
        asked = modern("tools/call", 2, name="ask_human", arguments={"question": "?"})
        waiting = server.open({**asked.headers, "Mcp-Name": "another"}, asked.body)
        status = server.folder() / "status.txt"
        until(lambda: "Mcp-Name" in status.read_text(), "what is wrong with the header")
        opened = open_exchange_of(open_inbox(home), Key(status.parent.name, 1))
        assert [one.code for one in opened.remarks] == ["N13"]  # the page and the terminal show it
        server.answer(1, "sunny")
        assert waiting.response.status == 200
        waiting.close()


def test_a_client_of_2026_that_hangs_up_has_cancelled(home: Path) -> None:
    """The rule: "Closing the SSE response stream MUST be treated by the server as cancellation"."""
    with ServingHttp(home, "--handshake", "book") as server:
        asked = modern("tools/call", 2, name="ask_human", arguments={"question": "?"})
        waiting = server.open(asked.headers, asked.body)
        folder = server.folder()
        waiting.close()
        until(lambda: [*folder.glob("cancelled/*")], "the request is cancelled")
        assert not [*folder.glob("pending/*")]


def test_a_client_of_2025_that_hangs_up_gets_its_answer_when_it_comes_again(home: Path) -> None:
    """The rule: "Disconnection SHOULD NOT be interpreted as the client cancelling its request"."""
    with ServingHttp(home, "--handshake", "book", quick=PATIENCE) as server:
        headers = server.initialize()
        waiting = server.open(headers, call())
        name, data = next(waiting.events())
        assert (name, data) == ("2-0", b"")
        waiting.close()
        server.leave_answer(2, "sunny")
        inbox, session = FolderInbox(home), server.folder().name
        again = server.open({**headers, "Last-Event-ID": name}, verb="GET")
        found = [(name, json.loads(data)) for name, data in again.events() if data]
        assert [name for name, _ in found] == ["2-1"]
        assert answer_in(found[0][1]) == "sunny"
        until(lambda: not inbox.items(session), "it is known that the client has it")
        # once more: nothing new, and what was missed once is there again
        once_more = server.open({**headers, "Last-Event-ID": name}, verb="GET")
        assert [name for name, data in once_more.events() if data] == ["2-1"]
        # and a client that has it all is told so: to come from the beginning would bring it twice
        has_all = server.open({**headers, "Last-Event-ID": "2-1"}, verb="GET")
        assert [*has_all.events()] == [("2-1", b"")]


def test_a_stream_that_is_resumed_goes_on_where_it_was(home: Path) -> None:
    """The client is there again before the answer."""
    with ServingHttp(home, "--handshake", "book", quick=PATIENCE) as server:
        headers = server.initialize()
        waiting = server.open(headers, call())
        name, _ = next(waiting.events())
        waiting.close()
        again = server.open({**headers, "Last-Event-ID": name}, verb="GET")
        assert again.response.status == 200
        server.answer(2, "sunny")
        assert [name for name, data in again.events() if data] == ["2-1"]


def test_a_cancelled_request_gets_no_answer_and_its_post_ends(home: Path) -> None:
    """By a notification, up to 2025-11-25."""
    with ServingHttp(home, "--handshake", "book") as server:
        headers = server.initialize()
        waiting = server.open(headers, call())
        server.folder()
        cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}'
        assert server.ask(body=cancel, headers=headers).status == 202
        assert (waiting.response.status, waiting.response.read()) == (202, b"")


def test_the_stream_of_a_session_gets_what_belongs_to_no_request(home: Path, book: Path) -> None:
    """Also what was said before it began; and there is one such stream."""
    with ServingHttp(home, "--auto", "--book", str(book)) as server:
        headers = server.initialize()
        book.write_text(f"{NEW_TOOL}\n{RULE}", encoding="utf-8")
        listening = server.open(headers, verb="GET")
        events = listening.events()
        name, data = next(event for event in events if event[1])
        assert (name, json.loads(data)["method"]) == ("0-1", "notifications/tools/list_changed")
        assert server.ask("GET", headers=headers).status == 409


def test_a_subscription_of_2026_is_acknowledged_and_hears_of_changes(
    home: Path, book: Path
) -> None:
    """On the stream of its own request, under its own id."""
    with ServingHttp(home, "--auto", "--book", str(book)) as server:
        asked = modern("subscriptions/listen", 7, notifications={"toolsListChanged": True})
        discover = modern("server/discover", 6)
        server.ask(body=discover.body, headers=discover.headers)
        listening = server.open(asked.headers, asked.body)
        events = listening.events()
        first = json.loads(next(events)[1])
        assert first["method"] == "notifications/subscriptions/acknowledged"
        book.write_text(f"{NEW_TOOL}\n{RULE}", encoding="utf-8")
        second = json.loads(next(events)[1])
        assert second["method"] == "notifications/tools/list_changed"
        assert second["params"]["_meta"][versions.META_SUBSCRIPTION] == 7
        listening.close()


def test_a_batch_of_2025_03_is_answered_in_one_array(home: Path, book: Path) -> None:
    """By one body."""
    with ServingHttp(home, "--auto", "--book", str(book)) as server:
        headers = server.initialize("2025-03-26")
        got = server.ask(body=f"[{call(2)},{call(3)}]", headers=headers)
        assert [one["id"] for one in got.json] == [2, 3]


def test_a_batch_is_refused_where_there_are_none_any_more(home: Path) -> None:
    """Its answers would be waited for; and a refusal has the id of its request."""
    with ServingHttp(home, "--auto") as server:
        got = server.ask(body=f"[{call(2)}]", headers=server.initialize("2025-06-18"))
        assert (got.status, got.json["error"]["code"]) == (400, -32600)
        lost = server.ask(body=call(7), headers={"Mcp-Session-Id": "unknown"})
        assert (lost.status, lost.json["id"]) == (404, 7)


def test_a_batch_of_too_many_messages_is_refused(home: Path) -> None:
    """With what to do instead; the session goes on."""
    with ServingHttp(home, "--auto") as server:
        headers = server.initialize("2025-03-26")
        got = server.ask(body=f"[{','.join(call(at) for at in range(101))}]", headers=headers)
        assert got.status == 413
        assert "100 messages" in got.json["error"]["message"]
        assert server.ask(body='{"jsonrpc":"2.0","id":2,"method":"ping"}', headers=headers).json


def test_a_folder_of_sessions_that_is_gone_stops_no_answer(tmp_path: Path, home: Path) -> None:
    """The next client gets a new folder, or reads why there is none; the first is answered."""

    def ping() -> object:
        return server.ask(body='{"jsonrpc":"2.0","id":2,"method":"ping"}', headers=first).json["id"]

    with ServingHttp(home, "--auto") as server:
        first = server.initialize()
        home.rename(tmp_path / "gone")
        unknown = {"Mcp-Session-Id": "unknown"}  # each refusal is logged, in a folder that is gone
        assert [server.ask(body=call(), headers=unknown).status for _ in range(2)] == [404, 404]
        assert ping() == 2
        server.initialize()
        assert len(list(home.glob("sessions/*"))) == 1
        home.rename(tmp_path / "gone too")
        home.write_text("no folder")
        refused = server.ask(body=initialize("2025-11-25"))
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert refused.json["error"]["message"] == (
            "This server cannot write to its folder (File exists). "
            "Check its disk, then send the message again."
        )
        assert ping() == 2
        home.unlink()
        server.initialize()


def test_a_body_of_two_lengths_is_refused_and_the_connection_ends(home: Path) -> None:
    """A proxy that believes the other one would let through what it has not seen."""
    with ServingHttp(home, "--auto") as server:
        both = {"Transfer-Encoding": "chunked", "Content-Length": "5"}
        got = server.ask(body=b"0\r\n\r\n", headers=both)
        assert (got.status, got.headers["connection"]) == (400, "close")
        assert "Content-Length" in got.json["error"]["message"]


def test_two_programs_of_one_name_do_not_get_in_each_others_way(home: Path) -> None:
    """The same id twice at once: two sessions, and both are answered."""
    with ServingHttp(home, "--handshake", "book") as server:
        asked = modern("tools/call", 2, name="ask_human", arguments={"question": "?"})
        first = server.open(asked.headers, asked.body)
        until(lambda: len([*home.glob("sessions/*/pending/*")]) == 1, "the first")
        second = server.open(asked.headers, asked.body)
        until(lambda: len([*home.glob("sessions/*/pending/*")]) == 2, "the second")
        assert len([*home.glob("sessions/*")]) == 2
        first.close()
        second.close()


def test_the_server_ends_in_order_when_it_is_told_to_stop(home: Path) -> None:
    """Soon, and a session to which nobody can come back is closed."""
    with ServingHttp(home, "--handshake", "book") as server:
        asked = modern("tools/call", 2, name="ask_human", arguments={"question": "?"})
        waiting = server.open(asked.headers, asked.body)
        folder = server.folder()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE) == 0
        assert waiting.response.status == 503
        assert (folder / "pending" / "0001").exists()  # its client may ask again
        waiting.close()


def test_a_session_goes_on_after_a_stop_and_after_a_kill(home: Path, book: Path) -> None:
    """Under its id and the ids of its events; what a person is asked still waits."""
    port = own_port()
    with ServingHttp(home, "--handshake", "book", address=port) as server:
        headers = server.initialize()
        waiting = server.open(headers, call())
        server.folder()
        server.process.send_signal(signal.SIGTERM)
        # told to come again, and not that its session is over
        assert [name for name, _data in waiting.events()] == ["2-0"]
        assert server.process.wait(PATIENCE) == 0
        waiting.close()
    with ServingHttp(home, "--handshake", "book", quick=PATIENCE, address=port) as server:
        again = server.open({**headers, "Last-Event-ID": "2-0"}, verb="GET")
        assert next(again.events()) == ("2-0", b"")
        server.kill()
    (folder,) = home.glob("sessions/*")
    assert [path.name for path in folder.glob("pending/*")] == ["0002"]
    flags = ("--handshake", "book", "--book", str(book))
    book.write_text(f"{NEW_TOOL}\n", encoding="utf-8")
    with ServingHttp(home, *flags, quick=PATIENCE, address=port) as server:
        changes = server.open(headers, verb="GET").events()
        found = next(json.loads(data) for _name, data in changes if data)
        assert found["method"] == "notifications/tools/list_changed"
        again = server.open({**headers, "Last-Event-ID": "2-0"}, verb="GET")
        server.answer(2, "sunny")
        assert [name for name, data in again.events() if data] == ["2-1"]
        ping = server.ask(body='{"jsonrpc":"2.0","id":9,"method":"ping"}', headers=headers)
        assert ping.json == {"jsonrpc": "2.0", "id": 9, "result": {}}
        assert server.ask("DELETE", headers=headers).status == 204
        assert server.ask(body=call(4), headers=headers).status == 404
        inbox = open_inbox(home)
        until(lambda: not inbox.facts(folder.name).is_open, "the end of the session")
    frames = [*inbox.frames(folder.name)]
    assert [frame.seq for frame in frames] == [*range(1, len(frames) + 1)]
    # no exchange has the number of another one, whichever process wrote it down
    heads = [part["call"] for part in map(part_in, frames) if "method" in part]
    assert heads == [*range(1, len(heads) + 1)]


def test_a_client_of_2026_asks_again_after_a_stop_and_after_a_kill_and_gets_the_answer(
    home: Path,
) -> None:
    """Nothing can be resumed there, but the same request finds the one that waits."""

    def asking(number: int) -> Modern:
        return modern("tools/call", number, name="ask_human", arguments={"question": "?"})

    port = own_port()
    with ServingHttp(home, "--handshake", "book", address=port) as server:
        server.open(asking(2).headers, asking(2).body)
        server.folder()
        server.kill()
    with ServingHttp(home, "--handshake", "book", address=port) as server:
        again = server.open(asking(2).headers, asking(2).body)
        other = server.open(asking(9).headers, asking(9).body)  # another call, which asks the same
        until(lambda: len(list(home.glob("sessions/*/pending/*"))) == 2, "both")
        server.process.send_signal(signal.SIGTERM)
        assert (again.response.status, other.response.status) == (503, 503)
        assert json.loads(other.response.read())["id"] == 9
        assert server.process.wait(PATIENCE) == 0
    with ServingHttp(home, "--handshake", "book", address=port) as server:
        again = server.open(asking(7).headers, asking(7).body)
        server.answer(1, "sunny")
        answer = json.loads(again.response.read())
        assert (answer["id"], answer_in(answer)) == (7, "sunny")
        server.process.terminate()
        server.process.wait(PATIENCE)
    assert len(list(home.glob("sessions/*"))) == 1


def _asked_until_killed(server: ServingHttp, ask: Modern) -> Key:
    """Send a request, and kill the server when a person can see it."""
    inbox = FolderInbox(server.home)
    server.open(ask.headers, ask.body)
    (found,) = until(
        lambda: [item for one in inbox.sessions() for item in inbox.items(one.name)], "the request"
    )
    server.kill()
    return found.key


BRIEF: Final = (
    sys.executable,
    "-c",
    (
        "import sys; from humanmcp.server import resuming; resuming.REISSUE_WITHIN = 0.2; "
        "from humanmcp.cli import main; sys.exit(main())"
    ),
)
"""A server that waits for less than five minutes for the request of the one before."""


def test_a_later_call_gets_no_answer_that_was_kept_for_a_cut_one(home: Path) -> None:
    """2026-07-28: a request that comes again has a new id, so only the time tells them apart."""
    ask = modern("tools/call", 2, name="ask_human", arguments={"question": "?"})
    port = own_port()
    with ServingHttp(home, "--handshake", "book", address=port) as server:
        key = _asked_until_killed(server, ask)
    inbox, session = FolderInbox(home), key.session
    inbox.send(key, Reply("sunny", TextForm.TEXT))
    with ServingHttp(home, "--handshake", "book", address=port, command=BRIEF) as server:
        over = until(lambda: inbox.items(session, ExchangeState.ABANDONED), "the end of the first")
        assert [one.reason for one in over] == ["quiet"]
        assert over[0].reply is not None
        assert over[0].reply.text == "sunny"
        again = server.open(ask.headers, ask.body)
        until(lambda: [one for one in inbox.items(session) if one.key.number == 2], "another call")
        server.answer(2, "rain")
        assert answer_in(json.loads(again.response.read())) == "rain"


def test_an_answer_that_may_have_arrived_is_not_confirmed_after_a_kill(home: Path) -> None:
    """2026-07-28: the line went out, and no client said that it came. It was not too late."""
    ask = modern("tools/call", 2, name="ask_human", arguments={"question": "?"})
    port = own_port()
    with ServingHttp(home, "--handshake", "book", address=port) as server:
        key = _asked_until_killed(server, ask)
    inbox, killed, session = FolderInbox(home), FolderInbox(home), key.session
    reply = Reply("sunny", TextForm.TEXT, by="desk")
    inbox.send(key, reply)
    killed.resume(session)
    assert killed.take_replies(session)
    seq = [frame.seq for frame in inbox.frames(session)][-1] + 1
    line = b'{"jsonrpc":"2.0","id":2,"result":%s}' % ANSWER.encode()
    killed.record(session, Frame(seq, now(), Direction.OUT, line, 1, "desk"), durable=True)
    killed.leave_session(session)
    with ServingHttp(home, "--handshake", "book", address=port):
        (over,) = until(lambda: inbox.items(session, ExchangeState.ABANDONED), "its end")
        assert (over.reply, over.kept) == (reply, ())
        told = service.send(open_exchange_of(inbox, key), reply)
        assert told.outcome is Outcome.UNCONFIRMED


def test_nothing_is_said_on_stdout(home: Path) -> None:
    """It is nobody's wire."""
    with ServingHttp(home, "--auto") as server:
        server.initialize()
        server.process.terminate()
        assert server.stdout.read() == b""

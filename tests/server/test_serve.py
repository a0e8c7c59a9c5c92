"""The server process, as a host has it: pipes, signals, files."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.answering import service
from humanmcp.answering.open_exchange import open_exchange_of
from humanmcp.inbox import records
from humanmcp.inbox.client_seconds import ClientSeconds
from humanmcp.inbox.contract import Draft, Key, Life, OutgoingResult, Reply, TakenError
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics.model import TextForm
from tests.support.serve_process import COMMAND, Serving, bare_environment, given_back, pending
from tests.support.waiting import PATIENCE, until

INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
)
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def call(number: object, **params: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a tool call."""
    body = {"name": "weather", "arguments": {}, **params}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": body})


def text_answer(number: object, text: str = "sunny") -> str:
    """Write an answer to it."""
    result = {"content": [{"type": "text", "text": text}]}
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result}, ensure_ascii=False)


@pytest.fixture
def serving(home: Path) -> Iterator[Serving]:
    """Start a server that answers nothing by itself."""
    with Serving(home, "--by-hand") as server:
        yield server
        assert_log_is_clean(home)


def assert_log_is_clean(home: Path) -> None:
    """Nothing that should not happen happened."""
    log = home / "humanmcp.log"
    assert "Traceback" not in log.read_text(encoding="utf-8")


# -- the start and the end ------------------------------------------------------------------------


def test_it_starts_silent_and_says_where_to_answer(home: Path, tmp_path: Path) -> None:
    """In.txt exists and is empty, nothing on stdout, the folder on stderr."""
    files = tmp_path / "desk"
    with Serving(home, "--files", str(files)) as server:
        until((files / "in.txt").exists, "in.txt")
        assert (files / "in.txt").read_bytes() == b""
        assert server.process.stderr is not None
        said = server.process.stderr.readline()  # as soon as no line waits to be read
        assert server.close() == (0, [])
        said += server.process.stderr.read()
    assert str(files) in said.decode()
    assert len(said) <= 2048


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_in_order_whatever_is_pending(
    serving: Serving, home: Path, number: int
) -> None:
    """Some hosts only send a signal; exit 0, and what waited is abandoned."""
    for count in range(20):
        serving.say(call(count))
    key = pending(home, 20)[0]
    serving.process.send_signal(number)
    assert serving.process.wait(timeout=PATIENCE) == 0  # bench/ has the figure
    inbox = FolderInbox(home)
    assert inbox.facts(key.session).life is Life.CLOSED
    assert len(inbox.items(key.session, ExchangeState.ABANDONED)) == 20


MANY: Final = 3000
"""More calls than can be put before a person within seconds."""


def flood(server: Serving, home: Path) -> str:
    """Write them all at once, and wait until the first one waits. Returns the session's name."""
    server.send("\n".join(map(call, range(MANY))))
    inbox = FolderInbox(home)

    def begun() -> str:
        return next((one.name for one in inbox.sessions() if inbox.items(one.name)), "")

    return until(begun, "the first call waits")


def test_a_signal_overtakes_what_was_not_looked_at_yet(serving: Serving, home: Path) -> None:
    """Hosts kill soon after SIGTERM. What came is written down while time allows."""
    session = flood(serving, home)
    serving.process.terminate()
    assert serving.process.wait(timeout=PATIENCE) == 0
    inbox = FolderInbox(home)
    assert 0 < len(inbox.items(session, ExchangeState.ABANDONED)) < MANY
    frames = list(inbox.frames(session))
    assert [frame.raw.decode() for frame in frames] == [call(n) for n in range(len(frames))]
    assert frames[-1].note == "not looked at any more"


def test_after_the_end_of_input_nothing_more_is_put_before_people(
    serving: Serving, home: Path
) -> None:
    """Nobody could answer it: it is written down, and the session ends."""
    session = flood(serving, home)
    assert serving.close() == (0, [])
    inbox = FolderInbox(home)
    assert 0 < len(inbox.items(session, ExchangeState.ABANDONED)) < MANY
    assert [one.raw.decode() for one in inbox.frames(session)] == [call(n) for n in range(MANY)]


def test_the_end_of_input_ends_it_whatever_is_pending(serving: Serving, home: Path) -> None:
    """Exit 0, no line for what was pending, the log is kept; bench/ has the time."""
    serving.say(call(1))
    (key,) = pending(home)
    assert serving.close() == (0, [])
    inbox = FolderInbox(home)
    assert inbox.facts(key.session).life is Life.CLOSED
    assert inbox.item(key).state is ExchangeState.ABANDONED
    assert [frame.raw.decode() for frame in inbox.frames(key.session)] == [call(1)]


def test_a_request_that_is_too_long_to_keep_can_be_refused_by_hand(
    serving: Serving, home: Path
) -> None:
    """64 MiB and more: its method and id are put before a person, and the next line is read."""
    serving.say(INITIALIZE)
    serving.send('{"method":"tools/call","params":{"a":"' + "x" * (64 << 20) + '"},"id":7}')
    serving.send('{"jsonrpc":"2.0","id":8,"method":"ping"}')
    inbox = FolderInbox(home)
    first, long, _ping = pending(home, 3)
    assert inbox.item(long).method == "tools/call"
    assert f"{(64 << 20) + 48} bytes" in inbox.item(long).line
    inbox.send(long, Reply('{"code": -32600, "message": "too long"}', TextForm.ERROR))
    assert serving.hear() == '{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"too long"}}'
    assert inbox.item(first).state is ExchangeState.PENDING


def test_a_vanished_parent_ends_it_within_three_seconds(home: Path, tmp_path: Path) -> None:
    """The host was killed with -9, and somebody else still holds the pipe open."""
    reading, writing = os.pipe()
    parent = (
        "import glob,os,subprocess,sys,time\n"
        "p=subprocess.Popen(sys.argv[1:],stdin=0,stdout=subprocess.DEVNULL,"
        "stderr=subprocess.DEVNULL)\n"
        "print(p.pid,flush=True)\n"
        "while not glob.glob(sys.argv[-1]+'/sessions/*/session.json'):time.sleep(.005)\n"
        "os.kill(os.getpid(),9)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", parent, *COMMAND, "--home", str(home)],
        stdin=reading,
        stdout=subprocess.PIPE,
        env=bare_environment(tmp_path),
    ) as host:
        assert host.stdout is not None
        child = int(host.stdout.readline())
    try:
        until(lambda: not _alive(child), "the orphan to end")
    finally:
        os.close(reading)
        os.close(writing)


def _alive(pid: int) -> bool:
    """Return True if a process runs: one that has ended but was not reaped does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:  # noqa: PTH123 - no file of ours
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # before it is opened, or read
        return False


@pytest.mark.parametrize(
    ("flags", "end", "counts"),
    [
        ((), "", (3, 0, 0, 2)),
        (("--handshake", "book"), "", (3, 0, 1, 1)),
        (("--handshake", "book"), "hello\n{'id':1}\n", (5, 2, 1, 1)),
    ],
)
def test_a_file_as_input_is_said_to_be_left_without_answers(
    flags: tuple[str, ...], end: str, counts: tuple[int, int, int, int], home: Path
) -> None:
    """Nobody could answer in time: how much was read and is left is on stderr."""
    lines = (
        f'{INITIALIZE}\n{{"jsonrpc":"2.0","method":"notifications/initialized"}}\n{call(2)}\n{end}'
    )
    done = subprocess.run(
        [*COMMAND, "--home", str(home), "--lang", "en", *flags],
        input=lines,
        env=bare_environment(home),
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=PATIENCE,
    )
    read, unread, answered, left = counts
    assert (
        f"The input ended. Lines read: {read}. Unreadable lines: {unread}. "
        f"Requests answered or cancelled: {answered}. "
        f"Requests without an answer: {left}."
    ) in done.stderr


def test_nothing_of_the_environment_is_written_down(home: Path, tmp_path: Path) -> None:
    """Hosts pass their API keys; no file of ours may hold one."""
    secret = "sk-quite-secret-0123456789"
    environment = {**bare_environment(tmp_path), "ANTHROPIC_API_KEY": secret}
    lines = f"{INITIALIZE}\n{call(2)}\nnoise\n".encode()
    done = subprocess.run(
        [*COMMAND, "--home", str(home)],
        input=lines,
        env=environment,
        capture_output=True,
        check=True,
        timeout=30,
    )
    assert secret.encode() not in done.stdout + done.stderr
    for file in home.rglob("*"):
        assert file.is_dir() or secret.encode() not in file.read_bytes(), file


def test_a_plain_humanmcp_with_a_pipe_is_the_server(home: Path, tmp_path: Path) -> None:
    """Issue: `humanmcp` with a pipe on stdin is `serve`."""
    done = subprocess.run(
        [sys.executable, "-m", "humanmcp"],
        input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        env={**bare_environment(tmp_path), "HUMANMCP_HOME": str(home)},
        capture_output=True,
        check=True,
        timeout=30,
    )
    assert done.stdout == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


def test_a_socket_on_stdin_is_a_pipe_too(home: Path, tmp_path: Path) -> None:
    """Node.js gives its children sockets."""
    ours, theirs = socket.socketpair()
    with (
        ours,
        theirs,
        subprocess.Popen(
            [sys.executable, "-m", "humanmcp"],
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=subprocess.DEVNULL,
            env={**bare_environment(tmp_path), "HUMANMCP_HOME": str(home)},
        ) as child,
    ):
        ours.settimeout(20)
        ours.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        assert ours.recv(1000) == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
        ours.shutdown(socket.SHUT_WR)
        assert child.wait(timeout=20) == 0


def test_a_book_that_cannot_be_used_is_said_at_once(home: Path, tmp_path: Path) -> None:
    """Bad input gets a clear error, where the host's log shows it; stdout stays clean."""
    book = tmp_path / "book.toml"
    book.write_text("[server]\nnmae = 'x'\n", encoding="utf-8")
    with Serving(home, "--book", str(book)) as server:
        assert server.process.wait(timeout=20) == 1
        assert "nmae" in server.last_words()


def test_the_draft_of_a_list_is_the_books_also_after_the_book_was_saved(
    home: Path, tmp_path: Path
) -> None:
    """`humanmcp answer --as-is` sends the draft: it must not offer what the book does not."""
    book = tmp_path / "book.toml"
    text = '[[tools]]\nname = "mine"\ninputSchema = {{ type = "object" }}\n{}'
    book.write_text(text.format(""), encoding="utf-8")
    with Serving(home, "--book", str(book), "--by-hand") as server:
        server.say('{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
        desk = FolderInbox(home)
        session = until(desk.sessions, "the session")[0].name
        key = until(lambda: desk.items(session), "the request")[0].key
        draft = service.starting_draft(open_exchange_of(desk, key))
        assert [tool["name"] for tool in json.loads(draft.text)["result"]["tools"]] == ["mine"]
        assert set(desk.negotiated(session).prepared) == {"tools/list"}
        book.write_text(text.format('[[prompts]]\nname = "p"\n'), encoding="utf-8")
        until(lambda: "prompts/list" in desk.negotiated(session).prepared, "the saved book")
        assert desk.negotiated(session).server == {}
        book.write_text('[server]\nname = "weather"\nversion = "2"\n', encoding="utf-8")
        named = {"name": "weather", "version": "2"}  # every desk gives it in plain answers
        until(lambda: desk.negotiated(session).server == named, "the name of the server")


# -- who answers --------------------------------------------------------------------------------


def test_pings_are_answered_while_calls_wait(home: Path) -> None:
    """At once, and shown as automatic in the transcript."""
    with Serving(home) as server:
        server.say(INITIALIZE.replace('"id": 1', '"id": 0'))
        assert json.loads(server.hear())["id"] == 0  # the safety net, after its grace time
        for count in range(20):
            server.say(call(count + 1))
        server.say('{"jsonrpc":"2.0","id":99,"method":"ping"}')
        assert server.hear() == '{"jsonrpc":"2.0","id":99,"result":{}}'
        (session,) = FolderInbox(home).sessions()
        frames = list(FolderInbox(home).frames(session.name))
        assert frames[-1].by == "book"
        assert_log_is_clean(home)


def test_a_known_host_is_answered_at_once_unless_somebody_opens_by_hand(
    home: Path, tmp_path: Path
) -> None:
    """At once by default, by a person with --files and --handshake hand."""
    hello = INITIALIZE.replace('"test"', '"claude-code"')
    assert "claude-code" in hello
    with Serving(home) as server:
        server.say(hello)
        assert "listChanged" in server.hear()
    with Serving(home, "--handshake", "hand") as server:
        server.say(hello)
        assert pending(home)
    texts = str(tmp_path / "texts")
    with Serving(home, "--handshake", "book", "--files", texts) as server:
        server.send(hello)
        assert "listChanged" in server.hear()
    with Serving(home, "--files", texts) as server:
        server.send(hello)
        assert pending(home)


def test_a_host_is_told_when_the_book_offers_something_else(home: Path) -> None:
    """A person changes the server definition after the book has opened; the host asks again."""
    home.mkdir(mode=0o700)
    with Serving(home, "--handshake", "book") as server:
        server.say(INITIALIZE)
        server.hear()
        server.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        (home / "book.toml").write_text('[server]\nname = "other"\n', encoding="utf-8")
        server.say('{"jsonrpc":"2.0","id":2,"method":"tools/list"}')
        assert "ask_human" in server.hear()
        tool = '[[tools]]\nname = "dice"\ndescription = "d"\ninputSchema = { type = "object" }\n'
        (home / "book.toml").write_text(tool, encoding="utf-8")
        assert json.loads(server.hear())["method"] == "notifications/tools/list_changed"
        server.say('{"jsonrpc":"2.0","id":3,"method":"tools/list"}')
        assert "dice" in server.hear()


def test_whoever_holds_the_handshake_answers_it_until_they_give_it_back(home: Path) -> None:
    """*Answer the handshake myself* of the page, whatever the host's entry says."""
    inbox = FolderInbox(home)
    inbox.answer_handshake_by_hand(on=True)
    with Serving(home, "--handshake", "book") as server:
        server.say(INITIALIZE)
        assert pending(home)
        inbox.answer_handshake_by_hand(on=False)
        assert json.loads(server.hear())["id"] == 1


def test_a_handshake_ends_the_probe_that_nobody_answered(home: Path) -> None:
    """The client gave up on server/discover, and drops what answers it now."""
    probe = {"jsonrpc": "2.0", "id": "probe", "method": "server/discover", "params": {}}
    with Serving(home, "--by-hand") as server:
        server.say(json.dumps(probe))
        (left,) = pending(home)
        server.say(INITIALIZE)
        inbox = FolderInbox(home)
        until(lambda: inbox.item(left).state is ExchangeState.ABANDONED, "the probe is over")
        (key,) = pending(home)
        assert inbox.item(key).method == "initialize"
        assert inbox.item(left).reason == "handshake"
        with pytest.raises(TakenError):
            inbox.send(left, Reply("{}", TextForm.RESULT, by="test"))


def test_a_draft_stops_the_safety_net(home: Path) -> None:
    """Who has begun to answer is not overtaken; the answer book waits."""
    home.mkdir(mode=0o700)
    with Serving(home, "--client-limit", "5") as server:
        book = home / "book.toml"
        book.write_text('[wait]\ninitialize = 1.5\n"tools/list" = 0\n', encoding="utf-8")
        server.say('{"jsonrpc":"2.0","id":7,"method":"tools/list"}')
        server.say(INITIALIZE)
        assert json.loads(server.hear())["id"] == 7
        (key,) = pending(home)
        inbox = FolderInbox(home)
        inbox.save(key, Draft("{}", TextForm.RESULT, touched=True, by="test"))
        until(lambda: inbox.item(key).waiting.book == "writing", "the countdown to stop")
        with pytest.raises(AssertionError, match="no line on stdout"):
            server.hear(within=2)  # the book would have answered by now
        inbox.send(key, Reply(_initialize_result("by hand"), TextForm.RESULT, by="test"))
        assert json.loads(server.hear())["result"]["serverInfo"]["name"] == "by hand"


def _initialize_result(name: str) -> str:
    return json.dumps(
        {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "serverInfo": {"name": name, "version": "1"},
        }
    )


def test_a_reply_from_a_desk_goes_out_and_a_refused_one_comes_back(
    serving: Serving, home: Path
) -> None:
    """The server judges last; the draft goes back with its problems."""
    serving.say(call(1))
    (key,) = pending(home)
    inbox = FolderInbox(home)
    inbox.send(key, Reply('{"content":"sunny"}', TextForm.RESULT, by="test"))
    assert [one.code for one in given_back(inbox, key).diagnostics if one.blocks]
    inbox.send(key, Reply("sunny", TextForm.TEXT, by="test"))
    assert json.loads(serving.hear()) == json.loads(text_answer(1))
    item = until(lambda: _in_state(inbox, key, ExchangeState.ANSWERED), "the answer in the inbox")
    assert item.answer is not None
    assert item.answer.by == "test"


def _in_state(inbox: FolderInbox, key: Key, state: ExchangeState) -> Any:  # noqa: ANN401 - an Item or None
    item = inbox.item(key)
    return item if item.state is state else None


def test_after_a_cancel_a_reply_is_kept_and_not_sent(serving: Serving, home: Path) -> None:
    """Nothing more on stdout for that id; the draft is kept."""
    serving.say(call(4))
    (key,) = pending(home)
    inbox = FolderInbox(home)
    inbox.save(key, Draft("half an ans", TextForm.TEXT, touched=True, by="test"))
    serving.say(
        '{"jsonrpc":"2.0","method":"notifications/cancelled",'
        '"params":{"requestId":4,"reason":"too slow"}}'
    )
    item = until(lambda: _in_state(inbox, key, ExchangeState.CANCELLED), "the cancel in the inbox")
    assert item.reason == "too slow"
    assert item.draft.text == "half an ans"
    serving.type(text_answer(4))
    until(serving.complaint, "the refusal in problems.txt")
    serving.say('{"jsonrpc":"2.0","id":5,"method":"ping"}')
    serving.type('{"jsonrpc":"2.0","id":5,"result":{}}')
    assert serving.hear() == '{"jsonrpc":"2.0","id":5,"result":{}}'


def test_progress_keeps_the_client_waiting_and_stops_before_the_answer(
    home: Path,
) -> None:
    """The token with its type, strictly rising, nothing after the answer."""
    with Serving(home) as server:  # with --by-hand there is none
        server.say(call(1, _meta={"progressToken": 0}))
        steps = [json.loads(server.hear())["params"] for _ in range(2)]
        assert [step["progress"] for step in steps] == [1, 2]
        assert [step["progressToken"] for step in steps] == [0, 0]
        server.type(text_answer(1))
        assert json.loads(server.hear())["id"] == 1
        assert server.close() == (0, [])


def test_a_2026_call_is_held_before_the_clients_limit(home: Path) -> None:
    """input_required with a state; the repeat is the same exchange in the inbox."""
    with Serving(home, "--client-limit", "1") as server:
        server.say(call(1, _meta=MODERN))
        (key,) = pending(home)
        held = json.loads(server.hear())
        assert held["result"]["resultType"] == "input_required"
        frame = list(FolderInbox(home).frames(key.session))[-1]
        assert (json.loads(frame.raw), frame.by, frame.note) == (held, "humanmcp", "retry")
        FolderInbox(home).send(key, Reply("at last", TextForm.TEXT, by="test"))
        server.say(call(2, requestState=held["result"]["requestState"], _meta=MODERN))
        said = json.loads(server.hear())
        assert (said["id"], said["result"]["content"][0]["text"]) == (2, "at last")
        assert_log_is_clean(home)


def test_a_probe_process_is_no_session(home: Path, tmp_path: Path) -> None:
    """A throw-away process that only sees server/discover is not shown."""
    files = tmp_path / "desk"
    probe = json.dumps(
        {"jsonrpc": "2.0", "id": "p", "method": "server/discover", "params": {"_meta": MODERN}}
    )
    with Serving(home, "--files", str(files), "--handshake", "book") as server:
        server.send(probe)
        assert json.loads(server.hear())["result"]["supportedVersions"]
        assert FolderInbox(home).sessions() == []
        server.send(call(1))
        assert len(until(FolderInbox(home).sessions, "a session")) == 1


def test_in_txt_has_every_line_when_the_book_answers_the_probe(home: Path, tmp_path: Path) -> None:
    """The folder was given back for a moment; nothing is begun anew, nothing put aside."""
    files = tmp_path / "desk"
    probe = json.dumps(
        {"jsonrpc": "2.0", "id": "p", "method": "server/discover", "params": {"_meta": MODERN}}
    )
    flags = ("--files", str(files), "--handshake", "book", "--lang", "en")
    with Serving(home, *flags) as server:
        server.send(probe)
        server.hear()
        server.send(call(1, _meta=MODERN))
        pending(home)
        lines = f"{probe}\n{call(1, _meta=MODERN)}\n"
        until(lambda: (files / "in.txt").read_text() == lines, "both lines")
        until(lambda: "line 2" in (files / "status.txt").read_text(), "the status")
        status = (files / "status.txt").read_text()
    assert "Protocol version: 2026-07-28." in status
    assert 'line 1: server/discover (id "p"): answered by the answer book' in status
    assert sorted(path.name for path in files.glob("in*.txt")) == ["in.txt"]


def test_a_probe_that_nobody_answers_leaves_the_files_as_they_are(
    home: Path, tmp_path: Path
) -> None:
    """The handshake follows in the same process: what stands in `out.txt` stays the person's."""
    files = tmp_path / "desk"
    probe = json.dumps(
        {"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {"_meta": MODERN}}
    )
    home.mkdir(mode=0o700)
    ClientSeconds(home, records.GRACE).put("test", 0.3)
    with Serving(home, "--files", str(files)) as server:
        until((files / "in.txt").exists, "the files")
        server.send(probe)
        until(lambda: (files / "in.txt").read_text() == f"{probe}\n", "the probe to be read")
        assert json.loads(server.hear())["error"]["code"] == -32601
        (files / "out.txt").write_text(text_answer(1))
        server.send(INITIALIZE)
        until(lambda: (files / "in.txt").read_text() == f"{probe}\n{INITIALIZE}\n", "the handshake")
        until(lambda: "serverInfo" in (files / "problems.txt").read_text(), "the text to be judged")
        assert (files / "out.txt").read_text() == text_answer(1)
        assert not list(files.glob("out.before*"))


def test_a_version_that_there_is_not_is_named(home: Path) -> None:
    """And those that there are."""
    with Serving(home, "--versions", "2024-11-05,2025-1-1", "--lang", "en") as server:
        assert server.process.wait(timeout=PATIENCE) != 0
        words = server.last_words()
    assert "2025-1-1" in words
    assert "2025-11-25" in words


def test_fifty_requests_of_five_sessions_wait_side_by_side(home: Path) -> None:
    """A new request puts none out of the way; each answer goes to its own client, once."""
    with contextlib.ExitStack() as started:
        servers = [started.enter_context(Serving(home, "--by-hand")) for _ in range(5)]
        for round_ in range(10):
            for number, server in enumerate(servers):
                server.send(call(f"{number}-{round_}"))
        keys = pending(home, 50)
        random.Random(14).shuffle(keys)
        inbox = FolderInbox(home)
        for key in keys:
            inbox.send(key, Reply(f"for {inbox.item(key).id}", TextForm.TEXT, by="test"))
        for number, server in enumerate(servers):
            heard = [json.loads(server.hear()) for _ in range(10)]
            assert {one["id"] for one in heard} == {f"{number}-{round_}" for round_ in range(10)}
            for one in heard:
                assert one["result"]["content"][0]["text"] == f'for "{one["id"]}"'
            assert server.close() == (0, [])
        pending(home, 0)
        assert_log_is_clean(home)


# -- what a person says first --------------------------------------------------------------------


def test_a_person_may_speak_first_from_a_file_and_from_a_desk(serving: Serving, home: Path) -> None:
    """Issue: out.txt also takes a notification or a request where the version allows one."""
    serving.say(INITIALIZE.replace('"capabilities": {}', '"capabilities": {"roots": {}}'))
    definition = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "s", "version": "1"},
    }
    serving.type(json.dumps({"jsonrpc": "2.0", "id": 1, "result": definition}))
    serving.hear()
    serving.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
    serving.type(changed)
    assert serving.hear() == changed
    (session,) = FolderInbox(home).sessions()
    inbox = FolderInbox(home)
    asked = '{"jsonrpc":"2.0","id":"h-1","method":"roots/list"}'
    ticket = inbox.submit(session.name, Reply(asked, by="test"))
    assert serving.hear() == asked
    until(
        lambda: inbox.outgoing_result(session.name, ticket) == OutgoingResult(),
        "the saying to be settled",
    )
    wrong = inbox.submit(session.name, Reply('{"jsonrpc":"2.0","method":"tools/call"}', by="test"))
    refusal = until(lambda: inbox.outgoing_result(session.name, wrong), "the refusal")
    assert not refusal.sent
    frames = list(inbox.frames(session.name))
    assert (frames[-1].raw.decode(), frames[-1].note) == (asked, "")


def test_a_broken_line_is_said_first_when_it_is_meant(serving: Serving, home: Path) -> None:
    """Send anyway, unasked: explicit, and recorded as deliberate."""
    serving.say(INITIALIZE)
    inbox = FolderInbox(home)
    (session,) = until(inbox.sessions, "the session")
    broken = '{"jsonrpc":"2.0","method":"tools/call"}'
    ticket = inbox.submit(session.name, Reply(broken, anyway=True, by="test"))
    assert serving.hear() == broken
    until(
        lambda: inbox.outgoing_result(session.name, ticket) == OutgoingResult(),
        "the saying to be settled",
    )
    frame = list(inbox.frames(session.name))[-1]
    assert (frame.raw.decode(), frame.note, frame.by) == (broken, "deliberate", "test")


def test_an_unreadable_line_may_be_answered_deliberately_and_never_is_otherwise(
    serving: Serving, home: Path
) -> None:
    """Replying by itself causes storms."""
    for line in (b"hello", b"\xff\xfe", b"[1,2]", b"{}", b'{"id":true,"method":"x"}'):
        serving.say(line)
    serving.say('{"jsonrpc":"2.0","id":5,"method":"ping"}')
    serving.type('{"jsonrpc":"2.0","id":5,"result":{}}')
    assert serving.hear() == '{"jsonrpc":"2.0","id":5,"result":{}}'
    error = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'
    serving.type(error)
    assert serving.hear() == error
    (session,) = FolderInbox(home).sessions()
    assert b"hello" in {frame.raw for frame in FolderInbox(home).frames(session.name)}


# -- the bell -------------------------------------------------------------------------------------

RARELY: Final = """
from humanmcp.inbox import attendant
attendant.SLOW = 3600.0
from humanmcp.cli import main
main()
"""
"""A server that looks once an hour unless somebody rings."""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_whatever_a_desk_sends_wakes_a_server_that_looks_once_an_hour(home: Path) -> None:
    """A reply that is refused, one that passes, and a saying while nothing waits."""
    with Serving(home, "--by-hand", command=(sys.executable, "-c", RARELY, "serve")) as server:
        server.say(call(1))
        (key,) = pending(home)
        inbox = FolderInbox(home)
        inbox.send(key, Reply('{"content":"sunny"}', TextForm.RESULT, by="test"))
        given_back(inbox, key)
        inbox.send(key, Reply("sunny", TextForm.TEXT, by="test"))
        assert json.loads(server.hear())["result"]["content"][0]["text"] == "sunny"
        params = '{"level":"info","data":"x"}'
        log = f'{{"jsonrpc":"2.0","method":"notifications/message","params":{params}}}'
        inbox.submit(key.session, Reply(log, by="test"))
        assert server.hear() == log


SELDOM: Final = RARELY.replace("SLOW =", "QUICK = attendant.SLOW =", 1)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system may tell of it late")
def test_a_saved_text_wakes_a_server_that_looks_once_an_hour(home: Path, tmp_path: Path) -> None:
    """In a folder that a person asked for; each time, and however long nothing happened."""
    texts, command = tmp_path / "texts", (sys.executable, "-c", SELDOM, "serve")
    with Serving(home, "--by-hand", "--files", str(texts), command=command) as server:
        for number in (1, 2):
            line = call(number)
            server.send(line)
            in_txt = texts / "in.txt"
            until(lambda: in_txt.exists() and line in in_txt.read_text("utf-8"), "it is in in.txt")  # noqa: B023
            (texts / "out.txt").write_text(text_answer(number), encoding="utf-8")
            assert json.loads(server.hear())["id"] == number


def test_what_nobody_rang_for_is_found_all_the_same(serving: Serving, home: Path) -> None:
    """A bell that somebody removed; a drive whose other side is another machine."""
    serving.say(call(1))
    (key,) = pending(home)
    (serving.session / "bell").unlink(missing_ok=True)
    FolderInbox(home).send(key, Reply("sunny", TextForm.TEXT, by="test"))
    assert json.loads(serving.hear())["id"] == 1


WRONG_ANSWER: Final = """
[[tools]]
name = "get"
inputSchema = {type = "object"}
[[rules]]
tool = "get"
result = {content = "no list"}
"""


def test_an_answer_of_a_rule_that_cannot_be_sent_is_an_error_for_the_client(
    tmp_path: Path,
) -> None:
    """With `--otherwise error` nobody is there who could answer instead."""
    book = tmp_path / "book.toml"
    book.write_text(WRONG_ANSWER)
    with Serving(tmp_path / "home", "--book", str(book), "--otherwise", "error") as server:
        server.send('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get"}}')
        error = json.loads(server.hear())["error"]
    assert error["code"] == -32603
    assert error["message"].startswith("The answer of the book: rule 1 cannot be sent. ")
    assert "content" in error["message"]


@pytest.mark.parametrize(
    ("flags", "waits"),
    [
        (("--auto", "--book", "BOOK"), False),
        (("--auto", "--book", "BOOK", "--otherwise", "hand"), True),
        (("--auto", "--book", "BOOK", "--approvals"), True),
        (("--auto",), True),
        (("--book", "BOOK"), True),
        (("--book", "BOOK", "--otherwise", "error"), False),
    ],
)
def test_a_call_that_no_rule_answers_waits_only_where_somebody_may_be_there(
    home: Path, tmp_path: Path, flags: tuple[str, ...], *, waits: bool
) -> None:
    """`--auto --book` is for nobody: a call that waited there would wait for ever."""
    book = tmp_path / "book.toml"
    book.write_text('[[rules]]\ntool = "a"\ntext = "b"\n')
    words = [str(book) if one == "BOOK" else one for one in flags]
    with Serving(home, *words) as server:
        server.say(call(1, name="other"))
        if waits:
            inbox = FolderInbox(home)
            until(lambda: [i for one in inbox.sessions() for i in inbox.items(one.name)], "it")
        else:
            assert "No rule of the answer book" in json.loads(server.hear())["error"]["message"]

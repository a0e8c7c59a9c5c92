"""The server process in trouble: full disks, terminals, twins, bare systems, and what it logs."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from humanmcp import launch
from humanmcp.cli import commands
from humanmcp.inbox import records
from humanmcp.inbox.client_seconds import ClientSeconds
from humanmcp.inbox.contract import Key, OutgoingResult, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.inbox.life_lock import is_held
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import from_json
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import Message, read
from tests.support.desktop import SCREEN, Desktop
from tests.support.full_disk import empty, fill
from tests.support.serve_process import (
    COMMAND,
    PASSED_ON,
    Serving,
    bare_environment,
    given_back,
    pending,
)
from tests.support.waiting import PATIENCE, until

INVALID: Final = '{"jsonrpc":"2.0","id":77,"error":{"code":-32600,"message":"Invalid Request"}}'


def call(number: int, text: str = "") -> str:
    """Write a tool call."""
    params = {"name": "t", "arguments": {"text": text}}
    return json.dumps(
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params},
        ensure_ascii=False,
    )


def answer(number: int, text: str = "sunny") -> str:
    """Write an answer to it."""
    result = {"content": [{"type": "text", "text": text}]}
    body = {"jsonrpc": "2.0", "id": number, "result": result}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


@pytest.fixture
def serving(home: Path) -> Iterator[Serving]:
    """Start a server that answers nothing by itself."""
    with Serving(home, "--by-hand") as server:
        yield server


# -- a full disk --------------------------------------------------------------------


def test_what_a_full_disk_does_not_take_the_client_is_told(serving: Serving, home: Path) -> None:
    """-32603 instead of silence, nothing half-written, and the session goes on."""
    serving.say(call(1))
    pending(home, 1)
    fill(serving.process, 4096)
    serving.send(call(2, "x" * 5000))
    assert json.loads(serving.hear())["error"]["code"] == -32603
    empty(serving.process)
    serving.send(call(3))
    pending(home, 2)
    serving.type(answer(1) + "\n" + answer(3))
    assert [json.loads(serving.hear())["id"] for _ in "13"] == [1, 3]
    lines = (serving.session / "transcript.jsonl").read_bytes().splitlines()
    assert [from_json(line.decode()).number for line in lines] == [1, 2, 3, 1, 3]
    assert serving.session.joinpath("in.txt").read_text() == f"{call(1)}\n{call(3)}\n"
    assert serving.close() == (0, [])


def test_a_refused_reply_comes_back_when_there_is_room_again(serving: Serving, home: Path) -> None:
    """Who sent it learns why, late instead of never."""
    serving.say(call(1))
    (key,) = pending(home, 1)
    inbox = FolderInbox(home)
    fill(serving.process, 0)
    inbox.send(key, Reply('{"content":"sunny"}', TextForm.RESULT, by="test"))
    until(lambda: inbox.item(key).reply is not None, "the reply in the inbox")
    serving.send('{"jsonrpc":"2.0","id":9,"method":"ping"}')
    assert json.loads(serving.hear())["error"]["code"] == -32603  # the reply was looked at before
    assert not inbox.item(key).diagnostics
    empty(serving.process)
    given_back(inbox, key)
    inbox.send(key, Reply("sunny", TextForm.TEXT, by="test"))
    assert json.loads(serving.hear())["result"]["content"][0]["text"] == "sunny"


def test_what_a_person_says_first_goes_out_once_on_a_full_disk(
    serving: Serving, home: Path
) -> None:
    """Not again and again until the disk has room to note that it was said."""
    serving.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    inbox = FolderInbox(home)
    (session,) = until(inbox.sessions, "the session")
    fill(serving.process, 0)
    log = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}'
    ticket = inbox.submit(session.name, Reply(log, by="test"))
    assert serving.hear() == log
    for number in (8, 9):  # two turns of the loop
        serving.send(f'{{"jsonrpc":"2.0","id":{number},"method":"ping"}}')
        assert json.loads(serving.hear())["id"] == number
    empty(serving.process)
    until(
        lambda: inbox.outgoing_result(session.name, ticket) == OutgoingResult(),
        "the saying to be settled",
    )
    assert serving.close() == (0, [])


def test_a_cancel_counts_even_if_it_cannot_be_written_down(serving: Serving, home: Path) -> None:
    """The client waits no longer, whatever our disk says."""
    serving.say(call(1))
    (key,) = pending(home, 1)
    fill(serving.process, 0)
    serving.send(
        '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
    )
    serving.send('{"jsonrpc":"2.0","id":9,"method":"ping"}')
    assert json.loads(serving.hear())["id"] == 9
    empty(serving.process)
    until(
        lambda: FolderInbox(home).item(key).state is ExchangeState.CANCELLED,
        "the cancel in the inbox",
    )


def test_a_log_that_cannot_be_written_does_not_flood_stderr(serving: Serving) -> None:
    """Hosts that never read stderr hang a server that writes 4,000 bytes to it."""
    serving.say(call(1))
    pending(serving.home, 1)
    fill(serving.process, 0)
    for number in range(50):
        serving.send(call(number + 2))
        serving.hear()
    assert serving.close() == (0, [])
    assert serving.process.stderr is not None
    assert len(serving.process.stderr.read()) <= 2048


# -- what is logged -----------------------------------------------------------------


def test_the_log_holds_nothing_that_was_said(home: Path) -> None:
    """Issue: contents stand in the inbox, which is private; a log is sent to strangers."""
    secret = "geheim-4711"
    with Serving(home, "--by-hand") as server:
        lines = (
            call(1, secret),
            f'{{"jsonrpc":"2.0","id":"{secret}","method":"{secret}"}}',
            secret,
            f'{{"jsonrpc":"2.0","id":3,"{secret}":1}}',
            f'{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":"{secret}"}}}}',
        )
        for line in lines:
            server.say(line)
        server.type(f'{{"result":"{secret}"')
        until(server.complaint, "the refusal")
        key = pending(home, 1)[0]
        inbox = FolderInbox(home)
        inbox.send(key, Reply(f'{{"content":"{secret}"}}', TextForm.RESULT, by=secret))
        until(lambda: inbox.item(key).diagnostics, "the refusal of the desk's reply")
        fill(server.process, 0)
        server.send(call(5, secret))
        server.hear()
        empty(server.process)
        assert server.close() == (0, [])
        assert server.process.stderr is not None
        assert secret.encode() not in server.process.stderr.read()
    assert secret not in (home / "humanmcp.log").read_text(encoding="utf-8")


# -- at a terminal ------------------------------------------------------------------


def at_terminal(*command: str, folder: Path, typed: bytes = b"", after: str = "") -> str:
    """Run a program at a terminal, type something once it said `after`; return what it printed."""
    ours, theirs = pty.openpty()
    shown = b""
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=bare_environment(folder)
    ) as child:
        os.close(theirs)
        waiting = select.poll()  # of any descriptor, however many the worker has open
        waiting.register(ours, select.POLLIN)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if not waiting.poll(100):
                continue
            try:
                shown += os.read(ours, 65536)
            except OSError:  # Linux: the other end is closed
                break
            if typed and after.encode() in shown:
                os.write(ours, typed)
                typed = b""
        os.close(ours)
        assert child.wait(timeout=PATIENCE) == 0
    return shown.decode()


def test_alone_at_a_terminal_it_explains_itself_and_ends(tmp_path: Path) -> None:
    """Issue: `humanmcp` on a terminal never hangs silently."""
    said = at_terminal(sys.executable, "-m", "humanmcp", folder=tmp_path)
    assert ("humanmcp demo" in said) == ("demo" in commands())
    assert not (tmp_path / ".humanmcp").exists()


def test_serve_at_a_terminal_says_who_it_listens_to(home: Path, tmp_path: Path) -> None:
    """Issue: and Ctrl-D, the end of input there, ends it."""
    said = at_terminal(
        *COMMAND, "--home", str(home), folder=tmp_path, typed=b"\x04", after="Ctrl-D"
    )
    assert ("humanmcp demo" in said) == ("demo" in commands())


# -- one id, one answer -------------------------------------------------------------


def test_of_two_open_requests_with_one_id_one_is_answered(serving: Serving, home: Path) -> None:
    """Two items, one answer on the wire; the other item says why it ended."""
    serving.say(call(8, "a"))
    serving.say(call(8, "b"))
    first, second = sorted(pending(home, 2), key=lambda key: key.number)
    inbox = FolderInbox(home)
    inbox.send(second, Reply("sunny", TextForm.TEXT, by="test"))
    assert json.loads(serving.hear())["id"] == 8
    ended = until(lambda: _ended(inbox, first), "the other one to end")
    assert (ended.state, ended.reason) == (ExchangeState.ABANDONED, "twin")
    serving.type(answer(8, "late"))
    assert "already has an answer" in until(serving.complaint, "the refusal")
    assert serving.close() == (0, [])


def _ended(inbox: FolderInbox, key: Key):  # type: ignore[no-untyped-def]  # noqa: ANN202 - an Item or None
    item = inbox.item(key)
    return None if item.state is ExchangeState.PENDING else item


def test_nothing_answers_by_itself_under_an_id_that_is_open(home: Path) -> None:
    """A ping with the id of a waiting call would take its answer's place."""
    with Serving(home) as server:
        server.say(call(5))
        server.say('{"jsonrpc":"2.0","id":5,"method":"ping"}')
        pending(home, 2)
        server.say('{"jsonrpc":"2.0","id":6,"method":"ping"}')
        assert json.loads(server.hear())["id"] == 6


# -- lines that are no messages -----------------------------------------------------


def test_an_invalid_request_is_answered_by_a_person_only(serving: Serving, home: Path) -> None:
    """Nothing by itself; -32600 with the readable id from out.txt, once."""
    serving.say('{"jsonrpc":"2.0","id":77,"method":5}')
    serving.say(call(1))
    serving.type(INVALID)
    assert serving.hear() == INVALID
    until(serving.taken, "the first one is put away")
    serving.type(INVALID)
    until(serving.complaint, "the refusal of a second one")
    assert len(pending(home, 1)) == 1
    assert serving.close() == (0, [])


def test_a_parse_error_is_sent_while_a_request_waits(serving: Serving, home: Path) -> None:
    """-32700 with id null is no answer to the request that happens to wait."""
    serving.say("hello")
    serving.say(call(1))
    error = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'
    serving.type(error)
    assert serving.hear() == error
    assert len(pending(home, 1)) == 1


# -- several at once ----------------------------------------------------------------


@pytest.mark.extension("text_files")
def test_ten_hosts_start_the_same_server_at_once(home: Path, tmp_path: Path) -> None:
    """Ten sessions, ten folders of text files, each line in its own."""
    files = tmp_path / "desk"
    servers: list[Serving] = []
    start = threading.Barrier(10)

    def begin() -> None:
        start.wait()
        servers.append(Serving(home, "--by-hand", "--files", str(files)))

    threads = [threading.Thread(target=begin) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        for number, server in enumerate(servers):
            server.send(call(number))
        pending(home, 10)
        lines = {file.read_text() for file in tmp_path.glob("desk*/in.txt")}
        assert lines == {f"{call(number)}\n" for number in range(10)}
        for out in sorted(tmp_path.glob("desk*/in.txt")):
            number = json.loads(out.read_text())["id"]
            out.with_name("out.txt").write_text(answer(number))
        for number, server in enumerate(servers):
            assert json.loads(server.hear())["id"] == number
    finally:
        for server in servers:
            server.__exit__(None, None, None)


@pytest.mark.parametrize("handshake", ["book", "hand"])
def test_a_probe_leaves_the_text_files_to_the_session_after_it(
    handshake: str, home: Path, tmp_path: Path
) -> None:
    """A client that probes in a process of its own, then starts another one."""
    files = tmp_path / "desk"
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "prober", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    flags = ("--files", str(files), "--handshake", handshake)
    probe = {"jsonrpc": "2.0", "id": "p", "method": "server/discover", "params": {"_meta": meta}}
    home.mkdir(mode=0o700)
    ClientSeconds(home, records.GRACE).put("prober", 0.2)
    with Serving(home, *flags) as first:
        first.send(json.dumps(probe))
        first.hear()
        with Serving(home, *flags) as second:
            second.send(call(1))
            until(lambda: call(1) in (files / "in.txt").read_text(), "the call in the first folder")
            (files / "out.txt").write_text(answer(1))
            assert second.hear() == answer(1)
            assert first.close() == (0, [])
            assert (files / "in.txt").read_text() == f"{call(1)}\n"


# -- the check itself ----------------------------------------------------------------


# A server in which taking the answer that says "strange" fails in a way that nobody thought of.
FAULTY: Final = """
from humanmcp.protocol.session import McpSession
reply = McpSession.reply
def failing(self, number, text, *rest, **named):
    if "strange" in text:
        raise LookupError("the moon")
    return reply(self, number, text, *rest, **named)
McpSession.reply = failing
import sys
from humanmcp.cli import main
sys.exit(main())
"""


def test_a_fault_while_an_answer_is_taken_is_told_where_it_was_typed(
    home: Path, tmp_path: Path
) -> None:
    """In out.txt and from a desk; what is typed afterwards is read and sent."""
    files = tmp_path / "desk"
    command = (sys.executable, "-c", FAULTY, "serve")
    with Serving(home, "--files", str(files), "--by-hand", command=command) as server:
        server.send(call(1))
        server.send(call(2))
        first, second = pending(home, 2)
        (files / "out.txt").write_text(answer(1, "strange"))
        until(lambda: "the moon" in (files / "problems.txt").read_text(), "the fault in words")
        (files / "out.txt").write_text(answer(1))
        assert server.hear() == answer(1)
        inbox = FolderInbox(home)
        inbox.send(second, Reply(answer(2, "strange")))
        given_back(inbox, second)
        inbox.send(second, Reply(answer(2)))
        assert server.hear() == answer(2)
        assert first != second


# -- bare systems -------------------------------------------------------------------


@pytest.mark.extension("text_files")
def test_japanese_passes_on_a_system_that_knows_only_ascii(home: Path, tmp_path: Path) -> None:
    """No LANG, no UTF-8 mode, as hosts start their servers."""
    environment = {**bare_environment(tmp_path), "LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0"}
    command = (sys.executable, "-X", "utf8=0", "-m", "humanmcp", "serve", "--by-hand", "--lang=ja")
    with subprocess.Popen(
        [*command, "--home", str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(call(1, "大阪").encode() + b"\n")
        child.stdin.flush()
        (key,) = pending(home, 1)
        out = home / "sessions" / key.session / "out.txt"
        out.write_bytes(b'{"result":{"content":"x"}}')
        diagnostics = out.with_name("problems.txt")
        until(diagnostics.read_bytes, "the problems")
        assert "送っていません" in diagnostics.read_text(encoding="utf-8")
        out.write_bytes(answer(1, "大阪").encode())
        assert child.stdout.readline() == answer(1, "大阪").encode() + b"\n"
        assert "大阪" in out.with_name("in.txt").read_text(encoding="utf-8")
        child.stdin.close()
        assert child.wait(timeout=PATIENCE) == 0


WITHOUT_POSIX: Final = """
import os, sys, types
import argparse, asyncio, ctypes, http.client, jsonschema_rs, logging.handlers, multiprocessing
import shutil, signal, socket, subprocess, tempfile, urllib.request, uvicorn, webbrowser
import uvicorn.protocols.http.h11_impl
sys.modules["msvcrt"] = types.ModuleType("msvcrt")
sys.modules.update(dict.fromkeys(("fcntl", "termios", "tty", "pty", "resource", "grp", "pwd")))
sys.platform, os.name = "win32", os.name
for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_CLOEXEC", "getuid", "fork", "getppid",
             "fchmod", "mkfifo", "set_blocking"):
    if hasattr(os, name):
        delattr(os, name)
os.supports_dir_fd.clear()
for name in ("SIGHUP", "SIGALRM", "pthread_sigmask"):
    if hasattr(signal, name):
        delattr(signal, name)
import importlib, pkgutil
import humanmcp.protocol, humanmcp.inbox, humanmcp.server, humanmcp.terminal, humanmcp.setup
for room in (humanmcp.protocol, humanmcp.inbox, humanmcp.server, humanmcp.terminal,
             humanmcp.setup):
    for found in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
        importlib.import_module(found.name)
import humanmcp.cli
"""


def test_every_module_is_imported_where_windows_lacks_something(tmp_path: Path) -> None:
    """No fcntl, no O_NOFOLLOW, no SIGHUP, no folder descriptors."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_POSIX],
        env=bare_environment(tmp_path) | {"PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


HOST: Final = """
import json, subprocess, sys
words, few = json.loads(sys.argv[1])
subprocess.run(words, env=few, check=True)
"""
"""A host at a desktop, which starts its server with few variables."""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc")
def test_the_page_is_opened_beside_the_server_on_the_desktop_of_the_host(
    home: Path, tmp_path: Path
) -> None:
    """The server answers at once; stdout holds messages only, and stderr no key."""
    desktop = Desktop(tmp_path / "desktop")
    few = {name: desktop.environment[name] for name in PASSED_ON if name in desktop.environment}
    words = [*COMMAND, "--home", str(home), "--open", "--lang", "en"]
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, json.dumps([words, few])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=desktop.environment,
    )
    assert host.stdin is not None
    host.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    host.stdin.flush()
    until(desktop.lines, "the opened page")
    out, err = host.communicate(timeout=PATIENCE)
    message = read(out.removesuffix(b"\n"))
    assert isinstance(message, Message)
    assert message.body["result"] == {}
    facts = launch.find(home)
    assert facts is not None  # it outlives the server
    page = (home / launch.OPEN_NAME).as_uri()
    assert desktop.lines() == [f"{' '.join(SCREEN.values())} {page}"]
    assert facts.address.encode() in err
    assert b"Your browser opens the page." in err
    assert b"#k=" not in err
    os.kill(facts.pid, signal.SIGTERM)
    until(lambda: not is_held(home / launch.LOCK_NAME), "its end")


# -- a client that asks too much ------------------------------------------------------


ASKED_TOO_MUCH: Final = """
import sys
from humanmcp.cli import main
from humanmcp.server import exchanges
exchanges.MOST_WAITING = 3
sys.exit(main(sys.argv[1:]))
"""


def test_of_a_flood_only_so_many_wait_and_the_others_are_told(home: Path) -> None:
    """-32603 for what is too much; whoever waits goes on waiting, and then there is room."""
    command = (sys.executable, "-c", ASKED_TOO_MUCH, "serve")
    with Serving(home, "--by-hand", command=command) as server:
        for number in range(1, 6):
            server.say(call(number))
        refused = [json.loads(server.hear()) for _ in "45"]
        assert [one["id"] for one in refused] == [4, 5]
        assert {one["error"]["code"] for one in refused} == {-32603}
        assert "3 requests waiting" in refused[0]["error"]["message"]
        pending(home, 3)
        server.type(answer(2))
        assert json.loads(server.hear())["id"] == 2
        server.say(call(6))
        assert [key.number for key in pending(home, 3)] == [1, 3, 6]
        assert server.close() == (0, [])


# -- a client that does not read ------------------------------------------------------


READS_NOTHING: Final = """
import sys
from humanmcp.cli import main
from humanmcp.server import session
session.STUCK_AFTER = 0.02
sys.exit(main(sys.argv[1:]))
"""
"""A server that loses its patience with such a client sooner than others do."""


def test_people_are_told_that_the_client_reads_nothing(home: Path) -> None:
    """The answer stands in the pipe; it is no longer said once the client reads."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", READS_NOTHING, "serve", "--by-hand", "--home", str(home)]
    environment = bare_environment(home.parent)
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(call(1).encode() + b"\n")
        server.stdin.flush()
        (key,) = pending(home, 1)
        inbox = FolderInbox(home)
        assert not inbox.facts(key.session).stuck
        text = answer(1, "x" * (1 << 20))
        inbox.send(key, Reply(text, by="test"))
        until(lambda: inbox.facts(key.session).stuck, "it is said that the client does not read")
        shown = subprocess.run(
            [*COMMAND[:-1], "show", "--home", str(home), "1"],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        assert "when the client reads again" in shown.stdout
        assert server.stdout.readline() == text.encode() + b"\n"
        until(lambda: not inbox.facts(key.session).stuck, "it is no longer said")
        server.stdin.close()
        assert server.wait(PATIENCE) == 0


def test_what_a_client_did_not_take_before_the_end_is_in_the_log(home: Path) -> None:
    """Dropped with a record; the transcript has the line. It was not delivered; it is kept."""
    pipe = subprocess.PIPE
    command = [*COMMAND, "--home", str(home), "--by-hand"]
    environment = bare_environment(home.parent)
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment) as server:
        assert server.stdin is not None
        server.stdin.write(call(1).encode() + b"\n")
        server.stdin.flush()
        (key,) = pending(home, 1)
        inbox = FolderInbox(home)
        inbox.send(key, Reply(answer(1, "x" * (1 << 20)), by="test"))
        until(lambda: [one for one in inbox.frames(key.session) if one.by == "test"], "recorded")
        server.stdin.close()
        assert server.wait(PATIENCE) == 0
    log = home.joinpath("humanmcp.log").read_text(encoding="utf-8")
    assert re.search(r"the client did not take the last \d{6} bytes", log)
    item = inbox.item(key)
    assert (item.state, item.answer) == (ExchangeState.ABANDONED, None)
    assert item.reply is not None

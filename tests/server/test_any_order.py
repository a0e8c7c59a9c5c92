"""Any bytes, any order, any moment: what must hold whatever happens."""

import contextlib
import json
import random
import subprocess
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from humanmcp.inbox.contract import InboxError, Key, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import Message, read
from tests.support.serve_process import COMMAND, Serving, bare_environment
from tests.support.waiting import until

SLOW: Final = [HealthCheck.too_slow]

_messages = st.sampled_from(
    [
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x"}}',
        b'{"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}',
        b'{"jsonrpc":"2.0","id":3,"method":"server/discover","params":{"_meta":{}}}',
        b'{"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":{"notifications":7}}',
        b'{"jsonrpc":"2.0","id":5,"result":{}}',
        b'[{"jsonrpc":"2.0","id":6,"method":"ping"}]',
        b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":[1]}}',
        b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"_meta":{"progressToken":{}}}}',
        b"[" * 200,
        b"\xef\xbb\xbf",
        b"",
    ]
)
_lines = st.lists(st.binary(max_size=80) | _messages, max_size=12)


@settings(max_examples=25, deadline=None, suppress_health_check=SLOW)
@given(_lines, st.sampled_from(["--auto", "--by-hand", "--lang=ja"]), st.sampled_from([b"", b"\n"]))
def test_any_bytes_on_stdin_leave_only_whole_checked_lines_on_stdout(
    lines: list[bytes], flag: str, end: bytes
) -> None:
    """No crash, no hang, status 0, and each line out is one message."""
    with TemporaryDirectory() as folder:
        home = Path(folder) / "inbox"
        done = subprocess.run(
            [*COMMAND, "--home", str(home), flag],
            input=b"\n".join(lines) + end,
            env=bare_environment(Path(folder)),
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in (home / "humanmcp.log").read_text(encoding="utf-8")
    assert done.stdout == b"" or done.stdout.endswith(b"\n")
    for line in done.stdout.split(b"\n")[:-1]:
        assert isinstance(read(line), Message), line


@pytest.mark.extension("text_files")
@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(st.lists(st.binary(max_size=120) | _messages, min_size=1, max_size=6))
def test_any_bytes_in_out_txt_are_never_sent_unless_they_pass(texts: list[bytes]) -> None:
    """Any bytes saved in out.txt: no crash, no hang; the request stays answerable.

    What is sent is a whole message, such as a ping of the person's own that the bytes happen to be.
    """
    server = _Shared.server()
    out = server.session / "out.txt"
    for text in texts:
        out.write_bytes(text)
    number = _Shared.next_number()
    server.say(f'{{"jsonrpc":"2.0","id":"q{number}","method":"tools/call","params":{{}}}}')
    answer = f'{{"jsonrpc":"2.0","id":"q{number}","result":{{"content":[]}}}}'

    def answered() -> bool:
        out.write_text(answer, encoding="utf-8")  # an editor saves again until it is taken
        with contextlib.suppress(AssertionError):
            heard.append(server.hear(within=0.3))
        return answer in heard

    heard: list[str] = []
    until(answered, "the answer")
    assert all(isinstance(read(line.encode()), Message) for line in heard)
    assert server.process.poll() is None


class _Shared:
    """One server for all examples of a property: a process for each would take minutes."""

    _folder: TemporaryDirectory[str] | None = None
    _server: Serving | None = None
    _count = 0

    @classmethod
    def server(cls) -> Serving:
        """Return the server, started when it is first wanted."""
        if cls._server is None:
            cls._folder = TemporaryDirectory()
            cls._server = Serving(Path(cls._folder.name) / "inbox", "--by-hand")
        return cls._server

    @classmethod
    def next_number(cls) -> int:
        """Return a number that no request has had."""
        cls._count += 1
        return cls._count

    @classmethod
    def end(cls) -> None:
        """End the process and remove its folder."""
        if cls._server is not None and cls._folder is not None:
            log = (cls._server.home / "humanmcp.log").read_text(encoding="utf-8")
            cls._server.__exit__(None, None, None)
            cls._folder.cleanup()
            cls._server = cls._folder = None
            assert "Traceback" not in log, log


@pytest.fixture(scope="module", autouse=True)
def _end_of_the_shared_server() -> object:
    """End the shared server after the last test of this module."""
    yield
    _Shared.end()


@pytest.mark.parametrize("seed", range(12))
def test_a_kill_at_any_moment_loses_nothing_that_was_acknowledged(
    seed: int, tmp_path: Path
) -> None:
    """Kill -9 at a random moment, then read the folder.

    What the desk saw arrive is there, each reply whose `send` returned is there with its text, each
    line that the client got is in the transcript, and no id was answered twice.
    """
    chance = random.Random(seed)
    home = tmp_path / "inbox"
    sent: dict[Key, str] = {}
    seen: set[Key] = set()
    with Serving(home, "--by-hand") as server:
        asked = chance.randrange(5, 40)
        gone = threading.Event()
        desk = threading.Thread(
            target=_answer_everything, args=(home, sent, seen, gone), daemon=True
        )
        desk.start()
        for number in range(asked):
            request = f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{}}}}'
            server.send(request)
        wanted = chance.randrange(asked)
        until(lambda: len(sent) >= wanted, f"{wanted} replies")
        server.process.kill()
        server.process.wait()
        gone.set()
        desk.join(timeout=20)
        assert not desk.is_alive()
        heard = []
        with contextlib.suppress(AssertionError):
            while True:
                heard.append(server.hear(within=0.1))
    ids = [json.loads(line)["id"] for line in heard]
    assert len(ids) == len(set(ids))
    inbox = FolderInbox(home)
    (session,) = home.glob("sessions/*")
    recorded = {frame.raw.decode() for frame in inbox.frames(session.name)}
    assert set(heard) <= recorded
    for key in seen:
        assert inbox.item(key).line in recorded
    for key, text in sent.items():
        item = inbox.item(key)
        kept = [one.text for one in (item.reply, item.draft, *item.kept) if one is not None]
        assert text in kept or (item.answer is not None and text in item.answer.line), key
        assert item.state in (ExchangeState.PENDING, ExchangeState.ANSWERED)


def _answer_everything(
    home: Path, sent: dict[Key, str], seen: set[Key], gone: threading.Event
) -> None:
    """Be a desk: answer what waits, until the session's process is gone, and once after that."""
    inbox = FolderInbox(home)
    over = False
    while not over:
        over = gone.wait(0.002)
        for facts in inbox.sessions():
            for item in inbox.items(facts.name):
                seen.add(item.key)
                if item.key in sent:
                    continue
                text = f"answer {item.key.number}"
                with contextlib.suppress(InboxError):
                    inbox.send(item.key, Reply(text, TextForm.TEXT, by="test"))
                    sent[item.key] = text

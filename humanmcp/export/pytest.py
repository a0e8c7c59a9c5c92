"""The session as a test: the recorded requests are asked again of a real server, and compared.

The file that is written needs Python and pytest, and nothing of humanmcp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from humanmcp.export.source import comment, literal
from humanmcp.export.story import tell
from humanmcp.protocol.transcript import Way

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.export.manner import Manner
    from humanmcp.export.reading import Recording
    from humanmcp.export.story import Story


def write(recording: Recording, manner: Manner) -> str:
    """Write the test."""
    return "\n".join(_module(tell(recording, Way.OUT), manner)) + "\n"


def _module(story: Story, manner: Manner) -> Iterator[str]:
    yield _HEAD.format(session=comment(story.name))
    yield "# The command that starts the server. MCP_SERVER in the environment comes before it."
    yield f"SERVER: list[str] = {literal(list(manner.command))}"
    yield ""
    yield "# In order: (what the client wrote, what it was answered). No answer: a notification."
    yield f"SESSION: list[tuple[Any, Any]] = {literal(_session(story))}"
    yield ""
    yield "# What the client answered when the server asked it something, by method."
    yield f"CLIENT: dict[str, Any] = {literal(_client(story))}"
    yield _TAIL


def _session(story: Story) -> list[tuple[Any, Any]]:
    """Collect what reached the server, in order, each request with what the server answered.

    What a person at a tap changed is asked as changed; what they answered is not asked at all.
    """
    answers = {
        talk.request.frame.seq: talk.answer
        for talk in story.talks
        if talk.asked.way is Way.IN and talk.answer is not None
    }
    found: list[tuple[Any, Any]] = []
    for turn in story.seen:
        if turn.frame.way is not Way.IN or turn.message is None or turn.heard is None:
            continue
        if turn.kind == "notification":
            found.append((turn.message.body, None))
        elif (answer := answers.get(turn.frame.seq)) is not None and answer.message:
            found.append((turn.message.body, answer.message.body))
    return found


def _client(story: Story) -> dict[str, Any]:
    return {
        talk.asked.method: talk.answer.message.body
        for talk in story.talks
        if talk.asked.way is Way.OUT and talk.answer is not None and talk.answer.message
    }


_HEAD: Final = '''"""The recorded session {session}, asked again of a real server.

Run it: MCP_SERVER="command and arguments" pytest THIS_FILE.py
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shlex
import subprocess
import threading
from typing import Any

import pytest
'''

_TAIL: Final = '''
# Members that differ from run to run, wherever they stand: add what your server makes anew.
IGNORED = {"_meta", "requestState", "ttlMs"}

# Members that mean the same when they are left out.
DEFAULTS = {"isError": False}

PATIENCE = 30.0
"""Seconds that an answer may take."""


class Server:
    """The server, as a client sees it."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def say(self, message: Any) -> None:
        text = json.dumps(message, ensure_ascii=False)
        # What UTF-8 cannot hold, a lone surrogate, was an escape on the wire and is one again.
        self.process.stdin.write(text.encode("utf-8", "backslashreplace") + b"\\n")
        self.process.stdin.flush()

    def ask(self, request: Any) -> Any:
        self.say(request)
        while True:
            try:
                line = self.lines.get(timeout=PATIENCE)
            except queue.Empty:
                raise AssertionError(f"no answer within {PATIENCE:g} s to {request}") from None
            assert line is not None, f"the server ended before it answered {request}"
            if not line.strip():
                continue
            message = json.loads(line)
            if "method" in message and "id" in message:
                self.answer(message)
            elif message.get("id") == request["id"] and "method" not in message:
                return message

    def answer(self, asked: Any) -> None:
        """Answer what the server asks its client, as the client did then."""
        unknown = {"error": {"code": -32601, "message": "Method not found"}}
        answer = CLIENT.get(asked["method"], unknown)
        self.say({**answer, "jsonrpc": "2.0", "id": asked["id"]})

    def close(self) -> None:
        with contextlib.suppress(OSError):  # it has ended already
            self.process.stdin.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join()
        self.process.stdout.close()


def essence(value: Any) -> Any:
    """Leave out what differs from run to run."""
    if isinstance(value, dict):
        return {
            key: essence(part)
            for key, part in value.items()
            if key not in IGNORED and not (key in DEFAULTS and part is DEFAULTS[key])
        }
    if isinstance(value, list):
        return [essence(part) for part in value]
    return value


@pytest.fixture(scope="module")
def answers() -> Any:
    """Play the whole session once; give back the answer to each request."""
    command = shlex.split(os.environ.get("MCP_SERVER", "")) or SERVER
    if not command:
        pytest.skip("say which server: MCP_SERVER='command and arguments'")
    server = Server(command)
    found: dict[Any, Any] = {}
    try:
        for number, (message, recorded) in enumerate(SESSION):
            if recorded is None:
                server.say(message)
            else:
                found[number] = server.ask(message)
    except (AssertionError, OSError) as error:  # what was answered until then still counts
        found["end"] = f"not answered, because before that: {error}"
    finally:
        server.close()
    return found


REQUESTS = [number for number, (_message, recorded) in enumerate(SESSION) if recorded is not None]


def name_of(number: int) -> str:
    message = SESSION[number][0]
    params = message.get("params") or {}
    return f"{number} {message['method']} {params.get('name', params.get('uri', ''))}".strip()


@pytest.mark.parametrize("number", REQUESTS, ids=name_of)
def test_the_answer_is_the_recorded_one(number: int, answers: Any) -> None:
    """The same result, or the same error, but for what differs from run to run."""
    assert number in answers, answers["end"]
    recorded, answer = SESSION[number][1], answers[number]
    for member in ("result", "error"):
        assert essence(answer.get(member)) == essence(recorded.get(member))'''

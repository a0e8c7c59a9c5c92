"""The session as a test: the recorded requests are asked again of a real server, and compared.

The file that is written needs Python and pytest, and nothing of humanmcp.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from humanmcp.export.conversation import tell
from humanmcp.export.source import comment, literal
from humanmcp.protocol.conversation.transcript import Direction, command_in
from humanmcp.protocol.spec import versions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.export.conversation import Call, Conversation
    from humanmcp.export.reading import ExportOptions, Recording


def write(recording: Recording, manner: ExportOptions) -> str:
    """Write the test."""
    known = manner.command or command_in(recording.frames)
    story = tell(recording, Direction.OUT)
    return "\n".join(_module(story, replace(manner, command=known))) + "\n"


def _module(story: Conversation, manner: ExportOptions) -> Iterator[str]:
    yield _HEAD.format(session=comment(story.name))
    if manner.secrets:
        yield "# What was taken out of the recording is read from the environment. What needs a"
        yield "# variable that is not there is skipped:"
        yield from (f"#     MCP_SECRET_{name}" for name in manner.secrets)
    yield "# The command that starts the server. MCP_SERVER in the environment comes before it."
    yield f"SERVER: list[str] = {literal(list(manner.command))}"
    yield ""
    yield "# In order: (what the client wrote, what it was answered). No answer: a notification."
    yield f"SESSION: list[tuple[Any, Any]] = {literal(_session(story))}"
    yield ""
    yield "# What the client answered when the server asked it something, by method, in order."
    yield f"CLIENT: dict[str, list[Any]] = {literal(_client(story))}"
    yield _TAIL


def _session(story: Conversation) -> list[tuple[Any, Any]]:
    """Collect what reached the server, in order, each request with what the server answered.

    What a person at a tap changed is asked as changed; what they answered is not asked at all.
    """
    refused = _refused_probes(story)
    answers = {
        talk.request.frame.seq: talk.answer
        for talk in story.talks
        if talk.asked.way is Direction.IN and talk.answer is not None and talk not in refused
    }
    found: list[tuple[Any, Any]] = []
    for turn in story.seen:
        if turn.frame.way is not Direction.IN or turn.message is None or turn.heard is None:
            continue
        if turn.kind == "notification":
            found.append((turn.message.body, None))
        elif (answer := answers.get(turn.frame.seq)) is not None and answer.message:
            found.append((turn.message.body, answer.message.body))
    return found


def _refused_probes(story: Conversation) -> list[Call]:
    """List what a client asked only to find out which revision the server speaks, in vain.

    A server that has learned 2026-07-28 since would take the probe and refuse the handshake that
    follows in the recording.
    """
    return [
        talk
        for talk in story.talks
        if talk.asked.way is Direction.IN
        and talk.error is not None
        and (talk.asked.method == "server/discover" or _is_modern(talk))
        and any(later.asked.method == "initialize" for later in story.talks)
    ]


def _is_modern(talk: Call) -> bool:
    return versions.stated_in(talk.asked.request) is not None


def _client(story: Conversation) -> dict[str, list[Any]]:
    answers: dict[str, list[Any]] = {}
    for talk in story.talks:
        if talk.asked.way is Direction.OUT and talk.answer is not None and talk.answer.message:
            answers.setdefault(talk.asked.method, []).append(talk.answer.message.body)
    return answers


_HEAD: Final = '''"""The recorded session {session}, asked again of a real server.

Run it: MCP_SERVER="command and arguments" pytest THIS_FILE.py
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
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

REDACTED = re.compile(r"\\[redacted(?::([A-Z0-9_]+))?\\]")
"""What stands where a secret was taken out of the recording."""


def variable(found: Any) -> str:
    """Name the variable of the environment that holds what was taken out."""
    return f"MCP_SECRET_{found[1]}" if found[1] else "MCP_SECRET"


def lacking(value: Any) -> set[str]:
    """List the variables that a message needs and that the environment does not have."""
    needed = {variable(found) for found in REDACTED.finditer(json.dumps(value))}
    return needed - set(os.environ)


def filled(value: Any) -> Any:
    """Put what was taken out of the recording back, from the environment."""
    if isinstance(value, str):
        return REDACTED.sub(lambda found: os.environ.get(variable(found), found[0]), value)
    if isinstance(value, dict):
        return {key: filled(part) for key, part in value.items()}
    return [filled(part) for part in value] if isinstance(value, list) else value


class Anything(str):
    """A recorded text that something was taken out of: in its place may stand anything."""

    def __eq__(self, other: object) -> bool:
        if REDACTED.fullmatch(self):
            return True
        fixed = REDACTED.split(self)[::2]
        around = "(?s:.*)".join(re.escape(part) for part in fixed)
        return isinstance(other, str) and re.fullmatch(around, other) is not None

    __hash__ = str.__hash__


class Server:
    """The server, as a client sees it."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            filled(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        self.client = {method: list(answers) for method, answers in CLIENT.items()}
        self.lacking: set[str] = set()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def say(self, message: Any) -> None:
        self.lacking |= lacking(message)
        text = json.dumps(filled(message), ensure_ascii=False)
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
        """Answer what the server asks its client, as the client did then, each time in turn."""
        unknown = {"error": {"code": -32601, "message": "Method not found"}}
        answers = self.client.get(asked["method"], [unknown])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
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
    """Leave out what differs from run to run, and let stand anything for what was taken out."""
    if isinstance(value, str):
        return Anything(value) if REDACTED.search(value) else value
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
    if lacking(command):
        pytest.skip(f"set {', '.join(sorted(lacking(command)))}: the server needs it")
    server = Server(command)
    found: dict[Any, Any] = {"lacking": {}}
    try:
        for number, (message, recorded) in enumerate(SESSION):
            if lacking(message):
                found["lacking"][number] = lacking(message)
                if message["method"] == "initialize":
                    break
            elif recorded is None:
                server.say(message)
            else:
                server.lacking.clear()
                found[number] = server.ask(message)
                if server.lacking:  # it asked its client for what was taken out
                    found["lacking"][number] = set(server.lacking)
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
    if number in answers["lacking"]:
        needed = ", ".join(sorted(answers["lacking"][number]))
        pytest.skip(f"set {needed}: it was taken out of the recording")
    if number not in answers and "end" not in answers:
        pytest.skip("the session does not begin without what was taken out of the recording")
    assert number in answers, answers["end"]
    recorded, answer = SESSION[number][1], answers[number]
    for member in ("result", "error"):
        assert essence(answer.get(member)) == essence(recorded.get(member))'''

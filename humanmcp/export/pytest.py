"""The session as a test: the recorded requests are asked again of a real server, and compared.

The file that is written needs Python and pytest, and nothing of humanmcp.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from humanmcp.export.conversation import tell
from humanmcp.export.source import literal, program
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
    head, tail = program("pytest", story.name)
    yield head
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
    yield tail


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

"""The session as a test: the recorded requests are asked again of a real server, and compared.

The file that is written needs Python and pytest, and nothing of humanmcp.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from humanmcp.answering.summary import LineKind
from humanmcp.export.conversation import build_conversation
from humanmcp.export.source import literal, program
from humanmcp.protocol.conversation.transcript import Direction, command_in
from humanmcp.protocol.spec import versions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.export.conversation import Call, Conversation
    from humanmcp.export.reading import ExportOptions, Recording


def write(recording: Recording, options: ExportOptions) -> str:
    """Write the test."""
    known = options.command or command_in(recording.frames)
    conversation = build_conversation(recording, Direction.OUT)
    return "\n".join(_module(conversation, replace(options, command=known))) + "\n"


def _module(conversation: Conversation, options: ExportOptions) -> Iterator[str]:
    head, tail = program("pytest", conversation.name)
    yield head
    if options.secrets:
        yield "# What was taken out of the recording is read from the environment. What needs a"
        yield "# variable that is not there is skipped:"
        yield from (f"#     MCP_SECRET_{name}" for name in options.secrets)
    yield "# The command that starts the server. MCP_SERVER in the environment comes before it."
    yield f"SERVER: list[str] = {literal(list(options.command))}"
    yield ""
    yield "# In order: (what the client wrote, what it was answered). No answer: a notification."
    yield f"SESSION: list[tuple[Any, Any]] = {literal(_session(conversation))}"
    yield ""
    yield "# What the client answered when the server asked it something, by method, in order."
    yield f"CLIENT: dict[str, list[Any]] = {literal(_client(conversation))}"
    yield tail


def _session(conversation: Conversation) -> list[tuple[Any, Any]]:
    """Collect what reached the server, in order, each request with what the server answered.

    What a person at a tap changed is asked as changed; what they answered is not asked at all.
    """
    refused = _refused_probes(conversation)
    answers = {
        call.request.frame.seq: call.answer
        for call in conversation.calls
        if call.asked.direction is Direction.IN and call.answer is not None and call not in refused
    }
    found: list[tuple[Any, Any]] = []
    for entry in conversation.seen:
        if (
            entry.frame.direction is not Direction.IN
            or entry.message is None
            or entry.observed is None
        ):
            continue
        if entry.kind is LineKind.NOTIFICATION:
            found.append((entry.message.body, None))
        elif (answer := answers.get(entry.frame.seq)) is not None and answer.message:
            found.append((entry.message.body, answer.message.body))
    return found


def _refused_probes(conversation: Conversation) -> list[Call]:
    """List what a client asked only to find out which version the server speaks, in vain.

    A server that has learned 2026-07-28 since would take the probe and refuse the handshake that
    follows in the recording.
    """
    return [
        call
        for call in conversation.calls
        if call.asked.direction is Direction.IN
        and call.error is not None
        and (call.asked.method == "server/discover" or _is_modern(call))
        and any(later.asked.method == "initialize" for later in conversation.calls)
    ]


def _is_modern(call: Call) -> bool:
    return versions.stated_in(call.asked.request) is not None


def _client(conversation: Conversation) -> dict[str, list[Any]]:
    answers: dict[str, list[Any]] = {}
    for call in conversation.calls:
        if (
            call.asked.direction is Direction.OUT
            and call.answer is not None
            and call.answer.message
        ):
            answers.setdefault(call.asked.method, []).append(call.answer.message.body)
    return answers

"""The host's seat at a table: a person who is asked in forms, or one prompt that is played."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.case import CONVERSATION
from humanmcp.host.asked import PersonAsked
from humanmcp.host.models.human import messages_of
from humanmcp.host.runner import Instead, Refuse, ToolCall
from humanmcp.locales import say
from humanmcp.protocol.conversation.exchange import Established
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.json.tree import object_at

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from humanmcp.host.at_inbox import AskedSession
    from humanmcp.host.conversation import ToolUse, Turn
    from humanmcp.host.offering import ToolAddress
    from humanmcp.host.runner import Choice

ROOM: Final = "play"
HOST: Final = "humanmcp-host"


class HostPerson:
    """A person in the host's seat: what they want to say, and what they decide, as forms.

    A host asks its user by `elicitation/create`, so these questions are exactly that.
    """

    def __init__(self, session: AskedSession, language: str) -> None:
        self.person = PersonAsked(
            session, Established(HOST, client_capabilities={"elicitation": {}}, initialized=True)
        )
        self.language = language
        self.history: Sequence[Turn] = ()
        """The conversation of the table, shown beside each question."""

    def prompts(self) -> Generator[str, str, None]:
        """Ask what to say to the model, until the person has nothing more to say.

        Takes what was heard of it each time, and shows that with the next question.
        """
        heard = say(ROOM, "say something", self.language)
        prompt_field = {"type": "string", "title": say(ROOM, "prompt", self.language)}
        while True:
            found = self._ask(heard, {"prompt": prompt_field}, "prompt") or {}
            prompt = str(found.get("prompt", ""))
            if not prompt.strip():
                return
            heard = yield prompt

    def permit(self, use: ToolUse, tool: ToolAddress) -> Choice:
        """Ask: call it, answer in its place, or refuse."""
        given = json.dumps(use.input, ensure_ascii=False)
        wants = say(ROOM, "wants", self.language, server=tool.server, tool=tool.tool, given=given)
        fields: dict[str, Any] = {
            "choice": {
                "type": "string",
                "title": say(ROOM, "choice", self.language),
                "oneOf": [
                    {"const": one, "title": say(ROOM, one, self.language)}
                    for one in ("call", "answer", "refuse")
                ],
                "default": "call",
            },
            "answer": {"type": "string", "title": say(ROOM, "in its place", self.language)},
        }
        found = self._ask(wants, fields, "choice") or {"choice": "refuse"}
        match found.get("choice"):
            case "call":
                return ToolCall()
            case "answer":
                return Instead(str(found.get("answer", "")))
            case _:
                return Refuse()

    def _ask(self, message: str, fields: dict[str, Any], needed: str) -> dict[str, Any] | None:
        """Ask with a form. None when the person declines, or has left."""
        form = {"type": "object", "properties": fields, "required": [needed]}
        meta = {CONVERSATION: messages_of(self.history)}
        params = {"mode": "form", "message": message, "requestedSchema": form, "_meta": meta}
        line = self.person.ask("elicitation/create", params)
        answer = jsonrpc.read(line.encode("utf-8", "replace")) if line is not None else None
        result = answer.body.get("result") if isinstance(answer, Message) else None
        if not isinstance(result, dict) or result.get("action") != "accept":
            return None
        return object_at(result, "content")

    def end(self) -> None:
        """Leave the seat."""
        self.person.end()


class PlayedHost:
    """The host's seat when no person holds it: one prompt, and every call is allowed."""

    def __init__(self, language: str) -> None:
        self._language = language

    def prompts(self) -> Generator[str, str, None]:
        """Say one thing."""
        yield say(ROOM, "first prompt", self._language)

    def permit(self, use: ToolUse, tool: ToolAddress) -> Choice:  # noqa: ARG002 - as HostPerson
        """Call it."""
        return ToolCall()

    def end(self) -> None:
        """Do nothing."""

"""One exchange, or one message that a tap holds, as the front ends read it.

Reads the inbox and changes nothing. Each line is decoded once.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.standing import Standing, in_time, prompt_of, standing_of
from humanmcp.answering.steps import StepKind, step_of
from humanmcp.inbox.contract import Purpose
from humanmcp.locales import say
from humanmcp.locales.explain import explain
from humanmcp.protocol.conversation.approvals import approval_of
from humanmcp.protocol.conversation.exchange import QUESTION, Exchange
from humanmcp.protocol.conversation.prompts import approval_of_prompt
from humanmcp.protocol.conversation.questions import inquiry_of
from humanmcp.protocol.conversation.stages import ExchangeState, Stage
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import unreadable
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, DecodedLine, Flaw, Kind, Malformed, Message, read
from humanmcp.protocol.json.tree import text_at
from humanmcp.protocol.json.undecoded import is_large, outline
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.validation import check
from humanmcp.protocol.validation.held import HeldMessage

if TYPE_CHECKING:
    from humanmcp.inbox.contract import DeskInbox, Item, Key, SessionFacts
    from humanmcp.locales.explain import Card
    from humanmcp.protocol.conversation.approvals import Approval
    from humanmcp.protocol.conversation.exchange import NegotiatedState
    from humanmcp.protocol.conversation.prompts import AgentPrompt
    from humanmcp.protocol.conversation.questions import AskedQuestion
    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.diagnostics.model import Diagnostic

CONVERSATION: Final = "humanmcp/messages"
"""The member of `_meta` with the conversation so far, from a host that a person plays."""
LARGEST: Final = 16 * 1024 * 1024
"""Characters of the lines in the cache; decoded they take several times as much."""
_MOST: Final = 1024


class Decoded:
    """A cache of decoded lines. Threads may share it."""

    def __init__(self, largest: int = LARGEST) -> None:
        self._largest = largest
        self._known: dict[str, DecodedLine] = {}
        self._size = 0
        self._lock = threading.Lock()

    def read(self, line: str) -> DecodedLine:
        with self._lock:
            found = self._known.pop(line, None)
            if found is not None:
                self._known[line] = found  # the one that was asked for last
                return found
        found = jsonrpc.read_text(line)
        self._remember(line, found)
        return found

    def _remember(self, line: str, found: DecodedLine) -> None:
        with self._lock:
            if line in self._known or len(line) > self._largest:
                return
            self._known[line] = found
            self._size += len(line)
            while self._size > self._largest or len(self._known) > _MOST:
                oldest = next(iter(self._known))
                del self._known[oldest]
                self._size -= len(oldest)


_lines: Final = Decoded()


def read_line(line: str) -> DecodedLine:
    """Return the message of an item's line, decoded once in this process.

    Only the beginning of a very large line is read, because other requests wait meanwhile.
    """
    return _lines.read(outline(line))


@dataclass(frozen=True, slots=True)
class OpenExchange:
    """An item of an inbox, and the session that it belongs to."""

    inbox: DeskInbox
    item: Item
    facts: SessionFacts
    _decoded: dict[str, DecodedLine] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Its lines, decoded."""

    @property
    def key(self) -> Key:
        return self.item.key

    @property
    def standing(self) -> Standing:
        """What is so of it, by what was read of its session."""
        return standing_of(self.item, self.facts.life)

    @property
    def negotiated(self) -> NegotiatedState:
        return self.inbox.negotiated(self.key.session)

    @property
    def message(self) -> DecodedLine:
        """Its decoded message; of a large line, only the beginning."""
        return self.read(self.item.line)

    @property
    def is_large(self) -> bool:
        """Return True if only the beginning of its line is read."""
        is_read = not self.item.held.unread and self.item.purpose is not Purpose.STEP
        return is_read and is_large(self.item.line)

    @property
    def outlined(self) -> Item:
        """Its item; of a large line, only the beginning; of one that is unread, nothing."""
        if self.item.held.unread:
            return self.item._replace(line="")
        return self.item._replace(
            line=outline(self.item.line),
            held=self.item.held._replace(asked=outline(self.item.held.asked)),
        )

    def read(self, line: str) -> DecodedLine:
        """Return the message of one of its lines; while it lives each is decoded once.

        A line that was held because nobody is sure what it says is no message to anybody, and a
        prompt of an agent is none of MCP, nor is a step of another kind.
        """
        if self.item.held.unread or self.item.purpose in (Purpose.PROMPT, Purpose.STEP):
            return Malformed(jsonrpc.encoded(line), Flaw.NO_MESSAGE)
        found = self._decoded.get(line)
        if found is None:
            found = self._decoded[line] = read_line(line)
        return found

    @property
    def params(self) -> dict[str, Any]:
        """Its named parameters; empty when there are none."""
        return self.message.params if isinstance(self.message, Message) else {}

    @property
    def name(self) -> str:
        """The tool of a call, the prompt that is asked for; "" elsewhere."""
        return text_at(self.params, "name")

    @property
    def arguments(self) -> dict[str, Any]:
        """The values for placeholders: its arguments and all of its parameters."""
        given = self.params.get("arguments")
        return {"params": self.params, **(given if isinstance(given, dict) else self.params)}

    @property
    def exchange(self) -> Exchange | None:
        """The exchange to answer, or None.

        For an answer that a tap holds, it is the exchange of that answer.
        """
        item = self.item
        found = self.read(item.held.asked or item.line)
        if not isinstance(found, Message) or found.kind is not Kind.REQUEST:
            return None
        return Exchange(
            self.key.number,
            found,
            item.protocol_version,
            Stage(item.state.value),
            parked=item.waiting.parked.way,
        )

    @property
    def held(self) -> HeldMessage | None:
        """The message that a tap holds; None without a tap."""
        if self.item.purpose is not Purpose.HELD:
            return None
        item = self.outlined
        line = self.item.line if item.held.unread else item.line
        way, asked, unread = item.held
        return HeldMessage(line, way, item.protocol_version, asked, bool(unread))

    @property
    def inquiry(self) -> AskedQuestion | None:
        """Its question to the person, or None."""
        found = self.message
        if not isinstance(found, Message) or self.held is not None or self.approval is not None:
            return None
        return inquiry_of(found)

    @property
    def approval(self) -> Approval | None:
        """The approval or questions of its card, or None."""
        found = self.asked
        return None if found is None or found.is_alone else found

    @property
    def asked(self) -> Approval | None:
        """What the person allows, or answers in a special form; or None.

        For a held call, it is the call, unless it cannot be read.
        """
        item, held = self.item, self.item.purpose is Purpose.HELD
        if self.prompt is not None:
            return approval_of_prompt(self.prompt, item.line)
        if not isinstance(self.message, Message) or (held and item.held.way is Direction.OUT):
            return None
        found = approval_of(item.line, self.message, self.negotiated.known_tools, held=held)
        return None if found is not None and held and found.problem else found

    @property
    def prompt(self) -> AgentPrompt | None:
        """The permission prompt of an agent's hook; None for a message of MCP."""
        return prompt_of(self.item) if self.item.purpose is Purpose.PROMPT else None

    @property
    def step(self) -> StepKind | None:
        """What reads it, if it is no message of MCP, but a step of another kind."""
        return step_of(self.item)

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """The problems of the message; empty for a line that is not a message."""
        found, held = self.message, self.held
        if self.item.held.unread:
            return self.item.held.unread
        if not isinstance(found, Message) or self.is_large:
            return ()
        if held is not None and held.answered is not None:
            return check.check(
                held.answered, self.item.line, negotiated=self.negotiated
            ).diagnostics
        remarks = (
            *self.item.headers,
            *check.remarks(found, self.item.protocol_version, self.negotiated),
        )
        if self.has_twin:
            return (*remarks, check.same_id(found, self.item.protocol_version))
        return remarks

    def card(self) -> Card:
        """Return its explanation for the person in this role."""
        item, asked = self.item, self.asked
        if self.step is not None:
            return self.step.card(item)
        if isinstance(self.message, Batch):
            return self._card_of_batch(self.message)
        card = explain(
            "tools/call" if self.prompt is not None else item.method,
            item.protocol_version,
            asks=bool(item.id),
            role=self.facts.role.value,
            inwards=item.held.way is Direction.IN,
        )
        if asked is None or self.held is not None:
            return card
        code = "answer" if asked.questions or asked.kind == QUESTION else "permission"
        prompt, silence = self.prompt, f"{code}.silence"
        if prompt is not None:
            silence = f"{in_time(prompt)}.silence" if prompt.lost else silence
            title = say("wants", "prompt")
            card = replace(card, method=item.method, title=title, sender="", note="", page="")
        return replace(card, what=say("wants", f"{code}.what"), silence=say("wants", silence))

    def _card_of_batch(self, batch: Batch) -> Card:
        """Return the explanation of an array, which names the messages in it."""
        found = (one for one in batch.items if isinstance(one, Message))
        named = dict.fromkeys(one.method or say("message_kind", one.kind.value) for one in found)
        messages = ", ".join(one_line(name, 60) for name in named) or "-"
        card = explain("", self.item.protocol_version, role=self.facts.role.value)
        told = {part: say("explain", f"batch.{part}") for part in ("title", "silence")}
        return replace(card, **told, what=say("explain", "batch.what", messages=messages))

    @property
    def has_twin(self) -> bool:
        """Return True if another pending request has the same id: only one can be answered."""
        return self.item.state is ExchangeState.PENDING and any(
            other.id == self.item.id and other.key != self.key
            for other in self.inbox.items(self.key.session)
        )

    def again(self) -> OpenExchange:
        """Return it as it is now."""
        return OpenExchange(
            self.inbox, self.inbox.item(self.key), self.inbox.facts(self.key.session)
        )


def open_exchange_of(inbox: DeskInbox, key: Key) -> OpenExchange:
    """Return an exchange of the inbox by its key.

    Raises:
        UnknownItemError: there is no such exchange.
    """
    return OpenExchange(inbox, inbox.item(key), inbox.facts(key.session))


PARSE_ERROR: Final = """{
  "jsonrpc": "2.0",
  "id": null,
  "error": {
    "code": -32700,
    "message": "Parse error"
  }
}"""


def why_unreadable(frame: Frame, *, batches: bool = False) -> tuple[Diagnostic, ...]:
    """Return why a line or parts of a batch are not messages; () if they are.

    With `batches` a batch is allowed as such.
    """
    found = read(frame.raw)
    match found:
        case Malformed():
            return (unreadable(found),)
        case Batch(items=items):
            malformed = tuple(unreadable(one) for one in items if isinstance(one, Malformed))
            refused = () if batches else (unreadable(Malformed(frame.raw, Flaw.IN_BATCH)),)
            return malformed or refused
        case _:
            return ()

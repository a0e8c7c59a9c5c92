"""Every state of an exchange: what is so of it, and an inbox in which it is so."""

import json
from pathlib import Path
from typing import Any, Final

from humanmcp.answering.standing import Standing, prompt_of
from humanmcp.inbox.contract import (
    FOLLOWS,
    SUBSCRIBED,
    Answer,
    Draft,
    HeldFacts,
    Item,
    Key,
    Life,
    Parked,
    Purpose,
    Reply,
    Role,
    SessionFacts,
    Tail,
    Waiting,
)
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.decisions import DecisionChain, DecisionRecord
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.prompts import judge, note_of
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import CHANGED, DROPPED, Direction, Frame
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity, TextForm
from tests.protocol.conversation.test_prompts import CLAUDE
from tests.support.inbox_folder import CALL, TOOLS, permission

AT: Final = "2026-11-20T12:00:00.000Z"
TASK: Final = Waiting(parked=Parked("t", "task"))
RETRY: Final = Waiting(parked=Parked("t", "retry"))
ANSWERED: Final = {"state": ExchangeState.ANSWERED}
ENDED: Final = {"state": ExchangeState.ABANDONED}
BACK: Final = (Diagnostic("M01", Severity.ERROR),)
COMMAND: Final = "git push --force origin main"
PROMPT: Final = json.dumps({**CLAUDE, "tool_input": {"command": COMMAND}})
SUB_AGENT: Final = json.dumps({**CLAUDE, "agent_id": "a7", "agent_type": "Explore"})
APPROVE: Final = permission("Bash", command=COMMAND)
DECISIONS: Final = {
    "allow": '{"behavior": "allow"}',
    "change": '{"behavior": "allow", "updatedInput": {"command": "git push"}}',
    "answer": '{"behavior": "allow", "updatedInput": {"command": "git push"}}',
    "deny": '{"behavior": "deny", "message": "not on a Sunday"}',
    "hand back": '{"behavior": "ask"}',
    "keyboard": '{"behavior": "ask"}',
    "ended": '{"behavior": "ask"}',
}
RESULT: Final = (
    '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"Sunny, 21 degrees"}]}}'
)


def item(**fields: Any) -> Item:  # noqa: ANN401 - the fields of `Item`
    """Make an exchange."""
    return Item(Key("s", 1), CALL, "tools/call", "3", "2025-11-25", AT)._replace(**fields)


def prompt(**parts: Any) -> Item:  # noqa: ANN401 - parts of an item
    """Make a permission prompt."""
    named = {"host": "claude-code", "method": "PermissionRequest", "line": PROMPT, **parts}
    return item(purpose=Purpose.PROMPT, id="", protocol_version="")._replace(**named)


def decided(action: str, became: str = "", **parts: Any) -> Item:  # noqa: ANN401 - as above
    """Make a prompt that was decided, and of which this was seen."""
    asked = prompt(
        **ANSWERED, reply=Reply(DECISIONS[action], TextForm.DECISION, by="desk"), **parts
    )
    printed = judge(prompt_of(asked), DECISIONS[action], TextForm.DECISION).line or ""
    fetched = AT if became else ""
    by = action if action in {"keyboard", "ended"} else "desk"
    answer = Answer(printed, by, AT, action=action, became=became, fetched=fetched)
    return asked._replace(answer=answer)


def called(action: str) -> Item:
    """Make a permission prompt that came as a call of a tool, and was decided."""
    content = [{"type": "text", "text": DECISIONS[action]}]
    line = json.dumps({"jsonrpc": "2.0", "id": 3, "result": {"content": content}})
    return item(**ANSWERED, line=APPROVE, answer=Answer(line, "desk", AT, action=action))


TABLE: Final[list[tuple[Standing, Item, Life]]] = [
    (Standing.WAITS, item(), Life.OPEN),
    (Standing.HELD, item(purpose=Purpose.HELD), Life.OPEN),
    (Standing.WRITING, item(draft=Draft("a", touched=True)), Life.OPEN),
    (Standing.WRITING, item(purpose=Purpose.HELD, draft=Draft("a", touched=True)), Life.OPEN),
    (Standing.RETURNED, item(draft=Draft("a", touched=True), diagnostics=BACK), Life.OPEN),
    (Standing.PARKED, item(waiting=TASK), Life.OPEN),
    (Standing.PARKED, item(waiting=TASK), Life.CLOSED),
    (Standing.WAITS, item(waiting=RETRY), Life.OPEN),
    (Standing.PARKED, item(waiting=RETRY), Life.GONE),
    (Standing.SENDING, item(reply=Reply("a", by="desk")), Life.OPEN),
    (Standing.SENDING, item(reply=Reply("a", by="desk"), waiting=TASK), Life.OPEN),
    (Standing.STORED, item(reply=Reply("a", by="desk"), waiting=TASK), Life.GONE),
    (Standing.SUBSCRIPTION, item(waiting=Waiting(keepalive=SUBSCRIBED)), Life.OPEN),
    (Standing.FOLLOWS, item(waiting=Waiting(keepalive=FOLLOWS)), Life.OPEN),
    (Standing.ANSWERED, item(**ANSWERED, answer=Answer(RESULT, "desk", AT)), Life.CLOSED),
    (
        Standing.DELIBERATE,
        item(**ANSWERED, answer=Answer(RESULT, "desk", AT, deliberate=True)),
        Life.OPEN,
    ),
    (
        Standing.RELEASED,
        item(**ANSWERED, purpose=Purpose.HELD, answer=Answer(CALL, "desk", AT)),
        Life.OPEN,
    ),
    (
        Standing.REWRITTEN,
        item(
            **ANSWERED,
            purpose=Purpose.HELD,
            line=f"[{CALL}]",
            answer=Answer(f"[{CALL.replace('3', '4')}]", "desk", AT, became=CHANGED),
        ),
        Life.OPEN,
    ),
    (
        Standing.REWRITTEN,
        item(
            **ANSWERED,
            purpose=Purpose.HELD,
            line=RESULT.replace("21", "12"),
            held=HeldFacts(Direction.OUT, CALL),
            answer=Answer(RESULT, "desk", AT, became=CHANGED),
        ),
        Life.OPEN,
    ),
    (
        Standing.FORCED,
        item(
            **ANSWERED,
            purpose=Purpose.HELD,
            answer=Answer("junk", "desk", AT, deliberate=True, became=CHANGED),
        ),
        Life.OPEN,
    ),
    (
        Standing.ANSWERED,
        item(**ANSWERED, purpose=Purpose.HELD, answer=Answer(RESULT, "desk", AT)),
        Life.OPEN,
    ),
    (
        Standing.UNFETCHED,
        item(**ANSWERED, waiting=TASK, answer=Answer(RESULT, "desk", AT)),
        Life.OPEN,
    ),
    (
        Standing.FETCHED,
        item(**ANSWERED, waiting=TASK, answer=Answer(RESULT, "desk", AT, fetched=AT)),
        Life.OPEN,
    ),
    (Standing.CANCELLED, item(state=ExchangeState.CANCELLED, reason="too slow"), Life.OPEN),
    (Standing.DROPPED, item(state=ExchangeState.CANCELLED, reason=DROPPED), Life.OPEN),
    (Standing.QUIET, item(**ENDED, reason="quiet", reply=Reply("a", by="desk")), Life.OPEN),
    (Standing.HANDSHAKE, item(**ENDED, reason="handshake"), Life.OPEN),
    (Standing.TWIN, item(**ENDED, reason="twin"), Life.OPEN),
    (Standing.UNCONFIRMED, item(**ENDED, reply=Reply("a", by="desk")), Life.CLOSED),
    (Standing.UNCONFIRMED, item(reply=Reply("a", by="desk")), Life.GONE),
    (Standing.CLOSED, item(**ENDED), Life.CLOSED),
    (Standing.CLOSED, item(), Life.CLOSED),
    (Standing.GONE, item(), Life.GONE),
    (Standing.GONE, item(**ENDED), Life.GONE),
    (Standing.WAITS, prompt(), Life.OPEN),
    (Standing.WITHDRAWN, prompt(**ENDED), Life.OPEN),
    (Standing.WITHDRAWN, prompt(), Life.CLOSED),
    (Standing.UNCONFIRMED, prompt(**ENDED, reply=Reply("a", by="desk")), Life.OPEN),
    (Standing.LATE, prompt(state=ExchangeState.CANCELLED, reason="late"), Life.OPEN),
    (
        Standing.UNRECORDED,
        prompt(state=ExchangeState.CANCELLED, reason="unrecorded", reply=Reply("a", by="desk")),
        Life.OPEN,
    ),
    (Standing.ALLOW_SENT, decided("allow"), Life.CLOSED),
    (Standing.ALLOW_SENT, decided("change"), Life.OPEN),
    (Standing.ALLOW_SENT, decided("answer"), Life.OPEN),
    (Standing.ALLOW_UNUSED, decided("allow", became="ended"), Life.OPEN),
    (Standing.ALLOW_EQUAL, decided("change", became="equal ran"), Life.OPEN),
    (Standing.ALLOW_UNTOLD, decided("allow", host="gemini-cli", method="BeforeTool"), Life.OPEN),
    (Standing.ALLOWED, decided("allow", became="ran"), Life.CLOSED),
    (Standing.ALLOWED, decided("allow", became="ran", host="codex"), Life.CLOSED),
    (Standing.CHANGED, decided("change", became="ran"), Life.OPEN),
    (Standing.ANSWERED, decided("answer", became="ran"), Life.OPEN),
    (Standing.HANDED_BACK, decided("hand back"), Life.OPEN),
    (Standing.KEYBOARD, decided("keyboard"), Life.OPEN),
    (Standing.MOVED_ON, decided("ended"), Life.OPEN),
    (Standing.DENIAL_SENT, decided("deny"), Life.OPEN),
    (Standing.DENIED, decided("deny", became="ended"), Life.OPEN),
    (Standing.RAN, decided("deny", became="ran"), Life.OPEN),
    (Standing.EQUAL_RAN, decided("deny", became="equal ran"), Life.OPEN),
    (Standing.DENIED, decided("deny", host="gemini-cli", method="BeforeTool"), Life.OPEN),
    (
        Standing.DENIAL_SENT,
        decided("deny", line=SUB_AGENT),
        Life.OPEN,
    ),
    (Standing.ALLOW_UNTOLD, called("allow"), Life.OPEN),
    (Standing.ALLOW_UNTOLD, called("change"), Life.CLOSED),
    (Standing.DENIED, called("deny"), Life.OPEN),
]


class Staged:
    """An inbox in which each exchange is brought to its state, as its process and people do."""

    def __init__(self, home: Path) -> None:
        """Begin with an empty inbox."""
        self.home = home
        self._inboxes: list[FolderInbox] = []
        """One for each process; who forgets it lets go of its locks."""

    def place(self, exchange: Item, life: Life) -> Key:
        """Bring an exchange of `TABLE` about, in a session of its own. Return where it is."""
        inbox = FolderInbox(self.home)
        is_prompt = exchange.purpose is Purpose.PROMPT
        role = Role.TAP if exchange.purpose is Purpose.HELD else Role.SERVER
        facts = SessionFacts("", AT, role, client="claude-code", protocol_version="2025-11-25")
        if is_prompt:
            name = f"agent-{len(self._inboxes):016x}"
            inbox.join(SessionFacts(name, AT, Role.AGENT, client="Claude Code", agent=name))
            key = inbox.enter(name)
        else:
            name = inbox.begin_session(facts)
            inbox.describe(facts._replace(name=name), NegotiatedState(tools=TOOLS))
            key = Key(name, 3)
        self._record(inbox, key, exchange, Direction.IN)
        waiting = exchange._replace(state=ExchangeState.PENDING, answer=None, reply=None)
        inbox.deliver(waiting._replace(key=key))
        if exchange.reply is not None:
            inbox.send(key, exchange.reply)
            inbox.take_replies(name)
        if exchange.state is not ExchangeState.PENDING:
            if exchange.answer is not None:
                self._record(inbox, key, exchange, Direction.OUT)
            inbox.close(key, exchange.state, exchange.answer, exchange.reason)
        if is_prompt and life is not Life.OPEN:
            inbox.leave(key)
        elif life is Life.GONE:
            inbox.leave_session(name)
        elif life is Life.CLOSED:
            inbox.end(name)
        self._inboxes.append(inbox)
        return key

    @staticmethod
    def _record(inbox: FolderInbox, key: Key, exchange: Item, direction: Direction) -> None:
        """Add a line to the transcript, with the record of a decision."""
        answer = exchange.answer if direction is Direction.OUT else None
        text, by = (exchange.line, "") if answer is None else (answer.line, answer.by)
        note = note_of(prompt_of(exchange)) if exchange.purpose is Purpose.PROMPT else ""
        frame = Frame(0, AT, direction, text.encode(), key.number, by, note)
        chain = DecisionChain()
        if answer is not None and answer.action:
            record = DecisionRecord(
                *key, exchange.method, exchange.line, text, by=by, action=answer.action
            )
            frame = frame._replace(decision=chain.add(record))
        if not note:
            inbox.record(key.session, frame._replace(seq=1 if answer is None else 2))
            return

        def write(tail: Tail) -> tuple[list[Frame], Tail]:
            after = Tail(tail.seq + 1, chain.number, chain.last)
            return [frame._replace(seq=after.seq)], after

        inbox.share(key.session, write)

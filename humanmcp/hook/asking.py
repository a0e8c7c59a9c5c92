"""Ask a person about the permission prompt of an agent, and print the decision.

Theory of operation
-------------------
An agent starts this program for each prompt: JSON on stdin, the decision as JSON on stdout, the
exit status 0. The prompt becomes a call of the tool `approve` in a session of its own, over a
connection in memory to the same server as everywhere: so its card, its check, its record and "allow
like this" are those of every permission prompt. The response is printed where the connection sends
it, and the person is told *sent* once it is written.

Nothing is allowed but by a response that says so. Whatever goes wrong, what is safe at the event is
printed (`Lost`), before the agent's own timeout, which lets some agents run the tool.
"""

from __future__ import annotations

import logging
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from humanmcp.common.book_file import BookFile
from humanmcp.common.line_pipe import has_reader, write_pieces
from humanmcp.common.own_process import StopSignals, log_to
from humanmcp.common.settings import book_path, home_folder, make_home
from humanmcp.hook.events import (
    LABELS,
    Decided,
    HookPrompt,
    Lost,
    answer,
    can_change,
    json_object,
    on_one_line,
)
from humanmcp.hook.handing_back import sessions_of
from humanmcp.inbox import open_inbox
from humanmcp.inbox.attendant import Attendant
from humanmcp.inbox.contract import SessionFacts
from humanmcp.locales import say
from humanmcp.locales.stop import StopError, sentence_of
from humanmcp.protocol.answer_book.decide import HandshakePolicy
from humanmcp.protocol.conversation.approvals import AGENT, read_once
from humanmcp.protocol.json.jsonrpc import as_json, member
from humanmcp.protocol.json.tree import follow, text_at
from humanmcp.server.memory_connection import MemoryConnection
from humanmcp.server.serve import ParentWatch, ServerParts
from humanmcp.server.waiting import ServeOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from humanmcp.common.settings import Settings
    from humanmcp.inbox.contract import Inbox

logger = logging.getLogger(__name__)

SECTION: Final = "hook"
CALL: Final = 1
"""The id of the one call."""
DENIED: Final = 2
VERSION: Final = "2025-11-25"
"""Of the protocol between the two ends of the memory: in it nobody has to ask again."""


def ask(prompt: HookPrompt, sink: int, limit: float, settings: Settings) -> int:
    """Ask a person, and print to the descriptor `sink`. Returns the exit status."""
    hook = Hook(prompt, sink, limit)
    try:
        home = make_home(home_folder(settings.home))
        log_to(home)
        hook.ask(open_inbox(home, settings.inbox), _parts(home, settings, limit))
    except (StopError, OSError) as error:
        hook.lost(say(SECTION, "lost", why=sentence_of(error)))
    except Exception:  # an agent must hear what is safe, whatever is wrong here
        logger.exception("this should not happen; please report it")
        hook.lost(say(SECTION, "lost", why=say(SECTION, "fault")))
    hook.lost(say(SECTION, "ended"))
    return hook.status


def _parts(home: Path, settings: Settings, limit: float) -> ServerParts:
    """Return a server that offers `approve`, and sends nothing while a person decides."""
    book = book_path(settings.book, home)
    options = ServeOptions(client_limit=limit, handshake=HandshakePolicy.BOOK, progress=False)
    book_file = BookFile(book, (), must_exist=bool(settings.book), approvals=True)
    return ServerParts(home, book_file, options)


class Hook:
    """One prompt on its way to a person and back. Prints once, to the descriptor `sink`."""

    def __init__(self, prompt: HookPrompt, sink: int, limit: float) -> None:
        self.prompt = prompt
        self.limit = limit
        """Seconds until the agent asks itself, or the tool is denied."""
        self.is_over = False
        self.status = 0
        self._sink = sink

    def ask(self, inbox: Inbox, parts: ServerParts) -> None:
        """Let a person decide, until the limit, a signal, or the end of the agent."""
        attendant = Attendant()
        attendant.attend(_AgentWatch(attendant.stop, self._sink), background=True)
        with StopSignals(lambda _number: attendant.stop()):
            facts = SessionFacts("", "", folder=self.prompt.folder, agent=self.prompt.session)
            connection = HookConnection(self)
            session = parts.session(connection, inbox, facts=facts)
            with _allowed_before(inbox, session.journal.name, self.prompt):
                attendant.attend(session)
                attendant.attend(_Asking(self, connection))
                attendant.run()

    def decide(self, decided: Decided) -> bool:
        """Print a decision. Return True if the agent has it, and does what it says."""
        if self.is_over:
            return False
        if self.prompt.event is None:
            self.is_over = True
            if decided.behavior == "deny":  # most agents read this as a denial, and its reason
                os.write(2, f"{decided.message}\n".encode())
                self.status = DENIED
            return decided.behavior != "allow"
        try:
            return self._print(answer(self.prompt, decided))
        except ValueError:
            self.lost(say(SECTION, "lost", why=say(SECTION, "unchangeable")))
            return False

    def lost(self, words: str) -> None:
        """Print what is safe when nobody decided, unless something was printed."""
        if not self.is_over:
            self._print(answer(self.prompt, Decided("ask", words)))

    def _print(self, text: str) -> bool:
        self.is_over = True
        raw = f"{text}\n".encode("utf-8", "surrogatepass") if text else b""
        try:
            for _written in write_pieces(self._sink, raw):
                pass
        except OSError:
            return False
        return True


class _AgentWatch(ParentWatch):
    """Notices the end of the agent, also behind a shell that lives on."""

    def __init__(self, gone: Callable[[], object], sink: int) -> None:
        super().__init__(gone)
        self._sink = sink

    def step(self, now: float) -> float | None:
        if has_reader(self._sink):
            return super().step(now)
        self._gone()
        return None


class HookConnection(MemoryConnection):
    """A connection whose response to the one call is printed as the agent wants it."""

    def __init__(self, hook: Hook) -> None:
        super().__init__()
        self._hook = hook
        self._taken: list[tuple[int, bool]] = []

    def send(
        self, line: bytes, *, related_to: int = 0, deliberate: bool = False, receipt: int = 0
    ) -> None:
        """Print the decision in a response to the call."""
        super().send(line, related_to=related_to, deliberate=deliberate)
        decided = decided_in(line.decode("utf-8", "replace"), self._hook.prompt.input)
        is_taken = decided is None or self._hook.decide(decided)
        if receipt:
            self._taken.append((receipt, is_taken))

    def send_raw(self, content: bytes) -> None:
        """Nothing: what was not checked decides nothing."""

    def receipts(self) -> Iterator[tuple[int, bool]]:
        """Yield True for a decision that was printed."""
        while self._taken:
            yield self._taken.pop(0)


def decided_in(line: str, given: str) -> Decided | None:
    """Return what a response decides about the input `given`; None for any other message.

    What cannot be read asks the agent to decide itself.
    """
    response, problem = read_once(line)
    if problem or follow(response, "id") != CALL or text_at(response, "method"):
        return None
    content = text_at(response, "result", "content", 0, "text")
    body, problem = read_once(content) if content else (None, "none")
    behavior, words = text_at(body, "behavior"), text_at(body, "message")
    changed = member(content, "updatedInput") if behavior == "allow" else None
    if problem or behavior not in ("allow", "deny") or changed in ("null", ""):
        return Decided("ask", words)
    return Decided(behavior, words, "" if changed in (None, given) else changed or "")


class _Asking:
    """The agent's side of the connection: an `Attended`."""

    def __init__(self, hook: Hook, connection: HookConnection) -> None:
        self._hook = hook
        self._connection = connection
        self._until = time.monotonic() + hook.limit

    def begin_steps(self, wake: Callable[[], object]) -> None:
        """Shake hands, and send the call."""
        self._connection.on_line = wake
        for line in _lines(self._hook.prompt):
            self._connection.say(line.encode("utf-8", "surrogatepass"))

    def step(self, now: float) -> float | None:
        """Hang up when it is decided, or when it is too late to decide."""
        if not self._hook.is_over and now < self._until:
            return self._until
        if not self._hook.is_over:
            reason = say(SECTION, "too late", seconds=round(self._hook.limit))
            self._hook.lost(reason)
            params = {"requestId": CALL, "reason": reason}
            self._connection.say(_message("notifications/cancelled", as_json(params)).encode())
        self._connection.hang_up()
        return None

    def leave(self) -> None:
        """Do nothing."""


def _lines(prompt: HookPrompt) -> Iterator[str]:
    """Yield the messages of the agent: the handshake, and the call."""
    known = prompt.event
    agent = known.agent if known is not None else ""
    client = {"name": LABELS.get(agent, say(SECTION, "unknown")), "version": ""}
    params = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client}
    yield _message("initialize", as_json(params), number=0)
    yield _message("notifications/initialized")
    about = {"event": prompt.name, "session": prompt.session, "mode": prompt.mode}
    if known is not None:
        lost = "deny" if known.lost is Lost.DENY else "ask"
        about |= {"lost": lost, "locks": "locks" if known.locks else ""}
    meta = {AGENT: {**about, "folder": prompt.folder, "changes": can_change(prompt)}}
    arguments = {"tool_name": as_json(prompt.tool), "input": _as_json_line(prompt.input)}
    called = {"name": '"approve"', "arguments": json_object(arguments), "_meta": as_json(meta)}
    yield _message("tools/call", json_object(called), number=CALL)


def _message(method: str, params: str = "{}", number: int | None = None) -> str:
    parts = {"jsonrpc": '"2.0"'} | ({} if number is None else {"id": str(number)})
    return json_object({**parts, "method": as_json(method), "params": params})


def _as_json_line(text: str) -> str:
    """Return an input as it is; of an unknown shape on one line, and as a text if it is no JSON."""
    return as_json(text) if read_once(text)[1] == "shape" else on_one_line(text)


@contextmanager
def _allowed_before(inbox: Inbox, own: str, prompt: HookPrompt) -> Iterator[None]:
    """Let a prompt know what a person allowed for its agent's session, and the next ones, too.

    Each prompt has a session of its own here; the patterns are kept with the agent's first one.
    """
    first = next(reversed([one.name for one in sessions_of(inbox, prompt)]), own)
    before = tuple(inbox.holds(first))
    inbox.hold(own, before)
    yield
    after = tuple(inbox.holds(own))
    if after != before:
        kept = [one for one in inbox.holds(first) if one in after or one not in before]
        inbox.hold(first, tuple(dict.fromkeys((*kept, *after))))

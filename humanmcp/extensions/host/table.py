"""A whole table of MCP: host, client, server and model, each held by a person or played.

A person sits at the inbox, each role in a separate session. A role that no person takes is played
by what stands in `played/`: an answer book, a recorded model, a first prompt. Knows no web page.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.open_exchange import CONVERSATION
from humanmcp.common.child import ChildCommand, ChildTransport
from humanmcp.common.parsing import LONGEST_SECONDS
from humanmcp.common.terminal import Painted, to_stdout
from humanmcp.extensions.host.at_inbox import PersonAsked, QuestionInbox, ServerRecorder
from humanmcp.extensions.host.client.callbacks import ClientObserver, Nobody
from humanmcp.extensions.host.client.handshake import Identity, SessionStart
from humanmcp.extensions.host.config import ServerEntry
from humanmcp.extensions.host.conversation import ModelError, ToolResult
from humanmcp.extensions.host.models.choose import ModelChoice, make_model
from humanmcp.extensions.host.models.human import messages_of
from humanmcp.extensions.host.servers import HostLoop, Servers, TurnLimitError, refused
from humanmcp.extensions.host.terminal.chat import ending_of
from humanmcp.inbox.contract import Role
from humanmcp.locales import say, spoken_language
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.json.jsonrpc import as_json
from humanmcp.protocol.json.tree import object_at

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from contextlib import ExitStack

    from humanmcp.extensions.host.client.callbacks import ServerRequestHandler
    from humanmcp.extensions.host.conversation import ToolAddress, ToolUse, Turn
    from humanmcp.inbox.contract import Inbox

SECTION: Final = "play"
HOST: Final = "humanmcp-host"


SERVER: Final = "weather"
IDENTITY: Final = Identity("humanmcp-play", "1.0.0")
_LOOK_EVERY: Final = 0.02


ROLES: Final = (Role.HOST, Role.CLIENT, Role.SERVER, Role.MODEL)
"""What people can play."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Who plays which role. `model` plays the model if no person does."""

    people: frozenset[Role]
    home: Path
    model: str = ""


def played(name: str) -> Path:
    """Return the file that plays a role which no person takes, in a language if it has one."""
    folder = Path(str(resources.files("humanmcp.extensions.host").joinpath("played")))
    stem, _, ending = name.partition(".")
    own = folder / f"{stem}.{spoken_language()}.{ending}"
    return own if own.exists() else folder / name


def tell(role: Role, text: str) -> None:
    """Write one line: who, and what."""
    to_stdout(Painted(f"{role.value:>6} | ", "cyan"), text)


class PlayedHost:
    """The host when no person plays it: one prompt, and every call is allowed.

    Shows in the terminal what happens, by role.
    """

    def __init__(self) -> None:
        self._called: set[str] = set()

    def prompts(self) -> Generator[str, str, None]:
        """Say one thing."""
        yield say(SECTION, "first prompt")

    def permit(self, use: ToolUse, tool: ToolAddress) -> ToolUse | ToolResult:  # noqa: ARG002 - as HostPerson
        """Call it."""
        return use

    def end(self) -> None:
        """Do nothing."""

    def heard(self, piece: str) -> None:
        """Wait for the whole turn."""

    def turn_ended(self, turn: Turn) -> None:
        """Print the model's turn."""
        if turn.text:
            tell(Role.MODEL, turn.text)
        for use in turn.calls:
            tell(Role.MODEL, f"{use.name} {as_json(use.input)}")

        why = ending_of(turn)
        if why is not None:
            tell(Role.MODEL, why.sentence())

    def broke_off(self) -> None:
        """Do nothing: only whole turns are told."""

    def calling(self, use: ToolUse, tool: ToolAddress) -> None:
        """Print a message that goes to the server."""
        self._called.add(use.id)
        given = as_json(use.input)
        tell(Role.CLIENT, f"tools/call {tool.tool} {given}")

    def returned(self, use: ToolUse, result: ToolResult) -> None:
        """Print the result of a tool call, from the server or from the host in its place."""
        tell(Role.SERVER if use.id in self._called else Role.HOST, result.text)

    def waiting(self, seconds: float) -> None:
        """Print that a service is overloaded."""
        tell(Role.MODEL, f"… {seconds:g} s")


class HostPerson(PlayedHost):
    """A person as the host: what they want to say, and what they decide, as forms.

    A host asks its user by `elicitation/create`, so these questions are exactly that.
    """

    def __init__(self, session: QuestionInbox) -> None:
        super().__init__()
        self.person = PersonAsked(
            session,
            NegotiatedState(HOST, client_capabilities={"elicitation": {}}, initialized=True),
        )
        self.history: Sequence[Turn] = ()
        """The conversation of the table, shown beside each question."""

    def prompts(self) -> Generator[str, str, None]:
        """Ask what to say to the model, until the person has nothing more to say.

        Takes what was heard of it each time, and shows that with the next question.
        """
        heard = say(SECTION, "say something")
        prompt_field = {"type": "string", "title": say(SECTION, "prompt")}
        while True:
            found = self._ask(heard, {"prompt": prompt_field}, "prompt") or {}
            prompt = str(found.get("prompt", ""))
            if not prompt.strip():
                return
            heard = yield prompt

    def permit(self, use: ToolUse, tool: ToolAddress) -> ToolUse | ToolResult:
        """Ask: call it, answer in its place, or refuse."""
        given = as_json(use.input)
        wants = say(SECTION, "wants", server=tool.server, tool=tool.tool, given=given)
        fields: dict[str, Any] = {
            "choice": {
                "type": "string",
                "title": say(SECTION, "choice"),
                "oneOf": [
                    {"const": one, "title": say(SECTION, one)}
                    for one in ("call", "answer", "refuse")
                ],
                "default": "call",
            },
            "answer": {"type": "string", "title": say(SECTION, "in its place")},
        }
        found = self._ask(wants, fields, "choice") or {"choice": "refuse"}
        match found.get("choice"):
            case "call":
                return use
            case "answer":
                return ToolResult(use.id, str(found.get("answer", "")))
            case _:
                return refused(use)

    def _ask(self, message: str, fields: dict[str, Any], needed: str) -> dict[str, Any] | None:
        """Ask with a form. None when the person declines, or has left."""
        form = {"type": "object", "properties": fields, "required": [needed]}
        meta = {CONVERSATION: messages_of(self.history)}
        params = {"mode": "form", "message": message, "requestedSchema": form, "_meta": meta}
        result = object_at(self.person.ask("elicitation/create", params), "result")
        if result.get("action") != "accept":
            return None
        return object_at(result, "content")

    def end(self) -> None:
        self.person.end()


# -- the table -------------------------------------------------------------------------------------


class Table:
    """All four roles, taken. `sessions` names the inbox session of each person, by role."""

    def __init__(self, plan: Plan, inbox: Inbox, stack: ExitStack) -> None:
        """Start every role. What was opened is closed by the stack, in order."""
        self.plan = plan
        self.inbox = inbox
        self.stack = stack
        self.sessions: dict[Role, str] = {}
        self.recorded: ServerRecorder | None = None
        self.host = self._seat_host()
        model = self._model()
        self.stack.callback(model.close)
        handler, observer = self._client()
        entry = ServerEntry(SERVER, server_command(plan))
        self.servers = Servers(
            (entry,),
            lambda _name: handler,
            identity=IDENTITY,
            observer=lambda _name: observer,
            session_start=SessionStart.HANDSHAKE,
            timeout=LONGEST_SECONDS,
        )
        self.loop = HostLoop(model, self.servers, self.host)
        if isinstance(self.host, HostPerson):
            self.host.history = self.loop.history

    def _open(self, role: Role) -> QuestionInbox:
        session = QuestionInbox(self.inbox, role, title=role.value, asker=IDENTITY.name)
        self.sessions[role] = session.name
        return session

    def _seat_host(self) -> PlayedHost:
        if Role.HOST not in self.plan.people:
            return PlayedHost()
        person = HostPerson(self._open(Role.HOST))
        self.stack.callback(person.end)
        return person

    def _model(self) -> Any:  # noqa: ANN401 - any `Model`
        person = Role.MODEL in self.plan.people
        word = "human" if person else self.plan.model or f"script:{played('model.jsonl')}"
        return make_model(ModelChoice(word, lambda: self._open(Role.MODEL)))

    def _client(self) -> tuple[ServerRequestHandler, ClientObserver]:
        if Role.CLIENT not in self.plan.people:
            return Nobody(), ClientObserver()
        session = self._open(Role.CLIENT)
        self.stack.callback(session.end)
        self.recorded = ServerRecorder(session)
        return session, self.recorded

    def start(self, on_ready: Callable[[], None]) -> None:
        """Start the server. `on_ready` is called once all sessions are known, before an answer.

        A person who is the server answers `initialize` first, so the start takes their time.
        """
        starting = threading.Thread(target=self.servers.start, daemon=True)
        starting.start()
        while starting.is_alive() and Role.SERVER not in self.sessions:
            self._find_server()
            starting.join(_LOOK_EVERY)
        self._find_server()
        on_ready()
        starting.join()
        (server,) = self.servers.all
        client = server.client
        if self.recorded is not None and client is not None:
            self.recorded.of(client)
        if server.trouble is not None:
            raise server.trouble

    def _find_server(self) -> None:
        """Find the server's session: a server tells its process id."""
        client = self.servers.all[0].client
        transport = client.transport if client is not None else None
        if not isinstance(transport, ChildTransport):
            return
        for facts in self.inbox.sessions():
            if facts.pid == transport.process.pid and facts.role is Role.SERVER:
                self.sessions[Role.SERVER] = facts.name

    def play(self) -> None:
        """Play until the host has nothing more to say."""
        prompts = self.host.prompts()
        try:
            prompt = next(prompts)
            while True:
                tell(Role.HOST, prompt)
                prompt = prompts.send(self._heard(prompt))
        except StopIteration:
            return

    def _heard(self, prompt: str) -> str:
        try:
            return self.loop.run(prompt)
        except (ModelError, TurnLimitError) as error:
            why = error.sentence()
            tell(Role.MODEL, why)
            return why


def server_command(plan: Plan) -> ChildCommand:
    """Return how the server is started: a server in either case, by hand or by a book."""
    person = Role.SERVER in plan.people
    words = [sys.executable, "-m", "humanmcp", "serve", "--home", str(plan.home)]
    book = ["--book", str(played("by_hand.toml" if person else "weather.toml"))]
    how = [] if person else ["--auto"]
    return ChildCommand(
        (*words, *book, *how, "--title", Role.SERVER.value, "--lang", spoken_language())
    )

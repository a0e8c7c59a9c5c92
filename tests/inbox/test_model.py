"""Any order of arrivals, drafts, replies, refusals, cancels and deaths, against a model of it."""

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule

from humanmcp.inbox.contract import Answer, Draft, Item, Key, Life, Reply, SessionFacts, TakenError
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics.model import Diagnostic
from tests.inbox.contract import AT, HINT, item_of

Texts: TypeAlias = "st.SearchStrategy[str]"
# Few different texts: equal ones must be told apart, and the same one may be typed twice.
TEXTS: Texts = st.sampled_from(["", "a", "b", "東京", "a\n"])
LAST = st.sampled_from([ExchangeState.ANSWERED, ExchangeState.CANCELLED, ExchangeState.ABANDONED])


@dataclass
class ModelExchange:
    """What an exchange must look like."""

    draft: str = "starting text"
    touched: bool = False
    reply: str | None = None
    taken: bool = False
    kept: list[str] = field(default_factory=list)
    diagnostics: tuple[Diagnostic, ...] = ()
    state: ExchangeState = ExchangeState.PENDING

    def keep(self, text: str) -> None:
        """Keep a text unless it is kept already."""
        if text not in self.kept:
            self.kept.append(text)

    def close(self, state: ExchangeState) -> None:
        """End; a reply that nobody took is kept."""
        if self.state is not ExchangeState.PENDING:
            return
        self.state = state
        if self.reply is not None and not self.taken:
            self.keep(self.reply)
            self.reply = None


@dataclass
class ModelSession:
    """What a session must look like, and the inbox of its process."""

    server: FolderInbox
    life: Life = Life.OPEN
    exchanges: dict[int, ModelExchange] = field(default_factory=dict)


class InboxMachine(RuleBasedStateMachine):
    """Drives the folder and a model side by side."""

    sessions = Bundle("sessions")
    keys = Bundle("keys")

    def __init__(self) -> None:
        """Start with an empty inbox and one desk."""
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        self.home = Path(self.place.name) / "home"
        self.desk = FolderInbox(self.home)
        self.model: dict[str, ModelSession] = {}

    def teardown(self) -> None:
        """Let go of everything."""
        for session in self.model.values():
            for owned in session.server._own.values():
                owned.transcript.close()
                owned.lock.release()
        self.place.cleanup()

    def exchange(self, key: Key) -> ModelExchange:
        """Return the model of an exchange."""
        return self.model[key.session].exchanges[key.number]

    # -- the server -----------------------------------------------------------------------------

    @rule(target=sessions)
    def begin(self) -> str:
        """Start a process."""
        server = FolderInbox(self.home)
        name = server.begin_session(SessionFacts("", AT))
        self.model[name] = ModelSession(server)
        return name

    @rule(target=keys, session=sessions)
    def arrive(self, session: str) -> object:
        """Deliver the next request."""
        model = self.model[session]
        if model.life is not Life.OPEN:
            return multiple()
        number = len(model.exchanges) + 1
        model.server.deliver(item_of(session, number))
        model.exchanges[number] = ModelExchange()
        return Key(session, number)

    @rule(session=sessions)
    def take_replies(self, session: str) -> None:
        """Take what is new, and nothing else."""
        model = self.model[session]
        if model.life is not Life.OPEN:
            return
        expected = {
            number: exchange.reply
            for number, exchange in model.exchanges.items()
            if exchange.state is ExchangeState.PENDING
            and exchange.reply is not None
            and not exchange.taken
        }
        found = model.server.take_replies(session)
        assert {key.number: reply.text for key, reply in found} == expected
        assert len(found) == len(expected)
        for number in expected:
            model.exchanges[number].taken = True

    @rule(key=keys)
    def refuse(self, key: Key) -> None:
        """Give back a reply that was taken."""
        model, exchange = self.model[key.session], self.exchange(key)
        if model.life is not Life.OPEN or exchange.state is not ExchangeState.PENDING:
            return
        if exchange.reply is None or not exchange.taken:
            return
        model.server.refuse(key, [HINT])
        if exchange.touched and exchange.draft != exchange.reply:
            exchange.keep(exchange.draft)
        exchange.draft, exchange.touched = exchange.reply, True
        exchange.reply, exchange.taken, exchange.diagnostics = None, False, (HINT,)

    @rule(key=keys, state=LAST)
    def close(self, key: Key, state: ExchangeState) -> None:
        """End an exchange, or try to end it again."""
        model = self.model[key.session]
        if model.life is not Life.OPEN:
            return
        answer = Answer("{}", "desk", AT) if state is ExchangeState.ANSWERED else None
        model.server.close(key, state, answer)
        self.exchange(key).close(state)

    @rule(session=sessions)
    def end(self, session: str) -> None:
        """End in order."""
        model = self.model[session]
        if model.life is not Life.OPEN:
            return
        model.server.end(session)
        model.life = Life.CLOSED
        for exchange in model.exchanges.values():
            exchange.close(ExchangeState.ABANDONED)

    @rule(session=sessions)
    def kill(self, session: str) -> None:
        """Let the process die."""
        model = self.model[session]
        if model.life is not Life.OPEN:
            return
        model.server._own[session].lock.release()
        model.life = Life.GONE

    # -- the desks ----------------------------------------------------------------------------

    @rule(key=keys, text=TEXTS)
    def save(self, key: Key, text: str) -> None:
        """Type, whatever the state, by another way in that has not seen the draft that is there."""
        self.desk.save(key, Draft(text, touched=True, by=os.urandom(4).hex()))
        exchange = self.exchange(key)
        if exchange.touched and exchange.draft != text:
            exchange.keep(exchange.draft)
        exchange.draft, exchange.touched = text, True

    @rule(key=keys, text=TEXTS)
    def send(self, key: Key, text: str) -> None:
        """Send, from a desk that was opened just now."""
        exchange = self.exchange(key)
        first = exchange.state is ExchangeState.PENDING and exchange.reply is None
        try:
            FolderInbox(self.home).send(key, Reply(text))
        except TakenError:
            assert not first
            exchange.keep(text)
        else:
            assert first
            exchange.reply = text

    @rule()
    def restart_the_desk(self) -> None:
        """The desk remembers nothing; the folder does."""
        self.desk = FolderInbox(self.home)

    @invariant()
    def the_folder_is_as_the_model_says(self) -> None:
        """Compare everything that a desk can see."""
        assert {facts.name: facts.life for facts in self.desk.sessions()} == {
            name: session.life for name, session in self.model.items()
        }
        for name, session in self.model.items():
            found = [item for state in ExchangeState for item in self.desk.items(name, state)]
            assert {item.key.number for item in found} == set(session.exchanges)
            for item in found:
                self.compare(item, session.exchanges[item.key.number])

    def compare(self, item: Item, model: ModelExchange) -> None:
        """Compare one exchange."""
        assert item.state is model.state
        assert item.draft is not None
        assert (item.draft.text, item.draft.touched) == (model.draft, model.touched)
        assert (item.reply.text if item.reply else None) == model.reply
        assert sorted(draft.text for draft in item.kept) == sorted(model.kept)
        # Whoever sees the problems of a reply may send the next one: not while one is in its place.
        assert item.diagnostics == (() if model.reply is not None else model.diagnostics)
        assert item == self.desk.item(item.key)


TestInboxModel = InboxMachine.TestCase
TestInboxModel.settings = settings(
    max_examples=40, stateful_step_count=40, deadline=None, print_blob=True
)

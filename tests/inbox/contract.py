"""The tests that every inbox passes: each promise of `humanmcp/inbox/contract.py`.

An implementation subclasses `InboxContract` and gives it a `store`: the one place where things are
kept, and the ways to look at it as another process would. Nothing here knows of files.
"""

import enum
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from typing import Final, NamedTuple, Protocol
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from humanmcp.inbox import life_lock
from humanmcp.inbox.contract import (
    WRITES_FOR,
    Answer,
    Draft,
    HttpFacts,
    Inbox,
    Item,
    Key,
    Life,
    OutgoingResult,
    Parked,
    Purpose,
    Reply,
    Role,
    SessionFacts,
    StoreError,
    Tail,
    TakenError,
    UnknownItemError,
    Waiting,
    Writer,
)
from humanmcp.inbox.records import exchange_name
from humanmcp.protocol.conversation.decisions import (
    ChainEnd,
    DecisionChain,
    DecisionRecord,
    verify_decisions,
)
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.diagnostics.model import Diagnostic, Fix, Severity, TextEdit, TextForm
from tests.inbox.crashing import Countdown
from tests.support.waiting import until

MORE_STEPS_THAN_ANY: Final = 80


class Store(Protocol):
    """Where an implementation keeps things during one test."""

    def view(self) -> Inbox:
        """Open an inbox on it that shares nothing else with the others, as a process would."""

    def kill(self, inbox: Inbox) -> None:
        """Let the process of this inbox die without a word."""

    def age_writers(self, seconds: float) -> None:
        """Let the signs of writers be older, by the clock that counts for them."""

    def killed(self, step: int, *inboxes: Inbox) -> AbstractContextManager[Countdown]:
        """Let the process of these die before its n-th step."""

    def watch(self, look: Callable[[], object], *inboxes: Inbox) -> AbstractContextManager[None]:
        """Let another process look before each step of these, and after the last one."""


AT: Final = "2026-11-20T18:49:07.123Z"
LINE: Final = '{"jsonrpc":"2.0","id":"東京","method":"tools/call","params":{"n":1.0}}'
PROBLEM: Final = Diagnostic(
    code="J01",
    severity=Severity.ERROR,
    detail=(("found", "“"), ("wanted", '"')),
    pointer="/result/content/0",
    start=3,
    end=4,
    line=1,
    column=4,
    fix=Fix((TextEdit(3, 4, '"'), TextEdit(9, 9, "")), "quotes"),
    page="https://modelcontextprotocol.io/",
)
HINT: Final = Diagnostic("M07", Severity.HINT)


def item_of(session: str, number: int = 1, text: str = "starting text") -> Item:
    """Make an exchange as a server delivers it."""
    return Item(
        key=Key(session, number),
        line=LINE,
        method="tools/call",
        id='"東京"',
        protocol_version="2025-11-25",
        arrived=AT,
        draft=Draft(text),
    )


def frame_of(seq: int, raw: bytes = b'{"jsonrpc":"2.0"}', number: int = 0) -> Frame:
    """Make a frame as a server records it."""
    return Frame(seq, AT, Direction.IN, raw, number)


class Pair(NamedTuple):
    """What a process does in several steps, and what another one may do when it sees one of them.

    `before` prepares it. `act` is done by the process of the session, or by a desk. `seen` returns
    True once the step is visible, and `then` does what it allows, once.
    """

    before: Callable[[Inbox, Inbox, Key], object]
    act: Callable[[Inbox, Inbox, Key], object]
    seen: Callable[[Inbox, Key], bool]
    then: Callable[[Inbox, Key], object]


def _send_taken(server: Inbox, desk: Inbox, key: Key) -> None:
    desk.send(key, Reply("first"))
    assert [reply.text for _key, reply in server.take_replies(key.session)] == ["first"]


def _send_again(server: Inbox, desk: Inbox, key: Key) -> None:
    _send_taken(server, desk, key)
    server.refuse(key, [PROBLEM])
    _send_taken(server, desk, key)


def _answer_the_second(desk: Inbox, key: Key) -> None:
    assert desk.item(key).diagnostics == (HINT,)
    desk.send(key, Reply("second"))


def _send_lost(_server: Inbox, desk: Inbox, key: Key) -> None:
    with pytest.raises(TakenError):
        desk.send(key, Reply("lost"))


def _is_typed(desk: Inbox, key: Key, *texts: str) -> bool:
    item = desk.item(key)
    drafts = [item.draft, item.reply, *item.kept]
    return {*texts} <= {draft.text for draft in drafts if draft is not None}


def _assert_over(desk: Inbox, key: Key) -> None:
    assert desk.item(key).state is ExchangeState.ANSWERED
    assert desk.item(key).answer == Answer("{}", "desk", AT)
    assert desk.items(key.session) == []
    with pytest.raises(TakenError):
        desk.send(key, Reply("second"))
    assert _is_typed(desk, key, "second")


PAIRS: Final[Mapping[str, Pair]] = {
    "refused: the problems, and the place of the reply": Pair(
        _send_taken,
        lambda server, _desk, key: server.refuse(key, [HINT]),
        lambda desk, key: bool(desk.item(key).diagnostics),
        lambda desk, key: desk.send(key, Reply("second")),
    ),
    "refused: the place of the reply, and the problems and the text": Pair(
        _send_taken,
        lambda server, _desk, key: server.refuse(key, [HINT]),
        lambda desk, key: desk.item(key).reply is None,
        lambda desk, key: (
            (desk.item(key).diagnostics == (HINT,) and _is_typed(desk, key, "first"))
            or pytest.fail("free without its problems")
        ),
    ),
    "refused again: the problems of the second, and its place": Pair(
        _send_again,
        lambda server, _desk, key: server.refuse(key, [HINT]),
        lambda desk, key: bool(desk.item(key).diagnostics),
        _answer_the_second,
    ),
    "answered: the state, and the answer": Pair(
        _send_taken,
        lambda server, _desk, key: server.close(
            key, ExchangeState.ANSWERED, Answer("{}", "desk", AT)
        ),
        lambda desk, key: desk.item(key).state is not ExchangeState.PENDING,
        _assert_over,
    ),
    "answered: the list of those that wait, and the state": Pair(
        _send_taken,
        lambda server, _desk, key: server.close(
            key, ExchangeState.ANSWERED, Answer("{}", "desk", AT)
        ),
        lambda desk, key: not desk.items(key.session),
        _assert_over,
    ),
    "changed: the draft": Pair(
        lambda _server, desk, key: desk.save(key, Draft("typed", touched=True)),
        lambda _server, desk, key: desk.change_draft(
            key, lambda draft: (draft or Draft(""))._replace(paused=True)
        ),
        lambda desk, key: desk.item(key).is_paused,
        lambda desk, key: desk.save(key, Draft("typed later", touched=True)),
    ),
    "lost: the error, and the text that is kept": Pair(
        _send_taken,
        _send_lost,
        lambda desk, key: bool(desk.item(key).kept),
        lambda desk, key: _is_typed(desk, key, "first", "lost") or pytest.fail("not kept"),
    ),
    "settled: the result, and the list of what is to be sent": Pair(
        lambda _server, desk, key: desk.submit(key.session, Reply("said")),
        lambda server, _desk, key: server.settle_outgoing(key.session, exchange_name(1), [HINT]),
        lambda desk, key: desk.outgoing_result(key.session, exchange_name(1)) is not None,
        lambda desk, key: desk.submit(key.session, Reply("said again")),
    ),
    "ended: the session, and what waits in it": Pair(
        _send_taken,
        lambda server, _desk, key: server.end(key.session),
        lambda desk, key: desk.facts(key.session).life is Life.CLOSED,
        lambda desk, key: desk.items(key.session) == [] or pytest.fail("still waits"),
    ),
}
"""Each pair of writes of which a reader may see the first, by what is seen and what must hold."""


class Deed(enum.Enum):
    """What somebody does at an exchange."""

    OPEN = "open"
    TYPE = "type"
    TYPE_OVER = "save by another way in, naming neither a page nor what was seen"
    SEND = "send"
    REFUSE = "the server refuses the reply that is there"
    END = "the client cancels"


class Writers:
    """Who types at one exchange, what each saw, and every text that somebody may miss."""

    def __init__(self, server: Inbox, desk: Inbox, key: Key) -> None:
        """Let all of them look at an exchange that was just delivered."""
        self.server, self.desk, self.key = server, desk, key
        self.count = 0
        self.pages: dict[str, str] = {}
        self.seen: dict[str, tuple[str, str]] = {}
        self.missed: set[str] = set()
        """Texts that were confirmed, and that nobody who saw or wrote them has replaced."""

    def play(self, deeds: Sequence[tuple[str, Deed]]) -> None:
        """Do all of it, and look after each step."""
        acts: dict[Deed, Callable[[str], object]] = {
            Deed.OPEN: self._open,
            Deed.TYPE: self._type,
            Deed.TYPE_OVER: self._type_over,
            Deed.SEND: self._send,
            Deed.REFUSE: lambda _who: self._refuse(),
            Deed.END: lambda _who: self.server.close(self.key, ExchangeState.CANCELLED),
        }
        for who, deed in deeds:
            acts[deed](who)
            found = self.desk.item(self.key)
            texts = {one.text for one in (found.draft, found.reply, *found.kept) if one}
            assert self.missed <= texts, (deeds, self.missed, texts)

    def _moment(self) -> str:
        self.count += 1
        return f"2026-07-28T10:00:{self.count:02}.000Z"

    def _open(self, who: str) -> None:
        draft = self.desk.item(self.key).draft or Draft("")
        self.pages[who] = self._moment()
        self.seen[who] = (draft.at, draft.text)

    def _type(self, who: str) -> None:
        if who not in self.pages:
            self._open(who)
        at, page = self._moment(), self.pages[who]
        since, text = self.seen[who]
        own = f"{who} {at}"
        self.desk.save(self.key, Draft(own, touched=True, by=who, page=page, at=at), since)
        self.missed = {*self.missed, own} - {text}
        self.seen[who] = (at, own)

    def _type_over(self, who: str) -> None:
        text = f"{who} over {self._moment()}"
        self.desk.save(self.key, Draft(text, touched=True, by=text, at=self._moment()))
        self.missed.add(text)

    def _send(self, who: str) -> None:
        at = self._moment()
        text = f"{who} sent {at}"
        with suppress(TakenError):
            self.desk.send(self.key, Reply(text, by=who, at=at, page=self.pages.get(who, "")))
        self.missed = {*self.missed, text} - {self.seen.get(who, ("", ""))[1]}
        self.seen[who] = ("", text)
        self.pages.setdefault(who, "")

    def _refuse(self) -> None:
        if self.server.take_replies(self.key.session):
            self.server.refuse(self.key, [PROBLEM])


class InboxContract:
    """Every promise of the contract. A subclass gives the fixture `store`."""

    @pytest.fixture
    def server(self, store: Store) -> Inbox:
        """Look at the store as the process of a session."""
        return store.view()

    @pytest.fixture
    def desk(self, store: Store) -> Inbox:
        """Look at the store as a process where a person answers."""
        return store.view()

    @pytest.fixture
    def session(self, server: Inbox) -> str:
        """Begin a session."""
        return server.begin_session(SessionFacts(name="", started=AT))

    @pytest.fixture
    def key(self, server: Inbox, session: str) -> Key:
        """Deliver one exchange."""
        server.deliver(item_of(session))
        return Key(session, 1)

    @pytest.mark.parametrize("name", PAIRS)
    def test_who_sees_a_step_can_do_at_once_what_it_allows(
        self, store: Store, server: Inbox, desk: Inbox, key: Key, name: str
    ) -> None:
        """Whatever the time between two steps: another process looks between all of them.

        At once, or in its turn: a draft is changed by one after the other.
        """
        pair, done = PAIRS[name], list[str]()
        pair.before(server, desk, key)
        own, other = store.view(), store.view()

        def look() -> None:
            listed = [item for state in ExchangeState for item in other.items(key.session, state)]
            assert len(listed) == 1
            if not done and pair.seen(other, key):
                try:
                    with patch.object(life_lock, "TURN_WITHIN", 0.0):
                        pair.then(other, key)
                except StoreError as error:
                    if not isinstance(error.__cause__, BlockingIOError):
                        raise
                else:
                    done.append(name)

        with store.watch(look, server, own):
            pair.act(server, own, key)
        assert done, "it was never seen"
        if name.startswith("refused:"):
            sent = [reply.text for _key, reply in server.take_replies(key.session)]
            assert sent == (["second"] if "the problems, and" in name else [])
            assert _is_typed(desk, key, "first")
        if name.startswith("changed"):
            assert _is_typed(desk, key, "typed later")
        if name.startswith("settled"):
            assert [reply.text for _, reply in server.outgoing(key.session)] == ["said again"]

    @pytest.mark.parametrize("name", PAIRS)
    def test_what_a_kill_left_half_is_found_at_the_next_start(
        self, store: Store, name: str
    ) -> None:
        """Killed between two steps: the next process sees what is done, or what is left to do."""
        pair = PAIRS[name]
        for step in range(1, MORE_STEPS_THAN_ANY):
            server, desk = store.view(), store.view()
            key = Key(server.begin_session(SessionFacts("", AT)), 1)
            server.deliver(item_of(key.session))
            pair.before(server, desk, key)
            acting = store.view()
            with store.killed(step, server, acting) as countdown:
                pair.act(server, acting, key)
            store.kill(server)
            after = store.view()
            if after.facts(key.session).life is not Life.CLOSED:
                after.resume(key.session)
            if not pair.seen(desk, key):
                taken = [reply.text for _key, reply in after.take_replies(key.session)]
                assert taken == ["first"] or name.startswith(("changed", "settled", "ended"))
                pair.act(after, desk, key)
            assert pair.seen(desk, key), f"killed before step {step}"
            pair.then(desk, key)
            if not countdown.happened:
                return
        raise AssertionError

    def test_what_a_killed_process_did_not_close_can_be_sent_again(self, store: Store) -> None:
        """Killed between two steps: where the next process refuses the reply, it is free."""
        for step in range(1, MORE_STEPS_THAN_ANY):
            server, desk = store.view(), store.view()
            key = Key(server.begin_session(SessionFacts("", AT)), 1)
            server.deliver(item_of(key.session))
            _send_taken(server, desk, key)
            with store.killed(step, server) as countdown:
                server.close(key, ExchangeState.ANSWERED, Answer("{}", "desk", AT))
            store.kill(server)
            after = store.view()
            after.resume(key.session)
            if desk.item(key).state is ExchangeState.PENDING:
                after.take_replies(key.session)
                after.refuse(key, [PROBLEM])
                assert desk.item(key).answer is None, f"killed before step {step}"
                desk.send(key, Reply("second"))
            if not countdown.happened:
                return
        raise AssertionError

    # -- 1: what was delivered can be read, and survives --------------------------------------

    def test_a_delivered_exchange_is_seen_by_every_desk_at_once(
        self, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """Promise 1: nothing has to happen between `deliver` and reading it elsewhere."""
        server.deliver(item_of(session))
        assert desk.items(session) == [item_of(session)]
        assert desk.item(Key(session, 1)) == item_of(session)

    def test_what_was_answered_at_once_never_waits(
        self, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """It is delivered as what it is: over, with its answer."""
        answer = Answer("HTTP/1.1 200 OK", "rule", AT)
        for number, state in enumerate((ExchangeState.ANSWERED, ExchangeState.CANCELLED), 1):
            kept = answer if state is ExchangeState.ANSWERED else None
            item = item_of(session, number)._replace(
                state=state, answer=kept, draft=None, purpose=Purpose.STEP, context="{}"
            )
            server.deliver(item)
            assert desk.item(item.key) == item
        assert not desk.items(session)
        assert not server.take_replies(session)
        with pytest.raises(TakenError):
            desk.send(Key(session, 1), Reply("late"))

    def test_every_part_of_an_exchange_arrives_as_it_was(
        self, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """Promise 1: no member is lost on the way, whatever its value."""
        item = item_of(session, 7)._replace(
            purpose=Purpose.HELD,
            waiting=Waiting(
                60.0, "limit.known", 2.5, book="paused", keepalive="progress", why_not="x"
            ),
            draft=Draft("[1]", TextForm.RESULT, touched=True, paused=True, by="files", at=AT),
            diagnostics=(PROBLEM, HINT),
        )
        server.deliver(item)
        assert desk.item(item.key) == item

    @pytest.mark.parametrize(
        "text",
        ["", "\n\r\t\x00\x1b[2J", "\ud800 alone", "\u2028\u202e", "9007199254740993", "東" * 9999],
        ids=["empty", "controls", "surrogate", "directions", "integer", "long"],
    )
    def test_any_text_is_kept_as_it_was_typed(self, desk: Inbox, key: Key, text: str) -> None:
        """Promise 1: also what UTF-8 cannot hold."""
        desk.save(key, Draft(text, touched=True))
        draft = desk.item(key).draft
        assert draft is not None
        assert draft.text == text

    def test_everything_is_there_after_the_death_of_the_process(
        self, store: Store, server: Inbox, desk: Inbox, key: Key
    ) -> None:
        """Promise 1: the exchange and what was typed for it outlive the server."""
        desk.save(key, Draft("typed", touched=True))
        store.kill(server)
        found = store.view().item(key)
        assert found.draft == Draft("typed", touched=True)
        assert found.state is ExchangeState.PENDING

    def test_a_number_is_delivered_once(self, server: Inbox, key: Key) -> None:
        """An exchange is not overwritten by another one with its number."""
        with pytest.raises(Exception, match="could not be saved"):
            server.deliver(item_of(key.session)._replace(line="other"))
        assert server.item(key).line == LINE

    def test_a_repeated_request_replaces_the_line_and_the_id(
        self, server: Inbox, desk: Inbox, key: Key
    ) -> None:
        """`update`: the draft and everything else stays."""
        waiting = Waiting(limit=600.0, keepalive="retry")
        server.update(key, line='{"id":9}', id="9", waiting=waiting)
        expected = item_of(key.session)._replace(line='{"id":9}', id="9", waiting=waiting)
        assert desk.item(key) == expected

    def test_an_update_after_the_end_changes_nothing(
        self, server: Inbox, desk: Inbox, key: Key
    ) -> None:
        """A timer may fire when the answer is on its way."""
        server.close(key, ExchangeState.ANSWERED, Answer("{}", "desk", AT))
        before = desk.item(key)
        server.update(key, line="late", id="9", waiting=Waiting(book="paused"))
        assert desk.item(key) == before

    # -- 2: one reply wins, and nothing typed is lost -----------------------------------------

    def test_the_second_reply_is_turned_away(self, store: Store, desk: Inbox, key: Key) -> None:
        """Promise 2: its sender learns who was first, and its text is kept."""
        desk.send(key, Reply("first", by="Aiko"))
        with pytest.raises(TakenError) as caught:
            store.view().send(key, Reply("second", TextForm.TEXT, by="Bo", at=AT))
        assert (caught.value.key, caught.value.state) == (key, ExchangeState.PENDING)
        assert caught.value.by == "Aiko"
        found = desk.item(key)
        assert found.reply == Reply("first", by="Aiko")
        assert found.kept == (Draft("second", TextForm.TEXT, touched=True, by="Bo", at=AT),)

    def test_of_many_replies_exactly_one_wins(self, store: Store, server: Inbox, key: Key) -> None:
        """Promise 2: whoever they are, and however close; the losing texts are all kept."""
        texts = [f"reply {number}" for number in range(16)]
        start = threading.Barrier(len(texts))

        def send(text: str) -> str:
            desk = store.view()
            start.wait()
            try:
                desk.send(key, Reply(text))
            except TakenError:
                return ""
            return text

        with ThreadPoolExecutor(len(texts)) as pool:
            winners = [text for text in pool.map(send, texts) if text]
        assert [reply.text for _, reply in server.take_replies(key.session)] == winners
        assert len(winners) == 1
        kept = [draft.text for draft in server.item(key).kept]
        assert sorted(kept + winners) == sorted(texts)

    def test_a_reply_after_the_end_is_turned_away_and_kept(
        self, server: Inbox, desk: Inbox, key: Key
    ) -> None:
        """Promise 2: answered by the book while somebody typed."""
        server.close(key, ExchangeState.ANSWERED, Answer("{}", "book: weather", AT))
        with pytest.raises(TakenError) as caught:
            desk.send(key, Reply("late"))
        assert (caught.value.state, caught.value.by) == (ExchangeState.ANSWERED, "book: weather")
        assert [draft.text for draft in desk.item(key).kept] == ["late"]

    def test_a_reply_that_nobody_took_is_kept_when_another_answer_was_first(
        self, server: Inbox, desk: Inbox, key: Key
    ) -> None:
        """Promise 2: `send` returned, and then the client cancelled."""
        desk.send(key, Reply("just too late", by="Aiko"))
        server.close(key, ExchangeState.CANCELLED, reason="took too long")
        found = desk.item(key)
        assert [draft.text for draft in found.kept] == ["just too late"]
        assert found.reply is None

    def test_the_reply_that_was_sent_stays_beside_the_answer(
        self, server: Inbox, desk: Inbox, key: Key
    ) -> None:
        """What was typed and what was sent can be compared later."""
        desk.send(key, Reply("{ }"))
        server.take_replies(key.session)
        server.close(key, ExchangeState.ANSWERED, Answer("{}", "desk", AT, deliberate=True))
        found = desk.item(key)
        assert found.reply == Reply("{ }")
        assert found.answer == Answer("{}", "desk", AT, deliberate=True)
        assert found.kept == ()

    # -- 3: a reply is taken once in a process ------------------------------------------------

    def test_a_reply_is_taken_once(self, server: Inbox, desk: Inbox, key: Key) -> None:
        """Promise 3: and with all its parts."""
        reply = Reply("text", TextForm.TOOL_ERROR, anyway=True, by="desk", at=AT)
        assert server.take_replies(key.session) == []
        desk.send(key, reply)
        assert server.take_replies(key.session) == [(key, reply)]
        assert server.take_replies(key.session) == []

    def test_a_reply_is_taken_again_after_a_crash(
        self, store: Store, server: Inbox, desk: Inbox, key: Key
    ) -> None:
        """Promise 3: an exchange leaves `pending` only through `close`.

        By the process that holds the session then (`resume`): no other one takes anything.
        """
        desk.send(key, Reply("text"))
        server.take_replies(key.session)
        store.kill(server)
        after = store.view()
        after.resume(key.session)
        assert after.take_replies(key.session) == [(key, Reply("text"))]
        after.close(key, ExchangeState.ABANDONED)
        assert store.view().take_replies(key.session) == []

    def test_replies_come_in_the_order_they_were_sent(
        self, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """Promise 3: oldest first, whatever the number of the exchange."""
        for number in (1, 2, 3):
            server.deliver(item_of(session, number))
        sent = [Key(session, 3), Key(session, 1), Key(session, 2)]
        for at, key in enumerate(sent):
            desk.send(key, Reply(f"to {key.number}", at=f"2026-11-20T18:49:07.12{at}Z"))
        assert [key for key, _ in server.take_replies(session)] == sent

    # -- giving back --------------------------------------------------------------------------

    def test_a_refused_reply_is_the_draft_again(self, server: Inbox, desk: Inbox, key: Key) -> None:
        """`refuse`: the text goes back with every part of its problems."""
        desk.send(key, Reply("{“result”: 1}", TextForm.RESULT, by="Aiko", at=AT))
        server.take_replies(key.session)
        server.refuse(key, [PROBLEM, HINT])
        found = desk.item(key)
        assert found.draft == Draft(
            "{“result”: 1}", TextForm.RESULT, touched=True, by="Aiko", at=AT
        )
        assert found.diagnostics == (PROBLEM, HINT)
        assert found.reply is None
        assert found.kept == ()

    def test_after_a_refusal_the_next_reply_is_taken(
        self, server: Inbox, desk: Inbox, key: Key
    ) -> None:
        """`refuse`: even the very same text may be sent again."""
        for _ in range(3):
            desk.send(key, Reply("same"))
            assert server.take_replies(key.session) == [(key, Reply("same"))]
            server.refuse(key, [PROBLEM])

    def test_a_refusal_does_not_overwrite_what_somebody_else_typed(
        self, server: Inbox, desk: Inbox, key: Key
    ) -> None:
        """Promise 2: two people at one exchange; the one who did not send keeps his text."""
        desk.save(key, Draft("his", touched=True, by="Bo"))
        desk.send(key, Reply("hers", by="Aiko"))
        server.take_replies(key.session)
        server.refuse(key, [PROBLEM])
        found = desk.item(key)
        assert found.draft is not None
        assert found.draft.text == "hers"
        assert found.kept == (Draft("his", touched=True, by="Bo"),)

    def test_a_refusal_is_not_shown_above_what_was_typed_after_it(
        self, server: Inbox, desk: Inbox, key: Key
    ) -> None:
        """Promise 2: the newest text is the draft; the refused one is beside it."""
        sent = Reply("hers", TextForm.TEXT, by="Aiko", at="2026-07-28T10:00:01.000Z")
        desk.send(key, sent)
        server.take_replies(key.session)
        typed = Draft("his", touched=True, by="Bo", at="2026-07-28T10:00:01.001Z")
        desk.save(key, typed)
        server.refuse(key, [PROBLEM])
        found = desk.item(key)
        assert (found.draft, found.kept) == (typed, (sent.as_draft,))
        assert (found.reply, found.diagnostics) == (None, (PROBLEM,))

    def test_a_change_of_the_draft_loses_no_text_that_is_saved_meanwhile(
        self, desk: Inbox, key: Key
    ) -> None:
        """`change_draft`: somebody pauses and somebody types, each as fast as they can."""
        rounds = 40

        def type_on() -> None:
            for one in range(rounds + 1):
                desk.save(key, Draft(f"{one}", touched=True))

        typed = threading.Thread(target=type_on)
        typed.start()
        while typed.is_alive():
            desk.change_draft(key, lambda draft: (draft or Draft(""))._replace(paused=True))
        typed.join()
        desk.change_draft(key, lambda draft: (draft or Draft(""))._replace(paused=True))
        draft = desk.item(key).draft
        assert draft is not None
        assert (draft.text, draft.touched, draft.paused) == (f"{rounds}", True, True)

    def test_a_draft_that_is_not_there_yet_can_be_changed(
        self, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """`change_draft`: also after the exchange was closed; an unknown one is an error."""
        for number, state in ((1, ExchangeState.PENDING), (2, ExchangeState.CANCELLED)):
            server.deliver(item_of(session, number)._replace(draft=None))
            if state is not ExchangeState.PENDING:
                server.close(Key(session, number), state)
            desk.change_draft(Key(session, number), lambda draft: draft or Draft("first"))
            assert desk.item(Key(session, number)).draft == Draft("first")
        with pytest.raises(UnknownItemError):
            desk.change_draft(Key(session, 3), lambda draft: draft or Draft("first"))

    def test_a_refusal_after_the_end_changes_nothing(
        self, server: Inbox, desk: Inbox, key: Key
    ) -> None:
        """The client may cancel while a reply is checked."""
        desk.send(key, Reply("text"))
        server.take_replies(key.session)
        server.close(key, ExchangeState.CANCELLED)
        before = desk.item(key)
        server.refuse(key, [PROBLEM])
        assert desk.item(key) == before

    def test_a_draft_that_its_next_writer_had_not_seen_is_kept(
        self, server: Inbox, desk: Inbox, key: Key
    ) -> None:
        """Promise 2: by page and by `since`; one who goes on leaves no trace of each pause."""
        ann = Draft("Ann", touched=True, page="1", at="2026-07-28T10:00:01.000Z")
        desk.save(key, ann._replace(text="A", at=AT))
        desk.save(key, ann)
        assert (desk.item(key).draft, desk.item(key).kept) == (ann, ())
        desk.save(key, ann._replace(text="Ann, at another device", page="2"), ann.at)
        assert desk.item(key).kept == ()
        desk.save(key, Draft("Bob", touched=True), AT)
        assert [one.text for one in desk.item(key).kept] == ["Ann, at another device"]
        server.close(key, ExchangeState.CANCELLED)
        desk.save(key, ann)
        assert [one.text for one in desk.item(key).kept] == ["Ann, at another device", "Bob"]

    def test_who_names_no_page_is_one_writer_for_each_way_in(self, desk: Inbox, key: Key) -> None:
        """Each wrong answer of a command line would be one more text that was not sent."""
        for by in ("terminal", "desk"):
            for one in range(3):
                desk.save(key, Draft(f"{by}{one}", touched=True, by=by))
        assert [one.text for one in desk.item(key).kept] == ["terminal2"]

    def test_of_two_who_type_in_turn_one_text_of_each_is_kept(self, desk: Inbox, key: Key) -> None:
        """Promise 2: not one for each pause; what lost to another reply stays beside it."""
        desk.put_aside(key, Draft("sent too late", page="a", at="00"))
        for one in range(1, 9):
            for name in "ab":
                desk.save(key, Draft(f"{name}{one}", touched=True, page=name, at=f"{one:02}"))
        item = desk.item(key)
        assert item.draft is not None
        assert item.draft.text == "b8"
        assert [one.text for one in item.kept] == ["sent too late", "b7", "a8"]

    def test_of_some_who_type_at_once_the_last_text_of_each_is_there(
        self, store: Store, desk: Inbox, key: Key
    ) -> None:
        """Promise 2: however close."""
        rounds, people = 12, "abc"
        start = threading.Barrier(len(people))

        def type_on(name: str) -> None:
            own = store.view()
            start.wait()
            for one in range(rounds):
                own.save(key, Draft(f"{name}{one}", touched=True, page=name, at=f"{one:02}"))

        with ThreadPoolExecutor(len(people)) as pool:
            list(pool.map(type_on, people))
        item = desk.item(key)
        assert item.draft is not None
        texts = {item.draft.text, *(one.text for one in item.kept)}
        assert texts >= {f"{name}{rounds - 1}" for name in people}

    def test_each_text_that_a_save_confirmed_is_somewhere(
        self, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """Promise 2: people open, type, send, are refused and too late, in any order."""
        numbers = itertools.count(1)

        @settings(max_examples=40, deadline=None, database=None)
        @given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(Deed)), max_size=14))
        def play(deeds: list[tuple[str, Deed]]) -> None:
            key = Key(session, next(numbers))
            server.deliver(item_of(session, key.number))
            Writers(server, desk, key).play(deeds)

        play()

    # -- 4: an exchange ends once -------------------------------------------------------------

    @pytest.mark.parametrize(
        "state", [ExchangeState.ANSWERED, ExchangeState.CANCELLED, ExchangeState.ABANDONED]
    )
    def test_an_exchange_moves_to_its_last_state_once(
        self, server: Inbox, desk: Inbox, key: Key, state: ExchangeState
    ) -> None:
        """Promise 4: a second `close` changes nothing. The draft is kept beside it."""
        desk.save(key, Draft("typed", touched=True))
        server.close(key, state, reason="because")
        server.close(key, ExchangeState.ANSWERED, Answer("{}", "desk", AT), "other")
        found = desk.item(key)
        assert (found.state, found.answer, found.reason) == (state, None, "because")
        assert found.draft == Draft("typed", touched=True)
        assert desk.items(key.session) == []
        assert desk.items(key.session, state) == [found]

    def test_what_is_typed_after_the_end_is_kept(
        self, server: Inbox, desk: Inbox, key: Key
    ) -> None:
        """`save`: a desk that has not noticed yet loses nothing."""
        server.close(key, ExchangeState.CANCELLED)
        desk.save(key, Draft("still typing", touched=True))
        assert desk.item(key).draft == Draft("still typing", touched=True)
        assert desk.item(key).state is ExchangeState.CANCELLED

    def test_an_exchange_does_not_end_as_pending(self, server: Inbox, key: Key) -> None:
        """`close` takes a last state only."""
        with pytest.raises(ValueError, match="pending"):
            server.close(key, ExchangeState.PENDING)

    # -- 5: the transcript --------------------------------------------------------------------

    def test_a_recorded_frame_can_be_read_at_once(
        self, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """Promise 5: in order, byte for byte, also what is no UTF-8."""
        frames = [
            frame_of(1, LINE.encode(), number=1),
            Frame(2, AT, Direction.OUT, b"\xff\xfe not text", 1, by="desk", note="deliberate"),
            Frame(3, AT, Direction.NOTE, "結果\u2028".encode(), note="a note"),
        ]
        for count, frame in enumerate(frames, 1):
            server.record(session, frame)
            assert list(desk.frames(session)) == frames[:count]

    def test_reading_goes_on_where_it_stopped(
        self, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """`frames`: only those after a number, forwards and backwards."""
        frames = [frame_of(seq) for seq in range(1, 8)]
        for frame in frames:
            server.record(session, frame)
        for after in (0, 3, 6, 7, 2, 99, 0):
            assert list(desk.frames(session, after)) == frames[after:]

    def test_frames_that_belong_together_are_recorded_at_once(
        self, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """A line, and what HTTP said beside it, in the order in which they are given."""
        frames = [frame_of(seq, number=seq % 2) for seq in range(1, 4)]
        server.record(session, *frames, durable=True)
        server.record(session, frame_of(4))
        assert list(desk.frames(session)) == [*frames, frame_of(4)]

    def test_the_last_frames_can_be_read_without_the_first(
        self, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """`before`: oldest first; before 0 means from the end."""
        frames = [frame_of(seq, b"x" * (seq % 7)) for seq in range(1, 31)]
        assert list(desk.last_frames_before(session, 0, 5)) == []
        for frame in frames:
            server.record(session, frame)
        for seq, count in ((0, 5), (31, 5), (30, 1), (3, 5), (1, 5), (99, 99), (0, 30), (17, 4)):
            expected = [frame for frame in frames if not seq or frame.seq < seq][-count:]
            assert list(desk.last_frames_before(session, seq, count)) == expected

    def test_frames_of_many_threads_are_all_there(
        self, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """Promise 5: reader and writer thread of a server record at the same time; none is torn."""

        def record(first: int) -> None:
            for seq in range(first, first + 50):
                server.record(session, frame_of(seq, b"x" * seq))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(record, (1, 101, 201, 301)))
        assert len(list(desk.frames(session))) == 200

    # -- 6: nothing of the wire is a key ------------------------------------------------------

    @pytest.mark.parametrize(
        "name",
        ["", ".", "..", "../..", "a/b", "a\\b", "C:", "nul", "x" * 300, "\x00", "ゑ", "none"],
    )
    def test_a_name_that_is_no_session_is_unknown(self, desk: Inbox, name: str) -> None:
        """Promise 6: a name from an address leads nowhere."""
        with pytest.raises(UnknownItemError):
            desk.facts(name)
        with pytest.raises(UnknownItemError):
            desk.items(name)
        with pytest.raises(UnknownItemError):
            desk.save(Key(name, 1), Draft("x"))
        with pytest.raises(UnknownItemError):
            desk.frames(name)

    @pytest.mark.parametrize("number", [0, -1, 2, 10**30])
    def test_a_number_that_was_not_delivered_is_unknown(
        self, desk: Inbox, key: Key, number: int
    ) -> None:
        """Promise 6: for every method that names an exchange."""
        unknown = Key(key.session, number)
        with pytest.raises(UnknownItemError):
            desk.item(unknown)
        with pytest.raises(UnknownItemError):
            desk.save(unknown, Draft("x"))
        with pytest.raises(UnknownItemError):
            desk.send(unknown, Reply("x"))
        with pytest.raises(UnknownItemError):
            desk.close(unknown, ExchangeState.ANSWERED)

    @pytest.mark.parametrize("ticket", ["", "..", "0009", "../0001", "0001/x"])
    def test_a_ticket_that_was_not_given_is_unknown(
        self, desk: Inbox, session: str, ticket: str
    ) -> None:
        """Promise 6: a ticket from an address leads nowhere."""
        with pytest.raises(UnknownItemError):
            desk.outgoing_result(session, ticket)

    # -- 8: sessions and their life -----------------------------------------------------------

    def test_a_session_is_open_while_its_process_lives(self, desk: Inbox, session: str) -> None:
        """Promise 8: seen from another process."""
        assert desk.facts(session).life is Life.OPEN
        assert [facts.name for facts in desk.sessions()] == [session]

    def test_a_session_whose_process_died_is_gone(
        self, store: Store, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """Promise 8: for readers old and new, and nobody has cleaned up."""
        assert desk.facts(session).life is Life.OPEN
        store.kill(server)
        assert desk.facts(session).life is Life.GONE
        assert [facts.life for facts in store.view().sessions()] == [Life.GONE]

    def test_a_session_whose_client_comes_back_goes_on_in_the_next_process(
        self, store: Store, server: Inbox, desk: Inbox
    ) -> None:
        """Promise 8: with all that waits, a reply that nobody took, and for every reader."""
        name = server.begin_session(SessionFacts("", AT, http=HttpFacts("id", "8766")))
        server.deliver(item_of(name))
        server.record(name, frame_of(1))
        assert server.orphaned_sessions("8766") == []
        store.kill(server)
        assert desk.facts(name).life is Life.GONE
        desk.send(Key(name, 1), Reply("whole"))
        following = store.view()
        found = following.session_by_http_id("id")
        assert found is not None
        assert (found.name, found.life) == (name, Life.GONE)
        assert following.session_by_http_id("other") is None
        assert following.orphaned_sessions("8767") == []
        assert [facts.name for facts in following.orphaned_sessions("8766")] == [name]
        facts, waiting = following.resume(name)
        assert (facts.http.id, facts.life, waiting) == ("id", Life.OPEN, [1])
        assert desk.facts(name).life is Life.OPEN
        assert [reply.text for _key, reply in following.take_replies(name)] == ["whole"]
        following.record(name, frame_of(2))
        assert [frame.seq for frame in desk.frames(name)] == [1, 2]

    def test_a_session_goes_on_in_one_process_alone(self, store: Store, server: Inbox) -> None:
        """Promise 8: the first that asks has it; one that left it does not."""
        name = server.begin_session(SessionFacts("", AT, http=HttpFacts("id", "8766")))
        with pytest.raises(StoreError):
            store.view().resume(name)
        assert server.is_held(name)
        server.leave_session(name)
        assert server.is_held(name) is False
        second = store.view()
        second.resume(name)
        with pytest.raises(StoreError):
            store.view().resume(name)
        second.end(name)
        with pytest.raises(UnknownItemError):
            store.view().resume(name)

    def test_a_session_that_ended_in_order_is_closed(
        self, store: Store, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """`end`: the death of the process afterwards changes nothing, nor does a second `end`."""
        server.end(session)
        server.end(session)
        assert desk.facts(session).life is Life.CLOSED
        store.kill(server)
        assert desk.facts(session).life is Life.CLOSED

    def test_what_is_pending_at_the_end_is_abandoned(
        self, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """`end`: with its draft; a reply that nobody took becomes a kept text."""
        for number in (1, 2):
            server.deliver(item_of(session, number))
        desk.save(Key(session, 1), Draft("half", touched=True))
        desk.send(Key(session, 2), Reply("whole"))
        server.end(session)
        first, second = desk.items(session, ExchangeState.ABANDONED)
        assert first.draft == Draft("half", touched=True)
        assert [draft.text for draft in second.kept] == ["whole"]

    def test_a_parked_call_outlives_its_session_and_is_settled_by_another_process(
        self, store: Store, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """`end`, `take_parked`, `fetched`: its client comes for the answer in another session."""
        key = Key(session, 1)
        server.deliver(item_of(session))
        server.update(key, line=LINE, id='"東京"', waiting=Waiting(parked=Parked("t", "task")))
        server.end(session)
        store.kill(server)
        assert [item.is_parked for item in desk.items(session)] == [True]
        other = store.view()
        assert other.take_parked(key) is None
        desk.send(key, Reply("half", by="desk"))
        assert other.take_parked(key) == Reply("half", by="desk")
        other.refuse(key, (PROBLEM,))
        assert desk.item(key).diagnostics == (PROBLEM,)
        desk.send(key, Reply("whole", by="desk"))
        assert store.view().take_parked(key) == Reply("whole", by="desk")  # that process dies
        assert other.take_parked(key) == Reply("whole", by="desk")
        other.close(key, ExchangeState.ANSWERED, Answer("whole", "desk", AT))
        assert desk.item(key).answer == Answer("whole", "desk", AT)
        assert desk.item(key).kept == ()
        for at in (AT, "2026-11-21T00:00:00.000Z"):
            other.fetched(key, at)
        assert desk.item(key).answer == Answer("whole", "desk", AT, fetched=AT)

    def test_every_fact_of_a_session_is_told(self, server: Inbox, desk: Inbox) -> None:
        """`begin_session` and `describe`: no member is lost on the way."""
        begun = SessionFacts("", AT, Role.TAP, pid=77, files="/tmp/x", title="3年2組")
        name = server.begin_session(begun)
        assert desk.facts(name) == begun._replace(name=name, letter="a")
        later = begun._replace(
            name=name, client="c\u202e", client_version="1", protocol_version="2025-11-25"
        )
        negotiated = NegotiatedState(
            client_name="c",
            client_version="1",
            client_capabilities={"roots": {}},
            server_capabilities={"tools": {"listChanged": True}},
            tools={"dice": {"name": "dice", "inputSchema": {"type": "object"}}},
            initialized=True,
        )
        assert desk.negotiated(name) == NegotiatedState()
        server.describe(later, negotiated)
        assert desk.facts(name) == later._replace(letter="a")
        assert desk.negotiated(name) == negotiated

    def test_sessions_are_listed_newest_first(self, server: Inbox, desk: Inbox) -> None:
        """`sessions`: whatever the order in which the store names them.

        A7: and whatever the clock said: somebody may have set it back between two of them.
        """
        names = [
            server.begin_session(SessionFacts("", f"2026-11-20T18:49:0{second}Z"))
            for second in (3, 1, 2)
        ]
        assert [facts.name for facts in desk.sessions()] == names[::-1]

    def test_a_probe_is_not_listed(self, server: Inbox, desk: Inbox) -> None:
        """Design 7: a process that only ever saw `server/discover` is no session to show."""
        name = server.begin_session(SessionFacts("", AT, probe=True))
        assert desk.sessions() == []
        assert desk.facts(name).probe
        assert [one.name for one in desk.probes()] == [name]
        server.describe(SessionFacts(name, AT), NegotiatedState())
        assert [facts.name for facts in desk.sessions()] == [name]

    def test_two_sessions_of_the_same_second_are_two(self, store: Store, desk: Inbox) -> None:
        """Hosts start the same server twice."""
        names = {store.view().begin_session(SessionFacts("", AT)) for _ in range(20)}
        assert {facts.name for facts in desk.sessions()} == names
        assert len(names) == 20

    def test_exchanges_are_listed_oldest_first(
        self, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """`items`: by their numbers, also past 9999."""
        numbers = [2, 10000, 1, 9999, 30]
        for number in numbers:
            server.deliver(item_of(session, number))
        assert [item.key.number for item in desk.items(session)] == sorted(numbers)

    # -- drafts -------------------------------------------------------------------------------

    def test_only_saved_drafts_are_told_to_the_server(
        self, server: Inbox, desk: Inbox, key: Key
    ) -> None:
        """`drafts`: not the text we started with, each saved one once, and `paused` with it."""
        assert server.drafts(key.session) == []
        draft = Draft("x", touched=True, paused=True, by="desk", at=AT)
        desk.save(key, draft)
        assert server.drafts(key.session) == [(key, draft)]
        assert server.drafts(key.session) == []
        for count in range(20):
            desk.save(key, Draft(str(count % 10)))
            assert server.drafts(key.session) == [(key, Draft(str(count % 10)))]

    def test_a_draft_that_was_given_back_is_no_saved_one(
        self, server: Inbox, desk: Inbox, key: Key
    ) -> None:
        """`drafts`: the server wrote that itself."""
        desk.send(key, Reply("x"))
        server.take_replies(key.session)
        server.refuse(key, [PROBLEM])
        assert server.drafts(key.session) == []

    # -- what a tap is to hold ------------------------------------------------------------------

    def test_what_a_tap_is_to_hold_is_replaced_as_a_whole(
        self, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """`hold`, `holds`: nothing at first, and from the next look on what was set last."""
        assert list(server.holds(session)) == []
        for patterns in (["tools/*", "initialize"], [], ["*"]):
            desk.hold(session, patterns)
            assert list(server.holds(session)) == patterns

    # -- what people say first ----------------------------------------------------------------

    def test_the_handshake_is_by_hand_until_it_is_given_back(
        self, server: Inbox, desk: Inbox
    ) -> None:
        """Of every session, also of those that begin later; twice is once."""
        assert not server.handshake_is_by_hand()
        for on in (True, True, False, False):
            desk.answer_handshake_by_hand(on=on)
            assert server.handshake_is_by_hand() is on

    def test_a_saying_is_offered_until_it_is_settled(
        self, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """`say`, `sayings`, `settle`, `refused`: sent when there are no problems."""
        assert server.outgoing(session) == []
        reply = Reply('{"method":"notifications/progress"}', anyway=True, by="desk", at=AT)
        ticket = desk.submit(session, reply)
        assert desk.outgoing_result(session, ticket) is None
        for _ in range(2):
            assert server.outgoing(session) == [(ticket, reply)]
        server.settle_outgoing(session, ticket, [])
        assert server.outgoing(session) == []
        assert desk.outgoing_result(session, ticket) == OutgoingResult()

    def test_a_saying_is_given_back_with_its_problems(
        self, store: Store, server: Inbox, desk: Inbox, session: str
    ) -> None:
        """`refused`: told to every desk."""
        ticket = desk.submit(session, Reply("{"))
        server.settle_outgoing(session, ticket, [PROBLEM])
        assert store.view().outgoing_result(session, ticket) == OutgoingResult((PROBLEM,))

    def test_sayings_come_in_the_order_they_were_said(
        self, store: Store, server: Inbox, session: str
    ) -> None:
        """`sayings`: also when several desks say something at once, and while the server looks."""
        said = [(store.view().submit(session, Reply(str(n))), Reply(str(n))) for n in range(12)]
        assert server.outgoing(session) == said
        late = (store.view().submit(session, Reply("late")), Reply("late"))
        until(lambda: list(server.outgoing(session)) == [*said, late], "the late saying is offered")

    # -- promise 9 ---------------------------------------------------------------------------------

    def test_a_session_has_one_letter_everywhere_and_keeps_it(self, store: Store) -> None:
        """In the order in which sessions become visible, whoever looks, whoever ended."""
        server, desk = store.view(), store.view()
        probed = server.begin_session(SessionFacts("", AT, probe=True))
        first = server.begin_session(SessionFacts("", "2026-11-20T18:49:08Z"))
        server.describe(SessionFacts(probed, AT, client="host"), NegotiatedState())
        last = store.view().begin_session(
            SessionFacts("", "2001-01-01T00:00:00Z")
        )  # the clock went back
        wanted = {first: "a", probed: "b", last: "c"}
        for view in (server, desk, store.view()):
            assert {one.name: one.letter for one in view.sessions()} == wanted
            assert [one.letter for one in view.sessions()] == ["c", "b", "a"]
            assert {name: view.facts(name).letter for name in wanted} == wanted
        server.end(first)
        assert server.begin_session(SessionFacts("", AT)) != first
        assert {one.name: one.letter for one in store.view().sessions()}.items() > wanted.items()

    def test_no_name_of_a_forgotten_session_comes_again(self, store: Store) -> None:
        """No letter, also that of the newest one; and no name of an agent that goes on."""
        server, desk = store.view(), store.view()
        own = "claude-code-0123456789abcdef"
        names = []
        for letter in "ab":
            names.append(store.view().join(SessionFacts(own, AT, Role.AGENT)))
            assert desk.facts(names[-1]).letter == letter
            assert desk.guest_session(own) == names[-1]
            desk.forget_session(names[-1])
            desk.sweep()
        names.append(desk.guest_session(own))
        assert names[0] == own
        assert not any(one.startswith(other) for one, other in itertools.permutations(names, 2))
        first = server.begin_session(SessionFacts("", AT))
        server.end(first)
        desk.forget_session(first)
        desk.sweep()
        last = store.view().begin_session(SessionFacts("", AT))
        assert {one.name: one.letter for one in desk.sessions()} == {last: "d"}

    def test_a_guest_that_was_forgotten_while_it_joins_has_another_name(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Between the look at what was forgotten and the new session."""
        own = SessionFacts("claude-code-0123456789abcdef", AT, Role.AGENT)
        first, late, desk = store.view(), store.view(), store.view()
        assert first.join(own) == own.name
        present = late.guest_session

        def guest_session(name: str) -> str:
            found = present(name)
            if found == own.name:
                desk.forget_session(own.name)
            return found

        monkeypatch.setattr(late, "guest_session", guest_session)
        joined = late.join(own)
        assert joined == desk.guest_session(own.name) != own.name
        assert [one.name for one in desk.sessions()] == [joined]
        assert late.enter(joined) == Key(joined, 1)

    def test_many_sessions_that_begin_at_once_share_no_letter(self, store: Store) -> None:
        """Of two that want the same one, one gets the next."""
        with ThreadPoolExecutor(8) as pool:
            names = list(
                pool.map(lambda _: store.view().begin_session(SessionFacts("", AT)), range(24))
            )
        letters = {store.view().facts(name).letter for name in names}
        assert letters == {chr(ord("a") + rank) for rank in range(24)}

    def test_a_probe_has_no_letter(self, store: Store) -> None:
        """What nobody sees uses none up."""
        server = store.view()
        assert server.facts(server.begin_session(SessionFacts("", AT, probe=True))).letter == ""
        assert server.facts(server.begin_session(SessionFacts("", AT))).letter == "a"

    # -- who writes an answer ---------------------------------------------------------------------

    def test_who_writes_an_answer_is_told_to_every_desk_until_they_stop(
        self, store: Store, desk: Inbox, key: Key
    ) -> None:
        """Two may write at once; one of them leaves."""
        other = store.view()
        assert other.writers() == {}
        desk.note_writer(key, Writer("a", "花子"))
        desk.note_writer(key, Writer("b"))
        assert other.writers() == {key: (Writer("a", "花子"), Writer("b"))}
        desk.clear_writer("a")
        desk.clear_writer("somebody who never wrote")
        assert other.writers() == {key: (Writer("b"),)}

    def test_a_window_writes_one_answer_at_a_time(
        self, server: Inbox, desk: Inbox, key: Key
    ) -> None:
        """It has gone on to another message."""
        server.deliver(item_of(key.session, 2))
        desk.note_writer(key, Writer("../a"))
        desk.note_writer(key._replace(number=2), Writer("../a"))
        assert server.writers() == {key._replace(number=2): (Writer("../a"),)}

    def test_who_gave_no_sign_for_long_writes_no_more(
        self, store: Store, desk: Inbox, key: Key
    ) -> None:
        """Their window may be gone. The clock of the inbox counts, and no other one."""
        desk.note_writer(key, Writer("a"))
        store.age_writers(WRITES_FOR - 5)
        assert desk.writers() == {key: (Writer("a"),)}
        store.age_writers(6)
        assert desk.writers() == {}
        desk.note_writer(key, Writer("a"))
        assert desk.writers() == {key: (Writer("a"),)}
        store.age_writers(-60)  # the clock was set back
        assert desk.writers() == {}

    def test_who_writes_keeps_nobody_from_answering(
        self, server: Inbox, desk: Inbox, key: Key
    ) -> None:
        """The first answer wins, whoever began first."""
        desk.note_writer(key, Writer("a", "花子"))
        desk.send(key, Reply("sunny", who="太郎"))
        assert [reply.text for _, reply in server.take_replies(key.session)] == ["sunny"]

    def test_nobody_writes_in_a_session_that_there_is_not(self, desk: Inbox) -> None:
        """It is unknown."""
        with pytest.raises(UnknownItemError):
            desk.note_writer(Key("20200101T000000Z-0000", 1), Writer("a"))

    # -- a guest's session (promise 11) ---------------------------------------------------------

    def test_a_guest_has_one_letter_and_numbers_that_never_come_again(self, store: Store) -> None:
        """Also when a prompt was forgotten, and over several processes."""
        keys = []
        for _ in range(3):
            inbox = store.view()
            key = ask(inbox)
            keys.append(key)
            inbox.close(key, ExchangeState.ANSWERED, Answer("{}", "desk", AT, action="allow"))
            inbox.leave(key)
            inbox.forget(key)
        desk, other = store.view(), GUEST._replace(name="other-guest")
        store.view().join(other)
        assert [one.number for one in keys] == [1, 2, 3]
        assert sorted((one.name, one.letter, one.agent) for one in desk.sessions()) == [
            (GUEST.name, "a", "6b8d"),
            (other.name, "b", "6b8d"),
        ]

    def test_each_prompt_of_a_guest_lives_as_long_as_its_own_process(self, store: Store) -> None:
        """The others wait on, and the guest is there while one of them waits."""
        first, second, desk = store.view(), store.view(), store.view()
        one, other = ask(first), ask(second)
        assert [item.key for item in desk.items(GUEST.name)] == [one, other]
        assert desk.facts(GUEST.name).life is Life.OPEN
        store.kill(first)
        desk = store.view()
        assert [item.key for item in desk.items(GUEST.name)] == [other]
        assert desk.item(one).state is ExchangeState.ABANDONED
        assert [i.key for i in desk.items(GUEST.name, ExchangeState.ABANDONED)] == [one]
        second.leave(other)
        desk = store.view()
        assert desk.items(GUEST.name) == []
        assert desk.facts(GUEST.name).life is Life.CLOSED

    def test_a_reply_reaches_the_process_of_its_prompt_and_no_other(self, store: Store) -> None:
        """Each takes its own."""
        first, second, desk = store.view(), store.view(), store.view()
        one, other = ask(first), ask(second)
        desk.send(other, Reply("no", TextForm.DECISION, by="desk"))
        until(lambda: [key for key, _ in second.take_replies(GUEST.name)] == [other], "it comes")
        assert first.take_replies(GUEST.name) == []
        desk.send(one, Reply("yes", TextForm.DECISION, by="desk"))
        until(lambda: [key for key, _ in first.take_replies(GUEST.name)] == [one], "it comes")

    def test_the_lines_and_decisions_of_a_guest_are_one_chain(self, store: Store) -> None:
        """Many processes write at once, and no number is given twice."""

        def write(_at: int) -> None:
            inbox = store.view()
            inbox.join(GUEST)

            def line(tail: Tail) -> tuple[list[Frame], Tail]:
                chain = DecisionChain(tail.decisions, tail.last_decision)
                record = chain.add(DecisionRecord(GUEST.name, 1, "PermissionRequest", "{}", "{}"))
                frame = Frame(tail.seq + 1, AT, Direction.OUT, b"{}", 1, decision=record)
                return [frame], Tail(frame.seq, chain.number, chain.last)

            for _ in range(3):
                inbox.share(GUEST.name, line)

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(write, range(3)))
        desk = store.view()
        frames = list(desk.frames(GUEST.name))
        assert [frame.seq for frame in frames] == list(range(1, 10))
        content = "".join(f"{frame.decision}\n" for frame in frames).encode()
        facts = desk.facts(GUEST.name)
        end = ChainEnd(facts.decisions, facts.last_decision)
        assert list(verify_decisions(content, lambda _: end)) == []
        without = content.split(b"\n")[:4] + content.split(b"\n")[5:]
        assert [flaw.code for flaw in verify_decisions(b"\n".join(without))] == ["left out"]

    def test_patterns_are_changed_one_after_the_other(self, store: Store) -> None:
        """None of several changes at once is lost, and what was taken back stays away."""
        ask(store.view())

        def add(at: int) -> None:
            store.view().change_holds(GUEST.name, lambda kept: (*kept, str(at)))

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(add, range(9)))
        desk = store.view()
        assert sorted(desk.holds(GUEST.name)) == [str(at) for at in range(9)]
        desk.change_holds(GUEST.name, lambda kept: [one for one in kept if one != "3"])
        assert "3" not in store.view().holds(GUEST.name)

    def test_what_became_of_a_decision_is_noted_once(self, store: Store) -> None:
        """Any process may do so; what follows it is noted after it alone."""
        inbox = store.view()
        key = ask(inbox)
        inbox.close(key, ExchangeState.ANSWERED, Answer("{}", "desk", AT, action="deny"))
        steps = [("read", "ran"), ("ran", ""), ("ended", ""), ("read", "ran"), ("read", "ran")]
        noted = [store.view().fetched(key, AT, *each) for each in steps]
        assert noted == [False, True, False, True, False]
        answer = store.view().item(key).answer
        assert answer is not None
        assert (answer.action, answer.became, answer.fetched) == ("deny", "read", AT)

    def test_the_last_exchanges_of_a_state_are_listed_alone(self, store: Store) -> None:
        """Oldest first."""
        inbox = store.view()
        keys = [ask(inbox) for _ in range(3)]
        assert [item.key for item in inbox.items(GUEST.name, most=2)] == keys[1:]
        assert [item.key for item in inbox.items(GUEST.name, most=9)] == keys


GUEST: Final = SessionFacts(
    "claude-code-0123", AT, Role.AGENT, client="Claude Code", folder="/p", agent="6b8d"
)


def ask(inbox: Inbox) -> Key:
    """Deliver a prompt of an agent."""
    inbox.join(GUEST)
    key = inbox.enter(GUEST.name)
    item = Item(key, "{}", "PermissionRequest", "", "", AT, purpose=Purpose.PROMPT)
    inbox.deliver(item._replace(host="claude-code"))
    return key

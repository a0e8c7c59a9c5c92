"""The contract's promises between two inboxes of which one is the mirror of the other."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import pytest

from humanmcp.inbox import records
from humanmcp.inbox.contract import Answer, Key, Life, Reply, SessionFacts, TakenError
from humanmcp.inbox.folder import FolderInbox
from humanmcp.inbox.mirror import Mirror, Original
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity
from tests.inbox.contract import AT, InboxContract, frame_of, item_of

if TYPE_CHECKING:
    from pathlib import Path


class Pair:
    """A session here, and its mirror there; `post` is the network, which may fail."""

    def __init__(self, folder: Path) -> None:
        """Begin with one request that waits, and nothing posted."""
        self.here = FolderInbox(folder / "here")
        self.session = self.here.begin(SessionFacts("", AT, client="host"))
        self.there = FolderInbox(folder / "there")
        self.original = Original(FolderInbox(folder / "here"), self.session)
        self.mirror = Mirror(self.there, self.session)
        self.key = Key(self.session, 1)
        self.here.record(self.session, frame_of(1))
        self.here.deliver(item_of(self.session))

    def post(self, *, arrives: bool = True, is_known: bool = True) -> None:
        """Post what is new: twice where the answer to it was lost."""
        while (found := self.original.news(self.mirror.last)) is not None:
            content = records.encode(found[0])
            if not arrives:
                return
            self.mirror.take_in(records.decode(content))
            if not is_known:
                return
            found[1]()

    def replies(self, after: int = 0) -> list[dict[str, Any]]:
        """Return what comes back, as the network carries it."""
        _, sent = self.mirror.sent(after, self.mirror.boot)
        return list(records.decode(records.encode({"sent": sent}))["sent"])


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    """Make one."""
    return Pair(tmp_path)


def test_what_was_delivered_here_can_be_read_there(pair: Pair) -> None:
    """Promise 1 and 5: the exchange, the lines in their order, who is connected."""
    for number in range(2, 6):
        pair.here.record(pair.session, frame_of(number))
    pair.post()
    assert pair.there.item(pair.key).line == pair.here.item(pair.key).line
    assert [one.seq for one in pair.there.frames(pair.session)] == [1, 2, 3, 4, 5]
    assert pair.there.facts(pair.session).client == "host"


def test_what_is_posted_twice_is_there_once(pair: Pair) -> None:
    """The answer to a post was lost: the lines are known by their numbers."""
    pair.post(is_known=False)
    pair.here.record(pair.session, frame_of(2))
    pair.post()
    assert [one.seq for one in pair.there.frames(pair.session)] == [1, 2]
    assert len(pair.there.items(pair.session)) == 1


def test_what_happened_without_a_network_is_made_good(pair: Pair) -> None:
    """Also an exchange that came and went meanwhile."""
    pair.post()
    pair.here.deliver(item_of(pair.session, 2))
    pair.here.record(pair.session, frame_of(2)._replace(number=2))
    pair.here.close(Key(pair.session, 2), ExchangeState.ANSWERED, Answer("{}", "files", AT))
    pair.post(arrives=False)
    pair.original.forget()
    pair.post()
    assert pair.there.item(Key(pair.session, 2)).state is ExchangeState.ANSWERED


def test_a_reply_from_there_counts_as_sent_when_it_was_taken_here(pair: Pair) -> None:
    """Delivered means taken: until then it is on its way."""
    pair.post()
    pair.there.send(pair.key, Reply("sunny", by="desk"))
    (sent,) = pair.replies()
    reply = records.read_reply(sent["reply"])
    assert (sent["number"], reply.text, reply.by) == (1, "sunny", "desk")
    assert pair.there.item(pair.key).state is ExchangeState.PENDING
    pair.here.send(pair.key, reply)
    assert pair.here.take(pair.session)
    pair.here.close(pair.key, ExchangeState.ANSWERED, Answer("{}", "desk", AT))
    pair.post()
    assert pair.there.item(pair.key).state is ExchangeState.ANSWERED


def test_of_two_replies_one_wins_and_the_other_is_kept(pair: Pair) -> None:
    """Promise 2, across the network: the folder here decides."""
    pair.post()
    pair.here.send(pair.key, Reply("from here"))
    pair.there.send(pair.key, Reply("from there"))
    (sent,) = pair.replies()
    with pytest.raises(TakenError):
        pair.here.send(pair.key, records.read_reply(sent["reply"]))
    pair.here.take(pair.session)
    pair.here.close(pair.key, ExchangeState.ANSWERED, Answer('"from here"', "files", AT))
    pair.post()
    seen = pair.there.item(pair.key)
    assert seen.answer is not None
    assert "from here" in seen.answer.line
    texts = [seen.draft.text if seen.draft else "", *(one.text for one in seen.kept)]
    assert "from there" in texts


def test_a_refused_reply_comes_back_as_the_draft_with_its_problems(pair: Pair) -> None:
    """The check of the process that writes decides; who answered there learns of it."""
    pair.post()
    pair.there.send(pair.key, Reply("broken"))
    (sent,) = pair.replies()
    pair.here.send(pair.key, records.read_reply(sent["reply"]))
    pair.here.take(pair.session)
    pair.here.refuse(pair.key, [Diagnostic("R03", Severity.ERROR)])
    pair.post()
    seen = pair.there.item(pair.key)
    assert [one.code for one in seen.diagnostics] == ["R03"]
    assert seen.draft is not None
    assert seen.draft.text == "broken"


def test_a_mirror_that_was_killed_goes_on_and_gives_every_reply_again(
    pair: Pair, tmp_path: Path
) -> None:
    """Promise 3: a reply that nobody took is not lost with the process."""
    pair.post()
    pair.there.send(pair.key, Reply("sunny"))
    pair.mirror.leave()
    assert pair.there.facts(pair.session).life is Life.GONE
    pair.there = FolderInbox(tmp_path / "there")
    pair.mirror = Mirror(pair.there, pair.session)
    pair.original.forget()
    pair.post()
    assert pair.there.facts(pair.session).life is Life.OPEN
    assert [one["number"] for one in pair.replies()] == [1]


def test_what_is_said_first_there_is_settled_once(pair: Pair) -> None:
    """A notification: it goes out here, and there is told what became of it."""
    pair.post()
    ticket = pair.there.submit(pair.session, Reply("{}", by="desk"))
    (sent,) = pair.replies()
    assert pair.replies(1) == []
    outgoing = records.read_reply(sent["reply"])
    pair.original.tickets[str(sent["ticket"])] = ours = pair.here.submit(pair.session, outgoing)
    pair.here.settle(pair.session, ours, [])
    pair.post()
    assert pair.there.refused(pair.session, ticket) == ()


def test_a_text_from_there_that_came_too_late_is_kept_there(pair: Pair) -> None:
    """Promise 2: something else was the answer here; also where the same text wins, it is sent."""
    pair.post()
    pair.there.send(pair.key, Reply("too late"))
    assert pair.replies()
    pair.here.close(pair.key, ExchangeState.ANSWERED, Answer("{}", "book", AT))
    pair.post()
    assert [one.text for one in pair.there.item(pair.key).kept] == ["too late"]


def test_a_reply_that_is_refused_twice_for_the_same_reason_is_given_back_twice(pair: Pair) -> None:
    """Promise 3: else the second would seem to be on its way for ever."""
    pair.post()
    for place in range(2):
        pair.there.send(pair.key, Reply("broken"))
        pair.original.send(pair.replies()[place])
        pair.here.take(pair.session)
        pair.here.refuse(pair.key, [Diagnostic("J01", Severity.ERROR)])
        pair.post()
        assert pair.there.item(pair.key).reply is None


def test_a_session_that_ends_here_ends_there(pair: Pair) -> None:
    """What still waited waits for nobody."""
    pair.post()
    pair.here.end(pair.session)
    pair.post()
    assert pair.there.facts(pair.session).life is Life.CLOSED


def test_paths_and_ports_of_another_machine_mean_nothing_here(pair: Pair) -> None:
    """Whoever posts may say anything of a session."""
    found = pair.original.news(0)
    assert found is not None
    facts = {**found[0]["facts"], "files": "/etc", "pid": 1, "http_id": "x", "http_port": 80}
    pair.mirror.take_in({**found[0], "facts": facts})
    seen = pair.there.facts(pair.session)
    assert (seen.files, seen.pid, seen.http_id, seen.http_port) == ("", 0, "", 0)


@pytest.mark.parametrize("name", ["../../etc", "", "a/b", "x" * 300])
def test_a_name_from_elsewhere_never_becomes_a_path(tmp_path: Path, name: str) -> None:
    """Promise 6."""
    with pytest.raises(ValueError, match=r"^"):
        Mirror(FolderInbox(tmp_path), name)


NOT_CARRIED: Final = (
    "test_a_delivered_exchange_is_seen_by_every_desk_at_once",  # with its draft
    "test_every_part_of_an_exchange_arrives_as_it_was",
    "test_a_repeated_request_replaces_the_line_and_the_id",
    "test_of_many_replies_exactly_one_wins",  # looks for what is kept there here
    "test_a_reply_that_nobody_took_is_kept_when_another_answer_was_first",
    "test_only_saved_drafts_are_told_to_the_stub",
    "test_every_fact_of_a_session_is_told",
    "test_a_probe_is_not_listed",  # it is not there at all
    "test_frames_of_many_threads_are_all_there",
    "test_a_session_whose_client_comes_back_goes_on_in_the_next_process",
    "test_a_session_goes_on_in_one_process_alone",
    "test_what_a_tap_is_to_hold_is_replaced_as_a_whole",
    "test_the_opening_is_held_until_it_is_given_back",
    "test_exchanges_are_listed_oldest_first",  # of the folder there: a post for each takes long
)
"""A text is kept where it was typed, paths and ports are of one machine, and only the process
beside the client holds, resumes and counts lines."""


class Carried:
    """The inbox of the process that speaks to the client; what it does is posted at once.

    What was sent in the mirror is brought here before anything is looked at.
    """

    def __init__(self, store: MirrorStore) -> None:
        """Look at the store as that process."""
        self._store = store
        self._inbox = FolderInbox(store.home / "here")

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever an inbox can do
        """Do something here, with the network before and after it."""
        act = getattr(self._inbox, name)

        def done(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - as above
            self._store.bring()
            try:
                return act(*given, **named)
            finally:
                self._store.post()

        return done


class MirrorStore:
    """A folder here, another one there, and a network between that carries all at once."""

    def __init__(self, home: Path) -> None:
        """Begin with no session."""
        self.home = home
        self._links: dict[str, tuple[Original, Mirror]] = {}
        self._after: dict[str, int] = {}
        self._network = threading.Lock()

    def view(self) -> FolderInbox:
        """Look at it from there."""
        return FolderInbox(self.home / "there")

    def kill(self, _inbox: Carried) -> None:
        """Let that process die: nothing more comes of it, and the mirror leaves its sessions."""
        for _, mirror in self._links.values():
            mirror.leave()

    def post(self) -> None:
        """Carry what is new to the mirrors."""
        with self._network:
            self._post()

    def _post(self) -> None:
        here = FolderInbox(self.home / "here")
        for facts in here.sessions():
            if facts.name not in self._links:
                mirror = Mirror(self.view(), facts.name)
                self._links[facts.name] = Original(here, facts.name), mirror
        for original, mirror in self._links.values():
            while (found := original.news(mirror.last)) is not None:
                mirror.take_in(records.decode(records.encode(found[0])))
                found[1]()

    def bring(self) -> None:
        """Carry back what was sent there."""
        for name, (original, mirror) in self._links.items():
            after = self._after.get(name, 0)
            self._after[name], sent = mirror.sent(after, mirror.boot)
            for one in records.decode(records.encode({"sent": sent}))["sent"]:
                with suppress(TakenError):
                    original.send(one)


class TestMirror(InboxContract):
    """What the contract promises to people holds in the mirror, too.

    Left out is what does not cross (`NOT_CARRIED`).
    """

    @pytest.fixture
    def store(self, tmp_path: Path) -> MirrorStore:
        """Keep things in two folders."""
        return MirrorStore(tmp_path)

    @pytest.fixture
    def stub(self, store: MirrorStore) -> Any:  # noqa: ANN401 - it does what an inbox does
        """Look at the store as the process that speaks to the client."""
        return Carried(store)


for each in NOT_CARRIED:
    setattr(TestMirror, each, None)

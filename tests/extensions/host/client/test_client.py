"""The client's seat, over memory and over a child process: the same tests for both."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from humanmcp.common.child import EndedError, OutputListener
from humanmcp.extensions.host.client.callbacks import Judge, MisdirectedResponse, Nobody
from humanmcp.extensions.host.client.client import MOST_PAGES, Client
from humanmcp.extensions.host.client.handshake import (
    HandshakeError,
    Identity,
    NoAnswerError,
    NotDeclaredError,
    Response,
    SessionStart,
)
from humanmcp.locales import say
from humanmcp.locales.stop import StopError
from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
from humanmcp.protocol.conversation.outcomes import Late, NoticeArrived, ResponseArrived
from humanmcp.protocol.conversation.state import StrayCause
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import Message, read
from tests.extensions.host.seats import Notes, Way, as_process, in_memory
from tests.support.speaking import said_in
from tests.support.verdicts import asked
from tests.support.waiting import PATIENCE, until

ROOTS = ({"uri": "file:///example/root1", "name": "Root 1"},)


@pytest.fixture(params=[in_memory, as_process], ids=["memory", "stdio"])
def way(request: pytest.FixtureRequest) -> Way:
    """Each test runs over both transports."""
    chosen: Way = request.param
    return chosen


@contextmanager
def seat(
    way: Way,
    *flags: str,
    **choices: Any,  # noqa: ANN401 - the client's own choices
) -> Iterator[tuple[Client, Notes]]:
    """Take the client's seat opposite a scripted server; leave it in order."""
    notes = Notes()
    respondent = choices.pop("respondent", None) or Nobody(ROOTS)
    client = Client(way(*flags), respondent, observers=[notes], **choices)
    try:
        yield client, notes
    finally:
        client.close()


def test_the_handshake_is_three_lines_and_settles_the_version(way: Way) -> None:
    """Initialize, its answer, initialized; over either transport, with one Protocol code."""
    with seat(way) as (client, notes):
        client.open(SessionStart.HANDSHAKE, "2025-03-26")
        asked = json.loads(notes.sent[0])
        assert (asked["id"], asked["method"]) == (101, "initialize")
        assert asked["params"]["clientInfo"] == {"name": "example-client", "version": "1.0.0"}
        assert notes.sent[1] == '{"jsonrpc":"2.0","method":"notifications/initialized"}'
        assert client.session.version == "2025-03-26"
        assert client.server["serverInfo"]["name"] == "scripted"


@pytest.mark.parametrize("reached", ["line_sent", "send", "wait"])
def test_a_request_is_given_up_however_soon_it_is_interrupted(
    way: Way, reached: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while it leaves: the server is told, and nothing waits for a response."""
    with seat(way) as (client, notes):
        client.open(SessionStart.HANDSHAKE)

        def interrupted(*_: object) -> None:
            monkeypatch.undo()
            raise KeyboardInterrupt

        owner = {"line_sent": notes, "send": client.transport, "wait": client}[reached]
        monkeypatch.setattr(owner, reached, interrupted)
        with pytest.raises(KeyboardInterrupt):
            client.request("test/silence")
        assert json.loads(notes.sent[-1])["method"] == "notifications/cancelled"
        assert client.session.awaited == ()


def test_an_answer_belongs_to_the_request_with_its_id(way: Way) -> None:
    """Two requests in flight, answered in the other order; each caller gets its own."""
    with seat(way) as (client, notes):
        client.open(SessionStart.HANDSHAKE)
        one = client.begin("test/pair", {"value": "first"})
        two = client.begin("test/pair", {"value": "second"})
        assert client.wait(one).result == {"value": "first"}
        assert client.wait(two).result == {"value": "second"}
        assert [json.loads(line)["id"] for line in notes.arrived[1:]] == [103, 102]


def test_a_strict_client_asks_for_nothing_that_was_not_declared(way: Way) -> None:
    """`tools/list` is not sent, and the message names the capability."""
    with seat(way, "no-tools", strict=True) as (client, notes):
        client.open(SessionStart.HANDSHAKE)
        before = len(notes.sent)
        with pytest.raises(NotDeclaredError, match='"tools"'):
            client.request("tools/list")
        assert len(notes.sent) == before


def test_a_client_that_is_not_strict_asks_all_the_same(way: Way) -> None:
    """Strictness is a choice."""
    with seat(way, "no-tools") as (client, _notes):
        client.open(SessionStart.HANDSHAKE)
        assert "tools" in (client.request("tools/list").result or {})


def test_silence_ends_after_the_set_time_and_the_server_is_told(way: Way) -> None:
    """A timeout is reported with its seconds, and `notifications/cancelled` is sent."""
    with seat(way) as (client, notes):
        client.open(SessionStart.HANDSHAKE)
        client.timeout = 0.2
        with pytest.raises(NoAnswerError, match=r"test/silence within 0\.2 s"):
            client.request("test/silence")
        client.timeout = PATIENCE
        told = json.loads(notes.sent[-1])
        assert told["method"] == "notifications/cancelled"
        assert told["params"] == {"requestId": 102, "reason": "no answer within 0.2 s"}
        seen = client.request("test/seen").result
        assert seen is not None
        assert json.loads(seen["lines"][-2]) == told


def test_an_unanswered_initialize_is_not_cancelled(way: Way) -> None:
    """MCP, cancellation: "The `initialize` request MUST NOT be cancelled by clients"."""
    with seat(way, "no-initialize-answer", timeout=0.2) as (client, notes):
        with pytest.raises(NoAnswerError, match="initialize"):
            client.open(SessionStart.HANDSHAKE)
        assert [json.loads(line)["method"] for line in notes.sent] == ["initialize"]


def test_what_a_server_asks_is_answered_while_our_request_waits(way: Way) -> None:
    """Roots/list gets the root, ping gets {}, a log message is seen."""
    with seat(way) as (client, notes):
        client.open(SessionStart.HANDSHAKE, "2025-03-26")
        answered = client.request("test/ask").result
        assert answered == {
            "answers": {
                "ask-roots": {"roots": [{"uri": "file:///example/root1", "name": "Root 1"}]},
                "ask-ping": {},
            }
        }
        said = [one for one in notes.events if isinstance(one, NoticeArrived)]
        assert [one.message.params["data"] for one in said] == ["hello"]


def test_a_server_that_ends_leaves_nobody_waiting(way: Way) -> None:
    """Whoever waits is told; whoever asks later is told at once."""
    with seat(way) as (client, notes):
        client.open(SessionStart.HANDSHAKE)
        with pytest.raises(EndedError):
            client.request("test/die")
        assert notes.over.wait(PATIENCE)
        with pytest.raises(EndedError):
            client.request("test/seen")


def test_a_late_answer_belongs_to_nothing(way: Way) -> None:
    """After giving up, the answer arrives as one that nobody asked for; the next is unharmed."""
    with seat(way) as (client, notes):
        client.open(SessionStart.HANDSHAKE)
        begun = client.begin("test/pair", {"value": "late"})
        client.give_up(begun[0], "enough")
        assert client.request("test/pair", {"value": "next"}).result == {"value": "next"}
        until(
            lambda: any(
                isinstance(one, ResponseArrived) and one.request is None for one in notes.events
            ),
            "the late answer",
        )


def test_a_version_that_nobody_knows_ends_the_handshake(way: Way) -> None:
    """MCP, lifecycle: a client that cannot speak the server's version disconnects."""
    with (
        seat(way, "unknown-version") as (client, _notes),
        pytest.raises(HandshakeError, match="1999-01-01"),
    ):
        client.open(SessionStart.HANDSHAKE)


def test_a_probe_that_is_refused_becomes_a_handshake(way: Way) -> None:
    """Both eras by probing: -32601 means that the server speaks the handshake only."""
    with seat(way) as (client, notes):
        client.open(SessionStart.PROBE)
        methods = [json.loads(line)["method"] for line in notes.sent]
        assert methods == ["server/discover", "initialize", "notifications/initialized"]
        assert client.stated == ""
        assert "_meta" not in json.loads(notes.sent[1])["params"]


def test_a_probe_that_is_answered_needs_no_handshake(way: Way) -> None:
    """Both eras by probing: every request then carries its version."""
    with seat(way, "modern") as (client, notes):
        client.open(SessionStart.PROBE)
        client.request("tools/list")
        methods = [json.loads(line)["method"] for line in notes.sent]
        assert methods == ["server/discover", "tools/list"]
        meta = json.loads(notes.sent[1])["params"]["_meta"]
        assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
        assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "example-client"
        assert "roots" in meta["io.modelcontextprotocol/clientCapabilities"]


def test_a_modern_start_does_not_fall_back(way: Way) -> None:
    """By choice: who wants 2026-07-28 gets it or a reason."""
    with seat(way) as (client, _notes), pytest.raises(HandshakeError, match="2026-07-28") as raised:
        client.open(SessionStart.MODERN)
    assert "-32601: " in raised.value.sentence()


class Named(Nobody):
    """A person who says their name, and mistypes the first time."""

    def __init__(self) -> None:
        """Begin with nothing refused."""
        super().__init__(ROOTS)
        self.refused = 0

    def answer(self, exchange: Exchange, negotiated: NegotiatedState, judge: Judge) -> None:
        """Answer with a mistake first."""
        if exchange.method != "elicitation/create":
            super().answer(exchange, negotiated, judge)
            return
        judge('{"action": "accept", "content": {"name": "Ada"},', TextForm.RESULT)
        self.refused += 1
        judge('{"action": "accept", "content": {"name": "Ada"}}', TextForm.RESULT)


def test_an_input_required_result_is_answered_and_the_call_repeated(way: Way) -> None:
    """2026-07-28: new id, the same params, the answers, and the server's state untouched."""
    person = Named()
    with seat(way, "modern", respondent=person) as (client, notes):
        client.open(SessionStart.MODERN)
        response = client.call("tools/call", {"name": "greet", "arguments": {"n": 1}})
        assert response.result is not None
        assert response.result["content"][0]["text"] == "hello Ada at file:///example/root1"
        first, second = (json.loads(line) for line in notes.sent[-2:])
        assert first["id"] != second["id"]
        assert second["params"]["arguments"] == {"n": 1}
        assert second["params"]["requestState"] == "state-1"
        assert set(second["params"]["inputResponses"]) == {"who", "where"}
        assert person.refused == 1


def test_a_line_is_sent_exactly_as_typed_even_when_it_is_broken(way: Way) -> None:
    """Broken on purpose: the verdict says why, the bytes go as they are."""
    with seat(way, identity=Identity("odd", "0")) as (client, notes):
        client.open(SessionStart.HANDSHAKE)
        typed = '{ "jsonrpc":"2.0" ,"id":"x", "method":"test/seen" }'
        _verdict, begun = client.submit(typed)
        assert begun is not None
        assert client.wait(begun).result is not None
        assert notes.sent[-1] == typed


def test_a_text_of_several_lines_leaves_as_one(way: Way) -> None:
    """On stdio one line is one message: what a person laid out at a desk is joined."""
    with seat(way) as (client, notes):
        client.open(SessionStart.HANDSHAKE)
        verdict, begun = client.submit(
            '{\n  "jsonrpc": "2.0",\n  "id": 9,\n  "method": "test/seen"\n}'
        )
        assert verdict.sendable
        assert begun is not None
        assert client.wait(begun).result is not None
        assert notes.sent[-1] == '{"jsonrpc":"2.0","id":9,"method":"test/seen"}'


class Slow(Nobody):
    """A person who takes longer than the client's timeout."""

    def __init__(self, client_gave_up: threading.Event) -> None:
        """Wait for the client to give up, which it must not."""
        super().__init__(ROOTS)
        self.client_gave_up = client_gave_up

    def answer(self, exchange: Exchange, negotiated: NegotiatedState, judge: Judge) -> None:
        """Answer a little too late."""
        assert not self.client_gave_up.wait(0.5)
        super().answer(exchange, negotiated, judge)


def test_no_time_passes_while_the_server_waits_for_a_person(way: Way) -> None:
    """A tool that asks its user something may take as long as the user does, and then goes on."""
    gave_up = threading.Event()
    with seat(way, respondent=Slow(gave_up)) as (client, _notes):
        client.open(SessionStart.HANDSHAKE)
        client.timeout = 0.3
        try:
            answered = client.request("test/ask").result
        except NoAnswerError:
            gave_up.set()
            raise
        assert answered is not None
        assert "ask-roots" in answered["answers"]


class Line:
    """A transport that a test holds in its hands."""

    def __init__(self) -> None:
        """Begin with nothing sent."""
        self.sent: list[str] = []
        self.broken = False

    def start(self, listener: OutputListener) -> None:
        """Bring what the test says."""
        self.listener = listener

    def send(self, line: str) -> None:
        """Keep it, until the peer is gone."""
        if self.broken:
            raise EndedError
        self.sent.append(line)

    def close(self) -> None:
        """Do nothing."""

    def end_reason(self) -> EndedError:
        """Know nothing."""
        return EndedError()


def test_a_broken_text_of_several_lines_leaves_as_one_too() -> None:
    """Broken on purpose, but one line: what is tried out is the mistake that was typed."""
    way = Line()
    Client(way, Nobody()).submit("{ broken\n on purpose", anyway=True)
    assert way.sent == ["{ broken  on purpose"]


def test_a_ping_of_a_server_that_has_left_is_no_trouble() -> None:
    """It asked, and closed its stdin before the answer: reading goes on, to the end."""
    way = Line()
    notes = Notes()
    client = Client(way, Nobody(), observers=[notes])
    begun = client.begin("ping")
    way.broken = True
    client.line_arrived(b'{"jsonrpc":"2.0","id":"p","method":"ping"}')
    client.ended()
    with pytest.raises(EndedError):
        client.wait(begun)
    assert notes.over.is_set()


def test_giving_up_on_a_server_that_has_left_is_no_trouble() -> None:
    """There is nobody to tell; the reason stays that nothing came in time."""
    way = Line()
    client = Client(way, Nobody(), timeout=0.01)
    begun = client.begin("ping")
    way.broken = True
    with pytest.raises(NoAnswerError):
        client.wait(begun)


def test_a_list_without_end_is_left_after_a_thousand_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that always names another cursor, or the same one, keeps nobody for ever."""
    client = Client(Line(), Nobody())
    asked: list[object] = []

    def endless(_method: str, params: Mapping[str, Any] | None = None) -> Response:
        asked.append(params)
        found = f'{{"jsonrpc":"2.0","id":1,"result":{{"nextCursor":"{len(asked)}"}}}}'
        return Response(message_of(found), message_of(found))

    monkeypatch.setattr(client, "call", endless)
    assert len(list(client.pages("tools/list"))) == MOST_PAGES
    assert asked[:2] == [None, {"cursor": "1"}]


def message_of(text: str) -> Message:
    """Read a message."""
    message = read(text.encode())
    assert isinstance(message, Message)
    return message


@pytest.mark.parametrize(
    ("trouble", "english", "japanese"),
    [
        (NoAnswerError("ping", 1.5), "within 1.5 s. The request was cancelled", "1.5 秒以内に"),
        (
            NoAnswerError("initialize", 60),
            "For more time: --timeout",
            "initialize への回答が 60 秒",
        ),
        (
            NotDeclaredError("tools/list", "tools"),
            'did not declare the capability "tools"',
            '"tools" を宣言して',
        ),
        (EndedError("exited", command="x", status=3), "has ended (exit status 3)", "ステータス 3"),
    ],
)
def test_trouble_is_said_in_the_language_of_the_person(
    trouble: StopError, english: str, japanese: str
) -> None:
    """English where nobody says otherwise. An `initialize` is not cancelled, and nobody says so."""
    assert english in str(trouble)
    assert japanese in said_in("ja", trouble.sentence)


class Clock:
    """A clock that a test sets, and what a client does while it waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, way: Line) -> None:
        """Begin at 0."""
        self.now = 0.0
        self.way = way
        self.steps: list[tuple[float, str]] = []
        monkeypatch.setattr(
            "humanmcp.extensions.host.client.client.time.monotonic", lambda: self.now
        )

    def wait(self, _waited: object, _timeout: float) -> None:
        """Let time pass until the next step, and bring its line."""
        passed, line = self.steps.pop(0)
        self.now += passed
        if line:
            self.way.listener.line_arrived(line.encode())


def progress(token: object, value: int) -> str:
    """Write a progress notification."""
    params = {"progressToken": token, "progress": value}
    said = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    return json.dumps(said)


def test_progress_extends_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call carries a token, and each notification of it begins the time anew."""
    way = Line()
    clock = Clock(monkeypatch, way)
    client = Client(way, Nobody(), timeout=10, wait_for_any=clock.wait)
    answer = '{"jsonrpc":"2.0","id":101,"result":{"content":[]}}'
    clock.steps = [(9, progress(101, 1)), (9, progress(101, 2)), (9, answer)]
    assert client.call("tools/call", {"name": "x", "_meta": {"mine": 1}}).result is not None
    assert json.loads(way.sent[0])["params"]["_meta"] == {"progressToken": 101, "mine": 1}


def test_progress_of_something_else_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another token, no token, or one of a request that is over."""
    way = Line()
    clock = Clock(monkeypatch, way)
    client = Client(way, Nobody(), timeout=10, wait_for_any=clock.wait)
    clock.steps = [(4, progress("101", 1)), (4, progress(7, 1)), (4, progress(None, 1))]
    with pytest.raises(NoAnswerError):
        client.call("tools/call", {"name": "x"})
    assert clock.steps == []


class Deaf(Nobody):
    """Takes a moment for each question, of a clock that a test sets, and answers none."""

    def __init__(self, clock: Clock) -> None:
        """Take 7 seconds of this clock."""
        super().__init__()
        self.clock = clock

    def answer(self, exchange: Exchange, negotiated: NegotiatedState, judge: Judge) -> None:
        """Let time pass."""
        del exchange, negotiated, judge
        self.clock.now += 7


def test_a_server_that_asks_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question stops the clock while it is answered, and does not set it back."""
    way = Line()
    clock = Clock(monkeypatch, way)
    question = asked("roots/list")

    def ask(_waited: object, _timeout: float) -> None:
        clock.now += 3
        assert clock.now < 100
        client._ask(question, NegotiatedState(), lambda *_args, **_more: Late(question))

    client = Client(way, Deaf(clock), timeout=10, wait_for_any=ask)
    with pytest.raises(NoAnswerError):
        client.request("tools/call", {"name": "x"})
    assert clock.now == 4 * (3 + 7)


@pytest.mark.parametrize(
    ("method", "choices"),
    [("tools/list", {}), ("ping", {}), ("tools/call", {"progress": False})],
)
def test_a_token_goes_only_where_progress_may_be(method: str, choices: dict[str, bool]) -> None:
    """What is short has none, and who wants none sends none."""
    way = Line()
    Client(way, Nobody(), **choices).begin(method)  # type: ignore[arg-type]  # one flag at most
    assert "progressToken" not in way.sent[0]


def test_a_persons_own_token_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """And its progress counts as well."""
    way = Line()
    clock = Clock(monkeypatch, way)
    client = Client(way, Nobody(), timeout=10, wait_for_any=clock.wait)
    answer = '{"jsonrpc":"2.0","id":101,"result":{"content":[]}}'
    clock.steps = [(9, progress("mine", 1)), (9, answer)]
    client.call("tools/call", {"name": "x", "_meta": {"progressToken": "mine"}})
    assert '"progressToken":"mine"' in way.sent[0]


def test_the_first_id_is_none_that_a_server_has_by_heart() -> None:
    """A server that always answers to 1 is right by chance where a client begins with 1."""
    way = Line()
    Client(way, Nobody()).begin("ping")
    assert json.loads(way.sent[0])["id"] == 101
    Client(way, Nobody(), first_id=1).begin("ping")
    assert json.loads(way.sent[1])["id"] == 1


class Strays(Notes):
    """An onlooker that notes which answers went astray."""

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__()
        self.strays: list[MisdirectedResponse] = []

    def answer_went_astray(self, response: MisdirectedResponse) -> None:
        """Note it."""
        self.strays.append(response)


WRONG = b'{"jsonrpc": "2.0", "id": 1, "result": {}}'


def test_an_answer_with_a_wrong_id_names_those_that_wait() -> None:
    """What came, and who goes on waiting; a late answer is told from a wrong one."""
    way, notes = Line(), Strays()
    client = Client(way, Nobody(), observers=[notes])
    begun = client.begin("ping")
    client.line_arrived(WRONG)
    assert not begun.is_answered
    assert [one.method for one in notes.strays[0].waiting] == ["ping"]
    assert notes.strays[0].cause is StrayCause.NEVER_ASKED
    client.give_up(begun.request)
    client.line_arrived(WRONG.replace(b"1,", b"101,"))
    assert notes.strays[1].waiting == ()
    assert notes.strays[1].cause is StrayCause.LATE


@pytest.mark.parametrize("cause", StrayCause)
@pytest.mark.parametrize("lang", ["en", "ja"])
def test_each_cause_of_a_stray_answer_has_a_sentence(cause: StrayCause, lang: str) -> None:
    """None of them says that clients ignore what some of them do not."""
    assert say("client", f"stray {cause.value}", lang, id="7")


def test_an_id_of_another_type_is_no_stray() -> None:
    """A client takes `"101"` for 101, as the official SDKs do, and reports R04."""
    notes = Strays()
    client = Client(Line(), Nobody(), observers=[notes])
    begun = client.begin("ping")
    client.line_arrived(WRONG.replace(b"1,", b'"101",'))
    assert [one.code for one in begun.response.diagnostics] == ["R04"]
    assert notes.strays == []


def test_a_lenient_client_takes_it_for_the_only_one_that_waits() -> None:
    """So that a lesson goes on after its first mistake; with two, it would be a guess."""
    way, notes = Line(), Strays()
    client = Client(way, Nobody(), observers=[notes], lenient=True)
    one = client.begin("ping")
    client.line_arrived(WRONG)
    assert one.response.result == {}
    assert notes.strays[0].taken == one.request
    client.begin("ping")
    two = client.begin("ping")
    client.line_arrived(WRONG)
    assert not two.is_answered
    assert notes.strays[1].taken is None


def test_endless_progress_is_given_up_at_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """MCP: "implementations SHOULD always enforce a maximum timeout, regardless of progress"."""
    way = Line()
    clock = Clock(monkeypatch, way)
    client = Client(way, Nobody(), timeout=10, longest=25, wait_for_any=clock.wait)
    clock.steps = [(9, progress(101, count)) for count in range(9)]
    with pytest.raises(NoAnswerError, match="within 25 s, although progress arrived"):
        client.call("tools/call", {"name": "x"})
    assert clock.now == 3 * 9
    assert json.loads(way.sent[-1])["method"] == "notifications/cancelled"


def test_who_is_patient_for_longer_waits_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The most that progress can bring never shortens the timeout."""
    way = Line()
    clock = Clock(monkeypatch, way)
    client = Client(way, Nobody(), timeout=100, longest=25, wait_for_any=clock.wait)
    clock.steps = [(90, ""), (20, "")]
    with pytest.raises(NoAnswerError, match=r"within 100 s\. The request was cancelled"):
        client.call("tools/call", {"name": "x"})

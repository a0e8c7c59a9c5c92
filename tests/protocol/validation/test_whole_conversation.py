"""A recording that is judged line by line, and what was left without an answer at its end."""

import json
from typing import Any

import pytest

from humanmcp.protocol.conversation.state import MOST_OPEN, ConversationState, ObservedMessage
from humanmcp.protocol.conversation.transcript import DROPPED, HELD, LET_GO, Direction, Frame
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity, unreadable
from humanmcp.protocol.json.jsonrpc import Kind, Malformed, Message, read
from humanmcp.protocol.validation.captures import CapturedLine, Origin, read_capture
from humanmcp.protocol.validation.whole_conversation import (
    ConversationJudge,
    Judged,
    NeverAnswered,
    Unanswered,
    judge_capture,
    judge_frames,
    line_hints,
    told_reactions,
)
from tests.support.verdicts import stating

IN, OUT = Direction.IN, Direction.OUT


def request(method: str, number: int = 1, **params: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """Write a request."""
    said = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(said).encode()


def notice(method: str, **params: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """Write a notification."""
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()


def answer(number: int = 1, **result: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """Write an answer."""
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()


CALL = request("tools/call", name="t")
DONE = answer(content=[])


def told(judged: Judged) -> tuple[int, Direction, str, list[str]]:
    """Return what a row of the judgement says."""
    return (
        judged.line,
        judged.direction,
        judged.method,
        [diagnostic.code for diagnostic in judged.diagnostics],
    )


def heard(*lines: tuple[Direction, bytes], version: str = "2025-06-18") -> list[Judged]:
    """Judge a conversation to its end; lines are counted from 1."""
    overheard = ConversationJudge(version, initialized=True)
    found = [
        judged
        for number, (direction, raw) in enumerate(lines, 1)
        for judged in overheard.line(number, direction, raw)
    ]
    return [*found, *overheard.end()]


def test_what_needs_the_handshake_is_wrong_without_it() -> None:
    """A line alone is judged as if it had been; a recording is not."""
    (alone,) = ConversationJudge("2025-06-18", initialized=True).line(1, IN, CALL)
    (early,) = ConversationJudge("2025-06-18").line(1, IN, CALL)
    assert (len(alone.diagnostics), len(early.diagnostics)) == (0, 1)


def test_the_version_is_the_one_that_both_sides_agreed_on() -> None:
    """Before that the one that was given, else the newest with a handshake."""
    overheard = ConversationJudge()
    assert overheard.version == "2025-11-25"
    assert ConversationJudge("2025-03-26").version == "2025-03-26"
    overheard.line(1, IN, request("initialize", protocolVersion="2025-11-25"))
    overheard.line(2, OUT, answer(protocolVersion="2024-11-05"))
    assert overheard.version == "2024-11-05"


def test_a_batch_is_judged_as_a_line_and_message_by_message() -> None:
    """2025-06-18 took batches away; what is no message in one is named."""
    raw = b"[" + CALL + b",7]"
    batch, call, broken, *left = heard((IN, raw))
    assert told(batch) == (1, IN, "", ["R12"])
    assert batch.text == raw.decode()
    assert told(call) == (1, IN, "tools/call", [])
    assert told(broken)[:3] == (1, IN, "")
    assert broken.text == "7"
    assert len(broken.diagnostics) == 1
    assert [judged.method for judged in left] == ["tools/call"]
    assert told(heard((IN, raw), version="2025-03-26")[0])[3] == []


def test_a_mark_before_a_line_is_named_with_its_message() -> None:
    """A byte order mark: clients and servers take it for no JSON."""
    (judged, *_left) = heard((IN, b"\xef\xbb\xbf" + CALL))
    assert len(judged.diagnostics) == 1


@pytest.mark.parametrize(
    "said",
    [
        b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}',
        b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}',
    ],
)
def test_an_answer_that_clients_drop_names_the_request_that_waits_on(said: bytes) -> None:
    """Once, at the answer: at the end nothing more is said of it."""
    call, dropped = heard((IN, CALL), (OUT, said))
    assert (call.id, told(call)[3]) == ("1", [])
    assert told(dropped)[:2] == (2, OUT)
    assert told(dropped)[3][-1] == "N39"
    detail = dict(dropped.diagnostics[-1].detail)
    assert detail.pop("reactions").startswith("silent=TypeScript SDK")
    assert detail == {"method": "tools/call", "id": "1", "line": "2"}


def test_a_broken_line_fails_only_a_request_of_the_other_side_whose_id_is_in_it() -> None:
    """A print of the server belongs to none."""
    *_said, broken, left = heard((IN, CALL), (OUT, b"hello"))
    assert [diagnostic.code for diagnostic in broken.diagnostics][1:] == []
    assert told(left)[3] == ["N38"]
    *_said, broken, left = heard((IN, CALL), (IN, b'{"id":1,"resu'))
    assert len(broken.diagnostics) == 1
    assert told(left)[0] == 1


def test_an_error_in_an_answer_that_arrives_fails_no_request() -> None:
    """The client has it, whatever it thinks of it."""
    _call, judged = heard((IN, CALL), (OUT, answer(content=4)))
    assert [diagnostic.code for diagnostic in judged.diagnostics] == ["M01", "N46"]


def test_of_very_many_open_requests_the_oldest_lines_are_forgotten() -> None:
    """A bound: a recording may be as long as a day."""
    calls = [(IN, request("ping", number)) for number in range(1, MOST_OPEN + 3)]
    left = [judged.line for judged in heard(*calls) if judged.diagnostics]
    assert left == list(range(3, MOST_OPEN + 3))


def test_who_said_a_line_is_guessed_by_what_only_one_side_may_say() -> None:
    """What both may say is taken for the client's, an answer for the side that was asked."""
    overheard = ConversationJudge("2025-06-18")
    guessed = {
        CALL: IN,
        request("ping"): IN,
        request("roots/list"): OUT,
        request("x/y"): IN,
        notice("notifications/progress", progressToken=1, progress=1): OUT,
        notice("notifications/tasks/status"): OUT,
        notice("notifications/cancelled", requestId=1): IN,
        DONE: OUT,
        b"printed": OUT,
        b"[]": OUT,
        b"[" + CALL + b"]": IN,
        b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}': OUT,
    }
    assert {raw: overheard.speaker(raw) for raw in guessed} == guessed
    overheard.line(1, OUT, request("roots/list", 7))
    overheard.line(2, IN, request("tools/list", 8))
    assert overheard.speaker(answer(7, roots=[])) is IN
    assert overheard.speaker(answer(8, tools=[])) is OUT
    assert overheard.speaker(answer(9)) is OUT


def test_messages_of_a_pipe_are_judged_without_being_told_who_said_them() -> None:
    """Empty lines count, so that the number is that of the file."""
    lines = [CALL, b"", request("roots/list", 5), answer(5, roots=[]), DONE]
    judged = judge_capture(read_capture(b"\n".join(lines).decode()), "2025-06-18")
    assert [told(one)[:3] for one in judged] == [
        (1, IN, "tools/call"),
        (3, OUT, "roots/list"),
        (4, IN, "roots/list"),
        (5, OUT, "tools/call"),
    ]
    alone = CapturedLine(1, None, CALL.decode())
    assert [told(judged) for judged in judge_capture([alone], "2025-06-18")][-1] == (
        1,
        IN,
        "tools/call",
        ["N38"],
    )


def test_a_recording_is_judged_as_the_client_saw_it() -> None:
    """A held line counts where it was let go, with the line of the file on which it stands."""

    def frame(seq: int, direction: Direction, raw: bytes, note: str = "", number: int = 0) -> Frame:
        return Frame(seq, "2026-11-20T00:00:00.000Z", direction, raw, number, note=note)

    frames = [
        (10, frame(1, IN, CALL)),
        (11, frame(2, OUT, DONE, HELD, 4)),
        (12, frame(3, OUT, notice("notifications/tools/list_changed"), HELD, 5)),
        (13, frame(4, Direction.NOTE, b"", DROPPED, 5)),
        (14, frame(5, Direction.NOTE, b"", LET_GO, 4)),
    ]
    judged = list(judge_frames(frames, "2025-06-18"))
    assert [told(one)[:3] for one in judged] == [(10, IN, "tools/call"), (11, OUT, "tools/call")]
    (call, left) = judge_frames(frames[:1], "2025-06-18")
    assert (call.line, told(left)) == (10, (10, IN, "tools/call", ["N38"]))


WRONG = Diagnostic("R01", Severity.ERROR)
"""What clients drop an answer for."""


class Talk:
    """A conversation, and what is not answered in it."""

    def __init__(self) -> None:
        """Begin."""
        self.state = ConversationState()
        self.unanswered = Unanswered()

    def hears(self, seq: int, direction: Direction, **body: Any) -> ObservedMessage:  # noqa: ANN401 - any JSON value
        """Take a line."""
        found = read(json.dumps({"jsonrpc": "2.0", **body}).encode())
        assert isinstance(found, Message)
        observed = self.state.observe(direction, found)
        self.unanswered.heard(seq, observed)
        return observed

    def asks(self, seq: int, token: object, method: str = "ping") -> ObservedMessage:
        """Take a request of the client."""
        return self.hears(seq, Direction.IN, id=token, method=method)

    def answers(self, seq: int, token: object, *said: Diagnostic) -> NeverAnswered | None:
        """Take an answer, and what the check said of it."""
        observed = self.hears(seq, Direction.OUT, id=token, result={})
        return self.unanswered.checked(seq, observed, said)

    def breaks(self, seq: int, text: str) -> NeverAnswered | None:
        """Take a line that is no message."""
        malformed = read(text.encode())
        assert isinstance(malformed, Malformed)
        return self.unanswered.malformed(seq, malformed, self.state.open, (unreadable(malformed),))

    def left(self) -> list[tuple[int, str, int]]:
        """Return the lines of the requests, their methods and what was dropped."""
        return [
            (one.seq, one.request.method, one.dropped) for one in self.unanswered.left(self.state)
        ]


def test_an_id_of_another_type_is_named_and_its_request_has_an_answer() -> None:
    """The official SDKs take it: nothing is lost, and the text is wrong."""
    talk = heard(
        (Direction.IN, request("ping", 7)),
        (Direction.OUT, b'{"jsonrpc":"2.0","id":"7","result":{}}'),
    )
    assert [one.code for judged in talk for one in judged.diagnostics] == ["R04"]


def test_what_is_open_at_the_end_was_left_without_an_answer() -> None:
    """In the order of the requests; a subscription stays open by design."""
    talk = Talk()
    talk.asks(3, 1, "tools/list")
    talk.asks(5, "a", "tools/call")
    talk.asks(6, 2)
    talk.asks(7, 3, "subscriptions/listen")
    assert talk.answers(8, 2) is None
    assert talk.left() == [(3, "tools/list", 0), (5, "tools/call", 0)]
    first, second = (one.diagnostic for one in talk.unanswered.left(talk.state))
    assert (first.code, second.code) == ("N38", "N38")
    assert dict(second.detail) == {"method": "tools/call", "id": '"a"'}


def test_a_request_that_a_response_without_an_id_may_answer_is_named_with_that_line() -> None:
    """One request waits, so nothing else can be meant."""
    error = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"no"}}'
    left = heard((IN, request("ping", 3)), (OUT, error))[-1]
    assert [(one.code, dict(one.detail)["line"]) for one in left.diagnostics] == [("N59", "2")]


def test_an_answer_that_clients_drop_answers_nothing() -> None:
    """Whatever else is said of one does it no harm."""
    talk = Talk()
    talk.asks(3, 1)
    talk.asks(4, 2)
    note = Diagnostic("M11", Severity.HINT)
    assert talk.answers(5, 2, note) is None
    found = talk.answers(6, 1, note, WRONG)
    assert found is not None
    assert (found.seq, found.request.method, found.dropped) == (3, "ping", 6)
    assert found.diagnostic.code == "N39"
    silent = {"reactions": "silent=TypeScript SDK, Python SDK"}
    assert dict(found.diagnostic.detail) == {"method": "ping", "id": "1", "line": "6", **silent}
    assert talk.left() == [(3, "ping", 6)]
    assert talk.answers(7, 9, WRONG) is None  # an answer to nothing


def test_what_the_check_says_of_a_request_fails_none() -> None:
    """Only an answer can be dropped."""
    talk = Talk()
    observed = talk.asks(3, 1)
    assert talk.unanswered.checked(3, observed, (WRONG,)) is None
    assert talk.left() == [(3, "ping", 0)]


@pytest.mark.parametrize(
    ("text", "line"),
    [('{"id":1,"resu', 3), ('{"id":"a","resu', 4), ('{"id":2,"resu', 0), ("words", 0)],
)
def test_a_line_that_is_no_message_fails_the_request_whose_id_stands_in_it(
    text: str, line: int
) -> None:
    """As it is written: 1 is not "1"."""
    talk = Talk()
    talk.asks(3, 1)
    talk.asks(4, "a")
    found = talk.breaks(9, text)
    assert (found.seq if found else 0) == line
    assert (
        (line, "ping", 9) in talk.left()
        if line
        else talk.left() == [(3, "ping", 0), (4, "ping", 0)]
    )


def test_memory_stays_bounded() -> None:
    """Of the oldest the line is forgotten first, and what was answered in vain, too."""
    talk = Talk()
    for number in range(1, MOST_OPEN + 2):
        talk.asks(number, number)
        talk.answers(number, number, WRONG)
    assert len(talk.left()) == MOST_OPEN
    assert talk.left()[0][0] == 2


HANDSHAKE = (
    (IN, request("initialize", clientInfo={"name": "c"}, capabilities={"roots": {}})),
    (OUT, answer(protocolVersion="2025-11-25", capabilities={"tools": {}, "prompts": {}})),
    (IN, notice("notifications/initialized")),
)
WHO = {"name": "greet", "arguments": [{"name": "who", "required": True}, {"name": "how"}]}
PROMPTS = (IN, request("prompts/list", 2)), (OUT, answer(2, prompts=[WHO]))
PAGE = (IN, request("prompts/list", 2)), (OUT, answer(2, prompts=[WHO], nextCursor="2"))
NEW_TOOLS = (OUT, notice("notifications/tools/list_changed"))
TOOLS = (IN, request("tools/list", 2)), (OUT, answer(2, tools=[{"name": "add"}]))


def asked(method: str, **params: Any) -> tuple[Direction, bytes]:  # noqa: ANN401 - any JSON value
    """Write the last request of a client."""
    return IN, request(method, 3, **params)


def turn(role: str, *blocks: dict[str, str]) -> dict[str, Any]:
    """Write a message of a conversation with a model."""
    return {"role": role, "content": blocks}


USE = {"type": "tool_use", "id": "t1", "name": "add"}
USED = {"type": "tool_result", "toolUseId": "t1"}
WORDS = {"type": "text", "text": "and?"}
BARE = (OUT, b'{"jsonrpc":"2.0","result":{}}')


@pytest.mark.parametrize(
    ("lines", "code", "is_said"),
    [
        ((*PROMPTS, asked("prompts/get", name="greet", arguments={"who": "x"})), "M122", False),
        ((*PROMPTS, asked("prompts/get", name="greet", arguments={"how": "x"})), "M122", True),
        ((*PROMPTS, asked("prompts/get", name="greet")), "M122", True),
        ((*PROMPTS, asked("prompts/get", name="meet")), "M121", True),
        ((*PAGE, asked("prompts/get", name="meet")), "M121", False),
        ((asked("prompts/get", name="meet"),), "M121", False),
        ((*TOOLS, asked("tools/call", name="sub")), "M62", True),
        ((*TOOLS, NEW_TOOLS, asked("tools/call", name="sub")), "M62", False),
        ((*TOOLS, NEW_TOOLS, *TOOLS, asked("tools/call", name="sub")), "M62", True),
        ((asked("notifications/cancelled", requestId=2),), "M123", True),
        ((BARE,), "N45", True),
        ((BARE, BARE), "N08", False),
        ((asked("ping"), BARE), "N08", True),
    ],
)
def test_what_came_before_tells_what_is_wrong(
    lines: tuple[tuple[Direction, bytes], ...], code: str, *, is_said: bool
) -> None:
    """A list of which more is unknown proves nothing."""
    judged = heard(*HANDSHAKE, *lines)
    assert (code in [one.code for each in judged for one in each.diagnostics]) == is_said


@pytest.mark.parametrize(
    ("more", "pointer"), [({}, "/params"), ({"arguments": {}}, "/params/arguments")]
)
def test_a_missing_argument_is_said_where_it_belongs(more: dict[str, Any], pointer: str) -> None:
    """The arguments, or what would have them."""
    judged = heard(*HANDSHAKE, *PROMPTS, asked("prompts/get", name="greet", **more))
    found = [one.pointer for each in judged for one in each.diagnostics if one.code == "M122"]
    assert found == [pointer]


@pytest.mark.parametrize(
    ("asker", "answerer", "code"), [(IN, OUT, "N48"), (OUT, IN, "N48"), (OUT, OUT, "N57")]
)
def test_a_response_to_a_line_that_was_not_read_names_that_line(
    asker: Direction, answerer: Direction, code: str
) -> None:
    """Each side has its own ids."""
    judge = ConversationJudge("2025-06-18", initialized=True)
    judge.line(4, asker, b'{"jsonrpc":"2.0","id":5,"method":"ping"')
    (found,) = judge.line(6, answerer, answer(5))
    assert found.diagnostics[0].code == code
    assert dict(found.diagnostics[0].detail).get("line", "4") == "4"


@pytest.mark.parametrize(
    "lines",
    [
        ((IN, b"{"), (IN, request("tools/list"))),
        ((IN, request("tools/call", 2, name="t")), (OUT, b"{"), (IN, request("tools/list"))),
        (
            (IN, request("initialize", 2)),
            (OUT, b'{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"no"}}'),
            (IN, request("tools/list")),
        ),
    ],
)
def test_after_a_line_that_is_lost_nothing_is_said_of_the_handshake(
    lines: tuple[tuple[Direction, bytes], ...],
) -> None:
    """Nobody knows what it was: the first mistake makes no false ones."""
    judge = ConversationJudge()
    *_, (last,) = [judge.line(number, *line) for number, line in enumerate(lines, 1)]
    assert last.diagnostics == ()
    (answered,) = judge.line(9, OUT, answer(tools=[]))
    assert answered.diagnostics == ()


@pytest.mark.parametrize(
    ("messages", "codes"),
    [
        ([turn("user", WORDS), turn("assistant", USE), turn("user", USED)], []),
        ([turn("assistant", USE), turn("user", USED, WORDS)], ["M125"]),
        ([turn("assistant", USE), turn("user", WORDS)], ["M124"]),
        ([turn("assistant", USE)], ["M124"]),
        ([turn("assistant", USE), turn("user", {"type": "tool_result"})], ["M124"]),
        ([turn("assistant", {"type": "tool_use"}), turn("user", {"toolUseId": "t1"})], []),
        ([turn("user", USED)], ["M124"]),
        ([turn("assistant", USE, {**USE, "id": "t2"}), turn("user", USED)], ["M124"]),
    ],
)
def test_each_call_of_a_tool_needs_its_result(
    messages: list[dict[str, Any]], codes: list[str]
) -> None:
    """In the next message, which has nothing else."""
    judged = heard((OUT, request("sampling/createMessage", maxTokens=9, messages=messages)))
    found = [one.code for each in judged for one in each.diagnostics]
    assert [code for code in found if code in ("M124", "M125")] == codes


@pytest.mark.parametrize(
    ("before", "code"), [((), ""), (HANDSHAKE[:1], "N58"), (HANDSHAKE[:2], "N58"), (HANDSHAKE, "")]
)
def test_a_server_asks_nothing_before_the_handshake_is_over(
    before: tuple[tuple[Direction, bytes], ...], code: str
) -> None:
    """Where the handshake was seen; pings and log messages may come earlier."""
    judge = ConversationJudge("2025-11-25")
    for number, (direction, raw) in enumerate(before):
        judge.line(number, direction, raw)
    for method in ("roots/list", "ping"):
        (judged,) = judge.line(9, OUT, request(method, 9))
        found = {one.code for one in judged.diagnostics} & {"N58"}
        assert found == ({code} if code and method != "ping" else set())


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (((OUT, DONE), (IN, request("ping", 2)), (OUT, answer(2))), "N57"),
        (((IN, request("ping", 2)), (OUT, DONE)), "N30"),
        ((*HANDSHAKE, (OUT, answer(7))), "N30"),
    ],
)
def test_a_response_whose_request_was_before_the_recording_is_not_wrong(
    lines: tuple[tuple[Direction, bytes], ...], code: str
) -> None:
    """It begins with the answer, and has no handshake."""
    captured = [CapturedLine(at, way, raw.decode()) for at, (way, raw) in enumerate(lines, 1)]
    codes = [one.code for each in judge_capture(captured) for one in each.diagnostics]
    assert code in codes
    assert len({"N30", "N57"} & set(codes)) == 1


def test_words_are_passed_over_and_what_is_cut_is_followed_alone() -> None:
    """A part of a message is not judged, and its request is answered."""
    lines = [
        CapturedLine(1, Direction.NOTE, "[1] started"),
        CapturedLine(2, IN, CALL.decode()),
        CapturedLine(3, Direction.ERR, DONE.decode()),
        CapturedLine(4, OUT, '{"jsonrpc":"2.0","id":1,"result":{}}', is_cut=True),
        CapturedLine(5, OUT, f"[{DONE.decode()}]", is_cut=True),
        CapturedLine(6, OUT, "words", is_cut=True),
    ]
    assert [told(one) for one in judge_capture(lines, "2025-06-18")] == [(2, IN, "tools/call", [])]
    (call, left) = judge_capture(lines[:3], "2025-06-18")
    assert (told(call)[3], told(left)) == ([], (2, IN, "tools/call", ["N38"]))


@pytest.mark.parametrize("direction", [IN, OUT])
def test_of_very_many_broken_requests_the_oldest_are_forgotten(direction: Direction) -> None:
    """The answer to one of the last names its line; of an older one nothing is known."""
    overheard = ConversationJudge("2025-06-18", initialized=True)
    other = OUT if direction is IN else IN
    for number in range(1, MOST_OPEN + 2):
        overheard.line(number, direction, b'{"id":%d,"method":"ping' % number)
    found = {}
    for number in (1, 2, MOST_OPEN + 1):
        (judged,) = overheard.line(9_000 + number, other, answer(number))
        (problem,) = judged.diagnostics
        found[number] = problem.code, dict(problem.detail)
    assert found[2] == ("N48", {"id": "2", "line": "2"})
    assert found[MOST_OPEN + 1] == ("N48", {"id": str(MOST_OPEN + 1), "line": str(MOST_OPEN + 1)})
    assert found[1] == ("N57", {"id": "1"})


ASKED_HANDS = (
    (IN, request("initialize", protocolVersion="2025-06-18", capabilities={"roots": {}},
                 clientInfo={"name": "c", "version": "1"})),
    (OUT, answer(protocolVersion="2025-06-18", capabilities={"tools": {}},
                 serverInfo={"name": "s", "version": "1"})),
)  # fmt: skip
SHAKEN = (*ASKED_HANDS, (IN, notice("notifications/initialized")))
ROOTS = (OUT, request("roots/list", 9))
FAILED = b'{"jsonrpc":"2.0","id":%d,"error":{"code":1,"message":"x"}}'


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((*ASKED_HANDS, ROOTS), ["3 9 N58 warning /method method=roots/list"]),
        ((*ASKED_HANDS, (OUT, request("ping", 9))), []),
        ((*ASKED_HANDS, (IN, b"{"), ROOTS), ["3  N01 error  column=2"]),
        ((ASKED_HANDS[0], (OUT, FAILED % 1), ROOTS), []),
        (
            (*ASKED_HANDS, (IN, request("ping", 2)), (OUT, FAILED % 2), ROOTS),
            ["5 9 N58 warning /method method=roots/list"],
        ),
        (((IN, CALL),), ["1 1 M86 hint /method method=tools/call"]),
        (((OUT, b"x"), (IN, CALL)), ["1  N01 error  column=1"]),
        (
            (*SHAKEN, (OUT, request("tools/list", 9))),
            ["4 9 N31 warning /method method=tools/list version=2025-06-18"],
        ),
        ((*SHAKEN, ROOTS, ROOTS), ["5 9 N10 warning /id "]),
        (
            (*SHAKEN, (IN, request("tools/list", 8)), (IN, request("tools/list", 8))),
            ["5 8 N10 warning /id "],
        ),
        (
            (*SHAKEN, (IN, notice("notifications/x"))),
            ["4  M83 hint /method method=notifications/x version=2025-06-18"],
        ),
        ((*SHAKEN, (OUT, b'{"jsonrpc":"2.0","id":null,"result":{}}')), ["4  N45 warning  "]),
        (
            (*SHAKEN, (IN, CALL), (OUT, b'{"jsonrpc":"2.0","result":{"content":[]}}')),
            ["5  N08 error  "],
        ),
        (
            (*SHAKEN, (IN, CALL), (OUT, b'{"jsonrpc":"2.0","id":"1","result":{"content":[]}}')),
            ['5 "1" R04 error /id typed="1" id=1'],
        ),
        ((*SHAKEN, (IN, CALL), (OUT, DONE), (OUT, DONE)), ["6 1 N44 warning /id id=1"]),
        (
            (
                *SHAKEN,
                (IN, CALL),
                (IN, notice("notifications/cancelled", requestId=1)),
                (OUT, DONE),
            ),
            ["6 1 N47 warning /id "],
        ),
        ((*SHAKEN, (OUT, answer(5))), ["4 5 N30 warning /id id=5"]),
    ],
)
def test_each_line_has_its_problems_at_their_place(
    lines: tuple[tuple[Direction, bytes], ...], said: list[str]
) -> None:
    """With its id, if it has one: the line, the id, the code, how grave it is, where, and what."""
    overheard = ConversationJudge("2025-06-18")
    found = [
        f"{judged.line} {judged.id} {one.code} {one.severity.value} {one.pointer} "
        + " ".join(f"{name}={what}" for name, what in one.detail)
        for number, (direction, raw) in enumerate(lines, 1)
        for judged in overheard.line(number, direction, raw)
        for one in judged.diagnostics
    ]
    assert found == said


def test_a_request_whose_line_nobody_told_has_none() -> None:
    """0 is no number of a line: whether its answer was dropped or never came."""
    talk = Talk()
    talk.asks(3, 1)
    talk.asks(4, 2)
    strange = Unanswered()
    observed = talk.hears(5, Direction.OUT, id=1, result={})
    found = strange.checked(5, observed, (WRONG,))
    assert found is not None
    assert (found.seq, found.dropped) == (0, 5)
    left = [(one.seq, one.request.number, one.dropped) for one in strange.left(talk.state)]
    assert left == [(0, 1, 5), (0, 2, 0)]


@pytest.mark.parametrize(
    ("scopes", "lines"),
    [
        (("private", "public", "private"), [4]),
        (("public", "private", "private"), [4, 6]),
        (("public", "public", "public"), []),
    ],
)
def test_all_pages_of_a_list_have_the_scope_of_the_first(
    scopes: tuple[str, ...], lines: list[int]
) -> None:
    """2026-07-28; a new first page begins anew."""
    said: list[tuple[Direction, bytes]] = []
    for number, scope in enumerate((*scopes, "public"), 1):
        cursor = {"cursor": str(number)} if 1 < number <= len(scopes) else {}
        result = {"resultType": "complete", "resources": [], "ttlMs": 0, "cacheScope": scope}
        asked = request("resources/list", number, _meta=stating(), **cursor)
        said += [(IN, asked), (OUT, answer(number, **result))]
    found = heard(*said, version="2026-07-28")
    assert [one.line for one in found for each in one.diagnostics if each.code == "M139"] == lines


@pytest.mark.parametrize(
    ("value", "is_told"),
    [
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", False),
        ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-09", False),
        ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", True),
        ("00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01", True),
        ("00-00000000000000000000000000000000-b7ad6b7169203331-01", True),
        ("0af7651916cd43dd8448eb211c80319c", True),
        ("", True),
    ],
)
def test_a_trace_parent_has_the_form_of_the_w3c(value: str, *, is_told: bool) -> None:
    """In the `_meta` of a request of 2026-07-28; earlier, the name was free."""
    meta = {**stating(), "traceparent": value}
    (judged,) = ConversationJudge().line(1, IN, request("tools/list", _meta=meta))
    assert [one.code for one in judged.diagnostics] == (["M141"] if is_told else [])
    (earlier,) = ConversationJudge("2025-11-25", initialized=True).line(
        1, IN, request("tools/list", _meta={"traceparent": value})
    )
    assert earlier.diagnostics == ()


@pytest.mark.parametrize(
    ("place", "is_quoted", "found"),
    [
        ((1, 1), False, (3, 5)),
        ((1, 4), False, (3, 8)),
        ((2, 4), False, (4, 4)),
        ((1, 4), True, (3, 5)),
        ((2, 4), True, (3, 5)),
    ],
)
def test_a_place_of_a_message_is_one_of_its_file(
    place: tuple[int, int], found: tuple[int, int], *, is_quoted: bool
) -> None:
    """Its first line begins in a column; of one in quotes, only the beginning is known."""
    judged = Judged(3, IN, "a\nbcde", column=5, is_quoted=is_quoted)
    assert judged.place(*place) == found


@pytest.mark.parametrize(
    ("origin", "is_quoted"),
    [
        (Origin.LINE, False),
        (Origin.MEMBER, False),
        (Origin.QUOTED, True),
        (Origin.BARE, True),
    ],
)
def test_what_is_said_of_a_capture_has_the_place_in_its_file(
    origin: Origin, *, is_quoted: bool
) -> None:
    """Also what is said at the end, of a request without a response."""
    line = CapturedLine(3, IN, CALL.decode(), column=5, origin=origin)
    found = [(one.line, one.column, one.is_quoted) for one in judge_capture([line], "2025-06-18")]
    assert found == [(3, 5, is_quoted)] * 2
    assert len(list(judge_capture([line], "2025-06-18", goes_on=True))) == 1


@pytest.mark.parametrize(
    ("code", "kind", "version", "is_told"),
    [
        ("R04", Kind.RESULT, "2025-06-18", False),  # all clients take it
        ("R56", Kind.RESULT, "2025-06-18", True),  # the caller gets an error
        ("R56", None, "2025-06-18", True),
        ("R56", Kind.ERROR, "2025-06-18", False),  # as it would with the error itself
        ("R01", Kind.ERROR, "2025-06-18", True),  # nobody gets it
        ("R56", Kind.RESULT, "2026-07-28", False),  # not measured
        ("R01", Kind.ERROR, "2026-07-28", False),
    ],
)
def test_what_clients_do_with_a_response_is_told_if_its_caller_does_not_get_it(
    code: str, kind: Kind | None, version: str, *, is_told: bool
) -> None:
    """An error that arrives as an error is what its server meant."""
    told = told_reactions((Diagnostic(code, Severity.ERROR),), kind, version)
    assert [one.code for one in told] == (["N46"] if is_told else [])


BATCH = b"[" + CALL + b"]"
MARKED = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("raw", "version", "codes"),
    [
        (CALL, "2025-06-18", []),
        (BATCH, "2025-06-18", ["R12"]),
        (BATCH, "2025-03-26", []),
        (MARKED + CALL, "2025-06-18", ["N11"]),
        (MARKED + BATCH, "2025-06-18", ["N11", "R12"]),
        (MARKED + BATCH, "2025-03-26", ["N11"]),
    ],
)
def test_a_line_has_problems_of_its_own(raw: bytes, version: str, codes: list[str]) -> None:
    """A batch is an error only for those who can still change it."""
    for strict, severity in ((True, Severity.ERROR), (False, Severity.WARNING)):
        said = line_hints(raw, read(raw), version, strict=strict)
        assert [one.code for one in said] == codes
        assert {one.severity for one in said if one.code == "R12"} <= {severity}

"""The history in pairs, what may be copied of a line, and how two lines differ."""

import json
import shlex

from humanmcp.answering.summary import Badge
from humanmcp.common.timestamps import stamp
from humanmcp.desk.history.rows import Pair, copies, difference, pairs, step
from humanmcp.protocol.conversation.transcript import Direction, Frame

IN, OUT = Direction.IN, Direction.OUT
A = Badge("A", 0)


def found(*said: tuple[float, Direction, str]) -> list[Pair]:
    """Pair up what was said in one session: when, which way, the line without its envelope."""
    return pairs(
        step(
            "s",
            A,
            Frame(
                seq, stamp(1_800_000_000 + at), direction, f'{{"jsonrpc":"2.0",{line}}}'.encode()
            ),
        )
        for seq, (at, direction, line) in enumerate(said, 1)
    )


CALL = '"id":1,"method":"tools/call","params":{"name":"dice"}'


def test_an_answer_stands_with_its_request_and_how_long_it_took() -> None:
    """Of both ways, also where ids are the same; a failed tool is an error."""
    rows = found(
        (0, IN, CALL),
        (1, OUT, '"id":1,"method":"roots/list"'),
        (2, IN, '"id":1,"result":{"roots":[]}'),
        (3.5, OUT, '"id":1,"result":{"content":[],"isError":true}'),
    )
    assert [(one.step.word, one.state, one.took) for one in rows] == [
        ("tools/call", "error", 3.5),
        ("roots/list", "answered", 1.0),
    ]


def test_an_answer_with_a_wrong_id_stands_with_its_request_unless_another_has_it() -> None:
    """It was sent so on purpose: our number says what it was for."""
    said = [(IN, 7, CALL), (OUT, 7, '"id":99,"result":{}'), (OUT, 7, '"id":1,"result":{}')]

    def rows(*frames: tuple[Direction, int, str]) -> list[Pair]:
        return pairs(
            step(
                "s",
                A,
                Frame(
                    seq,
                    stamp(1_800_000_000),
                    direction,
                    f'{{"jsonrpc":"2.0",{line}}}'.encode(),
                    number,
                ),
            )
            for seq, (direction, number, line) in enumerate(frames, 1)
        )

    (one,) = rows(*said[:2])
    assert one.answer is not None
    assert (one.answer.seq, one.state) == (2, "answered")
    both = rows(*said)
    assert [one.answer and one.answer.seq for one in both] == [3, None]


def test_pings_are_one_row() -> None:
    """Those of a session; a request that nobody answered waits."""
    ping = '"id":%d,"method":"ping"'
    rows = found(
        (0, IN, ping % 1), (1, OUT, '"id":1,"result":{}'), (2, IN, ping % 2), (3, IN, CALL)
    )
    assert [(one.step.word, one.times, one.state) for one in rows] == [
        ("ping", 2, "answered"),
        ("tools/call", 1, "pending"),
    ]


def test_what_differs_is_told_line_by_line() -> None:
    """What is gone, what is new, and what stays."""
    assert list(difference("a\nb", "a\nc")) == [("same", "a"), ("gone", "b"), ("new", "c")]


def test_an_answer_can_be_copied_as_the_command_that_gives_it() -> None:
    """A text, a tool error, a result, an error; anything else has no command."""

    def command(line: str) -> list[str]:
        text = dict(copies(line)).get("command", "")
        return shlex.split(text.partition("<<")[0])

    texts = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"it\'s"}]%s}}'
    assert command(texts % "") == ["humanmcp", "answer", "--text", "it's"]
    assert command(texts % ',"isError":true')[2] == "--tool-error"
    assert command('{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}')[2:] == ["--result", "-"]
    assert command('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"a"}}')[2] == "--message"
    request = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    assert [kind for kind, _ in copies(request)] == ["pretty", "line", "markdown"]
    assert json.loads(dict(copies(request))["pretty"]) == json.loads(request)


def test_the_words_of_an_answer_of_2026_07_28_are_copied_alone() -> None:
    """What each such result has beside them (`resultType`, `_meta`) is written anew anyway."""
    content = '"content":[{"type":"text","text":"sunny"}]'
    beside = '"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"}}'
    line = f'{{"jsonrpc":"2.0","id":1,"result":{{{content},{beside}}}}}'
    assert dict(copies(line))["command"] == "humanmcp answer --text sunny"

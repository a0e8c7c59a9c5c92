"""Lessons: what is read from a session's lines, and the lessons that come with humanmcp."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import pytest

from humanmcp import extensions
from humanmcp.cli import main
from humanmcp.common.book_file import BookFileError, decode_book
from humanmcp.extensions.classroom.demo.lesson import (
    LESSON_KEYS,
    PASS_KEYS,
    STEP_KEYS,
    Lesson,
    client_name,
    find_lesson,
    lesson_files,
    lesson_of,
    lesson_of_client,
    name_of,
    parse_lesson,
    weather,
)
from humanmcp.extensions.classroom.room.practice import Practice, PracticeLine, StepOutcome
from humanmcp.inbox.contract import Inbox, Key, UnknownItemError
from humanmcp.locales import LANGUAGES, say
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.json.tree import at as pointed
from humanmcp.protocol.tables import versions
from humanmcp.protocol.tables.examples import PLACEHOLDERS, each_result
from humanmcp.protocol.tables.versions import META_VERSION
from humanmcp.server.connection import EndOfInput
from humanmcp.server.memory_connection import MemoryConnection
from tests.extensions.classroom.own_answers import WORDS, own_answer, own_places
from tests.support.speaking import said_in


def frames(*said: tuple[Direction, dict[str, Any]]) -> list[Frame]:
    """Record messages as a session would."""
    return [
        Frame(seq, "", direction, json.dumps({"jsonrpc": "2.0", **message}).encode())
        for seq, (direction, message) in enumerate(said, 1)
    ]


def asked(token: int) -> tuple[Direction, dict[str, Any]]:
    """Return the request of a step as the demo's host sends it."""
    step = weather("en").requests[token - 1]
    params = step.params or {"name": "get-japan-forecast", "arguments": {}}
    return Direction.IN, {"id": token, "method": step.method, "params": params}


def answered(token: int, result: Any = None) -> tuple[Direction, dict[str, Any]]:  # noqa: ANN401 - any JSON value
    """Return the example of a step, or another result, as an answer."""
    example = weather("en").requests[token - 1].example or {}
    return Direction.OUT, {"id": token, **(example if result is None else {"result": result})}


def read(*said: tuple[Direction, dict[str, Any]], language: str = "en") -> Lesson:
    """Read a lesson that there is."""
    found = said_in(language, lesson_of, frames(*said), weather(language))
    assert found is not None
    return found


def test_a_session_without_a_request_is_no_lesson() -> None:
    """Nothing came yet."""
    assert lesson_of([], weather("en")) is None


@pytest.mark.parametrize(("language", "word"), [("en", "filled in"), ("ja", "入っています")])
def test_each_request_is_a_step_with_its_task(language: str, word: str) -> None:
    """The second step is the tool list, and it says what to do."""
    lesson = read(asked(1), answered(1), asked(2), language=language)
    assert (len(lesson.steps), lesson.total) == (2, 5)
    assert word in lesson.steps[-1].task
    assert [bool(one.said) for one in lesson.steps] == [True, False]


def test_an_answer_that_the_host_cannot_use_is_said_to_be_none() -> None:
    """The learner reads why the call failed."""
    lesson = read(asked(1), answered(1), asked(2), answered(2, {"tools": 5}))
    assert lesson.steps[1].failed
    assert "tools/list fails" in lesson.steps[1].said


def test_while_the_host_waits_in_vain_the_lesson_says_why() -> None:
    """What was sent answers nothing, so what to type is no longer said."""
    lesson = read(asked(1), answered(1), asked(2), (Direction.OUT, {"id": 8, "result": {}}))
    assert lesson.steps[1].said == ""
    assert lesson.steps[1].task.startswith("Ignored: no request has the id 8.")
    assert "gives up in 20 s" in lesson.steps[1].task
    again = read(asked(1), answered(1), answered(1), asked(2), answered(1))
    assert "filled in" in again.steps[1].task


def test_the_whole_lesson_is_five_answers() -> None:
    """What comes beyond the script is no step of it."""
    said = [one for token in range(1, 6) for one in (asked(token), answered(token))]
    extra = (Direction.IN, {"id": 6, "method": "tools/list", "params": {}})
    assert len(read(*said, extra).answered) == 5


def test_a_huge_answer_is_cut() -> None:
    """A page does not hold a megabyte of what the host read."""
    text = {"content": [{"type": "text", "text": "x" * 5000}]}
    lesson = read(asked(1), answered(1), asked(2), answered(2), asked(3), answered(3, text))
    assert len(lesson.steps[2].said) < 2000
    assert "5,000" in lesson.steps[2].said


# -- the lessons that come with humanmcp ---------------------------------------------------------


HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "Ann", "version": "1"},
}
NAMES = [name_of(one) for one in lesson_files()]
BROUGHT = [name for one in extensions.installed() for name in one.brings.lessons]


class EmptyInbox:
    """An inbox in which the host does not find who answered."""

    def item(self, key: Key) -> None:
        """Say that there is nothing."""
        raise UnknownItemError(key.session)


class Seat:
    """A learner in memory: what the practice host says comes here, and lines go back."""

    def __init__(self, name: str, language: str = "en") -> None:
        """Begin a lesson."""
        self.lesson_steps = find_lesson(name)(language).with_handshake()
        self.line = MemoryConnection()
        self.frames: list[Frame] = []
        where = PracticeLine(self.line, cast("Inbox", EmptyInbox()), "s")
        self.practice = Practice(
            self.lesson_steps, where, lambda: None, lambda *_: 0.0, lambda _: None
        )
        self.now = 0.0
        self.heard: list[dict[str, Any]] = []
        self.go()

    def go(self) -> None:
        """Let the host do what it has to do, and hear what it says."""
        self.practice.step(self.now)
        while (came := self.line.get()) is not None and not isinstance(came, EndOfInput):
            raw = cast("bytes", came)
            self._keep(Direction.IN, raw)
            self.heard.append(json.loads(raw))

    def say(self, message: dict[str, Any]) -> None:
        """Say a message to the host."""
        raw = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._keep(Direction.OUT, raw)
        self.line.send_raw(raw)
        self.go()

    def _keep(self, direction: Direction, raw: bytes) -> None:
        self.frames.append(Frame(len(self.frames) + 1, "", direction, raw))

    @property
    def open_id(self) -> int:
        """The id of the request that came last."""
        return next(
            int(one["id"]) for one in reversed(self.heard) if "method" in one and "id" in one
        )

    def answer(self, **instead: Any) -> None:  # noqa: ANN401 - any JSON value
        """Answer the open request as the lesson would, or otherwise."""
        step = self.lesson_steps.requests[len(self.practice.standing.outcomes)]
        self.say({"id": self.open_id, **(instead or own_answer(step))})

    @property
    def passed(self) -> Sequence[bool]:
        """Which steps passed."""
        return [one is StepOutcome.PASSED for one in self.practice.standing.outcomes]

    @property
    def is_through(self) -> bool:
        """Whether every step passed, and the seat's page says the same of the same lines."""
        shown = lesson_of(self.frames, self.lesson_steps)
        assert shown is not None
        assert [not one.failed for one in shown.answered] == self.passed
        return len(self.passed) == len(self.lesson_steps.requests) and all(self.passed)


def ask_back(seat: Seat) -> None:
    """Ask the user in the middle of the call."""
    schema = {"type": "object", "properties": {"day": {"type": "string"}}}
    seat.say(
        {
            "id": "q",
            "method": "elicitation/create",
            "params": {"message": "Which day?", "requestedSchema": schema},
        }
    )
    assert seat.heard[-1]["result"] == seat.lesson_steps.answers["elicitation/create"]
    seat.answer()


def answer_late(seat: Seat) -> None:
    """Let the host give up, and answer then."""
    late = seat.open_id
    seat.now += 15
    seat.go()
    assert "notifications/cancelled" in [one.get("method") for one in seat.heard]
    seat.say({"id": late, **(seat.lesson_steps.requests[2].example or {})})
    seat.answer()


def answer_wrongly(seat: Seat) -> None:
    """Answer with another id first."""
    seat.say({"id": 999, "result": {}})
    seat.answer()
    seat.answer()


def report_progress(seat: Seat) -> None:
    """Say how far the call is, then that the list has changed, and list again."""
    said = {"progressToken": "cup-1", "progress": 1, "total": 2}
    seat.say({"method": "notifications/progress", "params": said})
    seat.answer()
    seat.say({"method": "notifications/tools/list_changed"})
    seat.answer()
    tool = {"name": "make-coffee", "description": "コーヒー", "inputSchema": {"type": "object"}}
    seat.answer(result={"tools": [tool]})
    seat.answer()


def ask_host(seat: Seat) -> None:
    """Ask for the folders in one call, for the model's words in the next."""
    said = {"role": "user", "content": {"type": "text", "text": "What grows in May?"}}
    for method, params in (
        ("roots/list", {}),
        ("sampling/createMessage", {"messages": [said], "maxTokens": 100}),
    ):
        seat.say({"id": method, "method": method, "params": params})
        assert seat.heard[-1]["result"] == seat.lesson_steps.answers[method]
        seat.answer()


REST: dict[str, Callable[[Seat], None]] = {
    "ask-back": ask_back,
    "progress": report_progress,
    "ask-the-host": ask_host,
    "late-answer": answer_late,
    "wrong-answer": answer_wrongly,
}
"""How a learner ends the lessons that want more than their examples."""


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("name", NAMES)
def test_every_lesson_can_be_passed(name: str, language: str) -> None:
    """With what its steps show, and with what they ask for beyond that."""
    seat = Seat(name, language)
    assert seat.lesson_steps.teaches or name == NAMES[0]
    if name in REST:
        seat.answer()
        seat.answer()
        REST[name](seat)
    else:
        for _step in seat.lesson_steps.requests:
            seat.answer()
    assert seat.is_through


def test_a_tool_list_from_which_no_tool_is_picked_is_asked_for_again_with_a_hint() -> None:
    """The lesson is not over: the page says why, and the same step waits."""
    seat = Seat("picked-tool")
    seat.answer()
    seat.answer(result={"tools": [{"name": "t1", "inputSchema": {"type": "object"}}]})
    assert (seat.passed, seat.heard[-1]["method"], seat.line.closed) == (
        [True],
        "tools/list",
        False,
    )
    shown = lesson_of(seat.frames, seat.lesson_steps)
    assert shown is not None
    assert (len(shown.steps), shown.steps[-1].said) == (2, "")
    assert "The model looks for the weather in the names" in shown.steps[-1].before
    for _ in range(2):
        seat.answer()
    assert seat.is_through


def test_a_step_that_the_next_one_needs_is_asked_again_until_it_passes() -> None:
    """After an error the model has nothing to try again with."""
    seat = Seat("recover")
    for _ in range(2):
        seat.answer()
    for _ in range(2):
        seat.answer(error={"code": -32602, "message": "no"})
        assert seat.passed == [True, True]
        assert seat.heard[-1]["params"]["arguments"] == {"place": "Atlantis"}
    seat.answer()
    assert seat.heard[-1]["params"]["arguments"] == {"place": "Tokyo"}
    seat.answer()
    assert seat.is_through


def test_an_answer_that_breaks_a_rule_does_not_pass() -> None:
    """What counts is the check."""
    seat = Seat("first-answer")
    seat.answer(result={"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}})
    assert seat.passed[:1] == [False]


def test_the_page_says_what_was_missing_with_a_hint() -> None:
    """Understood by the host, and still not what the step is about."""
    seat = Seat("recover")
    for _ in range(2):
        seat.answer()
    seat.answer(error={"code": -32602, "message": "no"})
    shown = lesson_of(seat.frames, seat.lesson_steps)
    assert shown is not None
    why = 'This step needs a result with "isError": true, so that the model reads it.'
    assert f"Not passed. {why} A protocol error goes to the host." in shown.steps[2].before


@pytest.mark.parametrize(
    ("fields", "text", "why"),
    [
        (None, "Tomorrow: sunny", "elicitation/create was not sent before the answer."),
        (["day", "hour"], "Tomorrow: sunny", ""),
        (["when"], "Tomorrow: sunny", "/params/requestedSchema/properties/day"),
        (["day"], "sunny", "The text does not name the day that the user chose."),
        (["day"], "Tomorrow: sunny", ""),
    ],
)
def test_the_user_fills_in_the_form_that_was_asked_and_the_step_says_what_is_missing(
    fields: list[str] | None, text: str, why: str
) -> None:
    """A form with another field is declined: the host invents no answer."""
    seat = Seat("ask-back")
    for _ in range(2):
        seat.answer()
    if fields is not None:
        schema = {"type": "object", "properties": {one: {"type": "string"} for one in fields}}
        params = {"message": "Which day?", "requestedSchema": schema}
        seat.say({"id": "q", "method": "elicitation/create", "params": params})
        declined = {"action": "decline"}
        assert (seat.heard[-1]["result"] == declined) is (fields != ["day"])
    seat.answer(result={"content": [{"type": "text", "text": text}]})
    shown = lesson_of(seat.frames, seat.lesson_steps)
    assert shown is not None
    assert why in shown.steps[-1].said
    assert ("Not passed." in shown.steps[-1].said) is bool(why)


TOOL: Final = {"name": "add", "inputSchema": {"type": "object"}}
WHY: list[tuple[str, list[dict[str, Any]], str]] = [
    ("weather", [{}, {}, {}, {"error": {"code": -32602, "message": "no"}}], '"isError": true'),
    (
        "weather",
        [{}, {}, {}, {}, {"result": {"content": [{"type": "text", "text": "6"}]}}],
        "The text does not have the id of this request.",
    ),
    (
        "first-answer",
        [{"result": {**HELLO, "serverInfo": {"name": "humanmcp", "version": "1"}}}],
        "/result/serverInfo/name is empty, an example, or a name of humanmcp.",
    ),
    ("first-answer", [{"result": {**HELLO, "capabilities": {}}}], "has no /result/capabilities"),
    (
        "structured-result",
        [{}, {}, {"result": {"content": [], "structuredContent": {"degrees": 20}}}],
        "/result/structuredContent/degrees is 20, and it must be 24.5.",
    ),
    ("progress", [{}, {}, {}], "notifications/progress with a total was not sent"),
    ("list-in-pages", [{}, {"result": {"tools": [TOOL]}}], "tools/list has no /result/nextCursor"),
    ("list-in-pages", [{}, {}, {"result": {"tools": [TOOL]}}], "weather, forecast, rain"),
    ("ask-the-host", [{}, {}, {}], "roots/list was not sent before the answer."),
    ("picked-tool", [{}, {"result": {"tools": []}}], "weather, forecast, rain"),
    ("wrong-answer", [{}, {}, {}], "The host could use everything that was sent."),
    (
        "resources-and-prompts",
        [{}, {}, {"result": {"contents": [{"uri": "menu://yesterday", "text": "soup"}]}}],
        "/result/contents/0/uri does not repeat /params/uri of the request.",
    ),
    (
        "tool-with-a-page",
        [{}, {"result": {"tools": [{"name": "weather", "inputSchema": {"type": "object"}}]}}],
        "has no /result/tools/0/_meta/ui/resourceUri",
    ),
    (
        "tool-with-a-page",
        [{}, {}, {}, {"result": {"contents": [{"uri": "ui://weather/page", "text": "24.5"}]}}],
        "has no /result/contents/0/mimeType",
    ),
    (
        "poisoned-tool",
        [{}, {}, {}, {"result": {"content": [{"type": "text", "text": "forecast"}]}}],
        "That is not the name of the tool",
    ),
]


@pytest.mark.parametrize(("name", "answers", "why"), WHY)
def test_a_step_that_does_not_pass_says_why(
    name: str, answers: list[dict[str, Any]], why: str
) -> None:
    """Each kind of condition, in the words of the page."""
    seat = Seat(name)
    for one in answers:
        seat.answer(**one)
    shown = lesson_of(seat.frames, seat.lesson_steps)
    assert shown is not None
    step = shown.steps[len(answers) - 1]
    assert why in step.said + step.before
    assert "Not passed." in step.said + step.before
    assert "Not passed." not in "".join(one.said for one in shown.steps[: len(answers) - 1])


ASKS_FOR_OWN: Final = re.compile(r"your name|your own|own words|自分|あなたの名前")
"""How a task asks for one's own words."""
WIDE: Final = "".join(chr(ord(one) + 0xFEE0) for one in "humanmcp")
NOT_OWN: Final = (
    *("", " ", "…", "humanmcp", "HumanMCP", " Human-MCP ", WIDE, "humanmcp 2"),
    *("humanmcp demo host", *PLACEHOLDERS.values()),
)
"""Ours and nothing, in each way to write it."""

OWN: Final = (WORDS, "🦊", "Ann")


def with_own_words() -> Iterator[tuple[str, int]]:
    """Yield each step of a lesson that asks for one's own words, in a language."""
    for name in NAMES:
        steps = {one: find_lesson(name)(one).with_handshake().requests for one in LANGUAGES}
        for at, both in enumerate(zip(*steps.values(), strict=True)):
            asks = [bool(ASKS_FOR_OWN.search(one.task)) for one in both]
            assert asks == [bool(own_places(one)) for one in both], (name, at, both[0].task)
            if any(asks):
                yield name, at


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("name", "at"), list(with_own_words()))
def test_own_words_are_no_example_no_template_and_no_name_of_ours(
    name: str, at: int, language: str
) -> None:
    """Of either language and any version, in capitals, full width or with a dash."""
    steps = [find_lesson(name)(one).with_handshake().requests[at] for one in LANGUAGES]
    (place,) = own_places(steps[0])
    drafts = [one for v in versions.ALL for _, one in each_result(steps[0].method, v)]
    copied = {
        text
        for one in (*(step.example for step in steps), *({"result": one} for one in drafts))
        if isinstance(text := pointed(one, place), str)
    }
    assert len(copied) > 1
    for text in (
        *NOT_OWN,
        steps[0].method,
        *copied,
        *(one.upper() for one in copied),
        WORDS,
        "🦊",
        "Ann",
    ):
        seat = Seat(name, language)
        for _ in range(at):
            seat.answer()
        seat.answer(**own_answer(steps[0], text))
        assert seat.passed[at:] == [text in OWN], text
        shown = said_in(language, lesson_of, seat.frames, seat.lesson_steps)
        assert shown is not None
        why = say("demo", "why-other", language, at=place)
        assert (why in shown.steps[at].said) is not seat.passed[at]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_a_step_demands_is_in_its_task(name: str, language: str) -> None:
    """Nobody guesses how an argument or a field has to be called."""
    for step in find_lesson(name)(language).with_handshake().requests:
        places = " ".join(one.at for one in step.passes)
        for demanded in re.findall(r"/properties/(\w+)", places):
            assert re.search(rf"(?<!\w){demanded}(?!\w)", step.task, re.ASCII), step.task


GOOD = """
title = { en = "T", ja = "T" }
teaches = { en = "t", ja = "t" }
[[steps]]
title = { en = "a", ja = "a" }
task = { en = "b", ja = "b" }
method = "initialize"
example.result = {}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = { en = "T", ja = "T" }', 'title = "T"', "title: write it in both languages"),
        ('method = "initialize"', 'methods = "initialize"', "steps[0]: methods is not allowed"),
        ('method = "initialize"', 'method = "ping"\nparams = {}', "a lesson must start with"),
        ('method = "initialize"', 'method = "tools/cal"', "steps[0].method: write one of these"),
        ("result = {}", "results = {}", "steps[0].example: use exactly one of these"),
        ("[[steps]]", "[steps]", "steps: write an array of tables here"),
        ("[[steps]]", "[[steps]", "it is not TOML"),
        ("result = {}", 'result = {}\npasses = { at = "x" }', "starting with /"),
        ("result = {}", "result = {}\npasses = { value = 1 }", "value also needs at"),
        ("result = {}", 'result = {}\npasses = { answer = "ok" }', "result, error, isError, none"),
        ("result = {}", 'result = {}\nhints = "h"', "write an array of hints"),
        ("initialize", "server/discover", 'with protocol_version = "2026-07-28" at the top'),
        (
            "[[steps]]",
            'protocol_version = "2026-07-28"\n[[steps]]',
            "belongs to another protocol version",
        ),
    ],
)
def test_a_mistake_of_a_teacher_is_explained_with_its_place(old: str, new: str, said: str) -> None:
    """A teacher writes one in a text file, and is told what is wrong with it."""
    assert old in GOOD
    parse = partial(parse_lesson, language="en")
    decode_book(GOOD, Path("my.toml"), parse)
    with pytest.raises(BookFileError) as caught:
        decode_book(GOOD.replace(old, new, 1), Path("my.toml"), parse)
    assert said in caught.value.sentence()
    assert said_in("ja", caught.value.sentence) != caught.value.sentence()


def test_the_command_lists_lessons_and_checks_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name or a file; what is wrong names the file, the line and what to do."""
    assert main(["lesson", "--lang", "en"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed[:-1] == [*NAMES, *BROUGHT]
    assert NAMES[0] == "weather"
    file = tmp_path / "my.toml"
    file.write_text(GOOD, encoding="utf-8")
    assert main(["lesson", "--check", str(file), "--lang", "en"]) == 0
    assert "T. 1 request to answer. t" in capsys.readouterr().out
    file.write_text(GOOD.replace("task", "tasks"), encoding="utf-8")
    assert main(["lesson", "--check", str(file), "--lang", "en"]) == 1
    assert "my.toml: line 6, steps[0]: tasks is not allowed here" in capsys.readouterr().err
    assert main(["lesson", "nonsense", "--lang", "en"]) == 2
    assert "There is no lesson nonsense" in capsys.readouterr().err


def test_a_desk_knows_by_the_client_which_lesson_is_played(tmp_path: Path) -> None:
    """Room 6: `humanmcp lesson` is another process than the desk; a file is kept for it."""
    for name in ("recover", "weather"):
        lesson_steps = find_lesson(name)("en").played_by(client_name(name, tmp_path))
        said = (lesson_steps.steps[0].params or {})["clientInfo"]["name"]
        found = lesson_of_client(said, tmp_path)
        assert found is not None
        assert found("en").title == lesson_steps.title
    (tmp_path / "my.toml").write_text(GOOD, encoding="utf-8")
    own = client_name(str(tmp_path / "my.toml"), tmp_path / "home")
    assert str(tmp_path) not in own
    made = lesson_of_client(own, tmp_path / "home")
    assert made is not None
    assert made("en").title == "T"
    for other in ("recover me", "humanmcp lesson ../my.toml", "humanmcp lesson gone.toml"):
        assert lesson_of_client(other, tmp_path / "home") is None


@pytest.mark.parametrize("name", ["late-answer", "wrong-answer"])
def test_a_client_of_ones_own_passes_when_it_says_something_more(
    name: str,
) -> None:
    """The page and the teacher see it as a step of the lesson, not on Server alone."""
    seat = Seat(name)
    seat.answer()
    seat.answer()
    REST[name](seat)
    said = [
        one._replace(raw=re.sub(rb'"(id|requestId)": ?(\d+)', rb'"\1":"c\2"', one.raw))
        for one in seat.frames
        if b"notifications/initialized" not in one.raw
    ]

    def read(more: Sequence[Frame] = ()) -> list[bool]:
        shown = lesson_of([*said, *more], seat.lesson_steps, own=True)
        assert shown is not None
        return [not one.failed for one in shown.answered]

    ping = Frame(99, "", Direction.IN, b'{"jsonrpc":"2.0","id":99,"method":"ping"}')
    assert read([ping]) == [True] * 4
    if name == "late-answer":
        assert read() == [True, True, True, False], "nothing shows yet that it goes on"
    listed = Frame(2, "", Direction.IN, b'{"jsonrpc":"2.0","id":98,"method":"prompts/list"}')
    said.insert(2, listed)
    assert read([ping]) == [True] * 4, "what the lesson does not ask for is no step of it"


@pytest.mark.parametrize("suffix", [".md", ".ja.md"])
def test_the_manual_lists_every_lesson_in_the_order_to_take_them(suffix: str) -> None:
    """And every key of a step and of a condition is in the reference."""
    text = Path(f"docs/how-to/use-lessons{suffix}").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE)
    assert listed[: len(NAMES)] == NAMES
    assert set(BROUGHT) <= set(listed[len(NAMES) :])
    reference = Path("docs/reference/lesson.md").read_text(encoding="utf-8")
    keys = set(re.findall(r"^\| `(\w+)` \|", reference, re.MULTILINE))
    assert keys == LESSON_KEYS | STEP_KEYS | PASS_KEYS


@pytest.mark.parametrize("name", NAMES)
def test_what_a_lesson_says_of_the_protocol_has_its_source_beside_it(name: str) -> None:
    """An address of the specification in its version, in a comment of its file."""
    (file,) = (one for one in lesson_files() if name_of(one) == name)
    lesson_steps = find_lesson(name)("en")
    first = lesson_steps.steps[0].params or {}
    version = lesson_steps.meta.get(META_VERSION) or first["protocolVersion"]
    pages = re.findall(r"^# .*specification/([\d-]+)/", file.read_text("utf-8"), re.MULTILINE)
    assert set(pages) == {version}

"""Read a lesson's state from the lines of its session: the current step, and each reaction.

Pure: it passes the lines of a session to a `GoodHost` and collects its reactions. So a
restarted desk, and two desks on one inbox, show the same lesson.
"""

from __future__ import annotations

import functools
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.own_words import quoted
from humanmcp.answering.summary import message_in
from humanmcp.common.book_file import decode_book, read_book_text
from humanmcp.common.parsing import closest
from humanmcp.common.settings import make_private, sample
from humanmcp.extensions.classroom.demo.good_host import GIVES_UP_AFTER, Answered, Failed, Ignored
from humanmcp.extensions.classroom.demo.steps import (
    ANSWERS,
    GIVEN_BY,
    INITIALIZE,
    PICKS,
    SURVIVED,
    DemoStep,
    LessonSteps,
    Missing,
    Passing,
    initialized,
)
from humanmcp.locales import describe, in_one_language, say
from humanmcp.locales.stop import StopError, stopped
from humanmcp.protocol.answer_book.book_format import (
    BookError,
    flag,
    json_text,
    one_of,
    only,
    seconds,
    table,
    tables,
    text,
    texts,
)
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.jsonrpc import Kind, Message, encoded, with_token
from humanmcp.protocol.json.tree import at
from humanmcp.protocol.tables import examples, methods, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from humanmcp.extensions.classroom.demo.good_host import Reaction
    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.json.jsonrpc import JsonObject

LONGEST_SHOWN: Final = 1_000
"""Characters of one line or text that are shown: a huge answer must not flood a screen."""


@dataclass(frozen=True, slots=True)
class LessonStep:
    """One request of the lesson, in the reader's language. `said` is "" until it is answered."""

    title: str
    task: str
    about: str
    said: str = ""
    failed: bool = False
    hints: tuple[str, ...] = ()
    waits: bool = False
    """Whether nothing is missing but a sign of life of a client of one's own."""
    before: str = ""
    """The host's reaction to the last answer, if it asks the same again."""
    given: bool = False
    """Whether the lesson answered it, not its person."""
    at: int = 0
    """Its place among the requests of the lesson, from 1."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """The requests that came so far, of `total`; the last of them may still be open.

    `given` are those that the lesson answered before them. They do not count.
    """

    steps: tuple[LessonStep, ...]
    total: int
    given: tuple[LessonStep, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every request passed."""
        return len(self.answered) == self.total and not any(one.failed for one in self.steps)

    @property
    def answered(self) -> tuple[LessonStep, ...]:
        """The requests that have an answer."""
        return tuple(one for one in self.steps if one.said)


def lesson_of(
    frames: Iterable[Frame], lesson_steps: LessonSteps, *, own: bool = False
) -> Lesson | None:
    """Read the lines of a session from its beginning; None when its client is another one.

    Of a client of one's `own` it is not known what it understands: that it lived through something
    is shown by the next thing that it says.
    """
    reading = _Reading(lesson_steps, own=own)
    for frame in frames:
        message = message_in(frame)
        if frame.direction is Direction.OUT:
            reading.said(frame.raw, message, frame.by)
        elif isinstance(message, Message):
            reading.heard(message)
    return reading.lesson if reading.found else None


class _Reading:
    """The state of a lesson after the lines so far."""

    def __init__(self, lesson_steps: LessonSteps, *, own: bool) -> None:
        self.found: list[LessonStep] = []
        self._lesson_steps, self._host, self._wanted = (
            lesson_steps,
            lesson_steps.host(),
            lesson_steps.requests,
        )
        self._own = own
        self._is_given = False
        """Whether the lesson said the last line."""
        self._reactions: list[Reaction] = []
        self._asked: dict[tuple[str, str | int | float], Message] = {}
        """What the host asks in the place of each request, by its id."""

    @property
    def lesson(self) -> Lesson:
        """Return the state. Where a person answers the handshake, too, the lesson gives nothing."""
        given = tuple(one for one in self.found if one.given)
        own = tuple(one for one in self.found if not one.given)
        not_counted = sum(one.given for one in self._wanted) if given else 0
        return Lesson(own, len(self._wanted) - not_counted, given)

    @property
    def _step(self) -> DemoStep:
        return self._wanted[len(self.found) - 1]

    def said(self, line: bytes, message: object, by: str) -> None:
        """Take a line that the client received, and who answered with it."""
        if self._own and isinstance(message, Message) and message.id is not None:
            request = self._asked.get(message.id.key)
            if request is not None and request.id is not None and not message.method:
                line = encoded(with_token(message.raw, request.id.token))
        self._is_given = by == GIVEN_BY
        for reaction in self._host.take(line):
            self._reactions.append(reaction)
            if self.found:
                self._react()
                given = self._step.given and self._is_given
                self.found[-1] = replace(self.found[-1], given=given)

    @property
    def _missing(self) -> Missing | None:
        at = len(self.found) - 1
        return self._lesson_steps.missing(at, self._reactions, self._host, given=self._is_given)

    def _react(self) -> None:
        step = _after(self.found[-1], self._step, self._reactions, self._missing)
        survives = any(one.survives for one in self._step.passes)
        if self._own and survives and step.said and not step.failed:
            said = f"{step.said} {say('demo', 'goes-on')}"
            step = replace(step, said=said, failed=True, waits=True)
        self.found[-1] = step

    def heard(self, message: Message) -> None:
        if self.found and self.found[-1].waits:
            self.found[-1] = replace(self.found[-1], failed=False, waits=False)
        if message.kind is Kind.REQUEST and message.id is not None:
            self._asked[message.id.key] = self._host.ask(message.method, message.params)
            self._begin(message.method)
        elif message.method == "notifications/cancelled" and self.found:
            self._give_up(message.params.get("requestId"))

    def _begin(self, method: str) -> None:
        """Begin the next step, or the last one again, if it is this that the lesson asks for."""
        at = len(self.found)
        if at and self._is_again(method):
            self.found[-1] = replace(
                self.found[-1], said="", failed=False, before=self.found[-1].said
            )
            self._reactions = []
        elif at < len(self._wanted) and method == self._wanted[at].method:
            step = self._wanted[at]
            begun = LessonStep(step.title, step.task, step.about, hints=step.hints, at=at + 1)
            self.found.append(begun)
            self._reactions = []

    def _is_again(self, method: str) -> bool:
        """Return True if the host cannot continue, and asks the same again."""
        at, last = len(self.found) - 1, self.found[-1]
        return (
            bool(last.said)
            and last.failed
            and method == self._wanted[at].method
            and not self._lesson_steps.leads_on(at, self._host, passed=False)
        )

    def _give_up(self, id_: object) -> None:
        request = next((one for key, one in self._asked.items() if key[-1] == id_), None)
        if request is not None:
            self._host.give_up(request, GIVES_UP_AFTER)
            said = say("demo", "waits-no-more", method=self._step.method)
            self.found[-1] = replace(self.found[-1], said=said, failed=self._missing is not None)


def _after(
    step: LessonStep, wanted: DemoStep, heard: list[Reaction], missing: Missing | None
) -> LessonStep:
    """Return a step after the host's reactions to the last line."""
    match reaction := heard[-1]:
        case Answered() | Failed():
            said = understood(reaction)
            if missing is not None and isinstance(reaction, Answered):
                said += " " + not_passed(wanted, missing)
            return replace(step, said=said, failed=missing is not None)
        case Ignored() if reaction.is_in_vain and not step.said:
            waits = say("demo", "still-waits", seconds=f"{GIVES_UP_AFTER:g}")
            return replace(step, task=f"{why_ignored(reaction)} {waits}")
        case _:
            return step


def not_passed(step: DemoStep, missing: Missing) -> str:
    """Say why an answer does not pass the step, with the step's first hint."""
    why = missing.words or say("demo", missing.code, **missing.fillings)
    return " ".join((say("demo", "not-passed", why=why), *step.hints[:1]))


def why_ignored(ignored: Ignored) -> str:
    """Say why a line changes nothing for the host."""
    why = describe(ignored.diagnostic) if ignored.diagnostic else ""
    return say("demo", ignored.code, why=why, **ignored.fillings)


def understood(answer: Answered | Failed) -> str:
    """Describe the host's reaction to an answer, and what it shows to its user."""
    if isinstance(answer, Answered):
        said = {name: cut(text) for name, text in answer.fillings.items()}
        return say("demo", answer.code, **said)
    why = say("demo", "unusable")
    if answer.diagnostic is not None:
        why = describe(answer.diagnostic)
    return say("demo", answer.code, method=answer.request.method, why=why)


def cut(text: str) -> str:
    """Return a text as far as a screen can hold it."""
    if len(text) <= LONGEST_SHOWN:
        return text
    return text[:LONGEST_SHOWN] + say("demo", "cut", count=f"{len(text):,}")


LANGUAGES: Final = ("en", "ja")
NO_WORDS: Final = dict.fromkeys(LANGUAGES, "")
LESSON_KEYS: Final = frozenset(
    {"title", "teaches", "protocol_version", "transport", "capabilities", "host_answers", "steps"}
)
TRANSPORTS: Final = ("stdio", "http")
STEP_KEYS: Final = frozenset(
    {"title", "about", "task", "hints", "method", "params", "model", "meta", "example", "passes"}
    | {"timeout", "when_passed", "given"}
)
MODEL_KEYS: Final = frozenset({"words", "text"})
PASS_KEYS: Final = frozenset(
    {
        "answer",
        "at",
        "value",
        "words",
        "other_than",
        "repeats",
        "picked",
        "asked",
        "survives",
        "why",
    }
)
_OF_A_MEMBER: Final = ("value", "words", "other_than", "repeats")


def _host_methods(spoken: Sequence[str]) -> tuple[str, ...]:
    every = (*methods.REQUESTS.values(), *methods.NOTIFICATIONS.values())
    return tuple(sorted(one.name for one in every if set(one.to_server) & set(spoken)))


HOST_METHODS: Final = _host_methods(versions.HANDSHAKE)
"""What a practice host can say."""
STATELESS_METHODS: Final = _host_methods(versions.STATELESS)
"""What it can say where there is no handshake."""
_BOTH: Final = frozenset(LANGUAGES)


def parse_lesson(written: Mapping[str, Any], language: str) -> LessonSteps:
    """Read a decoded lesson for a reader of this language.

    Raises:
        BookError: something in it has no meaning; the error names the place.
    """
    only(written, LESSON_KEYS, "the lesson")
    steps = tables(written.get("steps", []), "steps")
    stateless = written.get("protocol_version") in versions.STATELESS
    known = STATELESS_METHODS if stateless else HOST_METHODS
    found = [_step(one, f"steps[{index}]", language, known) for index, one in enumerate(steps)]
    if not found or (found[0].method != "initialize" and not stateless):
        raise BookError("steps[0].method" if found else "steps", "begins")
    if not stateless:
        found[0] = replace(found[0], params=_initialize(written, found[0]))
    found = [_looks_ahead(one, found[at + 1 :]) for at, one in enumerate(found)]
    if not stateless:
        found.insert(1, initialized(language))
    answers = table(written.get("host_answers", {}), "host_answers")
    return LessonSteps(
        _words(written.get("title"), "title", language),
        tuple(found),
        _words(written.get("teaches", NO_WORDS), "teaches", language),
        {method: _json(one, f"host_answers.{method}", language) for method, one in answers.items()},
        _meta(written) if stateless else {},
        one_of(written.get("transport", "stdio"), TRANSPORTS, "transport") == "http",
    )


def _meta(written: Mapping[str, Any]) -> JsonObject:
    """Return the `_meta` of each request of a version without a handshake."""
    return {
        versions.META_VERSION: written["protocol_version"],
        versions.META_CLIENT: INITIALIZE["clientInfo"],
        versions.META_CAPABILITIES: _capabilities(written),
    }


def _capabilities(written: Mapping[str, Any]) -> JsonObject:
    capabilities: JsonObject = dict(table(written.get("capabilities", {}), "capabilities"))
    json_text(capabilities, "capabilities")
    return capabilities


def _initialize(written: Mapping[str, Any], step: DemoStep) -> JsonObject:
    """Return what the host introduces itself with."""
    params: JsonObject = {**INITIALIZE, **(step.params or {})}
    if "protocol_version" in written:
        params["protocolVersion"] = one_of(
            written["protocol_version"], tuple(versions.VERSIONS), "protocol_version"
        )
    if "capabilities" in written:
        params["capabilities"] = _capabilities(written)
    return params


def _step(
    written: Mapping[str, Any], place: str, language: str, known: tuple[str, ...]
) -> DemoStep:
    only(written, STEP_KEYS, place)
    method = text(written.get("method"), f"{place}.method")
    if method not in known and method in {*HOST_METHODS, *STATELESS_METHODS}:
        raise BookError(f"{place}.method", "other version", known=versions.LATEST_STATELESS)
    one_of(method, known, f"{place}.method")
    if method.startswith("notifications/"):
        only(written, frozenset({"title", "method"}), place)
        title = _words(written.get("title"), f"{place}.title", language)
        return DemoStep(method, {}, title=title)
    if ("model" in written) == ("params" in written) and method != "initialize":
        raise BookError(place, "answers", known="model, params")
    words, said = _model(written, f"{place}.model", language)
    if words is not None and method not in PICKS:
        raise BookError(f"{place}.model", "calls", known=", ".join(PICKS))
    return DemoStep(
        method,
        None
        if words is not None
        else _json(written.get("params", {}), f"{place}.params", language),
        _example(written.get("example"), f"{place}.example", language),
        said,
        _words(written.get("title"), f"{place}.title", language),
        _words(written.get("about", NO_WORDS), f"{place}.about", language),
        _words(written.get("task"), f"{place}.task", language),
        _hints(written.get("hints", []), f"{place}.hints", language),
        words=words or (),
        meta=_json(written.get("meta", {}), f"{place}.meta", language),
        passes=_all_passing(written, f"{place}.passes", language),
        timeout=seconds(written.get("timeout", 0), f"{place}.timeout"),
        when_passed=flag(written.get("when_passed", False), f"{place}.when_passed"),
        given=flag(written.get("given", False), f"{place}.given"),
    )


def _looks_ahead(step: DemoStep, later: Sequence[DemoStep]) -> DemoStep:
    """Copy the words by which the host will look for an item to the step that lists it."""
    mine = (one for one in later if one.params is None and PICKS[one.method] == step.method)
    words = next((one.words for one in mine), ())
    looking = (one if one.picked is None else replace(one, picked=words) for one in step.passes)
    return replace(step, passes=tuple(looking))


def _model(
    written: Mapping[str, Any], place: str, language: str
) -> tuple[tuple[str, ...] | None, str]:
    """Return by which words the model picks a tool, and what it writes in; None without one."""
    if "model" not in written:
        return None, ""
    model = table(written["model"], place)
    only(model, MODEL_KEYS, place)
    words = texts(model.get("words", []), f"{place}.words")
    return words, _words(model.get("text"), f"{place}.text", language)


def _all_passing(step: Mapping[str, Any], place: str, language: str) -> tuple[Passing, ...]:
    """Read the condition of a step, or its list of them."""
    written = step.get("passes", {})
    if isinstance(written, dict):
        return (_passing(written, step, place, language),)
    listed = enumerate(tables(written, place))
    return tuple(_passing(one, step, f"{place}[{index}]", language) for index, one in listed)


def _passing(written: Any, step: Mapping[str, Any], place: str, language: str) -> Passing:  # noqa: ANN401 - TOML's types
    only(table(written, place), PASS_KEYS, place)
    said = {name: text(written[name], f"{place}.{name}") for name in ("asked",) if name in written}
    for name in ("at", "repeats"):
        if name in written:
            said[name] = text(written[name], f"{place}.{name}")
            if not said[name].startswith("/"):
                raise BookError(f"{place}.{name}", "pointer")
    for name, known in (("answer", ANSWERS), ("survives", SURVIVED)):
        if name in written:
            said[name] = one_of(written[name], known, f"{place}.{name}")
    for name in _OF_A_MEMBER:
        if name in written and "at" not in written:
            raise BookError(place, "alone value", name=name)
    value = in_one_language(written.get("value"), language)
    json_text(value, f"{place}.value")
    picks = flag(written.get("picked", False), f"{place}.picked")
    return Passing(
        **said,
        value=value,
        words=texts(written.get("words", []), f"{place}.words"),
        other_than=(
            (*texts(written["other_than"], f"{place}.other_than"), *_shown(step, said["at"]))
            if "other_than" in written
            else None
        ),
        picked=() if picks else None,
        why=_words(written.get("why", NO_WORDS), f"{place}.why", language),
    )


def _shown(step: Mapping[str, Any], pointer: str) -> Iterator[str]:
    """Yield what a learner could copy to a member: from templates, examples, and quotes in a task.

    In each language and version, because the page can show another one than the lesson's.
    """
    results = (examples.each_result(step["method"], one) for one in versions.ALL)
    found = [{"result": one} for each in results for _, one in each]
    for spoken in (in_one_language(step, one) for one in LANGUAGES):
        found.append(spoken.get("example", {}))
        yield from quoted((spoken["task"], *spoken.get("hints", ())))
    yield from (text for one in found if isinstance(text := at(one, pointer), str))


def _example(value: Any, place: str, language: str) -> JsonObject:  # noqa: ANN401 - TOML's types
    example = _json({} if value is None else value, place, language)
    if len({"result", "error"} & set(example)) != 1:
        raise BookError(place, "answers", known="result, error")
    only(example, frozenset({"result", "error"}), place)
    return example


def _hints(value: Any, place: str, language: str) -> tuple[str, ...]:  # noqa: ANN401 - TOML's types
    if not isinstance(value, list):
        raise BookError(place, "hints")
    return tuple(_words(one, f"{place}[{index}]", language) for index, one in enumerate(value))


def _words(value: Any, place: str, language: str) -> str:  # noqa: ANN401 - TOML's types
    """Read a text for the learner; both languages are checked."""
    if not isinstance(value, dict) or set(value) != _BOTH:
        raise BookError(place, "languages")
    return {one: text(value[one], f"{place}.{one}") for one in LANGUAGES}[language]


def _json(value: Any, place: str, language: str) -> JsonObject:  # noqa: ANN401 - TOML's types
    """Read a value for the wire; a text in it may be written in both languages."""
    said = dict(table(value, place))
    json_text(said, place)
    spoken: JsonObject = in_one_language(said, language)
    return spoken


WEATHER: Final = "weather"
"""The name of the lesson that `humanmcp demo` plays."""


AT_DESK: Final = "humanmcp lesson"
"""What the host of a lesson alone at a desk calls itself, followed by the lesson's name."""

OWN: Final = "lessons"
"""The folder below the home with the files that were played at its desk."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]{1,60}")


def lesson_files() -> Sequence[Path]:
    """Return the files of the lessons that come along, in the order to take them."""
    return sorted(sample("lessons").glob("*.toml"))


def name_of(file: Path) -> str:
    """Return how a lesson is called on the command line: without the number that orders it."""
    return file.stem.partition("-")[2]


def lesson_names() -> tuple[str, ...]:
    """Return the names of the lessons that come along, in the order to take them."""
    return tuple(map(name_of, lesson_files()))


def client_name(name: str, home: Path) -> str:
    """Return the name of a lesson's host at a desk, without the folder of a file.

    A file of one's own is kept below `home` under its name, so that the desk there has it, too.
    """
    if name in lesson_names():
        return f"{AT_DESK} {name}"
    file = Path(name).expanduser()
    if not _PLAIN.fullmatch(file.stem):
        return AT_DESK
    text = read_book_text(file)
    (make_private(home / OWN) / f"{file.stem}.toml").write_text(text, encoding="utf-8")
    return f"{AT_DESK} {file.stem}.toml"


def lesson_of_client(client: str, home: Path) -> Callable[[str], LessonSteps] | None:
    """Return the lesson that a client plays by its name; None for any other client."""
    begin, _, name = client.rpartition(" ")
    if begin != AT_DESK:
        return None
    file = home / OWN / name
    if name.endswith(".toml") and _PLAIN.fullmatch(file.stem) and file.is_file():
        with suppress(StopError):  # the file was changed since
            return find_lesson(str(file))
    return find_lesson(name) if name in lesson_names() else None


def find_lesson(name: str) -> Callable[[str], LessonSteps]:
    """Return what makes a lesson in a language, by its name or its file.

    Raises:
        StopError: there is no such lesson, or its file cannot be used.
    """
    shipped = {name_of(one): one for one in lesson_files()}
    path = shipped.get(name, Path(name).expanduser())
    if name not in shipped and not path.exists() and path.suffix != ".toml":
        if guess := closest(name, shipped):
            raise stopped("parsing", "choice guess", value=name, guess=guess)
        raise stopped("lesson", "unknown", name=name, known=", ".join(shipped))
    return read_lesson(read_book_text(path), path)


@functools.cache
def weather(language: str) -> LessonSteps:
    """Return the lesson that `humanmcp demo` plays: every answer that the host can use passes."""
    return find_lesson(WEATHER)(language)


def read_lesson(text: str, path: Path) -> Callable[[str], LessonSteps]:
    """Return what makes the lesson of a file's text in a language; `path` is for its problems.

    Raises:
        StopError: it is no lesson.
    """
    made = {one: decode_book(text, path, partial(parse_lesson, language=one)) for one in LANGUAGES}
    return made.__getitem__

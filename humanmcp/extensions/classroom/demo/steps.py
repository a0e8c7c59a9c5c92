"""The steps of a lesson, which a practice host sends."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.answering.own_words import is_own
from humanmcp.extensions.classroom.demo.good_host import (
    GIVES_UP_AFTER,
    Answered,
    Failed,
    GoodHost,
    Ignored,
    Noticed,
    Strictness,
    WasAsked,
)
from humanmcp.inbox.contract import Reply
from humanmcp.locales import say
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import as_json
from humanmcp.protocol.json.tree import at, follow, leaves, object_at, objects_at
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.versions import META_CLIENT
from humanmcp.protocol.validation.starting_draft import empty_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from humanmcp.extensions.classroom.demo.good_host import Reaction
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject, Message

RESULT: Final = "result"
ERROR: Final = "error"
TOOL_ERROR: Final = "isError"
NOTHING: Final = "none"
ANSWERS: Final = (RESULT, ERROR, TOOL_ERROR, NOTHING)
LATE: Final = "late"
WRONG: Final = "wrong"
SURVIVED: Final = (LATE, WRONG)
_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Passing:
    """One thing that an answer needs to pass. With no field set: the host can use it."""

    answer: str = ""
    """One of `ANSWERS`; "" for a result or an error."""
    at: str = ""
    """A pointer (RFC 6901) to a member that must exist: in the answer, or in what was sent."""
    value: Any = None
    """The value that the member must have; None: any."""
    words: tuple[str, ...] = ()
    """The text there must have one of these words."""
    other_than: tuple[str, ...] | None = None
    """The text there must be the learner's own: none of these, nothing of the request."""
    repeats: str = ""
    """A pointer into the request: the member must have the same value, or a text that has it."""
    picked: tuple[str, ...] | None = None
    """The host must find an item with one of these words in the list."""
    asked: str = ""
    """The method of the request or notification that the server must have sent before."""
    survives: str = ""
    """One of `SURVIVED`: what must have happened to the host."""
    why: str = ""
    """What the learner reads when it is missing; "" for a general sentence."""


class Missing(NamedTuple):
    """Why an answer does not pass: a sentence (`[demo]`, why-…) and its fillings."""

    code: str
    fillings: Mapping[str, str] = {}
    words: str = ""
    """The lesson's own sentence, in its place."""


def missing(passing: Passing, heard: Sequence[Reaction]) -> Missing | None:
    """Return what is missing in the host's reactions since its request; None if it passes."""
    found = _missing(passing, heard)
    return found if found is None else found._replace(words=passing.why)


def _missing(passing: Passing, heard: Sequence[Reaction]) -> Missing | None:
    last = next((one for one in heard if isinstance(one, (Answered, Failed))), None)
    if passing.survives == WRONG:
        return None if any(map(_is_wrong, heard)) else Missing("why-wrong")
    if passing.answer == NOTHING:
        return None if last is None else Missing("why-answer-none")
    if not isinstance(last, Answered):
        return Missing("why-unusable")
    return _missing_in_answer(passing, last) or _missing_around(passing, last, heard)


def _missing_in_answer(passing: Passing, last: Answered) -> Missing | None:
    if passing.answer and _form(last.message.body) != passing.answer:
        return Missing(f"why-answer-{passing.answer}")
    if passing.picked is not None and _picked_in(last, passing.picked) is None:
        return Missing("why-picked", {"words": ", ".join(passing.picked)})
    if passing.at and not passing.asked:
        return _missing_at(passing, last.request, last.message)
    return None


def _missing_around(passing: Passing, last: Answered, heard: Sequence[Reaction]) -> Missing | None:
    late = any(isinstance(one, Ignored) and one.code == "ignored-late" for one in heard)
    if passing.survives == LATE and not late:
        return Missing("why-late")
    return _missing_asked(passing, last, heard) if passing.asked else None


def _missing_asked(passing: Passing, last: Answered, heard: Sequence[Reaction]) -> Missing | None:
    """Look for what the server sent before its answer."""
    sent = [one.message for one in heard if isinstance(one, (WasAsked, Noticed))]
    fitting = [one for one in sent if one.method == passing.asked]
    if not fitting or not passing.at:
        return None if fitting else Missing("why-asked", {"method": passing.asked})
    found = [_missing_at(passing, last.request, one) for one in fitting]
    return None if None in found else found[-1]


def _missing_at(passing: Passing, request: Message, message: Message) -> Missing | None:
    value = at(message.body, passing.at, _MISSING)
    fillings = {"at": passing.at, "method": message.method or request.method}
    if value is _MISSING:
        return Missing("why-at", fillings)
    if passing.value is not None and not _is_same(value, passing.value):
        wanted = {"wanted": as_json(passing.value), "found": as_json(value)}
        return Missing("why-value", fillings | wanted)
    text = str(value).strip().casefold()
    if passing.words and not any(one.casefold() in text for one in passing.words):
        return Missing("why-words", fillings)
    if passing.other_than is not None:
        shown = (leaf for _, leaf in leaves(request.body))
        if not is_own(value, (*passing.other_than, *shown)):
            return Missing("why-other", fillings)
    wanted = at(request.body, passing.repeats, _MISSING) if passing.repeats else value
    if not (_is_same(value, wanted) or (isinstance(value, str) and str(wanted) in value)):
        return Missing("why-repeats", fillings | {"repeats": passing.repeats})
    return None


def _is_same(value: Json, wanted: Json) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return value.strip().casefold() == wanted.strip().casefold()
    return value == wanted and type(value) is type(wanted)


PICKS: Final = {
    "tools/call": "tools/list",
    "resources/read": "resources/list",
    "prompts/get": "prompts/list",
}
"""The list from which the host picks an item, by the method that it is picked for."""


def picked(items: Sequence[JsonObject], words: Sequence[str]) -> JsonObject | None:
    """Return the item of a list that is picked: the first with one of the words.

    A model chooses a tool by its name, title and description; nothing of it is code.
    """
    for item in items:
        spoken = " ".join(str(item.get(one, "")) for one in ("name", "title", "description"))
        if not words or any(word.casefold() in spoken.casefold() for word in words):
            return item
    return None


def _picked_in(answer: Answered, words: Sequence[str]) -> JsonObject | None:
    listing = methods.of(answer.request.method).listing
    items = objects_at(answer.message.body, RESULT, listing.member) if listing else ()
    return picked(items, words)


def _is_wrong(reaction: Reaction) -> bool:
    return isinstance(reaction, Failed) or (isinstance(reaction, Ignored) and reaction.is_in_vain)


def _form(body: JsonObject) -> str:
    if ERROR in body:
        return ERROR
    return TOOL_ERROR if follow(body, RESULT, TOOL_ERROR) is True else RESULT


GIVEN_BY: Final = "practice"
"""The author of an answer that the lesson gave."""
HOST: Final = "humanmcp demo host"
"""The name of the demo's host."""
INITIALIZE: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"roots": {"listChanged": True}},
    "clientInfo": {"name": HOST, "version": "1.0.0"},
}


def reply_of(answer: Mapping[str, Any]) -> Reply:
    """Return a result or an error as a reply that the lesson sends."""
    form = TextForm.ERROR if ERROR in answer else TextForm.RESULT
    text = json.dumps(answer.get(form.value, {}), ensure_ascii=False)
    return Reply(text, form, by=GIVEN_BY)


@dataclass(frozen=True, slots=True)
class DemoStep:
    """One message of the host. `title`, `about` and `task` are in the language of the reader.

    `params` is None where the host picks an item of a list: it is only known during the session. A
    step without an example is a notification, which has no answer.
    """

    method: str
    params: Mapping[str, Any] | None
    example: Mapping[str, Any] | None = None
    place: str = ""
    title: str = ""
    about: str = ""
    """What the message means, for a spectator."""
    task: str = ""
    """What a person does now."""
    hints: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """The host picks the first item with one of these words; if empty, any item."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """The `_meta` of the request."""
    passes: tuple[Passing, ...] = (Passing(),)
    """All of them must be there."""
    timeout: float = 0.0
    """Seconds until the host gives up; 0: it waits as long as its person needs."""
    when_passed: bool = False
    """The host sends it only if the step before passed."""
    given: bool = False
    """The lesson answers it with the example, so that a person begins with a later step."""

    @property
    def line(self) -> str:
        return json.dumps({"method": self.method, "jsonrpc": "2.0"}, separators=(",", ":"))

    @property
    def reply(self) -> Reply:
        """Return the example as a reply that the lesson sends."""
        return reply_of(self.example or {})

    @property
    def is_answered(self) -> bool:
        """Whether its task is to answer it, not to let the host wait."""
        return self.example is not None and all(one.answer != NOTHING for one in self.passes)

    @property
    def gives_up_after(self) -> float:
        """Seconds until the host gives up after a line that was no answer."""
        return self.timeout or GIVES_UP_AFTER


@dataclass(frozen=True, slots=True)
class LessonSteps:
    """A lesson in the language of its reader: what the host sends, and what passes."""

    title: str
    steps: tuple[DemoStep, ...]
    teaches: str = ""
    answers: Mapping[str, JsonObject] = field(default_factory=dict)
    """The host's answers to requests of the server, by method."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """The `_meta` of each request, in a version without a handshake."""
    http: bool = False
    """Play it over Streamable HTTP instead of stdin and stdout."""

    @property
    def requests(self) -> tuple[DemoStep, ...]:
        """The steps that want an answer: what a person has to do."""
        return tuple(step for step in self.steps if step.example is not None)

    def with_handshake(self) -> LessonSteps:
        """Return the same lesson; a person answers its handshake, too."""
        return replace(self, steps=tuple(replace(one, given=False) for one in self.steps))

    @property
    def tries_clients(self) -> bool:
        """Return True if a client under test can pass it: it is about faults of a server."""
        return any(one.survives for step in self.steps for one in step.passes)

    def played_by(self, client: str) -> LessonSteps:
        """Return the same lesson, played by a host with another name."""
        if self.meta:
            info = {**self.meta[META_CLIENT], "name": client}
            return replace(self, meta={**self.meta, META_CLIENT: info})
        first, *rest = self.steps
        params = dict(first.params or {})
        params["clientInfo"] = {**params["clientInfo"], "name": client}
        return replace(self, steps=(replace(first, params=params), *rest))

    def host(self, strictness: Strictness = Strictness.STRICT) -> GoodHost:
        return GoodHost(strictness, self.answers)

    def params(self, step: DemoStep, host: GoodHost, *, passed: bool) -> Mapping[str, Any] | None:
        """Return the message of a step, or None if the lesson cannot continue.

        `passed` is whether the step before passed.
        """
        if step.when_passed and not passed:
            return None
        said = step.params
        if said is None:
            said = call_of(step.method, host.listed, step.place, step.words)
        meta = {**self.meta, **step.meta}
        return said if said is None or not meta else {**said, "_meta": meta}

    def beginning_at(self, step: int) -> LessonSteps:
        """Return the same lesson; it answers itself what comes before this request, from 1."""
        before = self.requests[: step - 1]
        given = [any(one is each for each in before) for one in self.steps]
        steps = zip(self.steps, given, strict=True)
        return replace(self, steps=tuple(replace(one, given=each) for one, each in steps))

    def replies_before(self, step: int) -> dict[int, Reply]:
        """Return the examples of the requests before this one, from 1, that have an answer."""
        before = enumerate(self.requests[: step - 1], 1)
        return {at: one.reply for at, one in before if one.is_answered}

    def missing(
        self, at: int, heard: Sequence[Reaction], host: GoodHost, *, given: bool = False
    ) -> Missing | None:
        """Return what request `at`, from 0, needs to pass; None if it passed.

        What was `given` only has to lead on.
        """
        passes = () if given else self.requests[at].passes
        found = (missing(one, heard) for one in passes)
        why = next((one for one in found if one is not None), None)
        leads_on = any(map(tells_of_tools, heard)) or self.leads_on(at, host, passed=True)
        return why or (None if leads_on else Missing("why-leads"))

    def leads_on(self, at: int, host: GoodHost, *, passed: bool) -> bool:
        """Return True if the host can say what comes after request `at`, from 0."""
        later = self.requests[at + 1 : at + 2]
        return all(self.params(one, host, passed=passed) is not None for one in later)


class LessonRun:
    """A lesson that is being played: what its host sends next, and which of its requests passed.

    Knows no clock and no connection: its player sends the lines, and adds the host's reactions to
    each request to `heard`.
    """

    def __init__(self, lesson_steps: LessonSteps, host: GoodHost) -> None:
        self.lesson_steps = lesson_steps
        self.host = host
        self.heard: list[Reaction] = []
        self.passed: list[bool] = []
        """Whether the answer passed, for each request that is over."""
        self.missing: Missing | None = None
        """What the answer to the last of them needed to pass."""
        self.left = list(lesson_steps.steps)
        """The steps that were not begun yet."""

    def message(self, step: DemoStep) -> tuple[str, Message | None]:
        """Return the line of a step, and its request if it is one; "" if it cannot be sent now."""
        self.heard = []
        params = self.lesson_steps.params(step, self.host, passed=all(self.passed[-1:]))
        if params is None:
            return "", None
        if step.method.startswith("notifications/"):
            return step.line, None
        request = self.host.ask(step.method, params)
        return request.raw, request

    def go_back(self) -> bool:
        """Go back to the last request: what follows needs an answer to it that passes.

        Returns False where that is `initialize`, which is not sent twice.
        """
        last = self.lesson_steps.requests[len(self.passed) - 1]
        if not self.passed or last.method == "initialize":
            return False
        self.passed.pop()
        self.left = list(self.lesson_steps.steps[self.lesson_steps.steps.index(last) :])
        return True

    def judge(self, *, given: bool = False) -> bool:
        """Return whether the request that is over passed; one that was `given` always does."""
        at = len(self.passed)
        self.missing = self.lesson_steps.missing(at, self.heard, self.host, given=given)
        self.passed.append(given or self.missing is None)
        return self.passed[-1]


def tells_of_tools(reaction: Reaction) -> bool:
    """Return True for what makes the host list the tools again before it goes on."""
    changed = "notifications/tools/list_changed"
    return isinstance(reaction, Noticed) and reaction.message.method == changed


def list_again(language: str) -> DemoStep:
    """Return the request of the host after the tools have changed."""
    return _without_answer("tools-again", "tools/list", language)


def initialized(language: str) -> DemoStep:
    """Return the host's notification after the answer to `initialize`."""
    return _without_answer("initialized", "notifications/initialized", language)


def _without_answer(code: str, method: str, language: str) -> DemoStep:
    """Make a step that no lesson writes down; its code names its sentences."""
    title, about = (say("demo", f"{code}-{part}", language) for part in ("title", "is"))
    return DemoStep(method, {}, title=title, about=about)


def call_of(
    method: str, listed: Mapping[str, Sequence[JsonObject]], place: str, words: Sequence[str] = ()
) -> JsonObject | None:
    """Let the host pick an item, every argument filled in. None when it picks none."""
    item, name = picked(listed.get(PICKS[method], ()), words), methods.of(method).named_by
    if item is None:
        return None
    said: JsonObject = {name: item[name]}
    if method == "tools/call":
        said["arguments"] = _arguments(item, place)
    elif names := [one["name"] for one in objects_at(item, "arguments") if "name" in one]:
        said["arguments"] = dict.fromkeys(names, place)
    return said


def _arguments(tool: JsonObject, place: str) -> JsonObject:
    """Fill in every argument of the schema; a string becomes the text of the step."""
    schema = object_at(tool, "inputSchema")
    all_needed = {**schema, "required": list(object_at(schema, "properties"))}
    filled = empty_arguments({"inputSchema": all_needed})
    return {name: place if value == "" else value for name, value in filled.items()}

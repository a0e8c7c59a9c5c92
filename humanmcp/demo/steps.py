"""The steps of a lesson, which a practice host sends."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from humanmcp.demo.good_host import (
    GIVES_UP_AFTER,
    Answered,
    Failed,
    GoodHost,
    Ignored,
    Strictness,
    WasAsked,
)
from humanmcp.locales import say
from humanmcp.protocol.json.tree import at, follow, object_at, objects_at
from humanmcp.protocol.tables.versions import META_CLIENT
from humanmcp.protocol.validation.starting_draft import empty_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from humanmcp.demo.good_host import Reaction
    from humanmcp.protocol.json.jsonrpc import JsonObject, Message

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
    """What an answer needs to pass. With no field set, the check must find no error."""

    answer: str = ""
    """One of `ANSWERS`; "" for a result or an error."""
    at: str = ""
    """A pointer into the answer (RFC 6901) to a member that must exist."""
    value: Any = None
    """The value that the member must have; None: any."""
    picked: tuple[str, ...] | None = None
    """The scripted model must find a tool with one of these words."""
    asked: str = ""
    """The method that the server must have asked before."""
    survives: str = ""
    """One of `SURVIVED`: what must have happened to the host."""


def passes(passing: Passing, heard: Sequence[Reaction]) -> bool:
    """Return True if the host's reactions since its request pass the step."""
    last = next((one for one in heard if isinstance(one, (Answered, Failed))), None)
    if passing.survives == WRONG:
        return any(_is_wrong(one) for one in heard)
    if passing.answer == NOTHING:
        return last is None
    asked = {one.message.method for one in heard if isinstance(one, WasAsked)}
    ignored = {one.code for one in heard if isinstance(one, Ignored)}
    return (
        isinstance(last, Answered)
        and (not passing.answer or _form(last.message.body) == passing.answer)
        and (not passing.at or _is_there(last.message.body, passing))
        and (
            passing.picked is None
            or picked(objects_at(last.message.body, RESULT, "tools"), passing.picked) is not None
        )
        and (not passing.asked or passing.asked in asked)
        and (passing.survives != LATE or "ignored-late" in ignored)
    )


def picked(tools: Sequence[JsonObject], words: Sequence[str]) -> JsonObject | None:
    """Return the tool that the scripted model picks: the first with one of the words.

    A model knows only name, title and description of a tool.
    """
    for tool in tools:
        spoken = " ".join(str(tool.get(one, "")) for one in ("name", "title", "description"))
        if not words or any(word.casefold() in spoken.casefold() for word in words):
            return tool
    return None


def _is_wrong(reaction: Reaction) -> bool:
    return isinstance(reaction, Failed) or (isinstance(reaction, Ignored) and reaction.is_in_vain)


def _form(body: JsonObject) -> str:
    if ERROR in body:
        return ERROR
    return TOOL_ERROR if follow(body, RESULT, TOOL_ERROR) is True else RESULT


def _is_there(body: JsonObject, passing: Passing) -> bool:
    found = at(body, passing.at, _MISSING)
    return found is not _MISSING and (passing.value is None or found == passing.value)


HOST: Final = "humanmcp demo host"
"""The name of the demo's host."""
INITIALIZE: Final = {
    "protocolVersion": "2024-11-05",
    "capabilities": {"roots": {"listChanged": True}},
    "clientInfo": {"name": HOST, "version": "1.0.0"},
}


@dataclass(frozen=True, slots=True)
class DemoStep:
    """One message of the host. `title`, `about` and `task` are in the language of the reader.

    `params` is None for a tool call: the tool is only known during the session. A step without an
    example is a notification, which has no answer.
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
    """The scripted model picks the first tool with one of these words; if empty, any tool."""
    passes: Passing = field(default_factory=Passing)
    timeout: float = 0.0
    """Seconds until the host gives up; 0: it waits as long as its person needs."""
    when_passed: bool = False
    """The host sends it only if the step before passed."""

    @property
    def line(self) -> str:
        return json.dumps({"method": self.method, "jsonrpc": "2.0"}, separators=(",", ":"))

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

    @property
    def tries_clients(self) -> bool:
        """Return True if a client under test can pass it: it is about faults of a server."""
        return any(step.passes.survives for step in self.steps)

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

    def params(
        self, step: DemoStep, tools: Sequence[JsonObject], *, passed: bool
    ) -> Mapping[str, Any] | None:
        """Return the message of a step, or None if the lesson cannot continue.

        `passed` is whether the step before passed.
        """
        if step.when_passed and not passed:
            return None
        said = call_of(tools, step.place, step.words) if step.params is None else step.params
        return said if said is None or not self.meta else {**said, "_meta": self.meta}

    def passes(self, at: int, heard: Sequence[Reaction], tools: Sequence[JsonObject]) -> bool:
        """Return True if request `at`, from 0, passed, so that the host can continue."""
        return passes(self.requests[at].passes, heard) and self.leads_on(at, tools, passed=True)

    def leads_on(self, at: int, tools: Sequence[JsonObject], *, passed: bool) -> bool:
        """Return True if the host can say what comes after request `at`, from 0."""
        later = self.requests[at + 1 : at + 2]
        return all(self.params(one, tools, passed=passed) is not None for one in later)


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
        self.left = list(lesson_steps.steps)
        """The steps that were not begun yet."""

    def message(self, step: DemoStep) -> tuple[str, Message | None]:
        """Return the line of a step, and its request if it is one; "" if it cannot be sent now."""
        self.heard = []
        params = self.lesson_steps.params(step, self.host.tools, passed=all(self.passed[-1:]))
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
        passes = self.lesson_steps.passes(len(self.passed), self.heard, self.host.tools)
        self.passed.append(given or passes)
        return self.passed[-1]


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
    tools: Sequence[JsonObject], place: str, words: Sequence[str] = ()
) -> JsonObject | None:
    """Let a model choose a tool, every argument filled in. None when it chooses none."""
    tool = picked(tools, words)
    if tool is None:
        return None
    return {"name": tool["name"], "arguments": _arguments(tool, place)}


def _arguments(tool: JsonObject, place: str) -> JsonObject:
    """Fill in every argument of the schema; a string becomes the place of the step."""
    schema = object_at(tool, "inputSchema")
    all_needed = {**schema, "required": list(object_at(schema, "properties"))}
    filled = empty_arguments({"inputSchema": all_needed})
    return {name: place if value == "" else value for name, value in filled.items()}

"""How a lesson is written: the decoded TOML of its file becomes a `Course` in one language.

Knows the keys and what each may hold. Whatever a learner reads is written in both languages. What
is wrong is told as a code with its place, as of an answer book; `locales/` has the sentences.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from humanmcp.demo.passing import ANSWERS, SURVIVED, Passing
from humanmcp.demo.steps import INITIALIZE, Course, DemoStep, initialized
from humanmcp.protocol.rules.book_values import (
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
from humanmcp.protocol.spec import methods, versions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from humanmcp.protocol.json.jsonrpc import JsonObject

LANGUAGES: Final = ("en", "ja")
LESSON_KEYS: Final = frozenset(
    {"title", "teaches", "revision", "transport", "capabilities", "host_answers", "steps"}
)
TRANSPORTS: Final = ("stdio", "http")
STEP_KEYS: Final = frozenset(
    {"title", "task", "hints", "method", "params", "model", "example", "passes"}
    | {"patience", "when_passed"}
)
MODEL_KEYS: Final = frozenset({"words", "text"})
PASS_KEYS: Final = frozenset({"answer", "at", "value", "picked", "asked", "survives"})


def _host_methods(spoken: Sequence[str]) -> tuple[str, ...]:
    every = (*methods.REQUESTS.values(), *methods.NOTIFICATIONS.values())
    return tuple(sorted(one.name for one in every if set(one.to_server) & set(spoken)))


HOST_METHODS: Final = _host_methods(versions.HANDSHAKE)
"""What a practice host can say."""
STATELESS_METHODS: Final = _host_methods(versions.STATELESS)
"""What it can say where there is no handshake."""
_BOTH: Final = frozenset(LANGUAGES)


def parse_lesson(written: Mapping[str, Any], language: str) -> Course:
    """Read a decoded lesson for a reader of this language.

    Raises:
        BookError: something in it has no meaning; the error names the place.
    """
    only(written, LESSON_KEYS, "the lesson")
    steps = tables(written.get("steps", []), "steps")
    stateless = written.get("revision") in versions.STATELESS
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
    return Course(
        _words(written.get("title"), "title", language),
        tuple(found),
        _words(written.get("teaches"), "teaches", language),
        {method: _json(one, f"host_answers.{method}", language) for method, one in answers.items()},
        _meta(written) if stateless else {},
        one_of(written.get("transport", "stdio"), TRANSPORTS, "transport") == "http",
    )


def _meta(written: Mapping[str, Any]) -> JsonObject:
    """Return what each request says of itself where there is no handshake."""
    return {
        versions.META_REVISION: written["revision"],
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
    if "revision" in written:
        params["protocolVersion"] = one_of(
            written["revision"], tuple(versions.VERSIONS), "revision"
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
        raise BookError(f"{place}.method", "other revision", known=versions.LATEST_STATELESS)
    one_of(method, known, f"{place}.method")
    if method.startswith("notifications/"):
        only(written, frozenset({"title", "method"}), place)
        title = _words(written.get("title"), f"{place}.title", language)
        return DemoStep(method, method, {}, title=title)
    if ("model" in written) == ("params" in written) and method != "initialize":
        raise BookError(place, "answers", known="model, params")
    words, said = _model(written, f"{place}.model", language)
    if words is not None and method != "tools/call":
        raise BookError(f"{place}.model", "calls")
    return DemoStep(
        method,
        method,
        None
        if words is not None
        else _json(written.get("params", {}), f"{place}.params", language),
        _example(written.get("example"), f"{place}.example", language),
        said,
        _words(written.get("title"), f"{place}.title", language),
        task=_words(written.get("task"), f"{place}.task", language),
        hints=_hints(written.get("hints", []), f"{place}.hints", language),
        words=words or (),
        passes=_passing(written.get("passes", {}), f"{place}.passes", language),
        patience=seconds(written.get("patience", 0), f"{place}.patience"),
        when_passed=flag(written.get("when_passed", False), f"{place}.when_passed"),
    )


def _looks_ahead(step: DemoStep, later: Sequence[DemoStep]) -> DemoStep:
    """Let a step whose tool must be picked know by which words the model will look for it."""
    if step.passes.picked is None:
        return step
    words = next((one.words for one in later if one.params is None), ())
    return replace(step, passes=replace(step.passes, picked=words))


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


def _passing(written: Any, place: str, language: str) -> Passing:  # noqa: ANN401 - TOML's types
    only(table(written, place), PASS_KEYS, place)
    said = {name: text(written[name], f"{place}.{name}") for name in ("asked",) if name in written}
    if "at" in written:
        said["at"] = text(written["at"], f"{place}.at")
        if not said["at"].startswith("/"):
            raise BookError(f"{place}.at", "pointer")
    for name, known in (("answer", ANSWERS), ("survives", SURVIVED)):
        if name in written:
            said[name] = one_of(written[name], known, f"{place}.{name}")
    if "value" in written and "at" not in written:
        raise BookError(place, "alone value")
    value = _spoken(written.get("value"), language)
    json_text(value, f"{place}.value")
    picks = flag(written.get("picked", False), f"{place}.picked")
    return Passing(**said, value=value, picked=() if picks else None)


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
    """Read what a learner reads: in both languages, also where one is wanted now."""
    if not isinstance(value, dict) or set(value) != _BOTH:
        raise BookError(place, "languages")
    return {one: text(value[one], f"{place}.{one}") for one in LANGUAGES}[language]


def _json(value: Any, place: str, language: str) -> JsonObject:  # noqa: ANN401 - TOML's types
    """Read what goes on the wire; a text in it may be written in both languages."""
    said = dict(table(value, place))
    json_text(said, place)
    spoken: JsonObject = _spoken(said, language)
    return spoken


def _spoken(value: Any, language: str) -> Any:  # noqa: ANN401 - any JSON value
    match value:
        case dict() if set(value) == _BOTH:
            return value[language]
        case dict():
            return {name: _spoken(one, language) for name, one in value.items()}
        case list():
            return [_spoken(one, language) for one in value]
        case _:
            return value

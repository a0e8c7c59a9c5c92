"""What a host did with the page of the probe, one word for each sentence of MCP Apps.

The page sends all that it has received so far with each call of `report`, and its server has the
rest in its transcript. Pure: it reads only the transcript. Nothing is guessed: what neither of the
two can see is *not seen*, and *never* is said only once the page has waited for it.
"""

from __future__ import annotations

import enum
import json
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.answering.summary import calls
from humanmcp.protocol.json.tree import array_at, follow, object_at, objects_at, text_at
from humanmcp.protocol.json.undecoded import is_large
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.tables.methods import APPS
from humanmcp.protocol.tables.versions import META_CAPABILITIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from humanmcp.protocol.conversation.transcript import Frame

PAGE: Final = "ui://humanmcp/probe"
LINK: Final = (
    "https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx"
)
WATCHED: Final = 2000
"""The most lines of a session that are searched."""
_HEIGHT: Final = 333
"""Pixels that the page asks for."""
_NEAR: Final = 4
"""Pixels by which a border may change that."""
_LARGEST: Final = 1e9
"""Milliseconds or pixels."""
_SHOWN: Final = 300
_MOST: Final = 100
"""The most messages of a report that are judged; the page of the probe stops earlier."""
_INPUT: Final = "ui/notifications/tool-input"
_RESULT: Final = "ui/notifications/tool-result"


class Word(enum.StrEnum):
    """What became of what a host owes."""

    CAME = "came"
    TWICE = "came twice"
    EARLY = "too early"
    NEVER = "never"
    SHAPE = "wrong shape"
    KEPT = "kept"
    BROKEN = "not kept"
    STRICTER = "stricter"
    """The host allows less than the page declares, which it may."""
    NOT_SEEN = "not seen"


BAD: Final = frozenset({Word.TWICE, Word.EARLY, Word.NEVER, Word.SHAPE, Word.BROKEN})


class Stage(enum.StrEnum):
    """How far the page came."""

    NOT_CALLED = "not called"
    NOT_READ = "not read"
    SILENT = "silent"
    """The host has read the page, and no message of it came."""
    REPORTED = "reported"


class Verdict(NamedTuple):
    """A word for one sentence of `musts.toml`; `proof` is the message that shows it, if any."""

    name: str
    word: Word
    proof: str = ""


@dataclass
class Seen:
    """What the server saw, and what the page of its last `report` saw."""

    is_declared: bool | None = None
    """None before the client has said anything of itself."""
    calls: list[Mapping[str, Any]] = field(default_factory=list)
    """The arguments of each call of `probe`."""
    results: list[Mapping[str, Any]] = field(default_factory=list)
    is_read: bool = False
    is_called_by_model: bool = False
    """`report` was called with what the page does not send."""
    not_rejected: set[str] = field(default_factory=set)
    """The pages whose call of a tool for the model alone has arrived."""
    pages: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """The last report of each page that was shown."""

    @property
    def stage(self) -> Stage:
        if self.pages:
            return Stage.REPORTED
        if not self.calls:
            return Stage.NOT_CALLED
        return Stage.SILENT if self.is_read else Stage.NOT_READ


def seen_in(frames: Iterable[Frame]) -> Seen:
    """Collect what was seen from the frames of a session."""
    seen = Seen()
    for one in calls(frame for frame in frames if not is_large(frame.text)):
        meta = one.request.meta
        if one.method == "initialize" or META_CAPABILITIES in meta:
            declared = meta.get(META_CAPABILITIES, one.arguments.get("capabilities"))
            seen.is_declared = follow(declared, "extensions", APPS.id) is not None
        seen.is_read |= (one.method, one.name) == ("resources/read", PAGE)
        page = text_at(one.arguments, "page")
        match one.method, one.name:
            case "tools/call", "probe":
                seen.calls.append(one.arguments)
                seen.results += [one.result] if isinstance(one.result, dict) else []
            case "tools/call", "model_only":
                seen.not_rejected.add(page)
            case "tools/call", "report" if page and isinstance(one.arguments.get("frame"), dict):
                seen.pages[page] = one.arguments
            case "tools/call", "report":
                seen.is_called_by_model = True
    return seen


class _Page:
    """What the page of the last report received: `messages` with the milliseconds of each."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.name = next(reversed(seen.pages), "")
        report = seen.pages.get(self.name, {})
        self.frame = object_at(report, "frame")
        self.messages = objects_at(report, "messages")[:_MOST]
        self.is_over = _number(self.frame.get("resized")) is not None
        """It has waited for what is to come."""

    def of(self, method: str) -> list[dict[str, Any]]:
        """Return the notifications or requests of the host with this method."""
        return [one for one in self.messages if follow(one, "message", "method") == method]

    def response(self, method: str) -> dict[str, Any] | None:
        """Return the response to a request of the page."""
        found = (one for one in self.messages if one.get("answered") == method)
        return next((object_at(one, "message") for one in found), None)

    def is_early(self, message: Mapping[str, Any]) -> bool:
        begun, at = _number(self.frame.get("initialized")), _number(message.get("at"))
        return begun is not None and at is not None and at < begun

    @property
    def missing(self) -> Word:
        return Word.NEVER if self.is_over else Word.NOT_SEEN


def _number(value: object) -> float | None:
    """Return a number as a float; None for what is none, or is larger than any that is of use."""
    is_number = type(value) in (int, float)  # not `true`
    return float(value) if is_number and abs(value) < _LARGEST else None  # type: ignore[arg-type]  # as was just looked at


def verdicts(seen: Seen) -> list[Verdict]:
    """Judge what was seen, in the order of `musts.toml`."""
    page = _Page(seen)
    judged = {**_of_server(seen), **(_of_page(page) if seen.pages else {})}
    return [Verdict(name, *judged.get(name, (Word.NOT_SEEN, ""))) for name in musts()]


_Judged = tuple[Word, str]


def _of_server(seen: Seen) -> dict[str, _Judged]:
    declared = {None: Word.NOT_SEEN, True: Word.KEPT, False: Word.NEVER}[seen.is_declared]
    read = Word.CAME if seen.is_read else Word.NEVER if seen.results else Word.NOT_SEEN
    app_only = Word.BROKEN if seen.is_called_by_model else Word.NOT_SEEN
    return {"declared": (declared, ""), "read": (read, ""), "app_only": (app_only, "")}


def _of_page(page: _Page) -> dict[str, _Judged]:
    early = [one for one in page.messages if "answered" not in one and page.is_early(one)]
    teardown = page.of("ui/resource-teardown")
    inputs, results = page.of(_INPUT), page.of(_RESULT)
    result = object_at(results[0], "message", "params") if results else {}
    sent = page.seen.results[-1] if page.seen.results else {}
    found = [one for one in page.messages if one in inputs or one in results]
    is_first = bool(found) and found[0] in inputs
    top, order = text_at(page.frame, "top"), Word.EARLY if early else Word.KEPT
    structured = result.get("structuredContent")
    is_whole = structured == sent.get("structuredContent")
    said = Word.NEVER if structured is None else Word.CAME if is_whole else Word.SHAPE
    return {
        "initialize": _response(page, "ui/initialize", _is_handshake),
        "order": (order if "initialized" in page.frame else Word.NOT_SEEN, _proof(early)),
        "input": _sent(page, inputs, lambda one: one.get("arguments") in page.seen.calls),
        "result": (
            _sent(page, results, lambda one: one.get("content") == sent.get("content"))
            if sent or results
            else (Word.NOT_SEEN, "")  # the call is not over
        ),
        "input_first": (
            (Word.KEPT if is_first else Word.EARLY) if results else Word.NOT_SEEN,
            "" if is_first else _proof(results),
        ),
        "structured": (said if results else Word.NOT_SEEN, ""),
        "size": _size(page),
        "mode": _response(page, "ui/request-display-mode", lambda one: text_at(one, "mode") != ""),
        "undeclared": _blocked(page, "https://undeclared.invalid", Word.KEPT, Word.BROKEN),
        "domain": _blocked(page, "https://declared.invalid", Word.STRICTER, Word.KEPT),
        "model_only": _rejected(page),
        "apart": ({"": Word.NOT_SEEN, "reached": Word.BROKEN}.get(top, Word.KEPT), ""),
        "teardown": (Word.CAME if teardown else Word.NOT_SEEN, _proof(teardown)),
    }


def _sent(
    page: _Page, messages: list[dict[str, Any]], fits: Callable[[dict[str, Any]], bool]
) -> _Judged:
    if not messages:
        return page.missing, ""
    if not all(fits(object_at(one, "message", "params")) for one in messages):
        return Word.SHAPE, _proof(messages)
    if any(map(page.is_early, messages)):
        return Word.EARLY, _proof(messages)
    return Word.CAME if len(messages) == 1 else Word.TWICE, _proof(messages)


def _response(page: _Page, method: str, fits: Callable[[dict[str, Any]], bool]) -> _Judged:
    response = page.response(method)
    if response is None:
        return page.missing, ""
    is_fitting = fits(object_at(response, "result"))
    return Word.CAME if is_fitting else Word.SHAPE, _proof([{"message": response}])


def _is_handshake(result: dict[str, Any]) -> bool:
    named = text_at(result, "protocolVersion") and text_at(result, "hostInfo", "name")
    return bool(named) and isinstance(result.get("hostCapabilities"), dict)


def _size(page: _Page) -> _Judged:
    response = page.response("ui/initialize") or {}
    container = object_at(response, "result", "hostContext", "containerDimensions")
    before, after = (_number(page.frame.get(one)) for one in ("height", "resized"))
    most = _number(container.get("maxHeight")) or _HEIGHT
    wanted = min(_HEIGHT, most)
    if before is None or after is None or "height" in container or abs(before - wanted) <= _NEAR:
        return Word.NOT_SEEN, ""
    return Word.KEPT if abs(after - wanted) <= _NEAR else Word.BROKEN, f"{before:g} → {after:g} px"


def _blocked(page: _Page, domain: str, blocked: Word, otherwise: Word) -> _Judged:
    def lists(member: str) -> bool:
        return any(str(one).startswith(domain) for one in array_at(page.frame, member))

    return blocked if lists("blocked") else otherwise if lists("tried") else Word.NOT_SEEN, ""


def _rejected(page: _Page) -> _Judged:
    if page.name in page.seen.not_rejected:
        return Word.BROKEN, ""
    rejection = [one for one in page.messages if one.get("answered") == "tools/call"]
    return Word.KEPT if rejection else Word.NOT_SEEN, _proof(rejection)


def _proof(messages: list[dict[str, Any]]) -> str:
    """Return the first message on one line, as JSON."""
    first = json.dumps(messages[0].get("message"), ensure_ascii=False) if messages else ""
    return one_line(first, _SHOWN)


@cache
def musts() -> Mapping[str, Mapping[str, str]]:
    """Return `musts.toml`."""
    return tomllib.loads(Path(__file__).with_name("musts.toml").read_text("utf-8"))

"""`humanmcp diff`: compare two sessions: requests, their answers, and every other line.

Requests are matched by what they ask for, in order. Ids, times and what only one run can know
(`_meta`, `requestState`) are ignored.
"""

from __future__ import annotations

import enum
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.answering.summary import LineKind
from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import Painted, to_stdout
from humanmcp.export.command import redacted
from humanmcp.export.recording import ANSWERING, LAST, build_conversation, find_recording
from humanmcp.locales import say
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.jsonrpc import object_in
from humanmcp.protocol.json.removed import fits, names_in, unnamed
from humanmcp.protocol.json.tree import object_at

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.export.recording import Call, RecordedConversation, RecordedEntry, Recording

IGNORED: Final = frozenset({"_meta", "requestState"})
_OF_ONE_RUN: Final = frozenset({"progressToken", "requestId"})
"""Members of a notification that name a request."""


class MessageChange(enum.Enum):
    """How a message differs between the first session and the second."""

    ONLY_BEFORE = "only before"
    ONLY_NOW = "only now"
    ASKED = "asked differently"
    ANSWERED = "answered differently"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. `direction` is who asked; `lines` are a unified diff."""

    change: MessageChange
    direction: Direction
    what: str
    lines: tuple[str, ...] = ()


def differences(before: RecordedConversation, now: RecordedConversation) -> Iterator[Difference]:
    """Yield the differences, in the order of the conversation."""
    for direction in (Direction.IN, Direction.OUT):
        yield from _compare(_requests(before, direction), _requests(now, direction))
        yield from _compare_lines(
            _other_lines(before, direction), _other_lines(now, direction), direction
        )


def _requests(conversation: RecordedConversation, direction: Direction) -> list[Call]:
    return [call for call in conversation.calls if call.asked.direction is direction]


class _Line(NamedTuple):
    """A line that is no request and answers none, with its parameters."""

    what: str
    params: tuple[str, ...] = ()


def _other_lines(conversation: RecordedConversation, direction: Direction) -> list[_Line]:
    """List the notifications, and the lines that are no message or answer nothing."""
    answers = {call.answer.frame.seq for call in conversation.calls if call.answer is not None}
    return [
        _other_line(entry)
        for entry in conversation.seen
        if entry.frame.direction is direction
        and entry.kind not in (LineKind.REQUEST, LineKind.BLANK)
        and not (entry.kind in ANSWERING and entry.frame.seq in answers)
    ]


def _other_line(entry: RecordedEntry) -> _Line:
    if entry.kind is LineKind.NOTIFICATION:
        params = object_at(_body(entry), "params")
        kept = {name: part for name, part in params.items() if name not in _OF_ONE_RUN}
        return _Line(entry.method, tuple(map(unnamed, _laid_out(kept))))
    kind = say("transcript", f"kind {entry.kind.value}")
    if entry.kind is LineKind.BATCH:
        return _Line(kind)  # its messages are compared one by one
    text = entry.frame.raw.decode("utf-8", "backslashreplace")
    return _Line(f"{kind}: {entry.gist}", (text,))


def _compare(before: list[Call], now: list[Call]) -> Iterator[Difference]:
    """Match requests by method and name, then compare each pair."""
    left, right = ([unnamed(_what(call)) for call in calls] for calls in (before, now))
    matcher = SequenceMatcher(None, left, right, False)  # noqa: FBT003 - the argument is `autojunk`
    for tag, at, end, now_at, now_end in matcher.get_opcodes():
        if tag == "equal":
            for old, new in zip(before[at:end], now[now_at:now_end], strict=True):
                yield from _inside(old, new)
            continue
        for old in before[at:end]:
            yield Difference(MessageChange.ONLY_BEFORE, old.asked.direction, _what(old))
        for new in now[now_at:now_end]:
            yield Difference(MessageChange.ONLY_NOW, new.asked.direction, _what(new))


def _inside(old: Call, new: Call) -> Iterator[Difference]:
    asked = _changed(*(_body(call.request).get("params", {}) for call in (old, new)))
    if asked:
        yield Difference(MessageChange.ASKED, new.asked.direction, _what(new), asked)
    answered = _changed(_answer(old), _answer(new))
    if answered:
        yield Difference(MessageChange.ANSWERED, new.asked.direction, _what(new), answered)


def _compare_lines(
    before: list[_Line], now: list[_Line], direction: Direction
) -> Iterator[Difference]:
    """Compare how often each line was sent. When it was sent differs by chance."""
    gone, came = _beyond(before, now), _beyond(now, before)
    for old in gone:
        new = next((line for line in came if line.what == old.what), None)
        if new is None:
            yield Difference(MessageChange.ONLY_BEFORE, direction, old.what)
        else:
            came.remove(new)
            lines = _lines(old.params, new.params)
            yield Difference(MessageChange.ASKED, direction, old.what, lines)
    for new in came:
        yield Difference(MessageChange.ONLY_NOW, direction, new.what)


def _beyond(lines: list[_Line], others: list[_Line]) -> list[_Line]:
    """Return the lines that the others do not have, or not as often."""
    left = Counter(others)
    found = []
    for line in lines:
        left[line] -= 1
        if left[line] < 0:
            found.append(line)
    return found


def _what(call: Call) -> str:
    return f"{call.asked.method} {call.asked.name}".strip()


def _answer(call: Call) -> Mapping[str, Any]:
    """Return an answer with all its members; its id only where it is not that of the request."""
    if call.answer is None or call.answer.message is None:
        return {}
    own, body = call.answer.message.id, _body(call.answer)
    has_its_id = own is not None and own.key == call.asked.id.key
    return {name: part for name, part in body.items() if name != "id" or not has_its_id}


def _body(entry: RecordedEntry) -> Mapping[str, Any]:
    """Return a whole message: of a large one, an entry has only the beginning."""
    return object_in(entry.frame.raw) or (entry.message.body if entry.message else {})


def _changed(old: Any, new: Any) -> tuple[str, ...]:  # noqa: ANN401 - any JSON values
    return _lines(_laid_out(old), _laid_out(_settled(old, new)))


def _settled(old: Any, new: Any) -> Any:  # noqa: ANN401 - any JSON values
    """Return the new value with the old one where something was removed, and the rest fits."""
    if any(isinstance(one, str) and names_in(one) for one in (old, new)):
        return old if fits(old, new) or fits(new, old) else new
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {name: _settled(old[name], one) if name in old else one for name, one in new.items()}
    if isinstance(old, list) and isinstance(new, list):
        return [*map(_settled, old, new), *new[len(old) :]]
    return new


def _lines(left: Iterable[str], right: Iterable[str]) -> tuple[str, ...]:
    return tuple(unified_diff([*left], [*right], "before", "now", lineterm="", n=2))[2:]


def _laid_out(value: Any) -> list[str]:  # noqa: ANN401 - any JSON value
    return json.dumps(_essence(value), ensure_ascii=False, indent=2, sort_keys=True).split("\n")


def _essence(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return {key: _essence(part) for key, part in value.items() if key not in IGNORED}
    if isinstance(value, list):
        return [_essence(part) for part in value]
    return value


SAME: Final = 0
DIFFERENT: Final = 1
"""The exit statuses, as those of diff(1). A usage error is 2 there, too."""

_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}
_SIGNS: Final = {MessageChange.ONLY_BEFORE: "-", MessageChange.ONLY_NOW: "+"}


def add_arguments(parser: Parser) -> None:
    flag = parser.flags("diff")
    add_flags(parser, "home", "lang")
    flag("before", metavar="BEFORE")
    flag("now", nargs="?", default=LAST, metavar="NOW")
    parser.flags("export")("--no-redact", dest="redact", action="store_false")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Compare two sessions. Returns 0 when nothing is different, 1 when something is."""
    home = home_folder(settings.home)
    before, now = (find_recording(name, home) for name in (arguments.before, arguments.now))
    whole = _between(before, now)
    found = _between(redacted(before)[0], redacted(now)[0]) if arguments.redact else whole
    for difference in found:
        _show(difference)
    has_hidden = _size(whole) > _size(found)
    if has_hidden or not found:
        to_stdout(say("diff", "in secrets" if has_hidden else "same"))
    return DIFFERENT if found else SAME


def _between(before: Recording, now: Recording) -> tuple[Difference, ...]:
    return tuple(differences(build_conversation(before), build_conversation(now)))


def _size(found: Iterable[Difference]) -> int:
    """Count the changed lines."""
    return sum(1 + sum(line[0] in "+-" for line in one.lines) for one in found)


def _show(difference: Difference) -> None:
    who = say("transcript", "client" if difference.direction is Direction.IN else "server")
    sign = _SIGNS.get(difference.change, "!")
    what = say("diff", difference.change.value)
    to_stdout(Painted(f"{sign} {difference.what}", "bold"), f" ({who}): {what}")
    for line in difference.lines:
        colour = _COLOURS.get(line[:1])
        to_stdout("    ", Painted(line, colour) if colour else line)

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
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.answering.summary import LineKind
from humanmcp.common.person_files import write_whole
from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import Painted, to_stderr, to_stdout
from humanmcp.export.command import redacted
from humanmcp.export.recording import ANSWERING, LAST, build_conversation, find_recording
from humanmcp.extensions.testing.drift import Ignored, Tier, tier_of
from humanmcp.extensions.testing.rerun import rerun
from humanmcp.http.server_address import is_address
from humanmcp.locales import say
from humanmcp.locales.stop import StopError, stopped, trouble
from humanmcp.protocol.conversation.transcript import Direction, to_json
from humanmcp.protocol.json.jsonrpc import object_in
from humanmcp.protocol.json.removed import fits, names_in, unnamed
from humanmcp.protocol.json.tree import object_at

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.export.recording import Call, RecordedConversation, RecordedEntry, Recording

NOTHING: Final = Ignored()
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
    tier: Tier = Tier.DANGEROUS


def differences(
    before: RecordedConversation, now: RecordedConversation, *, ignored: Ignored = NOTHING
) -> Iterator[Difference]:
    """Yield the differences, in the order of the conversation."""
    for direction in (Direction.IN, Direction.OUT):
        yield from _compare(_requests(before, direction), _requests(now, direction), ignored)
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


def _compare(before: list[Call], now: list[Call], ignored: Ignored) -> Iterator[Difference]:
    """Match requests by method and name, then compare each pair."""
    left, right = ([unnamed(_what(call)) for call in calls] for calls in (before, now))
    matcher = SequenceMatcher(None, left, right, False)  # noqa: FBT003 - the argument is `autojunk`
    for tag, at, end, now_at, now_end in matcher.get_opcodes():
        if tag == "equal":
            for old, new in zip(before[at:end], now[now_at:now_end], strict=True):
                yield from _inside(old, new, ignored)
            continue
        for old in before[at:end]:
            yield Difference(MessageChange.ONLY_BEFORE, old.asked.direction, _what(old))
        for new in now[now_at:now_end]:
            yield Difference(MessageChange.ONLY_NOW, new.asked.direction, _what(new))


def _inside(old: Call, new: Call, ignored: Ignored) -> Iterator[Difference]:
    params = ({"params": _body(call.request).get("params", {})} for call in (old, new))
    was_asked, is_asked = (_essence(one, ignored)["params"] for one in params)
    asked = _changed(was_asked, is_asked)
    if asked:
        yield Difference(MessageChange.ASKED, new.asked.direction, _what(new), asked)
    was, is_ = (_essence(_answer(call), ignored) for call in (old, new))
    answered = _changed(was, is_)
    if answered:
        tier = tier_of(was, is_) or Tier.MINOR
        yield Difference(MessageChange.ANSWERED, new.asked.direction, _what(new), answered, tier)


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


def _essence(value: Any, ignored: Ignored = NOTHING, path: tuple[str, ...] = ()) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value without what is not compared; `path` is its place in a message."""
    if isinstance(value, Mapping):
        return {
            key: _essence(part, ignored, (*path, key))
            for key, part in value.items()
            if key not in IGNORED and not ignored.has((*path, key))
        }
    if isinstance(value, list):
        return [
            _essence(part, ignored, (*path, str(at)))
            for at, part in enumerate(value)
            if not ignored.has((*path, str(at)))
        ]
    return value


SAME: Final = 0
DIFFERENT: Final = 1
TROUBLE: Final = 2
"""The exit statuses, as those of diff(1)."""

_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}
_SIGNS: Final = {MessageChange.ONLY_BEFORE: "-", MessageChange.ONLY_NOW: "+"}


def add_arguments(parser: Parser) -> None:
    flag = parser.flags("diff")
    add_flags(parser, "home", "lang")
    flag("before", metavar="BEFORE")
    flag("now", nargs="?", default=LAST, metavar="NOW")
    flag("--server", metavar="COMMAND", default="")
    flag("--ignore", action="append", default=[], metavar="NAME|$.PATH")
    flag("--fail-on", choices=[tier.name.lower() for tier in Tier], default="minor")
    flag("--update", action="store_true")
    parser.flags("export")("--no-redact", dest="redact", action="store_false")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Compare two sessions, or a session and what a server answers now.

    Returns 0 when nothing is different, 1 when something of the wanted tier is.
    """
    home = home_folder(settings.home)
    before = find_recording(arguments.before, home)
    target = arguments.server or (arguments.now if is_address(arguments.now) else "")
    if arguments.update and not (target and Path(arguments.before).is_file()):
        raise stopped("diff", "no update")
    try:
        now = rerun(before, target) if target else find_recording(arguments.now, home)
    except StopError as error:
        to_stderr("humanmcp: ", error.sentence())
        return TROUBLE
    ignored = Ignored(tuple(arguments.ignore))
    whole = _between(before, now, ignored)
    found = whole
    if arguments.redact:
        found = _between(redacted(before)[0], redacted(now)[0], ignored)
    for difference in found:
        _show(difference)
    has_hidden = _size(whole) > _size(found)
    if has_hidden or not found:
        to_stdout(say("diff", "in secrets" if has_hidden else "same"))
    if arguments.update and found:
        _update(Path(arguments.before), redacted(now)[0] if arguments.redact else now)
        return SAME
    least = Tier[arguments.fail_on.upper()]
    return DIFFERENT if any(one.tier >= least for one in found) else SAME


def _update(path: Path, now: Recording) -> None:
    """Write what a server answers now in the place of its recording.

    Raises:
        StopError: it cannot be written.
    """
    text = "".join(f"{to_json(frame)}\n" for frame in now.frames)
    try:
        write_whole(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise stopped("export", "unwritable", file=path, why=trouble(error)) from error
    to_stderr(say("export", "written", file=path))


def _between(before: Recording, now: Recording, ignored: Ignored) -> tuple[Difference, ...]:
    return tuple(differences(build_conversation(before), build_conversation(now), ignored=ignored))


def _size(found: Iterable[Difference]) -> int:
    """Count the changed lines."""
    return sum(1 + sum(line[0] in "+-" for line in one.lines) for one in found)


def _show(difference: Difference) -> None:
    who = say("transcript", "client" if difference.direction is Direction.IN else "server")
    sign = _SIGNS.get(difference.change, "!")
    what = say("diff", difference.change.value)
    tier = say("diff", difference.tier.name.lower())
    to_stdout(Painted(f"{sign} {difference.what}", "bold"), f" ({who}): {what} ({tier})")
    for line in difference.lines:
        colour = _COLOURS.get(line[:1])
        to_stdout("    ", Painted(line, colour) if colour else line)

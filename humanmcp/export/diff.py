"""`humanmcp diff`: compare two sessions: the client's requests, and the server's answers.

Requests are matched by what they ask for, in order. Ids, times and what only one run can know
(`_meta`, `requestState`) are ignored.
"""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, unified_diff
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.summary import LineKind
from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import Painted, to_stdout
from humanmcp.export.recording import LAST, build_conversation, find_recording
from humanmcp.export.redact import redact_recording
from humanmcp.locales import say
from humanmcp.protocol.conversation.transcript import Direction

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.export.recording import Call, RecordedConversation, RecordedEntry

IGNORED: Final = frozenset({"_meta", "requestState"})


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
        yield from _compare_notices(
            _notices(before, direction), _notices(now, direction), direction
        )


def _requests(conversation: RecordedConversation, direction: Direction) -> list[Call]:
    return [call for call in conversation.calls if call.asked.direction is direction]


def _notices(conversation: RecordedConversation, direction: Direction) -> list[RecordedEntry]:
    return [
        entry
        for entry in conversation.entries
        if entry.kind is LineKind.NOTIFICATION
        and entry.frame.direction is direction
        and entry.observed is not None
    ]


def _compare(before: list[Call], now: list[Call]) -> Iterator[Difference]:
    """Match requests by method and name, then compare each pair."""
    matcher = SequenceMatcher(None, [_what(t) for t in before], [_what(t) for t in now], False)  # noqa: FBT003 - the argument is `autojunk`
    for tag, left, left_end, right, right_end in matcher.get_opcodes():
        if tag == "equal":
            for old, new in zip(before[left:left_end], now[right:right_end], strict=True):
                yield from _inside(old, new)
            continue
        for old in before[left:left_end]:
            yield Difference(MessageChange.ONLY_BEFORE, old.asked.direction, _what(old))
        for new in now[right:right_end]:
            yield Difference(MessageChange.ONLY_NOW, new.asked.direction, _what(new))


def _inside(old: Call, new: Call) -> Iterator[Difference]:
    asked = _lines(old.asked.request.params, new.asked.request.params)
    if asked:
        yield Difference(MessageChange.ASKED, new.asked.direction, _what(new), asked)
    answered = _lines(_answer(old), _answer(new))
    if answered:
        yield Difference(MessageChange.ANSWERED, new.asked.direction, _what(new), answered)


def _compare_notices(
    before: list[RecordedEntry], now: list[RecordedEntry], direction: Direction
) -> Iterator[Difference]:
    """Compare how often each notification was sent. When it was sent differs by chance."""
    for change, these, those in (
        (MessageChange.ONLY_BEFORE, before, now),
        (MessageChange.ONLY_NOW, now, before),
    ):
        rest = [entry.method for entry in those]
        for entry in these:
            if entry.method in rest:
                rest.remove(entry.method)
            else:
                yield Difference(change, direction, entry.method)


def _what(call: Call) -> str:
    return f"{call.asked.method} {call.asked.name}".strip()


def _answer(call: Call) -> Mapping[str, Any]:
    if call.answer is None:
        return {}
    return {"result": call.result} if call.error is None else {"error": call.error}


def _lines(old: Any, new: Any) -> tuple[str, ...]:  # noqa: ANN401 - any JSON value
    left, right = _laid_out(old), _laid_out(new)
    if left == right:
        return ()
    return tuple(unified_diff(left, right, "before", "now", lineterm="", n=2))[2:]


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
    before = _conversation(arguments.before, home, redact=arguments.redact)
    now = _conversation(arguments.now, home, redact=arguments.redact)
    found = tuple(differences(before, now))
    for difference in found:
        _show(difference)
    if not found:
        to_stdout(say("diff", "same"))
    return DIFFERENT if found else SAME


def _conversation(wanted: str, home: Path, *, redact: bool) -> RecordedConversation:
    recording = find_recording(wanted, home)
    if redact:
        recording = replace(recording, frames=redact_recording(recording.frames).frames)
    return build_conversation(recording)


def _show(difference: Difference) -> None:
    who = say("transcript", "client" if difference.direction is Direction.IN else "server")
    sign = _SIGNS.get(difference.change, "!")
    what = say("diff", difference.change.value)
    to_stdout(Painted(f"{sign} {difference.what}", "bold"), f" ({who}): {what}")
    for line in difference.lines:
        colour = _COLOURS.get(line[:1])
        to_stdout("    ", Painted(line, colour) if colour else line)

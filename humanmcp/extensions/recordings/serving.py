"""What `humanmcp serve` can do with a recording: its flags, and what it says at its end."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from humanmcp.extensions.recordings import SECTION
from humanmcp.locales import say
from humanmcp.locales.stop import stopped
from humanmcp.server.serve_part import ServePart

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.extensions.recordings.recording import Forward
    from humanmcp.extensions.recordings.replay import Replay
    from humanmcp.server.moments import Capability, Way

logger = logging.getLogger(__name__)

MATCHES: Final = ("exact", "order", "similar")
"""How a recorded answer is found: `replay.Match`, which is not imported for its names."""

FORWARD: Final = "forward"
"""What `--otherwise` has for requests that were not recorded: the real server."""

MISSED: Final = 3
"""The exit status of a replay that got requests which were not recorded."""


class ReplayPart(ServePart):
    """Lets `serve` replay a recording."""

    otherwise = (FORWARD, f"{FORWARD}-or-error")

    def add_arguments(self, parser: Parser) -> None:
        flag = parser.flags(SECTION)
        self.add_flags(parser)
        flag("--replay", metavar="TRANSCRIPT")
        flag("server", nargs="...", metavar="COMMAND")

    def add_flags(self, parser: Parser) -> None:
        """Add the flags of `serve` and of `replay`."""
        flag = parser.flags(SECTION)
        flag("--match", choices=MATCHES, default=MATCHES[0])
        flag("--no-redact", action="store_true")
        flag("--paced", action="store_true")
        flag("--fault", action="append", default=[], metavar="NUMBER:FAULT")
        flag("--must-be-used", action="store_true")

    def read(
        self, arguments: argparse.Namespace, settings: Settings, home: Path
    ) -> Mapping[str, Any]:
        """Read the recorded answers, if any are wanted, and where else to ask.

        Raises:
            StopError: there is no recording, or the arguments do not go together.
        """
        command = _command(arguments)
        if not arguments.replay:
            return {}
        from humanmcp.extensions.recordings import recording  # noqa: PLC0415 - seldom wanted

        found = recording.RecordingPlace.find(arguments.replay, home, settings.inbox)
        replay = recording.read_replay(
            found,
            arguments.match,
            arguments.otherwise or "hand",
            paced=arguments.paced,
            faults=arguments.fault,
        )
        redact = not (arguments.no_redact or found.is_in_inbox)
        forward = recording.read_forward(found, command, redact=redact) if command else None
        return {"replay": replay, FORWARD: forward, "must_be_used": arguments.must_be_used}

    def ended(self, added: Mapping[str, Any]) -> tuple[Sequence[str], int]:
        """Report what was forwarded, and what was not recorded or used."""
        replay: Replay | None = added.get("replay")
        if replay is None:
            return (), 0
        forward: Forward | None = added[FORWARD]
        told = []
        if forward is not None and replay.forwarded:
            path, count = forward.recording.path, replay.forwarded
            told.append(say(SECTION, "forwarded", count=count, path=path))
        unused = replay.unused if added["must_be_used"] else []
        left = {"missed": [unrecorded.words for unrecorded in replay.misses], "unused": unused}
        for code, words in left.items():
            for one in words:
                logger.warning("not %s: %s", "used" if code == "unused" else "recorded", one)
            if words:
                counted = say(SECTION, code, count=len(words))
                told.append("\n".join([counted, *(f"  {one}" for one in words)]))
        return told, MISSED if any(left.values()) else 0


REPLAY: Final = ReplayPart()


def replayed_answers(way: Way) -> Capability | None:
    """Answer as a server was recorded, if `serve` was asked to."""
    added = way.options.added
    if "replay" not in added:
        return None
    from humanmcp.extensions.recordings.replaying import ReplayedAnswers  # noqa: PLC0415 - seldom wanted

    return ReplayedAnswers(way, added["replay"], added[FORWARD])


def _command(arguments: argparse.Namespace) -> Sequence[str]:
    """Return the command of the real server, if it is to be asked.

    Raises:
        StopError: it is missing, or there is something that is not asked for.
    """
    words: Sequence[str] = arguments.server
    forward = (arguments.otherwise or "").startswith(FORWARD)
    command = words[1:] if words[:1] == ["--"] else words
    if forward and not (command and arguments.replay):
        raise stopped(SECTION, "no server")
    if command and not forward:
        raise stopped(SECTION, "stray words", words=" ".join(command))
    return command

"""Reads a transcript for `serve --replay`: the server is played as it was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from humanmcp.inbox import layout
from humanmcp.locales.stop import StopError
from humanmcp.protocol.replay import Match, Replay, recorded
from humanmcp.protocol.transcript import from_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.transcript import Frame


class NoReplayError(StopError):
    """There is nothing to be replayed."""

    room = "serve"


def read_replay(wanted: str, home: Path, match: str) -> Replay:
    """Read the recorded answers of a transcript, a session's folder, or a session of the inbox.

    Raises:
        NoReplayError: there is no such file, or no answer in it.
    """
    path = _path(wanted, home)
    try:
        answers = recorded(_frames(path))
    except OSError as error:
        raise NoReplayError("no replay", path=path, why=error) from error
    if not answers:
        raise NoReplayError("nothing to replay", path=path)
    return Replay(answers, Match(match))


def _path(wanted: str, home: Path) -> Path:
    path = Path(wanted).expanduser()
    if not path.exists() and layout.is_session_name(wanted):
        path = home / layout.SESSIONS / wanted
    return path / layout.TRANSCRIPT if path.is_dir() else path


def _frames(path: Path) -> Iterator[Frame]:
    with path.open(encoding="utf-8", errors="replace", newline="\n") as stream:
        for line in stream:
            try:
                yield from_json(line)
            except (ValueError, RecursionError):  # torn by a crash, or no frame of ours
                continue

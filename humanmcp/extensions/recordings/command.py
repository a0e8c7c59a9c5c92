"""`humanmcp replay FILE`: `humanmcp serve --replay FILE`, under the name that people look for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.common.parsing import Parser
from humanmcp.common.settings import load
from humanmcp.extensions.recordings import SECTION
from humanmcp.extensions.recordings.serving import REPLAY
from humanmcp.server import serve

if TYPE_CHECKING:
    import argparse

    from humanmcp.common.settings import Settings


def add_arguments(parser: Parser) -> None:
    """Add the flags of `serve`. What follows the recording is read by `run`."""
    serve.add_flags_of_server(parser)
    REPLAY.add_flags(parser)
    parser.flags(SECTION)("recording", nargs="...", metavar="TRANSCRIPT")


def run(arguments: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG001 - those behind the recording count, too
    """Be the recorded server. Returns the exit status."""
    parser = Parser(prog="humanmcp replay")
    serve.add_arguments(parser)
    file, *more = arguments.recording or [""]
    if not file:
        parser.error("the following arguments are required: TRANSCRIPT")
    arguments.replay = file
    arguments = parser.parse_args(more, arguments)
    return serve.run(arguments, load(vars(arguments), more=serve.SETTINGS))

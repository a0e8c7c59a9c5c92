"""How a stub was asked to behave."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from humanmcp.protocol.policy.answer_book import Mode, OpeningPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.protocol.policy.replay import Replay
    from humanmcp.stub.adding import Addition


class Forward(NamedTuple):
    """What was not recorded is asked of this command, and its answers are added to a recording."""

    command: tuple[str, ...]
    recording: Addition


class ServeOptions(NamedTuple):
    """How this stub was asked to behave. `client_limit` is in seconds, 0 for what is known.

    `progress` says whether the client is told that somebody is at its request. `replay` has the
    recorded answers that come before the answer book's; `forward` says where the rest is asked.
    """

    mode: Mode = Mode.NORMAL
    client_limit: float = 0.0
    language: str = "en"
    replay: Replay | None = None
    opening: OpeningPolicy = OpeningPolicy.BY_CLIENT
    progress: bool = True
    forward: Forward | None = None
    notify: Callable[[str, int, str], object] | None = None
    """Told of each request that waits for a person: session, number, tool."""

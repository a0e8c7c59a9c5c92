"""What an extension adds to a host: what `config` writes beside its entry, and `doctor` checks."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from humanmcp import extensions
from humanmcp.locales.stop import StopError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from humanmcp.common.settings import Settings
    from humanmcp.common.terminal import Painted
    from humanmcp.setup.hosts import Host


class Addition(Protocol):
    """What brings the permission prompts of one host here, with `config HOST --approvals`.

    What changes a file raises a `ConfigFileError`.
    """

    def offer(self) -> str:
        """Return how it is asked for, for a person who has not; "" to say nothing."""

    def where(self) -> str:
        """Return where `snippet` goes."""

    def snippet(self) -> str:
        """Return what to paste."""

    def check(self) -> None:
        """Raise what `write` would raise, and change nothing."""

    def write(self) -> str:
        """Write it, once. Return what was done."""

    def remove(self, *, is_asked: bool) -> str:
        """Take it out. Return what was done; "" if nothing was, and nobody asked for it."""

    def notes(self, *, is_written: bool) -> Iterator[str | Painted]:
        """Yield what comes next, and what it does not do."""


class Level(enum.StrEnum):
    """How well a thing is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check: the code of its sentence, its fillings, and its severity."""

    code: str
    level: Level
    fillings: tuple[tuple[str, object], ...] = ()
    section: str = "doctor"


class SetupPart:
    """What an extension names in `setups`."""

    def of(self, host: Host, given: Mapping[str, Any], wait: int | None) -> Addition | None:
        """Return what belongs to a host. `given` are settings, `wait` the seconds that it waits."""

    def check(self, settings: Settings) -> Iterator[Finding]:  # noqa: ARG002 - a part that is left out
        """Yield what is so of what was written or set, and what is wrong with it."""
        return iter(())


def setup_parts() -> list[SetupPart]:
    """Return what extensions add. Their faults stay in them."""
    found = extensions.parts("setups")
    return [extensions.guard(name, part, SetupPart, {"of": (StopError,)}) for name, part in found]

"""What an extension adds to `humanmcp serve`, besides capabilities and their settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings


class ServePart:
    """Reads more words of the command line, and says something at the end."""

    otherwise: Sequence[str] = ()
    """More values of `--otherwise`: who gets the requests that nothing answers."""

    def add_arguments(self, parser: Parser) -> None:
        """Add flags, and what follows them."""

    def read(
        self,
        arguments: argparse.Namespace,  # noqa: ARG002 - a part that is left out
        settings: Settings,  # noqa: ARG002 - as above
        home: Path,  # noqa: ARG002 - as above
    ) -> Mapping[str, Any]:
        """Return what capabilities find in `way.options.added`; nothing if nothing was asked for.

        Whoever returns something decides what happens to requests that the book does not answer.

        Raises:
            StopError: what was asked for does not go together.
            OSError: a file cannot be read.
        """
        return {}

    def ended(self, added: Mapping[str, Any]) -> tuple[Sequence[str], int]:  # noqa: ARG002 - as above
        """Return what to say on stderr once the server has ended, and the exit status."""
        return (), 0

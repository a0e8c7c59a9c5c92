"""Who can be the model: a person, a script, or a language model.

Each is a `Model`: it is shown the conversation and the offered tools, and takes one turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from humanmcp.extensions.host.conversation import ModelTool, Turn

    Heard: TypeAlias = Callable[[str], None]
    """Is given what a model says piece by piece, as it comes."""


class Model(Protocol):
    """What decides in a host."""

    def turn(self, history: Sequence[Turn], tools: Sequence[ModelTool], heard: Heard) -> Turn:
        """Take one turn.

        Raises:
            ModelError: there is no turn.
        """

    def close(self) -> None:
        """Stop being the model."""

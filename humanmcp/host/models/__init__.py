"""Who can be the model: a person, a script, or a language model.

Each is a `Model`: it is shown the conversation and the offered tools, and takes one turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

from humanmcp.locales.stop import StopError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from humanmcp.host.conversation import ModelTool, Turn

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


class ModelError(StopError):
    """The model did not take its turn. The words of a service are quoted."""

    section = "model"

    @classmethod
    def quoting(cls, why: str) -> Self:
        """Quote a service, or a person, in words without any key."""
        return cls("quoted", why=why)


class OverloadedError(ModelError):
    """The service has no room at the moment: it is worth trying again."""

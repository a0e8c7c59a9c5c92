"""A model that takes no pictures: it is told that there is one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from humanmcp.host.conversation import ImageBlock, TextBlock, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from humanmcp.host.conversation import Block, OfferedTool, Turn
    from humanmcp.host.models import Model


class BlindModel:
    """Sits before another model and takes the pictures out of what it is shown."""

    def __init__(self, model: Model) -> None:
        """Show this one no pictures."""
        self.model = model

    def turn(
        self,
        history: Sequence[Turn],
        tools: Sequence[OfferedTool],
        heard: Callable[[str], None],
    ) -> Turn:
        """Take the other's turn."""
        shown = [replace(turn, blocks=tuple(map(_without, turn.blocks))) for turn in history]
        return self.model.turn(shown, tools, heard)

    def close(self) -> None:
        """Let the other leave."""
        self.model.close()


def _without(block: Block) -> Block:
    match block:
        case ImageBlock(mime, _):
            return TextBlock(f"[image: {mime}]")
        case ToolResult():
            return replace(block, images=())
        case _:
            return block

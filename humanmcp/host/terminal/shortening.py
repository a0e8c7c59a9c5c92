"""Long runs of base64 at a terminal: their beginning, and how much there is.

A picture in a message fills the screen and pushes everything else out of sight. Files and pipes
get every character.
"""

from __future__ import annotations

import re
from typing import Final

from humanmcp.locales import say

LONGEST: Final = 400
"""Characters in a row that may be base64 and are still shown whole."""
SHOWN: Final = 32

_RUN: Final = re.compile(rf"[A-Za-z0-9+/_-]{{{LONGEST},}}={{0,2}}")


def shortened(text: str, language: str) -> str:
    """Return a text with every long run of base64 cut, and its length said."""

    def cut(found: re.Match[str]) -> str:
        return say("client", "shortened", language, start=found[0][:SHOWN], count=len(found[0]))

    return _RUN.sub(cut, text)

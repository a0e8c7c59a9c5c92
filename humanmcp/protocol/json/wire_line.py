"""Any text at all as one line that can be written to the wire."""

from __future__ import annotations

import re
from typing import Final

_BREAKS: Final = re.compile(r"\r\n?|\n")


def one_line(text: str) -> str | None:
    """Return any text as one line of valid UTF-8, its line breaks as spaces; None when blank."""
    line = _BREAKS.sub(" ", text).strip()
    if not line:
        return None
    return line.encode("utf-8", "replace").decode()

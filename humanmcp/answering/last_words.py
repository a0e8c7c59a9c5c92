"""What an agent wrote last before its prompt: its own words, from the end of its transcript.

The file is a stranger's: it is only read, from its end, and whatever is unusual in it says nothing.
"""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.json.tree import follow, objects_at, text_at

if TYPE_CHECKING:
    from humanmcp.protocol.conversation.prompts import AgentPrompt

MOST: Final = 64 * 1024
"""Bytes that are read."""
LONGEST: Final = 4_000
"""Characters that are shown."""


def last_words(prompt: AgentPrompt) -> str:
    """Return the last words of the turn that ended in this waiting prompt; "" if not known."""
    if not prompt.keeps_words:
        return ""
    words = ""
    for line in _end_of(prompt.transcript):
        try:
            entry: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        content = follow(entry, "message", "content")
        texts = [text_at(one, "text") for one in objects_at(content) if text_at(one, "text")]
        match text_at(entry, "type"):
            case "user" if texts or isinstance(content, str):  # no result of a tool: a new turn
                words = ""
            case "assistant" if texts and follow(entry, "isSidechain") is not True:
                words = texts[-1]
            case _:
                pass
    return words.strip()[:LONGEST]


def _end_of(path: str) -> list[bytes]:
    """Return the last lines of a file of this user's that is no link."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        return []
    try:
        found = os.fstat(descriptor)
        is_ours = not hasattr(os, "getuid") or found.st_uid == os.getuid()
        if not (stat.S_ISREG(found.st_mode) and is_ours):
            return []
        start = max(0, os.lseek(descriptor, 0, os.SEEK_END) - MOST)
        os.lseek(descriptor, start, os.SEEK_SET)
        lines = os.read(descriptor, MOST).splitlines()
    finally:
        os.close(descriptor)
    return lines[1:] if start else lines

"""Puts a tap before the command of a server's entry, and takes it away again.

Pure: an entry goes in, an entry comes out; every key but the command's stays what it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from humanmcp.setup.hosts import command_in, is_ours

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TAP: Final = "tap"
_DASHES: Final = "--"


def wrapped(entry: Mapping[str, Any], starter: Sequence[str], flags: Sequence[str]) -> Any:  # noqa: ANN401 - any JSON value
    """Return the entry with a tap before its command; None when it has no command.

    `starter` are the words that start humanmcp, `flags` those of `humanmcp tap`.
    """
    found = command_in(entry)
    if found is None or not found[0]:
        return None
    command, args = found
    return _with_words(entry, (*starter, _TAP, *flags, _DASHES, command, *args))


def has_odd_arguments(entry: Mapping[str, Any]) -> bool:
    """Return True if an argument of an entry is no text: how its host writes that is unknown."""
    words = [entry.get("args"), entry.get("command")]
    return any(isinstance(word, list) and not _all_text(word) for word in words)


def _all_text(words: Sequence[object]) -> bool:
    return all(isinstance(word, str) for word in words)


def unwrapped(entry: object) -> Any:  # noqa: ANN401 - any JSON value
    """Return the entry without its tap; None when it has none."""
    words = _words_after_tap(entry)
    if not words or not isinstance(entry, dict):
        return None
    return _with_words(entry, words)


def is_wrapped(entry: object) -> bool:
    """Return True if an entry starts a server through a tap."""
    return bool(_words_after_tap(entry))


def _words_after_tap(entry: object) -> Sequence[str]:
    found = command_in(entry)
    if found is None or not is_ours(entry):
        return ()
    words = (found[0], *found[1])
    if _TAP not in words or _DASHES not in words:
        return ()
    dashes = words.index(_DASHES)
    return words[dashes + 1 :] if words.index(_TAP) < dashes else ()


def _with_words(entry: Mapping[str, Any], words: Sequence[str]) -> dict[str, Any]:
    """Set the command of an entry in the shape that it has: one list, or a word and a list."""
    changed = dict(entry)
    if isinstance(entry.get("command"), list):
        changed["command"] = list(words)
        return changed
    changed["cmd" if "cmd" in entry else "command"] = words[0]
    if len(words) > 1 or "args" in entry:
        changed["args"] = list(words[1:])
    return changed

"""Allow like this: which calls a person may allow for a session with one press, and which fit."""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.conversation.decisions import sha256
from humanmcp.protocol.json.jsonrpc import as_json, parts_of
from humanmcp.protocol.json.visible import visible
from humanmcp.protocol.tables import bounded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humanmcp.protocol.conversation.approvals import Approval

_PREFIX: Final = "allow:"
_PLAIN: Final = re.compile(r"[A-Za-z0-9./:@+,_=-]+( [A-Za-z0-9./:@+,_=-]+)*")
"""A command that consists of words only, for every shell."""


class AllowPattern(NamedTuple):
    """A pattern for the calls that a person has allowed in one session.

    `way` is the code of its sentence: "same" allows exactly this input, "command" exactly this
    command, "begins" commands that begin with these words, "folder" files below this folder, "tool"
    a call with these members. `rest` is a digest of everything that the sentence does not name.
    """

    tool: str
    way: str
    value: str = ""
    rest: str = ""

    def __str__(self) -> str:
        """Return the text form, which `pattern_of` reads."""
        return _PREFIX + as_json(list(self))

    def fits(self, approval: Approval) -> bool:
        """Return True if this pattern allows the call: it could have been chosen for that call."""
        offered = patterns_for(approval)
        if self.way == "folder":  # of an outer folder as well
            below = (one for one in offered if one.value.startswith(self.value))
            return self.value.endswith("/") and self in (
                one._replace(value=self.value) for one in below
            )
        return self in offered


def patterns_for(approval: Approval) -> tuple[AllowPattern, ...]:
    """List the patterns that a person may choose for a call, the narrowest first.

    Each covers only inputs with the same members, and each member is named in the sentence of the
    pattern, or is equal.
    """
    if approval.problem or approval.questions:
        return ()
    tool, given = approval.tool, approval.input
    command = given.get("command")
    if isinstance(command, str):
        free = [one for one in ("description",) if isinstance(given.get(one), str)]
        same = AllowPattern(tool, "command", rest=_rest(approval, *free))
        begins = _bounded(command)
        rest = _rest(approval, "command", *free)
        return (same, AllowPattern(tool, "begins", begins, rest)) if begins else (same,)
    same = AllowPattern(tool, "same", rest=_rest(approval))
    paths = [one for one in bounded.PATH_MEMBERS if one in given]
    if paths:
        folder = _folder(given[paths[0]])
        rest = _rest(approval, paths[0], *bounded.CONTENT_MEMBERS)
        return (same, AllowPattern(tool, "folder", folder, rest)) if folder else (same,)
    is_flat = not any(isinstance(value, (dict, list)) for value in given.values())
    if given and is_flat and not any(map(bounded.COMMAND_OR_FILE.search, map(str.casefold, given))):
        names = ", ".join(sorted(given))
        return (same, AllowPattern(tool, "tool", names, _rest(approval, *given)))
    return (same,)


def _rest(approval: Approval, *free: str) -> str:
    """Return a digest of the names of all members and of the values that must be equal.

    Of a `free` member only the kind of its value must be. An agent's folder must be the same, and
    its event: before a tool it asks for what its own rules would not let it ask for.
    """
    given, parts = approval.input, parts_of(approval.text)
    kept = [(name, type(given[name]).__name__ if name in free else parts[name]) for name in parts]
    return sha256(repr([*sorted(kept), *approval.place]))


def _bounded(command: str) -> str:
    """Return the words with which a command begins whose effect is known; "" for any other."""
    words = command.split(" ") if _PLAIN.fullmatch(command) else []
    begins = next(
        (one for one in (" ".join(words[:n]) for n in (2, 1)) if one in bounded.COMMANDS), ""
    )
    letters, options = bounded.COMMANDS.get(begins, ("", ""))
    for word in words[1:]:
        is_short = letters and set(word[1:].rstrip("0123456789")) <= set(letters)
        is_known = is_short or word == "--" or word.partition("=")[0] in options.split()
        if not (is_known if word.startswith("-") else _is_inside(word)):
            return ""
    return begins


def _is_inside(word: str) -> bool:
    """Return True for a name, or a path below the working folder without a hidden file."""
    parts = re.split("[/:=]", word)
    hidden = any(one.startswith(".") and one not in (".", "...") for one in parts)
    return not (hidden or word.startswith(("/", "@")) or ":/" in word)


def _folder(path: object) -> str:
    """Return the folder of a file with a final slash; "" if the path leaves it, or tools run it."""
    if not isinstance(path, str) or not path.startswith("/") or posixpath.normpath(path) != path:
        return ""
    *folders, name = path.casefold().split("/")
    is_run = (
        any(one.startswith(".") for one in (*folders, name))
        or not bounded.RUN_FOLDERS.isdisjoint(folders)
        or name in bounded.RUN_FILES
        or bounded.RUN_NAMES.fullmatch(name) is not None
    )
    is_plain = len(folders) > 1 and visible(path) == path
    return "" if is_run or not is_plain else posixpath.dirname(path) + "/"


def patterns_in(texts: Iterable[str]) -> tuple[AllowPattern, ...]:
    """Return those of these texts that are patterns."""
    return tuple(one for one in map(pattern_of, texts) if one is not None)


def pattern_of(text: str) -> AllowPattern | None:
    """Read the text form of a pattern; None if it is not one."""
    if not text.startswith(_PREFIX):
        return None
    try:
        parts = json.loads(text.removeprefix(_PREFIX))
    except ValueError:
        return None
    sound = isinstance(parts, list) and len(parts) == len(AllowPattern._fields)
    return AllowPattern(*parts) if sound and all(isinstance(one, str) for one in parts) else None

"""Errors that stop a command: a sentence for the person, in their language, and a status."""

from __future__ import annotations

import errno
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, Protocol, TypeAlias

from humanmcp.common.guarded import guarded_call
from humanmcp.locales import describe, find_sentence, say, speaking
from humanmcp.protocol.diagnostics.model import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

REFUSED = 1
"""Exit status: it was understood, and not done."""
USAGE_ERROR = 2
"""Exit status: it was asked in a way that cannot be done."""


class StopError(Exception):
    """A command cannot continue. `section` is the section of its sentences in `locales/`."""

    section: str
    status: int = REFUSED
    """The exit status of a command that this stops."""

    def __init__(self, code: str, **fillings: object) -> None:
        super().__init__(code, fillings)
        self.code = code
        self.fillings = fillings

    def __str__(self) -> str:
        """Return the sentence in English; `sentence` uses the language of the reader."""
        with speaking("en"):
            return self.sentence()

    def sentence(self) -> str:
        """Return what stopped the command, and what to do."""
        fillings = {name: in_language(filling) for name, filling in self.fillings.items()}
        return say(self.section, self.code, **fillings)


def stopped(section: str, code: str, status: int = USAGE_ERROR, /, **fillings: object) -> StopError:
    """Return an error that no code tells from others."""
    error = StopError(code, **fillings)
    error.section, error.status = section, status
    return error


def called_on(extension: str, part: str, function: Callable[..., Any], *given: Any) -> Any:  # noqa: ANN401 - what an extension takes and returns
    """Call what a person asked an extension for. What else it raises stops the command in words.

    Raises:
        StopError: it says why, or it has a fault.
        OSError: as it promises.
    """

    def fails(error: BaseException, *_given: Any) -> NoReturn:  # noqa: ANN401 - as above
        if isinstance(error, StopError | OSError):
            raise error
        why = f"{type(error).__name__}: {error}"
        raise stopped("extension", "asked", 1, extension=extension, part=part, error=why) from error

    return guarded_call(function, fails, may_be_none=True)(*given)


class Sayable(Protocol):
    """An exception of a package without sentences: it names a sentence and its fillings."""

    section: ClassVar[str]
    code: str
    fillings: Mapping[str, object]


def sentence_of(error: Exception | Sayable) -> str:
    """Describe an error in the language of the reader, or in its own words."""
    if isinstance(error, StopError):
        return error.sentence()
    section, code = getattr(error, "section", ""), getattr(error, "code", "")
    if section and code:
        fillings: Mapping[str, object] = getattr(error, "fillings", {})
        return say(section, code, **fillings)
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return place + trouble(error)
    return str(error)


class Phrase(NamedTuple):
    """A part of a sentence that is a sentence of the catalog."""

    section: str
    code: str
    fillings: Mapping[str, object] = MappingProxyType({})

    def sentence(self) -> str:
        return say(self.section, self.code, **self.fillings)


Reason: TypeAlias = str | StopError | Phrase
"""Why something happened: a text as it is, or a sentence in the language of the reader."""


def in_language(filling: object) -> object:
    """Return a filling in the language of the reader; an error of a file without its name."""
    if isinstance(filling, Diagnostic):
        return describe(filling)
    if isinstance(filling, (StopError, Phrase)):
        return filling.sentence()
    if isinstance(filling, (OSError, UnicodeDecodeError)):
        return trouble(filling)
    # By its name: importing tomllib takes 5 ms that only those who have a file have to pay.
    if type(filling).__name__ == "TOMLDecodeError":
        return _toml_trouble(str(filling))
    return filling


def _toml_trouble(words: str) -> str:
    """Return where a text is not TOML; the reason is the library's, in English."""
    found = re.fullmatch(r"(?P<why>.*) \(at line (?P<line>\d+), column (?P<column>\d+)\)", words)
    return say("os_error", "no toml", **found.groupdict()) if found else words


def trouble(error: OSError | UnicodeDecodeError) -> str:
    """Return what is wrong with a file; without a sentence, in the system's own words."""
    if isinstance(error, UnicodeDecodeError):
        return say("os_error", "no utf-8", byte=error.start + 1)
    known = find_sentence("os_error", errno.errorcode.get(error.errno or 0, ""))
    return known or error.strerror or str(error)

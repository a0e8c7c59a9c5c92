"""A key for a service, from a file or a variable; only who sends it reads it."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from humanmcp.locales.stop import StopError

if TYPE_CHECKING:
    from collections.abc import Mapping


class KeyFileError(StopError):
    """A key cannot be used."""

    room = "host"


@dataclass(frozen=True, slots=True, repr=False)
class ApiKey:
    """A key. Only `secret` says it."""

    secret: str

    def __repr__(self) -> str:
        """Say that there is one, and nothing else."""
        return "Key(…)"

    def hidden_in(self, text: str) -> str:
        """Take the key out of a text that may repeat it, as error messages do."""
        return text.replace(self.secret, "…") if self.secret else text


def find_key(name: str, file: str, environment: Mapping[str, str] = os.environ) -> ApiKey | None:
    """Return the key in the file, else that of the environment variable; None when there is none.

    Raises:
        KeyFileError: the file cannot be read, or others can read it too.
    """
    if file:
        return _from_file(Path(file).expanduser())
    found = environment.get(name, "").strip()
    return ApiKey(found) if found else None


def _from_file(path: Path) -> ApiKey:
    try:
        with path.open(encoding="utf-8") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if os.name != "nt" and mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise KeyFileError("key file is open", path=path)
            return ApiKey(stream.read().strip())
    except (OSError, UnicodeDecodeError) as error:
        raise KeyFileError("unreadable key", path=path, why=error) from error

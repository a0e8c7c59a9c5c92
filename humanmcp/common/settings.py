"""Every setting: one table of names, defaults and help.

Flag over environment over file over default.

The table is `Settings`; a field's `help` is a code of `locales/` (room `setting`).
The file is `settings.toml` in the inbox folder; the environment's names are `HUMANMCP_` and the
name in capitals.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.common.paths import home_folder
from humanmcp.locales.stop import USAGE_ERROR, StopError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from humanmcp.common.parsing import Parser

PREFIX: Final = "HUMANMCP_"
FILE_NAME: Final = "settings.toml"


class Settings(NamedTuple):
    """Every setting with its default."""

    home: str = ""
    inbox: str = ""
    lang: str = ""
    files: str = ""
    book: str = ""
    title: str = ""
    versions: str = ""
    client_limit: float = 0.0
    host: str = "127.0.0.1"
    port: int = 8765
    notify: str = ""


class SettingError(StopError):
    """A setting has a value that cannot be used, or the settings file cannot be read."""

    room = "setting_error"
    status = USAGE_ERROR


_DEFAULTS: Final[Mapping[str, Any]] = Settings()._asdict()


def add_flags(parser: Parser, *names: str) -> None:
    """Give a command the flags of these settings."""
    flag = parser.flags("setting")
    for name in names:
        flag("--" + name.replace("_", "-"), code=name, dest=name, metavar=name.upper())


def load(flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> Settings:
    """Settle every setting.

    Raises:
        SettingError: a value is of the wrong type, or the settings file is no TOML.
    """
    chosen: dict[str, Any] = {}
    home = flags.get("home") or environment.get(PREFIX + "HOME") or ""
    file = home_folder(home) / FILE_NAME
    written = _read(file)
    for name, default in _DEFAULTS.items():
        for value, where in (
            (flags.get(name), "--" + name.replace("_", "-")),
            (environment.get(PREFIX + name.upper()), PREFIX + name.upper()),
            (written.get(name), str(file)),
        ):
            if value is not None and value != "":
                chosen[name] = _converted(name, value, type(default), where)
                break
    return Settings(**chosen)


def _read(file: Path) -> Mapping[str, Any]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError("no-toml", file=file, why=error) from error
    import tomllib  # noqa: PLC0415 - 5 ms that only those who have a file have to pay

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingError("no-toml", file=file, why=error) from error


def _converted(name: str, value: Any, kind: type, where: str) -> Any:  # noqa: ANN401 - TOML's types
    try:
        return kind(value)
    except (TypeError, ValueError) as error:
        code = "number" if kind in (int, float) else "text"
        raise SettingError(code, where=where, name=name, value=repr(value)) from error

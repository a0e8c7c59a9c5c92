"""Every setting: one table of names, defaults and help; and the folders that follow from them.

Flag over environment over file over default. The table is `Settings`; a field's `help` is a code of
`locales/` (section `setting`). The file is `settings.toml` in the inbox folder; the environment's
names are `HUMANMCP_` and the name in capitals.

The inbox folder is derived from the home directory alone. Hosts start servers with a stripped
environment (HOME, LOGNAME, PATH, SHELL, TERM, USER), so a server and a desk can only agree on a
place that needs nothing else.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp import extensions
from humanmcp.locales.stop import USAGE_ERROR, StopError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from humanmcp.common.parsing import Parser


PREFIX: Final = "HUMANMCP_"
FILE_NAME: Final = "settings.toml"


class Settings(NamedTuple):
    """Every setting with its default."""

    home: str = ""
    inbox: str = ""
    lang: str = ""
    book: str = ""
    title: str = ""
    versions: str = ""
    client_limit: float = 0.0
    host: str = "127.0.0.1"
    port: int = 8765
    notify: str = ""
    added: Mapping[str, Any] = MappingProxyType({})
    """The settings that capabilities bring, by name."""


class Setting(NamedTuple):
    """A setting that a capability brings. `default` has its type: a text, a number, or on and off.

    Its help is the sentence with its name in this section of the catalogs.
    """

    name: str
    default: str | float | bool
    metavar: str = ""
    section: str = "setting"
    is_folder: bool = False
    """Its value is made absolute. What only tries a server starts it with another folder."""
    by_hand: bool = False
    """Who sets it answers the handshake by hand, unless something else is asked for."""


class SettingError(StopError):
    """A setting has an invalid value, or the settings file cannot be read."""

    section = "setting_error"
    status = USAGE_ERROR


DEFAULTS: Final[Mapping[str, Any]] = {
    name: default for name, default in Settings()._asdict().items() if name != "added"
}
_LAST_PORT: Final = 65535
_SWITCH: Final = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
_VALUES: Final = {
    "home": "FOLDER",
    "inbox": "URL",
    "lang": "LANGUAGE",
    "book": "FILE",
    "title": "NAME",
    "client_limit": "SECONDS",
    "host": "ADDRESS",
    "notify": "COMMAND",
}
"""What help calls the values of the flags, where it is not the name of the setting."""


def brought_settings() -> tuple[Setting, ...]:
    """Return the settings that capabilities and endpoints bring: flags of `serve` and `config`."""
    parts = (*extensions.loaded("capabilities"), *extensions.loaded("endpoints"))
    return tuple(one for each in parts for one in getattr(each, "SETTINGS", ()))


def brought_folders() -> tuple[Setting, ...]:
    """Return those of them that are folders: flags of each command that starts a server."""
    return tuple(one for one in brought_settings() if one.is_folder)


def by_hand(chosen: Collection[str]) -> str:
    """Return the flag among these names by which a person answers the handshake, "" for none."""
    named = (one.name for one in brought_settings() if one.by_hand and one.name in chosen)
    return next(map(_flag_of, named), "")


def add_flags(parser: Parser, *names: str) -> None:
    """Give a command the flags of these settings."""
    flag = parser.flags("setting")
    for name in names:
        metavar = _VALUES.get(name, name.upper())
        flag(_flag_of(name), code=name, dest=name, metavar=metavar)


def add_brought_flags(parser: Parser, brought: Iterable[Setting]) -> None:
    """Give a command the flags of settings that capabilities bring."""
    for one in brought:
        flag = parser.flags(one.section)
        if isinstance(one.default, bool):
            flag(_flag_of(one.name), code=one.name, dest=one.name, action="store_const", const=True)
        else:
            flag(_flag_of(one.name), code=one.name, dest=one.name, metavar=one.metavar)


def _flag_of(name: str) -> str:
    return "--" + name.replace("_", "-")


def load(
    flags: Mapping[str, Any],
    environment: Mapping[str, str] = os.environ,
    more: Collection[Setting] = (),
) -> Settings:
    """Return the value of every setting; `more` are those that capabilities bring.

    Raises:
        SettingError: a value has the wrong type, or the settings file is not TOML.
    """
    chosen: dict[str, Any] = {}
    home = flags.get("home") or environment.get(PREFIX + "HOME") or ""
    file = home_folder(home) / FILE_NAME
    written = _read(file)
    added = {one.name: one.default for one in more}
    for name, default in {**DEFAULTS, **added}.items():
        for value, where in (
            (flags.get(name), _flag_of(name)),
            (environment.get(PREFIX + name.upper()), PREFIX + name.upper()),
            (written.get(name), str(file)),
        ):
            if value is not None and value != "":
                chosen[name] = _converted(name, value, type(default), where)
                break
    added |= {name: chosen.pop(name) for name in added if name in chosen}
    for one in more:
        if one.is_folder and added[one.name]:
            added[one.name] = str(Path(str(added[one.name])).expanduser().absolute())
    return Settings(**chosen, added=added)


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
    if kind is bool:
        if str(value).lower() not in _SWITCH:
            raise SettingError("switch", where=where, name=name, value=repr(value))
        return _SWITCH[str(value).lower()]
    try:
        found = kind(value)
    except (TypeError, ValueError) as error:
        code = "number" if kind in (int, float) else "text"
        raise SettingError(code, where=where, name=name, value=repr(value)) from error
    if name == "port" and not 0 <= found <= _LAST_PORT:
        raise SettingError("port", where=where, value=found)
    return found


# -- folders and files ---------------------------------------------------------------------------


FOLDER_NAME = ".humanmcp"

BOOK_NAME: Final = "book.toml"
"""The answer book of an inbox folder, unless `--book` names another."""


class UnsafeFolderError(StopError):
    """Other users could read or change the content of a folder."""

    section = "unsafe"


def home_folder(wanted: str = "") -> Path:
    """Return the inbox folder: the wanted one, else `~/.humanmcp`, as an absolute path."""
    return Path(wanted).expanduser().absolute() if wanted else Path.home() / FOLDER_NAME


def home_flags(home: Path) -> tuple[str, ...]:
    """Return the flags with which a command typed here uses this inbox folder."""
    default = home_folder(os.environ.get(PREFIX + "HOME", ""))
    return () if home == default else ("--home", str(home))


def book_path(wanted: str, home: Path) -> Path:
    """Return the answer book: the wanted one, else the one in the inbox folder.

    A file counts before a book of that name which an extension brings.
    """
    if not wanted:
        return home / BOOK_NAME
    path = Path(wanted).expanduser()
    return path if path.exists() else extensions.book(wanted) or path


def sample(name: str) -> Path:
    """Return the path of a sample: in the installed package, else in a checkout."""
    package = Path(__file__).parent.parent
    installed = package / "samples" / name
    return installed if installed.exists() else package.parent / "samples" / name


def make_home(home: Path) -> Path:
    """Create the inbox folder, and return it.

    Raises:
        UnsafeFolderError: it cannot be created, or is not of this user alone.
    """
    try:
        return make_private(home)
    except OSError as error:
        raise UnsafeFolderError("not made", folder=home, why=error) from error


def make_private(folder: Path) -> Path:
    """Create a folder that only its owner may enter (0700), and return it.

    Raises:
        UnsafeFolderError: it belongs to another user, or others may write in it.
        OSError: it cannot be created.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "nt":  # pragma: no cover - Windows keeps other users out of the profile folder
        return folder
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise UnsafeFolderError("link", folder=folder, place=folder.resolve())
    if found.st_uid != os.getuid():
        raise UnsafeFolderError("owner", folder=folder, flag="--home")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UnsafeFolderError("writable", folder=folder, mode="700")
    return folder

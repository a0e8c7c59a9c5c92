"""`humanmcp unwrap HOST SERVER`: remove the tap again, and restore the file.

With `--all`, from every server of every host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from humanmcp.common.settings import add_flags
from humanmcp.common.terminal import Painted, to_stderr
from humanmcp.locales.stop import REFUSED
from humanmcp.setup.config import ConfigFileError
from humanmcp.setup.wrap import (
    Standing,
    WrapError,
    add_place,
    change_all,
    entry_of,
    report,
    unwrapped,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.setup.config import ConfigFile, Keys


def add_arguments(parser: Parser) -> None:
    """Declare the flags of `unwrap`."""
    add_place(parser, "unwrap all")
    add_flags(parser, "lang")


def run(arguments: argparse.Namespace, _settings: Settings) -> int:
    """Take the tap out. Returns the exit status."""
    if arguments.all:
        return change_all(Standing.WRAPPED, _all_without_tap, yes=arguments.yes)
    try:
        name = arguments.server
        file, entry = entry_of(arguments)
        original = unwrapped(entry)
        if original is None:
            raise WrapError("not wrapped", name=name, path=file.path)
        kept = _without_tap(file, {(*file.host.keys, name): original}).write()
    except ConfigFileError as error:
        to_stderr(Painted(error.sentence(), "yellow"))
        return REFUSED
    report("undone", file.host, name, kept)
    return 0


def _all_without_tap(config_file: ConfigFile, chosen: Sequence[Keys]) -> ConfigFile:
    return _without_tap(
        config_file, {keys: unwrapped(config_file.servers[keys]) for keys in chosen}
    )


def _without_tap(file: ConfigFile, originals: Mapping[Keys, Any]) -> ConfigFile:
    """Return the file before the tap, byte for byte if a backup has it."""
    before = file.undone(tuple(originals))
    if before is not None and all(
        _alike(before.servers.get(keys), original) for keys, original in originals.items()
    ):
        return before
    return file.having(originals)


def _alike(before: object, original: Mapping[str, Any]) -> bool:
    """Return True if an entry is the one without the tap; `"args": []` may be left out."""
    if not isinstance(before, dict):
        return False
    return {**before, "args": before.get("args", [])} == {"args": [], **original}

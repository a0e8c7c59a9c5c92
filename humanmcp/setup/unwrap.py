"""`humanmcp unwrap HOST SERVER`: remove the tap again, and restore the file.

With `--all`, from every server of every host.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from humanmcp.common.settings import add_flags
from humanmcp.common.terminal import Painted, to_stderr
from humanmcp.locales.stop import REFUSED
from humanmcp.setup.config_file import ConfigFileError, with_more_tries
from humanmcp.setup.hosts import as_plain
from humanmcp.setup.wrap import (
    TapState,
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
    from pathlib import Path

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.setup.config_file import ConfigFile, Keys
    from humanmcp.setup.hosts import Host


def add_arguments(parser: Parser) -> None:
    add_place(parser, "unwrap all")
    add_flags(parser, "lang")


def run(arguments: argparse.Namespace, _settings: Settings) -> int:
    """Take the tap out. Returns the exit status."""
    if arguments.all:
        return change_all(TapState.WRAPPED, _all_without_tap, yes=arguments.yes)
    try:
        host, kept = with_more_tries(partial(_take_tap_out, arguments))
    except ConfigFileError as error:
        to_stderr(Painted(error.sentence(), "yellow"))
        return REFUSED
    report("undone", host, arguments.server, kept)
    return 0


def _take_tap_out(arguments: argparse.Namespace) -> tuple[Host, Path | None]:
    """Take the tap out of one entry. Return the host, and the backup."""
    file, entry = entry_of(arguments)
    original = unwrapped(entry)
    if original is None:
        raise WrapError("not wrapped", name=arguments.server, path=file.path)
    keys = (*file.host.keys, arguments.server)
    return file.host, _without_tap(file, {keys: original}).write()


def _all_without_tap(config_file: ConfigFile, chosen: Sequence[Keys]) -> ConfigFile:
    return _without_tap(
        config_file, {keys: unwrapped(config_file.servers[keys]) for keys in chosen}
    )


def _without_tap(file: ConfigFile, originals: Mapping[Keys, Any]) -> ConfigFile:
    """Return the file before the tap: whole, or each entry, byte for byte if a backup has it."""
    before = file.undone(tuple(originals))
    if before is not None and all(
        _alike(before.servers.get(keys), original) for keys, original in originals.items()
    ):
        return before
    for keys, original in originals.items():
        is_original = partial(_alike, original=original)
        file = file.with_entry_as_it_was(keys, is_original) or file.having({keys: original})
    return file


def _alike(before: object, original: Mapping[str, Any]) -> bool:
    """Return True if an entry is the one without the tap; `"args": []` may be left out."""
    plain = {"args": [], **as_plain(before)} if isinstance(before, dict) else None
    return plain == {"args": [], **as_plain(original)}

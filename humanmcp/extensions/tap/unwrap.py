"""`humanmcp unwrap HOST SERVER`: remove the tap again, and restore the file.

With `--all`, from every server of every host.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from humanmcp.common.settings import add_flags
from humanmcp.extensions.tap.wrap import add_place, change_servers, unwrapped
from humanmcp.setup.config_file import ConfigFileError, config_text, newest_backups
from humanmcp.setup.hosts import as_plain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.setup.config_file import ConfigFile, Keys


def add_arguments(parser: Parser) -> None:
    add_place(parser, "unwrap all")
    add_flags(parser, "lang")


def run(arguments: argparse.Namespace, _settings: Settings) -> int:
    """Take the tap out. Returns the exit status."""
    return change_servers(arguments, "unwrap", _without_tap)


def _without_tap(file: ConfigFile, chosen: Sequence[Keys]) -> ConfigFile:
    """Return the file before the tap: whole, or each entry, byte for byte if a backup has it."""
    originals = {keys: unwrapped(file.servers[keys]) for keys in chosen}
    before = file.undone(chosen)
    if before is not None and all(
        _alike(before.servers.get(keys), original) for keys, original in originals.items()
    ):
        return before
    for keys, original in originals.items():
        file = _with_entry_as_it_was(file, keys, original) or file.having({keys: original})
    return file


def _with_entry_as_it_was(
    file: ConfigFile, keys: Keys, original: Mapping[str, Any]
) -> ConfigFile | None:
    """Return the file with the text of an entry before the tap, or None.

    The rest may have changed since. The text is that of the newest backup with the original.
    """
    for text in map(config_text, newest_backups(file.path)):
        before = replace(file, text=text)
        with suppress(ConfigFileError):
            if not _alike(before.servers.get(keys), original):
                continue
            after = before.having({keys: file.servers[keys]})
            own = file.text_of(keys)
            if own is not None and own == after.text_of(keys):
                start, end = file.span_of(keys) or (0, 0)
                restored = file.text[:start] + (before.text_of(keys) or "") + file.text[end:]
                return file.proven(restored, file.having({keys: before.servers[keys]}).value)
    return None


def _alike(before: object, original: Mapping[str, Any]) -> bool:
    """Return True if an entry is the one without the tap; `"args": []` may be left out."""
    plain = {"args": [], **as_plain(before)} if isinstance(before, dict) else None
    return plain == {"args": [], **as_plain(original)}

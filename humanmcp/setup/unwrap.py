"""`humanmcp unwrap HOST SERVER`: take the tap away again; the file is as it was before.

With `--all`, from every server of every host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from humanmcp.common.settings import add_flags
from humanmcp.common.terminal import Painted, complain
from humanmcp.connecting.hosts import BY_NAME, Host
from humanmcp.locales import language_of
from humanmcp.locales.stop import REFUSED
from humanmcp.setup import config_file
from humanmcp.setup.config_file import ConfigFileError
from humanmcp.setup.everywhere import ConfigFile, Standing, change_all
from humanmcp.setup.wrap import WrapError, add_place, check_named, entry_of, place_of, report
from humanmcp.setup.wrapping import unwrapped

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.setup.config_file import Keys


def add_arguments(parser: Parser) -> None:
    """Declare the flags of `unwrap`."""
    add_place(parser, parser.words("wrap")("unwrap all"))
    add_flags(parser, "lang")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Take the tap out. Returns the exit status."""
    language = language_of(settings.lang)
    if arguments.all:
        return change_all(Standing.WRAPPED, _all_without_tap, yes=arguments.yes, language=language)
    try:
        check_named(arguments)
        path, name = place_of(arguments), arguments.server
        host = config_file.as_laid_out(BY_NAME[arguments.host], path)
        text, entry = entry_of(host, name, path)
        original = unwrapped(entry)
        if original is None:
            raise WrapError("not wrapped", name=name, path=path)
        kept = config_file.write(
            path, _without_tap(text, host, {(*host.keys, name): original}, path)
        )
    except ConfigFileError as error:
        complain(Painted(error.sentence(language), "yellow"))
        return REFUSED
    report("undone", host, name, kept, language)
    return 0


def _all_without_tap(one: ConfigFile, chosen: Sequence[Keys]) -> str:
    originals = {keys: unwrapped(one.servers[keys]) for keys in chosen}
    return _without_tap(one.text, one.host, originals, one.path)


def _without_tap(text: str, host: Host, originals: Mapping[Keys, Any], path: Path) -> str:
    """Return the text as it was before the tap, byte for byte where the backup tells."""
    before = config_file.undone(text, host, tuple(originals), path)
    if before is not None:
        known = config_file.all_servers(config_file.parsed(before, host.format, path), host, path)
        if all(_alike(known.get(keys), original) for keys, original in originals.items()):
            return before
    return config_file.with_entries(text, host, originals, path)


def _alike(before: object, original: Mapping[str, Any]) -> bool:
    """Say whether an entry is the one without the tap; having no arguments may be left unsaid."""
    if not isinstance(before, dict):
        return False
    return {**before, "args": before.get("args", [])} == {"args": [], **original}

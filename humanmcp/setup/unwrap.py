"""`humanmcp unwrap HOST SERVER`: take the tap away again; the file is as it was before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from humanmcp.connecting.hosts import BY_NAME, Host
from humanmcp.locales import language_of
from humanmcp.locales.stop import REFUSED
from humanmcp.settings import add_flags
from humanmcp.setup import config_file
from humanmcp.setup.config_file import ConfigError
from humanmcp.setup.wrap import WrapError, add_place, entry_of, place_of, report
from humanmcp.setup.wrapping import unwrapped
from humanmcp.terminal import Painted, complain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from pathlib import Path

    from humanmcp.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `unwrap`."""
    add_place(parser)
    add_flags(parser, "lang")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Take the tap out. Returns the exit status."""
    language = language_of(settings.lang)
    host, path, name = BY_NAME[arguments.host], place_of(arguments), arguments.server
    try:
        text, entry = entry_of(host, name, path)
        original = unwrapped(entry)
        if original is None:
            raise WrapError("not wrapped", name=name, path=path)
        kept = config_file.write(path, _without_tap(text, host, name, original, path))
    except ConfigError as error:
        complain(Painted(error.sentence(language), "yellow"))
        return REFUSED
    report("undone", host, name, kept, language)
    return 0


def _without_tap(text: str, host: Host, name: str, original: dict[str, Any], path: Path) -> str:
    """Return the text as it was before the tap, byte for byte where the backup tells."""
    before = config_file.undone(text, host, name, path)
    if before is not None:
        known = config_file.servers(config_file.parsed(before, host.format, path), host, path)
        if _alike(known.get(name), original):
            return before
    return config_file.with_entry(text, host, name, original, path)


def _alike(before: object, original: Mapping[str, Any]) -> bool:
    """Say whether an entry is the one without the tap; having no arguments may be left unsaid."""
    if not isinstance(before, dict):
        return False
    return {**before, "args": before.get("args", [])} == {"args": [], **original}

"""`humanmcp apps`: what a host did with the page of the probe."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import raw_to_stdout, to_stderr, to_stdout
from humanmcp.extensions.apps.report import BAD, Stage, musts, seen_in, verdicts
from humanmcp.inbox import open_inbox
from humanmcp.locales import say

if TYPE_CHECKING:
    import argparse

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings

NOTHING = 1
"""The exit status when no page reported."""


def add_arguments(parser: Parser) -> None:
    flag = parser.flags("apps")
    flag("session", nargs="?", default="", metavar="SESSION")
    flag("--json", action="store_true")
    add_flags(parser, "home", "inbox", "lang")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print the words of the newest session that has called the probe. Returns the exit status."""
    inbox = open_inbox(home_folder(settings.home), settings.inbox)
    for facts in inbox.sessions():
        if not facts.role.traits.serves or arguments.session not in ("", facts.name, facts.letter):
            continue
        seen = seen_in(inbox.frames(facts.name))
        if seen.stage is Stage.NOT_CALLED and not arguments.session:
            continue
        found = verdicts(seen)
        if arguments.json:
            client = f"{facts.client} {facts.client_version}".strip()
            rows = [one._asdict() | {"quote": musts()[one.name]["quote"]} for one in found]
            told = {"client": client, "stage": seen.stage, "verdicts": rows}
            raw_to_stdout(json.dumps(told, indent=1, ensure_ascii=False))
        else:
            width = max(len(say("apps", f"word {one.word}")) for one in found)
            for one in found:
                word = say("apps", f"word {one.word}")
                to_stdout(f"{word:{width}}  {say('apps', f'must {one.name}')}")
                if one.proof and one.word in BAD:
                    to_stdout(f"    {one.proof}")
        calls, pages = len(seen.calls), len(seen.pages)
        to_stderr(say("apps", f"stage {seen.stage}", calls=calls, pages=pages))
        return 0 if seen.stage is Stage.REPORTED else NOTHING
    to_stderr(say("apps", "stage not called"))
    return NOTHING

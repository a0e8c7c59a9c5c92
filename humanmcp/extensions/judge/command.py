"""`humanmcp judge`: run a client against everything that a server can do wrong."""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp.common.parsing import from_one, seconds
from humanmcp.common.person_files import write_whole
from humanmcp.common.settings import add_flags
from humanmcp.common.terminal import is_terminal, raw_to_stdout, rewrite, to_stderr
from humanmcp.extensions.judge.reports import FORMATS, report, said, summary
from humanmcp.extensions.judge.running import Client, JudgeError, run_client
from humanmcp.extensions.judge.server_faults import ServerFault, every, measure_of
from humanmcp.extensions.judge.serving import serve
from humanmcp.extensions.judge.verdicts import Verdict, Word, verdict
from humanmcp.locales import say
from humanmcp.locales.stop import USAGE_ERROR
from humanmcp.protocol.validation.redaction import without_secrets
from humanmcp.setup.hosts import BY_NAME

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping
    from concurrent.futures import Future

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.extensions.judge.running import Run

SECTION: Final = "judge"
WORSE: Final = 1
"""The exit status when something is worse than expected."""

_MARKS: Final = {
    "url": "{url}",
    "config": "{config}",
    "word": "{server}",
    "words": "{server...}",
}
"""What stands for the server in the arguments of a client."""


def add_arguments(parser: Parser) -> None:
    flag = parser.flags(SECTION)
    flag("client", nargs="*", metavar="CLIENT", said=_MARKS)
    flag("--serve", metavar="PORT", nargs="?", type=from_one, const=0)
    flag("--host", metavar="HOST", choices=tuple(BY_NAME), default="claude-desktop")
    flag("--list", action="store_true")
    flag("--only", metavar="NAMES")
    flag("--tool", metavar="NAME", action="append")
    flag("--jobs", type=from_one, metavar="COUNT", default=4 * (os.cpu_count() or 1))
    flag("--timeout", type=seconds, metavar="SECONDS", default=10.0)
    flag("--format", choices=sorted(FORMATS), default="table")
    flag("--expect", metavar="FILE")
    flag("--write-expect", metavar="FILE")
    add_flags(parser, "lang")


def run(arguments: argparse.Namespace, _settings: Settings) -> int:
    """Judge a client. Returns the exit status: 1 where it is worse than expected.

    Ctrl-C ends it and prints what there is.
    """
    chosen = _chosen(arguments.only)
    if arguments.list:
        width = max(len(one.name) for one in chosen)
        told = [(f"{one.name:{width}}  {one.place:9}", one.what()) for one in chosen]
        raw_to_stdout("\n".join(map("  ".join, told)))
        return 0
    is_served = arguments.serve is not None
    if not arguments.client and not is_served:
        to_stderr("humanmcp: ", say(SECTION, "no client", words=_MARKS["words"]))
        return USAGE_ERROR
    expected = _expected(arguments.expect)
    tools = tuple(arguments.tool or ("t",))
    client = Client(tuple(arguments.client), tools, arguments.host, arguments.timeout)
    if is_served:
        try:
            if any(one.guarded is not None for one in chosen):
                raise JudgeError("not served")
            verdicts, interrupted = serve(client, chosen, arguments.serve), False
        except (OSError, OverflowError) as error:
            raise JudgeError("no port", port=arguments.serve, why=error) from error
    else:
        verdicts, interrupted = _judge(client, chosen, arguments.jobs)
    raw_to_stdout(report(arguments.format, verdicts, client.words))
    to_stderr(summary(verdicts))
    if interrupted:
        to_stderr(say(SECTION, "interrupted", count=len(verdicts)))
    elif arguments.write_expect:
        _write_expected(arguments.write_expect, verdicts)
    order = tuple(Word).index
    worse = [one for one in verdicts if order(one.word) > order(expected.get(one.name, one.word))]
    for one in worse:
        words = {"word": said(one.word), "before": said(expected[one.name])}
        to_stderr(say(SECTION, "worse", name=one.name, **words))
    return WORSE if worse or interrupted else 0


def _chosen(only: str | None) -> list[ServerFault]:
    """Return the faults to play: those whose name or place is given.

    What other extensions bring needs a client that is prepared for it: it must be named.

    Raises:
        StopError: a name is unknown.
    """
    rows = [one for one in every().values() if one.kind != "good"]
    if only is None:
        return [one for one in rows if one.guarded is None]
    wanted = [name.strip().replace("-", "_") for name in only.split(",")]
    known = {name for one in rows for name in (one.name, one.place)}
    for name in wanted:
        if name not in known:
            raise JudgeError("no fault", name=name or '""')
    return [one for one in rows if one.name in wanted or one.place in wanted]


def _expected(file: str | None) -> Mapping[str, Word]:
    """Return the words of an earlier run: of `--write-expect`, or of `--format json`.

    Raises:
        StopError: the file cannot be read.
    """
    if not file:
        return {}
    try:
        content: Any = json.loads(Path(file).read_text("utf-8"))
        if "verdicts" in content:
            content = {one["name"]: one["word"] for one in content["verdicts"]}
        return {str(name): Word(word) for name, word in content.items()}
    except (OSError, ValueError, AttributeError, TypeError, KeyError) as error:
        raise JudgeError("not expected", file=file, why=error) from error


def _write_expected(file: str, verdicts: Iterable[Verdict]) -> None:
    """Keep the words for `--expect`.

    Raises:
        StopError: the file cannot be written.
    """
    content = {one.name: one.word.value for one in verdicts}
    try:
        write_whole(Path(file), (json.dumps(content, indent=1) + "\n").encode())
    except OSError as error:
        raise JudgeError("not written", file=file, why=error) from error


def _judge(client: Client, chosen: list[ServerFault], jobs: int) -> tuple[list[Verdict], bool]:
    """Play the good servers, then all others. Return the verdicts, and whether it was stopped.

    Raises:
        StopError: the client cannot be started, or does not work with a good server.
    """
    stopped = threading.Event()
    played = [one for one in chosen if one.transport in ("", client.transport)]
    if not played:
        raise JudgeError("not possible", words=_MARKS["url"])
    measures = {one.name: one for one in map(measure_of, played)}
    good = {name: _good(client, one, stopped) for name, one in measures.items()}
    verdicts: dict[str, Verdict] = {}
    interrupted = False
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        runs: dict[Future[Run], ServerFault] = {}
        try:
            for one in played:
                runs[pool.submit(run_client, client, one, stopped)] = one
            for done in as_completed(runs):
                row = runs[done]
                verdicts[row.name] = verdict(row, done.result(), good[measure_of(row).name])
                _progress(len(verdicts), len(played), row.name)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            stopped.set()
            for run in runs:
                run.cancel()
    _progress(0, 0, "")
    return [verdicts[one.name] for one in played if one.name in verdicts], interrupted


def _good(client: Client, row: ServerFault, stopped: threading.Event) -> Run:
    """Run the client with a server that makes no mistake.

    Raises:
        StopError: it does not work with that.
    """
    good = run_client(client, row, stopped)
    if good.ended_for:
        raise JudgeError(f"good {good.ended_for}", seconds=f"{client.most:g}")
    printed = without_secrets(good.output or "")[-500:].strip()
    if not any(one.what == "in" for one in good.events):
        raise JudgeError("not connected", words=_MARKS["words"], output=printed)
    if good.status:
        to_stderr(say(SECTION, "good fails", status=good.status, output=printed))
    return good


def _progress(count: int, total: int, name: str) -> None:
    """Show how far it is, in the line of the cursor; nothing when there is no total."""
    if is_terminal():
        rewrite(f"{count}/{total} {name}" if total else "")

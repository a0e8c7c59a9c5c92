"""`make hosts`: real hosts from npm, with what `humanmcp config` writes. See README.md."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from humanmcp.common.terminal import raw_to_stdout, to_stderr
from tools.hosts.approving import approve
from tools.hosts.hooking import SHELLS, hook
from tools.hosts.installing import CannotRunError, Installed, install
from tools.hosts.measuring import METHODS, waits
from tools.hosts.playing import tried
from tools.hosts.screening import SCREENS, screen
from tools.hosts.table import BY_NAME, RealHost


def main() -> int:
    """Run what was asked for. Returns 1 when a host did not do what it has to."""
    parser = argparse.ArgumentParser(prog="python -m tools.hosts", description=__doc__)
    parser.add_argument("hosts", nargs="*", choices=[[], *BY_NAME], help="which (default: all)")
    parser.add_argument("--folder", type=Path, help="keep the packages here for the next time")
    parser.add_argument(
        "--measure", nargs="+", choices=METHODS, help="how long each waits, instead"
    )
    parser.add_argument("--bound", type=float, default=120, help="seconds that --measure waits")
    parser.add_argument(
        "--approvals", nargs=2, type=int, metavar=("COMMANDS", "QUESTIONS"), help="decide so many"
    )
    parser.add_argument(
        "--page", type=int, metavar="COMMANDS", help="decide so many in a browser, a key each"
    )
    parser.add_argument("--hooks", action="store_true", help="decide what their hooks ask")
    parser.add_argument("--config", default="", help="further words for `humanmcp config`")
    arguments = parser.parse_args()
    chosen = [BY_NAME[name] for name in arguments.hosts or BY_NAME]
    with tempfile.TemporaryDirectory(prefix="hosts-", ignore_cleanup_errors=True) as folder:
        packages = arguments.folder or Path(folder) / "packages"
        there = _installed(chosen, packages.absolute())
        if arguments.approvals:
            return _approve(there, Path(folder), *arguments.approvals)
        if arguments.hooks:
            return _hooks(there, Path(folder))
        if arguments.page:
            return _press(there, Path(folder), arguments.page)
        if arguments.measure:
            return _measure(there, Path(folder), arguments)
        return _play(there, Path(folder), missing=len(chosen) - len(there))


def _installed(chosen: Sequence[RealHost], packages: Path) -> dict[RealHost, Installed]:
    there: dict[RealHost, Installed] = {}
    for host in chosen:
        try:
            there[host] = install(host, packages)
        except CannotRunError as error:
            to_stderr(f"NOT RUN: {host.name}: {error}")
        else:
            note = there[host].note
            to_stderr(f"{host.name} {there[host].version}" + (f" (failed: {note})" if note else ""))
    return there


def _play(there: dict[RealHost, Installed], folder: Path, *, missing: int) -> int:
    failed = 0
    for host, installed in there.items():
        outcome = tried(host, installed, folder / host.name)
        first = "never" if outcome.first is None else f"{outcome.first:.1f} s"
        state = "FAILED" if outcome.faults else "ok"
        raw_to_stdout(
            f"{state:7}{host.name} {installed.version} ({outcome.client or 'no client'}):"
            f" model asked after {first}"
        )
        for fault in outcome.faults:
            raw_to_stdout(f"       {fault}")
        if outcome.faults:
            failed += 1
            to_stderr(f"{host.name} said:\n{outcome.said}")
    raw_to_stdout(f"{len(there) - failed} ok, {failed} failed, {missing} not run")
    return 1 if failed or not there else 0


def _approve(there: dict[RealHost, Installed], folder: Path, commands: int, questions: int) -> int:
    """Decide every permission prompt of the hosts that send them to a tool."""
    failed = 0
    for host, installed in there.items():
        faults = approve(host, installed, folder / host.name, commands, questions)
        failed += bool(faults)
        state = "FAILED" if faults else "ok"
        raw_to_stdout(f"{state:7}{host.name} {installed.version}: {commands} + {questions} prompts")
        for fault in faults:
            raw_to_stdout(f"       {fault}")
    return 1 if failed or not there else 0


def _hooks(there: dict[RealHost, Installed], folder: Path) -> int:
    """Decide what the hosts hand to a hook, in each way in which that can end."""
    failed = 0
    for host, installed in there.items():
        own, plays = folder / host.name, []
        if host.name in SHELLS:
            plays.append(hook(host, installed, own))
        if host.name in SCREENS:
            plays.append(screen(host, installed, own))
        raw_to_stdout(f"{host.name} {installed.version}")
        for measured in (one for play in plays for one in play):
            failed += bool(measured.faults)
            raw_to_stdout(f"{'FAILED' if measured.faults else 'ok':7}{measured}")
    return 1 if failed or not there else 0


def _press(there: dict[RealHost, Installed], folder: Path, commands: int) -> int:
    """Decide every permission prompt of the hosts in the page, with the keys alone."""
    # The import is here, so that the other runs need no browser.
    from tools.hosts.pressing import press  # noqa: PLC0415 - see above

    failed = 0
    for host, installed in there.items():
        faults = press(host, installed, folder / host.name, commands)
        failed += bool(faults)
        state = "FAILED" if faults else "ok"
        keys = f"{commands} prompts, {commands} keys, 0 clicks"
        raw_to_stdout(f"{state:7}{host.name} {installed.version}: {keys}")
        for fault in faults:
            raw_to_stdout(f"       {fault}")
    return 1 if failed or not there else 0


def _measure(there: dict[RealHost, Installed], folder: Path, arguments: argparse.Namespace) -> int:
    def one(host: RealHost, method: str) -> str:
        waited = waits(
            host,
            there[host],
            folder / f"{host.name}-{method.replace('/', '-')}",
            method=method,
            bound=arguments.bound,
            flags=tuple(arguments.config.split()),
        )
        if waited is None:
            return f"{host.name} {there[host].version}: {method} never came"
        end = waited.end or "still waited"
        return f"{host.name} ({waited.client}): {method} {waited.seconds:.1f} s, {end}"

    work = [(host, method) for host in there for method in arguments.measure]
    with ThreadPoolExecutor(len(work)) as pool:  # they wait, nearly all of the time
        for line in pool.map(lambda pair: one(*pair), work):
            raw_to_stdout(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())

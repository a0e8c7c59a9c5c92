"""How well the tests of the core notice a mistake: each mutant is the core with one made in it.

    make mutants                        a sample of 300
    make mutants MUTANTS="--seed 2 3"   others; -n fewer, --under one package, --without a test
                                        that takes long, --tell which test noticed each

The tests run once as they are: that shows which of them run which line, and their time. Then each
mutant lives in a process of its own, forked when all tests are loaded: the mistake is put into
the function, and the tests that run its line are run, the quick ones first, up to the first that
fails. Where the line runs as soon as its module is loaded, everything is loaded again.

What no test notices is listed: each is a missing test, or a branch that changes nothing. A test
that takes much more processor time than it did is a timeout, counted apart: a busy machine makes
none. tools/mutants.toml lists mutants that behave as the original, with the reason. No part of
`make test`: it takes some minutes.
"""

import argparse
import ast
import gc
import hashlib
import importlib
import importlib.abc
import importlib.util
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import _lru_cache_wrapper
from importlib.machinery import ModuleSpec
from itertools import zip_longest
from pathlib import Path
from time import process_time
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple, NoReturn

import coverage
import jsonschema_rs  # noqa: F401 - here, so that not every mutant's process has to load it
import pytest
from hypothesis import HealthCheck, Phase, settings

from tools.mutations import ROOT, Mistake, make, mistakes

CORE: Final = "humanmcp/protocol"
EQUIVALENT: Final = ROOT / "tools" / "mutants.toml"
WIDE: Final = "tests/protocol/test_recorded_verdicts.py"
"""What notices much in little time, after the tests of the module itself."""
MEMORY: Final = 8 << 30
"""Bytes: some mistakes make a loop that collects forever."""

# The same examples in every run, none kept for the next one, and none made smaller.
settings.register_profile(
    "mutants",
    settings(
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    ),
)
OPTIONS: Final = (
    "-qq",
    "-s",
    "-pno:cacheprovider",
    "-otimeout=0",
    "--hypothesis-profile=mutants",
    "-Wignore::pytest.PytestAssertRewriteWarning",  # hypothesis is loaded, by the profile above
)


class Measured(NamedTuple):
    """What the tests did without a mistake."""

    seconds: Mapping[str, float]
    """The processor time of each test."""
    ran: Mapping[Mistake, set[str]]
    """Of each mistake the tests that run its lines; "" stands for all that loads modules."""

    def order(self, mistake: Mistake, items: list[pytest.Item]) -> list[pytest.Item]:
        """Return the tests that can notice a mistake, those first that are likely to and quick.

        A fixture runs a line for the first test that needs it alone, so all tests of its module
        are among them; what runs while modules are loaded can show in any test.
        """
        ran = self.ran[mistake]
        files = {test.partition("::")[0] for test in ran}
        own = mistake.file.replace("humanmcp/", "tests/", 1).rpartition("/")

        def rank(item: pytest.Item) -> tuple[bool, bool, int, float]:
            first = (f"{own[0]}/test_{own[2]}", WIDE)
            place = [*map(item.nodeid.startswith, first), True].index(True)
            seconds = self.seconds[item.nodeid]
            return item.nodeid not in ran, seconds > 1, place, seconds

        there = [one for one in items if one.nodeid in self.seconds]
        found = [one for one in there if "" in ran or one.nodeid.partition("::")[0] in files]
        return sorted(found, key=rank)


class Measuring:
    """Runs all tests without a mistake."""

    def __init__(self, under: str) -> None:
        """Begin before anything is loaded."""
        self.seconds: dict[str, float] = {}
        self.caches: list[_lru_cache_wrapper[Any]] = []
        self.coverage = coverage.Coverage(
            data_file=None, include=[f"{ROOT / under}/*"], config_file=False
        )
        self.coverage.set_option("run:core", "ctrace")
        self.coverage.start()

    def pytest_collection_finish(self) -> None:
        """Find the caches: they would run a line for the first test that needs it alone."""
        found = (one for one in gc.get_objects() if isinstance(one, _lru_cache_wrapper))
        self.caches = [one for one in found if (one.__module__ or "").startswith("humanmcp")]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Keep the time of each test and the lines it runs: with nothing in any cache."""
        for cache in self.caches:
            cache.cache_clear()
        self.coverage.switch_context(item.nodeid)
        began = process_time()
        result = yield
        self.seconds[item.nodeid] = process_time() - began
        return result

    def measured(self, sample: Sequence[Mistake]) -> Measured:
        """Return what was seen."""
        self.coverage.stop()
        data = self.coverage.get_data()
        ran: dict[Mistake, set[str]] = {}
        for file in {mistake.file for mistake in sample}:
            there = data.contexts_by_lineno(str(ROOT / file))
            places = mistakes(file)
            for mistake in sample:
                if mistake.file == file:
                    lines = places[mistake].lines
                    ran[mistake] = {test for line in lines for test in there.get(line, ())}
        return Measured(self.seconds, ran)


def measure(under: str, tests: list[str], sample: Sequence[Mistake]) -> Measured | None:
    """Run the tests without a mistake, or return None when they fail. For a process of its own."""
    measuring = Measuring(under)
    if pytest.main([*OPTIONS, "-x", *tests], plugins=[measuring]):
        return None
    return measuring.measured(sample)


class Watch:
    """Ends the process with the first test that fails, or that takes too much processor time."""

    def __init__(self, measured: Measured, mistake: Mistake, told: Path) -> None:
        """Tell in a file which test it was."""
        self.measured = measured
        self.mistake = mistake
        self.told = told

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Let a signal end the process when the time is over."""
        self.told.write_text(item.nodeid, "utf-8")
        signal.setitimer(signal.ITIMER_PROF, 5 + 5 * self.measured.seconds[item.nodeid])
        result = yield
        signal.setitimer(signal.ITIMER_PROF, 0)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """End with the first that fails; a test that fills the memory would have gone on."""
        if report.failed:
            self.noticed(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """End when tests cannot be loaded."""
        if report.failed:
            self.told.write_text(report.nodeid, "utf-8")
            self.noticed(report)

    def noticed(self, report: pytest.TestReport | pytest.CollectReport) -> NoReturn:
        """End the process."""
        if "MemoryError" in str(report.longrepr):
            signal.raise_signal(signal.SIGPROF)
        os._exit(pytest.ExitCode.TESTS_FAILED)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> NoReturn:
        """Run the tests that can notice the mistake, and end the process."""
        items = self.measured.order(self.mistake, session.items)
        for item, following in zip_longest(items, items[1:]):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        os._exit(pytest.ExitCode.OK)


class Trying:
    """Tries the mutants, each in a fork of this process, once pytest has loaded the tests."""

    def __init__(
        self, measured: Measured, sample: Sequence[Mistake], workers: int, *, tell: bool = False
    ) -> None:
        """Know what to try; `tell` names those that are noticed, too."""
        self.measured = measured
        self.sample = sample
        self.workers = workers
        self.tell = tell
        self.kinds: dict[Mistake, str] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Fork and wait."""
        for file in {mistake.file for mistake in self.sample}:
            importlib.import_module(_module_of(file))  # some are loaded by the first use alone
        functions = [one for one in gc.get_objects() if isinstance(one, FunctionType)]
        gc.freeze()
        waiting = list(self.sample)
        running: dict[int, Watch] = {}
        with tempfile.TemporaryDirectory() as folder:
            while waiting or running:
                while waiting and len(running) < self.workers:
                    watch = Watch(self.measured, waiting.pop(), Path(folder, str(len(waiting))))
                    running[_forked(watch, session, functions)] = watch
                child, status = os.wait()
                watch = running.pop(child)
                self._ended(watch, _kind(os.waitstatus_to_exitcode(status)))
        return True

    def _ended(self, watch: Watch, kind: str) -> None:
        self.kinds[watch.mistake] = kind
        if self.tell or kind != "noticed":
            last = watch.told.read_text("utf-8") or "no test runs it"
            sys.stderr.write(f"{kind}: {watch.mistake}  [{last}]\n")


def _forked(watch: Watch, session: pytest.Session, functions: Sequence[FunctionType]) -> int:
    """Return the process of a mutant."""
    watch.told.touch()
    if child := os.fork():
        return child
    try:
        with open(os.devnull, "w", encoding="utf-8") as nothing:  # noqa: PTH123 - a name, no path
            os.dup2(nothing.fileno(), 1)
            os.dup2(nothing.fileno(), 2)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        _be(watch, session, functions)
    finally:
        os._exit(pytest.ExitCode.INTERNAL_ERROR)


def _be(watch: Watch, session: pytest.Session, functions: Sequence[FunctionType]) -> None:
    """Be the mutant, and run its tests."""
    tree = make(watch.mistake)
    at_once = "" in watch.measured.ran[watch.mistake]
    if not at_once and _swapped(watch.mistake.file, tree, functions):
        session.config.pluginmanager.register(watch)
        session.config.hook.pytest_runtestloop(session=session)
    for name in [
        one for one in sys.modules if one.partition(".")[0] in ("humanmcp", "tests", "tools")
    ]:
        del sys.modules[name]
    sys.meta_path.insert(0, _WithMistake(watch.mistake.file, tree))
    ended = pytest.main([*OPTIONS, *session.config.args], plugins=[watch])
    if ended in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED):
        os._exit(pytest.ExitCode.TESTS_FAILED)  # nothing can be loaded


def _swapped(file: str, tree: ast.Module, functions: Sequence[FunctionType]) -> bool:
    """Give the functions of a loaded module their code with the mistake; False if they cannot."""
    codes = list(_codes(compile(tree, ROOT / file, "exec")))
    for function in functions:
        if function.__code__.co_filename == codes[0].co_filename:
            same = [code for code in codes if _name(code) == _name(function.__code__)]
            if len(same) != 1:
                return False
            try:
                function.__code__ = same[0]
            except ValueError:  # it no longer uses a name of the function around it
                return False
    return True


def _module_of(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _name(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


class _WithMistake(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from its changed tree, and leaves the others alone."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        """Take the place of the file's module."""
        self.name = _module_of(file)
        self.file = str(ROOT / file)
        self.tree = tree

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> Any:  # noqa: ANN401 - as the interpreter wants it
        """Find the one module."""
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.file, loader=self)

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to the interpreter."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed module."""
        exec(compile(self.tree, self.file, "exec"), vars(module))


def every(under: str) -> list[Mistake]:
    """List all mistakes below a folder."""
    files = sorted(one.relative_to(ROOT).as_posix() for one in (ROOT / under).rglob("*.py"))
    return [mistake for file in files for mistake in mistakes(file)]


def chosen(there: Sequence[Mistake], count: int, seed: int) -> list[Mistake]:
    """Return a random sample: of another state of the code it has what both have in common."""

    def chance(mistake: Mistake) -> bytes:
        return hashlib.sha256(f"{seed} {mistake}".encode()).digest()

    return sorted(there, key=chance)[:count]


def equivalents() -> dict[Mistake, str]:
    """Return the mistakes that change nothing, each with its reason."""
    rows = tomllib.loads(EQUIVALENT.read_text("utf-8"))["mutant"]
    return {Mistake(nth=row.pop("nth", 1), **row): why for row in rows for why in [row.pop("why")]}


def _kind(ended: int) -> str:
    match ended:
        case pytest.ExitCode.OK:
            return "survived"
        case pytest.ExitCode.TESTS_FAILED:
            return "noticed"
        case _:
            return "timeout" if ended == -signal.SIGPROF else "broken off"


def main(words: Sequence[str] | None = None) -> int:
    """Make the mutants and say how many were noticed, of each seed."""
    wanted = _wanted(words)
    os.chdir(ROOT)
    there, known = every(wanted.under), equivalents()
    for mistake in known.keys() - set(there):
        if mistake.file.startswith(wanted.under):
            sys.stderr.write(f"{EQUIVALENT.name} lists what cannot be made: {mistake}\n")
    samples = {seed: chosen(there, wanted.n, seed) for seed in wanted.seed}
    tried = list(
        {
            mistake: mistake
            for sample in samples.values()
            for mistake in sample
            if mistake not in known
        }
    )
    tests = ["/".join(["tests", *Path(wanted.under).parts[1:2]])]
    tests += [f"--deselect={one}" for one in wanted.without]
    with multiprocessing.get_context("fork").Pool(1) as pool:
        measured = pool.apply(measure, (wanted.under, tests, tried))
    if measured is None:
        sys.stderr.write("the tests fail without any mistake: every mutant would seem noticed\n")
        return 1
    trying = Trying(measured, tried, wanted.workers, tell=wanted.tell)
    pytest.main([*OPTIONS, *tests], plugins=[trying])
    for seed, sample in samples.items():
        kinds = Counter(trying.kinds.get(mistake, "equivalent") for mistake in sample)
        share = 100 * kinds["noticed"] / max(1, len(sample) - kinds["equivalent"])
        told = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
        sys.stderr.write(f"seed {seed}, {len(sample)} of {len(there)}: {told}; {share:.1f} %\n")
    return 0


def _wanted(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", type=int, default=300)
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--under", default=CORE)
    parser.add_argument("--tell", action="store_true")
    parser.add_argument("--without", nargs="*", default=[], help="tests that are not run")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())

"""This process: its standard descriptors, its open files, the signals that end it, and its log.

For the processes whose stdin and stdout are a wire: no other code in such a process may read or
write there by accident. Knows numbers of open files and nothing of what goes through them. A host
seldom shows the stderr of what it starts, so the log is a file: all processes write to the same
one, each line with the number of its process. No message's content goes there. One that grows large
is put aside, so that two of them are there at most.
"""

from __future__ import annotations

import _thread
import contextlib
import logging
import math
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, NoReturn, TypeAlias

from humanmcp.common.guarded import ToldToStopError
from humanmcp.locales.stop import stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import TextIOWrapper
    from types import FrameType
    from typing import Self

    _Handler: TypeAlias = Callable[[int, FrameType | None], object]
    _Reaction: TypeAlias = _Handler | int | None


_STARTED: Final = 19
"""Which member of /proc/self/stat, after the name of the program, is the start: in clock ticks."""


def age() -> float:
    """Return the seconds since this process was started, also those in which it did not run.

    Where the system does not tell, those in which it ran.
    """
    with suppress(OSError, AttributeError):
        started = int(Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()[_STARTED])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")
    return time.process_time()


# -- descriptors and open files ------------------------------------------------------------------


_FIRST_PRIVATE: Final = 3  # all code knows 0, 1 and 2


def open_standard_descriptors() -> None:
    """Let no file that is opened later be stdin, stdout or stderr, where one of them is closed."""
    for descriptor in range(_FIRST_PRIVATE):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest number that is free


def claim() -> tuple[int, int]:
    """Hide stdin and stdout from all other code of this process, and from its children.

    Returns their private descriptors. From then on descriptor 0 reads nothing and 1 is stderr.
    """
    source, sink = private(0, os.O_RDONLY), private(1, os.O_WRONLY)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # the host started us without a stderr
        os.dup2(nothing, 1)
    if nothing >= _FIRST_PRIVATE:
        os.close(nothing)
    return source, sink


def private(descriptor: int, mode: int) -> int:
    """Duplicate a standard descriptor to a private one, which no child inherits."""
    if sys.platform == "win32":  # pragma: no cover - exercised on Windows only
        import msvcrt  # noqa: PLC0415 - exists there only

        own = os.dup(descriptor)
        msvcrt.setmode(own, os.O_BINARY)
        return own
    import fcntl  # noqa: PLC0415 - Windows has none

    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_PRIVATE)
    except OSError:  # closed from the start: then there is nothing to read, or no reader
        nothing = os.open(os.devnull, mode)
        try:
            return fcntl.fcntl(nothing, fcntl.F_DUPFD_CLOEXEC, _FIRST_PRIVATE)
        finally:
            os.close(nothing)


def ending_signals() -> list[signal.Signals]:
    """List the signals that end a program in order, as far as this system has them."""
    names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


def is_ignored_hangup(number: signal.Signals) -> bool:
    """Return True for a SIGHUP that was ignored before (`nohup`): it stays ignored."""
    return number.name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN


def leave_signals_to_the_main_thread() -> None:
    """Block signals in this thread, so that the kernel interrupts the main thread with them."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, ending_signals())


FEWEST: Final = 32
"""The fewest open files with which our programs work."""

PLENTY: Final = 10_240
"""Enough open files for everything here, and the most that macOS allows."""


def need_files() -> int:
    """Raise the limit of open files as far as the system allows. Return the limit.

    Raises:
        StopError: the limit is too low.
    """
    if sys.platform == "win32":  # pragma: no cover - there is no such limit there
        return PLENTY
    import resource  # noqa: PLC0415 - exists on the other systems only

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed, most = (PLENTY if one == resource.RLIM_INFINITY else one for one in limits)
    wanted = min(most, PLENTY)
    if wanted > allowed:
        with suppress(OSError, ValueError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, limits[1]))
            allowed = wanted
    if allowed < FEWEST:
        raise stopped("files_allowed", "few", count=allowed, needed=FEWEST)
    return allowed


# -- signals -------------------------------------------------------------------------------------


class StopSignals:
    """Calls `notify` with the number of each signal that ends a server, immediately.

    Hosts send SIGINT, SIGTERM or both; a terminal that closes sends SIGHUP, which stays ignored
    where it was (`nohup`). `undo` brings the former state back.

    A handler in Python would not do: it runs in the main thread, which does not notice a signal
    that arrives just before it begins to wait. So the interpreter writes the number of each signal
    into a pipe, and a thread reads it there.
    """

    def __init__(self, notify: Callable[[int], object], react: _Handler | None = None) -> None:
        """Start listening. Only the main thread may call this.

        `react` is the handler in the main thread, in which nothing happens otherwise; with it, all
        signals stay ignored that were.
        """
        self._notify = notify
        self._before: dict[int, _Reaction] = {}
        for number in ending_signals():
            ignored = react is not None and signal.getsignal(number) is signal.SIG_IGN
            if not (ignored or is_ignored_hangup(number)):
                self._before[number] = signal.signal(number, react or _leave_it_to_the_pipe)
        reader, self._writer = os.pipe()
        if os.name != "nt":  # there it need not be, and cannot
            os.set_blocking(self._writer, False)
        self._writer_before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        threading.Thread(target=self._listen, args=(reader,), name="signals", daemon=True).start()

    def undo(self) -> None:
        """Restore the handlers of before. A second call changes nothing."""
        if self._writer < 0:
            return
        signal.set_wakeup_fd(self._writer_before)
        for number, before in self._before.items():
            signal.signal(number, before)
        os.close(self._writer)
        self._writer = -1

    def __enter__(self) -> Self:
        """Listen within the context."""
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the handlers."""
        self.undo()

    def _listen(self, reader: int) -> None:
        while numbers := os.read(reader, 64):
            for number in numbers:
                if number in self._before:
                    self._notify(number)
        os.close(reader)


def _leave_it_to_the_pipe(_number: int, _frame: FrameType | None) -> None:
    """Replace the default reaction, which would end the process immediately."""


_AGAIN: Final = 0.1
"""Seconds after which a signal is repeated that the main thread did not notice."""

_JUST_NOW: Final = 2.0
"""Seconds that a busy machine may take to tell of a signal which the main thread has noticed."""


class _Stop:
    """Raises an exception in the main thread at a signal, and again if it got lost.

    It is lost inside `__del__` and the callbacks of weak references: "exceptions that occur during
    their execution are ignored" (https://docs.python.org/3/reference/datamodel.html#object.__del__).
    And a handler does not run if the signal arrives just before the main thread begins to wait.
    """

    heard_at: ClassVar[float] = -math.inf
    """When a handler ran last, also one of somebody else who may have left since."""

    def __init__(self) -> None:
        self.is_over = False
        _Stop.heard_at = -math.inf
        self._lost_before = sys.unraisablehook
        self._one_insists = threading.Lock()

    def react(self, number: int, _frame: FrameType | None) -> NoReturn:
        """Stop what the main thread does, which this is the handler of."""
        stop_was_heard()
        raise KeyboardInterrupt if number == signal.SIGINT else ToldToStopError(128 + number)

    def insist(self, number: int) -> None:
        """Repeat a signal until the main thread has noticed it."""
        told_at = time.monotonic()
        with self._one_insists:  # two would interrupt what the exception of the first has begun
            time.sleep(_AGAIN)
            while not self.is_over and _Stop.heard_at < told_at - _JUST_NOW:
                now_reacts = signal.getsignal(number)
                is_ours = now_reacts == self.react
                if not (is_ours or now_reacts is _leave_it_to_the_pipe):
                    return  # it has heard of the signal itself
                if sys.platform == "win32":
                    _thread.interrupt_main(signal.Signals(number))
                else:
                    signal.pthread_kill(threading.main_thread().ident or 0, number)
                if not is_ours:  # it came while another began to react, who did not hear of it
                    return
                time.sleep(_AGAIN)

    def lost(self, lost: sys.UnraisableHookArgs) -> None:
        """Insist if the interpreter ignores our exception. A `sys.unraisablehook`."""
        match lost.exc_value:
            case ToldToStopError(code=int(status)):
                number = status - 128
            case KeyboardInterrupt():
                number = int(signal.SIGINT)
            case _:
                self._lost_before(lost)
                return
        _Stop.heard_at = -math.inf
        threading.Thread(target=self.insist, args=(number,), daemon=True).start()


def stop_was_heard() -> None:
    """Note that the caller reacts to a signal: nobody repeats it, although it may end at once."""
    _Stop.heard_at = time.monotonic()


@contextlib.contextmanager
def ending_in_order() -> Iterator[None]:
    """Run `finally` blocks when a signal ends the process, so that no child is left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stop = _Stop()
    with StopSignals(stop.insist, stop.react):
        before, sys.unraisablehook = sys.unraisablehook, stop.lost
        try:
            yield
        finally:
            stop.is_over, sys.unraisablehook = True, before


def end_with_stdin() -> None:
    """End this process in order when nobody holds the other end of stdin, unless a byte came."""

    def wait() -> None:
        if not os.read(0, 1):
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="starter", daemon=True).start()


# -- the log -------------------------------------------------------------------------------------


LOG_NAME: Final = "humanmcp.log"
OLD_NAME: Final = "humanmcp.old.log"
LARGEST_LOG: Final = 4 * 1024 * 1024
FORMAT: Final = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"

logger = logging.getLogger(__name__)


def log_to(folder: Path) -> None:
    """Send the log to the file in this folder; a large one is put aside first.

    Raises:
        OSError: the file cannot be written.
    """
    handler = LogFile(folder / LOG_NAME, folder / OLD_NAME)
    logging.basicConfig(handlers=[handler], level=logging.INFO, format=FORMAT)


class LogFile(logging.FileHandler):
    """A log file for its owner only, which is rotated at `largest` bytes.

    Several processes may write to it: the first that finds it too large renames it, and the others
    follow.
    """

    def __init__(self, file: Path, old: Path, largest: int = LARGEST_LOG) -> None:
        """Write to `file`; rename it to `old` when it is too large.

        Raises:
            OSError: it cannot be written.
        """
        logging.raiseExceptions = False  # a log that cannot be written must not flood stderr
        self._file, self._old, self._largest = file, old, largest
        _put_aside(file, old, largest)
        super().__init__(file, encoding="utf-8")

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        return open(
            self._file, "a", encoding="utf-8", opener=lambda path, _: os.open(path, flags, 0o600)
        )

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, to a new file if this one is too large or was renamed.

        If a new file cannot be made, the old one is kept: a thread that logs must not end.
        """
        with suppress(OSError):
            _put_aside(self._file, self._old, self._largest)
            if self.stream is not None and not _is_at(self.stream.fileno(), self._file):
                before, self.stream = self.stream, self._open()
                before.close()
        super().emit(record)


def _put_aside(file: Path, old: Path, largest: int) -> None:
    with suppress(OSError):  # it does not exist yet, or another process has just renamed it
        if file.stat().st_size > largest:
            file.replace(old)


def _is_at(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False


def log_what_ends_a_thread() -> None:
    """Log uncaught exceptions of threads: hosts rarely show stderr, where they would go."""

    def note(what: threading.ExceptHookArgs) -> None:
        if what.exc_value is not None:
            logger.error("%s ended", what.thread, exc_info=what.exc_value)

    threading.excepthook = note

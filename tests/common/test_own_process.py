"""A process of ours: its signals, and the log that servers and taps share."""

import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MethodType
from typing import Final

import pytest

from humanmcp.common import own_process
from humanmcp.common.guarded import ToldToStopError
from humanmcp.common.own_process import ending_in_order
from humanmcp.http.listening import QuietServer
from tests.support.waiting import PATIENCE, until


@contextmanager
def alone() -> Iterator[None]:
    """Have the root logger for oneself, without pytest's own; put back what was set before."""
    root, hook = logging.getLogger(), threading.excepthook
    handlers, level, raising = root.handlers[:], root.level, logging.raiseExceptions
    root.handlers[:] = []
    try:
        yield
    finally:
        for handler in root.handlers:
            handler.close()
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.raiseExceptions, threading.excepthook = raising, hook


def test_a_large_log_is_put_aside(tmp_path: Path) -> None:
    """Before the next process writes to it; one older than that is not kept."""
    with (tmp_path / own_process.LOG_NAME).open("wb") as file:
        file.truncate(own_process.LARGEST_LOG + 1)
    with alone():
        own_process.log_to(tmp_path)
        logging.getLogger("here").info("once")
    assert "once" in (tmp_path / own_process.LOG_NAME).read_text("utf-8")
    assert (tmp_path / own_process.OLD_NAME).stat().st_size > own_process.LARGEST_LOG


def test_what_ends_a_thread_is_in_the_log(tmp_path: Path) -> None:
    """With the way to where it happened."""
    with alone():
        own_process.log_to(tmp_path)
        own_process.log_what_ends_a_thread()
        thread = threading.Thread(target=lambda: int("no number"), name="tap-out")
        thread.start()
        thread.join()
    said = (tmp_path / own_process.LOG_NAME).read_text("utf-8")
    assert "tap-out" in said
    assert "ValueError" in said


def test_a_log_that_grows_is_put_aside_while_it_is_written(tmp_path: Path) -> None:
    """Two files of bounded size are there at most, also when several processes write."""
    file, old = tmp_path / "a.log", tmp_path / "a.old.log"
    with alone():
        writers = [own_process.LogFile(file, old, largest=2000) for _ in range(3)]
        for number in range(400):
            record = logging.LogRecord("x", logging.INFO, "", 0, f"{number} {'x' * 90}", (), None)
            writers[number % 3].handle(record)
        for writer in writers:
            writer.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.log", "a.old.log"]
    assert file.stat().st_size < 2200
    assert old.stat().st_size < 2200
    assert file.stat().st_mode & 0o777 == 0o600
    numbers = [int(line.split()[0]) for line in (old.read_text() + file.read_text()).splitlines()]
    assert numbers == list(range(numbers[0], 400))  # and none is lost on the way


def test_a_log_whose_folder_is_gone_ends_no_thread(tmp_path: Path) -> None:
    """Whoever logged died of it, and with the thread of all sessions everybody's answer."""
    home = tmp_path / "home"
    home.mkdir()
    with alone():
        own_process.log_to(home)
        home.rename(tmp_path / "gone")
        for number in range(3):
            logging.getLogger("here").info("without a folder %s", number)
        home.mkdir()
        logging.getLogger("here").info("with one again")
    assert "with one again" in (home / own_process.LOG_NAME).read_text("utf-8")


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no SIGHUP")
def test_a_hangup_that_was_ignored_stays_ignored() -> None:
    """A command under `nohup` goes on when its terminal closes."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ending_in_order():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


SIGNALS: Final = [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, ToldToStopError)]


def wait_in_order(before: Callable[[], object], begins: Callable[[], object] = int) -> None:
    """Do something, then wait as a program for a person does; fail if no signal ends that."""
    with ending_in_order():
        before()
        begins()
        threading.Event().wait(PATIENCE)
        pytest.fail("the signal was lost")


class Signalling:
    """Who forgets it is sent a signal, where Python ignores what is raised."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number

    def __del__(self) -> None:
        signal.raise_signal(self.number)


@pytest.mark.skipif(sys.platform == "win32", reason="no signals of this kind")
@pytest.mark.parametrize(("number", "raised"), SIGNALS)
def test_a_signal_is_not_lost_where_exceptions_are_ignored(
    number: signal.Signals, raised: type[BaseException]
) -> None:
    """Its exception is raised in `__del__`."""
    with pytest.raises(raised):
        wait_in_order(lambda: Signalling(number))


@pytest.mark.skipif(sys.platform == "win32", reason="no signals of this kind")
@pytest.mark.parametrize(("number", "raised"), SIGNALS)
def test_a_signal_is_not_lost_that_does_not_wake_the_main_thread(
    number: signal.Signals, raised: type[BaseException]
) -> None:
    """As one that arrives just before that begins to wait."""
    begins = threading.Event()

    def send() -> None:
        begins.wait(PATIENCE)  # it waits now, or in a moment
        signal.pthread_kill(threading.get_ident(), number)

    began = time.monotonic()
    with pytest.raises(raised):
        wait_in_order(threading.Thread(target=send).start, begins.set)
    assert time.monotonic() - began < PATIENCE, "it ended because the wait did"


def test_a_signal_that_came_while_another_began_to_react_is_told_to_it() -> None:
    """Only the one before heard of it, whose handler is not there any more."""
    heard: list[int] = []
    with ending_in_order(), own_process.StopSignals(heard.append):
        stop = own_process._Stop()
        threading.Thread(target=stop.insist, args=(int(signal.SIGTERM),), daemon=True).start()
        until(lambda: bool(heard), "the signal")
    assert heard == [signal.SIGTERM]


def test_a_server_that_stops_at_once_is_not_told_again() -> None:
    """Its handler has gone when the signal is looked after, and it would end with 143."""
    with ending_in_order():
        reacts = signal.getsignal(signal.SIGTERM)
        assert isinstance(reacts, MethodType)
        stop = reacts.__self__
        assert isinstance(stop, own_process._Stop)
        server = QuietServer(print, print, most=1)
        with server.capture_signals():
            signal.raise_signal(signal.SIGTERM)
        stop.insist(signal.SIGTERM)
    assert server.should_exit


def test_who_reacts_to_a_signal_hears_of_it_once() -> None:
    """A server that was told twice ended in a hurry, or with the status of an interruption."""
    heard: list[int] = []
    with ending_in_order():
        before = signal.signal(signal.SIGTERM, lambda number, _frame: heard.append(number))
        try:
            stop = own_process._Stop()
            telling = threading.Thread(target=stop.insist, args=(int(signal.SIGTERM),))
            telling.start()
            telling.join(PATIENCE)
            assert not telling.is_alive()
        finally:
            signal.signal(signal.SIGTERM, before)
    assert heard == []

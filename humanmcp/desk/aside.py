"""Work on a large text in a process of its own: it keeps nobody waiting, and can be given up.

Theory of operation. In Python one thread computes at a time, and within one call of C no other
continues. So a thread does not help: the event loop would wait for a regular expression.
A child process reads the function and its arguments from stdin, and writes what the function yields
to stdout, item by item: reading takes a short step for each. It ends when its stdin ends, and is
killed when its visitor has gone.
"""

from __future__ import annotations

import asyncio
import copyreg
import os
import pickle
import subprocess
import sys
import threading
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from anyio import from_thread
from starlette.requests import ClientDisconnect

from humanmcp.common.own_process import end_with_stdin
from humanmcp.locales import speaking, spoken_language

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fastapi import Request

_Item = TypeVar("_Item")

CAN_START: Final = sys.platform != "emscripten"
"""False for Python in a browser, which has no processes, and nobody else who waits."""


def _read_only(values: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(values)


# not one that `pickle` knows
copyreg.pickle(MappingProxyType, lambda values: (_read_only, (dict(values),)))


class Aside(Generic[_Item]):
    """One call of a function of a module, whose items come from a child process."""

    def __init__(self, function: Callable[..., Iterable[_Item]], *arguments: object) -> None:
        """Start the process."""
        self._call = (function, arguments, spoken_language())
        self._is_given_up = False
        self._process = subprocess.Popen(  # noqa: S603 - this program itself
            [sys.executable, "-c", f"from {__name__} import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __iter__(self) -> Iterator[_Item]:
        """Yield what the function yields.

        Raises:
            ClientDisconnect: it was given up.
            ChildProcessError: it failed; its traceback is on our stderr.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # noqa: S101 - Popen made both pipes
        assert stdout is not None  # noqa: S101 - as above
        with self._process:
            try:
                with suppress(BrokenPipeError):  # it was killed: reading tells
                    pickle.dump(self._call, stdin)
                    stdin.flush()
                with suppress(EOFError, pickle.UnpicklingError):  # likewise
                    while True:
                        yield pickle.load(stdout)  # noqa: S301 - what our own process wrote
                status = self._process.wait()
            except BaseException:
                self._process.kill()
                raise
        if self._is_given_up:
            raise ClientDisconnect
        if status:
            raise ChildProcessError(status)

    def give_up(self) -> None:
        """End the process now."""
        self._is_given_up = True
        self._process.kill()


MOST_PROCESSES: Final = 4
_LOOKS_EVERY: Final = 0.1
_PROCESSES: Final = threading.BoundedSemaphore(MOST_PROCESSES)
"""Each process takes memory, and all together the processors."""


class PageVisitor:
    """The page that sent a request: `apart` works for it in processes, until it has gone."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._watch: asyncio.Task[None] | None = None
        self._running: set[Aside[Any]] = set()
        self._is_gone = False

    def items(
        self, function: Callable[..., Iterable[_Item]], *arguments: object
    ) -> Iterator[_Item]:
        """Yield what a function yields in a process. Called in a thread of the request.

        Raises:
            ClientDisconnect: the page has gone.
        """
        self.check()
        while not _PROCESSES.acquire(timeout=_LOOKS_EVERY):
            self.check()
        try:
            aside = Aside(function, *arguments)
            self._running.add(aside)
            if self._is_gone:  # in this very moment
                aside.give_up()
            yield from aside
            self._running.remove(aside)
        finally:
            _PROCESSES.release()

    def check(self) -> None:
        """Raise if the page has gone.

        Raises:
            ClientDisconnect: it has.
        """
        if self._watch is None:
            self._watch = from_thread.run_sync(lambda: asyncio.ensure_future(self._wait()))
        if self._is_gone:
            raise ClientDisconnect

    async def _wait(self) -> None:
        """End the processes when the page has gone; its body was read."""
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self._is_gone = True
        for aside in tuple(self._running):
            aside.give_up()

    def leave(self) -> None:
        """Watch no more."""
        if self._watch is not None:
            self._watch.cancel()


def main() -> None:
    """Be the child process."""
    stdout = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything else prints
    function, arguments, language = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own process
    end_with_stdin()
    with speaking(language):
        for item in function(*arguments):
            pickle.dump(item, stdout)
            stdout.flush()

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
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from fastapi.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from humanmcp.common.own_process import end_with_stdin
from humanmcp.desk.routing import SMALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fastapi import Request

_Item = TypeVar("_Item")
_Found = TypeVar("_Found")

CAN_START: Final = sys.platform != "emscripten"
"""False for Python in a browser, which has no processes: then it is done here."""


def _read_only(values: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(values)


# not one that `pickle` knows
copyreg.pickle(MappingProxyType, lambda values: (_read_only, (dict(values),)))


class Aside(Generic[_Item]):
    """One call of a function of a module, whose items come from a child process."""

    def __init__(self, function: Callable[..., Iterable[_Item]], *arguments: object) -> None:
        """Start the process."""
        self._call = (function, arguments)
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


async def with_items(
    request: Request,
    use: Callable[[Iterable[_Item]], _Found],
    size: int,
    function: Callable[..., Iterable[_Item]],
    *arguments: object,
) -> _Found:
    """Let `use` take what `function` yields about `size` bytes, in a thread.

    What is large is computed in a process, until whoever sent the request has gone.

    Raises:
        ClientDisconnect: they have.
    """
    if size <= SMALL or not CAN_START:
        return await run_in_threadpool(lambda: use(function(*arguments)))
    aside = Aside(function, *arguments)
    used = asyncio.ensure_future(run_in_threadpool(use, aside))
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({used, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        if not used.done():
            aside.give_up()
    return await used


async def _gone(request: Request) -> None:
    """Return when whoever sent a request has gone; its body was read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def main() -> None:
    """Be the child process."""
    stdout = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything else prints
    function, arguments = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own process
    end_with_stdin()
    for item in function(*arguments):
        pickle.dump(item, stdout)
        stdout.flush()

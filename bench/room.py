"""A room: how long it takes thirty people to sit down, and how soon a page hears of something."""

from __future__ import annotations

import http.client
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from bench.figures import Figure, percentile
from bench.load import BARELY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLASS: Final = 30
FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}


def room(folder: Path, rounds: int) -> Iterator[Figure]:
    """Thirty people join at once; then one raises a hand, and their page is told."""
    command = [sys.executable, "-m", "humanmcp", "room", "--home", str(folder / "room-home")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            port, code = _opened(process)
            people = 3 if rounds <= BARELY else CLASS
            began = time.perf_counter()
            with ThreadPoolExecutor(people) as all_of_them:
                places = list(all_of_them.map(lambda _: _join(port, code), range(people)))
            took = time.perf_counter() - began
            yield Figure(f"{people} people join a room", f"{took:.2f} s", took, 60, "s")
            waits = [_heard(port, *places[turn % people], turn) for turn in range(min(rounds, 60))]
            p50, p99 = statistics.median(waits) * 1e3, percentile(waits, 0.99) * 1e3
            what = f"a change in one of {people} seats until its page receives it"
            yield Figure(what, f"p50 {p50:.1f} ms, p99 {p99:.1f} ms", p99, 100, "ms at p99")
        finally:
            process.terminate()


def _opened(process: subprocess.Popen[str]) -> tuple[int, str]:
    port, code = 0, ""
    for line in process.stdout or ():
        if line.startswith("  http://127.0.0.1:"):
            port = port or int(line.rpartition(":")[2])
        if line.startswith("The code is "):
            code = line.split()[3].strip(".,").replace("-", "")
        if "cannot answer" in line:
            return port, code
    raise RuntimeError(process.returncode)


def _ask(port: int, method: str, path: str, body: str = "", cookie: str = "") -> tuple[str, str]:
    """Return the cookie that came, and the body."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {
        "Origin": f"http://127.0.0.1:{port}",
        **FORM,
        **({"Cookie": cookie} if cookie else {}),
    }
    connection.request(method, path, body, headers)
    got = connection.getresponse()
    text = got.read().decode()
    connection.close()
    return (got.getheader("set-cookie") or "").partition(";")[0], text


def _join(port: int, code: str) -> tuple[str, str]:
    """Return the place and the cookie of a new seat whose page was opened once."""
    cookie, page = _ask(port, "POST", "/login", f"code={code}&name=x")
    place = page.partition("url=")[2].partition('"')[0].rstrip("/")
    _ask(port, "GET", f"{place}/", cookie=cookie)
    return place, cookie


def _heard(port: int, place: str, cookie: str, turn: int) -> float:
    """Return the seconds between pressing the button and the event."""
    stream = http.client.HTTPConnection("127.0.0.1", port)
    stream.request("GET", f"{place}/api/events", headers={"Cookie": cookie})
    events = stream.getresponse()
    _until(events, b"event: hello")
    began = time.perf_counter()
    act = "lower" if turn // CLASS % 2 else "raise"
    _ask(port, "POST", f"{place}/own", f"act={act}", cookie)
    _until(events, b"event: change")
    took = time.perf_counter() - began
    stream.close()
    return took


def _until(events: http.client.HTTPResponse, line: bytes) -> None:
    while heard := events.readline():
        if heard.strip() == line:
            return
    raise RuntimeError(events.status)  # it ended before


ALL: Final = (room,)

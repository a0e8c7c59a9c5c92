"""Every measurement of the server and the check. Each returns its rows of the table."""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
import tracemalloc
from typing import TYPE_CHECKING, Final

from bench.figures import Figure, percentile, ratio, spread
from bench.load import BARELY
from bench.peer import SDK_SERVER, TS_PACKAGES, TS_SERVER, Peer, call, exists, humanmcp, watch
from humanmcp.inbox.contract import Key, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import Message, as_json, read
from humanmcp.protocol.validation import check as draft_check
from humanmcp.protocol.validation.captures import read_capture

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BOOK: Final = """
[[tools]]
name = "forecast"
description = "Tell the weather"
inputSchema = { type = "object", properties = { location = { type = "string" } } }

[[rules]]
method = "tools/call"
tool = "forecast"
text = "sunny in Tokyo"
"""
PROMPT: Final = (
    b'{"hook_event_name":"PermissionRequest","session_id":"1","cwd":"/p","tool_name":"Bash",'
    b'"transcript_path":"/home/me/.claude/projects/-p/1.jsonl","tool_input":{"command":"ls"}}'
)


def start_up(folder: Path, rounds: int) -> Iterator[Figure]:
    """From the spawn to the first automatic answer, the two servers taking turns; a whole hook."""
    ours, theirs, hooks = [], [], []
    hook = [
        sys.executable,
        "-m",
        "humanmcp",
        "hook",
        "--limit",
        "0",
        "--home",
        str(folder / "hook"),
    ]
    for _round in range(rounds):
        with Peer(humanmcp(folder / "start", "--auto")) as server:
            ours.append(server.open())
        with Peer(SDK_SERVER) as sdk:
            theirs.append(sdk.open())
        began = time.perf_counter()
        subprocess.run(hook, input=PROMPT, check=True, capture_output=True)
        hooks.append(time.perf_counter() - began)
    yield ratio("spawn to first automatic answer", ours, theirs, 0.15)
    yield spread("a hook that nobody answers, spawn to end", hooks, 150)


def round_trip(folder: Path, rounds: int) -> Iterator[Figure]:
    """A call that a rule answers, and the same call to the SDK's server, taking turns."""
    book = folder / "book.toml"
    book.write_text(BOOK, encoding="utf-8")
    ours, theirs = [], []
    server_command = humanmcp(folder / "round", "--auto", "--book", str(book))
    with Peer(server_command) as server, Peer(SDK_SERVER) as sdk:
        server.open()
        sdk.open()
        for number in range(1, rounds + 1):
            ours.append(server.ask(call(number)))
            theirs.append(sdk.ask(call(number)))
    yield ratio("a call answered by a rule, round trip", ours, theirs, 1.0)


def against_typescript(folder: Path, rounds: int) -> Iterator[Figure]:
    """The same call to a server of the TypeScript SDK, taking turns."""
    if shutil.which("node") is None or not TS_PACKAGES.is_dir():
        return
    book = folder / "book.toml"
    book.write_text(BOOK, encoding="utf-8")
    ours, theirs = [], []
    server_command = humanmcp(folder / "typescript", "--auto", "--book", str(book))
    with Peer(server_command) as server, Peer(TS_SERVER) as sdk:
        server.open()
        sdk.open()
        for number in range(1, rounds + 1):
            ours.append(server.ask(call(number)))
            theirs.append(sdk.ask(call(number)))
    yield ratio("a call answered by a rule, to the TypeScript SDK's", ours, theirs, 1.0)


def through_the_folder(folder: Path, rounds: int) -> Iterator[Figure]:
    """A request on stdin to its folder; a reply in the folder to stdout; out.txt to stdout."""
    home, texts = folder / "hand", folder / "hand-texts"
    arriving: list[float] = []
    sending: list[float] = []
    typing: list[float] = []
    with Peer(humanmcp(home, "--auto", "--files", str(texts))) as server:
        server.open()
        inbox = FolderInbox(home)
        watch(lambda: bool(inbox.sessions()))
        name = inbox.sessions()[0].name
        session = home / "sessions" / name
        for number in range(2, rounds * 2 + 2):  # 1 is initialize
            pending = str(session / "pending" / f"{number:04d}" / "request.json")
            began = time.perf_counter()
            server.write(call(number))
            arriving.append(watch(exists(pending)) - began)
            if number % 2:
                inbox.send(Key(name, number), Reply("sunny", TextForm.TEXT, by="bench"))
                into = sending
            else:
                answer = (
                    f'{{"jsonrpc":"2.0","id":{number},"result":'
                    '{"content":[{"type":"text","text":"sunny"}]}}\n'
                )
                (texts / "out.txt").write_text(answer, encoding="utf-8")
                into = typing
            began = time.perf_counter()
            server.read()
            into.append(time.perf_counter() - began)
    yield spread("request on stdin to visible in the folder", arriving, 50)
    yield spread("reply in the folder to stdout", sending, 50)
    yield spread("out.txt saved to stdout", typing, 25)


def check(_folder: Path, rounds: int) -> Iterator[Figure]:
    """The check of a small result and of one of 10 MB."""
    request = read(call(1).rstrip(b"\n"))
    assert isinstance(request, Message)
    exchange = Exchange(1, request, "2025-11-25")
    small = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"sunny"}]}}'
    took = [_seconds_of_check(exchange, small) for _round in range(rounds * 20)]
    micro = statistics.median(took) * 1e6
    yield Figure("check of a small result", f"{micro:.0f} µs", micro, 50, "µs")
    item = '{"type":"text","text":"' + "sunny " * 160 + '"}'
    large = small.replace('{"type":"text","text":"sunny"}', ",".join([item] * 10_500))
    assert len(large) > 10_000_000
    took = [_seconds_of_check(exchange, large) for _round in range(3)]
    second = statistics.median(took)
    yield Figure("check of a 10 MB result", f"{second:.2f} s", second, 1, "s")
    times, count = (1, 400) if rounds <= BARELY else (3, 40_000)
    slowest, kind = max(
        (min(_seconds_of_check(asked, text, right=False) for _round in range(times)), kind)
        for kind, asked, text in _mistaken(count, exchange)
    )
    shown = f"{slowest:.2f} s ({kind})"
    what = f"check of {count:,} mistakes of one kind, the slowest kind"
    yield Figure(what, shown, slowest, 1, "s")


def logs(_folder: Path, rounds: int) -> Iterator[Figure]:
    """Read a log of messages, each a text in an envelope, and one of words: CPU time, memory."""
    count, size = (1_000, 1) if rounds <= BARELY else (100_000, 30)
    request, response = call(1).decode().strip(), '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'
    lines = (
        f'{{"time":"2026-11-20T10:00:00.{at % 1000:03}Z","dir":"{side}","msg":{as_json(text)}}}'
        for at in range(count // 2)
        for side, text in (("recv", request), ("send", response))
    )
    yield from _reading("\n".join(lines), f"a log of {count:,} messages", 6.5, 200)
    word = "2026-11-20T10:00:00.123Z INFO [worker-{at}] handled /api/items/{at} in 12 ms\n"
    words = "".join(word.format(at=at) for at in range(size * 1_000_000 // len(word)))
    yield from _reading(words, f"a log of {size} MB of words", 3.3, 175)


def _reading(text: str, what: str, seconds: float, megabytes: float) -> Iterator[Figure]:
    tracemalloc.start()
    lines = len(read_capture(text))
    most = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    assert lines == len(text.splitlines())
    began = time.process_time()
    read_capture(text)
    took = time.process_time() - began
    yield Figure(what, f"{took:.1f} s", took, seconds, "s")
    yield Figure(f"{what}, and its memory", f"{most:.0f} MB", most, megabytes, "MB")


def _mistaken(count: int, call: Exchange) -> Iterator[tuple[str, Exchange, str]]:
    """Yield the name of a kind, what is answered, and a text with so many mistakes of the kind."""
    kinds = {
        "missing colons": (",", '{"a" 1}'),
        "equals signs": (",", '{"a"= 1}'),
        "missing commas": (" ", "1"),
        "trailing commas": (",", "[1,]"),
        "single quotes": (",", "'a'"),
        "curly quotes": (",", "“a”"),
        "half characters": (",", r'"a\ud83d"'),
        "joined texts": (",", '"a" "b"'),
        "names without quotes": (",", "{a:1}"),
        "line breaks": (",", '"a\nb"'),
        "no numbers of JSON": (",", "NaN"),
        "no number of JSON in each object": (",", '{"a":"b","c":"d","e":NaN}'),
        "unknown members": (",", '{"type":"text","text":"a","b":1}'),
        "wrong types": (",", '{"type":"text","text":1}'),
    }
    for kind, (between, part) in kinds.items():
        listed = between.join([part] * count)
        before = '"content":' if "type" in part else '"content":[],"structuredContent":'
        yield kind, call, f"{{{before}[{listed}]}}"
    members = ",".join(f'"x{at}":1' for at in range(count))
    yield "unknown members, each with another name", call, f'{{"content":[],{members}}}'
    request = read(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    assert isinstance(request, Message)
    for kind, schema in (
        ("one tool name for all", ""),
        ("one tool name, and schemas that hosts refuse", ',"anyOf":[{"required":["a"]}]'),
    ):
        tool = f'{{"name":"a","inputSchema":{{"type":"object"{schema}}}}}'
        listed = ",".join([tool] * count)
        yield kind, Exchange(1, request, call.version), f'{{"tools":[{listed}]}}'


def _seconds_of_check(exchange: Exchange, text: str, *, right: bool = True) -> float:
    began = time.process_time()
    verdict = draft_check.check(exchange, text, TextForm.MESSAGE, NegotiatedState())
    took = time.process_time() - began
    assert verdict.sendable or not right
    return took


def memory(folder: Path, rounds: int) -> Iterator[Figure]:
    """The server's memory after the handshake, and with requests waiting."""
    with Peer(humanmcp(folder / "memory", "--auto")) as server:
        server.open()
        idle = server.resident()
        _pile_up(server, folder / "memory", rounds)
        full = server.resident()
    yield Figure("memory of the server, idle", f"{idle:.1f} MB", idle, 25, "MB")
    yield Figure(f"memory of the server, {rounds} pending", f"{full:.1f} MB", full, 25, "MB")


def _pile_up(server: Peer, home: Path, count: int) -> None:
    """Let requests wait, and see the last of them in the folder."""
    for number in range(2, count + 2):
        server.write(call(number))
    (session,) = (home / "sessions").iterdir()
    watch(exists(str(session / "pending" / f"{count + 1:04d}" / "request.json")))


def shutdown(folder: Path, rounds: int) -> Iterator[Figure]:
    """From the end of input, SIGTERM or SIGINT to the end of the process, 20 requests waiting."""
    for way, leave in LEAVING.items():
        took = []
        for one in range(max(3, rounds // 20)):
            home = folder / f"{way}-{one}"
            with Peer(humanmcp(home, "--auto")) as server:
                server.open()
                _pile_up(server, home, 20)
                took.append(server.ends_after(leave))
        worst = percentile(took, 1.0) * 1e3
        yield Figure(f"{way} to exit, 20 pending", f"{worst:.0f} ms", worst, 200, "ms")


def _close_stdin(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()


LEAVING: Final = {
    "end of input": _close_stdin,
    "SIGTERM": lambda process: os.kill(process.pid, signal.SIGTERM),
    "SIGINT": lambda process: os.kill(process.pid, signal.SIGINT),
}

ALL: Final = (
    start_up,
    round_trip,
    against_typescript,
    through_the_folder,
    check,
    logs,
    memory,
    shutdown,
)

"""The hosts of `kills.py`: a server with its pipe, an endpoint with its clients, a hook."""

import contextlib
import json
import os
import random
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from humanmcp.inbox.contract import Inbox, Key
from humanmcp.protocol.conversation.approvals import denied
from humanmcp.protocol.json.jsonrpc import as_json
from tests.support.forking import start
from tests.support.serve_http import JSON, ServingHttp, modern
from tests.support.serve_process import bare_environment
from tests.support.waiting import PATIENCE, until

SIZES: Final = (0, 0, 0, 5_000, 200_000)
"""How much is added to an answer: a pipe takes 4 KiB at once, and holds 64 KiB."""
EVENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "asks itself": {
        "hook_event_name": "PermissionRequest",
        "transcript_path": "/home/me/.claude/projects/-p/1.jsonl",
    },
    "runs after silence": {"hook_event_name": "BeforeTool"},
}
"""What an agent does where a hook says nothing: Claude Code, and Gemini CLI."""


class CallingHost(ABC):
    """What hosts that call a tool have in common: which call is theirs, what a person answers."""

    victims: tuple[str, ...] = ("host", "desk", "connection")
    people: tuple[int, ...] = (1, 1, 2)
    """How many people answer."""
    may_read: threading.Event

    @abstractmethod
    def call(self, number: int) -> None:
        """Ask for something under this number."""

    @abstractmethod
    def end(self) -> None:
        """Kill what serves the client, and read what is left."""

    def kill_client(self) -> None:
        """End the client. Nothing reaches it from then on."""
        raise NotImplementedError

    @abstractmethod
    def received(self) -> Sequence[Mapping[str, Any]]:
        """Return the messages that have reached the client."""

    def is_own(self, inbox: Inbox, key: Key, number: int) -> bool:
        """Return True if an exchange is the call with this number."""
        return inbox.item(key).id == str(number)

    def text(self, number: int, at: int, chance: random.Random) -> str:
        """Return the answer of one of the people."""
        return f"answer {number} of {at} " + "x" * chance.choice(SIZES)

    def sent_in(self, line: str, number: int) -> str:  # noqa: ARG002 - of a prompt it counts
        """Return the text of a person in what went out."""
        text: str = json.loads(line)["result"]["content"][0]["text"]
        return text

    def texts(self, number: int) -> Sequence[str]:
        """Return the answers to a call that have reached the client."""
        mine = [one for one in self.received() if one.get("id") == number]
        return [one["result"]["content"][0]["text"] for one in mine]

    def finish(self) -> None:
        """Let the client read on; an agent ends its hook."""
        self.may_read.set()


class Host(CallingHost):
    """A server process, and what its client has read from its pipe."""

    def __init__(self, home: Path, flags: tuple[str, ...], _seed: int = 0) -> None:
        """Start it; nothing here is up to chance."""
        (from_host, self._to), (self._from, to_host) = os.pipe(), os.pipe()
        null = os.open(os.devnull, os.O_WRONLY)
        words = ["serve", "--by-hand", "--home", str(home), *flags]
        files = (from_host, to_host, null)
        self.process = start(words, files, bare_environment(home.parent), home.parent)
        for one in files:
            os.close(one)
        self.heard: list[dict[str, Any]] = []
        self.may_read = threading.Event()
        self.may_read.set()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        rest = b""
        with contextlib.suppress(OSError):
            while self.may_read.wait() and (part := os.read(self._from, 65536)):
                *lines, rest = (rest + part).split(b"\n")
                self.heard += map(json.loads, lines)

    def received(self) -> Sequence[Mapping[str, Any]]:
        return tuple(self.heard)

    def call(self, number: int) -> None:
        """Call a tool under this id."""
        params = {"name": "ask", "arguments": {}}
        call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        os.write(self._to, json.dumps(call).encode() + b"\n")

    def close(self) -> None:
        """Close both ends, and let it end."""
        os.close(self._from)
        os.close(self._to)
        self.process.wait(PATIENCE)

    def end(self) -> None:
        """Kill it, and read what is left in the pipe."""
        self.process.kill()
        self.process.wait(PATIENCE)
        self.may_read.set()
        self._reader.join()
        os.close(self._to)
        os.close(self._from)


class HttpHost(CallingHost):
    """A server process with an endpoint, and what its clients have received or may still read."""

    victims = (*CallingHost.victims, "client")

    def __init__(self, home: Path, flags: tuple[str, ...], seed: int) -> None:
        """Start it, with one session that is named by an id."""
        self._random = random.Random(seed)
        self._server = ServingHttp(home, "--handshake", "book", *flags)
        self._headers = self._server.initialize()
        self._clients: list[Client] = []
        self.may_read = threading.Event()
        self.may_read.set()

    def received(self) -> Sequence[Mapping[str, Any]]:
        return [one for client in self._clients for one in client.heard()]

    def call(self, number: int) -> None:
        """Call a tool under this id, in 2026-07-28 or in the session."""
        # The same arguments would repeat an earlier call that a killed server did not answer.
        params: dict[str, Any] = {"name": "ask", "arguments": {"number": number}}
        if self._random.random() < 0.5:
            body, headers = modern("tools/call", number, **params)
        else:
            call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            body, headers = json.dumps(call), self._headers
        self._clients.append(Client(self._server.port, "POST", body, headers, self.may_read))

    def kill_client(self) -> None:
        self._clients[-1].end()

    def come_again(self, number: int) -> bool:
        """Come again for the response to this exchange, if its client has a session."""
        if self._clients[-1].headers is not self._headers:
            return False
        headers = {**self._headers, "Last-Event-ID": f"{number}-0"}
        self._clients.append(Client(self._server.port, "GET", "", headers, self.may_read))
        return True

    def end(self) -> None:
        """Kill the server, and read what is left in the sockets."""
        self._server.process.kill()
        self._server.process.wait(PATIENCE)
        self.may_read.set()
        for client in self._clients:
            client.end()
        self._server.kill()


class Client:
    """One connection to the endpoint, and the bytes that reached it."""

    def __init__(
        self,
        port: int,
        verb: str,
        body: str,
        headers: Mapping[str, str],
        may_read: threading.Event,
    ) -> None:
        """Send the request."""
        self.headers = headers
        self._may_read, self._raw = may_read, b""
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        fields = {**JSON, **headers, "Host": f"127.0.0.1:{port}", "Content-Length": len(body)}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self._socket.sendall(f"{verb} /mcp HTTP/1.1\r\n{head}\r\n{body}".encode())
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while self._may_read.wait() and (part := self._socket.recv(65536)):
                self._raw += part

    def heard(self) -> list[dict[str, Any]]:
        """Return the responses: the one of a body, or those in events."""
        found = []
        for line in self._raw.split(b"\n"):
            with contextlib.suppress(ValueError):
                message = json.loads(line.removeprefix(b"data: "))
                if isinstance(message, dict) and "id" in message:
                    found.append(message)
        return found

    def end(self) -> None:
        """Close it. What its system had received is read."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        self._may_read.set()
        self._reader.join()
        self._socket.close()


class HookHost(CallingHost):
    """One agent. `heard` has an entry for each hook that has ended, with the prompt's number."""

    victims = (*CallingHost.victims, "client", "inbox")
    people = (0, 1, 1, 2)

    def __init__(self, home: Path, flags: tuple[str, ...], seed: int) -> None:
        """Get ready to ask."""
        self._home, self._flags, self._random = home, flags, random.Random(seed)
        self._session = f"{seed}"
        self.heard: list[dict[str, Any]] = []
        self.may_read = threading.Event()
        self.may_read.set()
        self._readers: list[threading.Thread] = []

    def call(self, number: int) -> None:
        """Ask for a command."""
        self._number = number
        event = self._random.choice([*EVENTS.values()])
        given = {"tool_name": "Bash", "tool_input": {"command": _command(number)}, "cwd": "/p"}
        (asked, to_hook), (self._out, theirs) = os.pipe(), socket.socketpair()
        null = os.open(os.devnull, os.O_WRONLY)
        words = ["hook", "--home", str(self._home), *self._flags]
        environment, folder = bare_environment(self._home.parent), self._home.parent
        self.process = start(words, (asked, theirs.fileno(), null), environment, folder)
        os.write(to_hook, json.dumps({"session_id": self._session, **event, **given}).encode())
        for one in (asked, to_hook, null):
            os.close(one)
        theirs.close()
        reader = threading.Thread(target=self._read, args=(number, self._out), daemon=True)
        self._readers.append(reader)
        reader.start()

    def _read(self, number: int, out: socket.socket) -> None:
        raw = b""
        with contextlib.suppress(OSError):
            while self.may_read.wait() and (part := out.recv(65536)):
                raw += part
        out.close()
        printed: dict[str, Any] = {}
        with contextlib.suppress(ValueError):
            printed = json.loads(raw)
        self.heard.append({"id": number, "printed": printed})

    def received(self) -> Sequence[Mapping[str, Any]]:
        return tuple(self.heard)

    def is_own(self, inbox: Inbox, key: Key, number: int) -> bool:
        return as_json(_command(number)) in inbox.item(key).line

    def text(self, number: int, at: int, chance: random.Random) -> str:
        """Return the answer of one of the people: allow, allow another command, or deny."""
        words = super().text(number, at, chance)
        allowed = [_allowed({"command": one}) for one in (_command(number), words)]
        return chance.choice([*allowed, denied(words)])

    def sent_in(self, line: str, number: int) -> str:
        return _decision_in(json.loads(line), number)

    def texts(self, number: int) -> Sequence[str]:
        """Return the decisions that the agent has read; what is safe is none."""
        printed = [one["printed"] for one in self.received() if one["id"] == number]
        return [text for one in printed if (text := _decision_in(one, number))]

    def kill_client(self) -> None:
        with contextlib.suppress(OSError):  # it has read everything
            self._out.shutdown(socket.SHUT_RD)

    def finish(self) -> None:
        """End the hook as an agent does; nothing is decided by that."""
        self.process.terminate()
        self.process.wait(PATIENCE)
        until(lambda: any(one["id"] == self._number for one in self.received()), "the hook is over")

    def end(self) -> None:
        """Kill the hook, and read what is left."""
        self.may_read.set()
        for reader in self._readers:
            self.process.kill()
            self.process.wait(PATIENCE)
            reader.join()


def _command(number: int) -> str:
    return f"touch {number}"


def _allowed(given: object) -> str:
    return as_json({"behavior": "allow", "updatedInput": given})


def _decision_in(printed: Mapping[str, Any], number: int) -> str:
    """Return what a hook's output allows, or denies with a person's words; "" for neither."""
    output = printed.get("hookSpecificOutput", {})
    decision = output.get("decision", {})
    behavior = decision.get("behavior") or printed.get("decision")
    if behavior == "allow":
        changed = decision.get("updatedInput") or output.get("tool_input")
        return _allowed(changed or {"command": _command(number)})
    reason = decision.get("message") or printed.get("reason", "")
    return denied(reason) if reason.startswith("answer ") else ""

"""The sample servers, line by line, without any client."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

SAMPLES: Final = Path(__file__).parents[2] / "samples"
UUID: Final = "00000000-0000-4000-8000-00000000000"
INITIALIZE: Final = {
    "jsonrpc": "2.0",
    "id": f"{UUID}1",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-03-26",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1.0.0"},
    },
}
INITIALIZED: Final = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Server:
    """A sample server as a process, asked one line at a time."""

    def __init__(self, name: str, *words: str) -> None:
        """Start it."""
        self.process = subprocess.Popen(
            [sys.executable, str(SAMPLES / name), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def say(self, message: dict[str, Any] | str) -> None:
        """Write one line."""
        assert self.process.stdin is not None
        text = message if isinstance(message, str) else json.dumps(message)
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def ask(self, message: dict[str, Any] | str) -> dict[str, Any]:
        """Write one line and read the answer."""
        self.say(message)
        assert self.process.stdout is not None
        answer = json.loads(self.process.stdout.readline())
        assert isinstance(answer, dict)
        return answer

    def request(self, method: str, params: object = None) -> dict[str, Any]:
        """Ask one request under a text id. The answer must carry that id."""
        message = {"jsonrpc": "2.0", "id": f"{UUID}2", "method": method}
        answer = self.ask(message if params is None else message | {"params": params})
        assert answer.pop("id") == f"{UUID}2"
        assert answer.pop("jsonrpc") == "2.0"
        return answer

    def open(self) -> dict[str, Any]:
        """Do the handshake; return the answer to `initialize`."""
        answer = self.ask(INITIALIZE)
        self.say(INITIALIZED)
        return answer

    def close(self) -> int:
        """Close its stdin; return its exit status and expect silence."""
        rest, _ = self.process.communicate(timeout=20)
        assert rest == ""
        return self.process.returncode


def opened(name: str, *words: str) -> Server:
    """Start a sample server and do the handshake."""
    server = Server(f"servers/{name}.py", *words)
    server.open()
    return server


@pytest.mark.parametrize("name", ["calculate", "dice", "demo_app", "weather"])
def test_every_sample_answers_the_handshake_with_the_id_it_was_asked_under(name: str) -> None:
    """The same id, the same version, what it offers, and its name."""
    server = Server(f"servers/{name}.py")
    answer = server.open()
    assert answer["id"] == f"{UUID}1"
    assert answer["result"]["protocolVersion"] == "2025-03-26"
    assert "tools" in answer["result"]["capabilities"]
    assert answer["result"]["serverInfo"]["name"] == name.replace("_", "-")
    assert server.close() == 0


@pytest.mark.parametrize("name", ["calculate", "dice"])
def test_a_version_that_nobody_knows_is_answered_with_the_latest_of_the_handshake(
    name: str,
) -> None:
    """MCP, lifecycle: "Otherwise, the server MUST respond with another protocol version"."""
    server = Server(f"servers/{name}.py")
    params = INITIALIZE["params"] | {"protocolVersion": "1999-01-01"}  # type: ignore[operator]  # a dict
    answer = server.ask(INITIALIZE | {"params": params})
    assert answer["result"]["protocolVersion"] == "2025-11-25"
    assert server.close() == 0


def test_dice_lists_its_tool() -> None:
    """The exact entry."""
    server = opened("dice")
    sides = {"type": "integer", "description": "The number of sides on the dice"}
    assert server.request("tools/list", {}) == {
        "result": {
            "tools": [
                {
                    "name": "dice",
                    "description": "Roll a dice",
                    "inputSchema": {
                        "type": "object",
                        "properties": {"sides": sides},
                        "required": ["sides"],
                    },
                }
            ]
        }
    }
    assert server.close() == 0


def test_a_hundred_rolls_stay_between_one_and_the_number_of_sides() -> None:
    """One text item with a number from 1 to 6, and not always the same."""
    server = opened("dice", "7")
    rolled = set()
    for _ in range(100):
        answer = server.request("tools/call", {"name": "dice", "arguments": {"sides": 6}})
        (item,) = answer["result"]["content"]
        assert item["type"] == "text"
        rolled.add(int(item["text"]))
    assert rolled == {1, 2, 3, 4, 5, 6}
    assert server.close() == 0


def test_dice_answers_nothing_before_the_handshake_is_finished() -> None:
    """`tools/list` before `notifications/initialized` is an error; `ping` is answered."""
    server = Server("servers/dice.py")
    server.ask(INITIALIZE)
    assert server.request("tools/list")["error"]["code"] == -32600
    assert server.request("ping") == {"result": {}}
    server.say(INITIALIZED)
    assert "result" in server.request("tools/list")
    assert server.close() == 0


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("no/such", {}, -32601),
        ("tools/call", {"name": "nosuch", "arguments": {}}, -32602),
        ("tools/call", [], -32602),
        ("tools/call", {"name": "dice", "arguments": [6]}, -32602),
    ],
)
def test_what_dice_cannot_do_is_an_error(method: str, params: object, code: int) -> None:
    """An error with the code for it; neither a crash nor silence."""
    server = opened("dice")
    assert server.request(method, params)["error"]["code"] == code
    assert server.request("ping") == {"result": {}}
    assert server.close() == 0


@pytest.mark.parametrize("arguments", [{"sides": 0}, {"sides": "six"}, {"sides": True}, {}])
def test_wrong_sides_are_told_to_the_model(arguments: dict[str, Any]) -> None:
    """A result with `isError`, whose text says what to do."""
    server = opened("dice")
    answer = server.request("tools/call", {"name": "dice", "arguments": arguments})
    assert answer["result"]["isError"] is True
    assert "whole number" in answer["result"]["content"][0]["text"]
    assert server.close() == 0


def test_broken_json_is_answered_and_does_not_end_the_server() -> None:
    """-32700 without an id; the next line is served."""
    for name in ("calculate", "dice"):
        server = opened(name)
        assert server.ask("{broken")["error"]["code"] == -32700
        assert server.request("ping") == {"result": {}}
        assert server.close() == 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"first": 5, "second": [10, 20]}, "The result of the addition is: 35"),
        ({"first": 0.5, "second": []}, "The result of the addition is: 0.5"),
    ],
)
def test_calculate_adds(arguments: dict[str, Any], text: str) -> None:
    """5 and 10 and 20 are 35."""
    server = opened("calculate")
    answer = server.request("tools/call", {"name": "calculate", "arguments": arguments})
    assert answer == {"result": {"content": [{"type": "text", "text": text}]}}
    assert server.close() == 0


@pytest.mark.parametrize("arguments", [{"first": "x"}, {"first": 1, "second": [True]}, {}])
def test_calculate_says_what_is_wrong_with_its_arguments(arguments: dict[str, Any]) -> None:
    """A text beside `isError`, not an empty list."""
    server = opened("calculate")
    answer = server.request("tools/call", {"name": "calculate", "arguments": arguments})
    assert answer["result"]["isError"] is True
    assert "first must be a number" in answer["result"]["content"][0]["text"]
    assert server.close() == 0


def test_demo_app_adds_what_the_capture_log_shows() -> None:
    """Two numbers as text, their sum as text."""
    server = opened("demo_app")
    arguments = {"a": "2838414", "b": "8294241"}
    answer = server.request("tools/call", {"name": "calc_add", "arguments": arguments})
    assert answer["result"]["content"] == [{"type": "text", "text": "11132655"}]
    assert server.close() == 0


def test_demo_app_lists_a_shell_and_runs_nothing(tmp_path: Path) -> None:
    """`exec_shell_command` is listed; a file that it should make is not made."""
    server = opened("demo_app")
    tools = server.request("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["calc_add", "exec_shell_command"]
    proof = tmp_path / "made"
    call = {"name": "exec_shell_command", "arguments": {"command": f"touch {proof}"}}
    assert "executes nothing" in server.request("tools/call", call)["result"]["content"][0]["text"]
    assert not proof.exists()
    assert server.close() == 0


def test_weather_knows_one_place_and_says_so_of_others() -> None:
    """Sunny in 東京; elsewhere a tool error that a model can read."""
    server = opened("weather")
    call = {"name": "get-japan-forecast", "arguments": {"location": "東京"}}
    assert server.request("tools/call", call)["result"]["content"][0]["text"] == "sunny"
    call = {"name": "get-japan-forecast", "arguments": {"location": "大阪"}}
    answer = server.request("tools/call", call)["result"]
    assert answer["isError"] is True
    assert "大阪" in answer["content"][0]["text"]
    assert server.close() == 0

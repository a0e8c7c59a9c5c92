"""The exported server and the exported test are run, with a real client and a real server."""

import ast
import json
import os
import runpy
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters

from humanmcp.cli import main
from humanmcp.export.recording import ExportOptions, Recording
from humanmcp.extensions.testing.runnable import identifier, write_server, write_test
from humanmcp.protocol.conversation.transcript import (
    CHANGED,
    COMMAND,
    HELD,
    INSTEAD,
    LET_GO,
    Direction,
    Frame,
)
from humanmcp.protocol.validation.redaction import redact_recording
from tests.support.ports import own_port
from tests.support.recordings import (
    HANDSHAKE,
    SEED,
    TOOL,
    WEATHER,
    answer,
    ask,
    call,
    frame,
    recording,
    text,
    write,
)
from tests.support.waiting import PATIENCE, until


def exported_server(folder: Path, recorded: Recording, was: str = "", now: str = "") -> Path:
    """Export a recording as a server, in which `was` is replaced by `now`."""
    path = folder / "server.py"
    path.write_text(write_server(recorded, ExportOptions()).replace(was, now), encoding="utf-8")
    return path


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """Export the weather session as a server."""
    return exported_server(tmp_path, WEATHER)


async def play(path: Path, mode: str) -> dict[str, Any]:
    """Ask an exported server what was asked in the recording, with the SDK's client."""
    parameters = StdioServerParameters(command=sys.executable, args=[str(path)])
    said: dict[str, Any] = {}
    async with Client(parameters, mode=mode) as client:
        said["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        said["read"] = (await client.read_resource("file:///a")).contents[0].text  # type: ignore[union-attr] # recorded as text
        for number in range(3):
            result = await client.call_tool("get-forecast", {"city": "東京"})
            said[f"call {number}"] = result.content[0].text  # type: ignore[union-attr] # recorded as text
        for city in ("Nowhere", "Elsewhere"):
            with pytest.raises(MCPError) as error:
                await client.call_tool("get-forecast", {"city": city})
            said[city] = (error.value.error.code, error.value.error.message)
    return said


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_exported_server_answers_a_real_client_as_recorded(server: Path, mode: str) -> None:
    """In both eras: each answer in its turn, errors with their code, and what is not recorded."""
    said = anyio.run(play, server, mode)
    assert said["tools"] == ["get-forecast"]
    assert said["read"] == "A"
    assert [said[f"call {number}"] for number in range(3)] == ["sunny", "rain", "rain"]
    assert said["Nowhere"] == (-32602, "遠い。自分で調べて")
    assert "no answer was recorded" in said["Elsewhere"][1]


def test_each_tool_is_a_function_to_be_filled_in(server: Path) -> None:
    """Named after the tool, with its description; the rest of the file is the same for all."""
    tree = ast.parse(server.read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.AsyncFunctionDef)}
    assert ast.get_docstring(functions["get_forecast"]) == "Tell the weather ''' /"


def test_nothing_of_the_wire_becomes_code() -> None:
    """Names, descriptions and values are literals, whatever they hold."""
    evil = '"""\nimport os; os.system("x")\n"""\\'
    recorded = recording(
        *HANDSHAKE,
        ask(1, "tools/list"),
        answer(1, result={"tools": [{"name": evil, "description": evil}, {"name": "class"}]}),
        ask(2, "tools/call", name=evil, arguments={evil: [1.0, 1e400, None, True]}),
        answer(2, result=text(evil)),
    )
    for told in (
        write_server(recorded, ExportOptions()),
        write_test(recorded, ExportOptions()),
    ):
        tree = ast.parse(told)
        imported = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        assert "os" not in imported or "import os\nimport queue" in told
        calls = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and node.attr == "system"
        ]
        assert calls == []


LONE: Final = "\ud83d"
"""Half of a surrogate pair: JSON may escape it, UTF-8 cannot hold it."""


def test_half_a_character_keeps_no_exported_server_from_answering(tmp_path: Path) -> None:
    """The SDK dies of a lone surrogate, in a list as in a result; it gets U+FFFD instead."""
    recorded = recording(
        *HANDSHAKE,
        ask(1, "tools/list"),
        answer(1, result={"tools": [{**TOOL, "description": LONE}]}),
        call(2, "東京"),
        answer(2, result=text(f"sun{LONE}")),
        call(3, "東京"),
        answer(3, result=text("😀")),
    )
    path = exported_server(tmp_path, recorded)

    async def told() -> list[str]:
        parameters = StdioServerParameters(command=sys.executable, args=[str(path)])
        async with Client(parameters) as client:
            await client.list_tools()
            results = [await client.call_tool("get-forecast", {"city": "東京"}) for _ in range(2)]
        return [result.content[0].text for result in results]  # type: ignore[union-attr] # as above

    assert anyio.run(told) == ["sun\ufffd", "😀"]


def test_an_exported_test_asks_with_half_a_character(tmp_path: Path) -> None:
    """As it was asked then: with an escape."""
    recorded = recording(call(2, LONE), answer(2, result={"ok": LONE}))
    echo = tmp_path / "echo.py"
    echo.write_text(
        "import sys\n"
        "for line in sys.stdin:\n"
        "    assert '\\\\ud83d' in line\n"
        '    print(\'{"jsonrpc":"2.0","id":2,"result":{"ok":"\\\\ud83d"}}\', flush=True)\n',
        encoding="utf-8",
    )
    status, said = run_exported(exported_test(tmp_path, recorded), echo)
    assert "1 passed" in said
    assert status == 0


def test_names_of_functions_are_their_own() -> None:
    """Keywords, digits, other scripts, and two that are alike."""
    assert identifier("class", ()) == "_class"
    assert identifier("2nd-tool", ()) == "_2nd_tool"
    assert identifier("天気", ()) == "unnamed"
    assert identifier("a b", {"a_b"}) == "a_b_2"


def run_exported(path: Path, server: Path | str | None) -> tuple[int, str]:
    """Run an exported test against a server, as its user does."""
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            path.parent,
            path,
        ],
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **_server(server)},
        cwd=path.parent,
        capture_output=True,
        text=True,
        timeout=PATIENCE * 3,
        check=False,
    )
    return ran.returncode, ran.stdout + ran.stderr


def _server(server: Path | str | None) -> dict[str, str]:
    command = f"{sys.executable} {server}" if isinstance(server, os.PathLike) else server
    return {"MCP_SERVER": command} if command else {}


def exported_test(folder: Path, recorded: Recording) -> Path:
    """Export a recording as a test."""
    path = folder / "test_session.py"
    path.write_text(write_test(recorded, ExportOptions()), encoding="utf-8")
    return path


SDK_HANDSHAKE = (
    *HANDSHAKE[:1],
    answer(
        0,
        result={
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": "weather", "version": "2.0"},
        },
    ),
    *HANDSHAKE[2:],
)
CALLS_FRAMES = (
    *SDK_HANDSHAKE,
    call(2, "東京"),
    answer(2, result=text("sunny")),  # the SDK's servers also say "isError": false
    call(3, "Nowhere"),
    answer(3, error={"code": -32602, "message": "遠い"}),
)
CALLS = recording(*CALLS_FRAMES)


def test_the_exported_test_passes_where_the_server_answers_as_recorded(tmp_path: Path) -> None:
    """Against the server that was exported from the same session: a real one, of the SDK."""
    server = exported_server(tmp_path, CALLS)
    status, said = run_exported(exported_test(tmp_path, CALLS), server)
    assert "3 passed" in said
    assert status == 0


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def test_what_is_exported_speaks_http_too(tmp_path: Path) -> None:
    """The exported server with `--http`, and the exported test with its address."""
    server = exported_server(tmp_path, WEATHER)
    port = own_port()
    serving = subprocess.Popen([sys.executable, server, "--http", str(port)])
    try:
        until(lambda: _listens(port), "an address")
        status, said = run_exported(
            exported_test(tmp_path, WEATHER), f"http://127.0.0.1:{port}/mcp"
        )
    finally:
        serving.terminate()
        serving.wait()
    assert status == 0, said


def test_the_exported_test_asks_what_reached_the_server(tmp_path: Path) -> None:
    """What a person answered is not asked; what they changed is asked as changed."""
    call = {"jsonrpc": "2.0", "method": "tools/call"}
    frames = (
        frame(1, Direction.IN, {**call, "id": 1, "params": {"name": "kept"}}, number=1, note=HELD),
        frame(2, Direction.NOTE, "", number=1, by="desk", note=LET_GO),
        frame(3, Direction.OUT, {"jsonrpc": "2.0", "id": 1, "result": {"a": "server"}}),
        frame(4, Direction.IN, {**call, "id": 2, "params": {"name": "mine"}}, number=2, note=HELD),
        frame(5, Direction.OUT, {"jsonrpc": "2.0", "id": 2, "result": {}}, number=2, note=INSTEAD),
        frame(6, Direction.IN, {**call, "id": 3, "params": {"name": "old"}}, number=3, note=HELD),
        frame(
            7, Direction.IN, {**call, "id": 3, "params": {"name": "new"}}, number=3, note=CHANGED
        ),
        frame(
            8, Direction.OUT, {"jsonrpc": "2.0", "id": 3, "result": {"b": 1}}, number=4, note=HELD
        ),
        frame(
            9,
            Direction.OUT,
            {"jsonrpc": "2.0", "id": 3, "result": {"b": 2}},
            number=4,
            note=CHANGED,
        ),
    )
    told = write_test(Recording("tapped", frames), ExportOptions())
    (tmp_path / "recorded.py").write_text(told, encoding="utf-8")
    session = runpy.run_path(str(tmp_path / "recorded.py"))["SESSION"]
    asked = [(message["params"]["name"], answer["result"]) for message, answer in session]
    assert asked == [("kept", {"a": "server"}), ("new", {"b": 1})]


def test_the_exported_test_fails_where_the_server_has_changed(tmp_path: Path) -> None:
    """And names the request."""
    server = exported_server(tmp_path, CALLS, "'sunny'", "'rain'")
    status, said = run_exported(exported_test(tmp_path, CALLS), server)
    assert status == 1
    assert "1 failed, 2 passed" in said
    assert "[2 tools/call get-forecast]" in said


def test_the_exported_test_tells_what_was_answered_before_the_server_died(tmp_path: Path) -> None:
    """One request that kills it fails, and those after it; those before it still count."""
    last = "__import__('os').write(2, b'no more\\n'); __import__('os')._exit(1)"
    dies = f"    if 'Nowhere' in str(params):\n        {last}\n"
    server = exported_server(tmp_path, CALLS, "    call = CALLS", f"{dies}    call = CALLS")
    status, said = run_exported(exported_test(tmp_path, CALLS), server)
    assert status == 1
    assert "1 failed, 2 passed" in said
    failure = said.partition("Captured stderr")[0]
    assert "the server ended before it answered" in failure
    assert "Its stderr ends with:" in failure
    assert "no more" in failure


def test_the_exported_test_says_why_a_server_does_not_start(tmp_path: Path) -> None:
    """In the failure's own text, whether it ended before it read or before it answered."""
    code = "import sys; sys.stdin.close(); sys.exit('no module named rain')"
    server = shlex.join([sys.executable, "-c", code])
    status, said = run_exported(exported_test(tmp_path, CALLS), server)
    failure = said.partition("Captured stderr")[0]
    assert status == 1
    assert "Its stderr ends with:" in failure
    assert "no module named rain" in failure


def test_what_was_asked_without_being_offered_is_served_all_the_same(tmp_path: Path) -> None:
    """A prompt that no list named: the exported server still has its answer."""
    recorded = recording(
        *HANDSHAKE,
        ask(5, "prompts/get", name="greet"),
        answer(
            5, result={"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]}
        ),
    )
    path = exported_server(tmp_path, recorded)

    async def told() -> Any:  # noqa: ANN401 - whatever is in the message
        parameters = StdioServerParameters(command=sys.executable, args=[str(path)])
        async with Client(parameters) as client:
            return (await client.get_prompt("greet")).messages[0].content

    assert anyio.run(told).text == "hi"


@pytest.mark.parametrize(
    ("said", "is_tool"),
    [
        # mcp-server-time 2026.10.19, server-memory 0.6.3
        ({"error": {"code": -32602, "message": "Unknown tool: nosuch"}}, False),
        ({"result": {**text("MCP error -32602: Tool nosuch not found"), "isError": True}}, False),
        ({"result": text("I am not on any list")}, True),
    ],
)
def test_what_was_called_is_answered_and_only_what_was_listed_is_listed(
    tmp_path: Path,
    said: dict[str, Any],
    is_tool: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """What worked all the same becomes a function, but what the server did not know does not."""
    recorded = recording(
        *SDK_HANDSHAKE,
        ask(1, "tools/list"),
        answer(1, result={"tools": [TOOL]}),
        ask(2, "tools/call", name="nosuch", arguments={}),
        answer(2, **said),
    )
    path = exported_server(tmp_path, recorded)
    assert ("async def nosuch" in path.read_text(encoding="utf-8")) is is_tool
    status, told = run_exported(exported_test(tmp_path, recorded), path)
    assert "3 passed" in told
    assert status == 0


LOGIN = recording(
    *SDK_HANDSHAKE,
    ask(2, "tools/call", name="login", arguments={"user": "me", "password": "hunter2"}),
    answer(2, result=text("hunter2 is right")),
    call(3, "東京"),
    answer(3, result=text("sunny")),
)


def redacted(folder: Path) -> tuple[Path, Path]:
    """Export a session with a secret in it as a test and as a server, without the secret."""
    recorded = Recording("login", redact_recording(LOGIN.frames).frames)
    options = ExportOptions()
    test, server = folder / "test_session.py", folder / "server.py"
    test.write_text(write_test(recorded, options), encoding="utf-8")
    server.write_text(write_server(recorded, options), encoding="utf-8")
    for path in (test, server):
        assert "hunter2" not in path.read_text(encoding="utf-8")
    return test, server


def test_what_was_taken_out_comes_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server takes any value for it, and in an answer anything may stand in its place."""
    test, server = redacted(tmp_path)
    monkeypatch.setenv("MCP_SECRET_PASSWORD", "other-than-recorded")
    status, said = run_exported(test, server)
    assert "3 passed" in said
    assert status == 0


def test_without_what_was_taken_out_its_request_is_skipped_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are asked all the same."""
    test, server = redacted(tmp_path)
    monkeypatch.delenv("MCP_SECRET_PASSWORD", raising=False)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-rs")
    status, said = run_exported(test, server)
    assert "2 passed, 1 skipped" in said
    assert "set MCP_SECRET_PASSWORD: it was taken out of the recording" in said
    assert status == 0


def test_the_command_says_how_many_values_were_taken_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr, in the reader's language; nothing where that was not wanted."""
    recorded = write(tmp_path / "transcript.jsonl", LOGIN)
    words = ["export", str(recorded), "--home", str(tmp_path), "--lang"]
    assert main([*words, "en"]) == 0
    assert capsys.readouterr().err.startswith("humanmcp removed 1 value that looks like a secret.")
    assert main([*words, "ja", "--format", "pytest"]) == 0
    assert "PASSWORD" in capsys.readouterr().err
    assert main([*words, "en", "--format", "jsonl", "--no-redact"]) == 0
    assert capsys.readouterr().err == ""


def test_a_refused_probe_is_not_asked_again(tmp_path: Path) -> None:
    """A server that has learned 2026-07-28 would take it, and refuse the handshake after it."""
    modern = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    refused = {"code": -32601, "message": "Method not found"}
    recorded = recording(
        ask("probe", "server/discover", _meta=modern),
        answer("probe", error=refused),
        ask("second", "tools/list", _meta=modern),
        answer("second", error=refused),
        *CALLS_FRAMES,
    )
    server = tmp_path / "server.py"  # the SDK's: it knows 2026-07-28
    server.write_text(write_server(recorded, ExportOptions()), encoding="utf-8")
    status, said = run_exported(exported_test(tmp_path, recorded), server)
    assert "3 passed" in said
    assert status == 0


RICH = recording(
    HANDSHAKE[0],
    answer(
        0,
        result={
            "protocolVersion": "2025-06-18",
            "capabilities": {
                "tools": {"listChanged": True},
                "logging": {},
                "completions": {},
                "resources": {"subscribe": True},
            },
            "serverInfo": {"name": "weather", "title": "The weather", "version": "2.0"},
            "instructions": "Ask.",
        },
    ),
    HANDSHAKE[2],
    ask(1, "tools/list"),
    answer(1, result={"tools": [TOOL], "nextCursor": "page-2"}),
    ask(2, "tools/list", cursor="page-2"),
    answer(2, result={"tools": [{**TOOL, "name": "second"}]}),
    ask(3, "logging/setLevel", level="info"),
    answer(3, result={}),
    ask(
        4,
        "completion/complete",
        ref={"type": "ref/prompt", "name": "greet"},
        argument={"name": "who", "value": "a"},
    ),
    answer(4, result={"completion": {"values": ["anna"], "total": 1, "hasMore": False}}),
    ask(5, "resources/subscribe", uri="file:///a"),
    answer(5, result={}),
    ask(6, "tools/call", name="second", arguments={}, _meta={"progressToken": 6}),
    (
        Direction.OUT,
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": 6, "progress": 1},
        },
    ),
    (
        Direction.OUT,
        {
            "jsonrpc": "2.0",
            "method": "notifications/message",
            "params": {"level": "info", "data": "rolling"},
        },
    ),
    (Direction.OUT, {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}),
    (Direction.IN, {"jsonrpc": "2.0", "id": 1, "result": {"roots": []}}),
    answer(6, result=text("done")),
    (Direction.OUT, {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
)


def test_an_exported_test_starts_the_server_that_the_tap_knew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without MCP_SERVER; another command can be named when it is exported."""
    server = exported_server(tmp_path, CALLS)
    command = json.dumps([sys.executable, str(server)]).encode()
    note = Frame(99, "", Direction.NOTE, command, by="tap", note=COMMAND)
    recorded = Recording("tapped", (note, *CALLS.frames))
    monkeypatch.delenv("MCP_SERVER", raising=False)
    status, said = run_exported(exported_test(tmp_path, recorded), None)
    assert "3 passed" in said
    assert status == 0


def test_an_exported_server_is_complete(tmp_path: Path) -> None:
    """The exported test of the same recording finds nothing missing: title, pages, completion."""
    server = exported_server(tmp_path, RICH)
    status, said = run_exported(exported_test(tmp_path, RICH), server)
    assert "7 passed" in said
    assert status == 0


def test_an_exported_server_says_again_what_it_said_of_its_own(tmp_path: Path) -> None:
    """Progress for the token of today, a log, a question that is waited for, a change after it."""
    path = exported_server(tmp_path, RICH)
    process = subprocess.Popen(
        [sys.executable, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    observed = []
    with process, process.stdin as stdin:
        for _way, message in (HANDSHAKE[0], HANDSHAKE[2], RICH_CALL):
            stdin.write(json.dumps(message) + "\n")
            stdin.flush()
        for line in process.stdout:
            message = json.loads(line)
            observed.append(message.get("method", "answer"))
            if observed[-1] == "notifications/progress":
                assert message["params"]["progressToken"] == "mine"
            if observed[-1] == "roots/list":
                answered = {"jsonrpc": "2.0", "id": message["id"], "result": {"roots": []}}
                stdin.write(json.dumps(answered) + "\n")
                stdin.flush()
            if observed[-1] == "notifications/tools/list_changed":
                break
    assert observed == [
        "answer",
        "notifications/progress",
        "notifications/message",
        "roots/list",
        "answer",
        "notifications/tools/list_changed",
    ]


RICH_CALL = ask(9, "tools/call", name="second", arguments={}, _meta={"progressToken": "mine"})


def test_the_seeds_session_can_be_run() -> None:
    """The demo-app of the capture, as a server whose shell tool executes nothing."""
    from humanmcp.export.recording import find_recording  # noqa: PLC0415 - one test needs it

    told = write_server(find_recording(str(SEED / "demo-app.log"), SEED), ExportOptions())
    assert "async def exec_shell_command(" in told
    compile(told, "server.py", "exec")

"""`humanmcp host` as a process: the chat, the configuration, the person's say, and the end."""

import io
import json
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

import pytest
from pydantic import TypeAdapter

from humanmcp.cli import main
from humanmcp.common.child import ChildCommand
from humanmcp.extensions.host.client.callbacks import Nobody
from humanmcp.extensions.host.config import ServerEntry
from humanmcp.extensions.host.conversation import TextBlock, ToolAddress, ToolUse, Turn, TurnRole
from humanmcp.extensions.host.models.script import ScriptModel
from humanmcp.extensions.host.servers import HostLoop, Servers, refused
from humanmcp.extensions.host.terminal import chat as chat_module
from humanmcp.extensions.host.terminal.chat import AtHost, Chat, PromptedShape
from humanmcp.extensions.host.terminal.typing import Typist
from humanmcp.inbox.contract import Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.diagnostics.model import TextForm
from tests.extensions.host.hosting import configuration, entry, says, use
from tests.extensions.host.seats import SCRIPTED
from tests.support.serve_process import bare_environment, run_command
from tests.support.waiting import PATIENCE, until

ROLL: Final = use("dice__dice", sides=6)
LISTS: Final = """
import json, sys
FIRST = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
         "serverInfo": {"name": "x", "version": "1"}}
def serve(listed):
    for line in sys.stdin:
        asked = json.loads(line)
        body = {"initialize": {"result": FIRST}, "tools/list": listed}.get(asked["method"])
        body = body or {"error": {"code": -32601, "message": "no"}}
        if "id" in asked:
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **body}), flush=True)
"""
SLOW_PERSON: Final = ServerEntry("kim", ChildCommand(("humanmcp", "serve", "--title", "kim")))
HARD_TO_END: Final = Path(__file__).parents[2] / "common" / "child_of_child.py"


def recorded(folder: Path, *turns: dict[str, Any]) -> str:
    """Write a recorded model; return the word for it."""
    file = folder / "model.jsonl"
    file.write_text("".join(json.dumps(turn) + "\n" for turn in turns), encoding="utf-8")
    return f"script:{file}"


def words(config: Path, model: str, *flags: str) -> list[str]:
    """Return the command."""
    chosen = ["--config", str(config), "--model", model, *flags]
    return [sys.executable, "-m", "humanmcp", "host", *chosen]


def chat(folder: Path, command: Sequence[str], *typed: str) -> subprocess.CompletedProcess[str]:
    """Run a whole chat."""
    return run_command(folder, *command, typed=typed)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration with a human-sounding server, dice, and a remote one."""
    return configuration(
        tmp_path,
        human=entry("weather"),
        dice=entry("dice"),
        github={"url": "http://127.0.0.1:9/mcp"},
    )


@pytest.mark.parametrize("ending", ["exit", "/quit", ""])
def test_a_chat_shows_text_call_and_text(tmp_path: Path, config: Path, ending: str) -> None:
    """The lines joined by newlines; `exit` and the end of input end it cleanly."""
    model = recorded(tmp_path, says("I roll the dice.", ROLL), says("There you are."))
    run = chat(
        tmp_path, words(config, model, "--yes"), "Please roll", *([ending] if ending else [])
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("MCP Client Started!\n")
    assert (
        'I roll the dice.\n[Calling tool dice with args {"sides": 6}]\nThere you are.\n'
    ) in run.stdout


def test_both_servers_start_and_the_remote_one_is_named(tmp_path: Path, config: Path) -> None:
    """`--config` is honoured; /servers, /tools and /history show what there is."""
    model = recorded(tmp_path, says("hello"))
    run = chat(tmp_path, words(config, model), "/servers", "/tools", "hi", "/history", "/nonsense")
    assert run.stdout.count("human  1 tool\n") == 2
    assert "github  cannot reach http://127.0.0.1:9/mcp" in run.stdout
    assert "human__get-japan-forecast  Get weather forecast." in run.stdout
    assert "dice__dice  Roll a dice" in run.stdout
    assert "user: hi\nassistant: hello\n" in run.stdout
    assert "/tools /prompts /resources /servers /history /ask" in run.stdout


def test_a_configuration_that_is_missing_or_empty_is_explained(tmp_path: Path) -> None:
    """By one sentence each, and nothing is created."""
    empty = configuration(tmp_path)
    run = chat(tmp_path, words(empty, "script:x"))
    assert run.returncode == 1
    assert "no MCP servers found in config file" in run.stderr
    home = [sys.executable, "-m", "humanmcp", "host"]
    run = chat(tmp_path, home)
    assert run.returncode == 1
    assert f"{tmp_path / '.mcp.json'} does not exist." in run.stderr


def test_a_server_that_cannot_start_does_not_keep_the_others_from_work(tmp_path: Path) -> None:
    """It is named with the reason."""
    config = configuration(tmp_path, gone={"command": "no-such-program"}, dice=entry("dice"))
    run = chat(tmp_path, words(config, recorded(tmp_path, says("hi"))), "hello")
    assert "gone  cannot start `no-such-program`" in run.stdout
    assert "dice  1 tool\n" in run.stdout


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        (
            "print('Ok to proceed? (y)', flush=True); sys.exit(1)",
            "has ended (exit status 1). Server: Ok to proceed? (y)",
        ),
        (
            "sys.exit('Cannot find module: index.js')",
            "has ended (exit status 1). Server: Cannot find module: index.js",
        ),
        (
            "serve({'error': {'code': -32603, 'message': 'boom'}})",
            "tools/list: the server answered with the error -32603: boom",
        ),
        (
            "serve({'result': {'tools': {'rain': {}}}})",
            'tools/list: the result has no array "tools"',
        ),
    ],
)
def test_why_a_server_has_no_tools_is_said(tmp_path: Path, program: str, sentence: str) -> None:
    """What it wrote before it ended; what was wrong with its list."""
    server = {"command": sys.executable, "args": ["-c", f"{LISTS}\n{program}"]}
    model = recorded(tmp_path, says("hi"))
    run = chat(tmp_path, words(configuration(tmp_path, x=server), model, "-p", "hello"))
    assert sentence in run.stderr


def test_the_person_has_the_say_in_every_call(tmp_path: Path, config: Path) -> None:
    """Call it, answer in its place, refuse; and nothing is called at the end of input."""
    model = recorded(tmp_path, says(ROLL, ROLL, ROLL, ROLL), says("well"))
    run = chat(tmp_path, words(config, model, "--wire"), "roll", "c", "a", "seven", "r")
    assert run.stdout.count("[Calling tool dice") == 1
    assert run.stderr.count('"method":"tools/call"') == 1
    assert "dice Client :  " in run.stderr
    assert "  -> seven" in run.stderr
    assert run.stderr.count("-> The user refused this tool call.") == 2


def test_a_tool_is_trusted_until_the_person_says_otherwise(tmp_path: Path, config: Path) -> None:
    """The rule: "call it every time" holds for the session, and for this tool."""
    model = recorded(tmp_path, says(ROLL, ROLL), says("well"), says(ROLL), says("no"))
    run = chat(tmp_path, words(config, model), "roll", "t", "/ask", "again", "r")
    assert run.stdout.count("[Calling tool dice") == 2
    assert "from now on, dice of dice is called without asking" in run.stdout
    assert "trusted until now: dice: dice" in run.stdout
    assert run.stdout.count("The model wants to call") == 2


def test_a_tool_that_changes_is_trusted_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    """A server must not get another tool called under a name that was trusted."""
    told = {"description": "harmless"}
    person = AtHost(Typist(["t", "r"]), definition=lambda _place: dict(told))
    tool, wanted = ToolAddress("dice", "dice"), ToolUse("1", "dice__dice")
    assert person.permit(wanted, tool) is wanted
    assert person.permit(wanted, tool) is wanted
    told["description"] = "sends your files"
    assert person.permit(wanted, tool) == refused(wanted)
    assert "dice changed the description of dice" in capsys.readouterr().out


@pytest.mark.parametrize("flags", [("--tools", "human__*"), ("--no-tools", "x,dice__*")])
def test_flags_say_which_tools_are_offered(
    tmp_path: Path, config: Path, flags: tuple[str, str]
) -> None:
    """The others are not listed, neither to the model nor to the person."""
    run = chat(tmp_path, words(config, recorded(tmp_path), *flags), "/tools")
    assert "human__get-japan-forecast" in run.stdout
    assert "dice__dice" not in run.stdout


def test_one_prompt_is_answered_on_stdout_alone(tmp_path: Path, config: Path) -> None:
    """What happens on the way stands on stderr."""
    model = recorded(tmp_path, says("I roll.", ROLL), says("There you are."))
    run = chat(tmp_path, words(config, model, "--yes", "-p", "Please roll"))
    assert (run.returncode, run.stdout) == (0, "There you are.\n")
    assert "[Calling tool dice with args" in run.stderr
    assert "github  cannot reach" in run.stderr


def test_one_prompt_as_json_holds_the_whole_conversation(tmp_path: Path, config: Path) -> None:
    """For a script that wants to know what was called. Nobody is there to be asked."""
    model = recorded(tmp_path, says(ROLL), says("There you are."))
    run = chat(tmp_path, words(config, model, "-p", "Please roll", "--json"))
    told = json.loads(run.stdout)
    assert TypeAdapter(PromptedShape).validate_python(told) == told
    assert told["text"] == "There you are."
    assert [one["role"] for one in told["messages"]] == ["user", "assistant", "user", "assistant"]
    assert told["messages"][2]["content"][0]["is_error"] is True
    assert "nobody can be asked here" in run.stderr


def test_a_prompt_that_nobody_answers_is_1(tmp_path: Path, config: Path) -> None:
    """With the reason on stderr."""
    run = chat(tmp_path, words(config, recorded(tmp_path), "-p", "hello"))
    assert (run.returncode, run.stdout) == (1, "")
    assert "no more turns" in run.stderr
    run = chat(tmp_path, words(config, recorded(tmp_path), "--json"))
    assert (run.returncode, run.stderr) == (2, "humanmcp: --json needs -p\n")


def test_a_question_of_a_server_is_answered_at_the_host(tmp_path: Path) -> None:
    """An elicitation inside a tool call: where nobody sits at a terminal it is cancelled."""
    greeter = {"command": sys.executable, "args": [str(Path(__file__).with_name("sdk_greeter.py"))]}
    config = configuration(tmp_path, greeter=greeter)
    model = recorded(tmp_path, says(use("greeter__greet")), says("nobody answered"))
    run = chat(tmp_path, words(config, model, "--yes"), "greet")
    assert "nobody answered" in run.stdout


class Hosting:
    """A chat that a test interrupts."""

    def __init__(self, folder: Path, command: Sequence[str]) -> None:
        """Start it."""
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env=bare_environment(folder) | {"PYTHONUTF8": "1"},
        )

    @property
    def stdin(self) -> IO[str]:
        """Where the person types."""
        assert self.process.stdin is not None
        return self.process.stdin

    def type(self, line: str) -> None:
        """Type a line."""
        self.stdin.write(line + "\n")
        self.stdin.flush()

    def hear(self, wanted: str) -> None:
        """Read until a line holds this."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if wanted in line:
                return
        raise AssertionError(wanted)

    def end(self) -> int:
        """Wait for the end."""
        status = self.process.wait(timeout=PATIENCE)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
        return status


def children(pid: int) -> list[int]:
    """List every process that descends from this one: any of its threads may have started them."""
    files = Path(f"/proc/{pid}/task").glob("*/children")
    direct = [int(word) for file in files for word in read(file).split()]
    return direct + [each for child in direct for each in children(child)]


def read(file: Path) -> str:
    """Return what a file of /proc says; "" when its thread or process has just ended."""
    try:
        return file.read_text(encoding="ascii")
    except OSError:
        return ""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")
def test_no_child_outlives_the_host(tmp_path: Path) -> None:
    """All children gone within 5 s, also those that ignore everything but SIGKILL.

    Three hosts end at once: one at the end of its input, one by Ctrl-C, one by a signal.
    """
    stubborn = {"command": sys.executable, "args": [str(HARD_TO_END), "stubborn"]}
    config = configuration(tmp_path, dice=entry("dice"), stubborn=stubborn)
    flags = ("--timeout", "0.5", "--yes")
    model = recorded(tmp_path, says("hi"))
    hosts = [Hosting(tmp_path, words(config, model, *flags)) for _ in range(3)]
    pids: list[int] = []
    for host in hosts:
        host.hear("stubborn  ")
        pids += until(partial(children, host.process.pid), "the processes of its servers")
    hosts[0].stdin.close()
    hosts[1].process.send_signal(signal.SIGINT)
    hosts[2].process.send_signal(signal.SIGTERM)
    assert [host.end() for host in hosts] == [0, 130, 143]
    assert not any(alive(pid) for pid in pids)


def alive(pid: int) -> bool:
    """Return True if a process still runs."""
    status = read(Path(f"/proc/{pid}/status"))
    return status != "" and "\nState:\tZ" not in status


def test_ctrl_c_ends_a_call_and_not_the_chat(tmp_path: Path) -> None:
    """A call that hangs is cancelled at its server, gets a result, and the chat goes on."""
    hanging = tmp_path / "hanging.py"
    hanging.write_text(
        (Path(__file__).parents[3] / "samples/servers/dice.py")
        .read_text(encoding="utf-8")
        .replace(
            "        return self.roll(", "        sys.stdin.readline()\n        return self.roll("
        ),
        encoding="utf-8",
    )
    config = configuration(tmp_path, dice={"command": sys.executable, "args": [str(hanging)]})
    model = recorded(tmp_path, says(ROLL), says("we go on"))
    host = Hosting(tmp_path, words(config, model, "--yes"))
    host.type("roll")
    host.hear("[Calling tool dice")
    host.process.send_signal(signal.SIGINT)
    host.hear("interrupted; every tool call has a result")
    host.type("and now?")
    host.hear("we go on")
    host.type("/history")
    host.hear("The user interrupted this tool call.")
    host.type("exit")
    assert host.end() == 0


def test_a_person_as_the_model_is_asked_in_the_inbox(tmp_path: Path, config: Path) -> None:
    """`--model human`, answered with `humanmcp answer N --text`, from another terminal."""
    home = tmp_path / "box"
    host = Hosting(tmp_path, words(config, "human", "--home", str(home)))
    host.hear("MCP Client Started!")
    host.type("what is the weather in 東京?")
    until(lambda: list(home.glob("sessions/*/pending/*/request.json")), "the model's turn")
    answer = [sys.executable, "-m", "humanmcp", "answer", "1", "--home", str(home)]
    said = chat(tmp_path, [*answer, "--text", "Look out of the window."])
    assert said.returncode == 0, said.stderr
    host.hear("Look out of the window.")
    host.type("exit")
    assert host.end() == 0


def test_the_configuration_in_the_home_directory_is_read(tmp_path: Path) -> None:
    """`~/.mcp.json`, where no other is named."""
    configuration(tmp_path, dice=entry("dice")).rename(tmp_path / ".mcp.json")
    command = [sys.executable, "-m", "humanmcp", "host", "--model", recorded(tmp_path, says("hi"))]
    assert "dice  1 tool\n" in chat(tmp_path, command).stdout


@pytest.mark.parametrize("flag", ["--turns", "--calls", "--timeout"])
@pytest.mark.parametrize("typed", ["0", "-1", "many", "nan", "inf"])
def test_numbers_must_be_more_than_nothing(
    flag: str, typed: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Said by argparse, with what to write."""
    with pytest.raises(SystemExit) as caught:
        main(["host", f"{flag}={typed}"])
    assert caught.value.code == 2
    assert f": {typed} is not" in capfd.readouterr().err


def test_a_turn_that_breaks_off_does_not_run_into_the_next(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Half a line of the model ends where the model ended."""
    watcher = AtHost(Typist())
    watcher.heard("whole\nhalf")
    watcher.waiting(1)
    watcher.heard("again")
    watcher.turn_ended(Turn(TurnRole.ASSISTANT, (TextBlock("again"),)))
    assert capfd.readouterr().out == "whole\nhalf\nagain\n"


def test_trouble_is_said_in_japanese_too(tmp_path: Path) -> None:
    """A server that cannot start, a model with nothing more to say, and a mistake in the file."""
    config = configuration(tmp_path, gone={"command": "no-such-program"}, dice=entry("dice"))
    run = chat(tmp_path, words(config, recorded(tmp_path), "--lang", "ja"), "hello")
    assert "gone  `no-such-program` を起動できません" in run.stdout
    assert "記録されたモデルのターンはもうありません" in run.stdout
    config.write_text('{"mcpServers": {"a" {}}}', encoding="utf-8")
    run = chat(tmp_path, words(config, "script:x", "--lang", "ja"))
    assert "1 行 20 文字目" in run.stderr
    assert re.search(r"[ぁ-ん]", run.stderr.split("文字目: ")[1])


def test_a_server_can_be_started_anew_from_the_chat(tmp_path: Path) -> None:
    """One that was lost, or changed, without an end of the conversation."""
    slow = {"command": sys.executable, "args": [str(SCRIPTED), "modern", "refuses-initialize"]}
    config = configuration(tmp_path, slow=slow, dice=entry("dice"))
    flags = ("--start", "handshake", "--wire")
    run = chat(
        tmp_path,
        words(config, recorded(tmp_path), *flags),
        "/reconnect slow",
        "/reconnect dice",
        "/reconnect nobody",
    )
    assert run.stdout.count("slow  the session did not start: the server supports only 2026") == 2
    assert run.stdout.count("dice  1 tool\n") == 2
    assert "/reconnect nobody: no server has this name. Choose one of slow, dice" in run.stdout
    assert run.stderr.count('dice Client :  {"jsonrpc":"2.0","id":101,"method":"initialize"') == 2
    assert "server/discover" not in run.stderr


def test_one_server_that_says_nothing_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The prompt is there at once, the tools of the others as well, and nothing is made up."""
    silent = [str(SCRIPTED), "no-discover-answer", "no-initialize-answer"]
    config = configuration(
        tmp_path, silent={"command": sys.executable, "args": silent}, dice=entry("dice")
    )

    def quick_ones_only(servers: Servers, _seconds: float) -> bool:
        return until(lambda: not servers.all[1].is_starting, "the dice")

    monkeypatch.setattr(Servers, "wait_until_settled", quick_ones_only)
    monkeypatch.setattr(chat_module, "SAY_AFTER", 0.0)
    monkeypatch.setattr("sys.stdin", io.StringIO("roll\n/servers\nexit\n"))
    model = recorded(tmp_path, says(ROLL), says("done"))
    words = ["host", "--config", str(config), "--model", model, "--yes", "--lang", "en"]
    assert main(words) == 0
    shown = capfd.readouterr()
    assert "[Calling tool dice with args" in shown.out
    assert "dice  1 tool\n" in shown.out
    assert "silent  still starting" in shown.out
    assert "silent is still starting (no answer yet: " in shown.err
    assert "A person answers" not in shown.err


def test_nothing_is_said_of_a_server_after_the_host_has_ended() -> None:
    """Its output may be closed by then."""
    silent = ChildCommand(
        (sys.executable, str(SCRIPTED), "no-discover-answer", "no-initialize-answer")
    )
    servers = Servers((ServerEntry("silent", silent),), lambda _name: Nobody())
    heard: list[str] = []
    servers.begin(lambda server: heard.append(server.name))
    until(lambda: servers.all[0].awaits, "a request that waits")
    servers.close()
    assert servers.wait_until_settled(PATIENCE)
    assert heard == []


def test_only_a_person_is_said_to_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where humanmcp serves by hand the one at the host has to know how long they have."""
    monkeypatch.setattr(chat_module, "SAY_AFTER", 0.0)
    servers = Servers((SLOW_PERSON,), lambda _name: Nobody(), timeout=90)
    person = AtHost(Typist())
    chat = Chat(HostLoop(ScriptModel([]), servers, person), person, Typist())
    chat._say_who_is_awaited()
    assert "A person answers there and has 90 s for each answer" in capfd.readouterr().err


def test_a_question_in_the_inbox_names_its_server(tmp_path: Path) -> None:
    """Each server that asks has a session of its own there, with its name."""
    greeter = {"command": sys.executable, "args": [str(Path(__file__).with_name("sdk_greeter.py"))]}
    config = configuration(tmp_path, greeter=greeter, dice=entry("dice"))
    model = recorded(tmp_path, says(use("greeter__greet")), says("who are you?"))
    home = tmp_path / "box"
    host = Hosting(tmp_path, words(config, model, "--yes", "--desk", "--home", str(home)))
    host.type("greet")
    inbox = FolderInbox(home)
    (facts,) = until(lambda: list(inbox.sessions()), "the question")
    assert facts.title == "greeter"
    (item,) = until(lambda: list(inbox.items(facts.name)), "the question")
    inbox.send(item.key, Reply('{"action": "decline"}', TextForm.RESULT, by="desk"))
    host.hear("who are you?")
    host.type("exit")
    assert host.end() == 0


def test_the_person_of_the_sample_lists_their_tool_at_once(tmp_path: Path) -> None:
    """The documented first host has all its tools as soon as its servers run."""
    samples = Path(__file__).parents[3] / "samples" / "host" / "mcp.json"
    human = json.loads(samples.read_text(encoding="utf-8"))["mcpServers"]["human"]
    args = [str(samples.parents[2] / one) if "/" in one else one for one in human["args"]]
    config = configuration(
        tmp_path, human={"command": sys.executable, "args": ["-m", "humanmcp", *args]}
    )
    run = chat(tmp_path, words(config, recorded(tmp_path)), "/tools")
    assert "human  1 tool\n" in run.stdout
    assert "human__ask_human" in run.stdout

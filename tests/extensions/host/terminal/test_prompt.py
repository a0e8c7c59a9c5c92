"""`humanmcp client` as a process: what a person types and what they see."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.cli import main
from tests.extensions.host.at_keys import CTRL_D, PROMPT, Terminal
from tests.extensions.host.seats import SAMPLES, SCRIPTED
from tests.support.person import Person
from tests.support.serve_process import HUMANMCP, run_command

CALCULATE: Final = (sys.executable, str(SAMPLES / "servers" / "calculate.py"))
DICE: Final = (sys.executable, str(SAMPLES / "servers" / "dice.py"))
FAULTY: Final = (sys.executable, str(SAMPLES / "fixtures" / "faulty_dice.py"))
NO_SERVER: Final = "http://127.0.0.1:9"
"""Nothing listens there: only the system may give out ports below 1024."""
QUOTE: Final = "a-quote-too-few.txt"
LESSON: Final = ("--script", str(SAMPLES / "lessons" / "calculate.txt"))
TIME: Final = r"(?m)^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d"
STAMP: Final = re.compile(TIME + "  ")
READY: Final = "Initialization complete 🎉 Client is ready to send commands."


def typed(
    home: Path, words: tuple[str, ...], *lines: str, server: tuple[str, ...] = CALCULATE
) -> subprocess.CompletedProcess[str]:
    """Run the client with these lines typed."""
    return run_command(home, *HUMANMCP, "client", *words, "--", *server, typed=lines)


def wire(stderr: str) -> list[tuple[str, Any]]:
    """Return the lines of the wire from the log on stderr, as (sender, message)."""
    found = []
    for line in stderr.split("\n"):
        if STAMP.match(line):
            rest = STAMP.sub("", line)
            sender, _, text = rest.partition(" :")
            if sender in ("Client", "Server"):
                found.append((sender, json.loads(text)))
    return found


OPENED: Final = (
    (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26",'
        '"capabilities":{"roots":{"listChanged":true}},'
        '"clientInfo":{"name":"example-client","version":"1.0.0"}}}'
    ),
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    '{"jsonrpc":"2.0","id":2,"method":"tools/list"}',
    (
        '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":'
        '{"name":"calculate","arguments":{"first":5,"second":[10,20]}}}'
    ),
    '{"jsonrpc":"2.0","id":4,"method":"ping"}',
)
"""What the client of the article sends, byte for byte."""


def test_a_call_in_words_need_not_be_waited_for(tmp_path: Path) -> None:
    """`&` ends a call as it ends a method; before it was taken for an argument."""
    run = typed(tmp_path, (), "call calculate first=5 second=[10,20] &", "ping")
    assert "not key=value" not in run.stderr + run.stdout
    asked = [message.get("method") for sender, message in wire(run.stderr) if sender == "Client"]
    assert asked[-2:] == ["tools/call", "ping"]
    result, ping = run.stdout.index("tools/call {"), run.stdout.index("Ping {}")
    assert result < ping  # as they came


def test_the_example_begins_as_the_article_shows_it(tmp_path: Path) -> None:
    """`--example`, everything that a terminal shows, byte for byte but for the times."""
    served = subprocess.run(
        CALCULATE, input="\n".join(OPENED), capture_output=True, encoding="utf-8", check=True
    ).stdout.splitlines()
    terminal = Terminal(tmp_path, *CALCULATE, flags=("--example",), wire=True)
    shown = terminal.see(PROMPT) + PROMPT
    terminal.type("ping")
    shown += terminal.see(PROMPT) + PROMPT
    terminal.press(CTRL_D)
    assert terminal.end() == 0

    def client(at: int) -> str:
        return f"TIME  Client :  {OPENED[at]}\n\n"

    def server(at: int) -> str:
        return f"TIME  Server :   {served[at]}\n\n"

    assert re.sub(TIME, "TIME", shown.replace("\r\n", "\n")) == (
        f"{client(0)}{server(0)}{client(1)}{READY}\n{client(2)}{server(1)}{client(3)}{server(2)}"
        f"{PROMPT}ping\n{client(4)}{server(3)}Ping {{}}\n{PROMPT}"
    )
    assert json.loads(served[2])["result"]["content"][0]["text"] == (
        "The result of the addition is: 35"
    )


def test_the_example_needs_its_tool(tmp_path: Path) -> None:
    """Where it is not there, that is said, and the prompt comes all the same."""
    run = typed(tmp_path, ("--example", "--protocol-version", "2025-06-18"), "ping", server=DICE)
    assert "this server has no calculate" in run.stderr
    assert "Ping {}" in run.stdout
    assert wire(run.stderr)[0][1]["params"]["protocolVersion"] == "2025-06-18"


def test_a_ping_is_typed_and_answered(tmp_path: Path) -> None:
    """Id 4 after the lesson, `Ping {}` on stdout, and the prompt."""
    run = typed(tmp_path, LESSON, "ping")
    assert wire(run.stderr)[-2:] == [
        ("Client", {"jsonrpc": "2.0", "id": 4, "method": "ping"}),
        ("Server", {"jsonrpc": "2.0", "id": 4, "result": {}}),
    ]
    assert "Enter method :  Ping {}\n" in run.stdout
    assert run.stdout.endswith("Enter method :  \n"), "the shell's prompt gets a line of its own"


def test_results_unknown_words_and_the_end_of_input(tmp_path: Path) -> None:
    """A result is printed, an unknown word gets a line of help, EOF is a clean end."""
    run = typed(tmp_path, (), "resources/list", "dance", "tool")
    assert run.returncode == 0
    assert 'resources/list {"resources": []}' in run.stdout
    assert '"dance" is not a command. Type `help`' in run.stdout
    assert '"tool" is not a command. Did you mean `tools`?' in run.stdout


def test_wrong_arguments_are_caught_before_the_call(tmp_path: Path) -> None:
    """Checked against the tool's schema; `call!` sends them, and the server says its part."""
    run = typed(
        tmp_path, (), "call calculate first=5", "call calculate first=x", "call! calculate first=x"
    )
    asked = [one["method"] for sender, one in wire(run.stderr) if sender == "Client"]
    assert asked.count("tools/call") == 1
    assert "calculate was not called" in run.stdout
    assert "first takes: number" in run.stdout
    assert "first must be a number" in run.stdout


@pytest.mark.parametrize(
    ("flags", "server", "lines"),
    [
        pytest.param(LESSON, CALCULATE, ("ping",), id="G5-calculate"),
        pytest.param((), DICE, ("tools/list", "call dice sides=6"), id="R10-dice"),
    ],
)
def test_the_client_cannot_tell_a_person_from_a_program(
    tmp_path: Path, flags: tuple[str, ...], server: tuple[str, ...], lines: tuple[str, ...]
) -> None:
    """A person answers all requests (with real dice, say); the same lines on the wire.

    G5, DICE-10.
    """
    program = typed(tmp_path, flags, *lines, server=server)
    answers = {
        message["id"]: message["result"]
        for sender, message in wire(program.stderr)
        if sender == "Server"
    }

    def answer(request: dict[str, Any]) -> str:
        return f'"result":{json.dumps(answers[request["id"]])}'

    home = tmp_path / "home"
    home.mkdir()
    server = (sys.executable, "-m", "humanmcp", "serve", "--by-hand", "--home", str(home / "box"))
    with Person(home, answer) as person:
        by_hand = typed(home, flags, *lines, server=server)
    assert wire(by_hand.stderr) == wire(program.stderr)
    assert len(person.answered) == len(answers) >= 3


def test_what_a_server_does_wrong_is_explained(tmp_path: Path) -> None:
    """DICE-5, from the client's side: the article's server and what the check says of each line."""
    lesson = ("--script", str(SAMPLES / "lessons" / "faulty-dice.txt"))
    run = typed(tmp_path, lesson, server=FAULTY)
    assert (  # the best of its mistakes, which other ids than 1 bring to light
        "you sent no request with the id 1. Because of --lenient it answers 101 (initialize)"
    ) in run.stderr
    remarks = re.findall(
        r"^  (?:warning|hint) [a-z0-9-]+ \((\w+)\) (\S*):", run.stderr, re.MULTILINE
    )
    assert remarks == [
        ("M09", "/result"),  # no capabilities
        ("M04", "/result/protocolVersion"),  # another version
        ("M49", "/result/serverInfo/name"),  # a server that calls itself a client
        ("M10", "/result/tools/0/input_schema"),
        ("M01", "/result/content"),
        ("R20", "/result"),  # "pong"
    ]


def test_the_one_who_sees_a_mistake_is_not_told_that_they_made_it(tmp_path: Path) -> None:
    """The server wrote it, asked or answered it."""
    run = typed(tmp_path, ("--lenient",), "tools/list", "call nothing", server=FAULTY)
    assert '"input_schema" is there instead' in run.stderr
    assert "The client asked for 2025-11-25, but this answers 2025-03-26" in run.stderr
    assert "The server listed: dice" in run.stdout
    assert not re.search(r"\b[Yy]ou (wrote|answer|declared|listed|are)\b", run.stderr + run.stdout)
    run = typed(tmp_path, ("--lenient", "--lang", "ja"), "tools/list", server=FAULTY)
    assert '代わりに "input_schema" があります' in run.stderr


def test_what_is_no_message_is_explained_once(tmp_path: Path) -> None:
    """A server that prints its log on stdout: each line is marked, the reason is said once."""
    noise = "print('Starting'); print('Ready'); input()"
    run = typed(tmp_path, ("--timeout", "1"), server=(sys.executable, "-uc", noise))
    assert run.stderr.count("error line-not-json (N01)") == 2
    assert run.stderr.count("Only messages of MCP may come here") == 1


def test_a_line_is_sent_as_typed_and_explained(tmp_path: Path) -> None:
    """Broken on purpose: the log shows the very line; the check says what is wrong with it."""
    run = typed(tmp_path, (), "raw {broken", 'raw { "jsonrpc":"2.0","id":77,"method":"nosuch" }')
    assert "Client :  {broken\n" in run.stderr
    assert 'Client :  { "jsonrpc":"2.0","id":77,"method":"nosuch" }\n' in run.stderr
    assert "error unclosed-bracket (J07)" in run.stdout
    assert "hint unknown-method (M83)" in run.stdout
    assert "-32601" in run.stdout


def test_again_and_history_and_lists(tmp_path: Path) -> None:
    """What was typed can be repeated and listed; `tools` lists by name."""
    run = typed(tmp_path, (), "again", "tools", "again", "prompts", "history", "help", "quit", "no")
    methods = [one.get("method") for sender, one in wire(run.stderr) if sender == "Client"]
    assert methods[2:] == ["tools/list", "tools/list", "prompts/list"]
    assert "prompts/list: the server answered with the error -32601" in run.stdout
    assert "   2 prompts" in run.stdout
    assert run.stdout.count("call TOOL key=value") == 2
    assert "is not a command" not in run.stdout


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("call", "no tool given"),
        ("call calculate 5", "not key=value: 5"),
        ("tools/list {", "the parameters are not JSON (column 1): The JSON ends too early"),
        ("tools/list {'a': 1}", "Use double quotes"),
        ("tools/list []", "the parameters must be an object: {…}\n"),
    ],
)
def test_each_slip_has_its_sentence(tmp_path: Path, line: str, said: str) -> None:
    """And the session goes on."""
    run = typed(tmp_path, (), line, "ping")
    assert said in run.stdout
    assert "Ping {}" in run.stdout


def test_a_request_without_waiting(tmp_path: Path) -> None:
    """`&`: the next line is sent while the first one waits, and nothing is mixed up."""
    pair = ('test/pair {"value": 1} &', 'test/pair {"value": 2}')
    run = typed(tmp_path, (), *pair, server=(sys.executable, str(SCRIPTED)))
    assert 'test/pair {"value": 2}' in run.stdout
    assert [one["id"] for _sender, one in wire(run.stderr)[-2:]] == [103, 102]


def test_a_form_is_filled_in_at_the_terminal(tmp_path: Path) -> None:
    """An `input_required` result: the form is asked field by field, and the call repeated."""
    script = tmp_path / "lesson.txt"
    script.write_text(
        "#! --start modern\ncall count n=1\na\nAda\nfile:///home/me\n", encoding="utf-8"
    )
    run = typed(
        tmp_path, ("--script", str(script)), server=(sys.executable, str(SCRIPTED), "modern")
    )
    assert "The server asks you: elicitation/create" in run.stdout
    assert "Who are you?" in run.stdout
    assert "  name (string): Ada" in run.stdout
    assert "hello Ada at file:///home/me" in run.stdout


def test_strictness_timeouts_and_pretty_lines(tmp_path: Path) -> None:
    """At the prompt, with the other style of the log."""
    server = (sys.executable, str(SCRIPTED), "no-tools")
    flags = ("--strict", "--timeout", "3", "--pretty")
    run = typed(tmp_path, flags, "tools/list", "test/silence", "ping", server=server)
    assert 'the server did not declare the capability "tools"' in run.stdout
    assert "no answer to test/silence within 3 s" in run.stdout
    assert '\n  "method": "notifications/cancelled",\n' in run.stderr
    assert '"method": "tools/list"' not in run.stderr


def test_a_server_of_a_configuration(tmp_path: Path) -> None:
    """`--server NAME --config FILE`; a remote one is called at its address."""
    file = tmp_path / "x.json"
    servers = {
        "calculate": {"command": CALCULATE[0], "args": [CALCULATE[1]]},
        "github": {"url": f"{NO_SERVER}/mcp"},
    }
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")

    def run(name: str) -> subprocess.CompletedProcess[str]:
        words = ("client", "--server", name, "--config", str(file))
        return run_command(tmp_path, *HUMANMCP, *words, typed=["ping"])

    assert "Ping {}" in run("calculate").stdout
    remote = run("github")
    assert remote.returncode == 1
    assert f"cannot reach {NO_SERVER}/mcp" in remote.stderr
    assert "has no server git. It has: calculate, github" in run("git").stderr


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("client",), 2, "no server given"),
        (("client", "--", "no-such-program"), 1, "cannot start `no-such-program`"),
        (
            ("client", "--capabilities", "money", "--", "x"),
            2,
            "--capabilities money: choose from roots",
        ),
        (("client", "--script", "/nowhere", "--", "x"), 2, "cannot be read: there is no such file"),
        (("client", "--script", QUOTE, "--", "x"), 2, "Close the quotation mark"),
        (("client", "--", sys.executable, "-c", "pass"), 1, "has ended (exit status 0)"),
    ],
)
def test_what_cannot_be_started_is_said_in_one_line(
    tmp_path: Path,
    words: tuple[str, ...],
    status: int,
    said: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """No traceback: a sentence, and an exit status of 1 (not done) or 2 (not understood)."""
    (tmp_path / QUOTE).write_text('#! --name "half', encoding="utf-8")
    assert main([str(tmp_path / QUOTE) if word is QUOTE else word for word in words]) == status
    complaint = capfd.readouterr().err
    assert said in complaint
    assert "Traceback" not in complaint


def test_a_server_can_be_started_anew_from_the_prompt(tmp_path: Path) -> None:
    """A new process and a new session, in the same way or in another one."""
    server = (sys.executable, str(SCRIPTED), "modern")
    lines = ("test/die", "ping", "reconnect", "reconnect modern", "tools", "reconnect loudly")
    run = typed(tmp_path, ("--desk", "--home", str(tmp_path / "box")), *lines, server=server)
    assert run.stdout.count("has ended (exit status 3)") >= 2
    assert run.stdout.count("The server was restarted") == 2
    assert "count" in run.stdout
    assert "reconnect loudly: choose one of handshake, modern, probe" in run.stdout
    said = [one["method"] for who, one in wire(run.stderr) if who == "Client"]
    assert said.count("initialize") == 2
    assert said[-2:] == ["server/discover", "tools/list"]


def test_a_call_knows_the_tools_of_every_page(tmp_path: Path) -> None:
    """Also when somebody has looked at the first page only."""
    server = (sys.executable, str(SCRIPTED), "paged")
    run = typed(tmp_path, (), "tools/list", "call tool3 n=x", "call tool2 n=1", server=server)
    assert "n takes: integer" in run.stdout
    called = [one for who, one in wire(run.stderr) if who == "Client"]
    assert [one["params"]["name"] for one in called if one.get("method") == "tools/call"] == [
        "tool2"
    ]
    assert "The server listed" not in run.stdout


def test_the_parameters_of_a_method_are_checked_and_sent(tmp_path: Path) -> None:
    """What is wrong with them is said, as of a raw line; a person may want to see the rest."""
    lines = ('resources/read {"url": "x:y"}', "notifications/progress {}", "tools/lists")
    run = typed(tmp_path, (), *lines)
    assert '"uri" is missing: "url" is there instead' in run.stdout
    assert re.search(r"warning [a-z-]+ \(\w+\) .*progressToken", run.stdout)
    assert "tools/list" in run.stdout
    said = [one["method"] for who, one in wire(run.stderr) if who == "Client"]
    assert said[-3:] == ["resources/read", "notifications/progress", "tools/lists"]


SHOWS_ITS_WORLD: Final = (
    "import json, os, sys\n"
    "for line in sys.stdin:\n"
    "    asked = json.loads(line)\n"
    "    found = {'protocolVersion': '2025-11-25', 'capabilities': {},\n"
    "             'serverInfo': {'name': os.environ.get('NAME', '-'), 'version': os.getcwd()}}\n"
    "    if asked['method'] == 'initialize':\n"
    "        print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': found}))\n"
    "    if asked['method'] == 'test/die':\n"
    "        sys.exit(7)\n"
)


def test_a_server_gets_the_variables_and_the_folder_that_flags_name(tmp_path: Path) -> None:
    """`-e NAME=VALUE`, `-e NAME` for the value here, and `--cwd`."""
    folder = tmp_path / "there"
    folder.mkdir()
    server = (sys.executable, "-uc", SHOWS_ITS_WORLD)
    run = typed(tmp_path, ("-e", "NAME=Ada", "--cwd", str(folder)), server=server)
    assert run.returncode == 0
    assert f'"name": "Ada", "version": "{folder}"' in run.stderr
    run = typed(tmp_path, ("-e", "HOME"), server=server)
    assert run.returncode == 0
    run = typed(tmp_path, ("-e", "NO_SUCH_VARIABLE"), server=server)
    assert run.returncode == 2
    assert "-e NO_SUCH_VARIABLE: write NAME=VALUE" in run.stderr


def test_the_exit_status_tells_of_a_server_that_died(tmp_path: Path) -> None:
    """A script that goes on after it must be able to see that."""
    run = typed(tmp_path, (), "test/die", server=(sys.executable, "-uc", SHOWS_ITS_WORLD))
    assert "has ended (exit status 7)" in run.stdout
    assert run.returncode == 1


def test_an_address_is_told_from_a_program(capfd: pytest.CaptureFixture[str]) -> None:
    """It is called, instead of "no such file"."""
    address = f"{NO_SERVER}/mcp"
    for words in (["client", "--", address], ["client", address]):
        assert main(words) == 1
        assert f"cannot reach {address}" in capfd.readouterr().err


def test_no_root_is_made_up_for_a_real_server(tmp_path: Path) -> None:
    """None is shown that nobody named; the example keeps the article's."""
    server = (sys.executable, str(SCRIPTED))
    run = typed(tmp_path, (), "test/ask", server=server)
    assert '"result":{"roots": []}' in run.stderr or '"result":{"roots":[]}' in run.stderr
    run = typed(tmp_path, ("--root", "file:///home/me"), "test/ask", server=server)
    assert "file:///home/me" in run.stderr


def test_a_root_may_have_a_name(tmp_path: Path) -> None:
    """It stands before the address; an `=` in the address is none."""
    flags = ("--root", "Root 1=file:///example/root1", "--root", "file:///a=b")
    run = typed(tmp_path, flags, "test/ask", server=(sys.executable, str(SCRIPTED)))
    shown = '[{"uri": "file:///example/root1", "name": "Root 1"}, {"uri": "file:///a=b"}]'
    assert shown.replace(" ", "") in run.stderr.replace(" ", "")


LIBRARY: Final = (sys.executable, str(Path(__file__).parents[1] / "sdk_library.py"))


def test_a_word_without_what_it_needs_says_how_to_write_it(tmp_path: Path) -> None:
    """Nothing is sent then."""
    lines = ("prompt", "read", "complete", "complete x", "prompt greeting", "read note://a b=c")
    run = typed(tmp_path, (), *lines, server=LIBRARY)
    for said in (
        "Write: prompt NAME key=value",
        "Write: read URI",
        "Write: complete PROMPT key=value",
        "greeting needs city. Write city=…",
        "note://a is not a template",
    ):
        assert said in run.stdout
    assert "prompts/get" not in run.stderr


def test_a_prompt_is_filled_in_at_a_terminal(tmp_path: Path) -> None:
    """Field by field, as a tool is, and shown as who says what."""
    terminal = Terminal(tmp_path, *LIBRARY, wire=True)
    terminal.see(PROMPT)
    terminal.type("prompt greeting")
    terminal.see("city* (string)")
    terminal.type("Oslo")
    terminal.see("style (string)")
    terminal.type("")
    assert "user: Write a short greeting to Oslo." in terminal.see(PROMPT)
    terminal.type("read weather://{city}/now")
    terminal.see("city* (string)")
    terminal.type("Oslo")
    assert "sunny in Oslo" in terminal.see(PROMPT)
    terminal.press(CTRL_D)
    assert terminal.end() == 0

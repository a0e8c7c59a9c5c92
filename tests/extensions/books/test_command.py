"""`humanmcp book`: what a book does, and a server that exists as a book."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp import extensions
from humanmcp.cli import main
from humanmcp.common.book_file import read_book
from tests.http.peer import Peer, answer
from tests.support.serve_process import Serving
from tests.support.verdicts import R2025

ROOT: Final = Path(__file__).parents[3]
CONFORMANCE: Final = ROOT / "samples" / "conformance.toml"
HANDSHAKE: Final = {
    "protocolVersion": R2025,
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "c", "version": "1"},
}
ASKED: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("tools/list", {}),
    ("tools/call", {"name": "test_simple_text"}),
    ("tools/call", {"name": "test_error_handling", "arguments": {}}),
    ("tools/call", {"name": "test_multiple_content_types", "arguments": {}}),
    ("tools/call", {"name": "test_tool_with_progress", "_meta": {"progressToken": "t"}}),
    ("tools/call", {"name": "test_tool_with_logging"}),
    ("tools/call", {"name": "test_elicitation", "arguments": {"message": "Who?"}}),
    ("tools/call", {"name": "nobody"}),
    ("prompts/list", {}),
    (
        "prompts/get",
        {"name": "test_prompt_with_arguments", "arguments": {"arg1": "{a}", "arg2": "b"}},
    ),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "test://template/7/data"}),
    ("resources/read", {"uri": "test://{odd}"}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}},
    ),
)


def said(home: Path, book: Path) -> Iterator[Any]:
    """Ask a server with this book, and return all that it says, in order."""
    with Serving(home, "--book", str(book)) as server:
        for number, (method, params) in enumerate((("initialize", HANDSHAKE), *ASKED)):
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            server.say(json.dumps(request))
            while (message := json.loads(server.hear())).get("id") != number:
                yield message
                if "id" in message:
                    answer = {"action": "accept", "content": {"username": "u", "email": "e@f"}}
                    reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer}
                    server.say(json.dumps(reply))
            yield message
            if method == "initialize":
                server.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')


def test_a_recording_becomes_a_book_that_says_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lists, answers, errors, notifications, questions: a client meets the same server again."""
    first = list(said(tmp_path / "one", CONFORMANCE))
    book = tmp_path / "copy.toml"
    (transcript,) = (tmp_path / "one").glob("sessions/*/transcript.jsonl")
    assert main(["book", "--from", str(transcript), "-o", str(book)]) == 0
    assert str(book) in capsys.readouterr().err
    other = tmp_path / "other.toml"
    assert main(["book", "--from", "-o", str(other), str(transcript)]) == 0
    assert other.read_bytes() == book.read_bytes()
    capsys.readouterr()
    assert main(["book", "--from", str(transcript), "-o", "-"]) == 0
    assert capsys.readouterr().out == book.read_text(encoding="utf-8")
    assert list(said(tmp_path / "two", book)) == first


@pytest.mark.extension("host")
def test_a_running_server_becomes_a_book_that_offers_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its lists, its capabilities, who it is; its answers are for rules to say."""
    serve = ("-m", "humanmcp", "serve", "--home", str(tmp_path / "home"), "--book")
    words = ["book", "--from", "--", sys.executable, *serve, str(CONFORMANCE)]
    assert main(words) == 0
    book = tmp_path / "copy.toml"
    book.write_text(capsys.readouterr().out, encoding="utf-8")
    copy, own = read_book(book), read_book(CONFORMANCE)
    assert (copy.tools, copy.prompts, copy.resources) == (own.tools, own.prompts, own.resources)
    assert copy.resource_templates == own.resource_templates
    assert (copy.name, copy.version, copy.instructions) == (own.name, own.version, own.instructions)
    assert (copy.capabilities, copy.protocol_versions, copy.entries) == (
        own.capabilities,
        own.protocol_versions,
        (),
    )
    assert copy.wait == {"*": 0.0}


@pytest.mark.extension("host")
@pytest.mark.parametrize("dashes", [(), ("--",)])
def test_a_server_at_an_address_becomes_a_book(
    dashes: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same over HTTP; the key comes from the environment and is not in the book."""
    monkeypatch.setenv("PEER_KEY", "secret")
    found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    tools = [{"name": "echo", "inputSchema": {"type": "object"}}]
    results = {"server/discover": found, "tools/list": {"tools": tools}}
    with Peer(lambda asked: answer(asked, results[asked.rpc])) as peer:
        key = ("--header", "Authorization: Bearer ${PEER_KEY}")
        assert main(["book", "--home", str(tmp_path), *key, "--from", *dashes, peer.url]) == 0
        keys = {one.headers["authorization"] for one in peer.asked}
    assert keys == {"Bearer secret"}
    said = capsys.readouterr()
    assert "secret" not in said.out + said.err
    (tmp_path / "copy.toml").write_text(said.out, encoding="utf-8")
    assert [one["name"] for one in read_book(tmp_path / "copy.toml").tools] == ["echo"]


def test_secrets_of_a_recording_do_not_reach_its_book(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with every export; `--no-redact` leaves them."""
    lines = []
    for seq, (way, message) in enumerate(
        (
            ("in", {"id": 1, "method": "tools/call", "params": {"name": "login"}}),
            ("out", {"id": 1, "result": {"content": [{"type": "text", "text": "x"}], "a": None}}),
            ("in", {"id": 2, "method": "resources/read", "params": {"uri": "a://b"}}),
            ("out", {"id": 2, "result": {"contents": [], "apiKey": "sk-1234567890abcdef1234"}}),
        ),
        1,
    ):
        raw = json.dumps({"jsonrpc": "2.0", **message})
        frame = {"seq": seq, "at": "2026-01-01T00:00:00.000Z", "way": way, "raw": raw}
        lines.append(json.dumps(frame))
    file = tmp_path / "transcript.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(["book", "--from", str(file)]) == 0
    shown = capsys.readouterr()
    assert "sk-1234567890" not in shown.out
    assert "tools/call login" in shown.err  # left out: TOML has no null
    assert main(["book", "--from", str(file), "--no-redact"]) == 0
    assert "sk-1234567890" in capsys.readouterr().out


def test_a_book_is_shown_rule_by_rule_with_what_is_doubtful(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is filled is filled as far as the conditions say; a name that is none is told."""
    book = tmp_path / "book.toml"
    book.write_text(
        """
[[tools]]
name = "weather"
inputSchema = { type = "object", properties = { city = { type = "string" }, day = { } } }

[[rules]]
tool = "weather"
where = { city = "Tokyo" }
text = "{city} on {day}: {skye}"
fault = "wrong-id"

[[rules]]
tool = "wether"
once = true
tool_error = "no"
[[rules.then]]
do = "hold"
""",
        encoding="utf-8",
    )
    assert main(["book", "--check", str(book)]) == 0
    first, one, two, *doubts = capsys.readouterr().out.splitlines()
    assert first == (
        f"{book}: this answer book is valid. Tools: 1, prompts: 0, resources: 0, rules: 2"
    )
    assert one == (
        '1  tools/call weather city = "Tokyo"  →  text Tokyo on {day}: {skye}; fault wrong-id'
    )
    assert two == "2  tools/call wether times 1  →  tool_error no | hold"
    assert doubts == [
        "Rule 1: {skye} has no value, so it is not replaced. Use one of city, day, params.",
        "Rule 2: the answer book has no tool wether. Add it with [[tools]], or check the name.",
    ]


def test_a_book_for_a_tap_needs_no_tools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real server has them; only there can a rule forward a call."""
    book = tmp_path / "book.toml"
    rules = '[[rules]]\ntool = "t"\ntext = "x"\n[[rules]]\nmethod = "tools/call"\ndo = "forward"\n'
    book.write_text(rules, encoding="utf-8")
    assert main(["book", "--check", str(book)]) == 0
    assert "offers no tool" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere.toml"], "nowhere.toml: it cannot be read"),
        (["a", "b"], "Give one answer book only"),
        (["--from"], "Nothing to copy was given"),
        (["--from", "nowhere"], "nowhere"),
        pytest.param(
            ["--from", "http://127.0.0.1:9/mcp"],
            "cannot reach http://127.0.0.1:9/mcp",
            marks=pytest.mark.extension("host"),
        ),
        pytest.param(
            ["--from", "--", "no-such-program-here"],
            "no-such-program-here",
            marks=pytest.mark.extension("host"),
        ),
    ],
)
def test_what_cannot_be_copied_or_checked_is_said(
    words: list[str],
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In one sentence, with what to do."""
    assert main(["book", "--home", str(tmp_path), *words]) != 0
    assert sentence in capsys.readouterr().err


def test_without_an_extension_that_asks_servers_one_is_not_copied(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command is not started; a recording can be copied."""
    others = tuple(one for one in extensions.installed() if not one.brings.lister)
    monkeypatch.setattr(extensions, "installed", lambda: others)
    assert main(["book", "--from", "--", "no-such-program-here"]) != 0
    assert "No installed extension can ask a server" in capsys.readouterr().err


def test_a_book_that_is_there_is_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody wrote it."""
    book = tmp_path / "book.toml"
    book.write_text("# mine\n", encoding="utf-8")
    with Serving(tmp_path / "home", "--auto") as server:
        server.say(
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HANDSHAKE})
        )
        server.hear()
    (transcript,) = (tmp_path / "home").rglob("transcript.jsonl")
    assert main(["book", "--from", str(transcript), "-o", str(book)]) != 0
    assert "already exists" in capsys.readouterr().err
    assert book.read_text(encoding="utf-8") == "# mine\n"


TOOL: Final = """[[tools]]
name = "t"
inputSchema = {type = "object"}
outputSchema = {type = "object", properties = {n = {type = "integer"}}, required = ["n"]}

[[rules]]
"""
ONE: Final = '\n[server]\nprotocol_versions = ["2025-11-25"]'
"""Earlier versions have no `structuredContent`: there it is not judged."""
LATER: Final = "depends on the request"
NEVER: Final = "Rule 1: its answer is not sent"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ('tool = "t"\nresult = {content = [], structuredContent = {n = 1}}', ""),
        ('tool = "t"\nresult = {content = [], structuredContent = {n = "1"}}', ""),
        (f'tool = "t"\nresult = {{content = [], structuredContent = {{n = "1"}}}}{ONE}', NEVER),
        ('tool = "t"\nresult = {content = 7}', NEVER),
        ('tool = "t"\nwhere = {a = "x"}\nresult = {content = "{a}"}', NEVER),
        ('tool = "t"\nresult = {content = "{a}"}', LATER),
        ('tool = "t"\nresult = {content = [], structuredContent = {n = "{a}"}}', LATER),
        ('tool = "u"\ntext = "x {a}"', ""),
        ('tool = "t"\ntool_error = "x"', ""),
        ('tool = "t"\nerror = {code = 1, message = "x"}', ""),
        ('tool = "t"\nerror = {code = "1", message = "x"}', NEVER),
        ('tool = "t"\ndo = "hold"', ""),
        ('method = "prompts/get"\nresult = {messages = []}', ""),
        ('method = "prompts/get"\nresult = {messages = 1}', NEVER),
        ('method = "resources/read"\nresource = "a:{b}"\nresult = {contents = []}', ""),
        ('method = "resources/read"\nresult = {contents = [{uri = "{uri}", text = ""}]}', LATER),
        ('method = "ping"\nresult = {}', ""),
        ('method = "no/such"\nresult = {}', ""),
        ('error = {code = 1, message = "x"}', LATER),
        ('tool = "t"\nresult = {content = 7}\nfault = "wrong-id"', ""),
        ('tool = "t"\non = false\nresult = {content = 7}', ""),
    ],
)
def test_what_a_rule_answers_is_judged_when_the_book_is_read_where_it_can_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rule: str, expected: str
) -> None:
    """By the smallest request that it answers; what depends on the request is said to."""
    book = tmp_path / "book.toml"
    book.write_text(TOOL + rule, encoding="utf-8")
    assert main(["book", str(book), "--lang", "en"]) == 0
    doubts = [one for one in capsys.readouterr().out.splitlines()[2:] if "has no tool" not in one]
    assert (expected in "".join(doubts)) if expected else doubts == []


@pytest.mark.parametrize("name", ["conformance", "tasks", "weather"])
def test_no_rule_of_a_sample_is_accused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each of them answers."""
    assert main(["book", str(ROOT / "samples" / f"{name}.toml"), "--lang", "en"]) == 0
    assert "is not sent" not in capsys.readouterr().out

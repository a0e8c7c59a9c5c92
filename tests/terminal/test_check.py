"""`humanmcp check`: an answer explained without any session."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.answering.alone import (
    guessed_method,
    judge_recording,
    open_exchange_of,
    remarks_on,
)
from humanmcp.cli import main
from humanmcp.export.recording import frames_in, problems_in, recording_of
from humanmcp.protocol.conversation.transcript import to_json
from humanmcp.protocol.validation.captures import captured_line
from tests.support.inbox_folder import Ran

COMMAND: Final = (sys.executable, "-m", "humanmcp", "check")
GOOD: Final = '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"sunny"}]}}'
WRONG: Final = """{
  "jsonrpc": "2.0", "id": 3,
  "result": {
    "tools": [ {"name": "x", "input_schema": {"type": "object"}}, ]
  }
}
"""


@pytest.fixture
def check(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:  # noqa: ANN401 - a function with flags
    """Return a function that checks a text from a file."""
    for name in ("LC_ALL", "LANG", "HUMANMCP_LANG"):
        monkeypatch.delenv(name, raising=False)

    def run(text: str, *flags: str) -> Ran:
        file = tmp_path / "answer.json"
        file.write_bytes(text.encode())
        capsys.readouterr()
        status = main(["check", *flags, str(file)])
        out, err = capsys.readouterr()
        return Ran(status, out, err)

    return run


def test_a_good_answer_is_shown_as_the_line_that_would_go_out(check: Any) -> None:  # noqa: ANN401 - see the fixture
    """Exit status 0, and the line byte for byte."""
    ran = check(GOOD)
    assert ran.status == 0
    assert ran.out.splitlines()[-1] == GOOD


def test_a_mistake_is_shown_with_its_place_a_caret_a_fix_and_the_page(check: Any) -> None:  # noqa: ANN401 - see the fixture
    """Exit status 1: what compilers taught people to read."""
    ran = check(WRONG)
    lines = ran.out.splitlines()
    at = next(
        at
        for at, line in enumerate(lines)
        if "answer.json:4:30: error misspelt-required-member (M10)" in line
    )
    assert (
        lines[at + 1] == '  4 |     "tools": [ {"name": "x", "input_schema": {"type": "object"}}, ]'
    )
    assert lines[at + 2].rstrip() == "    |" + " " * 30 + "^" * 14
    assert '"inputSchema" instead of "input_schema"' in lines[at + 3]
    assert lines[at + 4].startswith("    = ")
    assert "specification/2025-11-25/server/tools" in lines[at + 5]
    assert ran.status == 1


def test_a_caret_stands_below_the_mistake_after_wide_characters(check: Any) -> None:  # noqa: ANN401 - see the fixture
    """Japanese takes two columns a character."""
    out = check('{"result":{"content":[{"type":"text","text":"東京"}],"isError":"いいえ"}}').out
    lines = out.splitlines()
    shown, caret = next(
        pair for pair in itertools.pairwise(lines) if pair[1].strip(" |^") == "" and "^" in pair[1]
    )
    before = shown[: shown.index('"いいえ"')]
    assert caret.index("^") == len(before) + 2


def test_the_method_is_guessed_from_the_result_and_can_be_given(check: Any) -> None:  # noqa: ANN401 - see the fixture
    """It says what it took the answer for."""
    assert "tools/list" in check(WRONG).out
    assert check('{"result":{}}', "--method", "ping").status == 0
    assert check('{"result":{}}', "--method", "tools/call").status == 1


@pytest.mark.parametrize(
    ("result", "method"),
    [
        ({"tools": []}, "tools/list"),
        ({"contents": []}, "resources/read"),
        ({"protocolVersion": "x"}, "initialize"),
        ({"supportedVersions": []}, "server/discover"),
        ({}, "tools/call"),
        ("text", "tools/call"),
        (None, "tools/call"),
    ],
)
def test_each_result_gives_away_what_it_answers(result: object, method: str) -> None:
    """With and without the envelope."""
    assert guessed_method(result) == method
    assert guessed_method({"result": result}) == method


def test_the_request_gives_the_id_the_method_and_the_version(check: Any, tmp_path: Path) -> None:  # noqa: ANN401 - see the fixture
    """An id that is not the request's; the request may be pretty-printed."""
    request = tmp_path / "request.json"
    request.write_text('{\n "jsonrpc":"2.0", "id":4,\n "method":"tools/call"\n}', "utf-8")
    assert check(GOOD).status == 0
    ran = check(GOOD, "--request", str(request))
    assert ran.status == 1
    assert "R0" in ran.out
    request.write_text(
        '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":'
        '{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}',
        "utf-8",
    )
    assert "2026-07-28" in check(GOOD, "--request", str(request)).out
    request.write_text("hello", "utf-8")
    assert check(GOOD, "--request", str(request)).status == 2


def test_plain_text_is_a_form_too(check: Any) -> None:  # noqa: ANN401 - see the fixture
    """The last line feed of a file is no part of the words."""
    assert '"text":"sunny"' in check("sunny\n", "--form", "text").out


def test_fix_prints_the_text_with_every_fix_applied(check: Any) -> None:  # noqa: ANN401 - see the fixture
    """Also those that only show once a first one is applied; what is printed can be sent."""
    ran = check(WRONG, "--fix")
    assert ran.status == 0
    assert json.loads(ran.out)["result"]["tools"] == [
        {"name": "x", "inputSchema": {"type": "object"}}
    ]
    assert check(ran.out).status == 0


def test_fix_says_what_it_cannot_fix(check: Any) -> None:  # noqa: ANN401 - see the fixture
    """On stderr, so that stdout stays the text."""
    ran = check('{"result": {"content": [{"type": "image", "data": "?"}]}}', "--fix")
    assert ran.status == 1
    assert "error" in ran.err
    assert '"image"' in ran.out


def test_json_is_for_machines(check: Any) -> None:  # noqa: ANN401 - see the fixture
    """Code, level, line, column, pointer, message, fix."""
    made = check(WRONG, "--json").json
    found = next(one for one in made["problems"] if one["code"] == "M10")
    assert made["sendable"] is False
    assert made["line"] is None
    assert (found["level"], found["line"], found["column"]) == ("error", 4, 30)
    assert found["pointer"].startswith("/result/tools/0")
    assert found["fix"]["edits"][0]["new"] == '"inputSchema"'


def test_a_line_of_megabytes_is_shown_as_a_window(check: Any) -> None:  # noqa: ANN401 - see the fixture
    """No wall of text around the caret."""
    long = "x" * 1_000_000
    ran = check(f'{{"result":{{"content":[{{"type":"txt","text":"{long}"}}]}}}}')
    assert max(map(len, ran.out.splitlines())) < 400


def test_what_is_no_text_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A file that is no text in any encoding, one that is not there, and none at all: status 2."""
    file = tmp_path / "x"
    file.write_bytes(b"\x00\x93\xfa")
    for words in (["check", str(file)], ["check", str(tmp_path / "none")], ["check"]):
        assert main(words) == 2
        assert capsys.readouterr().err


def test_a_file_is_read_like_out_txt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the encodings that `out.txt` may have."""
    text = GOOD.replace("sunny", "東京の天気は晴れです。")
    file = tmp_path / "x"
    file.write_bytes(text.encode("cp932"))
    assert main(["check", str(file)]) == 0
    assert text in capsys.readouterr().out


# -- many at once -----------------------------------------------------------------------------


def lines(*records: object, flags: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Give each record as a line to a process, and return its lines, decoded."""
    text = b"\n".join(
        one if isinstance(one, bytes) else json.dumps(one).encode() for one in records
    )
    ran = subprocess.run([*COMMAND, "--lines", *flags], input=text, capture_output=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_lines_gives_one_answer_a_line_in_order() -> None:
    """The shape of the issue, with the id echoed where there is one."""
    good, wrong = lines(
        {"method": "tools/call", "protocol_version": "2025-11-25", "text": GOOD},
        {"method": "tools/list", "protocol_version": "2025-11-25", "text": WRONG, "id": 3},
    )
    assert (good["sendable"], good["line"], good["problems"]) == (True, GOOD, [])
    assert (wrong["sendable"], wrong["line"], wrong["id"]) == (False, None, 3)
    assert {"code", "level", "line", "column", "pointer", "message", "fix"} <= set(
        wrong["problems"][0]
    )


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[]",
        b'"text"',
        {},
        {"text": 5},
        {"text": "{}", "revision": "2024-11-05"},
        {"text": "{}", "method": 5},
        {"text": "{}", "protocol_version": "2099-01-01"},
        {"text": "{}", "form": "poem"},
        {"text": "{}", "request": "no request"},
        {"text": "{}", "request": {"jsonrpc": "2.0", "method": "ping"}},
        {"text": "{}", "id": {"no": "id"}},
        {"text": "{}", "id": True},
        {"text": "", "method": "\ud800"},
    ],
)
def test_a_line_that_is_no_case_gets_an_error_of_its_own(line: object) -> None:
    """Never a crash, and the lines before and after are answered."""
    good = {"method": "tools/call", "text": GOOD}
    before, between, after = lines(good, line, good)
    assert before["sendable"]
    assert after["sendable"]
    assert between["sendable"] is False
    assert between["problems"][0]["level"] == "error"
    assert between["problems"][0]["message"]


def test_a_member_that_is_not_known_is_named() -> None:
    """It would not count, and the text be judged by another version."""
    (told,) = lines({"text": GOOD, "revision": "2024-11-05"})
    assert "revision" in told["problems"][0]["message"]
    assert "protocol_version" in told["problems"][0]["message"]


def test_a_request_and_a_form_may_come_with_each_line() -> None:
    """As an object or as text."""
    request = {"jsonrpc": "2.0", "id": "x", "method": "tools/call"}
    for asked in (request, json.dumps(request)):
        (made,) = lines({"text": "sunny", "form": "text", "request": asked})
        assert json.loads(made["line"])["id"] == "x"


def test_lines_are_answered_while_the_pipe_stays_open() -> None:
    """A program may ask, read and ask again: nothing waits for the end of input."""
    process = subprocess.Popen(
        [*COMMAND, "--lines"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for at in range(3):
            process.stdin.write(json.dumps({"text": GOOD, "id": at}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == at
    finally:
        process.kill()
        process.communicate()


def test_lines_of_a_file_and_the_speed_on_stderr(tmp_path: Path) -> None:
    """Thousands of lines, one longer than any pipe holds; the last one without a line feed."""
    file = tmp_path / "lines.jsonl"
    long = json.dumps({"text": json.dumps({"result": {"content": [], "x": "y" * 300_000}})})
    some = json.dumps({"method": "tools/call", "text": GOOD})
    file.write_text("\n".join([some] * 2000 + [long, some]), "utf-8")
    environment = {**os.environ, "LC_ALL": "C"}
    ran = subprocess.run(
        [*COMMAND, "--lines", str(file)], capture_output=True, check=True, env=environment
    )
    assert ran.stdout.count(b"\n") == 2002
    assert b"2002 checked in" in ran.stderr


def test_a_line_that_cannot_be_judged_at_all_keeps_nobody_from_the_next(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong with one line is said in the shape of all answers."""
    real = open_exchange_of

    def failing(text: str, *rest: Any) -> Any:  # noqa: ANN401 - what the real one takes and returns
        if text == "strange":
            raise LookupError("the moon")
        return real(text, *rest)

    monkeypatch.setattr("humanmcp.terminal.check.open_exchange_of", failing)
    file = tmp_path / "lines"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in ("strange", GOOD)))
    main(["check", "--lines", str(file)])
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert [each["code"] for each in first["problems"]] == ["X01"]
    assert "the moon" in first["problems"][0]["message"]
    assert second["sendable"]


def test_a_file_with_responses_only_is_checked_by_their_shape(check: Any) -> None:  # noqa: ANN401 - see the fixture
    """Nobody dropped them: the requests are in another file."""
    wrong = '{"jsonrpc":"2.0","id":2,"result":{"content":"x"}}'
    ran = check(f"Server 1.0 is ready\n{GOOD}\n{wrong}\n")
    assert "each response is checked alone" in ran.out
    assert [code for code in ("N01", "M01", "N30") if f"({code})" in ran.out] == ["N01", "M01"]
    assert ran.out.splitlines()[-1] == "3 messages checked, with 2 errors, 1 hint about hosts."


def test_what_a_host_says_in_its_log_is_shown(check: Any) -> None:  # noqa: ANN401 - see the fixture
    """Also where it has no message: the reason stands there."""
    words = "2025-11-17T00:30:08.676Z [t] [error] spawn uv ENOENT"
    ran = check(f"{words}\n2025-11-17T00:30:08.679Z [t] [info] Server transport closed\n")
    assert ran.status == 2
    assert "spawn uv ENOENT" in ran.err
    ran = check(f"{words}\n2025-11-17T00:30:09.676Z [t] [info] Message from server: {GOOD}\nx\n")
    assert f"line 1, the program that wrote this file says: {words}" in ran.out
    assert "1 line is no message, line 3: x" in ran.out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<!doctype html>\n<html>", "is a web page"),
        ("sequenceDiagram\n  participant C", "is a diagram"),
        ('"""A server."""\n\nimport json\n', "is a program"),
        ('{"mcpServers": {"a": {"command": "x"}}}', "is the configuration of a host"),
        (
            "- message:\n    jsonrpc: '2.0'\n    method: ping\n",
            "in a notation that humanmcp cannot",
        ),
        (
            "2026-11-20 10:00:00 DEBUG got Request[jsonrpc=2.0, id=1, error=null]\n",
            "in a notation that humanmcp cannot",
        ),
        *(
            (
                f"2026-11-20 10:00:00 send {text}\n",
                "as Go prints a map" if "map[id" in text else "in a notation",
            )
            for text in (
                "&{JSONRPC:2.0 ID:1 Method:initialize Params:map[]}",
                "map[id:1 jsonrpc:2.0 method:initialize]",
                "{jsonrpc=2.0, id=1, method=ping}",
                'array(2) {\n  ["jsonrpc"]=>\n  string(3) "2.0"\n}',
                "Array\n(\n    [jsonrpc] => 2.0\n    [id] => 1\n)",
                "<dict><key>jsonrpc</key><string>2.0</string></dict>",
            )
        ),
        ('x | {"jsonrpc": "2.0",+\n  | "id": 1}\n' * 2, "in a notation"),
        ("PK\x03\x04\x14\0", "is compressed"),
        (r"{\rtf1\ansi Hello\par}", "is no text file"),
        ('0000000   {   "   j   s   o   n   r   p   c   "\n', "is a dump of bytes"),
        ("0000000 021173 071552 067163\n0000006\n", "is a dump of bytes"),
        (f"00000000  {GOOD.encode().hex(' ')}  |{GOOD}|\n", "is a dump of bytes"),
        ("%PDF-1.7\n1 0 obj\n", "is no text file"),
        (
            '{"logs":[\n {"records":[{"timeUnixNano":"1","body":{"text":"spawn failed"}}]}\n]}',
            "records of a program in JSON, which say",
        ),
    ],
)
def test_a_file_that_is_no_answer_is_named(check: Any, text: str, words: str) -> None:  # noqa: ANN401 - see the fixture
    """What to check instead is said."""
    ran = check(text)
    assert ran.status == 2
    assert words in ran.err


NO_PART: Final = {
    "tsconfig.json": '{"compilerOptions": {"target": "es2022"}, "include": ["src"]}',
    "tsconfig.json with comments": '{\n  // x\n  "compilerOptions": {"strict": true,},\n}',
    "package.json": '{"name":"x","version":"1.0.0","scripts":{"a":"b"}}',
    "GeoJSON": '{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{}}]}',
    "GeoJSON of one point": '{"type":"Point","coordinates":[9.98,48.4]}',
    "a notebook": '{"cells":[{"outputs":[{"ename":"KeyError"}]}],"metadata":{},"nbformat":4}',
    "a schema": '{"type":"object","properties":{"jsonrpc":{"const":"2.0"},"method":{},"id":{}}}',
    "a schema of an answer": '{"properties":{"id":{"type":"integer"},"error":{"type":"string"}}}',
    "a list": '["a","b"]',
    "XML": '<?xml version="1.0"?>\n<rss version="2.0"><error>none</error></rss>\n',
    "SVG": '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>\n',
    "a dump of SQL": "CREATE TABLE `a` (`result` text);\nINSERT INTO `a` VALUES (1,'{\"x\":1}');\n",
    "statements of SQL": "BEGIN TRANSACTION;\nINSERT INTO logs VALUES(1,'method');\nCOMMIT;\n",
    "settings in TOML": '[package]\nname = "rain"\n',
    "settings": "; x\n[core]\n\teditor = vi\n",
    "YAML": "name: ci\non: push\njobs:\n  a:\n    runs-on: x\n",
    "a table": "id,method,result\n1,GET,200\n2,POST,201\n",
    "a table with tabs": "city\tmm\tday\nUlm\t3\t1\n",
    "a mail": "From: a@x.example\nTo: b@x.example\nSubject: lunch\n\nAt 12?\n",
    "a style sheet": "body {\n  color: red;\n}\n",
    "prose": "Sun, rain, wind\nand snow, ice, fog\n",
    "what may be a result": '{"city":"Ulm","mm":3,"wind":"N"}',
}
"""Files that have nothing of MCP, some with the words of JSON-RPC in them."""


@pytest.mark.parametrize("name", NO_PART)
def test_a_file_with_nothing_of_mcp_is_said_to_have_nothing(check: Any, name: str) -> None:  # noqa: ANN401 - see the fixture
    """Somebody may have written it as a result: what is wrong with that is said below."""
    ran = check(NO_PART[name])
    assert "has no messages, and no member of a result" in ran.out.splitlines()[0]
    assert "Checked as an answer" not in ran.out
    assert ran.status == 1


@pytest.mark.parametrize(
    "text",
    [
        '{"tools":[{"name":"x"}]}',
        '{"content":[{"type":"text","text":"x"}],"isError":"no","mine":2}',
        '{"messages":[{"role":"me","content":{"type":"text","text":"x"}}]}',
        '{"content": [{"type": "text" "text": }}',
        '{"jsonrpc":"2.0","id":1,"result":{"city":"Ulm"}}',
        'My answer:\n{"content":[{"type":"txt"}]}',
    ],
)
def test_a_result_is_checked_as_an_answer(check: Any, text: str) -> None:  # noqa: ANN401 - see the fixture
    """One member of a result is enough, also where it is broken."""
    assert "Checked as an answer to" in check(text).out


LISTS: Final = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
EXAMPLES: Final = {
    "a manual": f"# Rain\n\nSend:\n\n```json\n{LISTS}\n```\n\nThat is all.\n",
    "a sentence": f"# Rain\n\nThe server reads `{LISTS}` from stdin.\n",
    "OpenAPI": f'{{"openapi":"3.0.0","paths":{{"/mcp":{{"post":{{"example":{LISTS}}}}}}}}}',
    "OpenAPI in YAML": f"openapi: 3.0.0\npaths:\n  /mcp:\n    example: '{LISTS}'\n",
    "a collection": json.dumps({"info": {}, "item": [{"request": {"body": {"raw": LISTS}}}]}),
    "a mail": f"From: a@x.example\nTo: b@x.example\n\nI send {LISTS} and wait.\n",
    "a difference": f"--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+{LISTS}\n",
    "a program": f"import json\n\nprint(json.dumps({LISTS}))\n",
}
"""Files with requests that nobody has sent yet."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_a_request_is_not_said_to_have_no_response(check: Any, name: str) -> None:  # noqa: ANN401 - see the fixture
    """Nothing in the file says that it was sent."""
    ran = check(EXAMPLES[name])
    assert "and neither a response nor a time" in ran.out
    assert "never got a response" not in ran.out


@pytest.mark.parametrize("name", [*EXAMPLES, ""])
def test_page_and_export_say_the_same_of_an_example(
    check: Any,  # noqa: ANN401 - see the fixture
    name: str,
    tmp_path: Path,
) -> None:
    """They keep a file as frames, and their notes say where each was."""
    text = EXAMPLES.get(name, f"\n\n{LISTS}\n{LISTS.replace('1', '2')}\n")
    file = tmp_path / "example.txt"
    file.write_text(text, encoding="utf-8")
    exported = recording_of(file)
    frames = frames_in(text.encode(), name)
    assert exported.frames == frames
    said = json.loads(check(text, "--json").out)
    assert [one.shape for one in remarks_on([captured_line(one) for one in frames])] == (
        said["remarks"]
    )
    found = [
        each.code
        for one in judge_recording((one.seq, one) for one in frames)
        for each in one.diagnostics
    ]
    assert found == [one["code"] for one in said["problems"]]
    again = json.loads(check("".join(f"{to_json(one)}\n" for one in frames), "--json").out)
    assert [one["code"] for one in again["problems"]] == found
    told = itertools.chain.from_iterable(problems_in(exported).values())
    assert "N38" not in {*found, *(each.code for one in told for each in one.diagnostics)}


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("2026-11-20 10:00:00 recv map[id:1 jsonrpc:2.0 method:ping]\n", "not checked", 0),
        ('{"jsonrpc":"2.0","id":1,"method":"eth_call"}\n' * 2, "other protocol", 0),
        ('{"name": "x", "version": 1}', "as nothing", 0),
        ("2026-11-20 10:00:00 listening\n2026-11-20 10:00:01 [error] no port\n", "not checked", 0),
        ("PK\x03\x04", "not checked", 0),
    ],
)
def test_what_is_said_of_a_file_is_in_the_json_too(
    check: Any,  # noqa: ANN401 - see the fixture
    text: str,
    code: str,
    line: int,
) -> None:
    """As a sentence, with its code and its line."""
    ran, words = check(text, "--json"), check(text)
    remark = next(one for one in json.loads(ran.out)["remarks"] if one["code"] == code)
    assert remark["line"] == line
    assert remark["message"] in words.out + words.err
    assert ran.status == words.status


@pytest.mark.parametrize(
    "text",
    [
        f"2026-11-20 10:00:00 {LISTS}\n2026-11-20 10:00:09 [error] it crashed\n",
        f'{{"dir":"send","m":{LISTS}}}\n{{"dir":"recv","m":{{"jsonrpc":"2.0","method":"x"}}}}\n',
        f'{LISTS}\n{{"jsonrpc":"2.0","id":2,"method":"ping"}}\n',
        f"Sent:\n{LISTS}\n{GOOD}\n",
    ],
)
def test_a_request_that_was_sent_is_said_to_have_no_response(check: Any, text: str) -> None:  # noqa: ANN401 - see the fixture
    """A time, a side against the method, another response or nothing but messages: it was sent."""
    assert "never got a response" in check(text).out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"jsonrpc":"2.0","id":1,"method":"textDocument/hover"}', "textDocument/hover"),
        ('{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[]}', "eth_call"),
        (LISTS, ""),
        (LISTS.replace("tools", "tool"), ""),
    ],
)
def test_methods_of_another_protocol_are_named(check: Any, text: str, words: str) -> None:  # noqa: ANN401 - see the fixture
    """MCP's rules are not those of LSP; a method that is misspelt is MCP's."""
    out = check(f'{text}\n{{"jsonrpc":"2.0","id":1,"result":{{}}}}\n').out
    assert ("MCP has none of the methods in this file: " + words in out) == bool(words)


def test_it_is_said_from_where_a_file_was_not_searched(check: Any) -> None:  # noqa: ANN401 - see the fixture
    """Where too much is tried in vain, each line is searched for its first value only."""
    answer = '{"jsonrpc":"2.0","id":1,"result":{}}'
    junk = "x {'jsonrpc': {'a {'jsonrpc': {'b \n" * 40_000
    ran = check(f"recv {LISTS}\nsend {answer}\n{junk}x {{'a {{y}} recv {LISTS}\n")
    assert "humanmcp looked only at the first value of each line" in ran.out
    assert "looked only" not in check(f"recv {LISTS}\nsend {answer}\n{junk[:900]}").out


def test_a_broken_answer_in_the_notation_of_a_language_is_checked(check: Any) -> None:  # noqa: ANN401 - see the fixture
    """Somebody has typed it, perhaps after words: it is no log in an unknown notation."""
    text = "{'jsonrpc': '2.0', 'id': 1, 'result': {'content': [}}"
    assert [check(one).status for one in (text, f"Mine:\n{text}")] == [1, 1]


def test_words_in_a_log_are_no_answer(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The name of the file tells; a message alone in it is checked."""
    file = tmp_path / "server.log"
    for words in ("", "ready\nMcpError: Connection closed\n"):
        file.write_text(words)
        assert main(["check", str(file)]) == 2
        assert "has no messages" in capsys.readouterr().err
    file.write_text(GOOD)
    assert main(["check", str(file)]) == 0


def test_a_message_about_a_configuration_is_a_message(check: Any) -> None:  # noqa: ANN401 - see the fixture
    """Its text decides, not a word in it."""
    inner = '{"content":[],"structuredContent":{"mcpServers":{},"servers":{}}}'
    ran = check(f'{{"jsonrpc":"2.0","id":1,"result":{inner}}}')
    assert "configuration" not in ran.err


DOTTED = (
    '{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"a.b","inputSchema":{"type":"object"}}]}}'
)
ASKS = (
    '{"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required",'
    '"inputRequests":{"a":{"method":"roots/list"}}}}'
)
PROGRESS = (
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}'
)
TASK = '{"jsonrpc":"2.0","id":3,"result":{"task":{"taskId":"x"}}}'


def test_hints_about_hosts_can_be_left_out(check: Any) -> None:  # noqa: ANN401 - see the fixture
    """They are a level of their own, of an answer and of a conversation."""
    asked = '{"jsonrpc":"2.0","id":3,"method":"tools/list"}'
    for text in (DOTTED, f"{asked}\n{DOTTED}\n"):
        assert "hint: hosts dotted-tool-name (M113)" in check(text).out
        assert "M113" not in check(text, "--no-hosts").out
        assert check(text).status == 0


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        (ASKS, ("--protocol-version", "2026-07-28")),
        (PROGRESS, ()),
        (TASK, ("--method", "tools/call")),
    ],
)
def test_what_only_the_session_shows_is_unknown_without_it(
    check: Any,  # noqa: ANN401 - see the fixture
    text: str,
    flags: tuple[str, ...],
) -> None:
    """One hint instead of errors about a session that nobody gave."""
    ran = check(text, *flags)
    assert ran.status == 0
    assert "seen-alone (X02)" in ran.out


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"\xef\xbb\xbf" + GOOD.encode(), "F01"),
        (GOOD.encode("utf-16"), "F02"),
        (GOOD.replace("sunny", "晴れ").encode("cp932"), "F03"),
        (f"{DOTTED}\n{GOOD}\n".encode("utf-16"), "F02"),
    ],
)
def test_how_a_file_was_read_is_said(
    content: bytes, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A client that got these bytes would read something else."""
    file = tmp_path / "answer.json"
    file.write_bytes(content)
    main(["check", str(file)])
    assert f"({name})" in capsys.readouterr().out


def test_one_line_in_another_encoding_is_named_among_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are checked anyway."""
    file = tmp_path / "said.jsonl"
    file.write_bytes(f"{DOTTED}\n{GOOD.replace('sunny', 'café')}\n".encode("latin-1"))
    main(["check", str(file)])
    assert "It looks like Windows-1252" in capsys.readouterr().out

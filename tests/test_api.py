"""The public face for Python programs: its names, what they return, and what they load."""

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from humanmcp import api
from humanmcp.locales.stop import StopError
from humanmcp.protocol.conversation.transcript import Direction, Frame, to_json

PAGE: Final = Path(__file__).parent.parent / "docs" / "reference" / "python.md"
PIPE: Final = """\
{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}
{"jsonrpc":"2.0","id":1,"result":{"tools":"none"}}
"""


def test_the_names_are_these_and_the_page_has_each() -> None:
    """A program that uses them goes on working."""
    signatures = {
        "check_answer": ["text", "method", "request", "protocol_version", "form", "language"],
        "check_text": ["content", "language"],
        "read_messages": ["content"],
    }
    records = {
        "Checked": ("line", "problems"),
        "Message": ("text", "sender", "line", "column", "at", "is_cut"),
        "Problem": (
            *("code", "name", "level", "message", "line", "column", "pointer", "page"),
            *("sender", "method"),
        ),
    }
    assert set(api.__all__) == {*signatures, *records, "PROTOCOL_VERSIONS"}
    for name, parameters in signatures.items():
        assert list(inspect.signature(getattr(api, name)).parameters) == parameters
    for name, fields in records.items():
        assert getattr(api, name)._fields == fields
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)", page, re.MULTILINE)
    assert set(rows) == set(api.__all__)
    for fields in records.values():
        assert all(f"`{field}`" in page for field in fields)


def test_the_example_of_the_page_runs() -> None:
    """Word for word."""
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    subprocess.run([sys.executable, "-c", example], check=True)


def test_nothing_of_the_page_is_loaded() -> None:
    """A program that checks a message waits for no web framework."""
    script = "import sys, humanmcp.api; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout.split()
    foreign = {"fastapi", "starlette", "jinja2", "uvicorn", "pydantic", "humanmcp.desk"}
    assert foreign & set(loaded) == set()


def test_a_problem_has_the_line_of_the_file_and_the_sender() -> None:
    """Bytes and text are read alike; the sentence is in the language."""
    (problem,) = [one for one in api.check_text(PIPE) if one.level == "error"]
    assert (problem.line, problem.sender, problem.method) == (2, "server", "tools/list")
    assert problem.pointer == "/result/tools"
    (japanese,) = [one for one in api.check_text(PIPE.encode(), language="ja") if one[2] == "error"]
    assert japanese._replace(message="") == problem._replace(message="")
    assert japanese.message != problem.message


def test_messages_are_returned_as_they_were_written() -> None:
    """With their places."""
    first, second = api.read_messages(PIPE)
    assert (first.text, second.text) == tuple(PIPE.splitlines())
    assert [(one.sender, one.line, one.column) for one in (first, second)] == [
        ("client", 1, 1),
        ("server", 2, 1),
    ]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x1f\x8b\x08\x00packed", "compressed"),
        ('{"log": {"entries": []}}', "HTTP archive without MCP messages"),
        ('{"content": []}', "answer"),
        ("nothing is here", "no messages"),
        ("", "no messages"),
    ],
)
def test_a_file_without_messages_is_refused_with_what_it_is(content: str | bytes, why: str) -> None:
    """A loop over the messages of a packed log would pass a test on nothing."""
    with pytest.raises(StopError, match=why):
        api.read_messages(content)


def test_only_messages_are_returned() -> None:
    """What a server wrote on stderr is none, and neither is a permission prompt."""
    ways = (
        (Direction.ERR, ""),
        (Direction.IN, "prompt claude-code PreToolUse"),
        (Direction.IN, ""),
    )
    frames = (Frame(at, "t", way, b"{}", note=note) for at, (way, note) in enumerate(ways, 1))
    assert [one.line for one in api.read_messages("\n".join(map(to_json, frames)))] == [3]


def test_an_answer_that_is_right_has_its_line() -> None:
    """For the request itself, or for its method."""
    request = '{"jsonrpc":"2.0","id":"a","method":"ping"}'
    assert api.check_answer("{}", request=request).line == '{"jsonrpc":"2.0","id":"a","result":{}}'
    assert api.check_answer("sunny", method="tools/call", form="text").line is not None


def test_what_is_asked_for_wrongly_is_said() -> None:
    """Not guessed."""
    with pytest.raises(ValueError, match="2031-01-01"):
        api.check_answer("{}", protocol_version="2031-01-01")
    with pytest.raises(ValueError, match="poem"):
        api.check_answer("{}", form="poem")
    with pytest.raises(StopError):
        api.check_answer("{}", request="{}")

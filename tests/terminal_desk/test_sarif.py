"""`humanmcp check --sarif`: what code review shows at the line and column of a problem."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import pytest

from humanmcp import __version__
from humanmcp.cli import main
from humanmcp.common import published

if TYPE_CHECKING:
    from pathlib import Path

WRONG: Final = '{"jsonrpc":"2.0","id":3,\n "result":{"content":[{"type":"txt","text":"晴れ"}]}}\n'
GOOD: Final = '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"sunny"}]}}\n'
REQUEST: Final = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"nam":"x"}}\n'
PING: Final = '{"jsonrpc":"2.0","id":1,"method":"ping"}'


@pytest.fixture
def reported(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:  # noqa: ANN401 - a function
    """Return a function that checks files of these names and texts, from their folder."""
    monkeypatch.chdir(tmp_path)

    def run(files: dict[str, str], *flags: str) -> tuple[int, dict[str, Any]]:
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        status = main(["check", "--sarif", "--lang", "en", *flags, *files])
        return status, json.loads(capsys.readouterr().out)["runs"][0]

    return run


def places(run: dict[str, Any]) -> list[tuple[str, str, dict[str, int]]]:
    """List what was found: code, file and region."""
    return [
        (
            one["ruleId"],
            one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            one["locations"][0]["physicalLocation"]["region"],
        )
        for one in run["results"]
    ]


def test_a_problem_of_an_answer_has_its_line_and_columns(reported: Any) -> None:  # noqa: ANN401 - see the fixture
    """Counted in characters from 1; the end is the column behind it."""
    status, run = reported({"an answer.json": WRONG})
    assert status == 1
    assert run["columnKind"] == "unicodeCodePoints"
    region = {"startLine": 2, "startColumn": 31, "endLine": 2, "endColumn": 36}
    assert places(run) == [("M02", "an%20answer.json", region)]
    (result,) = run["results"]
    assert result["level"] == "error"
    assert result["message"]["text"].startswith('There is no type "txt" here.')
    logical = result["locations"][0]["logicalLocations"]
    assert logical == [{"fullyQualifiedName": "/result/content/0/type", "kind": "member"}]


def test_every_result_points_at_a_rule_that_says_where_to_read_on(reported: Any) -> None:  # noqa: ANN401 - see the fixture
    """Each kind of problem once, with a link."""
    _, run = reported({"a.json": WRONG, "b.json": WRONG, "c.json": REQUEST})
    driver = run["tool"]["driver"]
    assert driver["version"] == __version__
    rules = driver["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    for rule in rules:
        assert rule["helpUri"].startswith("https://modelcontextprotocol.io/specification/")
        assert rule["shortDescription"]["text"]


def test_the_link_is_to_the_page_of_the_mistake_once_there_is_one(
    reported: Any,  # noqa: ANN401 - see the fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing leads to a place under a name that is not chosen yet."""
    assert published.page_of("M02") == ""
    monkeypatch.setattr(published, "OWNER", "someone")
    _, run = reported({"a.json": WRONG})
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["helpUri"] == f"{published.SITE}reference/mistakes/M02.html"


def test_a_message_among_lines_has_the_line_of_the_file(reported: Any) -> None:  # noqa: ANN401 - see the fixture
    """A file with a message a line."""
    _, run = reported({"pipe.jsonl": f'{PING}\n{{"jsonrpc":"2.0","id":1,"result":[]}}\n'})
    assert [(code, region["startLine"]) for code, _file, region in places(run)] == [("R20", 2)]


def test_a_transcript_has_lines_and_no_columns(reported: Any) -> None:  # noqa: ANN401 - see the fixture
    """A message stands there inside of a JSON text, where its columns mean nothing."""
    lines = [
        {"seq": 1, "at": "", "way": "in", "raw": PING},
        {"seq": 2, "at": "", "way": "out", "raw": '{"jsonrpc":"2.0","id":1,"result":[]}'},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    _, run = reported({"transcript.jsonl": text})
    assert [(code, region) for code, _file, region in places(run)] == [("R20", {"startLine": 2})]


def test_what_is_right_is_no_result_however_it_is_laid_out(reported: Any) -> None:  # noqa: ANN401 - see the fixture
    """A fixture may have as many lines as its writer likes."""
    status, run = reported({"a.json": GOOD.replace(",", ",\n")})
    assert (status, run["results"], run["tool"]["driver"]["rules"]) == (0, [], [])


def test_several_files_are_judged_each_with_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status is that of the worst; as JSON each file has a line."""
    for name, text in (("a.json", WRONG), ("b.json", GOOD), ("c.json", REQUEST)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [str(tmp_path / name) for name in ("a.json", "b.json", "c.json")]
    assert main(["check", "--json", *files]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["file"] for line in lines] == files
    assert main(["check", files[1], files[1]]) == 0
    capsys.readouterr()
    assert main(["check", "--fix", *files]) == 2
    assert main(["check", "--lines", *files]) == 2
    assert "one file" in re.sub(r"\s+", " ", capsys.readouterr().err).lower()


def test_a_problem_without_a_place_is_at_its_line(reported: Any) -> None:  # noqa: ANN401 - see the fixture
    """An empty file has no columns."""
    status, run = reported({"empty.json": ""})
    assert status == 1
    assert [region for _code, _file, region in places(run)] == [{"startLine": 1}]

"""`humanmcp check` in continuous integration: annotations, JUnit, and exit statuses."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

ANSWER = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":%s}]%s}}'
RIGHT = ANSWER % ('"ok"', "")
WARNED = ANSWER % ('"ok"', ',"extra":1')
WRONG = ANSWER % ("5", "")


def checked(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run the command."""
    command = [sys.executable, "-m", "humanmcp", "check", "--no-hosts", "--lang", "en", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of three messages, and of a file that is none."""
    (tmp_path / "sub").mkdir()
    for name, text in {"right": RIGHT, "sub/warned": WARNED, "wrong": WRONG}.items():
        (tmp_path / f"{name}.json").write_text(text)
    (tmp_path / "notes.md").write_text("nothing to check")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "status", "strict"),
    [("right", 0, 0), ("sub/warned", 0, 1), ("wrong", 1, 1), ("none", 2, 2)],
)
@pytest.mark.parametrize("form", ["text", "json", "github", "junit"])
def test_the_exit_status_is_the_same_in_every_form(
    folder: Path, form: str, file: str, status: int, strict: int
) -> None:
    """With --strict, a warning is a failure."""
    path = str(folder / f"{file}.json")
    assert checked("--format", form, path).returncode == status
    assert checked("--format", form, "--strict", path).returncode == strict


def test_github_gets_a_command_for_each_problem_of_a_folder(folder: Path) -> None:
    """Each in one line, with its file, line and column, and nothing that ends a command."""
    lines = checked("--format", "github", str(folder)).stdout.splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["::warning", "::error"]
    assert f"file={folder}/wrong.json,line=1,col=68,title=M15 not-a-string::" in lines[1]
    odd = folder / "a,b%c.json"
    odd.write_text(WRONG)
    assert "/a%2Cb%25c.json,line=1" in checked("--format", "github", str(odd)).stdout


def test_junit_has_a_case_for_each_file_also_for_one_that_cannot_be_read(folder: Path) -> None:
    """What cannot be read is a failure, and the others are checked."""
    missing = str(folder / "missing.json")
    done = checked("--format", "junit", missing, str(folder))
    suite = fromstring(done.stdout)
    failed = {case.get("name"): case.find("failure") is not None for case in suite}
    assert failed == {
        missing: True,
        str(folder / "right.json"): False,
        str(folder / "sub/warned.json"): True,
        str(folder / "wrong.json"): True,
    }
    assert (suite.get("tests"), suite.get("failures")) == ("4", "3")
    assert "cannot be read" in done.stderr


def test_junit_has_only_what_xml_can_have(folder: Path) -> None:
    """A control character in a message is replaced."""
    (folder / "wrong.json").write_text(WRONG.replace('"result"', '"re\\u0000\\uffff\x1bsult"'))
    assert fromstring(checked("--format", "junit", str(folder)).stdout).tag == "testsuite"


def test_a_folder_without_messages_is_a_wrong_command_line(tmp_path: Path) -> None:
    """Checking nothing is no success."""
    done = checked(str(tmp_path))
    assert (done.returncode, "has no file to check" in done.stderr) == (2, True)


def test_json_names_the_file_where_there_are_several(folder: Path) -> None:
    """One line each, as before."""
    lines = checked("--json", str(folder)).stdout.splitlines()
    assert [Path(json.loads(line)["file"]).name for line in lines] == [
        "right.json",
        "warned.json",
        "wrong.json",
    ]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--format", "junit", "--strict"], 1, 'tests="3"'),
        (["--fix"], 2, "one file"),
        (["--lines"], 2, "cannot be read"),
    ],
)
def test_a_folder_may_hold_what_is_no_file(
    folder: Path, words: list[str], status: int, said: str
) -> None:
    """A pipe does not stop it, a folder is no message, and each file is checked once."""
    (folder / "named.json").mkdir()
    os.mkfifo(folder / "pipe.log")
    (folder / "loop").symlink_to(folder)
    twice = [] if words == ["--lines"] else [str(folder / "right.json")]
    done = checked(*words, *twice, str(folder))
    assert (done.returncode, "Traceback" in done.stderr) == (status, False), done.stderr
    assert said in done.stdout + done.stderr


@pytest.mark.parametrize("form", ["github", "junit"])
def test_what_others_read_has_no_secret(tmp_path: Path, form: str) -> None:
    """The log of a build is public; your own terminal shows the line as it is."""
    key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    file = tmp_path / "secret.json"
    file.write_text(RIGHT.replace('"text","text"', f'"{key}","text"'))
    assert key in checked(str(file)).stdout
    told = checked("--format", form, str(file)).stdout
    assert key not in told
    assert "redacted" in told

"""What was typed in a lesson, as a program: the practice host plays the same lesson against it."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from humanmcp.cli import main
from humanmcp.extensions.classroom.demo import command
from humanmcp.extensions.classroom.demo.lesson import find_lesson
from humanmcp.extensions.classroom.demo.steps import LessonRun
from tests.extensions.classroom.own_answers import own_answer

LESSONS = (
    *("first-answer", "picked-tool", "recover", "structured-result", "poisoned-tool"),
    *("weather", "resources-and-prompts", "no-handshake", "discover", "tool-with-a-page"),
)

EMPTY = '{"jsonrpc":"2.0","id":1,"result":{}}'


def typed(name: str, folder: Path) -> Path:
    """Return a log of a lesson whose examples were typed."""
    lesson_steps, lines = find_lesson(name)("en"), list[str]()
    run = LessonRun(lesson_steps, lesson_steps.host())
    while run.left:
        step = run.left.pop(0)
        line, request = run.message(step)
        lines.append(line)
        if request is not None and request.id is not None:
            answer = {"jsonrpc": "2.0", "id": request.id.value, **own_answer(step)}
            lines.append(json.dumps(answer))
            run.heard += run.host.take(lines[-1].encode())
            assert run.judge(), (name, run.missing)
    file = folder / "typed.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.mark.parametrize("name", LESSONS)
def test_the_script_of_a_session_passes_the_same_lesson(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It imports nothing but the standard library, and what runs in it is twenty lines."""
    script = tmp_path / "server.py"
    words = ["export", str(typed(name, tmp_path)), "--format", "script", "-o", str(script)]
    assert main([*words, "--home", str(tmp_path)]) == 0
    text = script.read_text(encoding="utf-8")
    assert "humanmcp" not in text.partition("ANSWERS = ")[0]
    code = [one for one in text[text.index("for line in") :].splitlines() if one.strip()]
    assert len(code) < 20
    again = ["lesson", name, "--lang", "en", "--home", str(tmp_path)]
    assert main([*again, "--server", shlex.join([sys.executable, str(script)])]) == 0
    total = len(find_lesson(name)("en").requests)
    assert f"{total} of {total} answers passed." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("for line in open(0): pass", "The host gave up: initialize"),
        ("import sys; sys.exit('no port')", "no port"),
        (f"import sys; print({EMPTY!r}, flush=True); sys.stdin.read()", "initialize fails"),
    ],
)
def test_a_server_that_does_not_pass_is_told_why_and_nothing_waits_for_ever(
    program: str,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Silent, ended, wrong: the status says it, too."""
    monkeypatch.setattr(command, "GIVES_UP_AFTER", 0.3)
    words = ["lesson", "picked-tool", "--lang", "en", "--home", str(tmp_path)]
    assert main([*words, "--server", shlex.join([sys.executable, "-c", program])]) == 1
    out = capsys.readouterr().out
    assert said in out
    assert "0 of 3 answers passed." in out

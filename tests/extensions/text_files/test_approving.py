"""Permission prompts with text files alone: `status.txt` shows them and what decides."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from humanmcp.cli import main
from humanmcp.inbox.contract import Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.diagnostics.model import TextForm
from tests.browser.seats import INITIALIZE, decided, outcome, request
from tests.support.inbox_folder import permission, question
from tests.support.serve_process import Serving
from tests.support.waiting import until


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Serving]:
    """A server that offers the tool for approvals, and a host that has listed its tools."""
    words = ("--handshake", "book", "--approvals")
    with Serving(tmp_path / "home", *words, "--files", str(tmp_path / "mcp")) as serving:
        for line in (INITIALIZE, request("tools/list", {}, "2")):
            serving.send(line)
            serving.hear()
        yield serving


def _ask(host: Serving, tmp_path: Path, line: str, words: str) -> list[str]:
    """Let the host ask. Return the arguments of the command with these words in `status.txt`."""
    host.send(line)
    status = tmp_path / "mcp" / "status.txt"

    def shown() -> list[str]:
        text = status.read_text("utf-8") if status.exists() else ""
        digest = "(?: --digest [0-9a-f]+)?"
        found = re.search(rf"humanmcp (answer \d+{digest} {words}{digest})", text)
        return found[1].split() if found else []

    return [*until(shown, "the command in status.txt"), "--home", str(tmp_path / "home")]


def _tells(tmp_path: Path, words: str) -> None:
    """Wait until `status.txt` has these words."""
    until(lambda: words in _text(tmp_path / "mcp" / "status.txt"), words)


def test_a_command_of_status_txt_allows_what_it_shows(host: Serving, tmp_path: Path) -> None:
    """The digest binds the command to what was shown; with another one it decides nothing."""
    command = _ask(host, tmp_path, permission("Bash", command="rm \u202ex"), "--allow")
    told = _text(tmp_path / "mcp" / "status.txt")
    assert "rm ⟦U+202E⟧x" in told
    assert "Run a command (id 3): waits for you" in told
    at = command.index("--digest") + 1
    assert main([*command[:at], "0" * len(command[at]), *command[at + 1 :]]) == 1
    assert main(command) == 0
    assert decided(host) == {"behavior": "allow", "updatedInput": {"command": "rm \u202ex"}}
    _tells(tmp_path, "Allow sent by you, in the terminal; this agent does not tell")


def test_a_long_input_can_only_be_denied_by_what_status_txt_shows(
    host: Serving, tmp_path: Path
) -> None:
    """It stands in in.txt, whole; a question that paints itself as something else is not shown."""
    line = permission("Bash", command="true\n" * 60 + "rm -rf /")
    command = _ask(host, tmp_path, line, "--deny")
    assert "--allow" not in _text(tmp_path / "mcp" / "status.txt")
    assert main([*command[: command.index("--deny") + 1], "not that", *command[-2:]]) == 0
    assert decided(host) == {"behavior": "deny", "message": "not that"}
    _tells(tmp_path, "(id 3): denied by you, in the terminal")


def test_the_server_itself_refuses_a_decision_about_other_arguments(
    host: Serving, tmp_path: Path
) -> None:
    """A desk may have looked before the client repeated its request with another command."""
    _ask(host, tmp_path, permission("Bash", command="ls"), "--allow")
    inbox = FolderInbox(tmp_path / "home")
    (facts,) = inbox.sessions()
    (item,) = inbox.items(facts.name)
    inbox.send(item.key, Reply('{"behavior": "allow"}', TextForm.TEXT, shown="0" * 64))
    refused = until(lambda: inbox.item(item.key).diagnostics, "the reply is given back")
    assert [one.code for one in refused] == ["N40"]
    assert inbox.item(item.key).answer is None


def test_a_command_of_status_txt_answers_the_questions_that_it_shows(
    host: Serving, tmp_path: Path
) -> None:
    """With too few answers it sends nothing."""
    several = [
        {"question": "Which?", "options": ["A", {"label": "B", "description": "second"}]},
        {"question": "Where?", "options": ["x", "y"], "multiple": True},
        {"question": "Why?"},
    ]
    command = _ask(host, tmp_path, question(questions=several), "--answers")
    assert "2  B (second)" in _text(tmp_path / "mcp" / "status.txt")
    at = command.index("--answers") + 1
    assert main([*command[:at], "2", *command[at:]]) != 0
    assert main([*command[:at], "2", "1,2", "no reason", *command[at:]]) == 0
    answers = {"Which?": "B", "Where?": ["x", "y"], "Why?": "no reason"}
    assert outcome(host) == {"status": "answered", "answers": answers}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"question": "Which?", "options": '["a", "b"]'}, ["1  a", "2  b", "sent options as text"]),
        ({"question": "Which?", "options": ["a", 3]}, ["1  a", "cannot offer its options 3"]),
        ({"question": "Which?", "multiple": "maybe"}, ['cannot read multiple: "maybe"']),
        ({"question": ["x"]}, ["cannot read the questions", "write into out.txt"]),
    ],
)
def test_status_txt_names_what_of_a_question_cannot_be_read(
    host: Serving, tmp_path: Path, arguments: dict[str, object], told: list[str]
) -> None:
    """Real agents send lists as text."""
    _ask(host, tmp_path, question(**arguments), "--(?:answers|deny)")
    status = _text(tmp_path / "mcp" / "status.txt")
    assert [one for one in told if one not in status] == []
    assert "only deny" not in status


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


TYPED = '{"jsonrpc": "2.0", "id": 3, "result": {"content": [{"type": "text", "text": "a little"}]}}'


def test_words_in_out_txt_become_the_answer_to_a_question(host: Serving, tmp_path: Path) -> None:
    """In the shape of the tool."""
    _ask(host, tmp_path, question(question="Tea?", options=["yes", "no"]), "--answers")
    (tmp_path / "mcp" / "out.txt").write_text(TYPED, "utf-8")
    assert outcome(host) == {"status": "answered", "answers": {"Tea?": "a little"}}


def test_after_the_limit_of_the_asker_nobody_has_answered(host: Serving, tmp_path: Path) -> None:
    """The rule of the tool says so, to the second; status.txt says when."""
    line = question(question="Tea?", default="yes", timeout_seconds=1)
    host.send(line)
    expected = {"status": "no_answer", "answers": {}, "defaults": {"Tea?": "yes"}}
    assert outcome(host) == expected
    sent = [one for one in _transcript(tmp_path) if "no_answer" in one and "Tea?" in one]
    assert json.loads(sent[-1])["by"] == "book"


def _transcript(tmp_path: Path) -> list[str]:
    (found,) = (tmp_path / "home").glob("sessions/*/transcript.jsonl")
    return found.read_text("utf-8").splitlines()

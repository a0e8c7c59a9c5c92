"""Permission prompts with text files alone: `status.txt` shows them, `out.do.txt` decides."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

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


def _ask(host: Serving, tmp_path: Path, line: str, words: str) -> str:
    """Let the host ask. Return the digest that `status.txt` shows beside the words."""
    host.send(line)
    status = tmp_path / "mcp" / "status.txt"

    def shown() -> str:
        text = status.read_text("utf-8") if status.exists() else ""
        found = re.search(rf"{words} ([0-9a-f]+)", text)
        return found[1] if found else ""

    return until(shown, "the prompt in status.txt")


def test_a_line_in_a_file_allows_or_denies_what_status_txt_shows(
    host: Serving, tmp_path: Path
) -> None:
    """The digest binds the line to what was shown; another one decides nothing."""
    do = tmp_path / "mcp" / "out.do.txt"
    digest = _ask(host, tmp_path, permission("Bash", command="rm \u202ex"), "allow")
    assert "rm ⟦U+202E⟧x" in (tmp_path / "mcp" / "status.txt").read_text("utf-8")
    do.write_text(f"allow {'0' * len(digest)}", "utf-8")
    until(lambda: not do.exists(), "the line is read")
    do.write_text(f"allow {digest}", "utf-8")
    assert decided(host) == {"behavior": "allow", "updatedInput": {"command": "rm \u202ex"}}


def test_a_long_input_can_only_be_denied_with_a_line(host: Serving, tmp_path: Path) -> None:
    """It stands in in.txt, whole; a question that paints itself as something else is not shown."""
    do = tmp_path / "mcp" / "out.do.txt"
    line = permission("Bash", command="true\n" * 60 + "rm -rf /")
    digest = _ask(host, tmp_path, line, "deny")
    do.write_text(f"allow {digest}", "utf-8")
    until(lambda: not do.exists(), "the line is read")
    do.write_text(f"deny {digest} not that", "utf-8")
    assert decided(host) == {"behavior": "deny", "message": "not that"}


def test_the_server_itself_refuses_a_decision_about_other_arguments(
    host: Serving, tmp_path: Path
) -> None:
    """A desk may have looked before the client repeated its request with another command."""
    _ask(host, tmp_path, permission("Bash", command="ls"), "allow")
    inbox = FolderInbox(tmp_path / "home")
    (facts,) = inbox.sessions()
    (item,) = inbox.items(facts.name)
    inbox.send(item.key, Reply('{"behavior": "allow"}', TextForm.TEXT, shown="0" * 64))
    refused = until(lambda: inbox.item(item.key).diagnostics, "the reply is given back")
    assert [one.code for one in refused] == ["N40"]
    assert inbox.item(item.key).answer is None


def test_a_line_in_a_file_answers_the_questions_that_status_txt_shows(
    host: Serving, tmp_path: Path
) -> None:
    """A line with too few answers sends nothing, and problems.txt says so."""
    several = [
        {"question": "Which?", "options": ["A", {"label": "B", "description": "second"}]},
        {"question": "Where?", "options": ["x", "y"], "multiple": True},
        {"question": "Why?"},
    ]
    do, folder = tmp_path / "mcp" / "out.do.txt", tmp_path / "mcp"
    digest = _ask(host, tmp_path, question(questions=several), "txt: answer")
    assert "2  B (second)" in (folder / "status.txt").read_text("utf-8")
    do.write_text(f"answer {digest} 2", "utf-8")
    told = until(lambda: "one answer for each" in _text(folder / "problems.txt"), "the problem")
    assert told
    do.write_text(f'answer {digest} 2 1,2 "no reason"', "utf-8")
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
    _ask(host, tmp_path, question(**arguments), "txt: (?:answer|deny)")
    status = _text(tmp_path / "mcp" / "status.txt")
    assert [one for one in told if one not in status] == []
    assert "only deny" not in status


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


TYPED = '{"jsonrpc": "2.0", "id": 3, "result": {"content": [{"type": "text", "text": "a little"}]}}'


@pytest.mark.parametrize(
    ("name", "text", "sent"),
    [
        ("out.do.txt", "answer {} 2", {"status": "answered", "answers": {"Tea?": "no"}}),
        (
            "out.do.txt",
            "deny {} not now",
            {"status": "declined", "answers": {}, "reason": "not now"},
        ),
        (
            "out.txt",
            TYPED,
            {"status": "answered", "answers": {"Tea?": "a little"}},
        ),
    ],
)
def test_one_question_is_answered_with_a_line_or_with_words_in_out_txt(
    host: Serving, tmp_path: Path, name: str, text: str, sent: object
) -> None:
    """Or declined; words in out.txt become the answer in its shape."""
    line = question(question="Tea?", options=["yes", "no"])
    digest = _ask(host, tmp_path, line, "txt: answer")
    (tmp_path / "mcp" / name).write_text(text.replace("{}", digest, 1), "utf-8")
    assert outcome(host) == sent


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

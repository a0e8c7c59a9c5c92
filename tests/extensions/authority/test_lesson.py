"""The lesson `sign-in`: no step passes by the draft alone, each by what its task asks for."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from humanmcp.cli import main
from humanmcp.extensions.authority.lesson import TITLE, lesson_of
from humanmcp.extensions.authority.steps import WebResponse
from humanmcp.inbox.contract import Item, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.locales import LANGUAGES
from humanmcp.protocol.diagnostics.model import TextForm
from tests.support.signing_in import consents
from tests.support.waiting import PATIENCE, until

PASSING: Final[tuple[tuple[str, Callable[[str], str]], ...]] = (
    ("challenge", lambda text: text.replace('/mcp"', '/mcp", scope="read"')),
    ("resource-metadata", lambda text: text.replace("{\n", '{\n"resource_name": "Me",\n', 1)),
    ("server-metadata", lambda text: re.sub(r'"mcp"(?=\n)', '"mcp", "read"', text)),
    ("registration", lambda text: _own_id(text.replace("Practice client", "Client of mine"))),
    ("authorization", lambda _: "deny"),
    ("authorization", lambda _: "allow"),
    ("token", lambda text: text.replace("read write", "read")),
    (
        "challenge",
        lambda text: (
            text.replace("401 Unauthorized", "403 Forbidden")
            .replace("invalid_token", "insufficient_scope")
            .replace('/mcp"', '/mcp", scope="write"')
        ),
    ),
)
"""The step of each answer, and how it becomes one that passes."""
ODD: Final[dict[int, Callable[[str], str]]] = {
    0: lambda text: text + "".join(f"\nx-{number}: 1" for number in range(120)),
    2: lambda text: text.partition("\n\n")[0] + "\n\n" + "[" * 5_000,
}
"""What is sent in the place of a draft: more headers and deeper JSON than a client reads."""


def _own_id(text: str) -> str:
    """Return a registration with an id that the authority does not know."""
    return re.sub('"client_id": "[^"]+"', '"client_id": "mine"', text)


def answer(home: Path, item: Item, text: str) -> None:
    """Send an answer, and wait until it is no longer open."""
    FolderInbox(home).send(item.key, Reply(text, TextForm.STEP, anyway=True, by="terminal"))
    until(lambda: item.key not in {one.key for one in consents(home)}, "it is taken")


def test_a_newcomer_passes_each_step_only_by_what_it_asks_for(tmp_path: Path) -> None:
    """Each step is asked again after its draft; the lesson ends with nothing left running."""
    home = tmp_path / "home"
    words = ("lesson", "sign-in", "--home", str(home), "--lang", "en")
    player = subprocess.Popen(
        (sys.executable, "-m", "humanmcp", *words), stdout=subprocess.PIPE, encoding="utf-8"
    )
    with player:
        for count, (step, change) in enumerate(PASSING):
            for is_draft in (True, False):
                (item,) = until(lambda: consents(home), f"step {count} waits")
                assert item.method == step
                ready = json.loads(item.context)["ready"]
                draft = ready.get("right") or ready["allow" if count == 4 else "deny"]
                changed = change(draft)
                odd = ODD.get(count, str)(draft)
                answer(home, item, odd if is_draft else ready.get(changed, changed))
        said, _ = player.communicate(timeout=PATIENCE)
    assert player.returncode == 0
    assert said.count("  Passed.") == said.count("  Not passed.") == len(PASSING) == 8
    assert f"{len(PASSING)} of {len(PASSING)} answers passed." in said
    assert "6/6" in said
    assert list((home / "oauth").iterdir()) == []
    assert main(["desk", "--stop", "--home", str(home), "--lang", "en"]) == 0


@pytest.mark.parametrize("value", [5, True, None, {}, [], [[]], "", 1e9, {"read": "read"}])
def test_whatever_an_answer_has_it_only_does_not_pass(value: object) -> None:
    """No member of another kind, and no text that is no response, ends the lesson."""
    names = ("client_id", "scopes_supported", "code_challenge_methods_supported", "access_token")
    answer = WebResponse.of_json(200, dict.fromkeys((*names, "scope"), value))
    for step in lesson_of(()).steps:
        assert step.missing(answer)
        assert step.missing(None)


@pytest.mark.parametrize("at", [1, 3])
def test_a_name_of_ones_own_is_no_example_and_none_of_ours(at: int) -> None:
    """The example of the hint is in both languages; what the client asked for is its own name."""
    step = lesson_of(()).steps[at]
    (name,) = (one["at"].removeprefix("body.") for one in step.passes if "own" in one)
    others = dict.fromkeys(one["at"].removeprefix("body.") for one in step.passes)
    for text in ("", "…", "humanmcp", "HumanMCP", *step.passes[1]["own"], step.client, "Ann's"):
        answer = WebResponse.of_json(200, {**dict.fromkeys(others, "there"), name: text})
        assert bool(step.missing(answer)) is (text != "Ann's"), text
    hints = " ".join(lesson_of((), one).steps[1].hint for one in LANGUAGES)
    assert [one in hints for one in lesson_of(()).steps[1].passes[1]["own"]] == [True, True]


def test_the_lesson_is_in_both_languages() -> None:
    """Each text, and the numbers are those of six steps."""
    steps = {language: lesson_of((), language).steps for language in LANGUAGES}
    assert [one.number for one in steps["en"]] == [1, 2, 2, 3, 4, 4, 5, 6]
    for english, japanese in zip(*steps.values(), strict=True):
        for name in ("title", "task"):
            assert getattr(english, name) != getattr(japanese, name)
        whys = [[one["why"] for one in each.passes] for each in (english, japanese)]
        assert all(one != other for one, other in zip(*whys, strict=True))


@pytest.mark.parametrize(
    ("more", "status", "said"),
    [
        (["--check"], 0, "8 requests to answer"),
        (["--server", "x"], 2, "A person answers the lesson sign-in"),
    ],
)
def test_the_command_knows_the_lesson(
    more: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it knows its own."""
    assert main(["lesson", "sign-in", "--lang", "en", *more]) == status
    captured = capsys.readouterr()
    assert said in captured.out + captured.err
    main(["lesson", "--lang", "en"])
    assert "sign-in " in capsys.readouterr().out
    assert TITLE.endswith("lesson sign-in")

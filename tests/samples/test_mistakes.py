"""The examples of `samples/mistakes.toml`: each is judged by the real check."""

import json
from pathlib import Path
from typing import Final

import pytest

from humanmcp.answering import mistakes
from humanmcp.answering.mistakes import Example
from humanmcp.cli import main
from humanmcp.protocol.diagnostics.kinds import KINDS, title_of

EXAMPLES: Final = mistakes.examples()
IN_CONVERSATION: Final = frozenset(
    {
        *("J24", "J25", "J27", "J40", "M25", "M119"),  # too large to be shown
        *("F01", "F02", "F03", "F04", "F05", "F06", "N02", "N52", "N53"),  # bytes that are no text
        *("N03", "N04"),  # too large to be shown
        "N65",  # is typed for the prompt of an agent
        *("M111", "X02"),  # need the messages before
        *(
            "R21",
            "R22",
            "R23",
            "R50",
            "R51",
            "R52",
            "R53",
            "R54",
            "R55",
        ),  # what waits, and what not
        *("R24", "R30", "R31", "R32", "R33", "R34", "R35", "R36", "R37", "R39", "R40", "R41"),
        *("M05", "M06", "M08", "M58", "M62", "M71", "M81"),  # what was declared before
        *("M95", "M96", "M97", "M98"),  # a turn of the model
        *("M72", "M91", "M92"),  # what else is in the conversation
        *("M100", "M101", "M102", "M103", "M104", "M105", "M106", "M107", "M108"),  # extensions
        *("M142", "M143", "M144", "M145", "M146", "M147", "M148"),  # apps
        "M109",  # a parked call
        *("N09", "N10", "N31", "N32", "N33", "N34", "N35", "N41", "N42", "N43"),  # a tap
        "N40",  # what a person saw
        *("N12", "N13", "N14", "N15", "N16", "N17"),  # what stands beside a message in HTTP
        "X01",
    }
)
"""What no single file shows: it takes a session, bytes, or megabytes."""


BY_VERSION: Final = {
    "M13": ("2024-11-05", "2025-06-18"),
    "M24": ("2024-11-05", "2025-06-18"),
    "M59": ("2025-06-18", "2025-11-25", "2026-07-28"),
    "M80": ("2025-06-18", "2025-11-25"),
    "R12": ("2025-03-26", "2025-06-18", "2025-11-25"),
    "R13": ("2025-03-26", "2025-06-18"),
    **dict.fromkeys(("M07", "M14", "M22", "M51", "M54", "M55", "M56"), ("2026-07-28",)),
    **dict.fromkeys(("M75", "M85", "M99", "R10"), ("2026-07-28",)),
}
"""What the check takes differently by version, and the versions whose own words say so."""


def codes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], example: Example, text: str
) -> dict[str, str]:
    """Check a text as its example says; return what was found, as {code: level}."""
    file, request = tmp_path / "message.json", tmp_path / "request.json"
    file.write_text(text, encoding="utf-8", newline="")
    words = ["check", "--json", str(file)]
    if example.request:
        request.write_text(example.request, encoding="utf-8")
        words += ["--request", str(request)]
    for flag in ("method", "protocol_version", "form"):
        if value := getattr(example, flag):
            words += ["--" + flag.replace("_", "-"), value]
    main(words)
    found = json.loads(capsys.readouterr().out)["problems"]
    return {diagnostic["code"]: diagnostic["level"] for diagnostic in found}


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_wrong_example_has_the_mistake_and_the_right_one_has_none(
    code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the manual shows is what the check says."""
    example = EXAMPLES[code]
    assert code in codes(tmp_path, capsys, example, example.wrong)
    fixed = example._replace(form="result") if example.form == "text" else example
    levels = set(codes(tmp_path, capsys, fixed, example.right).values())
    assert levels <= {"repaired"}


def test_every_mistake_has_an_example_or_a_reason_for_none() -> None:
    """A new kind of mistake comes with its example."""
    assert set(EXAMPLES).isdisjoint(IN_CONVERSATION)
    assert set(EXAMPLES) | IN_CONVERSATION == set(KINDS)


def test_every_quote_names_where_it_stands() -> None:
    """JSON, JSON-RPC or MCP, and in which edition."""
    places = (
        "https://modelcontextprotocol.io/specification/20",
        "https://www.jsonrpc.org/specification#",
        "https://www.rfc-editor.org/rfc/rfc8259#section-",
    )
    for example in EXAMPLES.values():
        assert all(quote.link.startswith(places) for quote in example.quotes)


def test_where_versions_differ_each_is_quoted() -> None:
    """What is wrong in one version and right in another has the sentence of both."""
    for code, versions in BY_VERSION.items():
        quoted = {one.source.removeprefix("MCP ") for one in EXAMPLES[code].quotes}
        assert set(versions) <= quoted, code


def test_explain_shows_wrong_right_and_who_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """By name and by code, in any letters, and in both languages."""
    assert main(["check", "--lang", "en", "--explain", "Wrong-ID-Type"]) == 0
    said = capsys.readouterr().out
    example = EXAMPLES["R04"]
    for text in (example.request, example.wrong, example.right, example.quotes[0].says):
        assert text in said
    assert main(["check", "--lang", "ja", "--explain", "m02", "X01"]) == 0
    said = capsys.readouterr().out
    assert "間違いの例:" in said
    assert "https://modelcontextprotocol.io/specification/2024-11-05/server/tools" in said


def test_explain_without_a_code_lists_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    """One line each: who installed the wheel has no other list."""
    assert main(["check", "--lang", "en", "--explain"]) == 0
    said = capsys.readouterr().out
    assert [line.partition(":")[0] for line in said.splitlines()] == [
        title_of(code) for code in mistakes.codes()
    ]
    assert set(mistakes.codes()) == set(KINDS)


def test_explain_refuses_a_code_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """With exit status 2, and nothing on stdout."""
    assert main(["check", "--explain", "M02", "M000"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "M000" in err


def test_the_check_names_the_command_that_explains(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of an answer and of a conversation; nothing where nothing is wrong."""
    for code in ("M02", "N07"):
        file = tmp_path / "one.json"
        file.write_text(EXAMPLES[code].wrong, encoding="utf-8")
        main(["check", "--lang", "en", str(file)])
        assert f"humanmcp check --explain {code}" in capsys.readouterr().out
        file.write_text(EXAMPLES[code].right, encoding="utf-8")
        main(["check", "--lang", "en", str(file)])
        assert "--explain" not in capsys.readouterr().out

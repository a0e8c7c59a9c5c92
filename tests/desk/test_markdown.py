"""A little Markdown as blocks of text."""

import time

import pytest

from humanmcp.desk.rendering import blocks, sentence


@pytest.mark.parametrize("text", ["", "plain", "two\nlines", "2 * 3 * 4", "a_b", "<b>no</b>"])
def test_text_without_markdown_stays_text(text: str) -> None:
    """There is nothing to choose between."""
    assert blocks(text) == ()


def test_each_block_has_its_kind_and_its_words() -> None:
    """Headings, lists, code as it was written, paragraphs with code and strong words."""
    text = "# Plan #\nuse `a b` **now**\n1. one\n- two\n```py\n# no heading\n\n- x\n```\nend"
    found = [(one.kind, [[run.text for run in line] for line in one.lines]) for one in blocks(text)]
    assert found == [
        ("heading", [["Plan"]]),
        ("text", [["use ", "a b", " ", "now"]]),
        ("numbered", [["1. one"]]),
        ("list", [["two"]]),
        ("code", [["# no heading\n\n- x"]]),
        ("text", [["end"]]),
    ]


def test_a_fence_that_never_ends_keeps_its_text() -> None:
    """Nothing of a question is lost."""
    assert blocks("```\nabc")[0].lines[0][0].text == "abc"
    assert blocks("```sh; rm -rf /\nabc\n```")[0].lines[0][0].text == "sh; rm -rf /\nabc"


def test_a_line_that_could_be_a_heading_in_many_ways_costs_no_more_than_its_length() -> None:
    """A client sends it to a person's page, which stood still for minutes."""
    began = time.process_time()
    (block,) = blocks("# " * 100_000 + "x")
    assert (block.kind, time.process_time() - began < 3) == ("heading", True)
    assert [one.kind for one in blocks("#   \n\n# #")] == ["text", "heading"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Run `humanmcp desk`: it <b>.", "Run <code>humanmcp desk</code>: it &lt;b&gt;."),
        ("`a` `<b>`\x07", "<code>a</code> <code>&lt;b&gt;</code>⟦U+0007⟧"),
        ("the ``` code fence", "the ``` code fence"),
        ("one ` alone", "one ` alone"),
    ],
)
def test_a_sentence_shows_what_it_quotes_as_code(text: str, shown: str) -> None:
    """A backtick that quotes nothing stays."""
    assert sentence(text) == shown

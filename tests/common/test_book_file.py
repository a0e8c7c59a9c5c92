"""The answer book's file."""

import os
import re
from pathlib import Path

import pytest

from humanmcp.common.book_file import BookFile, BookFileError
from humanmcp.protocol.answer_book.book import Book


def write(path: Path, text: str, stamp: int) -> None:
    """Save a file with a time of its own, so that no clock decides the test."""
    path.write_text(text, encoding="utf-8")
    os.utime(path, (stamp, stamp))


def test_without_a_file_the_default_book_answers(tmp_path: Path) -> None:
    """A person without a book is a person who can start at once."""
    assert BookFile(tmp_path / "book.toml").book.name == "humanmcp"


def test_a_book_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    """The error names the file."""
    with pytest.raises(BookFileError, match=r"book\.toml: this file does not exist"):
        BookFile(tmp_path / "book.toml", must_exist=True)


@pytest.mark.parametrize("text", ["[server", "[server]\nnmae = 'x'", "\ufeff[server]\nname=1"])
def test_a_book_that_cannot_be_used_says_why(tmp_path: Path, text: str) -> None:
    """TOML's mistakes name the line, the book's own name the place."""
    write(tmp_path / "book.toml", text, 1)
    with pytest.raises(BookFileError, match=r"book\.toml: "):
        BookFile(tmp_path / "book.toml", must_exist=True)


NEVER_SENT = [
    ('[[tools]]\nname = "x"', 'line 1, tools[0]: .* tools/list: "inputSchema" is missing'),
    (
        '[[tools]]\nname = "x"\ninputSchema = {type = "object"}\n[[tools]]\nname = "y"',
        "line 4, tools[1]: ",
    ),
    ('[[tools]]\nname = "x"\ninputSchema = "object"', "tools[0]: "),
    ('[[tools]]\nname = "x"\ninputSchema = {type = "object"}\ndescription = 1', "tools[0]: "),
    ('[[prompts]]\nname = "x"\narguments = "a"', "prompts[0]: .* prompts/list: "),
    ('[[resources]]\nuri = "a:b"', 'resources[0]: .* resources/list: "name" is missing'),
    ('[[resourceTemplates]]\nname = "x"', "resourceTemplates[0]: .* resources/templates/list: "),
]


@pytest.mark.parametrize(("text", "said"), NEVER_SENT)
def test_a_book_with_a_list_that_no_client_can_get_is_refused(
    tmp_path: Path, text: str, said: str
) -> None:
    """The server would check it before it sends it, and leave the request to a person."""
    write(tmp_path / "book.toml", text, 1)
    with pytest.raises(BookFileError) as refused:
        BookFile(tmp_path / "book.toml", must_exist=True)
    assert re.search(said.replace("[", r"\["), refused.value.sentence())


@pytest.mark.parametrize("versions", ['["2025-06-18"]', '["2024-11-05"]', '["2026-07-28"]'])
def test_a_book_is_judged_in_the_versions_that_it_serves(tmp_path: Path, versions: str) -> None:
    """A list that one of them takes is sent."""
    text = f'[server]\nprotocol_versions = {versions}\n[[tools]]\nname = "x"\n'
    write(tmp_path / "book.toml", text + 'inputSchema = {type = "object"}', 1)
    assert BookFile(tmp_path / "book.toml").book.tools
    write(tmp_path / "book.toml", text, 2)
    with pytest.raises(BookFileError, match="would never send"):
        BookFile(tmp_path / "book.toml")


def test_a_saved_book_is_read_again_at_most_once_a_second(tmp_path: Path) -> None:
    """What a desk saves as a rule takes effect while the server runs."""
    path = tmp_path / "book.toml"
    write(path, '[server]\nname = "a"', 1)
    book_file = BookFile(path)
    assert not book_file.poll(10.0)
    write(path, '[server]\nname = "b"', 2)
    assert not book_file.poll(10.5)
    assert book_file.poll(11.0)
    assert book_file.book.name == "b"


def test_the_versions_of_the_command_line_go_before_the_book_s(tmp_path: Path) -> None:
    """Whichever the book names, now or when it is saved again; everything else is the book's."""
    path = tmp_path / "book.toml"
    book_file = BookFile(path, ["2024-11-05"])
    assert book_file.book == Book(protocol_versions=("2024-11-05",))
    write(path, '[server]\nname = "a"\nprotocol_versions = ["2026-07-28"]', 1)
    assert book_file.poll(10.0)
    assert (book_file.book.name, book_file.book.protocol_versions) == ("a", ("2024-11-05",))


def test_a_mistake_while_saving_keeps_the_last_good_book(tmp_path: Path) -> None:
    """A half-saved file must not take the answers away."""
    path = tmp_path / "book.toml"
    write(path, '[server]\nname = "a"', 1)
    book_file = BookFile(path)
    write(path, "[server", 2)
    assert book_file.poll(10.0)
    assert (book_file.book.name, bool(book_file.complaint)) == ("a", True)
    write(path, '[server]\nname = "c"', 3)
    assert book_file.poll(12.0)
    assert (book_file.book.name, book_file.complaint) == ("c", None)


def test_the_tool_for_permission_prompts_is_offered_beside_the_book_unless_it_has_one(
    tmp_path: Path,
) -> None:
    """Also by a book that is saved later."""
    path = tmp_path / "book.toml"
    book_file = BookFile(path, approvals=True)
    assert [one["name"] for one in book_file.book.tools] == ["ask_human", "approve"]
    tools = [
        f'[[tools]]\nname = "{name}"\ninputSchema = {{type = "object"}}\n'
        for name in ("add", "approve")
    ]
    path.write_text("".join(tools), encoding="utf-8")
    assert book_file.poll(10)
    assert [one["name"] for one in book_file.book.tools] == ["add", "approve"]
    assert "approve" not in [one["name"] for one in BookFile(tmp_path / "none").book.tools]

"""The answer book's file."""

import os
from pathlib import Path

import pytest

from humanmcp.common.book_file import BookFile, BookFileError
from humanmcp.protocol.rules.answer_book import Book


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
    path.write_text('[[tools]]\nname = "add"\n[[tools]]\nname = "approve"', encoding="utf-8")
    assert book_file.poll(10)
    assert [one["name"] for one in book_file.book.tools] == ["add", "approve"]
    assert "approve" not in [one["name"] for one in BookFile(tmp_path / "none").book.tools]

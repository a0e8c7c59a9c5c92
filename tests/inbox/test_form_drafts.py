"""What is kept of the forms of pages, and what is forgotten with a session."""

from pathlib import Path

import pytest

from humanmcp.inbox.form_drafts import FormDraft, FormDrafts


def kept(home: Path, *keys: str) -> FormDrafts:
    """Save a draft under each of these keys."""
    drafts = FormDrafts(home)
    for number, key in enumerate(keys):
        drafts.save(FormDraft(key, {"reason": f"words {number}"}, f"words {number}", str(number)))
    return drafts


@pytest.mark.parametrize(
    "key", ["s/1 deny", "s say tools/call ../../x", "book rule a\n\0b", "s \ud800"]
)
def test_a_draft_comes_back_byte_for_byte(tmp_path: Path, key: str) -> None:
    """Also with a key that is no name of a file, and with what UTF-8 cannot hold."""
    words = "one\r\ntwo \ud800 \u202e"
    draft = FormDraft(key, {"a": words, words: ""}, words, "now")
    FormDrafts(tmp_path).save(draft)
    assert FormDrafts(tmp_path).find(key) == draft
    assert FormDrafts(tmp_path).find(f"{key} ") is None


def test_a_place_lists_its_own_forms_oldest_first(tmp_path: Path) -> None:
    """Exchange 1 is not exchange 11, nor the page of the session."""
    drafts = kept(tmp_path, "s/1 deny", "s/11 deny", "s say", "s/1 answers", "t/1 deny")
    drafts.note("s", 1, 1, "a note at a line, which nobody sends")
    assert [one.key for one in drafts.at("s/1")] == ["s/1 deny", "s/1 answers"]


def test_what_is_forgotten_leaves_no_word_on_the_disk(tmp_path: Path) -> None:
    """An exchange with its forms; a session with all of them, and no other session."""
    drafts = kept(tmp_path, "s/1 deny", "s/11 deny", "s say", "t/1 deny")
    drafts.forget_place("s/1")
    assert [drafts.find(key) is None for key in ("s/1 deny", "s/11 deny")] == [True, False]
    drafts.forget_place("s")
    files = [one for one in tmp_path.rglob("*") if one.is_file()]
    assert [one.read_text(encoding="utf-8").count("words 3") for one in files] == [2]


def test_a_torn_file_is_no_draft(tmp_path: Path) -> None:
    """The next one replaces it."""
    drafts = kept(tmp_path, "s/1 deny")
    (file,) = (one for one in tmp_path.rglob("*.json"))
    file.write_bytes(file.read_bytes()[:-9])
    assert (drafts.find("s/1 deny"), drafts.at("s/1")) == (None, [])

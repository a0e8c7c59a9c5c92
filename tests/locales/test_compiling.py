"""What is said is what stands in the source, and a start reads the compiled form alone."""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from humanmcp import locales
from humanmcp.locales import LANGUAGES, compiling, sentences_of


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the sources, not yet compiled, and load from there."""
    copy = tmp_path / "locales"
    for language in LANGUAGES:
        shutil.copytree(compiling.FOLDER / language, copy / language)
    monkeypatch.setattr(locales, "_FOLDER", copy)
    return copy


def start(section: str, language: str) -> Mapping[str, str]:
    """Load a section as a program does that starts: nothing is remembered."""
    load: Callable[[str, str], Mapping[str, str]] = sentences_of.__wrapped__
    return load(section, language)


def change(file: Path, old: str, new: str) -> None:
    """Edit a source."""
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_section_is_loaded_as_it_stands_in_the_source(language: str) -> None:
    """In a checkout that was used before, too: what is stale is made again."""
    for section, sentences in compiling.sentences(language).items():
        assert sentences_of(section, language) == sentences


@pytest.mark.usefixtures("folder")
def test_wordings_of_one_sentence_stand_in_one_table() -> None:
    """`says` is the sentence itself; the reason has its name behind a dot."""
    section = start("problem", "en")
    assert section["J01"] == "A comma is missing here."
    assert section["J01.why"].startswith("JSON needs a comma")


def test_a_changed_source_is_said_at_the_next_start(folder: Path) -> None:
    """Developers never see a stale sentence."""
    assert start("waiting", "en")["measured"] == "measured"
    change(folder / "en" / "explain.toml", 'measured = "measured"', 'measured = "by the clock"')
    assert start("waiting", "en")["measured"] == "by the clock"
    assert start("waiting", "ja")["measured"] == "実測値"


def test_a_start_reads_no_toml_when_nothing_changed(folder: Path) -> None:
    """The source here is no TOML any more, and looks unchanged: nothing opens it."""
    before = start("waiting", "en")
    source = folder / "en" / "explain.toml"
    facts = source.stat()
    source.write_bytes(b"?" * facts.st_size)
    os.utime(source, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert start("waiting", "en") == before


def test_a_section_may_move_to_another_file_or_go(folder: Path) -> None:
    """The compiled form of a section that is no more goes with it."""
    before = start("attach", "en")
    source = folder / "en" / "terminal.toml"
    text, _, moved = source.read_text(encoding="utf-8").partition("[attach]\n")
    source.write_text(text, encoding="utf-8")
    assert start("attach", "en") == {}
    assert not (folder / "compiled" / "en" / "attach.json").exists()
    (folder / "en" / "new.toml").write_text(f"[attach]\n{moved}", encoding="utf-8")
    assert start("attach", "en") == before
    (folder / "en" / "new.toml").unlink()
    assert start("attach", "en") == {}


def test_a_damaged_compiled_file_is_made_again(folder: Path) -> None:
    """Whatever damaged it."""
    before = start("waiting", "en")
    compiled = folder / "compiled" / "en" / "waiting.json"
    compiled.write_text('{"source": "en/expl', encoding="utf-8")
    assert start("waiting", "en") == before
    assert compiled.read_text(encoding="utf-8").endswith("}")


def test_a_folder_that_cannot_be_written_is_read_all_the_same(folder: Path) -> None:
    """Here a file stands where the compiled form would."""
    (folder / "compiled").write_text("", encoding="utf-8")
    assert start("waiting", "en")["measured"] == "measured"


def test_an_installed_program_has_no_source_and_needs_none(folder: Path) -> None:
    """The wheel holds what `write` makes without stamps."""
    for language in LANGUAGES:
        found = compiling.sections(language, folder)
        compiling.write(folder / "compiled" / language, found, stamped=False)
        shutil.rmtree(folder / language)
    assert start("waiting", "ja")["measured"] == "実測値"
    assert start("nonsense", "ja") == {}
    assert start("waiting", "ja")["measured"] == "実測値"  # it is there after a vain search, too


def test_both_languages_have_the_same_sections_in_the_same_files() -> None:
    """So that a translator finds the other sentence; and no section stands in two files."""
    en, ja = (
        [
            (section.name, section.source.partition("/")[2])
            for folder in compiling.folders()
            for section in compiling.sections(language, folder)
        ]
        for language in LANGUAGES
    )
    assert en == ja
    assert [
        file for folder in compiling.folders() for file in folder.glob("*.toml")
    ] == []  # a file of no reader: nothing loads it
    assert [name for name, times in Counter(name for name, _ in en).items() if times > 1] == []

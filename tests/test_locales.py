"""Every sentence a person reads."""

import pytest

from humanmcp.locales import UnknownSentenceError, language_of, say


def test_a_sentence_is_filled_in_the_wanted_language() -> None:
    """An unknown language gets English."""
    assert say("waiting", "measured", "en") == "measured"
    assert say("waiting", "measured", "ja") == "実測値"
    assert say("waiting", "measured", "fr") == "measured"
    assert "3" in say("demo", "understood-tools", "ja", count=3, names="a")


def test_one_thing_is_not_plural() -> None:
    """English has a wording for one; Japanese needs none."""
    assert say("desk", "talk.earlier", "en", count=1) == "1 earlier turn"
    assert say("desk", "talk.earlier", "en", count=2) == "2 earlier turns"
    assert say("desk", "talk.earlier", "ja", count=1) == "その前の 1 ターン"


def test_a_code_without_a_sentence_says_what_to_do() -> None:
    """It is a mistake of ours, and names the place."""
    with pytest.raises(UnknownSentenceError, match=r"no sentence for demo\.nonsense"):
        say("demo", "nonsense", "ja")


def test_the_language_is_the_wanted_one_then_the_environments_then_english(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Hosts often start servers without LANG."""
    for name in ("LC_ALL", "LANG"):
        monkeypatch.delenv(name, raising=False)
    assert language_of() == "en"
    assert language_of("ja") == "ja"
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    assert language_of() == "ja"
    assert language_of("en") == "en"
    monkeypatch.setenv("LC_ALL", "C")
    assert language_of() == "ja"

"""How received text is shown: each character that is not drawn as its code point."""

import json
import re
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.json.visible import (
    by_direction,
    left_to_right,
    one_line,
    visible,
    visible_code,
    visible_json,
)

EVERY = range(sys.maxunicode + 1)


def as_typed(shown: str) -> str:
    """Return the line of which this is the picture."""
    return re.sub(
        r"⟦U\+([0-9A-F]{4,6})⟧|\u21e5\t",
        lambda one: chr(int(one[1], 16)) if one[1] else "\t",
        shown,
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "⟦U+001B⟧[2J"),
        ("\x07\r", "⟦U+0007⟧⟦U+000D⟧"),
        ("a\u202eb", "a⟦U+202E⟧b"),
        ("zero\u200bwidth", "zero⟦U+200B⟧width"),
        ("\U000e0041\ufff0\u180b\U0001d173", "⟦U+E0041⟧⟦U+FFF0⟧⟦U+180B⟧⟦U+1D173⟧"),
        ("\x9b31m", "⟦U+009B⟧31m"),
        ("\ud800\ue000\uffff\u0378", "⟦U+D800⟧⟦U+E000⟧⟦U+FFFF⟧⟦U+0378⟧"),
        ("東京\n晴れ\tよ\u3000a\xa0b", "東京\n晴れ\tよ\u3000a\xa0b"),
        ("👨\u200d👩 ❤\ufe0f 1\ufe0f\u20e3", "👨\u200d👩 ❤\ufe0f 1\ufe0f\u20e3"),
        ("a\u200db\ufe0f👨\u200d", "a⟦U+200D⟧b⟦U+FE0F⟧👨⟦U+200D⟧"),
        ("❤\ufe0f\ufe0f", "❤\ufe0f⟦U+FE0F⟧"),
    ],
)
def test_what_could_act_is_shown_as_its_code_point(text: str, shown: str) -> None:
    """Escapes, controls, direction overrides, zero-width and tag characters; an emoji is whole."""
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "rm\u202e\u200b\x1b[2K\u2800-rf\xa0/",
            "rm⟦U+202E⟧⟦U+200B⟧⟦U+001B⟧[2K⟦U+2800⟧-rf⟦U+00A0⟧/",
        ),
        ("a\r\n\x0b\x0c\x85\u2028", "a⟦U+000D⟧⟦U+000A⟧⟦U+000B⟧⟦U+000C⟧⟦U+0085⟧⟦U+2028⟧"),
        ("\tgo  on", "\u21e5\tgo  on"),
        ("\u21e5", "⟦U+21E5⟧"),
        ("ls  ", "ls⟦U+0020⟧⟦U+0020⟧"),
        (" ", "⟦U+0020⟧"),
        ("⟦U+202E⟧", "⟦U+27E6⟧U+202E⟧"),
        ("東京 é か\u3099 ❤", "東京 é か\u3099 ❤"),
        ("❤\ufe0f", "❤⟦U+FE0F⟧"),
        ("\u0338/ \u0338 \u200b\u0338", "⟦U+0338⟧/ ⟦U+0338⟧ ⟦U+200B⟧⟦U+0338⟧"),
        ("a" + "\u0301" * 6, "a" + "\u0301" * 4 + "⟦U+0301⟧⟦U+0301⟧"),
    ],
)
def test_code_shows_also_spaces_and_marks_that_could_mislead(line: str, shown: str) -> None:
    """What is no space to a shell, what ends a line, what is drawn over something else."""
    assert visible_code(line) == shown


@given(st.text(st.characters(exclude_categories=())))
def test_two_lines_of_code_never_look_alike(line: str) -> None:
    """The line can be read back from its picture, in which every character is drawn."""
    shown = visible_code(line)
    assert as_typed(shown) == line
    assert visible(shown) == shown
    assert shown.replace("\u21e5\t", "").isprintable()


@pytest.mark.node
def test_every_character_that_unicode_does_not_draw_is_shown_as_its_code_point() -> None:
    """Default_Ignorable_Code_Point and the category Other, as the Unicode of Node.js has them."""
    script = (
        "const found = []; for (let c = 0; c < 0x110000; c++) "
        r"if (/[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/u"
        ".test(String.fromCodePoint(c))) found.push(c);"
        "console.log(JSON.stringify([process.versions.unicode, found]))"
    )
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    version, found = json.loads(done.stdout)
    assert float(version) >= 15
    assert len(found) > 140_000
    wrong = [hex(one) for one in found if visible(chr(one)) == chr(one) and one not in b"\n\t"]
    assert not wrong
    assert not [hex(one) for one in found if visible_code(chr(one)) == chr(one)]


def test_every_character_without_a_meaning_is_shown_as_its_code_point() -> None:
    """Unassigned in the Unicode of this Python."""
    assert all(
        visible(chr(one)) != chr(one) for one in EVERY if unicodedata.category(chr(one)) == "Cn"
    )


def test_letters_of_every_script_stay_as_they_are() -> None:
    """Letters, numbers, punctuation, symbols; as code, too."""
    # drawn as nothing, or signs of our own; some are newer than the Unicode of some Pythons
    odd = "\u115f\u1160\u3164\uffa0\u2800\ufffc\U0001d159\U00013441\U00013442\u21e5⟦"
    usual = [chr(one) for one in EVERY if unicodedata.category(chr(one))[0] in "LNPS"]
    assert [one for one in usual if visible_code(one) != one] == sorted({*odd} & {*usual})
    assert [one for one in usual if visible(one) != one] == ["\u115f", "\u1160", "\u3164", "\uffa0"]


def test_one_line_is_one_line_and_can_be_cut() -> None:
    """For lists and tables."""
    assert one_line("a\nb\tc") == "a\\nb\\tc"
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"


def test_json_stays_the_json_that_it_was() -> None:
    """With an escape where another character would stand for one that acts."""
    assert visible_json('{"a":"\u202e\x7f \U000e0041東"}') == (
        '{"a":"\\u202e\\u007f \\udb40\\udc41東"}'
    )
    assert visible_json('{"a":"東京 é","b":1}\n') == '{"a":"東京 é","b":1}\n'


@pytest.mark.parametrize(
    ("text", "longest", "shown"),
    [("a\nb\tc", 0, "a\\nb\\tc"), ("abcd", 4, "abcd"), ("abcde", 4, "abc…"), ("é", 1, "é")],
)
def test_a_line_is_cut_with_a_mark_only_where_it_is_too_long(
    text: str, longest: int, shown: str
) -> None:
    """The mark is one of the characters that there may be."""
    assert one_line(text, longest) == shown


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("rm -rf /srv/א/../1/x", "|rm -rf /srv/א|/../1/x"),
        ("cp אב גד", "|cp אב| גד|"),
        ("א1 ٣-٤", "|א|1 ٣|-٤|"),
        ("plain 東京", "plain 東京"),
    ],
)
def test_words_from_right_to_left_keep_their_order(text: str, marked: str) -> None:
    """A mark beside each of them leaves nothing for a screen to order."""
    assert left_to_right(text) == marked.replace("|", "\u200e")
    assert "".join(piece for piece, _ in by_direction(text)) == text


def test_every_character_from_right_to_left_is_known_by_its_block() -> None:
    """As Unicode's own files define the blocks: also those that will be assigned."""
    strong = [one for one in map(chr, EVERY) if unicodedata.bidirectional(one) in ("R", "AL", "AN")]
    signs = {one for one in strong if visible(one) == one}
    assert len(signs) > 2000
    assert not [one for one in signs if list(by_direction(one)) != [(one, True)]]

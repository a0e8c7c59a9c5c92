"""A message on the page: each member on a line, in colours, and folded."""

import html
import json
import re

import pytest

from humanmcp.desk.history import folding
from humanmcp.desk.history.folding import folded_json

NESTED = '{"a":{"b":[1,true,"x {"],"c":{}},"d":"<i>\\u202e"}'


def words(shown: str) -> str:
    """Return the text of a page's part, without its line breaks."""
    return html.unescape(re.sub("<[^>]*>", "", shown))


def test_objects_and_lists_fold_and_say_how_many_lines_they_hide() -> None:
    """Empty ones, and brackets in a text, do not."""
    shown = folded_json(NESTED)
    assert shown.count("<details open>") == shown.count("</details>") == 3
    assert re.findall('data-more="([^"]*)"', shown) == ["… 9 }", "… 6 },", "… 3 ],"]
    assert json.loads(words(shown)) == json.loads(NESTED)


def test_names_texts_and_values_have_colours_and_nothing_is_markup() -> None:
    """What came over the wire is text."""
    shown = folded_json(NESTED)
    assert '<i class="name">&#34;a&#34;</i>: {' in shown
    assert '<i class="value">true</i>,' in shown
    assert '<i class="string">&#34;&lt;i&gt;' in shown
    assert re.findall("<([a-z]+)", shown).count("i") == 8


@pytest.mark.parametrize("line", ["]]}}", '{"a": [', "no JSON <b>", "{]", ""])
def test_what_is_no_json_is_shown_as_it_is(line: str) -> None:
    """Every fold that is opened is closed."""
    shown = folded_json(line)
    assert shown.count("<details") == shown.count("</details>")
    assert re.sub(r"\s", "", words(shown)) == re.sub(r"\s", "", line)


def test_of_a_very_long_message_no_part_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser would take seconds."""
    monkeypatch.setattr(folding, "MOST_FOLDED", 3)
    assert words(folded_json("[1,2]")) == "[\n  1,\n  2\n]"
    assert "details" not in folded_json("[1,2]")

"""What a page hides on which nobody's name is to be read."""

import pytest
from jinja2 import Environment
from markupsafe import Markup, escape

from humanmcp.desk.rendering import HIDDEN_NAMES, SPOKEN_WORDS, nameless, words_of

NAMES = ("tools", "text", "forecast", "Ann", "あお")
SPOKEN = words_of('{"name": "get-japan-forecast"}')


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("tools/call", "tools/call"),
        ("tools", "tools"),
        ('{"tools":[{"name":"get-japan-forecast"}]}', '{"tools":[{"name":"get-japan-forecast"}]}'),
        ('{"type":"text","text":"I am tools."}', '{"type":"text","text":"I am …."}'),
        ('{"text":"Ann, and ann"}', '{"text":"…, and …"}'),
        ("ask-ann", "ask-…"),
        ("ann-tools", "…-…"),
        ("ann", "…"),
        ('{"Ann":1,"forecast":2}', '{"…":1,"…":2}'),
        ("Announce, あおです", "Announce, …です"),
        ("<b>Ann</b> &#34;tools&#34;", "<b>…</b> &#34;tools&#34;"),
    ],
)
def test_a_name_is_hidden_in_what_people_wrote_and_not_in_a_word_of_the_protocol(
    text: str, shown: str
) -> None:
    """A learner may be called as a member, a method, or a part of the name of the lesson's tool."""
    made = Environment(autoescape=True)
    made.filters["nameless"] = nameless
    page = made.from_string("{{ text | nameless }}")
    given = {HIDDEN_NAMES: NAMES, SPOKEN_WORDS: SPOKEN}
    assert page.render({**given, "text": Markup(text)}) == shown
    assert page.render({**given, "text": text}) == escape(shown)

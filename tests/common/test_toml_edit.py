"""A person's TOML, edited: whatever its layout, what was not meant stays as it was."""

import tomllib
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from humanmcp.common import toml_edit
from humanmcp.common.toml_edit import NotEditableError

NAME: Final = ("servers", "mine")
OLD: Final = {"command": "old", "env": {"A": "1"}}
NEW: Final = {"command": "/x", "args": ["serve", 'the "one"\x7f'], "env": {"A": "2"}, "wait": 60}

AROUND: Final = {
    "a table of its own": (
        "# top\nmodel = 'o9'\n\n# mine\n[servers.mine]\ncommand = 'old' # why\n"
        "# its env\n[servers.mine.env]\nA = '1'\n\n# about the theme\n[tui]\ntheme = 'dark'\n"
    ),
    "nested braces in a table": (
        "[servers.mine]\nenv = { A = '1' } # env\ncommand = 'old'\n# next\n[tui]\nx = 1\n"
    ),
    "braces in the table of all": (
        "[servers]\nmine = { command = 'old', env = { A = '1' } } # c\n# last\n\n# next\n[tui]\n"
    ),
    "braces alone": "servers = { mine = { command = 'old', env = { A = '1' } } } # c\n[tui]\n",
    "dotted keys at the top": (
        "servers.mine.command = 'old' # c\nservers.mine.env.A = '1'\n\n# next\n[tui]\nx = 1\n"
    ),
    "dotted keys in the table of all": (
        "[servers]\nmine.command = 'old' # c\nmine.env = { A = '1' }\n# next\n[tui]\nx = 1\n"
    ),
    "quoted keys": (
        "[\"servers\".'mine']\n\"command\" = 'old' # c\nenv.A = '1'\n# next\n[tui]\nx = 1\n"
    ),
    "spaces in the header": (
        "\t[ servers . mine ] # c\ncommand = 'old'\nenv.A = '1'\n# next\n[tui]\nx = 1\n"
    ),
    "tables out of order": (
        "[servers.mine.env]\nA = '1'\n\n# next\n[tui]\nx = 1\n\n# mine\n[servers.mine]\n"
        "command = 'old'\n# profile\n[profile]\ny = 2\n"
    ),
    "arrays of tables around": (
        "[[things]]\na = 1\n# two\n[[things]]\na = 2\n# mine\n[servers.mine]\ncommand = 'old'\n"
        "env.A = '1'\n# three\n[[more]]\na = 3\n[more.inner]\nb = 1\n"
    ),
    "headers inside a text": (
        "note = '''\n[servers.mine]\n# no comment\n'''\n[servers.mine]\ncommand = 'old'\n"
        "env.A = '1'\n"
        '[tui]\nhelp = """\n[tui]\n"""\nlist = [\n  [1], # one\n  # two\n]\n'
    ),
    "nan and dates": (
        "when = 2026-01-02T03:04:05Z\nx = nan\n[servers.mine]\ncommand = 'old'\n"
        "env.A = '1'\n# end\n"
    ),
    "no line feed at the end": "[tui]\nx = 1\n# mine\n[servers.mine]\nenv.A = '1'\ncommand = 'old'",
}
"""The same entry, in as many layouts as TOML has for it."""

FREE: Final = {
    **{name: text for name, text in AROUND.items() if name != "braces alone"},
    "nothing": "",
    "comments alone": "# my settings\n\n",
    "another entry": "[servers.other]\ncommand = 'npx' # why\n\n# about the theme\n[tui]\nx = 1\n",
}


def comments(text: str) -> list[str]:
    """List the comments of the test's texts by their words; none of them stands in a text."""
    return [line.split("# ", 1)[1] for line in text.split("\n") if "# " in line]


def without(text: str, *keys: str) -> dict[str, Any]:
    """Decode a text without one of its values, and without what is empty then."""
    found = tomllib.loads(text.removeprefix("\ufeff"))
    inner = found.get(keys[0], {})
    inner.pop(keys[1], None)
    if not inner:
        found.pop(keys[0], None)
    return {key: repr(value) for key, value in found.items()}


@pytest.mark.parametrize("layout", AROUND)
def test_an_entry_is_changed_in_every_layout(layout: str) -> None:
    """Members change, come and go; every comment stays, and so does all else."""
    before = AROUND[layout]
    assert tomllib.loads(before)["servers"]["mine"] == OLD
    after = toml_edit.put(before, NAME, NEW)
    assert tomllib.loads(after)["servers"]["mine"] == NEW
    assert without(after, *NAME) == without(before, *NAME)
    assert comments(after) == comments(before)
    again = toml_edit.put(after, NAME, OLD)
    assert tomllib.loads(again)["servers"]["mine"] == OLD
    assert comments(again) == comments(before)


@pytest.mark.parametrize("layout", AROUND)
def test_an_entry_is_taken_out_of_every_layout(layout: str) -> None:
    """The comments that lead to it and to the next table stay."""
    before = AROUND[layout]
    after = toml_edit.take(before, NAME)
    assert without(after, *NAME) == without(before, *NAME)
    assert "mine" not in tomllib.loads(after).get("servers", {})
    inside = {"why", "its env", "c", "env"}  # the comments within the entry itself
    assert set(comments(before)) - set(comments(after)) <= inside


@pytest.mark.parametrize("layout", FREE)
def test_a_new_entry_goes_to_the_end_of_every_layout(layout: str) -> None:
    """What was there is there byte for byte, and is all there is when it is taken out."""
    before = FREE[layout]
    after = toml_edit.put(before, ("servers", "my new one"), NEW)
    assert after.startswith(before)
    assert tomllib.loads(after)["servers"]["my new one"] == NEW
    taken = toml_edit.take(after, ("servers", "my new one"))
    assert taken.strip() == before.strip()


def test_a_new_entry_goes_into_the_braces_of_the_others() -> None:
    """Where a table of its own would not be TOML."""
    before = "servers = { other = { command = 'npx' } } # c\n# next\n[tui]\nx = 1\n"
    after = toml_edit.put(before, NAME, NEW)
    assert tomllib.loads(after)["servers"]["mine"] == NEW
    assert without(after, *NAME) == without(before, *NAME)
    assert comments(after) == comments(before)


RULES: Final = {
    "none": "[server]\nname = 'x' # c\n",
    "an array of tables": "[[rules]]\ntext = 'a' # c\n# next\n[server]\nname = 'x'\n",
    "its last one with a table": "[[rules]]\ntext = 'a'\n[rules.where]\nx = 1\n# end\n",
    "an array of braces": "rules = [{ text = 'a' }] # c\n# next\n[server]\nname = 'x'\n",
    "an array over lines": (
        "rules = [\n  # one\n  { text = 'a' }, # c\n  # last\n]\n# next\n[server]\nname = 'x'\n"
    ),
    "without a comma at the end": "rules = [\n  { text = 'a' } # c\n]\n# next\n[server]\n",
    "an empty array": "rules = [] # c\n# next\n[server]\nname = 'x'\n",
}


@pytest.mark.parametrize("layout", RULES)
def test_an_element_is_added_in_every_layout(layout: str) -> None:
    """After those that are there, which stay as they are."""
    before = RULES[layout]
    element = {"text": "new", "where": {"a b": [1, {"c": True}]}}
    after = toml_edit.add(before, "rules", element)
    wanted = tomllib.loads(before)
    wanted.setdefault("rules", []).append(element)
    assert tomllib.loads(after) == wanted
    assert comments(after) == comments(before)


@pytest.mark.parametrize("layout", AROUND)
def test_line_ends_and_the_byte_order_mark_stay(layout: str) -> None:
    """What an editor of Windows wrote is the same file afterwards, and of one kind."""
    plain = AROUND[layout]
    before = "\ufeff" + plain.replace("\n", "\r\n")
    edits: list[Callable[[str], str]] = [
        lambda text: toml_edit.put(text, NAME, NEW),
        lambda text: toml_edit.take(text, NAME),
        lambda text: toml_edit.add(text, "rules", {"text": "x"}),
    ]
    for edit in edits:
        assert edit(before) == "\ufeff" + edit(plain).replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("a = [{ b = 1 }]\n", ("a", "b")),
        ("a = 1\n", ("a", "b")),
        ("[[a]]\nb = 1\n", ("a", "b")),
    ],
)
def test_what_cannot_be_edited_is_refused(text: str, keys: tuple[str, str]) -> None:
    """Something else stands where the table should be."""
    with pytest.raises(NotEditableError):
        toml_edit.put(text, keys, {"x": 1})


def test_a_wrong_outcome_of_the_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each outcome is read again; `true` in the place of 1 is noticed as well."""
    text = "servers = { mine = { wait = true } }\n"
    assert (
        tomllib.loads(toml_edit.put(text, NAME, {"wait": 1}))["servers"]["mine"]["wait"] is not True
    )
    monkeypatch.setattr("tomlkit.toml_document.TOMLDocument.as_string", lambda _self: text)
    with pytest.raises(NotEditableError):
        toml_edit.put(text, NAME, {"wait": 1})


def test_what_is_no_toml_is_not_edited() -> None:
    """The reader's own error says where."""
    with pytest.raises(tomllib.TOMLDecodeError):
        toml_edit.put("a = = 1\n", NAME, NEW)


# -- any layout -------------------------------------------------------------------------------

BLOCKS: Final = (
    "[tui]\ntheme = 'dark' # c{0}\n# after the theme {0}\n",
    "[profile.one]\nx = {{ a = 1, b = [2, {{ c = 3 }}] }}\n\n",
    "[profile.two]\nb.c = 1\nb.d = 2 # c{0}\n",
    "[profile]\nlist = [\n  1, # c{0}\n  # two {0}\n]\n",
    "[[things]]\na = 1\n\n# after a thing {0}\n\n",
    "[[things]]\na = 2\n[things.more]\nx = nan\n",
    "[servers.other]\ncommand = 'npx'\n\n",
    "[servers.other.env]\nA = '1' # c{0}\n",
    '["servers"."a b"]\ntext = """\n[servers.mine]\nx = 1\n"""\n',
    "  [ servers.third ]\n  command = 'x' # c{0}\n",
)
OWN: Final = (
    "[servers.mine]\ncommand = 'old'\nenv.A = '1'\n",
    "[servers.mine]\ncommand = 'old'\n[servers.mine.env]\nA = '1'\n",
    "[servers.mine.env]\nA = '1'\n\n[servers.mine]\ncommand = 'old'\n",
    "[servers]\nmine = { command = 'old', env = { A = '1' } }\n",
    "[servers]\nmine.command = 'old'\nmine.env.A = '1'\n",
    "[ 'servers' . \"mine\" ]\nenv = { A = '1' }\ncommand = 'old'\n",
)


@st.composite
def texts(draw: st.DrawFn, own: tuple[str, ...]) -> str:
    """Draw a valid text: blocks in any order, with comments that tell each other apart."""
    blocks = draw(st.lists(st.sampled_from(BLOCKS), max_size=7))
    if own:
        blocks.insert(draw(st.integers(0, len(blocks))), draw(st.sampled_from(own)))
    lead = [draw(st.sampled_from(("", "\n", "# lead {0}\n", "\n# lead {0}\n\n"))) for _ in blocks]
    top = draw(st.sampled_from(("", "# top\n", "model = 'o9' # top\n\n", "a.b = 1\n# top\n")))
    text = top + "".join(
        above.format(at) + (block.format(at) if block not in OWN else block)
        for at, (above, block) in enumerate(zip(lead, blocks, strict=True))
    )
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assume(condition=False)
    return text


@given(texts(OWN))
def test_whatever_the_layout_only_the_entry_changes(text: str) -> None:
    """Every comment outside of it stays, and every value."""
    for after, entry in ((toml_edit.put(text, NAME, NEW), NEW), (toml_edit.take(text, NAME), None)):
        assert tomllib.loads(after).get("servers", {}).get("mine") == entry
        assert without(after, *NAME) == without(text, *NAME)
        assert comments(after) == comments(text)


@given(texts(()))
def test_whatever_the_layout_a_new_entry_comes_and_goes(text: str) -> None:
    """Byte for byte what was there, in front of it; and nothing else without it."""
    after = toml_edit.put(text, NAME, NEW)
    assert after.startswith(text)
    assert toml_edit.take(after, NAME) == text

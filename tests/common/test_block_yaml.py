"""The YAML of configurations: what is read, and what is refused by its line."""

import json

import pytest

from humanmcp.common.block_yaml import YamlError, read_yaml

DOCUMENT = """---
model: "gpt: 5"   # mine
empty:
'a b':
  args:
  - -y
  - '@x/y'
  - "--name=it's"
  - http://x:8/y#z
  text: |-
    Two # lines
      and: more

  folded: >
    one
    two
  flow: {type: builtin, "n": [1, 'a b', -2.5, http://x:1/y, []]}
  after: true
list:
  - a: 1
    b: null
  -
    c: ~
  - - 1
    - off
"""
VALUE = {
    "model": "gpt: 5",
    "empty": None,
    "a b": {
        "args": ["-y", "@x/y", "--name=it's", "http://x:8/y#z"],
        "text": "Two # lines\n  and: more",
        "folded": "one two\n",
        "flow": {"type": "builtin", "n": [1, "a b", -2.5, "http://x:1/y", []]},
        "after": True,
    },
    "list": [{"a": 1, "b": None}, {"c": None}, [1, "off"]],
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (DOCUMENT, VALUE),
        (DOCUMENT.replace("\n", "\r\n"), VALUE),
        ("", None),
        ("# only a comment", None),
        ("\ufeffa: 1", {"a": 1}),
        (json.dumps(VALUE), VALUE),
        ("- 1\n- [a, b,]", [1, ["a", "b"]]),
        ("a: 'it''s'", {"a": "it's"}),
        ("a: 007\nb: +3\nc: 1e3", {"a": "007", "b": 3, "c": 1000.0}),
        ("a: yes\nb: 1:30\nc: 1_0", {"a": "yes", "b": "1:30", "c": "1_0"}),
        ("1: &x one\n  two\ntrue: {b}", {"1": "one two", "true": {"b": None}}),
        ("--- # one\na: '1'\nb: ''\n...\n", {"a": "1", "b": ""}),
    ],
)
def test_what_hosts_and_people_write_is_read(text: str, value: object) -> None:
    """Blocks, lists, quotes, comments, texts of several lines, and JSON."""
    assert read_yaml(text) == value


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: &x 1\nb: *x", 2),
        ("a: &x\n  b: *x", 2),
        ("a: *x", 1),
        ("a: !!str x", 1),
        ("a: b: c", 1),
        ('a: 1\nb: "x', 2),
        ("a: [1", 1),
        ("a: 1\n---\nb: 2", 2),
        ("a: 1\n? [b]\n: c", 2),
        ("a: 1\nb: \0", 2),
        ("a: 1\n  b: 2", 2),
        ("a:\n  b: 1\n c: 2", 3),
        ("- a\nb: 1", 2),
        ("a: 1\nplain", 2),
        ("[" * 100, 1),
        ("[" * 100 + "]" * 100, 1),
    ],
)
def test_what_is_not_understood_is_refused_by_its_line(text: str, line: int) -> None:
    """A guess would start another command."""
    with pytest.raises(YamlError) as caught:
        read_yaml(text)
    assert caught.value.line == line

"""One table of a TOML file, edited in place."""

from __future__ import annotations

import tomllib

import pytest

from humanmcp.setup.tables import put_table, take_table

ENTRY = {"command": "/x/humanmcp", "args": ["serve", "--title", 'the "one"'], "wait": 60}
FILE = """# my settings
model = "o9"

[mcp_servers.other]
command = "npx" # why npx

[mcp_servers.other.env]
A = "1"

# about the theme
[tui]
theme = "dark"
"""


def test_an_entry_is_added_at_the_end_and_the_rest_stays() -> None:
    """Comments and order are the person's own."""
    after = put_table(FILE, "mcp_servers", "humanmcp", ENTRY)
    assert after.startswith(FILE)
    assert tomllib.loads(after)["mcp_servers"]["humanmcp"] == ENTRY


def test_taking_out_what_was_put_in_gives_the_same_bytes() -> None:
    """Also where another table follows."""
    after = put_table(FILE, "mcp_servers", "humanmcp", ENTRY)
    assert take_table(after, "mcp_servers", "humanmcp") == FILE


@pytest.mark.parametrize("name", ["other", "humanmcp"])
def test_an_entry_is_replaced_with_its_children_and_nothing_else(name: str) -> None:
    """The comment that leads to the next table stays with it."""
    once = put_table(FILE, "mcp_servers", name, {"command": "old", "args": []})
    after = put_table(once, "mcp_servers", name, ENTRY)
    found = tomllib.loads(after)
    assert found["mcp_servers"][name] == ENTRY
    assert found["tui"] == {"theme": "dark"}
    assert "# about the theme\n[tui]" in after


def test_a_name_that_is_no_bare_key_is_quoted() -> None:
    """And found again."""
    after = put_table("", "mcp_servers", "my server", ENTRY)
    assert tomllib.loads(after)["mcp_servers"]["my server"] == ENTRY
    assert take_table(after, "mcp_servers", "my server").strip() == ""


def test_what_is_not_there_is_not_taken() -> None:
    """The text comes back as it is."""
    assert take_table(FILE, "mcp_servers", "humanmcp") == FILE

"""Examples are made of what the objects say, right for each version."""

from humanmcp.protocol.spec import examples, methods
from humanmcp.protocol.spec.objects import SHAPES
from humanmcp.protocol.spec.versions import R2024_11, R2025_11, R2026_07


def test_what_is_usual_of_an_object_stands_in_the_order_of_its_members() -> None:
    """Members that may be there and have no example are left out, those of a later version too."""
    tool = examples.example_of("Tool", R2025_11, usual=True)
    assert list(tool) == ["name", "title", "description", "inputSchema", "annotations"]
    assert list(tool) == [name for name in SHAPES["Tool"].members if name in tool]
    early = examples.example_of("Tool", R2024_11, usual=True)
    assert list(early) == ["name", "description", "inputSchema"]


def test_a_small_object_has_what_must_be_there_and_nothing_else() -> None:
    """A fix puts in no more than that."""
    assert examples.example_of("Tool", R2025_11) == {
        "name": "ask_human",
        "inputSchema": {"type": "object"},
    }
    content = SHAPES["CallToolResult"].members["content"]
    assert examples.example(content, R2025_11) == [{"type": "text", "text": "…"}]


def test_every_list_has_the_same_forms() -> None:
    """An empty one and a page of several, too."""
    for one in methods.LISTS:
        found = examples.results(one.name, R2025_11)
        assert {"typical", "empty", "minimal", "paged"} <= found.keys(), one.name


def test_only_what_clients_may_keep_says_for_how_long() -> None:
    """A task has a `ttlMs` of its own, which is another thing."""
    task = {"taskId": "1", "ttlMs": 60000}
    assert "cacheScope" not in examples.dated(task, "TaskStateResult", R2026_07)
    assert examples.dated(task, "TaskStateResult", R2026_07)["ttlMs"] == 60000
    assert examples.dated({"tools": []}, "ListToolsResult", R2026_07)["cacheScope"] == "private"

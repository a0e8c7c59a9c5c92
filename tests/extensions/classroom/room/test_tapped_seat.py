"""A seat behind `humanmcp tap URL`: the way in for a host that only starts programs."""

import json
from functools import partial
from pathlib import Path

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from tests.extensions.tap.tap_process import COMMAND
from tests.support.room_process import Rooming, Visitor
from tests.support.serve_process import bare_environment
from tests.support.waiting import PATIENCE

TOOLS = json.dumps({"tools": [{"name": "mine", "inputSchema": {"type": "object"}}]})


def answered(learner: Visitor, method: str, text: str, form: str = "result") -> None:
    """Answer a request of the learner's own host; the practice host waits at its `initialize`."""
    page = learner.answer(learner.question(method), text, form)
    assert page.status in {200, 202}, page


def called(portal: BlockingPortal, client: Client, learner: Visitor, text: str) -> str:
    """Call a tool that the learner answers. Returns the text that the client got."""
    call = portal.start_task_soon(partial(client.call_tool, "mine", {}))
    answered(learner, "tools/call", text, "text")
    (content,) = call.result(PATIENCE).content
    assert isinstance(content, TextContent)
    return content.text


def test_a_stdio_client_of_the_sdk_uses_a_seat_through_a_tap_and_outlives_the_room(
    tmp_path: Path,
) -> None:
    """The client's session goes on when the room was killed and started again."""
    with Rooming(tmp_path / "room") as room:
        learner = room.learner("own")
        words = [*COMMAND[1:], "--home", str(tmp_path / "home"), f"{learner.link}/mcp"]
        server = StdioServerParameters(
            command=COMMAND[0], args=words, env=bare_environment(tmp_path)
        )
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(Client(server, mode="legacy")) as client,
        ):
            listed = portal.start_task_soon(client.list_tools)
            answered(learner, "tools/list", TOOLS)
            assert [tool.name for tool in listed.result(PATIENCE).tools] == ["mine"]
            assert called(portal, client, learner, "sunny") == "sunny"
            room.kill()
            with Rooming(tmp_path / "room") as back:
                assert back.port == room.port
                assert called(portal, client, learner, "cloudy") == "cloudy"

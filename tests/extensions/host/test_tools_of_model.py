"""How tools look to a model, and which of them it gets."""

import pytest

from humanmcp.extensions.host.conversation import NoToolError, ToolAddress, ToolFilter
from tests.extensions.host.hosting import DICE, WEATHER, says, table, use


@pytest.mark.parametrize(
    ("allowed", "denied", "lets"),
    [
        ((), (), True),
        (("weather__*",), (), True),
        (("dice__*",), (), False),
        (("dice__*", "*__get-forecast"), (), True),
        ((), ("*__get*",), False),
        (("weather__*",), ("weather__get-forecast",), False),
        (("WEATHER__*",), (), False),
    ],
)
def test_patterns_say_which_tools_a_model_gets(
    allowed: tuple[str, ...], denied: tuple[str, ...], *, lets: bool
) -> None:
    """What is denied is denied, whatever else is allowed."""
    assert ToolFilter(allowed, denied).lets(ToolAddress("weather", "get-forecast")) is lets


def test_a_pattern_holds_for_the_name_that_the_model_reads() -> None:
    """Services allow few characters; the same tool has two spellings then."""
    tool = ToolAddress("weather", "get.forecast")
    assert not ToolFilter(denied=("weather__get_forecast",)).lets(tool)
    assert not ToolFilter(denied=("weather__get.forecast",)).lets(tool)


def test_a_tool_that_is_kept_back_is_neither_offered_nor_called() -> None:
    """Not even when the model knows its name."""
    turns = (says(use("dice__dice", sides=6)), says("well"))
    with table(*turns, entries=(DICE, WEATHER)) as laid:
        laid.servers.tools = ToolFilter(allowed=("human__*",))
        assert laid.loop.run("roll") == "well"
        assert [tool.name for tool in laid.model.asked[0][1]] == ["human__get-japan-forecast"]
        (result,) = laid.watching.results
        assert result.text == "Error calling tool dice__dice: the user does not offer this tool"
        assert laid.wire("dice") == []
        with pytest.raises(NoToolError):
            laid.servers.place("dice__dice")

"""The loop of the host: rows LOOP-2 to LOOP-14 of the article it comes from, without its faults."""

from collections.abc import Sequence

import pytest

from humanmcp.extensions.host.conversation import (
    ModelError,
    ModelTool,
    TextBlock,
    ToolAddress,
    ToolResult,
    Turn,
    TurnRole,
    name_for_model,
    text_of,
    tool_written,
)
from humanmcp.extensions.host.servers import INTERRUPTED, Limits, TurnLimitError, refused
from tests.extensions.host.hosting import (
    DICE,
    OVERLOADED,
    SCRIPT,
    WEATHER,
    Watching,
    says,
    table,
    use,
)

ROLL = use("dice__dice", sides=6)


def results(turn: Turn) -> list[ToolResult]:
    """Return the results in a turn."""
    return [block for block in turn.blocks if isinstance(block, ToolResult)]


def roles(history: Sequence[Turn]) -> list[str]:
    """List who spoke, in order; a user's turn that holds results is called tool_result."""
    return [
        "tool_result"
        if any(isinstance(block, ToolResult) for block in turn.blocks)
        else turn.role.value
        for turn in history
    ]


def test_tools_are_offered_by_server_and_name_with_their_schema() -> None:
    """`human__get-japan-forecast`, `dice__dice`, the schema under `input_schema`."""
    with table(entries=(WEATHER, DICE)) as laid:
        forecast, dice = laid.servers.model_tools()
    assert [forecast.name, dice.name] == ["human__get-japan-forecast", "dice__dice"]
    assert forecast.description == "Get weather forecast."
    assert tool_written(dice)["input_schema"]["required"] == ["sides"]


def test_a_call_goes_to_its_server_only_and_without_the_prefix() -> None:
    """Tools/call name `dice`, to dice alone."""
    with table(says(ROLL), says("done"), entries=(WEATHER, DICE)) as laid:
        laid.loop.run("roll")
        (call,) = laid.wire("dice")
        assert call["method"] == "tools/call"
        assert call["params"]["name"] == "dice"
        assert call["params"]["arguments"] == {"sides": 6}
        assert laid.wire("human") == []


def test_the_history_is_whole_and_the_last_words_are_returned() -> None:
    """Call, call, text: three requests to the model, and every role in its place."""
    with table(says(ROLL), says("again", ROLL), says("you rolled"), system="Be brief.") as laid:
        assert laid.loop.run("roll twice") == "you rolled"
        assert len(laid.model.asked) == 3
        assert roles(laid.loop.history) == [
            "system",
            "user",
            "assistant",
            "tool_result",
            "assistant",
            "tool_result",
            "assistant",
        ]


def test_an_overloaded_service_is_tried_five_times_more() -> None:
    """1, 2, 4, 8, 16 s (31 in all); six requests; then the sentence for it."""
    with table(*[OVERLOADED] * 6) as laid:
        with pytest.raises(ModelError) as caught:
            laid.loop.run("hello")
        assert str(caught.value) == (
            "the service is currently overloaded. Wait a few minutes and try again"
        )
        assert laid.slept == [1, 2, 4, 8, 16]
        assert laid.watching.pauses == [1, 2, 4, 8, 16]
        assert len(laid.model.asked) == 6


def test_a_service_that_recovers_is_waited_for() -> None:
    """Twice overloaded, then an answer: 1 s and 2 s."""
    with table(OVERLOADED, OVERLOADED, says("here")) as laid:
        assert laid.loop.run("hello") == "here"
        assert laid.slept == [1, 2]


def test_another_error_is_returned_at_once() -> None:
    """No sleep; and the prompt that nobody heard is not kept."""
    with table({"error": "invalid key"}, says("better")) as laid:
        with pytest.raises(ModelError, match="invalid key"):
            laid.loop.run("hello")
        assert laid.slept == []
        assert laid.loop.history == []
        assert laid.loop.run("hello again") == "better"


def test_an_error_of_a_tool_is_text_for_the_model() -> None:
    """The loop goes on; the message reaches the model."""
    with table(says(use("dice__nosuch")), says("sorry")) as laid:
        assert laid.loop.run("roll") == "sorry"
        (result,) = results(laid.loop.history[2])
        assert result.text == "Error calling tool nosuch: -32602: Unknown tool: nosuch"
        assert result.is_error


def test_a_tool_that_says_it_failed_is_believed() -> None:
    """`isError` travels with its text."""
    with table(says(use("dice__dice", sides=0)), says("sorry")) as laid:
        laid.loop.run("roll")
        (result,) = results(laid.loop.history[2])
        assert result == ToolResult(result.id, "sides must be a whole number from 1", is_error=True)


def test_two_calls_of_one_turn_get_their_results_in_one_turn() -> None:
    """And both reach the model, each under its own id."""
    with table(says(ROLL, use("dice__dice", sides=1)), says("both")) as laid:
        laid.loop.run("roll two")
        shown, _tools = laid.model.asked[1]
        one, two = results(shown[-1])
        assert [one.id, two.id] == [call.id for call in shown[-2].calls]
        assert two.text == "1"


def test_names_that_lead_nowhere_are_errors_and_the_first_underscores_divide() -> None:
    """`nosuch__x` and `plain` are answered; `a__b__c` is the tool `b__c` of `a`."""
    with table(
        says(use("nosuch__x"), use("plain"), use("dice__b__c")), says("well"), entries=(DICE,)
    ) as laid:
        laid.loop.run("go")
        nosuch, plain, third = results(laid.loop.history[2])
        assert nosuch.is_error
        assert "there is no server nosuch" in nosuch.text
        assert plain.is_error
        assert "server__tool" in plain.text
        assert "Unknown tool: b__c" in third.text
        assert laid.servers.place("dice__b__c") == ToolAddress("dice", "b__c")


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"content": [{"type": "text", "text": " a "}, {"type": "text", "text": "b\n"}]}, "a b"),
        ({"content": []}, ""),
        ({"content": "broken"}, '{"content": "broken"}'),
        ({"text": "sunny"}, '{"text": "sunny"}'),
        ({"content": [{"type": "image", "data": "AAAA"}]}, "[image]"),
        ({"content": [], "structuredContent": {"n": 1}}, '{"n": 1}'),
        (
            {"content": [{"type": "image", "data": "", "mimeType": "image/png"}]},
            "[image: image/png]",
        ),
        ({"content": [{"type": "resource_link", "uri": "file:///x"}]}, "[resource: file:///x]"),
        ({"content": [{"type": "resource", "resource": {"uri": "x:", "text": "in"}}]}, "in"),
        (
            {"content": [{"type": "resource", "resource": {"uri": "x:", "blob": ""}}]},
            "[resource: x:]",
        ),
        ({"content": [{"type": "text", "text": "a"}, {"strange": 1}, 7]}, 'a {"strange": 1} 7'),
    ],
)
def test_several_items_are_joined_with_one_space(result: dict[str, object], text: str) -> None:
    """Trimmed; what is no text is named, and what is not as MCP has it stays."""
    assert text_of(result) == text


def test_a_model_that_only_asks_is_stopped() -> None:
    """At the configured limit, with a message, and with no call left without a result."""
    with table(*[says(ROLL)] * 3, limits=Limits(turns=3)) as laid:
        with pytest.raises(TurnLimitError, match="3 turns"):
            laid.loop.run("roll for ever")
        assert roles(laid.loop.history)[-1] == "tool_result"
        assert len(laid.watching.called) == 3


def test_a_flood_of_calls_is_cut() -> None:
    """A model must not flood a server. Each call gets a result."""
    with table(says(*[ROLL] * 5), says("ok"), limits=Limits(calls=2)) as laid:
        laid.loop.run("flood")
        assert len(laid.watching.called) == 2
        found = results(laid.loop.history[2])
        assert [one.is_error for one in found] == [False, False, True, True, True]
        assert len({one.id for one in found}) == 5


def test_the_person_may_answer_in_the_tool_s_place_or_refuse() -> None:
    """(b) no wire message, the typed value as result; (c) a refusal as result."""
    with table(
        says(ROLL, ROLL), says("ok"), choices=[lambda use: ToolResult(use.id, "7"), refused]
    ) as laid:
        laid.loop.run("roll")
        instead, no = results(laid.loop.history[2])
        assert (instead.text, instead.is_error) == ("7", False)
        assert (no.text, no.is_error) == ("The user refused this tool call.", True)
        assert laid.wire("dice") == []


class Interrupting(Watching):
    """A person who presses Ctrl-C at the second call."""

    def returned(self, use: object, result: ToolResult) -> None:  # noqa: ARG002 - Watcher
        """Press it."""
        self.results.append(result)
        raise KeyboardInterrupt


def test_an_interrupted_turn_leaves_no_call_without_a_result() -> None:
    """No orphaned tool call ever: the next prompt is accepted by every service."""
    with table(says(ROLL, ROLL, ROLL), says("next")) as laid:
        laid.loop.watcher = Interrupting()
        with pytest.raises(KeyboardInterrupt):
            laid.loop.run("roll three")
        first, second, third = results(laid.loop.history[-1])
        assert not first.is_error
        assert second.text == third.text == INTERRUPTED
        laid.loop.watcher = Watching()
        assert laid.loop.run("and now?") == "next"
        asked = [call.id for turn in laid.loop.history for call in turn.calls]
        answered = [one.id for turn in laid.loop.history for one in results(turn)]
        assert sorted(asked) == sorted(answered)


def test_calls_under_one_id_get_ids_of_their_own() -> None:
    """Some models repeat ids; a result names its call by it."""
    same = use("dice__dice", "call-1", sides=1)
    with table(says(same, same), says(same), says("ok")) as laid:
        laid.loop.run("roll")
        asked = [call.id for turn in laid.loop.history for call in turn.calls]
        assert len(set(asked)) == 3


def test_a_second_prompt_is_heard_with_all_that_was_said() -> None:
    """The history is kept."""
    with table(says("hello"), says("you said hi")) as laid:
        laid.loop.run("hi")
        laid.loop.run("what did I say?")
        shown, _tools = laid.model.asked[1]
        assert [turn.role for turn in shown] == [TurnRole.USER, TurnRole.ASSISTANT, TurnRole.USER]
        assert shown[0].blocks == (TextBlock("hi"),)


def test_a_server_that_dies_costs_its_tools_and_nothing_else() -> None:
    """The call becomes an error for the model; afterwards the tool is no longer offered."""
    with table(
        says(use("scripted__count", n=1)), says("ok"), says("bye"), entries=(SCRIPT, DICE)
    ) as laid:
        script = laid.servers.all[0]
        assert script.client is not None
        script.client.begin("test/die")
        assert laid.notes["scripted"].over.wait(20)
        assert laid.loop.run("count") == "ok"
        (result,) = results(laid.loop.history[2])
        assert result.is_error
        assert "exit status 3" in result.text
        assert [tool.name for tool in laid.servers.model_tools()] == ["dice__dice"]


def test_tools_that_changed_are_asked_for_again() -> None:
    """`notifications/tools/list_changed`: the next turn of the model sees the new tool."""
    with table(entries=(SCRIPT,)) as laid:
        assert [tool.name for tool in laid.servers.model_tools()] == ["scripted__count"]
        client = laid.servers.all[0].client
        assert client is not None
        client.request("test/change")
        names = [tool.name for tool in laid.servers.model_tools()]
        assert names == ["scripted__count", "scripted__more"]


def test_names_fit_what_services_allow() -> None:
    """Only letters, digits, _ and -, at most 64 of them, and no two alike."""
    assert name_for_model("my server", "a.b", {}) == "my_server__a_b"
    long = name_for_model("s", "x" * 100, {})
    assert len(long) == 64
    taken = {"s__a_b": ToolAddress("s", "a.b")}
    assert name_for_model("s", "a b", taken) != "s__a_b"
    assert isinstance(ModelTool("n", "", {}).schema, dict)

"""Language models through their real client libraries, against a service on this machine."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from humanmcp.common.person_files import ApiKey, find_key
from humanmcp.extensions.host.conversation import (
    ModelError,
    ModelTool,
    OverloadedError,
    StopReason,
    TextBlock,
    ToolResult,
    ToolUse,
    Turn,
    TurnRole,
)
from humanmcp.extensions.host.models import Model
from humanmcp.extensions.host.models.choose import ModelChoice, key_kept_back, make_model
from humanmcp.extensions.host.models.script import ScriptModel, ScriptRecorder
from humanmcp.extensions.host.models.services import AnthropicModel, OpenAIModel
from humanmcp.extensions.host.terminal.chat import ending_of
from humanmcp.locales.stop import StopError
from tests.extensions.host.hosting import table
from tests.extensions.host.services import DONE, Say, chunk, error, message, piece, service

KEY = ApiKey("sk-very-secret")
DICE = ModelTool("dice__dice", "Roll a dice", {"type": "object", "required": ["sides"]})
HISTORY = (
    Turn(TurnRole.SYSTEM, (TextBlock("Be brief."),)),
    Turn(TurnRole.USER, (TextBlock("roll"),)),
    Turn(TurnRole.ASSISTANT, (TextBlock("I roll."), ToolUse("a", "dice__dice", {"sides": 6}))),
    Turn(TurnRole.USER, (ToolResult("a", "4"),)),
)
ROLL = {"type": "tool_use", "id": "t1", "name": "dice__dice", "input": {"sides": 6}}


def turn(model: Model, heard: list[str] | None = None) -> Turn:
    """Take one turn and leave."""
    try:
        return model.turn(HISTORY, (DICE,), (heard if heard is not None else []).append)
    finally:
        model.close()


# -- as OpenAI speaks --------------------------------------------------------------------------


def test_a_streamed_completion_is_put_together() -> None:
    """Text is heard as it comes; two calls come in interleaved pieces and are told apart."""
    answer = Say(
        [
            chunk(role="assistant", content="I "),
            chunk(content="roll."),
            chunk(tool_calls=[piece(0, "dice__dice", "", "c1")]),
            chunk(tool_calls=[piece(1, "dice__dice", '{"sid', "c2")]),
            chunk(tool_calls=[piece(0, arguments='{"sides": 6}')]),
            chunk(tool_calls=[piece(1, arguments='es": 8}')]),
            (
                "",
                {
                    "id": "c",
                    "object": "chat.completion.chunk",
                    "created": 1,
                    "model": "m",
                    "choices": [],
                },
            ),
            DONE,
        ]
    )
    heard: list[str] = []
    with service(answer) as there:
        said = turn(OpenAIModel("gpt", KEY, there.address + "/v1"), heard)
    assert heard == ["I ", "roll."]
    assert said.text == "I roll."
    assert said.calls == (
        ToolUse("c1", "dice__dice", {"sides": 6}),
        ToolUse("c2", "dice__dice", {"sides": 8}),
    )
    assert there.paths == ["/v1/chat/completions"]
    assert there.headers[0]["authorization"] == "Bearer sk-very-secret"


def test_the_conversation_is_written_as_openai_wants_it() -> None:
    """The system's words first, a call with its arguments as text, a result as a `tool` message."""
    with service(Say([chunk(content="ok"), DONE])) as there:
        turn(OpenAIModel("gpt", KEY, there.address))
    (asked,) = there.asked
    assert asked["model"] == "gpt"
    assert asked["stream"] is True
    assert asked["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "roll"},
        {
            "role": "assistant",
            "content": "I roll.",
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "dice__dice", "arguments": '{"sides": 6}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "4"},
    ]
    assert asked["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "dice__dice",
                "description": "Roll a dice",
                "parameters": {"type": "object", "required": ["sides"]},
            },
        }
    ]


def test_a_service_without_room_is_told_from_other_errors() -> None:
    """503 is worth another try; a wrong key or a used-up quota is not."""
    body = {"error": {"message": "The engine is currently overloaded", "type": "server_error"}}
    with service(Say(status=503, body=body)) as there, pytest.raises(OverloadedError):
        turn(OpenAIModel("gpt", KEY, there.address))
    for status in (401, 429, 400, 500):
        body = {"error": {"message": "no: Bearer sk-very-secret", "code": "x"}}
        with service(Say(status=status, body=body)) as there:
            with pytest.raises(ModelError) as caught:
                turn(OpenAIModel("gpt", KEY, there.address))
            assert not isinstance(caught.value, OverloadedError)
            assert "sk-very-secret" not in str(caught.value)
            assert caught.value.__cause__ is None
            assert len(there.asked) == 1


def test_nobody_listening_is_an_error_of_the_model() -> None:
    """A service that is not started: a sentence, no traceback."""
    with service() as there:
        address = there.address
    with pytest.raises(ModelError):
        turn(OpenAIModel("gpt", None, address))


@pytest.mark.parametrize("kind", [OpenAIModel, AnthropicModel])
@pytest.mark.parametrize("data", ["no json", "null", '{"choices": null}', '{"type": "x"'])
def test_a_stream_that_means_nothing_is_an_error_of_the_model(
    kind: type[OpenAIModel | AnthropicModel], data: str
) -> None:
    """Some services only nearly speak the format: a sentence, no traceback."""
    stream = [("content_block_delta" if kind is AnthropicModel else "", data)]
    with service(Say(stream)) as there, pytest.raises(ModelError):
        turn(kind("m", KEY, there.address))


def test_a_stream_that_breaks_off_is_an_error_of_the_model() -> None:
    """Half an answer is none."""
    with service(Say([chunk(content="I w")], cut=True)) as there, pytest.raises(ModelError):
        turn(OpenAIModel("gpt", KEY, there.address))
    half = message({"type": "text", "text": "I w"})[:4]
    with service(Say(half, cut=True)) as there, pytest.raises(ModelError):
        turn(AnthropicModel("claude", KEY, there.address))


def test_arguments_that_are_not_json_are_told_to_the_model() -> None:
    """The tool is not called with a guess; the model reads what was wrong, and the call is kept."""
    broken = Say([chunk(tool_calls=[piece(0, "dice__dice", '{"sides": six}', "c1")]), DONE])
    with service(broken, Say([chunk(content="sorry"), DONE])) as there, table() as laid:
        laid.loop.model = OpenAIModel("gpt", KEY, there.address)
        assert laid.loop.run("roll") == "sorry"
        laid.loop.model.close()
        assert laid.wire("dice") == []
    again = there.asked[1]["messages"]
    assert again[1]["tool_calls"][0]["function"]["arguments"] == '{"sides": six}'
    assert "the arguments are not a JSON object" in again[2]["content"]


# -- as Anthropic speaks -----------------------------------------------------------------------


def test_a_streamed_message_is_put_together() -> None:
    """Text in pieces, then a call whose input comes in pieces."""
    heard: list[str] = []
    with service(Say(message({"type": "text", "text": "I roll."}, ROLL))) as there:
        said = turn(AnthropicModel("claude", KEY, there.address), heard)
    assert "".join(heard) == "I roll."
    assert len(heard) == 2
    assert said.blocks == (TextBlock("I roll."), ToolUse("t1", "dice__dice", {"sides": 6}))
    assert there.paths == ["/v1/messages"]
    assert any("sk-very-secret" in text for text in there.headers[0].values())


def test_the_conversation_is_written_as_anthropic_wants_it() -> None:
    """The schema under `input_schema`, the system's words beside, results in a user's turn."""
    with service(Say(message({"type": "text", "text": "ok"}))) as there:
        turn(AnthropicModel("claude", KEY, there.address))
    (asked,) = there.asked
    assert asked["system"] == "Be brief."
    assert [one["role"] for one in asked["messages"]] == ["user", "assistant", "user"]
    assert asked["messages"][1]["content"][1] == {
        "type": "tool_use",
        "id": "a",
        "name": "dice__dice",
        "input": {"sides": 6},
    }
    assert asked["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": "4"}
    ]
    assert asked["tools"][0]["input_schema"] == {"type": "object", "required": ["sides"]}


def test_an_overloaded_anthropic_is_waited_for() -> None:
    """529 at the door, then `overloaded_error` in the middle of a stream, then an answer."""
    busy = error("overloaded_error", "Overloaded")
    answers = (
        Say(status=529, body=busy),
        Say([*message({"type": "text", "text": "I w"})[:4], ("error", busy)]),
        Say(message({"type": "text", "text": "here"})),
    )
    with service(*answers) as there, table() as laid:
        laid.loop.model = AnthropicModel("claude", KEY, there.address)
        assert laid.loop.run("hello") == "here"
        laid.loop.model.close()
        assert laid.slept == [1, 2]
    assert len(there.asked) == 3


def test_a_rate_limit_is_no_overload() -> None:
    """429 says that this key has asked too much, for a minute or a month: told at once."""
    body = error("rate_limit_error", "This request would exceed your rate limit")
    with service(Say(status=429, body=body)) as there, table() as laid:
        laid.loop.model = AnthropicModel("claude", KEY, there.address)
        with pytest.raises(ModelError, match="exceed your rate limit"):
            laid.loop.run("hello")
        laid.loop.model.close()
        assert laid.slept == []
    assert len(there.asked) == 1


def test_a_wrong_key_is_said_at_once_and_not_shown() -> None:
    """One request, no sleep, no key in the message."""
    body = error("authentication_error", "invalid x-api-key sk-very-secret")
    with service(Say(status=401, body=body)) as there:
        with pytest.raises(ModelError) as caught:
            turn(AnthropicModel("claude", KEY, there.address))
        assert "invalid x-api-key …" in str(caught.value)
        assert len(there.asked) == 1


# -- keys, and who can sit there ------------------------------------------------------------------


def test_a_key_has_no_text_of_its_own() -> None:
    """It cannot end up in a log by accident."""
    assert "secret" not in repr(KEY)
    assert "secret" not in f"{KEY}"


def test_a_key_file_must_be_private(tmp_path: Path) -> None:
    """0600: a file that others can read is refused, and the message says what to run."""
    file = tmp_path / "key"
    file.write_text("sk-file\n", encoding="utf-8")
    file.chmod(0o644)
    with pytest.raises(StopError, match="chmod 600"):
        find_key("X", str(file), {})
    file.chmod(0o600)
    assert find_key("X", str(file), {"X": "other"}) == ApiKey("sk-file")
    assert find_key("X", "", {"X": " sk-env "}) == ApiKey("sk-env")
    assert find_key("X", "", {}) is None
    with pytest.raises(StopError, match="cannot be read"):
        find_key("X", str(tmp_path / "none"), {})


def test_models_are_named_by_one_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`openai:`, `anthropic:`, `ollama:`, `script:`; anything else is explained."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")

    def seat(word: str, **more: Any) -> Model:  # noqa: ANN401 - any choice
        return make_model(ModelChoice(word, lambda: pytest.fail("no desk"), **more))

    for word, kind in (
        ("openai:gpt", OpenAIModel),
        ("anthropic:claude", AnthropicModel),
        ("ollama:mistral-small", OpenAIModel),
    ):
        model = seat(word, images="yes")
        assert isinstance(model, kind)
        model.close()
    for word in ("gpt", "openai:", "script:", ""):
        with pytest.raises(StopError, match="write human, script:FILE"):
            seat(word)
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    for word in ("openai:gpt", "anthropic:claude"):
        with pytest.raises(StopError, match="no key"):
            seat(word)
    seat("openai:local", base_url="http://localhost:1/v1").close()
    with pytest.raises(StopError, match="cannot be read"):
        seat(f"script:{tmp_path / 'none'}")


def test_a_missing_library_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is optional: a person or a script needs neither library."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(StopError, match=r"pip install 'humanmcp\[host\]'"):
        make_model(ModelChoice("openai:gpt", lambda: pytest.fail("no desk")))


def test_a_recorded_session_can_be_played_again(tmp_path: Path) -> None:
    """`--record FILE`, then `--model script:FILE`: the same turns."""
    file = tmp_path / "model.jsonl"
    answers = (Say(message(ROLL)), Say(message({"type": "text", "text": "done"})))
    with service(*answers) as there, table() as laid:
        inner = AnthropicModel("claude", KEY, there.address)
        script = tmp_path / "empty.jsonl"
        script.write_text("", encoding="utf-8")
        recorder = make_model(
            ModelChoice(f"script:{script}", lambda: pytest.fail("no desk"), record=str(file))
        )
        recorder.model = inner  # type: ignore[attr-defined]  # a Recorder, whose inner model is changed
        laid.loop.model = recorder
        first = laid.loop.run("roll")
        recorder.close()
    again = make_model(ModelChoice(f"script:{file}", lambda: pytest.fail("no desk")))
    with table() as laid:
        laid.loop.model = again
        assert laid.loop.run("roll") == first == "done"
        assert len(laid.watching.called) == 1


@pytest.mark.parametrize("line", ["{", "[]", '{"say": 1}'])
def test_a_recorded_model_with_a_slip_is_explained(tmp_path: Path, line: str) -> None:
    """By file and line."""
    file = tmp_path / "model.jsonl"
    file.write_text(f'# a comment\n{{"text": "hello"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(StopError, match=r"line 3[,:].* turn of the model"):
        make_model(ModelChoice(f"script:{file}", lambda: pytest.fail("no desk")))


def test_a_recorded_turn_may_hold_any_text(tmp_path: Path) -> None:
    """Line breaks of Unicode inside a text are no ends of a line of the file."""
    file = tmp_path / "model.jsonl"
    spoken = "one\u2028two\u0085three"
    recorder = ScriptRecorder(ScriptModel([{"text": spoken}]), file)
    turn(recorder)
    again = make_model(ModelChoice(f"script:{file}", lambda: pytest.fail("no desk")))
    assert turn(again).text == spoken


def test_a_record_that_cannot_be_written_is_said_before_anything_begins(tmp_path: Path) -> None:
    """By name and reason; and a disk that fills up later does not end the conversation."""
    with pytest.raises(StopError, match=r"cannot be written to .*nowhere.*: there is no such"):
        ScriptRecorder(ScriptModel([]), tmp_path / "nowhere" / "x.jsonl")
    recorder = ScriptRecorder(ScriptModel([{"text": "hello"}]), tmp_path / "x.jsonl")
    recorder.path = tmp_path
    assert turn(recorder).text == "hello"


# -- a key goes where it belongs ------------------------------------------------------------------

SECRET = "sk-somebody-elses-business"
WORDS = ("openai:gpt", "ollama:mistral", "anthropic:claude")


def headers_of(choice: ModelChoice) -> dict[str, str]:
    """Take one turn of this model, and return the headers that its service was sent."""
    answer = message if choice.word.startswith("anthropic") else _completion
    with service(Say(answer({"type": "text", "text": "hello"}))) as there:
        model = make_model(replace(choice, base_url=there.address))
        assert turn(model).text == "hello"
    (headers,) = there.headers
    return headers


def _completion(block: dict[str, str]) -> list[tuple[str, object]]:
    return [chunk(content=block["text"]), DONE]


def no_desk() -> NoReturn:
    """Open no session: the model is a service."""
    pytest.fail("no desk")


@pytest.mark.parametrize("word", WORDS)
def test_no_key_of_the_environment_goes_to_another_address(
    word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the usual key, nor any other of the variables that the library would read."""
    for name in ("OPENAI", "ANTHROPIC", "OLLAMA"):
        monkeypatch.setenv(f"{name}_API_KEY", SECRET)
        for also in ("ADMIN_KEY", "AUTH_TOKEN", "ORG_ID", "PROJECT_ID"):
            monkeypatch.setenv(f"{name}_{also}", SECRET)
        monkeypatch.setenv(f"{name}_CUSTOM_HEADERS", f"Authorization: {SECRET}")
    assert SECRET not in str(headers_of(ModelChoice(word, no_desk)))
    assert os.environ["OPENAI_API_KEY"] == SECRET


@pytest.mark.parametrize("word", WORDS)
def test_another_address_gets_the_key_that_was_named_for_it(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a file of its own, or from a variable of its own."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("GATEWAY_KEY", "sk-gateway")
    sent = headers_of(ModelChoice(word, no_desk, key_variable="GATEWAY_KEY"))
    assert "sk-gateway" in str(sent)
    file = tmp_path / "key"
    file.write_text("sk-file", encoding="utf-8")
    file.chmod(0o600)
    sent = headers_of(ModelChoice(word, no_desk, key_file=str(file)))
    assert "sk-file" in str(sent)
    assert SECRET not in str(sent)
    with pytest.raises(StopError, match="--key-variable NOWHERE"):
        make_model(ModelChoice(word, no_desk, key_variable="NOWHERE"))


def test_the_key_goes_to_the_address_that_the_environment_names_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever sets OPENAI_BASE_URL beside OPENAI_API_KEY says that the two belong together."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with service(Say([chunk(content="hello"), DONE])) as there:
        monkeypatch.setenv("OPENAI_BASE_URL", there.address)
        turn(make_model(ModelChoice("openai:gpt", no_desk)))
    assert there.headers[0]["authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize(
    ("word", "base_url", "home"),
    [
        ("openai:gpt", "", True),
        ("openai:gpt", "https://api.openai.com/v1/", True),
        ("openai:gpt", "http://api.openai.com/v1", False),
        ("openai:gpt", "https://api.openai.com.example.net/v1", False),
        ("openai:gpt", "https://api.openai.com@example.net/v1", False),
        ("openai:gpt", "http://[bad", False),
        ("ollama:mistral", "", False),
        ("ollama:mistral", "https://ollama.com/v1", True),
        ("anthropic:claude", "", True),
        ("anthropic:claude", "https://example.net", False),
        ("human", "", True),
    ],
)
def test_a_key_that_is_kept_back_is_named(
    word: str, base_url: str, *, home: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the address that it belongs to; whoever names another key hears nothing."""
    for name in ("OPENAI", "ANTHROPIC", "OLLAMA"):
        monkeypatch.setenv(f"{name}_API_KEY", SECRET)
    said = key_kept_back(ModelChoice(word, no_desk, base_url=base_url))
    assert (said is None) is home
    assert said is None or "--key-variable" in said.sentence()
    assert key_kept_back(ModelChoice(word, no_desk, base_url=base_url, key_variable="X")) is None


# -- how a turn ended ------------------------------------------------------------------------------


def ended(reason: str) -> tuple[str, dict[str, Any]]:
    """Write the last piece of a chat completion, with the reason that it ends."""
    name, last = chunk()
    last["choices"][0]["finish_reason"] = reason
    return name, last


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("stop", StopReason.DONE),
        ("length", StopReason.LENGTH),
        ("content_filter", StopReason.FILTER),
    ],
)
def test_a_turn_that_was_cut_off_is_known_as_such(reason: str, stop: StopReason) -> None:
    """As OpenAI says it."""
    with service(Say([chunk(content="half a"), ended(reason), DONE])) as there:
        assert turn(OpenAIModel("gpt", KEY, there.address)).stop is stop


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", StopReason.DONE),
        ("max_tokens", StopReason.LENGTH),
        ("refusal", StopReason.FILTER),
    ],
)
def test_so_it_is_as_anthropic_says_it(reason: str, stop: StopReason) -> None:
    """The other service has other words."""
    events = message({"type": "text", "text": "half a"})
    for name, event in events:
        if name == "message_delta":
            event["delta"]["stop_reason"] = reason
    with service(Say(events)) as there:
        assert turn(AnthropicModel("claude", KEY, there.address)).stop is stop


def test_a_200_that_is_no_stream_is_an_error_and_not_silence() -> None:
    """A service that does not know how to stream answers with one JSON object."""
    body = {"id": "c", "choices": [{"message": {"role": "assistant", "content": "hello"}}]}
    with service(Say(body=body)) as there, pytest.raises(ModelError, match="without a stream"):
        turn(OpenAIModel("gpt", KEY, there.address))
    with service(Say(body=body)) as there, pytest.raises(ModelError, match="without a stream"):
        turn(AnthropicModel("claude", KEY, there.address))


@pytest.mark.parametrize(
    ("blocks", "stop", "said"),
    [
        ((TextBlock("x"),), StopReason.DONE, None),
        ((TextBlock("x"),), StopReason.LENGTH, "--max-tokens"),
        ((), StopReason.FILTER, "stopped the model"),
        ((), StopReason.DONE, "without text"),
    ],
)
def test_how_a_turn_ended_is_told(
    blocks: tuple[TextBlock, ...], stop: StopReason, said: str | None
) -> None:
    """At the host and at the table."""
    why = ending_of(Turn(TurnRole.ASSISTANT, blocks, stop))
    assert (why is None) is (said is None)
    assert why is None or (said or "") in why.sentence()


@pytest.mark.parametrize(
    ("word", "limit", "asked"),
    [
        ("anthropic:claude", 0, {"max_tokens": 4096}),
        ("anthropic:claude", 99, {"max_tokens": 99}),
        ("ollama:mistral", 99, {"max_tokens": 99}),
        ("openai:gpt", 0, {"max_tokens": None, "max_completion_tokens": None}),
    ],
)
def test_the_limit_of_tokens_is_a_choice(word: str, limit: int, asked: dict[str, Any]) -> None:
    """`--max-tokens`; without it only who wants a number gets one."""
    said = (
        message({"type": "text", "text": "x"}) if "claude" in word else [chunk(content="x"), DONE]
    )
    with service(Say(said)) as there:
        choice = ModelChoice(word, no_desk, base_url=there.address, max_tokens=limit)
        turn(make_model(choice))
        assert {name: there.asked[0].get(name) for name in asked} == asked

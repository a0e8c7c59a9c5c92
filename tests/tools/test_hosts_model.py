"""The fake model is taken for a real one by the clients of the services."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tools.hosts.model import MODEL, QUESTION, TOOL, Model

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"question": {"type": "string"}}}


# The clients of the services take seconds to import: the one worker that runs these tests does.
pytestmark = pytest.mark.xdist_group("services")


def anthropic_client(model: Model) -> Any:  # noqa: ANN401 - its class is imported here
    """Return the client of Anthropic's service, which asks the model."""
    import anthropic  # noqa: PLC0415 - see above

    return anthropic.Anthropic(api_key="none", base_url=model.url)


def openai_client(model: Model) -> Any:  # noqa: ANN401 - its class is imported here
    """Return the client of OpenAI's service, which asks the model."""
    import openai  # noqa: PLC0415 - see above

    return openai.OpenAI(api_key="none", base_url=f"{model.url}/v1")


@pytest.fixture
def model() -> Iterator[Model]:
    """Serve a model."""
    with Model() as serving:
        yield serving


def test_anthropic_s_client_streams_a_call_and_the_answer(model: Model) -> None:
    """Messages: a tool_use block, then the tool's result said back."""
    client = anthropic_client(model)
    tool: Any = {"name": f"mcp__humanmcp__{TOOL}", "input_schema": SCHEMA}
    asked: list[Any] = [{"role": "user", "content": "ask"}]
    with client.messages.stream(model=MODEL, max_tokens=9, messages=asked, tools=[tool]) as one:
        called: Any = one.get_final_message().content[0]
    assert (called.name, called.input) == (tool["name"], {"question": QUESTION})
    result = {"type": "tool_result", "tool_use_id": called.id, "content": "east"}
    asked = [*asked, {"role": "assistant", "content": [called]}]
    asked = [*asked, {"role": "user", "content": [result]}]
    said: Any = client.messages.create(model=MODEL, max_tokens=9, messages=asked, tools=[tool])
    assert said.content[0].text == "The person said: east"
    assert [turn.result for turn in model.turns] == ["", "east"]


@pytest.mark.parametrize("streaming", [True, False])
def test_openai_s_client_reads_a_chat_completion(model: Model, *, streaming: bool) -> None:
    """Chat Completions."""
    client = openai_client(model)
    tool: Any = {"type": "function", "function": {"name": TOOL, "parameters": SCHEMA}}
    asked: list[Any] = [{"role": "user", "content": "ask"}]
    if streaming:
        chunks: Any = client.chat.completions.create(
            model=MODEL, messages=asked, tools=[tool], stream=True
        )
        called = next(one.choices[0].delta.tool_calls for one in chunks if one.choices)[0]
    else:
        whole: Any = client.chat.completions.create(model=MODEL, messages=asked, tools=[tool])
        called = whole.choices[0].message.tool_calls[0]
    assert json.loads(called.function.arguments) == {"question": QUESTION}


@pytest.mark.parametrize("result", ["", "east"])
def test_openai_s_client_reads_a_stream_of_responses(model: Model, result: str) -> None:
    """Responses: a function call, and the text after its output."""
    client = openai_client(model)
    tool: Any = {"type": "function", "name": TOOL, "parameters": SCHEMA, "strict": False}
    asked: list[Any] = [{"role": "user", "content": "ask"}]
    if result:
        asked.append({"type": "function_call_output", "call_id": "call_1", "output": result})
    events: Any = client.responses.create(model=MODEL, input=asked, tools=[tool], stream=True)
    (done,) = [event.response for event in events if event.type == "response.completed"]
    if result:
        assert done.output_text == "The person said: east"
    else:
        assert done.output[0].name == TOOL


def test_gemini_is_answered_in_its_own_words(model: Model) -> None:
    """`streamGenerateContent`: one event with a function call."""
    body = {"contents": [], "tools": [{"functionDeclarations": [{"name": TOOL}]}]}
    address = f"{model.url}/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
    with urlopen(Request(address, json.dumps(body).encode())) as answer:
        event = json.loads(answer.read().removeprefix(b"data: "))
    called = event["candidates"][0]["content"]["parts"][0]["functionCall"]
    assert called == {"name": TOOL, "args": {"question": QUESTION}}


def test_without_our_tool_there_is_nobody_to_ask(model: Model) -> None:
    """That is how a host without the tool in its first turn is found out."""
    client = anthropic_client(model)
    asked: list[Any] = [{"role": "user", "content": "ask"}]
    said: Any = client.messages.create(model=MODEL, max_tokens=9, messages=asked)
    assert said.content[0].text == "There is nobody to ask."
    assert model.turns == ()

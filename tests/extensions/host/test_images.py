"""Pictures of tool results: to the models that take them, in the form of each service."""

from typing import Final

import pytest

from humanmcp.extensions.host.at_inbox import QuestionInbox
from humanmcp.extensions.host.conversation import (
    ImageBlock,
    TextBlock,
    ToolResult,
    ToolUse,
    Turn,
    TurnRole,
    images_of,
    text_of,
)
from humanmcp.extensions.host.models.choose import BlindModel, ModelChoice
from humanmcp.extensions.host.models.human import params_of
from humanmcp.extensions.host.models.script import ScriptModel
from humanmcp.extensions.host.models.services import anthropic_messages, openai_messages
from tests.extensions.host.hosting import says

PNG: Final = ImageBlock("image/png", "UE5H")
RESULT: Final = {
    "content": [
        {"type": "text", "text": "Here it is."},
        {"type": "image", "mimeType": "image/png", "data": "UE5H"},
        {"type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zy8+"},
    ]
}
HISTORY: Final = (
    Turn(TurnRole.USER, (TextBlock("What is this?"), PNG)),
    Turn(TurnRole.ASSISTANT, (ToolUse("1", "x__draw"), ToolUse("2", "x__add"))),
    Turn(TurnRole.USER, (ToolResult("1", "a picture", images=(PNG,)), ToolResult("2", "3"))),
)


def test_a_result_has_pictures_and_a_text_that_names_them() -> None:
    """Only such as services take; the text names the others too."""
    assert images_of(RESULT) == (PNG,)
    assert text_of(RESULT) == "Here it is. [image: image/png] [image: image/svg+xml]"


def test_anthropic_gets_pictures_inside_the_result() -> None:
    """The form of its messages API."""
    source = {"type": "base64", "media_type": "image/png", "data": "UE5H"}
    asked, _called, returned = anthropic_messages(HISTORY)
    assert asked["content"][1] == {"type": "image", "source": source}
    picture, plain = returned["content"]
    assert picture["content"] == [
        {"type": "text", "text": "a picture"},
        {"type": "image", "source": source},
    ]
    assert plain["content"] == "3"


def test_openai_gets_pictures_after_all_results() -> None:
    """A message of a tool holds text only, and all of them follow the call directly."""
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,UE5H"}}
    said = openai_messages(HISTORY)
    assert [one["role"] for one in said] == ["user", "user", "assistant", "tool", "tool", "user"]
    assert said[1]["content"] == [url]
    assert said[-1]["content"] == [{"type": "text", "text": "The images of 1:"}, url]


def test_a_person_in_the_models_seat_gets_them_as_mcp_has_them() -> None:
    """In the content of the tool's result."""
    result = params_of(HISTORY, ())["messages"][-1]["content"][0]
    assert result["content"][1] == {"type": "image", "mimeType": "image/png", "data": "UE5H"}


def test_a_model_without_eyes_is_told_that_there_is_a_picture() -> None:
    """Its service would refuse the whole conversation."""
    inner = ScriptModel([says("well")])
    BlindModel(inner).turn(HISTORY, (), lambda _piece: None)
    ((shown, _tools),) = inner.asked
    assert shown[0].blocks[1] == TextBlock("[image: image/png]")
    assert shown[2].blocks[0] == ToolResult("1", "a picture")


def _nobody() -> QuestionInbox:
    raise AssertionError


@pytest.mark.parametrize(
    ("word", "base_url", "images", "takes"),
    [
        ("human", "", "auto", True),
        ("human", "", "no", False),
        ("openai:x", "", "auto", True),
        ("anthropic:x", "", "auto", True),
        ("openai:x", "http://localhost:9/v1", "auto", False),
        ("openai:x", "http://localhost:9/v1", "yes", True),
        ("ollama:x", "", "auto", False),
        ("ollama:x", "", "yes", True),
    ],
)
def test_who_takes_pictures_is_known_or_said(
    monkeypatch: pytest.MonkeyPatch, word: str, base_url: str, images: str, *, takes: bool
) -> None:
    """`--images`."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    assert ModelChoice(word, _nobody, base_url, images=images).takes_images is takes

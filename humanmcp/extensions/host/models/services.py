"""Language models behind a service, asked through the service's own client library.

`OpenAIModel` speaks to OpenAI, or to anything that speaks like it; `AnthropicModel` to Anthropic.
Each says which errors its service has, and what they mean. The libraries are extras, and loaded
when a model is made.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, assert_never

from humanmcp.extensions.host.conversation import (
    OVERLOADED,
    ImageBlock,
    ModelError,
    OverloadedError,
    StopReason,
    TextBlock,
    ToolResult,
    ToolUse,
    Turn,
    TurnRole,
    tool_written,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from humanmcp.common.person_files import ApiKey
    from humanmcp.extensions.host.conversation import Block, ModelTool
    from humanmcp.extensions.host.models import Heard

logger = logging.getLogger(__name__)


NO_KEY = "none"
"""What is sent where no key is: some services want none, but the libraries want one."""


@contextlib.contextmanager
def _hidden_from_library(prefix: str, *, is_home: bool) -> Iterator[None]:
    """Hide the variables of a service from its library where another service is asked.

    The libraries read a dozen of them when a client is made: keys for administrators, organisation,
    headers of one's own. None of them is any business of an address elsewhere.
    """
    names = [] if is_home else [name for name in os.environ if name.startswith(prefix)]
    hidden = {name: os.environ.pop(name) for name in names}
    try:
        yield
    finally:
        os.environ.update(hidden)


@dataclass(eq=False)
class ServiceModel(ABC):
    """One model of a service, by its name there, asked through its client library."""

    library: ClassVar[str]
    client: ClassVar[str]
    """The class of the library that is a client."""
    busy: ClassVar[tuple[int, ...]]
    """The statuses that mean that the service has no room. A rate limit does not."""

    name: str
    key: ApiKey | None
    base_url: str
    _: KW_ONLY
    is_home: bool = False
    """Whether the address is the service's own, or the one that the environment names."""
    max_tokens: int = 0
    """0 where nothing is said of them."""

    def __post_init__(self) -> None:
        """Prepare. The library's own retries are off: the host retries, and tells."""
        self._library: Any = importlib.import_module(self.library)  # an extra: `humanmcp[host]`
        make = getattr(self._library, self.client)
        with _hidden_from_library(f"{self.library.upper()}_", is_home=self.is_home):
            secret = self.key.secret if self.key else NO_KEY
            self._client = make(api_key=secret, base_url=self.base_url, max_retries=0)

    def close(self) -> None:
        self._client.close()

    def turn(self, history: Sequence[Turn], tools: Sequence[ModelTool], heard: Heard) -> Turn:
        """Ask the service, and read its answer as it comes."""
        try:
            return self._ask(history, tools, heard)
        except self._library.APIStatusError as error:
            why = self._shown(str(error))
            # In the middle of a stream the status is 200: then only the name of the error says it.
            is_busy = error.status_code in self.busy or OVERLOADED in why
            raise (OverloadedError if is_busy else ModelError).quoting(why) from None
        except self._library.APIError as error:
            raise ModelError.quoting(self._shown(str(error))) from None
        except Exception as error:  # a service that only nearly speaks the format
            logger.debug("the client library stumbles", exc_info=True)
            why = self._shown(f"{type(error).__name__}: {error}")
            raise ModelError("strange", why=why) from None

    @abstractmethod
    def _ask(self, history: Sequence[Turn], tools: Sequence[ModelTool], heard: Heard) -> Turn:
        """Ask, and let the library's errors out."""

    def _shown(self, text: str) -> str:
        return self.key.hidden_in(text) if self.key else text


_OPENAI_STOPS = {"length": StopReason.LENGTH, "content_filter": StopReason.FILTER}


class OpenAIModel(ServiceModel):
    """One model of such a service, by its name there."""

    library = "openai"
    client = "OpenAI"
    busy = (503, 529)

    def _ask(self, history: Sequence[Turn], tools: Sequence[ModelTool], heard: Heard) -> Turn:
        more: dict[str, Any] = {"tools": [_tool(tool) for tool in tools]} if tools else {}
        if self.max_tokens:
            # OpenAI renamed it; what speaks like OpenAI mostly knows the old name only.
            limit = "max_completion_tokens" if self.is_home else "max_tokens"
            more[limit] = self.max_tokens
        with self._client.chat.completions.create(
            model=self.name, messages=openai_messages(history), stream=True, **more
        ) as stream:
            return _gathered(stream, heard)


def _tool(tool: ModelTool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)}
    return {"type": "function", "function": function}


def openai_messages(history: Sequence[Turn]) -> Any:  # noqa: ANN401 - the library's own union of eight shapes
    """Write the conversation in the service's form: each tool result is a message of its own."""
    found: list[dict[str, Any]] = []
    for turn in history:
        calls: list[dict[str, Any]] = []
        pictures: list[dict[str, Any]] = []
        for block in turn.blocks:
            match block:
                case TextBlock():
                    pass  # all text of a turn stands together, below
                case ToolUse(call, name, given, malformed):
                    typed = malformed or json.dumps(given, ensure_ascii=False)
                    function = {"name": name, "arguments": typed}
                    calls.append({"id": call, "type": "function", "function": function})
                case ImageBlock():
                    pictures.append(_picture(block))
                case ToolResult(call, text, _, images):
                    found.append({"role": "tool", "tool_call_id": call, "content": text})
                    if images:
                        pictures.append({"type": "text", "text": f"The images of {call}:"})
                    pictures += map(_picture, images)
                case impossible:
                    assert_never(impossible)
        if turn.text or calls:
            said: dict[str, Any] = {"role": turn.role.value, "content": turn.text or None}
            found.append(said | ({"tool_calls": calls} if calls else {}))
        if pictures:  # a tool's message holds text only; the user's comes after all of them
            found.append({"role": "user", "content": pictures})
    return found


def _picture(image: ImageBlock) -> dict[str, Any]:
    url = f"data:{image.mime};base64,{image.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _gathered(stream: Iterable[Any], heard: Callable[[str], None]) -> Turn:
    """Put the pieces of a streamed answer together; a call comes in pieces too.

    Raises:
        ModelError: there was no piece. A service that does not stream answers 200, too.
    """
    text: list[str] = []
    calls: dict[int, dict[str, str]] = {}
    finish = None
    for chunk in stream:
        for choice in chunk.choices[:1]:
            finish = choice.finish_reason or finish or ""
            delta = choice.delta
            if delta.content:
                text.append(delta.content)
                heard(delta.content)
            for piece in delta.tool_calls or ():
                call = calls.setdefault(piece.index, {"id": "", "name": "", "arguments": ""})
                call["id"] = piece.id or call["id"]
                if piece.function is not None:
                    call["name"] += piece.function.name or ""
                    call["arguments"] += piece.function.arguments or ""
    if finish is None:
        raise ModelError("no stream")
    said = (TextBlock("".join(text)),) if text else ()
    uses = (_use(at, call) for at, call in sorted(calls.items()))
    return Turn(TurnRole.ASSISTANT, (*said, *uses), _OPENAI_STOPS.get(finish, StopReason.DONE))


def _use(at: int, call: dict[str, str]) -> ToolUse:
    """Read a call. Arguments that are no JSON object stay as written: the host tells the model."""
    name, own, typed = call["name"], call["id"] or f"call-{at}", call["arguments"] or "{}"
    try:
        given = json.loads(typed)
    except ValueError:
        given = None
    return ToolUse(own, name, given) if isinstance(given, dict) else ToolUse(own, name, {}, typed)


MAX_TOKENS = 4096
"""The tokens of one turn where nothing else is said: the service wants a number, and its oldest
models allow no more."""
_ANTHROPIC_STOPS = {"max_tokens": StopReason.LENGTH, "refusal": StopReason.FILTER}


class AnthropicModel(ServiceModel):
    """One model of the service, by its name there."""

    library = "anthropic"
    client = "Anthropic"
    busy = (529,)

    def _ask(self, history: Sequence[Turn], tools: Sequence[ModelTool], heard: Heard) -> Turn:
        more: dict[str, Any] = {"tools": [tool_written(tool) for tool in tools]} if tools else {}
        system = "\n".join(turn.text for turn in history if turn.role is TurnRole.SYSTEM)
        if system:
            more["system"] = system
        with self._client.messages.stream(
            model=self.name,
            max_tokens=self.max_tokens or MAX_TOKENS,
            messages=anthropic_messages(history),
            **more,
        ) as stream:
            for piece in stream.text_stream:
                heard(piece)
            try:
                answer = stream.get_final_message()
            except AssertionError as error:  # how the library says that no event came
                raise ModelError("no stream") from error
        stop = _ANTHROPIC_STOPS.get(answer.stop_reason or "", StopReason.DONE)
        return Turn(TurnRole.ASSISTANT, tuple(_blocks(answer.content)), stop)


def anthropic_messages(history: Sequence[Turn]) -> Any:  # noqa: ANN401 - the library's own union of shapes
    """Write the conversation in the service's form; the system's words go beside it."""
    return [written(turn) for turn in history if turn.role is not TurnRole.SYSTEM and turn.blocks]


def _blocks(content: Sequence[Any]) -> list[Block]:
    found: list[Block] = []
    for block in content:
        if block.type == "text" and block.text:
            found.append(TextBlock(block.text))
        elif block.type == "tool_use":
            given = block.input if isinstance(block.input, dict) else {}
            found.append(ToolUse(block.id, block.name, given))
    return found

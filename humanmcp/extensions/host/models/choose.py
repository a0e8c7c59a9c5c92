"""Who is the model, from one word: `human`, `script:FILE`, `openai:NAME` and so on."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from humanmcp.common.person_files import ApiKey, find_key
from humanmcp.extensions.host.conversation import ImageBlock, TextBlock, ToolResult
from humanmcp.extensions.host.models.script import ScriptModel, ScriptRecorder
from humanmcp.extensions.host.models.services import AnthropicModel, OpenAIModel
from humanmcp.locales.stop import REFUSED, Phrase, stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from humanmcp.extensions.host.at_inbox import QuestionInbox
    from humanmcp.extensions.host.conversation import Block, ModelTool, Turn
    from humanmcp.extensions.host.models import Heard, Model

SECTION: Final = "host"
AUTO: Final = "auto"
IMAGES: Final = (AUTO, "yes", "no")


@dataclass(frozen=True, slots=True)
class Service:
    """A kind of service: the library that speaks to it, its key's variable, and where that goes.

    `home` is the one address that the key of the environment is sent to; setting
    `home_variable` beside the key says that the two belong together. `address` is where the service
    is asked when nothing else is said, "" for at home.
    """

    library: str
    key_variable: str
    home: str
    home_variable: str = ""
    address: str = ""

    def its_home(self) -> str:
        """Return where its key belongs."""
        return os.environ.get(self.home_variable, "").strip() or self.home


SERVICES: Final[Mapping[str, Service]] = MappingProxyType(
    {
        "anthropic": Service(
            "anthropic", "ANTHROPIC_API_KEY", "https://api.anthropic.com", "ANTHROPIC_BASE_URL"
        ),
        "openai": Service(
            "openai", "OPENAI_API_KEY", "https://api.openai.com/v1", "OPENAI_BASE_URL"
        ),
        "ollama": Service(
            "openai",
            "OLLAMA_API_KEY",
            "https://ollama.com/v1",
            address="http://localhost:11434/v1",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What was asked for. `desk` opens a session of the inbox for a person."""

    word: str
    desk: Callable[[], QuestionInbox]
    base_url: str = ""
    key_file: str = ""
    record: str = ""
    key_variable: str = ""
    max_tokens: int = 0
    images: str = AUTO

    @property
    def service(self) -> Service | None:
        """The service; None for a person, a script, and an unknown word."""
        return SERVICES.get(self.word.partition(":")[0])

    @property
    def takes_images(self) -> bool:
        """Return True if the model is shown pictures.

        Where nothing is said, those of OpenAI and Anthropic are, and a person; what runs at another
        address often refuses the whole conversation.
        """
        if self.images != AUTO or self.service is None:
            return self.images != "no"
        has_eyes = self.word.partition(":")[0] == self.service.library
        return has_eyes and _is_home(self.service, _address(self.service, self))


def key_kept_back(choice: ModelChoice) -> Phrase | None:
    """Say that a key of the environment is not sent, since the address is another service's."""
    service = choice.service
    if service is None or choice.key_file or choice.key_variable:
        return None
    address = _address(service, choice)
    if _is_home(service, address) or not os.environ.get(service.key_variable):
        return None
    fillings = {"name": service.key_variable, "home": service.its_home(), "address": address}
    return Phrase(SECTION, "key kept back", fillings)


def make_model(choice: ModelChoice) -> Model:
    """Return the model of a choice.

    Raises:
        StopError: the word names no model, or what it needs is missing.
    """
    model = _seated(choice)
    if not choice.takes_images:
        model = BlindModel(model)
    return ScriptRecorder(model, Path(choice.record).expanduser()) if choice.record else model


def _seated(choice: ModelChoice) -> Model:
    kind, _, name = choice.word.partition(":")
    if kind == "human":
        from humanmcp.extensions.host.models.human import HumanModel  # noqa: PLC0415 - only when wanted

        return HumanModel(choice.desk())
    if kind == "script" and name:
        return ScriptModel.read(Path(name).expanduser())
    if kind in SERVICES and name:
        return _service(kind, name, choice)
    raise stopped(SECTION, "no such model", REFUSED, word=choice.word)


def _service(kind: str, name: str, choice: ModelChoice) -> Model:
    service = SERVICES[kind]
    if importlib.util.find_spec(service.library) is None:
        raise stopped(SECTION, "no library", REFUSED, library=service.library)
    address = _address(service, choice)
    is_home = _is_home(service, address)
    key = _key(service, choice, is_home=is_home)
    own = is_home and kind == service.library
    more: dict[str, Any] = {"is_home": own, "max_tokens": choice.max_tokens}
    make = AnthropicModel if service.library == "anthropic" else OpenAIModel
    return make(name, key, address, **more)


def _address(service: Service, choice: ModelChoice) -> str:
    return choice.base_url or service.address or service.its_home()


def _is_home(service: Service, address: str) -> bool:
    """Return True if this is the service that the key of the environment belongs to."""
    return _origin(address) == _origin(service.its_home())


def _origin(address: str) -> tuple[str, str | None, int | None]:
    """Return the origin of a service: scheme, host and port, without the path."""
    try:
        parts = urlsplit(address)
        return parts.scheme.lower(), parts.hostname, parts.port
    except ValueError:  # the library says what is wrong with it
        return address, None, None


def _key(service: Service, choice: ModelChoice, *, is_home: bool) -> ApiKey | None:
    """Return the key to send: one that was named for this run, else that of the environment.

    The latter goes home only: an address elsewhere is another service.
    """
    if choice.key_file or choice.key_variable:
        key = find_key(choice.key_variable, choice.key_file)
        if key is None:
            raise stopped(SECTION, "empty variable", REFUSED, name=choice.key_variable)
        return key
    if not is_home:
        return None
    key = find_key(service.key_variable, "")
    if key is None:
        raise stopped(SECTION, "no key", REFUSED, name=service.key_variable)
    return key


class BlindModel:
    """Sits before another model and takes the pictures out of what it is shown."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def turn(self, history: Sequence[Turn], tools: Sequence[ModelTool], heard: Heard) -> Turn:
        """Take the other's turn."""
        shown = [replace(turn, blocks=tuple(map(_without, turn.blocks))) for turn in history]
        return self.model.turn(shown, tools, heard)

    def close(self) -> None:
        """Let the other leave."""
        self.model.close()


def _without(block: Block) -> Block:
    match block:
        case ImageBlock(mime, _):
            return TextBlock(f"[image: {mime}]")
        case ToolResult():
            return replace(block, images=())
        case _:
            return block

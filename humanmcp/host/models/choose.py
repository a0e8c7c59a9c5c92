"""Who sits in the model's seat, from one word: `human`, `script:FILE`, `openai:NAME` and so on."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from humanmcp.host.keys import find_key
from humanmcp.host.models.script import Recorder, ScriptModel
from humanmcp.locales.stop import StopError

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.host.at_inbox import AtInbox
    from humanmcp.host.models import Model

OLLAMA: Final = "http://localhost:11434/v1"
SERVICES: Final = ("anthropic", "ollama", "openai")


class ModelChoiceError(StopError):
    """Nobody can sit there."""

    room = "host"


@dataclass(frozen=True, slots=True)
class Choice:
    """What was asked for. `desk` opens a session of the inbox for a person."""

    word: str
    desk: Callable[[], AtInbox]
    base_url: str = ""
    key_file: str = ""
    record: str = ""


def seat_model(choice: Choice) -> Model:
    """Put somebody into the model's seat.

    Raises:
        StopError: the word names nobody, or what they need is missing.
    """
    model = _seated(choice)
    return Recorder(model, Path(choice.record).expanduser()) if choice.record else model


def _seated(choice: Choice) -> Model:
    kind, _, name = choice.word.partition(":")
    if kind == "human":
        from humanmcp.host.models.human import HumanModel  # noqa: PLC0415 - only when wanted

        return HumanModel(choice.desk())
    if kind == "script" and name:
        return ScriptModel.read(Path(name).expanduser())
    if kind in SERVICES and name:
        return _service(kind, name, choice)
    raise ModelChoiceError("no such model", word=choice.word)


def _service(kind: str, name: str, choice: Choice) -> Model:
    library = "anthropic" if kind == "anthropic" else "openai"
    if importlib.util.find_spec(library) is None:
        raise ModelChoiceError("no library", library=library)
    if kind == "anthropic":
        from humanmcp.host.models import anthropic as claude  # noqa: PLC0415 - heavy, an extra

        key = find_key(claude.KEY_NAME, choice.key_file)
        if key is None:
            raise ModelChoiceError("no key", name=claude.KEY_NAME)
        return claude.AnthropicModel(name, key, choice.base_url)
    from humanmcp.host.models import openai as compatible  # noqa: PLC0415 - heavy, an extra

    key = find_key(compatible.KEY_NAME, choice.key_file)
    base_url = choice.base_url or (OLLAMA if kind == "ollama" else "")
    if key is None and not base_url:
        raise ModelChoiceError("no key", name=compatible.KEY_NAME)
    return compatible.OpenAIModel(name, key, base_url)

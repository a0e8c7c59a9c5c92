"""A language model behind a service, asked through the service's own client library.

Knows no service: which errors there are, and what each means, the two that inherit from it say.
"""

from __future__ import annotations

import contextlib
import logging
import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from humanmcp.host.models import ModelError, OverloadedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from humanmcp.host.conversation import OfferedTool, Turn
    from humanmcp.host.keys import ApiKey

logger = logging.getLogger(__name__)

NO_KEY = "none"
"""What is sent where no key is: some services want none, but the libraries want one."""


@contextlib.contextmanager
def hidden_from_library(prefix: str, *, is_home: bool) -> Iterator[None]:
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


class ServiceModel(ABC):
    """One model of a service, by its name there. `library` is its client library, a module."""

    def __init__(self, name: str, key: ApiKey | None, library: Any) -> None:  # noqa: ANN401 - a module
        """Prepare."""
        self.name = name
        self.key = key
        self._library = library

    def turn(
        self,
        history: Sequence[Turn],
        tools: Sequence[OfferedTool],
        heard: Callable[[str], None],
    ) -> Turn:
        """Ask the service, and read its answer as it comes."""
        try:
            return self._ask(history, tools, heard)
        except self._library.APIStatusError as error:
            why = self._shown(str(error))
            raise self._trouble(error.status_code, why).quoting(why) from None
        except self._library.APIError as error:
            raise ModelError.quoting(self._shown(str(error))) from None
        except Exception as error:  # a service that only nearly speaks the format
            logger.debug("the client library stumbles", exc_info=True)
            why = self._shown(f"{type(error).__name__}: {error}")
            raise ModelError("strange", why=why) from None

    @abstractmethod
    def _ask(
        self,
        history: Sequence[Turn],
        tools: Sequence[OfferedTool],
        heard: Callable[[str], None],
    ) -> Turn:
        """Ask, and let the library's errors out."""

    @abstractmethod
    def _is_busy(self, status: int, why: str) -> bool:
        """Return True if an error means that the service has no room. A rate limit does not."""

    def _trouble(self, status: int, why: str) -> type[ModelError]:
        return OverloadedError if self._is_busy(status, why) else ModelError

    def _shown(self, text: str) -> str:
        return self.key.hidden_in(text) if self.key else text

"""A language model behind a service, asked through the service's own client library.

Knows no service: which errors there are, and what each means, the two that inherit from it say.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from humanmcp.host.models import ModelError, OverloadedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from humanmcp.common.person_files import ApiKey
    from humanmcp.host.conversation import ModelTool, Turn
    from humanmcp.host.models import Heard


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


class ServiceModel(ABC):
    """One model of a service, by its name there, asked through its client library."""

    library: ClassVar[str]
    client: ClassVar[str]
    """The class of the library that is a client."""

    def __init__(
        self,
        name: str,
        key: ApiKey | None,
        base_url: str,
        *,
        is_home: bool = False,
        max_tokens: int = 0,
    ) -> None:
        """Prepare. The library's own retries are off: the host retries, and tells.

        `is_home` says that the address is the service's own, or the one that the environment names.
        `max_tokens` is 0 where nothing is said of them.
        """
        self.name = name
        self.key = key
        self._is_home = is_home
        self._max_tokens = max_tokens
        self._library: Any = importlib.import_module(self.library)  # an extra: `humanmcp[host]`
        make = getattr(self._library, self.client)
        with _hidden_from_library(f"{self.library.upper()}_", is_home=is_home):
            secret = key.secret if key else NO_KEY
            self._client = make(api_key=secret, base_url=base_url, max_retries=0)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def turn(self, history: Sequence[Turn], tools: Sequence[ModelTool], heard: Heard) -> Turn:
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
    def _ask(self, history: Sequence[Turn], tools: Sequence[ModelTool], heard: Heard) -> Turn:
        """Ask, and let the library's errors out."""

    @abstractmethod
    def _is_busy(self, status: int, why: str) -> bool:
        """Return True if an error means that the service has no room. A rate limit does not."""

    def _trouble(self, status: int, why: str) -> type[ModelError]:
        return OverloadedError if self._is_busy(status, why) else ModelError

    def _shown(self, text: str) -> str:
        return self.key.hidden_in(text) if self.key else text

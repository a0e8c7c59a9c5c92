"""The names of the faults that a person can put into an answer.

`validation/faults.py` applies those of the message, `protocol/http/http_faults.py` those of HTTP.
"""

from __future__ import annotations

import enum
from typing import Final


class Fault(enum.Enum):
    """A fault of an answer. The value is its name on the command line and in `locales/`."""

    WRONG_ID = "wrong-id"
    ID_AS_TEXT = "id-as-text"
    ID_AS_NUMBER = "id-as-number"
    RESULT_AND_ERROR = "result-and-error"
    NO_JSONRPC = "no-jsonrpc"
    UNKNOWN_FIELD = "unknown-field"
    WRONG_VERSION = "wrong-version"
    WRONG_RESULT_TYPE = "wrong-result-type"
    LONE_SURROGATE = "lone-surrogate"
    HUGE = "huge"
    CUT_IN_HALF = "cut-in-half"
    LOG_LINE = "log-line"
    WRONG_STATUS = "wrong-status"
    WRONG_TYPE = "wrong-type"
    NO_TYPE = "no-type"
    OTHER_SESSION = "other-session"
    UNAUTHORIZED = "unauthorized"
    LOST_SESSION = "lost-session"
    REDIRECT = "redirect"
    CUT_STREAM = "cut-stream"
    NO_FINAL_EVENT = "no-final-event"
    EVENT_TWICE = "event-twice"
    EVENT_WITHOUT_ID = "event-without-id"
    SLOW_DRIP = "slow-drip"

    @property
    def is_of_http(self) -> bool:
        """True if the fault is in the HTTP response, not in the message."""
        return self in OF_HTTP


OF_HTTP: Final = tuple(Fault)[tuple(Fault).index(Fault.WRONG_STATUS) :]
"""The faults of the HTTP response."""


class EntryFault(enum.Enum):
    """What a rule does instead of an answer: a fault of the whole server."""

    SILENCE = "silence"
    EXIT = "exit"
    CRASH = "crash"

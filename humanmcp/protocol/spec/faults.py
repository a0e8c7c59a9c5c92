"""The names of the faults that an answer can have on purpose; `validation/faults.py` makes them."""

from __future__ import annotations

import enum


class Fault(enum.Enum):
    """One way to break an answer. The value is its name on the command line and in `locales/`."""

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

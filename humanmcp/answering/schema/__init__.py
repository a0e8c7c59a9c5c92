"""The JSON for scripts: what the page, the interface and `--json` write, each shape once."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypedDict
else:
    try:  # FastAPI wants this one before Python 3.12
        from typing_extensions import TypedDict
    except ImportError:  # the commands of the terminal run with the standard library alone
        from typing import TypedDict

__all__ = ["TypedDict"]

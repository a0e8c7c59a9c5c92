"""The JSON for scripts: the shapes that the interface and `--json` write, each once."""

import enum
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing import TypedDict
else:
    try:  # FastAPI wants this one before Python 3.12
        from typing_extensions import TypedDict
    except ImportError:  # the commands of the terminal run with the standard library alone
        from typing import TypedDict

__all__ = ["TypedDict", "filled"]

_Shape = TypeVar("_Shape")


def filled(shape: type[_Shape], record: object, **others: object) -> _Shape:
    """Write a record in a shape: each member is a keyword's or the record's."""
    names: Any = shape.__annotations__
    found: Any = {
        name: others[name] if name in others else _plain(getattr(record, name)) for name in names
    }
    return found  # type: ignore[no-any-return] # a `TypedDict` is a `dict` when it runs


def _plain(value: Any) -> Any:  # noqa: ANN401 - a field of any record
    """Return a field as JSON: an enum as its value, a record as its members."""
    if isinstance(value, enum.Enum):
        return value.value
    return dict(value._asdict()) if hasattr(value, "_asdict") else value

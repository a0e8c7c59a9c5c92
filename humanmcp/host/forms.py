"""From a JSON Schema to the fields a person fills in, and from what they type to values.

The forms of MCP are flat: the arguments of most tools, and every elicitation. A field that is no
plain value is typed as JSON. Knows no terminal and no page.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its name, what it takes, and what it is for. `default` is as a person types it."""

    name: str
    kind: str
    about: str = ""
    choices: tuple[str, ...] = ()
    default: str = ""
    required: bool = False


class FieldError(ValueError):
    """What was typed is not what the field takes."""

    def __init__(self, field: Field, typed: str) -> None:
        """Remember both."""
        super().__init__(field, typed)
        self.field = field
        self.typed = typed

    def __str__(self) -> str:
        """Say what it takes."""
        wanted = (
            f"one of {', '.join(self.field.choices)}" if self.field.choices else self.field.kind
        )
        return f"{self.field.name} takes {wanted}, not {self.typed!r}"


class TypingError(ValueError):
    """A line of `key=value` cannot be read. `at` is what it breaks at."""

    def __init__(self, at: str) -> None:
        """Remember where."""
        super().__init__(at)
        self.at = at


def fields(schema: object) -> tuple[Field, ...]:
    """List the fields of an object's schema, the required ones as such."""
    if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
        return ()
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    return tuple(
        _field(str(name), part if isinstance(part, dict) else {}, required=name in names)
        for name, part in schema["properties"].items()
    )


def _field(name: str, part: Mapping[str, Any], *, required: bool) -> Field:
    choices = part.get("enum")
    titled = part.get("oneOf")
    if not isinstance(choices, list) and isinstance(titled, list):
        choices = [one["const"] for one in titled if isinstance(one, dict) and "const" in one]
    about = part.get("description") or part.get("title") or ""
    return Field(
        name=name,
        kind=str(part.get("type", "any")),
        about=str(about),
        choices=tuple(map(str, choices)) if isinstance(choices, list) else (),
        default=_typed(part["default"]) if "default" in part else "",
        required=required,
    )


def _typed(value: Any) -> str:  # noqa: ANN401 - any JSON value
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_YES: Final = frozenset({"true", "yes", "y", "1", "on", "はい"})
_NO: Final = frozenset({"false", "no", "n", "0", "off", "いいえ"})


def value(field: Field, typed: str) -> Any:  # noqa: ANN401 - any JSON value
    """Turn what a person typed into the value that the field takes.

    Raises:
        FieldError: it cannot be one.
    """
    if field.choices and typed not in field.choices:
        raise FieldError(field, typed)
    if field.kind == "string":
        return typed
    if field.kind == "boolean":
        if typed.lower() in _YES | _NO:
            return typed.lower() in _YES
        raise FieldError(field, typed)
    try:
        found = json.loads(typed)
    except ValueError:
        if field.kind == "any":
            return typed
        raise FieldError(field, typed) from None
    if not _is(found, field.kind):
        raise FieldError(field, typed)
    return found


def _is(found: Any, kind: str) -> bool:  # noqa: ANN401 - any JSON value
    is_number = isinstance(found, (int, float)) and not isinstance(found, bool)
    match kind:
        case "number":
            return is_number
        case "integer":
            return is_number and float(found).is_integer()
        case "array":
            return isinstance(found, list)
        case "object":
            return isinstance(found, dict)
        case _:
            return True


_KEY: Final = re.compile(r"\s*([^\s=]+)=")
_WORD: Final = re.compile(r"\S*")
_DECODER: Final = json.JSONDecoder()


def arguments(typed: str, schema: object) -> dict[str, Any]:
    """Read `key=value …` as the arguments of a tool, or a whole JSON object.

    A value that begins with `[`, `{` or `"` is JSON; any other goes up to the next space.

    Raises:
        TypingError: there is something that is no `key=value`.
        FieldError: a value is not what the schema says.
    """
    if typed.lstrip().startswith("{"):
        try:
            found = json.loads(typed)
        except ValueError as error:
            raise TypingError(typed) from error
        return dict(found)
    known = {field.name: field for field in fields(schema)}
    return {
        name: _argument(known.get(name, Field(name, "any")), text)
        for name, text in _pairs(typed.strip())
    }


def _argument(field: Field, text: str) -> Any:  # noqa: ANN401 - any JSON value
    if text.startswith('"') and field.kind in ("string", "any"):
        return json.loads(text)
    return value(field, text)


def _pairs(typed: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(typed):
        key = _KEY.match(typed, at)
        if key is None:
            raise TypingError(typed[at:])
        start = key.end()
        if typed[start : start + 1] in ("[", "{", '"'):
            try:
                _, at = _DECODER.raw_decode(typed, start)
            except ValueError as error:
                raise TypingError(typed[start:]) from error
        else:
            word = _WORD.match(typed, start)
            at = word.end() if word else len(typed)
        yield key[1], typed[start:at]
        at += len(typed[at:]) - len(typed[at:].lstrip())

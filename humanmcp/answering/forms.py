"""Convert a JSON Schema to the fields of a form, and typed text to values.

The forms of MCP are flat: the arguments of most tools, and every elicitation. A field without a
plain type is typed as JSON. Knows no terminal and no page.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any, Final

from humanmcp.locales import say
from humanmcp.locales.stop import USAGE_ERROR, StopError
from humanmcp.protocol.json.tree import object_at
from humanmcp.protocol.tables.schemas import Choice, Field
from humanmcp.protocol.validation.json_schema import validator

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def takes_many(field: Field) -> bool:
    """Return True if its value is a list of its choices."""
    return field.item is not None and bool(field.item.choices)


def kind_of(field: Field) -> str:
    """Return the type of a field, or "any" for several types or none."""
    return field.kind if isinstance(field.schema.get("type"), str) else "any"


def default_of(field: Field) -> str:
    """Return the default of a field as a person types it, "" without one."""
    return _typed(field.schema["default"]) if "default" in field.schema else ""


def choices_of(field: Field) -> tuple[Choice, ...]:
    found = field.item.choices if field.item is not None else ()
    if not found and "const" not in field.schema:
        found = field.choices
    return tuple(Choice(one.value, one.title or _typed(one.value)) for one in found)


def _wanted(field: Field) -> str:
    """Describe the values of a field in one line."""
    titles = [one.title for one in choices_of(field)]
    return ("…, " if takes_many(field) else "|").join(titles) or kind_of(field)


class MistypedError(StopError):
    """A person typed something that cannot be sent."""

    section = "forms"
    status = USAGE_ERROR


class FieldError(MistypedError):
    """The typed text does not fit the field.

    `broken` is the rule of its schema that it breaks, with the fillings of the sentence; () if
    it has the wrong type.
    """

    def __init__(self, field: Field, typed: str, broken: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__("wrong field", name=field.name, wanted=_wanted(field))
        self.field = field
        self.typed = typed
        self.broken = broken

    def sentence(self) -> str:
        """Return why it does not fit."""
        name, detail = self.field.name, dict(self.broken)
        if not self.typed and self.field.needed:
            return say(self.section, "needed field", name=name)
        rule = detail.get("rule", "")
        why = say("schema_rule", rule, **detail) if rule else detail.get("why", "")
        if why:
            return say(self.section, "unfit field", name=name, why=why)
        return super().sentence()


class TypingError(MistypedError):
    """A line of `key=value` cannot be read. `at` is the wrong part."""

    def __init__(self, at: str) -> None:
        super().__init__("no pairs", at=at)
        self.at = at


def _typed(value: Any) -> str:  # noqa: ANN401 - any JSON value
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


LONGEST_NUMBER: Final = 400
"""The most characters that are read as a number."""

_YES: Final = frozenset({"true", "yes", "y", "1", "on", "はい"})
_NO: Final = frozenset({"false", "no", "n", "0", "off", "いいえ"})


def value(field: Field, typed: str, *, numbered: bool = False) -> Any:  # noqa: ANN401 - any JSON value
    """Convert typed text to a value of the field.

    With `numbered` the choices were shown with numbers, from 1.

    Raises:
        FieldError: the text has the wrong type, or breaks a rule of the field.
    """
    found = _read(field, typed, numbered=numbered)
    wrong = validator.mismatch(found, field.schema)
    if wrong is not None:
        raise FieldError(field, typed, wrong[1])
    return found


def _read(field: Field, typed: str, *, numbered: bool) -> Any:  # noqa: ANN401 - any JSON value
    if takes_many(field):
        return _several(field, typed, numbered=numbered)
    if choices_of(field):
        return _chosen(field, typed, numbered=numbered)
    kind = kind_of(field)
    if kind == "string":
        return typed
    plain = _plain(typed)
    if kind == "boolean":
        if plain.lower() in _YES | _NO:
            return plain.lower() in _YES
        raise FieldError(field, typed)
    try:
        found = json.loads(plain)
    except (ValueError, RecursionError):
        if kind == "any":
            return typed
        raise FieldError(field, typed) from None
    if kind != "any" and validator.mismatch(found, {"type": kind}) is not None:
        raise FieldError(field, typed)
    return found


def _plain(typed: str) -> str:
    """Convert wide digits and letters, which input methods type, to those of JSON."""
    return unicodedata.normalize("NFKC", typed).strip() if len(typed) < LONGEST_NUMBER else typed


def _chosen(field: Field, typed: str, *, numbered: bool) -> Any:  # noqa: ANN401 - any JSON value
    """Return a choice by its value, its title, or its number."""
    offered = choices_of(field)
    for one in offered:
        if typed in (_typed(one.value), one.title):
            return one.value
    meant = _plain(typed).casefold()
    if numbered and meant.isdecimal() and 1 <= int(meant) <= len(offered):
        return offered[int(meant) - 1].value
    alike = [one for one in offered if meant in (_folded(one.value), _folded(one.title))]
    if len(alike) == 1:
        return alike[0].value
    raise FieldError(field, typed)


def _folded(shown: Any) -> str:  # noqa: ANN401 - any JSON value
    return _plain(_typed(shown)).casefold()


_BETWEEN: Final = "[,\u3001\uff0c]"  # the last two are the commas of Japanese input methods


def _several(field: Field, typed: str, *, numbered: bool) -> list[Any]:
    """Return a list: JSON, or choices with commas between them."""
    if typed.lstrip().startswith("["):
        try:
            found = json.loads(typed)
        except (ValueError, RecursionError):
            raise FieldError(field, typed) from None
        return [_chosen(field, _typed(one), numbered=False) for one in found]
    words = re.split(_BETWEEN, typed)
    if numbered and re.fullmatch(r"[\d\s]*", typed):
        words = typed.split()
    return [_chosen(field, word.strip(), numbered=numbered) for word in words if word.strip()]


_KEY: Final = re.compile(r"\s*([^\s=]+)=")
_WORD: Final = re.compile(r"\S*")
_DECODER: Final = json.JSONDecoder()


def typed_of(words: Iterable[str]) -> str:
    """Join words of a shell, `name=value` each, to a line as typed at the prompt."""
    return " ".join(_pair_typed(word) for word in words)


def _pair_typed(word: str) -> str:
    name, given, value = word.partition("=")
    return f"{name}={_quoted(value)}" if given else word


def _quoted(value: str) -> str:
    if value.startswith(("[", "{")):
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            pass
        else:
            return value
    elif not value.startswith('"') and value == "".join(value.split()):
        return value
    return json.dumps(value, ensure_ascii=False)


def arguments(typed: str, schema: object) -> dict[str, Any]:
    """Read `key=value …` as the arguments of a tool, or a whole JSON object.

    A value that begins with `[`, `{` or `"` is JSON; any other goes up to the next space.

    Raises:
        TypingError: a part is not `key=value`.
        FieldError: a value does not fit the schema.
    """
    if typed.lstrip().startswith("{"):
        try:
            found = json.loads(typed)
        except (ValueError, RecursionError) as error:
            raise TypingError(typed) from error
        return dict(found)
    known = {field.name: field for field in Field("", object_at(schema)).fields}
    return {
        name: _argument(known.get(name, Field(name, {})), text)
        for name, text in _pairs(typed.strip())
    }


def texts(typed: str) -> dict[str, str]:
    """Read `key=value …` where every value is a text, as the arguments of a prompt are.

    Raises:
        TypingError: a part is not `key=value`.
    """
    if typed.lstrip().startswith("{"):
        return {name: _typed(value) for name, value in arguments(typed, None).items()}
    return {
        name: json.loads(text) if text.startswith('"') else text
        for name, text in _pairs(typed.strip())
    }


def _argument(field: Field, text: str) -> Any:  # noqa: ANN401 - any JSON value
    if text.startswith('"') and kind_of(field) in ("string", "any"):
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
            except (ValueError, RecursionError) as error:
                raise TypingError(typed[start:]) from error
        else:
            word = _WORD.match(typed, start)
            at = word.end() if word else len(typed)
        yield key[1], typed[start:at]
        at += len(typed[at:]) - len(typed[at:].lstrip())

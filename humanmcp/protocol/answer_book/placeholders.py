"""The placeholders in the answers of an entry, `{name}` or `{name.inner}`, and their values."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import as_json
from humanmcp.protocol.json.tree import follow, leaves, mapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# A string, not a compiled pattern: `re` compiles it at the first use, not at the start of a server.
_PLACEHOLDER: Final = r"\{([A-Za-z_][\w-]*(?:\.[\w-]+)*)\}"
_MISSING: Final = object()


def fill(template: Any, values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    """Return a JSON value with all placeholders in its strings filled.

    A string that is exactly one placeholder becomes the value itself, such as a number or a list.
    """

    def filled(leaf: Any) -> Any:  # noqa: ANN401 - any JSON value
        alone = re.fullmatch(_PLACEHOLDER, leaf) if isinstance(leaf, str) else None
        value = _MISSING if alone is None else _found(alone[1], values)
        if value is not _MISSING:
            return value
        return fill_text(leaf, values) if isinstance(leaf, str) else leaf

    return mapped(template, filled)


def fill_text(template: str, values: Mapping[str, Any]) -> str:
    """Return a text with its placeholders filled; values other than strings become JSON."""

    def filled(found: re.Match[str]) -> str:
        value = _found(found[1], values)
        if value is _MISSING:
            return found[0]
        return value if isinstance(value, str) else as_json(value)

    return re.sub(_PLACEHOLDER, filled, template) if "{" in template else template


def fill_answer(template: str, form: TextForm, values: Mapping[str, Any]) -> str:
    """Return the text of an answer, plain or JSON, with its placeholders filled."""
    if form not in (TextForm.RESULT, TextForm.ERROR):
        return fill_text(template, values)
    if re.search(_PLACEHOLDER, template) is None:
        return template
    return as_json(fill(json.loads(template), values))


def placeholders(template: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Yield the names of the placeholders in a JSON value, in order."""
    for _path, leaf in leaves(template):
        if isinstance(leaf, str):
            yield from re.findall(_PLACEHOLDER, leaf)


def _found(name: str, values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    return follow(values, *name.split("."), missing=_MISSING)

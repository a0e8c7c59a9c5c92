"""Values of a request in an answer that was prepared: `{city}`, `{address.street}`, `{items.0}`.

A name that the request does not have stays as it was written: braces are no mistake in a text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.json.tree import follow, leaves, mapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# A text: `re` compiles it when it is first used, which the start of a server need not pay for.
_PLACEHOLDER: Final = r"\{([A-Za-z_][\w-]*(?:\.[\w-]+)*)\}"
_MISSING: Final = object()


def fill(template: Any, values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    """Return a JSON value with the placeholders in its texts filled, however deep they stand.

    A text that is one placeholder and nothing else becomes the value itself: a number, a list.
    """

    def filled(leaf: Any) -> Any:  # noqa: ANN401 - any JSON value
        alone = re.fullmatch(_PLACEHOLDER, leaf) if isinstance(leaf, str) else None
        value = _MISSING if alone is None else _found(alone[1], values)
        if value is not _MISSING:
            return value
        return fill_text(leaf, values) if isinstance(leaf, str) else leaf

    return mapped(template, filled)


def fill_text(template: str, values: Mapping[str, Any]) -> str:
    """Return a text with its placeholders filled; what is no text is written as JSON."""

    def filled(found: re.Match[str]) -> str:
        value = _found(found[1], values)
        return found[0] if value is _MISSING else _written(value)

    return re.sub(_PLACEHOLDER, filled, template) if "{" in template else template


def fill_answer(template: str, form: TextForm, values: Mapping[str, Any]) -> str:
    """Return the text of an answer, plain or JSON, with its placeholders filled."""
    if form not in (TextForm.RESULT, TextForm.ERROR):
        return fill_text(template, values)
    if re.search(_PLACEHOLDER, template) is None:
        return template
    return json.dumps(fill(json.loads(template), values), ensure_ascii=False)


def placeholders(template: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """List the names that a JSON value has placeholders for, in their order."""
    for _path, leaf in leaves(template):
        if isinstance(leaf, str):
            yield from re.findall(_PLACEHOLDER, leaf)


def _written(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return a value as it stands within a text: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _found(name: str, values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    return follow(values, *name.split("."), missing=_MISSING)

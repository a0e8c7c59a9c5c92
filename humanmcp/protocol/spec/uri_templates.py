"""URI templates of RFC 6570, as resources have them: which variables, and what becomes of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_EXPRESSION: Final = re.compile(r"\{([+#./;?&]?)([^{}]+)\}")
_VARIABLE: Final = re.compile(r"([^:*]+)(?::(\d{1,4})|\*)?$")
_RESERVED: Final = ":/?#[]@!$&'()*+,;=%"
"""What `+` and `#` leave as it is, with what is already encoded (RFC 6570, 3.2.1)."""


@dataclass(frozen=True, slots=True)
class _Operator:
    """RFC 6570, appendix A: what stands first and between, and what each value looks like."""

    first: str
    between: str
    is_named: bool = False
    kept: str = ""


_OPERATORS: Final[Mapping[str, _Operator]] = MappingProxyType(
    {
        "": _Operator("", ","),
        "+": _Operator("", ",", kept=_RESERVED),
        "#": _Operator("#", ",", kept=_RESERVED),
        ".": _Operator(".", "."),
        "/": _Operator("/", "/"),
        ";": _Operator(";", ";", is_named=True),
        "?": _Operator("?", "&", is_named=True),
        "&": _Operator("&", "&", is_named=True),
    }
)


def schema_of(template: str) -> dict[str, Any]:
    """Return the form of a template's variables; those of a query may be left out."""
    found = [
        (name, not _OPERATORS[sign].is_named)
        for sign, names in _EXPRESSION.findall(template)
        for name, _length in _variables(names)
    ]
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name, _needed in found},
        "required": list(dict.fromkeys(name for name, needed in found if needed)),
    }


def expanded(template: str, values: Mapping[str, str]) -> str:
    """Put values into a template. A variable without one is left out."""

    def put_in(found: re.Match[str]) -> str:
        operator = _OPERATORS[found[1]]
        parts = [
            _part(operator, name, values[name][:length])
            for name, length in _variables(found[2])
            if name in values
        ]
        return operator.first + operator.between.join(parts) if parts else ""

    return _EXPRESSION.sub(put_in, template)


def _part(operator: _Operator, name: str, value: str) -> str:
    text = quote(value, safe=operator.kept)
    return f"{name}={text}" if operator.is_named else text


def _variables(names: str) -> Iterator[tuple[str, int | None]]:
    """Return the variables of an expression, with the length that is wanted of each."""
    for name in names.split(","):
        found = _VARIABLE.match(name.strip())
        if found is not None:
            yield found[1], int(found[2]) if found[2] else None

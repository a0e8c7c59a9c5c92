"""The JSON Schema of an answer book, for editors: the keys, what each may hold, what it is for.

The shapes are those of the readers in `book_format.py`; the words are those of the reference page.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.answer_book import book_format as book
from humanmcp.protocol.answer_book.book import ATTRIBUTES
from humanmcp.protocol.answer_book.book_entry import EntryAction
from humanmcp.protocol.tables import versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Schema = dict[str, Any]

PAGE: Final = Path(__file__).parent / "reference" / "book.md"
_TEXT: Final[Schema] = {"type": "string"}
_FLAG: Final[Schema] = {"type": "boolean"}
_TABLE: Final[Schema] = {"type": "object"}
_TABLES: Final[Schema] = {"type": "array", "items": _TABLE}
_TEXTS: Final[Schema] = {"type": "array", "items": _TEXT}
_SECONDS: Final[Schema] = {"type": "number", "minimum": 0}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 1}

SHAPES: Final[Mapping[Callable[[Any, str], Any], Schema]] = {
    book.text: _TEXT,
    book.flag: _FLAG,
    book.table: _TABLE,
    book.json_table: _TABLE,
    book.seconds: _SECONDS,
    book.texts: _TEXTS,
    book.texts_by_name: {"type": "object", "additionalProperties": _TEXT},
    book.table_or_flag: {"type": ["object", "boolean"]},
    book.text_or_flag: {"type": ["string", "boolean"]},
    book.rounds: {"anyOf": [_TABLE, _TABLES]},
    book.protocol_versions: {
        "type": "array",
        "minItems": 1,
        "items": {"enum": list(versions.ALL)},
    },
}
"""What each reader takes."""
TOGETHER: Final[Schema] = {
    **dict.fromkeys(("method", "tool", "prompt", "text", "tool_error"), _TEXT),
    **dict.fromkeys(("result", "error", "remove"), _TABLE),
    "add": {"type": "object", "additionalProperties": _TABLES},
    "remove": {"type": "object", "additionalProperties": _TEXTS},
    "do": {"enum": [EntryAction.HOLD.value, EntryAction.FORWARD.value]},
    "fault": {"type": "string", "pattern": f"^({'|'.join(book.FAULTS)})( |$)"},
    "fill": _FLAG,
    "times": _COUNT,
    "once": _FLAG,
}
"""The keys that are read together with others."""


def text() -> str:
    """Return the schema as a file."""
    return json.dumps(schema(), ensure_ascii=False, indent=1) + "\n"


def schema() -> Schema:
    """Make the schema of a whole book."""
    turn = _closed("What a rule does", book.TURN_KEYS)
    notice = {"type": "object", "oneOf": [{"required": [kind]} for kind in book.NOTICES]}
    turn["properties"]["notify"] |= {"type": "array", "items": notice}
    entry = _closed("", book.ENTRY_KEYS)
    entry["properties"]["notify"] = turn["properties"]["notify"]
    entry["properties"]["then"] |= {"type": "array", "items": {"$ref": "#/$defs/turn"}}
    answers = [{"required": [key]} for key in (*book.ANSWERS, "do")]
    wait = {"anyOf": [_SECONDS, {"const": False}]}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "An answer book of humanmcp",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "server": _closed("server", book.SERVER),
            "wait": {"type": "object", "additionalProperties": wait},
            "rules": {"type": "array", "items": {"$ref": "#/$defs/rule"}},
            **dict.fromkeys(ATTRIBUTES, _TABLES),
        },
        "$defs": {"rule": entry | {"oneOf": answers}, "turn": turn | {"oneOf": answers}},
    }


def _closed(section: str, keys: Iterable[str]) -> Schema:
    """Make the schema of a table that has these keys only, each with its words."""
    said, readers = words(section), {**book.SERVER, **book.CONDITIONS, **book.STEPS}
    properties = {
        key: {**(SHAPES[readers[key]] if key in readers else TOGETHER.get(key, {}))}
        | ({"description": said[key]} if key in said else {})
        for key in sorted(keys)
    }
    return {"type": "object", "additionalProperties": False, "properties": properties}


def words(section: str) -> dict[str, str]:
    """Return what the reference page says of each key, in one section or in all."""
    found: dict[str, str] = {}
    for part in PAGE.read_text("utf-8").split("\n## ")[1:]:
        title, _, rows = part.partition("\n")
        for names, meaning in re.findall(r"^\| (`[^|]*`) \| ([^|]*) \|", rows, re.MULTILINE):
            if section in ("", title):
                plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", meaning).strip()
                found |= dict.fromkeys(re.findall(r"`(\w+)`", names), plain)
    return found

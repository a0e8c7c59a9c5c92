"""Read YAML as configurations have it, with JSON's values only.

PyYAML reads the text. What a plain value is, is decided here, as hosts that read YAML 1.2 do: `yes`
and `off` are texts. Aliases, tags and a second document are refused, because a guess would start
another command. Knows no file.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import yaml

_PLAIN: Final = {"": None, "~": None, "null": None, "true": True, "false": False}
_NUMBER: Final = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_DEEPEST: Final = 64


class YamlError(ValueError):
    """A line that is not understood. `line` is its number."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def read_yaml(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of a document.

    Raises:
        YamlError: a line is not understood.
    """
    import yaml  # noqa: PLC0415 - 14 ms that only a reader of YAML waits for

    try:
        parser = yaml.BaseLoader(text)
        parser.get_event()  # the beginning of the text
        if parser.check_event(yaml.StreamEndEvent):
            return None
        parser.get_event()  # the beginning of the document
        value = _value(parser, 0)
        parser.get_event()  # its end
        if not parser.check_event(yaml.StreamEndEvent):
            raise _not_understood(parser.peek_event())
    except yaml.MarkedYAMLError as error:
        raise YamlError(error.problem_mark.line + 1) from error
    except yaml.reader.ReaderError as error:
        raise YamlError(text.count("\n", 0, error.position) + 1) from error
    return value


def _value(parser: yaml.BaseLoader, depth: int) -> Any:  # noqa: ANN401 - any JSON value
    import yaml  # noqa: PLC0415 - as above

    event = parser.get_event()
    if depth > _DEEPEST or isinstance(event, yaml.AliasEvent) or event.tag is not None:
        raise _not_understood(event)
    if isinstance(event, yaml.ScalarEvent):
        return event.value if event.style else _plain(event.value)
    if isinstance(event, yaml.SequenceStartEvent):
        items = []
        while not parser.check_event(yaml.SequenceEndEvent):
            items.append(_value(parser, depth + 1))
        parser.get_event()
        return items
    members = {}
    while not parser.check_event(yaml.MappingEndEvent):
        name = parser.peek_event()
        if not isinstance(name, yaml.ScalarEvent):
            raise _not_understood(name)
        _value(parser, depth + 1)
        members[name.value] = _value(parser, depth + 1)
    parser.get_event()
    return members


def _plain(text: str) -> Any:  # noqa: ANN401 - any JSON value
    if text in _PLAIN:
        return _PLAIN[text]
    return json.loads(text.removeprefix("+")) if _NUMBER.fullmatch(text) else text


def _not_understood(event: yaml.Event) -> YamlError:
    return YamlError(event.start_mark.line + 1)

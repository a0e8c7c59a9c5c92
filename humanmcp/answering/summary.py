"""A message in a few words: what a row of a list says of it, in every desk and every export.

Pure. Text from the wire is made visible and fits on one line; it is still text, and a caller
that shows it escapes it for its own medium.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.json.escaping import one_line
from humanmcp.protocol.json.jsonrpc import Kind, Message
from humanmcp.protocol.spec import methods, versions
from humanmcp.protocol.validation import inquiry

if TYPE_CHECKING:
    from collections.abc import Iterator

GIST: Final = 90
"""Characters of a message that a row of a list shows."""


class Summary(NamedTuple):
    """What tells one message from another: the tool or prompt it names, and what it holds."""

    name: str = ""
    gist: str = ""


def summary_of(message: Message) -> Summary:
    """Return a message in a few words; a question to a person is told by the question."""
    match message.kind:
        case Kind.REQUEST | Kind.NOTIFICATION:
            name, words = _words(message.method, message.params)
            asked = inquiry.inquiry_of(message)
            return Summary(name, words if asked is None else one_line(asked.question, GIST))
        case Kind.RESULT | Kind.ERROR:
            return Summary("", outcome(message.body))


def _words(method: str, params: dict[str, Any]) -> tuple[str, str]:
    """Return which one and with what: the name and the gist of a row."""
    record = methods.of(method)
    if record.arguments:
        return _text(params.get("name")), gist(params.get(record.arguments, {}))
    if record.introduces:
        return _client(params)
    shown = params.get(record.gist)
    if isinstance(shown, dict):
        return "", gist(shown)
    # of what was said to a model the last counts
    words = _words_in(shown[-1:] if isinstance(shown, list) else shown)
    rest = {key: value for key, value in params.items() if key != "_meta"}
    return "", one_line(words, GIST) if words else gist(rest)


def _words_in(said: Any) -> str:  # noqa: ANN401 - any JSON value
    match said:
        case str():
            return said
        case {"text": str(words)}:
            return words
        case {"content": inner}:
            return _words_in(inner)
        case [*parts]:
            return next(filter(None, map(_words_in, parts)), "")
        case _:
            return ""


def _client(params: dict[str, Any]) -> tuple[str, str]:
    meta = params.get("_meta")
    modern = meta.get(versions.META_CLIENT) if isinstance(meta, dict) else None
    found = params.get("clientInfo", modern)
    client = found if isinstance(found, dict) else {}
    words = f"{_text(client.get('name'))} {_text(client.get('version'))}".strip()
    return "", one_line(words, GIST)


def gist(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Say in a few words what an object holds: `city: "Tokyo", days: 3`."""
    if isinstance(value, dict):
        words = ", ".join(f"{key}: {_short(part)}" for key, part in list(value.items())[:12])
    else:
        words = _short(value)
    return one_line(words, GIST)


def _short(value: Any) -> str:  # noqa: ANN401 - any JSON value
    match value:
        case dict():
            return "{…}" if value else "{}"
        case list():
            return f"[{len(value)}]"
        case str():
            return f'"{value[:GIST]}"'
        case _:
            return json.dumps(value)


def _text(value: object) -> str:
    return one_line(value, GIST) if isinstance(value, str) else ""


def outcome(body: dict[str, Any]) -> str:
    """Return what an answer holds in a few words: its text, its error, or its members."""
    error = body.get("error")
    if isinstance(error, dict):
        return one_line(f"{_short(error.get('code'))} {_text(error.get('message'))}", GIST)
    result = body.get("result")
    if isinstance(result, dict) and (texts := list(_texts(result.get("content")))):
        return one_line(" ".join(texts), GIST)
    return gist(result)


def _texts(content: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    for entry in content if isinstance(content, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("text"), str):
            yield entry["text"][: GIST * 2]

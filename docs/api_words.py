"""What the reference of the interface says around its calls."""

from __future__ import annotations

from typing import Final

_READ_KEY: Final = """```sh
address=$(jq -r .address ~/.humanmcp/desk.json)
token=$(jq -r .token ~/.humanmcp/desk.json)
curl -H "Authorization: Bearer $token" "${address}api/exchanges"
```"""

INTRO: Final = (
    "# The JSON interface of the desk",
    "",
    "Whatever the page can do, a script can do, under the same checks. Read the address and the",
    "token in `desk.json` of the inbox folder; only you can read it, and both are new whenever",
    "the desk starts.",
    "",
    _READ_KEY,
    "",
    "Every POST carries JSON (`Content-Type: application/json`). Texts for people come in the",
    'language of `?lang=en` or `?lang=ja`. Errors have a status and `{"detail": …}`; 404 is for a',
    "session or an exchange that is not there, 422 for a body that is not what stands here, 503",
    "when too much is sent at the same moment, 507 for a disk that did not keep something, 500",
    "for what the desk did not expect, with the `log` where it is written down. An exchange is",
    "named by its session and our own number, never by the client's id. What each fault does is",
    "on [its own page](faults.md).",
)

TITLES: Final = {
    "reading": "What there is, and what changed",
    "writing": "Writing and sending",
    "completing": "Help while typing",
    "prepared": "Prepared answers and rules",
    "opening": "The opening and the demo",
    "visits": "Coming and going",
    "printed": "What `--json` prints",
    "shapes": "Shapes",
}

PRINTED_WORDS: Final = (
    "The commands of the terminal write the same shapes, one object on one line; `hosts` writes a"
    " list of\nthem. `client` writes the result of its request as the server wrote it, `--list` one"
    " object with the\nentries of all pages."
)

TYPES: Final = {
    "query": "in the address",
    "body": "body",
    "answer": "answer",
    "member": "member",
    "type": "type",
    "default": "default",
    "or": " or ",
    "list": "list of {}",
    "typed": "{} ({})",
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
    "array": "list",
    "null": "null",
    "any": "any value",
}
"""The words for JSON's types, and the heads of the tables."""


"""What each call is for, in Japanese; the English sentence is the docstring of its route."""


"""What each shape is, in Japanese; the English sentence is its docstring."""

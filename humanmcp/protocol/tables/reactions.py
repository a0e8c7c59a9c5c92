"""What clients do with a wrong line of a server: measured, and otherwise unknown.

A row is what was measured: the code of a problem, its place, and the details that tell cases apart
(`head`). It stands for no other place. `python -m tests.clients.reactions` measures the rows again
with the real clients, and writes the table.
"""

from __future__ import annotations

import enum
import functools
import re
import textwrap
from itertools import groupby
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from humanmcp.protocol.diagnostics.model import Diagnostic


class Reaction(enum.StrEnum):
    """What a client does with the line, the mildest first."""

    TAKEN = "taken"
    """Its caller gets the response."""
    ENDED = "ended"
    """It ends the session afterwards."""
    FAILED = "failed"
    """Its caller gets an error at once."""
    SILENT = "silent"
    """It drops the line, and its caller waits until the timeout."""


_ORDER: Final = tuple(Reaction)

CLIENTS: Final = (
    ("TypeScript SDK", "1.32.2", "2026-11-28"),
    ("TypeScript SDK", "2.4.0", "2026-11-28"),
    ("Python SDK", "1.30.0", "2026-11-28"),
    ("Python SDK", "2.3.0", "2026-11-28"),
)
"""The measured clients: name, version, and the day. A column of the table each."""

MEASURED: Final = """
R07 | silent silent taken taken
R07 form=error | silent silent failed failed
R17 | silent silent taken taken
R05 null=error | silent silent taken taken
R05 null=result | silent silent failed failed
R05 | silent silent failed failed
R01 | silent silent silent silent
R04 | taken taken taken taken
R16 | taken taken silent silent
J10 | silent silent taken taken
J46 | taken taken taken taken
J09 | taken taken taken taken
J23 | taken taken silent silent
N11 | silent silent silent silent
R12 | silent silent silent silent
N01 | silent silent silent silent
N54 | silent silent silent silent
N55 | silent silent silent silent
N50 | silent silent silent silent
N51 | silent silent silent silent
N49 | silent silent silent silent
N52 | silent silent silent silent
N53 | taken taken failed silent
N05 | silent silent silent silent
N06 | silent silent silent silent
R20 | silent silent silent silent
R18 | silent silent silent silent
R08 form=text | silent silent failed failed
R08 form=word | silent silent silent silent
R08 form=fraction | silent silent silent silent
R19 | silent silent silent silent
R09 | silent silent silent silent
R56 | failed failed failed failed
R11 | failed failed failed failed
M01 got=text | failed failed failed failed
  /result/content /result/completion/values /result/resources/*/annotations/audience
  /result/content/*/annotations/audience /result/tools
M01 got=object | failed failed failed failed
  /result/content /result/tools /result/messages /result/prompts/*/arguments /result/prompts
  /result/resources /result/contents /result/resourceTemplates /result/tools/*/icons
M09 | taken taken failed failed
  /result/content
M09 | failed failed failed failed
  /result/content/*/text /result/content/*/mimeType /result/tools /result/tools/*/inputSchema
  /result/tools/*/name /result/completion/values /result/completion /result/serverInfo/version
  /result/capabilities /result/serverInfo/name /result/protocolVersion /result/serverInfo
  /result/messages /result/messages/*/role /result/messages/*/content
  /result/messages/*/content/text /result/prompts/*/arguments/*/name /result/prompts
  /result/prompts/*/name /result/resources/*/name /result/resources /result/resources/*/uri
  /result/contents/*/uri /result/contents /result/resourceTemplates
  /result/resourceTemplates/*/name /result/resourceTemplates/*/uriTemplate /result/content/*/name
  /result/content/*/data /result/content/*/resource /result/content/*/resource/uri
  /result/content/*/uri /result/tools/*/icons/*/src
M02 | failed failed failed failed
  /result/content/*/type /result/messages/*/content/type
M20 got=null | failed failed taken taken
  /result/content/*/annotations /result/tools/*/title /result/tools/*/annotations
  /result/nextCursor /result/structuredContent /result/completion/total /result/completion/hasMore
  /result/instructions /result/capabilities/tools /result/capabilities/tools/listChanged
  /result/description /result/prompts/*/arguments /result/prompts/*/arguments/*/required
  /result/resources/*/mimeType /result/resources/*/size /result/resources/*/annotations
  /result/resources/*/annotations/lastModified /result/contents/*/mimeType
  /result/tools/*/inputSchema/properties /result/tools/*/inputSchema/required
  /result/tools/*/outputSchema /result/tools/*/description
  /result/tools/*/annotations/readOnlyHint /result/tools/*/icons /result/tools/*/_meta
  /result/tools/*/execution /result/capabilities/resources /result/capabilities/prompts
  /result/capabilities/logging /result/capabilities/completions /result/capabilities/experimental
M20 got=null | failed failed failed failed
  /result/isError
M20 got=null | silent silent taken taken
  /result/_meta
M17 got=text | failed failed taken taken
  /result/isError /result/completion/hasMore /result/capabilities/tools/listChanged
  /result/capabilities/resources/subscribe /result/capabilities/prompts/listChanged
  /result/prompts/*/arguments/*/required /result/tools/*/annotations/readOnlyHint
M17 got=number | failed failed taken taken
  /result/isError /result/tools/*/annotations/destructiveHint
M29 | failed failed taken taken
  /result/content/*/data /result/contents/*/blob /result/content/*/resource/blob
M30 | failed failed taken taken
  /result/content/*/data
M16 got=list | failed failed failed failed
  /result/structuredContent /result/completion /result/capabilities /result/capabilities/tools
  /result/messages/*/content /result/tools/*/inputSchema /result/tools/*/annotations
  /result/tools/*/_meta
M16 got=text | failed failed failed failed
  /result/structuredContent /result/serverInfo /result/messages/*/content /result/messages/*
  /result/prompts/* /result/prompts/*/arguments/* /result/resources/* /result/contents/*
  /result/content/* /result/content/*/resource /result/tools/* /result/tools/*/inputSchema
  /result/tools/*/icons/*
M15 got=number | failed failed failed failed
  /result/content/*/text /result/tools/*/name /result/completion/values/* /result/instructions
  /result/serverInfo/version /result/protocolVersion /result/serverInfo/name
  /result/serverInfo/title /result/messages/*/content/text /result/description
  /result/prompts/*/name /result/prompts/*/description /result/prompts/*/title
  /result/prompts/*/arguments/*/name /result/prompts/*/arguments/*/description /result/nextCursor
  /result/resources/*/uri /result/resources/*/name /result/resources/*/mimeType
  /result/resources/*/description /result/resources/*/title /result/contents/*/text
  /result/contents/*/uri /result/contents/*/blob /result/contents/*/mimeType
  /result/resourceTemplates/*/uriTemplate /result/resourceTemplates/*/name /result/content/*/data
  /result/content/*/mimeType /result/content/*/resource/uri /result/content/*/resource/text
  /result/content/*/uri /result/content/*/name /result/tools/*/description /result/tools/*/title
  /result/tools/*/annotations/title /result/tools/*/icons/*/src
M15 got=object | failed failed failed failed
  /result/content/*/text /result/nextCursor
M15 got=list | failed failed failed failed
  /result/tools/*/description
R07 form=request | silent silent silent silent
M31 | taken taken ? taken
  /result/content/*/uri
M37 | failed ? taken taken
  /result
M12 | taken taken taken taken
  /result/* /result/content/*/* /result/tools/*/*
M58 | failed failed failed failed
  /result
M06 | failed failed failed failed
  /result/structuredContent
M111 | failed taken taken taken
  /result/structuredContent
M92 member=outputSchema rule=broken_reference | failed taken taken taken
  /result/tools/*/outputSchema
M92 member=inputSchema rule=broken_reference | taken taken taken taken
  /result/tools/*/inputSchema
M03 | failed failed taken failed
  /result/tools/*/inputSchema/type
M44 | failed failed failed failed
  /result/protocolVersion
N30 | taken taken taken taken
N56 | taken taken taken taken
N44 | taken taken taken taken
N45 | taken taken taken taken
N08 | taken taken taken taken
N07 | taken taken taken taken
M18 form=integer | failed failed taken taken
  /result/completion/total /result/resources/*/size /result/content/*/size
M16 got=null | failed failed failed failed
  /result/completion /result/capabilities /result/serverInfo /result/messages/*/content
  /result/content/* /result/tools/* /result/tools/*/inputSchema
M01 got=null | failed failed failed failed
  /result/completion/values /result/messages /result/prompts /result/resources /result/contents
  /result/content /result/tools
M18 form=number | failed failed failed failed
  /result/completion/total
M18 form=word | failed failed failed failed
  /result/completion/total /result/resources/*/size /result/content/*/size
M17 form=word got=text | failed failed failed failed
  /result/completion/hasMore /result/prompts/*/arguments/*/required /result/isError
  /result/tools/*/annotations/readOnlyHint
M11 | taken taken taken taken
  /result/completion/* /result/capabilities/tools/* /result/resources/*/* /result/*
M25 | failed failed taken taken
  /result/completion/values
M16 got=boolean | failed failed failed failed
  /result/capabilities/tools /result/capabilities/resources /result/capabilities/prompts
  /result/capabilities/logging /result/capabilities/experimental /result/structuredContent
M15 got=null | failed failed failed failed
  /result/protocolVersion /result/serverInfo/version /result/resources/*/uri
  /result/resources/*/name /result/contents/*/text /result/content/*/text /result/tools/*/name
M16 got=number | failed failed failed failed
  /result/capabilities /result/resources/*/annotations /result/content/*
  /result/content/*/annotations /result/content/*/_meta /result/structuredContent
  /result/tools/*/_meta /result/tools/*/outputSchema /result/tools/*/annotations
  /result/tools/*/execution
M10 | failed failed failed failed
  /result/protocolVersion /result/serverInfo /result/content/*/mimeType
  /result/tools/*/inputSchema
M21 | failed failed failed failed
  /result/messages/*/role /result/resources/*/annotations/audience/*
  /result/content/*/annotations/audience/* /result/tools/*/execution/taskSupport
M26 | failed failed failed failed
  /result/messages/*/content /result/content/*
M31 | taken taken failed taken
  /result/resources/*/uri
M19 form=fraction | failed failed taken taken
  /result/resources/*/annotations/priority /result/content/*/annotations/priority
M15 got=number | failed failed taken failed
  /result/resources/*/annotations/lastModified /result/tools/*/inputSchema/required/*
M18 form=number | taken taken failed failed
  /result/resources/*/size /result/content/*/size
M23 | failed failed failed failed
  /result/resources/*/annotations/priority /result/content/*/annotations/priority
M19 form=word | failed failed failed failed
  /result/resources/*/annotations/priority /result/content/*/annotations/priority
M33 | failed failed taken taken
  /result/resources/*/annotations/lastModified
M27 | failed failed failed failed
  /result/contents/* /result/content/*/resource
M01 got=number | failed failed failed failed
  /result/content
M17 form=word got=number | failed failed failed failed
  /result/isError
M17 form=word got=list | failed failed failed failed
  /result/isError
M17 form=word got=object | failed failed failed failed
  /result/isError
M16 got=number | silent silent failed failed
  /result/_meta
M16 got=list | silent silent failed failed
  /result/_meta
M16 got=boolean | failed taken taken taken
  /result/tools/*/inputSchema/properties/* /result/tools/*/outputSchema/properties/*
M09 | failed failed taken failed
  /result/tools/*/inputSchema/type /result/tools/*/outputSchema/type
M01 got=text | failed failed taken failed
  /result/tools/*/inputSchema/required
M21 | failed failed taken failed
  /result/tools/*/outputSchema/type
M16 got=text | failed taken taken failed
  /result/tools/*/inputSchema/properties/* /result/tools/*/outputSchema/properties/*
M16 got=list | failed failed taken failed
  /result/tools/*/inputSchema/properties
M16 got=text | failed failed taken failed
  /result/tools/*/inputSchema/properties
M16 got=number | failed taken taken failed
  /result/tools/*/inputSchema/properties/*
M16 got=list | taken taken taken failed
  /result/tools/*/inputSchema/properties/*
M16 got=null | failed taken taken failed
  /result/tools/*/inputSchema/properties/*
M01 got=object | failed failed taken failed
  /result/tools/*/inputSchema/required
"""


@functools.cache
def measured() -> Mapping[str, tuple[Reaction | None, ...]]:
    """Return the rows of the table by their `head`; None is unknown."""
    found: dict[str, tuple[Reaction | None, ...]] = {}
    for row in re.split(r"\n(?=\S)", MEASURED.strip()):
        problem, _, rest = row.partition("|")
        told, *places = rest.split("\n", 1)
        code, *details = problem.split()
        reactions = tuple(None if one == "?" else Reaction(one) for one in told.split())
        for place in " ".join(places).split() or [""]:
            found[" ".join(filter(None, (code, place, *details)))] = reactions
    return found


def table(rows: Mapping[str, str]) -> str:
    """Write rows, from their `head` to what each client did, as `measured` reads them."""
    places: dict[str, list[str]] = {}
    for one, told in rows.items():
        code, *rest = one.split()
        place = rest.pop(0) if code.startswith("M") else ""
        places.setdefault(f"{' '.join((code, *rest))} | {told}", []).append(place)
    lines = (
        f"{row}\n{textwrap.fill(' '.join(at), 98, initial_indent='  ', subsequent_indent='  ')}"
        for row, at in places.items()
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


_TELLS: Final = frozenset({"form", "got", "member", "null"})
"""The details that tell cases of one code apart."""
_ANY_NAME: Final = frozenset({"properties", "$defs", "_meta"})
"""The members whose members have names of somebody's own."""
_WITHIN: Final = ("structuredContent", "inputSchema", "outputSchema")


def head(diagnostic: Diagnostic) -> str:
    """Return the beginning of the row of a problem: `M15 /result/content/*/text got=number`.

    Indexes and names of somebody's own are `*`. The place of what is missing is where it would be.
    Envelopes and JSON have no place: it is the same everywhere.
    """
    detail = dict(diagnostic.detail)
    code = diagnostic.code
    if not code.startswith("M"):
        return " ".join((code, *_details(detail, _TELLS - {"got"})))
    steps = diagnostic.pointer.split("/")[1:]
    if code == "M10":  # it is misspelt
        steps.pop()
    if code in ("M09", "M10"):
        steps.append(detail.get("key", ""))
    elif code in ("M11", "M12"):
        steps[-1:] = ["*"]
    if code in ("M06", "M92", "M111"):  # anywhere in a schema, or in what a schema describes
        steps = steps[: next((at for at, one in enumerate(steps, 1) if one in _WITHIN), None)]
        told = {"member", "rule"} if code == "M92" else set[str]()
        return " ".join((code, _place(steps), *_details(detail, told)))
    return " ".join((code, _place(steps), *_details(detail, _TELLS)))


def _place(steps: Sequence[str]) -> str:
    above = ("", *steps)
    names = zip(above, steps, strict=False)
    return "".join("/*" if one.isdigit() or up in _ANY_NAME else f"/{one}" for up, one in names)


def _details(detail: Mapping[str, str], told: Collection[str]) -> tuple[str, ...]:
    named = {name: detail[name].replace(" ", "_") for name in sorted(told) if detail.get(name)}
    return tuple(f"{name}={value}" for name, value in named.items())


def reactions_to(diagnostics: Iterable[Diagnostic]) -> Mapping[int, Reaction]:
    """Return what each client does with a line that has these problems, by its column.

    The gravest reaction counts. A client of which too little is known is left out.
    """
    gravest: dict[int, Reaction] = {}
    unknown: set[int] = set()
    for diagnostic in diagnostics:
        row = measured().get(head(diagnostic), (None,) * len(CLIENTS))
        for column, reaction in enumerate(row):
            if reaction is None:
                unknown.add(column)
            else:
                gravest[column] = max(gravest.get(column, reaction), reaction, key=_ORDER.index)
    mild = {column for column in unknown if gravest.get(column) is Reaction.TAKEN}
    return {column: told for column, told in gravest.items() if column not in mild}


def in_detail(reactions: Mapping[int, Reaction]) -> str:
    """Write reactions for a problem's sentence: `silent=TypeScript SDK;taken=Python SDK 2.3.0`.

    A client whose measured versions all do the same is named without a version.
    """
    ordered = sorted(reactions, key=lambda column: (-_ORDER.index(reactions[column]), column))
    groups = groupby(ordered, key=reactions.__getitem__)
    return ";".join(f"{told.value}={', '.join(_names(tuple(columns)))}" for told, columns in groups)


def _names(columns: tuple[int, ...]) -> Iterable[str]:
    for name in dict.fromkeys(CLIENTS[column][0] for column in columns):
        every = [column for column, client in enumerate(CLIENTS) if client[0] == name]
        here = [column for column in every if column in columns]
        if here == every:
            yield name
        else:
            yield from (f"{name} {CLIENTS[column][1]}" for column in here)

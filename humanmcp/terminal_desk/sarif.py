"""What `humanmcp check` found, as SARIF 2.1.0: what code review shows at its line and column.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

from humanmcp import __version__
from humanmcp.common import published
from humanmcp.locales import describe_or_code, sentences_of
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity, line_and_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from humanmcp.protocol.validation.whole_conversation import Judged

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
SPECIFICATION: Final = "https://modelcontextprotocol.io/specification/"
_LEVELS: Final = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.HINT: "note",
}


class CheckedFile(NamedTuple):
    """A file and what was found in it.

    `has_columns` is False where its messages stand inside of something else, as in a transcript.
    """

    name: str
    judged: tuple[Judged, ...]
    has_columns: bool = True

    def found(self) -> Iterator[tuple[Judged, Diagnostic]]:
        """List each problem, with the message that has it; what is sent as it is meant is none."""
        for one in self.judged:
            for diagnostic in one.diagnostics:
                if diagnostic.severity is not Severity.REPAIRED:
                    yield one, diagnostic


def log(files: Sequence[CheckedFile], language: str) -> dict[str, Any]:
    """Make the log of one run over these files."""
    first = {
        diagnostic.code: diagnostic for file in reversed(files) for _, diagnostic in file.found()
    }
    rules = [_rule(first[code], language) for code in sorted(first)]
    indexes = {rule["id"]: index for index, rule in enumerate(rules)}
    driver = {"name": published.NAME, "version": __version__, "rules": rules}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "language": language,
                "columnKind": "unicodeCodePoints",
                "results": [
                    {
                        "ruleIndex": indexes[diagnostic.code],
                        **_result(file, one, diagnostic, language),
                    }
                    for file in files
                    for one, diagnostic in file.found()
                ],
            }
        ],
    }


def _rule(diagnostic: Diagnostic, language: str) -> dict[str, Any]:
    """Describe a kind of problem. Its page is ours, or that of the specification until then."""
    sentences = sentences_of("problem", language)
    says = " ".join(sentences[diagnostic.code].split())
    rule: dict[str, Any] = {
        "id": diagnostic.code,
        "shortDescription": {"text": says},
        "helpUri": published.page_of(diagnostic.code) or diagnostic.page or SPECIFICATION,
        "defaultConfiguration": {"level": _LEVELS[diagnostic.severity]},
    }
    if why := sentences.get(f"{diagnostic.code}.why"):
        rule["fullDescription"] = {"text": " ".join(why.split())}
    return rule


def _result(
    file: CheckedFile, one: Judged, diagnostic: Diagnostic, language: str
) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _address(file.name)},
            "region": _region(file, one, diagnostic),
        }
    }
    if diagnostic.pointer:
        location["logicalLocations"] = [
            {"fullyQualifiedName": diagnostic.pointer, "kind": "member"}
        ]
    return {
        "ruleId": diagnostic.code,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": describe_or_code(diagnostic, language)},
        "locations": [location],
    }


def _address(name: str) -> str:
    """Return a file's name as a relative address; as an absolute one outside of this folder."""
    path, here = Path(name).absolute(), Path.cwd()
    if path.is_relative_to(here):
        return quote(path.relative_to(here).as_posix())
    return PurePath(path).as_uri()


def _region(file: CheckedFile, one: Judged, diagnostic: Diagnostic) -> dict[str, int]:
    """Return where a problem stands: lines and columns count from 1, the end is behind it."""
    if not file.has_columns or not diagnostic.line:
        return {"startLine": one.line}
    end_line, end_column = line_and_column(one.text, max(diagnostic.end, diagnostic.start + 1))
    return {
        "startLine": one.line + diagnostic.line - 1,
        "startColumn": diagnostic.column,
        "endLine": one.line + end_line - 1,
        "endColumn": end_column,
    }

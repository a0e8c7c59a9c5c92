"""What the core says of a great many texts: each problem, its place, its words and its fix.

    python -m tools.verdicts.recording                  write the files of `verdicts/` anew
    python -m tools.verdicts.recording --compare HEAD   show each line that differs now

A recording has a line for each text (what was done to a right one) and lines for what is said of
it. A line's kind is the problems that it names, or else its first word. A file of `verdicts/` keeps
the first three lines of each kind, with the lines above them, and a digest of the others. Names in
the code (of fields, of classes) are no part of a digest.

After a change that you want, read what `--compare` shows, then write the files anew. When a rebase
stops at a conflict in `verdicts/`, do not edit it: resolve everything else, write the files anew,
`git add tests/protocol/verdicts`, `git rebase --continue`.
"""

import argparse
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any, Final

from humanmcp import __version__
from humanmcp.protocol.answer_book import book_format
from humanmcp.protocol.answer_book.book_entry import BookEntry
from humanmcp.protocol.answer_book.book_format import BookError
from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
from humanmcp.protocol.diagnostics.model import Diagnostic, TextForm, Verdict
from humanmcp.protocol.json import jsonrpc, tree
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.tables import examples, methods
from humanmcp.protocol.tables.schemas import Schemas
from humanmcp.protocol.validation import check, faults, starting_draft
from tests.support import damaged_answers
from tests.support.verdicts import R2024, R2025, R2025_03, R2025_06, R2026, asked, stating
from tools.verdicts import almost_json, conversations, decisions, result_cases

VERSIONS: Final = (R2024, R2025_03, R2025_06, R2025, R2026)
METHODS: Final = {**methods.REQUESTS, **methods.NOTIFICATIONS}
ALL: Final[dict[str, Any]] = {"extensions": {one.id: {} for one in methods.EXTENSIONS}} | {
    name: {} for name in ("roots", "sampling", "elicitation")
}
LONGEST: Final = 240


# -- how it is written ----------------------------------------------------------------------------


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _short(text: str) -> str:
    """Return a text in quotes; of a long one the beginning, the end and its length."""
    if len(text) > LONGEST:
        half = LONGEST // 2
        text = f"{text[:half]}…{len(text)}…{text[-half:]}"
    return json.dumps(text, ensure_ascii=not text.isprintable())


def problem(found: Diagnostic) -> str:
    """Write a problem in a line."""
    words = " ".join(f"{name}={_short(said)}" for name, said in found.detail)
    times = f" x{found.times}" if found.times > 1 else ""
    page = found.page.rpartition("/")[2]
    where = json.dumps(found.pointer or "/", ensure_ascii=False)[1:-1]
    said = f"{found.severity.value} {found.code}{times} {where} "
    said += f"{found.start}-{found.end} {found.line}:{found.column} {words} <{page}>"
    if found.fix is not None:
        edits = " ".join(f"{one.start}-{one.end}:{_short(one.new)}" for one in found.fix.edits)
        said += f" | {found.fix.label} {found.fix.applicability.value} {edits}"
    return said


def _brief(found: Diagnostic) -> str:
    """Write a problem without its place in the text."""
    words = " ".join(f"{name}={_short(said)[:80]}" for name, said in found.detail)
    fix = found.fix and " ".join((found.fix.label, *(one.new[:60] for one in found.fix.edits)))
    return f"{found.severity.value} {found.code} {found.pointer} {words} {fix!r}"


def verdict(judged: Verdict, *, lines: bool = False) -> Iterator[str]:
    """Write a verdict: its problems, and with `lines` what goes out."""
    for one in judged.diagnostics:
        yield f"    {problem(one)}"
    yield f"    {'sendable' if judged.sendable else 'blocked'} {judged.kind and judged.kind.name}"
    if lines:
        yield f"    = {_short(judged.line or '')} {_short(judged.forced or '')}"


# -- what is done to a right value -----------------------------------------------------------------


def _places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:  # noqa: ANN401 - any JSON value
    inner: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    for key, part in inner:
        yield (*path, key)
        yield from _places(part, (*path, key))


def _others(value: object) -> tuple[object, ...]:
    match value:
        case bool():
            return ("true", None)
        case str():
            return (7, "", None)
        case int() | float():
            return (str(value), -1, 1.5)
        case list():
            return ({}, "x", [*value, *value[:1]])
        case dict():
            return ([], "x", {**value, "extra": 1})
        case _:
            return ("x",)


def damaged(value: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any JSON value
    """Yield a value as it is, and with one thing wrong with it at each place."""
    yield "as it is", value
    for path in _places(value):
        *above, last = path
        at = "/".join(map(str, path))
        was = tree.follow(value, *path)
        whole, place = _copied(value, above)
        place.pop(last)
        yield f"{at} gone", whole
        if isinstance(last, str):
            spelt = last.upper() if last.islower() else last.lower()
            place[spelt] = was
            yield f"{at} as {spelt}", whole
        for other in _others(was):
            whole, place = _copied(value, above)
            place[last] = other
            yield f"{at} = {_json(other)[:40]}", whole


def _copied(value: Any, above: list[str | int]) -> tuple[Any, Any]:  # noqa: ANN401 - any JSON value
    """Return a copy, and the place in it that a path leads to."""
    whole = deepcopy(value)
    return whole, tree.follow(whole, *above)


def _params(method: str, version: str) -> dict[str, Any]:
    made = examples.example_of(methods.of(method).params, version, usual=True)
    params = made if isinstance(made, dict) else {}
    return params | ({"_meta": stating(ALL)} if version == R2026 else {})


def _exchange(method: str, version: str) -> Exchange:
    return asked(method, _params(method, version), version=version)


def _message(**members: object) -> Message:
    found = jsonrpc.read(_json({"jsonrpc": "2.0", **members}).encode())
    assert isinstance(found, Message), found
    return found


# -- what is written ------------------------------------------------------------------------------


def answers() -> Iterator[str]:
    """Yield what is said of each result with one thing wrong, in both seats."""
    for version in (R2025, R2026):
        for name, record in methods.REQUESTS.items():
            if not record.is_in(version):
                continue
            exchange = _exchange(name, version)
            right = examples.example_of(record.result_in(version), version, usual=True)
            yield f"{name} {version}"
            for what, value in damaged(right):
                yield f"  {what}"
                yield from verdict(check.check(exchange, _json(value), TextForm.RESULT))


def observed() -> Iterator[str]:
    """Yield what is said of each result that passes, of a version with few of them."""
    for name, record in methods.REQUESTS.items():
        if not record.is_in(R2025_06):
            continue
        exchange = _exchange(name, R2025_06)
        right = examples.example_of(record.result_in(R2025_06), R2025_06, usual=True)
        yield f"{name} {R2025_06}"
        for what, value in damaged(right):
            if isinstance(value, dict):
                passed = _message(id=3, result=value)
                found = check.review(exchange, passed, strict="gone" in what)
                yield f"  {what}"
                yield from (f"    {problem(one)}" for one in found)


def results() -> Iterator[str]:
    """Yield what is said of results with much in them, and of words as the result of a tool."""
    for number, case in enumerate(result_cases.CASES, 1):
        for version in case.versions:
            exchange = case.exchange(version)
            yield f"{number} {case.method} {version}"
            usual: set[str] = set()
            for what, value in damaged(case.result):
                text = case.text(value, version)
                judged = check.check(exchange, text, TextForm.RESULT, case.negotiated)
                found = {_brief(one): None for one in judged.diagnostics}
                yield f"  {what}{'' if judged.sendable else ' blocked'}"
                yield from (f"    {one}" for one in found if one not in usual)
                usual = usual or set(found)
            for text, form in result_cases.PLAIN:
                yield f"  {text!r} {form.value}"
                judged = check.check(exchange, text, form, case.negotiated)
                yield from verdict(judged, lines=True)


def requests() -> Iterator[str]:
    """Yield what is said of what a client sends with one thing wrong with its parameters."""
    negotiated = NegotiatedState(
        initialized=True, server_capabilities={"tools": {}}, tools={"weather": {}}
    )
    for version in (R2025, R2026):
        for name, record in METHODS.items():
            if version not in record.to_server:
                continue
            own = {"id": 3} if record.result else {}
            yield f"{name} {version}"
            for what, params in damaged(_params(name, version)):
                if what.startswith("_meta/") and name != "tools/call":
                    continue  # it is judged in one way
                found = check.remarks(
                    _message(**own, method=name, params=params), version, negotiated
                )
                yield f"  {what}"
                yield from (f"    {problem(one)}" for one in found)


def outgoing() -> Iterator[str]:
    """Yield what is said of what a server says of its own with one thing wrong with it."""
    for version in (R2025, R2026):
        for name, record in METHODS.items():
            if version not in record.to_client:
                continue
            own = {"id": 3} if record.result else {}
            params = examples.example_of(record.params, version, usual=True)
            said = {"jsonrpc": "2.0", **own, "method": name, "params": params}
            yield f"{name} {version}"
            for what, value in damaged(said):
                yield f"  {what}"
                judged = check.check_outgoing(
                    _json(value), version, NegotiatedState(client_capabilities=ALL)
                )
                yield from verdict(judged, lines=what.count("/") == 0)


def misdirected() -> Iterator[str]:
    """Yield what is said of what a server says of its own that only a client may say, or nobody."""
    for version in VERSIONS:
        for name, own in product((*METHODS, "x/y", "ping2", "Tools/List", ""), ({}, {"id": 3})):
            if not own or version not in methods.of(name).to_client:
                text = _json({"jsonrpc": "2.0", **own, "method": name, "params": {}})
                for known in (
                    NegotiatedState(),
                    NegotiatedState(client_capabilities=ALL, server_capabilities={}),
                ):
                    yield f"{version} {text}"
                    found = check.check_outgoing(text, version, known, initialized=not own)
                    yield from verdict(found)


def envelopes() -> Iterator[str]:
    """Yield what is said of whole answers with one thing wrong with what stands around them."""
    text = {"content": [{"type": "text", "text": "x"}]}
    error = {"code": -32602, "message": "no", "data": {"a": 1}}
    right = [
        {"jsonrpc": "2.0", "id": 3, "result": text},
        {"jsonrpc": "2.0", "id": 3, "error": error},
        {"jsonrpc": "2.0", "id": 3, "result": text, "error": error},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "result": text},
        {"result": error},
        {"error": text},
        error,
        text,
        text["content"],
        "words",
    ]
    for token, version in (("3", R2025), ('"a"', R2026)):
        exchange = asked("tools/call", {"name": "t"}, token=token, version=version)
        for value in right:
            yield f"{token} {version} {_json(value)}"
            for what, other in damaged(value):
                yield f"  {what}"
                yield from verdict(check.check(exchange, _json(other)), lines=True)


def errors() -> Iterator[str]:
    """Yield what is said of the codes of errors, in answers to different requests."""
    codes = (-32700, -32600, -32601, -32602, -32603, -32000, -32002, -32020, -32021, -32022)
    for version in (R2025, R2026):
        for method in ("tools/call", "resources/read", "server/discover", "x/y"):
            yield f"{method} {version}"
            exchange = asked(method, {"name": "t"}, version=version)
            for code in (*codes, -32042, -32100, 0, 1, 404, 99999999999999999999):
                text = _json({"code": code, "message": "no"})
                yield f"  {code}"
                yield from verdict(check.check(exchange, text, TextForm.ERROR))


def _typed_texts() -> Iterator[tuple[str, str, str]]:
    for number, one in enumerate(damaged_answers.plainly()):
        if number % 3 == 0:
            yield one.kind, one.method, one.text
    for number, one in enumerate(damaged_answers.carelessly()):
        if number % 13 == 0:
            yield one.kind, one.method, one.text
    short = '{"result":{"content":[{"type":"text","text":"a\\n b"}],"n":[-1.5,true,null]}}'
    for at in range(len(short)):
        yield f"cut at {at}", "tools/call", short[:at]
        yield f"without {at}", "tools/call", short[:at] + short[at + 1 :]
        char = "'\uff0c}x/\\"[at % 6]
        yield f"{char!r} at {at}", "tools/call", short[:at] + char + short[at:]


def repairs() -> Iterator[str]:
    """Yield what becomes of texts that are almost JSON."""
    for kind, method, text in _typed_texts():
        yield f"{method} {kind!r}"
        judged = check.check(asked(method, {"name": "t"}), text)
        yield from verdict(judged, lines=True)


def drafts() -> Iterator[str]:
    """Yield the text that a person starts from, for each request of each version."""
    for version in VERSIONS:
        for name, record in methods.REQUESTS.items():
            if record.is_in(version):
                exchange = _exchange(name, version)
                yield f"{name} {version}"
                yield f"  {_json(json.loads(starting_draft.start(exchange)))}"
                yield f"  {_json(starting_draft.calls(exchange))}"
                for variant, text in starting_draft.variants(exchange).items():
                    yield f"  {variant}: {_json(json.loads(text))}"
    wrong: tuple[dict[str, Any], ...] = (
        {},
        {"_meta": {}},
        {"_meta": {**stating(), "x": 1}},
        {"name": "t"},
    )
    for params in wrong:
        for version in (R2025, R2026, "2099-01-01"):
            yield f"{_json(params)} {version}"
            for method in ("tools/call", "x/y", "elicitation/create"):
                exchange = asked(method, params, version=version)
                yield f"  {_json(json.loads(starting_draft.start(exchange, language='ja')))}"


def broken() -> Iterator[str]:
    """Yield answers that are broken on purpose, in each of the ways."""
    for method in ("tools/call", "initialize"):
        for token in ("3", '"7"'):
            for version in (R2025, R2026):
                exchange = asked(method, _params(method, version), token=token, version=version)
                text = starting_draft.start(exchange)
                yield f"{method} {version} {token}"
                for fault in faults.faults(exchange):
                    for start in (text, "words", '{"error":{"code":1,"message":"x"}}'):
                        faulty = faults.with_fault(exchange, start, fault)
                        yield f"  {fault.value}: {_short(faulty)}"


def typed() -> Iterator[str]:
    """Yield the schemas that editors are given, of each version."""
    for version in VERSIONS:
        schemas = Schemas(version)
        tools = {"t": {"type": "object", "properties": {"a": {"type": "string"}}}}
        yield f"{version} {_json(schemas.requests(tools))}"
        for name, record in methods.REQUESTS.items():
            if record.is_in(version):
                result = record.result_in(version)
                yield f"  {name} {_json(Schemas(version).answer(result, {'x': {}})['properties'])}"


BOOK: Final[dict[str, Any]] = {
    "server": {
        "name": "s", "version": "1", "title": "S", "instructions": "Ask.",
        "protocol_versions": [R2025], "capabilities": {"logging": {}}, "progress": True,
    },
    "wait": {"*": 1.5, "tools/list": 0, "ping": False},
    "tools": [{"name": "t", "inputSchema": {"type": "object"}}],
    "prompts": [{"name": "p"}],
    "resources": [{"uri": "file:///a", "name": "a"}],
    "rules": [
        {"tool": "t", "where": {"a": 1}, "text": "{params.arguments.a}", "after": 2, "times": 3},
        {"tool": "t*", "error": {"code": 1, "message": "x"}, "inputResponses": True, "on": False},
        {
            "method": "x/y", "result": {"a": 1}, "fill": False, "cycle": True, "requestState": "s",
            "notify": [{"progress": 1, "total": 2, "message": "m", "after": 1}, {"log": "x"},
                       {"log": 1, "level": "error", "logger": "l"}, {"list_changed": "tools"},
                       {"updated": "u"}, {"method": "x", "params": {"a": 1}}],
            "then": [{"text": "b"}, {"tool_error": "c", "after": 1}, {"do": "hold"}],
        },
        {"resource": "file:///{a}", "text": "x", "fault": "wrong-id", "once": True},
        {
            "prompt": "p", "text": "{ask.q.x}", "contains": {"a": "x"}, "client_has": ["roots"],
            "ask": [{"q": {"method": "roots/list", "params": {"a": 1}}}],
        },
        {"tool": "u", "do": "forward"},
        {"tool": "v", "text": "{}", "ask": {"q": {"method": "roots/list"}},
         "add": {"tools": [{"name": "w"}]}, "remove": {"tools": ["t"], "prompts": ["p"]}},
    ],
}  # fmt: skip
"""A book with something of everything."""


def books() -> Iterator[str]:
    """Yield what is read of an answer book with one thing wrong with it."""
    right = set(_read(BOOK))
    for what, value in damaged(BOOK):
        yield what
        yield from (f"  {one}" for one in _read(value) if one not in right or what == "as it is")


def _read(book: dict[str, Any]) -> list[str]:
    try:
        read = book_format.parse(book)
    except BookError as error:
        return [f"{error.place} {error.code} {error.fillings.get('key', '')}".rstrip()]
    named = (f"{name} = {said!r}" for name, said in read._asdict().items() if name != "rules")
    return [*named, *map(_rule, read.entries)]


def _rule(rule: BookEntry) -> str:
    """Write what a rule has beside the usual."""
    usual = BookEntry(text="", form=TextForm.TEXT)
    own = {name: said for name, said in rule._asdict().items() if said != getattr(usual, name)}
    own["then"] = " / ".join(map(_rule, rule.then))
    return ", ".join(f"{name}={said!r}" for name, said in own.items() if said)


EVERY: Final[tuple[Callable[[], Iterator[str]], ...]] = (
    *(
        answers,
        misdirected,
        results,
        result_cases.counted,
        observed,
        requests,
        outgoing,
        envelopes,
        errors,
        repairs,
        drafts,
        broken,
        typed,
    ),
    *(
        books,
        decisions.timeouts_of_clients,
        decisions.decisions,
        decisions.rules,
    ),
    *(
        decisions.schemas,
        decisions.headers,
        decisions.repeated,
        decisions.texts,
    ),
    *(almost_json.scalars, almost_json.marks, almost_json.around, almost_json.words),
    *(almost_json.cut, conversations.conversations, conversations.questions),
    *(conversations.held_messages, conversations.addresses),
    *(conversations.protocol, conversations.relations),
    conversations.declarations,
)


# -- what is kept of it ---------------------------------------------------------------------------

FILES: Final = Path(__file__).parents[2] / "tests" / "protocol" / "verdicts"
BUILD: Final = Path("build/verdicts")
KEPT: Final = 3
"""How many lines of each kind are kept as text."""
_PROBLEM: Final = re.compile(r"\b[JMR]\d\d\b")
_VALUE: Final = re.compile(r"""b?"(?:[^"\\]|\\.)*"|b?'(?:[^'\\]|\\.)*'|[(),\[\]{}=:]""")
_WORD: Final = re.compile("[A-Za-z_]{2,}")
_NAME: Final = re.compile(r"\b\w+=|\b[A-Z]\w+(?=\()|<\w+\.\w+: |\bKind\.")


def said(each: Callable[[], Iterator[str]]) -> Iterator[str]:
    """Yield the lines of one recording; a release changes none."""
    return (line.replace(__version__, "VERSION") for line in each())


def recorded(each: Callable[[], Iterator[str]]) -> list[str]:
    """Return what is kept of one recording: lines, and a digest of the others of each kind."""
    whole = list(said(each))
    indents = [len(line) - len(line.lstrip(" ")) for line in whole]
    kept: dict[int, str] = {}
    above: dict[int, tuple[int, str]] = {}
    lines: Counter[str] = Counter()
    others: defaultdict[str, list[str]] = defaultdict(list)
    for number, (line, indent, below) in enumerate(
        zip(whole, indents, [*indents[1:], 0], strict=True)
    ):
        above = {left: other for left, other in above.items() if left < indent}
        above[indent] = number, line
        if below > indent:
            continue  # it stands above others, and is kept with them
        kind = _kind(line)
        lines[kind] += 1
        if lines[kind] <= KEPT:
            kept |= dict(above.values())
        else:
            others[kind] += (_NAME.sub("", one) for _, one in above.values())
    return [kept[number] for number in sorted(kept)] + [
        f"# {kind or 'other'}: {lines[kind] - KEPT} more, digest {_digest(others[kind])}"
        for kind in sorted(others)
    ]


def _digest(lines: list[str]) -> str:
    return sha256("\n".join(lines).encode()).hexdigest()[:12]


def _kind(line: str) -> str:
    if problems := _PROBLEM.findall(line):
        return " ".join(dict.fromkeys(problems))
    word = _WORD.search(_VALUE.sub(" ", line))
    return word[0] if word else ""


def write_whole(folder: Path) -> None:
    """Write all recordings whole, for a comparison."""
    folder.mkdir(parents=True, exist_ok=True)
    for each in EVERY:
        (folder / f"{each.__name__}.txt").write_text("\n".join(said(each)) + "\n", "utf-8")


def compare(commit: str) -> None:
    """Show each line of the recordings that differs between a commit and the working tree."""
    before, now = (BUILD.absolute() / name for name in ("before", "now"))
    packed = subprocess.run(["git", "archive", commit], check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as tree:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(tree, filter="data")
        there = [sys.executable, "-m", "tools.verdicts.recording", "--whole", str(before)]
        subprocess.run(there, check=True, cwd=tree)
    write_whole(now)
    differs = subprocess.run(["git", "diff", "--no-index", before, now], check=False).returncode
    if not differs:
        sys.stderr.write("Nothing differs: no text has what is new (result_cases.py).\n")


def main() -> None:
    """Write the files of `verdicts/`, or do what is asked for instead."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--compare", metavar="COMMIT", help="show what differs from this commit")
    parser.add_argument("--whole", metavar="FOLDER", type=Path, help="write all recordings there")
    wanted = parser.parse_args()
    if wanted.compare:
        compare(wanted.compare)
    elif wanted.whole:
        write_whole(wanted.whole)
    else:
        for each in EVERY:
            (FILES / f"{each.__name__}.txt").write_text("\n".join(recorded(each)) + "\n", "utf-8")


if __name__ == "__main__":
    main()
